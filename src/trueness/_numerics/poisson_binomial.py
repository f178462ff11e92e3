"""The number of events among independent trials of unequal probability (Poisson-binomial distribution)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from trueness.typing import Floats, Ints

# Beyond the window lies less than 2·exp(−37) < 2e-16.
_TAIL = 37.0
# Above this many factors the normal distribution with a correction for skewness takes over.
_MOST_WORK = 3e7
_BLOCK = 1 << 18


class Distribution(NamedTuple):
    """Probabilities of the counts from `first` on; all others together have less than 2e-16."""

    first: int
    pmf: Floats


def distribution(p: Floats, count: Ints) -> Distribution:
    r"""Probabilities of the number of events in count[j] trials of each p[j], with an absolute error of about 1e-15.

    The characteristic function :math:`\varphi(\omega) = \prod_j (1 - p_j + p_j e^{-i\omega})^{c_j}` is evaluated at
    :math:`2\pi l/L` and transformed back. L needs to cover only the counts within :math:`t` of the mean,
    :math:`t^2 = 74 (\sigma^2 + t/3)`: by Bernstein's inequality the others are negligible. So a million rare trials
    cost a few dozen frequencies.

    References
    ----------
    Y. Hong, On computing the distribution function for the Poisson binomial distribution, Computational Statistics
    & Data Analysis 59 (2013), 41-51.

    Examples
    --------
    >>> distribution(np.array([0.5, 0.25]), np.array([1, 1])).pmf.round(12).tolist()
    [0.375, 0.5, 0.125]
    """
    first, length = _window(p, count)
    angles = 2 * np.pi * np.arange(length // 2 + 1) / length
    pmf = np.fft.irfft(_transform(p, count, np.exp(-1j * angles) - 1), length)
    return Distribution(first, np.maximum(np.roll(pmf, -(first % length)), 0.0))


def _window(p: Floats, count: Ints) -> tuple[int, int]:
    n, mean, variance = int(count.sum()), float(count @ p), float(count @ (p * (1 - p)))
    reach = _TAIL / 3 + math.sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * variance)
    first, last = max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach))
    return first, last - first + 1


def _transform(p: Floats, count: Ints, steps: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """The product over trials at each frequency; it may underflow to 0, which is accurate enough."""
    total = np.ones(steps.size, dtype=np.complex128)
    rows = max(1, _BLOCK // steps.size)
    single, tied = p[count == 1], p[count > 1]
    times = count[count > 1]
    for at in range(0, single.size, rows):
        total *= np.multiply.reduce(1 + single[at : at + rows, None] * steps, axis=0)
    for at in range(0, tied.size, rows):
        factors = 1 + tied[at : at + rows, None] * steps
        total *= np.multiply.reduce(factors ** times[at : at + rows, None], axis=0)
    return total


def central_interval(p: Floats, count: Ints, level: float) -> tuple[int, int]:
    """The first and the last count left when at most (1 − level)/2 is cut off at either end.

    Exact, unless that takes more than 3·10⁷ factors (some 5·10⁴ distinct scores); then the quantiles of the normal
    distribution corrected for skewness (Cornish and Fisher), which are at most about one count off.

    >>> central_interval(np.array([0.5]), np.array([100]), 0.95)
    (40, 60)
    """
    tail = (1 - level) / 2
    if p.size * float(_window(p, count)[1]) / 2 > _MOST_WORK:
        return _corrected_normal(p, count, tail)
    first, pmf = distribution(p, count)
    below, above = np.cumsum(pmf), np.cumsum(pmf[::-1])
    low = int(np.searchsorted(below, tail, side="right"))
    high = pmf.size - 1 - int(np.searchsorted(above, tail, side="right"))
    return first + min(low, pmf.size - 1), first + max(high, 0)


def _corrected_normal(p: Floats, count: Ints, tail: float) -> tuple[int, int]:
    v = p * (1 - p)
    mean, sd = float(count @ p), math.sqrt(float(count @ v))
    skew = float(count @ (v * (1 - 2 * p))) / sd**3
    z = float(ndtri(tail))
    low, high = (mean + sd * (x + skew * (x * x - 1) / 6) for x in (z, -z))
    # X takes whole numbers: F(k) is the normal distribution function at k + 1/2.
    return max(0, math.ceil(low - 0.5)), min(int(count.sum()), math.ceil(high - 0.5))
