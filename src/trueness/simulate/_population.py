"""Laws of scores and outcomes, and their calibration errors."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Protocol

import numpy as np

from trueness._numerics.power_mean import power_mean
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Kind

__all__ = ["Finite", "Line", "Population", "TrueError", "only_k", "pooled", "squared"]


@dataclass(frozen=True)
class TrueError:
    """
    A calibration error of a population, with how it was found.

    Attributes
    ----------
    value : float
        The error, in units of probability (of its square, for a squared error).
    uncertainty : float
        How far `value` may be from the truth: 0 for sums and closed forms, the estimated error of the
        rule for quadrature, one standard error for quasi-Monte Carlo.
    method : {'sum', 'closed form', 'quadrature', 'quasi-Monte Carlo'}
        How it was found.

    Examples
    --------
    >>> from trueness import simulate
    >>> print(simulate.binary(1, distortion=simulate.Power(2)).true_error())
    0.166667 (quadrature)
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
    """The law that rows are drawn from; it knows its own errors."""

    def error(self, power: float, kind: Kind) -> TrueError:
        """The error in the norm with this exponent."""

    def squared_error(self, k: int) -> TrueError:
        """The squared l2 error of the `k` largest scores."""


class Line(ABC):
    """A law of vector scores driven by one number on the real line, in which everything is smooth."""

    @abstractmethod
    def density(self, s: Floats) -> Floats:
        """How likely `s` is."""

    @abstractmethod
    def breaks(self) -> Floats:
        """Panels that suit the density and the two functions below; nothing of weight lies outside."""

    @abstractmethod
    def score(self, s: Floats) -> Floats:
        """What is predicted at `s`."""

    @abstractmethod
    def truth(self, s: Floats) -> Floats:
        """What is true given the score at `s`."""

    def gap(self, s: Floats) -> Floats:
        """How far the score is from the truth."""
        distance: Floats = np.abs(self.truth(s) - self.score(s))
        return distance

    def mean_truth(self) -> float:
        """Probability of the event."""
        from trueness._numerics.quadrature import integral

        return integral(lambda s: self.truth(s) * self.density(s), self.breaks())[0]

    def error(self, power: float, kind: Kind) -> TrueError:  # noqa: ARG002 - a vector has one error
        """The error in the norm with this exponent."""
        from trueness._numerics.quadrature import integral

        # A gap to a high power may be smaller than any float.
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
        only_k(k, (1,))
        return squared(self.error(2, "classwise"))

    def _largest_gap(self) -> float:
        from trueness._numerics.quadrature import supremum

        # The support is the whole line, not only where the integral finds weight.
        far = 2.0 ** np.arange(6, 20)
        points = np.concatenate([self.breaks(), np.linspace(-40, 40, 4001), far, -far])
        points = np.unique(points)
        return supremum(self.gap, np.unique(np.concatenate([points, (points[1:] + points[:-1]) / 2])))


@dataclass(frozen=True, eq=False)
class Finite:
    """A law with finitely many scores: vectors or matrices of scores and truths, and a weight for each row."""

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
            only_k(k, (1,))
            return squared(self.error(2, "classwise"))
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
    """Distance of the mean truth from the score, and the weight, for each distinct row of scores."""
    kept = w > 0
    _, gaps, weight = pooled(z[kept], t[kept], w[kept])
    return gaps, weight


def pooled(z: Floats, t: Floats, w: Floats) -> tuple[Ints, Floats, Floats]:
    """Which distinct row of scores each row has; distance of the mean truth, and weight, of each distinct row."""
    # By rows only when there is more than one column: that sort is forty times slower.
    inverse = np.unique(z[:, 0] if z.shape[1] == 1 else z, axis=0, return_inverse=True)[1]
    group: Ints = inverse.reshape(-1).astype(np.int64)
    weight = np.asarray(np.bincount(group, w), dtype=np.float64)
    with np.errstate(invalid="ignore"):  # nothing is known where nothing weighs
        # Gaps, not means minus scores: a calibrated row has none at all, not even one of rounding.
        gaps = np.stack([np.bincount(group, w * column) for column in (t - z).T], axis=1) / weight[:, None]
    return group, gaps, weight


def only_k(k: int, known: tuple[int, ...]) -> None:
    """Refuse a `k` whose error this law does not know."""
    if k not in known:
        listed = " and ".join(map(str, known))
        raise InputError("k", f"must be one whose true error is known for this law: {listed}", f"got {k}")


def squared(error: TrueError) -> TrueError:
    """The square of an error."""
    return TrueError(error.value**2, 2 * error.value * error.uncertainty, error.method)
