"""The true calibration errors of the Dirichlet scores that :func:`trueness.simulate.multiclass` draws.

They are closed forms or integrals for two classes, and for label noise: always class-wise; for confidence and
top-label with a single number `flip`, in the norms l1, 'max' and mostly l2. All others are averages over quasi-random
points (eight fixed sets of up to 4,096), accurate to about four digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, log, sqrt

import numpy as np
from scipy.special import gammainc

from trueness._numerics.quadrature import (
    _rule,
    beta_breaks,
    beta_density,
    beta_log_density,
    expit,
    integral,
    log_gammas,
    supremum,
)
from trueness.errors import InputError
from trueness.simulate import LabelNoise, Simulated, Temperature
from trueness.simulate._multiclass import Confusion
from trueness.simulate._multiclass import Dirichlet as Scores
from trueness.simulate._simulated import Line
from trueness.typing import Floats, Kind

__all__ = ["Dirichlet", "TrueError", "with_true_errors"]

_REPEATS = 8
_POINTS = 2**12
_SEED = 20210101
_QUADRATURE = 1e-9
_WIDTHS = 2.0 ** np.arange(-2, 12)


@dataclass(frozen=True)
class TrueError:
    """A calibration error of a population, with its numerical accuracy."""

    value: float
    uncertainty: float
    """0 for closed forms, the estimated error for quadrature, one standard error for quasi-Monte Carlo."""
    method: str


@dataclass(frozen=True)
class Dirichlet:
    """Dirichlet scores whose truth is a function of them."""

    alpha: tuple[float, ...]
    confusion: Confusion | None

    def error(self, power: float, kind: Kind) -> float:
        """The error in the norm with this exponent."""
        return self.true_error(power, kind).value

    def squared_error(self, k: int) -> float:
        """The squared error of the largest score, or of all columns."""
        if k not in (1, len(self.alpha)):
            raise InputError(
                "k",
                f"must be 1 or {len(self.alpha)}, for which the true error is known",
                f"got {k}",
            )
        if self.confusion is None:
            return 0.0
        return (
            self.error(2, "confidence") ** 2 if k == 1 else _full_square(self.alpha, self.confusion)
        )

    def true_error(self, power: float, kind: Kind) -> TrueError:
        """The error with its accuracy."""
        if self.confusion is None:
            return TrueError(0.0, 0.0, "closed form")
        if kind == "classwise":
            return _classwise(self.alpha, self.confusion, power)
        return _top(self.alpha, self.confusion, power, kind)


def with_true_errors(data: Simulated) -> Simulated:
    """The same rows, with the true errors of their population; those of other populations are known already.

    >>> from trueness.simulate import LabelNoise, multiclass
    >>> d = with_true_errors(multiclass(1, 10, distortion=LabelNoise(0.2)))
    >>> round(d.true_ece(kind="confidence"), 7)
    0.0385794
    """
    if not isinstance(data.population, Scores):
        return data
    return replace(data, population=Dirichlet(data.population.alpha, data.population.confusion))


@lru_cache(maxsize=256)
def _classwise(alpha: tuple[float, ...], confusion: Confusion, power: float) -> TrueError:
    """Mean over the columns, each conditioned on its own score alone."""
    alike = _exchangeable(alpha, confusion)
    classes = range(1 if alike else len(alpha))
    if isinstance(confusion, LabelNoise) or len(alpha) == 2:
        parts = [_Column(alpha, confusion, k, None).error(power, "classwise") for k in classes]
        return TrueError(float(np.mean(parts)), _QUADRATURE, "quadrature")

    def error_at(others: _Others) -> float:
        columns = [_Column(alpha, confusion, k, others) for k in classes]
        return float(np.mean([_rough_error(column, power, split=True)[0] for column in columns]))

    return _average_over_points(alpha, confusion, error_at)


@lru_cache(maxsize=256)
def _top(alpha: tuple[float, ...], confusion: Confusion, power: float, kind: Kind) -> TrueError:
    """The largest score, or the largest score given its class."""
    classes = tuple(range(len(alpha)))
    alike = _exchangeable(alpha, confusion)
    if isinstance(confusion, LabelNoise) and confusion.even is not None:
        known = _even_noise(np.array(alpha), confusion.even, power)
        if known is not None and (kind == "confidence" or power in (1, inf) or alike):
            return known
    # If the classes are exchangeable, the predicted class carries no information.
    groups = (
        [classes[:1]] if alike else [classes] if kind == "confidence" else [(k,) for k in classes]
    )
    if len(alpha) == 2:
        tops = [_Top(alpha, confusion, group, None) for group in groups]
        shares = np.array([top.weight() for top in tops])
        parts = np.array([top.error(power, kind) for top in tops])
        # The density of a group integrates to its probability, which is divided out under the root before averaging.
        scale = shares ** (1 - 1 / power) / shares.sum()
        return TrueError(float(scale @ parts), _QUADRATURE, "quadrature")

    def error_at(others: _Others) -> float:
        found = [_rough_error(_Top(alpha, confusion, group, others), power) for group in groups]
        return sum(value * weight for value, weight in found) / sum(weight for _, weight in found)

    return _average_over_points(alpha, confusion, error_at)


def _even_noise(alpha: Floats, rate: float, power: float) -> TrueError | None:
    """The largest score is too high by rate · (score − 1/K), whose moments are known."""
    floor = 1 / alpha.size
    if power == inf:
        return TrueError(rate * (1 - floor), 0.0, "closed form")
    if power not in (1, 2):
        return None
    mean, square = _largest_share_moments(alpha)
    value = mean - floor if power == 1 else sqrt(square - 2 * floor * mean + floor**2)
    return TrueError(rate * value, 1e-12, "quadrature")


@lru_cache(maxsize=256)
def _full_square(alpha: tuple[float, ...], confusion: Confusion) -> float:
    """Expected squared length of truth minus score."""
    a = np.array(alpha)
    if isinstance(confusion, LabelNoise):
        total = a.sum()
        second = (np.outer(a, a) + np.diag(a)) / (total * (total + 1))
        change = confusion.matrix(a.size) - np.eye(a.size)
        return float(np.trace(change.T @ second @ change))
    if a.size == 2:
        return 2 * _Column(alpha, confusion, 0, None).error(2, "classwise") ** 2
    classes = range(1 if _exchangeable(alpha, confusion) else a.size)

    def error_at(others: _Others) -> float:
        columns = [
            _rough_error(_FullColumn(alpha, confusion, k, others), 2)[0] ** 2 for k in classes
        ]
        return a.size * float(np.mean(columns))

    return _average_over_points(alpha, confusion, error_at).value


class _Others:
    """For each class, points on the simplex of the other classes, from rows of log-Gamma variables."""

    def __init__(self, logs: Floats, confusion: Confusion) -> None:
        self.logs = logs
        self.confusion = confusion
        self._sums = _without_each(logs, np.logaddexp)
        self._peaks = _without_each(logs, np.maximum) - self._sums

    def of(self, k: int) -> tuple[Floats, Floats]:
        """Logs of the largest share among the others, ascending, and the mixture of them in the truth of `k`."""
        if isinstance(self.confusion, Temperature):
            powers = np.delete(self.logs, k, axis=1) / self.confusion.value
            mix = np.logaddexp.reduce(powers, axis=1) - self._sums[:, k] / self.confusion.value
        else:
            shares = np.exp(np.delete(self.logs, k, axis=1) - self._sums[:, k, None])
            mix = shares @ np.delete(self.confusion.matrix(self.logs.shape[1])[:, k], k)
        order = np.argsort(self._peaks[:, k])
        return self._peaks[order, k], mix[order]


def _truth(confusion: Confusion, classes: int, k: int, s: Floats, mix: Floats) -> Floats:
    """Truth of class `k` with score log-odds `s` and the mixture `mix` of the others."""
    if isinstance(confusion, Temperature):
        # NumPy's exp is several times faster than SciPy's expit, and most of the time is spent here.
        with np.errstate(over="ignore"):
            t: Floats = 1 / (1 + np.exp(mix - s / confusion.value))
    else:
        t = expit(s) * confusion.matrix(classes)[k, k] + expit(-s) * mix
    return t


def _mean_mix(alpha: tuple[float, ...], confusion: Confusion, k: int) -> Floats:
    """The mixture of the others if only their mean matters, or there is only one."""
    if isinstance(confusion, Temperature):
        return np.zeros(1)
    others = np.delete(np.array(alpha), k)
    return np.array([others @ np.delete(confusion.matrix(len(alpha))[:, k], k) / others.sum()])


class _LogOddsLine(Line):
    """A line of the log-odds of the score."""

    def score(self, s: Floats) -> Floats:
        return expit(s)


class _Column(_LogOddsLine):
    """One class: its score is Beta; the shares of the others are Dirichlet and independent of it."""

    def __init__(
        self, alpha: tuple[float, ...], confusion: Confusion, k: int, others: _Others | None
    ) -> None:
        self.alpha, self.confusion, self.k = alpha, confusion, k
        self.mix = _mean_mix(alpha, confusion, k) if others is None else others.of(k)[1]

    def _shapes(self) -> tuple[float, float]:
        return self.alpha[self.k], sum(self.alpha) - self.alpha[self.k]

    def density(self, s: Floats) -> Floats:
        return beta_density(s, *self._shapes())

    def breaks(self) -> Floats:
        return beta_breaks(*self._shapes())

    def truth(self, s: Floats) -> Floats:
        return _by_chunks(s, self.mix.size, lambda c: self._truths(c).mean(axis=1))

    def _truths(self, s: Floats) -> Floats:
        return _truth(self.confusion, len(self.alpha), self.k, s[:, None], self.mix)


class _FullColumn(_Column):
    """One class, conditioned on the scores of all."""

    def gap(self, s: Floats) -> Floats:
        """Root mean square distance between score and truth over the scores of the others."""

        def mean_square(c: Floats) -> Floats:
            return np.asarray(((self._truths(c) - self.score(c)[:, None]) ** 2).mean(axis=1))

        return np.sqrt(_by_chunks(s, self.mix.size, mean_square))


class _Top(_LogOddsLine):
    """The largest score if its class is among `classes`; on the half-line where it can be the largest."""

    def __init__(
        self,
        alpha: tuple[float, ...],
        confusion: Confusion,
        classes: tuple[int, ...],
        others: _Others | None,
    ) -> None:
        self.alpha, self.confusion, self.classes = alpha, confusion, classes
        # Without points there are two classes, and the other one has the rest.
        self.parts = [
            (np.zeros(1), _mean_mix(alpha, confusion, k)) if others is None else others.of(k)
            for k in classes
        ]

    def breaks(self) -> Floats:
        """Panels from the smallest possible largest score on."""
        total, least = sum(self.alpha), -np.log(len(self.alpha) - 1)
        shapes = {self.alpha[k] for k in self.classes}
        points = np.unique(np.concatenate([beta_breaks(a, total - a) for a in shapes]))
        return np.concatenate([[least], points[points > least]])

    def density(self, s: Floats) -> Floats:
        """Density of the log-odds of the largest score; integrates to the probability of the classes."""
        return np.asarray(np.exp(self._log_chances(s)).sum(axis=0))

    def weight(self) -> float:
        """Probability that one of the classes is predicted."""
        return integral(self.density, self.breaks())[0]

    def truth(self, s: Floats) -> Floats:
        """Truth given the largest score, for any of the classes."""
        logs = self._log_chances(s)
        top = logs.max(axis=0)
        known = top > -inf  # false where no point has such a small largest score
        weights = np.exp(logs - np.where(known, top, 0.0))
        hits = sum(w * self._mean_truth_of(i, s) for i, w in enumerate(weights))
        return np.where(known, hits / np.where(known, weights.sum(axis=0), 1.0), self.score(s))

    def _log_chances(self, s: Floats) -> Floats:
        """Log-density of the score of each class, plus the log-probability that it is the largest."""
        total = sum(self.alpha)
        with np.errstate(divide="ignore"):
            largest = [
                np.log(np.searchsorted(peaks, s, side="right") / peaks.size)
                for peaks, _ in self.parts
            ]
        own = [beta_log_density(s, self.alpha[k], total - self.alpha[k]) for k in self.classes]
        return np.asarray(np.stack(own) + np.stack(largest))

    def _mean_truth_of(self, i: int, s: Floats) -> Floats:
        """Mean truth of a class over the points for which it is the largest."""
        k, (peaks, mix) = self.classes[i], self.parts[i]

        def mean(c: Floats) -> Floats:
            left = np.searchsorted(peaks, c, side="right")
            sums = np.where(
                np.arange(mix.size) < left[:, None],
                _truth(self.confusion, len(self.alpha), k, c[:, None], mix),
                0.0,
            ).sum(axis=1)
            return np.asarray(sums / np.maximum(left, 1))

        return _by_chunks(s, mix.size, mean)


def _rough_error(line: Line, power: float, *, split: bool = False) -> tuple[float, float]:
    """Error and weight by one pass of a fixed rule; `split` cuts panels where truth and score cross."""
    breaks = line.breaks()
    if split:
        breaks = np.unique(np.concatenate([breaks, _crossings(line, breaks)]))
    s, w = _panels(breaks)
    weight = w * line.density(s)
    total = float(weight.sum())
    if power == inf:
        return supremum(
            line.gap, np.union1d(breaks, np.linspace(-40, 40, 401)), hills=2, rounds=5
        ), total
    heavy = weight > 1e-16 * total  # gaps are expensive
    return float((weight[heavy] @ line.gap(s[heavy]) ** power / total) ** (1 / power)), total


def _crossings(line: Line, breaks: Floats) -> Floats:
    sign = np.sign(line.truth(breaks) - line.score(breaks))
    at = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    low, high, left = breaks[at], breaks[at + 1], sign[at]
    for _ in range(40):
        middle = (low + high) / 2
        same = np.sign(line.truth(middle) - line.score(middle)) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return low


def _average_over_points(
    alpha: tuple[float, ...], confusion: Confusion, error_at: Callable[[_Others], float]
) -> TrueError:
    """The mean over sets of points, with its standard error."""
    values = np.array([error_at(_Others(logs, confusion)) for logs in _repeats(alpha)])
    return TrueError(
        float(values.mean()), float(values.std(ddof=1) / sqrt(values.size)), "quasi-Monte Carlo"
    )


@lru_cache(maxsize=1)
def _repeats(alpha: tuple[float, ...]) -> list[Floats]:
    """Independent sets of quasi-random log-Gamma rows."""
    rng = np.random.default_rng(_SEED)
    return [log_gammas(np.array(alpha), _points(len(alpha)), rng) for _ in range(_REPEATS)]


def _points(classes: int) -> int:
    """Number of points: fewer for many classes, and always a power of two."""
    points = _POINTS
    while points > 2**8 and points * classes > 2**18:
        points //= 2
    return points


def _without_each(logs: Floats, join: np.ufunc) -> Floats:
    """For each column, the others joined; without subtraction, which would lose small terms beside a large one."""
    bottom = np.full((len(logs), 1), -inf)
    before = join.accumulate(np.hstack([bottom, logs[:, :-1]]), axis=1)
    after = join.accumulate(np.hstack([bottom, logs[:, :0:-1]]), axis=1)[:, ::-1]
    return np.asarray(join(before, after))


def _by_chunks(s: Floats, width: int, mean: Callable[[Floats], Floats]) -> Floats:
    step = max(1, 2**21 // width)
    return np.concatenate([mean(s[i : i + step]) for i in range(0, max(1, s.size), step)])


def _exchangeable(alpha: tuple[float, ...], confusion: Confusion) -> bool:
    """Whether the classes are exchangeable."""
    return len(set(alpha)) == 1 and not (
        isinstance(confusion, LabelNoise) and confusion.even is None
    )


def _panels(breaks: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of the rule of nine nodes on each panel, for functions too expensive to refine."""
    x, w = _rule()
    half = np.diff(breaks)[:, None] / 2
    return (breaks[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()


def _largest_share_moments(alpha: Floats) -> tuple[float, float]:
    """Mean and mean square of the largest entry of a Dirichlet vector.

    The entries are shares of independent Gamma variables, and independent of their sum: so the moments are those of the
    largest variable, whose distribution function is a product, divided by those of the sum.

    >>> mean, square = _largest_share_moments(np.ones(3))
    >>> round(mean, 12), round(11 / 18, 12)
    (0.611111111111, 0.611111111111)
    """
    total = float(alpha.sum())
    high = log(alpha.max() + 40 * np.sqrt(alpha.max() + 10) + 60)
    breaks = np.unique(np.append(high - _WIDTHS, [high, *np.log(alpha)]))

    def survival(x: Floats) -> Floats:
        below: Floats = gammainc(alpha[:, None], np.exp(np.maximum(x, -745.0))).prod(axis=0)
        return 1 - below

    mean = integral(lambda x: survival(x) * np.exp(x), breaks)[0]
    square = integral(lambda x: survival(x) * 2 * np.exp(2 * x), breaks)[0]
    return mean / total, square / (total * (total + 1))
