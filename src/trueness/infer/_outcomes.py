"""Rows as they can be drawn: one kind for every score and label that occur together."""

import numpy as np

from trueness._numerics.pairs import pair_mean
from trueness._tally.binned_scores import BinnedScores
from trueness.typing import Floats, Ints

__all__ = ["Outcomes"]


class Outcomes:
    """The kinds of rows in a sample, in the order of their bins.

    Parameters
    ----------
    scores : BinnedScores
        The bins of the whole sample; draws from it keep these bins.
    """

    def __init__(self, scores: BinnedScores) -> None:
        none = scores.count - scores.hits.sum(axis=1)
        every = np.column_stack([none, scores.hits]).ravel()
        there = np.flatnonzero(every)
        entry, label = np.divmod(there, scores.k + 1)
        self.count: Ints = every[there]
        """Rows of each kind."""
        self.u: Floats = (label[:, np.newaxis] == np.arange(1, scores.k + 1)) - scores.z[entry]
        """Indicators of the k classes minus their scores, of shape (kinds, k)."""
        self.square: Floats = (self.u**2).sum(axis=1)
        self.first: Ints = np.searchsorted(entry, scores.first)
        """The kinds at which the bins begin; none is empty."""
        self.bin: Ints = np.searchsorted(scores.first, entry, side="right") - 1

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.count.sum())

    @property
    def estimate(self) -> float:
        """The debiased squared error of the sample."""
        return float(self.of_counts(self.count))

    def of_counts(self, count: Ints) -> Floats:
        """The squared error of samples given by their rows of each kind, shape (..., kinds)."""
        s = np.stack([np.add.reduceat(count * u, self.first, axis=-1) for u in self.u.T], axis=-1)
        n, q = (np.add.reduceat(part, self.first, axis=-1) for part in (count, count * self.square))
        return pair_mean(n, s, q)

    def of_rows(self, row: Ints) -> Floats:
        """The squared error of samples given by the numbers of their rows, shape (samples, size)."""
        # Where every kind is one row, its number is that of the row.
        kind = row if self.count.size == self.n else np.searchsorted(np.cumsum(self.count), row, side="right")
        bins = self.first.size
        at = (self.bin[kind] + bins * np.arange(len(row))[:, np.newaxis]).ravel()
        kind = kind.ravel()

        def added(values: Floats) -> Floats:
            return np.bincount(at, values[kind], bins * len(row)).astype(np.float64).reshape(-1, bins)

        n = np.bincount(at, minlength=bins * len(row)).reshape(-1, bins)
        return pair_mean(n, np.stack([added(u) for u in self.u.T], axis=-1), added(self.square))
