"""A gate: calibration errors compared with bounds, by confidence limits and not by estimates."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._input.arguments import Seed, check_flag, is_real, whole_seed
from trueness._keywords import suggests_keywords
from trueness._level import HIGHEST_DRAWN, Level, checked_level
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import are_sums, row_options
from trueness._tally.rules import BinRule, BinsLike, as_rule, blind_to_labels
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, quietly
from trueness.infer.decision._net_benefit import models_by_name
from trueness.infer.decision._policy import Policy, PolicyLike
from trueness.infer.decision._policy_gate import (
    Subject,
    baseline_scores,
    few_clusters,
    is_vague,
    policy_gate_of,
    rows_needed,
    unknown_finding,
    with_limits,
)
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.limits._ece import ece_limits_of
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.infer.test._equivalence import FINE, TOO_GOOD, margin, omnibus_of, too_good_of
from trueness.results import Significance
from trueness.results._gate import Finding, Gate, Quantity
from trueness.typing import ArrayLike, Columns, Kind, Missing, RowOptions, WeightType

Names: TypeAlias = tuple[str, str]
"""The names of a group and of a model, each perhaps empty."""
About: TypeAlias = Callable[[Names], AbstractContextManager[Any]]


class Bound(NamedTuple):
    """A quantity and how far it may go."""

    quantity: Quantity
    bound: float
    rule: BinRule
    """The bins of the ECE."""


class _Limits(NamedTuple):
    """A quantity, and limits that hold with the level of the gate, each on its own."""

    n: int
    estimate: float
    low: float
    high: float


@suggests_keywords
def gate(
    y_true: ArrayLike | Tally | Sketch | Binned,
    y_prob: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    max_ece: float | None = None,
    max_l2: float | None = None,
    oe_within: float | None = None,
    require: bool = False,
    bins: BinsLike = 10,
    by: Columns | None = None,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    seed: Seed = 0,
    policy: PolicyLike | None = None,
    data: Columns | None = None,
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
) -> Gate:
    """Decide whether calibration errors keep their bounds.

    Each bound is compared with confidence limits, not with the estimate, which varies by chance.
    All models, groups and quantities must pass.

    Parameters
    ----------
    y_true : array-like of shape (n,), or sums
        Labels, or sums in place of labels and scores.
    y_prob : array-like or dict of array-likes
        Scores, or the scores of each model by name.
    max_ece : float, optional
        The largest ECE allowed, in the bins of `bins`.
    max_l2 : float, optional
        The largest l2 calibration error allowed.
    oe_within : float, optional
        How far observed/expected events may be from 1: 0.1 allows 0.9 to 1.1.
    require : bool, default False
        Pass only what is shown to keep its bound, by :func:`equivalence_test`. By default a
        quantity fails if it is shown to exceed its bound, or if there are too few rows, or fewer
        than 6 clusters, to notice even a gross excess. In either case labels that agree with the
        scores better than chance allows fail, as those of the rows that fitted a map do (p ≤ 0.001;
        without `require`, divided by the number of models and groups).
    bins : int, sequence of edges or bin rule, default 10
        Bins of the ECE; rules that depend on the labels are refused.
    by : array-like, mapping of columns or frame, optional
        Columns that divide the rows into groups, each of which must pass.
    level : float, default 0.95
        Confidence level of the one-sided limits, at least 0.75. Each limit that certifies a
        quantity has this level; the limits that fail one have it jointly, over all models, groups
        and quantities. (A model whose l2 error is exactly its bound fails in 6 to 7 % of data sets
        where the level says 5 %.)
    seed : int or numpy.random.Generator, default 0
        For redrawn labels.
    policy : path of a TOML file, or dict, optional
        The bounds, in place of the arguments above: `level`, `require`, `min_rows`, `max_ece`,
        `max_l2`, `oe_within`, `by` (columns of segments) with `segment_gap` (how far event rate and
        mean score of a segment may be apart), `columns` with `slice_gap` (the same for every value
        of these columns and of their pairs), `baseline` (a column of scores) with `margin` (by how
        much the Brier score may exceed that of the baseline), `seed`. Of ``pyproject.toml``, the
        section ``[tool.trueness.gate]``.
    data : frame or dict of array-likes, optional
        The columns that the policy names.
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
    Gate
        `outcome` ('pass', 'fail' or 'investigate'), `passed`, and `findings` with one record for
        each model, group and quantity: estimate, limits, bound, `outcome` ('not exceeded',
        'exceeded', 'certified', 'not certified', 'too good' or 'unknown'), the reason in words and,
        where these rows do not decide, about how many would.

    Notes
    -----
    **Fail**: a bound is shown to be exceeded, or labels agree with the scores too well. Everything
    that can fail shares one error rate, 1 − level: a gate whose bounds are all kept fails with at
    most that probability. By a policy this is Holm's method over all rows, segments, slices and the
    baseline. **Investigate**: these rows do not decide, there are fewer than `min_rows`, or a bound
    is not shown to be kept and `require` demands it. **Pass** otherwise; with `require`, a model
    that breaks a bound passes with a probability of at most 1 − level.

    Examples
    --------
    >>> import trueness as tn
    >>> data = tn.simulate.demo()
    >>> found = tn.gate(data.y_true, data.y_prob, max_ece=0.03)
    >>> found.passed
    False
    >>> print(found.findings[0])
    ECE in 10 bins of equal width ≤ 0.03: lower 95 % limit 0.0381 > 0.03 → fails.
    >>> policy = {"max_l2": 0.1, "oe_within": 0.1, "require": True, "min_rows": 1_000}
    >>> tn.gate(data.y_true, data.y_prob, policy=policy).outcome
    'pass'
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
    if policy is not None:
        beside = {
            "max_ece": max_ece is not None,
            "max_l2": max_l2 is not None,
            "oe_within": oe_within is not None,
            "require": require is not False,
            "by": by is not None,
            "level": level != 0.95,
            "seed": seed != 0,
        }
        for name, is_given in beside.items():
            if is_given:
                raise InputError(name, "must not be given beside `policy`, which says it")
        return gate_by_policy(Policy.of(policy), y_true, y_prob, data, bins, cluster, rows)
    if data is not None:
        raise InputError("data", "needs `policy`, which names its columns")
    seed = whole_seed(seed)
    bounds = checked_bounds(max_ece, max_l2, oe_within, bins)
    level = checked_level(level)
    if level < 0.75:
        raise InputError("level", "must be at least 0.75 for a gate", f"got {level!r}")
    subjects = dict(_groups(models_by_name(y_true, y_prob, rows, cluster), by, y_true))
    return gate_of(subjects, bounds, require=require, level=level, seed=seed, about=_named)


