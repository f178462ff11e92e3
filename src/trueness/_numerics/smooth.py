r"""
Smooth calibration error: residuals blurred along the score, at the width that fits their size.

The kernel is a Gaussian reflected at 0 and 1, so that no mass leaves the unit interval: extended evenly,
the residuals are a cosine series, and blurring multiplies its terms by
:math:`\exp(-\sigma^2 \pi^2 k^2 / 2)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import dct

from trueness import _kernels

__all__ = ["KernelMeans", "smooth_error", "smooth_error_at", "smooth_error_of_sums", "smooth_ratio"]

FloatArray: TypeAlias = NDArray[np.float64]
_Columns: TypeAlias = Callable[[slice], tuple[FloatArray, ...]]
"""What the scores of a slice have; given anew when asked for, so that no column as long as the scores is kept."""

# Interpolation and quadrature then err by about 1e-7 of the residuals' mass, as the fourth power of the step.
_POINTS_PER_SIGMA = 40
_FEWEST, _MOST = 2**14, 2**20
# Rows whose temporaries stay in the processor's cache.
_BLOCK = 2**15
# Coefficients of 1, x, x², x³ in the cubics that interpolate from -1, 0, 1 and 2 to x in [0, 1).
_CUBICS = np.array([[0, -2, 3, -1], [6, -3, -6, 3], [0, 6, 3, -3], [0, -1, 0, 1]]) / 6


_NEGLIGIBLE = 1e-10
# exp(−x²/2) is below 1e-19 from here on: added to what is kept, it would be lost to rounding.
_VANISHED = 9.5
# Of a curve for the eye: the narrowest kernel, and the share of the weight that a kernel must reach.
_NARROWEST, _FAINT = 1e-3, 1e-6


def smooth_error(score: ArrayLike, residual: ArrayLike) -> tuple[float, float]:
    r"""
    Smooth calibration error (smECE), and the kernel width at which it was taken.

    Parameters
    ----------
    score : array-like of shape (m,)
        Distinct scores in [0, 1].
    residual : array-like of shape (m,)
        Their share of the mean residual, :math:`\sum w (y - p) / \sum w` with the upper sum over the rows
        of the score and the lower one over all rows.

    Returns
    -------
    value : float
        Between 0 and 1; 0 if all residuals are 0.
    sigma : float
        Width of the kernel, equal to ``value`` within 1e-9.

    Notes
    -----
    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Big| \sum_i K_\sigma(t, p_i)\, r_i \Big| \, dt,
        \qquad \mathrm{smECE} = \mathrm{smECE}_{\sigma^*}, \quad \sigma^* = \mathrm{smECE}_{\sigma^*} ,

    :math:`K_\sigma` the Gaussian density with all its images at 0 and 1. The integral falls in
    :math:`\sigma`, so that there is one such width. The error of the value is below 1e-6.

    References
    ----------
    J. Błasiok and P. Nakkiran, Smooth ECE: principled reliability diagrams via kernel smoothing,
    International Conference on Learning Representations (2024). :doi:`10.48550/arXiv.2309.12236`

    Examples
    --------
    Every row predicted 0.95 and had no event.

    >>> value, sigma = smooth_error([0.95], [-0.95])
    >>> round(value, 9), round(sigma, 9)
    (0.95, 0.95)
    """
    p, r = np.asarray(score, np.float64), np.asarray(residual, np.float64)
    return _smooth_error(p, lambda few: (r[few],), 1.0)


def smooth_error_of_sums(score: ArrayLike, weight: ArrayLike, events: ArrayLike) -> tuple[float, float]:
    """
    What :func:`smooth_error` finds for the residuals of scores with the given weight of rows and of events.

    Parameters
    ----------
    score, weight, events : array-like of shape (m,)
        Distinct scores in [0, 1], the weight of their rows and of the rows with an event.

    Returns
    -------
    value, sigma : float
        As of :func:`smooth_error`. No array as long as the scores is made on the way.

    Examples
    --------
    >>> value, sigma = smooth_error_of_sums([0.95], [3], [0])
    >>> round(value, 9), round(sigma, 9)
    (0.95, 0.95)
    """
    p, w, e = np.asarray(score, np.float64), np.asarray(weight), np.asarray(events)
    return _smooth_error(p, lambda few: (e[few] - w[few] * p[few],), float(w.sum()))


def _smooth_error(p: FloatArray, residual: _Columns, total: float) -> tuple[float, float]:
    sizes: list[float] = []

    def measured(few: slice) -> tuple[FloatArray, ...]:  # one pass for the mass and for the series
        (found,) = residual(few)
        sizes.append(float(np.sum(np.abs(found))))
        return (found,)

    series = _cosine_series(p, measured, _FEWEST) / total
    mass = math.fsum(sizes) / total
    if mass < _NEGLIGIBLE:  # the error lies between 0 and this: there is no width left to search for
        return mass, mass
    sigma = None
    while True:
        integral = _Integral(series)
        sigma = _fixed_point(integral, mass, near=sigma)
        enough = _enough_points(sigma)
        if enough <= series.size:
            return integral(sigma), sigma
        series = _cosine_series(p, residual, enough) / total


def smooth_error_at(score: ArrayLike, residual: ArrayLike, sigma: float) -> float:
    """
    Smooth calibration error at a given width of the kernel.

    Parameters
    ----------
    score, residual
        As in :func:`smooth_error`.
    sigma : float
        Width of the kernel, positive. Below 1e-4 the value is approximate.

    Returns
    -------
    float
        From the total of the absolute residuals, for a narrow kernel, down to the absolute total.

    Examples
    --------
    >>> round(smooth_error_at([0.2, 0.8], [0.1, -0.1], 0.01), 6)
    0.2
    >>> round(smooth_error_at([0.2, 0.8], [0.1, -0.1], 100), 6)
    0.0
    """
    p, r = np.asarray(score, np.float64), np.asarray(residual, np.float64)
    if not r.any():
        return 0.0
    return _Integral(_cosine_series(p, lambda few: (r[few],), _enough_points(sigma)))(sigma)


def smooth_ratio(
    score: ArrayLike, weight: ArrayLike, events: ArrayLike, sigma: float, n_points: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    r"""
    Kernel means of scores and labels along the score.

    Parameters
    ----------
    score, weight, events : array-like of shape (m,)
        Distinct scores, ascending, the weight of their rows and of the rows with an event.
    sigma : float
        Width of the kernel, positive; widths below 1e-3 are taken as that.
    n_points : int
        How many midpoints of [0, 1]; a power of 2, at most 2¹⁴.

    Returns
    -------
    place : ndarray of shape (n_points,)
        The midpoints.
    mean_score, mean_label : ndarray of shape (n_points,)
        Means with the weights :math:`w_i K_\sigma(t, p_i)`; nan where the kernel reaches less than
        a millionth of the weight.
    density : ndarray of shape (n_points,)
        The smoothed density of the scores, which integrates to 1.

    Notes
    -----
    :math:`\text{mean label} - \text{mean score}`, times the density, is what :func:`smooth_error_at` integrates. Both
    means lie in [0, 1] and the mean score increases in t, which t plus the mean residual would not promise.

    Examples
    --------
    >>> t, p, y, f = smooth_ratio([0.25, 0.75], [1, 1], [0, 1], 0.05, 4)
    >>> p.round(3).tolist(), y.round(3).tolist()
    ([0.25, 0.25, 0.75, 0.75], [0.0, 0.0, 1.0, 1.0])
    """
    means = KernelMeans(score, weight, sigma, n_points)
    return means.place, means.of(means.scores), means.labels(events), np.maximum(means.density, 0)


class KernelMeans:
    """What :func:`smooth_ratio` finds, for labels of the same scores drawn again and again.

    Parameters
    ----------
    score, weight, sigma, n_points
        As for :func:`smooth_ratio`.
    """

    def __init__(self, score: ArrayLike, weight: ArrayLike, sigma: float, n_points: int) -> None:
        self.p, self.n_points, self.sigma = np.asarray(score, np.float64), n_points, max(sigma, _NARROWEST)
        w = np.asarray(weight)
        self.total = float(np.asarray(w, np.float64).sum())
        self.fade = np.exp(-0.5 * (np.pi * self.sigma * np.arange(_FEWEST)) ** 2)
        self.place: FloatArray = (np.arange(n_points) + 0.5) / n_points
        self.density, self.scores = self._smoothed(lambda few: (w[few], w[few] * self.p[few]))

    def labels(self, events: ArrayLike) -> FloatArray:
        """The mean label at each place, for the weight of the rows of each score that had an event."""
        e = np.asarray(events)
        (found,) = self._smoothed(lambda few: (e[few],))
        return self.of(found)

    def of(self, sums: FloatArray) -> FloatArray:
        """Means at each place, from smoothed sums."""
        blank = self.density < _FAINT / self.sigma
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.clip(np.where(blank, np.nan, sums / self.density), 0, 1)

    def _smoothed(self, columns: _Columns) -> list[FloatArray]:
        deposits = _deposits(self.p, columns, _FEWEST)
        return [_thinned(dct(dct(one) / (2 * self.total) * self.fade, type=3), self.n_points) for one in deposits]


def _thinned(f: FloatArray, n_points: int) -> FloatArray:
    """Means of neighbouring midpoints."""
    return np.asarray(f.reshape(n_points, -1).mean(axis=1))


def _enough_points(sigma: float) -> int:
    wanted = _POINTS_PER_SIGMA / max(sigma, 1e-9)
    return int(np.clip(2.0 ** np.ceil(np.log2(wanted)), _FEWEST, _MOST))


def _fixed_point(integral: _Integral, mass: float, near: float | None) -> float:
    """Width equal to the integral at that width, which cannot exceed the residuals' mass.

    A coarser grid may have found a width that is `near`.
    """
    from scipy.optimize import brentq

    def excess(sigma: float) -> float:
        return integral(sigma) - sigma

    low, high = 0.0, 2 * mass
    if near is not None:
        around = 0.99 * near, 1.01 * near
        # The excess falls in the width.
        if excess(around[0]) > 0 > excess(around[1]):
            low, high = around
    return float(brentq(excess, low, high, xtol=1e-11, rtol=1e-11))


class _Integral:
    """Integral of the absolute value of the blurred residuals, by the width of the kernel; no width is asked twice."""

    def __init__(self, series: FloatArray) -> None:
        self.series, self.k = series, np.arange(series.size)
        self.known: dict[float, float] = {}

    def __call__(self, sigma: float) -> float:
        if sigma not in self.known:
            self.known[sigma] = _integral_of_absolute_value(dct(self._blurred(sigma), type=3, overwrite_x=True))
        return self.known[sigma]

    def _blurred(self, sigma: float) -> FloatArray:
        blurred = np.zeros(self.series.size)
        reach = int(min(blurred.size, _VANISHED / (np.pi * sigma) + 1)) if sigma > 0 else blurred.size
        blurred[:reach] = self.series[:reach] * np.exp(-0.5 * (np.pi * sigma * self.k[:reach]) ** 2)
        return blurred


def _integral_of_absolute_value(f: FloatArray) -> float:
    r"""
    Integral over [0, 1] of :math:`|f|` for a smooth, evenly extended :math:`f` given at midpoints.

    The mean is exact to all orders but for the kinks: between values :math:`a` and :math:`-b` it errs by
    :math:`ab / (a + b) - (a + b) / 6` steps, which is taken back.
    """
    size, above = np.abs(f), f > 0
    kink = np.flatnonzero(above[1:] != above[:-1])
    a, b = size[kink], size[kink + 1]
    excess = a * b / (a + b) - (a + b) / 6
    return float((np.sum(size) - np.sum(excess)) / f.size)


def _cosine_series(p: FloatArray, residual: _Columns, n_points: int) -> FloatArray:
    r"""Coefficients :math:`\sum_i r_i \cos(\pi k p_i)`, from the residuals' deposit on midpoints."""
    (deposit,) = _deposits(p, residual, n_points)
    return np.asarray(dct(deposit) / 2)


def _deposits(p: FloatArray, columns: _Columns, n_points: int) -> list[FloatArray]:
    """
    Share out what each score has over its four nearest midpoints, column by column.

    By cubic interpolation: with two points the kernel would widen, by an amount that depends on where
    a score lies in the grid and is felt where positive and negative residuals nearly cancel.
    """
    table = np.zeros((len(columns(slice(0))), 4, n_points + 1))
    for few in _blocks(p.size):
        _kernels.grid_moments(np.ascontiguousarray(p[few]), np.array(columns(few), dtype=np.float64), table)
    return [_spread(moments, n_points) for moments in table]


def _blocks(size: int) -> list[slice]:
    return [slice(i, i + _BLOCK) for i in range(0, size, _BLOCK)]


def _spread(moments: FloatArray, n_points: int) -> FloatArray:
    spread = np.zeros(n_points + 4)
    for node, share in enumerate(_CUBICS @ moments):
        spread[node : node + n_points + 1] += share
    return _folded(spread)


def _folded(spread: FloatArray) -> FloatArray:
    """Reflect the two points beyond each end into the interval."""
    inside = spread[2:-2]
    inside[:2] += spread[1::-1]
    inside[-2:] += spread[:-3:-1]
    return inside
