"""T-Cal: sums over pairs of rows that share a bin, at one resolution or at all of them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._numerics.runs import NestedRuns
from trueness._tally.cells import Cells
from trueness._tally.evidence import bin_starts
from trueness._tally.rules import EqualWidth
from trueness.infer.null._redrawn_labels import count_entries, label_batches, monte_carlo_outcome, monte_carlo_pvalue
from trueness.infer.test._exact_test import PairStatistic
from trueness.infer.test._method import Options, Outcome, require_counts
from trueness.typing import Floats, Ints


def t_cal(cells: Cells, options: Options) -> Outcome:
    """T-Cal at one resolution, with a Monte-Carlo p-value."""
    n = int(require_counts(cells, "T-Cal").weight.sum())
    rule = options.rule or EqualWidth(max(2, round(n**0.4)))
    statistic = PairStatistic(*count_entries(cells), bin_starts(cells, rule), "rows")
    return monte_carlo_outcome(statistic, cells, options, detail=f"Bins: {rule!r}.")


def adaptive_t_cal(cells: Cells, options: Options) -> Outcome:
    """T-Cal at resolutions 2, 4, 8, …, with Bonferroni's correction."""
    levels = number_of_resolutions(int(require_counts(cells, "T-Cal").weight.sum()))
    resamples = options.resamples or max(999, 100 * levels - 1)
    smallest = min(1.0, levels / (resamples + 1))
    depth, partitions = _partitions(cells, levels)
    if not partitions:
        silent = f"No two rows share a bin at any of {levels} resolutions, so the test has no power."
        return Outcome(0.0, 1.0, silent, smallest)
    z, count = count_entries(cells)
    of_events = NestedPairs(z[:, 0], count, partitions)
    (statistics,) = of_events(cells.events[:, np.newaxis])
    drawn = np.concatenate([of_events(events) for (events,) in label_batches(z, count, resamples, options.rng)])
    pvalues = monte_carlo_pvalue(statistics, drawn)
    best = int(pvalues.argmin())
    assumptions = (
        f"Rows are independent; the level holds at any n: {resamples:,} sets of labels were drawn from the scores. "
        f"The smallest of {levels} p-values, times {levels}: that of {2 ** depth[best]:,} bins of equal width."
    )
    return Outcome(float(statistics[best]), min(1.0, levels * float(pvalues[best])), assumptions, smallest)


def number_of_resolutions(n: int) -> int:
    """Number of resolutions for n rows: ⌈2 log₂(n / √log n)⌉."""
    return math.ceil(2 * math.log2(n / math.sqrt(math.log(n)))) if n > 1 else 1


def _partitions(cells: Cells, levels: int) -> tuple[list[int], list[Ints]]:
    """Bins of width 2⁻ᵇ for b = 1, …, as long as some bin has two rows; equal partitions are listed once.

    The omitted partitions change no result: without two rows in a bin, T is 0 for any labels and its p-value is 1, and
    equal partitions have equal p-values.
    """
    depth: list[int] = []
    partitions: list[Ints] = []
    most = int(cells.weight.max())
    for b in range(1, levels + 1):
        # Multiplying by a power of two is exact, so finer bins nest in coarser ones. A score of 1 is in the last bin.
        place = np.minimum(np.floor(np.ldexp(cells.score, b)), math.ldexp(1.0, b) - 1)
        first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
        if first.size == cells.size and most == 1:
            break
        if not partitions or first.size > partitions[-1].size:
            depth.append(b)
            partitions.append(first)
    return depth, partitions


class NestedPairs:
    r"""The statistic :math:`\frac1n \sum_b \frac{(\sum u)^2 - \sum u^2}{n_b}` of T-Cal, in several partitions.

    `p` are the scores of entries of `count` rows each. A partition is given by the first entry of each bin, and refines
    the one before.

    The pairs in a bin of two parts are the pairs within each part and the pairs between them, and the products of the
    latter sum to the product of the sums of the parts. So each pair is visited once for any number of partitions.
    """

    def __init__(self, p: Floats, count: Ints, partitions: Sequence[Ints]) -> None:
        self.p, self.count = p[:, np.newaxis], count[:, np.newaxis]
        self.runs = NestedRuns(p.size, partitions)
        rows = self.runs.sums(self.count, np.int64)[:, 0]
        # A bin of one row has no pair.
        self.kept = [of_bins[rows[of_bins] >= 2] for of_bins in self.runs.rows]
        self.share = [2 / rows[of_bins] / count.sum() for of_bins in self.kept]
        self.several = np.flatnonzero(count > 1)
        self.space: tuple[Floats, Floats] | None = None

    def __call__(self, events: NDArray[Any]) -> Floats:
        """The statistic of each set of events, of shape (m, draws), in each partition: shape (draws, partitions)."""
        excess, pairs = self._space(events.shape[1])
        entries = excess[: self.runs.size]
        np.copyto(entries, events)
        entries -= self.count * self.p
        if self.several.size:
            at = self.several
            squares = self.count[at] * self.p[at] ** 2 + events[at] * (1 - 2 * self.p[at])
            pairs[at] = (entries[at] ** 2 - squares) / 2
        for into, left, right in self.runs.steps:
            joint = np.take(pairs, left, axis=0, out=pairs[into], mode="clip")
            joint += np.take(pairs, right, axis=0)
            one = np.take(excess, left, axis=0, out=excess[into], mode="clip")
            other = np.take(excess, right, axis=0)
            joint += one * other
            one += other
        values = np.empty((events.shape[1], len(self.kept)))
        for i, (of_bins, share) in enumerate(zip(self.kept, self.share, strict=True)):
            part = np.take(pairs, of_bins, axis=0, out=excess[: of_bins.size], mode="clip")
            np.einsum("i,ij->j", share, part, out=values[:, i])
        return values

    def _space(self, draws: int) -> tuple[Floats, Floats]:
        """Memory shared by batches of one size: allocating it anew costs as much as the sums."""
        if self.space is None or self.space[0].shape[1] != draws:
            self.space = np.empty((self.runs.nodes, draws)), np.zeros((self.runs.nodes, draws))
        return self.space
