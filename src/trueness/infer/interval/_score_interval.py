"""The score interval for the squared error.

It is derived in docs/methods/score-interval.md, whose letters are used here.
"""

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import chdtri, chndtr, ndtr, stdtrit

from trueness._numerics.pairs import PairSums, null_moments, score_pair_sums
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.roots import bracketed_root
from trueness._numerics.units import ClusterUnits
from trueness._tally.binned_scores import (
    BinnedScores,
    bin_starts,
    bins_in_words,
    default_rule,
    of_cells,
)
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows
from trueness._tally.rules import BinRule, Distinct, EqualMass, MassAndWidth
from trueness.infer.interval._analytic import Region
from trueness.infer.interval._residuals import BinnedResiduals, residuals_in
from trueness.infer.test._clustered_tests import clustered_omnibus_test, pair_statistic, wild_pvalue
from trueness.infer.test._omnibus import omnibus_test
from trueness.infer.test._pair_tests import out_of_reach, rejects_calibration, required_draws
from trueness.typing import Floats, Ints, Numbers

# The smallest coefficient of θ²: below zero there would be no upper end.
_LEAST_LEADING = 0.2
# The upper end takes n^0.65 cells of equal mass.
_FINE = 0.65
# Degrees of freedom of Student's t in the ends of a set: with a normal quantile, sets of large
# errors covered about 0.89 in place of 0.90.
_FREEDOM = 30
# The upper end is at least that of the statistic below which calibrated scores lie in this share of
# data sets.
_LUCKY = 0.05
# A rate that equals its score counts as this far from it, so that it can be scaled.
_NO_GAP = 1e-9
# From this number of rows per distinct score on, squared gaps are nearly those of normal numbers.
_TRUSTED = 5
# With fewer rows of the rarer label, the spread of residuals says nothing about the error.
_FEW_EVENTS = 3


class ScoreSet(NamedTuple):
    """A confidence set for the squared error, with the estimate in coarse and in fine cells."""

    estimate: float
    region: Region
    n: int
    bins: str
    """The cells in words."""
    finer: float | None = None
    """The estimate in fine cells."""
    note: str = ""


class _Part(NamedTuple):
    """The estimate T in one partition of the scores, and its variance."""

    estimate: float
    null: float
    """τ², the variance of T for calibrated scores."""
    noise: float
    """R₁, the variance of the labels along the error."""
    unevenness: float
    """R₂, the relative variance of the error over rows."""
    n: float
    paired: bool
    """Whether any cell holds a pair."""
    gaps: "_Gaps | None" = None
    """If every cell is one score with enough rows."""

    def ends(self, alpha: float) -> tuple[float, float]:
        r"""The ends of the set of all :math:`\theta \ge 0` at level 1 − alpha, at least 0.

        It is :math:`(T - \theta)^2 \le z^2 (\tau^2 + 4 R_1 \theta / n + R_2 \theta^2 / n)`, with z
        a quantile of Student's t. The upper end uses max(T, 0), and the distribution of squared
        gaps if every cell is one score. Without a positive estimate the lower end is 0.
        """
        z = float(stdtrit(_FREEDOM, 1 - alpha / 2))
        z2 = z * z
        leading = max(_LEAST_LEADING, 1 - z2 * self.unevenness / self.n)

        def root(t: float, side: int) -> float:
            """The lower (−1) or upper (1) root of the quadratic equation in θ for T = t."""
            half = t + 2 * z2 * self.noise / self.n
            discriminant = half * half - leading * (t * t - z2 * self.null)
            return (half + side * math.sqrt(max(0.0, discriminant))) / leading

        low = root(self.estimate, -1) if self.estimate > 0 else 0.0
        high = root(max(self.estimate, 0.0), 1)
        if self.gaps is not None and self.null > 0:
            high = self._end_of_squares(self.gaps, high, float(ndtr(-z)))
        return max(0.0, low), high

    def _end_of_squares(self, gaps: "_Gaps", limit: float, alpha: float) -> float:
        """The upper end, at most `limit`, if T plus its bias is a sum of squared gaps.

        T is the debiased squared error. If every cell is one score, T plus its bias (the expected
        sum of squared gaps if the scores are right) is a sum of squares, and nearly a noncentral χ²
        number. Scale and degrees of freedom match its mean and variance.

        The end is the error under which that sum is as small as observed with probability `alpha`.
        If it is improbably small even for an error of 0, the end is 0. A sum below the 5 % quantile
        of calibrated scores counts as that quantile.
        """
        bias = gaps.bias
        null_scale = self.null / (2 * bias)
        # Calibrated scores lie below this in 5 % of data sets: a smaller value says no more.
        lucky = null_scale * float(chdtri(bias / null_scale, 1 - _LUCKY))
        observed = max(self.estimate + bias, lucky)

        def above_alpha(theta: float) -> float:
            """The probability of a value as small as observed under the error θ, less alpha."""
            noise = max(self.noise, gaps.noise(theta))
            variance = self.null + (4 * noise * theta + self.unevenness * theta * theta) / self.n
            scale = variance / (2 * bias + 4 * theta)
            return float(chndtr(observed / scale, bias / scale, theta / scale)) - alpha

        if above_alpha(0.0) <= 0:
            return 0.0
        if above_alpha(limit) < 0:
            return bracketed_root(above_alpha, 0.0, limit)
        return limit


