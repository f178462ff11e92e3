"""Segments of the rows, tested jointly."""

import math
from dataclasses import dataclass

import numpy as np

from trueness._text.numbers import count, level_percent, p_value, total
from trueness._text.strings import align
from trueness.results._record import Record
from trueness.typing import Bools, Floats, Ints

_SHOWN, _NAMED = 20, 6


@dataclass(frozen=True)
class Segments(Record):
    """One row per segment, the costliest first.

    The columns are arrays of equal length; :meth:`rows` and :meth:`to_frame` give the same numbers in other forms.
    """

    _columns = (
        *("column", "value", "n", "weight", "events", "expected", "score", "rate", "gap", "gap_low", "gap_high"),
        *("ratio", "ratio_low", "ratio_high", "shrunk_gap", "shrunk_low", "shrunk_high", "cost"),
        *("pvalue", "slope_pvalue", "adjusted_pvalue", "flagged", "finding", "overall_pvalue", "differs"),
    )

    column: tuple[str, ...]
    """The column, or the columns that are crossed."""
    value: tuple[str, ...]
    """Its value."""
    n: Ints
    """Rows of positive weight."""
    weight: Floats
    """Total weight of the rows."""
    events: Floats
    """Observed events, by weight."""
    expected: Floats
    """Sum of the scores, by weight."""
    score: Floats
    """Mean score."""
    rate: Floats
    """Event rate."""
    gap: Floats
    """Event rate − mean score."""
    gap_low: Floats
    """Lower limit of the gap; the limits of all segments hold together."""
    gap_high: Floats
    """Upper limit."""
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
    """Share of the rows, by weight, times the square of the shrunk gap: the part of the Brier score that a correct mean
    in this segment would save."""
    pvalue: Floats
    """P-value of the gap of this segment alone."""
    slope_pvalue: Floats
    """P-value of the slope alone, an approximation; nan in segments too small to tell."""
    adjusted_pvalue: Floats
    """P-value adjusted for all segments and both statistics."""
    flagged: Bools
    """Whether the adjusted p-value is at most `alpha`."""
    finding: tuple[str, ...]
    """For a flagged segment 'over-predicted', 'under-predicted', 'too extreme' or 'too moderate'; otherwise ''."""
    overall_pvalue: Floats
    """P-value of "the error of this segment is that of all rows", adjusted for all segments; nan without an answer."""
    differs: Bools
    """Whether the overall p-value is at most `alpha`: the segment has an error of its own."""
    joint_pvalue: float
    """P-value of "all segments are calibrated": the smallest adjusted one."""
    alpha: float
    """Probability of any false flag, at most."""
    level: float
    """Level of the limits of all segments together."""
    draws: int
    """Number of sets of labels drawn."""
    assumptions: str
    """The assumptions behind the p-values."""
    notes: tuple[str, ...]
    """How columns were cut, and which segments need caution."""

    def __len__(self) -> int:
        return len(self.value)

    def __str__(self) -> str:
        limits = f"{level_percent(self.level)} limits"
        head = ["column", "value", "n", "expected", "observed", "gap", limits, "adjusted p", ""]
        lines = [
            [
                *(self.column[i], self.value[i]),
                *(f"{self.n[i]:,}", f"{self.expected[i]:,.1f}", total(self.events[i]), f"{self.gap[i]:+.4f}"),
                *(f"{self.gap_low[i]:+.4f} to {self.gap_high[i]:+.4f}", p_value(self.adjusted_pvalue[i])),
                self.finding[i],
            ]
            for i in range(min(len(self), _SHOWN))
        ]
        more = f"\n… {len(self) - _SHOWN:,} more" if len(self) > _SHOWN else ""
        right = [False, False, True, True, True, True, True, False, False]
        return f"{align([head, *lines], right)}{more}\n{self.sentence}"

    @property
    def names(self) -> tuple[str, ...]:
        """Column and value of each segment."""
        return tuple(f"{column} = {value}" for column, value in zip(self.column, self.value, strict=True))

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
        text = f"{flagged:,} of {count(len(self), 'segment')} flagged; jointly {p_value(self.joint_pvalue)}."
        own = [self.names[i] for i in np.flatnonzero(self.differs)]
        if not own:
            known = flagged and not np.isnan(self.overall_pvalue).all()
            return f"{text} None differs from the error of all rows." if known else text
        names = ", ".join(own[:_NAMED]) + (f" and {len(own) - _NAMED:,} more" if len(own) > _NAMED else "")
        return f"{text} Different from the error of all rows: {names}."


@dataclass(frozen=True)
class ClassRow(Record):
    """One class against the rest."""

    label: str
    share: float
    score: float
    gap: float
    ece: float
    damage: float
    pvalue: float | None
    adjusted_pvalue: float | None
    flagged: bool
    ratio: float = math.nan
    """Observed/expected, with its limits."""
    ratio_low: float = math.nan
    ratio_high: float = math.nan
