"""Confidence intervals for one binomial proportion, for many counts at once."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, ndtri

__all__ = ["clopper_pearson", "jeffreys", "wilson", "wilson_low"]

FloatArray: TypeAlias = NDArray[np.float64]


def clopper_pearson(k: ArrayLike, n: ArrayLike, level: float) -> tuple[FloatArray, FloatArray]:
    """
    Exact (Clopper-Pearson) interval.

    Every rate that a one-sided binomial test at ``(1 - level) / 2`` rejects in neither direction.

    Parameters
    ----------
    k : array-like
        Events. Real numbers are allowed, such as effective counts, with ``0 <= k <= n``.
    n : array-like
        Trials. ``k`` and ``n`` are broadcast.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    low, high : ndarray of float64
        The ends; nan where ``n`` is 0. The low end is exactly 0 at ``k = 0`` and the high end exactly 1
        at ``k = n``.

    Notes
    -----
    For whole numbers the rate is covered with probability of at least ``level`` at every true rate; the
    price is that it is usually covered more often. With real-valued counts nothing is promised.

    References
    ----------
    C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated in the case of
    the binomial, Biometrika 26 (1934), 404-413. :doi:`10.1093/biomet/26.4.404`

    Examples
    --------
    >>> low, high = clopper_pearson([0, 7], [10, 50], 0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0582], [0.3085, 0.2674])
    """
    k, n = _counts(k, n)
    tail = (1 - level) / 2
    return _trimmed(k, n, betaincinv(k, n - k + 1, tail), betainccinv(k + 1, n - k, tail))


def jeffreys(k: ArrayLike, n: ArrayLike, level: float) -> tuple[FloatArray, FloatArray]:
    """
    Jeffreys interval: central posterior interval under the prior Beta(1/2, 1/2).

    Parameters
    ----------
    k, n, level
        As in :func:`clopper_pearson`.

    Returns
    -------
    low, high : ndarray of float64
        The ends; nan where ``n`` is 0. The low end is exactly 0 at ``k = 0`` and the high end exactly 1
        at ``k = n``, where the posterior's own quantiles would shut out the observed rate.

    Notes
    -----
    Covers at ``level`` on average over rates rather than at each of them; shorter than the exact interval.
    A real-valued ``k`` strictly between 0 and 1/2 may lie outside: the prior outweighs it.

    References
    ----------
    L. D. Brown, T. T. Cai and A. DasGupta, Interval estimation for a binomial proportion, Statistical
    Science 16 (2001), 101-133. :doi:`10.1214/ss/1009213286`

    Examples
    --------
    >>> low, high = jeffreys(7, 50, 0.95)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0649, 0.2553)
    """
    k, n = _counts(k, n)
    tail = (1 - level) / 2
    return _trimmed(k, n, betaincinv(k + 0.5, n - k + 0.5, tail), betainccinv(k + 0.5, n - k + 0.5, tail))


def wilson(k: ArrayLike, n: ArrayLike, level: float) -> tuple[FloatArray, FloatArray]:
    r"""
    Wilson's score interval, without continuity correction.

    Parameters
    ----------
    k, n, level
        As in :func:`clopper_pearson`.

    Returns
    -------
    low, high : ndarray of float64
        The ends; nan where ``n`` is 0. The low end is exactly 0 at ``k = 0`` and the high end exactly 1
        at ``k = n``.

    Notes
    -----
    The rates :math:`x` with :math:`n (k/n - x)^2 \le z^2 x (1 - x)`, :math:`z` the normal quantile of
    ``(1 + level) / 2``. Coverage is near ``level`` on average, lower at some rates near 0 and 1.

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of the
    American Statistical Association 22 (1927), 209-212. :doi:`10.1080/01621459.1927.10502953`

    Examples
    --------
    >>> low, high = wilson(7, 50, 0.95)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0695, 0.2619)
    """
    k, n = _counts(k, n)
    z = -float(ndtri((1 - level) / 2))
    with np.errstate(invalid="ignore"):
        return wilson_low(k, n, z), 1 - wilson_low(n - k, n, z)


def _counts(k: ArrayLike, n: ArrayLike) -> tuple[FloatArray, FloatArray]:
    successes, trials = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    return successes, trials


def _trimmed(k: FloatArray, n: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Put the ends that no observation can move where they belong."""
    low = np.where(n > 0, np.where(k > 0, low, 0.0), np.nan)
    high = np.where(n > 0, np.where(k < n, high, 1.0), np.nan)
    return low, high


def wilson_low(k: FloatArray, n: FloatArray, z: ArrayLike) -> FloatArray:
    """Low end of Wilson's interval of half-width ``z`` standard errors; all three are broadcast."""
    # The product of the roots over the larger one: centre minus half-width cancels for small k, and at
    # k = 0 it would leave a rounding error where the end is 0.
    z = np.asarray(z, np.float64)
    larger = 2 * k + z**2 + z * np.sqrt(z**2 + 4 * k * (n - k) / n)
    return np.asarray(2 * k**2 / n / larger)
