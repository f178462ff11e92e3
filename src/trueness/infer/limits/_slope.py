"""Confidence limits for the calibration slope and intercepts, from rows whose score lies strictly between 0 and 1."""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, ndtri, xlogy

from trueness._numerics.logistic import (
    line_pools,
    line_sums,
    log_likelihood,
    logits,
    recalibration_line,
    recalibration_shift,
)
from trueness._numerics.roots import bracketed_root
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows, effective_number
from trueness.infer.limits._limits import SEVERAL, Asked, Limits, wald_limits
from trueness.measure._slope import InsideCells, contradicted_in_words, inside_cells
from trueness.typing import Floats, Numbers

# With more rows of the rarer class, or more distinct scores, than this, Wald limits are as good and faster.
MANY, _MANY_SCORES = 20_000, 100_000
# With fewer rows of the rarer class than this, the profile likelihood alone is too optimistic.
_FEW, _MOST_POOLED = 30, 2_000
# Doublings of the step in search of a profile limit.
_DOUBLINGS = 40

_Ends: TypeAlias = tuple[float, float]


def slope_limits(
    cells: Cells, level: float, cluster_rows: ClusteredRows | None = None, line: "FittedLine | None" = None
) -> Limits:
    r"""The slope in :math:`\mathrm{logit}\,P(Y = 1) = a + b\,\mathrm{logit}\,p`; nan if it is not finite.

    Independent rows, weighted by whole numbers or not at all, have profile-likelihood limits (R's ``confint``), which
    remain finite on one side when the scores separate the classes; with fewer than 30 rows of one class they are
    at least as far apart as those of the penalised likelihood (Firth 1993). Other weights and clusters have Wald limits
    with the sandwich variance and Student's t (degrees of freedom: clusters or rows of the rarer class, less 1); with
    fewer than 30 rows of one class, clusters have limits at least as far apart as independent rows.
    """
    line = line or fit_line(cells, cluster_rows)
    inside, slope, rarer, method = line.inside.cells, line.slope, line.rarer, line.sandwich
    limits, error = line.wald(1, level), line.error(1)
    if cluster_rows is not None and rarer < _FEW and cells.whole:
        limits = _hull(limits, slope_limits(cells, level)[:2])
    if not method:
        method = "Wald"
        if rarer <= MANY and inside.size <= _MANY_SCORES:
            method, limits = "profile likelihood", _profile_limits(line.x, inside, slope, error, level)
        if 0 < rarer < _FEW and inside.size > 1:
            limits = _hull(limits, _penalised_limits(line.x, inside, level))
        method += ", penalised" if rarer < _FEW else ""
    return Limits(*limits, method, error, line.left_out, slope)


def _hull(one: _Ends, other: _Ends) -> _Ends:
    return min(one[0], other[0]), max(one[1], other[1])


class FittedLine(NamedTuple):
    """The logistic regression of labels on log-odds."""

    inside: InsideCells
    """The rows it was fitted to."""
    x: Floats
    """Their log-odds."""
    slope: float
    """nan if the maximum-likelihood estimate is not finite."""
    intercept: float
    covariance: Floats
    """That of intercept and slope."""
    freedom: float
    """Degrees of freedom of Student's t (inf: the normal law)."""
    sandwich: str
    """The variance in words if it is a sandwich, as that of clusters and of weights that are not whole numbers."""

    def error(self, index: int) -> float:
        """Standard error of the intercept (0) or the slope (1)."""
        return math.sqrt(self.covariance[index, index])

    def wald(self, index: int, level: float) -> _Ends:
        """Wald limits of the intercept (0) or the slope (1)."""
        estimate = self.slope if index else self.intercept
        return wald_limits(estimate, float(self.covariance[index, index]), self.freedom, level)

    @property
    def rarer(self) -> float:
        """Rows of the rarer class."""
        _, weight, events = self.inside.cells.totals
        return min(events, weight - events)

    @property
    def left_out(self) -> str:
        """How many scores of 0 and 1 are left out, in words."""
        if not self.inside.certain:
            return ""
        return (
            f"{self.inside.certain:,.6g} scores of exactly 0 or 1 are left out, since their log-odds are infinite; "
            f"{contradicted_in_words(self.inside.wrong)}."
        )


def of_line(limits: Callable[[Cells, float, ClusteredRows | None, FittedLine], Limits], asked: Asked) -> Limits:
    """Limits from a line that is fitted once for slope and intercepts."""
    cells, rows, memory = asked.evidence.one, asked.evidence.in_clusters, asked.evidence.memory
    if not isinstance(cells, Cells):
        return Limits(note=SEVERAL)
    if "line" not in memory:
        memory["line"] = fit_line(cells, rows)
    return limits(cells, asked.level, rows, memory["line"])._replace(known=True)


