"""Histogram binning as the authors' repository has it (`HB_binary`), written anew."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from trueness.typing import Floats

__all__ = ["AuthorsBinning"]

_DELTA = 1e-10


class AuthorsBinning(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Groups of n/B rows, each with the mean of all its labels; scores and means are moved by up to δ = 1e-10.

    It differs from Algorithm 2 of the paper in that no row is left out: the row with the largest score of a group sets
    the upper edge of the bin, and its label counts in the mean, as in the original method (Corollary 1).
    """

    def __init__(self, n_bins: int = 10, seed: int | None = None) -> None:
        self.n_bins = n_bins
        self.seed = seed

    def fit(self, p: Floats, y: Floats, w: Floats | None = None) -> Self:
        """Fit the edges and the means; weights are not supported."""
        assert w is None
        self.rng_ = np.random.default_rng(self.seed)
        s = self._moved(p)
        groups = np.array_split(np.sort(s), self.n_bins)
        self.upper_ = np.array([group[-1] for group in groups[:-1]])
        at = np.searchsorted(self.upper_, s)
        self.values_ = self._moved(np.bincount(at, y) / np.bincount(at))
        return self

    def predict(self, p: Floats) -> Floats:
        """The mean of the bin of each score; a score equal to an edge is in the bin below it."""
        return np.asarray(self.values_[np.searchsorted(self.upper_, self._moved(p))])

    def _moved(self, x: Any) -> Floats:
        return np.asarray((x + _DELTA * self.rng_.random(np.shape(x))) / (1 + _DELTA))
