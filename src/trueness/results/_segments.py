"""Segments and slices of the rows, tested jointly."""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._text.numbers import count, level_percent, number, p_value, points, total
from trueness._text.strings import align
from trueness.results._record import Record, Table, with_two_columns
from trueness.typing import Bools, Floats, Ints

_SHOWN = 20
_SHOWN_SLICES = 10
_NAMED = 6
_PROTECTED = re.compile(
    r"(?:^|[^a-z])(?:sex|gender|race|ethnic\w*|religion|nationality|disab\w*|pregnan\w*|age)(?:[^a-z]|$)",
    re.IGNORECASE,
)


def is_protected(column: str) -> bool:
    """Whether the law may protect what a column names: a map by it is never advised unasked."""
    return _PROTECTED.search(column) is not None


def finding_in_words(finding: str, slope: float, low: float, high: float) -> str:
    """The finding about a segment, with the slope that decided, if one did."""
    if math.isnan(slope):
        return finding
    return f"{finding} (slope {number(slope, 2)}, {number(low, 2)} to {number(high, 2)})"


@dataclass(frozen=True)
class _Gaps(Table):
    """What segments and slices share; the columns are arrays of equal length."""

    _text_first = True

    column: tuple[str, ...]
    """The column, or the columns that are crossed."""
    n: Ints
    """Rows of positive weight; of the half that was tested, if slices were searched for in the
    other."""
    weight: Floats
    """Total weight of these rows."""
    expected: Floats
    """Sum of the scores, by weight."""
    gap: Floats
    """Event rate − mean score."""
    gap_low: Floats
    """Lower limit of the gap; the limits of all that were tested hold together."""
    gap_high: Floats
    """Upper limit."""
    flagged: Bools
    """Whether the adjusted p-value is at most 1 − level."""
    finding: tuple[str, ...]
    """If flagged, 'over-predicted' or 'under-predicted', of a slope 'too extreme' or 'too
    moderate'; otherwise ''."""
    differs: Bools
    """Whether it differs from the error of all rows: its adjusted p-value for that is at most 1 −
    level."""
    level: float
    """Level of the joint test, and of all limits together."""
    draws: int
    """Number of sets of labels or signs drawn; 0 if none were."""
    notes: tuple[str, ...]
    """How columns were cut, what was left out, and what needs caution."""


