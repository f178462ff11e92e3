"""Slices of the rows, tested jointly."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._text.numbers import count, level_percent, number, p_value, total
from trueness._text.strings import align
from trueness.results._record import Record
from trueness.typing import Bools, Floats, Ints

_SHOWN = 10


@dataclass(frozen=True)
class Slices(Record):
    """One row per slice, the most reliable finding first.

    The columns are arrays of equal length. :meth:`to_frame` gives the same table, with `n` called `rows`.
    """

    _columns = (
        *("rule", "n", "observed", "expected", "gap", "gap_low", "gap_high", "adjusted_p", "flagged", "finding"),
        *("share", "overall_p", "differs", "distinct"),
    )

    rule: tuple[str, ...]
    """The slice in words, such as 'age < 25 and region = north'."""
    n: Ints
    """Rows of positive weight."""
    observed: Floats
    """Observed events, by weight."""
    expected: Floats
    """Sum of the scores, by weight."""
    gap: Floats
    """Event rate − mean score."""
    gap_low: Floats
    """Lower limit of the gap; the limits of all slices that were tested hold together."""
    gap_high: Floats
    """Upper limit."""
    adjusted_p: Floats
    """P-value adjusted for all slices that were tested."""
    flagged: Bools
    """Whether the adjusted p-value is at most 1 − level."""
    finding: tuple[str, ...]
    """For a flagged slice 'over-predicted' or 'under-predicted'; otherwise ''."""
    share: Floats
    """Share of the Brier score that a correct mean in this slice would save, less what chance alone would seem to."""
    overall_p: Floats
    """P-value of "the error of this slice is that of all rows", adjusted for all slices; nan without an answer."""
    differs: Bools
    """Whether that p-value is at most 1 − level: the slice has an error of its own."""
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
    """Upper limit of the largest gap, in size, of all slices that were tested; nan if these were searched for."""
    worst_impact_high: float
    """Upper limit of the largest gap times the share of the rows in its slice, by weight; nan as above."""
    min_rows: int
    """The least number of rows in a slice."""
    level: float
    """Level of the joint test, and of the limits of all slices together."""
    draws: int
    """Number of sets of labels or signs drawn; 0 if none were."""
    method: str
    """How p-values were found, and what they assume."""
    notes: tuple[str, ...]
    """How columns were cut, and what was left out."""

    def __len__(self) -> int:
        return len(self.rule)

    def columns(self) -> dict[str, list[Any]]:
        """The columns of the table by name."""
        return {"rows" if name == "n" else name: values for name, values in super().columns().items()}

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
        return np.flatnonzero(self.distinct if self.flagged.any() else np.arange(len(self)) < _SHOWN)

    def __str__(self) -> str:
        limits = f"{level_percent(self.level)} limits"
        head = ["slice", "rows", "expected", "observed", "gap", limits, "adjusted p", ""]
        lines = [
            [
                *(self.rule[i], f"{self.n[i]:,}", f"{self.expected[i]:,.1f}", total(self.observed[i])),
                *(f"{self.gap[i]:+.4f}", f"{self.gap_low[i]:+.4f} to {self.gap_high[i]:+.4f}"),
                *(p_value(self.adjusted_p[i]), self.finding[i]),
            ]
            for i in self.shown[:_SHOWN]
        ]
        right = [False, True, True, True, True, True, False, False]
        return f"{align([head, *lines], right)}\n{self.sentence}"

    @property
    def sentence(self) -> str:
        """How many slices are flagged, and within which gap all are calibrated."""
        text = f"{self.all_flagged:,} of {count(self.tried, 'slice')} flagged; jointly {p_value(self.joint_p)}."
        own = int(self.distinct.sum())
        if self.all_flagged > own:
            text += f" {own:,} of these {'is' if own == 1 else 'are'} distinct; the others share their rows."
        if math.isnan(self.worst_gap_high):
            return text
        within = f"{number(self.worst_gap_high)} ({level_percent(self.level)} confidence)"
        return f"{text} On every slice of at least {self.min_rows:,} rows the scores are calibrated within {within}."
