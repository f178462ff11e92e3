"""The cost of decisions at the threshold that costs imply, and how much recalibration could save.

:func:`decision_certificate` bounds what any increasing map of the scores could save.
"""

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from trueness._input.arguments import (
    checked_fraction,
    checked_word,
)
from trueness._keywords import suggests_keywords
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.streams import stream
from trueness._numerics.units import Units
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.decision._policy_gate import few_clusters
from trueness.infer.limits._limits import Limits
from trueness.infer.limits._row_means import (
    mean_row_limits,
    mean_value_limits,
    paired_limits,
    rate_limits,
)
from trueness.results import Decision, Estimate
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, Missing, WeightType

# The best threshold is judged on the folds that did not choose it.
_FOLDS = 5


class _Rows(NamedTuple):
    """Rows in an order that depends on nothing but their scores, labels and clusters."""

    y: Floats
    place: Ints
    """The place of the score of each row among the distinct scores."""
    fold: Ints
    units: Units

    @classmethod
    def of(cls, evidence: Evidence, score: Floats, rng: np.random.Generator) -> "_Rows":
        """Deal rows, or whole clusters, to folds at random.

        `score` holds the distinct scores. Neither the order of rows nor the names of clusters
        matter.
        """
        clustered = evidence.in_clusters
        if clustered is not None:
            fold = rng.permutation(clustered.clusters)[clustered.cluster] % _FOLDS
            return cls(clustered.y, np.searchsorted(score, clustered.p), fold, clustered.units)
        top = evidence.expanded.sample
        y = np.asarray(top.y, dtype=np.float64)
        place = np.searchsorted(score, np.asarray(top.p, dtype=np.float64))
        order = np.argsort(2 * place + (y > 0), kind="stable")
        fold = rng.permutation(y.size) % _FOLDS
        return cls(y[order], place[order], fold, evidence.expanded.units)

    def by_score_and_fold(self, n_scores: int) -> tuple[Floats, Floats]:
        """The number of rows, and of events, of each score in each fold."""
        cell = self.place * _FOLDS + self.fold
        size = n_scores * _FOLDS
        n = np.bincount(cell, minlength=size).astype(np.float64)
        events = np.bincount(cell, self.y, size).astype(np.float64)
        return n.reshape(-1, _FOLDS), events.reshape(-1, _FOLDS)


class _Costs(NamedTuple):
    """Rows by distinct score and fold, and the costs of a false positive and a false negative."""

    score: Floats
    n: Floats
    """Rows of each score in each fold."""
    events: Floats
    fp: float
    fn: float
    level: float
    rows: _Rows
    event_rate: Limits
    """Limits of the share of events."""

    @property
    def threshold(self) -> float:
        """The probability of an event from which acting costs less than not acting."""
        return self.fp / (self.fp + self.fn)

    def estimate(self, name: str, act: Bools) -> Estimate:
        """The mean cost per row, with limits, called `name`.

        `act` says for each score, or for each score in each fold, whether its rows are acted on.
        """
        n = float(self.n.sum())
        true_positives = float(self.events[act].sum())
        false_positives = float(self.n[act].sum()) - true_positives
        false_negatives = float(self.events.sum()) - true_positives
        value = (false_positives * self.fp + false_negatives * self.fn) / n
        limits = self.limits(act, false_positives, false_negatives)
        return _mean_cost(
            name, value, limits, largest=max(self.fp, self.fn), level=self.level, n=round(n)
        )

    def limits(self, act: Bools, false_positives: float, false_negatives: float) -> Limits:
        """Limits of the mean cost per row.

        `act` is that of :meth:`estimate`; the other arguments are the numbers of wrong rows. If all
        rows or none are acted on, the cost is a rate times a cost, and its limits are exact.
        """
        rate = self.event_rate
        n = float(self.n.sum())
        acted = float(self.n[act].sum())
        if acted == n:
            low = self.fp * (1 - rate.high)
            high = self.fp * (1 - rate.low)
            return Limits(low, high, rate.method, self.fp * rate.standard_error)
        if acted == 0:
            low = self.fn * rate.low
            high = self.fn * rate.high
            return Limits(low, high, rate.method, self.fn * rate.standard_error)
        surprise = (acted * self.fp + (n - acted) * self.fn) / n
        if not self.rows.units.clustered:
            correct = n - false_positives - false_negatives
            counts = np.array([false_positives, false_negatives, correct])
            costs = np.array([self.fp, self.fn, 0.0])
            return mean_value_limits(costs, counts, surprise, self.level)
        y, place, fold, units = self.rows
        row_act = act[place] if act.ndim == 1 else act[place, fold]
        losses = np.where(row_act, self.fp * (1 - y), self.fn * y)
        return mean_row_limits(losses, surprise, self.level, units)

    def from_each_score(self, n: Floats, events: Floats) -> Floats:
        """The cost of acting from each score on, then that of never acting, less that of always.

        `n` and `events` are the rows and events of each score, ascending.
        """
        return np.concatenate([[0.0], np.cumsum((self.fp + self.fn) * events - self.fp * n)])

    def best_cut(self, score: Floats, n: Floats, events: Floats) -> float:
        """The cheapest threshold: a score, or more than 1 to never act.

        `n` and `events` are the rows and events of each score, ascending. Of several cheapest
        thresholds it is the one nearest to that which the costs imply.
        """
        cost = self.from_each_score(n, events)
        cuts = np.append(score, math.nextafter(1, 2))
        rounding = 1e-12 * (self.fp + self.fn) * n.sum()
        cheapest = cuts[cost <= cost.min() + rounding]
        nearest = np.argmin(np.abs(cheapest - self.threshold))
        return float(cheapest[nearest])

    def cross_fitted(self) -> Bools:
        """Whether rows are acted on by the best threshold of the other folds.

        The result is of shape (scores, folds). If all rows are in one fold, none is acted on.
        """
        act = np.zeros(self.n.shape, dtype=bool)
        for k in range(_FOLDS):
            n = self.n.sum(axis=1) - self.n[:, k]
            events = self.events.sum(axis=1) - self.events[:, k]
            present = n > 0
            if present.any():
                cut = self.best_cut(self.score[present], n[present], events[present])
                act[:, k] = self.score >= cut
        return act


