"""The exact test of calibration: labels drawn from the scores show what the statistic does by chance."""

import math
from collections.abc import Iterator

import numpy as np

from trueness._tally.binned_scores import BinnedScores, near_ties, of_cells
from trueness._tally.cells import Cells
from trueness._tally.rules import EqualMass
from trueness.infer._finding import Ask, Finding, whole
from trueness.infer._null_draws import drawn_pvalue, redrawn
from trueness.infer._pair_statistic import PairStatistic
from trueness.typing import Floats, Ints

__all__ = ["draws_for", "exact", "null_statistics", "zero_pvalue", "zero_refuted"]

# From so many entries on, scores closer than this angle are drawn together.
_MANY, _ANGLE = 4096, 1 / 1024
_MANY_ROWS, _WIDE_ANGLE = 1 << 15, 1 / 16
# No labels are drawn where the logarithm of the chance that one set of them matters is below this.
_IMPOSSIBLE = -60.0


def draws_for(alpha: float) -> int:
    """Draws for a test at level `alpha`: (R + 1) α is whole for the usual levels, so that the level is exact."""
    return max(1000, math.ceil(round(20 / alpha, 6))) - 1


def exact(cells: Cells, ask: Ask) -> Finding:
    """T with its Monte-Carlo p-value."""
    n = int(whole(cells, "`method='exact'`").weight.sum())
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


def zero_refuted(scores: BinnedScores, statistic: float, alpha: float, rng: np.random.Generator) -> bool:
    """Whether :func:`zero_pvalue` is at most α, from no more draws than settle it.

    Draws end once too many have reached the statistic. None is made if it is out of their reach: if the chance that
    one set of labels gives half of it is below e⁻⁶⁰, so that the answer is the one that draws would give.
    """
    draws = draws_for(alpha)
    if scores.k == 1 and _log_chance(_rows_of_bins(scores), scores.n * statistic / 2) < _IMPOSSIBLE:
        return True
    reached, drawn = 0, []
    for batch in _null_batches(scores, draws, rng):
        drawn.append(batch)
        reached += int((batch >= statistic).sum())
        if (1 + reached) / (draws + 1) > alpha:
            return False
    return bool(drawn_pvalue(statistic, np.concatenate(drawn)) <= alpha)


def _rows_of_bins(scores: BinnedScores) -> Ints:
    size: Ints = np.add.reduceat(scores.count, scores.first)
    return size[size >= 2]


def _log_chance(size: Ints, value: float) -> float:
    r"""A bound on the logarithm of :math:`P(n T^* \ge x)`, T* of labels drawn from one score per row.

    :math:`n T^*` is at most :math:`\sum S^2 / (N - 1)`. By Hoeffding's lemma a sum S of N centred labels has
    :math:`E e^{tS} \le e^{N t^2 / 8}`, so that :math:`E e^{\lambda S^2} \le (1 - \lambda N / 2)^{-1/2}`; with
    :math:`\lambda = 1 / (2(N - 1))` in each bin, Markov's inequality gives the bound.
    """
    return float(-value / 2 - 0.5 * np.log1p(-size / (4 * (size - 1.0))).sum())


def null_statistics(scores: BinnedScores, draws: int, rng: np.random.Generator) -> Floats:
    """T for labels drawn from the scores.

    Every label is drawn, unless there are more than 4,096 different scores (32,768 rows if several scores of a row
    are looked at): then those of a bin that lie within 1/1024 (1/16) of each other in the angle arcsin √p are
    replaced by their mean and drawn together, as one binomial number. That adds to the variance of T less than one
    part in 10⁶ (about one in 400); and for one score per row the joint law of all drawn sums differs from the true one
    by less than 0.001 in total variation (by the bound of Ehm, "Binomial approximation to the Poisson binomial
    distribution", 1991), so that the level of the test does too. Memory is bounded whatever `draws` is.
    """
    return np.concatenate(list(_null_batches(scores, draws, rng)))


def _null_batches(scores: BinnedScores, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    total = scores.n
    size = np.add.reduceat(scores.count, scores.first)
    if not (size >= 2).any():
        yield np.zeros(draws)
        return
    if (size < 2).any():  # rows that are alone add nothing
        scores = scores.of_bins(size >= 2)
    if scores.k == 1 and len(scores.z) > _MANY:
        scores = near_ties(scores, _ANGLE)
    elif len(scores.z) > _MANY_ROWS:
        scores = near_ties(scores, _WIDE_ANGLE)
    statistic = PairStatistic(scores.z, scores.count, scores.first)
    for hits in redrawn(scores.z, scores.count, draws, rng):
        yield statistic(hits) * (scores.n / total)