def gate_by_policy(
    policy: Policy,
    y_true: ArrayLike,
    y_prob: ArrayLike,
    data: Columns | None,
    bins: BinsLike,
    cluster: ArrayLike | None,
    rows: RowOptions,
) -> Gate:
    """Judge models by a policy; sums are refused if it needs columns.

    The scores of the baseline are those of a model of that name or, if there is none, a column of
    `data`. The baseline itself is not judged.
    """
    if are_sums(y_true) and policy.needs_columns:
        remedy = "Sums serve `max_ece`, `max_l2` and `oe_within`."
        keys = "'by', 'columns' and 'baseline'"
        raise InputError(
            "policy", f"needs rows for {keys}", f"got {type(y_true).__name__}", remedy=remedy
        )
    baseline = policy.baseline
    scores = y_prob
    if baseline is not None and not (isinstance(y_prob, Mapping) and baseline in y_prob):
        scores = dict(y_prob) if isinstance(y_prob, Mapping) else {"": y_prob}
        scores[baseline] = baseline_scores(data, baseline)
    models = models_by_name(y_true, scores, rows, cluster)
    reference = models.pop(baseline) if baseline is not None else None
    if reference is not None and not reference.is_binary:
        raise InputError("policy", "needs one score per row for 'baseline'", "got a matrix")
    if not models:
        raise InputError("y_prob", "must hold a model beside the baseline")
    return judge_by_policy(policy, models, reference, data, y_true, bins)


def judge_by_policy(
    policy: Policy,
    models: Mapping[str, Evidence],
    baseline: Evidence | None = None,
    data: Columns | None = None,
    y_true: ArrayLike = None,
    bins: BinsLike = 10,
) -> Gate:
    """Judge models, whose rows have been read; `data` holds the columns that the policy names."""
    bounds = checked_bounds(policy.max_ece, policy.max_l2, policy.oe_within, bins, optional=True)
    subjects = [Subject(name, evidence, baseline) for name, evidence in models.items()]
    return policy_gate_of(subjects, policy, data, y_true, _limits, bounds)


@contextmanager
def _named(names: Names) -> Iterator[None]:
    """Errors name the group and the model, if they have names."""
    where = ", ".join(filter(None, names))
    try:
        yield
    except InputError as error:
        raise (error.within(where) if where else error) from None


def _groups(
    models: Mapping[str, Evidence], by: Columns | None, y_true: ArrayLike
) -> Iterator[tuple[Names, Evidence]]:
    """Every model in every group that has rows, with the names of both.

    `by` holds the columns of the groups. Without it each model is one group, whose name is empty.
    """
    if by is None:
        for name, evidence in models.items():
            yield ("", name), evidence
        return
    first = next(iter(models.values()))
    for column in first.columns(by, y_true):
        for code, value in enumerate(column.values):
            rows = np.flatnonzero(column.code == code)
            if not first.has_weight(rows):
                continue
            for name, evidence in models.items():
                yield (f"{column.name} = {value}", name), evidence.at(rows)