def _mean_cost(
    name: str, value: float, limits: Limits, *, largest: float, level: float, n: int
) -> Estimate:
    """The record of the mean cost of `n` rows, each of which costs at most `largest`."""
    return Estimate(
        measure=name,
        value=value,
        low=min(limits.low, value),
        high=max(min(limits.high, largest), value),
        level=level,
        method=limits.method,
        n=n,
        definition="Mean cost per row.",
        standard_error=limits.standard_error,
    )


class Mended(NamedTuple):
    """The cost after recalibration, and what that saves, on held-out rows."""

    cost: Estimate
    saved: Estimate


def mended_costs(
    before: Evidence, after: Evidence | None, fp: float, fn: float, level: float
) -> Mended:
    """The mean cost with recalibrated scores, and what recalibration saves on the same rows.

    `before` holds the rows with their own scores, `after` the same rows with the scores of a
    recalibration map. `fp` and `fn` are the costs of a false positive and a false negative. `saved`
    is the difference before − after with the limits of paired rows. If `after` is None, as the rows
    were too few to fit a map, both values are nan, with a note.
    """
    definition = "Mean cost less that after recalibration, on held-out rows."
    if after is None:
        missing = Estimate(
            measure="cost after recalibration",
            value=math.nan,
            low=math.nan,
            high=math.nan,
            level=level,
            method="",
            n=before.n,
            definition=definition,
            note="These rows are too few to fit a map.",
        )
        return Mended(missing, replace(missing, measure="cost of miscalibration"))
    losses = _losses(before, fp, fn)
    mended = _losses(after, fp, fn)
    units = before.expanded.units
    largest = max(fp, fn)
    limits = mean_row_limits(mended, largest, level, units)
    value = float(mended.mean())
    name = "cost after recalibration"
    cost = _mean_cost(name, value, limits, largest=largest, level=level, n=mended.size)
    difference = losses - mended
    paired = paired_limits(difference, level, units)
    saved = Estimate(
        measure="cost of miscalibration",
        value=float(difference.mean()),
        low=paired.low,
        high=paired.high,
        level=level,
        method=paired.method,
        n=losses.size,
        definition=definition,
        standard_error=paired.standard_error,
    )
    return Mended(cost, saved)


def _losses(evidence: Evidence, fp: float, fn: float) -> Floats:
    """The cost of each row if all rows with scores from the threshold on are acted on."""
    rows = evidence.expanded.sample
    y = np.asarray(rows.y, dtype=np.float64)
    act = np.asarray(rows.p, dtype=np.float64) >= fp / (fp + fn)
    return np.where(act, fp * (1 - y), fn * y)


