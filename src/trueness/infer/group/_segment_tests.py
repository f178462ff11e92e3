"""The joint test of all segments.

There is one null distribution, that of the smallest of all tails (Westfall and Young).

The statistics and their null distribution are in the notes of :func:`trueness.segments`. How good
the tails are matters for power only. Tails other than exact ones are those of a gamma distribution
with the same first three moments. The part that shift and slope of all rows explain is projected
out of each statistic to compare a segment with the whole: one step of Newton's method, which fits
them again to each set of drawn labels.

References: Westfall, Young, "Resampling-Based Multiple Testing", Wiley, 1993; Ge, Dudoit, Speed,
"Resampling-based multiple testing for microarray data analysis", Test 12, 2003.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr, xlogy

from trueness._numerics.holm import holm
from trueness._numerics.poisson_binomial import tails
from trueness._numerics.streams import stream
from trueness.infer.group._segment_rows import SegmentRows
from trueness.infer.null._redrawn_labels import label_batches, sign_batches
from trueness.typing import Floats

# Drawn labels, and values of statistics, at a time.
_BATCH = 1 << 22
# Above this many labels in all draws, near ties are drawn together.
_MOST_LABELS = 2e8
_ANGLE = 1 / 1024
# Variance of a number of events above which its exact law takes minutes, and three moments say the
# same.
_LARGE_VARIANCE = 1e7
LEAST_VARIANCE = 5.0
_TINY = 1e-300
# Values that differ by less, relatively, are equal: the same labels in another order of summation.
_EQUAL = 1e-9
# Tails of the transform are exact to about this.
_ABSOLUTE_ERROR = 1e-14
# Tables of at most this length were convolved, which is exact to relative rounding error.
_CONVOLVED_TABLE = 131


class SegmentTests(NamedTuple):
    """P-values of all segments, in the order of the rows of `members`."""

    pvalue: Floats
    """Of the gap, alone."""
    slope_pvalue: Floats
    """Of the slope, alone; nan where it was not tested."""
    slope_sign: Floats
    """Positive where observed log-odds vary more than the scores."""
    adjusted: Floats
    """Adjusted for all segments and both statistics."""
    by_slope: Any
    """Whether the slope has the smaller adjusted p-value."""
    overall: Floats
    """Adjusted p-values of "the error of this segment is that of all rows"; nan if that error
    cannot be estimated."""
    pooled: bool
    """Whether near ties were drawn together."""


def joint_tests(rows: SegmentRows, draws: int, seed: int) -> SegmentTests:
    """Test all segments jointly."""
    labels, joined = _statistics(rows, draws)
    observed = labels.observed(rows)
    gap, slope = labels.apart(step_down(observed, labels.batches(draws, seed), draws)[0], 1.0)
    pvalue = labels.proven_tails(rows)
    slope_pvalue = labels.apart(observed, np.nan)[1]
    # Below 1/(R + 1) only a proven bound says more; the decision at any level above that is not
    # changed by it.
    statistics = 2 if labels.sloped.size else 1
    at_floor = gap * (draws + 1) < 1.5
    gap[at_floor] = np.minimum(gap, holm(np.minimum(1.0, statistics * pvalue)))[at_floor]
    if rows.cluster is not None:
        signs, alone, _ = by_signs(rows, labels.by_cluster(rows), draws, seed)
        gap_by_signs, slope_by_signs = labels.apart(signs, 1.0)
        gap = np.maximum(gap, gap_by_signs)
        slope = np.maximum(slope, slope_by_signs)
        gap_alone, slope_alone = labels.apart(alone, np.nan)
        pvalue = np.maximum(pvalue, gap_alone)
        slope_pvalue = np.maximum(slope_pvalue, slope_alone)
    sign = np.zeros(gap.size)
    sign[labels.sloped] = labels.slope_excess(rows)
    return SegmentTests(
        pvalue=pvalue,
        slope_pvalue=slope_pvalue,
        slope_sign=sign,
        adjusted=np.minimum(gap, slope),
        by_slope=slope < gap,
        overall=_overall_tests(rows, draws, seed),
        pooled=joined,
    )


def _statistics(
    rows: SegmentRows, draws: int, *, fitted: bool = False
) -> "tuple[_LabelStatistics, bool]":
    """The statistics of labels of these rows, and whether near ties are drawn together.

    They are if `draws` of one label per distinct score would be too many labels.
    """
    pooled = rows.pooled()
    joined = pooled.size * draws > _MOST_LABELS
    if joined:
        pooled = pooled.pooled(_ANGLE)
    return _LabelStatistics(pooled, fitted=fitted), joined


def _overall_tests(rows: SegmentRows, draws: int, seed: int) -> Floats:
    """Adjusted p-values of "the error of this segment is that of all rows"."""
    fitted = rows.without_overall_error()
    if fitted is None:
        return np.full(rows.members.shape[0], np.nan)
    labels, _ = _statistics(fitted, draws, fitted=True)
    adjusted, _ = step_down(labels.observed(fitted), labels.batches(draws, seed), draws)
    if rows.cluster is not None:
        share = None if labels.common is None else labels.common[0]
        signed, _, _ = by_signs(fitted, labels.by_cluster(fitted), draws, seed, share)
        adjusted = np.maximum(adjusted, signed)
    return np.minimum(*labels.apart(adjusted, 1.0))


def draws_at_once(entries: int, statistics: int, at_once: int = 64) -> int:
    """Draws whose statistics are computed together, so that memory stays small."""
    return max(1, min(at_once, _BATCH // max(entries, statistics)))


def step_down(observed: Floats, batches: Iterator[Floats], draws: int) -> tuple[Floats, Floats]:
    """Adjusted and unadjusted Monte-Carlo p-values of statistics.

    The draws have shape (statistics, draws); small values are evidence.
    """
    order = np.argsort(observed, kind="stable")
    limit = observed[order, np.newaxis]
    reached = np.zeros(observed.size)
    alone = np.zeros(observed.size)
    for drawn in batches:
        ordered = drawn[order]
        alone += (ordered <= limit).sum(axis=1)
        reached += (np.minimum.accumulate(ordered[::-1], axis=0)[::-1] <= limit).sum(axis=1)
    back = np.argsort(order)
    adjusted = np.maximum.accumulate(1 + reached) / (draws + 1)
    unadjusted = (1 + alone) / (draws + 1)
    return adjusted[back], unadjusted[back]


class _LabelStatistics:
    """Tails of the gap and of the slope of every segment, for observed and for drawn labels."""

    def __init__(self, entries: SegmentRows, *, fitted: bool = False) -> None:
        """Prepare the tests of entries; if `fitted`, shift and slope of all rows were fitted.

        A slope is tested in segments with enough labels whose scores differ.
        """
        self.entries = entries
        members = entries.members
        away, self.centre = entries.away
        p = entries.score
        variance = entries.variance
        total = members @ variance
        spread = (away * away) @ variance
        effective = (members @ (variance / entries.scale)) ** 2 / np.maximum(total, _TINY)
        self.sloped = np.flatnonzero((effective >= LEAST_VARIANCE) & (spread > 1e-9 * total))
        away = away[self.sloped]
        spread = spread[self.sloped]
        self.common = None
        if fitted:
            weights = sparse.vstack([members, away])
            self.common = common_part(entries, weights, (weights * weights) @ variance)
        self.slope_tail = self._gamma_tail(away, spread, slice(total.size, None))
        self.patterns = _Patterns(entries)
        self.expected, self.expected_slope = self.patterns.sums((entries.count * p)[:, np.newaxis])
        if self.exact:
            self.tails = tails(
                p[members.indices], entries.count[members.indices], members.indptr[:-1]
            )
        else:
            self.gap_tail = self._gamma_tail(members.astype(np.float64), total, slice(total.size))

    def apart(self, values: Floats, untested: float) -> tuple[Floats, Floats]:
        """Numbers of all statistics as those of the gap and those of the slope of each segment."""
        slope = np.full(self.centre.size, untested)
        slope[self.sloped] = values[slope.size :]
        return values[: slope.size].copy(), slope

    @property
    def exact(self) -> bool:
        """Whether gaps have exact tails.

        Events are counts, not too many of them, and nothing was fitted to them.
        """
        largest = (self.entries.members @ self.entries.variance).max(initial=0)
        return bool(self.entries.whole and self.common is None and largest <= _LARGE_VARIANCE)

    def _gamma_tail(
        self, weights: Any, variance: Floats, part: slice
    ) -> Callable[[Floats], Floats]:
        """Two-sided tails of weighted sums of residuals.

        They follow from the first three moments (Wilson and Hilferty).
        """
        entries = self.entries
        third_moment = entries.variance * entries.scale * (1 - 2 * entries.score)
        third = (weights * weights * weights) @ third_moment
        # Without variance, any residual beyond rounding error is impossible.
        certain = variance <= _TINY
        error = _EQUAL * (np.abs(weights) @ (entries.count * entries.scale))
        skewness = np.divide(third, variance**1.5, out=np.zeros(third.size), where=~certain)
        if self.common is None:
            deviation = np.sqrt(np.maximum(variance, _TINY))
        else:
            deviation = np.sqrt(self.common[1][part])

        def tail(excess: Floats) -> Floats:
            shape = (-1, *[1] * (excess.ndim - 1))
            fixed = certain.reshape(shape)
            z = np.where(fixed, 0.0, excess) / deviation.reshape(shape)
            score = normal_score(z, skewness.reshape(shape))
            impossible = fixed & (np.abs(excess) > error.reshape(shape))
            return np.where(impossible, 0.0, 2 * ndtr(-np.abs(score)))

        return tail

    def observed(self, rows: SegmentRows) -> Floats:
        """The tails of the observed labels.

        Within rounding of a drawn value they count as equal to it.
        """
        gap = rows.members @ rows.residual
        slope = self.slope_excess(rows)
        if self.exact:
            first = self.tails.of(np.rint(rows.members @ rows.events).astype(np.int64))
            return np.concatenate([first, self.slope_tail(slope) * (1 + _EQUAL)])
        return self._tails_of(gap, slope, rows.common_excess) * (1 + _EQUAL)

    def _tails_of(self, gap: Floats, slope: Floats, common: Floats) -> Floats:
        """Tails of both statistics.

        What shift and slope of all rows explain is subtracted if these were fitted.
        """
        if self.common is not None:
            explained = self.common[0] @ common
            slope = slope - explained[len(gap) :]
            gap = gap - explained[: len(gap)]
        return np.concatenate([self.gap_tail(gap), self.slope_tail(slope)])

    def slope_excess(self, rows: SegmentRows) -> Floats:
        """The score of the slope."""
        away, centre = rows.away
        # Near ties that are drawn together have another centre, and deviations must be from the
        # same one.
        inside = rows.members @ np.where(rows.inside, rows.residual, 0.0)
        return np.asarray((away @ rows.residual + (centre - self.centre) * inside)[self.sloped])

    def batches(self, draws: int, seed: int) -> Iterator[Floats]:
        """Tails of labels drawn from the scores."""
        entries = self.entries
        at_most = draws_at_once(entries.size, entries.members.shape[0])
        scores = entries.score[:, np.newaxis]
        rng = stream(seed, "labels")
        for (hits,) in label_batches(scores, entries.count, draws, rng, at_most):
            yield self.of_hits(hits)

    def of_hits(self, hits: Any) -> Floats:
        """The tails of numbers of events in each entry, of shape (entries, draws)."""
        events, by_log_odds = self.patterns.sums(hits)
        gap = events - self.expected
        steep = by_log_odds - self.expected_slope
        # The centre times the events whose score is 1 is subtracted and added: these are always
        # expected.
        slope = (steep - self.centre[:, np.newaxis] * gap)[self.sloped]
        if self.exact:
            return np.concatenate([self.tails.of(events), self.slope_tail(slope)])
        # The segments of one column are all rows.
        segments = len(self.entries.columns[0].values)
        common = np.stack([gap[:segments].sum(axis=0), steep[:segments].sum(axis=0)])
        return self._tails_of(gap, slope, common)

    def by_cluster(self, rows: SegmentRows) -> list[Any]:
        """The sums of residuals of each cluster in both statistics."""
        cluster = sparse.csr_array((rows.residual, (np.arange(rows.size), rows.cluster_by_content)))
        away, _ = rows.away
        return [sparse.vstack([rows.members @ cluster, away[self.sloped] @ cluster]).tocsr()]

    def proven_tails(self, rows: SegmentRows) -> Floats:
        """The p-values of the gaps alone.

        Exact tails, and Hoeffding's bound where these are below rounding error.
        """
        tail = self.observed(rows)[: rows.members.shape[0]]
        if not self.exact:
            return np.minimum(1.0, tail)
        n = rows.members @ rows.weight
        k = rows.members @ rows.events
        rate = (rows.members @ (rows.weight * rows.score)) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = xlogy(k, k / (n * rate)) + xlogy(n - k, (n - k) / (n * (1 - rate)))
        bound = 2 * np.exp(-np.where(np.isnan(divergence), 0.0, np.maximum(divergence, 0.0)))
        is_rough = (np.diff(self.tails.start) > _CONVOLVED_TABLE) & (tail < 100 * _ABSOLUTE_ERROR)
        return np.where(is_rough, np.minimum(tail + _ABSOLUTE_ERROR, bound), tail)


def common_part(entries: SegmentRows, weights: Any, total: Floats) -> tuple[Floats, Floats]:
    """What shift and slope of all rows explain of each statistic, and the variances of the rest.

    The statistics have variance `total`.
    """
    design = np.stack([entries.inside, entries.log_odds])
    information = design * entries.variance / entries.scale
    square = design * entries.variance
    share = (weights @ information.T) @ np.linalg.pinv(information @ design.T)
    rest = _rest(total, share, weights @ square.T, square @ design.T)
    return share, np.where(rest > 1e-9 * total, rest, np.inf)


def normal_score(z: Floats, skewness: Floats) -> Floats:
    """Standardised sums of this skewness as normal numbers (Wilson, Hilferty).

    The sums are taken to have a gamma distribution.
    """
    g = np.where(np.abs(skewness) > 1e-6, skewness, 1e-6)
    # One expression, so that NumPy uses its large temporary arrays again.
    return np.asarray((np.cbrt(np.maximum(0.0, 1 + z * g / 2)) - 1 + g * g / 36) * 6 / g)


def _rest(total: Floats, share: Floats, mixed: Floats, common: Floats) -> Floats:
    """Sums of squares of statistics less their `share` of two others, from all sums of products."""
    explained = ((share @ common) * share).sum(axis=1)
    return np.asarray(total - 2 * (share * mixed).sum(axis=1) + explained)


class _Patterns:
    """Sums over segments by way of patterns.

    A pattern is a run of entries that belong to the same segments.
    """

    def __init__(self, entries: SegmentRows) -> None:
        codes = np.stack([column.code for column in entries.columns])
        changes = (np.diff(codes, axis=1) != 0).any(axis=0)
        first = np.flatnonzero(np.append(True, changes))
        positions = (np.arange(entries.size), np.append(first, entries.size))
        weight = np.ones(entries.size, dtype=np.int64) if entries.whole else entries.scale
        self.events = sparse.csr_array((weight, *positions))
        self.log_odds = sparse.csr_array((entries.scale * entries.log_odds, *positions))
        # Any entry of a pattern stands for all.
        self.segments = entries.members[:, first]

    def sums(self, hits: Any) -> tuple[Any, Any]:
        """Σw and Σwx of the events in each segment, with x = logit p.

        `hits` has the shape (entries, draws).
        """
        return self.segments @ (self.events @ hits), self.segments @ (self.log_odds @ hits)


def by_signs(
    rows: SegmentRows,
    blocks: list[Any],
    draws: int,
    seed: int,
    share: Any = None,
    at_once: int = 64,
) -> tuple[Floats, Floats, Floats]:
    """P-values from random signs of clusters, or of rows.

    Adjusted; unadjusted; and the largest size in each draw.

    `blocks` hold the residuals of statistics by cluster, or ones by row. Sums are divided by the
    root of their sum of squares, which no sign changes. `share` is what shift and slope of all rows
    explain, if these were fitted.
    """
    units = rows.residual if rows.cluster is None else np.ones(blocks[0].shape[1])
    squares = np.concatenate([block.power(2) @ units**2 for block in blocks])
    rest = squares
    common = np.zeros((2, units.size))
    if share is not None:
        terms = np.stack([rows.inside, rows.log_odds]) * rows.residual
        common = np.stack(
            [np.bincount(rows.cluster_by_content, term, units.size) for term in terms]
        )
        mixed = np.concatenate([block @ common.T for block in blocks])
        rest = _rest(squares, share, mixed, common @ common.T)
    scale = np.where(rest > 1e-9 * squares, 1 / np.sqrt(np.maximum(rest, _TINY)), 0.0)
    largest = list[Floats]()

    def statistics(signs: Any) -> Floats:
        values = (units[:, np.newaxis] * signs).astype(blocks[0].dtype)
        total = np.concatenate([block @ values for block in blocks])
        if share is not None:
            total = total - share @ (common @ signs)
        return np.asarray(-np.abs(total) * scale[:, np.newaxis])

    def batches() -> Iterator[Floats]:
        at_most = draws_at_once(units.size, squares.size, at_once)
        for signs in sign_batches(units.size, draws, stream(seed, "signs"), at_most):
            drawn = statistics(signs)
            largest.append(-drawn.min(axis=0))
            yield drawn

    observed = statistics(np.ones((units.size, 1)))[:, 0] * (1 - 1e-6)  # sums of single precision
    return *step_down(observed, batches(), draws), np.concatenate(largest)
