"""Segments, and classes: which of them are miscalibrated, tested jointly; gaps are shrunk towards the whole."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, Unpack

import numpy as np
from scipy.special import bdtr, bdtrc

from trueness._input.arguments import Seed, checked_fraction, checked_resamples, whole_seed
from trueness._input.segment_columns import SegmentColumn
from trueness._level import Level, check_drawn_level, checked_level
from trueness._numerics.holm import holm_adjusted
from trueness._numerics.shrinkage import shrink
from trueness._tally.accumulator import Accumulator
from trueness._tally.cells import Cells
from trueness._tally.clusters import FEW_CLUSTERS
from trueness._tally.evidence import Evidence
from trueness._tally.rows_or_sums import takes_rows
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
from trueness.typing import ArrayLike, Floats, Ints, RowOptions

Sums: TypeAlias = Tally | Sketch | Binned
_DRAWS = 999
_ROUNDED = " Labels contradict scores of exactly 0 or 1; for the test those were moved by up to half of `rounded_to`."
_NAMED, _SMALL = 6, 5


@partial(takes_rows, kind="confidence")
def segments(
    y_true: ArrayLike | Accumulator | Mapping[Any, Sums],
    y_prob: ArrayLike | None = None,
    by: Any = None,
    *,
    crossed: int = 1,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    resamples: int | None = None,
    seed: Seed = 0,
    rounded_to: float | None = None,
    **rows: Unpack[RowOptions],
) -> Segments:
    r"""Find the segments of the rows that are miscalibrated, and what each costs.

    Every value of every column is a segment. All are tested jointly: if the scores are calibrated, the probability that
    any segment is flagged is at most 1 − level, for any number of rows and segments, overlapping ones included.

    Parameters
    ----------
    y_true, y_prob
        As for :func:`trueness.ece`. For a matrix, the largest score of each row is examined; a matrix of two columns is
        the binary problem of its second column. Or pass sums by group in place of both: an
        :class:`trueness.Accumulator` with groups, or a dict as returned by :func:`trueness.scan_groups`, whose keys are
        the groups (tuples for several columns).
    by : array-like of shape (n,), dict of such, or frame
        The columns. Missing values are a segment of their own. Numeric columns with more than 12 distinct values are
        cut into five groups of about equal size; convert them to text to keep every value. With a dict of sums, the
        name of the groups, or the names of the columns.
    crossed : int, default 1
        The most columns to cross: with 2, every pair of values of two columns is a segment, too.
    level : float, default 0.95
        Level of the joint test, and of all limits together.
    resamples : int, optional
        Number of sets of labels redrawn from the scores, by default 999, or more for a level above 0.98.
    seed : int or numpy.random.Generator, default 0
        For redrawn labels and random signs, from which p-values are estimated; the command's default is 0.
    rounded_to : float, optional
        The unit to which the scores were rounded, as for :func:`trueness.calibration_test`: scores of exactly 0 and 1
        that labels contradict are moved by up to half of it for the test.
    cluster, **rows
        As for :func:`trueness.estimate`.

    Returns
    -------
    Segments
        Arrays of equal length, the costliest segment first.

    Notes
    -----
    **Test.** Two statistics per segment: the gap :math:`\sum (y - p)`, by the exact two-sided tail of the number of
    events (Poisson-binomial), which is `pvalue`; and the score of the slope, :math:`\sum (y - p)(x - \bar x)` with
    :math:`x = \mathrm{logit}\,p`, which sees scores that are too extreme or too moderate though right on average. The
    adjusted p-value compares the tail of a segment with the smallest of all segments for R sets of labels redrawn from
    the scores (step-down max-T of Westfall and Young); it stops at 1/(R + 1), unless a proven bound is smaller. An
    error that changes neither the mean nor the slope of a segment is not detected: test such a segment alone by
    :func:`trueness.calibration_test`.

    **The whole.** `overall_pvalue` is that of the same test after the shift and slope of all rows are undone: whether a
    segment differs from the error of all rows. Its level is approximate.

    **Limits** of the gap and of observed/expected are Clopper-Pearson limits of the event rate, minus or divided by the
    mean score, each at the level :math:`\mathrm{level}^{1/m}` for :math:`m` segments (Šidák 1967). In segments whose
    events have a variance of 5 or more, the number of labels is multiplied by how much the scores reduce the variance
    of a label, the smaller of two estimates: from the scores and from the labels.

    **Shrinkage.** `shrunk_gap` assumes that the log-odds of each segment of a column are shifted by
    :math:`\mu + \tau t_s`, with :math:`t_s` from Student's t distribution with 4 degrees of freedom; all segments of
    the column give :math:`\mu` and :math:`\tau`. Its limits cover about as often as stated on average over segments,
    not for each one. `cost` is :math:`w_s\,\mathrm{shrunk\_gap}_s^2` with the share :math:`w_s` of the rows, in
    units of the Brier score.

    **Weights** that are whole numbers count rows. With others, each row has one label; the tail comes from the first
    three moments of :math:`\sum w (y - p)`, the joint test stays exact, and limits use the effective number of rows.

    **Clusters.** The cluster sums of the residuals get random signs, as in :func:`trueness.calibration_test`; the
    larger of both p-values counts. This needs many clusters: segments with fewer than 20 effective ones are named in
    `notes`, and if all rows have fewer, there is a :class:`trueness.FewClustersWarning`. **Sums** with mean scores of
    cells or bins have slightly too large tails (Hoeffding 1956).

    References
    ----------
    Z. Šidák, Rectangular confidence regions for the means of multivariate normal distributions, Journal of the American
    Statistical Association 62 (1967), 626-633.

    Examples
    --------
    Among sixty regions one has twice the events that were predicted:

    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(1)
    >>> p, region = rng.uniform(0.1, 0.4, 12_000), np.repeat(np.arange(60), 200).astype(str)
    >>> y = rng.random(p.size) < np.where(region == "54", 2 * p, p)
    >>> found = tn.segments(y, p, {"region": region}, seed=0)
    >>> found.value[0], found.finding[0], int(found.flagged.sum())
    ('54', 'under-predicted', 1)
    """
    level, seed = checked_level(level), whole_seed(seed)
    draws = None if resamples is None else checked_resamples(resamples)
    if isinstance(y_true, Accumulator | Mapping):
        read = sums_by_group(y_true, by, crossed, alone=y_prob is None and cluster is None and not rows)
        unit = None if rounded_to is None else checked_fraction(rounded_to, "rounded_to")
        return describe_segments(read, level, draws, seed, unit)
    if by is None:
        raise InputError("by", "must be a column, a dict of columns or a frame", "got None")
    evidence = Evidence.of(y_true, y_prob, rows, kind="confidence", cluster=cluster).rounded(rounded_to)
    return segments_of(evidence, evidence.columns(by, y_true, crossed), level=level, resamples=draws, seed=seed)


def segments_of(
    evidence: Evidence,
    columns: tuple[SegmentColumn, ...],
    *,
    level: float = 0.95,
    resamples: int | None = None,
    seed: int,
) -> Segments:
    """The segments of rows that have been read, as :func:`segments`."""
    found = describe_segments(of_rows(evidence, columns, "segments"), level, resamples, seed, evidence.rounded_to)
    return replace(found, notes=(*evidence.notes, *found.notes))


def sums_by_group(sums: Accumulator | Mapping[Any, Sums], by: Any, crossed: int, *, alone: bool) -> SegmentRows:
    """Sums of groups; they must be `alone`, without scores, clusters and options of rows."""
    if not alone:
        demand = "must be labels if `y_prob`, `cluster` or an option of rows is passed"
        got = f"got a {type(sums).__name__} of sums"
        raise InputError("y_true", demand, got, remedy="Sums stand in place of labels and scores.")
    groups: Mapping[Any, Any] = sums.groups if isinstance(sums, Accumulator) else sums
    if isinstance(sums, Accumulator):
        if sums.by is None:
            raise InputError("y_true", "must have groups", "this Accumulator has none", remedy="Make it with `by`.")
        if by is not None:
            raise InputError("by", "must be None for an Accumulator", f"its groups are called {sums.by!r}")
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
        raise InputError("y_true", "must hold sums of one problem", "these have one per class", remedy=remedy)
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
    tests, sums = joint_tests(moved, draws, seed), segment_sums(rows)
    score, rate = sums.expected / sums.weight, sums.events / sums.weight
    low, high = sums.rate_limits(level ** (1 / score.size))
    ends = np.cumsum([len(one.values) for one in rows.columns])[:-1]
    shrunk = [
        shrink(rows.score, rows.weight, rows.events, one.code, part, level)
        for one, part in zip(rows.columns, np.split(sums.effective, ends), strict=True)
    ]
    shrunk_gap, shrunk_low, shrunk_high = (np.concatenate(values) for values in list(zip(*shrunk, strict=True))[:3])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, ratio_low, ratio_high = (np.where(score > 0, one / score, np.nan) for one in (rate, low, high))
    flagged, cost = tests.adjusted <= alpha, sums.weight / rows.weight.sum() * shrunk_gap**2
    by_gap = np.where(rate < score, "over-predicted", "under-predicted")
    by_slope = np.where(tests.slope_sign < 0, "too extreme", "too moderate")
    finding = np.where(flagged, np.where(tests.by_slope, by_slope, by_gap), "")
    names = [(one.name, value) for one in rows.columns for value in one.values]
    few = "" if rows.cluster is None else _few_clusters(names, sums.clusters)
    order = np.lexsort([np.arange(len(names)), tests.adjusted, -cost])
    each: Any = {name: getattr(sums, name) for name in ("n", "weight", "events", "expected")}
    each |= {"score": score, "rate": rate, "gap": rate - score, "gap_low": low - score, "gap_high": high - score}
    each |= {"ratio": ratio, "ratio_low": ratio_low, "ratio_high": ratio_high, "cost": cost, "flagged": flagged}
    each |= {"shrunk_gap": shrunk_gap, "shrunk_low": shrunk_low, "shrunk_high": shrunk_high}
    each |= {"pvalue": tests.pvalue, "slope_pvalue": tests.slope_pvalue, "adjusted_pvalue": tests.adjusted}
    each |= {"overall_pvalue": tests.overall, "differs": tests.overall <= alpha}
    about: Any = {"joint_pvalue": float(tests.adjusted.min()), "alpha": alpha, "level": level, "draws": draws}
    return Segments(
        column=tuple(names[i][0] for i in order),
        value=tuple(names[i][1] for i in order),
        finding=tuple(finding[order].tolist()),
        **{name: values[order] for name, values in each.items()} | about,
        assumptions=_assumptions(rows, draws, tests.pooled) + (_ROUNDED if moved is not rows else ""),
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
    return most if 2 * small > n.size else ""


def _few_clusters(names: list[tuple[str, str]], clusters: Floats) -> str:
    """Which segments have too few clusters for the test to keep its level."""
    few = [f"{names[i][0]} = {names[i][1]}" for i in np.flatnonzero(clusters < FEW_CLUSTERS)]
    shown = ", ".join(few[:_NAMED]) + (f" and {len(few) - _NAMED} more" if len(few) > _NAMED else "")
    text = f"Equivalent to fewer than {FEW_CLUSTERS} clusters of equal size, so flags are less reliable: {shown}."
    return text if few else ""


_TEST_LABELS = 2e8  # each costs some 20 ns


def classes_of(
    evidence: Evidence, *, bins: BinsLike = 10, level: float = 0.95, alpha: float, seed: int
) -> tuple[ClassRow, ...]:
    """One row per class, the largest ECE first; flags have joint level `alpha`."""
    assert evidence.classwise is not None
    draws, found = _draws(evidence.classwise.parts, alpha), []
    for label, one in evidence.each_class():
        limits = ratio_limits(one.cells, level, one.clustered if one.dependent else None)
        found.append((str(label), one.means, float(ece(one.sums, bins=bins)), _pvalue(one, draws, seed), limits))
    total, adjusted, rows = sum(error for _, _, error, *_ in found), holm_adjusted([p for *_, p, _ in found]), []
    for (label, (score, share, gap), error, p, limits), q in zip(found, adjusted, strict=True):
        damage, ratio = error / total if total else 0.0, share / score if score > 0 else math.nan
        judged = (p, q, q is not None and q <= alpha, ratio, limits.low, limits.high)
        rows.append(ClassRow(label, share, score, gap, error, damage, *judged))
    return tuple(sorted(rows, key=lambda row: -row.ece))


def worst_class(classes: Iterable[ClassRow] | None) -> ClassRow | None:
    """The flagged class with the largest gap; None if none is flagged."""
    return max((one for one in classes or () if one.flagged), key=lambda one: abs(one.gap), default=None)


def _pvalue(one: Evidence, draws: int | None, seed: int) -> float | None:
    """The omnibus test, or the Kolmogorov–Smirnov test if redrawing costs too much or weights are fractional.

    Where that would redraw labels for a rare class, the number of its events is tested: draws could not survive the
    correction for all classes.
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
    """Twice the smaller binomial tail of the number of events; it bounds theirs from one event off on (Hoeffding)."""
    n, events, expected = cells.totals.weight, cells.totals.events, float(cells.weight @ cells.score)
    if abs(events - expected) < 1:
        return 1.0
    p = min(1.0, expected / n)
    return min(1.0, 2 * float(bdtr(events, n, p) if events < expected else bdtrc(events - 1, n, p)))


def _draws(parts: Sequence[Cells], alpha: float) -> int | None:
    """Draws that let the smallest p-value survive a correction for all the tests; None if that costs too much."""
    draws = max(_DRAWS, math.ceil(round(2 * len(parts) / alpha, 6)) - 1)
    left = _TEST_LABELS / draws
    for part in parts:
        left -= part.size
        if left < 0 or not part.whole:
            return None
    return draws
