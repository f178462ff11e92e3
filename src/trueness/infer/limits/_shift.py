"""Confidence limits for the calibration intercept: the shift of all log-odds, with the slope fixed at 1."""

import math

import numpy as np
from scipy.special import expit, ndtri

from trueness._numerics.logistic import line_sums, log_likelihood, logits, recalibration_shift
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows, effective_number
from trueness.infer.limits._limits import Limits
from trueness.infer.limits._slope import FittedLine, likelihood_crossing, rows_inside, wald_limits
from trueness.measure._slope import inside_cells
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
_NO_LIMITS = -math.inf, math.inf
_OTHER_SLOPE = "The limits assume a slope of 1, which these rows refute; those of observed/expected do not."


def shift_limits(cells: Cells, level: float, cluster_rows: ClusteredRows | None = None) -> Limits:
    r"""The intercept in :math:`\mathrm{logit}\,P(Y = 1) = a + \mathrm{logit}\,p`; nan if all labels are equal.

    Independent rows, weighted by whole numbers or not at all, have likelihood-ratio limits (R's ``confint``) or, if all
    labels are equal, an exact one: the shift at which such labels have probability (1 − level)/2. Other weights and
    clusters have Wald limits with the sandwich variance and Student's t. Scores of exactly 0 and 1 are left out.

    Examples
    --------
    Of a hundred rows with score 1/2, ten are events: the log-odds are too high by log 9.

    >>> one = Cells(np.array([0.5]), np.array([100]), np.array([100]), np.array([10]))
    >>> found = shift_limits(one, 0.95)
    >>> [round(x, 3) for x in (found.value, found.low, found.high, found.standard_error)]
    [-2.197, -2.915, -1.594, 0.333]
    """
    inside = inside_cells(cells).cells
    x = logits(inside.score)
    shift = recalibration_shift(x, inside.weight, inside.events)
    rarer = min(inside.totals.events, inside.totals.weight - inside.totals.events)
    method = "Wald" if rarer > _MANY else "profile likelihood" if rarer else "exact, one class"
    if math.isnan(shift):
        known = cluster_rows is None and cells.whole and x.size
        return Limits(*(_exact_limits(x, inside, level) if known else _NO_LIMITS), method, value=shift)
    precision, freedom = _precision(x, inside, shift, cluster_rows)
    error = 1 / math.sqrt(precision) if precision > 0 else math.nan
    if cluster_rows is not None or not cells.whole or rarer > _MANY:
        return Limits(*wald_limits(shift, error**2, freedom, level), method, error, value=shift)
    w, e = inside.weight, inside.events
    pooled = _pool(x, w, e, shift) if x.size > _MANY_SCORES else (x, w.astype(np.float64), e.astype(np.float64))
    return Limits(*_limits(*pooled, shift, error, level), method, error, value=shift)


def intercept_limits(cells: Cells, level: float, cluster_rows: ClusteredRows | None, line: FittedLine) -> Limits:
    """The same with what the fitted line tells: the scores left out, and whether the slope can be 1."""
    found = shift_limits(cells, level, cluster_rows)
    low, high = line.covariance.limits(line.slope, 1, level)
    # The sandwich of clusters and other weights holds for any slope.
    doubtful = not line.sandwich and not low <= 1 <= high
    note = " ".join(filter(None, [line.left_out, _OTHER_SLOPE if doubtful else ""]))
    return found._replace(method=line.sandwich or found.method, note=note)


def _pool(x: Floats, w: Numbers, e: Numbers, shift: float) -> tuple[Floats, Floats, Floats]:
    """Neighbours at the log-odds of their mean probability at `shift`, in pools of about equal information."""
    expected, others = w * expit(x + shift), w * expit(-x - shift)
    reached = np.cumsum(expected * others / w)
    first = np.unique(np.searchsorted(reached, np.arange(_MANY_SCORES) * reached[-1] / _MANY_SCORES))
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
    side = 1 if e.any() else -1
    shifts = (side * 2.0**k for k in range(_DOUBLINGS))
    inner = next(a for a in shifts if likelihood(a) > target)  # the probability increases towards 1
    limit = likelihood_crossing(likelihood, target, inner, -side, _PRECISION)
    return (limit, math.inf) if side > 0 else (-math.inf, limit)


def _limits(x: Floats, w: Floats, e: Floats, shift: float, error: float, level: float) -> tuple[float, float]:
    """Shifts whose likelihood is not too far below its maximum."""

    def likelihood(a: float) -> float:
        return log_likelihood(x + a, w, e)

    target = likelihood(shift) - float(ndtri((1 + level) / 2)) ** 2 / 2
    step = min(1e6, error)  # in this order, which takes 1e6 instead of nan
    low, high = (likelihood_crossing(likelihood, target, shift, way, _PRECISION) for way in (-step, step))
    return low, high


def _precision(x: Floats, inside: Cells, shift: float, rows: ClusteredRows | None) -> tuple[float, float]:
    """One over the variance of the shift, and the degrees of freedom of Student's t (inf: the normal law)."""
    information = float(line_sums(x, inside.weight, inside.events, 1.0, shift)[1][0, 0])
    if rows is None and inside.whole:
        return information, math.inf
    if rows is None:
        assert inside.squares is not None
        assert inside.event_squares is not None
        q = expit(x + shift)
        meat = float(inside.event_squares @ (1 - q) ** 2 + (inside.squares - inside.event_squares) @ q**2)
        freedom = max(1.0, float(inside.weight.sum() ** 2 / inside.squares.sum()) - 1)
    else:
        logit, y, w, codes = rows_inside(rows)
        sums = np.bincount(codes, w * (y - expit(logit + shift)))
        freedom = effective_number(codes, w) - 1
        meat = float(sums @ sums) * sums.size / max(sums.size - 1, 1)
    return information**2 / meat if meat > 0 else 0.0, freedom
