"""Maps as formulas: a fitted calibrator states its map once, and every use is a reading of it.

Called with checked scores, a formula is `predict`; `_sql` and `_onnx` write the same formula in
other languages. A formula of one score has steps, lines, odds or log-odds; one of a row of scores
is a softmax, a mixture of these, or a formula for each class. What cannot be said like that is
`PythonOnly`. Outside the scores that `predict` accepts, a formula has no value.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from trueness._numerics.softmax import log_softmax, softmax
from trueness._numerics.steps import interpolate, steps
from trueness.errors import InputError
from trueness.typing import Floats

LARGEST_LOGIT = 1e300  # logits that `predict` takes

# A term of a smaller weight changes no prediction by 1e-13: log-odds of scores are within 745 of 0.
_NEGLIGIBLE = 1e-16
_FLAT = 1e-9  # slopes this small are 0 but for the rounding of coefficients


def refuse(formula: object, reason: str = "it is a class of your own") -> NoReturn:
    """Raise because a map has no form in other languages."""
    if isinstance(formula, PythonOnly):
        reason = formula.reason
    demand = f"This map cannot be written as one formula: {reason}"
    raise InputError(
        "", demand, remedy="`save` and `load_calibrator` carry every map to another Python."
    )


class Map(Protocol):
    """One of the formulas below, or any function of checked scores."""

    def __call__(self, p: NDArray[Any], /) -> Floats: ...


class PythonOnly(NamedTuple):
    """A function of the scores that other languages cannot express, with the reason."""

    function: Map
    reason: str

    def __call__(self, p: NDArray[Any]) -> Floats:
        return self.function(p)


class Steps(NamedTuple):
    """values[0] below edges[0], values[j] from edges[j − 1] on.

    With `of`, of what that makes of the score.
    """

    edges: Floats
    values: Floats
    of: Map | None = None

    def __call__(self, p: NDArray[Any]) -> Floats:
        if self.of is not None:
            p = self.of(p)
        return steps(self.edges, self.values, p)

    def flat(self) -> "Steps":
        """The same steps with edges that are scores, not values of the map `of` that comes before.

        Without such a map they are flat already; behind a map that is not monotone they cannot be.
        """
        inner = self.of
        if inner is None:
            return self
        if isinstance(inner, Steps):
            inner = inner.flat()
            return Steps(inner.edges, steps(self.edges, self.values, inner.values))
        if not isinstance(inner, Lines | Odds | LogOdds):
            refuse(inner)
        if isinstance(inner, LogOdds) and not inner.curve.monotone:
            refuse(inner, "what it makes steps of is not monotone")
        start, stop = inner(np.array([0.0, 1.0]))
        if stop < start:
            falling = inner
            first = first_scores(lambda p: -falling(p), np.nextafter(-self.edges[::-1], np.inf))
        else:
            first = first_scores(inner, self.edges)
        first = np.unique(first[(first > 0) & (first <= 1)])
        return Steps(first, self(np.concatenate([[0.0], first])))


def first_scores(curve: Map, levels: Floats) -> Floats:
    """The first float in [0, 1] at which a function that does not fall is at least each level.

    2 if there is none.

    >>> first_scores(np.square, np.array([0.25, 9.0])).tolist()
    [0.5, 2.0]
    """
    # Floats above 0 are ordered as the integers that their bits denote.
    low = np.zeros(levels.shape, np.int64)
    high = np.full(levels.shape, np.float64(1).view(np.int64) + 1)
    while (low < high).any():
        middle = (low + high) // 2
        reached = curve(np.minimum(middle.view(np.float64), 1.0)) >= levels
        reached |= middle > np.float64(1).view(np.int64)
        low = np.where(reached, low, np.minimum(middle + 1, high))
        high = np.where(reached, middle, high)
    scores = low.view(np.float64)
    return np.where(scores > 1, 2.0, scores)


class Lines(NamedTuple):
    """Points joined by straight lines, constant outside; x ascends strictly, y does not fall."""

    x: Floats
    y: Floats

    def __call__(self, p: NDArray[Any]) -> Floats:
        return interpolate(self.x, self.y, p)


class Odds(NamedTuple):
    """The odds of the score divided by a weight."""

    weight: float

    def __call__(self, p: NDArray[Any]) -> Floats:
        p = p.astype(np.float64)
        return np.asarray(p / (p + self.weight * (1 - p)))


class Curve(NamedTuple):
    """A piecewise function of log-odds z.

    It is value + (z − at) · (slope + bend · (z − at)) between breaks, + a log p − b log(1 − p).

    Piece i reaches from breaks[i − 1] to breaks[i]; the outer ones are straight. p is the
    probability of z.
    """

    breaks: Floats
    at: Floats
    value: Floats
    slope: Floats
    bend: Floats
    a: float = 0.0
    b: float = 0.0

    def __call__(self, z: Floats, logs: tuple[Floats, Floats] | None = None) -> Floats:
        """The heights of the curve at log-odds; at infinite ones, the values of its ends.

        `logs` are log p and log(1 − p), if they are known.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if self.breaks.size:
                i = np.searchsorted(self.breaks, z, "right")
                away = z - self.at[i]
                total = self.value[i] + away * (self.slope[i] + self.bend[i] * away)
            else:
                if self.slope[0]:
                    total = self.slope[0] * z + self.value[0]
                else:
                    total = np.full(z.shape, self.value[0])
            if self.a:
                log_p = logs[0] if logs else -np.logaddexp(0, -z)
                total = total + self.a * log_p
            if self.b:
                log_q = logs[1] if logs else -np.logaddexp(0, z)
                total = total - self.b * log_q
        infinite = np.isinf(z)
        if infinite.any():
            return np.where(infinite, np.where(z < 0, *self.ends), total)
        return np.asarray(total)

    @property
    def ends(self) -> tuple[float, float]:
        """The limits of the curve at log-odds −∞ and ∞.

        They are infinite unless the curve is flat there.
        """
        flat = _FLAT if self.breaks.size else 0.0
        steep = -(self.slope[0] + self.a), self.slope[-1] + self.b
        # Log-odds of floats are within 745 of 0.
        finite = self(np.array([-1e3, 1e3])).tolist()
        low, high = (
            np.copysign(np.inf, s) if abs(s) > flat else f
            for s, f in zip(steep, finite, strict=True)
        )
        return float(low), float(high)

    @property
    def monotone(self) -> bool:
        """Whether it never falls, or never rises."""
        inner = slice(1, -1)
        right = self.slope[inner] + 2 * self.bend[inner] * np.diff(self.breaks)
        slopes = np.concatenate([self.slope, right, [self.a, self.b]])
        return bool((slopes >= -_FLAT).all() or (slopes <= _FLAT).all())


