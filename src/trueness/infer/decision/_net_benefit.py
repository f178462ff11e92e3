"""`net_benefit`: what decisions by a score are worth at each threshold, with limits."""

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._keywords import suggests_keywords
from trueness._level import checked_level
from trueness._numerics.clustered import covariance_of_sums
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.students_t import t_quantile
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_models, read_rows
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.limits._row_means import paired_limits
from trueness.results import NetBenefit
from trueness.typing import ArrayLike, Floats, Kind, Missing, RowOptions, WeightType

_FEW = 10
"""With fewer accepted events or non-events limits are exact, and the simultaneous band ends."""
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
    binomial limits of both numbers, and the simultaneous band ends (nan).
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
    y_true: Any, y_prob: Any, rows: RowOptions, cluster: ArrayLike | None, counted: str = ""
) -> dict[str, Evidence]:
    """One model, whose name is empty, or those of a dict.

    `counted` names a question that needs one score per row and whole weights.
    """
    if isinstance(y_true, Tally | Sketch | Binned) or not isinstance(y_prob, Mapping):
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
    """The net benefit of models that scored the same rows; a single one has no name."""
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


def field_by_model(results: Mapping[str, Any], field: str) -> Any:
    """The field of the only result, whose name is empty, or that of each result by name."""
    if "" in results:
        return getattr(results[""], field)
    return {name: getattr(result, field) for name, result in results.items()}


def _checked_thresholds(thresholds: Any) -> Floats:
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


def _curve(evidence: Evidence, t: Floats, level: float, prevalence: float | None) -> _Curve:
    odds = t / (1 - t)
    accepted, all_rows = _accepted(evidence, t)
    a, b = _scales(all_rows, prevalence)
    value = a * accepted[0] - b * odds * accepted[1]
    treat_all = np.asarray(a * all_rows[0] - b * odds * all_rows[1])
    missed = all_rows[:, np.newaxis] - accepted
    gain = value - treat_all
    if evidence.cluster is None:
        units = int(all_rows.sum())
        covariance = _covariance(accepted, odds, a, b, all_rows, prevalence)
        gain_covariance = _covariance(missed, odds, a, b, all_rows, prevalence)
    else:
        units = evidence.units
        covariance = _clustered(evidence, t, a, b, below=False)
        gain_covariance = _clustered(evidence, t, a, b, below=True)
    error = np.sqrt(np.clip(np.diag(covariance), 0, None))
    gain_error = np.sqrt(np.clip(np.diag(gain_covariance), 0, None))
    reach = t_quantile(level, max(units - 1, 1))
    low, high = _with_exact(value, reach * error, accepted, all_rows, odds, a, b, level)
    loss_low, loss_high = _with_exact(
        -gain, reach * gain_error, missed, all_rows, odds, a, b, level
    )
    enough = (accepted >= _FEW).all(axis=0) & (error > 0)
    wide = np.full(t.size, math.nan)
    if enough.any():
        quantile = _joint_quantile(covariance[np.ix_(enough, enough)], level, units)
        wide[enough] = quantile * error[enough]
    return _Curve(
        value=value,
        low=low,
        high=high,
        band_low=value - wide,
        band_high=value + wide,
        gain=gain,
        gain_low=-loss_high,
        gain_high=-loss_low,
        treat_all=treat_all,
    )


def _accepted(evidence: Evidence, t: Floats) -> tuple[Floats, Floats]:
    """Events and non-events with scores of at least each threshold, and all of them."""
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
    reached = [np.append(np.cumsum(v[::-1])[::-1], 0.0)[place] for v in (events, non_events)]
    return np.array(reached), np.array([events.sum(), non_events.sum()])


def _scales(all_rows: Floats, prevalence: float | None) -> tuple[float, float]:
    """What an accepted event adds, and an accepted non-event at odds of 1 takes away."""
    if prevalence is None:
        return 1 / all_rows.sum(), 1 / all_rows.sum()
    if (all_rows == 0).any():
        raise InputError(
            "y_true", "must have both labels for another prevalence", "there is one label"
        )
    return prevalence / all_rows[0], (1 - prevalence) / all_rows[1]


