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
    by_signs,
    common_part,
    draws_at_once,
    normal_score,
    step_down,
)
from trueness.infer.group._slice_sums import (
    Members,
    SliceSums,
    all_slices,
    mask_of,
    search,
    some_slices,
)
from trueness.infer.null._redrawn_labels import label_batches
from trueness.results import Slices
from trueness.typing import Bools, Floats

# Rows times combinations of columns: above the first, fewer labels are drawn; above the second,
# none.
_MANY = 2e7
_MOST_WORK = 1e8
_DRAWS = 499
_FEWER_DRAWS = 199
_MOST_AT_ONCE = 32
_LEAST_ROWS = 50
_SHARE = 1000
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
    """The slices of rows or of sums, with the score as a further column."""
    columns = rows.columns
    row_count = rows.rows.sum()
    fewest = max(_LEAST_ROWS, -(-int(row_count) // _SHARE))
    name = _SCORE if all(column.name != _SCORE for column in columns) else f"({_SCORE})"
    code, names, edges = number_groups(rows.score, rows.weight)
    rows = replace(rows, columns=(*columns, SegmentColumn(name, code, names, edges=edges)))
    plan = plan._replace(least=plan.least or fewest, depth=min(plan.depth, len(rows.columns)))
    notes = (*notes, *(column.note for column in columns if column.note))
    for column in rows.columns:
        n = np.bincount(column.code, rows.rows)
        if n.max() == row_count:
            notes += (f"{column.name!r} has one value and divides nothing.",)
        elif n.max() < plan.least:
            values = f"none of its {(n > 0).sum():,} values has {plan.least:,} rows"
            notes += (f"{column.name!r} was left out: {values}.",)
    rows, place = rows.with_columns_by_content()
    rows = rows.at(_by_content(rows))
    plan = plan._replace(place=tuple(place))
    slices = _searched(rows, plan) if plan.depth > 2 else _exhaustive(rows, plan)
    return replace(slices, notes=(*notes, *slices.notes))


class SlicePlan(NamedTuple):
    """The options of :func:`worst_slices`, checked."""

    seed: int
    level: float
    most: int
    depth: int = 2
    least: Any = None
    """The least number of rows in a slice; None until the rows are known."""
    resamples: int | None = None
    place: tuple[int, ...] = ()
    """Where each column was when it was passed."""

    def draws(self, *, fewer: bool = False) -> int:
        """Draws for a test at 1 − level."""
        usual, extremes = (_FEWER_DRAWS, 10) if fewer else (_DRAWS, 20)
        return self.resamples or max(usual, math.ceil(round(extremes / (1 - self.level), 6)) - 1)

    def require(self, has_slices: bool, rows: SegmentRows, where: str = "") -> None:
        """Raise unless there are slices; `where` is the part of the rows that was searched."""
        if not has_slices:
            units = "" if rows.cluster is None else f" and {FEW_CLUSTERS} clusters of equal size"
            size = f"at least {self.least:,} rows{units}{where}"
            demand = f"must have values shared by {size}, but not by all"
            raise InputError("columns", demand, "none has")


def _by_content(rows: SegmentRows) -> Any:
    """An order of the rows that ignores how they were passed.

    Columns are in such an order already.
    """
    if rows.score.flags.contiguous:
        bits = rows.score.view(np.uint64)
    else:
        bits = rows.score.copy().view(np.uint64)
    for column in rows.columns:
        bits = mix_bits(bits ^ column.code.astype(np.uint64))
    return np.lexsort((rows.events, rows.weight, bits, rows.score))


def _exhaustive(rows: SegmentRows, plan: SlicePlan) -> Slices:
    """Test every slice."""
    width = len(rows.columns)
    work = rows.size * (width if plan.depth == 1 else width * (width + 1) // 2)
    table, members = all_slices(rows, plan.depth, plan.least, members=work <= _MOST_WORK)
    plan.require(table.n.size > 0, rows)
    if members is None:
        tests = _Tests(holm(_tails(table)), None, plan.level ** (1 / table.n.size), 0, _BY_TAILS)
    else:
        tests = _drawn_tests(rows, table, members, plan, fewer=work > _MANY)
    return _described(rows, table, tests, plan)


def _searched(rows: SegmentRows, plan: SlicePlan) -> Slices:
    """Find slices in one half of the rows, and test these on the other half."""
    unit = np.arange(rows.size) if rows.cluster is None else rows.cluster_by_content
    first = stream(plan.seed, "folds").permutation(int(unit.max()) + 1)[unit] % 2 == 0
    other = rows.at(np.flatnonzero(~first))
    wanted = search(rows.at(np.flatnonzero(first)), plan.depth, plan.least)
    plan.require(len(wanted) > 0, rows, " in each half")
    table, _ = some_slices(other, wanted)
    kept = np.flatnonzero((table.n >= plan.least) & (table.clusters >= table.fewest_clusters))
    plan.require(kept.size > 0, rows, " in each half")
    table, members = some_slices(other, [wanted[i] for i in kept])
    slices = _described(other, table, _drawn_tests(other, table, members, plan), plan)
    halves = (
        "Slices were found in one half of the rows; all numbers, rows too, are of the other "
        f"{other.size:,}."
    )
    return replace(
        slices, worst_gap_high=math.nan, worst_impact_high=math.nan, notes=(halves, *slices.notes)
    )


class _Tests(NamedTuple):
    """P-values of all slices, and the level of the limits of each."""

    adjusted: Floats
    overall: Floats | None
    slice_level: float
    draws: int
    method: str


def _tails(table: SliceSums) -> Floats:
    """Two-sided tails of each slice alone.

    They are those of the binomial distribution with the same mean and variance. With clusters,
    Student's t gives other tails, and the larger counts.
    """
    scale = table.squares / table.weight
    total = table.weight / scale
    events = table.events / scale
    expected = table.expected / scale
    variance = table.variance / scale**2

    def lower_tail(k: Floats, mean: Floats) -> Floats:
        p = np.clip(1 - variance / np.maximum(mean, _TINY), 1e-12, 1.0)
        trials = np.maximum(mean / p, k)
        return np.where(trials > k, betainc(np.maximum(trials - k, _TINY), k + 1, 1 - p), 1.0)

    too_few = lower_tail(events, expected)
    too_many = lower_tail(total - events, total - expected)
    impossible = (variance <= 0) & (np.abs(events - expected) > 1e-9 * total)
    binomial = np.where(impossible, 0.0, np.minimum(1.0, 2 * np.minimum(too_few, too_many)))
    if table.spread is table.variance:
        return binomial
    freedom = np.maximum(table.clusters - 1, 1)
    return np.asarray(np.maximum(binomial, 2 * stdtr(freedom, -np.abs(table.z))))


def _drawn_tests(
    rows: SegmentRows, table: SliceSums, members: Members, plan: SlicePlan, *, fewer: bool = False
) -> _Tests:
    """P-values by redrawn labels, with clusters also by random signs of these.

    The level of the limits of each slice comes with them.
    """
    draws = plan.draws(fewer=fewer)
    level = plan.level
    seed = plan.seed
    adjusted = _by_labels(rows, members, draws, seed)
    slice_level = level ** (1 / table.n.size)
    if rows.cluster is not None or (rows.count == 1).all():  # else one sign would serve many labels
        signed, largest = _by_signs(rows, members, draws, seed)
        if rows.cluster is not None:
            adjusted = np.maximum(adjusted, signed)
        rank = min(draws, math.ceil(round((draws + 1) * level, 6)))
        critical = np.sort(largest)[rank - 1]
        slice_level = min(slice_level, 2 * float(ndtr(critical)) - 1)
    at_floor = adjusted * (draws + 1) < 1.5
    adjusted[at_floor] = np.minimum(adjusted, holm(_tails(table)))[at_floor]
    fitted = rows.without_overall_error()
    overall = np.full(table.n.size, np.nan)
    if fitted is not None:
        common = common_part(fitted, members, members @ fitted.variance)
        overall = _by_labels(fitted, members, draws, seed, common)
        if rows.cluster is not None:
            overall = np.maximum(overall, _by_signs(fitted, members, draws, seed, common[0])[0])
    method = _BY_LABELS if rows.cluster is None else _BY_SIGNS
    return _Tests(adjusted, overall, slice_level, draws, method)


def _by_signs(
    rows: SegmentRows, members: Members, draws: int, seed: int, share: Floats | None = None
) -> tuple[Floats, Floats]:
    """Adjusted p-values of all slices by random signs, and the largest statistic of each draw."""
    if rows.cluster is not None:
        blocks = members.by_cluster(rows.residual, rows.cluster_by_content)
    else:
        blocks = list(members.matrices())
    signed, _, largest = by_signs(rows, blocks, draws, seed, share, _MOST_AT_ONCE)
    return signed, largest


def _by_labels(
    rows: SegmentRows, members: Members, draws: int, seed: int, fitted: Any = None
) -> Floats:
    """Adjusted p-values of all slices, by labels redrawn from the scores.

    `fitted` is the part common to all rows.
    """
    p = rows.score
    scale = rows.scale
    row_means = rows.weight * p
    moments = np.stack([row_means, rows.variance, rows.variance * scale * (1 - 2 * p)], axis=1)
    expected, variance, third = (members @ moments).T[:, :, np.newaxis]
    skewness = third / np.maximum(variance, _TINY) ** 1.5
    common = np.stack([rows.inside, rows.log_odds])
    if fitted is not None:
        variance = fitted[1][:, np.newaxis]
    deviation = np.sqrt(np.maximum(variance, _TINY))

    def statistics(events: Floats) -> Floats:
        """Of events in each row, of shape (rows, draws)."""
        excess = (members @ events.astype(np.float32)) - expected
        if fitted is not None:
            excess = excess - fitted[0] @ (common @ (events - row_means[:, np.newaxis]))
        return -np.abs(normal_score(excess / deviation, skewness))

    def batches() -> Iterator[Floats]:
        at_most = draws_at_once(rows.size, expected.size, _MOST_AT_ONCE)
        rng = stream(seed, "labels")
        for (hits,) in label_batches(p[:, np.newaxis], rows.count, draws, rng, at_most):
            yield statistics(hits * scale[:, np.newaxis])

    return step_down(statistics(rows.events[:, np.newaxis])[:, 0], batches(), draws)[0]


def _described(rows: SegmentRows, table: SliceSums, tests: _Tests, plan: SlicePlan) -> Slices:
    """The record: limits of all slices, and the worst ones in words."""
    alpha = Level(plan.level).alpha
    score = table.expected / table.weight
    low, high = (limit - score for limit in table.rate_limits(tests.slice_level))
    reach = np.maximum(high, -low)
    total = float(rows.weight.sum())
    order = np.lexsort((-np.abs(table.z), tests.adjusted))[: plan.most]
    top = table.at(order)
    if tests.overall is None:
        overall = _overall_tails(rows, top, table.n.size)
    else:
        overall = tests.overall[order]
    gap = top.excess / top.weight
    flagged = tests.adjusted[order] <= alpha
    finding = np.where(flagged, np.where(gap < 0, "over-predicted", "under-predicted"), "")
    excludes_zero = ((low > 0) | (high < 0))[order]
    notes = []
    if rows.cluster is not None:
        notes.append(_FEW)
    if not np.array_equal(top.n, top.weight):
        notes.append(_BY_WEIGHT)
    if (excludes_zero & ~flagged).any():
        notes.append(_APART)
    brier = float((rows.events * (1 - 2 * rows.score) + rows.weight * rows.score**2).sum())
    saved = np.maximum(top.excess**2 - top.spread, 0.0) / top.weight
    conditions = [
        sorted(top.conditions(i), key=lambda condition: plan.place[condition[0]])
        for i in range(order.size)
    ]
    return Slices(
        rule=tuple(
            " and ".join(rows.columns[i].rule(code) for i, code in pairs) for pairs in conditions
        ),
        column=tuple(TIMES.join(rows.columns[i].name for i, _ in pairs) for pairs in conditions),
        finding=tuple(finding.tolist()),
        n=top.n,
        weight=top.weight,
        observed=top.events,
        expected=top.expected,
        gap=gap,
        gap_low=low[order],
        gap_high=high[order],
        adjusted_p=tests.adjusted[order],
        flagged=flagged,
        share=saved / brier if brier > 0 else np.zeros(order.size),
        overall_p=overall,
        differs=overall <= alpha,
        distinct=_distinct(rows, top, flagged),
        min_rows=plan.least,
        level=plan.level,
        draws=tests.draws,
        method=tests.method,
        overall_gap=float(rows.residual.sum()) / total,
        joint_p=float(tests.adjusted.min()),
        tried=int(table.n.size),
        all_flagged=int((tests.adjusted <= alpha).sum()),
        worst_gap_high=float(reach.max()),
        worst_impact_high=float((reach * table.weight).max() / total),
        notes=tuple(notes),
    )


def _overall_tails(rows: SegmentRows, top: SliceSums, tried: int) -> Floats:
    """P-values of "the error of this slice is that of all rows", times the number of slices."""
    fitted = rows.without_overall_error()
    if fitted is None:
        return np.full(top.n.size, np.nan)
    table, members = some_slices(fitted, [top.conditions(i) for i in range(top.n.size)])
    share, rest = common_part(fitted, members, table.variance)
    excess = table.excess - share @ fitted.common_excess
    inflation = np.maximum(1.0, table.spread / np.maximum(table.variance, _TINY))
    tail = ndtr(-np.abs(excess) / np.sqrt(rest * inflation))
    return np.asarray(np.minimum(1.0, tried * 2 * tail))


def _distinct(rows: SegmentRows, top: SliceSums, flagged: Bools) -> Bools:
    """Which flagged slices are off beyond the rows that they share with those before them."""
    covered = np.zeros(rows.size, dtype=bool)
    is_distinct = np.zeros(flagged.size, dtype=bool)
    for i in np.flatnonzero(flagged).tolist():
        inside = mask_of(rows, top.conditions(i))
        rest = inside & ~covered
        inflation = max(1.0, top.spread[i] / max(top.variance[i], _TINY))
        deviation = math.sqrt(float(rows.variance[rest].sum()) * inflation)
        if abs(float(rows.residual[rest].sum())) >= _OWN * deviation and rest.any():
            is_distinct[i] = True
            covered |= inside
    return is_distinct
