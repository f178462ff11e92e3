"""`net_benefit`: what decisions by a score are worth at each threshold, with limits."""

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._keywords import suggests_keywords
from trueness._level import checked_level
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.students_t import t_quantile
from trueness._numerics.units import covariance_of_sums
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_models, read_rows
from trueness._tally.rows_or_sums import are_sums, row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.limits._row_means import paired_limits
from trueness.results import NetBenefit
from trueness.typing import ArrayLike, Bools, Floats, Kind, Missing, RowOptions, WeightType

_FEW = 10
"""With fewer accepted events or non-events limits are exact, and the simultaneous band ends."""
# Draws of the deviations at all thresholds, for the simultaneous band.
_DRAWS = 4000
_NEARLY_NORMAL = 1e9  # degrees of freedom


class _Curve(NamedTuple):
    """The net benefit of one model at each threshold."""

    value: Floats
    low: Floats
    high: Floats
    band_low: Floats
    band_high: Floats
    gain: Floats
    gain_low: Floats
    gain_high: Floats
    treat_all: Floats


@suggests_keywords
def net_benefit(
    y_true: ArrayLike | Tally | Sketch | Binned,
    y_prob: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    thresholds: ArrayLike | None = None,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    prevalence: float | None = None,
    kind: Kind | None = None,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    percent: bool = False,
    ignore_index: int | None = None,
) -> NetBenefit:
    r"""Net benefit at each threshold: the decision curve, with limits.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. One score per row, or a dict of the scores of several models. A tally replaces both,
        and so do sums of bins whose edges are the thresholds.
    thresholds : array-like, optional
        Thresholds between 0 and 1, without them; a row is treated if its score is at least the
        threshold. By default 0.01, 0.02, …, 0.99.
    prevalence : float, optional
        The share of events where decisions are made, if rows were sampled by their label (a
        case-control study).
    level : float, default 0.95
        Confidence level of all limits.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'confidence'.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
    clip_tolerance : float, default 0
        Scores outside [0, 1] by at most this much are set to 0 or 1.
    sum_tolerance : float, optional
        How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
    from_logits : bool, default False
        Whether the scores are logits; the logistic function (softmax for a matrix) is applied
        first.
    percent : bool, default False
        Whether the scores are percentages, from 0 to 100.
    ignore_index : int, optional
        The label of rows that are left out, such as 255 for pixels without a class.

    Returns
    -------
    NetBenefit
        Value and limits by threshold (by model, if there are several), those of treating all, the
        gain over treating all, a band that holds for all thresholds together, and differences
        between models.

    Notes
    -----
    The net benefit at threshold :math:`t` is :math:`(TP - FP \cdot t / (1 - t)) / n`. Limits are
    Student's; where fewer than ten events, or ten rows without, are accepted, they join exact
    binomial limits of both numbers, and the simultaneous band ends (nan). In clusters it is those
    that hold an event, or a row without, that are counted.
    ``docs/methods/decisions.md`` has the steps.

    References
    ----------
    A. J. Vickers, E. B. Elkin, Decision curve analysis: a novel method for evaluating prediction
    models, Medical Decision Making 26 (2006), 565-574.

    Examples
    --------
    >>> import trueness as tn
    >>> found = tn.net_benefit([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.6], thresholds=[0.3, 0.5])
    >>> [round(float(x), 4) for x in found.value]
    [0.3929, 0.0]
    """
    rows = row_options(
        kind,
        labels,
        pos_label,
        sample_weight,
        weight_type,
        missing,
        clip_tolerance,
        sum_tolerance,
        from_logits,
        percent,
        ignore_index,
    )
    level = checked_level(level)
    rate = None if prevalence is None else checked_fraction(prevalence, "prevalence")
    t = _checked_thresholds(thresholds)
    return benefit_of(models_by_name(y_true, y_prob, rows, cluster, "net benefit"), t, level, rate)


def models_by_name(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    rows: RowOptions,
    cluster: ArrayLike | None,
    counted: str = "",
) -> dict[str, Evidence]:
    """The rows of one model, whose name is empty, or those of a dict of models by name.

    `counted` names a question that needs one score per row and whole weights. An empty dict is
    refused.
    """
    if are_sums(y_true) or not isinstance(y_prob, Mapping):
        models = {"": read_rows(y_true, y_prob, rows, kind="confidence", cluster=cluster)}
    elif y_prob:
        models = read_models(
            y_true, y_prob, rows, kind="confidence", cluster=cluster, argument="y_prob"
        )
    else:
        raise InputError("y_prob", "must hold at least one model", "the dict is empty")
    if counted:
        for evidence in models.values():
            evidence.require_one(counted, counted=True)
    return models


