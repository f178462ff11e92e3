"""Confidence limits for means of losses of rows.

Brier score, log loss, the scaled Brier score, discrimination.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import entr, gammaincinv, logit, ndtri

from trueness._input.sample import Sample
from trueness._level import Level
from trueness._numerics.gaffke import gaffke_limit
from trueness._numerics.streams import stream
from trueness._numerics.students_t import t_over_normal, t_quantile
from trueness._numerics.units import Units, for_fitted_mean
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, pool_cells, pool_runs, segment_sums
from trueness._tally.clusters import ClusteredRows
from trueness._tally.evidence import Evidence
from trueness._tally.rules import Edges, Isotonic
from trueness._tally.tally import Tally
from trueness.infer.limits._limits import SEVERAL, Asked, Limits
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.measure._flexible_curve import few_cells
from trueness.measure._slope import inside_cells
from trueness.typing import Floats

Loss: TypeAlias = Literal["brier", "log"]
_Pair: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
"""A function of scores: the loss if the event occurs, and if it does not."""

_BY_ROW = (
    "No interval from class-wise sums: they do not keep the scores of a row together. Pass labels "
    "and scores."
)
# Below this skewness a gamma distribution is taken for normal.
_SYMMETRIC = 1e-4
# Rows whose mean possible loss stands for the largest. With that of the boldest row alone limits
# reach up to 1.75 times as far above the value on ordinary rows; with the fourth boldest alone they
# cover .86 to .90 (400 rows, 300 samples).
_MOST_COSTLY = 4
# Sets of labels that estimate how much an isotonic fit gains on its own rows.
_DRAWS = 39
# Scores of a matrix that are converted at a time.
_BLOCK = 1 << 20
_ASSUMED = "The event probability is assumed to rise with the score; the value is biased upwards."


def mean_loss_limits(
    sums: Cells | Bins,
    loss: Loss,
    mean: float,
    level: float,
    cluster_rows: ClusteredRows | None = None,
) -> Limits:
    r"""The mean Brier loss, :math:`(p - y)^2`, or log loss of the rows, which must be finite.

    For the Brier score sums may be those of bins, where all scores of a bin are taken to be near
    their mean. Student's t alone covers too seldom if a few wrong rows decide the mean: 0.74
    instead of 0.95 for one expected event in 100 rows. So half a row with the loss of a wrong
    label, :math:`\sum_i m_i \ell(m_i) / \sum_i m_i` with :math:`m = \min(p, 1 - p)`, is added, and
    the limits are quantiles of a gamma distribution with the mean, the variance and twice the
    skewness of the mean of the rows. For a rate this is Jeffreys' interval, in general the
    Cornish-Fisher correction of a studentised mean. Clusters enter by their sums. The upper limit
    of the log loss, where a few confident rows may cost more than all others, is at least that of
    :func:`with_unseen_rows`.

    N. J. Johnson, Modified t tests and confidence intervals for asymmetrical populations, Journal
    of the American Statistical Association 73 (1978), 536-544. M. P. Fay and E. J. Feuer,
    Confidence intervals for directly standardized rates: a method based on the gamma distribution,
    Statistics in Medicine 16 (1997), 791-801.
    """
    pair = _PAIRS[loss]
    moments = _moments(sums, pair, mean, cluster_rows)
    limits = _mean_limits(mean, moments, _surprise(sums, pair, loss), level)
    if loss == "brier":
        return limits._replace(high=min(limits.high, 1.0))
    return _log_loss_with_unseen(limits, _loss_table(sums, pair, cluster_rows), moments.unit, level)


class LossTable(NamedTuple):
    """Losses that occurred, and losses that were possible, each with the weight of its rows."""

    loss: Floats
    weight: Floats
    """The weight of the rows with each loss."""
    possible: Floats
    """The larger of the two losses that a row could have."""
    rows: Floats
    """The weight of the rows with each possible loss."""


def with_unseen_rows(limits: Limits, table: LossTable, unit: float, level: float) -> Limits:
    """Raise the upper limit of a mean loss to Gaffke's, with half a row of the largest loss added.

    The rows that decide a mean of rare large values may not have been seen. The largest loss is the
    mean possible one of the four rows that could lose most: the very largest made limits up to
    twice as long where one score was extreme, and covered no better in simulations
    (docs/evidence/coverage-measures.md). `unit` is the weight of one row, or of the rows of a
    cluster that are right or wrong together. An infinite limit stays.
    """
    method = f"{limits.method}, upper end at least Gaffke's"
    if not math.isfinite(limits.high) or table.possible.size == 0:
        return limits._replace(method=method)
    order = np.argsort(-table.possible, kind="stable")
    counted = np.minimum(np.cumsum(table.rows[order]), _MOST_COSTLY * unit)
    weight = np.diff(counted, prepend=0.0)
    largest = float(weight @ table.possible[order]) / float(weight.sum())
    values = np.append(table.loss, largest)
    shape = np.append(table.weight / unit, 0.5)
    high = gaffke_limit(values, shape, (1 + level) / 2)
    return limits._replace(high=max(high, limits.high), method=method)


def _log_loss_with_unseen(limits: Limits, table: LossTable, unit: float, level: float) -> Limits:
    """The limits of the log loss raised by :func:`with_unseen_rows`.

    Scores of exactly 0 and 1 could have an infinite loss: they are left out of the possible losses,
    and a note counts them.
    """
    finite = np.isfinite(table.possible)
    certain = float(table.rows[~finite].sum())
    finite_table = table._replace(possible=table.possible[finite], rows=table.rows[finite])
    limits = with_unseen_rows(limits, finite_table, unit, level)
    if not certain or not math.isfinite(limits.high):
        return limits
    share = certain / float(table.rows.sum())
    note = f"The upper limit takes scores of exactly 0 and 1 ({share:.2g} of the rows) for right."
    return limits._replace(note=note)


def _loss_table(sums: Cells | Bins, pair: _Pair, cluster_rows: ClusteredRows | None) -> LossTable:
    """The losses of rows in clusters or, without clusters, of the cells or bins of sums.

    `pair` gives the two losses of a score. Losses of cells that did not occur are left out.
    """
    if cluster_rows is not None:
        event, other = pair(cluster_rows.p)
        loss = np.where(cluster_rows.top.y, event, other)
        return LossTable(loss, cluster_rows.w, np.maximum(event, other), cluster_rows.w)
    cells = sums.at_means()
    event, other = pair(cells.score)
    weight = np.asarray(cells.weight, np.float64)
    events = np.asarray(cells.events, np.float64)
    occurred = np.concatenate([events, weight - events])
    loss = np.concatenate([event, other])
    filled = occurred > 0
    return LossTable(loss[filled], occurred[filled], np.maximum(event, other), weight)


def loss_limits(loss: Loss, question: Asked) -> Limits:
    """Limits of the mean of a loss over rows: Student's t, corrected for skewness.

    They come from sums of one score per row, from rows of a matrix, or from class-wise sums. An
    infinite loss, and sums that do not keep the scores of a row together, have a note instead.
    """
    data = question.evidence
    value = question.value
    level = question.level
    if not math.isfinite(value):
        return Limits(note=f"{_contradicted(data)}: the log loss is infinite and has no interval.")
    if data.one is not None:
        sums = data.one
        if isinstance(sums, Cells):  # a logarithm needs the outermost scores by themselves
            sums = pool_cells(sums) if loss == "brier" else few_cells(sums)
        return mean_loss_limits(sums, loss, value, level, data.in_clusters)
    if data.is_by_predicted_class and data.tally is not None and not data.dependent:
        return mean_loss_limits(_joined(data.tally), loss, value, level)
    if data.has_class_rows:
        matrix = data.expanded.matrix  # whole weights are repetitions
        losses, surprise = _class_losses(matrix, loss)
        scale = 2 if loss == "brier" and matrix.p.shape[1] == 2 else 1
        units = data.expanded.units
        return mean_row_limits(losses / scale, surprise / scale, level, units, matrix.w)
    if loss == "log" and data.has_class_sums and data.tally is not None:
        return class_log_loss_limits(data.tally, value, level)
    return Limits(note=_BY_ROW)


def _contradicted(evidence: Evidence) -> str:
    """How many labels contradict a score of 0 or 1, in words; of a matrix only that some do."""
    if evidence.tally is None or evidence.is_classwise:
        return "Some labels had probability 0"
    wrong = sum(inside_cells(part).wrong for part in evidence.tally.parts)
    if wrong == 1:
        return "1 label had probability 0"
    return f"{wrong:,.6g} labels had probability 0"


def _joined(tally: Tally) -> Cells:
    """The cells of parts that share no rows, one after another; scores need not ascend."""
    parts = [part for part in tally.parts if part.size]
    if all(part.whole for part in parts):
        columns: list[Any] = [(part.score, part.count, part.weight, part.events) for part in parts]
    else:
        columns = [part.as_floats().columns().values() for part in parts]
    return Cells(*map(np.concatenate, zip(*columns, strict=True)))


def mean_row_limits(
    losses: Floats, surprise: float, level: float, units: Units, weight: Floats | None = None
) -> Limits:
    """Limits of the mean of losses that are known row by row, and independent unit by unit.

    `surprise` is the mean loss of a wrong label: half a row with it is added, since none may have
    been seen. Without weights every row counts once.
    """
    w = np.ones(losses.size) if weight is None else weight
    mean = float(np.average(losses, weights=w))
    return _mean_limits(mean, _row_moments(losses - mean, w, units), surprise, level)


def weight_together(losses: Floats, units: Units) -> float:
    """The number of rows of a cluster that are right or wrong together, from all losses."""
    return _row_moments(losses - losses.mean(), np.ones(losses.size), units).unit


def mean_value_limits(values: Floats, counts: Floats, surprise: float, level: float) -> Limits:
    """Limits of the mean of values of independent rows, of which few are different.

    `counts` says how often each value occurred; `surprise` is the mean value of a wrong label, of
    which half a row is added.
    """
    n = float(counts.sum())
    mean = float(values @ counts) / n
    deviation = values - mean
    weighted = counts * deviation**2
    moments = _Moments(
        total=n,
        second=float(weighted.sum()),
        third=float(weighted @ deviation),
        units=n,
        unit=1.0,
    )
    return _mean_limits(mean, moments, surprise, level)


def paired_limits(differences: Floats, level: float, units: Units, surprise: float = 0.0) -> Limits:
    """Limits of the mean of differences of rows, of either sign, by Student's t.

    The variance is that of rows or clusters plus that of one row, or of the rows of a cluster that
    go together, with the difference `surprise`.
    """
    n = differences.size
    mean = float(differences.mean())
    moments = _row_moments(differences - mean, np.ones(n), units)
    error = math.hypot(moments.error, surprise * moments.unit / n)
    half = t_quantile(level, max(moments.units - 1, 1)) * error
    return Limits(mean - half, mean + half, "t", moments.error)


def _class_losses(sample: Sample, loss: Loss) -> tuple[Floats, float]:
    """The loss of each row of a matrix of scores, and the mean loss of a wrong label.

    A wrong label is one of a class without the largest score, taken as often as its score says. If
    the largest score is always 1, the second value is the largest possible loss.
    """
    losses = []
    wrong_share = 0.0
    wrong_loss = 0.0
    largest = -math.inf
    step = max(1, _BLOCK // sample.p.shape[1])
    for start in range(0, sample.y.size, step):
        block = slice(start, start + step)
        P = np.asarray(sample.p[block], np.float64)
        rows = np.arange(len(P))
        if loss == "brier":
            class_losses = (P**2).sum(axis=1, keepdims=True) - 2 * P + 1
        else:
            with np.errstate(divide="ignore"):
                class_losses = -np.log(P)
        share = P.copy() if sample.w is None else P * sample.w[block, np.newaxis]
        share[rows, P.argmax(axis=1)] = 0
        wrong_share += float(share.sum())
        wrong_loss += float((share * np.where(share > 0, class_losses, 0)).sum())
        losses.append(class_losses[rows, np.asarray(sample.y[block], np.int64)])
        largest = max(largest, float(class_losses.max()))
    surprise = wrong_loss / wrong_share if wrong_share > 0 else largest
    return np.concatenate(losses), surprise


def scaled_brier_limits(question: Asked) -> Limits:
    r"""Limits of the scaled Brier score, :math:`1 - B / (r (1 - r))` with event rate r.

    They are the wider of those by the delta method for the ratio and for its logarithm, with
    Student's t whose degrees of freedom are at most the number of rows of the rarer class. If
    clusters or weights leave less than one such row, there is no lower limit. With a single class
    there is a note instead.
    """
    sums = question.evidence.one
    if sums is None:
        return Limits(note=SEVERAL)
    cells = sums.at_means() if isinstance(sums, Bins) else pool_cells(sums)
    rate = cells.events.sum().item() / cells.weight.sum().item()
    unit = rate * (1 - rate)
    ratio = 1 - question.value
    if unit <= 0:
        return Limits(note="There is only one class: the scaled Brier score is undefined.")
    tilt = ratio * (1 - 2 * rate)

    def influence(p: Floats) -> tuple[Floats, Floats]:
        return (1 - p) ** 2 - tilt * (1 - rate), p**2 + tilt * rate

    moments = _moments(cells, influence, ratio * unit, question.evidence.in_clusters)
    rarer = min(rate, 1 - rate) * moments.units
    error = moments.error / unit
    method = "delta method, t"
    freedom = min(moments.units - 1, rarer)
    if freedom <= 0 or ratio <= 0:
        return Limits(-math.inf, 1.0, method, error)
    if round(freedom, 9) < 1:
        # Student's t would give limits of a hundred digits.
        note = "No lower limit: the rarer class is worth less than one independent row."
        return Limits(-math.inf, 1.0, method, error, note)
    half = t_quantile(question.level, freedom) * error
    factor = math.exp(min(half / ratio, 700.0))  # no float holds more than e^709
    low = 1 - max(ratio + half, ratio * factor)
    high = 1 - max(min(ratio - half, ratio / factor), 0.0)
    return Limits(low, high, method, error)


def rate_limits(
    sums: Cells | Bins, level: float, cluster_rows: ClusteredRows | None = None
) -> Limits:
    """Limits of the event rate: Clopper-Pearson, with the effective number of rows of clusters.

    `sums` are the sums of the rows per distinct score or bin; all of them are pooled, so that
    scores play no part. `cluster_rows` are the rows in clusters if there are any. The limits are
    half of those of O/E (:func:`ratio_limits`) for rows that all have the score 1/2.

    The standard error of the result is √(r(1 − r)/m) with the event rate r and the effective number
    of rows m = (Σw)²/Σw², or that of cluster sums. The value is left to the caller.
    """
    if isinstance(sums, Bins):
        whole_sample = sums.coarsen(Edges(sums.edges[[0, -1]])).at_means()
    else:
        whole_sample = pool_runs(sums, np.zeros(1, np.int64))
    whole_sample.score[:] = 0.5  # O/E is then twice the rate
    limits = ratio_limits(whole_sample, level, cluster_rows)
    rate = float((whole_sample.events / whole_sample.weight)[0])
    method = limits.method
    if cluster_rows is None:
        weight = float(whole_sample.weight[0])
        squares = float(whole_sample.square_sums[0][0])
        error = math.sqrt(rate * (1 - rate) / (weight**2 / squares))
        if whole_sample.whole:
            method = "Clopper-Pearson"
    else:
        error = _row_moments(
            cluster_rows.y - rate, cluster_rows.w, cluster_rows.units, cluster_rows.squares
        ).error
    return Limits(limits.low / 2, limits.high / 2, method, error)


def uncertainty_limits(question: Asked) -> Limits:
    """Limits of the score of the event rate r itself: r(1 − r) (Brier), or its entropy (log).

    The option `score` of the question is 'brier', the default, or 'log'; the entropy is in natural
    units. The limits are the smallest and the largest score between the limits of r. So the upper
    one is the score at 1/2 if 1/2 is between these. The standard error is that of the rate times
    the derivative of the score. The value of several classes has a note instead.
    """
    sums = question.evidence.one
    score = question.options.get("score", "brier")
    if sums is None:
        return Limits(note=SEVERAL)
    rates = rate_limits(sums, question.level, question.evidence.in_clusters)
    low = rates.low
    high = rates.high
    rate = float(sums.events.sum()) / float(sums.weight.sum())
    if score == "brier":
        ends = (low * (1 - low), high * (1 - high))
        steepness = abs(1 - 2 * rate)
        peak = 0.25
    else:
        ends = (float(entr(low) + entr(1 - low)), float(entr(high) + entr(1 - high)))
        steepness = abs(float(logit(rate))) if 0 < rate < 1 else math.nan
        peak = math.log(2)
    return Limits(
        low=min(ends),
        high=peak if low <= 0.5 <= high else max(ends),
        method=f"{rates.method} of the event rate",
        standard_error=steepness * rates.standard_error,
    )


def class_log_loss_limits(tally: Tally, mean: float, level: float) -> Limits:
    """Limits of the log loss of several classes, whose value is `mean`, from class-wise sums.

    `tally` has one part per class, with the sums of the rows at each distinct score of that class.
    The log loss of a row is −log of the score of its true class, so only cells with events have a
    loss, and their events are its weight.

    The limits allow for a wrong label that has not occurred yet: half a row with such a label is
    added. Its loss, the surprise, is the mean of −log(score) over the scores of all classes above 0
    and at most 1/2. Each score counts with its weight times itself, the probability that its class
    is the true one. A row has at most one class above 1/2, the expected one; all others are
    surprises.

    Without such scores the surprise is infinite, and the limits are 0 and infinity. They are also 0
    and infinity for a single row. The value of the result is left to the caller.
    """
    every = _joined(tally)
    filled = every.events > 0
    events = every.events[filled]
    squares = None if every.whole else every.square_sums[1][filled]
    labels = Cells(every.score[filled], events.astype(np.int64), events, events, squares, squares)
    # At most one class of a row is above one half.
    lesser = (every.score > 0) & (every.score <= 0.5)
    score = every.score[lesser]
    share = (every.weight * every.score)[lesser]
    surprise = float((share * -np.log(score)).sum() / share.sum()) if share.size else math.inf
    return _mean_limits(mean, _moments(labels, _log_pair, mean, None), surprise, level)


class _Moments(NamedTuple):
    """Sums over rows or clusters of powers of weight × deviation of the loss from its mean."""

    total: float
    """Σw."""
    second: float
    """Sum of squares."""
    third: float
    """Sum of cubes."""
    units: float
    """Effective number of rows or clusters of equal weight."""
    unit: float
    """Weight of the rows that are right or wrong together: one row, or some of a cluster."""
    method: str = "t, skewness-corrected"
    """How limits are found from these sums."""

    @property
    def error(self) -> float:
        """Standard error of the mean; nan for a single unit."""
        if self.units <= 1:
            return math.nan
        return math.sqrt(for_fitted_mean(max(self.second, 0.0), self.units)) / self.total


def _moments(
    sums: Cells | Bins, pair: _Pair, mean: float, cluster_rows: ClusteredRows | None
) -> _Moments:
    """The moments of the losses of rows in clusters or, without clusters, of the cells of sums.

    They are sums of squares and cubes of weight times (loss − `mean`), with the effective number of
    independent units. `pair` gives the losses of a score if the event occurs and if it does not,
    and `mean` is the mean loss. `cluster_rows` is None for independent rows.

    Rows of a bin are taken to have its mean score; what their scores add to the squares by
    differing from it is added. Sums of cubes are approximate if rows of one score have different
    weights.
    """
    if cluster_rows is not None:
        event, other = pair(cluster_rows.p)
        deviation = np.where(cluster_rows.top.y, event, other) - mean
        return _row_moments(deviation, cluster_rows.w, cluster_rows.units, cluster_rows.squares)
    cells = sums.at_means()
    total = float(cells.weight.sum())
    weight_squares, event_squares = cells.square_sums
    other_squares = weight_squares - event_squares
    squares = float(weight_squares.sum())
    event, other = (loss - mean for loss in pair(cells.score))
    event[cells.events == 0] = 0  # a label that does not occur may have an infinite loss
    other[cells.events == cells.weight] = 0
    second = float((event_squares * event**2 + other_squares * other**2).sum())
    sizes = (
        weight_squares / cells.weight
    )  # Σw³ is not known: rows of one score weigh about the same
    third = float((sizes * (event_squares * event**3 + other_squares * other**3)).sum())
    if isinstance(sums, Bins):
        second += _within_bins(sums)
    return _Moments(
        total=total,
        second=second,
        third=third,
        units=total**2 / squares,
        unit=squares / total,
    )


def _row_moments(deviation: Floats, w: Floats, units: Units, w2: Floats | None = None) -> _Moments:
    """The moments of rows with these deviations, or of the sums of their clusters.

    `deviation` is the loss of each row less the mean loss, `w` its weight. `w2` is the sum of
    squared weights in each row, if that is not the square of the weight.

    For clusters the squares and cubes are those of the cluster sums of weight times deviation.
    `unit` of the result is the weight of the rows that are right or wrong together. It is that of
    one row times the ratio of the clustered to the independent sum of squares, which is at least 1
    and at most the size of a cluster; if all losses are equal, it is that of a whole cluster.
    """
    if w2 is None:
        w2 = w * w
    total = float(w.sum())
    squares = float(w2.sum())
    weighted = w * deviation
    second = float(w2 @ deviation**2)
    unit = squares / total
    third = float((units.sums(weighted) ** 3).sum())
    effective = units.effective(w)
    if not units.clustered:
        return _Moments(total=total, second=second, third=third, units=effective, unit=unit)
    clustered = units.squared_sums(weighted)
    # Rows that agree with their cluster are wrong together; equal losses do not show whether they
    # would be.
    together = total / effective / unit
    if np.ptp(deviation) != 0:
        together = min(max(clustered / second, 1.0), together)
    return _Moments(
        total=total,
        second=clustered,
        third=third,
        units=effective,
        unit=unit * together,
        method="t of clusters, skewness-corrected",
    )


def _mean_limits(mean: float, moments: _Moments, surprise: float, level: float) -> Limits:
    """Limits of a mean loss: quantiles of a gamma distribution, with half a surprise added.

    `moments` are sums of powers of weight times the deviation of a loss from `mean`, over
    independent units: rows, or clusters. `surprise` is the mean loss of a wrong label. Half a unit
    with this loss is added to the sample, because a loss that is rare but large may not have
    occurred yet.

    The gamma distribution has the mean and variance of the enlarged sample mean. Its skewness is
    twice that of the sample mean. It is widened by the ratio of Student's t to the normal quantile,
    with one degree of freedom less than there are units. The lower limit is at least 0, and `mean`
    lies between the limits. The standard error in the result is that of the sample without the
    addition.

    With a single unit or an infinite surprise the limits are 0 and infinity. If all losses and the
    surprise are equal, both limits are `mean`.
    """
    freedom = moments.units - 1
    unit = moments.unit
    method = moments.method
    if freedom <= 0 or not math.isfinite(surprise):
        return Limits(0.0, math.inf, method, moments.error)
    centre = mean + (surprise - mean) * (unit / 2) / (moments.total + unit / 2)
    added = unit * (surprise - centre)
    second = moments.second + added**2 / 2
    third = moments.third + added**3 / 2
    if second <= 0:
        return Limits(mean, mean, method, moments.error)
    tail = Level(level).tail
    deviation = math.sqrt(for_fitted_mean(second, moments.units)) / moments.total
    deviation *= t_over_normal(tail, freedom)
    skewness = 2 * third / second**1.5
    low = centre + deviation * _gamma_quantile(skewness, tail)
    high = centre + deviation * _gamma_quantile(skewness, 1 - tail)
    return Limits(max(min(low, mean), 0.0), max(high, mean), method, moments.error)


def _gamma_quantile(skewness: float, q: float) -> float:
    """The quantile at probability `q` of a gamma distribution of mean 0 and variance 1.

    The distribution is shifted and scaled so that it has the given `skewness`: its shape is 4 /
    skewness². With a negative skewness it is the mirror image of the one with the opposite
    skewness. With a skewness close to 0 it is taken to be normal.
    """
    if abs(skewness) < _SYMMETRIC:
        return float(ndtri(q))
    if skewness < 0:
        return -_gamma_quantile(-skewness, 1 - q)
    shape = 4 / skewness**2
    return (float(gammaincinv(shape, q)) - shape) / math.sqrt(shape)


def _surprise(sums: Cells | Bins, pair: _Pair, loss: Loss) -> float:
    """The mean loss of the less probable label of a row.

    `pair` gives the losses of a score if the event occurs and if it does not; the larger of the two
    is the loss of the less probable label. Each row counts with min(p, 1 − p), the probability of
    that label according to the score p. If all scores are 0 or 1, no such label can occur; its loss
    would be 1 (Brier) or infinite (log).
    """
    cells = pool_cells(sums) if isinstance(sums, Cells) else sums.at_means()
    p = cells.score
    share = cells.weight * np.minimum(p, 1 - p)
    filled = share > 0
    if filled.any():
        possible = np.maximum(*pair(p[filled]))
        return float((share[filled] * possible).sum() / share.sum())
    if loss == "brier":
        return 1.0
    return math.inf


def _within_bins(bins: Bins) -> float:
    """What scores add to the sum of squared Brier losses by differing from the mean of their bin.

    By the delta method it is (dℓ/dp)² = 4 (p − y)² at the mean score p of a bin, for events (y = 1)
    and others, times the variance of the scores in the bin. `bins` must have the sums of squared
    scores; empty bins are left out.
    """
    filled = bins.weight > 0
    w = np.asarray(bins.weight, np.float64)[filled]
    e = np.asarray(bins.events, np.float64)[filled]
    p = np.asarray(bins.score, np.float64)[filled]
    score_variance = np.clip(bins.sum_square[filled] / w - p**2, 0, None)
    squares = w if bins.whole else bins.squares[filled]
    residual_squares = e * (1 - p) ** 2 + (w - e) * p**2
    return float((4 * squares / w * residual_squares * score_variance).sum())


def _log_pair(p: Floats) -> tuple[Floats, Floats]:
    """The log loss if the event occurs, and if it does not."""
    with np.errstate(divide="ignore"):
        return -np.log(p), -np.log1p(-p)


_PAIRS: dict[Loss, _Pair] = {"brier": lambda p: ((1 - p) ** 2, p**2), "log": _log_pair}


def discrimination_limits(question: Asked) -> Limits:
    r"""The Brier score of the event rate minus that of the true recalibration.

    The isotonic fit is judged on its own rows, so the value is too high, by about as much as the
    fit to labels drawn from :math:`\hat p` gains over :math:`\hat p`. The lower limit subtracts
    that; the upper one does not, so that neither depends on the estimate of the bias being good.
    Both are Student's t limits of the mean of :math:`(\bar y - y_i)^2 - (\hat p_i - y_i)^2`. The
    event probability is assumed to rise with the score.
    """
    data = question.evidence
    value = question.value
    cells = question.evidence.one
    if not isinstance(cells, Cells):
        return Limits(note=SEVERAL)
    if data.dependent or not data.whole or question.options.get("score", "brier") != "brier":
        note = (
            "No interval: one is known for independent rows, whole weights and the Brier score "
            "only."
        )
        return Limits(note=note)
    limits = Limits(0.0, 0.25, "t, lower limit debiased", note=_ASSUMED)
    cells = pool_cells(cells)
    fitted, blocks = _isotonic(cells)
    total = float(cells.weight.sum())
    events = float(cells.events.sum())
    rate = events / total
    freedom = total - blocks
    if freedom <= 0 or rate in (0, 1):
        return limits
    event, other = _brier_gains(fitted, rate)
    e = cells.events
    o = cells.weight - cells.events
    mean = float(e @ event + o @ other) / total
    error = math.sqrt(float(e @ (event - mean) ** 2 + o @ (other - mean) ** 2) / freedom / total)
    half = t_quantile(question.level, freedom) * error
    rng = stream(question.seed, "resample")
    bias = float(np.mean([_gain(cells, fitted, rng) for _ in range(_DRAWS)]))
    return limits._replace(
        low=max(value - bias - half, 0.0), high=min(value + half, 0.25), standard_error=error
    )


def _isotonic(cells: Cells) -> tuple[Floats, int]:
    """The isotonic regression of events on scores, at each cell, and the number of its steps."""
    first = Isotonic().group(cells).start[:-1]
    rate = segment_sums(cells.events, first) / segment_sums(cells.weight, first)
    sizes = np.diff(np.append(first, cells.size))
    return np.repeat(rate, sizes), first.size


def _gain(cells: Cells, rate: Floats, rng: np.random.Generator) -> float:
    """By how much the isotonic fit to labels drawn from a rate beats that rate on these labels.

    `rate` is the event probability of each cell; the gain is that in the mean Brier score.
    """
    drawn = rng.binomial(cells.weight.astype(np.int64), rate)
    fitted, _ = _isotonic(Cells(cells.score, cells.count, cells.weight, drawn))
    event, other = _brier_gains(fitted, rate)
    gain = float(drawn @ event + (cells.weight - drawn) @ other)
    return gain / float(cells.weight.sum())


def _brier_gains(fitted: Floats, rate: Floats | float) -> tuple[Floats, Floats]:
    """By how much a fit beats a rate in the Brier score, if the event occurs and if it does not."""
    return (1 - rate) ** 2 - (1 - fitted) ** 2, rate**2 - fitted**2