def line(value: float, slope: float, a: float = 0.0, b: float = 0.0) -> Curve:
    """The curve h(z) = `value` + `slope` · z + `a` · log p − `b` · log(1 − p).

    Here z is the log-odds of a score and p = 1 / (1 + exp(−z)) the probability that belongs to it;
    h(z) is the log-odds after recalibration. The curve has no breaks: its one piece begins at z = 0
    with height `value` and slope `slope`, and does not bend. With `a` = `b` = 0 it is the straight
    line of Platt scaling.
    """
    return Curve(
        np.zeros(0),
        np.zeros(1),
        np.array([float(value)]),
        np.array([float(slope)]),
        np.zeros(1),
        a,
        b,
    )


def joined(x: Floats, y: Floats) -> Curve:
    """The curve through the points (x, y), joined by straight lines.

    `x` ascends; of points with equal `x` the last is kept. Before the first point and after the
    last, the curve goes on with slope 1.
    """
    apart = np.append(np.diff(x) > 0, True)
    x = x[apart]
    y = y[apart]
    slope = np.concatenate([[1.0], np.diff(y) / np.diff(x), [1.0]])
    return Curve(
        x, np.concatenate([x[:1], x]), np.concatenate([y[:1], y]), slope, np.zeros(slope.size)
    )


def with_slopes(breaks: Floats, value: Floats, slope: Floats) -> Curve:
    """The curve with the given heights (`value`) and slopes at its breaks.

    Between two breaks its slope changes linearly, so that each piece is a parabola; outside it is
    constant. The heights must fit the slopes: they are not changed, and not checked.
    """
    bend = np.diff(slope) / (2 * np.diff(breaks))
    starts, height, steep = (
        np.concatenate([column[:1], column]) for column in (breaks, value, slope)
    )
    return Curve(breaks, starts, height, steep, np.concatenate([[0.0], bend, [0.0]]))