def _covariance(
    count: Floats, odds: Floats, a: float, b: float, all_rows: Floats, prevalence: float | None
) -> Floats:
    """Covariances of the values at all thresholds, of shape (thresholds, thresholds).

    The value at a threshold is a · events − b · odds · non-events, of the rows that are accepted
    there, or of those that are missed. `count` holds these two numbers in rows, a column per
    threshold, `all_rows` those of the whole sample; `a` and `b` are the `_scales`. Without
    `prevalence` all rows are one sample. With it, events and non-events were sampled separately:
    their numbers are fixed, and each varies around its own mean.
    """
    # Counts fall, or rise, with the threshold: rows beyond the farther threshold count at both.
    shared = [np.minimum(v[:, np.newaxis], v) for v in count]
    products = np.outer(odds, odds)
    events = a**2 * shared[0]
    non_events = b**2 * products * shared[1]
    if prevalence is None:
        value = a * count[0] - b * odds * count[1]
        return np.asarray(events + non_events - np.outer(value, value) / all_rows.sum())
    means = [np.outer(v, v) / total for v, total in zip(count, all_rows, strict=True)]
    return np.asarray(events - a**2 * means[0] + non_events - b**2 * products * means[1])


def _clustered(evidence: Evidence, t: Floats, a: float, b: float, *, below: bool) -> Floats:
    """Covariances of the values at all thresholds, or of what rows below them would add."""
    rows = evidence.in_clusters
    assert rows is not None
    p = np.asarray(rows.p, np.float64)
    y = np.asarray(rows.top.y, np.float64)
    units = int(rows.cluster.max()) + 1
    count = rows.w if rows.counts else 1
    sums = np.empty((t.size, units))
    for i, threshold in enumerate(t):
        taken = (p < threshold) if below else (p >= threshold)
        worth = a * y - b * (1 - y) * threshold / (1 - threshold)
        sums[i] = np.bincount(rows.cluster, count * taken * worth, units)
    sums -= sums.mean(axis=1, keepdims=True)
    return covariance_of_sums(sums)


def _with_exact(
    value: Floats,
    reach: Floats,
    count: Floats,
    all_rows: Floats,
    odds: Floats,
    a: float,
    b: float,
    level: float,
) -> tuple[Floats, Floats]:
    """Value ± reach, joined with exact limits of both numbers where one of them is small."""
    low = value - reach
    high = value + reach
    rare = (count < _FEW).any(axis=0)
    if not rare.any():
        return low, high
    total = all_rows.sum()
    # Both counts must lie in their limits together: each has half of the error rate.
    tp_low, tp_high = clopper_pearson(count[0][rare], np.full(rare.sum(), total), (1 + level) / 2)
    fp_low, fp_high = clopper_pearson(count[1][rare], np.full(rare.sum(), total), (1 + level) / 2)
    lowest = a * (tp_low * total) - b * odds[rare] * (fp_high * total)
    highest = a * (tp_high * total) - b * odds[rare] * (fp_low * total)
    low[rare] = np.minimum(low[rare], lowest)
    high[rare] = np.maximum(high[rare], highest)
    return low, high


def _joint_quantile(covariance: Floats, level: float, units: int) -> float:
    """The quantile of the largest standardised deviation of correlated normal variables.

    It is widened by the ratio of Student's to the normal quantile.
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
    """Value and limits of the first less the second, from rows on which their decisions differ."""
    rows = first.expanded
    y = np.asarray(rows.sample.y, np.float64)
    p = np.asarray(rows.sample.p, np.float64)
    q = np.asarray(second.expanded.sample.p, np.float64)
    a, b = y.size * np.array(_scales(np.array([y.sum(), (1 - y).sum()]), prevalence))
    differences = []
    for threshold in t:
        change = (p >= threshold).astype(np.int8) - (q >= threshold)
        worth = change * (a * y - b * (1 - y) * threshold / (1 - threshold))
        limits = paired_limits(worth, level, rows.cluster)
        differences.append((worth.mean(), limits.low, limits.high))
    return np.array(differences).T
