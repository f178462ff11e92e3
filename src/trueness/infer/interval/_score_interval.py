"""The score interval for the squared error, derived in docs/methods/score-interval.md, whose letters it uses."""

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import chdtri, chndtr, ndtr, stdtrit

from trueness._numerics.clustered import effective_number, squared_sums
from trueness._numerics.pairs import PairSums, null_moments, score_pair_sums
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.roots import bracketed_root
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
# The power of n: cells of equal mass of the upper end.
_FINE = 0.65
_FREEDOM = 30
# The upper end is not below that of labels which agree with calibrated scores better in this share
# of data sets.
_LUCKY = 0.05
_NO_GAP = 1e-9
# Rows per distinct score from which on squared gaps are nearly those of normal numbers.
_TRUSTED = 5
# Below this number of rows with the rarer label, the spread of residuals says nothing about the
# error.
_FEW_EVENTS = 3


class ScoreSet(NamedTuple):
    """A confidence set for the squared error, with its estimate, in coarse and perhaps in fine cells."""

    estimate: float
    region: Region
    n: int
    bins: str
    finer: float | None = None
    note: str = ""


class _Part(NamedTuple):
    """The estimate T in one partition, and its variance."""

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
    """If every cell is one score."""

    def ends(self, alpha: float) -> tuple[float, float]:
        r"""All :math:`\theta \ge 0` with :math:`(T - \theta)^2 \le z^2 (\tau^2 + 4 R_1 \theta / n + R_2 \theta^2 / n)`.

        The upper end uses max(T, 0), and the distribution of squares if every cell is one score.
        With a normal quantile in place of Student's, sets of large errors covered about 0.89 in
        place of 0.90.
        """
        z = float(stdtrit(_FREEDOM, 1 - alpha / 2))
        z2 = z * z
        leading = max(_LEAST_LEADING, 1 - z2 * self.unevenness / self.n)

        def root(t: float, side: int) -> float:
            half = t + 2 * z2 * self.noise / self.n
            return (
                half + side * math.sqrt(max(0.0, half * half - leading * (t * t - z2 * self.null)))
            ) / leading

        low = root(self.estimate, -1) if self.estimate > 0 else 0.0
        high = root(max(self.estimate, 0.0), 1)
        if self.gaps is not None and self.null > 0:
            high = self._end_of_squares(self.gaps, high, float(ndtr(-z)))
        return max(0.0, low), high

    def _end_of_squares(self, gaps: "_Gaps", most: float, alpha: float) -> float:
        """The upper end, at most `most`, if T plus its bias is a sum of few squared gaps: nearly a noncentral χ²."""
        bias = gaps.bias
        null_scale = self.null / (2 * bias)
        observed = max(
            self.estimate + bias, null_scale * float(chdtri(bias / null_scale, 1 - _LUCKY))
        )

        def excess(theta: float) -> float:
            noise = max(self.noise, gaps.noise(theta))
            variance = self.null + (4 * noise * theta + self.unevenness * theta * theta) / self.n
            scale = variance / (2 * bias + 4 * theta)
            return float(chndtr(observed / scale, bias / scale, theta / scale)) - alpha

        if excess(0.0) <= 0:
            return 0.0
        if excess(most) < 0:
            return bracketed_root(excess, 0.0, most)
        return most


class _Gaps(NamedTuple):
    """Differences of rate and score, each of one score."""

    score: Floats
    gap: Floats
    root: float
    """The root of their mean square."""
    share: Floats
    """The share of each in the error: in what their squares exceed the noise, if they do."""
    bias: float
    """The mean of their squares for calibrated scores."""

    @classmethod
    def of(cls, score: Floats, count: Ints, hits: Ints) -> "_Gaps | None":
        """None if no score has two rows that can differ."""
        gap = hits / count - score
        variance = score * (1 - score)
        # A rate that equals its score may be wrong in either direction: the one of the larger
        # variance.
        gap = np.where(np.abs(gap) > _NO_GAP, gap, _NO_GAP * np.sign(0.5 - score))
        square = count * gap**2
        beyond = np.maximum(square - variance, 0.0)
        beyond = beyond if beyond.any() else np.maximum(square, sys.float_info.min)
        n = float(count.sum())
        several = count > 1
        bias = float((variance * count / np.maximum(count - 1, 1))[several].sum()) / n
        root = max(math.sqrt(float(square.sum()) / n), sys.float_info.min)
        if bias > 0:
            return cls(score, gap, root, beyond / beyond.sum(), bias)
        return None

    def noise(self, theta: float) -> float:
        """R₁ if the gaps were as large as an error of `theta` makes them: rates move away from 0 and 1, or to them."""
        rate = np.clip(self.score + self.gap * (math.sqrt(theta) / self.root), 0, 1)
        return float(self.share @ (rate * (1 - rate)))


