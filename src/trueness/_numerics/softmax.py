"""The softmax of logits: the temperature that fits best, and multinomial ridge regression."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from trueness._kernels import softmax_derivatives
from trueness.typing import Floats, Ints

Verdict: TypeAlias = Literal["optimum", "separable", "reversed", "constant"]

# The search ends when the remaining error is this small, relatively; in a sample, when it is of no
# consequence.
_LAYOUT: Final = ("C", "A")  # the kernel reads rows in order, and aligned
_CONVERGED = 1e-10
_CLOSE = 1e-5
_MAX_STEPS = 200
# The smallest inverse temperature, in units of the inverse spread of the logits.
_LEAST = 1e-6
# From this many entries on, the search starts from the optimum of every _STRIDE-th row.
_WORTH_SAMPLING = 2_000_000
_STRIDE = 16
# Steps below this, in units of the inverse spread of the logits, hardly change the derivatives.
_SMALL_STEP = 0.1
# Beyond these magnitudes the fourth powers of logits could overflow or vanish.
_LARGE = 1e70
_SMALL = 1e-70
# Logits below this count as 0: the inverse of such a temperature would not be finite.
_VANISHING = 1e-300
# Entries whose temporaries stay in the processor's cache.
_BLOCK = 2**16


class InverseTemperature(NamedTuple):
    """The result of :func:`inverse_temperature`."""

    value: float
    verdict: Verdict


class _Derivatives(NamedTuple):
    """Derivatives of the mean loss in the inverse temperature.

    Instead of the fourth, half a bound of its size.
    """

    slope: float
    curvature: float
    third: float
    fourth: float


def inverse_temperature(
    Z: NDArray[Any], y: Ints, w: Floats | None = None, ridge: float = 0.0
) -> InverseTemperature:
    r"""The β > 0 for which softmax(β z) has the smallest log loss.

    For finite logits `Z` of shape (n, K), the column `y` of the class of each row and weights
    above 0. Half the `ridge` times (β − 1)² is added to the loss; with it, separable labels have an
    optimum. The value is positive and finite; the verdict says what it is:

    - 'optimum': the maximum-likelihood estimate.
    - 'separable': every label has the largest logit of its row, so the loss falls for ever with β;
      the value is that of smoothed labels (below).
    - 'reversed': no β > 0 is better than 0; the value is 1e-6 over the spread, which makes
      predictions nearly equal.
    - 'constant': the logits of each row are equal, or all below 1e-300, and every β is as good; the
      value is 1.

    The loss :math:`f = \sum_i w_i (\log \sum_j e^{\beta z_{ij}} - \beta z_{i y_i})` is convex in β.
    Each step goes to the zero of the parabola that agrees with :math:`f'` in its first two
    derivatives, inside the bracket given by the signs of :math:`f'`. Under the softmax of a row the
    logits have the central moments :math:`v_i, q_i` of orders 2 and 4: :math:`f'' = \sum w_i v_i`
    and :math:`|f^{(4)}| \le 2 \sum w_i q_i`. So a small step h leaves an error of at most about
    :math:`|h|^3 \sum w_i q_i / (3 f'')`; the search ends when that is below 1e-10 of β. A large
    matrix starts from the optimum of every 16th row, and is then usually read once or twice.

    Smoothed labels give the class c of a row, whose total weight is :math:`N_c`, the probability
    :math:`(N_c + 1) / (N_c + K)` and each other class :math:`1 / (N_c + K)`; for K = 2 this is
    Platt's rule. The spread is the square root of the mean over rows of the variance of their
    logits.
    """
    weights = np.empty(0) if w is None else np.require(w, np.float64, _LAYOUT)
    Z, unit = _in_range(Z)
    best = _search(Z, np.require(y, np.int64, _LAYOUT), weights, ridge, unit, _CONVERGED)
    if best.verdict == "constant":
        return best
    return InverseTemperature(best.value * unit, best.verdict)


def softmax(Z: NDArray[Any], temperature: float = 1.0) -> Floats:
    r"""Probabilities :math:`e^{z_j / T} / \sum_k e^{z_k / T}` of each row.

    A logit may be -inf if its row has others.

    The largest entries of a row are exactly those of Z: where rounding would make a smaller logit
    equal to the largest, it is kept below by one unit in the last place.
    """
    out = np.empty(Z.shape)
    step = max(1, _BLOCK // max(1, Z.shape[1]))
    for i in range(0, Z.shape[0], step):
        block = out[i : i + step]
        difference = Z[i : i + step].astype(np.float64)
        with np.errstate(over="ignore"):
            difference -= difference.max(axis=1, keepdims=True)
            np.exp(difference / temperature, out=block)
        block /= block.sum(axis=1, keepdims=True)
        peak = block.max(axis=1, keepdims=True)
        late = (block == peak) & (difference < 0)
        if late.any():
            block[late] = np.broadcast_to(np.nextafter(peak, 0), block.shape)[late]
    return out


def _in_range(Z: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """Logits with finite fourth powers, and the power of two that they were multiplied by.

    They are float32 or float64.
    """
    Z = np.require(Z, np.float32 if Z.dtype.itemsize <= 4 else np.float64, _LAYOUT)
    if Z.dtype == np.float32 or Z.size == 0:
        return Z, 1.0
    largest = max(float(Z.max()), -float(Z.min()))
    if _SMALL <= largest <= _LARGE:
        return Z, 1.0
    if largest < _VANISHING:
        return np.zeros_like(Z), 1.0
    exponent = math.frexp(largest)[1]
    unit = math.ldexp(1.0, 1 - exponent)
    return Z * unit, unit


def _search(
    Z: NDArray[Any], y: Ints, w: Floats, ridge: float, unit: float, tolerance: float
) -> InverseTemperature:
    """The result for logits that were multiplied by `unit`, in units of its inverse."""
    verdict: Verdict = "optimum"
    pull = 0.0
    start = 1.0
    if not ridge and _all_on_top(Z, y):
        verdict = "separable"
        pull = _pull_of_smoothing(Z, y, w)
    elif Z.size >= _WORTH_SAMPLING:
        sampled, sampled_y, sampled_w = (
            np.ascontiguousarray(rows[::_STRIDE]) for rows in (Z, y, w)
        )
        best = _search(sampled, sampled_y, sampled_w, ridge / _STRIDE, unit, _CLOSE)
        if best.verdict == "optimum":
            start = best.value
    best = _minimise(lambda beta: _derivatives(Z, y, w, beta, pull, ridge, unit), start, tolerance)
    if best.verdict == "optimum":
        return InverseTemperature(best.value, verdict)
    return best


def _all_on_top(Z: NDArray[Any], y: Ints) -> bool:
    """Whether each label's logit is the largest of its row; usually the first few rows decide."""
    for rows in (slice(0, 64), slice(64, None)):
        label_score = Z[rows][np.arange(y[rows].size), y[rows]]
        if (label_score < Z[rows].max(axis=1)).any():
            return False
    return True