def decision_of(
    evidence: Evidence, fp: float, fn: float, *, mended: Mended, level: float, seed: int
) -> Decision:
    """The costs of several decision rules on the same rows, with limits.

    The rules are to act on scores from fp/(fp + fn) on (the threshold for calibrated scores), from
    the best threshold on, always, and never. `fp` and `fn` are the costs of a false positive and a
    false negative; `mended` holds the costs after recalibration. The cost of the best threshold is
    cross-fitted: `seed` deals the rows to folds.
    """
    cells = evidence.cells
    score = np.asarray(cells.score[cells.weight > 0], dtype=np.float64)
    rows = _Rows.of(evidence, score, stream(seed, "folds"))
    n, events = rows.by_score_and_fold(score.size)
    rate = rate_limits(cells, level, evidence.in_clusters)
    costs = _Costs(score, n, events, fp, fn, level, rows, rate)
    count = n.sum(axis=1)
    return Decision(
        threshold=costs.threshold,
        cost=costs.estimate("cost", score >= costs.threshold),
        best_threshold=costs.best_cut(score, count, events.sum(axis=1)),
        best_cost=costs.estimate("cost at the best threshold", costs.cross_fitted()),
        recalibrated_cost=mended.cost,
        always=costs.estimate("cost of acting always", score >= 0),
        never=costs.estimate("cost of acting never", score < 0),
        miscalibration=mended.saved,
        most_to_save=certificate_of(evidence, level).high * (fp + fn),
        cost_fp=fp,
        cost_fn=fn,
        level=level,
        n=evidence.n,
        few_clusters=few_clusters(evidence),
    )


_EVERY_INTERVAL = 3000
"""Up to this number of distinct scores all intervals are tried."""
_FEW = 50
"""With fewer events, or fewer non-events, in an interval its end is that of the exact binomial
limit if larger."""


class _Residuals(NamedTuple):
    """Sums of residuals y − p and numbers of rows at each distinct score, ascending."""

    sum: Floats
    """Of the residuals, divided by the weight of all rows."""
    square: Floats
    """Of (y − p)² times the size of the cluster, divided by the square of the weight of all rows.

    It bounds the variance of the sums of clusters."""
    score: Floats
    """Of the scores, divided by the weight of all rows: expected events."""
    share: Floats
    """The share of all rows."""
    events: Floats
    """Number of events that count."""
    non_events: Floats
    n: float
    """The effective number of rows."""


