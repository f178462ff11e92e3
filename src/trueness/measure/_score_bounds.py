"""Limits of proper scores and of the smooth error, from the sums of cells."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness.measure._bin_bounds import Ends
from trueness.measure._cuts import Spread
from trueness.typing import Floats

__all__ = ["smooth", "squared", "surprise"]

# Scores are cut to multiples of this before they are added.
_UNIT = 2.0**-53
# What the smooth error of given residuals is accurate to, twice: of the rows and of the cells.
_QUADRATURE = 2e-6
# The narrowest kernel that is looked at: finer ones take too fine a grid.
_NARROWEST = 1e-4


def squared(cells: Spread) -> float:
    """Mean of (y − p)²: the sketch has every sum that it needs."""
    return float(cells.squares.sum() / cells.n.sum())


def surprise(cells: Spread, *, events_only: bool = False) -> Ends:
    """Σ −w log(probability of what happened).

    −log is convex: given the mean, the sum is least if all scores lie there, and greatest if all lie at the ends of the
    cell.
    """
    n0, n1 = cells.n.T
    happened = _convex(n1, cells.sum_score[:, 1], cells.low[:, 1], cells.high[:, 1])
    if events_only:
        return happened
    did_not = _convex(n0, n0 - cells.sum_score[:, 0], 1 - cells.high[:, 0], 1 - cells.low[:, 0], at_most=True)
    return Ends(happened.low + did_not.low, happened.high + did_not.high)


def _convex(n: Floats, total: Floats, low: Floats, high: Floats, *, at_most: bool = False) -> Ends:
    """Limits of Σ −log p; the sum of scores is cut short by less than a unit for each row, or so exceeded."""
    some = n > 0
    n, low, high = n[some], low[some], high[some]
    mean = total[some] / n
    # The rounded complement of a tiny score may be off by half a unit as well.
    most, least = (mean, mean - 2 * _UNIT) if at_most else (mean + 2 * _UNIT, mean)
    least, most = np.clip(least, low, high), np.clip(most, low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        at_low, at_high = -np.log(low), -np.log(high)
        share = np.where(high > low, (high - least) / (high - low), 0)
        chord = np.where(share > 0, share * at_low, 0) + np.where(share < 1, (1 - share) * at_high, 0)
        return Ends(float((n * -np.log(most)).sum()), float((n * np.maximum(chord, -np.log(least))).sum()))


class _Moves(NamedTuple):
    """What is known of Σ|u|·|p − mean|, |Σu(p − mean)| and Σ|u|(p − mean)² of all cells, over Σw; u = y − p."""

    absolute: float
    first: float
    second: float

    def effect(self, sigma: float) -> float:
        """How far the blurred residuals can be, in the mean, from those of rows at the means of their cells."""
        slope, bend = math.sqrt(2 / math.pi) / sigma, 2 * math.exp(-0.5) / math.sqrt(2 * math.pi) / sigma**2
        return min(slope * self.absolute, slope * self.first + bend * self.second)


def _moves(cells: Spread, mean: Floats) -> _Moves:
    total, centre = cells.n.sum(), mean[:, None]
    error = cells.n * 2.0**-50
    variance = np.maximum(cells.square - 2 * centre * cells.sum_score + centre**2 * cells.n, 0) + error
    size = np.column_stack([cells.sum_score[:, 0], cells.n[:, 1] - cells.sum_score[:, 1]])
    far = np.maximum(cells.high - centre, centre - cells.low)
    first = np.abs(cells.sum_score[:, 1] - cells.square.sum(axis=1) - mean * cells.excess) + error.sum(axis=1)
    most = np.column_stack([cells.high[:, 0], 1 - cells.low[:, 1]])
    # By the inequality of Cauchy and Schwarz, since |u| is at most `most`.
    absolute = np.minimum(far * size, np.sqrt(variance * size * most))
    return _Moves(*(float(column.sum() / total) for column in (absolute, first, variance * most)))


def smooth(cells: Spread, mean: Floats) -> Ends:
    r"""The smooth error: the width at which the blurred residuals have just that size.

    Moving a residual u by d changes the blurred ones, in the mean absolute, by at most √(2/π)·|u|·d/σ. To first order
    the moves of a cell add up to Σu(p − mean), which is known; the rest is at most 2φ(1)·Σ|u|(p − mean)²/σ². The size
    falls in σ: where it is surely below σ, the width sought is smaller, and where surely above, larger.
    """
    from trueness._numerics.smooth import smooth_error_at

    residual = cells.excess / cells.n.sum()
    mass = float((cells.n[:, 1] - cells.sum_score[:, 1] + cells.sum_score[:, 0]).sum() / cells.n.sum())
    moves = _moves(cells, mean)

    def surely_below(sigma: float) -> bool:
        return smooth_error_at(mean, residual, sigma) + moves.effect(sigma) + _QUADRATURE <= sigma

    def surely_above(sigma: float) -> bool:
        return smooth_error_at(mean, residual, sigma) - moves.effect(sigma) - _QUADRATURE >= sigma

    high = mass  # blurring only shrinks
    if mass > _NARROWEST and surely_below(mass):
        high = _between(_NARROWEST, mass, surely_below)
    # The second condition may fail again for narrow kernels: look from above.
    widths = high * 2.0 ** -np.arange(0.25, 14, 0.25)
    hopeful = (s for s in widths.tolist() if s > _NARROWEST and moves.effect(s) < mass)
    low = next((s for s in hopeful if surely_above(s)), 0.0)
    if low > 0:
        low = _between(low * 2**0.25, low, surely_above)
    # Below the quadrature's accuracy nothing can be told apart.
    return Ends(max(0.0, low - _QUADRATURE), high + _QUADRATURE)


def _between(wrong: float, right: float, holds: Callable[[float], bool]) -> float:
    """A number for which it holds, close to one for which it may not."""
    for _ in range(20):
        middle = (wrong + right) / 2
        wrong, right = (wrong, middle) if holds(middle) else (middle, right)
    return right
