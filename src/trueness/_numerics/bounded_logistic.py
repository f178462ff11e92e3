"""Logistic regression in which some coefficients must not be negative."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["bounded_logistic"]

FloatArray: TypeAlias = NDArray[np.float64]

_CONVERGED = 1e-12
_MAX_STEPS, _MAX_HALVINGS = 200, 60
# Directions of less curvature than this, relatively, are left alone.
_FLAT = 1e-13
# A coefficient so near its bound that moves away from it is treated as if it were on it.
_NEAR = 1e-3
# Where all log-odds are far from 0 there is hardly any curvature for Newton's method to see: less than this. Then the
# search begins with smaller ones.
_NO_CURVATURE, _MODEST = 1e-6, 5.0
_BLOCK = 2**14


def bounded_logistic(
    X: FloatArray, weight: FloatArray, events: FloatArray, start: FloatArray, bounded: NDArray[np.bool_]
) -> FloatArray:
    r"""
    Coefficients of the most likely logistic regression, some of them at least 0.

    Parameters
    ----------
    X : array of shape (n, k)
        What the log-odds are linear in; no intercept is added.
    weight, events : arrays of shape (n,)
        Weights above 0, and the part of each that came true.
    start : array of shape (k,)
        Where the search begins. Where several coefficients are equally likely, the nearest to it is returned.
    bounded : array of bool, shape (k,)
        Which coefficients must not be negative.

    Returns
    -------
    array of shape (k,)
        The constrained maximum-likelihood estimate, which the caller knows to exist.

    Notes
    -----
    Newton's method, projected onto the bounds, with step halving (Bertsekas, Projected Newton methods for optimization
    problems with simple constraints, SIAM Journal on Control and Optimization 20, 1982).

    Examples
    --------
    Events are rarer where x is large: a slope that must not be negative is 0, and the intercept log-odds of 1:1.

    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> positive_slope = np.array([True, False])
    >>> bounded_logistic(X, np.full(2, 4.0), np.array([3.0, 1.0]), np.array([1.0, 0.0]), positive_slope).round(9)
    array([0., 0.])
    """
    total = float(weight.sum())
    w, e = weight / total, events / total
    theta = start.astype(np.float64)
    loss, gradient, hessian = _loss(theta, X, w, e)
    blind = bool(np.max(np.abs(hessian)) < _NO_CURVATURE)
    if blind:
        theta = theta * (_MODEST / float(np.max(np.abs(X @ theta))))
        loss, gradient, hessian = _loss(theta, X, w, e)
    for _ in range(_MAX_STEPS):
        step = _direction(theta, gradient, hessian, bounded)
        for _ in range(_MAX_HALVINGS):
            trial = np.where(bounded, np.maximum(theta + step, 0), theta + step)
            descent = float(gradient @ (trial - theta))
            found = _loss(trial, X, w, e)
            # Near the optimum the loss cannot tell any more; Newton's step can.
            if found[0] <= loss + 1e-4 * descent or abs(descent) < 1e-13:
                break
            step = step / 2
        moved, theta = float(np.max(np.abs(trial - theta))), trial
        loss, gradient, hessian = found
        if moved <= _CONVERGED * (1 + float(np.max(np.abs(theta)))):
            break
    return _nearest(theta, start, X, w, bounded) if blind else theta


def _nearest(
    theta: FloatArray, start: FloatArray, X: FloatArray, w: FloatArray, bounded: NDArray[np.bool_]
) -> FloatArray:
    """Of the coefficients that make the same log-odds, the nearest to the start, unless a bound is in the way."""
    values, vectors = np.linalg.eigh(X.T @ (X * w[:, None]))
    flat = vectors[:, values <= _FLAT * values[-1]]
    moved = theta + flat @ (flat.T @ (start - theta))
    return theta if (moved[bounded] < 0).any() else np.asarray(moved)


def _direction(theta: FloatArray, gradient: FloatArray, hessian: FloatArray, bounded: NDArray[np.bool_]) -> FloatArray:
    """Newton's step among the coefficients that are free; those held by their bound go straight to it."""
    wanted = np.where(bounded, np.maximum(theta - gradient, 0), theta - gradient) - theta
    near = min(_NEAR, float(np.max(np.abs(wanted))))
    held = bounded & (theta <= near) & (gradient > 0)
    step = np.where(held, -theta, 0.0)
    free = ~held
    if free.any():
        step[free] = -np.linalg.lstsq(hessian[np.ix_(free, free)], gradient[free], rcond=_FLAT)[0]
    return step


def _loss(theta: FloatArray, X: FloatArray, w: FloatArray, e: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Mean log loss, with its gradient and second derivatives."""
    loss, gradient, hessian = 0.0, np.zeros(theta.size), np.zeros((theta.size, theta.size))
    for i in range(0, w.size, _BLOCK):
        rows = slice(i, i + _BLOCK)
        eta = X[rows] @ theta
        decay = np.exp(-np.abs(eta))
        loss += float(np.sum(w[rows] * (np.maximum(eta, 0) + np.log1p(decay)) - e[rows] * eta))
        expected = np.where(eta >= 0, 1.0, decay) / (1 + decay)
        gradient += X[rows].T @ (w[rows] * expected - e[rows])
        hessian += X[rows].T @ (X[rows] * (w[rows] * decay / (1 + decay) ** 2)[:, None])
    return loss, gradient, hessian