@dataclass(frozen=True)
class Segments(_Gaps):
    """One row per segment, the costliest first.

    The columns are arrays of equal length; :meth:`rows` and :meth:`to_frame` give the same numbers
    in other forms.
    """

    _columns = (
        "column",
        "value",
        "n",
        "weight",
        "events",
        "expected",
        "score",
        "rate",
        "gap",
        "gap_low",
        "gap_high",
        "ratio",
        "ratio_low",
        "ratio_high",
        "shrunk_gap",
        "shrunk_low",
        "shrunk_high",
        "cost",
        "pvalue",
        "slope_pvalue",
        "adjusted_pvalue",
        "flagged",
        "finding",
        "overall_pvalue",
        "differs",
    )

    value: tuple[str, ...]
    """The value of the column."""
    events: Floats
    """Observed events, by weight."""
    score: Floats
    """Mean score."""
    rate: Floats
    """Event rate."""
    ratio: Floats
    """Observed divided by expected events; nan if none is expected."""
    ratio_low: Floats
    """Lower limit of the ratio."""
    ratio_high: Floats
    """Upper limit."""
    shrunk_gap: Floats
    """The gap, shrunk towards that of all rows."""
    shrunk_low: Floats
    """Lower limit of the shrunk gap, for this segment alone."""
    shrunk_high: Floats
    """Upper limit."""
    cost: Floats
    """Share of the rows, by weight, times the square of the shrunk gap: the part of the Brier score
    that a correct mean in this segment would save."""
    pvalue: Floats
    """P-value of the gap of this segment alone."""
    slope_pvalue: Floats
    """P-value of the slope alone, an approximation; nan in segments too small to tell."""
    adjusted_pvalue: Floats
    """P-value adjusted for all segments and both statistics."""
    overall_pvalue: Floats
    """P-value of "the error of this segment is that of all rows", adjusted for all segments; nan
    without an answer."""
    joint_pvalue: float
    """P-value of "all segments are calibrated": the smallest adjusted one."""
    alpha: float
    """Probability of any false flag, at most."""
    assumptions: str
    """The assumptions behind the p-values."""
    slope: Floats
    """The calibration slope if the finding is 'too extreme' or 'too moderate'; otherwise, and of
    sums, nan."""
    slope_low: Floats
    """Lower limit of the slope, for all segments together."""
    slope_high: Floats
    """Upper limit."""

    def __str__(self) -> str:
        names = {"column": self.column, "value": self.value}
        text = _table(self, names, "n", self.events, self.adjusted_pvalue, self.shown[:_SHOWN])
        if len(self) > _SHOWN:
            text += f"\n… {len(self) - _SHOWN:,} more"
        sentence = with_two_columns(self.sentence, " ".join(self.notes))
        # The note on two columns is part of the sentence.
        others = [note for note in self.notes if not with_two_columns("", note)]
        return "\n".join([sentence, text, *others])

    @property
    def findings(self) -> tuple[str, ...]:
        """What is wrong with each segment, with the slope where that decided."""
        slopes = zip(self.finding, self.slope, self.slope_low, self.slope_high, strict=True)
        return tuple(finding_in_words(*found) for found in slopes)

    @property
    def names(self) -> tuple[str, ...]:
        """Column and value of each segment."""
        return tuple(
            f"{column} = {value}" for column, value in zip(self.column, self.value, strict=True)
        )

    @property
    def shown(self) -> Ints:
        """The segments to look at, in order: all."""
        return np.arange(len(self))

    @property
    def overall_gap(self) -> float:
        """Event rate − mean score of all rows, which are the segments of one column."""
        first = np.array(self.column) == self.column[0]
        return float((self.events - self.expected)[first].sum() / self.weight[first].sum())

    @property
    def sentence(self) -> str:
        """How many segments are flagged, and which ones differ from the rows as a whole."""
        flagged = int(self.flagged.sum())
        text = (
            f"{flagged:,} of {count(len(self), 'segment')} flagged; jointly "
            f"{p_value(self.joint_pvalue)}."
        )
        # A segment may differ because all others are off: of flagged ones, only these are named.
        differs = self.flagged & self.differs if flagged else self.differs
        different = [self.names[i] for i in np.flatnonzero(differs)]
        if not different:
            if flagged and not np.isnan(self.overall_pvalue).all():
                return f"{text} None differs from the error of all rows."
            return text
        names = ", ".join(different[:_NAMED])
        if len(different) > _NAMED:
            names += f" and {len(different) - _NAMED:,} more"
        return f"{text} Different from the error of all rows: {names}."


