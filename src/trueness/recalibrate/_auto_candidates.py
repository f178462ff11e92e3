"""Cross-fitting of the candidates of `AutoCalibration`, for a vector and for several classes.

Folds are the same for rows in any order; losses outside the training part give weights and gains.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, ndtr, ndtri

from trueness._numerics.ridge_logistic import ridge_logistic
from trueness._numerics.softmax import inverse_temperature, log_softmax
from trueness._numerics.students_t import t_limits
from trueness._numerics.units import Units
from trueness._tally.cells import Cells
from trueness._tally.rules import Isotonic
from trueness.recalibrate._calibration_set import CalibrationSet
from trueness.recalibrate._formula import Linear, joined, own_log_odds
from trueness.recalibrate._logit_map import (
    LINE,
    LOG_SCORES,
    LogitCells,
    LogitShape,
    bend,
    spline,
    spline_knots,
)
from trueness.recalibrate._temperature import Structure, fit_structured
from trueness.typing import Floats, Ints

_KNOTS = 5
# With more classes than this, candidates with parameters for pairs of classes, or fitted class by
# class, are left out.
_MOST_CLASSES = 100
# With more entries than this, all but the temperature is learnt from some of the rows.
_MOST_ENTRIES = 5_000_000
_MAX_ITER = 100
_MOST_DEALT = 2**22  # rows, weights included, that are dealt one by one; more are dealt by chance
_SEED = 20_260_101  # the draws that deal rows are always the same
_IDENTITY_SHARE = 0.5
Gain: TypeAlias = tuple[
    float, float, float
]  # by how much a loss falls, per row, and its confidence limits
_NO_GAIN = 0.0, -np.inf, np.inf
LEAST_CHANCE = 2 / 3  # how probably a map must be better in a new sample to be more than noise
# With fewer independent rows, or rows with the rarer outcome, the gain says little about new rows:
# in simulations with 50 rows a map was better in about 55 % of new samples, whatever its gain.
_ROWS_FOR_CHANCE = 1_000
_RARER_FOR_CHANCE = 50
# How far the gain, in standard errors, exceeds that in new rows: chosen by 2,000 fits to 1,000 and
# 2,000 rows (`benchmarks/cases/gains.py`, "smooth" and "rough").
_OPTIMISM = 0.3
# Below this the chance depends on how many models are calibrated: at 0.65 the map was better in
# 23 % of new samples of calibrated ones, and in 77 % of those of others.
_LEAST_STATED = 0.8


class Folds(NamedTuple):
    """The weight of events and of other rows by fold and log-odds: arrays (deals, folds, cells).

    Rows are dealt several times where they are few, so that chance in the deal matters less.
    """

    events: Floats
    others: Floats
    # The fold of each row in each deal, where rows were dealt; None where counts were.
    of_row: Ints | None

    def training(self) -> tuple[Floats, Floats]:
        """Weights, and weights of events, of the rows outside each fold, and last of all rows."""
        parts = []
        for side in (self.events + self.others, self.events):
            total = side.sum(axis=1, keepdims=True)
            parts.append(np.vstack([(total - side).reshape(-1, side.shape[2]), total[0]]))
        return parts[0], parts[1]


def number_of_deals(rows: float) -> int:
    """How often rows are dealt: up to five times if they are few."""
    return int(np.clip(2000 / rows, 1, 5))


def deal_folds(
    cells: LogitCells, rows: CalibrationSet, units: Units, number: int, deals: int
) -> Folds:
    """How the weight of each cell is split into folds, for several random deals.

    A cell holds the rows with one logit. `number` is that of folds, `deals` that of splits. The
    deal is random but always the same for the same rows; without clusters, events are spread
    evenly. The result has weights of events and of other rows, of shape (deals, folds, cells), and
    with clusters or fractional weights the fold of each row. Clusters stay in one fold; a whole
    weight counts as that many rows, which may be in different folds.
    """
    m = cells.z.size
    y = rows.y
    w = rows.w
    if not units.clustered and (w is None or ((w == np.rint(w)).all() and w.sum() < 2.0**53)):
        rng = np.random.default_rng(_SEED)
        events = np.rint(cells.events).astype(np.int64)
        non_events = np.rint(cells.weight).astype(np.int64) - events
        begin = int(events.sum())
        dealt = [
            (_deal_counts(events, 0, number, rng), _deal_counts(non_events, begin, number, rng))
            for _ in range(deals)
        ]
        return Folds(
            np.stack([dealt_events for dealt_events, _ in dealt]),
            np.stack([dealt_non_events for _, dealt_non_events in dealt]),
            None,
        )
    fold = deal_rows(cells.z[cells.cell], y, w, units, number, deals)
    code = ((np.arange(deals)[:, None] * number + fold) * m + cells.cell).ravel()
    sides = (
        np.bincount(code, np.tile(rows.weights * side, deals), deals * number * m)
        for side in (y, 1.0 - y)
    )
    weights = [side.reshape(deals, number, m).astype(np.float64) for side in sides]
    return Folds(weights[0], weights[1], fold)


def _deal_counts(count: Ints, begin: int, number: int, rng: np.random.Generator) -> Floats:
    """How many rows of each cell go into each fold: a matrix of folds by cells.

    `count` are the rows of each cell. Rows are shuffled and dealt like cards, beginning with the
    fold `begin` modulo their `number`, so that folds have equal sizes. Beyond `_MOST_DEALT` rows,
    each goes to a fold drawn independently.
    """
    total = int(count.sum())
    if total > _MOST_DEALT:
        return np.asarray(rng.multinomial(count, np.full(number, 1 / number)).T, np.float64)
    row = rng.permutation(np.repeat(np.arange(count.size), count))
    code = (begin + np.arange(total)) % number * count.size + row
    return (
        np.bincount(code, minlength=number * count.size)
        .reshape(number, count.size)
        .astype(np.float64)
    )


def deal_rows(z: Floats, y: Ints, w: Floats | None, units: Units, number: int, deals: int) -> Ints:
    """The fold of each row in each deal, of shape (deals, rows), with classes spread evenly.

    `z` holds the logits, one per row or one per class; with the class `y` and the weight `w` it
    only decides the order from which rows are drawn, so that the order in which they are given does
    not matter. With clusters, whole clusters are dealt, and classes are not balanced.
    """
    rng = np.random.default_rng(_SEED)
    if units.clustered:
        return np.array([_deal(units.code, number, rng) for _ in range(deals)])
    # Rows are put in an order of their content, so that the one they come in does not matter.
    key = z @ rng.standard_normal(z.shape[1]) if z.ndim == 2 else z
    order = np.lexsort((key if w is None else w, key, y))
    fold = np.empty((deals, y.size), np.int64)
    for deal in fold:
        begin = 0
        for part in np.split(order, np.flatnonzero(np.diff(y[order])) + 1):
            deal[rng.permutation(part)] = (begin + np.arange(part.size)) % number
            # The next class begins where this one ended, so that folds are of equal size.
            begin += part.size
    return fold


def _deal(cluster: Ints, number: int, rng: np.random.Generator) -> Ints:
    """The fold of each row, so that rows of one cluster are in the same fold.

    Clusters are dealt from the largest to the smallest, in random order where sizes are equal, each
    to the fold that has the fewest rows so far.
    """
    code, size = np.unique(cluster, return_inverse=True, return_counts=True)[1:]
    rows = np.zeros(number)
    fold = np.empty(size.size, np.int64)
    shuffled = rng.permutation(size.size)
    for cluster_code in shuffled[np.argsort(-size[shuffled], kind="stable")]:
        fold[cluster_code] = int(rows.argmin())
        rows[fold[cluster_code]] += size[cluster_code]
    return np.asarray(fold[code])


def chance_of_gain(gain: float, low: float, high: float, level: float) -> float:
    """How probably a map with this gain is better in a new sample of the same size.

    `low` and `high` are limits of the gain, of this level.

    The gain in a new sample differs from this one by the errors of both, of which each has the
    variance in the limits.

    >>> round(chance_of_gain(0.01, -0.0096, 0.0296, 0.95), 3)  # one standard error above 0
    0.76
    """
    return float(ndtr(_gain_in_errors(gain, low, high, level)))


def _gain_in_errors(gain: float, low: float, high: float, level: float) -> float:
    """The gain in standard errors of its difference from the gain in a new sample.

    The standard error of the gain follows from its limits at `level`; that of the difference
    between two samples is √2 times as large. Without a width it is infinite, with the sign of the
    gain.
    """
    reach = (high - low) / 2
    if not reach > 0:
        if gain > 0:
            return math.inf
        return -math.inf
    return float(ndtri((1 + level) / 2)) / 2**0.5 * gain / reach


def chance_of_average(gain: Gain, level: float, independent_rows: float, rarer: float) -> float:
    """How often the map has a smaller log loss than the scores, in a new sample of this size.

    `gain` is the gain with its limits at `level`, `independent_rows` the effective number of rows,
    and `rarer` the weight of the rarer outcome. The gain is taken in standard errors, less
    `_OPTIMISM`, and its chance from the normal distribution. It is nan if there are too few rows or
    outcomes to state it, or if it is below `_LEAST_STATED`.
    """
    if independent_rows < _ROWS_FOR_CHANCE or rarer < _RARER_FOR_CHANCE:
        return math.nan
    chance = float(ndtr(_gain_in_errors(*gain, level) - _OPTIMISM))
    if chance >= _LEAST_STATED:
        return chance
    return math.nan


def mixture_weights(loss: Floats, design_effect: float = 1.0) -> Floats:
    """Weights of candidates with these summed losses.

    The first, which leaves the scores alone, begins with half.

    >>> mixture_weights(np.array([3.0, 3.0, 3.0])).round(6).tolist()
    [0.5, 0.25, 0.25]
    """
    prior = np.full(loss.size, (1 - _IDENTITY_SHARE) / (loss.size - 1))
    prior[0] = _IDENTITY_SHARE
    power = np.log(prior) - loss / design_effect
    weight = np.exp(power - power.max())
    return np.asarray(weight / weight.sum())


def held_out_weights(loss: Floats, design_effect: float = 1.0) -> Floats:
    """Weights of the candidates for each fold, from their losses in the other folds.

    `loss` has the shape (candidates, deals, folds), and so has the result. `design_effect` says by
    which factor clusters enlarge the variance of a sum of losses.
    """
    loss_elsewhere = loss.sum(axis=2, keepdims=True) - loss
    columns = loss_elsewhere.reshape(loss.shape[0], -1).T
    return np.column_stack([mixture_weights(column, design_effect) for column in columns]).reshape(
        loss.shape
    )


def mean_gain(difference: Floats, weight: Floats, units: Units, level: float, rows: float) -> Gain:
    """The weighted mean of the rows' gains in loss, with limits at `level` by Student's t.

    Without clusters the variance is divided by one less than `rows`, the number of rows that the
    weights are worth. With clusters it is that of sums over clusters, and the degrees of freedom
    come from the effective number of clusters.
    """
    if units.clustered:
        mean, error, _ = units.mean(difference, weight)
        return mean, *t_limits(mean, error, units.effective(weight) - 1, level)
    mean = float(np.average(difference, weights=weight))
    freedom = rows - 1
    variance = float(np.average((difference - mean) ** 2, weights=weight)) / max(freedom, 1)
    return mean, *t_limits(mean, variance**0.5, freedom, level)


def cluster_effect(difference: Floats, weight: Floats, units: Units) -> float:
    """How much clusters enlarge the variance of a mean; at least 1."""
    away = weight * (difference - np.average(difference, weights=weight))
    return units.design_effect(away, float((away**2).sum()))


def vector_shapes(reach: float, knots: Floats) -> dict[str, LogitShape]:
    """The parametric candidates for a vector by name, for log-odds up to `reach` from 0."""
    return {
        "Platt scaling": LINE,
        "beta calibration": LOG_SCORES,
        "quadratic scaling": bend(reach, signed=False),
        "signed quadratic scaling": bend(reach, signed=True),
        "spline": spline(knots),
    }


class Plan(NamedTuple):
    """How candidates are cross-fitted."""

    units: Units  # what is independent: rows, or clusters
    folds: int
    level: float
    rows_worth: float  # how many independent rows of equal weight the rows are worth


class AutoFit(NamedTuple):
    """The candidates, coefficients of the parametric ones, their weights, and the gains."""

    names: tuple[str, ...]
    curves: tuple[Floats, ...]
    weights: Floats
    gain: Gain
    brier_gain: Gain
    knots: Floats | None = None  # of the spline, for a vector of scores
    points: Floats | None = None  # of isotonic regression, for a vector of scores


def fit_vector(cells: LogitCells, rows: CalibrationSet, plan: Plan, monotone: bool) -> AutoFit:
    """Fit each candidate map of one score on all rows and without each fold, and weigh them.

    A cell holds the rows with one logit. `monotone` asks for maps that do not fall. The result has,
    for each candidate, the name and the weight; the coefficients and isotonic points of the fits to
    all rows; and the gain of the weighted mean on held-out rows, in log loss and in Brier score.
    """
    folds = deal_folds(cells, rows, plan.units, plan.folds, number_of_deals(plan.rows_worth))
    weight, events = folds.training()
    knots = spline_knots(cells.z, cells.weight, _KNOTS)
    shapes = vector_shapes(cells.reach, knots)
    held_out = [np.broadcast_to(cells.z, folds.events.shape)]
    curves = []
    for shape in shapes.values():
        X = shape.basis(cells.z)
        bounded = shape.bounded if monotone else None
        theta = ridge_logistic(X, weight, events, shape.identity, shape.ridge, bounded)
        curves.append(theta[-1])
        held_out.append((theta[:-1] @ X.T).reshape(folds.events.shape))
    points = [_isotonic_points(cells.z, *sums) for sums in zip(weight, events, strict=True)]
    held_out.append(
        np.array([joined(*sums)(cells.z) for sums in points[:-1]]).reshape(folds.events.shape)
    )
    names = ("identity", *shapes, "isotonic regression")
    weights, (gain, brier_gain) = _weigh_vector(np.array(held_out), folds, cells, rows, plan)
    return AutoFit(
        names=names,
        curves=tuple(curves),
        weights=weights,
        gain=gain,
        brier_gain=brier_gain,
        knots=knots,
        points=points[-1],
    )


def _weigh_vector(
    log_odds: Floats, folds: Folds, cells: LogitCells, rows: CalibrationSet, plan: Plan
) -> tuple[Floats, list[Gain]]:
    """The weights of the candidates, and the gains of their weighted mean on held-out rows.

    `log_odds` are those of each candidate, from the fit without the fold, of shape (candidates,
    deals, folds, cells); candidate 0 is the identity. In each fold the mean is taken with weights
    from the other folds, so that its gain is held out too. The gains are in log loss and in Brier
    score. With fewer than two folds all candidates have equal losses, and gains are unknown.
    """
    deals, number, _ = folds.events.shape
    if number < 2:  # nothing can be held out
        return mixture_weights(np.zeros(log_odds.shape[0])), [_NO_GAIN] * 2
    loss = folds.events * np.logaddexp(0, -log_odds) + folds.others * np.logaddexp(0, log_odds)
    loss = loss.sum(axis=3)

    def at_rows(differences: tuple[Floats, Floats]) -> Floats:
        """Mean over deals of the differences for events and for others, for each row."""
        cell_of_row = np.arange(deals)[:, None], folds.of_row, cells.cell
        return np.asarray(
            np.where(rows.y == 1, differences[0][cell_of_row], differences[1][cell_of_row]).mean(
                axis=0
            )
        )

    effect = 1.0
    together: Any = np.concatenate
    weight = np.concatenate(folds[:2]) / deals
    if plan.units.clustered:
        best = int(loss[1:].sum(axis=(1, 2)).argmin()) + 1
        effect = cluster_effect(
            at_rows(_differences(log_odds[0], log_odds[best])[0]), rows.weights, plan.units
        )
        together = at_rows
        weight = rows.weights
    mixed = np.einsum("cdf,cdfm->dfm", held_out_weights(loss, effect), log_odds)
    options = weight, plan.units, plan.level, plan.rows_worth
    gains = [
        mean_gain(together(difference), *options) for difference in _differences(log_odds[0], mixed)
    ]
    return mixture_weights(loss.sum(axis=2).mean(axis=1), effect), gains


def _differences(
    plain: Floats, mixed: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """The losses of the original scores minus those of a map, for events and for other rows.

    `plain` and `mixed` are the log-odds before and after the map. The first pair is for the log
    loss, the second for the Brier score.
    """
    p = expit(plain)
    q = expit(mixed)
    log = (
        np.logaddexp(0, -plain) - np.logaddexp(0, -mixed),
        np.logaddexp(0, plain) - np.logaddexp(0, mixed),
    )
    return log, ((1 - p) ** 2 - (1 - q) ** 2, p**2 - q**2)


def _isotonic_points(z: Floats, weight: Floats, events: Floats) -> Floats:
    """The points of an isotonic map: mean log-odds of each block, and its rate as log-odds.

    A block is a run of scores to which isotonic regression gives one rate. One row is added to
    each, with the event probability that the score predicts, so that rates of 0 and 1 stay finite.
    Without rows it is the point (0, 0).
    """
    is_present = weight > 0
    if not is_present.any():
        return np.zeros((2, 1))
    z = z[is_present]
    weight = weight[is_present]
    events = events[is_present]
    first = Isotonic().group(Cells(expit(z), np.ones(z.size, np.int64), weight, events)).start[:-1]
    mass = np.add.reduceat(weight, first)
    centre = np.add.reduceat(weight * z, first) / mass
    rate = (np.add.reduceat(events, first) + expit(centre)) / (mass + 1)
    return np.stack([centre, np.maximum.accumulate(np.log(rate) - np.log1p(-rate))])


class MatrixCandidate(NamedTuple):
    fit: Callable[
        [CalibrationSet], Floats
    ]  # the coefficients that rows of log-probabilities give it
    shape: Callable[[int], tuple[int, ...]]  # their shape for a number of classes
    linear: Callable[
        [Floats, int], Linear
    ]  # the logits of that number of classes with these coefficients


def _temperature(rows: CalibrationSet) -> Floats:
    return np.array([inverse_temperature(rows.p, rows.y, rows.weights, 1.0).value])


def _beta_of_each(rows: CalibrationSet) -> Floats:
    """The three coefficients of a beta map for each class against the rest, one row per class."""
    shape = LOG_SCORES
    w = rows.weights
    options = shape.identity, shape.ridge, shape.bounded
    bases = (shape.basis(own_log_odds(rows.p, k)) for k in range(rows.p.shape[1]))
    return np.array(
        [
            ridge_logistic(X, w[None], (w * (rows.y == k))[None], *options)[0]
            for k, X in enumerate(bases)
        ]
    )


def _structured(structure: Structure) -> MatrixCandidate:
    """The candidate with a matrix of this structure; its parameters are matrix and shifts."""

    def fit(rows: CalibrationSet) -> Floats:
        linear = fit_structured(rows.p, rows.y, rows.weights, structure, 1.0, _MAX_ITER)[1]
        # This map has both.
        return np.column_stack([linear.matrix, linear.shift])  # type: ignore[list-item]

    return MatrixCandidate(
        fit,
        lambda k: (k, k + 1),
        lambda theta, _: Linear(theta[:, :-1], theta[:, -1], centred=True),
    )


MATRIX_CANDIDATES = {
    "temperature scaling": MatrixCandidate(
        _temperature, lambda _: (1,), lambda theta, k: Linear(np.full(k, float(theta[0])))
    ),
    "structured vector scaling": _structured("vector"),
    "structured matrix scaling": _structured("matrix"),
    "beta calibration of each class": MatrixCandidate(
        _beta_of_each, lambda k: (k, 3), lambda theta, k: Linear(np.zeros(k), beta=theta)
    ),
}


def fit_matrix(rows: CalibrationSet, plan: Plan) -> AutoFit:
    """Fit each candidate map of several classes on all rows and without each fold; weigh them.

    The scores of the rows are log-probabilities. Of a large matrix, all but the first candidate are
    fitted to rows that are drawn at random; with many classes there are two candidates. With fewer
    than two folds nothing is held out: losses count as equal and gains are unknown.
    """
    every = rows
    if rows.p.size > _MOST_ENTRIES:
        rows, plan = _drawn(rows, plan)
    names = tuple(MATRIX_CANDIDATES)
    if rows.p.shape[1] > _MOST_CLASSES:
        names = ("temperature scaling", "structured vector scaling")
    candidates = [MATRIX_CANDIDATES[name] for name in names]
    curves = tuple(
        candidate.fit(every if i == 0 else rows) for i, candidate in enumerate(candidates)
    )
    if plan.folds < 2:
        weights = mixture_weights(np.zeros(1 + len(names)))
        return AutoFit(("identity", *names), curves, weights, _NO_GAIN, _NO_GAIN)
    weights, (gain, brier_gain) = _weigh_matrix(rows, candidates, plan)
    return AutoFit(("identity", *names), curves, weights, gain, brier_gain)


def _drawn(rows: CalibrationSet, plan: Plan) -> tuple[CalibrationSet, Plan]:
    """A random part of the rows, so few that they can be fitted often, and the plan for them.

    Clusters are drawn whole and numbered anew; the rows that the weights are worth shrink with the
    weight.
    """
    parts = math.ceil(rows.p.size / _MOST_ENTRIES)
    (part,) = deal_rows(rows.p, rows.y, rows.w, plan.units, parts, 1)
    drawn = rows.take(part == 0)
    worth = plan.rows_worth * float(drawn.weights.sum() / rows.weights.sum())
    units = plan.units.at(part == 0).renumbered()
    return drawn, plan._replace(units=units, rows_worth=worth)


def _weigh_matrix(
    rows: CalibrationSet, candidates: list[MatrixCandidate], plan: Plan
) -> tuple[Floats, list[Gain]]:
    """The weights of the candidates, and the gains of their weighted mean on held-out rows.

    Candidate 0 is the identity. In each fold the mean of log-probabilities is taken with weights
    from the other folds. Gains are in log loss and in Brier score, averaged over deals of the
    folds.
    """
    units = plan.units
    w = rows.weights
    deals = number_of_deals(plan.rows_worth)
    dealt = deal_rows(rows.p, rows.y, rows.w, units, plan.folds, deals)
    logs = [_held_out(rows, candidates, fold) for fold in dealt]
    label_loss = [-log[:, np.arange(rows.y.size), rows.y] for log in logs]
    by_fold = [
        np.array([np.bincount(fold, w * candidate) for candidate in label_loss[i]])
        for i, fold in enumerate(dealt)
    ]
    loss = np.stack(by_fold, axis=1)
    best = 1 + int(loss[1:].sum(axis=(1, 2)).argmin())
    effect = cluster_effect(label_loss[0][0] - label_loss[0][best], w, units)
    weights = held_out_weights(loss, effect)
    differences = [
        _mixture_gain(log, rows.y, weights[:, i, dealt[i]]) for i, log in enumerate(logs)
    ]
    gains = [
        mean_gain(difference, w, units, plan.level, plan.rows_worth)
        for difference in np.mean(differences, axis=0)
    ]
    return mixture_weights(loss.sum(axis=2).mean(axis=1), effect), gains


def _held_out(rows: CalibrationSet, candidates: list[MatrixCandidate], fold: Ints) -> Floats:
    """The log-probabilities of each row by each candidate, fitted without the fold of the row.

    Of shape (candidates, n, K); candidate 0 is the identity. If a fold has all rows, every
    candidate is the identity there.
    """
    log = np.empty((1 + len(candidates), *rows.p.shape))
    log[0] = log_softmax(rows.p)
    for f in range(int(fold.max()) + 1):
        out = fold == f
        inside = rows.take(~out)
        if not inside.y.size:  # a cluster of all rows
            log[1:, out] = log[0, out]
            continue
        for i, candidate in enumerate(candidates, start=1):
            log[i, out] = log_softmax(
                candidate.linear(candidate.fit(inside), rows.p.shape[1])(rows.p[out])
            )
    return log


def _mixture_gain(log: Floats, y: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """The gain of each row by the mixture of candidates: in log loss, and in Brier score.

    `log` has the log-probabilities by candidate, of shape (candidates, n, K), with the identity
    first; the mixture adds them with `weights` of shape (candidates, n). A gain is the loss of the
    identity minus that of the mixture.
    """
    mixed = log_softmax(np.einsum("cn,cnk->nk", weights, log))
    label_cells = (np.arange(y.size), y)
    return mixed[label_cells] - log[0][label_cells], _brier(log[0], y) - _brier(mixed, y)


def _brier(log: Floats, y: Ints) -> Floats:
    """Squared errors summed over classes."""
    p = np.exp(log)
    p[np.arange(y.size), y] -= 1
    return np.asarray((p * p).sum(axis=1))
