"""Segments, and classes: which of them are miscalibrated, tested jointly.

Gaps are shrunk towards the whole.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import bdtr, bdtrc

from trueness._input.segment_columns import SegmentColumn
from trueness._level import Level, check_drawn_level
from trueness._numerics.holm import holm_adjusted
from trueness._numerics.shrinkage import shrink
from trueness._tally.accumulator import Accumulator
from trueness._tally.cells import Cells
from trueness._tally.clusters import FEW_CLUSTERS
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinsLike
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Parts, Tally, binary_of_two_classes
from trueness.errors import InputError
from trueness.infer.group._segment_rows import SegmentRows, of_groups, of_rows
from trueness.infer.group._segment_tests import joint_tests
from trueness.infer.group._slice_sums import SliceSums, segment_sums
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.infer.limits._slope import slope_limits
from trueness.infer.null._redrawn_labels import is_nearly_normal
from trueness.infer.test._calibration_test import test_of
from trueness.infer.test._pair_tests import required_draws
from trueness.measure import ece
from trueness.results import Segments
from trueness.results._segments import ClassRow
from trueness.typing import Bools, Columns, Floats, Ints

Sums: TypeAlias = Tally | Sketch | Binned
# Labels drawn: at the level 0.95 the smallest p-value, 0.001, is a fiftieth of the limit.
_DRAWS = 999
_ROUNDED = (
    " Labels contradict scores of exactly 0 or 1; for the test those were moved by up to half of "
    "`rounded_to`."
)
BY_SLOPE = ("too extreme", "too moderate")
"""What is wrong with a segment whose slope was flagged: below 1, above 1."""
# The segments that a note names.
_NAMED = 6
# Rows of a segment that is too small to be judged alone.
_SMALL = 5


def segments_of(
    evidence: Evidence,
    columns: tuple[SegmentColumn, ...],
    *,
    level: float = 0.95,
    resamples: int | None = None,
    seed: int,
) -> Segments:
    """The segments of rows that have been read, as :func:`trueness.segments`.

    Each of the `columns` has the segment of each row.
    """
    rows = of_rows(evidence, columns, "segments")
    segments = describe_segments(rows, level, resamples, seed, evidence.rounded_to)
    segments = _with_slopes(segments, evidence, columns)
    return replace(segments, notes=(*evidence.notes, *segments.notes))


def _with_slopes(
    segments: Segments, evidence: Evidence, columns: tuple[SegmentColumn, ...]
) -> Segments:
    """The segments with the slopes, and their joint limits, of those whose slope was flagged."""
    by_name = {column.name: column for column in columns}
    slopes = np.full((len(segments), 3), np.nan)
    for i in np.flatnonzero(np.isin(segments.finding, BY_SLOPE)):
        column = by_name[segments.column[i]]
        rows = np.flatnonzero(column.code == column.values.index(segments.value[i]))
        part = evidence.at(rows)
        limits = slope_limits(part.cells, segments.level ** (1 / len(segments)), part.in_clusters)
        slopes[i] = limits.value, limits.low, limits.high
    slope, low, high = slopes.T
    names = list(zip(segments.column, segments.value, strict=True))
    note = _wide_slopes(names, (low <= 1) & (high >= 1))
    return replace(
        segments,
        slope=slope,
        slope_low=low,
        slope_high=high,
        notes=tuple(filter(None, (*segments.notes, note))),
    )


def sums_by_group(
    sums: Accumulator | Mapping[Any, Sums], by: Columns | None, crossed: int, *, alone: bool
) -> SegmentRows:
    """The cells of the sums of groups, with a column for each part of their keys.

    `by` names these columns; an Accumulator knows their names. Up to `crossed` columns together are
    further columns. Refused are sums that are not `alone`, but beside scores, clusters or options
    of rows; anything but sums of one problem; and names that do not fit.
    """
    if not alone:
        demand = "must be labels if `y_prob`, `cluster` or an option of rows is passed"
        got = f"got a {type(sums).__name__} of sums"
        raise InputError("y_true", demand, got, remedy="Sums stand in place of labels and scores.")
    groups: Mapping[Any, Any] = sums.groups if isinstance(sums, Accumulator) else sums
    if isinstance(sums, Accumulator):
        if sums.by is None:
            raise InputError(
                "y_true",
                "must have groups",
                "this Accumulator has none",
                remedy="Make it with `by`.",
            )
        if by is not None:
            raise InputError(
                "by", "must be None for an Accumulator", f"its groups are called {sums.by!r}"
            )
        by = sums.by
    if not groups:
        raise InputError("y_true", "must hold at least one group", "there is none")
    for key, group in groups.items():
        if not isinstance(group, Parts):
            demand = "must be labels, or a dict of sums"
            raise InputError("y_true", demand, f"the value of {key!r} is a {type(group).__name__}")
    problems = {key: binary_of_two_classes(group) for key, group in groups.items()}
    if any(len(problem.parts) > 1 for problem in problems.values()):
        remedy = "Sum with `kind='confidence'`."
        raise InputError(
            "y_true", "must hold sums of one problem", "these have one per class", remedy=remedy
        )
    first_key = next(iter(groups))
    columns = len(first_key) if isinstance(first_key, tuple) else 1
    names = _column_names(by, columns)
    if len(names) != columns:
        raise InputError("by", f"must name the {columns} columns of the groups", f"got {by!r}")
    return of_groups(names, problems, crossed)


def _column_names(by: Columns | None, columns: int) -> list[str]:
    """The names of the columns of the keys of groups; `by` has them, or is None."""
    if by is None:
        return ["group"] if columns == 1 else [f"column {i + 1}" for i in range(columns)]
    if columns == 1 and isinstance(by, str):
        return [by or "group"]
    return list(by)


def describe_segments(
    rows: SegmentRows, level: float, draws: int | None, seed: int, rounded_to: float | None = None
) -> Segments:
    """Test all segments jointly, measure them, and sort them by the cost of their error.

    By default 999 sets of labels are drawn, or more if the level needs them. Scores of exactly 0
    and 1 that labels contradict are moved for the test, by up to half of `rounded_to`; not if it is
    None.
    """
    alpha = Level(level).alpha
    if draws is None:
        check_drawn_level(level, "`segments`", "Or say how many `resamples` to draw.")
    moved = rows.moved_inside(rounded_to)
    draws = draws or required_draws(alpha)
    tests = joint_tests(moved, draws, seed)
    sums = segment_sums(rows)
    score = sums.expected / sums.weight
    rate = sums.events / sums.weight
    low, high = sums.rate_limits(level ** (1 / score.size))
    shrunk = _shrunk_gaps(rows, sums.effective, level)
    # A segment whose scores are all 0 has no ratio.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, ratio_low, ratio_high = (
            np.where(score > 0, value / score, np.nan) for value in (rate, low, high)
        )
    flagged = tests.adjusted <= alpha
    cost = sums.weight / rows.weight.sum() * shrunk.gap**2
    by_gap = np.where(rate < score, "over-predicted", "under-predicted")
    by_slope = np.where(tests.slope_sign < 0, *BY_SLOPE)
    unknown = np.full(score.size, np.nan)
    finding = np.where(flagged, np.where(tests.by_slope, by_slope, by_gap), "")
    names = [(column.name, value) for column in rows.columns for value in column.values]
    on_average = flagged & (finding == by_gap)
    within = on_average & (low <= score) & (score <= high)
    outside = ~flagged & ((score < low) | (high < score))
    order = np.lexsort([np.arange(len(names)), tests.adjusted, -cost])
    assumptions = _assumptions(rows, draws, tests.pooled)
    if moved is not rows:
        assumptions += _ROUNDED
    return Segments(
        column=tuple(names[i][0] for i in order),
        value=tuple(names[i][1] for i in order),
        finding=tuple(finding[order].tolist()),
        n=sums.n[order],
        weight=sums.weight[order],
        events=sums.events[order],
        expected=sums.expected[order],
        score=score[order],
        rate=rate[order],
        gap=(rate - score)[order],
        gap_low=(low - score)[order],
        gap_high=(high - score)[order],
        ratio=ratio[order],
        ratio_low=ratio_low[order],
        ratio_high=ratio_high[order],
        slope=unknown,
        slope_low=unknown,
        slope_high=unknown,
        cost=cost[order],
        flagged=flagged[order],
        shrunk_gap=shrunk.gap[order],
        shrunk_low=shrunk.low[order],
        shrunk_high=shrunk.high[order],
        pvalue=tests.pvalue[order],
        slope_pvalue=tests.slope_pvalue[order],
        adjusted_pvalue=tests.adjusted[order],
        overall_pvalue=tests.overall[order],
        differs=(tests.overall <= alpha)[order],
        joint_pvalue=float(tests.adjusted.min()),
        alpha=alpha,
        level=level,
        draws=draws,
        assumptions=assumptions,
        notes=_notes(rows, sums, names, within=within, outside=outside),
    )


class _Shrunk(NamedTuple):
    """The gaps of all segments, shrunk, with their limits."""

    gap: Floats
    low: Floats
    high: Floats


def _shrunk_gaps(rows: SegmentRows, effective: Floats, level: float) -> _Shrunk:
    """The gaps of the segments of each column, shrunk to those of the column's other segments.

    `effective` is the number of independent rows of each segment.
    """
    ends = np.cumsum([len(column.values) for column in rows.columns])[:-1]
    of_columns = []
    for column, of_segments in zip(rows.columns, np.split(effective, ends), strict=True):
        of_columns.append(
            shrink(rows.score, rows.weight, rows.events, column.code, of_segments, level)
        )
    gap, low, high = (np.concatenate(values) for values in list(zip(*of_columns, strict=True))[:3])
    return _Shrunk(gap, low, high)


def _notes(
    rows: SegmentRows,
    sums: SliceSums,
    names: list[tuple[str, str]],
    *,
    within: Bools,
    outside: Bools,
) -> tuple[str, ...]:
    """What to know of the segments: how columns were cut, small ones, few clusters, wide limits.

    `within` says which flagged segments have their mean score within the limits of their rate, and
    `outside` which others have it outside.
    """
    notes = [*(column.note for column in rows.columns), _small(sums.n)]
    if rows.units.clustered:
        notes.append(_few_clusters(names, sums.clusters))
    notes.append(_wide_limits(names, within, weighted=bool((sums.weight != sums.n).any())))
    notes.append(_narrow_limits(names, outside))
    return tuple(filter(None, notes))


def _assumptions(rows: SegmentRows, draws: int, pooled: bool) -> str:
    """How the segments were tested, and what the test takes for granted."""
    ties = ", near ties together" if pooled else ""
    text = (
        f"Gap and slope of all segments ({rows.members.shape[0]:,}), jointly: step-down max-T, "
        f"{draws:,} sets of labels drawn from the scores{ties}"
    )
    if not rows.units.clustered:
        return f"{text}; rows are independent. The level is exact at any number of rows."
    return (
        f"{text}, and {draws:,} sets of random signs of the {rows.units.number:,} "
        "clusters; the larger p-value counts. Clusters are independent, rows of one cluster need "
        "not be; the level needs many clusters."
    )


def _small(n: Ints) -> str:
    """A sentence if most segments have too few rows to be judged alone; else empty.

    `n` is the number of rows of each.
    """
    small = int((n < _SMALL).sum())
    if 2 * small <= n.size:
        return ""
    return (
        f"{small:,} of {n.size:,} segments have fewer than {_SMALL} rows, too few to be judged "
        "alone."
    )


def _few_clusters(names: list[tuple[str, str]], clusters: Floats) -> str:
    """A sentence that names the segments with too few clusters for a reliable test; else empty.

    `names` are the column and the value of each segment, and `clusters` how many clusters of equal
    size its clusters are worth.
    """
    shown = _some_names(names, clusters < FEW_CLUSTERS)
    if not shown:
        return ""
    return (
        f"Equivalent to fewer than {FEW_CLUSTERS} clusters of equal size, so flags are less "
        f"reliable: {shown}."
    )


def _wide_limits(names: list[tuple[str, str]], flagged_within: Bools, *, weighted: bool) -> str:
    """A sentence that names segments that are flagged although their limits include no gap."""
    shown = _some_names(names, flagged_within)
    if not shown:
        return ""
    worth = " and, with weights, the number of equally weighted rows" if weighted else ""
    return (
        f"Flagged although the limits of observed/expected include 1: {shown}. The limits use the "
        f"event rate alone{worth}; the test, which decides, also uses the score of each row."
    )


def _narrow_limits(names: list[tuple[str, str]], excluded: Bools) -> str:
    """A sentence that names segments that are not flagged although their limits exclude a gap of 0.

    `excluded` marks them.
    """
    shown = _some_names(names, excluded)
    if not shown:
        return ""
    return (
        f"Not flagged although the limits of the gap exclude 0: {shown}. The limits are of the "
        "gaps alone; the test, which decides, allows for gap and slope of every segment."
    )


def _wide_slopes(names: list[tuple[str, str]], within: Bools) -> str:
    """A sentence that names segments whose slope is flagged although its limits include 1."""
    shown = _some_names(names, within)
    if not shown:
        return ""
    return (
        f"Flagged although the limits of the slope include 1: {shown}. The limits are those of a "
        "fitted line; the test, which decides, is of its score at slope 1."
    )


def _some_names(names: list[tuple[str, str]], chosen: Bools) -> str:
    """Column and value of the chosen segments, the first of them if they are many."""
    segments = [f"{names[i][0]} = {names[i][1]}" for i in np.flatnonzero(chosen)]
    shown = ", ".join(segments[:_NAMED])
    if len(segments) > _NAMED:
        shown += f" and {len(segments) - _NAMED} more"
    return shown


# Labels drawn for all classes: each costs some 20 ns.
_TEST_LABELS = 2e8


def classes_of(
    evidence: Evidence, *, bins: BinsLike = 10, level: float = 0.95, alpha: float, seed: int
) -> tuple[ClassRow, ...]:
    """One row per class, compared with all other classes together; the largest ECE comes first.

    Each has its share of the rows, mean score, their ratio with limits at `level`, ECE in `bins`,
    and a p-value of calibration, None if no test is possible. Flags have the joint level `alpha` by
    Holm's method. The `damage` of a class is its share of the sum of all ECEs, 0 if all are 0.
    """
    assert evidence.classwise is not None
    draws = _draws(evidence.classwise.parts, alpha)
    rows = []
    for label, problem in evidence.each_class():
        clusters = problem.in_clusters
        limits = ratio_limits(problem.cells, level, clusters)
        score, share, gap = problem.means
        row = ClassRow(
            label=str(label),
            share=share,
            score=score,
            gap=gap,
            ece=float(ece(problem.sums, bins=bins)),
            damage=0.0,
            pvalue=_pvalue(problem, draws, seed),
            adjusted_pvalue=None,
            flagged=False,
            ratio=share / score if score > 0 else math.nan,
            ratio_low=limits.low,
            ratio_high=limits.high,
        )
        rows.append(row)
    total = sum(row.ece for row in rows)
    adjusted = holm_adjusted([row.pvalue for row in rows])
    judged = [
        replace(
            row,
            damage=row.ece / total if total else 0.0,
            adjusted_pvalue=pvalue,
            flagged=pvalue is not None and pvalue <= alpha,
        )
        for row, pvalue in zip(rows, adjusted, strict=True)
    ]
    return tuple(sorted(judged, key=lambda row: -row.ece))


def worst_class(classes: Iterable[ClassRow] | None) -> ClassRow | None:
    """The flagged class with the largest ECE, the first of the table; None if none is flagged."""
    flagged = [row for row in classes or () if row.flagged]
    return max(flagged, key=lambda row: row.ece, default=None)


def _pvalue(problem: Evidence, draws: int | None, seed: int) -> float | None:
    """The p-value of calibration of one class; None if no test is possible.

    With a number of `draws`, and always for rows in clusters, it is that of the omnibus test by
    redrawn labels. Without, it is that of the Kolmogorov–Smirnov test, whose limiting distribution
    needs no draws. For a rare class that limit is inaccurate, and a p-value from draws is never
    small enough for the correction for all classes: there the number of events is tested.
    """
    try:
        if draws is not None or problem.dependent:
            return test_of(problem, resamples=draws or _DRAWS, seed=seed).pvalue
        cells = problem.cells
        if cells.whole and not is_nearly_normal(cells, np.ones(cells.size)):
            return _events_pvalue(cells)
        return test_of(problem, method="ks", seed=seed).pvalue
    except InputError:
        return None


def _events_pvalue(cells: Cells) -> float:
    """The two-sided p-value of the number of events of one class: twice the binomial tail.

    The binomial law has the mean score of the rows. If scores differ, its tail bounds that of their
    events from one event too many or too few on (Hoeffding). Up to there the p-value is 1.
    """
    n = cells.totals.weight
    events = cells.totals.events
    expected = float(cells.weight @ cells.score)
    if abs(events - expected) < 1:
        return 1.0
    p = min(1.0, expected / n)
    tail = bdtr(events, n, p) if events < expected else bdtrc(events - 1, n, p)
    return min(1.0, 2 * float(tail))


def draws_for(problems: int, alpha: float) -> int:
    """Draws that let the smallest p-value survive a correction for the number of problems.

    At least 999, and enough for 20 of them to be beyond `alpha` / `problems`.
    """
    return required_draws(alpha, tests=problems)


def _draws(parts: Sequence[Cells], alpha: float) -> int | None:
    """Draws for the test of each class that let its p-value survive a correction for all classes.

    `parts` are the sums of each class. None if the draws would cost too much, or if weights do not
    count rows, so that labels cannot be drawn.
    """
    draws = required_draws(alpha, tests=len(parts), beyond=2)
    scores = sum(part.size for part in parts)
    if scores > _TEST_LABELS / draws or not all(part.whole for part in parts):
        return None
    return draws
