"""The exact test of calibration: labels drawn from the scores show what the statistic does by chance."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._numerics.pairs import pair_mean
from trueness._tally.top_k import BinnedScores, near_ties
from trueness.typing import Floats, Ints

__all__ = ["draws_for", "null_statistics", "zero_pvalue"]

_ENTRIES = 1 << 22
# From so many entries on, scores closer than this angle are drawn together.
_MANY, _ANGLE = 4096, 1 / 1024
_MANY_ROWS, _WIDE_ANGLE = 1 << 15, 1 / 16
_ROW_BY_ROW = 64


def draws_for(alpha: float) -> int:
    """Draws for a test at level `alpha`: (R + 1) α is whole for the usual levels, so that the level is exact."""
    return max(1000, math.ceil(round(20 / alpha, 6))) - 1


def zero_pvalue(scores: BinnedScores, statistic: float, draws: int, rng: np.random.Generator) -> float:
    """How often calibrated labels give at least the statistic that was seen, itself counted.

    (1 + #{T* ≥ T}) / (R + 1): a test that rejects when this is at most α errs with probability at most α,
    for any number of rows, any scores and any bins that do not look at the labels.

    See :func:`null_statistics` for how T* is drawn when there are very many different scores.
    """
    drawn = null_statistics(scores, draws, rng)
    # Equal statistics must compare as equal although they were added in another order.
    slack = 1e-10 * max(abs(statistic), float(np.abs(drawn).max()))
    return float(1 + np.count_nonzero(drawn >= statistic - slack)) / (draws + 1)


def null_statistics(scores: BinnedScores, draws: int, rng: np.random.Generator) -> Floats:
    """T for labels drawn from the scores.

    Every label is drawn, unless there are more than 4,096 different scores (32,768 rows if several scores of a row
    are looked at): then those of a bin that lie within 1/1024 (1/16) of each other in the angle arcsin √p are
    replaced by their mean and drawn together, as one binomial number. That adds to the variance of T less than one
    part in 10⁶ (about one in 400); and for one score per row the joint law of all drawn sums differs from the true one
    by less than 0.001 in total variation (by the bound of Ehm, "Binomial approximation to the Poisson binomial
    distribution", 1991), so that the level of the test does too. Memory is bounded whatever `draws` is.
    """
    total = scores.n
    size = np.add.reduceat(scores.count, scores.first)
    if (size < 2).any():  # rows that are alone add nothing
        scores = scores.of_bins(size >= 2)
    if scores.k == 1 and len(scores.z) > _MANY:
        scores = near_ties(scores, _ANGLE)
    elif len(scores.z) > _MANY_ROWS:
        scores = near_ties(scores, _WIDE_ANGLE)
    step = max(1, _ENTRIES // len(scores.z))
    drawn = [_drawn(scores, min(step, draws - i), rng) for i in range(0, draws, step)]
    return np.concatenate(drawn) * (scores.n / total)


def _drawn(scores: BinnedScores, draws: int, rng: np.random.Generator) -> Floats:
    z, count, first = scores.z, scores.count, scores.first
    n = np.add.reduceat(count, first)
    expected = np.add.reduceat(count[:, None] * z, first, axis=0)
    q = np.repeat(np.add.reduceat(count * (z * z).sum(axis=1), first)[:, None], draws, axis=1)
    s = np.empty((scores.k, first.size, draws))
    for j, hits in enumerate(_hits(z, count, draws, rng)):
        s[j] = np.add.reduceat(hits, first, axis=0, dtype=np.float64) - expected[:, j, None]
        q += np.add.reduceat(hits * (1 - 2 * z[:, j, None]), first, axis=0)
    return pair_mean(n, s.transpose(2, 1, 0), q.T)


def _hits(z: Floats, count: Ints, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
    """How many rows of each entry have the class of the j-th score, of shape (m, draws), for each j."""
    above = np.minimum(np.cumsum(z, axis=1), 1.0)
    if (count == 1).all():
        u = rng.random((len(z), draws))
        below = np.zeros(u.shape, dtype=bool)
        for j in range(z.shape[1]):
            reached = u < above[:, j, None]
            yield reached & ~below
            below = reached
        return
    left = np.repeat(count[:, None], draws, axis=1)
    for j in range(z.shape[1]):
        rest = 1 - (above[:, j - 1] if j else 0)
        chance = np.clip(np.divide(z[:, j], rest, out=np.zeros(len(z)), where=rest > 0), 0, 1)
        hits = _binomials(left, chance, rng) if j else _equal_binomials(count, chance, draws, rng)
        left -= hits
        yield hits


def _binomials(n: Ints, p: Floats, rng: np.random.Generator) -> Ints:
    return rng.binomial(n, p[:, None])


def _equal_binomials(n: Ints, p: Floats, draws: int, rng: np.random.Generator) -> Ints:
    if draws < _ROW_BY_ROW:
        return rng.binomial(n[:, None], p[:, None], size=(n.size, draws))
    hits = np.empty((n.size, draws), dtype=np.int64)
    for i in range(n.size):  # the generator prepares itself once for each pair (n, p)
        hits[i] = rng.binomial(n[i], p[i], size=draws)
    return hits