@suggests_keywords
def decision_certificate(
    y_true: ArrayLike | Tally | Sketch | Binned,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    method: Literal["normal", "bernstein"] = "normal",
    cluster: ArrayLike | None = None,
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
) -> Estimate:
    r"""Certify that decisions by these scores cannot be improved much by recalibration.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. One score per row. A :class:`Tally` replaces both; sums of bins are refused.
    level : float, default 0.95
        Confidence of the upper limit.
    method : {'normal', 'bernstein'}, default 'normal'
        How the limit is found: by the normal distribution, with exact binomial limits where events
        are few; or by an empirical Bernstein inequality, which holds for any number of rows and is
        wider.
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
    Estimate
        `value` is κ on these rows, `high` its upper confidence limit, `low` is 0. At every
        threshold t, no increasing map of the scores lowers t·FP/n + (1 − t)·FN/n by more than κ. In
        net benefit that is κ/(1 − t), in costs κ·(cost of a false positive + cost of a false
        negative).

    Notes
    -----
    κ is the largest :math:`|E[(Y - p) 1\{p \in I\}]|` over intervals :math:`I` of scores. The
    interval that attains it in the population is fixed, so the largest of the upper limits of all
    intervals is an upper limit of κ, without a correction for their number. With more than 3,000
    distinct scores an upper bound of it is computed in linear time.

    References
    ----------
    R. Rossellini et al., Can a calibration metric be both testable and actionable?, COLT 2025.
    A. Maurer, M. Pontil, Empirical Bernstein bounds and sample variance penalization, COLT 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=4_000)
    >>> found = tn.decision_certificate(rng.uniform(size=4_000) < p, p)
    >>> round(found.value, 3), round(found.high, 3)
    (0.011, 0.021)
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
    level = checked_fraction(level, "level")
    checked_word(method, "method", ("normal", "bernstein"))
    evidence = read_rows(y_true, y_prob, rows, kind="confidence", cluster=cluster)
    evidence.require_one("a certificate")
    evidence.said.one_class = True  # all right, or all wrong, is an answer here
    return certificate_of(evidence, level, method)


def certificate_of(evidence: Evidence, level: float, method: str = "normal") -> Estimate:
    """κ of evidence that holds one score per row, with an upper confidence limit at `level`.

    κ is the largest |mean of (label − score)| over the rows with scores in an interval, with 0 for
    all other rows. No increasing map of the scores can lower costs by more than κ times the sum of
    the costs of a false positive and a false negative. The lower limit is 0. `method` of the limit
    is 'normal' or 'bernstein'. Sums of bins are refused.
    """
    if evidence.is_binned:
        raise InputError(
            "y_true",
            "must have every distinct score",
            "bins do not keep them",
            remedy="Pass a Tally.",
        )
    cells = _residuals(evidence)
    value = max(_largest_run(cells.sum), _largest_run(-cells.sum))
    high = max(_upper(cells, sign, level, method) for sign in (1, -1))
    name = "empirical Bernstein" if method == "bernstein" else "normal, exact where events are few"
    return Estimate(
        measure="κ",
        value=value,
        low=0.0,
        high=max(min(high, 1.0), value),
        level=level,
        method=name,
        n=evidence.n,
        definition="Largest |mean of (label − score)| over the rows with scores in an interval.",
        note=evidence.note,
        ideal=0.0,
        kind=evidence.view,
    )


def _residuals(evidence: Evidence) -> _Residuals:
    """Sums of residuals (label − score) by score.

    If rows are independent and weights count rows, they are computed from the sums at each distinct
    score, otherwise from the rows. Sums without rows whose weights are fractions are refused.
    """
    if evidence.has_rows and not evidence.is_plain:
        return _residuals_of_rows(evidence)
    (part,) = evidence.cells_at_means
    if not part.whole:
        raise InputError(
            "y_true", "must have weights that count rows", "got sums with fractional weights"
        )
    present = part.weight > 0
    p, n, events = (
        np.asarray(sums[present], dtype=np.float64)
        for sums in (part.score, part.weight, part.events)
    )
    total = n.sum()
    return _Residuals(
        sum=(events - n * p) / total,
        square=(events * (1 - p) ** 2 + (n - events) * p**2) / total**2,
        score=n * p / total,
        share=n / total,
        events=events,
        non_events=n - events,
        n=total,
    )


def _residuals_of_rows(evidence: Evidence) -> _Residuals:
    """Sums of residuals (label − score) by score, from rows in clusters or with sampling weights.

    Clusters are allowed for in two ways. The variance of a sum of residuals is bounded by
    multiplying each square by the size of its cluster. Numbers of events and rows are divided by
    the size of the largest cluster.
    """
    evidence.warn_about_rows()
    rows = evidence.expanded
    y = np.asarray(rows.sample.y, dtype=np.float64)
    p = np.asarray(rows.sample.p, dtype=np.float64)
    w = np.ones(y.size) if rows.sample.w is None else np.asarray(rows.sample.w, dtype=np.float64)
    w = w / w.sum()
    r = y - p
    # (Σ of m residuals)² is at most m times the sum of their squares.
    cluster_size = rows.units.spread(rows.units.sizes)
    # Few events are counted as if all clusters were as large as the largest, and alike inside.
    largest = float(cluster_size.max())
    code = np.unique(p, return_inverse=True)[1]

    def by_score(values: Floats) -> Floats:
        return np.bincount(code, values).astype(np.float64)

    return _Residuals(
        sum=by_score(w * r),
        square=by_score(w**2 * r**2 * cluster_size),
        score=by_score(w * p),
        share=by_score(w),
        events=by_score(y) / largest,
        non_events=by_score(1 - y) / largest,
        n=1 / float((w**2).sum()) / largest,
    )


def _largest_run(values: Floats) -> float:
    """The largest sum over neighbours; 0 if every value is negative."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return float((sums - np.minimum.accumulate(sums)).max())


