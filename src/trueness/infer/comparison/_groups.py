"""Differences of calibration between groups of rows."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

from trueness._input.arguments import Seed, checked_word, whole_seed
from trueness._keywords import suggests_keywords
from trueness._level import Level, checked_level
from trueness._numerics.roots import bracketed_root
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import row_options
from trueness.errors import InputError, OneClassWarning, collected_warnings, in_context
from trueness.infer.comparison._pairs import PairDifference, multiplicity, with_adjustment
from trueness.infer.group._segment_rows import event_rows, places_by_value
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.limits._observed_expected import EffectiveEvents
from trueness.infer.limits._slope import fit_line
from trueness.results import Comparison
from trueness.typing import ArrayLike, Columns, Kind, Missing, RowOptions, WeightType

Compared: TypeAlias = Literal["observed_expected", "slope", "l2"]

# More groups have too many pairs to read.
_MOST_GROUPS = 20
# With fewer rows of either class, limits of a slope mean nothing.
_FEWEST = 3
# The levels at which sets of the l2 error are computed, as far as they exclude no difference: the
# last of them is the p-value. Smaller ones would need too many redrawn labels.
_ALPHAS = (0.45, 0.3, 0.2, 0.15, 0.1, 0.075, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001)
# Logarithms of the smallest and the largest p-value: the ends of a search.
_SMALLEST = math.log(1e-12)
_LARGEST = -1e-9
_NAMES = {"observed_expected": "log O/E", "slope": "slope", "l2": "typical error"}
_METHODS = {  # MOVER: method of variance estimates recovery
    "observed_expected": "MOVER of exact limits",
    "slope": "Wald",
    "l2": "MOVER of confidence sets",
}


@suggests_keywords
def group_difference(
    measure: Compared,
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    by: Columns,
    level: float = 0.95,
    seed: Seed = 0,
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
) -> Comparison:
    r"""Difference of calibration between groups, with limits.

    Do the scores mean the same for women and men? The difference has limits of its own; that one
    group excludes 1 and another does not is no difference between them.

    Parameters
    ----------
    measure : {'observed_expected', 'slope', 'l2'}
        The logarithm of observed/expected events; the calibration slope; the l2 calibration error,
        which is the typical distance of score and rate.
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. A matrix must have two columns, of which the second is the score.
    by : array-like of shape (n,)
        The group of each row: 2 to 20 groups.
    level : float, default 0.95
        Confidence level of all limits.
    seed : int or numpy.random.Generator, default 0
        For 'l2', which draws labels.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'classwise'.
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
    Comparison
        For every pair of groups the difference (first − second) with limits and p-value; with more
        than two groups also p-values adjusted by Holm's method and simultaneous limits.

    Notes
    -----
    **Limits.** With estimates :math:`e`, and limits :math:`l, u` of each group by itself, those of
    the difference :math:`D = e_1 - e_2` are, after Zou and Donner,

    .. math:: D - \sqrt{(e_1 - l_1)^2 + (u_2 - e_2)^2} , \qquad
              D + \sqrt{(u_1 - e_1)^2 + (e_2 - l_2)^2} .

    Observed/expected enters by its logarithm, with exact limits; a group without events counts half
    an event, and has no lower limit. The slope has Wald limits; groups with fewer than three events
    or non-events are refused. For the l2 error the limits are those of the set of
    :func:`trueness.ece_interval`; where both groups may be calibrated these limits are wide, since
    each set then ends at 0. Its p-values are rounded up to one of 14 levels from 0.001 on.

    **What it does not measure.** Whether the groups have the same event rate, are selected, or
    suffer false alarms equally often: scores that are calibrated in every group usually differ in
    all of these. Not why groups differ. And two groups without a difference may be miscalibrated
    alike: :func:`trueness.segments` tests each of them.

    Rows are independent of each other, also between groups.

    References
    ----------
    G. Y. Zou, A. Donner, Construction of confidence limits about effect measures: a general
    approach, Statistics in Medicine 27 (2008), 1693-1702.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p, group = rng.uniform(0.1, 0.4, 2000), np.repeat(["a", "b"], 1000)
    >>> y = rng.random(2000) < np.where(group == "b", 1.4 * p, p)
    >>> found = tn.group_difference("observed_expected", y, p, by=group)
    >>> print(found.sentence)
    O/E of 'b' is 1.53 times that of 'a' (95 % 1.33 to 1.76, p < 0.0001).
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
    checked_word(measure, "measure", tuple(_NAMES))
    level = checked_level(level)
    seed = whole_seed(seed)
    groups, cut = _groups(y_true, y_prob, by, rows)
    measured: dict[str, _Group] = {}
    with collected_warnings(OneClassWarning):  # a group of one class has limits, too
        for name, evidence in groups.items():
            with in_context(name):
                measured[name] = _MAKERS[measure](evidence, seed)
        pairs = {
            (a, b): _PAIRS[measure](measured[a], measured[b]) for a, b in combinations(measured, 2)
        }
    first = next(iter(groups.values()))
    notes = ["Rows are independent, within groups and between them.", *first.notes, cut]
    notes += [group.note for group in measured.values()]
    return Comparison(
        measure=measure,
        pairs=with_adjustment(pairs, level),
        estimates={name: group.estimate for name, group in measured.items()},
        level=level,
        method=_METHODS[measure],
        n=sum(evidence.n for evidence in groups.values()),
        clusters=None,
        bins="",
        multiplicity=multiplicity(f"{len(groups)} groups", len(pairs), level),
        assumptions=" ".join(dict.fromkeys(filter(None, notes))),
        name=_NAMES[measure],
        better="",
        compared="groups",
    )


