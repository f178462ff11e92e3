"""The exact test of calibration: the debiased squared error, compared with labels drawn from the scores."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._numerics.runs import NestedRuns
from trueness._tally.binned_scores import BinnedScores, near_ties, of_cells
from trueness._tally.cells import Cells
from trueness._tally.rules import EqualMass
from trueness.infer.null._redrawn_labels import label_batches, monte_carlo_pvalue
from trueness.infer.test._method import Options, Outcome, require_counts
from trueness.typing import Floats, Ints

Divisor: TypeAlias = Literal["pairs", "rows"]
# Above this many entries (rows, for several scores per row), scores within this angle are drawn together.
_MANY, _ANGLE = 4096, 1 / 1024
_MANY_ROWS, _WIDE_ANGLE = 1 << 15, 1 / 16
# No labels are drawn if the logarithm of the chance that one set of them matters is below this.
_IMPOSSIBLE = -60.0


class PairStatistic:
    r"""The statistic :math:`T = \frac1n \sum_{n_b \ge 2} \frac{\|\sum u\|^2 - \sum \|u\|^2}{n_b - 1}`, u = y − z.

    `z`, of shape (m, k), are the scores of entries of `count` rows each; `first` is the first entry of each bin. The
    divisor is :math:`n_b - 1` for 'pairs' (the unbiased estimate) and :math:`n_b` for 'rows' (T-Cal).
    """

    def __init__(self, z: Floats, count: Ints, first: Ints, divisor: Divisor = "pairs") -> None:
        n = np.add.reduceat(count, first)
        # A bin of one row has no pair, whatever its label.
        self.share: Floats = np.where(n >= 2, 1 / np.maximum(n - (divisor == "pairs"), 1) / n.sum(), 0.0)
        self.runs = NestedRuns(len(z), [first])
        self.dtype = np.min_scalar_type(int(n.max()))
        self.expected: Floats = np.add.reduceat(count[:, np.newaxis] * z, first, axis=0)
        # Σ‖u‖²: a row of the j-th class has ‖e_j − z‖² = ‖z‖² + 1 − 2 z_j.
        share = np.repeat(self.share, np.diff(np.append(first, len(z))))
        self.slope: Floats = share[:, np.newaxis] * (1 - 2 * z)
        self.squares = float(share @ (count * (z * z).sum(axis=1)))

    def __call__(self, hits: Sequence[NDArray[Any]]) -> Floats:
        """T of each set of labels, from k arrays of hits of shape (m, draws)."""
        value = np.full(hits[0].shape[1], -self.squares)
        for j, count in enumerate(hits):
            excess = self.runs.sums(count, self.dtype)[self.runs.rows[0]] - self.expected[:, j, np.newaxis]
            value += np.einsum("i,ij,ij->j", self.share, excess, excess)
            value -= np.einsum("i,ij->j", self.slope[:, j], count.astype(np.float64))
        return value


def required_draws(alpha: float) -> int:
    """Number of draws R for a test at level `alpha`: (R + 1) α is whole at the usual levels, so the level is exact."""
    return max(1000, math.ceil(round(20 / alpha, 6))) - 1


def score_test_bins(n: float) -> EqualMass:
    """The default bins of the exact test, the score interval and comparisons: n^0.4 bins of equal mass."""
    return EqualMass(max(5, round(n**0.4)))


def exact(cells: Cells, options: Options) -> Outcome:
    """T with its Monte-Carlo p-value."""
    n = int(require_counts(cells, "`method='exact'`").weight.sum())
    rule = options.rule or score_test_bins(n)
    resamples = options.resamples or 999
    scores = of_cells(cells, rule, None)
    statistic = float(PairStatistic(scores.z, scores.count, scores.first)([scores.hits])[0])
    pvalue = exact_pvalue(scores, statistic, resamples, options.rng)
    exactly = "exact at any n" if cells.size <= _MANY else "exact within 0.001, near ties being drawn together"
    assumptions = (
        f"Rows are independent; the level is {exactly}: {resamples:,} sets of labels were drawn from the scores. "
        f"Bins: {rule!r}."
    )
    return Outcome(statistic, pvalue, assumptions, 1 / (resamples + 1))


def several_scores(scores: BinnedScores, options: Options, divisor: Divisor) -> Outcome:
    """T of the k largest scores of each row, with its Monte-Carlo p-value."""
    resamples = options.resamples or 999
    hits = [column[:, np.newaxis] for column in scores.hits.T]
    statistic = float(PairStatistic(scores.z, scores.count, scores.first, divisor)(hits)[0])
    pvalue = float(monte_carlo_pvalue(statistic, null_statistics(scores, resamples, options.rng, divisor)))
    if not ((scores.z > 0) & (scores.z < 1)).any():  # calibration leaves nothing to chance
        pvalue = 1.0 if (scores.hits == scores.count[:, np.newaxis] * scores.z).all() else 1 / (resamples + 1)
    exactly = "exact at any n" if len(scores.z) <= _MANY_ROWS else "nearly exact, near ties being drawn together"
    assumptions = (
        f"Rows are independent; the level is {exactly}: {resamples:,} sets of classes were drawn from the scores. "
        f"The {scores.k} largest scores of each row; {scores.bins}."
    )
    return Outcome(statistic, pvalue, assumptions, 1 / (resamples + 1))


def exact_pvalue(scores: BinnedScores, statistic: float, draws: int, rng: np.random.Generator) -> float:
    """(1 + #{T* ≥ T}) / (R + 1), with T* from labels drawn from the scores.

    Rejecting when this is at most α errs with probability at most α, for any number of rows, any scores and any bins
    that do not depend on the labels. :func:`null_statistics` says how T* is drawn for very many distinct scores.
    """
    return float(monte_carlo_pvalue(statistic, null_statistics(scores, draws, rng)))


def rejects_calibration(scores: BinnedScores, statistic: float, alpha: float, rng: np.random.Generator) -> bool:
    """Whether :func:`exact_pvalue` is at most α, from no more draws than settle it.

    Drawing stops once too many draws have reached the statistic. It does not start if the statistic is out of reach:
    if the chance that one set of labels gives half of it is below e⁻⁶⁰.
    """
    if out_of_reach(scores, statistic):
        return True
    draws = required_draws(alpha)
    reached, drawn = 0, []
    for batch in _null_batches(scores, draws, rng):
        drawn.append(batch)
        reached += int((batch >= statistic).sum())
        if (1 + reached) / (draws + 1) > alpha:
            return False
    return bool(monte_carlo_pvalue(statistic, np.concatenate(drawn)) <= alpha)


def out_of_reach(scores: BinnedScores, statistic: float) -> bool:
    """Whether labels drawn from one score per row give half the statistic with probability below e⁻⁶⁰, proven."""
    size: Ints = np.add.reduceat(scores.count, scores.first)
    return scores.k == 1 and _log_chance(size[size >= 2], scores.n * statistic / 2) < _IMPOSSIBLE


def _log_chance(size: Ints, value: float) -> float:
    r"""An upper bound on the logarithm of :math:`P(n T^* \ge x)`, T* from labels drawn from one score per row.

    :math:`n T^*` is at most :math:`\sum S^2 / (N - 1)`. By Hoeffding's lemma a sum S of N centred labels has
    :math:`E e^{tS} \le e^{N t^2 / 8}`, hence :math:`E e^{\lambda S^2} \le (1 - \lambda N / 2)^{-1/2}`; with
    :math:`\lambda = 1 / (2(N - 1))` in each bin, Markov's inequality gives the bound.
    """
    return float(-value / 2 - 0.5 * np.log1p(-size / (4 * (size - 1.0))).sum())


def null_statistics(scores: BinnedScores, draws: int, rng: np.random.Generator, divisor: Divisor = "pairs") -> Floats:
    """T for labels drawn from the scores.

    Every label is drawn unless there are more than 4,096 distinct scores (32,768 rows if several scores per row are
    used). Then scores of a bin within 1/1024 (1/16) of each other in the angle arcsin √p are replaced by their mean and
    drawn together, as one binomial number. This raises the variance of T by less than one part in 10⁶ (about one in
    400). For one score per row the joint distribution of all drawn sums, and so the level of the test, changes by less
    than 0.001 in total variation (Ehm, "Binomial approximation to the Poisson binomial distribution", 1991).
    """
    return np.concatenate(list(_null_batches(scores, draws, rng, divisor)))


def _null_batches(
    scores: BinnedScores, draws: int, rng: np.random.Generator, divisor: Divisor = "pairs"
) -> Iterator[Floats]:
    total = scores.n
    size = np.add.reduceat(scores.count, scores.first)
    if not (size >= 2).any():
        yield np.zeros(draws)
        return
    if (size < 2).any():  # a row that is alone in its bin adds nothing
        scores = scores.of_bins(size >= 2)
    if scores.k == 1 and len(scores.z) > _MANY:
        scores = near_ties(scores, _ANGLE)
    elif len(scores.z) > _MANY_ROWS:
        scores = near_ties(scores, _WIDE_ANGLE)
    statistic = PairStatistic(scores.z, scores.count, scores.first, divisor)
    for hits in label_batches(scores.z, scores.count, draws, rng):
        yield statistic(hits) * (scores.n / total)