class _Gaps(NamedTuple):
    """Differences of rate and score, each of one score."""

    score: Floats
    gap: Floats
    root: float
    """The root of their mean square."""
    share: Floats
    """The share of each in the error: in the sum of squares beyond the noise, if there is any."""
    bias: float
    """The mean of their squares for calibrated scores."""

    @classmethod
    def of(cls, score: Floats, count: Ints, hits: Ints) -> "_Gaps | None":
        """From the rows (`count`) and the events (`hits`) of each score.

        A gap is event rate − score. The share of a score in the error is that of its squared gap,
        times its rows, beyond the variance p(1 − p) of a label; if no score is beyond, that of its
        squared gap. The bias is what squared gaps of scores with at least two rows are expected to
        be if the scores are right. None if no score has two rows whose labels can differ.
        """
        gap = hits / count - score
        variance = score * (1 - score)
        # A rate that equals its score may be wrong in either direction: the one of the larger
        # variance.
        gap = np.where(np.abs(gap) > _NO_GAP, gap, _NO_GAP * np.sign(0.5 - score))
        square = count * gap**2
        beyond = np.maximum(square - variance, 0.0)
        if not beyond.any():
            # Squares of the smallest gaps may be 0, which no share can be taken of.
            beyond = np.maximum(square, sys.float_info.min)
        n = float(count.sum())
        repeated = count > 1
        bias = float((variance * count / np.maximum(count - 1, 1))[repeated].sum()) / n
        root = max(math.sqrt(float(square.sum()) / n), sys.float_info.min)
        if bias > 0:
            return cls(score, gap, root, beyond / beyond.sum(), bias)
        return None

    def noise(self, theta: float) -> float:
        """R₁ if all gaps grew, or shrank, by one factor until the squared error is `theta`."""
        rate = np.clip(self.score + self.gap * (math.sqrt(theta) / self.root), 0, 1)
        return float(self.share @ (rate * (1 - rate)))


class _Partitions(NamedTuple):
    """The default cells, by what they are used for."""

    coarse: BinRule
    """For the estimate and the lower end."""
    fine: BinRule
    """For the upper end."""
    exact: BinRule
    """For exact limits."""


def _partitions(cells: Cells, n: float) -> _Partitions:
    """The default cells of `n` rows with these scores."""
    coarse = default_rule(cells, n)
    exact = EqualMass(coarse.mass) if isinstance(coarse, MassAndWidth) else coarse
    return _Partitions(coarse, default_rule(cells, n, _FINE), exact)


def default_score_set(cells: Cells, alpha: float, seed: int, draws: int | None = None) -> ScoreSet:
    """The score set in the default cells, at level 1 − alpha, for independent rows.

    It is a confidence set for the squared error, from the `cells`, the sums per distinct score. It
    includes zero if the omnibus test does not reject calibration at `alpha`, with `draws` sets of
    labels drawn from the scores; None means as many as the level requires. If the estimate is out
    of reach of such labels, nothing is drawn and zero is excluded.
    """
    parts = DefaultParts.of_cells(cells)
    if parts.rejected:
        return parts.at(alpha)
    pvalue = omnibus_test(cells, draws or required_draws(alpha), seed).pvalue
    return parts.at(alpha, zero=pvalue > alpha)


class DefaultParts(NamedTuple):
    """The set in the default cells, before its level and whether it contains zero are decided."""

    cells: Cells
    coarse: _Part
    fine: _Part
    first: Ints
    """The first score of each cell of the exact limits."""
    bins: str
    n: int
    rejected: bool = False
    """Whether calibration is out of the question even before it is tested."""
    effective: float | None = None
    """The effective number of clusters."""
    row_weight: float = 1.0
    """The mean importance weight, which counts as one row in the exact limits."""
    shared: bool = False
    """Whether different scores share fine cells, in which their errors may cancel."""

    @classmethod
    def of_cells(cls, cells: Cells) -> "DefaultParts":
        """The parts for independent rows, from their cells, the sums per distinct score.

        There are two estimates: in coarse cells for the lower end, in fine ones for the upper.
        `rejected` is set if labels drawn from the scores practically never give half the coarse
        estimate: calibration then needs no test.
        """
        n = int(cells.totals.weight)
        rules = _partitions(cells, n)
        coarse, scores = _independent_part(cells, rules.coarse)
        fine, _ = _independent_part(cells, rules.fine)
        return cls(
            cells=cells,
            coarse=coarse,
            fine=fine,
            first=bin_starts(cells, rules.exact),
            bins=scores.bins,
            n=n,
            rejected=out_of_reach(scores, coarse.estimate),
            shared=not isinstance(rules.fine, Distinct),
        )

    @classmethod
    def of_clusters(cls, rows: ClusteredRows) -> "tuple[DefaultParts, BinnedResiduals]":
        """The parts for rows in clusters or with importance weights, and their coarse residuals.

        There are two estimates: in coarse cells for the lower end, in fine ones for the upper;
        pairs of rows of one cluster are left out of both. `rejected` is not set: calibration is
        always tested.
        """
        cells = rows.cells
        rules = _partitions(cells, rows.n)
        coarse = residuals_in(rows, rules.coarse)
        fine = residuals_in(rows, rules.fine, check=False)
        parts = cls(
            cells=cells,
            coarse=_clustered_part(rows, coarse),
            fine=_clustered_part(rows, fine),
            first=bin_starts(cells, rules.exact),
            bins=bins_in_words(rules.coarse, coarse.first.size),
            n=rows.n,
            effective=rows.units.effective(rows.weight),
            row_weight=float(rows.w.mean()) if rows.importance else 1.0,
            shared=not isinstance(rules.fine, Distinct),
        )
        return parts, coarse

    def shown_by_ties(self, alpha: float) -> float:
        """A lower limit for the squared error from rows that share their score with others.

        It holds for errors of any form, with probability 1 − alpha; it is 0 if no score has two
        rows.
        """
        tied = self.cells.weight > 1
        cells = Cells(**{name: column[tied] for name, column in self.cells.columns().items()})
        if cells.size == 0:
            return 0.0
        part, _ = _independent_part(cells, Distinct())
        return part.ends(2 * alpha)[0]

    def at(self, alpha: float, *, zero: bool = False) -> ScoreSet:
        """The confidence set for the squared error at level 1 − alpha.

        `zero` says whether calibration is not rejected: the set then begins at zero and includes
        it. The lower end is that in coarse cells; the upper end is that in fine cells if any of
        them holds a pair of rows, otherwise that in coarse ones. With few rows of one label both
        ends are exact binomial limits, and the note of the result says so. The estimate is that in
        coarse cells.
        """
        cells = self.cells
        coarse = self.coarse
        fine = self.fine if self.fine.paired else coarse
        weight = cells.weight
        events = cells.events
        if self.row_weight != 1:
            weight = weight / self.row_weight
            events = events / self.row_weight
        low, _ = coarse.ends(alpha)
        _, high = fine.ends(alpha)
        ends, note = _with_exact(
            (low, high),
            coarse.estimate,
            alpha,
            p=cells.score,
            weight=weight,
            hits=events,
            first=self.first,
            effective=self.effective,
        )
        region = _region(ends, zero=zero)
        return ScoreSet(coarse.estimate, region, self.n, self.bins, fine.estimate, note)


def upper_limit(parts: DefaultParts) -> Callable[[float], float]:
    """The one-sided upper limit for the squared error, as a function of its error rate.

    The limit of error rate alpha is the upper end of a two-sided set at level 1 − 2 alpha, in fine
    cells if any of them holds a pair of rows. It is at least the estimate in coarse cells. With few
    rows of one label it is the exact limit.
    """
    fine = parts.fine if parts.fine.paired else parts.coarse
    if parts.at(0.1).note:  # the limits are exact
        return lambda alpha: parts.at(2 * alpha).region.high
    return lambda alpha: max(fine.ends(2 * alpha)[1], parts.coarse.estimate)


def _independent_part(cells: Cells, rule: BinRule) -> tuple[_Part, BinnedScores]:
    """The estimate and its variance in the bins of a rule, for independent rows; and the bins.

    `cells` are the sums per distinct score. If every bin is one score, with five rows each on
    average, the part also has the squared gaps of rate and score, from which the upper end is then
    computed.
    """
    scores = of_cells(cells, rule, None)
    hits = scores.hits[:, 0]
    part = _part(*score_pair_sums(cells.score, scores.count, hits, scores.first))
    if scores.first.size == cells.size and _TRUSTED * cells.size <= part.n:
        part = part._replace(gaps=_Gaps.of(cells.score, scores.count, hits))
    return part, scores


def _part(sums: PairSums, variance: float, implied: Floats) -> _Part:
    """The estimate of independent rows from their sums over pairs.

    `variance` is that for calibrated scores, `implied` is passed to :meth:`PairSums.noise`.
    """
    return _Part(
        estimate=sums.statistic,
        null=variance,
        noise=sums.noise(implied),
        unevenness=sums.unevenness,
        n=sums.total,
        paired=bool((sums.n >= 2).any()),
    )


def default_clustered_set(
    rows: ClusteredRows, alpha: float, seed: int, draws: int | None = None
) -> ScoreSet:
    """The score set in the default cells for rows in clusters or with importance weights.

    It is a confidence set for the squared error at level 1 − alpha. It includes zero if a test does
    not reject calibration at `alpha`. That is the omnibus test of clusters or, with importance
    weights, the test by sums over pairs. Both use `draws` sets of labels and of random signs; None
    means as many as the level requires.
    """
    parts, coarse = DefaultParts.of_clusters(rows)
    draws = draws or required_draws(alpha)
    if rows.importance:
        pvalue = wild_pvalue(pair_statistic(coarse, rows.p), rows.clusters, draws, seed)
    else:
        pvalue = clustered_omnibus_test(rows, draws, seed).pvalue
    return parts.at(alpha, zero=pvalue > alpha)


def _with_exact(
    ends: tuple[float, float],
    estimate: float,
    alpha: float,
    *,
    p: Floats,
    weight: Numbers,
    hits: Numbers,
    first: Ints,
    effective: float | None = None,
) -> tuple[tuple[float, float], str]:
    """The ends, which contain the estimate, and a note; exact if few rows have the rarer label.

    Step 5 of docs/methods/score-interval.md. Scores `p` have `weight` rows each, `hits` of them
    events; `first` is the first score of each bin, and `effective` the effective number of
    independent rows, by default all. The rarer label is the rarer class or, if rarer still, the
    less probable label of each row. With three such rows or more the ends stay, and the note is
    empty.
    """
    n = float(weight.sum())
    events = float(hits.sum())
    w = weight.astype(np.float64)
    size = np.add.reduceat(w, first)
    bin_events = np.add.reduceat(hits.astype(np.float64), first)
    # In bins with a mean score above one half the less probable label is no event.
    above = 2 * np.add.reduceat(w * p, first) > size
    improbable = float(np.where(above, size - bin_events, bin_events).sum())
    rarer = min(events, n - events)
    by_bins = improbable < rarer
    rarer = min(improbable, rarer)
    note = ""
    low, high = ends
    if rarer < _FEW_EVENTS:
        rows = f"{rarer:,.6g} of {n:,.12g}"
        if by_bins:
            flipped = np.repeat(above, np.diff(np.append(first, p.size)))
            note = f"Exact binomial limits: {rows} labels are the less probable one."
        else:
            flipped = np.full(p.size, 2 * events > n)
            note = f"Exact binomial limits: one class has {rows} rows."
        p = np.where(flipped, 1 - p, p)
        trials = n if effective is None else min(effective, n)
        rate_low, rate_high = map(float, clopper_pearson(rarer * trials / n, trials, 1 - alpha))
        # All such labels may fall in the bin where they raise the error most.
        gain = np.minimum(1, n * rate_high / size) - 2 * np.add.reduceat(w * p, first) / size
        largest = float(w @ (p * p)) / n + rate_high * max(0.0, float(gain.max()))
        mean = float(w @ p) / n
        low = max(0.0, rate_low - mean, mean - rate_high) ** 2
        high = largest if rarer == 0 else max(high, largest)
    # The estimate in coarse cells may exceed the upper end in fine ones by chance.
    return (min(low, max(estimate, 0.0)), max(high, estimate)), note


def given_score_set(scores: BinnedScores, sums: PairSums, alpha: float, seed: int) -> ScoreSet:
    """The score set in given bins, at level 1 − alpha, for independent rows.

    It is a confidence set for the squared error. `scores` are one or several scores of each row in
    bins, and `sums` those over pairs of the same rows. The set includes zero if the exact test does
    not reject calibration at `alpha`; `seed` decides the labels it draws. If few rows have one
    label, a single score per row has exact binomial limits; several scores per row have none.
    """
    variance, implied = null_moments(scores.z, scores.count, scores.first, sums.s)
    ends = _part(sums, variance, implied).ends(alpha)
    note = ""
    if scores.k == 1:
        ends, note = _with_exact(
            ends,
            sums.statistic,
            alpha,
            p=scores.z[:, 0],
            weight=scores.count,
            hits=scores.hits[:, 0],
            first=scores.first,
        )
    zero = not rejects_calibration(scores, sums.statistic, alpha, seed)
    region = _region(ends, zero=zero)
    return ScoreSet(sums.statistic, region, int(sums.total), scores.bins, note=note)


def given_clustered_set(
    rows: ClusteredRows, rule: BinRule, alpha: float, seed: int, draws: int | None = None
) -> ScoreSet:
    """The score set in the bins of a rule, at level 1 − alpha, for rows in clusters.

    It is a confidence set for the squared error, estimated from pairs of rows of different
    clusters. It includes zero if the test by random signs and redrawn labels, `draws` of each, does
    not reject calibration at `alpha`; None means as many draws as the level requires.
    """
    residuals = residuals_in(rows, rule)
    statistic = pair_statistic(residuals, rows.p)
    pvalue = wild_pvalue(statistic, rows.clusters, draws or required_draws(alpha), seed)
    region = _region(_clustered_part(rows, residuals).ends(alpha), zero=pvalue > alpha)
    return ScoreSet(residuals.estimate, region, rows.n, bins_in_words(rule, residuals.first.size))


def _clustered_part(rows: ClusteredRows, residuals: BinnedResiduals) -> _Part:
    """The estimate and its variance for rows in clusters, from their residuals in bins.

    The variance for calibrated scores is the larger of two: that over random signs of the clusters,
    which allows for any dependence within them, and that over independent labels drawn from the
    scores.
    """
    null = max(sign_variance(residuals), label_variance(residuals, rows.p))
    noise, unevenness = _noise(rows, residuals)
    paired = np.diff(residuals.start) > 1
    return _Part(
        estimate=residuals.estimate,
        null=null,
        noise=noise,
        unevenness=unevenness,
        n=rows.n,
        paired=bool(paired.any()),
    )


def _region(ends: tuple[float, float], *, zero: bool) -> Region:
    """The set with these ends: with zero it begins there, without it a lower end of 0 is open."""
    low, high = ends
    if zero:
        return Region(0.0, high, low_closed=True, includes_zero=True)
    return Region(low, high, low_closed=low > 0, includes_zero=False)


def sign_variance(residuals: BinnedResiduals) -> float:
    r"""The variance of T over random signs of the clusters.

    :math:`2 \sum_{g \ne h} (\sum_b c_b S_{bg} S_{bh})^2`, c the coefficients of T. For calibrated
    scores its mean is the variance of T, whatever the dependence of rows within a cluster.
    """
    c = residuals.coefficient_of_entries
    sums = sparse.csr_array((np.sqrt(c) * residuals.s, residuals.unit, residuals.start))
    products = (sums @ sums.T).data
    diagonal = np.bincount(residuals.unit, c * residuals.s**2)
    return max(0.0, 2 * float(products @ products - diagonal @ diagonal))


def label_variance(residuals: BinnedResiduals, p: Floats) -> float:
    r"""The variance of T for independent labels drawn from the scores `p` of the rows.

    :math:`2 \sum_b c_b^2 (V_b^2 - \sum_g V_{bg}^2)`, V the sums of w² p(1 − p) over a bin, or over
    the rows of a cluster in it.
    """
    # A whole weight counts rows: Σw² over them is the weight itself.
    power = 1 if residuals.counts else 2
    v = p * (1 - p) * residuals.row_weight**power
    of_entries = np.bincount(residuals.entry, v, minlength=residuals.s.size).astype(np.float64)
    of_bins = np.add.reduceat(of_entries, residuals.first)
    squares = np.add.reduceat(of_entries * of_entries, residuals.first)
    pairs = of_bins * of_bins - squares
    return max(0.0, 2 * float((pairs * residuals.coefficient**2).sum()))


def _noise(rows: ClusteredRows, residuals: BinnedResiduals) -> tuple[float, float]:
    r"""R₁, the variance of cluster sums along the error, and R₂.

    R₁ is at least the variance of the rows of a cluster in a bin. With the mean :math:`m_i` of the
    bin of row i, and :math:`m_{-i}` that of its rows of other clusters, the larger of
    :math:`\sum_g (\sum_{i \in g} m_i (u_i - m_{-i}))^2 / \sum m_i^2` and
    :math:`\frac1n \sum_{g, b} (\sum_{i \in g, b} (u_i - m_{-i}))^2`. A cluster is left out of the
    mean of its bin because it pulls that mean towards itself. The mean of the others varies too,
    which inflates the variance of a row of weight w by the factor :math:`1 / (1 - w / W_b)`; this
    is divided out if every row is its own cluster. Weights are scaled to mean 1. R₂ is n times the
    relative variance of the mean squared error over rows.
    """
    w = residuals.row_weight * (rows.n / residuals.row_weight.sum())
    size = np.add.reduceat(residuals.n, residuals.first)[residuals.bin_of]
    bin_sum = np.add.reduceat(residuals.s, residuals.first)[residuals.bin_of]
    n = residuals.n[residuals.entry]
    s = residuals.s[residuals.entry]
    error = bin_sum / size
    outside = np.divide(bin_sum - s, size - n, out=np.zeros(n.size), where=size > n)
    rest = w * (residuals.u - outside)
    # Rows of one cluster may be correlated, and then the mean outside the cluster varies less than
    # their own sum.
    if residuals.unit.size == residuals.u.size:
        rest = rest * np.sqrt(1 - n / size)
    inside = ClusterUnits(residuals.entry).squared_sums(rest) / rows.n
    mean = float((w * error * error).sum()) / rows.n
    if mean == 0:
        return inside, 0.0
    along = rows.units.squared_sums(error * rest) / (rows.n * mean)
    unevenness = rows.units.squared_sums(w * (error**2 - mean)) / (rows.n * mean**2)
    return max(along, inside), unevenness
