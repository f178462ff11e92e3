"""Multinomial logistic regression with a ridge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from trueness._numerics.softmax import Solve, log_softmax
from trueness.typing import Floats, Ints

# The search ends when the next step could lower the mean loss by less than this.
_CONVERGED = 1e-19
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
        converged = -descent <= _CONVERGED
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
