"""`risk_coverage`: errors among the most confident rows, against their share."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from trueness._input.arguments import checked_fraction
from trueness._input.sample import refuse_shuffled_index
from trueness._input.zero_one import finite_numbers, zero_one
from trueness._keywords import suggests_keywords
from trueness._numerics.units import Units
from trueness._tally.clusters import read_units
from trueness._tally.evidence import Evidence
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.decision._net_benefit import field_by_model, models_by_name
from trueness.infer.limits._judged_rate import HALF_TRUST, judged_rate
from trueness.infer.limits._row_means import (
    LossTable,
    mean_row_limits,
    mean_value_limits,
    paired_limits,
    weight_together,
    with_unseen_rows,
)
from trueness.results import Estimate, RiskCoverage
from trueness.typing import ArrayLike, Floats, Kind, Missing, WeightType

_SURPRISE = 3.0
"""The weight of a row among the most confident eighth. Half a wrong row is added for the upper
limit and half a right one for the lower, since none may have been seen yet."""
_CURVE = 40
"""Points of the curve with a judge."""
_FEW_LABELS = 10
"""Human labels at or above the first point of that curve."""
_DEFINITION = "Mean over all coverages of the share of errors among the most confident rows."


@suggests_keywords
def risk_coverage(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    judge: ArrayLike | None = None,
    kind: Kind | Literal["correct"] | None = None,
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
) -> RiskCoverage:
    r"""Risk against coverage: how often answers are wrong if only the most confident are accepted.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or a dict of the scores of several models. The answer to a vector of scores is the
        likelier label, with confidence max(p, 1 − p); that of a matrix its largest score. A
        :class:`Tally` replaces both; sums of bins are refused. Clusters and several models need the
        rows.
    level : float, default 0.95
        Confidence level of all limits.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel', 'correct'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'confidence'. With
        ``kind="correct"``, `y_true` says whether each answer was right, and `y_prob` is its
        confidence.
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
    judge : array-like of shape (n,), optional
        Labels of a judge for every row, 0 and 1 in the sense of `y_true`, which is then nan or None
        where no human looked. Human labels are a random sample; the judge need not be good. For one
        model and a vector of scores.

    Returns
    -------
    RiskCoverage
        Thresholds from the highest down, with coverage and risk; the area below the curve (AURC)
        with limits, and its excess over the ideal order. For several models each of them by model,
        and the differences between their areas.

    Notes
    -----
    AURC is the mean of :math:`\ell_i w_i` with :math:`w = H_n - H_{j-1}` for the j-th most
    confident row, where :math:`H_n = 1 + 1/2 + \dots + 1/n`; rows of equal confidence share the
    mean of their weights. Its limits are those of the mean of the influences of the rows, corrected
    for skewness and for few errors or few right answers. The upper one is at least Gaffke's, with
    half a row more that is wrong among the four most confident: errors there decide, and may not
    have been seen. Limits of a difference are Student's, with half a row on which the models differ
    added.

    With a judge the area is that of the human labels, plus λ times what the judge's area of all
    rows exceeds its area of the same rows by. λ is the slope of one influence on the other, and it
    and what it gains count the less the fewer errors there are. Risks are at up to 40 coverages.

    References
    ----------
    Y. Geifman, G. Uziel, R. El-Yaniv, Bias-reduced uncertainty estimation for deep neural
    classifiers, ICLR 2019.

    Examples
    --------
    >>> import trueness as tn
    >>> found = tn.risk_coverage([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.4], kind="correct")
    >>> found.coverage.tolist(), [round(x, 3) for x in found.risk.tolist()]
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.333, 0.25])
    >>> round(found.aurc.value, 4) == round((0 + 0 + 1 / 3 + 1 / 4) / 4, 4)
    True
    """
    is_confidence = isinstance(kind, str) and kind == "correct"
    view = cast("Kind | None", None if is_confidence else kind)
    rows = row_options(
        view,
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
    if judge is not None:
        return _with_judge(y_true, y_prob, judge, level, cluster, is_confidence, dict(rows))
    models = models_by_name(y_true, y_prob, rows, cluster, "risk and coverage")
    if "" in models:
        return risk_of(models[""], level, is_confidence)
    return _of_models(models, level, is_confidence)


def _of_models(models: Mapping[str, Evidence], level: float, is_confidence: bool) -> RiskCoverage:
    """The curves of models that scored the same rows, and the differences of their areas.

    `models` has the rows of each by its name; `is_confidence` says whether scores are confidences.
    A difference of the areas (first − second) has three numbers: value, lower and upper limit, from
    paired rows at `level`.
    """
    curves = {name: _Curve.of(evidence, is_confidence) for name, evidence in models.items()}
    effects = {name: curve.of_rows(models[name], is_confidence) for name, curve in curves.items()}
    differences = {}
    for a, b in combinations(models, 2):
        change = effects[a] - effects[b]
        value = curves[a].value - curves[b].value
        moved = change - change.mean() + value
        limits = paired_limits(moved, level, models[a].expanded.units, surprise=0.5)
        differences[a, b] = np.array([value, limits.low, limits.high])
    results = {
        name: _risk_of_curve(curve, models[name], level, is_confidence)
        for name, curve in curves.items()
    }
    return RiskCoverage(
        threshold=field_by_model(results, "threshold"),
        coverage=field_by_model(results, "coverage"),
        risk=field_by_model(results, "risk"),
        aurc=field_by_model(results, "aurc"),
        excess=field_by_model(results, "excess"),
        differences=differences,
    )


def risk_of(evidence: Evidence, level: float, is_confidence: bool) -> RiskCoverage:
    """The curve of one model, and its area with limits.

    With `is_confidence`, scores are confidences, and labels say whether answers are right.
    Otherwise the answer of a binary row is its more probable label.
    """
    return _risk_of_curve(_Curve.of(evidence, is_confidence), evidence, level, is_confidence)


def _risk_of_curve(
    curve: "_Curve", evidence: Evidence, level: float, is_confidence: bool
) -> RiskCoverage:
    """The record of a curve of risk and coverage, and its area with limits.

    `evidence` holds the rows of `curve`. The limits rest on what each row adds to the area. The
    upper limit is widened for wrong answers among the most confident rows that happen not to have
    been seen, the lower one for right answers in the same way. With clusters, limits are those of
    the sums of clusters.
    """
    value = curve.value
    # The weight of a most confident row in the area of right answers, if it is right.
    right = 1 + (_SURPRISE - 1) * value
    if not evidence.dependent:
        values = value + np.concatenate([curve.if_wrong, curve.if_right])
        counts = np.concatenate([curve.errors, curve.size - curve.errors])
        limits = mean_value_limits(values, counts, 1.0, level)
        wide = mean_value_limits(values, counts, _SURPRISE, level)
        mirrored = mean_value_limits(1 - values, counts, right, level)
        unit = 1.0
    else:
        units = evidence.expanded.units
        values = value + curve.of_rows(evidence, is_confidence)
        counts = np.ones(values.size)
        limits = mean_row_limits(values, 1.0, level, units)
        wide = mean_row_limits(values, _SURPRISE, level, units)
        mirrored = mean_row_limits(1 - values, right, level, units)
        unit = weight_together(values, units)
    table = LossTable(values, counts, value + curve.if_wrong, curve.size)
    wide = with_unseen_rows(wide, table, unit, level)
    area = Estimate(
        measure="AURC",
        value=value,
        low=max(min(limits.low, 1 - mirrored.high, value), 0.0),
        high=min(max(wide.high, value), 1.0),
        level=level,
        method=wide.method,
        n=evidence.n,
        definition=_DEFINITION,
        standard_error=limits.standard_error,
        note=evidence.note,
        kind=evidence.view,
    )
    return RiskCoverage(
        threshold=curve.threshold,
        coverage=curve.reached / curve.reached[-1],
        risk=np.cumsum(curve.errors) / curve.reached,
        aurc=area,
        excess=curve.excess,
    )


class _Groups(NamedTuple):
    """Rows of equal confidence, from the highest down."""

    confidence: Floats
    size: Floats
    errors: Floats

    @classmethod
    def of(cls, evidence: Evidence, is_confidence: bool) -> "_Groups":
        """The distinct confidences, from the highest down, with their numbers of rows and errors.

        If `is_confidence`, or if the evidence is not binary, the score is the confidence, and an
        error is a label of 0. Otherwise the answer is the more probable label (1 from a score of
        one half on), the confidence is its probability, and scores on both sides of one half may
        share one.
        """
        (cells,) = evidence.tally_in(what="A curve of risk and coverage").parts
        present = cells.weight > 0
        score, n, events = (
            np.asarray(sums[present], np.float64)
            for sums in (cells.score, cells.weight, cells.events)
        )
        if is_confidence or not evidence.is_binary:
            return cls(score[::-1], n[::-1], (n - events)[::-1])
        likely = score >= 0.5
        wrong = np.where(likely, n - events, events)
        confidence = np.where(likely, score, 1 - score)
        order = np.argsort(-confidence, kind="stable")  # two ascending runs: merged, not sorted
        confidence = confidence[order]
        first = np.flatnonzero(np.append(True, confidence[1:] != confidence[:-1]))
        size = np.add.reduceat(n[order], first)
        return cls(confidence[first], size, np.add.reduceat(wrong[order], first))


class _Curve(NamedTuple):
    """Rows of equal confidence, from the highest down."""

    threshold: Floats
    """The confidence."""
    size: Floats
    """Rows of the group."""
    errors: Floats
    """Wrong rows of the group."""
    reached: Floats
    """Rows at least as confident."""
    value: float
    """The area."""
    excess: float
    """The area less that of the same errors among the least confident rows."""
    if_wrong: Floats
    """What a wrong row of the group adds to the area, less the mean."""
    if_right: Floats
    """The same for a right row."""

    @classmethod
    def of(cls, evidence: Evidence, is_confidence: bool) -> "_Curve":
        """The area, and how each row moves it; `is_confidence` is that of :func:`risk_of`.

        A group from share a (above it) to b (with it), of error rate e, adds e·log(b/a) to rows
        above it, and e·(1 − a·log(b/a)/(b − a)) to its own.
        """
        evidence.said.one_class = True  # all right, or all wrong, is an answer here
        confidence, n, wrong = _Groups.of(evidence, is_confidence)
        reached = np.cumsum(n)
        rate = wrong / n
        total = reached[-1]
        above = reached - n
        errors = float(wrong.sum())
        harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, total + 1))])
        harmonic_above = harmonic[above.astype(np.int64)]
        harmonic_in_group = harmonic[reached.astype(np.int64)] - harmonic_above
        # The risk at each number j of rows from a + 1 to b is (errors above + e·(j − a)) / j.
        errors_above = np.cumsum(wrong) - wrong
        value = float((wrong + (errors_above - rate * above) * harmonic_in_group).sum() / total)
        right = total - errors
        ideal = errors - right * (harmonic[-1] - harmonic[int(right)])
        log = np.log(reached / np.maximum(above, 1))
        log[0] = 0.0
        lower = rate * log
        below = rate - lower * above / n + (lower[::-1].cumsum()[::-1] - lower)
        if_right = errors / total - value - below
        weight = harmonic[-1] - harmonic_above - reached * harmonic_in_group / n + 1
        return cls(
            threshold=confidence,
            size=n,
            errors=wrong,
            reached=reached,
            value=value,
            excess=value - ideal / total,
            if_wrong=if_right + weight,
            if_right=if_right,
        )

    def of_rows(self, evidence: Evidence, is_confidence: bool) -> Floats:
        """What each row of the evidence adds to the area, less the mean.

        Unless scores are confidences, the answer of a binary row is its more probable label.
        """
        sample = evidence.expanded.sample
        y = np.asarray(sample.y, np.float64)
        p = np.asarray(sample.p, np.float64)
        if evidence.is_binary and not is_confidence:
            y = np.where(p >= 0.5, y, 1 - y)
            p = np.where(p >= 0.5, p, 1 - p)
        group = np.searchsorted(-self.threshold, -p)
        return np.where(y == 0, self.if_wrong[group], self.if_right[group])


def _with_judge(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    judge: ArrayLike,
    level: float,
    cluster: ArrayLike | None,
    is_confidence: bool,
    options: dict[str, Any],
) -> RiskCoverage:
    """The curve of risk and coverage by human labels of some rows and a judge's labels of all.

    The area is that of human labels plus a slope times how far the judge's area over all rows
    exceeds the judge's over the rows with a human label (prediction-powered inference). Its limits
    are those of humans alone, shifted, and shorter by what the judge explains. `options`, those of
    rows, must be left out except for `pos_label`. Refused are sums, several models, and rows
    without a single human label.
    """
    if isinstance(y_true, Tally | Sketch) or isinstance(y_prob, Mapping):
        raise InputError("judge", "needs the rows of one model", f"got a {type(y_true).__name__}")
    pos_label = options.pop("pos_label", None)
    for name, option in options.items():
        if option is not None:
            raise InputError(name, "must be left out with `judge`")
    refuse_shuffled_index(y_true, {"y_prob": y_prob, "judge": judge})
    human = zero_one(y_true, "y_true", gaps=True, pos_label=pos_label)
    p = finite_numbers(y_prob, "y_prob", human.size)
    remedy = "Scores need a cut first, such as `score >= 0.5`."
    labels = zero_one(judge, "judge", human.size, pos_label=pos_label, remedy=remedy)
    labelled = ~np.isnan(human)
    if not labelled.any():
        raise InputError("y_true", "must have a label in at least one row", "got none")
    units = read_units(y_true, cluster, human.size).at(labelled)
    y = human[labelled]
    of_humans = read_rows(y, p[labelled], {}, kind="confidence", cluster=units.cluster)
    of_judge = read_rows(
        labels[labelled], p[labelled], {}, kind="confidence", cluster=units.cluster
    )
    of_all = read_rows(labels, p, {}, kind="confidence")
    human_curve = _Curve.of(of_humans, is_confidence)
    alone = _risk_of_curve(human_curve, of_humans, level, is_confidence)
    assert isinstance(alone.aurc, Estimate)
    effect = human_curve.of_rows(of_humans, is_confidence)
    curve = _Curve.of(of_judge, is_confidence)
    moved = _Curve.of(of_all, is_confidence).value - curve.value
    rows = _JudgedRows.of(human, p, labels, is_confidence)
    errors = float(np.nansum(rows.wrong))
    rarer = min(errors, effect.size - errors)
    trust = rarer / (rarer + HALF_TRUST)
    change = _Moved.of(effect, curve.of_rows(of_judge, is_confidence), units, human.size, trust)
    area = alone.aurc
    value = min(max(area.value + change.slope * moved, 0.0), 1.0)
    powered = replace(
        area,
        value=value,
        low=max(value - change.shorter * (area.value - area.low), 0.0),
        high=min(value + change.shorter * (area.high - area.value), 1.0),
        method=f"prediction-powered, {area.method}",
        standard_error=change.shorter * area.standard_error,
        note=f"{int(labelled.sum()):,} human labels, and a judge's of {human.size:,} rows.",
    )
    threshold, coverage, risk = rows.curve()
    assert isinstance(alone.excess, float)
    excess = value - (area.value - alone.excess)
    return RiskCoverage(threshold, coverage, risk, powered, excess)


class _Moved(NamedTuple):
    """How far the judge moves an area of human labels, and how much shorter its limits become."""

    slope: float
    """What the area of the judge's labels is multiplied by where it is added."""
    shorter: float
    """What the length of the limits is multiplied by, at most 1."""

    @classmethod
    def of(cls, human: Floats, judge: Floats, units: Units, n_all: int, trust: float) -> "_Moved":
        """The slope by which the judge's area is added, and the factor of the length of the limits.

        `human` and `judge` are what each row with a human label adds to the area by human and by
        judge's labels. `n_all` is the number of all rows, with and without a human label; `trust`,
        from 0 to 1, is the weight of the judge. The slope is that of a regression of `human` on
        `judge`, times `trust`, from the sums of clusters if there are any. If either is the same
        for all rows, the slope is 0 and the factor 1.
        """
        human_sums = units.sums(human - human.mean())
        judge_sums = units.sums(judge - judge.mean())
        judge_variance = float((judge_sums * judge_sums).sum())
        variance = float((human_sums * human_sums).sum())
        if judge_variance <= 0 or variance <= 0:
            return cls(0.0, 1.0)
        covariance = float((human_sums * judge_sums).sum())
        slope = trust * covariance / judge_variance
        explained = trust * (2 * slope * covariance - slope**2 * judge_variance)
        gain = explained * (1 - human.size / n_all)
        return cls(slope, math.sqrt(min(max(1 - gain / variance, 0.0), 1.0)))