class _Group(NamedTuple):
    """The measure of one group, and its limits at any level."""

    estimate: float
    error: float
    """Its standard error; nan if it has none."""
    limits: Callable[[float], tuple[float, float]]
    """By the probability beyond both limits together."""
    note: str = ""


def _groups(
    y_true: ArrayLike, y_prob: ArrayLike, by: Columns, rows: RowOptions
) -> tuple[dict[str, Evidence], str]:
    """The rows of each group by its name, and a sentence if `by` holds numbers that were cut.

    `by` is one column with the group of each row, and `rows` are the options of rows. The sentence
    is "" otherwise. Fewer than 2 groups, and more than 20, are refused.
    """
    evidence = event_rows(y_true, y_prob, rows)
    if by is None:
        raise InputError("by", "must have a group for each row", "got None")
    column, *further_columns = evidence.columns(by, y_true)
    if further_columns:
        raise InputError("by", "must be one column", f"got {1 + len(further_columns)}")
    places = dict(places_by_value(column, evidence))
    if not 2 <= len(places) <= _MOST_GROUPS:
        raise InputError("by", f"must have 2 to {_MOST_GROUPS} groups", f"got {len(places)}")
    return {name: evidence.at(place) for name, place in places.items()}, column.note


def _log_ratio(group: Evidence, seed: int) -> _Group:  # noqa: ARG001  # one form for all measures
    """The logarithm of observed/expected events of a group, with exact limits.

    Scores of only 0, which expect no event, are refused. Without events the estimate counts half an
    event, the standard error is nan, and the lower limit is −∞. `seed` is not used.
    """
    events = EffectiveEvents.of(group.cells)
    if events.mean_score == 0:
        raise InputError("y_prob", "must not all be 0", "no events are expected")

    def limits(alpha: float) -> tuple[float, float]:
        """Exact limits; the lower one is −∞ without events."""
        ratio = events.limits(alpha / 2)
        low = math.log(ratio.low) if ratio.low > 0 else -math.inf
        return low, math.log(ratio.high)

    if events.value == 0:
        half = math.log(0.5 / (events.mean_score * events.rows))
        return _Group(half, math.nan, limits, "A group without events counts half an event.")
    error = events.limits(0.025).standard_error / events.value
    return _Group(math.log(events.value), error, limits)


