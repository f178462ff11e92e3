"""One measure with its uncertainty."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trueness._text.numbers import level_percent, number, rule_in_words, span
from trueness.results._record import Record

INDEPENDENT_FLOOR = "The noise floor takes rows as independent: in clusters, a calibrated model may show more."


@dataclass(frozen=True)
class Estimate(Record):
    """A measure with its confidence limits, or with the noise floor where no valid limits are known.

    Examples
    --------
    >>> print(Estimate("Brier score", 0.1624, 0.1493, 0.1755, 0.95, "t", 400, "Mean of (score − label)²."))
    Brier score 0.1624, 95 % 0.1493 to 0.1755 (t, n = 400)
    >>> nan = float("nan")
    >>> print(Estimate("MCE", 0.21, nan, nan, 0.95, "", 400, "Largest gap.", floor=0.14, floor_high=0.25))
    MCE 0.2100, no interval; a calibrated model would show 0.1400 on average, at most 0.2500 in 95 % (n = 400)
    """

    measure: str
    """The measure, by its display name."""
    value: float
    """Its value on these rows."""
    low: float
    """Lower confidence limit; nan if no valid interval is known."""
    high: float
    """Upper confidence limit."""
    level: float
    """Nominal coverage of the interval from `low` to `high`."""
    method: str
    """How the limits were found; empty if there are none."""
    n: int
    """Rows; a row of weight 2 counts as two if all weights are whole numbers."""
    definition: str
    """The measure in one line."""
    standard_error: float = math.nan
    """Standard error of `value`; nan where it has no meaning."""
    floor: float = math.nan
    """Noise floor: mean of the measure for a calibrated model with these scores; nan if the measure has none."""
    floor_high: float = math.nan
    """Upper `level` quantile of the measure for a calibrated model. A value above it is more than noise; `value` −
    `floor` is no estimate of the error, since noise adds less to a wrong model than to a calibrated one."""
    note: str = ""
    """Anything else to know, such as why there is no interval or how many rows were left out."""
    ideal: float = math.nan
    """Value of a calibrated model, if it does not depend on the scores; nan otherwise."""
    kind: str = "binary"
    """The view: 'binary', 'classwise', 'confidence', 'top-label' or 'multilabel'."""
    bins: str = ""
    """The rule of the bins, if it can be chosen."""
    where: str = ""
    """The rows that decide the value, if it is that of a single bin."""
    low_open: bool = False
    """Whether a lower limit of 0 is excluded: the error is above 0, but may be as small as one likes."""
    each: Mapping[str, "Estimate"] = field(default_factory=dict, hash=False)
    """Of a mean over labels: the measure of each, with limits that hold for all of them together."""

    @property
    def bounded(self) -> bool:
        """Whether there are confidence limits."""
        return not (math.isnan(self.low) and math.isnan(self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high and not (self.low_open and value == self.low)

    def _entries(self) -> dict[str, Any]:
        """Fields by name, with `bounded`."""
        each = {name: one._entries() for name, one in self.each.items()}
        return super()._entries() | {"each": each, "bounded": self.bounded}

    def columns(self) -> dict[str, list[Any]]:
        """The values by name, as a table of one row, or of one row per label."""
        lines = [{"label": name, **one._entries()} for name, one in self.each.items()]
        if not lines:
            return super().columns()
        return {name: [line[name] for line in lines] for name in lines[0] if name != "each"}

    def __str__(self) -> str:
        if not self.each:
            return self._line()
        lines = [f"{name}: {one._line()}" for name, one in self.each.items()]
        return "\n".join([f"Mean over {len(lines)}: {self._line()}", *lines])

    def _line(self) -> str:
        view = {"binary": "", "classwise": "class-wise"}.get(self.kind, self.kind)
        which = ", ".join(filter(None, [view, rule_in_words(self.bins)]))
        name = f"{self.measure}{f' ({which})' if which else ''} {number(self.value)}"
        level, rows = level_percent(self.level), f"n = {self.n:,}"
        if self.bounded:
            limits = f"above 0 to {number(self.high)}" if self.low_open else span(self.low, self.high)
            return f"{name}, {level} {limits} ({self.method}, {rows})"
        floor = f"{number(self.floor)} on average, at most {number(self.floor_high)} in {level}"
        more = "" if math.isnan(self.floor) else f"; a calibrated model would show {floor}"
        return f"{name}, no interval{more} ({rows})"
