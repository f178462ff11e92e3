"""Tail probabilities for Brownian motion on [0, 1]: its largest absolute value, and its range."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from trueness.typing import Floats

# Beyond 40 the normal tail is 0 in float64; at the smallest argument of a tail series, 1, that is
# the 40th multiple.
_MULTIPLES = np.arange(1.0, 41)
_ODD = _MULTIPLES[::2]
_SIGNS = np.where(_MULTIPLES % 2 == 1, 1.0, -1.0)
_ODD_SIGNS = np.where(_ODD % 4 == 1, 1.0, -1.0)


def largest_distance_sf(x: ArrayLike) -> Floats:
    r"""P(max |B_t| > x), accurate relative to its own size down to the smallest float.

    With :math:`\bar\Phi` the normal tail, for :math:`x \ge 1` and :math:`x < 1`

    .. math:: 4 \sum_{k \ge 0} (-1)^k \, \bar\Phi((2k + 1) x) , \qquad
        1 - \frac4\pi \sum_{k \ge 0} \frac{(-1)^k}{2k + 1} \exp\!\left(-\frac{(2k + 1)^2 \pi^2}{8
        x^2}\right)

    (W. Feller, An Introduction to Probability Theory and Its Applications, volume 2, second
    edition, 1971, section X.5).
    """
    x = _column(x)
    low = 1 - 4 / np.pi * np.sum(
        _ODD_SIGNS / _ODD * np.exp(-((_ODD * np.pi / x) ** 2) / 8), axis=-1
    )
    high = 4 * np.sum(_ODD_SIGNS * ndtr(-_ODD * x), axis=-1)
    return np.asarray(np.where(x[..., 0] < 1, low, high))


def range_sf(x: ArrayLike) -> Floats:
    r"""P(max B_t − min B_t > x), accurate relative to its own size.

    For :math:`x \ge 1.5` and :math:`x < 1.5`

    .. math:: 8 \sum_{k \ge 1} (-1)^{k - 1} k \, \bar\Phi(k x) , \qquad
        1 - 8 \sum_{j \ge 0} \left[ \frac{1}{(2j + 1)^2 \pi^2} + \frac{1}{x^2} \right]
        \exp\!\left(-\frac{(2j + 1)^2 \pi^2}{2 x^2}\right)

    (W. Feller, The asymptotic distribution of the range of sums of independent random variables,
    Annals of Mathematical Statistics 22 (1951), 427-432, :doi:`10.1214/aoms/1177729589`).
    """
    x = _column(x)
    weight = 1 / (_ODD * np.pi) ** 2 + 1 / x**2
    low = 1 - 8 * np.sum(weight * np.exp(-((_ODD * np.pi / x) ** 2) / 2), axis=-1)
    high = 8 * np.sum(_SIGNS * _MULTIPLES * ndtr(-_MULTIPLES * x), axis=-1)
    return np.asarray(np.where(x[..., 0] < 1.5, low, high))


def _column(x: ArrayLike) -> Floats:
    """With a last axis for the terms.

    Below 0.01 both probabilities are 1 in float64, above 100 they are 0.
    """
    return np.clip(np.asarray(x, np.float64), 0.01, 100)[..., np.newaxis]