def _upper(cells: _Residuals, sign: int, level: float, method: str) -> float:
    """The largest upper limit, over all intervals of scores, of the sum of residuals times `sign`.

    `sign` is 1 for scores that are too low, −1 for scores that are too high. The limit of one
    interval is Σ + z√(V − Σ²/n), where Σ is the sum of residuals and V that of their squares, over
    all rows. For the method 'bernstein' z and an added term are those of the empirical Bernstein
    inequality (Maurer and Pontil). Otherwise z is the normal quantile, and intervals with few
    events have their exact limit if it is larger. With more than 3,000 scores the result is an
    upper bound of the largest limit.
    """
    sums = sign * cells.sum
    square = cells.square
    if method == "bernstein":
        log = math.log(2 / (1 - level))
        z = math.sqrt(2 * log)
        added = 14 * log / (3 * max(cells.n - 1, 1))
        largest = 0.0
    else:
        z = float(ndtri(level))
        added = 0.0
        largest = _largest_exact_limit(cells, sign, level)
    if sums.size > _EVERY_INTERVAL:
        return max(largest, _bound_on_limits(sums, square, z) + added)
    below = np.concatenate([[0.0], np.cumsum(sums)])
    variances = np.concatenate([[0.0], np.cumsum(square)])
    # No interval from a score on has a larger limit than this: most starts need not be tried.
    largest_sum = np.maximum.accumulate(below[::-1])[::-1][1:] - below[:-1]
    bound = largest_sum + z * np.sqrt(np.clip(variances[-1] - variances[:-1], 0, None))
    for i in np.argsort(-bound):
        if bound[i] <= largest:
            break
        total = below[i + 1 :] - below[i]
        variance = variances[i + 1 :] - variances[i]
        limits = total + z * np.sqrt(np.clip(variance - total**2 / cells.n, 0, None))
        largest = max(largest, float(limits.max()))
    return largest + added


def _bound_on_limits(sums: Floats, square: Floats, z: float) -> float:
    """An upper bound of Σ + z√V over all intervals of scores, in linear time.

    Σ and V are sums of `sums` and `square` over an interval. For any λ > 0, √V ≤ λV + 1/(4λ), so
    that the largest sum over neighbours of `sums` + zλ `square`, plus z/(4λ), is a bound. It is a
    convex function of λ, and the smallest of 25 values of λ is found by bisection.
    """
    rates = np.geomspace(0.5, 50, 25) / math.sqrt(float(square.sum()))

    @cache
    def bound(i: int) -> float:
        return float(_largest_run(sums + z * rates[i] * square) + z / (4 * rates[i]))

    return bound(bisect_left(range(24), True, key=lambda i: bound(i) <= bound(i + 1)))


def _largest_exact_limit(cells: _Residuals, sign: int, level: float) -> float:
    """The largest upper limit over intervals of scores with fewer than 50 events; at least 0.

    The limit of an interval is Clopper and Pearson's limit of the rate of its k events among all
    rows, less its expected events as a share of all rows. With a negative `sign` the events are the
    other label. With more than 3,000 scores that have events, only single scores without events are
    tried.
    """
    rare = cells.events
    expected = cells.score
    if sign < 0:
        rare = cells.non_events
        expected = cells.share - cells.score
    # The upper limit of a rate of k events in n rows, for each small k.
    two_sided = 2 * level - 1 if level > 0.5 else 0.5
    small = np.minimum(np.arange(_FEW), cells.n)
    limit = clopper_pearson(small, np.full(_FEW, cells.n), two_sided)[1]
    largest = float(limit[0] - expected[rare == 0].min(initial=1.0))
    # The shortest interval with k events has the fewest expected; it starts and ends with an event.
    place = np.flatnonzero(rare)
    if place.size > _EVERY_INTERVAL:  # too many for few events to matter
        return max(largest, 0.0)
    counts = np.append(0.0, np.cumsum(rare[place]))
    means = np.append(0.0, np.cumsum(expected))
    start = np.arange(place.size)
    for k in range(_FEW):
        end = np.searchsorted(counts, counts[start] + k + 1e-9, side="right")
        start = start[end <= place.size]
        end = end[end <= place.size]
        # Counts of rows in clusters are fractions: rounded up, against 1e-9 of rounding error.
        events = np.ceil(counts[end] - counts[start] - 1e-9)
        is_small = events < _FEW
        predicted = means[place[end - 1] + 1] - means[place[start]]
        limits = limit[events[is_small].astype(np.int64)] - predicted[is_small]
        largest = max(largest, float(limits.max(initial=0.0)))
    return largest
