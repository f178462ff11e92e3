"""Sums over pairs of rows that share a bin, for one partition of the scores or several."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule
from trueness.typing import Floats, Ints

__all__ = ["PairStatistic", "first_cells"]


class PairStatistic:
    r"""The statistic :math:`T = \frac1n \sum_{n_b \ge 2} \frac{(\sum u)^2 - \sum u^2}{n_b - 1}`, u = y − p.

    Parameters
    ----------
    cells : Cells
        Scores and rows.
    partitions : sequence of arrays
        For each partition the cells at which its bins begin.
    divisor : {'pairs', 'rows'}
        :math:`n_b - 1` (the unbiased estimate) or :math:`n_b` (T-Cal).
    """

    def __init__(self, cells: Cells, partitions: Sequence[Ints], divisor: Literal["pairs", "rows"]) -> None:
        self.total = float(cells.weight.sum())
        self.partitions = [_Partition(cells, first, divisor) for first in partitions]
        # Σu² = Σ y(1 − 2p) + Σ p². The events are the real part and the first sum the imaginary part of one
        # number, so that both are added up in one pass.
        self.mark = 1 + 1j * (1 - 2 * cells.score)

    def __call__(self, events: Floats) -> Floats:
        """T of each row of events, of shape (draws, cells), in each partition: shape (draws, partitions)."""
        marked = events * self.mark
        if len(self.partitions) == 1:
            (part,) = self.partitions
            return part.value(part.sums(marked))[:, np.newaxis] / self.total
        reached = np.zeros((len(events), events.shape[1] + 1), dtype=np.complex128)
        np.cumsum(marked, axis=1, out=reached[:, 1:])
        return np.column_stack([part.value(part.differences(reached)) for part in self.partitions]) / self.total


class _Partition:
    """Bins of one row have no pair, whatever its label, and are left out."""

    def __init__(self, cells: Cells, first: Ints, divisor: Literal["pairs", "rows"]) -> None:
        p, w = cells.score, cells.weight.astype(np.float64)
        rows = np.add.reduceat(w, first)
        self.kept = np.flatnonzero(rows >= 2)
        self.first = first
        self.start, self.stop = first[self.kept], np.append(first[1:], p.size)[self.kept]
        self.expected = np.add.reduceat(w * p, first)[self.kept]
        self.squares = np.add.reduceat(w * p * p, first)[self.kept]
        self.divisor = rows[self.kept] - (divisor == "pairs")

    def sums(self, marked: NDArray[Any]) -> NDArray[Any]:
        """The marked events of each bin."""
        return np.asarray(np.add.reduceat(marked, self.first, axis=1)[:, self.kept])

    def differences(self, reached: NDArray[Any]) -> NDArray[Any]:
        """The same from running totals."""
        sums = reached.take(self.stop, axis=1)
        sums -= reached.take(self.start, axis=1)
        return sums

    def value(self, sums: NDArray[Any]) -> Floats:
        """The statistic, times n."""
        pairs = (sums.real - self.expected) ** 2 - (sums.imag + self.squares)
        return np.asarray((pairs / self.divisor).sum(axis=1))


def first_cells(cells: Cells, rule: BinRule) -> Ints:
    """The cells at which the bins that are not empty begin."""
    start = rule.group(cells).start
    return start[:-1][start[1:] > start[:-1]]
