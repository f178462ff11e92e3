"""Labels redrawn from the scores: the null distribution of any statistic, given the scores."""

from collections.abc import Callable, Iterator

import numpy as np

from trueness._tally.cells import Cells
from trueness.infer._finding import events_of
from trueness.typing import Floats

__all__ = ["EQUAL", "monte_carlo", "redrawn", "weighted_sums"]

# Numbers drawn at a time, so that they stay in the processor's cache.
_BATCH = 2**18
# Up to so many rows of one score, drawing them one by one is faster than one binomial number.
_LIGHT = 8
# Statistics that differ by less, relative to their spread, are equal: different labels may give the same
# number with another last digit, and an observed value must not beat its equals.
EQUAL = 1e-7


def monte_carlo(
    statistic: Callable[[Floats], Floats], cells: Cells, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Observed statistic and its p-value, large values being evidence against calibration.

    Parameters
    ----------
    statistic : callable
        From events of shape (draws, cells) to an array whose first axis is draws; further axes are
        statistics that share the draws.
    cells : Cells
        Scores, rows and events; weights must be whole numbers.
    resamples : int
        How many times the labels are redrawn.
    rng : Generator

    Returns
    -------
    observed, pvalue : arrays
        The p-value is (1 + #{drawn ≥ observed}) / (resamples + 1). Under calibration the observed
        statistic and the drawn ones are exchangeable given the scores, so that P(pvalue ≤ α) ≤ α for every
        α and number of rows, with equality, but for ties, if α · (resamples + 1) is whole.
    """
    observed = statistic(events_of(cells))[0]
    drawn = np.concatenate([statistic(events) for events in redrawn(cells, resamples, rng)])
    with np.errstate(invalid="ignore"):  # labels that are all but impossible may give an infinite statistic
        spread = np.nan_to_num(drawn.std(axis=0))
    slack = np.where(np.isfinite(observed), EQUAL * np.maximum(np.abs(observed), spread), 0.0)
    reached = (drawn >= observed - slack).sum(axis=0)
    return observed, (1 + reached) / (resamples + 1)


def redrawn(cells: Cells, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Batches of events of shape (draws, cells), each Binomial(weight, score), `resamples` draws in all."""
    size = max(1, _BATCH // cells.size)
    for begin in range(0, resamples, size):
        yield _draws(cells, min(size, resamples - begin), rng)


def _draws(cells: Cells, draws: int, rng: np.random.Generator) -> Floats:
    n, p = cells.weight.astype(np.int64, copy=False), cells.score
    events = _trials(p, draws, rng)
    for trial in range(2, min(int(n.max()), _LIGHT) + 1):
        cell = np.flatnonzero((n >= trial) & (n <= _LIGHT))
        events[:, cell] += _trials(p[cell], draws, rng)
    heavy = np.flatnonzero(n > _LIGHT)
    if heavy.size:
        # One cell after the other: the generator keeps what it has prepared for equal arguments.
        drawn = rng.binomial(n[heavy, np.newaxis], p[heavy, np.newaxis], (heavy.size, draws))
        events[:, heavy] = drawn.T
    return events


def _trials(p: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """One row of each score: 1 with probability p; a uniform number is below 1 and never below 0."""
    uniform = rng.random((draws, p.size))
    return np.less(uniform, p, out=uniform)  # 0.0 and 1.0


def weighted_sums(values: Floats, weights: Floats) -> Floats:
    """Σ of each row times the weights, added in the same order however many rows there are."""
    return np.asarray(np.einsum("ij,j->i", values, weights))
