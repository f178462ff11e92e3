"""Tests by sums over pairs of rows that share a bin: the exact test and T-Cal.

T-Cal is at one resolution or at all of them.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._numerics.runs import NestedRuns
from trueness._numerics.streams import stream
from trueness._tally.binned_scores import BinnedScores, bin_starts, near_ties, of_cells
from trueness._tally.cells import Cells
from trueness._tally.rules import EqualMass, EqualWidth
from trueness.infer.null._redrawn_labels import (
    count_entries,
    label_batches,
    monte_carlo_outcome,
    monte_carlo_pvalue,
)
from trueness.infer.test._method import Options, Outcome, require_counts
from trueness.typing import Floats, Ints

Divisor: TypeAlias = Literal["pairs", "rows"]
# Above this many entries (rows, for several scores per row), scores within this angle are drawn
# together: `_null_batches` says what that changes.
_MANY = 4096
_ANGLE = 1 / 1024
_MANY_ROWS = 1 << 15
_WIDE_ANGLE = 1 / 16
# No labels are drawn if the logarithm of the chance that one set of them matters is below this.
_IMPOSSIBLE = -60.0


class PairStatistic:
    r"""The sum T over pairs of rows that share a bin.

    :math:`T = \frac1n \sum_{n_b \ge 2} \frac{\|\sum u\|^2 - \sum \|u\|^2}{n_b - 1}`, u = y − z.
    `z`, of shape (m, k), are the scores of entries of `count` rows each; `first` is the first entry
    of each bin. The divisor is :math:`n_b - 1` for 'pairs' (the unbiased estimate) and :math:`n_b`
    for 'rows' (T-Cal).
    """

    def __init__(self, z: Floats, count: Ints, first: Ints, divisor: Divisor = "pairs") -> None:
        """Prepare the sum for labels of these entries.

        With the sums S of the residuals of a bin, of all classes, T is Σ share · ‖S‖² less
        Σ share · ‖u‖²; the latter is linear in the events.
        """
        n = np.add.reduceat(count, first)
        divisors = n - 1 if divisor == "pairs" else n
        # A bin of one row has no pair, whatever its label.
        has_pairs = n >= 2
        self.share: Floats = np.where(has_pairs, 1 / np.maximum(divisors, 1) / n.sum(), 0.0)
        """One over the divisor and all rows, for each bin."""
        self.runs = NestedRuns(len(z), [first])
        self.dtype = np.min_scalar_type(int(n.max()))
        self.expected: Floats = np.add.reduceat(count[:, np.newaxis] * z, first, axis=0)
        """The expected events of each bin and class."""
        # Σ‖u‖²: a row of the j-th class has ‖e_j − z‖² = ‖z‖² + 1 − 2 z_j.
        entries_of_bins = np.diff(np.append(first, len(z)))
        share = np.repeat(self.share, entries_of_bins)
        self.slope: Floats = share[:, np.newaxis] * (1 - 2 * z)
        """What an event of each entry and class adds to Σ share · ‖u‖²."""
        self.squares = float(share @ (count * (z * z).sum(axis=1)))
        """That sum without any event."""

    def __call__(self, hits: Sequence[NDArray[Any]]) -> Floats:
        """T of each set of labels, of shape (draws,).

        `hits` are the rows of each of the k classes in each entry: k arrays of shape (entries,
        draws).
        """
        value = np.full(hits[0].shape[1], -self.squares)
        for j, count in enumerate(hits):
            events = self.runs.sums(count, self.dtype)[self.runs.rows[0]]
            excess = events - self.expected[:, j, np.newaxis]
            value += np.einsum("i,ij,ij->j", self.share, excess, excess)
            value -= np.einsum("i,ij->j", self.slope[:, j], count.astype(np.float64))
        return value


def required_draws(alpha: float, *, tests: int = 1, beyond: int = 20, fewest: int = 999) -> int:
    """Number of draws R for a test at level `alpha`, or for several with Bonferroni's correction.

    R + 1 is so large that `beyond` of R + 1 p-values lie below `alpha` / `tests`, and R is at least
    `fewest`. (R + 1) α is whole at the usual levels, so the level is exact.
    """
    return max(fewest, math.ceil(round(beyond * tests / alpha, 6)) - 1)


def score_test_bins(n: float) -> EqualMass:
    """The default bins of the exact test of `n` rows: n^0.4 of equal mass, and at least 5."""
    return EqualMass(max(5, round(n**0.4)))


def exact(cells: Cells, options: Options) -> Outcome:
    """The exact test: T of one score per row, with its Monte-Carlo p-value."""
    rule = options.rule
    if rule is None:
        rule = score_test_bins(int(require_counts(cells, "`method='exact'`").weight.sum()))
    return pair_test(of_cells(cells, rule, None), options, "pairs", f"Bins: {rule!r}.")


def t_cal(cells: Cells, options: Options) -> Outcome:
    """T-Cal at one resolution, by default n^0.4 bins of equal width, with a Monte-Carlo p-value.

    The statistic is T, the debiased squared error in bins: the sum of the products of the residuals
    over all pairs of rows in a bin, divided by its number of rows. It is compared with labels drawn
    from the scores. By default at least two bins are used, and weights must count rows.
    """
    rule = options.rule
    if rule is None:
        n = int(require_counts(cells, "T-Cal").weight.sum())
        rule = EqualWidth(max(2, round(n**0.4)))
    statistic = PairStatistic(*count_entries(cells), bin_starts(cells, rule), "rows")
    return monte_carlo_outcome(statistic, cells, options, detail=f"Bins: {rule!r}.")


def pair_test(scores: BinnedScores, options: Options, divisor: Divisor, detail: str) -> Outcome:
    """The test by T, the debiased squared error of scores in bins, with its Monte-Carlo p-value.

    T sums the products of the residuals (label − score) over all pairs of rows in a bin. `scores`
    are one or several scores of each row, in bins. `divisor` says what the sum of a bin is divided
    by: 'pairs' is its number of rows less 1, 'rows' its number of rows. `detail` is the last part
    of the assumptions of the outcome.

    The p-value is (1 + #{T* ≥ T}) / (R + 1), where T* are the values for R sets of labels drawn
    from the scores; R is `options.resamples`, by default 999. Rejecting when it is at most α errs
    with probability at most α, for any number of rows, any scores and any bins that do not depend
    on the labels. Scores of only 0 and 1 leave nothing to chance: the p-value is then 1 if all
    labels agree, and else the smallest possible.
    """
    resamples = options.resamples or 999
    hits = [column[:, np.newaxis] for column in scores.hits.T]
    statistic = float(PairStatistic(scores.z, scores.count, scores.first, divisor)(hits)[0])
    drawn = np.concatenate(list(_null_batches(scores, resamples, options.seed, divisor)))
    pvalue = float(monte_carlo_pvalue(statistic, drawn))
    if not ((scores.z > 0) & (scores.z < 1)).any():
        agree = (scores.hits == scores.count[:, np.newaxis] * scores.z).all()
        pvalue = 1.0 if agree else 1 / (resamples + 1)
    assumptions = (
        f"Rows are independent; the level is {_exactness(scores)}: {resamples:,} sets of "
        f"{'labels' if scores.k == 1 else 'classes'} were drawn from the scores. {detail}"
    )
    return Outcome(statistic, pvalue, assumptions, 1 / (resamples + 1))


def _exactness(scores: BinnedScores) -> str:
    """How exact the level is, in words."""
    if len(scores.z) <= (_MANY if scores.k == 1 else _MANY_ROWS):
        return "exact at any n"
    if scores.k == 1:
        return "exact within 0.001, near ties being drawn together"
    return "nearly exact, near ties being drawn together"


def rejects_calibration(scores: BinnedScores, statistic: float, alpha: float, seed: int) -> bool:
    """Whether the exact test rejects calibration at level α, from no more draws than settle it.

    The test compares `statistic`, the observed debiased squared error T, with its values for labels
    drawn from the scores: see :func:`exact`. `seed` decides these labels. Drawing stops with False
    once too many draws have reached the statistic.

    It does not start, and the result is True, if the statistic is out of reach: if there is one
    score per row and the chance that one set of labels gives half of it is below e⁻⁶⁰.
    """
    if out_of_reach(scores, statistic):
        return True
    draws = required_draws(alpha)
    reached = 0
    drawn = []
    for batch in _null_batches(scores, draws, seed):
        drawn.append(batch)
        reached += int((batch >= statistic).sum())
        if (1 + reached) / (draws + 1) > alpha:
            return False
    return bool(monte_carlo_pvalue(statistic, np.concatenate(drawn)) <= alpha)


def out_of_reach(scores: BinnedScores, statistic: float) -> bool:
    """Whether drawn labels reach half the statistic with probability below e⁻⁶⁰, proven.

    False for several scores per row, for which there is no such bound.
    """
    if scores.k > 1:
        return False
    size: Ints = np.add.reduceat(scores.count, scores.first)
    return _log_chance(size[size >= 2], scores.n * statistic / 2) < _IMPOSSIBLE


def _log_chance(size: Ints, value: float) -> float:
    r"""An upper bound on the logarithm of :math:`P(n T^* \ge x)`, for one score per row.

    `size` are the rows N of each bin that has two or more, and `value` is x. :math:`n T^*` is at
    most :math:`\sum S^2 / (N - 1)`, where T* is that of labels drawn from the scores. By
    Hoeffding's lemma a sum S of N centred labels has :math:`E e^{tS} \le e^{N t^2 / 8}`, hence
    :math:`E e^{\lambda S^2} \le (1 - \lambda N / 2)^{-1/2}`; with
    :math:`\lambda = 1 / (2(N - 1))` in each bin, Markov's inequality gives the bound.
    """
    return float(-value / 2 - 0.5 * np.log1p(-size / (4 * (size - 1.0))).sum())


def _null_batches(
    scores: BinnedScores, draws: int, seed: int, divisor: Divisor = "pairs"
) -> Iterator[Floats]:
    """T for `draws` sets of labels drawn from the scores, in batches; 0 if no bin has two rows.

    Every label is drawn unless there are more than 4,096 distinct scores (32,768 rows if several
    scores per row are used). Then scores of a bin within 1/1024 (1/16) of each other in the angle
    arcsin √p are replaced by their mean and drawn together, as one binomial number. This raises the
    variance of T by less than one part in 10⁶ (about one in 400). For one score per row the joint
    distribution of all drawn sums, and so the level of the test, changes by less than 0.001 in
    total variation (Ehm, "Binomial approximation to the Poisson binomial distribution", 1991).
    """
    size = np.add.reduceat(scores.count, scores.first)
    in_pairs = size >= 2
    if not in_pairs.any():
        yield np.zeros(draws)
        return
    # A row alone in its bin adds nothing.
    counted = scores if in_pairs.all() else scores.of_bins(in_pairs)
    share = counted.n / scores.n
    rng = stream(seed, "labels")
    if scores.k == 1 and len(scores.z) <= _MANY:
        # Rows that add nothing are drawn too, so that these are the labels of every other question.
        statistic = PairStatistic(counted.z, counted.count, counted.first, divisor)
        kept = np.repeat(in_pairs, np.diff(np.append(scores.first, len(scores.z))))
        for (hits,) in label_batches(scores.z, scores.count, draws, rng):
            yield statistic([hits[kept]]) * share
        return
    if scores.k == 1 and len(counted.z) > _MANY:
        counted = near_ties(counted, _ANGLE)
    elif len(counted.z) > _MANY_ROWS:
        counted = near_ties(counted, _WIDE_ANGLE)
    statistic = PairStatistic(counted.z, counted.count, counted.first, divisor)
    for columns in label_batches(counted.z, counted.count, draws, rng):
        yield statistic(columns) * share


def adaptive_t_cal(cells: Cells, options: Options) -> Outcome:
    """T-Cal at resolutions of 2, 4, 8, … bins: the smallest p-value, times their number.

    The statistic at each resolution is T, the debiased squared error in that many bins of equal
    width on [0, 1]. n rows have ⌈2 log₂(n / √log n)⌉ resolutions. All use the same sets of labels
    drawn from the scores: `options.resamples` or, by default, enough for a p-value of 0.01 after
    multiplication and at least 999.

    The outcome has the statistic of the resolution with the smallest p-value, and that p-value
    times the number of resolutions, at most 1. The p-value is 1 if no two rows share a bin at any
    of them. Weights must count rows.
    """
    n = int(require_counts(cells, "T-Cal").weight.sum())
    levels = math.ceil(2 * math.log2(n / math.sqrt(math.log(n)))) if n > 1 else 1
    resamples = options.resamples or max(999, 100 * levels - 1)
    smallest = min(1.0, levels / (resamples + 1))
    partitions = _partitions(cells, levels)
    if not partitions:
        note = f"No two rows share a bin at any of {levels} resolutions, so the test has no power."
        return Outcome(0.0, 1.0, note, smallest)
    z, count = count_entries(cells)
    of_events = NestedPairs(z[:, 0], count, list(partitions.values()))
    (statistics,) = of_events(cells.events[:, np.newaxis])
    batches = label_batches(z, count, resamples, stream(options.seed, "labels"))
    drawn = np.concatenate([of_events(events) for (events,) in batches])
    pvalues = monte_carlo_pvalue(statistics, drawn)
    best = int(pvalues.argmin())
    bins = 2 ** list(partitions)[best]
    assumptions = (
        f"Rows are independent; the level holds at any n: {resamples:,} sets of labels were drawn "
        f"from the scores. The smallest of {levels} p-values, times {levels}: "
        f"that of {bins:,} bins of equal width."
    )
    pvalue = min(1.0, levels * float(pvalues[best]))
    return Outcome(float(statistics[best]), pvalue, assumptions, smallest)


def _partitions(cells: Cells, levels: int) -> dict[int, Ints]:
    """The first cell of each bin of width 2⁻ᵇ, by b = 1, …, `levels`.

    `cells` are the sums per distinct score, in ascending order, so that a bin is a run of cells. It
    ends early where every bin holds a single row, and holds equal partitions once. The omitted ones
    change no result: without two rows in a bin, T is 0 for any labels and its p-value is 1, and
    equal partitions have equal p-values. The dict is empty if no two rows share a bin even for b =
    1.
    """
    partitions: dict[int, Ints] = {}
    bins = 0
    has_ties = cells.weight.max() > 1
    for b in range(1, levels + 1):
        # Multiplying by a power of two is exact, so finer bins nest in coarser ones. A score of 1
        # is in the last bin.
        place = np.minimum(np.floor(np.ldexp(cells.score, b)), math.ldexp(1.0, b) - 1)
        first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
        if first.size == cells.size and not has_ties:
            break
        if first.size > bins:
            partitions[b] = first
            bins = first.size
    return partitions


class NestedPairs:
    r"""The statistic of T-Cal in several partitions.

    It is :math:`\frac1n \sum_b \frac{(\sum u)^2 - \sum u^2}{n_b}`. `p` are the scores of entries of
    `count` rows each. A partition is given by the first entry of each bin, and refines the one
    before.

    The pairs in a bin of two parts are the pairs within each part and the pairs between them, and
    the products of the latter sum to the product of the sums of the parts. So each pair is visited
    once for any number of partitions.
    """

    def __init__(self, p: Floats, count: Ints, partitions: Sequence[Ints]) -> None:
        """Prepare the statistic for events of these entries."""
        self.p = p[:, np.newaxis]
        self.count = count[:, np.newaxis]
        self.runs = NestedRuns(p.size, partitions)
        rows = self.runs.sums(self.count, np.int64)[:, 0]
        # A bin of one row has no pair.
        self.kept = [of_bins[rows[of_bins] >= 2] for of_bins in self.runs.rows]
        """The bins of each partition that count."""
        self.share = [2 / rows[of_bins] / count.sum() for of_bins in self.kept]
        """The factor of the sum over the pairs of each of these bins."""
        self.several = np.flatnonzero(count > 1)
        """The entries of several rows."""
        self.space: Floats = np.zeros((2, 0, 0))
        """Memory for the residuals and the sums over pairs of all runs."""

    def __call__(self, events: NDArray[Any]) -> Floats:
        """The statistic of each set of events in each partition.

        From events of shape (m, draws) to statistics of shape (draws, partitions).
        """
        # Kept: allocating it anew costs as much as the sums.
        if self.space.shape[2] != events.shape[1]:
            self.space = np.zeros((2, self.runs.nodes, events.shape[1]))
        excess, pairs = self.space
        entries = excess[: self.runs.size]
        np.subtract(events, self.count * self.p, out=entries)
        if self.several.size:
            several = self.several
            p = self.p[several]
            squares = self.count[several] * p**2 + events[several] * (1 - 2 * p)
            pairs[several] = (entries[several] ** 2 - squares) / 2
        for into, left, right in self.runs.steps:
            joint = np.take(pairs, left, axis=0, out=pairs[into], mode="clip")
            joint += np.take(pairs, right, axis=0)
            total = np.take(excess, left, axis=0, out=excess[into], mode="clip")
            added = np.take(excess, right, axis=0)
            joint += total * added
            total += added
        levels = zip(self.share, self.kept, strict=True)
        values = [np.einsum("i,ij->j", share, pairs[of_bins]) for share, of_bins in levels]
        return np.stack(values, axis=1)
