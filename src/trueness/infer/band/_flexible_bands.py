"""Confidence bands around flexible calibration curves: splines and loess."""

import math
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import chdtri, expit, fdtri, ndtr, stdtr

from trueness._input.arguments import checked_fraction, checked_word
from trueness._numerics.clustered import effective_number
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
# Wilson's limits are 0 and 1 for a larger squared number of standard errors.
_MOST_SPREAD = 1e12


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
    """Scores, or an error."""
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
    """The band of one binary problem; `rows` are the same rows in clusters."""
    fit = fit_curve(cells, curve, knots)
    used = fit.cells if fit.cells.size else cells
    grid = curve_places(used)
    places = grid if at is None else at
    law = _law(fit, rows)
    if law is None:
        nan = np.full(places.size, np.nan)
        return CurveBand(places, nan, nan, level, curve, 0, band, fit.at(places))
    root, freedom = law
    path = _design(fit, grid) @ root
    width = critical_value(path, level, freedom, simultaneous=band == "simultaneous")
    design = _design(fit, places)
    y = fit.at(places)
    error = np.sqrt(((design @ root) ** 2).sum(axis=1))
    if isinstance(fit, SplineCurve):
        assert fit.fit is not None
        eta = design @ fit.fit.coefficients
        low = expit(eta - width * error)
        high = expit(eta + width * error)
    else:
        low, high = _limits(_inside(y, fit.cells), error, width)
    return CurveBand(places, low, high, level, curve, 0, band, y)


def _design(fit: SplineCurve | LoessCurve, score: Floats) -> Floats:
    """The curve, or its log-odds, is this matrix times the estimates."""
    if isinstance(fit, LoessCurve):
        assert fit.smoother is not None
        return fit.smoother.design(score)
    assert fit.fit is not None
    design = np.full((score.size, fit.fit.coefficients.size), np.nan)
    inside = (score > 0) & (score < 1)
    design[inside] = fit.fit.columns(logits(score[inside]))
    return design


def _law(fit: SplineCurve | LoessCurve, rows: ClusteredRows | None) -> tuple[Floats, float] | None:
    """A square root of the covariance of the estimates, and its degrees of freedom.

    None if there is none.
    """
    if not fit.cells.size or (isinstance(fit, SplineCurve) and fit.fit is None):
        return None
    freedom = math.inf
    if rows is not None:
        freedom = effective_number(rows.cluster, rows.weight) - 1
    elif not fit.cells.whole:
        squares, _ = fit.cells.square_sums
        freedom = max(1.0, float(fit.cells.weight.sum() ** 2 / squares.sum()) - 1)
    if freedom <= 0:
        return None
    if isinstance(fit, SplineCurve):
        return _spline_root(fit, rows), freedom
    return _loess_root(fit, rows), freedom


def _spline_root(curve: SplineCurve, rows: ClusteredRows | None) -> Floats:
    """A square root of the covariance of the coefficients.

    Of the inverse information, or of the sandwich.
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
        return np.asarray(fit.root @ _root(fit.columns(x) @ fit.root * residual[:, None]))
    p = rows.p
    kept = (p > 0) & (p < 1)
    x = logits(p[kept])
    residual = np.asarray(rows.top.y, np.float64)[kept] - fit.probability(x)
    terms = fit.columns(x) @ fit.root * residual[:, None]
    return np.asarray(fit.root @ _root(_cluster_terms(terms, rows, np.flatnonzero(kept))))


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
        return _root(smoother.operator.T * np.sqrt(cells.square_sums[0] * q * (1 - q))[:, None])
    # The cell of a row, or the nearest of pooled ones.
    cell = np.searchsorted((cells.score[1:] + cells.score[:-1]) / 2, rows.p, side="right")
    residual = np.asarray(rows.top.y, np.float64) - curve.at(cells.score)[cell]
    terms = smoother.operator.T[cell] * residual[:, None]
    return _root(_cluster_terms(terms, rows, np.arange(rows.n)))


def _root(terms: Floats) -> Floats:
    """A square root of the covariance of a sum of independent terms.

    Roots of the eigenvalues of the covariance would be noise where they are below 1e-8 of the
    largest root.
    """
    triangle: Any = np.linalg.qr(terms, mode="r")
    return np.asarray(triangle.T)


def _cluster_terms(terms: Floats, rows: ClusteredRows, kept: Ints) -> Floats:
    """The sums of the terms of rows `kept` in each cluster, which are independent."""
    if rows.weight is not None:
        terms = terms * rows.weight[kept][:, None]
    codes = np.unique(rows.cluster[kept], return_inverse=True)[1]
    sums = np.stack([np.bincount(codes, column) for column in terms.T], axis=1)
    return np.asarray(sums * math.sqrt(len(sums) / max(1, len(sums) - 1)))


def critical_value(path: Floats, level: float, freedom: float, *, simultaneous: bool) -> float:
    """The multiple of the standard error for each row of `path` by itself.

    If `simultaneous`, that for the largest |t| along all of them. The rows have standard errors as
    lengths and correlations as cosines; see :func:`curve_band`.
    """
    normal = math.isinf(freedom)
    pointwise = t_quantile(level, freedom)
    if not simultaneous or len(path) == 1:
        return pointwise
    unit = path / np.maximum(np.linalg.norm(path, axis=1), 1e-300)[:, None]
    steps = np.linalg.norm(np.diff(unit, axis=0), axis=1)
    length = float(2 * np.arcsin(np.minimum(steps / 2, 1)).sum())

    def excess(c: float) -> float:
        if normal:
            beyond = math.exp(-c * c / 2)
            tail = 2 * float(ndtr(-c))
        else:
            beyond = (1 + c * c / freedom) ** (-freedom / 2)
            tail = 2 * float(stdtr(freedom, -c))
        return length / math.pi * beyond + tail - (1 - level)

    upper = 2 * pointwise
    while excess(upper) > 0:
        upper *= 2
    k = np.linalg.matrix_rank(path, tol=1e-9 * np.linalg.norm(path, 2))
    scheffe = math.sqrt(chdtri(k, 1 - level) if normal else k * fdtri(k, freedom, level))
    if not excess(pointwise) > 0:
        return min(pointwise, scheffe)
    return min(bracketed_root(excess, pointwise, upper), scheffe)


def _inside(y: Floats, cells: Cells) -> Floats:
    """Heights moved inside (0, 1), by half a row among all rows."""
    end = 0.5 / (float(cells.count.sum()) + 1)
    return np.clip(y, end, 1 - end)


def _limits(y: Floats, error: Floats, width: float) -> tuple[Floats, Floats]:
    """The wider of y ± a multiple of its standard error and of Wilson's limits.

    Wilson's are those of as many rows as have the same standard error.
    """
    # One row may outweigh all others, which leaves Student's t no freedom.
    with np.errstate(over="ignore"):
        spread = np.minimum((width * error) ** 2 / (y * (1 - y)), _MOST_SPREAD)
    middle = y + spread / 2
    half = np.sqrt(spread * y * (1 - y) + spread**2 / 4)
    low = np.minimum(y - width * error, (middle - half) / (1 + spread))
    high = np.maximum(y + width * error, (middle + half) / (1 + spread))
    return np.maximum(low, 0), np.minimum(high, 1)
