"""Sums over pairs of rows that share a bin, for many sets of labels, in one partition of the scores or several."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueness._numerics.runs import NestedRuns
from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule
from trueness.typing import Floats, Ints

__all__ = ["NestedPairs", "PairStatistic", "first_cells"]


class PairStatistic:
    r"""The statistic :math:`T = \frac1n \sum_{n_b \ge 2} \frac{\|\sum u\|^2 - \sum \|u\|^2}{n_b - 1}`, u = y − z.

    Parameters
    ----------
    z : array of shape (m, k)
        The scores of each entry, which is one row or several.
    count : int array of shape (m,)
        Rows of each entry.
    first : int array
        The entries at which the bins begin.
    divisor : {'pairs', 'rows'}
        :math:`n_b - 1` (the unbiased estimate) or :math:`n_b` (T-Cal).
    """

    def __init__(self, z: Floats, count: Ints, first: Ints, divisor: Literal["pairs", "rows"] = "pairs") -> None:
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
        """T of each set of labels, of shape (draws,).

        Parameters
        ----------
        hits : k arrays of shape (m, draws)
            How many rows of each entry had the class of the j-th score.
        """
        value = np.full(hits[0].shape[1], -self.squares)
        for j, came in enumerate(hits):
            excess = self.runs.sums(came, self.dtype)[self.runs.rows[0]] - self.expected[:, j, np.newaxis]
            value += np.einsum("i,ij,ij->j", self.share, excess, excess)
            value -= np.einsum("i,ij->j", self.slope[:, j], came.astype(np.float64))
        return value


class NestedPairs:
    r"""The statistic :math:`\frac1n \sum_b \frac{(\sum u)^2 - \sum u^2}{n_b}` of T-Cal, in several partitions.

    Parameters
    ----------
    p : array of shape (m,)
        The score of each entry, which is one row or several.
    count : int array of shape (m,)
        Rows of each entry.
    partitions : sequence of int arrays
        For each partition the entries at which its bins begin; each refines the one before it.

    Notes
    -----
    The pairs of a bin of two parts are the pairs of either part and the pairs between them, whose products sum to the
    product of the sums of the parts. So each pair is seen once, however many partitions there are.
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
        found = np.empty((events.shape[1], len(self.kept)))
        for i, (of_bins, share) in enumerate(zip(self.kept, self.share, strict=True)):
            part = np.take(pairs, of_bins, axis=0, out=excess[: of_bins.size], mode="clip")
            np.einsum("i,ij->j", share, part, out=found[:, i])
        return found

    def _space(self, draws: int) -> tuple[Floats, Floats]:
        """Memory that batches of one size share: to be given it anew costs as much as the sums."""
        if self.space is None or self.space[0].shape[1] != draws:
            self.space = np.empty((self.runs.nodes, draws)), np.zeros((self.runs.nodes, draws))
        return self.space


def first_cells(cells: Cells, rule: BinRule) -> Ints:
    """The cells at which the bins that are not empty begin."""
    start = rule.group(cells).start
    return start[:-1][start[1:] > start[:-1]]
