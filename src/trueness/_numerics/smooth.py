r"""The smooth calibration error, residuals blurred at the width that equals the error.

The kernel is a Gaussian reflected at 0 and 1, so that no mass leaves the unit interval: extended
evenly, the residuals are a cosine series, and blurring multiplies its terms by
:math:`\exp(-\sigma^2 \pi^2 k^2 / 2)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import dct
from scipy.special import ndtr

from trueness import _kernels
from trueness.typing import Floats

_Columns: TypeAlias = Callable[[slice], NDArray[Any]]
"""Columns of a slice of the scores, one per row of the array; computed on demand so that none as
long as the scores is kept."""

# Interpolation and quadrature then err by about 1e-7 of the residuals' mass, as the fourth power of
# the step.
_POINTS_PER_SIGMA = 40
_FEWEST = 2**12
_FINE = 2**14
_MOST = 2**20
_FEWEST_VALUES = 2**8
# Rows whose temporaries stay in the processor's cache. More rows have narrower kernels: a grid that
# is too coarse would cost another pass over them.
_BLOCK = 2**15
# Coefficients of 1, x, x², x³ in the cubics that interpolate from -1, 0, 1 and 2 to x in [0, 1).
_CUBICS = np.array([[0, -2, 3, -1], [6, -3, -6, 3], [0, 6, 3, -3], [0, -1, 0, 1]]) / 6
_NEGLIGIBLE = 1e-10
# Relative difference of the error and its width at which the search ends; with the most steps,
# which are seldom six.
_SAME = 1e-11
_STEPS = 100
# exp(−x²/2) is below 1e-19 from here on: added to what is kept, it would be lost to rounding.
_VANISHED = 9.5
# For a curve that is drawn: the narrowest kernel, and the share of the weight that a kernel must
# reach.
_NARROWEST = 1e-3
_FAINT = 1e-6


def smooth_error(
    score: ArrayLike, weight: ArrayLike | None, events: ArrayLike
) -> tuple[float, float]:
    r"""Smooth calibration error (smECE), and the kernel width at which it was taken.

    From scores in [0, 1], the weight of their rows and of the rows with an event; a weight of None
    means rows with labels. Error and width are equal within 1e-9, both 0 if all residuals are 0,
    and right within 1e-6. No array as long as the scores is made on the way.

    The formula is that of :func:`trueness.smooth_ece`, with the Gaussian density and all its images
    at 0 and 1.
    """
    return smooth_errors([Residuals(score, weight, events)])[0]


def smooth_errors(samples: Sequence[Residuals]) -> list[tuple[float, float]]:
    """The smooth calibration error of each sample, and the kernel width at which it was taken.

    Samples whose grids have the same size are solved together, which takes a fraction of the time
    for small ones. The errors come in the order of the samples.
    """
    deposits = [sample.deposit(sample.fewest_points) for sample in samples]
    sizes = [deposit.size for deposit in deposits]
    refined: list[tuple[float, float]] = [(0.0, 0.0)] * len(samples)
    for size in sorted(set(sizes)):
        alike = [i for i, grid_size in enumerate(sizes) if grid_size == size]
        errors = _fixed_points(np.stack([deposits[i] for i in alike]))
        for i, error in zip(alike, errors, strict=True):
            refined[i] = _refined(samples[i], size, error)
    return refined


class Residuals:
    """Events minus scores of some rows, spread over midpoints of [0, 1] as a share of all rows."""

    def __init__(self, score: ArrayLike, weight: ArrayLike | None, events: ArrayLike) -> None:
        self.p, self.e = np.asarray(score), np.asarray(events)  # rows may be float32
        self.w = None if weight is None else np.asarray(weight)
        self.total = self.p.size if self.w is None else float(self.w.sum())

    @property
    def fewest_points(self) -> int:
        # Whole weights count rows: the same grid as for the rows themselves.
        counted = self.w is not None and self.w.dtype.kind == "i"
        rows = self.total if counted else self.p.size
        if rows <= _BLOCK:
            return _FEWEST
        return _FINE

    def deposit(self, n_points: int) -> Floats:
        """The residuals of all rows on a grid of points, divided by the total weight."""
        if self.w is None:
            return _deposit_of_rows(self.p, self.e, n_points) / self.total
        p = self.p
        w = self.w
        e = self.e

        def residual(few: slice) -> Floats:
            return np.asarray((e[few] - w[few] * p[few])[None])

        return _deposits(p, residual, n_points)[0] / self.total


def _deposit_of_rows(p: NDArray[Any], y: NDArray[Any], n_points: int) -> Floats:
    table = np.zeros((n_points + 1, 4))
    _kernels.residual_moments(p, y, table)
    return _spread(table.T, n_points)


def _refined(sample: Residuals, n_points: int, error: tuple[float, float]) -> tuple[float, float]:
    """The error on a grid that is fine enough for its width, from the error on a coarser one."""
    while error[1] >= _NEGLIGIBLE and _enough_points(error[1]) > n_points:
        n_points = _enough_points(error[1])
        error = _fixed_points(sample.deposit(n_points)[None], error[1])[0]
    return error


class KernelMeans:
    r"""Kernel means of scores and labels along the score, for labels drawn again and again.

    The scores are the same for every draw.

    Scores are distinct and ascending, with the weight of their rows. `sigma` is the width of the
    kernel; widths below 1e-3 are taken as that. Means are at `n_points` midpoints of [0, 1], their
    `place`: a power of 2, at most 2¹⁴.

    Means have the weights :math:`w_i K_\sigma(t, p_i)` and are nan where the kernel reaches less
    than a millionth of the weight. `density` is the smoothed density of the scores, which
    integrates to 1. Mean label minus mean score, times the density, is the integrand of
    :func:`smooth_error`. Both means lie in [0, 1] and the mean score increases in t.
    """

    def __init__(self, score: ArrayLike, weight: ArrayLike, sigma: float, n_points: int) -> None:
        """Deposit weights and scores on the grid, and smooth both with the kernel of width σ."""
        self.p = np.asarray(score, np.float64)
        self.n_points = n_points
        self.sigma = max(sigma, _NARROWEST)
        w = np.asarray(weight)
        self.total = float(np.asarray(w, np.float64).sum())
        self.fade = np.exp(-0.5 * (np.pi * self.sigma * np.arange(_FINE)) ** 2)
        self.place: Floats = (np.arange(n_points) + 0.5) / n_points
        density, self._scores = self._smooth(lambda few: np.stack([w[few], w[few] * self.p[few]]))
        self.density = np.maximum(density, 0)

    def scores(self) -> Floats:
        """The mean score at each place."""
        return self._mean(self._scores)

    def labels(self, events: ArrayLike) -> Floats:
        """The mean label at each place, from the weight of the events at each score."""
        e = np.asarray(events)
        return self._mean(*self._smooth(lambda few: e[few][None]))

    def _mean(self, sums: Floats) -> Floats:
        blank = self.density < _FAINT / self.sigma
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.clip(np.where(blank, np.nan, sums / self.density), 0, 1)

    def _smooth(self, columns: _Columns) -> list[Floats]:
        deposits = _deposits(self.p, columns, _FINE)
        fine = (dct(dct(deposit) / (2 * self.total) * self.fade, type=3) for deposit in deposits)
        return [np.asarray(values.reshape(self.n_points, -1).mean(axis=1)) for values in fine]


def reflected_kernel(place: Floats, width: float, score: Floats, sigma: float) -> Floats:
    """The Gaussian kernel on [0, 1], averaged over each place, of shape (places, scores).

    A place is an interval of length `width`, given by its middle. `sigma` is the standard deviation
    of the kernel. What would fall below 0 or above 1 is reflected back: mirror images of each score
    stand for it.
    """
    images = math.ceil((6 * sigma + 1) / 2)  # beyond six widths lies 2e-9
    mass = np.zeros((place.size, score.size))
    for shift in range(-2 * images, 2 * images + 1, 2):
        for image in (score + shift, shift - score):
            distance = (place[:, None] - image) / sigma
            half = 0.5 * width / sigma
            mass += ndtr(distance + half) - ndtr(distance - half)
    return np.asarray(mass / width)


def _enough_points(sigma: float, fewest: int = _FEWEST) -> int:
    wanted = _POINTS_PER_SIGMA / max(sigma, 1e-9)
    return max(fewest, min(int(2 ** math.ceil(math.log2(wanted))), _MOST))


def _fixed_points(deposits: Floats, start: float | None = None) -> list[tuple[float, float]]:
    """For each row: the smooth calibration error, and the width of the kernel.

    A row of `deposits` holds the residuals of one problem on a grid of midpoints, divided by its
    total weight. Blurred at a width, their absolute value has an integral that falls as the width
    grows. The smooth error is the integral that equals its own width, so that both numbers agree up
    to the tolerance of the search.

    Searches begin at the width `start`, or without one at the sum of the absolute deposits. Where
    that sum is below `_NEGLIGIBLE`, it is returned as both numbers.
    """
    masses = np.abs(deposits).sum(axis=1).tolist()
    series = dct(deposits, axis=1) / 2
    searches = [_Search(start or mass or 1.0) for mass in masses]
    # Below what is negligible, the error lies between 0 and the mass: there is no width left to
    # search for.
    moving = [i for i, mass in enumerate(masses) if mass >= _NEGLIGIBLE]
    for _ in range(_STEPS):
        if not moving:
            break
        values = _blurred_integrals(series, moving, [searches[i].width for i in moving])
        for i, value in zip(moving, values.tolist(), strict=True):
            searches[i].step(value)
        moving = [i for i in moving if not searches[i].ended]
    return [
        (search.value, search.width) if mass >= _NEGLIGIBLE else (mass, mass)
        for search, mass in zip(searches, masses, strict=True)
    ]


class _Search:
    """Where the integral equals its width.

    The integral falls in the width, so the excess log(integral) − log(width) falls in log(width)
    with a slope below −1: the root is within one excess of any width. The slope is nearly constant
    (−3/2 for noise, −1 for bias), so secants arrive after a few steps.
    """

    def __init__(self, start: float) -> None:
        """Start the search for the root at a width, with the slope expected there."""
        self.at = math.log(start)  # the log of the present width
        self.slope = -1.25  # of the excess; at first, halfway between bias and noise
        self.low = -math.inf  # the root lies between `low` and `high`, which are logs of widths
        self.high = math.inf
        self.before = self.last = math.nan  # the place and the excess of the step before
        self.value = 0.0  # the last integral
        self.ended = False

    @property
    def width(self) -> float:
        return math.exp(self.at)

    def step(self, value: float) -> None:
        """Choose the next width, given `value`, the integral at the present width.

        The search ends (`ended`) if the integral equals the width, or if the root is enclosed, up
        to the tolerance `_SAME` of their logarithms. An integral of 0 says that the width is too
        large: the next is smaller by a factor of e. Otherwise the next width is that of the secant
        through the last two steps, or the middle of the enclosing interval if the secant leaves it.
        """
        self.value = value
        if value <= 0:  # the residuals cancel at this width, to the last digit
            self.low = -math.inf
            self.high = self.at
            self.last = math.nan
            self.at -= 1
            return
        excess = math.log(value) - self.at
        if abs(excess) <= _SAME or self.high - self.low <= _SAME:
            self.ended = True
            return
        self._narrow(excess)
        if not math.isnan(self.last):
            self.slope = min((excess - self.last) / (self.at - self.before), -1.0)
        self.last = excess
        self.before = self.at
        secant = self.at - excess / self.slope
        self.at = secant if self.low <= secant <= self.high else (self.low + self.high) / 2

    def _narrow(self, excess: float) -> None:
        nearest, farthest = sorted([self.at, self.at + excess])
        self.low, self.high = max(self.low, nearest), min(self.high, farthest)


def _blurred_integrals(series: Floats, rows: Sequence[int], widths: Sequence[float]) -> Floats:
    """Integrals of the absolute residuals on [0, 1], each blurred at a width of its own.

    `series` holds one row per problem: the cosine coefficients of its residuals. `rows` numbers the
    problems wanted, and `widths` has one entry for each of them. The result has one integral for
    each of them, in the same order.

    A narrow kernel needs a finer grid: the number of midpoints is a power of two that gives at
    least `_POINTS_PER_SIGMA` of them per width, up to `_MOST`, and at most the number of
    coefficients. Problems with the same number are done together. Coefficients that even the
    narrowest width of that grid makes vanish are left out.
    """
    sizes = np.array([_enough_points(width, _FEWEST_VALUES) for width in widths])
    integrals = np.empty(len(sizes))
    for enough in np.unique(sizes):
        alike = np.flatnonzero(sizes == enough)
        n_points = min(int(enough), series.shape[1])
        # The reach depends on the number of midpoints alone, so that a row asked alone gives the
        # same bits.
        narrowest = _POINTS_PER_SIGMA / enough if enough < _MOST else 1e-9
        reach = int(min(n_points, _VANISHED / (np.pi * narrowest) + 1))
        terms = series[:, :reach][np.asarray(rows)[alike]]
        integrals[alike] = _integrals(terms, np.asarray(widths)[alike], n_points)
    return integrals


def _integrals(terms: Floats, widths: Floats, n_points: int) -> Floats:
    r"""Integrals over [0, 1] of the absolute value of the residuals, each blurred at a width.

    `terms` has one row per problem: the first of the coefficients :math:`c_k = \sum_i r_i \cos(\pi
    k p_i)`, for :math:`k = 0, 1, \dots`; later ones count as 0. `widths` are the standard
    deviations :math:`\sigma` of the Gaussian, one per row. The result has one number per row.

    Blurring, with reflection at 0 and 1, multiplies :math:`c_k` by :math:`\exp(-(\pi k \sigma)^2 /
    2)`. The DCT of type 3 then gives the values :math:`c_0 + 2 \sum_{k \ge 1} c_k \cos(\pi k x)` at
    `n_points` midpoints x. The mean of their absolute values is accurate except where the sign
    changes. Between neighbours :math:`a` and :math:`-b` it is too large by :math:`ab / (a + b) - (a
    + b) / 6` steps: the Euler-Maclaurin term of a jump of :math:`2 (a + b)` in slope, at :math:`a /
    (a + b)` of the step. This is subtracted.
    """
    reach = terms.shape[1]
    fade = np.exp(-0.5 * (np.pi * widths[:, None] * np.arange(reach)) ** 2)
    blurred = np.zeros((len(terms), n_points))
    blurred[:, :reach] = terms * fade
    values = dct(blurred, type=3, axis=1, overwrite_x=True)
    above = values > 0
    size = np.abs(values, out=values)
    kinks = above[:, 1:] != above[:, :-1]
    row, place = np.nonzero(kinks)
    a = size[row, place]
    b = size[row, place + 1]
    excess = np.bincount(row, a * b / (a + b) - (a + b) / 6, minlength=len(terms))
    return np.asarray((size.sum(axis=1) - excess) / n_points)


def _deposits(p: NDArray[Any], columns: _Columns, n_points: int) -> list[Floats]:
    """Spread the columns of each score over its four nearest midpoints, by cubic interpolation.

    With two points the kernel would widen, by an amount that depends on where a score lies in the
    grid and matters where positive and negative residuals nearly cancel.
    """
    table = np.zeros((len(columns(slice(0))), n_points + 1, 4))
    for i in range(0, p.size, _BLOCK):
        block = slice(i, i + _BLOCK)
        _kernels.grid_moments(
            np.ascontiguousarray(p[block]), np.ascontiguousarray(columns(block), np.float64), table
        )
    return [_spread(moments.T, n_points) for moments in table]


def _spread(moments: Floats, n_points: int) -> Floats:
    """The deposit on `n_points` midpoints, from the moments of the cells between them.

    Row k of `moments` holds, for each cell, the sum of the values times the k-th power of their
    place in it, from 0 to 1. A cell lies between two neighbouring midpoints; the first and the last
    reach beyond the interval. `_CUBICS` turns the moments of a cell into the shares of its four
    nearest midpoints, by cubic interpolation. Shares that fall on the two points beyond either end
    are reflected into the interval.
    """
    spread = np.zeros(n_points + 4)
    for node, share in enumerate(_CUBICS @ moments):
        spread[node : node + n_points + 1] += share
    # Reflect the two points beyond each end into the interval.
    inside = spread[2:-2]
    inside[:2] += spread[1::-1]
    inside[-2:] += spread[:-3:-1]
    return inside