def _pull_of_smoothing(Z: NDArray[Any], y: Ints, w: Floats) -> float:
    """How much smoothed labels raise the slope of the loss, at any β."""
    weight = w if w.size else np.ones(y.size)
    n_classes = Z.shape[1]
    of_class = np.bincount(y, weight, n_classes)[y]
    gap = Z[np.arange(y.size), y] - Z.mean(axis=1, dtype=np.float64)
    return float(np.sum(weight * n_classes / (of_class + n_classes) * gap))


def _derivatives(
    Z: NDArray[Any], y: Ints, w: Floats, beta: float, pull: float, ridge: float, unit: float
) -> _Derivatives:
    """Four derivatives of the mean loss by the inverse temperature, with the ridge and the pull."""
    status, (_, slope, curvature, third, fourth) = softmax_derivatives(Z, y, w, beta)
    assert status == 0, "labels are checked before they come here"
    total = max(float(w.sum()) if w.size else float(y.size), sys.float_info.min)
    slope = slope + ridge * unit * (beta * unit - 1)
    curvature = curvature + ridge * unit * unit
    return _Derivatives(
        *(float(derivative) / total for derivative in (slope + pull, curvature, third, fourth))
    )


def _minimise(
    at: Callable[[float], _Derivatives], beta: float, tolerance: float
) -> InverseTemperature:
    """The β > 0 at which a convex loss is smallest, from a first guess."""
    low = 0.0
    high = math.inf
    lowest = 0.0
    before = math.inf
    for _ in range(_MAX_STEPS):
        here = at(beta)
        low, high = (beta, high) if here.slope < 0 else (low, beta)
        if high <= lowest:
            return InverseTemperature(lowest, "reversed")
        target = beta + _step(here)
        if target <= 0 and lowest == 0:
            origin = at(0.0)
            spread = math.sqrt(origin.curvature)
            if spread == 0:
                return InverseTemperature(1.0, "constant")
            lowest = _LEAST / spread
            if origin.slope >= 0:
                return InverseTemperature(lowest, "reversed")
        # Steps must shrink, or the bracket is halved (doubled while it has no end).
        shrinking = low <= target <= high and abs(target - beta) <= before / 2
        if not shrinking:
            target = 2 * beta if math.isinf(high) else (low + high) / 2
        step = abs(target - beta)
        beta = target
        # By Cauchy and Schwarz, `size` bounds the relative change of the curvature too. Only by
        # underflow is the fourth moment less than the square of the second.
        if here.curvature > 0:
            size = step * math.sqrt(max(here.fourth / here.curvature, here.curvature))
        else:
            size = math.inf
        left = step * size**2 / 3 if shrinking and size < _SMALL_STEP else step
        if left <= tolerance * beta:
            break
        before = step if shrinking else math.inf
    # At a small β the curvature is nearly that at 0, so the bound is computed only where it could
    # matter.
    if lowest == 0 and beta * math.sqrt(here.curvature) < 10 * _LEAST:
        lowest = _LEAST / math.sqrt(at(0.0).curvature)
    if beta < lowest:
        return InverseTemperature(lowest, "reversed")
    return InverseTemperature(beta, "optimum")


