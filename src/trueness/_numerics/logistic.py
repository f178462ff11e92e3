"""Logistic regression on log-odds, with free or nonnegative coefficients."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from trueness import _kernels
from trueness._kernels.fixed import fixed_value
from trueness._kernels.grid import GRID_CELLS
from trueness._numerics.roots import bracketed_root
from trueness.typing import Bools, Floats, Numbers

_CONVERGED = 1e-12
_EQUAL = 1e-12
_MAX_STEPS = 200
_MAX_HALVINGS = 60
# If expected events leave a smaller share of the weight than this, whole events are summed without
# rounding.
_SATURATED = 1e-3
# Directions of smaller relative curvature than this are left alone.
_FLAT = 1e-13
# A coefficient this close to its bound that moves towards it is treated as if it were there.
NEAR = 1e-3
# If all log-odds are far from 0, there is less curvature than this; then the search begins with
# smaller log-odds.
_NO_CURVATURE = 1e-6
_MODEST = 5.0
# Rows whose temporaries stay in the processor's cache, and whose products are not worth a second
# thread to BLAS.
_BLOCK = 2**13
# More cells than this are first fitted in about as many pools of neighbours, which leaves a Newton
# step or two.
_POOLS = 4096
_MAX_FULL_STEPS = 6
_NEARLY_CONVERGED = 1e-7
# As many rows are first fitted in the cells of a grid, and are not sorted.
_MANY_ROWS = 2**15
# Beyond these log-odds the exponential would overflow.
_MOST_LOG_ODDS = 700.0
# With less information than this per row, most expected events are whole, and sums of what remains
# would be rounded.
_LITTLE = 1e-5


def recalibration_line(
    logit: ArrayLike, weight: ArrayLike, events: ArrayLike
) -> tuple[float, float]:
    r"""Slope and intercept of the logistic regression of events on log-odds.

    (1, 0) for perfect log-odds.

    From finite log-odds, and the weight of the rows and of the events at each of them; cells of
    weight 0 are ignored. Both estimates are nan, without a warning, where no finite one exists: all
    labels equal, all log-odds equal, or a threshold on the log-odds that separates the labels (ties
    on it included). An event share within 1e-12 of 0 or 1 counts as 0 or 1, and log-odds that
    differ by at most 1e-12 count as equal.

    D. R. Cox, Two further applications of a model for binary regression, Biometrika 45 (1958),
    562-565. :doi:`10.1093/biomet/45.3-4.562`
    """
    x = np.asarray(logit, np.float64)
    w = np.asarray(weight)
    e = np.asarray(events)
    if x.size > _POOLS and (line := _line_of_many(x, w, e)):
        return line
    x, w, e = _cells(x, w, e)
    if not _overlap(x, w, e):
        return math.nan, math.nan
    total = float(np.sum(w))
    centre = float(np.sum(w * x)) / total
    scale = math.sqrt(float(np.sum(w * (x - centre) ** 2)) / total)
    if scale <= _EQUAL * (1 + abs(centre)):
        return math.nan, math.nan
    X = np.stack(
        [np.ones(x.size), (x - centre) / scale]
    ).T  # columns side by side in memory: twice as fast
    a, b = (float(c) for c in _newton(X, w / total, e / total, np.zeros(2), np.zeros(2, np.bool_)))
    return b / scale, a - b * centre / scale


def _line_of_many(
    x: Floats, w: Numbers, e: Numbers, *, fixed_slope: bool = False
) -> tuple[float, float] | None:
    """Slope and intercept of many cells: a fit to pools of neighbours, then Newton steps.

    One or two steps are taken on all cells.

    None where that is not known to be accurate: nearly separated labels, or log-odds in no order.
    """
    return _refined(
        line_pools(x, w, e, _POOLS), lambda *line: line_sums(x, w, e, *line), fixed_slope
    )


class Cells(NamedTuple):
    """Log-odds, the weight of the rows at each of them, and that of the rows with an event."""

    logit: Floats
    weight: Floats
    events: Floats


def _refined(
    few: Cells | None,
    sums: Callable[..., tuple[Floats, Floats]],
    fixed_slope: bool,
) -> tuple[float, float] | None:
    """Slope and intercept by Newton's method, from the fit to `few` pools on.

    None where that may be inaccurate.

    `sums` returns score and information of all rows for a slope, an intercept and the centre of the
    log-odds.
    """
    if few is None:
        return None
    slope, intercept = (1.0, recalibration_shift(*few)) if fixed_slope else recalibration_line(*few)
    total = float(np.sum(few.weight))
    centre = float(few.logit @ few.weight) / total
    variance = float(few.weight @ (few.logit - centre) ** 2) / total
    scale = 1.0 if fixed_slope else math.sqrt(variance)
    intercept += slope * centre
    for _ in range(_MAX_FULL_STEPS):
        if not math.isfinite(intercept):
            return None
        residual, information = sums(slope, intercept, centre)
        if not (information[0, 0] > _LITTLE * total and np.linalg.det(information) > 0):
            return None
        alone = [float(residual[0] / information[0, 0]), 0.0]
        lift, turn = alone if fixed_slope else np.linalg.solve(information, residual).tolist()
        intercept = intercept + lift
        slope = slope + turn
        moved = max(abs(lift), abs(turn) * scale)
        if moved > NEAR:
            return None
        # Steps shrink quadratically: the next is no step at all.
        if moved <= _NEARLY_CONVERGED * (1 + abs(intercept)):
            return slope, intercept - slope * centre
    return None


def line_sums(
    x: Floats,
    w: Numbers | None,
    e: NDArray[Any],
    slope: float,
    intercept: float,
    centre: float = 0.0,
) -> tuple[Floats, Floats]:
    r"""Score and Fisher information of the two parameters of a logistic regression, in one pass.

    For the intercept and the slope these are :math:`\sum (e - w q)\,(1, x - c)` and
    :math:`\sum w q (1 - q)\,(1, x - c)(1, x - c)^\top`, where
    :math:`\mathrm{logit}\,q = a + b (x - c)`; a weight of None is 1 for each row.
    """
    sums = np.zeros(5)
    for i in range(0, x.size, _BLOCK):
        block = slice(i, i + _BLOCK)
        z = x[block] - centre
        eta = np.clip(slope * z + intercept, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
        odds_against = np.exp(-eta)
        q = 1 / (1 + odds_against)
        expected = q if w is None else w[block] * q
        residual = e[block] - expected
        spread = expected * (odds_against * q)
        bent = spread * z
        sums += residual.sum(), residual @ z, spread.sum(), bent.sum(), bent @ z
    return sums[:2], sums[[[2, 3], [3, 4]]]


def logits(p: NDArray[Any]) -> Floats:
    """Log-odds of scores in [0, 1]."""
    score = p.astype(np.float64, copy=False)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(score) - np.log1p(-score))


def line_of_scores(
    score: NDArray[Any], weight: Numbers | None, events: NDArray[Any], *, fixed_slope: bool = False
) -> tuple[float, float]:
    """The line of :func:`recalibration_line` on the log-odds of scores strictly between 0 and 1.

    Scores with weights must be ascending.

    A weight of None means rows with labels, in any order. With `fixed_slope` the slope is 1 and the
    intercept that of :func:`recalibration_shift`.
    """
    if weight is None:
        if score.size >= _MANY_ROWS and (line := _line_of_many_rows(score, events, fixed_slope)):
            return line
        _, score, weight, events = _kernels.cells(score, events)
    x = logits(score)
    if fixed_slope:
        return (1.0, recalibration_shift(x, weight, events))
    return recalibration_line(x, weight, events)


def _line_of_many_rows(
    score: NDArray[Any], label: NDArray[Any], fixed_slope: bool
) -> tuple[float, float] | None:
    """Slope and intercept of unsorted rows: a fit to the cells of a grid, then Newton steps.

    A few steps are taken on all rows.

    None where that is not known to be accurate.
    """
    table = np.zeros((GRID_CELLS, 2, 5), np.int64)
    _kernels.sketch_sums(score, label, table, np.tile([np.inf, -np.inf], (GRID_CELLS, 1)))
    table = table[table[:, :, 0].any(axis=1)]
    n, high, low = table[:, :, :3].sum(axis=1).T
    # Whole numbers cut what is below 2⁻⁵³.
    mean = np.clip(fixed_value(high, low) / n, 2.0**-54, 1 - 2.0**-53)
    pools = Cells(logits(mean), n.astype(np.float64), table[:, 1, 0].astype(np.float64))
    x = logits(score)
    return _refined(pools, lambda *line: line_sums(x, None, label, *line), fixed_slope)


def log_likelihood(eta: Floats, weight: Floats, events: Floats) -> float:
    """Log-likelihood of a logistic model: Σ e·η − w·log(1 + exp(η)).

    `eta` holds the log-odds of the cells, `weight` (w) and `events` (e) the weights of their rows
    and of those with an event. In blocks, to keep temporaries small.
    """
    total = 0.0
    for i in range(0, eta.size, _BLOCK):
        block = slice(i, i + _BLOCK)
        x = eta[block]
        w = weight[block]
        e = events[block]
        # Where labels agree with certain log-odds, nothing of them must be left over by rounding.
        total -= float(w @ np.log1p(np.exp(-np.abs(x))) + np.where(x > 0, w - e, -e) @ x)
    return total


def line_pools(x: Floats, w: Numbers, e: Numbers, most: int) -> Cells | None:
    """Pool neighbouring cells for a first fit: their mean log-odds, weight and events.

    `x` are the log-odds of the cells, `w` their weights and `e` the weights of their events. At
    most `most` pools are made, of equal numbers of cells. None if some cell has no weight.
    """
    length = -(-x.size // most)
    first = np.arange(0, x.size, length)
    weight = np.add.reduceat(w, first).astype(np.float64)
    events = np.add.reduceat(e, first).astype(np.float64)
    if not np.min(w) > 0:
        return None
    # In pieces: a temporary of all cells costs more than the sums.
    step = length * max(1, _BLOCK // length)
    pieces = (slice(i, i + step) for i in range(0, x.size, step))
    sums = [
        np.add.reduceat(w[piece] * x[piece], np.arange(0, x[piece].size, length))
        for piece in pieces
    ]
    return Cells(np.concatenate(sums) / weight, weight, events)


def recalibration_shift(logit: ArrayLike, weight: ArrayLike, events: ArrayLike) -> float:
    """Intercept of the logistic regression of events on log-odds, with the slope fixed at 1.

    Adding it to all log-odds makes the expected number of events equal to the observed one. `logit`
    holds the log-odds of cells, `weight` the weight of their rows, and `events` the weight of the
    rows with an event. It is nan, without a warning, if all labels are equal.
    """
    x = np.asarray(logit, np.float64)
    w = np.asarray(weight)
    e = np.asarray(events)
    if x.size > _POOLS and (line := _line_of_many(x, w, e, fixed_slope=True)):
        return line[1]
    x, w, e = _cells(x, w, e)
    # By a power of two, which rounds nothing: sums of weights that cancel must still cancel.
    scale = 2.0 ** -max(math.frexp(float(np.max(w, initial=0.0)))[1], -1000)
    if not (_present(e, w).any() and _present(w - e, w).any()):
        return math.nan
    non_events = scale * np.maximum(w - e, 0)
    e = scale * e
    if (x[1:] < x[:-1]).any():
        order = np.argsort(x, kind="stable")
        x = x[order]
        e = e[order]
        non_events = non_events[order]
    w = e + non_events
    observed = math.log(float(np.sum(e))) - math.log(float(np.sum(non_events)))
    low = observed - float(np.max(x))
    high = observed - float(np.min(x))
    slack = 1e-9 * (1 + abs(low) + abs(high))  # rounding must not move the zero beyond the ends

    def balance(shift: float) -> float:
        return _balance(x + shift, w, e, non_events)

    return bracketed_root(balance, low - slack, high + slack, xtol=1e-13, rtol=1e-13)


def _balance(eta: Floats, weight: Floats, events: Floats, others: Floats) -> float:
    """A number with the sign of observed minus expected events at ascending log-odds.

    Expected shares near 0 or 1 must not be rounded to 0 or 1, so the remainder of each is summed
    separately, and the whole events and non-events are balanced first. Then the logarithms of both
    sides are compared, which are linear in the shift where shares are small.
    """
    cut = int(np.searchsorted(eta, 0.0, side="right"))
    less = float(weight[:cut] @ expit(eta[:cut]))
    more = float(weight[cut:] @ expit(-eta[cut:]))
    below = float(np.sum(events[:cut]))
    above = float(np.sum(others[cut:]))
    whole = below - above
    if more + less < _SATURATED * (below + above):
        whole = math.fsum((*events[:cut].tolist(), *(-others[cut:]).tolist()))
    more = more + max(whole, 0.0)
    less = less + max(-whole, 0.0)
    if more == 0 or less == 0:
        if more != less:
            return math.copysign(math.inf, more - less)
        return 0.0
    return math.log(more) - math.log(less)


def _cells(x: Floats, w: Numbers, e: Numbers) -> Cells:
    """The cells with weight, as floats."""
    w = np.asarray(w, np.float64)
    e = np.asarray(e, np.float64)
    kept = w > 0
    if kept.all():
        return Cells(x, w, e)
    return Cells(x[kept], w[kept], e[kept])


def _present(part: Floats, whole: Floats) -> Bools:
    # Weighted sums of the same rows may differ in their last digits; such a remainder is no event.
    return np.asarray(part > _EQUAL * whole)


def _overlap(x: Floats, w: Floats, e: Floats) -> bool:
    """Whether no threshold separates events from non-events, not even with ties on it."""
    with_event = x[_present(e, w)]
    without = x[_present(w - e, w)]
    if with_event.size == 0 or without.size == 0:
        return False
    return bool(with_event.max() > without.min() and without.max() > with_event.min())


def bounded_logistic(
    X: Floats, weight: Floats, events: Floats, start: Floats, bounded: Bools
) -> Floats:
    r"""Maximum-likelihood coefficients of a logistic regression, some of them at least 0.

    `X`, of shape (n, k), holds the predictors; no intercept is added. Rows have a weight above 0.
    The search begins at `start`; if several coefficients are equally likely, the nearest to it is
    returned. `bounded` ones must not be negative.

    The caller must know that the estimate exists. Projected Newton method with step halving
    (Bertsekas, Projected Newton methods for optimization problems with simple constraints, SIAM
    Journal on Control and Optimization 20, 1982).
    """
    total = float(weight.sum())
    w = weight / total
    e = events / total
    theta = start.astype(np.float64)
    if not X.any():  # every coefficient is as likely
        return theta
    if np.max(np.abs(_loss(theta, X, w, e).hessian)) >= _NO_CURVATURE:
        return _newton(X, w, e, theta, bounded)
    theta = _newton(X, w, e, theta * (_MODEST / float(np.max(np.abs(X @ theta)))), bounded)
    return _nearest(theta, start, X, w, bounded)


def _newton(X: Floats, w: Floats, e: Floats, theta: Floats, bounded: Bools) -> Floats:
    """Minimise the mean log loss of a logistic regression, from the coefficients `theta` on.

    `X` holds the predictors; `w` and `e` are the weights of the rows and of their events, divided
    by the total weight. Coefficients that are `bounded` stay at 0 or above. A step is halved until
    the loss falls enough. It ends at a small step, and without an error after `_MAX_STEPS` steps.
    """
    loss = _loss(theta, X, w, e)
    for _ in range(_MAX_STEPS):
        step = _direction(theta, loss.gradient, loss.hessian, bounded)
        for _ in range(_MAX_HALVINGS):
            trial = np.where(bounded, np.maximum(theta + step, 0), theta + step)
            descent = float(loss.gradient @ (trial - theta))
            at_trial = _loss(trial, X, w, e)
            # Near the optimum the loss is too flat to compare; Newton's step is still accurate.
            if at_trial.mean <= loss.mean + 1e-4 * descent or abs(descent) < 1e-13:
                break
            step = step / 2
        moved = float(np.max(np.abs(trial - theta)))
        theta = trial
        loss = at_trial
        if moved <= _CONVERGED * (1 + float(np.max(np.abs(theta)))):
            break
    return theta


def _nearest(theta: Floats, start: Floats, X: Floats, w: Floats, bounded: Bools) -> Floats:
    """Of all coefficients with the same log-odds as `theta`, those nearest to `start`.

    Predictors that depend on each other linearly leave directions in which the likelihood is flat;
    `theta` is moved along these. If that makes a `bounded` coefficient negative, `theta` itself is
    returned.
    """
    values, vectors = np.linalg.eigh(X.T @ (X * w[:, None]))
    flat = vectors[:, values <= _FLAT * values[-1]]
    moved = theta + flat @ (flat.T @ (start - theta))
    if (moved[bounded] < 0).any():
        return theta
    return np.asarray(moved)


def _direction(theta: Floats, gradient: Floats, hessian: Floats, bounded: Bools) -> Floats:
    """Newton's step for a loss whose `bounded` coefficients must not be negative.

    `gradient` and `hessian` are the derivatives of the loss at `theta`. A bounded coefficient is
    held if it is at or near 0 and the loss would push it below: it goes to 0. The others take the
    Newton step with these fixed (Bertsekas, 1982).
    """
    target = np.where(bounded, np.maximum(theta - gradient, 0), theta - gradient) - theta
    near = min(NEAR, float(np.max(np.abs(target))))
    held = bounded & (theta <= near) & (gradient > 0)
    step = np.where(held, -theta, 0.0)
    free = ~held
    if free.any():
        step[free] = -np.linalg.lstsq(hessian[np.ix_(free, free)], gradient[free], rcond=_FLAT)[0]
    return step


class _Loss(NamedTuple):
    """The mean log loss and its derivatives."""

    mean: float
    gradient: Floats
    hessian: Floats


def _loss(theta: Floats, X: Floats, w: Floats, e: Floats) -> _Loss:
    """Mean log loss of a logistic regression at `theta`, with gradient and second derivatives.

    `w` and `e` are the weights of the rows and of their events, divided by the total weight.
    """
    loss = 0.0
    gradient = np.zeros(theta.size)
    hessian = np.zeros((theta.size, theta.size))
    for i in range(0, w.size, _BLOCK):
        rows = slice(i, i + _BLOCK)
        eta = X[rows] @ theta
        decay = np.exp(-np.abs(eta))
        loss += float(np.sum(w[rows] * (np.maximum(eta, 0) + np.log1p(decay)) - e[rows] * eta))
        expected = np.where(eta >= 0, 1.0, decay) / (1 + decay)
        gradient += X[rows].T @ (w[rows] * expected - e[rows])
        hessian += X[rows].T @ (X[rows] * (w[rows] * decay / (1 + decay) ** 2)[:, None])
    return _Loss(loss, gradient, hessian)