def weighted_curve(terms: Iterable[tuple[float, Curve]]) -> Curve:
    """The weighted sum of curves, as one curve.

    `terms` are pairs of weight and curve; those with a negligible weight are dropped. The breaks of
    the sum are those of all curves. On each piece, height, slope and bend of the curves are taken
    at the start of that piece and added; the factors `a` and `b` of log p and −log(1 − p) are added
    too.
    """
    kept = [(float(weight), curve) for weight, curve in terms if weight > _NEGLIGIBLE]
    breaks = np.unique(np.concatenate([curve.breaks for _, curve in kept]))
    starts = np.concatenate([breaks[:1], breaks]) if breaks.size else np.zeros(1)
    sums = np.zeros((3, starts.size))
    for weight, curve in kept:
        i = np.concatenate([[0], np.searchsorted(curve.breaks, breaks, "right")])
        away = starts - curve.at[i]
        slope = curve.slope[i]
        bend = curve.bend[i]
        value = curve.value[i] + away * (slope + bend * away)
        sums += weight * np.array([value, slope + 2 * bend * away, bend])
    value, slope, bend = sums
    a = float(sum(weight * curve.a for weight, curve in kept))
    b = float(sum(weight * curve.b for weight, curve in kept))
    return Curve(breaks, starts, value, slope, bend, a, b)


class LogOdds(NamedTuple):
    """The probability of the log-odds that a curve makes of those of the score."""

    curve: Curve
    from_logits: bool = False  # whether the score is the log-odds itself
    # Scores nearer to 0 or 1 are moved to that distance; 0 leaves them where they are.
    eps: float = 0.0

    def __call__(self, p: NDArray[Any]) -> Floats:
        """The calibrated probabilities of a vector of scores, or of logits.

        Scores nearer to 0 or 1 than `eps` are moved first, if it is not 0.
        """
        p = p.astype(np.float64)
        if self.from_logits:
            return np.asarray(expit(self.curve(p)))
        with np.errstate(divide="ignore"):
            log_p = np.log(p)
            log_q = np.log1p(-p)
        z = log_p - log_q
        logs = (log_p, log_q)
        if self.eps:
            z = bounded_logits(z, self.eps)
            if self.curve.a or self.curve.b:
                logs = tuple(np.clip(part, np.log(self.eps), np.log1p(-self.eps)) for part in logs)
        return np.asarray(expit(self.curve(z, logs)))


def bounded_logits(logits: Floats, eps: float) -> Floats:
    """Logits of scores moved into [eps, 1 − eps], or logarithms of scores of at least `eps`."""
    if logits.ndim == 2:
        return np.maximum(logits, np.log(eps))
    # 1 − eps may round to 1: the logit of the upper end is minus that of the lower.
    end = np.log1p(-eps) - np.log(eps)
    return np.clip(logits, -end, end)


class Logs(NamedTuple):
    """The logarithms of the scores of a row, or its logits."""

    from_logits: bool = False
    eps: float = 0.0  # smaller scores are set to this
    normalized: bool = False  # whether the logarithm of the sum of the exponentials is subtracted
    largest: float = LARGEST_LOGIT  # logits must not be further from 0

    def __call__(self, p: NDArray[Any]) -> NDArray[Any]:
        """The logarithm of each score, moved away from −∞ by `eps`; logits stay as they are."""
        z = p
        if not self.from_logits:
            with np.errstate(divide="ignore"):
                z = np.log(p.astype(np.float64))
            if self.eps:
                z = bounded_logits(z, self.eps)
        if self.normalized:
            return log_softmax(z.astype(np.float64))
        return z


class Linear(NamedTuple):
    """Logits of the classes that are linear in the logarithms z of a row: matrix @ z + shift."""

    matrix: Floats | None = None  # (K, K); its diagonal alone, (K,); or None for the identity
    shift: Floats | None = None
    # Whether z is taken without its mean, as a number added to a row has no meaning.
    centred: bool = False
    beta: Floats | None = None
    """For each class against all others, with P its share of the row: c, a and b of c + a log P − b
    log(1 − P). The logarithm of the probability of these log-odds, times `beta_weight`, is added to
    the logit of the class."""
    beta_weight: float = 1.0

    def __call__(self, z: NDArray[Any]) -> Floats:
        """The logits of each row, mapped: times the matrix, plus the shifts, minus the beta costs.

        Rows are centred first if the map is `centred`. A matrix with one dimension holds the
        factors of the classes. The cost of class k is `beta_weight` times log(1 + exp(−h)), with h
        its log-odds by beta calibration against all other classes. Parts that are None are skipped.
        """
        z = z.astype(np.float64, copy=False)
        total = z - z.mean(axis=1, keepdims=True) if self.centred else z
        if self.matrix is not None:
            total = total * self.matrix if self.matrix.ndim == 1 else total @ self.matrix.T
        if self.shift is not None:
            total = total + self.shift
        if self.beta is not None:
            against = np.column_stack(
                [log_scores(own_log_odds(z, k)) @ cab for k, cab in enumerate(self.beta)]
            )
            total = total - self.beta_weight * np.logaddexp(0, -against)
        return np.asarray(total)

    def plain(self, n: int) -> tuple[Floats, Floats]:
        """The map as a full matrix for `n` classes, and the shifts.

        Centring the logits is part of the matrix; the `beta` costs are not.
        """
        matrix = np.eye(n) if self.matrix is None else self.matrix
        if matrix.ndim == 1:
            matrix = np.diag(matrix)
        if self.centred:
            matrix = matrix - matrix.mean(axis=1, keepdims=True)
        return matrix, np.zeros(n) if self.shift is None else self.shift


