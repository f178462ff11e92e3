"""Maps from log-odds to log-odds with a shape, fitted with a ridge towards the identity."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from trueness._numerics.ridge_logistic import ridge_logistic
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._calibrator import check_flag
from trueness.recalibrate._logit_map import LogitMap, check_penalty
from trueness.recalibrate._logit_shapes import LogitShape
from trueness.typing import Floats, Ints

MOST_CELLS = 4096
"""Above this many distinct scores, neighbours are pooled, each cell at the mean of its log-odds."""


class LogitCells(NamedTuple):
    """Log-odds in ascending order, and the weights of rows and events at each of them."""

    z: Floats
    weight: Floats
    events: Floats
    cell: Ints
    """The cell of each row."""


def logit_cells(z: Floats, y: Ints, w: Floats | None) -> LogitCells:
    """One cell for each distinct log-odds, or fewer of about equal weight."""
    z = np.asarray(z, np.float64)
    value, cell = np.unique(z, return_inverse=True)
    if value.size > MOST_CELLS:
        reached = np.cumsum(np.bincount(cell, w, value.size))
        pool = np.minimum((reached * (MOST_CELLS / reached[-1])).astype(np.int64), MOST_CELLS - 1)
        cell = np.unique(pool, return_inverse=True)[1][cell]
    weight = np.bincount(cell, w).astype(np.float64)
    mean = np.bincount(cell, z if w is None else w * z) / weight if value.size > MOST_CELLS else value
    events = np.bincount(cell, y if w is None else w * y, weight.size).astype(np.float64)
    return LogitCells(mean, weight, events, cell)


class ShapedMap(LogitMap):
    """A map of log-odds that is linear in its coefficients."""

    ridge: float
    monotone: bool
    limits: bool
    coefficients_: Floats

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_penalty("ridge", self.ridge, positive=True)
        check_flag("monotone", self.monotone)

    def _fit(self, rows: CalibrationSet) -> None:
        cells = logit_cells(self._fit_logits(rows), rows.y, rows.w)
        self._adapt(cells)
        theta = self.regressions(cells.z, cells.weight[None], cells.events[None])
        self._keep(theta[0])

    @abstractmethod
    def _adapt(self, cells: LogitCells) -> None:
        """Choose what of the shape depends on the scores."""

    @property
    @abstractmethod
    def _curve(self) -> LogitShape: ...

    def regressions(self, z: Floats, weight: Floats, events: Floats) -> Floats:
        """Coefficients for several sets of weights at the same log-odds; a row for each."""
        curve = self._curve
        bounded = curve.bounded if self.monotone else None
        return ridge_logistic(curve.basis(z), weight, events, curve.identity, self.ridge * curve.ridge, bounded)

    def _keep(self, theta: Floats) -> Self:
        self.coefficients_ = theta
        return self

    def _log_odds(self, z: Floats) -> Floats:
        return np.asarray(self._curve.basis(z) @ self.coefficients_)

    def _map(self, p: NDArray[Any]) -> Floats:
        return np.asarray(expit(with_limits(self._log_odds, np.asarray(self._logits(p), np.float64))))


def with_limits(curve: Callable[[Floats], Floats], z: Floats) -> Floats:
    """A curve that is straight far from 0, at log-odds that may be infinite."""
    infinite = np.isinf(z)
    if not infinite.any():
        return curve(z)
    # Log-odds of floats are within 745 of 0. Slopes that are 0 but for rounding do not lead to infinity.
    below, low, high, above = curve(np.array([-2e3, -1e3, 1e3, 2e3]))
    low = math.copysign(math.inf, below - low) if abs(below - low) > 1e-6 else low
    high = math.copysign(math.inf, above - high) if abs(above - high) > 1e-6 else high
    return np.where(infinite, np.where(z < 0, low, high), curve(np.where(infinite, 0.0, z)))