def fit_line(cells: Cells, cluster_rows: ClusteredRows | None = None) -> FittedLine:
    """Fit the line to the rows with scores strictly between 0 and 1."""
    inside = inside_cells(cells)
    x = logits(inside.cells.score)
    slope, intercept = recalibration_line(x, inside.cells.weight, inside.cells.events)
    law = _covariance(x, inside.cells, slope, intercept, cluster_rows)
    sandwich = "sandwich of clusters, t" if cluster_rows is not None else "" if cells.whole else "sandwich, t"
    return FittedLine(inside, x, slope, intercept, *law, sandwich)


def _profile_limits(x: Floats, cells: Cells, slope: float, error: float, level: float) -> _Ends:
    """Slopes whose profile likelihood is not too far below its maximum or, with separated classes, its supremum."""
    w, e = cells.weight.astype(np.float64), cells.events.astype(np.float64)
    with_event, without = x[e > 0], x[e < w]
    if with_event.size == 0 or without.size == 0 or x.min() == x.max():
        return -math.inf, math.inf
    step = 0.1 / float(np.std(x))

    def profile(b: float) -> float:
        return log_likelihood(b * x + recalibration_shift(b * x, w, e), w, e)

    if not math.isnan(slope):
        return _likelihood_limits(profile, slope, error if error > 0 else step, level)
    # A threshold separates the labels: as the slope grows, only the rows on the threshold keep the likelihood below 1.
    rising = with_event.min() >= without.max()
    tied = x == (without.max() if rising else with_event.max())
    target = float((xlogy(e, e / w) + xlogy(w - e, 1 - e / w))[tied].sum()) - _drop(level)
    inwards = profile(0.0) > target
    limit = _crossing(profile, target, 0.0, -step if inwards == rising else step)
    return (limit, math.inf) if rising else (-math.inf, limit)


