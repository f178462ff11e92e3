"""A confidence band for an event probability that rises with the score."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueness._text.numbers import count, level_percent
from trueness.errors import InputError
from trueness.results._record import Record
from trueness.typing import Floats


@dataclass(frozen=True)
class MonotoneBand(Record):
    """A simultaneous confidence band for the event probability as a function of the score, if that function rises.

    The columns are arrays of equal length. Between two consecutive scores the lower end is that of the left one and
    the upper end that of the right one; below the first score the lower end is 0, above the last the upper end is 1.
    """

    _columns = ("score", "low", "high", "distance", "share")

    score: Floats
    """Scores, ascending: the first and the last of each group of rows."""
    low: Floats
    """Lower end of the band."""
    high: Floats
    """Upper end of the band. Where it lies below `low`, no rising function fits."""
    distance: Floats = field(repr=False)
    """The largest possible distance of a score from its event probability, for the rows from the previous score to
    this one."""
    share: Floats = field(repr=False)
    """The share of these rows in all rows."""
    level: float
    """Probability that the whole band holds."""
    n: int
    """Rows; a row of weight 2 counts as two."""
    runs: int
    """Number of runs of neighbouring groups behind the band."""
    assumptions: str
    """The assumptions behind the band."""

    @property
    def widest(self) -> float:
        """The largest width, high − low."""
        return float((self.high - self.low).max())

    @property
    def rising(self) -> bool:
        """Whether any increasing function lies inside the band; if not, the assumption is rejected at this level."""
        return bool((self.low <= self.high).all())

    def share_within(self, eps: float) -> float:
        """The share of rows whose event probability is shown to be within `eps` of the score.

        At the lowest and the highest scores there are too few rows to show much, so it is hardly ever 1.
        """
        _check_fraction("eps", eps)
        return float(self.share[self.distance <= eps].sum())

    def within(self, eps: float, share: float = 0.95) -> bool:
        """Whether the scores of at least this share of the rows are shown to be right within `eps`.

        False if no rising function fits.
        """
        _check_fraction("share", share)
        return self.share_within(eps) >= share - 1e-12 and self.rising

    def __str__(self) -> str:
        what = f"{level_percent(self.level)} monotone band of {count(self.score.size, 'score')}"
        fits = "" if self.rising else "; no rising function fits"
        return f"{what}: at most {self.widest:.4f} wide (n = {self.n:,}){fits}. {self.assumptions}"


def _check_fraction(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise InputError(name, "must be a number between 0 and 1", f"got {value!r}")