def benefit_of(
    models: dict[str, Evidence], t: Floats, level: float, rate: float | None = None
) -> NetBenefit:
    """The net benefit of models that scored the same rows; a single one has an empty name.

    `t` holds the thresholds, `rate` the event rate of the population if it is not that of the rows.
    """
    curves = {name: _curve(evidence, t, level, rate) for name, evidence in models.items()}
    differences = {
        (a, b): _difference(models[a], models[b], t, level, rate)
        for a, b in combinations(models, 2)
    }
    first = next(iter(models))
    return NetBenefit(
        threshold=t,
        value=field_by_model(curves, "value"),
        low=field_by_model(curves, "low"),
        high=field_by_model(curves, "high"),
        band_low=field_by_model(curves, "band_low"),
        band_high=field_by_model(curves, "band_high"),
        gain=field_by_model(curves, "gain"),
        gain_low=field_by_model(curves, "gain_low"),
        gain_high=field_by_model(curves, "gain_high"),
        treat_all=curves[first].treat_all,
        differences=differences,
        level=level,
        n=models[first].n,
        prevalence=models[first].means[1] if rate is None else rate,
        note=models[first].note,
    )


def field_by_model(results: Mapping[str, object], field: str) -> ArrayLike:
    """The field of the only result, whose name is empty, or that of each result by name."""
    if "" in results:
        return getattr(results[""], field)
    return {name: getattr(result, field) for name, result in results.items()}


def _checked_thresholds(thresholds: ArrayLike | None) -> Floats:
    """The distinct thresholds, ascending, all between 0 and 1; by default 0.01 to 0.99."""
    if thresholds is None:
        return np.arange(1, 100) / 100
    try:
        t = np.unique(np.asarray(thresholds, dtype=np.float64).ravel())
    except (TypeError, ValueError, OverflowError) as reason:
        raise InputError("thresholds", "must be numbers between 0 and 1", str(reason)) from None
    if not t.size or not ((t > 0) & (t < 1)).all():
        raise InputError(
            "thresholds",
            "must lie strictly between 0 and 1",
            f"got {np.asarray(thresholds).ravel()[:5]}",
        )
    return t


class _Terms(NamedTuple):
    """What a net benefit is a sum of: `a` times events less `b` times odds times non-events."""

    a: float
    b: float
    odds: Floats
    """Of each threshold."""
    all_rows: Floats
    """Events and non-events of the whole sample."""
    prevalence: float | None
    """The event rate of the population, if events and non-events were sampled separately."""

    @classmethod
    def of(cls, all_rows: Floats, t: Floats, prevalence: float | None) -> "_Terms":
        """The terms at thresholds `t`; a prevalence needs rows of both labels."""
        odds = t / (1 - t)
        total = all_rows.sum()
        if prevalence is None:
            return cls(1 / total, 1 / total, odds, all_rows, None)
        if (all_rows == 0).any():
            raise InputError(
                "y_true", "must have both labels for another prevalence", "there is one label"
            )
        a = prevalence / all_rows[0]
        b = (1 - prevalence) / all_rows[1]
        return cls(a, b, odds, all_rows, prevalence)

    def value(self, count: Floats) -> Floats:
        """The net benefit of numbers of events and of non-events, which are the rows of `count`."""
        return np.asarray(self.a * count[0] - self.b * self.odds * count[1])