def _pooled(x: Floats, cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Log-odds, weights and events; many are pooled with their neighbours."""
    pools = line_pools(x, cells.weight, cells.events, _MOST_POOLED) if x.size > _MOST_POOLED else None
    return pools or (x, cells.weight.astype(np.float64), cells.events.astype(np.float64))


def _penalised_limits(x: Floats, cells: Cells, level: float) -> _Ends:
    """Limits from the profile of the likelihood penalised as by Jeffreys' prior (Firth 1993).

    With few rows of one class the likelihood alone takes slopes to be larger than they are, and its lower limit, too.
    """
    from scipy.optimize import minimize_scalar  # slow to import, and needed for few rows of a class only

    x, w, e = _pooled(x, cells)  # this likelihood only widens the limits
    scale = float(np.std(x))

    def penalised(a: float, b: float) -> float:
        eta = a + b * x
        q = expit(eta)
        v = w * q * (1 - q)
        spread = v.sum() * (v * x * x).sum() - (v * x).sum() ** 2
        likelihood = -(e * np.logaddexp(0, -eta) + (w - e) * np.logaddexp(0, eta)).sum()
        return float(likelihood + 0.5 * np.log(max(spread, 1e-300)))

    def profile(b: float) -> float:
        start = recalibration_shift(b * x, w, e)
        return -float(minimize_scalar(lambda a: -penalised(a, b), bracket=(start - 1, start + 1), tol=1e-6).fun)

    top = minimize_scalar(lambda b: -profile(b), bracket=(0, 1 / scale), tol=1e-4)
    return _likelihood_limits(profile, float(top.x), 0.5 / scale, level)


def _drop(level: float) -> float:
    return float(ndtri((1 + level) / 2)) ** 2 / 2


def _likelihood_limits(
    profile: Callable[[float], float], best: float, step: float, level: float, rtol: float = 1e-8
) -> _Ends:
    """Values whose likelihood is not too far below its maximum, sought in steps on both sides of it."""
    target = profile(best) - _drop(level)
    low, high = (_crossing(profile, target, best, way, rtol) for way in (-step, step))
    return low, high


def _crossing(profile: Callable[[float], float], target: float, start: float, step: float, rtol: float = 1e-8) -> float:
    """The first value from `start` in the direction of `step` at which a likelihood crosses `target`; or infinity."""
    above = profile(start) > target
    inner, outer = start, start + step
    for _ in range(_DOUBLINGS):
        if (profile(outer) > target) != above:
            ends = min(inner, outer), max(inner, outer)
            return bracketed_root(lambda b: profile(b) - target, *ends, xtol=1e-12, rtol=rtol)
        step *= 2
        inner, outer = outer, outer + step
    return math.copysign(math.inf, step)


def _covariance(
    x: Floats, cells: Cells, slope: float, intercept: float, cluster_rows: ClusteredRows | None
) -> tuple[Floats, float]:
    """From the information (whole weights), the sandwich of independent rows (other weights) or that of clusters.

    It is nan if there is no finite slope, or if log-odds are too far apart for the arithmetic. With degrees of freedom.
    """
    unknown = np.full((2, 2), math.nan), math.inf
    if math.isnan(slope):
        return unknown
    # About their centre, since scores that are nearly equal would leave nothing but rounding of the determinant.
    centre = float(np.average(x, weights=cells.weight))
    information = line_sums(x, cells.weight, cells.events, slope, intercept + slope * centre, centre)[1]
    if not information[0, 0] * information[1, 1] - information[0, 1] ** 2 > 0:
        return unknown
    from_centre = np.array([[1.0, -centre], [0.0, 1.0]])
    bread = from_centre @ np.linalg.inv(information)
    if cluster_rows is None and cells.whole:
        return bread @ from_centre.T, math.inf
    spread, freedom, of_rarer = _score_spread(x, cells, slope, intercept, centre, cluster_rows)
    return bread @ spread @ bread.T, of_rarer if cluster_rows is None else min(freedom, of_rarer)


def _score_spread(
    x: Floats, cells: Cells, slope: float, intercept: float, centre: float, rows: ClusteredRows | None
) -> tuple[Floats, float, float]:
    """The covariance of the score of the likelihood about a centre, over weighted rows or clusters.

    Then the degrees of freedom: of all rows or clusters, and of those with the rarer class.
    """
    if rows is None:
        X = np.stack([np.ones(x.size), x - centre]).T
        every, of_events = cells.square_sums
        classes = (cells.weight, every), (cells.events, of_events), (cells.weight - cells.events, every - of_events)
        freedom, *each = (max(1.0, float(w.sum() ** 2 / w2.sum()) - 1) for w, w2 in classes)
        return X.T @ (X * cells.residual_squares(expit(intercept + slope * x))[:, None]), freedom, min(each)
    kept = (rows.p > 0) & (rows.p < 1)
    x, y, w = logits(rows.p[kept]), rows.y[kept], rows.w[kept]
    codes = np.unique(rows.cluster[kept], return_inverse=True)[1]
    residual = w * (y - expit(intercept + slope * x))
    sums = np.stack([np.bincount(codes, residual), np.bincount(codes, residual * (x - centre))])
    groups = sums.shape[1]
    seen = min(np.unique(codes[label]).size for label in (y > 0, y < 1))
    return sums @ sums.T * groups / max(groups - 1, 1), effective_number(codes, w) - 1, max(seen - 1.0, 1.0)


def free_intercept_limits(
    cells: Cells, level: float, cluster_rows: ClusteredRows | None = None, line: FittedLine | None = None
) -> Limits:
    r"""The intercept :math:`a` in :math:`\mathrm{logit}\,P(Y = 1) = a + b\,\mathrm{logit}\,p`, with b free.

    Methods as for :func:`slope_limits`, without a penalty. With the slope fixed at 1 it is another number, the
    calibration in the large (:func:`shift_limits`).
    """
    line = line or fit_line(cells, cluster_rows)
    method = line.sandwich or ("Wald" if line.rarer > MANY else "profile likelihood")
    limits, error = line.wald(0, level), line.error(0)
    if cluster_rows is not None and line.rarer < _FEW and cells.whole:
        limits = _hull(limits, free_intercept_limits(cells, level)[:2])
    if not line.sandwich and line.rarer <= MANY and math.isfinite(limits[0]):
        x, w, e = _pooled(line.x, line.inside.cells)

        def profile(a: float) -> float:
            return log_likelihood(a + _best_slope(a, x, w, e, line.slope) * x, w, e)

        limits = _likelihood_limits(profile, line.intercept, error, level)
    return Limits(*limits, method, error, line.left_out, line.intercept)


def _best_slope(intercept: float, x: Floats, w: Floats, e: Floats, start: float) -> float:
    """The slope of the largest likelihood beside a given intercept."""

    def gradient(slope: float) -> float:
        return float((e - w * expit(intercept + slope * x)) @ x)

    return _crossing(gradient, 0.0, start, 1.0 if gradient(start) > 0 else -1.0, 1e-14)


# Above this many distinct scores, limits come from pools of neighbours.
_POOLS = 4096
_TINY = 1e-300
_PRECISION = 1e-12
_NO_LIMITS = -math.inf, math.inf
_OTHER_SLOPE = "The limits assume a slope of 1, which these rows refute; those of observed/expected do not."


def shift_limits(cells: Cells, level: float, cluster_rows: ClusteredRows | None = None) -> Limits:
    r"""The intercept in :math:`\mathrm{logit}\,P(Y = 1) = a + \mathrm{logit}\,p`; nan if all labels are equal.

    Independent rows, weighted by whole numbers or not at all, have likelihood-ratio limits (R's ``confint``) or, if all
    labels are equal, an exact one: the shift at which such labels have probability (1 − level)/2. Other weights and
    clusters have Wald limits with the sandwich variance and Student's t.
    """
    inside = inside_cells(cells).cells
    x = logits(inside.score)
    shift = recalibration_shift(x, inside.weight, inside.events)
    rarer = min(inside.totals.events, inside.totals.weight - inside.totals.events)
    method = "Wald" if rarer > MANY else "profile likelihood" if rarer else "exact, one class"
    if math.isnan(shift):
        known = cluster_rows is None and cells.whole and x.size
        return Limits(*(_exact_limits(x, inside, level) if known else _NO_LIMITS), method, value=shift)
    precision, freedom = float(line_sums(x, inside.weight, inside.events, 1.0, shift)[1][0, 0]), math.inf
    if cluster_rows is not None or not inside.whole:
        spread, freedom, _ = _score_spread(x, inside, 1.0, shift, 0.0, cluster_rows)
        precision = precision**2 / float(spread[0, 0]) if spread[0, 0] > 0 else 0.0
    error = 1 / math.sqrt(precision) if precision > 0 else math.nan
    if cluster_rows is not None or not cells.whole or rarer > MANY:
        return Limits(*wald_limits(shift, error**2, freedom, level), method, error, value=shift)
    w, e = inside.weight, inside.events
    x, w, e = _pool(x, w, e, shift) if x.size > _POOLS else (x, w.astype(np.float64), e.astype(np.float64))
    step = min(1e6, error)  # in this order, which takes 1e6 instead of nan
    limits = _likelihood_limits(lambda a: log_likelihood(x + a, w, e), shift, step, level, _PRECISION)
    return Limits(*limits, method, error, value=shift)


def intercept_limits(cells: Cells, level: float, cluster_rows: ClusteredRows | None, line: FittedLine) -> Limits:
    """The same with what the fitted line tells: the scores left out, and whether the slope can be 1."""
    found = shift_limits(cells, level, cluster_rows)
    low, high = line.wald(1, level)
    # The sandwich of clusters and other weights holds for any slope.
    doubtful = not line.sandwich and not low <= 1 <= high
    note = " ".join(filter(None, [line.left_out, _OTHER_SLOPE if doubtful else ""]))
    return found._replace(method=line.sandwich or found.method, note=note)


def _pool(x: Floats, w: Numbers, e: Numbers, shift: float) -> tuple[Floats, Floats, Floats]:
    """Neighbours at the log-odds of their mean probability at `shift`, in pools of about equal information."""
    expected, others = w * expit(x + shift), w * expit(-x - shift)
    reached = np.cumsum(expected * others / w)
    first = np.unique(np.searchsorted(reached, np.arange(_POOLS) * reached[-1] / _POOLS))
    weight, events, expected, others = (np.add.reduceat(column, first) for column in (w, e, expected, others))
    with np.errstate(divide="ignore", over="ignore"):
        odds = expected / others
    return np.log(np.clip(odds, _TINY, 1 / _TINY)) - shift, weight.astype(np.float64), events.astype(np.float64)


def _exact_limits(x: Floats, cells: Cells, level: float) -> tuple[float, float]:
    """Shifts at which labels that are all equal have a probability of at least (1 − level)/2."""
    w, e = cells.weight.astype(np.float64), cells.events.astype(np.float64)

    def likelihood(a: float) -> float:
        return log_likelihood(x + a, w, e)

    target = math.log((1 - level) / 2)
    side = 1 if e.any() else -1  # to which the probability increases towards 1
    limit = _crossing(likelihood, target, 0.0, -side if likelihood(0.0) > target else side, _PRECISION)
    return (limit, math.inf) if side > 0 else (-math.inf, limit)
