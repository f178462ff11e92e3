"""Populations: joint distributions of scores and outcomes, and their calibration errors."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Protocol

import numpy as np

from trueness._numerics.power_mean import power_mean
from trueness._numerics.quadrature import integral, supremum
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Kind


@dataclass(frozen=True)
class TrueError:
    """A calibration error of a population, with its numerical accuracy.

    Attributes
    ----------
    value : float
        The error, in units of probability (squared, for a squared error).
    uncertainty : float
        Numerical uncertainty of `value`: 0 for sums and closed forms, the estimated error for quadrature, one standard
        error for quasi-Monte Carlo.
    method : {'sum', 'closed form', 'quadrature', 'quasi-Monte Carlo'}
        How it was computed.
    """

    value: float
    uncertainty: float
    method: str

    def to_dict(self) -> dict[str, Any]:
        """The fields, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if self.method != "quasi-Monte Carlo":
            return f"{self.value:.6g} ({self.method})"
        return f"{self.value:.6g} ± {self.uncertainty:.1g} ({self.method})"


class Population(Protocol):
    """The distribution that rows are drawn from, with its true errors."""

    def error(self, power: float, kind: Kind) -> TrueError:
        """The error in the norm with this exponent."""

    def squared_error(self, k: int) -> TrueError:
        """The squared l2 error of the `k` largest scores."""


class Line(ABC):
    """A distribution of vector scores parametrised by a point on the real line."""

    @abstractmethod
    def density(self, s: Floats) -> Floats:
        """Density at `s`."""

    @abstractmethod
    def breaks(self) -> Floats:
        """Integration panels for the density and the two functions below; the mass outside is negligible."""

    @abstractmethod
    def score(self, s: Floats) -> Floats:
        """Score at `s`."""

    @abstractmethod
    def truth(self, s: Floats) -> Floats:
        """Truth given the score at `s`."""

    def gap(self, s: Floats) -> Floats:
        """Distance between score and truth."""
        return np.abs(self.truth(s) - self.score(s))

    def mean_truth(self) -> float:
        """Probability of the event."""
        return integral(lambda s: self.truth(s) * self.density(s), self.breaks())[0]

    def error(self, power: float, kind: Kind) -> TrueError:  # noqa: ARG002 - a vector has one error
        """The error in the norm with this exponent."""
        # High powers of small gaps underflow.
        unit = self._largest_gap() if power > 2 else 1.0
        if unit == 0:
            return TrueError(0.0, 0.0, "closed form")
        if power == inf:
            return TrueError(unit, 1e-9, "quadrature")
        value, error = integral(lambda s: (self.gap(s) / unit) ** power * self.density(s), self.breaks())
        if value <= 0:
            return TrueError(0.0, 0.0, "closed form")
        root = unit * value ** (1 / power)
        return TrueError(root, root * error / value / power, "quadrature")

    def squared_error(self, k: int) -> TrueError:
        """The squared l2 error."""
        check_k(k, (1,))
        return square_of(self.error(2, "classwise"))

    def _largest_gap(self) -> float:
        # The support is the whole line, not only where the mass is.
        far = 2.0 ** np.arange(6, 20)
        points = np.concatenate([self.breaks(), np.linspace(-40, 40, 4001), far, -far])
        points = np.unique(points)
        return supremum(self.gap, np.unique(np.concatenate([points, (points[1:] + points[:-1]) / 2])))


@dataclass(frozen=True, eq=False)
class Finite:
    """A distribution with finitely many scores: vectors or matrices of scores and truths, with a weight per row."""

    scores: Floats
    truths: Floats
    weight: Floats

    def error(self, power: float, kind: Kind) -> TrueError:
        """The error in the norm with this exponent."""
        norm = "max" if power == inf else power
        return TrueError(self._error(norm, kind), 0.0, "sum")

    def squared_error(self, k: int) -> TrueError:
        """The squared l2 error of the `k` largest scores."""
        if self.scores.ndim == 1:
            check_k(k, (1,))
            return square_of(self.error(2, "classwise"))
        z, t = self.scores, self.truths
        if k < z.shape[1]:
            order = np.argsort(-z, axis=1, kind="stable")[:, :k]
            z, t = np.take_along_axis(z, order, axis=1), np.take_along_axis(t, order, axis=1)
        gaps, w = _gaps(z, t, self.weight)
        return TrueError(float(w @ (gaps**2).sum(axis=1) / w.sum()), 0.0, "sum")

    def _error(self, norm: str | float, kind: Kind) -> float:
        z, t, w = self.scores, self.truths, self.weight
        if z.ndim == 1:
            return _vector_error(z, t, w, norm)
        if kind == "classwise":
            return float(np.mean([_vector_error(z[:, j], t[:, j], w, norm) for j in range(z.shape[1])]))
        top = z.argmax(axis=1)
        rows = np.arange(top.size)
        z, t = z[rows, top], t[rows, top]
        if kind == "confidence":
            return _vector_error(z, t, w, norm)
        predicted = [top == j for j in np.unique(top[w > 0])]
        return float(sum(w[at].sum() * _vector_error(z[at], t[at], w[at], norm) for at in predicted) / w.sum())


def _vector_error(z: Floats, t: Floats, w: Floats, norm: str | float) -> float:
    gaps, weight = _gaps(z[:, None], t[:, None], w)
    return power_mean(gaps[:, 0], weight, norm)


def _gaps(z: Floats, t: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Mean truth minus score, and the weight, of each distinct row of scores."""
    kept = w > 0
    _, gaps, weight = pool_scores(z[kept], t[kept], w[kept])
    return gaps, weight


def pool_scores(z: Floats, t: Floats, w: Floats) -> tuple[Ints, Floats, Floats]:
    """The distinct row of scores of each row; mean truth minus score, and weight, of each distinct row."""
    # By rows only if there is more than one column: that sort is forty times slower.
    inverse = np.unique(z[:, 0] if z.shape[1] == 1 else z, axis=0, return_inverse=True)[1]
    group: Ints = inverse.reshape(-1).astype(np.int64)
    weight = np.asarray(np.bincount(group, w), dtype=np.float64)
    with np.errstate(invalid="ignore"):  # the weight may be 0
        # Mean gaps, not mean truth minus score: a calibrated row has no gap, not even from rounding.
        gaps = np.stack([np.bincount(group, w * column) for column in (t - z).T], axis=1) / weight[:, None]
    return group, gaps, weight


def check_k(k: int, known: tuple[int, ...]) -> None:
    """Raise for a `k` whose true error is not known."""
    if k not in known:
        known_k = " or ".join(map(str, known))
        raise InputError("k", f"must be {known_k}, for which the true error of this population is known", f"got {k}")


def square_of(error: TrueError) -> TrueError:
    """The square of an error."""
    return TrueError(error.value**2, 2 * error.value * error.uncertainty, error.method)