def _curve(evidence: Evidence, t: Floats, level: float, prevalence: float | None) -> _Curve:
    """The net benefit of one model at thresholds `t`, with limits.

    The net benefit at t is events accepted, less t/(1 − t) times non-events accepted, over all
    rows; rows with scores of at least t are accepted. With `prevalence` events and non-events are
    weighted as in a population with this event rate. The gain is the net benefit less that of
    accepting all rows. Limits are at `level` for each threshold, the band for all together. The
    band is nan where fewer than ten events or non-events are accepted, or those of fewer than ten
    clusters.
    """
    accepted, all_rows = _accepted(evidence, t)
    terms = _Terms.of(all_rows, t, prevalence)
    value = terms.value(accepted)
    treat_all = terms.value(all_rows)
    missed = all_rows[:, np.newaxis] - accepted
    gain = value - treat_all
    if not evidence.dependent:
        units = int(all_rows.sum())
        holding, holding_missed = accepted, missed
        covariance = _covariance(accepted, terms)
        gain_covariance = _covariance(missed, terms)
    else:
        units = evidence.units.number
        holding = _clusters_holding(evidence, t, below=False)
        holding_missed = _clusters_holding(evidence, t, below=True)
        covariance = _clustered(evidence, t, terms, below=False)
        gain_covariance = _clustered(evidence, t, terms, below=True)
    error = np.sqrt(np.clip(np.diag(covariance), 0, None))
    gain_error = np.sqrt(np.clip(np.diag(gain_covariance), 0, None))
    quantile = t_quantile(level, max(units - 1, 1))
    counted = _Counted(accepted, holding, units)
    counted_missed = _Counted(missed, holding_missed, units)
    low, high = _with_exact(value, quantile * error, counted, terms, level)
    loss_low, loss_high = _with_exact(-gain, quantile * gain_error, counted_missed, terms, level)
    enough = ~counted.few & (error > 0)
    half = np.full(t.size, math.nan)
    if enough.any():
        joint = _joint_quantile(covariance[np.ix_(enough, enough)], level, units)
        half[enough] = joint * error[enough]
    return _Curve(
        value=value,
        low=low,
        high=high,
        band_low=value - half,
        band_high=value + half,
        gain=gain,
        gain_low=-loss_high,
        gain_high=-loss_low,
        treat_all=treat_all,
    )


def _accepted(evidence: Evidence, t: Floats) -> tuple[Floats, Floats]:
    """Events and non-events with scores of at least each threshold, and those of all rows.

    The first array is of shape (2, thresholds), the second of shape (2,). For sums in bins, a
    threshold that is not an edge of a bin is refused.
    """
    part: Bins | Cells
    if isinstance(evidence.sums, Binned):
        part = evidence.sums.parts[0]
        inside = np.setdiff1d(t, part.edges)
        if inside.size:
            raise InputError("thresholds", "must be edges of the bins", f"{inside[0]:g} is none")
        place = np.searchsorted(part.edges, t)
    else:
        part = evidence.cells_at_means[0]
        place = np.searchsorted(part.score, t)
    events = np.asarray(part.events, dtype=np.float64)
    non_events = np.asarray(part.weight - part.events, dtype=np.float64)
    from_place = [np.append(np.cumsum(v[::-1])[::-1], 0.0)[place] for v in (events, non_events)]
    return np.array(from_place), np.array([events.sum(), non_events.sum()])


def _covariance(count: Floats, terms: _Terms) -> Floats:
    """Covariances of the net benefit between all thresholds, of shape (thresholds, thresholds).

    `count` holds the events and the non-events that are accepted at each threshold, or those that
    are missed, of shape (2, thresholds). Rows are independent. Without a prevalence all rows are
    one sample. With it, events and non-events were sampled separately: their numbers are fixed, and
    each varies around its own mean.
    """
    # Counts fall, or rise, with the threshold: rows beyond the farther threshold count at both.
    shared = [np.minimum(v[:, np.newaxis], v) for v in count]
    products = np.outer(terms.odds, terms.odds)
    events = terms.a**2 * shared[0]
    non_events = terms.b**2 * products * shared[1]
    if terms.prevalence is None:
        value = terms.value(count)
        return np.asarray(events + non_events - np.outer(value, value) / terms.all_rows.sum())
    means = [np.outer(v, v) / total for v, total in zip(count, terms.all_rows, strict=True)]
    between = events - terms.a**2 * means[0] + non_events
    return np.asarray(between - terms.b**2 * products * means[1])


def _clustered(evidence: Evidence, t: Floats, terms: _Terms, *, below: bool) -> Floats:
    """Covariances of the net benefit between thresholds `t`, from the sums over clusters.

    Each row with a score of at least the threshold adds what its label is worth in `terms`. With
    `below`, it is the rows with scores below the threshold that add. The result has shape
    (thresholds, thresholds).
    """
    rows = evidence.in_clusters
    assert rows is not None
    p = np.asarray(rows.p, np.float64)
    y = np.asarray(rows.top.y, np.float64)
    units = int(rows.cluster.max()) + 1
    count = rows.w if rows.counts else 1
    sums = np.empty((t.size, units))
    for i, threshold in enumerate(t):
        taken = (p < threshold) if below else (p >= threshold)
        worth = terms.a * y - terms.b * (1 - y) * threshold / (1 - threshold)
        sums[i] = np.bincount(rows.cluster, count * taken * worth, units)
    sums -= sums.mean(axis=1, keepdims=True)
    return covariance_of_sums(sums)


