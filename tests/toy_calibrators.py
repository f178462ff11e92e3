"""Calibrators small enough to see through, for tests of what holds others."""

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from trueness.recalibrate import Calibrator
from trueness.recalibrate._fitted_state import Field


class Shares(Calibrator):
    """The share of events in each of a few bins of equal width; the middle of a bin that has no rows."""

    _state = {"shares": Field("share of events per bin")}  # noqa: RUF012

    def __init__(self, n_bins=10, seed=None):
        self.n_bins = n_bins
        self.seed = seed

    def _fit(self, rows):
        at, w = self._bin(rows.p), rows.weights
        weight = np.bincount(at, w, self.n_bins)
        events = np.bincount(at, w * rows.y, self.n_bins)
        middle = (np.arange(self.n_bins) + 0.5) / self.n_bins
        self.shares_ = np.where(weight > 0, events / np.where(weight > 0, weight, 1), middle)

    def _map(self, p):
        return self.shares_[self._bin(p)]

    def _bin(self, p):
        return np.minimum((np.asarray(p, dtype=float) * self.n_bins).astype(int), self.n_bins - 1)


class Line(Calibrator):
    """A logistic regression on log-odds, or on logits."""

    _state = {"slope": Field("slope"), "intercept": Field("intercept")}  # noqa: RUF012

    def __init__(self, from_logits=False):
        self.from_logits = from_logits

    @property
    def _scale(self):
        return "logits" if self.from_logits else "probabilities"

    def _fit(self, rows):
        if (rows.y == rows.y[0]).all():
            self.slope_, self.intercept_ = 0.0, 3.0 if rows.y[0] else -3.0
            return
        line = LogisticRegression(C=1e4, tol=1e-8).fit(self._x(rows.p), rows.y, rows.w)
        self.slope_, self.intercept_ = float(line.coef_[0, 0]), float(line.intercept_[0])

    def _map(self, p):
        return expit(self.slope_ * self._x(p)[:, 0] + self.intercept_)

    def _x(self, p):
        p = np.asarray(p, dtype=float)[:, None]
        return p if self.from_logits else logit(np.clip(p, 1e-9, 1 - 1e-9))


class Zero(Calibrator):
    """Says 0, whatever the score."""

    def _fit(self, rows):
        pass

    def _map(self, p):
        return np.zeros(p.shape)


class Mixed(Calibrator):
    """A calibrator of matrices: half the score, half the frequencies of the classes."""

    _shape = "matrix"
    _state = {"frequencies": Field("frequency of each class")}  # noqa: RUF012

    def _fit(self, rows):
        self.frequencies_ = np.bincount(rows.y, rows.weights, rows.p.shape[1]) / rows.weights.sum()

    def _map(self, p):
        return (p + self.frequencies_) / 2
