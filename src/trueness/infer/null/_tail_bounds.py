r"""Proven bounds on the chance of labels as far from their scores as the observed ones: p-values without a floor.

A Monte-Carlo p-value is at least 1/(R + 1). Below it, only a bound that is proven for every n is valid; an asymptotic
tail is wrong by orders of magnitude there.

**Cells.** Let a cell have N independent labels with mean probability p, and O events. Since
:math:`\log(1 - p_i + p_i e^t)` is concave in :math:`p_i`, Markov's inequality for :math:`e^{tO}` gives the Chernoff
bound of the binomial distribution: on each side of Np,

.. math:: P(D \ge x) \le e^{-x}, \qquad D = O \log \frac{O}{Np} + (N - O) \log \frac{N - O}{N(1 - p)} .

Both sides together: D is stochastically at most log 2 + E, E exponential. Cells are independent, so their sum over B
cells is at most B log 2 plus a Gamma(B) number, and the largest exceeds x with probability at most :math:`2 B e^{-x}`.

**Directions.** For :math:`S = \sum a_i (y_i - p_i)` the Chernoff bound is computed from the moment generating function
itself: :math:`P(S \ge s) \le \exp(\sum \log(1 - p_i + p_i e^{t a_i}) - t \sum a_i p_i - t s)` for every t > 0.

Bounds on several statistics are combined by Bonferroni's inequality: their number times the smallest.
"""

import math
import sys
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, gammaincc, logit, xlogy

from trueness._numerics.roots import bracketed_root
from trueness._tally.cells import Cells, segment_sums
from trueness.typing import Floats, Ints

MANY_DIRECTIONS = 10**5
"""With more distinct scores than this, directions would take longer than they are worth."""


def tail_bound(cells: Cells, partitions: Sequence[Ints], directions: Sequence[Floats]) -> float:
    """A p-value of calibration from the sums of cells and of directions; rows are independent.

    `partitions` are first cells of groups, one of them being the whole, and `directions` one number per distinct score.
    Neither may depend on the labels.
    """
    bounds = [b for first in partitions for b in _bounds_of_cells(cells, first)]
    bounds += [_bound_of_direction(cells, a) for a in directions]
    # The smallest positive number stands for whatever is smaller: the labels are not impossible.
    return min(1.0, max(len(bounds) * min(bounds), sys.float_info.min))


def _bounds_of_cells(cells: Cells, first: Ints) -> list[float]:
    p, n, hits = cells.score, cells.weight.astype(np.float64), cells.events.astype(np.float64)
    sums = (np.asarray(segment_sums(part, first), dtype=np.float64) for part in (hits, n - hits, n * p, n * (1 - p)))
    events, others, expected, rest = sums
    divergence = _excess(events, expected) + _excess(others, rest)
    size = first.size
    whole = float(gammaincc(size, max(0.0, float(divergence.sum()) - size * math.log(2))))
    return [whole] if size == 1 else [whole, 2 * size * math.exp(-float(divergence.max()))]


def _excess(observed: Floats, expected: Floats) -> Floats:
    """O log(O / E); zero without events."""
    return np.asarray(xlogy(observed, observed) - xlogy(observed, expected))


def _bound_of_direction(cells: Cells, a: Floats) -> float:
    """Two-sided bound on the sum of a(y − p)."""
    p, n = cells.score, cells.weight
    inside = (p > 0) & (p < 1) & (a != 0)
    p, n, a = p[inside], n[inside], a[inside]
    total = float(((cells.events[inside] - n * p) * a).sum())
    spread = float((n * p * (1 - p) * a * a).sum())
    if total == 0 or spread == 0:
        return 1.0
    a, total = a * math.copysign(1, total), abs(total)

    x = logit(p)

    def shortfall(log_t: float) -> float:
        """The derivative of the exponent by t, which increases: Σ a(y − p) expected under tilted scores − observed."""
        return float((n * a * (expit(x + math.exp(log_t) * a) - p)).sum()) - total

    # The best t is near s / V for small deviations, and t a has the size of a log-odds for large ones.
    largest = float(np.abs(a).max())
    high = math.log(1e3 / largest)
    low = min(math.log(total) - math.log(spread), math.log(1e-2 / largest)) - 1
    if shortfall(high) <= 0:
        best = high
    else:  # any t gives a bound
        best = bracketed_root(shortfall, low, high, xtol=1e-6) if shortfall(low) < 0 else low
    t = math.exp(best) * a
    # For large t, log(1 − p + p e^t) = t + log(p + (1 − p) e^−t).
    q, size = np.where(t > 0, p, 1 - p), np.abs(t)
    grown = np.where(t > 0, t, 0.0) + np.log(q + (1 - q) * np.exp(-size))
    exponent = float((n * (grown - t * p)).sum()) - math.exp(best) * total
    return math.exp(min(0.0, math.log(2) + exponent))