@dataclass(frozen=True)
class Slices(_Gaps):
    """One row per slice, the most reliable finding first.

    The columns are arrays of equal length. :meth:`to_frame` gives the same table, with `n` called
    `rows`.
    """

    _columns = (
        "rule",
        "column",
        "n",
        "weight",
        "observed",
        "expected",
        "gap",
        "gap_low",
        "gap_high",
        "adjusted_p",
        "flagged",
        "finding",
        "share",
        "overall_p",
        "differs",
        "distinct",
    )

    rule: tuple[str, ...]
    """The slice in words, such as 'age < 25 and region = north'."""
    observed: Floats
    """Observed events, by weight."""
    adjusted_p: Floats
    """P-value adjusted for all slices that were tested."""
    share: Floats
    """Share of the Brier score that a correct mean in this slice would save, less what chance alone
    would seem to."""
    overall_p: Floats
    """P-value of "the error of this slice is that of all rows", adjusted for all slices; nan
    without an answer."""
    distinct: Bools
    """Whether a flagged slice is off beyond the rows that it shares with the slices before it."""
    overall_gap: float
    """Event rate − mean score of all rows."""
    joint_p: float
    """P-value of "all slices are calibrated": the smallest adjusted one."""
    tried: int
    """Slices that were tested."""
    all_flagged: int
    """Slices flagged among all that were tested."""
    worst_gap_high: float
    """Upper limit of the largest gap, in size, of all slices that were tested; nan if these were
    searched for."""
    worst_impact_high: float
    """Upper limit of the largest gap times the share of the rows in its slice, by weight; nan as
    above."""
    min_rows: int
    """The least number of rows in a slice, or in each half of it."""
    method: str
    """How p-values were found, and what they assume."""

    def columns(self) -> dict[str, list[Any]]:
        """The columns of the table by name."""
        return {
            "rows" if name == "n" else name: values for name, values in super().columns().items()
        }

    @property
    def findings(self) -> tuple[str, ...]:
        """What is wrong with each slice."""
        return self.finding

    def calibrated_within(self, epsilon: float) -> bool:
        """Whether, at this level, no slice that was tested has a gap beyond `epsilon`."""
        return self.worst_gap_high <= epsilon

    @property
    def names(self) -> tuple[str, ...]:
        """The rules, by which a picture names the slices."""
        return self.rule

    @property
    def shown(self) -> Ints:
        """The slices to look at: the distinct ones, or without any finding the first ones."""
        if self.flagged.any():
            return np.flatnonzero(self.distinct)
        return np.arange(min(len(self), _SHOWN_SLICES))

    def __str__(self) -> str:
        shown = self.shown[:_SHOWN_SLICES]
        table = _table(self, {"slice": self.rule}, "rows", self.observed, self.adjusted_p, shown)
        return "\n".join([self.sentence, table, *self.notes])

    @property
    def sentence(self) -> str:
        """How many slices are flagged, and within which gap all are calibrated."""
        text = (
            f"{self.all_flagged:,} of {count(self.tried, 'slice')} flagged; jointly "
            f"{p_value(self.joint_p)}."
        )
        n_distinct = int(self.distinct.sum())
        if self.all_flagged > n_distinct:
            verb = "is" if n_distinct == 1 else "are"
            text += f" {n_distinct:,} of these {verb} distinct; the others share their rows."
        if math.isnan(self.worst_gap_high):
            return text
        (largest,) = points(self.worst_gap_high)
        within = f"{largest} percentage points ({level_percent(self.level)} confidence)"
        return (
            f"{text} On every slice of at least {self.min_rows:,} rows the scores are calibrated "
            f"within {within}."
        )


def _table(
    gaps: Segments | Slices,
    names: dict[str, tuple[str, ...]],
    n: str,
    events: Floats,
    p: Floats,
    shown: Ints,
) -> str:
    """Some segments or slices by name, with their gaps."""
    head = [
        *names,
        n,
        "expected",
        "observed",
        "gap",
        f"{level_percent(gaps.level)} limits",
        "adjusted p",
        "",
    ]
    lines = []
    for i in shown:
        numbers = [
            f"{gaps.n[i]:,}",
            f"{gaps.expected[i]:,.1f}",
            total(events[i]),
            f"{gaps.gap[i]:+.4f}",
            f"{gaps.gap_low[i]:+.4f} to {gaps.gap_high[i]:+.4f}",
            p_value(p[i]),
            gaps.findings[i],
        ]
        lines.append([*(values[i] for values in names.values()), *numbers])
    return align([head, *lines], [*[False] * len(names), *[True] * 5, False, False])


@dataclass(frozen=True)
class ClassRow(Record):
    """One class against the rest."""

    label: str
    """The class."""
    share: float
    """Its share of the rows."""
    score: float
    """Its mean score."""
    gap: float
    """Share minus mean score."""
    ece: float
    """Its ECE against the rest."""
    damage: float
    """Its share of the class-wise ECE."""
    pvalue: float | None
    """The p-value of its test alone."""
    adjusted_pvalue: float | None
    """That p-value, adjusted for the number of classes (Holm)."""
    flagged: bool
    """Whether the adjusted p-value is at most 1 − level."""
    ratio: float = math.nan
    """Observed/expected."""
    ratio_low: float = math.nan
    """Its lower limit."""
    ratio_high: float = math.nan
    """Its upper limit."""
