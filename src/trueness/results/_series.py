"""Calibration over time: the days of a series and when it changed, and the looks of a watch."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._text.numbers import level_percent, number, p_value
from trueness._text.strings import align, visible
from trueness.results._record import Record, Table, html_cell, html_table, html_text
from trueness.typing import Bools, Floats, Ints

_NAMED = 6
_MOST_LINES = 20


@dataclass(frozen=True)
class Change(Record):
    """The days that differ from the others, and the calibration of both."""

    first: str
    """The first day that differs."""
    last: str
    """The last day that differs."""
    start: int
    """The place of the first day in the series, counted from 0."""
    lasting: bool
    """Whether the days that differ go on to the end of the series."""
    days: int
    """The number of days that differ, from the first to the last; days without rows between them
    count."""
    pvalue: float
    """Of the hypothesis that the event rate given the score is the same on all days; doubled, since
    days are tested, too."""
    ece: float
    """ECE of the days that differ, together."""
    ece_others: float
    """ECE of the other days, together."""
    slope: float
    """Calibration slope of the days that differ; nan for sums of bins."""
    slope_others: float
    """Calibration slope of the other days."""
    observed_expected: float
    """Observed divided by expected events of the days that differ."""
    observed_expected_others: float
    """Observed divided by expected events of the other days."""
    label: str = ""
    """The class that changed most, for sums per class."""

    def __str__(self) -> str:
        """When calibration changed or differed, and the numbers inside and outside that time."""
        first = visible(self.first)
        if self.lasting:
            verb = "changed"
            when = f"starting with {first}"
            inside = "since then"
            other_days = "before"
        else:
            verb = "differed"
            when = f"between {first} and {visible(self.last)}"
            if self.days == 1:
                when = f"for {first}"
            inside = "then"
            other_days = "otherwise"
        pairs = {
            "ECE": (self.ece_others, self.ece, 4),
            "slope": (self.slope_others, self.slope, 2),
            "observed/expected": (self.observed_expected_others, self.observed_expected, 2),
        }
        numbers = [
            f"{name} {a:.{digits}f} {other_days}, {b:.{digits}f} {inside}"
            for name, (a, b, digits) in pairs.items()
            if np.isfinite(a) and np.isfinite(b)
        ]
        who = f" of class {self.label}" if self.label else ""
        return f"Calibration{who} {verb} {when} ({p_value(self.pvalue)}): {'; '.join(numbers)}."


@dataclass(frozen=True)
class Series(Table):
    """One line per day, or per other sample of a series, in the order passed.

    The columns are arrays of equal length; a number that the sums of a day do not give is nan.

    Examples
    --------
    >>> import trueness as tn
    >>> found = tn.calibration_series({"mon": tn.tally([0, 1] * 20, [0.5] * 40)}, seed=0)
    >>> found.name, found.flagged.tolist(), found.change
    (('mon',), [False], None)
    """

    _columns = (
        "name",
        "n",
        "score",
        "rate",
        "ece",
        "ece_low",
        "ece_high",
        "floor",
        "floor_high",
        "error",
        "error_low",
        "error_high",
        "includes_zero",
        "pvalue",
        "adjusted_pvalue",
        "flagged",
    )

    name: tuple[str, ...]
    """The names of the days."""
    n: Ints
    """Rows of positive weight."""
    score: Floats
    """Mean score."""
    rate: Floats
    """Event rate."""
    ece: Floats
    """ECE in the same bins on all days."""
    ece_low: Floats
    """Lower end of a confidence interval for the ECE in these bins, were there infinitely many
    rows."""
    ece_high: Floats
    """Its upper end."""
    floor: Floats
    """Noise floor: the mean ECE of a calibrated model with the same scores."""
    floor_high: Floats
    """The ECE that a calibrated model exceeds with probability 1 − level, on one day."""
    error: Floats
    """The l2 calibration error, debiased."""
    error_low: Floats
    """Lower end of its confidence set, without the point zero."""
    error_high: Floats
    """Upper end of its confidence set."""
    includes_zero: Bools
    """Whether zero belongs to the confidence set."""
    pvalue: Floats
    """p-value of the omnibus test of calibration of the day alone."""
    adjusted_pvalue: Floats
    """The same, adjusted for the number of days by Holm's method, and doubled if a change is looked
    for, too."""
    flagged: Bools
    """Whether the adjusted p-value is at most 1 − level."""
    change: Change | None
    """The change, if the test of a change is significant."""
    change_pvalue: float | None
    """The p-value of that test, doubled; None with fewer than two days that have rows."""
    level: float
    """Confidence level of sets, flags and the change: the chance of any false flag or change is at
    most 1 − level."""
    notes: tuple[str, ...] = ()
    """What could not be computed, and why."""

    @property
    def headline(self) -> str:
        """The conclusion in one or two sentences."""
        flagged = np.flatnonzero(self.flagged)
        if flagged.size:
            verb = "is" if flagged.size == 1 else "are"
            marks = (
                f"{flagged.size:,} of {len(self):,} {verb} miscalibrated: {self._runs(flagged)}."
            )
        else:
            marks = f"None of {len(self):,} shows miscalibration."
        if self.change is not None:
            return f"{self.change} {marks}"
        if self.change_pvalue is None:
            return marks
        return f"{marks} No change of calibration was found ({p_value(self.change_pvalue)})."

    def _runs(self, places: Ints) -> str:
        """Names, with "a to b" for more than two in a row."""
        runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
        texts: list[str] = []
        for run in runs:
            names = [visible(self.name[i]) for i in run]
            if len(names) > 2:
                names = [f"{names[0]} to {names[-1]}"]
            texts += names
        listed = ", ".join(texts[:_NAMED])
        if len(texts) > _NAMED:
            return f"{listed} and {len(texts) - _NAMED} more"
        return listed

    def _entries(self) -> dict[str, Any]:
        """Fields by name, with the headline."""
        return {"headline": self.headline} | super()._entries()

    def _caption(self) -> str:
        return self.headline

    def __str__(self) -> str:
        """The headline, and a table with a line for each day."""
        head = [
            "name",
            "rows",
            "ECE",
            "noise floor",
            "typical error",
            f"{level_percent(self.level)} set",
            "adjusted p",
            "",
        ]
        lines = []
        for row in self.rows():
            lines.append(
                [
                    row["name"],
                    f"{row['n']:,}",
                    _decimal(row["ece"]),
                    _decimal(row["floor"]),
                    _decimal(row["error"]),
                    _span(row),
                    p_value(row["adjusted_pvalue"], named=False),
                    "miscalibrated" if row["flagged"] else "",
                ]
            )
        return f"{self.headline}\n{align([head, *lines], [False, *[True] * 6, False])}"


def _decimal(value: float) -> str:
    if np.isfinite(value):
        return f"{value:.4f}"
    return "-"


def _span(row: dict[str, Any]) -> str:
    """The smallest interval that contains the confidence set."""
    low = 0.0 if row["includes_zero"] else row["error_low"]
    high = row["error_high"]
    if np.isfinite(high):
        return f"{low:.4f} to {high:.4f}"
    return "-"


@dataclass(frozen=True)
class Shift(Record):
    """One constant shift of the log-odds, with limits that hold at all looks together."""

    value: float
    """The likeliest shift: above 0 if events are more frequent than predicted."""
    low: float
    """Lower limit; infinite beyond ±3, nan if no constant shift agrees with all looks."""
    high: float
    """Upper limit."""
    level: float
    """Confidence level, at all looks together."""

    @property
    def constant(self) -> bool:
        """Whether some constant shift agrees with all looks."""
        return not math.isnan(self.low)

    def __str__(self) -> str:
        """The shift of the log-odds with its limits; or that it varied, or has no limits."""
        if not self.constant:
            return "The shift was not constant: begin again at the onset."
        if math.isinf(self.low) and math.isinf(self.high):
            return "The looks give no limits of a constant shift of the log-odds."
        ends = f"{number(self.low)} to {number(self.high)}"
        return (
            f"Shift of the log-odds {number(self.value)}, {level_percent(self.level)} confidence "
            f"at all looks: {ends}"
        )


@dataclass(frozen=True)
class WatchHistory(Record):
    """The looks of one stream."""

    _columns = (
        "position",
        "n",
        "observed",
        "expected",
        "evidence",
        "slope",
        "slope_low",
        "slope_high",
    )

    position: tuple[Any, ...]
    """The position of each look, as given."""
    n: Ints
    """Rows."""
    observed: Floats
    """Events."""
    expected: Floats
    """The sum of the scores."""
    evidence: Floats
    """E after the look."""
    slope: Floats
    """The slope of the log-odds in the rows of the look alone; nan where it has no finite
    estimate."""
    slope_low: Floats
    """Its lower limit, in that look alone."""
    slope_high: Floats
    """Upper limit."""

    def __str__(self) -> str:
        looks = f"{len(self.position):,} looks"
        if not self.position:
            return looks
        first = self.position[0]
        last = self.position[-1]
        return f"{looks}, {first} to {last}, evidence {self.evidence[-1]:.3g}"


@dataclass(frozen=True)
class WatchedSegment(Record):
    """What a watch says of one segment."""

    segment: str
    """Its name; '' for all rows."""
    evidence: float
    """E against calibration."""
    weight: float
    """Its weight in the evidence of all segments; 1 for all rows."""
    n: int
    """Rows."""
    observed: float
    """Events."""
    expected: float
    """The sum of the scores."""
    since: Any
    """The position at which its error probably began; None without evidence."""
    direction: str
    """The error in words; '' without evidence."""
    listed: bool
    """Whether it is one of the alarms."""

    def __str__(self) -> str:
        error = f", since {self.since}: {self.direction}" if self.direction else ""
        return f"{self.segment or 'all rows'}{error} (evidence {self.evidence:.2g}, n = {self.n:,})"


_METRICS = {
    "evidence": "E against calibration, by segment.",
    "rows": "Rows counted, by segment.",
    "observed": "Events, by segment.",
    "expected": "Sum of the scores, by segment.",
    "listed": "1 for segments that are alarms.",
}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})


def _label_value(text: str) -> str:
    """A name as Prometheus reads it.

    It knows no escapes of invisible characters but the line feed.
    """
    return "\\n".join(visible(line).translate(_ESCAPES) for line in text.split("\n"))


def watch_table(headline: str, watched: Sequence[WatchedSegment]) -> str:
    """All rows and what is in alarm, as an HTML table below a sentence."""
    head = ("", "rows", "observed/expected", "evidence", "since", "error")
    shown = [segment for segment in watched if not segment.segment or segment.listed]
    lines = [
        (
            segment.segment or "all rows",
            f"{segment.n:,}",
            f"{segment.observed / segment.expected:.2f}" if segment.expected else "-",
            f"{segment.evidence:.3g}",
            str(segment.since) if segment.direction else "",
            segment.direction,
        )
        for segment in shown[:_MOST_LINES]
    ]
    parts = [html_text(headline), html_table(head, lines)]
    left_out = len(shown) - len(lines)
    if left_out:
        parts.append(html_text(f"{left_out:,} more are in alarm."))
    return html_cell(parts)


_NAME_LABEL = "trueness_watch"
"""The label of the name of a watch; no column of segments has it."""


def _label_names(keys: Sequence[str]) -> list[str]:
    """The labels of columns, which may hold letters, digits and underscores only."""
    taken = {_NAME_LABEL}
    names = []
    for key in keys:
        name = re.sub(r"[^a-zA-Z0-9_]", "_", key)
        name = re.sub(r"^(?=[0-9])", "_", name)
        name = re.sub(r"^__+", "_", name) or "_"  # two are reserved
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def prometheus(
    name: str,
    alarm: bool,
    watched: Sequence[WatchedSegment],
    keys: Sequence[str] = (),
    parts: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The numbers of a watch in Prometheus' text format, with a label for each column."""
    label_names = _label_names(keys)

    def labels(segment: str) -> str:
        """The labels of a metric in braces; empty if there is none.

        A segment has the labels of its parts if they are known.
        """
        values = {_NAME_LABEL: name}
        if segment and parts and segment in parts:
            values |= dict(zip(label_names, parts[segment], strict=True))
        elif segment:
            values["segment"] = segment
        pairs = [f'{key}="{_label_value(value)}"' for key, value in values.items() if value]
        return f"{{{','.join(pairs)}}}" if pairs else ""

    metrics = {"alarm": ("1 since the first alarm.", {"": float(alarm)})}
    for metric, text in _METRICS.items():
        field = "n" if metric == "rows" else metric
        shown = [part for part in watched if part.segment or metric != "listed"]
        metrics[metric] = text, {part.segment: float(getattr(part, field)) for part in shown}
    lines = []
    for metric, (text, by) in metrics.items():
        lines += [f"# HELP trueness_watch_{metric} {text}", f"# TYPE trueness_watch_{metric} gauge"]
        for segment, value in by.items():
            written = "+Inf" if value == math.inf else repr(value)
            lines.append(f"trueness_watch_{metric}{labels(segment)} {written}")
    return "\n".join(lines) + "\n"
