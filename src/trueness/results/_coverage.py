"""`Coverage`: how often outcomes lie inside intervals, or at most at quantiles."""

import math
from dataclasses import dataclass

import numpy as np

from trueness._text.numbers import level_percent, percent, short_number
from trueness.results._record import Record
from trueness.typing import Floats

_CLOSE = 1.05
"""A factor nearer to 1 is not worth a word."""


@dataclass(frozen=True)
class Coverage(Record):
    """The stated probability of intervals or quantiles beside the observed share, with limits.

    Of quantiles the limits of all levels hold together.
    """

    _columns = ("stated", "value", "low", "high")

    words: str
    """What is stated."""
    stated: Floats
    """The stated probabilities: the coverage of intervals, or the levels of quantiles."""
    value: Floats
    """The observed shares."""
    low: Floats
    """Their lower limits."""
    high: Floats
    """Their upper limits."""
    n: int
    """Rows."""
    level: float
    """Confidence level; of several stated probabilities, for all limits together."""
    method: str
    """How limits were found."""
    spread: float = math.nan
    """How many times as far as stated outcomes spread, if they are about normal: above 1 the
    intervals, or quantiles, are too narrow."""
    spread_low: float = math.nan
    """Lower limit of the spread; of quantiles of independent rows."""
    spread_high: float = math.nan
    """Upper limit of the spread."""
    shift: float = math.nan
    """How far outcomes lie above what was stated, in stated standard deviations; nan if unknown."""
    shift_low: float = math.nan
    """Lower limit of the shift."""
    shift_high: float = math.nan
    """Upper limit of the shift."""
    below: float | None = None
    """Share of outcomes below the interval."""
    above: float | None = None
    """Share of outcomes above the interval."""
    mean_width: float | None = None
    """Mean width of the intervals."""
    interval_score: float | None = None
    """Mean interval score: width plus a penalty for outcomes outside; smaller is better."""
    strictly_below: Floats | None = None
    """For quantiles: share of outcomes below each, where outcomes that equal it are left out."""

    @property
    def covers(self) -> str:
        """The observed share with its limits, of intervals."""
        low, high = percent(float(self.low[0])), percent(float(self.high[0]))
        return f"{percent(float(self.value[0]))} ({low.removesuffix(' %')} to {high})"

    @property
    def factor(self) -> str:
        """By which factor they are too narrow or too wide; empty if it is close to 1 or unknown."""
        factor = 1 / self.spread if 0 < self.spread < 1 else self.spread
        if _CLOSE <= factor < math.inf:
            return f", by a factor of about {factor:.1f}"
        return ""

    @property
    def farthest(self) -> str:
        """The quantile whose observed share is farthest off, if its limits exclude the stated."""
        off = (self.low > self.stated) | (self.high < self.stated)
        if self.stated.size < 2 or not off.any():
            return ""
        place = int(np.argmax(np.where(off, np.abs(self.value - self.stated), -1.0)))
        observed = percent(float(self.value[place]))
        low, high = percent(float(self.low[place])), percent(float(self.high[place]))
        return (
            f"The {percent(float(self.stated[place]))} quantile: {observed} of outcomes are at "
            f"most it ({low} to {high})."
        )

    @property
    def outside(self) -> str:
        """The shares below and above an interval, its width and score; empty for other kinds."""
        if self.below is None or self.above is None:
            return ""
        sides = f"{percent(self.below)} of outcomes lie below, {percent(self.above)} above"
        assert self.mean_width is not None
        assert self.interval_score is not None
        width = (
            f"mean width {short_number(self.mean_width)}, interval score "
            f"{short_number(self.interval_score)}"
        )
        return f"{sides}; {width}"

    def __str__(self) -> str:
        """A line for each stated level with the observed share and its limits."""
        limits = level_percent(self.level)
        lines = [
            f"stated {percent(float(stated))}: observed {percent(float(value))} "
            f"({percent(float(low))} to {percent(float(high))})"
            for stated, value, low, high in zip(
                self.stated, self.value, self.low, self.high, strict=True
            )
        ]
        title = f"coverage of {self.words}, {limits} limits ({self.method}, n = {self.n:,})"
        return "\n".join([title, *lines, *filter(None, [self.outside])])


@dataclass(frozen=True)
class LevelHistogram(Record):
    """In which gaps between their quantiles outcomes fall: the histogram of their levels (PIT)."""

    _columns = ("low_level", "high_level", "density", "low", "high")

    words: str
    """What is stated."""
    low_level: Floats
    """The level at which each gap begins."""
    high_level: Floats
    """The level at which it ends."""
    density: Floats
    """The share of outcomes in each gap, divided by its width; 1 if what is stated holds."""
    low: Floats
    """If what is stated holds, all densities lie between these limits with the probability `level`;
    nan where rows may depend on each other."""
    high: Floats
    """The upper limits."""
    n: int
    """Rows."""
    level: float
    """Confidence level of all limits together."""

    @property
    def outside(self) -> int:
        """How many densities lie outside their limits."""
        return int(((self.density < self.low) | (self.density > self.high)).sum())

    def __str__(self) -> str:
        limits = "" if np.isnan(self.low).all() else f", {self.outside} outside the limits"
        return f"levels of {self.n:,} outcomes among {self.words}: {self.density.size} gaps{limits}"
