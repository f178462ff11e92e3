"""Limits of what is measured of bins, from limits of the sums below their edges."""

import math
from typing import NamedTuple

import numpy as np

from trueness.measure._cell_bins import Apart
from trueness.measure._cuts import Cuts, Range
from trueness.typing import Floats

__all__ = ["Ends", "bins_between", "debiased", "l1", "power", "root_mean"]


class Ends(NamedTuple):
    """The least and the greatest that a number can be."""

    low: float
    high: float


def l1(cuts: Cuts) -> Ends:
    """Σ|excess of a bin| / Σw: the length of a walk that passes each cut within its limits.

    The shortest walk moves only when it must; the longest turns at ends of the limits, since its length is convex.
    """
    total = float(cuts.weight.high[-1])
    low, high = cuts.excess.low.tolist(), cuts.excess.high.tolist()
    return Ends(_shortest(low, high) / total, _longest(low, high) / total)


def _shortest(low: list[float], high: list[float]) -> float:
    # All places in [a, b] can be reached by a walk of the same, shortest, length; others cost their distance from it.
    length, a, b = 0.0, low[0], high[0]
    for c, d in zip(low[1:], high[1:], strict=True):
        if c > b:
            length, a, b = length + c - b, c, c
        elif d < a:
            length, a, b = length + a - d, d, d
        else:
            a, b = max(a, c), min(b, d)
    return length


def _longest(low: list[float], high: list[float]) -> float:
    at_low, at_high, a, b = 0.0, 0.0, low[0], high[0]
    for c, d in zip(low[1:], high[1:], strict=True):
        to_low = max(at_low + abs(c - a), at_high + abs(c - b))
        to_high = max(at_low + abs(d - a), at_high + abs(d - b))
        at_low, at_high, a, b = to_low, to_high, c, d
    return max(at_low, at_high)


def power(cuts: Cuts, loss: int, norm: float, apart: Apart) -> Ends:
    """(Σ(w_b/W) gap_b^(loss·norm))^(1/norm), or the largest gap_b^loss; bin by bin, so wider than it need be.

    Differences of sums over all rows below a cut say nothing of a bin that weighs next to nothing beside the others;
    sums of its own cells do.
    """
    weight = _both(bins_between(cuts.weight, floor=True), apart.weight, 0.0 if apart.whole else apart.room)
    excess = _both(bins_between(cuts.excess), apart.excess, apart.room)
    nearest, farthest = _sizes(excess)
    farthest = np.minimum(farthest, weight.high)  # a row is off by at most 1
    if norm == math.inf:
        sure, possible = weight.low > 0, weight.high > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(sure, nearest / weight.high, 0)
            most = np.where(sure, np.minimum(farthest / weight.low, 1), np.where(possible, 1.0, 0))
        return Ends(float(least.max()) ** loss, float(most.max()) ** loss)
    exponent = loss * norm  # (…)^(1/norm) is the loss-th power of the root of this degree
    # w·(excess / w)^q falls in w where |excess| ≤ w, and |excess| ≤ w always.
    heaviest, lightest = weight.high, np.clip(farthest, weight.low, weight.high)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(heaviest > 0, nearest / heaviest, 0)
        most = np.where(lightest > 0, np.minimum(farthest / lightest, 1), 0)
    total = float(cuts.weight.high[-1])
    return Ends(*(root_mean(gap, w, total, exponent) ** loss for gap, w in ((least, heaviest), (most, lightest))))


def root_mean(gap: Floats, weight: Floats, total: float, degree: float) -> float:
    """(Σw gap^q / W)^(1/q), in units of the largest gap: powers of high degree would vanish."""
    largest = float(gap.max(initial=0.0))
    if largest == 0:
        return 0.0
    mean = float((weight * (gap / largest) ** degree).sum()) / total
    return float(largest * mean ** (1 / degree))


def _both(of_cuts: Range, of_cells: Range, room: float) -> Range:
    """What two ways of limiting agree on; the first is off by `room` at most."""
    low = np.maximum(of_cuts.low - room, of_cells.low)
    return Range(low, np.maximum(low, np.minimum(of_cuts.high + room, of_cells.high)))


def debiased(cuts: Cuts) -> Ends:
    """Σ(excess² − squares)/(n_b − 1)/n over bins with two rows or more."""
    n, excess, squares = bins_between(cuts.weight, floor=True), bins_between(cuts.excess), bins_between(cuts.squares)
    nearest, farthest = _sizes(excess)
    above, below = farthest**2 - np.maximum(squares.low, 0), nearest**2 - squares.high
    fewest, most = np.maximum(n.low, 2) - 1, np.maximum(n.high, 2) - 1
    high = above / np.where(above > 0, fewest, most)
    low = below / np.where(below < 0, fewest, most)
    # (Σu)² ≤ n Σu², so that no bin is charged more than Σu².
    high = np.minimum(high, squares.high)
    maybe_none, none = n.low < 2, n.high < 2
    high = np.where(none, 0, np.where(maybe_none, np.maximum(high, 0), high))
    low = np.where(none, 0, np.where(maybe_none, np.minimum(low, 0), low))
    total = float(cuts.weight.high[-1])
    return Ends(float(low.sum()) / total, float(high.sum()) / total)


def bins_between(at_cuts: Range, *, floor: bool = False) -> Range:
    """Limits of the sums of bins; with `floor`, of sums that are not negative."""
    low, high = at_cuts.low[1:] - at_cuts.high[:-1], at_cuts.high[1:] - at_cuts.low[:-1]
    return Range(np.maximum(low, 0), np.maximum(high, 0)) if floor else Range(low, high)


def _sizes(values: Range) -> tuple[Floats, Floats]:
    """The least and the greatest absolute value."""
    nearest = np.maximum(0, np.maximum(values.low, -values.high))
    return nearest, np.maximum(np.abs(values.low), np.abs(values.high))
