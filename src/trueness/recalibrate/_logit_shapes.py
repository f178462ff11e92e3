"""Shapes of maps from log-odds to log-odds: linear in coefficients of which some must not be negative.

A shape has `basis(z)`, whose first column is 1 and whose other columns do not decrease in z over the range of the
scores; coefficients of the identity; and a ridge that pulls towards them. With the bounds, a map never decreases.
"""

from typing import NamedTuple, Protocol

import numpy as np

from trueness.typing import Bools, Floats


class LogitShape(Protocol):
    """A family of maps."""

    @property
    def identity(self) -> Floats:
        """Coefficients of the identity."""
        ...

    @property
    def bounded(self) -> Bools:
        """Coefficients that must not be negative for the map to increase."""
        ...

    @property
    def ridge(self) -> Floats:
        """The penalty of strength 1: half the squared distance from the identity in the natural coefficients."""
        ...

    def basis(self, z: Floats) -> Floats:
        """Columns that the coefficients multiply."""
        ...


class Line(NamedTuple):
    """a + bz."""

    @property
    def identity(self) -> Floats:
        return np.array([0.0, 1.0])

    @property
    def bounded(self) -> Bools:
        return np.array([False, True])

    @property
    def ridge(self) -> Floats:
        return np.eye(2)

    def basis(self, z: Floats) -> Floats:
        return np.column_stack([np.ones_like(z), z])


class LogScores(NamedTuple):
    """c + a log p − b log(1 − p), with p the probability of log-odds z."""

    @property
    def identity(self) -> Floats:
        return np.array([0.0, 1.0, 1.0])

    @property
    def bounded(self) -> Bools:
        return np.array([False, True, True])

    @property
    def ridge(self) -> Floats:
        return np.eye(3)

    def basis(self, z: Floats) -> Floats:
        return np.column_stack([np.ones_like(z), -np.logaddexp(0, -z), np.logaddexp(0, z)])


class Bend(NamedTuple):
    """a + bz + c z² (`signed`: c z|z|) for |z| up to `reach`, straight beyond.

    Coefficients are a and the slopes at two points between which the slope is linear: −reach and reach; signed, 0 and
    reach. The slopes are not negative exactly if the map increases.
    """

    reach: float
    signed: bool

    @property
    def identity(self) -> Floats:
        return np.array([0.0, 1.0, 1.0])

    @property
    def bounded(self) -> Bools:
        return np.array([False, True, True])

    @property
    def ridge(self) -> Floats:
        own = self.natural
        return np.asarray(own.T @ own)

    @property
    def natural(self) -> Floats:
        """The matrix that takes the coefficients to a, b and c."""
        if self.signed:
            return np.array([[1, 0, 0], [0, 1, 0], [0, -0.5 / self.reach, 0.5 / self.reach]])
        return np.array([[1, 0, 0], [0, 0.5, 0.5], [0, -0.25 / self.reach, 0.25 / self.reach]])

    def basis(self, z: Floats) -> Floats:
        inside = np.clip(z, -self.reach, self.reach)
        beyond = z - inside
        square = inside * (np.abs(inside) if self.signed else inside)
        straight = 2 * beyond * np.abs(inside if self.signed else self.reach)
        if not self.signed:
            straight = np.where(beyond < 0, -straight, straight)
        bend, own = square + straight, self.natural  # the product with `own`, without waking threads
        return np.column_stack([np.ones_like(z), *(z * own[1, j] + bend * own[2, j] for j in (1, 2))])


class Spline(NamedTuple):
    """A curve whose slope is linear between knots and constant outside them.

    Coefficients are the value at 0 and the slope at each knot.
    """

    knots: Floats

    @property
    def identity(self) -> Floats:
        return np.concatenate([[0.0], np.ones(self.knots.size)])

    @property
    def bounded(self) -> Bools:
        return np.concatenate([[False], np.ones(self.knots.size, np.bool_)])

    @property
    def ridge(self) -> Floats:
        return np.eye(1 + self.knots.size)

    def basis(self, z: Floats) -> Floats:
        at_zero = self._areas(np.zeros(1))
        return np.column_stack([np.ones_like(z), self._areas(z) - at_zero])

    def _areas(self, z: Floats) -> Floats:
        """The integral of each knot's hat, from the first knot to z."""
        t, k = self.knots, self.knots.size
        areas = np.zeros((z.size, k))
        areas[:, 0] += np.minimum(z - t[0], 0)
        areas[:, -1] += np.maximum(z - t[-1], 0)
        for j in range(k - 1):
            width = t[j + 1] - t[j]
            inside = np.clip(z - t[j], 0, width)
            rising = inside * inside / (2 * width)
            areas[:, j + 1] += rising
            areas[:, j] += inside - rising
        return areas


def spline_knots(z: Floats, weight: Floats, number: int) -> Floats:
    """Quantiles of ascending log-odds from 5 to 95 %, without those that hardly differ from the one before."""
    reached = (np.cumsum(weight) - weight / 2) / weight.sum()
    at = np.interp(np.linspace(0.05, 0.95, number), reached, z)
    # Slopes at knots closer than this could not be distinguished.
    return np.asarray(at[np.concatenate([[True], np.diff(at) > 1e-6])])