def partitions(cells: Cells, n: float) -> tuple[BinRule, BinRule, BinRule]:
    """The default cells of estimate and lower end, of the upper end and, of equal mass, of exact limits."""
    coarse = default_rule(cells, n)
    exact = EqualMass(coarse.mass) if isinstance(coarse, MassAndWidth) else coarse
    return coarse, default_rule(cells, n, _FINE), exact


def default_score_set(cells: Cells, alpha: float, seed: int, draws: int | None = None) -> ScoreSet:
    """The score set in the default cells."""
    parts = DefaultParts.of_cells(cells)
    zero = (
        not parts.rejected
        and omnibus_test(cells, draws or draws or required_draws(alpha), seed).pvalue > alpha
    )
    return parts.at(alpha, zero=zero)


class DefaultParts(NamedTuple):
    """Everything about the set in the default cells but its level, and whether it contains zero."""

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
        """For independent rows."""
        n = int(cells.totals.weight)
        few, many, exact = partitions(cells, n)
        (coarse, scores), (fine, _) = _independent_part(cells, few), _independent_part(cells, many)
        rejected = out_of_reach(scores, coarse.estimate)
        first = bin_starts(cells, exact)
        shared = not isinstance(many, Distinct)
        return cls(cells, coarse, fine, first, scores.bins, n, rejected, shared=shared)

    @classmethod
    def of_clusters(cls, rows: ClusteredRows) -> "tuple[DefaultParts, BinnedResiduals]":
        """For rows in clusters or with importance weights; and the residuals in coarse cells."""
        cells = rows.cells
        few, many, exact = partitions(cells, rows.n)
        coarse = residuals_in(rows, few)
        fine = residuals_in(rows, many, check=False)
        bins = bins_in_words(few, coarse.first.size)
        parts = _clustered_part(rows, coarse), _clustered_part(rows, fine)
        effective = effective_number(rows.cluster, rows.weight)
        mean = float(rows.w.mean()) if rows.importance else 1.0
        first = bin_starts(cells, exact)
        shared = not isinstance(many, Distinct)
        found = cls(
            cells, *parts, first, bins, rows.n, effective=effective, row_weight=mean, shared=shared
        )
        return found, coarse

    def shown_by_ties(self, alpha: float) -> float:
        """A lower limit for the squared error, from rows that share their score with others: any error may have it."""
        tied = self.cells.weight > 1
        cells = Cells(**{name: column[tied] for name, column in self.cells.columns().items()})
        if cells.size:
            return _independent_part(cells, Distinct())[0].ends(2 * alpha)[0]
        return 0.0

    def at(self, alpha: float, *, zero: bool = False) -> ScoreSet:
        """The set at level 1 − alpha, with or without zero."""
        cells = self.cells
        coarse = self.coarse
        fine = self.fine if self.fine.paired else coarse
        weight = cells.weight
        events = cells.events
        if self.row_weight != 1:
            weight = weight / self.row_weight
            events = events / self.row_weight
        ends = coarse.ends(alpha)[0], fine.ends(alpha)[1]
        rows = cells.score, weight, events, self.first, self.effective
        ends, note = _with_exact(ends, coarse.estimate, alpha, *rows)
        return ScoreSet(
            coarse.estimate, _region(ends, zero=zero), self.n, self.bins, fine.estimate, note
        )


def upper_limit(parts: DefaultParts) -> Callable[[float], float]:
    """The one-sided upper limit for the squared error, by its error rate: the end of a set of twice that rate."""
    fine = parts.fine if parts.fine.paired else parts.coarse
    if parts.at(0.1).note:  # the limits are exact
        return lambda alpha: parts.at(2 * alpha).region.high
    return lambda alpha: max(fine.ends(2 * alpha)[1], parts.coarse.estimate)


