"""Confidence bands around flexible calibration curves: splines and loess."""

import math
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import chdtri, expit, fdtri, ndtr, stdtr

from trueness._input.arguments import checked_fraction, checked_word
from trueness._numerics.logistic import logits
from trueness._numerics.roots import bracketed_root
from trueness._numerics.students_t import t_quantile
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows
from trueness._tally.reading import read_rows
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.measure._flexible_curve import (
    FlexibleMethod,
    LoessCurve,
    SplineCurve,
    checked_knots,
    curve_places,
    fit_curve,
    warn_certain_scores,
    warn_no_curve,
)
from trueness.results import CurveBand
from trueness.typing import ArrayLike, Floats, Ints, RowOptions

CurveBandKind: TypeAlias = Literal["pointwise", "simultaneous"]
_BANDS = ("pointwise", "simultaneous")
# Wilson's limits are 0 and 1 for a larger squared number of standard errors per row.
_MOST_SQUARED = 1e12


def flexible_band(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None,
    *,
    curve: FlexibleMethod,
    band: CurveBandKind,
    level: float,
    at: ArrayLike | None,
    knots: int | None,
    cluster: ArrayLike | None,
    rows: RowOptions,
) -> CurveBand:
    """The band around a curve by splines or loess; see :func:`trueness.curve_band`."""
    checked_word(band, "band", _BANDS)
    level = checked_fraction(level, "level")
    places = None if at is None else checked_places(at)
    evidence = read_rows(y_true, y_prob, rows, kind="confidence", cluster=cluster)
    evidence.require_one("the band of a matrix")
    clustered = evidence.in_clusters
    cells = evidence.cells if clustered is None else clustered.cells
    if curve == "spline":
        warn_certain_scores(Tally("binary", (cells,)))
    knots = checked_knots(5 if knots is None else knots)
    result = band_of_cells(cells, curve, band, level, knots, places, clustered)
    if np.isnan(result.low).all():
        warn_no_curve()
    return replace(result, note=evidence.note)