def _slope(group: Evidence, seed: int) -> _Group:  # noqa: ARG001  # as above
    """The calibration slope of a group, with its standard error and Wald limits.

    Refused are fewer than 3 events or non-events, and scores that separate events from non-events,
    so that the slope is infinite. `seed` is not used.
    """
    line = fit_line(group.cells)
    if line.rarer < _FEWEST:
        got = f"got {line.rarer:,.6g}"
        demand = f"must have at least {_FEWEST} events and non-events with scores off 0 and 1"
        raise InputError("y_true", demand, got)
    if math.isnan(line.slope.value):
        raise InputError("y_true", "must not be separated by the scores", "its slope is infinite")

    def limits(alpha: float) -> tuple[float, float]:
        """Wald limits."""
        return line.slope.wald(1 - alpha)

    return _Group(line.slope.value, line.slope.error, limits, line.left_out)


def _typical_error(group: Evidence, seed: int) -> _Group:
    """The l2 error of a group, without a standard error.

    Its limits are the ends of a confidence set. They take long, so that those of each level are
    kept.
    """
    estimate = interval_of(group, seed=seed).estimate

    @cache
    def limits(alpha: float) -> tuple[float, float]:
        """The ends of the confidence set, which contain the estimate."""
        low, high = interval_of(group, level=1 - alpha, seed=seed).hull
        return min(low, estimate), max(high, estimate)

    return _Group(estimate, math.nan, limits)


_MAKERS: Mapping[str, Callable[[Evidence, int], _Group]] = {
    "observed_expected": _log_ratio,
    "slope": _slope,
    "l2": _typical_error,
}


def _mover(first: _Group, second: _Group, alpha: float) -> tuple[float, float]:
    """Limits of the difference of two groups from the limits of both.

    `alpha` is the probability beyond both limits together. With estimates e and limits l, u the
    lower limit is (e₁ − e₂) − √((e₁ − l₁)² + (u₂ − e₂)²), and the upper one is made in the same way
    (Zou and Donner's method of variance estimates recovery, MOVER).
    """
    low_first, high_first = first.limits(alpha)
    low_second, high_second = second.limits(alpha)
    difference = first.estimate - second.estimate
    below = math.hypot(first.estimate - low_first, high_second - second.estimate)
    above = math.hypot(high_first - first.estimate, second.estimate - low_second)
    return difference - below, difference + above


def _smallest_excluded(interval: Callable[[float], tuple[float, float]]) -> float:
    """The p-value of "the difference is 0": the smallest alpha whose limits exclude 0.

    `interval` gives the limits for an alpha, and must become shorter as alpha grows. The result is
    1e-12 if 0 is excluded even then, and 1 if no alpha excludes it.
    """

    def distance(log_alpha: float) -> float:
        """How far 0 is outside the limits; negative inside."""
        low, high = interval(math.exp(log_alpha))
        # Infinite limits count as very far ones.
        return max(low, -high, -1e300)

    if distance(_SMALLEST) > 0:
        return math.exp(_SMALLEST)
    if distance(_LARGEST) <= 0:
        return 1.0
    return math.exp(bracketed_root(distance, _SMALLEST, _LARGEST, xtol=1e-10))


def _pair(first: _Group, second: _Group) -> PairDifference:
    """The difference of two groups whose limits take no time at any level."""
    return PairDifference(
        value=first.estimate - second.estimate,
        error=math.hypot(first.error, second.error),
        pvalue=_smallest_excluded(partial(_mover, first, second)),
        interval=lambda level: _mover(first, second, Level(level).alpha),
    )


def _pair_of_sets(first: _Group, second: _Group) -> PairDifference:
    """The difference of two groups whose limits take long: those of confidence sets.

    Only some levels of `_ALPHAS` are tried, from large to small. The p-value is the last before the
    first whose limits include 0, and 1 if there is none. There is no standard error.
    """
    pvalue = 1.0
    for alpha in _ALPHAS:
        low, high = _mover(first, second, alpha)
        if low <= 0 <= high:
            break
        pvalue = alpha

    return PairDifference(
        value=first.estimate - second.estimate,
        error=math.nan,
        pvalue=pvalue,
        interval=lambda level: _mover(first, second, Level(level).alpha),
    )


_PAIRS: Mapping[str, Callable[[_Group, _Group], PairDifference]] = {
    "observed_expected": _pair,
    "slope": _pair,
    "l2": _pair_of_sets,
}