def _clusters_holding(evidence: Evidence, t: Floats, *, below: bool) -> Floats:
    """How many clusters hold an event, and a non-event, that is accepted at each threshold.

    With `below`, one that is missed. The result has shape (2, thresholds).
    """
    rows = evidence.in_clusters
    assert rows is not None
    p = np.asarray(rows.p, np.float64)
    held = np.empty((2, t.size))
    for i, label in enumerate((1, 0)):
        chosen = rows.y == label
        farthest = np.full(rows.clusters, math.inf if below else -math.inf)
        join = np.minimum if below else np.maximum
        join.at(farthest, rows.cluster[chosen], p[chosen])
        lower = np.searchsorted(np.sort(farthest), t)
        held[i] = lower if below else rows.clusters - lower
    return held


class _Counted(NamedTuple):
    """Events and non-events that are accepted at each threshold, or missed."""

    rows: Floats
    """Both numbers, of shape (2, thresholds)."""
    holding: Floats
    """The clusters that hold them; without clusters, the numbers themselves."""
    units: int
    """All clusters, or rows."""

    @property
    def few(self) -> Bools:
        """Where there are fewer than ten of one of them."""
        return np.asarray((self.holding < _FEW).any(axis=0))

    def limits(self, total: float, level: float) -> tuple[Floats, Floats]:
        """Clopper-Pearson limits of both numbers among `total` rows.

        The rows of a cluster count as one if they are alike; where there are none, as one each of
        all clusters.
        """
        size = np.full(self.rows.shape, total / self.units)
        np.divide(self.rows, self.holding, out=size, where=self.holding > 0)
        low, high = clopper_pearson(self.holding, total / size, level)
        return low * total, high * total


def _with_exact(
    value: Floats, half: Floats, counted: _Counted, terms: _Terms, level: float
) -> tuple[Floats, Floats]:
    """Limits value ± half, made wider by exact ones where few events or non-events are counted.

    Few are fewer than ten, or those of fewer than ten clusters. There, Clopper-Pearson limits of
    both numbers, each with half the error rate, are put together: fewest events with most
    non-events, and the other way round. The wider limits count.
    """
    low = value - half
    high = value + half
    rare = counted.few
    if not rare.any():
        return low, high
    total = float(terms.all_rows.sum())
    # Both counts must lie in their limits together: each has half of the error rate.
    few = counted._replace(rows=counted.rows[:, rare], holding=counted.holding[:, rare])
    (tp_low, fp_low), (tp_high, fp_high) = few.limits(total, (1 + level) / 2)
    cost = terms.b * terms.odds[rare]
    low[rare] = np.minimum(low[rare], terms.a * tp_low - cost * fp_high)
    high[rare] = np.maximum(high[rare], terms.a * tp_high - cost * fp_low)
    return low, high


def _joint_quantile(covariance: Floats, level: float, units: int) -> float:
    """The multiple of the standard error that a band for all thresholds together needs.

    It is the quantile at `level` of the largest |z| of normal variables with this covariance, from
    simulation with a fixed seed. It is multiplied by the ratio of Student's t with units − 1
    degrees of freedom to the normal quantile, as the covariance was estimated from `units` rows or
    clusters.
    """
    error = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(error, error))
    root = vectors * np.sqrt(np.clip(values, 0, None))
    deviations = np.random.default_rng(0).standard_normal((_DRAWS, error.size)) @ root.T
    largest = np.abs(deviations).max(axis=1)
    quantile = float(np.quantile(largest, level))
    student = t_quantile(level, max(units - 1, 1))
    normal = t_quantile(level, _NEARLY_NORMAL)
    return quantile * student / normal


def _difference(
    first: Evidence, second: Evidence, t: Floats, level: float, prevalence: float | None
) -> Floats:
    """The net benefit of the first model less that of the second, with paired limits.

    The result is of shape (3, thresholds): value, lower and upper limit. Only rows on which the
    decisions of the models differ count.
    """
    rows = first.expanded
    y = np.asarray(rows.sample.y, np.float64)
    p = np.asarray(rows.sample.p, np.float64)
    q = np.asarray(second.expanded.sample.p, np.float64)
    terms = _Terms.of(np.array([y.sum(), (1 - y).sum()]), t, prevalence)
    a = y.size * terms.a
    b = y.size * terms.b
    differences = []
    for threshold in t:
        change = (p >= threshold).astype(np.int8) - (q >= threshold)
        worth = change * (a * y - b * (1 - y) * threshold / (1 - threshold))
        limits = paired_limits(worth, level, rows.units)
        differences.append((worth.mean(), limits.low, limits.high))
    return np.array(differences).T