def checked_places(at: ArrayLike) -> Floats:
    """The scores at which a band is wanted, as an array; one score becomes an array of one.

    Anything but numbers in [0, 1] is refused.
    """
    try:
        places = np.atleast_1d(np.asarray(at, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise InputError("at", "must be scores in [0, 1]", f"got {at!r}") from None
    if places.ndim != 1:
        got = f"got an array of {places.ndim} dimensions"
        raise InputError("at", "must be a list of scores", got)
    wrong = places[~((places >= 0) & (places <= 1))]
    if wrong.size:
        raise InputError("at", "must be scores in [0, 1]", f"the first other one is {wrong[0]:g}")
    return places


def band_of_cells(
    cells: Cells,
    curve: FlexibleMethod,
    band: CurveBandKind,
    level: float,
    knots: int = 5,
    at: Floats | None = None,
    rows: ClusteredRows | None = None,
) -> CurveBand:
    """The band around a flexible curve of one binary problem.

    `cells` are the sums at each distinct score. `curve` is 'spline' (with `knots` knots) or
    'loess', and `band` 'pointwise' or 'simultaneous'. The band is given at the scores `at`, by
    default at those of a plotted curve. `rows` are the same rows in clusters; None if they are
    independent. The band is nan where the estimates have no covariance, as without a curve or with
    a single cluster.
    """
    fit = fit_curve(cells, curve, knots)
    used = fit.cells if fit.cells.size else cells
    grid = curve_places(used)
    places = grid if at is None else at
    y = fit.at(places)
    nan = np.full(places.size, np.nan)
    law = _law(fit, rows)
    result = CurveBand(
        x=places, low=nan, high=nan, level=level, method=curve, resamples=0, band=band, y=y
    )
    if law is None:
        return result
    path = _design(fit, grid) @ law.root
    width = critical_value(path, level, law.freedom, simultaneous=band == "simultaneous")
    design = _design(fit, places)
    reach = width * np.sqrt(((design @ law.root) ** 2).sum(axis=1))
    if isinstance(fit, SplineCurve):
        assert fit.fit is not None
        log_odds = design @ fit.fit.coefficients
        return replace(result, low=expit(log_odds - reach), high=expit(log_odds + reach))
    low, high = _limits(_inside(y, fit.cells), reach)
    return replace(result, low=low, high=high)


def _design(fit: SplineCurve | LoessCurve, score: Floats) -> Floats:
    """The matrix that, times the estimates, is the curve (or its log-odds) at these scores.

    Loess has the curve itself; a spline has its log-odds, and nan at scores of 0 and 1.
    """
    if isinstance(fit, LoessCurve):
        assert fit.smoother is not None
        return fit.smoother.design(score)
    assert fit.fit is not None
    design = np.full((score.size, fit.fit.coefficients.size), np.nan)
    inside = (score > 0) & (score < 1)
    design[inside] = fit.fit.columns(logits(score[inside]))
    return design


class _Law(NamedTuple):
    """The distribution of the estimates."""

    root: Floats
    """A square root of their covariance."""
    freedom: float
    """The degrees of freedom of Student's t; infinite for the normal distribution."""


def _law(fit: SplineCurve | LoessCurve, rows: ClusteredRows | None) -> _Law | None:
    """The distribution of the estimates: a root of their covariance, and degrees of freedom.

    `rows` are the rows in clusters, or None. Degrees of freedom are the effective number of
    clusters − 1, or that of rows − 1 with weights that do not count rows; otherwise the
    distribution is normal. None without a curve, and with a single cluster.
    """
    if not fit.cells.size or (isinstance(fit, SplineCurve) and fit.fit is None):
        return None
    freedom = math.inf
    if rows is not None:
        freedom = rows.units.effective(rows.weight) - 1
    elif not fit.cells.whole:
        squares, _ = fit.cells.square_sums
        freedom = max(1.0, float(fit.cells.weight.sum() ** 2 / squares.sum()) - 1)
    if freedom <= 0:
        return None
    if isinstance(fit, SplineCurve):
        return _Law(_spline_root(fit, rows), freedom)
    return _Law(_loess_root(fit, rows), freedom)


def _spline_root(curve: SplineCurve, rows: ClusteredRows | None) -> Floats:
    """A square root of the covariance of the coefficients of a spline.

    The covariance is the inverse information. With clusters (`rows`), and with weights that do not
    count rows, it is the sandwich: the inverse information on both sides of the sum of squares of
    the scores (label − probability times the basis), by cluster or by row.
    """
    fit = curve.fit
    cells = curve.cells
    assert fit is not None
    if rows is None and cells.whole:
        return fit.root
    # In columns whose information is the identity, the sandwich is its own filling. Products with
    # the inverse information would lose all digits: its condition number is up to 1e15 for rare
    # events.
    if rows is None:
        x = logits(cells.score)
        residual = np.sqrt(cells.residual_squares(fit.probability(x)))
        return fit.root @ _root(fit.columns(x) @ fit.root * residual[:, None])
    p = rows.p
    kept = (p > 0) & (p < 1)
    x = logits(p[kept])
    residual = np.asarray(rows.top.y, np.float64)[kept] - fit.probability(x)
    terms = fit.columns(x) @ fit.root * residual[:, None]
    return fit.root @ _root(_cluster_terms(terms, rows, np.flatnonzero(kept)))


def _loess_root(curve: LoessCurve, rows: ClusteredRows | None) -> Floats:
    """A square root of the covariance of heights and slopes at the vertices.

    These are linear in the labels, by `operator`. Independent labels of one score have the variance
    q(1 − q) at the height q of the curve; with `rows`, residuals are summed over clusters.
    """
    cells = curve.cells
    smoother = curve.smoother
    assert smoother is not None
    if rows is None:
        q = _inside(curve.at(cells.score), cells)
        deviation = np.sqrt(cells.square_sums[0] * q * (1 - q))
        return _root(smoother.operator.T * deviation[:, None])
    # The cell of a row, or the nearest of pooled ones.
    cell = np.searchsorted((cells.score[1:] + cells.score[:-1]) / 2, rows.p, side="right")
    residual = np.asarray(rows.top.y, np.float64) - curve.at(cells.score)[cell]
    terms = smoother.operator.T[cell] * residual[:, None]
    return _root(_cluster_terms(terms, rows, np.arange(rows.n)))


def _root(terms: Floats) -> Floats:
    """A square root of the covariance of the sum of independent terms, which are in rows.

    It is triangular. Roots of the eigenvalues of the covariance would be noise where they are below
    1e-8 of the largest root.
    """
    return np.asarray(np.linalg.qr(terms, mode="r")).T


def _cluster_terms(terms: Floats, rows: ClusteredRows, kept: Ints) -> Floats:
    """The sum over each cluster of the terms of its rows.

    `kept` are the places of the rows that have terms, in rows of `terms`. With k clusters the sums
    are larger by √(k/(k − 1)), as the sandwich of few clusters is too small.
    """
    if rows.weight is not None:
        terms = terms * rows.weight[kept][:, None]
    codes = np.unique(rows.cluster[kept], return_inverse=True)[1]
    sums = np.stack([np.bincount(codes, column) for column in terms.T], axis=1)
    return np.asarray(sums * math.sqrt(len(sums) / max(1, len(sums) - 1)))


def critical_value(path: Floats, level: float, freedom: float, *, simultaneous: bool) -> float:
    """The multiple of the standard error that a band of this level reaches on either side.

    Pointwise it is the quantile of Student's t, or of the normal distribution if `freedom` is
    infinite. If `simultaneous`, it is that of the largest |t| along a curve: the formula of Sun and
    Loader in :func:`trueness.curve_band`, or Scheffé's if that is smaller. The rows of `path` stand
    for places of the curve: their lengths are the standard errors there, and the cosines between
    them the correlations.
    """
    normal = math.isinf(freedom)
    pointwise = t_quantile(level, freedom)
    if not simultaneous or len(path) == 1:
        return pointwise
    unit = path / np.maximum(np.linalg.norm(path, axis=1), 1e-300)[:, None]
    steps = np.linalg.norm(np.diff(unit, axis=0), axis=1)
    length = float(2 * np.arcsin(np.minimum(steps / 2, 1)).sum())

    def miss(c: float) -> float:
        """The probability that |t| exceeds c somewhere, less that which is allowed."""
        if normal:
            beyond = math.exp(-c * c / 2)
            tail = 2 * float(ndtr(-c))
        else:
            beyond = (1 + c * c / freedom) ** (-freedom / 2)
            tail = 2 * float(stdtr(freedom, -c))
        return length / math.pi * beyond + tail - (1 - level)

    upper = 2 * pointwise
    while miss(upper) > 0:
        upper *= 2
    k = np.linalg.matrix_rank(path, tol=1e-9 * np.linalg.norm(path, 2))
    scheffe = math.sqrt(chdtri(k, 1 - level) if normal else k * fdtri(k, freedom, level))
    if not miss(pointwise) > 0:
        return min(pointwise, scheffe)
    return min(bracketed_root(miss, pointwise, upper), scheffe)


def _inside(y: Floats, cells: Cells) -> Floats:
    """The heights `y` of a curve moved inside (0, 1), by half a row among all rows of the cells."""
    end = 0.5 / (float(cells.count.sum()) + 1)
    return np.clip(y, end, 1 - end)


def _limits(y: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """The lower and upper limits of the heights `y` of a curve, within [0, 1].

    `reach` is a multiple c of the standard error. The limits are the wider of y ± reach and of
    Wilson's limits with the same c for n rows, where n is the number of rows with the same standard
    error, y(1 − y)/n = (reach/c)². Heights must lie strictly between 0 and 1.
    """
    # The squared multiple over the number of rows. One row may outweigh all others, which leaves
    # Student's t no freedom.
    with np.errstate(over="ignore"):
        squared = np.minimum(reach**2 / (y * (1 - y)), _MOST_SQUARED)
    middle = y + squared / 2
    half = np.sqrt(squared * y * (1 - y) + squared**2 / 4)
    low = np.minimum(y - reach, (middle - half) / (1 + squared))
    high = np.maximum(y + reach, (middle + half) / (1 + squared))
    return np.maximum(low, 0), np.minimum(high, 1)
