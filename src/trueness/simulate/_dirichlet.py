"""Dirichlet scores of several classes, and their calibration errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt

import numpy as np

from trueness.simulate._confusions import Confusion, LabelNoise, Temperature
from trueness.simulate._population import Line, TrueError, only_k, squared
from trueness.typing import Floats, Kind

__all__ = ["Dirichlet", "mean_truth"]

_REPEATS = 8
_POINTS = 2**12
_SEED = 20210101


@dataclass(frozen=True)
class Dirichlet:
    """Scores with a Dirichlet law, and a truth that is one function of them."""

    alpha: tuple[float, ...]
    confusion: Confusion | None

    def error(self, power: float, kind: Kind) -> TrueError:
        """The error in the norm with this exponent."""
        if self.confusion is None:
            return TrueError(0.0, 0.0, "closed form")
        if kind == "classwise":
            return _classwise(self.alpha, self.confusion, power)
        return _top(self.alpha, self.confusion, power, kind)

    def squared_error(self, k: int) -> TrueError:
        """The squared error of the largest score, or of all columns."""
        only_k(k, (1, len(self.alpha)))
        if self.confusion is None:
            return TrueError(0.0, 0.0, "closed form")
        if k == 1:
            return squared(self.error(2, "confidence"))
        return _full_square(self.alpha, self.confusion)


def mean_truth(alpha: Floats, confusion: Confusion | None) -> Floats:
    """Probability of each class; within about 1e-4 for a temperature and more than two classes."""
    from trueness._numerics.quadrature import log_gammas

    shares: Floats = alpha / alpha.sum()
    if confusion is None:
        return shares
    if isinstance(confusion, LabelNoise):
        return confusion.truth(shares[None]).ravel()
    if alpha.size == 2:
        first = Column((alpha[0], alpha[1]), confusion, 0, None).mean_truth()
        return np.array([first, 1 - first])
    # The same points whatever `alpha` is, so that a search for a prevalence sees a smooth function.
    rng = np.random.default_rng(_SEED)
    means = _softmax(log_gammas(alpha, _points(alpha.size), rng) / confusion.value).mean(axis=0)
    group = np.unique(alpha, return_inverse=True)[1]  # classes that are alike have the same mean
    pooled: Floats = (np.bincount(group, means) / np.bincount(group))[group]
    return pooled


@lru_cache(maxsize=256)
def _classwise(alpha: tuple[float, ...], confusion: Confusion, power: float) -> TrueError:
    """Mean over the columns; each given its own score alone."""
    alike = _alike(alpha, confusion)
    classes = range(1 if alike else len(alpha))
    if isinstance(confusion, LabelNoise) or len(alpha) == 2:
        parts = [Column(alpha, confusion, k, None).error(power, "classwise") for k in classes]
        value, spread = (float(np.mean([getattr(p, name) for p in parts])) for name in ("value", "uncertainty"))
        return TrueError(value, spread, parts[0].method)

    def once(others: Others) -> float:
        columns = [Column(alpha, confusion, k, others) for k in classes]
        return float(np.mean([_rough_error(column, power, split=True)[0] for column in columns]))

    return _averaged(alpha, confusion, once)


@lru_cache(maxsize=256)
def _top(alpha: tuple[float, ...], confusion: Confusion, power: float, kind: Kind) -> TrueError:
    """The largest score, or the largest score given its class."""
    classes = tuple(range(len(alpha)))
    alike = _alike(alpha, confusion)
    if isinstance(confusion, LabelNoise) and confusion.even is not None:
        known = _even_noise(np.array(alpha), confusion.even, power)
        if known is not None and (kind == "confidence" or power in (1, inf) or alike):
            return known
    # When all classes are alike, which of them is the largest says nothing.
    groups = [classes[:1]] if alike else [classes] if kind == "confidence" else [(k,) for k in classes]
    if len(alpha) == 2:
        tops = [Top(alpha, confusion, group, None) for group in groups]
        shares = np.array([top.weight() for top in tops])
        parts = [top.error(power, kind) for top in tops]
        # A density weighs as much as its group: that is divided out under the root before averaging over groups.
        scale = shares ** (1 - 1 / power) / shares.sum()
        value, spread = (float(scale @ [getattr(p, name) for p in parts]) for name in ("value", "uncertainty"))
        return TrueError(value, spread, parts[0].method)

    def once(others: Others) -> float:
        found = [_rough_error(Top(alpha, confusion, group, others), power) for group in groups]
        return sum(value * weight for value, weight in found) / sum(weight for _, weight in found)

    return _averaged(alpha, confusion, once)


def _even_noise(alpha: Floats, rate: float, power: float) -> TrueError | None:
    """The largest score is too high by rate · (score − 1/K), whose moments are known."""
    from trueness._numerics.quadrature import largest_share_moments

    floor = 1 / alpha.size
    if power == inf:
        return TrueError(rate * (1 - floor), 0.0, "closed form")
    if power not in (1, 2):
        return None
    mean, square = largest_share_moments(alpha)
    value = mean - floor if power == 1 else sqrt(square - 2 * floor * mean + floor**2)
    return TrueError(rate * value, 1e-12, "quadrature")


@lru_cache(maxsize=256)
def _full_square(alpha: tuple[float, ...], confusion: Confusion) -> TrueError:
    """Expected squared length of truth minus score."""
    a = np.array(alpha)
    if isinstance(confusion, LabelNoise):
        total = a.sum()
        second = (np.outer(a, a) + np.diag(a)) / (total * (total + 1))
        change = confusion.matrix(a.size) - np.eye(a.size)
        return TrueError(float(np.trace(change.T @ second @ change)), 0.0, "closed form")
    if a.size == 2:
        one = squared(Column(alpha, confusion, 0, None).error(2, "classwise"))
        return TrueError(2 * one.value, 2 * one.uncertainty, one.method)
    classes = range(1 if _alike(alpha, confusion) else a.size)

    def once(others: Others) -> float:
        columns = [_rough_error(FullColumn(alpha, confusion, k, others), 2)[0] ** 2 for k in classes]
        return a.size * float(np.mean(columns))

    return _averaged(alpha, confusion, once)


class Others:
    """Points on the simplex of the other classes, for each class, from rows of log-Gamma variables."""

    def __init__(self, logs: Floats, confusion: Confusion) -> None:
        self.logs = logs
        self.confusion = confusion
        self._sums = _without_each(logs, np.logaddexp)
        self._peaks = _without_each(logs, np.maximum) - self._sums

    def of(self, k: int) -> tuple[Floats, Floats]:
        """Log of the largest share among the others, ascending, and what the truth of `k` needs to know of them."""
        if isinstance(self.confusion, Temperature):
            powers = np.delete(self.logs, k, axis=1) / self.confusion.value
            mix = np.logaddexp.reduce(powers, axis=1) - self._sums[:, k] / self.confusion.value
        else:
            shares = np.exp(np.delete(self.logs, k, axis=1) - self._sums[:, k, None])
            mix = shares @ np.delete(self.confusion.matrix(self.logs.shape[1])[:, k], k)
        order = np.argsort(self._peaks[:, k])
        return self._peaks[order, k], mix[order]


def _truth(confusion: Confusion, classes: int, k: int, s: Floats, mix: Floats) -> Floats:
    """Truth of class `k` when its score has log-odds `s` and the others are mixed so."""
    from trueness._numerics.quadrature import expit

    if isinstance(confusion, Temperature):
        # NumPy's exp is several times as fast as SciPy's expit, and nearly all the time is spent here.
        with np.errstate(over="ignore"):
            t: Floats = 1 / (1 + np.exp(mix - s / confusion.value))
    else:
        t = expit(s) * confusion.matrix(classes)[k, k] + expit(-s) * mix
    return t


def _mean_mix(alpha: tuple[float, ...], confusion: Confusion, k: int) -> Floats:
    """What stands for the others when their mean, or their being a single one, is all that matters."""
    if isinstance(confusion, Temperature):
        return np.zeros(1)
    others = np.delete(np.array(alpha), k)
    return np.array([others @ np.delete(confusion.matrix(len(alpha))[:, k], k) / others.sum()])


class Column(Line):
    """One class: its score is Beta; given it, the others are Dirichlet and independent of it."""

    def __init__(self, alpha: tuple[float, ...], confusion: Confusion, k: int, others: Others | None) -> None:
        self.alpha, self.confusion, self.k = alpha, confusion, k
        self.mix = _mean_mix(alpha, confusion, k) if others is None else others.of(k)[1]

    def _shapes(self) -> tuple[float, float]:
        return self.alpha[self.k], sum(self.alpha) - self.alpha[self.k]

    def density(self, s: Floats) -> Floats:
        """Density of the log-odds of the score."""
        from trueness._numerics.quadrature import beta_density

        return beta_density(s, *self._shapes())

    def breaks(self) -> Floats:
        """Panels of the density."""
        from trueness._numerics.quadrature import beta_breaks

        return beta_breaks(*self._shapes())

    def score(self, s: Floats) -> Floats:
        """Score at `s`."""
        from trueness._numerics.quadrature import expit

        z: Floats = expit(s)
        return z

    def truth(self, s: Floats) -> Floats:
        """Truth given this score alone."""
        return _by_chunks(s, self.mix.size, lambda c: self._truths(c).mean(axis=1))

    def _truths(self, s: Floats) -> Floats:
        return _truth(self.confusion, len(self.alpha), self.k, s[:, None], self.mix)


class FullColumn(Column):
    """One class, given the scores of all."""

    def gap(self, s: Floats) -> Floats:
        """Root mean square distance of the score from the truths that the others may give it."""

        def mean_square(c: Floats) -> Floats:
            mean: Floats = ((self._truths(c) - self.score(c)[:, None]) ** 2).mean(axis=1)
            return mean

        root: Floats = np.sqrt(_by_chunks(s, self.mix.size, mean_square))
        return root


class Top(Line):
    """The largest score, when its class is one of some; on the half-line where it can be the largest."""

    def __init__(
        self, alpha: tuple[float, ...], confusion: Confusion, classes: tuple[int, ...], others: Others | None
    ) -> None:
        self.alpha, self.confusion, self.classes = alpha, confusion, classes
        # Without points there are two classes, and the other one has all the rest.
        self.parts = [
            (np.zeros(1), _mean_mix(alpha, confusion, k)) if others is None else others.of(k) for k in classes
        ]

    def breaks(self) -> Floats:
        """Panels from the smallest that a largest score can be."""
        from trueness._numerics.quadrature import beta_breaks

        total, least = sum(self.alpha), -np.log(len(self.alpha) - 1)
        shapes = {self.alpha[k] for k in self.classes}
        points = np.unique(np.concatenate([beta_breaks(a, total - a) for a in shapes]))
        breaks: Floats = np.concatenate([[least], points[points > least]])
        return breaks

    def density(self, s: Floats) -> Floats:
        """Density of the log-odds of the largest score; it weighs as much as the classes are predicted."""
        density: Floats = np.exp(self._log_chances(s)).sum(axis=0)
        return density

    def weight(self) -> float:
        """Probability that one of the classes is predicted."""
        from trueness._numerics.quadrature import integral

        return integral(self.density, self.breaks())[0]

    def score(self, s: Floats) -> Floats:
        """Score at `s`."""
        from trueness._numerics.quadrature import expit

        z: Floats = expit(s)
        return z

    def truth(self, s: Floats) -> Floats:
        """Truth given the largest score, whichever of the classes has it."""
        logs = self._log_chances(s)
        top = logs.max(axis=0)
        known = top > -inf  # some of the points have so small a largest score
        weights = np.exp(logs - np.where(known, top, 0.0))
        hits = sum(w * self._given(i, s) for i, w in enumerate(weights))
        truth: Floats = np.where(known, hits / np.where(known, weights.sum(axis=0), 1.0), self.score(s))
        return truth

    def _log_chances(self, s: Floats) -> Floats:
        """Log-density of the score of each class, plus the log-chance that it is the largest."""
        from trueness._numerics.quadrature import beta_log_density

        total = sum(self.alpha)
        with np.errstate(divide="ignore"):
            largest = [np.log(np.searchsorted(peaks, s, side="right") / peaks.size) for peaks, _ in self.parts]
        own = [beta_log_density(s, self.alpha[k], total - self.alpha[k]) for k in self.classes]
        logs: Floats = np.stack(own) + np.stack(largest)
        return logs

    def _given(self, i: int, s: Floats) -> Floats:
        """Mean truth of a class over the points that leave it the largest."""
        k, (peaks, mix) = self.classes[i], self.parts[i]

        def mean(c: Floats) -> Floats:
            left = np.searchsorted(peaks, c, side="right")
            sums = np.where(
                np.arange(mix.size) < left[:, None], _truth(self.confusion, len(self.alpha), k, c[:, None], mix), 0.0
            ).sum(axis=1)
            given: Floats = sums / np.maximum(left, 1)
            return given

        return _by_chunks(s, mix.size, mean)


def _rough_error(line: Line, power: float, *, split: bool = False) -> tuple[float, float]:
    """Error and weight of a line by one pass of a fixed rule; `split` cuts it first where truth and score cross."""
    from trueness._numerics.quadrature import panels, supremum

    breaks = line.breaks()
    if split:
        breaks = np.unique(np.concatenate([breaks, _crossings(line, breaks)]))
    s, w = panels(breaks)
    weight = w * line.density(s)
    total = float(weight.sum())
    if power == inf:
        return supremum(line.gap, np.union1d(breaks, np.linspace(-40, 40, 401)), hills=2, rounds=5), total
    heavy = weight > 1e-16 * total  # gaps are dear
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


def _averaged(alpha: tuple[float, ...], confusion: Confusion, once: Callable[[Others], float]) -> TrueError:
    return _mean_of(np.array([once(Others(logs, confusion)) for logs in _repeats(alpha)]))


def _mean_of(values: Floats) -> TrueError:
    return TrueError(float(values.mean()), float(values.std(ddof=1) / sqrt(values.size)), "quasi-Monte Carlo")


@lru_cache(maxsize=1)
def _repeats(alpha: tuple[float, ...]) -> list[Floats]:
    """Independent sets of evenly spread log-Gamma rows."""
    from trueness._numerics.quadrature import log_gammas

    rng = np.random.default_rng(_SEED)
    return [log_gammas(np.array(alpha), _points(len(alpha)), rng) for _ in range(_REPEATS)]


def _points(classes: int) -> int:
    """How many points: fewer when there are many classes, and always a power of two."""
    points = _POINTS
    while points > 2**8 and points * classes > 2**18:
        points //= 2
    return points


def _without_each(logs: Floats, join: np.ufunc) -> Floats:
    """For each column, the others joined; without subtraction, so that one giant hides no dwarfs."""
    bottom = np.full((len(logs), 1), -inf)
    before = join.accumulate(np.hstack([bottom, logs[:, :-1]]), axis=1)
    after = join.accumulate(np.hstack([bottom, logs[:, :0:-1]]), axis=1)[:, ::-1]
    joined: Floats = join(before, after)
    return joined


def _by_chunks(s: Floats, width: int, mean: Callable[[Floats], Floats]) -> Floats:
    step = max(1, 2**21 // width)
    return np.concatenate([mean(s[i : i + step]) for i in range(0, max(1, s.size), step)])


def _alike(alpha: tuple[float, ...], confusion: Confusion) -> bool:
    """Whether every class is as every other."""
    return len(set(alpha)) == 1 and not (isinstance(confusion, LabelNoise) and confusion.even is None)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares
