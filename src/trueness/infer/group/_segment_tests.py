"""The joint test of all segments.

Two statistics describe a segment: its gap, Σ(y − p), and the score of its slope, Σ(y − p)(x − x̄),
with x the log-odds of the score p. The tail of a statistic is its two-sided p-value if it were the
only one. The smallest of all tails is compared with the smallest of all tails of drawn labels
(Westfall and Young), as the notes of :func:`trueness.segments` say; how accurate the tails are
matters for power only. Tails other than exact ones are those of a gamma distribution with the same
first three moments.

A segment is also compared with the whole. The part of each statistic that a shift and a slope of
all rows explain is then subtracted: one step of Newton's method, which fits shift and slope again
to each set of drawn labels.

References: Westfall, Young, "Resampling-Based Multiple Testing", Wiley, 1993; Ge, Dudoit, Speed,
"Resampling-based multiple testing for microarray data analysis", Test 12, 2003.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammainc, gammaincc, ndtr, ndtri, xlogy

from trueness._numerics.holm import holm
from trueness._numerics.poisson_binomial import tails
from trueness._numerics.streams import stream
from trueness.infer.group._segment_rows import SegmentRows
from trueness.infer.null._redrawn_labels import label_batches, sign_batches
from trueness.typing import Bools, Floats

# Numbers of a batch of drawn labels, or of statistics: 32 MiB of floats.
_BATCH = 1 << 22
# Above this many labels in all draws, near ties are drawn together.
_MOST_LABELS = 2e8
# Near ties are scores within this of each other in the angle arcsin √p.
_ANGLE = 1 / 1024
# Variance of a number of events above which its exact law takes minutes, and three moments say the
# same.
_LARGE_VARIANCE = 1e7
# With a smaller variance of the number of events, a segment says nothing about its slope.
LEAST_VARIANCE = 5.0
# Stands for a variance of 0, by which something is divided.
_TINY = 1e-300
_RARE = 3.0
"""The skewness at which the score of no event by Wilson and Hilferty's formula is about 0."""
# Values that differ by less, relatively, are equal: the same labels in another order of summation.
_EQUAL = 1e-9
# Values of single precision that differ by less, relatively, are equal.
_EQUAL_SINGLE = 1e-6
# The rest of a variance after a fit is 0 but for rounding below this share.
_NO_REST = 1e-9
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
    by_slope: Bools
    """Whether the slope has the smaller adjusted p-value."""
    overall: Floats
    """Adjusted p-values of "the error of this segment is that of all rows"; nan if that error
    cannot be estimated."""
    pooled: bool
    """Whether near ties were drawn together."""


class MonteCarloTests(NamedTuple):
    """P-values of several statistics among those of simulated data, in their order."""

    adjusted: Floats
    """Adjusted for the number of statistics, by the step-down method."""
    alone: Floats
    """Not adjusted."""


class SignTests(NamedTuple):
    """P-values of several statistics by random signs, and what the signs gave."""

    adjusted: Floats
    """Adjusted for the number of statistics, by the step-down method."""
    alone: Floats
    """Not adjusted."""
    largest: Floats
    """The largest absolute statistic of each draw, in standard deviations."""


class CommonPart(NamedTuple):
    """What a shift and a slope of all rows explain of several statistics."""

    share: Floats
    """Times Σw(y − p) and Σw(y − p)x of all rows, the part of each statistic that these explain;
    of shape (statistics, 2)."""
    rest: Floats
    """The variance of each statistic less that part; infinite where nothing is left to test."""


def joint_tests(rows: SegmentRows, draws: int, seed: int) -> SegmentTests:
    """Test the gap and the slope of every segment, with p-values adjusted for all of these tests.

    The gap of a segment is Σ(y − p), the slope's score Σ(y − p)(x − x̄) with the log-odds x of the
    score. The p-values come from `draws` sets of labels that are drawn from the scores of `rows`,
    by the step-down method of Westfall and Young. With clusters, each p-value is the larger of that
    one and of another, from as many sets of random signs of the clusters. `adjusted` is the smaller
    of the two adjusted p-values of a segment. `overall` asks instead whether the segment differs
    from all rows. The result has one entry per segment.
    """
    labels, near_ties_drawn_together = _statistics(rows, draws)
    observed = labels.observed(rows)
    by_labels = step_down(observed, labels.batches(draws, seed), draws)
    gap, slope = labels.split(by_labels.adjusted, untested=1.0)
    pvalue = labels.proven_tails(rows)
    _, slope_pvalue = labels.split(observed, untested=np.nan)
    tests_per_segment = 2 if labels.sloped.size else 1
    gap = bounded_by_tails(gap, np.minimum(1.0, tests_per_segment * pvalue), draws)
    if rows.units.clustered:
        by_signs = sign_tests(rows, labels.by_cluster(rows), draws, seed)
        gap_by_signs, slope_by_signs = labels.split(by_signs.adjusted, untested=1.0)
        gap = np.maximum(gap, gap_by_signs)
        slope = np.maximum(slope, slope_by_signs)
        gap_alone, slope_alone = labels.split(by_signs.alone, untested=np.nan)
        pvalue = np.maximum(pvalue, gap_alone)
        slope_pvalue = np.maximum(slope_pvalue, slope_alone)
    slope_sign = np.zeros(gap.size)
    slope_sign[labels.sloped] = labels.slope_scores(rows)
    return SegmentTests(
        pvalue=pvalue,
        slope_pvalue=slope_pvalue,
        slope_sign=slope_sign,
        adjusted=np.minimum(gap, slope),
        by_slope=slope < gap,
        overall=_overall_tests(rows, draws, seed),
        pooled=near_ties_drawn_together,
    )


def _statistics(
    rows: SegmentRows, draws: int, *, fitted: bool = False
) -> "tuple[_LabelStatistics, bool]":
    """The statistics of labels of these rows, and whether near ties are drawn together.

    Rows of one score and the same segments are one entry, whose number of events is drawn. If
    `draws` sets of labels would otherwise be too many numbers, so are rows of nearly equal scores.
    With `fitted`, the part of each statistic that a shift and a slope of all rows explain is
    subtracted.
    """
    entries = rows.pooled()
    too_many = entries.size * draws > _MOST_LABELS
    if too_many:
        entries = entries.pooled(_ANGLE)
    return _LabelStatistics(entries, fitted=fitted), too_many


def _overall_tests(rows: SegmentRows, draws: int, seed: int) -> Floats:
    """Adjusted p-values of "the error of this segment is that of all rows", one per segment.

    The scores are first moved by the shift and slope that fit all rows, and gap and slope of each
    segment are tested with what a new fit explains subtracted. The result is the smaller of the two
    p-values. With clusters, each is the larger of that by `draws` sets of drawn labels and that by
    random signs. All are nan if shift and slope cannot be estimated.
    """
    fitted = rows.without_overall_error()
    if fitted is None:
        return np.full(rows.members.shape[0], np.nan)
    labels, _ = _statistics(fitted, draws, fitted=True)
    adjusted = step_down(labels.observed(fitted), labels.batches(draws, seed), draws).adjusted
    if rows.units.clustered:
        assert labels.common is not None
        clusters = labels.by_cluster(fitted)
        by_signs = sign_tests(fitted, clusters, draws, seed, labels.common.share)
        adjusted = np.maximum(adjusted, by_signs.adjusted)
    return np.minimum(*labels.split(adjusted, untested=1.0))


def draws_at_once(entries: int, statistics: int, at_once: int = 64) -> int:
    """Draws whose statistics are computed together, so that memory stays small: 1 to `at_once`."""
    return max(1, min(at_once, _BATCH // max(entries, statistics)))


def step_down(observed: Floats, batches: Iterator[Floats], draws: int) -> MonteCarloTests:
    """Monte-Carlo p-values of several statistics, of which small values are evidence.

    `observed` has one value per statistic; the `batches` have shape (statistics, draws) and `draws`
    columns in all. A p-value is (1 + number of draws that are at most the observed value) / (draws
    + 1). For the adjusted p-values (Westfall and Young) the statistics are ranked by their observed
    values. A draw counts against a statistic if the smallest drawn value of it and of all that rank
    after it is at most the observed one. No p-value is smaller than that of a statistic that ranks
    before it.
    """
    order = np.argsort(observed, kind="stable")
    limit = observed[order, np.newaxis]
    reached = np.zeros(observed.size)
    reached_alone = np.zeros(observed.size)
    for drawn in batches:
        ordered = drawn[order]
        smallest_from_here = np.minimum.accumulate(ordered[::-1], axis=0)[::-1]
        reached += (smallest_from_here <= limit).sum(axis=1)
        reached_alone += (ordered <= limit).sum(axis=1)
    adjusted = np.maximum.accumulate(1 + reached) / (draws + 1)
    alone = (1 + reached_alone) / (draws + 1)
    back = np.argsort(order)
    return MonteCarloTests(adjusted[back], alone[back])


def bounded_by_tails(adjusted: Floats, tails: Floats, draws: int) -> Floats:
    """Adjusted p-values from `draws` draws, made smaller where draws cannot show less.

    No p-value from draws is below 1/(draws + 1). Where one has this value, it is replaced by the
    p-value of `tails`, adjusted by Holm's method, if that is smaller. A decision at any level above
    1/(draws + 1) stays the same. The arrays have one entry per test.
    """
    at_floor = adjusted * (draws + 1) < 1.5
    return np.where(at_floor, np.minimum(adjusted, holm(tails)), adjusted)


class _LabelStatistics:
    """Tails of the gap and of the slope of every segment, for observed and for drawn labels.

    Arrays of statistics hold the gaps of all segments and then the slopes of the segments `sloped`.
    """

    def __init__(self, entries: SegmentRows, *, fitted: bool = False) -> None:
        """Prepare the tests of the segments of these entries, groups of rows of one score.

        The slope is tested only in segments with enough labels whose scores differ. Gaps have exact
        tails where events are whole numbers with a variance of at most 10⁷; other tails follow from
        three moments. With `fitted`, the part of each statistic that a shift and a slope of all
        rows explain is subtracted; tails are then those of the rest, by its variance.
        """
        self.entries = entries
        members = entries.members
        variance = entries.variance
        centred = entries.centred
        self.centre = centred.mean
        """The mean log-odds of each segment."""
        x = centred.log_odds
        gap_variance = members @ variance
        slope_variance = (x * x) @ variance
        # The variance of the number of events of labels of one weight that say as much.
        unweighted = members @ (variance / entries.scale)
        label_variance = unweighted**2 / np.maximum(gap_variance, _TINY)
        scores_differ = slope_variance > 1e-9 * gap_variance
        self.sloped = np.flatnonzero((label_variance >= LEAST_VARIANCE) & scores_differ)
        """The segments whose slope is tested."""
        x = x[self.sloped]
        slope_variance = slope_variance[self.sloped]
        gap_rest = np.maximum(gap_variance, _TINY)
        slope_rest = np.maximum(slope_variance, _TINY)
        self.common: CommonPart | None = None
        """What shift and slope of all rows explain, if they were fitted."""
        if fitted:
            weights = sparse.vstack([members, x])
            self.common = common_part(entries, weights, (weights * weights) @ variance)
            gap_rest, slope_rest = np.split(self.common.rest, [gap_variance.size])
        self.slope_tail = self._gamma_tail(x, slope_variance, slope_rest)
        self.patterns = _Patterns(entries)
        expected = (entries.count * entries.score)[:, np.newaxis]
        # Σwp and Σwpx of each segment, as the patterns sum up events and their log-odds x.
        self.expected, self.expected_slope = self.patterns.sums(expected)
        few_events = gap_variance.max(initial=0) <= _LARGE_VARIANCE
        self.exact = bool(entries.whole and not fitted and few_events)
        """Whether gaps have exact tails: if events are counts, not too many, and nothing was fitted
        to them."""
        if self.exact:
            self.tails = tails(
                entries.score[members.indices], entries.count[members.indices], members.indptr[:-1]
            )
        else:
            self.gap_tail = self._gamma_tail(members.astype(np.float64), gap_variance, gap_rest)

    def split(self, values: Floats, *, untested: float) -> tuple[Floats, Floats]:
        """Values of all statistics as two arrays, for gaps and for slopes, one entry per segment.

        `values` has the gaps of all segments, then the slopes of those segments that have a test of
        the slope. The others get the value `untested`.
        """
        segments = self.centre.size
        slope = np.full(segments, untested)
        slope[self.sloped] = values[segments:]
        return values[:segments].copy(), slope

    def _gamma_tail(
        self, weights: sparse.csr_array, variance: Floats, rest: Floats
    ) -> Callable[[Floats], Floats]:
        """A function from sums of residuals to their two-sided tails.

        `weights`, of shape (statistics, entries), are the coefficients of the residuals in each
        sum, `variance` is that of each sum, and `rest` what a fit leaves of it. The tails follow
        from the first three moments (Wilson and Hilferty). A sum without variance has the tail 1
        if it is 0, and 0 if it is not.
        """
        entries = self.entries
        third_moment = entries.variance * entries.scale * (1 - 2 * entries.score)
        third = (weights * weights * weights) @ third_moment
        is_certain = variance <= _TINY
        skewness = np.divide(third, variance**1.5, out=np.zeros(third.size), where=~is_certain)
        rounding_error = _EQUAL * (np.abs(weights) @ (entries.count * entries.scale))
        # One column each, for sums of shape (statistics, draws).
        is_certain = is_certain[:, np.newaxis]
        skewness = skewness[:, np.newaxis]
        deviation = np.sqrt(rest)[:, np.newaxis]
        error = rounding_error[:, np.newaxis]

        def tail(sums: Floats) -> Floats:
            if sums.ndim == 1:
                return tail(sums[:, np.newaxis])[:, 0]
            z = np.where(is_certain, 0.0, sums) / deviation
            is_impossible = is_certain & (np.abs(sums) > error)
            return np.where(is_impossible, 0.0, 2 * ndtr(-np.abs(normal_score(z, skewness))))

        return tail

    def observed(self, rows: SegmentRows) -> Floats:
        """The tails of the observed labels, one per statistic.

        They are a little too large, so that a drawn value that differs by rounding counts as equal.
        """
        slope = self.slope_scores(rows)
        if not self.exact:
            gap = rows.members @ rows.residual
            return self._gamma_tails(gap, slope, rows.common_residuals) * (1 + _EQUAL)
        events = np.rint(rows.members @ rows.events).astype(np.int64)
        return np.concatenate([self.tails.of(events), self.slope_tail(slope) * (1 + _EQUAL)])

    def _gamma_tails(self, gap: Floats, slope: Floats, common: Floats) -> Floats:
        """The two-sided tails of gaps and of scores of slopes, by three moments.

        `common` are Σw(y − p) and Σw(y − p)x of all rows. What they explain of the statistics is
        subtracted if shift and slope were fitted. Arrays have one value per statistic, or a row of
        draws for each. The tails of slopes follow those of gaps.
        """
        if self.common is not None:
            explained = self.common.share @ common
            slope = slope - explained[len(gap) :]
            gap = gap - explained[: len(gap)]
        return np.concatenate([self.gap_tail(gap), self.slope_tail(slope)])

    def slope_scores(self, rows: SegmentRows) -> Floats:
        """Σw(y − p)(x − x̄) of the observed labels in each segment whose slope is tested.

        x is the log-odds of the score. If near ties are drawn together, the mean x̄ of the entries
        differs from that of the rows, and takes its place: drawn labels have the same.
        """
        centred = rows.centred
        inside = rows.members @ np.where(rows.inside, rows.residual, 0.0)
        scores = centred.log_odds @ rows.residual + (centred.mean - self.centre) * inside
        return np.asarray(scores[self.sloped])

    def batches(self, draws: int, seed: int) -> Iterator[Floats]:
        """The tails of `draws` sets of labels drawn from the scores, of shape (statistics, draws).

        They come in batches of some draws at a time.
        """
        entries = self.entries
        at_most = draws_at_once(entries.size, entries.members.shape[0])
        scores = entries.score[:, np.newaxis]
        rng = stream(seed, "labels")
        for (hits,) in label_batches(scores, entries.count, draws, rng, at_most):
            yield self._of_hits(hits)

    def _of_hits(self, hits: NDArray[Any]) -> Floats:
        """The tails of drawn labels, given as the number of events in each entry.

        From shape (entries, draws) to shape (statistics, draws).
        """
        events, by_log_odds = self.patterns.sums(hits)
        gap = events - self.expected
        steep = by_log_odds - self.expected_slope
        # Events of score 1, whose x counts as 0, are always as expected: they add nothing to gap.
        slope = (steep - self.centre[:, np.newaxis] * gap)[self.sloped]
        if self.exact:
            return np.concatenate([self.tails.of(events), self.slope_tail(slope)])
        # The segments of one column hold every row once, so their sums are those of all rows.
        segments = len(self.entries.columns[0].values)
        common = np.stack([gap[:segments].sum(axis=0), steep[:segments].sum(axis=0)])
        return self._gamma_tails(gap, slope, common)

    def by_cluster(self, rows: SegmentRows) -> list[sparse.csr_array]:
        """The residuals of each cluster in each statistic, as one block for :func:`sign_tests`.

        The block is a sparse matrix of shape (statistics, clusters).
        """
        place = (np.arange(rows.size), rows.units_by_content.code)
        cluster = sparse.csr_array((rows.residual, place))
        slopes = rows.centred.log_odds[self.sloped] @ cluster
        return [sparse.vstack([rows.members @ cluster, slopes]).tocsr()]

    def proven_tails(self, rows: SegmentRows) -> Floats:
        """The p-value of the gap of each segment alone.

        Exact tails below their own rounding error are replaced by Hoeffding's bound,
        2 exp(−D) with D = k log(k / nr) + (n − k) log((n − k) / (n − nr)) for k events of n labels
        of mean score r.
        """
        tail = self.observed(rows)[: rows.members.shape[0]]
        if not self.exact:
            return np.minimum(1.0, tail)
        n = rows.members @ rows.weight
        k = rows.members @ rows.events
        rate = (rows.members @ (rows.weight * rows.score)) / n
        # A mean score of exactly 0 or 1, or a segment without rows, has 0 / 0 here.
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = xlogy(k, k / (n * rate)) + xlogy(n - k, (n - k) / (n * (1 - rate)))
        bound = 2 * np.exp(-np.where(np.isnan(divergence), 0.0, np.maximum(divergence, 0.0)))
        was_transformed = np.diff(self.tails.start) > _CONVOLVED_TABLE
        is_rough = was_transformed & (tail < 100 * _ABSOLUTE_ERROR)
        return np.where(is_rough, np.minimum(tail + _ABSOLUTE_ERROR, bound), tail)


def common_part(entries: SegmentRows, weights: sparse.csr_array, variance: Floats) -> CommonPart:
    """What a shift and a slope of all rows explain of each statistic, and the variance of the rest.

    A statistic is a weighted sum of the residuals of the entries: `weights` has shape (statistics,
    entries), and `variance` is that of each sum. `share` is what one step of Newton's method gives:
    the derivatives of the statistic by shift and slope, times the inverse of the information
    matrix. A statistic that is explained entirely has an infinite rest, so that it is never
    evidence.
    """
    design = np.stack([entries.inside, entries.log_odds])
    information = design * entries.variance / entries.scale
    covariance = design * entries.variance
    share = (weights @ information.T) @ np.linalg.pinv(information @ design.T)
    rest = _variance_of_rest(variance, share, weights @ covariance.T, covariance @ design.T)
    return CommonPart(share, np.where(rest > _NO_REST * variance, rest, np.inf))


def normal_score(z: Floats, skewness: Floats) -> Floats:
    """Standardised sums as normal numbers of about the same tail, by their first three moments.

    A sum is taken to have a gamma distribution, whose cube root is about normal (Wilson and
    Hilferty). `skewness` is that of each sum; below 1e-6 in size it counts as 1e-6, since the
    formula divides by it. A sum of skewness beyond 3, in which less than a ninth of an event is
    expected (or of a non-event), is taken to be a count: the cube root would give every count a
    score of at least a sixth of the skewness, that of no event included.
    """
    g = np.where(np.abs(skewness) > 1e-6, skewness, 1e-6)
    # One expression, so that NumPy uses its large temporary arrays again.
    scores = (np.cbrt(np.maximum(0.0, 1 + z * g / 2)) - 1 + g * g / 36) * 6 / g
    is_count = np.abs(skewness) > _RARE
    if is_count.any():
        counts = np.flatnonzero(is_count.ravel())
        scores[counts] = _count_score(z[counts], skewness[counts])
    return np.asarray(scores)


def _count_score(z: Floats, skewness: Floats) -> Floats:
    """Standardised counts of rare events as normal numbers of the same two-sided Poisson tail.

    A Poisson count of mean μ has the skewness 1/√μ. Where the skewness is negative, non-events are
    counted. A count that is no more surprising than not has the score 0.
    """
    mean = 1 / skewness**2
    count = np.maximum(0.0, mean + z / skewness)
    at_least = gammainc(count, mean)
    at_most = gammaincc(count + 1, mean)
    tail = np.clip(np.minimum(at_least, at_most), _TINY, 0.5)
    score: Floats = np.where(at_least < at_most, 1, -1) * np.sign(skewness) * -ndtri(tail)
    return score


def _variance_of_rest(variance: Floats, share: Floats, mixed: Floats, common: Floats) -> Floats:
    """The variance of each statistic S after `share` of two common sums C is subtracted.

    Var(S − share · C), from the variance of S, the covariances `mixed` of S and C, of shape
    (statistics, 2), and the covariances `common` of the two sums, of shape (2, 2).
    """
    explained = ((share @ common) * share).sum(axis=1)
    return np.asarray(variance - 2 * (share * mixed).sum(axis=1) + explained)


class _Patterns:
    """Sums over segments by way of patterns.

    A pattern is a run of entries that belong to the same segments.
    """

    def __init__(self, entries: SegmentRows) -> None:
        """Find the patterns of the entries, and the matrices that sum over them.

        A pattern is a run of entries that belong to the same segments; such entries must be
        neighbours. Sums go from entries to patterns, then from patterns to segments, which takes
        fewer operations.
        """
        codes = np.stack([column.code for column in entries.columns])
        is_new = (np.diff(codes, axis=1) != 0).any(axis=0)
        first = np.flatnonzero(np.append(True, is_new))
        start = np.append(first, entries.size)
        place = np.arange(entries.size)
        weight = np.ones(entries.size, dtype=np.int64) if entries.whole else entries.scale
        self.events = sparse.csr_array((weight, place, start))
        self.log_odds = sparse.csr_array((entries.scale * entries.log_odds, place, start))
        # Any entry of a pattern stands for all.
        self.segments = entries.members[:, first]

    def sums(self, hits: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
        """Σw and Σwx of the events in each segment, x being the log-odds of the score.

        `hits` are numbers of events, of shape (entries, draws); the sums have shape (segments,
        draws).
        """
        return self.segments @ (self.events @ hits), self.segments @ (self.log_odds @ hits)


def sign_tests(
    rows: SegmentRows,
    blocks: Sequence[sparse.csr_array],
    draws: int,
    seed: int,
    share: Floats | None = None,
    at_once: int = 64,
) -> SignTests:
    """P-values of weighted sums of residuals, by random signs of clusters or of single rows.

    `blocks` are sparse matrices with a row for each sum. Their columns are clusters, and hold the
    residuals that the cluster adds to the sum; without clusters their columns are rows, and hold
    ones. Each sum is divided by the root of its sum of squares, which no sign changes. `share` is
    that of :func:`common_part` if a shift and a slope of all rows were fitted: what they explain is
    subtracted. At most `at_once` of the `draws` sets of signs are in memory together.
    """
    units = np.ones(blocks[0].shape[1]) if rows.units.clustered else rows.residual
    squares = np.concatenate([block.power(2) @ units**2 for block in blocks])
    rest = squares
    common = np.zeros((2, units.size))
    if share is not None:
        common = rows.common_residuals_by_unit
        mixed = np.concatenate([block @ common.T for block in blocks])
        rest = _variance_of_rest(squares, share, mixed, common @ common.T)
    # A sum of which the fit leaves nothing is never evidence.
    scale = np.where(rest > _NO_REST * squares, 1 / np.sqrt(np.maximum(rest, _TINY)), 0.0)

    def statistics(signs: Floats) -> Floats:
        """Minus the absolute sums, of shape (sums, draws), so that small values are evidence."""
        signed = (units[:, np.newaxis] * signs).astype(blocks[0].dtype)
        total = np.concatenate([block @ signed for block in blocks])
        if share is not None:
            total = total - share @ (common @ signs)
        return np.asarray(-np.abs(total) * scale[:, np.newaxis])

    largest = list[Floats]()

    def batches() -> Iterator[Floats]:
        at_most = draws_at_once(units.size, squares.size, at_once)
        for signs in sign_batches(units.size, draws, stream(seed, "signs"), at_most):
            drawn = statistics(signs)
            largest.append(-drawn.min(axis=0))
            yield drawn

    observed = statistics(np.ones((units.size, 1)))[:, 0] * (1 - _EQUAL_SINGLE)
    tests = step_down(observed, batches(), draws)
    return SignTests(tests.adjusted, tests.alone, np.concatenate(largest))
