"""Logistic regressions with a ridge: several at once, on the same predictors."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from trueness._numerics.logistic import NEAR
from trueness.typing import Bools, Floats

_CONVERGED = 1e-10
# Multiplications up to which OpenBLAS takes a product of matrices in one thread: fewer than 2¹⁸.
_ONE_THREAD = 200_000
_MAX_STEPS = 100
_MAX_HALVINGS = 40


def ridge_logistic(
    X: Floats,
    weight: Floats,
    events: Floats,
    centre: Floats,
    ridge: Floats,
    bounded: Bools | None = None,
) -> Floats:
    r"""Coefficients that minimise the log loss plus a quadratic penalty, some of them at least 0.

    `X`, of shape (m, k), holds the predictors; no intercept is added. `weight` and `events`, of
    shape (r, m), are those of the rows in each of r regressions; they may be 0. The penalty pulls
    coefficients to the `centre` (at least 0 where a bound applies); `ridge`, of shape (k, k), is
    positive definite. `bounded` coefficients must not be negative.

    Minimises :math:`\sum_i w_i \log(1 + e^{\eta_i}) - e_i \eta_i + \frac12 (\theta - c)^\top R
    (\theta - c)` with :math:`\eta = X \theta`, which is strictly convex, by the method of
    :func:`bounded_logistic`.
    """
    k = centre.size
    if bounded is None:
        bounded = np.zeros(k, np.bool_)
    products = (X[:, :, None] * X[:, None, :]).reshape(-1, k * k)

    def objective(theta: Floats) -> Floats:
        eta = theta @ X.T
        away = theta - centre
        # Several times as fast as logaddexp.
        softplus = np.maximum(eta, 0) + np.log(1 + np.exp(-np.abs(eta)))
        loss = np.einsum("rm,rm->r", weight, softplus) - np.einsum("rm,rm->r", events, eta)
        return np.asarray(loss + np.einsum("rj,jk,rk->r", away, ridge, away) / 2)

    theta = np.tile(centre.astype(np.float64), (weight.shape[0], 1))
    value = objective(theta)
    for _ in range(_MAX_STEPS):
        expected = expit(theta @ X.T)
        weighted = weight * expected
        gradient = _in_one_thread(weighted - events, X) + (theta - centre) @ ridge
        curvature = _in_one_thread(weighted * (1 - expected), products)
        hessian = curvature.reshape(-1, k, k) + ridge
        step = _directions(theta, gradient, hessian, bounded)
        best = _line_search(objective, theta, value, gradient, step, bounded)
        moved = float(np.max(np.abs(best.theta - theta)))
        theta, value = best
        if moved <= _CONVERGED * (1 + float(np.max(np.abs(theta)))):
            break
    return theta


class _Fits(NamedTuple):
    """The coefficients of each regression, and its objective there."""

    theta: Floats
    value: Floats


def _in_one_thread(left: Floats, right: Floats) -> Floats:
    """The product of two matrices, in blocks for which BLAS starts no second thread.

    The second thread saves no time here, and then spins: it doubled the CPU time of a report of
    10,000 rows.
    """
    block = max(1, _ONE_THREAD // (left.shape[0] * right.shape[1]))
    product = np.zeros((left.shape[0], right.shape[1]))
    for i in range(0, right.shape[0], block):
        product += left[:, i : i + block] @ right[i : i + block]
    return product


def _line_search(
    objective: Callable[[Floats], Floats],
    theta: Floats,
    value: Floats,
    gradient: Floats,
    step: Floats,
    bounded: Bools,
) -> _Fits:
    """Halve the step of each regression until its objective falls enough.

    Rows of `theta`, `gradient` and `step` belong to one regression each, as do the entries of
    `value`, the objective at `theta`. `bounded` coefficients are cut at 0.
    """
    scale = np.ones((theta.shape[0], 1))
    for _ in range(_MAX_HALVINGS):
        trial = theta + scale * step
        trial = np.where(bounded, np.maximum(trial, 0), trial)
        descent = np.einsum("rj,rj->r", gradient, trial - theta)
        at_trial = objective(trial)
        # Near the optimum the objective is too flat to compare; Newton's step is still accurate.
        good = (at_trial <= value + 1e-4 * descent) | (
            np.abs(descent) < 1e-12 * (1 + np.abs(value))
        )
        if good.all():
            break
        scale[~good] /= 2
    return _Fits(trial, at_trial)


def _directions(theta: Floats, gradient: Floats, hessian: Floats, bounded: Bools) -> Floats:
    """Newton's step of each regression; `bounded` coefficients must not be negative.

    Each row of `theta` and `gradient`, and each matrix of `hessian`, belongs to one regression. A
    bounded coefficient is held if it is at or near 0 and the objective would push it below: it goes
    to 0. The others take the Newton step with these fixed (Bertsekas, 1982).
    """
    descended = theta - gradient
    projected = np.where(bounded, np.maximum(descended, 0), descended)
    move = np.abs(projected - theta).max(axis=1, keepdims=True)
    held = bounded & (theta <= np.minimum(NEAR, move)) & (gradient > 0)
    # A coefficient that is held has a row and a column of the identity, and no gradient.
    is_fixed = held[:, :, None] | held[:, None, :]
    reduced = np.where(is_fixed, np.eye(theta.shape[1]), hessian)
    free_descent = np.where(held, 0.0, -gradient)
    step = np.linalg.solve(reduced, free_descent[:, :, None])[:, :, 0]
    return np.where(held, -theta, step)
