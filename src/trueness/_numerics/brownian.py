"""Tail probabilities for Brownian motion on [0, 1]: its largest absolute value, and its range."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from trueness.typing import Floats

# Beyond 40 the normal tail is 0 in float64; at the smallest argument of a tail series, 1, that is the 40th multiple.
_LAST = 40


def largest_distance_sf(x: ArrayLike) -> Floats:
    r"""P(max |B_t| > x), accurate relative to its own size down to the smallest float.

    With :math:`\bar\Phi` the normal tail, for :math:`x \ge 1` and :math:`x < 1`

    .. math:: 4 \sum_{k \ge 0} (-1)^k \, \bar\Phi((2k + 1) x) , \qquad
        1 - \frac4\pi \sum_{k \ge 0} \frac{(-1)^k}{2k + 1} \exp\!\left(-\frac{(2k + 1)^2 \pi^2}{8 x^2}\right)

    (W. Feller, An Introduction to Probability Theory and Its Applications, volume 2, second edition, 1971, section
    X.5).

    >>> largest_distance_sf([0, 1, 2.2414]).round(4).tolist()
    [1.0, 0.6292, 0.05]
    """
    return _piecewise(x, 1.0, _distance_low, _distance_high)


def range_sf(x: ArrayLike) -> Floats:
    r"""P(max B_t − min B_t > x), accurate relative to its own size.

    For :math:`x \ge 1.5` and :math:`x < 1.5`

    .. math:: 8 \sum_{k \ge 1} (-1)^{k - 1} k \, \bar\Phi(k x) , \qquad
        1 - 8 \sum_{j \ge 0} \left[ \frac{1}{(2j + 1)^2 \pi^2} + \frac{1}{x^2} \right]
        \exp\!\left(-\frac{(2j + 1)^2 \pi^2}{2 x^2}\right)

    (W. Feller, The asymptotic distribution of the range of sums of independent random variables, Annals of
    Mathematical Statistics 22 (1951), 427-432, :doi:`10.1214/aoms/1177729589`).

    >>> range_sf([0, 1.5, 2.4977]).round(4).tolist()
    [1.0, 0.5129, 0.05]
    """
    return _piecewise(x, 1.5, _range_low, _range_high)


def _piecewise(
    x: ArrayLike, change: float, low: Callable[[Floats], Floats], high: Callable[[Floats], Floats]
) -> Floats:
    x = np.asarray(x, np.float64)
    out = np.ones(x.shape)
    # Below 0.01 both probabilities differ from 1 by less than exp(-12000), and x² may be 0.
    below, above = (x > 0.01) & (x < change), ~(x < change)
    out[below] = low(x[below])
    out[above] = high(x[above])
    return out


def _distance_low(x: Floats) -> Floats:
    odd, sign = _odd(x)
    return np.asarray(1 - 4 / np.pi * np.sum(sign / odd * np.exp(-((odd * np.pi / x) ** 2) / 8), axis=0))


def _distance_high(x: Floats) -> Floats:
    odd, sign = _odd(x)
    return np.asarray(4 * np.sum(sign * ndtr(-odd * x), axis=0))


def _range_low(x: Floats) -> Floats:
    odd, _ = _odd(x)
    weight = 1 / (odd * np.pi) ** 2 + 1 / x**2
    return np.asarray(1 - 8 * np.sum(weight * np.exp(-((odd * np.pi / x) ** 2) / 2), axis=0))


def _range_high(x: Floats) -> Floats:
    k = np.arange(1.0, _LAST + 1).reshape(-1, *[1] * x.ndim)
    sign = np.where(k % 2 == 1, 1.0, -1.0)
    return np.asarray(8 * np.sum(sign * k * ndtr(-k * x), axis=0))


def _odd(x: Floats) -> tuple[Floats, Floats]:
    """1, 3, 5, … along a new first axis, and their signs +, −, +, …."""
    k = np.arange(0.0, _LAST / 2).reshape(-1, *[1] * x.ndim)
    return 2 * k + 1, np.where(k % 2 == 0, 1.0, -1.0)
