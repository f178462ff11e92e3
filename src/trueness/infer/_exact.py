"""The exact test of calibration: labels drawn from the scores show what the statistic does by chance."""

import math

import numpy as np

from trueness._tally.cells import Cells
from trueness._tally.rules import EqualMass
from trueness._tally.top_k import BinnedScores, near_ties, of_cells
from trueness.infer._finding import Ask, Finding, whole
from trueness.infer._null_draws import drawn_pvalue, redrawn
from trueness.infer._pair_statistic import PairStatistic
from trueness.typing import Floats

__all__ = ["draws_for", "exact", "null_statistics", "zero_pvalue"]

# From so many entries on, scores closer than this angle are drawn together.
_MANY, _ANGLE = 4096, 1 / 1024
_MANY_ROWS, _WIDE_ANGLE = 1 << 15, 1 / 16


def draws_for(alpha: float) -> int:
    """Draws for a test at level `alpha`: (R + 1) α is whole for the usual levels, so that the level is exact."""
    return max(1000, math.ceil(round(20 / alpha, 6))) - 1


def exact(cells: Cells, ask: Ask) -> Finding:
    """T with its Monte-Carlo p-value."""
    n = int(whole(cells, "method='exact'").weight.sum())
    rule = ask.rule or EqualMass(max(5, round(n**0.4)))
    resamples = ask.resamples or 999
    scores = of_cells(cells, rule, None)
    statistic = float(PairStatistic(scores.z, scores.count, scores.first)([scores.hits])[0])
    pvalue = zero_pvalue(scores, statistic, resamples, ask.rng)
    exactly = "exact at any n" if cells.size <= _MANY else "exact within 0.001, near ties being drawn together"
    assumed = (
        f"Rows are independent; the level is {exactly}: {resamples:,} sets of labels were drawn from the scores. "
        f"Bins: {rule!r}."
    )
    return Finding(statistic, pvalue, assumed, 1 / (resamples + 1))


def zero_pvalue(scores: BinnedScores, statistic: float, draws: int, rng: np.random.Generator) -> float:
    """How often calibrated labels give at least the statistic that was seen, itself counted.

    (1 + #{T* ≥ T}) / (R + 1): a test that rejects when this is at most α errs with probability at most α,
    for any number of rows, any scores and any bins that do not look at the labels.

    See :func:`null_statistics` for how T* is drawn when there are very many different scores.
    """
    return float(drawn_pvalue(statistic, null_statistics(scores, draws, rng)))


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
    if not (size >= 2).any():
        return np.zeros(draws)
    if (size < 2).any():  # rows that are alone add nothing
        scores = scores.of_bins(size >= 2)
    if scores.k == 1 and len(scores.z) > _MANY:
        scores = near_ties(scores, _ANGLE)
    elif len(scores.z) > _MANY_ROWS:
        scores = near_ties(scores, _WIDE_ANGLE)
    statistic = PairStatistic(scores.z, scores.count, scores.first)
    drawn = [statistic(hits) for hits in redrawn(scores.z, scores.count, draws, rng)]
    return np.concatenate(drawn) * (scores.n / total)
