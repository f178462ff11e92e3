"""The confidence level of an answer, and the probabilities of error that follow from it."""

import math
from dataclasses import dataclass

from trueness.errors import InputError

HIGHEST_DRAWN = 0.9999
"""The highest level of an answer that draws labels: above it more than 200,000 sets would be
needed."""
_LEAST_ALPHA = 1e-9


@dataclass(frozen=True, slots=True)
class Level:
    """A confidence level, as a user gives it, and what may go wrong."""

    confidence: float

    @classmethod
    def of_alpha(cls, alpha: float) -> "Level":
        """The level 1 − α."""
        return cls(_complement(alpha))

    @property
    def alpha(self) -> float:
        """The probability of a wrong answer, 1 − confidence, to which p-values are compared."""
        return _complement(self.confidence)

    @property
    def tail(self) -> float:
        """The probability beyond each of two limits."""
        # A quantile, unlike a comparison, does not see the last bits of 1 − confidence.
        return (1 - self.confidence) / 2


def checked_level(level: float) -> float:
    """The level of a confidence set, more than 1/2."""
    import numpy as np  # the words of levels stand in help, which needs no arrays

    is_number = isinstance(level, int | float | np.floating) and not isinstance(level, bool)
    if not is_number or not 0.5 < level < 1:
        raise InputError("level", "must lie strictly between 0.5 and 1", f"got {level!r}")
    if Level(float(level)).alpha < _LEAST_ALPHA:
        raise InputError("level", f"must be at most 1 - {_LEAST_ALPHA:g}", f"got {level!r}")
    return float(level)


def level_percent(level: float) -> str:
    """A confidence level with two decimals, or with two digits of its distance from 0 or 100 %.

    >>> level_percent(0.95), level_percent(0.9545), level_percent(1 - 0.95)
    ('95 %', '95.45 %', '5 %')
    >>> level_percent(1 - 0.05 / 3), level_percent(1 - 0.05 / 3000), level_percent(1 - 1e-9)
    ('98.33 %', '99.9983 %', '99.9999999 %')
    """
    hundred = 100 * level
    distance = min(hundred, 100 - hundred)
    decimals = 2
    if 0 < distance < 1:
        decimals = max(2, 1 - math.floor(math.log10(distance)))
    digits = f"{hundred:.{decimals}f}".rstrip("0").rstrip(".")
    return f"{digits} %"


def check_drawn_level(level: float, what: str, remedy: str = "") -> None:
    """Raise if a test that draws labels needs too many draws to reject at 1 − level."""
    if level > HIGHEST_DRAWN:
        draws = "which draws 20 / (1 - level) sets of labels"
        demand = f"must be at most {HIGHEST_DRAWN} for {what}, {draws}"
        raise InputError("level", demand, f"got {level!r}", remedy=remedy)


def _complement(probability: float) -> float:
    # Not 1 - 0.9 as it is, 0.09999999999999998: a p-value of 0.1 would not reject at the level 0.9.
    return round(1 - probability, 12)
