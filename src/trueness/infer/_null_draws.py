"""Labels redrawn from the scores: the null distribution of any statistic, given the scores."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._tally.cells import Cells
from trueness.infer._finding import events_of
from trueness.typing import Floats, Ints

__all__ = ["Hits", "drawn_hits", "drawn_pvalue", "entries_of", "monte_carlo", "redrawn", "weighted_sums"]

Hits: TypeAlias = list[NDArray[Any]]

# Numbers drawn at a time, so that they stay in the processor's cache; but not fewer draws, which are added side by
# side, as long as memory is small.
_BATCH, _DRAWS, _MOST = 1 << 16, 32, 1 << 22
# Up to so many rows of one score, drawing them one by one is faster than one binomial number.
_LIGHT = 8
# Statistics that differ by less, relative to their spread, are equal: different labels may give the same
# number with another last digit, and an observed value must not beat its equals.
_EQUAL = 1e-7
_STEPS = 1 << 16


def monte_carlo(
    statistic: Callable[[Floats], Floats], cells: Cells, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Observed statistic and its p-value, large values being evidence against calibration.

    Parameters
    ----------
    statistic : callable
        From events of shape (draws, cells) to an array of shape (draws,).
    cells : Cells
        Scores, rows and events; weights must be whole numbers.
    resamples : int
        How many times the labels are redrawn.
    rng : Generator

    Returns
    -------
    observed, pvalue : float
    """
    (observed,) = statistic(events_of(cells))
    drawn = [statistic(hits.T.astype(np.float64, order="C")) for (hits,) in redrawn(*entries_of(cells), resamples, rng)]
    return float(observed), float(drawn_pvalue(observed, np.concatenate(drawn)))


def drawn_pvalue(observed: Any, drawn: Floats) -> Any:
    """How often drawn values reach the one that was seen, itself counted: (1 + #{drawn ≥ observed}) / (draws + 1).

    Under calibration the observed statistic and the drawn ones are exchangeable given the scores, so that
    P(p-value ≤ α) ≤ α for every α and number of rows, with equality, but for ties, if α · (draws + 1) is whole.
    The first axis of `drawn` is draws; further axes are statistics that share the draws.
    """
    with np.errstate(invalid="ignore"):  # labels that are all but impossible may give an infinite statistic
        spread = np.nan_to_num(drawn.std(axis=0))
    slack = np.where(np.isfinite(observed), _EQUAL * np.maximum(np.abs(observed), spread), 0.0)
    return (1 + (drawn >= observed - slack).sum(axis=0)) / (len(drawn) + 1)


def entries_of(cells: Cells) -> tuple[Floats, Ints]:
    """Scores and counts of cells whose weights are whole numbers, as entries of one score."""
    return cells.score[:, np.newaxis], cells.weight.astype(np.int64, copy=False)


def redrawn(z: Floats, count: Ints, resamples: int, rng: np.random.Generator) -> Iterator[Hits]:
    """Batches of drawn labels, `resamples` draws in all; memory is bounded whatever their number."""
    size = max(1, min(max(_DRAWS, _BATCH // len(z)), _MOST // len(z)))
    for begin in range(0, resamples, size):
        yield drawn_hits(z, count, min(size, resamples - begin), rng)


def drawn_hits(z: Floats, count: Ints, draws: int, rng: np.random.Generator) -> Hits:
    """How many rows of each entry have the class of the j-th score, k arrays of shape (m, draws).

    Parameters
    ----------
    z : array of shape (m, k)
        Scores of each entry: chances of k different classes.
    count : int array of shape (m,)
        Rows of each entry, each drawn independently.
    """
    if z.shape[1] == 1:
        return [_binomials(count, z[:, 0], draws, rng)]
    above = np.minimum(np.cumsum(z, axis=1), 1.0)
    if (count == 1).all():
        u = rng.random((len(z), draws))
        reached = [u < above[:, j, np.newaxis] for j in range(z.shape[1])]
        return [reached[0], *(new & ~old for old, new in pairwise(reached))]
    found = [_binomials(count, above[:, 0], draws, rng).astype(np.int64)]
    left = count[:, np.newaxis] - found[0]
    for j in range(1, z.shape[1]):
        rest = 1 - above[:, j - 1]
        chance = np.clip(np.divide(z[:, j], rest, out=np.zeros(len(z)), where=rest > 0), 0, 1)
        found.append(rng.binomial(left, chance[:, np.newaxis]))
        left -= found[-1]
    return found


def _binomials(n: Ints, p: Floats, draws: int, rng: np.random.Generator) -> NDArray[Any]:
    most = int(n.max())
    events = _trials(p, draws, rng).astype(np.min_scalar_type(most), copy=False)
    for trial in range(2, min(most, _LIGHT) + 1):
        entry = np.flatnonzero((n >= trial) & (n <= _LIGHT))
        events[entry] += _trials(p[entry], draws, rng)
    heavy = np.flatnonzero(n > _LIGHT)
    if heavy.size:  # entry by entry, so that the generator prepares itself once for each pair (n, p)
        events[heavy] = rng.binomial(n[heavy, np.newaxis], p[heavy, np.newaxis], (heavy.size, draws))
    return events


def _trials(p: Floats, draws: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """One row of each score: 1 with probability p, decided by 16 random bits or, where these are not enough, more.

    A uniform number U is below p if ⌊2¹⁶ U⌋ is below ⌊2¹⁶ p⌋; in the one case of 65,536 in which they are equal, if
    what is left of it is below what is left of p. So the law is that of comparing U itself, at a third of the cost.
    """
    scaled = p * _STEPS
    step = np.minimum(scaled, _STEPS - 1).astype(np.uint16)
    # Little-endian, so that a seed gives the same labels on every machine.
    words = rng.integers(0, 1 << 64, -(-p.size * draws // 4), dtype=np.uint64).astype("<u8", copy=False)
    first = words.view("<u2")[: p.size * draws].reshape(p.size, draws)
    hits = np.less(first, step[:, np.newaxis])
    undecided = np.flatnonzero(first == step[:, np.newaxis])
    rest = (scaled - step)[undecided // draws]
    hits.reshape(-1)[undecided] = rng.random(undecided.size) < rest
    return np.asarray(hits.view(np.uint8))


def weighted_sums(values: Floats, weights: Floats) -> Floats:
    """Σ of each row times the weights, added in the same order however many rows there are."""
    return np.asarray(np.einsum("ij,j->i", values, weights))