def _step(here: _Derivatives) -> float:
    """The step to the zero of the slope, as a parabola where that has one, or else as a line."""
    if not here.curvature > 0:
        if here.slope < 0:
            return math.inf
        return -math.inf
    newton = -here.slope / here.curvature
    root = 1 + 2 * newton * here.third / here.curvature
    if 0 < root < math.inf:
        return 2 * newton / (1 + math.sqrt(root))
    return newton


Solve: TypeAlias = Callable[[Floats], Floats]
log_softmax: Solve = partial(special.log_softmax, axis=1)
"""Logarithms of the softmax of each row of finite numbers."""

# The search ends when the next step could lower the mean loss by less than this.
_CONVERGED_REGRESSION = 1e-19
_MAX_HALVINGS = 60
_MAX_CONJUGATE = 500
# Up to this many parameters all second derivatives are formed; up to this many classes, those of
# each class.
_MOST_EXACT = 500
_MOST_BLOCKS = 150
_ROWS = 4096
# How much smaller than the gradient the residual of the linear system must become.
_RESIDUAL = 1e-2


class FullMap:
    """Log-odds of n rows and K classes, linear in parameters, of which each class has a row.

    Every class has a coefficient for each column of X and an intercept: parameters (K, m + 1).
    """

    def __init__(self, X: Floats) -> None:
        self._X = np.column_stack([X, np.ones(X.shape[0])])

    def __call__(self, theta: Floats) -> Floats:
        return np.asarray(self._X @ theta.T)

    def transpose(self, R: Floats) -> Floats:
        """The transposed map: from (n, K) numbers to one number per parameter."""
        return np.asarray(R.T @ self._X)

    def preconditioner(self, P: Floats, w: Floats, ridge: Floats) -> Solve:
        """The inverse of the second derivatives, or an approximation."""
        if ridge.size <= _MOST_EXACT:
            return self._by_full_hessian(P, w, ridge)
        if ridge.shape[0] <= _MOST_BLOCKS:
            return self._by_blocks(P, w, ridge)
        return self._by_mean_curvature(P, w, ridge)

    def _by_full_hessian(self, P: Floats, w: Floats, ridge: Floats) -> Solve:
        """All second derivatives."""
        n_classes, m = ridge.shape
        hessian = np.diag(ridge.ravel())
        for i in range(0, w.size, _ROWS):
            rows = slice(i, i + _ROWS)
            outer = (P[rows, :, None] * self._X[rows, None, :]).reshape(-1, n_classes * m)
            hessian -= outer.T @ (outer * w[rows, None])
        for k, gram in enumerate(self._grams(P * w[:, None])):
            hessian[k * m : (k + 1) * m, k * m : (k + 1) * m] += gram
        solve = _solver(hessian)
        return lambda G: np.asarray(solve(G.ravel()).reshape(G.shape))

    def _by_blocks(self, P: Floats, w: Floats, ridge: Floats) -> Solve:
        """The second derivatives of each class alone."""
        grams = self._grams(P * (1 - P) * w[:, None])
        solvers = [
            _solver(gram + np.diag(penalty)) for gram, penalty in zip(grams, ridge, strict=True)
        ]
        return lambda G: np.array([solve(row) for solve, row in zip(solvers, G, strict=True)])

    def _by_mean_curvature(self, P: Floats, w: Floats, ridge: Floats) -> Solve:
        """Second derivatives as if the curvature were the same in all rows."""
        if self._eigen is None:
            self._eigen = np.linalg.eigh(self._X.T @ (self._X * w[:, None]))
        values, vectors = self._eigen
        curvature = np.einsum("ik,ik,i->k", P, 1 - P, w)[:, None] * np.maximum(values, 0)
        level = curvature + ridge.mean(axis=1, keepdims=True)
        return lambda G: np.asarray((G @ vectors / level) @ vectors.T)

    _eigen: tuple[Floats, Floats] | None = None

    def _grams(self, weights: Floats) -> Iterator[Floats]:
        for column in weights.T:
            yield self._X.T @ (self._X * column[:, None])


