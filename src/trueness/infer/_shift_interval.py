"""Confidence limits for the calibration intercept: the shift of all log-odds, with the slope fixed at 1."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri, stdtrit

from trueness._numerics.logistic import line_sums, recalibration_shift
from trueness._tally.cells import Cells
from trueness.infer._clustered_rows import ClusteredRows, effective_number
from trueness.infer._slope_interval import likelihood_crossing
from trueness.measure._slope import inside_cells, logits
from trueness.typing import Floats, Numbers

# With more rows of the rarer class than this, the likelihood and the Wald limits differ by less than 0.1 % of their
# width.
_MANY = 20_000
# Above this many distinct scores, limits come from pools of neighbours.
_MANY_SCORES = 4096
_TINY = 1e-300
# Doublings of the step in search of a limit.
_DOUBLINGS = 60
_PRECISION = 1e-12


class ShiftInterval(NamedTuple):
    """The calibration intercept with confidence limits."""

    shift: float
    """nan if all labels are equal; one limit is still finite."""
    low: float
    high: float
    standard_error: float
    """From the information, or the sandwich for clusters and weights that are not whole numbers."""


def shift_interval(cells: Cells, level: float, cluster_rows: ClusteredRows | None = None) -> ShiftInterval:
    r"""Confidence interval for the intercept in :math:`\mathrm{logit}\,P(Y = 1) = a + \mathrm{logit}\,p`.

    Independent rows, weighted by whole numbers or not at all, have likelihood-ratio limits (R's ``confint``). Other
    weights and clusters have Wald limits with the sandwich variance and Student's t. Scores of exactly 0 and 1 are
    left out.

    Parameters
    ----------
    cells : Cells
        Sums of the rows per distinct score.
    level : float
        Confidence level, two-sided.
    cluster_rows : ClusteredRows, optional
        The same rows in clusters.

    Examples
    --------
    Of a hundred rows with score 1/2, ten are events: the log-odds are too high by log 9.

    >>> one = Cells(np.array([0.5]), np.array([100]), np.array([100]), np.array([10]))
    >>> [round(x, 3) for x in shift_interval(one, 0.95)]
    [-2.197, -2.915, -1.594, 0.333]
    """
    inside = inside_cells(cells).cells
    x = logits(inside.score)
    shift = recalibration_shift(x, inside.weight, inside.events)
    if math.isnan(shift):
        limits = -math.inf, math.inf
        if cluster_rows is None and cells.exact:
            limits = _limits(x, inside.weight.astype(np.float64), inside.events.astype(np.float64), shift, level)
        return ShiftInterval(shift, *limits, math.nan)
    precision, freedom = _precision(x, inside, shift, cluster_rows)
    error = 1 / math.sqrt(precision) if precision > 0 else math.nan
    if cluster_rows is not None or not cells.exact or _rarer(inside) > _MANY:
        return ShiftInterval(shift, *_reach(shift, precision, level, freedom), error)
    w, e = inside.weight.astype(np.float64), inside.events.astype(np.float64)
    pooled = (x, w, e) if x.size <= _MANY_SCORES else _pool(x, w, e, shift)
    return ShiftInterval(shift, *_limits(*pooled, shift, level), error)


def limits_in_words(inside: Cells) -> str:
    """How limits of independent rows with whole weights are found; `inside` has no scores of 0 and 1."""
    return "Wald" if _rarer(inside) > _MANY else "profile likelihood"


def _pool(x: Floats, w: Floats, e: Floats, shift: float) -> tuple[Floats, Floats, Floats]:
    """Neighbours at the log-odds of their mean probability at `shift`, in pools of about equal information."""
    q, r = expit(x + shift), expit(-x - shift)
    information = np.cumsum(w * q * r)
    cuts = np.searchsorted(information, np.arange(1, _MANY_SCORES) * (information[-1] / _MANY_SCORES))
    first = np.unique(np.concatenate([[0], cuts[cuts < x.size]]))
    with np.errstate(divide="ignore", over="ignore"):
        odds = np.add.reduceat(w * q, first) / np.add.reduceat(w * r, first)
    return np.log(np.clip(odds, _TINY, 1 / _TINY)) - shift, np.add.reduceat(w, first), np.add.reduceat(e, first)


def _limits(x: Floats, w: Floats, e: Floats, shift: float, level: float) -> tuple[float, float]:
    """Shifts whose likelihood is not too far below its maximum or, with equal labels, its supremum."""
    if x.size == 0:
        return -math.inf, math.inf

    def likelihood(a: float) -> float:
        return float(-(e @ np.logaddexp(0, -x - a) + (w - e) @ np.logaddexp(0, x + a)))

    drop = float(ndtri((1 + level) / 2)) ** 2 / 2
    if math.isnan(shift):  # all labels are equal, and the likelihood increases towards 1
        side = 1 if e.any() else -1
        centre = -side * float(np.average(x, weights=w))
        inner = next(centre + side * 2.0**k for k in range(_DOUBLINGS) if likelihood(centre + side * 2.0**k) > -drop)
        limit = likelihood_crossing(likelihood, -drop, inner, -side, _PRECISION)
        return (limit, math.inf) if side > 0 else (-math.inf, limit)
    step = 1 / math.sqrt(max(_information(x, w, shift), 1e-12))
    target = likelihood(shift) - drop
    low, high = (likelihood_crossing(likelihood, target, shift, way, _PRECISION) for way in (-step, step))
    return low, high


def _information(x: Floats, w: Numbers, shift: float) -> float:
    return float(line_sums(x, w, w, 1.0, shift)[1][0, 0])


def _rarer(cells: Cells) -> float:
    """Rows of the rarer class."""
    _, weight, events = cells.totals
    return min(events, weight - events)


def _reach(shift: float, precision: float, level: float, freedom: float) -> tuple[float, float]:
    if not (precision > 0 and freedom > 0):
        return -math.inf, math.inf
    quantile = stdtrit(freedom, (1 + level) / 2) if math.isfinite(freedom) else ndtri((1 + level) / 2)
    reach = float(quantile) / math.sqrt(precision)
    return shift - reach, shift + reach


def _precision(x: Floats, inside: Cells, shift: float, rows: ClusteredRows | None) -> tuple[float, float]:
    """One over the variance of the shift, and the degrees of freedom of Student's t (inf: the normal law)."""
    information = _information(x, inside.weight, shift)
    if rows is None and inside.exact:
        return information, math.inf
    if rows is None:
        assert inside.squares is not None
        assert inside.event_squares is not None
        q = expit(x + shift)
        meat = float(inside.event_squares @ (1 - q) ** 2 + (inside.squares - inside.event_squares) @ q**2)
        freedom = max(1.0, float(inside.weight.sum() ** 2 / inside.squares.sum()) - 1)
    else:
        kept = (rows.p > 0) & (rows.p < 1)
        p, y = rows.p[kept], np.asarray(rows.top.y, np.float64)[kept]
        w = np.ones(p.size) if rows.weight is None else rows.weight[kept]
        codes = np.unique(rows.cluster[kept], return_inverse=True)[1]
        sums = np.bincount(codes, w * (y - expit(logits(p) + shift)))
        freedom = effective_number(codes, w) - 1
        meat = float(sums @ sums) * sums.size / max(sums.size - 1, 1)
    return information**2 / meat if meat > 0 else 0.0, freedom
