"""Segments, and classes: which of them are miscalibrated, tested jointly.

Gaps are shrunk towards the whole.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

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
from trueness.infer.group._slice_sums import segment_sums
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.infer.null._redrawn_labels import is_nearly_normal
from trueness.infer.test._calibration_test import test_of
from trueness.measure import ece
from trueness.results import Segments
from trueness.results._segments import ClassRow
from trueness.typing import Floats, Ints

Sums: TypeAlias = Tally | Sketch | Binned
_DRAWS = 999
_ROUNDED = " Labels contradict scores of exactly 0 or 1; for the test those were moved by up to half of `rounded_to`."
_NAMED = 6
_SMALL = 5


def segments_of(
    evidence: Evidence,
    columns: tuple[SegmentColumn, ...],
    *,
    level: float = 0.95,
    resamples: int | None = None,
    seed: int,
) -> Segments:
    """The segments of rows that have been read, as :func:`segments`."""
    found = describe_segments(
        of_rows(evidence, columns, "segments"), level, resamples, seed, evidence.rounded_to
    )
    return replace(found, notes=(*evidence.notes, *found.notes))


def sums_by_group(
    sums: Accumulator | Mapping[Any, Sums], by: Any, crossed: int, *, alone: bool
) -> SegmentRows:
    """Sums of groups; they must be `alone`, without scores, clusters and options of rows."""
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
    for key, one in groups.items():
        if not isinstance(one, Parts):
            demand = "must be labels, or a dict of sums"
            raise InputError("y_true", demand, f"the value of {key!r} is a {type(one).__name__}")
    problems = {key: binary_of_two_classes(one) for key, one in groups.items()}
    if any(len(one.parts) > 1 for one in problems.values()):
        remedy = "Sum with `kind='confidence'`."
        raise InputError(
            "y_true", "must hold sums of one problem", "these have one per class", remedy=remedy
        )
    columns = len(next(iter(groups))) if isinstance(next(iter(groups)), tuple) else 1
    names = [by or "group"] if columns == 1 and (by is None or isinstance(by, str)) else by
    names = [f"column {i + 1}" for i in range(columns)] if names is None else list(names)
    if len(names) != columns:
        raise InputError("by", f"must name the {columns} columns of the groups", f"got {by!r}")
    return of_groups(names, problems, crossed)


def describe_segments(
    rows: SegmentRows, level: float, draws: int | None, seed: int, rounded_to: float | None = None
) -> Segments:
    """Test, measure and sort all segments."""
    alpha = Level(level).alpha
    if draws is None:
        check_drawn_level(level, "`segments`", "Or say how many `resamples` to draw.")
    moved = rows.moved_inside(rounded_to)
    draws = draws or max(_DRAWS, math.ceil(round(20 / alpha, 6)) - 1)
    tests = joint_tests(moved, draws, seed)
    sums = segment_sums(rows)
    score = sums.expected / sums.weight
    rate = sums.events / sums.weight
    low, high = sums.rate_limits(level ** (1 / score.size))
    ends = np.cumsum([len(one.values) for one in rows.columns])[:-1]
    shrunk = [
        shrink(rows.score, rows.weight, rows.events, one.code, part, level)
        for one, part in zip(rows.columns, np.split(sums.effective, ends), strict=True)
    ]
    shrunk_gap, shrunk_low, shrunk_high = (
        np.concatenate(values) for values in list(zip(*shrunk, strict=True))[:3]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, ratio_low, ratio_high = (
            np.where(score > 0, one / score, np.nan) for one in (rate, low, high)
        )
    flagged = tests.adjusted <= alpha
    cost = sums.weight / rows.weight.sum() * shrunk_gap**2
    by_gap = np.where(rate < score, "over-predicted", "under-predicted")
    by_slope = np.where(tests.slope_sign < 0, "too extreme", "too moderate")
    finding = np.where(flagged, np.where(tests.by_slope, by_slope, by_gap), "")
    names = [(one.name, value) for one in rows.columns for value in one.values]
    few = "" if rows.cluster is None else _few_clusters(names, sums.clusters)
    order = np.lexsort([np.arange(len(names)), tests.adjusted, -cost])
    each: Any = {name: getattr(sums, name) for name in ("n", "weight", "events", "expected")}
    each |= {
        "score": score,
        "rate": rate,
        "gap": rate - score,
        "gap_low": low - score,
        "gap_high": high - score,
    }
    each |= {
        "ratio": ratio,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "cost": cost,
        "flagged": flagged,
    }
    each |= {"shrunk_gap": shrunk_gap, "shrunk_low": shrunk_low, "shrunk_high": shrunk_high}
    each |= {
        "pvalue": tests.pvalue,
        "slope_pvalue": tests.slope_pvalue,
        "adjusted_pvalue": tests.adjusted,
    }
    each |= {"overall_pvalue": tests.overall, "differs": tests.overall <= alpha}
    about: Any = {
        "joint_pvalue": float(tests.adjusted.min()),
        "alpha": alpha,
        "level": level,
        "draws": draws,
    }
    return Segments(
        column=tuple(names[i][0] for i in order),
        value=tuple(names[i][1] for i in order),
        finding=tuple(finding[order].tolist()),
        **{name: values[order] for name, values in each.items()} | about,
        assumptions=_assumptions(rows, draws, tests.pooled)
        + (_ROUNDED if moved is not rows else ""),
        notes=tuple(filter(None, [*(one.note for one in rows.columns), _small(sums.n), few])),
    )


def _assumptions(rows: SegmentRows, draws: int, pooled: bool) -> str:
    text = f"Gap and slope of all segments ({rows.members.shape[0]:,}), jointly: step-down max-T, {draws:,} sets of "
    text += f"labels drawn from the scores{', near ties together' if pooled else ''}"
    if rows.cluster is None:
        return f"{text}; rows are independent. The level is exact at any number of rows."
    return (
        f"{text}, and {draws:,} sets of random signs of the {int(rows.cluster.max()) + 1:,} clusters; the larger "
        "p-value counts. Clusters are independent, rows of one cluster need not be; the level needs many clusters."
    )


def _small(n: Ints) -> str:
    """Whether most segments are too small to say anything about."""
    small = int((n < _SMALL).sum())
    most = f"{small:,} of {n.size:,} segments have fewer than {_SMALL} rows, too few to be judged alone."
    if 2 * small > n.size:
        return most
    return ""


def _few_clusters(names: list[tuple[str, str]], clusters: Floats) -> str:
    """Which segments have too few clusters for the test to keep its level."""
    few = [f"{names[i][0]} = {names[i][1]}" for i in np.flatnonzero(clusters < FEW_CLUSTERS)]
    shown = ", ".join(few[:_NAMED]) + (
        f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
    )
    text = f"Equivalent to fewer than {FEW_CLUSTERS} clusters of equal size, so flags are less reliable: {shown}."
    if few:
        return text
    return ""


_TEST_LABELS = 2e8  # each costs some 20 ns


def classes_of(
    evidence: Evidence, *, bins: BinsLike = 10, level: float = 0.95, alpha: float, seed: int
) -> tuple[ClassRow, ...]:
    """One row per class, the largest ECE first; flags have joint level `alpha`."""
    assert evidence.classwise is not None
    draws = _draws(evidence.classwise.parts, alpha)
    found = []
    for label, one in evidence.each_class():
        limits = ratio_limits(one.cells, level, one.clustered if one.dependent else None)
        found.append(
            (
                str(label),
                one.means,
                float(ece(one.sums, bins=bins)),
                _pvalue(one, draws, seed),
                limits,
            )
        )
    total = sum(error for _, _, error, *_ in found)
    adjusted = holm_adjusted([p for *_, p, _ in found])
    rows = []
    for (label, (score, share, gap), error, p, limits), q in zip(found, adjusted, strict=True):
        damage = error / total if total else 0.0
        ratio = share / score if score > 0 else math.nan
        judged = (p, q, q is not None and q <= alpha, ratio, limits.low, limits.high)
        rows.append(ClassRow(label, share, score, gap, error, damage, *judged))
    return tuple(sorted(rows, key=lambda row: -row.ece))


def worst_class(classes: Iterable[ClassRow] | None) -> ClassRow | None:
    """The flagged class with the largest gap; None if none is flagged."""
    return max(
        (one for one in classes or () if one.flagged), key=lambda one: abs(one.gap), default=None
    )


def _pvalue(one: Evidence, draws: int | None, seed: int) -> float | None:
    """The omnibus test, or the Kolmogorov–Smirnov test if redrawing costs too much or weights are fractional.

    Where that would redraw labels for a rare class, the number of its events is tested: draws could
    not survive the correction for all classes.
    """
    try:
        if draws is None and not one.dependent:
            if one.cells.whole and not is_nearly_normal(one.cells, np.ones(one.cells.size)):
                return _events_pvalue(one.cells)
            return test_of(one, method="ks", seed=seed).pvalue
        return test_of(one, resamples=draws or _DRAWS, seed=seed).pvalue
    except InputError:
        return None


def _events_pvalue(cells: Cells) -> float:
    """Twice the smaller binomial tail of the number of events.

    It bounds theirs from one event off on (Hoeffding).
    """
    n = cells.totals.weight
    events = cells.totals.events
    expected = float(cells.weight @ cells.score)
    if abs(events - expected) < 1:
        return 1.0
    p = min(1.0, expected / n)
    return min(1.0, 2 * float(bdtr(events, n, p) if events < expected else bdtrc(events - 1, n, p)))


def draws_for(problems: int, alpha: float) -> int:
    """Draws that let the smallest p-value of several problems survive a correction for their number."""
    return max(_DRAWS, math.ceil(round(20 * problems / alpha, 6)) - 1)


def _draws(parts: Sequence[Cells], alpha: float) -> int | None:
    """Draws that let the smallest p-value survive a correction for all the tests.

    None if that costs too much.
    """
    draws = max(_DRAWS, math.ceil(round(2 * len(parts) / alpha, 6)) - 1)
    left = _TEST_LABELS / draws
    for part in parts:
        left -= part.size
        if left < 0 or not part.whole:
            return None
    return draws