def _independent_part(cells: Cells, rule: BinRule) -> tuple[_Part, BinnedScores]:
    scores = of_cells(cells, rule, None)
    part = _part(*score_pair_sums(cells.score, scores.count, scores.hits[:, 0], scores.first))
    if scores.first.size == cells.size and _TRUSTED * cells.size <= part.n:
        part = part._replace(gaps=_Gaps.of(cells.score, scores.count, scores.hits[:, 0]))
    return part, scores


def _part(sums: PairSums, variance: float, implied: Floats) -> _Part:
    paired = bool((sums.n >= 2).any())
    return _Part(sums.statistic, variance, sums.noise(implied), sums.unevenness, sums.total, paired)


def default_clustered_set(
    rows: ClusteredRows, alpha: float, seed: int, draws: int | None = None
) -> ScoreSet:
    """The score set in the default cells for rows in clusters or with importance weights."""
    parts, coarse = DefaultParts.of_clusters(rows)
    if not rows.importance:
        pvalue = clustered_omnibus_test(rows, draws or required_draws(alpha), seed).pvalue
    else:
        pvalue = wild_pvalue(
            pair_statistic(coarse, rows.p), rows.clusters, draws or required_draws(alpha), seed
        )
    return parts.at(alpha, zero=pvalue > alpha)


def _with_exact(
    ends: tuple[float, float],
    estimate: float,
    alpha: float,
    p: Floats,
    weight: Numbers,
    hits: Numbers,
    first: Ints,
    effective: float | None = None,
) -> tuple[tuple[float, float], str]:
    """The ends, which contain the estimate, and a note; exact if few rows have the rarer label.

    Step 5 of docs/methods/score-interval.md. Scores `p` have `weight` rows each, `hits` of them
    events; `first` is the first score of each bin, and `effective` the effective number of
    independent rows.
    """
    n = float(weight.sum())
    events = float(hits.sum())
    w = weight.astype(np.float64)
    note = ""
    size = np.add.reduceat(w, first)
    of_bin = np.add.reduceat(hits.astype(np.float64), first)
    above = 2 * np.add.reduceat(w * p, first) > size
    surprises = float(np.where(above, size - of_bin, of_bin).sum())
    rarer = min(events, n - events)
    folded = surprises < rarer
    rarer = min(surprises, rarer)
    if rarer < _FEW_EVENTS:
        flipped = np.repeat(above, np.diff(np.append(first, p.size))) if folded else 2 * events > n
        p = np.where(flipped, 1 - p, p)
        trials = n if effective is None else min(effective, n)
        low, high = (float(end) for end in clopper_pearson(rarer * trials / n, trials, 1 - alpha))
        reach = np.minimum(1, n * high / size) - 2 * np.add.reduceat(w * p, first) / size
        most = float(w @ (p * p)) / n + high * max(0.0, float(reach.max()))
        mean = float(w @ p) / n
        rows = f"{rarer:,.6g} of {n:,.12g}"
        ends = max(0.0, low - mean, mean - high) ** 2, most if rarer == 0 else max(ends[1], most)
        why = f"{rows} labels are the less probable one" if folded else f"one class has {rows} rows"
        note = f"Exact binomial limits: {why}."
    # The estimate in coarse cells may exceed the upper end in fine ones by chance.
    return (min(ends[0], max(estimate, 0.0)), max(ends[1], estimate)), note


def given_score_set(scores: BinnedScores, sums: PairSums, alpha: float, seed: int) -> ScoreSet:
    """The score set in given bins.

    It includes zero if the exact test does not reject calibration.
    """
    variance, implied = null_moments(scores.z, scores.count, scores.first, sums.s)
    ends = _part(sums, variance, implied).ends(alpha)
    note = ""
    if scores.k == 1:
        rows = scores.z[:, 0], scores.count, scores.hits[:, 0], scores.first
        ends, note = _with_exact(ends, sums.statistic, alpha, *rows)
    zero = not rejects_calibration(scores, sums.statistic, alpha, seed)
    return ScoreSet(
        sums.statistic, _region(ends, zero=zero), int(sums.total), scores.bins, note=note
    )


