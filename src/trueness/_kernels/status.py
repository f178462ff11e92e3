"""What a pass over the rows can find wrong: the bits of the number it returns."""

from typing import Final

__all__ = ["BAD_LABEL", "BAD_SCORE", "BAD_SUM", "BAD_WEIGHT", "OUTSIDE_EDGES"]

BAD_SCORE: Final = 1
"""A score is nan or lies outside [0, 1]."""

BAD_LABEL: Final = 2
"""A label is neither 0 nor 1, or a class code is not one of 0 .. K-1."""

OUTSIDE_EDGES: Final = 4
"""A score in [0, 1] lies below the first or above the last edge."""

BAD_WEIGHT: Final = 8
"""A weight is negative, infinite or nan."""

BAD_SUM: Final = 16
"""A row of valid probabilities does not sum to one within the tolerance."""
