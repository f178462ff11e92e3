"""Rows as they can be drawn: one kind for every score and label that occur together."""

import numpy as np

from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

__all__ = ["Outcomes", "squared_error"]


class Outcomes:
    """The kinds of rows in a sample, in the order of their scores, and the bin of each.

    Parameters
    ----------
    cells : Cells
        Scores, rows and events; weights must be whole numbers, weight 2 being the row twice.
    rule : BinRule
        Cuts the scores of the whole sample; draws from it keep these bins.
    """

    def __init__(self, cells: Cells, rule: BinRule) -> None:
        if not cells.exact:
            raise InputError("`sample_weight` must be whole numbers to resample rows: weight 2 is the row twice.")
        both = np.column_stack([cells.weight - cells.events, cells.events]).ravel().astype(np.int64)
        there = np.flatnonzero(both)
        cell, label = there // 2, there % 2
        self.count: Ints = both[there]
        """Rows of each kind."""
        self.u: Floats = label - cells.score[cell]
        """Label − score."""
        start = rule.group(cells).start
        start = start[:-1][start[1:] > start[:-1]]
        self.first: Ints = np.searchsorted(cell, start)
        """The kinds at which the bins that are not empty begin."""
        self.bin: Ints = np.searchsorted(start, cell, side="right") - 1

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.count.sum())

    def of_counts(self, count: Ints) -> Floats:
        """The squared error of samples given by their rows of each kind, shape (..., kinds)."""
        sums = (np.add.reduceat(part, self.first, axis=-1) for part in (count, count * self.u, count * self.u**2))
        return squared_error(*sums)

    def of_rows(self, row: Ints) -> Floats:
        """The squared error of samples given by the numbers of their rows, shape (samples, size)."""
        kind = np.searchsorted(np.cumsum(self.count), row, side="right")
        bins = self.first.size
        at = (self.bin[kind] + bins * np.arange(len(row))[:, np.newaxis]).ravel()
        u = self.u[kind].ravel()
        n = np.bincount(at, minlength=bins * len(row))
        shape = len(row), bins
        excess: Floats = np.asarray(np.bincount(at, u, n.size), dtype=np.float64)
        squares: Floats = np.asarray(np.bincount(at, u * u, n.size), dtype=np.float64)
        return squared_error(n.reshape(shape), excess.reshape(shape), squares.reshape(shape))


def squared_error(n: Numbers, excess: Floats, squares: Floats) -> Floats:
    r"""The debiased squared calibration error from sums over bins, the last axis.

    Parameters
    ----------
    n, excess, squares : arrays of shape (..., bins)
        Rows, Σu and Σu², u = y − p.

    Returns
    -------
    array of shape (...)
        As :func:`trueness.squared_ece`: bins with fewer than two rows have no pair and add nothing.
    """
    pairs = np.where(n >= 2, (excess**2 - squares) / np.maximum(n - 1, 1), 0.0)
    return np.asarray(pairs.sum(axis=-1) / n.sum(axis=-1))