def checked_bounds(
    max_ece: float | None,
    max_l2: float | None,
    oe_within: float | None,
    bins: BinsLike = 10,
    *,
    optional: bool = False,
) -> tuple[Bound, ...]:
    """The bounds that were given, each with the bins of the ECE.

    None is a bound that was not given; the others must lie in [0, 1]. Unless they are `optional`,
    there must be at least one.
    """
    rule = blind_to_labels(as_rule(bins))
    values: dict[Quantity, float | None] = {"ece": max_ece, "l2": max_l2, "oe": oe_within}
    bounds = []
    for key, value in values.items():
        if value is None:
            continue
        if not (is_real(value) and 0 <= value <= 1):
            argument = "oe_within" if key == "oe" else f"max_{key}"
            raise InputError(argument, "must lie in [0, 1]", f"got {value!r}")
        bounds.append(Bound(key, float(value), rule))
    if not bounds and not optional:
        raise InputError("", "A gate needs a bound: `max_ece`, `max_l2` or `oe_within`")
    return tuple(bounds)


def gate_of(
    subjects: Mapping[Names, Evidence],
    bounds: Sequence[Bound],
    require: bool,
    level: float,
    seed: int,
    about: About,
) -> Gate:
    """Judge every quantity (ECE, l2 error, O/E) of every subject, a model in a group or as a whole.

    `subjects` has the rows by names of group and model. `require` says whether bounds must be shown
    to be kept, or only not shown to be exceeded. `about` is the context in which a subject is
    judged. To certify all, each is tested at `level` itself, since all must pass
    (intersection-union). To fail for any, the error rate is divided by the number of findings
    (Bonferroni's method).
    """
    check_flag(require, "require")
    joint = Level.of_alpha((1 - level) / (len(subjects) * len(bounds))).confidence
    if require:
        judge = partial(_certify, level=level, joint=joint, seed=seed)
    else:
        tail = TOO_GOOD / len(subjects)
        judge = partial(_refute, level=level, joint=joint, tail=tail, seed=seed)
    findings = []
    for names, evidence in subjects.items():
        with about(names):
            findings += [judge(evidence, bound, names) for bound in bounds]
    notes = dict.fromkeys(note for evidence in subjects.values() for note in evidence.notes)
    return Gate(
        tuple(findings),
        require,
        level,
        tuple(notes),
        n=min(evidence.n for evidence in subjects.values()),
        tests=len(findings),
    )


def _refute(
    evidence: Evidence,
    bound: Bound,
    names: Names,
    level: float,
    joint: float,
    tail: float,
    seed: int,
) -> Finding:
    """The finding of a gate that passes unless the bound is shown to be exceeded.

    `level` is that of the gate, and `joint` the level at which each quantity is tested, so that all
    hold together. The outcome is "exceeded" if the limits at `joint` lie beyond the bound. It is
    "unknown" without limits, and where limits not within the bound come from few clusters or are
    too wide to show a gross error. It is "too good" if labels agree with the scores so well that
    the probability of this is at most `tail`. Otherwise it is "not exceeded". See
    ``docs/methods/verdict-and-gate.md``.
    """
    limits = _limits(evidence, bound, joint, False, seed)
    if limits is None or math.isnan(limits.low + limits.high):
        return _unknown(evidence, bound, names, joint, None)
    finding = _unknown(evidence, bound, names, joint, limits)
    if _is_beyond(finding):
        return replace(finding, outcome="exceeded")
    clusters = few_clusters(evidence)
    if not _is_within(finding) and clusters:
        return replace(finding, few_clusters=clusters)
    if not _is_within(finding) and is_vague(finding):
        # Vague at the joint level; by itself, at its own level, it may be clear.
        if level != joint:
            limits = _limits(evidence, bound, level, False, seed)
        single = _unknown(evidence, bound, names, level, limits)
        if limits is not None and is_vague(single):
            return replace(single, needed=rows_needed(single))
    too_good = too_good_of(evidence, _omnibus(evidence, seed))
    if too_good is not None and too_good <= tail:
        return replace(finding, outcome="too good", too_good=too_good)
    return replace(finding, outcome="not exceeded")


