"""Logistic recalibration: the straight line of log-odds that the labels would have preferred."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

__all__ = ["bounded_logistic", "recalibration_line", "recalibration_shift"]

FloatArray: TypeAlias = NDArray[np.float64]

_CONVERGED = 1e-12
_EQUAL = 1e-12
_MAX_STEPS, _MAX_HALVINGS = 200, 60
# The bracket of a root is halved once in so many steps, whatever Newton's method says.
_PATIENCE = 8
# Below this share of the weight, what expected events leave to whole ones asks for sums of these without rounding.
_SATURATED = 1e-3
# Cells whose temporaries stay in the processor's cache.
_BLOCK = 2**14


def recalibration_line(logit: ArrayLike, weight: ArrayLike, events: ArrayLike) -> tuple[float, float]:
    r"""
    Slope and intercept of the logistic regression of events on log-odds.

    Parameters
    ----------
    logit : array-like of shape (m,)
        Log-odds of the scores, finite.
    weight : array-like of shape (m,)
        Rows, or weight, at each of them; cells of weight 0 are ignored.
    events : array-like of shape (m,)
        Events, or weight of the events, among them.

    Returns
    -------
    slope, intercept : float
        The maximum-likelihood estimates; (1, 0) for perfect log-odds. Both are nan where no finite
        estimate exists: all labels equal, all log-odds equal, or a threshold on the log-odds that
        separates the labels (ties on the threshold included). No warning is given here.

    Notes
    -----
    Maximises :math:`\sum_i e_i \eta_i - w_i \log(1 + e^{\eta_i})`, :math:`\eta_i = a + b x_i`, by Newton's
    method with step halving. An event share within 1e-12 of 0 or 1 counts as 0 or 1, and
    log-odds that differ by no more than 1e-12 count as equal.

    References
    ----------
    D. R. Cox, Two further applications of a model for binary regression, Biometrika 45 (1958), 562-565.
    :doi:`10.1093/biomet/45.3-4.562`

    Examples
    --------
    Predicted odds of 1:3, 1:1 and 3:1 where 1:2, 1:1 and 2:1 were seen.

    >>> import numpy as np
    >>> slope, intercept = recalibration_line(np.log([1 / 3, 1, 3]), [30, 20, 30], [10, 10, 20])
    >>> round(slope, 6), round(abs(intercept), 6)
    (0.63093, 0.0)
    """
    x, w, e = _cells(logit, weight, events)
    if not _overlap(x, w, e):
        return math.nan, math.nan
    total = float(np.sum(w))
    w, e = w / total, e / total
    centre = float(np.sum(w * x))
    scale = math.sqrt(float(np.sum(w * (x - centre) ** 2)))
    if scale <= _EQUAL * (1 + abs(centre)):
        return math.nan, math.nan
    a, b = _fit_line((x - centre) / scale, w, e)
    return b / scale, a - b * centre / scale


def recalibration_shift(logit: ArrayLike, weight: ArrayLike, events: ArrayLike) -> float:
    r"""
    Intercept of the logistic regression of events on log-odds whose slope is held at 1.

    Parameters
    ----------
    logit, weight, events
        As in :func:`recalibration_line`.

    Returns
    -------
    float
        What must be added to all log-odds for the expected number of events to be the observed one; above 0
        where scores are too low. Nan, without a warning, where all labels are equal.

    Examples
    --------
    >>> round(recalibration_shift([0.0], [4], [3]), 6)
    1.098612
    """
    x, w, e = _cells(logit, weight, events)
    # By a power of two, which rounds nothing: sums of weights that cancel must cancel still.
    scale = 2.0 ** -max(math.frexp(float(np.max(w, initial=0.0)))[1], -1000)
    if not (_present(e, w).any() and _present(w - e, w).any()):
        return math.nan
    e, others = scale * e, scale * np.maximum(w - e, 0)
    if (x[1:] < x[:-1]).any():
        order = np.argsort(x, kind="stable")
        x, e, others = x[order], e[order], others[order]
    w = e + others
    observed = math.log(float(np.sum(e))) - math.log(float(np.sum(others)))
    low, high = observed - float(np.max(x)), observed - float(np.min(x))
    shift = min(max(0.0, low), high)
    for turn in range(_MAX_STEPS):
        balance, slope = _balance(x + shift, w, e, others)
        if balance == 0:
            break
        low, high = (low, shift) if balance < 0 else (shift, high)
        target = shift - balance / slope if slope < 0 else math.inf
        if not low <= target <= high or turn % _PATIENCE == _PATIENCE - 1:
            target = (low + high) / 2
        step, shift = target - shift, target
        if abs(step) <= _CONVERGED * (1 + abs(shift)):
            break
    return shift


def _balance(eta: FloatArray, weight: FloatArray, events: FloatArray, others: FloatArray) -> tuple[float, float]:
    """
    Of events that happened beyond those expected at ascending log-odds: a number of their sign, and its derivative.

    Expected shares near 0 or 1 are told apart from them however near: what is left of each is added up on its own, and
    the whole events and non-events that the rest amounts to are balanced first. With all of one sign on one side, the
    two sides are compared by their logarithms, which follow a straight line where shares are small.
    """
    cut = int(np.searchsorted(eta, 0.0, side="right"))
    less, fewer = _left(eta[:cut], weight[:cut])
    more, further = _left(-eta[cut:], weight[cut:])
    seen, unseen = float(np.sum(events[:cut])), float(np.sum(others[cut:]))
    whole = seen - unseen
    if more + less < _SATURATED * (seen + unseen):
        whole = math.fsum((*events[:cut].tolist(), *(-others[cut:]).tolist()))
    more, less = more + max(whole, 0.0), less + max(-whole, 0.0)
    if more == 0 or less == 0:
        return math.copysign(math.inf, more - less) if more != less else 0.0, 0.0
    return math.log(more) - math.log(less), -further / more - fewer / less


def _left(eta: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Expected number at log-odds below 0, and its derivative."""
    expected = expit(eta)
    weighed = weight * expected
    total = float(np.sum(weighed))
    return total, total - float(np.dot(weighed, expected))


