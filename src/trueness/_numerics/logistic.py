"""Logistic recalibration: the straight line of log-odds that the labels would have preferred."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

__all__ = ["recalibration_line", "recalibration_shift"]

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
    loss, gradient, hessian = _loss(line, z, w, e)
    for _ in range(_MAX_STEPS):
        step = -_solve(hessian, gradient)
        descent = float(gradient @ step)
        for _ in range(_MAX_HALVINGS):
            trial = _loss(line + step, z, w, e)
            # Near the optimum the loss cannot tell any more; Newton's step can.
            if trial[0] <= loss + 1e-4 * descent or abs(descent) < 1e-13:
                break
            step, descent = step / 2, descent / 2
        line = line + step
        loss, gradient, hessian = trial
        if np.max(np.abs(step)) <= _CONVERGED * (1 + np.max(np.abs(line))):
            break
    return float(line[0]), float(line[1])


def _loss(line: FloatArray, z: FloatArray, w: FloatArray, e: FloatArray) -> tuple[float, FloatArray, FloatArray]:
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
