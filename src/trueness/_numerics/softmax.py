"""The softmax of logits: the temperature that fits best."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

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