def given_clustered_set(
    rows: ClusteredRows, rule: BinRule, alpha: float, seed: int, draws: int | None = None
) -> ScoreSet:
    """The score set in given bins for rows in clusters.

    Zero is decided by random signs and by redrawn labels.
    """
    residuals = residuals_in(rows, rule)
    pvalue = wild_pvalue(
        pair_statistic(residuals, rows.p), rows.clusters, draws or required_draws(alpha), seed
    )
    region = _region(_clustered_part(rows, residuals).ends(alpha), zero=pvalue > alpha)
    return ScoreSet(residuals.estimate, region, rows.n, bins_in_words(rule, residuals.first.size))


def _clustered_part(rows: ClusteredRows, residuals: BinnedResiduals) -> _Part:
    null = max(sign_variance(residuals), label_variance(residuals, rows.p))
    paired = np.diff(residuals.start) > 1
    return _Part(residuals.estimate, null, *_noise(rows, residuals), rows.n, bool(paired.any()))


def _region(ends: tuple[float, float], *, zero: bool) -> Region:
    low = 0.0 if zero else ends[0]
    return Region(low, ends[1], low > 0 or zero, zero)


def sign_variance(residuals: BinnedResiduals) -> float:
    r"""The variance of T over random signs of the clusters.

    :math:`2 \sum_{g \ne h} (\sum_b c_b S_{bg} S_{bh})^2`, c the coefficients of T. For calibrated scores its mean is
    the variance of T, whatever the dependence of rows within a cluster.
    """
    c = residuals.coefficient_of_entries
    sums = sparse.csr_array((np.sqrt(c) * residuals.s, residuals.unit, residuals.start))
    products = (sums @ sums.T).data
    own = np.bincount(residuals.unit, c * residuals.s**2)
    return max(0.0, 2 * float(products @ products - own @ own))


def label_variance(residuals: BinnedResiduals, p: Floats) -> float:
    r"""The variance of T for independent labels drawn from the scores.

    :math:`2 \sum_b c_b^2 (V_b^2 - \sum_g V_{bg}^2)`, V the sums of w² p(1 − p).
    """
    v = p * (1 - p) * residuals.row_weight ** (1 if residuals.counts else 2)
    own = np.bincount(residuals.entry, v, minlength=residuals.s.size).astype(np.float64)
    every, squares = (np.add.reduceat(part, residuals.first) for part in (own, own * own))
    return max(0.0, 2 * float(((every * every - squares) * residuals.coefficient**2).sum()))


def _noise(rows: ClusteredRows, residuals: BinnedResiduals) -> tuple[float, float]:
    r"""R₁, the variance of cluster sums along the error, at least that of the rows of a cluster in a bin; and R₂.

    With the mean :math:`m_i` of the bin of row i, and :math:`m_{-i}` that of its rows of other
    clusters, the larger of :math:`\sum_g (\sum_{i \in g} m_i (u_i - m_{-i}))^2 / \sum m_i^2` and
    :math:`\frac1n \sum_{g, b} (\sum_{i \in g, b} (u_i - m_{-i}))^2`. A cluster is left out of the mean of its bin
    because it pulls that mean towards itself. The mean of the others varies too, which inflates the
    variance of a row of weight w by the factor :math:`1 / (1 - w / W_b)`; this is divided out if
    every row is its own cluster. Weights are scaled to mean 1. R₂ is n times the relative variance
    of the mean squared error over rows.
    """
    w = residuals.row_weight * (rows.n / residuals.row_weight.sum())
    size, excess = (
        np.add.reduceat(part, residuals.first)[residuals.bin_of]
        for part in (residuals.n, residuals.s)
    )
    n = residuals.n[residuals.entry]
    s = residuals.s[residuals.entry]
    error = excess / size
    others = np.divide(excess - s, size - n, out=np.zeros(n.size), where=size > n)
    # Rows of one cluster may be correlated, and then the mean of the others varies less than their
    # own sum.
    share = 1 - n / size if residuals.unit.size == residuals.u.size else np.ones(n.size)
    rest = w * (residuals.u - others) * np.sqrt(share)
    least = squared_sums(rest, residuals.entry) / rows.n
    mean = float((w * error * error).sum()) / rows.n
    if mean == 0:
        return least, 0.0
    along = squared_sums(error * rest, rows.cluster) / (rows.n * mean)
    return max(along, least), squared_sums(w * (error**2 - mean), rows.cluster) / (rows.n * mean**2)