def _solver(matrix: Floats) -> Solve:
    """The inverse of a positive definite matrix.

    Of one nearby where rounding has made it singular.
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(np.float64).tiny))
    scaled = matrix * scale[:, None] * scale
    jitter = 0.0
    while True:
        try:
            factor = cho_factor(scaled + jitter * np.eye(scale.size))
        except LinAlgError:
            jitter = max(1e-14, 100 * jitter)
        else:
            return lambda x: np.asarray(scale * cho_solve(factor, scale * x))


class DiagonalMap:
    """Every class has a factor for its own column of X and an intercept: parameters (K, 2)."""

    def __init__(self, X: Floats) -> None:
        self._X = X

    def __call__(self, theta: Floats) -> Floats:
        return np.asarray(self._X * theta[:, 0] + theta[:, 1])

    def transpose(self, R: Floats) -> Floats:
        return np.column_stack([np.einsum("ik,ik->k", R, self._X), R.sum(axis=0)])

    def preconditioner(self, P: Floats, w: Floats, ridge: Floats) -> Solve:
        """A function that solves the two equations of each class, without those between classes."""
        curvature = P * (1 - P) * w[:, None]
        cross = np.einsum("ik,ik->k", curvature, self._X)
        first = curvature.sum(axis=0) + ridge[:, 1]
        two = np.einsum("ik,ik,ik->k", curvature, self._X, self._X) + ridge[:, 0]
        # The ridge keeps it from vanishing, but not from being lost in rounding.
        determinant = np.maximum(first * two - cross * cross, 1e-12 * first * two)
        return lambda G: np.column_stack(
            [
                (first * G[:, 0] - cross * G[:, 1]) / determinant,
                (two * G[:, 1] - cross * G[:, 0]) / determinant,
            ]
        )


LinearMap: TypeAlias = FullMap | DiagonalMap


class Regression(NamedTuple):
    """The result of :func:`multinomial_regression`."""

    theta: Floats
    loss: float
    """Mean log loss plus penalty."""
    n_steps: int
    converged: bool
    separable: bool
    """Whether the class of every row has the largest log-odds, so that only the ridge keeps them
    finite."""


class _State(NamedTuple):
    theta: Floats
    loss: float
    gradient: Floats
    P: Floats


def multinomial_regression(
    linear: LinearMap,
    y: Ints,
    w: Floats,
    centre: Floats,
    ridge: Floats,
    max_steps: int = 100,
    start: Floats | None = None,
) -> Regression:
    r"""Minimise the mean log loss plus a ridge penalty.

    `y` and `w` are the class and the weight, above 0, of each row. The ridge pulls parameters to
    the `centre`; its strength is above 0, which makes the optimum unique, since softmax does not
    change if a number is added to all log-odds of a row. The search begins at `start`, by default
    the centre; if every row is certain of its class there, there is no curvature for Newton's
    method to use.

    The objective :math:`\frac{1}{W} \sum_i w_i (\log \sum_k e^{\eta_{ik}} - \eta_{i y_i}) + \frac12
    \sum_{kj} r_{kj} (\theta_{kj} - \theta^0_{kj})^2` is strictly convex. Newton's equations are
    solved by preconditioned conjugate gradients with exact products, so that no matrix of second
    derivatives is formed; steps are halved until the loss falls. The search ends when a step
    promises to lower the objective by less than 1e-19.
    """
    w = w / w.sum()
    objective = _objective(linear, y, w, centre, ridge)
    state = objective(np.asarray(centre if start is None else start, np.float64))
    converged = False
    n_steps = 0
    while n_steps < max_steps and not converged:
        step = _newton_step(linear, w, ridge, state)
        descent = float(np.sum(state.gradient * step))
        converged = -descent <= _CONVERGED_REGRESSION
        for _ in range(_MAX_HALVINGS):
            trial = objective(state.theta + step)
            # Near the optimum the loss is too flat to compare; Newton's step is still accurate.
            if trial.loss <= state.loss + 1e-4 * descent or abs(descent) < 1e-13:
                break
            step = step / 2
            descent = descent / 2
        state = trial
        n_steps = n_steps + 1
    log_odds = linear(state.theta)
    label_log_odds = log_odds[np.arange(y.size), y].copy()
    log_odds[np.arange(y.size), y] = -np.inf
    return Regression(
        state.theta,
        state.loss,
        n_steps,
        converged,
        bool((label_log_odds > log_odds.max(axis=1)).all()),
    )


def _objective(
    linear: LinearMap, y: Ints, w: Floats, centre: Floats, ridge: Floats
) -> Callable[[Floats], _State]:
    """The penalized loss with its gradient and the probabilities, as a function of parameters."""
    rows = np.arange(y.size)

    def at(theta: Floats) -> _State:
        """The loss, its gradient and the probabilities at these parameters."""
        logs = log_softmax(linear(theta))
        away = theta - centre
        loss = -float(np.sum(w * logs[rows, y])) + float(np.sum(ridge * away * away)) / 2
        P = np.exp(logs)
        residual = P * w[:, None]
        residual[rows, y] -= w
        return _State(theta, loss, linear.transpose(residual) + ridge * away, P)

    return at


def _newton_step(linear: LinearMap, w: Floats, ridge: Floats, state: _State) -> Floats:
    """Solve H s = −g by conjugate gradients."""
    P = state.P
    weighted = state.P * w[:, None]
    precondition = linear.preconditioner(P, w, ridge)

    def curvature(V: Floats) -> Floats:
        U = linear(V)
        U -= np.einsum("ik,ik->i", P, U)[:, None]
        return linear.transpose(weighted * U) + ridge * V

    step = np.zeros_like(state.gradient)
    residual = -state.gradient
    better = precondition(residual)
    direction = better
    size = float(np.sum(residual * better))
    enough = size * min(_RESIDUAL, size**0.5) ** 2
    for _ in range(_MAX_CONJUGATE):
        if size <= enough:
            break
        image = curvature(direction)
        length = size / float(np.sum(direction * image))
        step = step + length * direction
        residual = residual - length * image
        better = precondition(residual)
        before = size
        size = float(np.sum(residual * better))
        direction = better + size / before * direction
    return step