def _certify(
    evidence: Evidence, bound: Bound, names: Names, level: float, joint: float, seed: int
) -> Finding:
    """The finding of a gate that passes only if the bound is shown to be kept.

    The outcome is "certified" if the limits at `level` lie within the bound; if not, "not
    certified", or "exceeded" if they lie beyond the bound at the stricter level `joint`, too.
    Without limits it is "unknown". It is also "not certified" if tied scores alone show a larger
    error, and "too good" if labels agree with the scores better than chance allows. See
    ``docs/methods/verdict-and-gate.md``.
    """
    limits = _limits(evidence, bound, level, True, seed)
    if limits is None or math.isnan(limits.low + limits.high):
        return _unknown(evidence, bound, names, level, None)
    finding = _unknown(evidence, bound, names, level, limits)
    # The limits have given the warnings.
    kept = quietly(margin, evidence, bound.quantity, bound.bound, bound.rule)
    finding = replace(finding, condition=kept.condition, pvalue=kept.pvalue)
    if _is_beyond(finding):
        shown = finding
        if level != joint:
            limits = _limits(evidence, bound, joint, False, seed)
            shown = _unknown(evidence, bound, names, joint, limits)
        if _is_beyond(shown):
            return replace(finding, outcome="exceeded")
    if not _is_within(finding):
        return replace(finding, outcome="not certified", needed=rows_needed(finding))
    if kept.shown_by_ties > bound.bound:
        return replace(
            finding, outcome="not certified", pvalue=1.0, shown_by_ties=kept.shown_by_ties
        )
    test = _omnibus(evidence, seed)
    too_good = too_good_of(evidence, test)
    if too_good is not None and too_good <= TOO_GOOD:
        return replace(finding, outcome="too good", pvalue=1.0, too_good=too_good)
    contradicted = 0 if test is None else test.contradicted
    return replace(finding, outcome="certified", contradicted=contradicted)


def _unknown(
    evidence: Evidence, bound: Bound, names: Names, level: float, limits: _Limits | None
) -> Finding:
    """The finding before it is judged, with these limits; its numbers are nan without limits."""
    group, model = names
    finding = unknown_finding(
        group=group,
        model=model,
        quantity=bound.quantity,
        bins=repr(bound.rule) if bound.quantity == "ece" else "",
        bound=bound.bound,
        n=evidence.sums.n,
        level=level,
    )
    return finding if limits is None else with_limits(finding, limits)


def _is_beyond(finding: Finding) -> bool:
    """Whether the limits lie outside the bound."""
    low, high = finding.ends
    return finding.low > high or finding.high < low


def _is_within(finding: Finding) -> bool:
    """Whether the limits lie inside the bound."""
    low, high = finding.ends
    return low <= finding.low and finding.high <= high


def _omnibus(evidence: Evidence, seed: int) -> Significance | None:
    """The omnibus test, made once for all bounds."""
    return evidence.once(omnibus_of, seed)


def _limits(
    evidence: Evidence, bound: Bound, level: float, require: bool, seed: int
) -> _Limits | None:
    """The limits that the gate compares with the bound; None if the sums do not give them.

    `level` is one-sided for ECE and l2 error, which are compared with an upper bound. O/E has a
    bound on each side. With `require`, each of its limits is at the full level, since both tests
    must pass; otherwise each has half of the error rate.
    """
    if bound.quantity == "ece":
        if evidence.is_binned and bound.rule.fixed_edges is None:
            raise InputError("bins", "must be edges that the sums have", f"got {bound.rule!r}")
        ece = ece_limits_of(evidence, bins=bound.rule, level=level, seed=seed)
        return _Limits(evidence.n, ece.value, ece.low, ece.high)
    if bound.quantity == "l2":
        return _l2(evidence, level, seed)
    # To certify a range takes one test on each side, both at the full level; to leave it on either
    # side, half each.
    part = evidence.one
    assert part is not None
    evidence.require_one("a gate")
    rows = evidence.in_clusters
    ratio = ratio_limits(part, 2 * level - 1 if require else level, rows)
    return _Limits(evidence.n, ratio.value, ratio.low, ratio.high)


def _l2(evidence: Evidence, level: float, seed: int) -> _Limits | None:
    """The l2 error with one-sided limits at `level`; None for sums of few bins.

    The lower limit is 0 if a test at `level` does not reject that all scores are right. At very
    high levels, which would take too many random draws, the lower limit is that of the ECE, which
    is at most the l2 error, and the upper limit is 1.
    """
    evidence = evidence.with_bins_as_cells(FINE)
    if evidence.is_binned:
        return None
    two_sided = 2 * level - 1
    if two_sided > HIGHEST_DRAWN:
        # Too many groups for random draws. The ECE of any bins is at most the l2 error, so its
        # lower limit holds.
        interval = interval_of(evidence, seed=seed)
        low = ece_limits_of(evidence, level=level, seed=seed).low
        return _Limits(interval.n, interval.estimate, low, 1.0)
    interval = interval_of(evidence, level=two_sided, seed=seed)
    low, high = interval.hull
    if low > 0 and interval_of(evidence, level=level, seed=seed).includes_zero:
        low = 0.0
    return _Limits(interval.n, interval.estimate, low, high)