def own_log_odds(z: Floats, k: int) -> Floats:
    """Log-odds of one class, from log-probabilities.

    Those of classes that leave nothing to others are finite.
    """
    rest = np.exp(np.delete(z, k, axis=1)).sum(axis=1)
    return np.asarray(z[:, k] - np.log(np.maximum(rest, np.finfo(np.float64).tiny)))


def log_scores(z: Floats) -> Floats:
    """Columns 1, log p and −log(1 − p), with p the probability of log-odds z."""
    return np.column_stack([np.ones_like(z), -np.logaddexp(0, -z), np.logaddexp(0, z)])


def weighted_linear(terms: Iterable[tuple[float, Linear]], n: int) -> Linear:
    """The weighted sum of linear maps of the logits of `n` classes, as one linear map.

    `terms` are pairs of weight and map; those with a negligible weight are dropped. At most one may
    have the costs of beta calibration (`beta`), which are kept beside the sums with their weight.
    """
    matrix = np.zeros((n, n))
    shift = np.zeros(n)
    beta = None
    beta_weight = 0.0
    for weight, linear in terms:
        if weight > _NEGLIGIBLE:
            own_matrix, own_shift = linear.plain(n)
            matrix = matrix + weight * own_matrix
            shift = shift + weight * own_shift
            if linear.beta is not None:
                beta = linear.beta
                beta_weight = float(weight)
    return Linear(matrix, shift, beta=beta, beta_weight=beta_weight)


class Softmax(NamedTuple):
    """The softmax of logits divided by a temperature."""

    logs: Logs
    linear: Linear | None = None
    temperature: float = 1.0

    def __call__(self, p: NDArray[Any]) -> Floats:
        return self.of_logs(self.logs(p))

    def of_logs(self, z: NDArray[Any]) -> Floats:
        """The same, from what `logs` makes of the scores."""
        if self.linear is not None:
            z = self.linear(z)
        return softmax(z, self.temperature)


class Mixture(NamedTuple):
    """A weighted mean of softmaxes of the same logarithms, plus a constant."""

    weights: tuple[float, ...]
    parts: tuple[Softmax, ...]
    constant: float

    def __call__(self, p: NDArray[Any]) -> Floats:
        z = self.parts[0].logs(p)
        total = sum(
            weight * part.of_logs(z) for weight, part in zip(self.weights, self.parts, strict=True)
        )
        return np.asarray(total + self.constant)


class PerClass(NamedTuple):
    """A map for each column; rows are divided by their sum if `normalize` is set."""

    columns: tuple[Map, ...]
    normalize: bool

    def __call__(self, p: NDArray[Any]) -> Floats:
        """Each column through the map of its class, divided by the sum of its row if `normalize`.

        A row whose columns are all 0 becomes equal shares.
        """
        columns = [part(np.ascontiguousarray(p[:, k])) for k, part in enumerate(self.columns)]
        matrix = np.column_stack(columns).astype(np.float64, copy=False)
        if not self.normalize:
            return matrix
        total = matrix.sum(axis=1, keepdims=True)
        zero = total[:, 0] == 0
        total[zero] = matrix.shape[1]
        matrix[zero] = 1.0
        return np.asarray(matrix / total)


def domain(formula: Map) -> tuple[float, float]:
    """The least and the largest score that a formula takes.

    They are 0 and 1, or for logits the largest that the formula allows and its negative.
    """
    part: Any = formula.parts[0] if isinstance(formula, Mixture) else formula
    if isinstance(part, PerClass):
        part = part.columns[0]
    elif isinstance(part, Softmax):
        part = part.logs
    largest = getattr(part, "largest", LARGEST_LOGIT)
    if getattr(part, "from_logits", False):
        return (-largest, largest)
    return (0.0, 1.0)
