"""Differences between two proportions of the same rows: how often one is right and the other wrong.

A row raises the difference (``up``: only the first is right), lowers it (``down``: only the second
is), or does neither. So three numbers say everything: the rows of both kinds, and all rows.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtr, ndtri, xlogy

from trueness._level import Level
from trueness.typing import Floats

# With as many disagreements as this, or fewer, p-values are exact: the score test alone rejects
# true hypotheses in up to .071 of samples of 30 to 700 rows at .05, by enumeration.
FEW = 100
# Up to as many rows every outcome is enumerated; beyond, the nuisance is searched up to _SEARCHED
# expected disagreements. By enumeration the size is then at most .0504 (200 to 2,000 rows), and
# .0518 where half of the rows disagree.
_ALL = 200
_SEARCHED = 120
# A margin that expects more harm than this by itself makes the score test accurate: .0498 at most.
_MANY = 50
_GRID = 81
_ROUNDS = 60


class ExactTails(NamedTuple):
    """P-values of all outcomes with few disagreements, for one number of rows and one margin."""

    order: Floats
    """The score statistics of the outcomes, ascending."""
    pvalue: Floats
    """The largest probability of an outcome as extreme as this one, over the nuisance."""


def score_statistic(up: ArrayLike, down: ArrayLike, n: float, difference: ArrayLike) -> Floats:
    r"""The score statistic of the hypothesis that P(up) − P(down) is `difference`.

    With :math:`d` the difference and :math:`q` the probability of ``down`` that is the likeliest
    under the hypothesis, :math:`z = ((u - v)/n - d) / \sqrt{(2 q + d - d^2) / n}`. Zero where the
    outcome is certain under the hypothesis.

    T. Tango, Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design, Statistics in Medicine 17 (1998), 891-908.
    """
    u, v, d = np.broadcast_arrays(
        np.asarray(up, np.float64), np.asarray(down, np.float64), np.asarray(difference, np.float64)
    )
    # For a negative difference the two kinds of rows change places.
    sign = np.where(d < 0, -1.0, 1.0)
    first = np.where(d < 0, v, u)
    second = np.where(d < 0, u, v)
    gap = np.abs(d)
    middle = first + second - gap * (2 * n - first + second)
    q = (middle + np.sqrt(middle**2 + 8 * n * second * gap * (1 - gap))) / (4 * n)
    variance = np.maximum(2 * q + gap - gap**2, 0) / n
    distance = (first - second) / n - gap
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(distance == 0, 0.0, distance / np.sqrt(variance))
    return np.asarray(sign * z)


def noninferiority(up: ArrayLike, down: ArrayLike, n: int, margin: float) -> Floats:
    """P-values of the hypothesis P(up) − P(down) ≥ margin: a small one contradicts it.

    `up` and `down` count the rows of each kind of disagreement among `n` rows; few `up` contradict
    the hypothesis. The score test of Tango is used. Where disagreements or rows are few, and the
    margin itself expects few, the p-value is at least that of the exact test. That test orders
    outcomes by the score statistic and takes the largest p-value over the unknown P(down).
    """
    up, down = np.broadcast_arrays(np.asarray(up, np.float64), np.asarray(down, np.float64))
    z = score_statistic(up, down, n, margin)
    pvalue = np.asarray(ndtr(z))
    is_exact = (up + down <= FEW) | (n <= _ALL)
    if n * margin < _MANY and is_exact.any():
        tails = _exact_tails(n, margin)
        place = np.searchsorted(tails.order, z - 1e-9)
        exact = tails.pvalue[np.minimum(place, tails.pvalue.size - 1)]
        pvalue = np.where(is_exact, np.maximum(pvalue, exact), pvalue)
    return np.asarray(np.minimum(pvalue, 1.0))


@lru_cache(maxsize=64)
def _exact_tails(n: int, margin: float) -> ExactTails:
    """P-values of all outcomes with few disagreements, for `n` rows and one margin.

    An outcome is a pair of counts, `up` and `down`, of rows on which two models disagree. Outcomes
    are ordered by the score statistic. The p-value of one is the probability of all outcomes up to
    it, under P(up) − P(down) = `margin`; it is the largest over a grid of values of the unknown
    P(down). Outcomes with equal statistics have equal p-values.
    """
    expected = n if n <= _ALL else _SEARCHED
    limit = min(n, round(expected + 8 * math.sqrt(expected)) + 10)
    up, down = (counts.ravel() for counts in np.indices((limit + 1, limit + 1), np.float64))
    inside = up + down <= limit
    up = up[inside]
    down = down[inside]
    z = score_statistic(up, down, n, margin)
    order = np.argsort(z, kind="stable")
    up = up[order]
    down = down[order]
    z = z[order]
    neither = n - up - down
    ways = gammaln(n + 1) - gammaln(up + 1) - gammaln(down + 1) - gammaln(neither + 1)
    widest = max(min((1 - margin) / 2, (expected / n - margin) / 2), 0.0)
    largest = np.zeros(z.size)
    for chance in np.linspace(0, 1, _GRID) ** 2 * widest:
        rest = max(1 - 2 * chance - margin, 0.0)
        log = xlogy(up, chance + margin) + xlogy(down, chance) + xlogy(neither, rest)
        largest = np.maximum(largest, np.cumsum(np.exp(ways + log)))
    # Outcomes with equal statistics are equally extreme: all of them have the last one's p-value.
    last = np.flatnonzero(np.append(np.diff(z) > 1e-9, True))
    return ExactTails(z[last], largest[last])


def score_limits(up: ArrayLike, down: ArrayLike, n: float, level: float) -> tuple[Floats, Floats]:
    """Two-sided limits of P(up) − P(down): the differences that the score test does not reject.

    `up` and `down` count the rows of each kind of disagreement among `n` rows; `level` is the
    confidence level. The result is the lower limits and the upper limits.
    """
    up, down = np.broadcast_arrays(np.asarray(up, np.float64), np.asarray(down, np.float64))
    reach = -float(ndtri(Level(level).tail))
    value = (up - down) / n

    def end(sign: float) -> Floats:
        """The limit on one side, by halving an interval: from −1 up, or from 1 down."""
        inside = value.copy()
        outside = np.full(value.shape, sign)
        for _ in range(_ROUNDS):
            middle = (inside + outside) / 2
            rejected = np.abs(score_statistic(up, down, n, middle)) > reach
            outside = np.where(rejected, middle, outside)
            inside = np.where(rejected, inside, middle)
        return np.asarray((inside + outside) / 2)

    return end(-1.0), end(1.0)
