r"""How much of some weight can lie below an edge, from its mean, its mean square and its ends.

A polynomial that is at least 1 below the edge and at least 0 above it has a mean no less than the share below. Three of
them are asked: the straight line from the edge to the upper end, the parabola that is 1 at the lower end and the edge
and 0 at the upper end, and the square that Cantelli's inequality comes from. The share above is the mirror image.
"""

from typing import NamedTuple

import numpy as np

from trueness.typing import Floats

__all__ = ["Moments", "share_below"]

# Squares of smaller numbers lose digits to underflow.
_SQUARABLE = 1e-140


class Moments(NamedTuple):
    """What is known of scores: their mean and mean square, each with the most that it is off by, and their ends."""

    mean: Floats
    mean_error: Floats
    square: Floats
    square_error: Floats
    low: Floats
    high: Floats

    def mirrored(self) -> "Moments":
        """Those of the negative scores."""
        return self._replace(mean=-self.mean, low=-self.high, high=-self.low)


def share_below(of: Moments, edge: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest share of the weight that has scores below an edge; the edge is within the ends."""
    most = _most_up_to(of, np.nextafter(edge, 0))
    return 1 - _most_up_to(of.mirrored(), -edge), most


def _most_up_to(of: Moments, edge: Floats) -> Floats:
    mean, low, high = of.mean, of.low, of.high
    size = np.maximum(np.abs(low), np.abs(high))
    error = of.square_error + 2 * size * of.mean_error
    variance = np.maximum(of.square - mean**2, 0) + error
    beyond = np.maximum(mean - edge - of.mean_error, 0)
    product = of.square - (low + edge) * mean + low * edge - error  # the mean of (x − low)(x − edge), at least
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        line = (high - mean + of.mean_error) / (high - edge)
        parabola = 1 - product / ((high - low) * (high - edge))
        cantelli = variance / (variance + beyond**2)
    by_squares = np.where(size > _SQUARABLE, np.fmin(parabola, cantelli), 1.0)
    return np.asarray(np.clip(np.fmin(line, by_squares), 0, 1))