class _JudgedRows(NamedTuple):
    """Rows from the most confident down, some with a human label."""

    confidence: Floats
    wrong: Floats
    """1 for an error, 0 for a right answer, nan where no human looked."""
    doubted: Floats
    """1 where the judge takes the answer for wrong."""

    @classmethod
    def of(cls, human: Floats, p: Floats, judge: Floats, is_confidence: bool) -> "_JudgedRows":
        """The rows, the most confident first, with errors by humans and by the judge.

        `human` has labels of humans, nan where there is none, `p` the scores, and `judge` the
        judge's labels. If `is_confidence`, scores are confidences and a label of 0 is an error;
        otherwise the answer of a row is its more probable label.
        """
        likely = np.ones(p.size, bool) if is_confidence else p >= 0.5
        confidence = np.where(likely, p, 1 - p)
        order = np.argsort(-confidence, kind="stable")
        wrong = np.where(likely, 1 - human, human)
        doubted = np.where(likely, 1 - judge, judge)
        return cls(confidence[order], wrong[order], doubted[order])

    def curve(self) -> tuple[Floats, Floats, Floats]:
        """Thresholds, and the coverage and risk at each.

        The risk is the error rate by human labels, corrected by the judge's labels of all rows.
        There are at most 40 points, from the first threshold on that has ten human labels at or
        above it (or all, if they are fewer).
        """
        n = self.confidence.size
        is_last = np.append(self.confidence[1:] < self.confidence[:-1], True)
        labelled = ~np.isnan(self.wrong)
        has_labels = np.cumsum(labelled) >= min(_FEW_LABELS, labelled.sum())
        ends = np.flatnonzero(is_last & has_labels)
        if ends.size > _CURVE:
            wanted = np.linspace(ends[0], n - 1, _CURVE)
            ends = np.unique(ends[np.searchsorted(ends, np.floor(wanted))])
        risk = np.zeros(ends.size)
        for i, end in enumerate(ends.tolist()):
            inside = labelled[: end + 1]
            risk[i] = judged_rate(
                y=self.wrong[: end + 1][inside],
                judge=self.doubted[: end + 1][inside],
                judge_mean=float(self.doubted[: end + 1].mean()),
                n_all=end + 1,
            ).value
        return self.confidence[ends], (ends + 1) / n, risk