def _cells(logit: ArrayLike, weight: ArrayLike, events: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    w = np.asarray(weight, np.float64)
    kept = w > 0
    return np.asarray(logit, np.float64)[kept], w[kept], np.asarray(events, np.float64)[kept]


def _present(part: FloatArray, whole: FloatArray) -> NDArray[np.bool_]:
    # Weighted sums of the same rows may differ in their last digits; such a remainder is no event.
    return np.asarray(part > _EQUAL * whole)


def _overlap(x: FloatArray, w: FloatArray, e: FloatArray) -> bool:
    """Whether no threshold separates events from the rest, not even with ties on it."""
    with_event, without = x[_present(e, w)], x[_present(w - e, w)]
    if with_event.size == 0 or without.size == 0:
        return False
    return bool(with_event.max() > without.min() and without.max() > with_event.min())


def _fit_line(z: FloatArray, w: FloatArray, e: FloatArray) -> tuple[float, float]:
    """Intercept and slope for log-odds of weighted mean 0 and variance 1."""
    line = np.zeros(2)
    loss, gradient, hessian = _line_loss(line, z, w, e)
    for _ in range(_MAX_STEPS):
        step = -_solve(hessian, gradient)
        descent = float(gradient @ step)
        for _ in range(_MAX_HALVINGS):
            trial = _line_loss(line + step, z, w, e)
            # Near the optimum the loss cannot tell any more; Newton's step can.
            if trial[0] <= loss + 1e-4 * descent or abs(descent) < 1e-13:
                break
            step, descent = step / 2, descent / 2
        line = line + step
        loss, gradient, hessian = trial
        if np.max(np.abs(step)) <= _CONVERGED * (1 + np.max(np.abs(line))):
            break
    return float(line[0]), float(line[1])


def _line_loss(line: FloatArray, z: FloatArray, w: FloatArray, e: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Mean log loss at a line, with its gradient and second derivatives."""
    blocks = range(0, z.size, _BLOCK)
    sums = [_sums(line, z[i : i + _BLOCK], w[i : i + _BLOCK], e[i : i + _BLOCK]) for i in blocks]
    loss, a, b, aa, ab, bb = np.sum(sums, axis=0)
    return float(loss), np.array([a, b]), np.array([[aa, ab], [ab, bb]])


def _sums(line: FloatArray, z: FloatArray, w: FloatArray, e: FloatArray) -> list[float]:
    """Share of some cells in the log loss and its derivatives."""
    eta = line[0] + line[1] * z
    decay = np.exp(-np.abs(eta))
    loss = w * (np.maximum(eta, 0) + np.log1p(decay)) - e * eta
    expected = np.where(eta >= 0, 1.0, decay) / (1 + decay)
    excess = w * expected - e
    curvature = w * decay / (1 + decay) ** 2
    slope = curvature * z
    return [float(np.sum(v)) for v in (loss, excess, excess * z, curvature, slope, slope * z)]


def _solve(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Newton's direction, or where the curvature vanishes the one for its largest possible value."""
    (aa, ab), (_, bb) = hessian
    determinant = aa * bb - ab * ab
    if not determinant > 1e-14 * aa * bb:
        return 4 * gradient
    adjugate = np.array([[bb, -ab], [-ab, aa]])
    return np.asarray(adjugate @ gradient / determinant)


# Directions of less curvature than this, relatively, are left alone.
_FLAT = 1e-13
# A coefficient so near its bound that moves away from it is treated as if it were on it.
_NEAR = 1e-3
# Where all log-odds are far from 0 there is hardly any curvature for Newton's method to see: less than this. Then the
# search begins with smaller ones.
_NO_CURVATURE, _MODEST = 1e-6, 5.0


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
