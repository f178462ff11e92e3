"""Logistic regression with a ridge towards given coefficients, for several sets of weights at once."""

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from trueness.typing import Bools, Floats

_CONVERGED = 1e-10
_MAX_STEPS, _MAX_HALVINGS = 100, 40
# A coefficient this close to its bound that moves towards it is treated as if it were there.
_NEAR = 1e-3


def ridge_logistic(
    X: Floats, weight: Floats, events: Floats, centre: Floats, ridge: Floats, bounded: Bools | None = None
) -> Floats:
    r"""Coefficients that minimise the log loss plus a quadratic penalty, some of them at least 0.

    `X`, of shape (m, k), holds the predictors; no intercept is added. `weight` and `events`, of shape (r, m), are those
    of the rows in each of r regressions; they may be 0. The penalty pulls coefficients to the `centre` (at least 0
    where a bound applies); `ridge`, of shape (k, k), is positive definite. `bounded` coefficients must not be negative.

    Minimises :math:`\sum_i w_i \log(1 + e^{\eta_i}) - e_i \eta_i + \frac12 (\theta - c)^\top R (\theta - c)` with
    :math:`\eta = X \theta`, which is strictly convex, by a projected Newton method with step halving (Bertsekas,
    Projected Newton methods for optimization problems with simple constraints, SIAM Journal on Control and
    Optimization 20, 1982).

    Three events in four rows, and a ridge that is too weak to matter: log-odds of 3:1.

    >>> one = np.ones((1, 1))
    >>> ridge_logistic(one, 4 * one, 3 * one, np.zeros(1), 1e-9 * one).round(6)
    array([[1.098612]])
    """
    k = centre.size
    bounded = np.zeros(k, np.bool_) if bounded is None else bounded
    products = (X[:, :, None] * X[:, None, :]).reshape(-1, k * k)

    def objective(theta: Floats) -> Floats:
        eta, away = theta @ X.T, theta - centre
        softplus = np.maximum(eta, 0) + np.log(1 + np.exp(-np.abs(eta)))  # several times as fast as logaddexp
        loss = np.einsum("rm,rm->r", weight, softplus) - np.einsum("rm,rm->r", events, eta)
        return np.asarray(loss + np.einsum("rj,jk,rk->r", away, ridge, away) / 2)

    theta = np.tile(centre.astype(np.float64), (weight.shape[0], 1))
    value = objective(theta)
    for _ in range(_MAX_STEPS):
        expected = expit(theta @ X.T)
        weighted = weight * expected
        gradient = (weighted - events) @ X + (theta - centre) @ ridge
        hessian = ((weighted * (1 - expected)) @ products).reshape(-1, k, k) + ridge
        step = _directions(theta, gradient, hessian, bounded)
        theta, value, moved = _line_search(objective, theta, value, gradient, step, bounded)
        if moved <= _CONVERGED * (1 + float(np.max(np.abs(theta)))):
            break
    return theta


def _line_search(
    objective: Callable[[Floats], Floats], theta: Floats, value: Floats, gradient: Floats, step: Floats, bounded: Bools
) -> tuple[Floats, Floats, float]:
    """Halve the step of each regression until its objective falls."""
    scale = np.ones((theta.shape[0], 1))
    for _ in range(_MAX_HALVINGS):
        trial = theta + scale * step
        trial = np.where(bounded, np.maximum(trial, 0), trial)
        descent = np.einsum("rj,rj->r", gradient, trial - theta)
        at_trial = objective(trial)
        # Near the optimum the objective is too flat to compare; Newton's step is still accurate.
        good = (at_trial <= value + 1e-4 * descent) | (np.abs(descent) < 1e-12 * (1 + np.abs(value)))
        if good.all():
            break
        scale[~good] /= 2
    return trial, at_trial, float(np.max(np.abs(trial - theta)))


def _directions(theta: Floats, gradient: Floats, hessian: Floats, bounded: Bools) -> Floats:
    """Newton's steps in the free coefficients; those held by their bound go straight to it."""
    target = np.where(bounded, np.maximum(theta - gradient, 0), theta - gradient) - theta
    near = np.minimum(_NEAR, np.abs(target).max(axis=1, keepdims=True))
    held = bounded & (theta <= near) & (gradient > 0)
    reduced = np.where(held[:, :, None] | held[:, None, :], np.eye(theta.shape[1]), hessian)
    step = np.linalg.solve(reduced, np.where(held, 0.0, -gradient)[:, :, None])[:, :, 0]
    return np.where(held, -theta, step)
