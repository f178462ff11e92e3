"""The worst slices: where a model is wrong, among all combinations of values of many columns."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, ndtr, stdtr

from trueness._input.segment_columns import TIMES, SegmentColumn, number_groups
from trueness._level import Level
from trueness._numerics.holm import holm
from trueness._numerics.streams import stream
from trueness._tally.clusters import FEW_CLUSTERS, mix_bits
from trueness._tally.evidence import Evidence
from trueness.errors import InputError
from trueness.infer.group._segment_rows import SegmentRows, of_rows
from trueness.infer.group._segment_tests import (
    CommonPart,
    SignTests,
    bounded_by_tails,
    common_part,
    draws_at_once,
    normal_score,
    sign_tests,
    step_down,
)
from trueness.infer.group._slice_sums import (
    Condition,
    Members,
    SliceSums,
    all_slices,
    has_conditions,
    search,
    some_slices,
)
from trueness.infer.null._redrawn_labels import label_batches
from trueness.infer.test._pair_tests import required_draws
from trueness.results import Slices
from trueness.typing import Bools, Floats, Ints

# Rows times combinations of columns: above the first, fewer labels are drawn; above the second,
# none. At 10⁸, the draws of docs/methods/worst-slices.md take some 20 CPU seconds.
_MANY = 2e7
_MOST_WORK = 1e8
_DRAWS = 499
_FEWER_DRAWS = 199
_MOST_AT_ONCE = 32
# By default a slice has a thousandth of the rows, and at least 50.
_LEAST_ROWS = 50
_SHARE = 1000
# Stands for a variance or number of 0, by which something is divided.
_TINY = 1e-300
_SCORE = "score"
# An overlapping slice is a finding of its own if the rows that it does not share are off by this
# many standard errors.
_OWN = 3.0
_BY_LABELS = "labels redrawn from the scores, step-down max-T; rows are independent"
_BY_SIGNS = (
    "redrawn labels and random signs of clusters, the larger p-value, step-down max-T; "
    "needs many clusters"
)
_BY_TAILS = "tails from sums, adjusted by Holm's method: too many rows and columns to redraw labels"
_FEW = f"Slices that are worth fewer than {FEW_CLUSTERS} clusters of equal size were left out."
_BY_WEIGHT = (
    "Rows are counted; observed, expected, gap and the cuts of numeric columns are by weight."
)
_APART = (
    "Limits and p-values are found in different ways: some limits exclude 0 where p is too large "
    "for a flag."
)


def slices_of(evidence: Evidence, columns: tuple[SegmentColumn, ...], plan: "SlicePlan") -> Slices:
    """The slices of rows that have been read, as :func:`worst_slices`."""
    return _worst_of(of_rows(evidence, columns, "slices"), plan, evidence.notes)


def slices_of_groups(sums: SegmentRows, plan: "SlicePlan") -> Slices:
    """The slices of sums by group."""
    return _worst_of(sums, plan, ())


def _worst_of(rows: SegmentRows, plan: "SlicePlan", notes: tuple[str, ...]) -> Slices:
    """The slices of rows or of sums, with groups of scores as a further column.

    The `notes` about the rows come first in the result, then those about columns that divide
    nothing.
    """
    row_count = int(rows.rows.sum())
    # A thousandth of the rows, rounded up.
    fewest = max(_LEAST_ROWS, -(-row_count // _SHARE))
    rows = _with_score(rows)
    plan = plan._replace(least=plan.least or fewest, depth=min(plan.depth, len(rows.columns)))
    of_columns = [_column_note(column, rows.rows, plan.least) for column in rows.columns]
    of_numbers = [column.note for column in rows.columns]
    notes = (*notes, *filter(None, of_numbers), *filter(None, of_columns))
    rows, place = rows.with_columns_by_content()
    rows = rows.at(_by_content(rows))
    plan = plan._replace(place=tuple(place))
    slices = _searched(rows, plan) if plan.depth > 2 else _exhaustive(rows, plan)
    return replace(slices, notes=(*notes, *slices.notes))


def _with_score(rows: SegmentRows) -> SegmentRows:
    """The rows with groups of their scores as a further column, the last."""
    is_taken = any(column.name == _SCORE for column in rows.columns)
    groups = number_groups(rows.score, rows.weight)
    name = f"({_SCORE})" if is_taken else _SCORE
    score = SegmentColumn(name, groups.code, groups.names, edges=groups.edges)
    return replace(rows, columns=(*rows.columns, score))


def _column_note(column: SegmentColumn, rows: Ints, least: int) -> str:
    """A sentence about a column that gives no slice of at least `least` rows; else empty.

    `rows` are the rows of each entry of the column.
    """
    n = np.bincount(column.code, rows)
    if n.max() == rows.sum():
        return f"{column.name!r} has the same value in all rows, so it gives no slices."
    if n.max() >= least:
        return ""
    values = f"none of its {(n > 0).sum():,} values has {least:,} rows"
    return f"{column.name!r} was left out: {values}."


class SlicePlan(NamedTuple):
    """The options of :func:`worst_slices`, checked."""

    seed: int
    level: float
    most: int
    depth: int = 2
    least: Any = None
    """The least number of rows in a slice; None until the rows are known."""
    resamples: int | None = None
    """The number of draws; None for the usual one."""
    place: tuple[int, ...] = ()
    """Where each column was when it was passed."""

    def draws(self, *, fewer: bool = False) -> int:
        """The number of sets of labels to draw.

        By default 499, or 199 if there should be `fewer`, and more if 1 − level is so small that
        fewer than 20 (or 10) of them would be above it.
        """
        if self.resamples:
            return self.resamples
        usual, beyond = (_FEWER_DRAWS, 10) if fewer else (_DRAWS, 20)
        return required_draws(1 - self.level, beyond=beyond, fewest=usual)

    def require(self, has_slices: bool, rows: SegmentRows, where: str = "") -> None:
        """Raise unless there are slices; `where` is the part of the rows that was searched."""
        if has_slices:
            return
        units = f" and {FEW_CLUSTERS} clusters of equal size" if rows.units.clustered else ""
        size = f"at least {self.least:,} rows{units}{where}"
        demand = f"must have values shared by {size}, but not by all"
        raise InputError("columns", demand, "none has")


def _by_content(rows: SegmentRows) -> Ints:
    """An order of the rows by their scores, values and labels, whatever their order was.

    Columns are in such an order already.
    """
    bits = np.ascontiguousarray(rows.score).view(np.uint64)
    for column in rows.columns:
        bits = mix_bits(bits ^ column.code.astype(np.uint64))
    return np.lexsort((rows.events, rows.weight, bits, rows.score))


def _exhaustive(rows: SegmentRows, plan: SlicePlan) -> Slices:
    """Test every slice, by drawn labels or, if these would take too long, by tails from sums."""
    width = len(rows.columns)
    combinations = width if plan.depth == 1 else width * (width + 1) // 2
    work = rows.size * combinations
    sums, members = all_slices(rows, plan.depth, plan.least, members=work <= _MOST_WORK)
    plan.require(sums.n.size > 0, rows)
    if members is None:
        tests = _Tests(
            adjusted=holm(_tails(sums)),
            overall=None,
            slice_level=plan.level ** (1 / sums.n.size),
            draws=0,
            method=_BY_TAILS,
        )
    else:
        tests = _drawn_tests(rows, sums, members, plan, fewer=work > _MANY)
    return _described(rows, sums, tests, plan)


def _searched(rows: SegmentRows, plan: SlicePlan) -> Slices:
    """Find slices in one half of the rows, and test these on the other half.

    Rows of one cluster stay together. `plan` has depth, least number of rows, level and seed. All
    numbers of the result are of the second half. Upper limits for all slices are nan, because not
    all were tested. Refused are rows without a slice of enough rows in each half.
    """
    units = rows.units_by_content
    number = stream(plan.seed, "folds").permutation(units.number)
    is_first = units.spread(number) % 2 == 0
    first = rows.at(np.flatnonzero(is_first))
    second = rows.at(np.flatnonzero(~is_first))
    wanted = search(first, plan.depth, plan.least)
    plan.require(len(wanted) > 0, rows, " in each half")
    sums, _ = some_slices(second, wanted)
    kept = np.flatnonzero((sums.n >= plan.least) & sums.has_enough_clusters)
    plan.require(kept.size > 0, rows, " in each half")
    sums, members = some_slices(second, [wanted[i] for i in kept])
    tests = _drawn_tests(second, sums, members, plan)
    slices = _described(second, sums, tests, plan)
    halves = (
        "Slices were found in one half of the rows; all numbers, rows too, are of the other "
        f"{second.size:,}."
    )
    return replace(
        slices, worst_gap_high=math.nan, worst_impact_high=math.nan, notes=(halves, *slices.notes)
    )


class _Tests(NamedTuple):
    """P-values of all slices, and the level of the limits of each."""

    adjusted: Floats
    """Of the slice being calibrated, adjusted for all slices."""
    overall: Floats | None
    """Of "the error of this slice is that of all rows", adjusted for all slices; nan where that
    error cannot be estimated. None if no labels were drawn."""
    slice_level: float
    """The level of the limits of each slice for which those of all slices hold together."""
    draws: int
    method: str
    """How the p-values were found, in words."""


def _tails(sums: SliceSums) -> Floats:
    """The two-sided p-value of each slice alone, from its sums.

    It is that of a binomial distribution with the same mean and variance as the number of events,
    which is twice the smaller tail. With clusters, Student's t with clusters − 1 degrees of freedom
    gives another, and the larger counts. Events that scores of 0 and 1 rule out give 0.
    """
    # In units of the weight of a label.
    scale = sums.squares / sums.weight
    total = sums.weight / scale
    events = sums.events / scale
    expected = sums.expected / scale
    variance = sums.variance / scale**2

    def lower_tail(k: Floats, mean: Floats) -> Floats:
        """The probability of at most k events of a binomial law of this mean and the variance.

        It is 1 if the law has no more than k trials.
        """
        # A mean of 0 has no variance; scores of 0 and 1 alone have p = 1.
        p = np.clip(1 - variance / np.maximum(mean, _TINY), 1e-12, 1.0)
        trials = np.maximum(mean / p, k)
        failures = np.maximum(trials - k, _TINY)
        return np.where(trials > k, betainc(failures, k + 1, 1 - p), 1.0)

    too_few = lower_tail(events, expected)
    too_many = lower_tail(total - events, total - expected)
    is_impossible = (variance <= 0) & (np.abs(events - expected) > 1e-9 * total)
    two_sided = np.minimum(1.0, 2 * np.minimum(too_few, too_many))
    binomial = np.where(is_impossible, 0.0, two_sided)
    if not sums.clustered:
        return binomial
    freedom = np.maximum(sums.clusters - 1, 1)
    return np.asarray(np.maximum(binomial, 2 * stdtr(freedom, -np.abs(sums.z))))


def _drawn_tests(
    rows: SegmentRows, sums: SliceSums, members: Members, plan: SlicePlan, *, fewer: bool = False
) -> _Tests:
    """P-values of all slices by redrawn labels and, with clusters, also by random signs of these.

    With clusters the larger of the two counts. `members` says which rows belong to each slice,
    `sums` has the sums of these rows. With `fewer`, fewer labels are drawn. `slice_level` is the
    level of each slice's limits at which those of all slices hold together. It is Šidák's or, where
    signs were drawn and give a smaller one, that of the largest drawn statistic.
    """
    draws = plan.draws(fewer=fewer)
    adjusted = _by_labels(rows, members, draws, plan.seed)
    slice_level = plan.level ** (1 / sums.n.size)
    method = _BY_LABELS
    # Signs need a residual for each label: the residual of several would have one sign.
    if rows.units.clustered or (rows.count == 1).all():
        signs = _by_signs(rows, members, draws, plan.seed)
        slice_level = min(slice_level, _level_of_each(signs.largest, plan.level))
        if rows.units.clustered:
            adjusted = np.maximum(adjusted, signs.adjusted)
            method = _BY_SIGNS
    return _Tests(
        adjusted=bounded_by_tails(adjusted, _tails(sums), draws),
        overall=_overall_tests(rows, members, draws, plan.seed),
        slice_level=slice_level,
        draws=draws,
        method=method,
    )


def _level_of_each(largest: Floats, level: float) -> float:
    """The level of normal limits of each slice for which all limits hold together at `level`.

    `largest` is the largest absolute statistic of each draw, in standard deviations. Its quantile
    at `level` is the number of standard deviations that limits must reach, and the result is the
    level of such limits for one slice.
    """
    rank = math.ceil(round((largest.size + 1) * level, 6))
    critical = np.sort(largest)[min(largest.size, rank) - 1]
    return 2 * float(ndtr(critical)) - 1


def _overall_tests(rows: SegmentRows, members: Members, draws: int, seed: int) -> Floats:
    """Adjusted p-values of "the error of this slice is that of all rows".

    The scores are first moved by the shift and slope that fit all rows; all p-values are nan if
    these cannot be estimated.
    """
    fitted = rows.without_overall_error()
    if fitted is None:
        return np.full(members.slices, np.nan)
    common = common_part(fitted, members, members @ fitted.variance)
    adjusted = _by_labels(fitted, members, draws, seed, common)
    if not rows.units.clustered:
        return adjusted
    signs = _by_signs(fitted, members, draws, seed, common.share)
    return np.maximum(adjusted, signs.adjusted)


def _by_signs(
    rows: SegmentRows, members: Members, draws: int, seed: int, share: Floats | None = None
) -> SignTests:
    """The tests of all slices by random signs of clusters or, without clusters, of rows.

    `share` is that of a :class:`CommonPart` if shift and slope of all rows were fitted.
    """
    if rows.units.clustered:
        blocks = members.by_cluster(rows.residual, rows.units_by_content.code)
    else:
        blocks = list(members.matrices())
    return sign_tests(rows, blocks, draws, seed, share, _MOST_AT_ONCE)


def _by_labels(
    rows: SegmentRows, members: Members, draws: int, seed: int, fitted: CommonPart | None = None
) -> Floats:
    """Adjusted p-values of all slices, by labels redrawn from the scores.

    The statistic is Σw(y − p) of a slice in standard deviations, corrected for its skewness.
    `fitted` is what shift and slope of all rows explain of it, if these were fitted: it is
    subtracted.
    """
    p = rows.score
    scale = rows.scale
    mean = rows.weight * p
    third_moment = rows.variance * scale * (1 - 2 * p)
    moments = np.stack([mean, rows.variance, third_moment], axis=1)
    # One column each, of shape (slices, 1).
    expected, variance, third = (members @ moments).T[:, :, np.newaxis]
    # Raised to the floor after the power, not before: _TINY ** 1.5 is 0. Slices of scores of
    # exactly 0 or 1 have no variance.
    skewness = third / np.maximum(variance**1.5, _TINY)
    if fitted is not None:
        variance = fitted.rest[:, np.newaxis]
    deviation = np.sqrt(np.maximum(variance, _TINY))
    design = np.stack([rows.inside, rows.log_odds])

    def statistics(events: Floats) -> Floats:
        """Minus the absolute statistics of Σwy of each row, from shape (rows, draws)."""
        residual = (members @ events.astype(np.float32)) - expected
        if fitted is not None:
            residual = residual - fitted.share @ (design @ (events - mean[:, np.newaxis]))
        return -np.abs(normal_score(residual / deviation, skewness))

    def batches() -> Iterator[Floats]:
        at_most = draws_at_once(rows.size, expected.size, _MOST_AT_ONCE)
        rng = stream(seed, "labels")
        for (hits,) in label_batches(p[:, np.newaxis], rows.count, draws, rng, at_most):
            yield statistics(hits * scale[:, np.newaxis])

    observed = statistics(rows.events[:, np.newaxis])[:, 0]
    return step_down(observed, batches(), draws).adjusted


def _described(rows: SegmentRows, sums: SliceSums, tests: _Tests, plan: SlicePlan) -> Slices:
    """The record of the worst slices: at most `plan.most`, by p-value, then by distance.

    `sums` and `tests` are those of all slices tried. So are the limits of the worst gap, the
    largest upper limit of |rate − mean score|, and of the worst impact, the same times the slice's
    share of the weight.
    """
    alpha = Level(plan.level).alpha
    score = sums.expected / sums.weight
    rate_low, rate_high = sums.rate_limits(tests.slice_level)
    low = rate_low - score
    high = rate_high - score
    largest_gap = np.maximum(high, -low)
    total = float(rows.weight.sum())
    order = np.lexsort((-np.abs(sums.z), tests.adjusted))[: plan.most]
    top = sums.at(order)
    if tests.overall is None:
        overall = _overall_tails(rows, top, sums.n.size)
    else:
        overall = tests.overall[order]
    gap = top.residual / top.weight
    flagged = tests.adjusted[order] <= alpha
    direction = np.where(gap < 0, "over-predicted", "under-predicted")
    excludes_zero = ((low > 0) | (high < 0))[order]
    notes = []
    if rows.units.clustered:
        notes.append(_FEW)
    if not np.array_equal(top.n, top.weight):
        notes.append(_BY_WEIGHT)
    if (excludes_zero & ~flagged).any():
        notes.append(_APART)
    conditions = [_in_passed_order(top.conditions(i), plan) for i in range(order.size)]
    return Slices(
        rule=tuple(_rule(rows, pairs) for pairs in conditions),
        column=tuple(TIMES.join(rows.columns[i].name for i, _ in pairs) for pairs in conditions),
        finding=tuple(np.where(flagged, direction, "").tolist()),
        n=top.n,
        weight=top.weight,
        observed=top.events,
        expected=top.expected,
        gap=gap,
        gap_low=low[order],
        gap_high=high[order],
        adjusted_p=tests.adjusted[order],
        flagged=flagged,
        share=_share_of_brier(rows, top),
        overall_p=overall,
        differs=overall <= alpha,
        distinct=_distinct(rows, top, flagged),
        min_rows=plan.least,
        level=plan.level,
        draws=tests.draws,
        method=tests.method,
        overall_gap=float(rows.residual.sum()) / total,
        joint_p=float(tests.adjusted.min()),
        tried=int(sums.n.size),
        all_flagged=int((tests.adjusted <= alpha).sum()),
        worst_gap_high=float(largest_gap.max()),
        worst_impact_high=float((largest_gap * sums.weight).max() / total),
        notes=tuple(notes),
    )


def _in_passed_order(conditions: list[Condition], plan: SlicePlan) -> list[Condition]:
    """The conditions of a slice in the order in which their columns were passed."""
    return sorted(conditions, key=lambda condition: plan.place[condition[0]])


def _rule(rows: SegmentRows, conditions: list[Condition]) -> str:
    """The rows of a slice, in words."""
    return " and ".join(rows.columns[column].rule(code) for column, code in conditions)


def _share_of_brier(rows: SegmentRows, slices: SliceSums) -> Floats:
    """The share of the Brier score of all rows that a correct mean score of each slice would save.

    A slice of weight w with the gap g would save wg². The square of an estimated gap is too large
    by its variance, which is subtracted; the result is at least 0. It is 0 if the Brier score is 0.
    """
    squares = rows.events * (1 - 2 * rows.score) + rows.weight * rows.score**2
    brier = float(squares.sum())
    if brier <= 0:
        return np.zeros(slices.n.size)
    saved = np.maximum(slices.residual**2 - slices.cluster_variance, 0.0) / slices.weight
    return saved / brier


def _overall_tails(rows: SegmentRows, top: SliceSums, tried: int) -> Floats:
    """P-values of "the error of this slice is that of all rows", times the number of slices tried.

    They are normal tails from sums, without drawn labels. The scores are moved by the shift and
    slope that fit all rows, and what these explain of the residual of a slice is subtracted. `top`
    are the slices wanted, and `tried` is the number of all. All are nan if shift and slope cannot
    be estimated.
    """
    fitted = rows.without_overall_error()
    if fitted is None:
        return np.full(top.n.size, np.nan)
    sums, members = some_slices(fitted, [top.conditions(i) for i in range(top.n.size)])
    common = common_part(fitted, members, sums.variance)
    residual = sums.residual - common.share @ fitted.common_residuals
    inflation = np.maximum(1.0, sums.cluster_variance / np.maximum(sums.variance, _TINY))
    z = np.abs(residual) / np.sqrt(common.rest * inflation)
    return np.asarray(np.minimum(1.0, tried * 2 * ndtr(-z)))


def _distinct(rows: SegmentRows, top: SliceSums, flagged: Bools) -> Bools:
    """Which of the worst slices are findings of their own, rather than part of an earlier one.

    Slices overlap. Down the list, a flagged slice is one if its rows that belong to no earlier
    finding are off by at least three standard errors. A slice that is not flagged is none.
    """
    covered = np.zeros(rows.size, dtype=bool)
    is_distinct = np.zeros(flagged.size, dtype=bool)
    for i in np.flatnonzero(flagged).tolist():
        inside = has_conditions(rows, top.conditions(i))
        rest = inside & ~covered
        inflation = max(1.0, top.cluster_variance[i] / max(top.variance[i], _TINY))
        standard_error = math.sqrt(float(rows.variance[rest].sum()) * inflation)
        residual = float(rows.residual[rest].sum())
        if rest.any() and abs(residual) >= _OWN * standard_error:
            is_distinct[i] = True
            covered |= inside
    return is_distinct
