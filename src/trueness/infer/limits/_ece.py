"""Confidence limits of the ECE in given bins (docs/methods/ece-limits.md) and of the l2 error."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtr, ndtr, ndtri, stdtrit

from trueness._level import Level
from trueness._numerics.averages import exponent
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.streams import stream
from trueness._numerics.students_t import t_over_normal
from trueness._numerics.units import covariance_of_sums
from trueness._tally.binned_scores import bin_numbers, checked_smoothness, default_rule
from trueness._tally.bins import Bins
from trueness._tally.buckets import Buckets
from trueness._tally.clusters import ClusteredRows
from trueness._tally.evidence import Evidence
from trueness._tally.rules import (
    BinRule,
    BinsLike,
    BlockIsotonic,
    Distinct,
    Edges,
    EqualMass,
    Isotonic,
    as_rule,
    blind_to_labels,
)
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Tally
from trueness.errors import InputError, quietly
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.interval._residuals import residuals_in
from trueness.infer.limits._limits import BIASED, SEVERAL, Asked, Limits, Options, biased
from trueness.measure._squared import default_width, squared_ece, top_k_squared_ece
from trueness.typing import Floats

# With fewer expected rows of either label the upper limit is exact (docs/methods/ece-limits.md).
_FEW_EVENTS = 10
# The summed residuals of a bin with a smaller variance are far from normal.
_LEAST_VARIANCE = 5
# A number within this share of a bound is at the bound: 100 scores of 0.1 expect ten events,
# although their sum in floats is less.
_ROUNDING = 1e-9
# Draws of the noise for the lower limit; fewer if draws times bins exceed `_DRAWN`.
_DRAWS = 4_000
_DRAWN = 4e7
# With more bins than this, not all 2^bins signs are tried.
_MOST_SIGNS = 12
# Bisections of [0, 1], which leave no digit of a float.
_STEPS = 60


def ece_limits_of(evidence: Evidence, *, bins: BinsLike = 10, level: float, seed: int) -> Limits:
    """The ECE in given bins, which must not depend on the labels.

    Each of its limits holds at the level.
    """
    gaps = bin_gaps(evidence, bins)
    alpha = Level(level).alpha
    return Limits(gaps.low(alpha, seed), gaps.high(alpha), value=gaps.ece)


def bin_gaps(evidence: Evidence, bins: BinsLike) -> "BinGaps | ClusteredGaps":
    """Everything about the limits of the expected calibration error in given bins but their level.

    `evidence` must have one score per row. The result has the error itself and the methods `low`
    and `high` for its limits. It is a :class:`ClusteredGaps` for rows that are in clusters or have
    importance weights, otherwise a :class:`BinGaps`. Bins that depend on the labels, and fewer than
    two rows, are refused with InputError.
    """
    rule = blind_to_labels(as_rule(bins))
    evidence.require_one("the limits of a matrix")
    of_importance = evidence.weight_type == "importance" and evidence.has_rows
    if evidence.dependent or (of_importance and evidence.importance):
        return ClusteredGaps(evidence.clustered, rule)
    binned = evidence.binned(rule, moments=not evidence.is_binned)
    (part,) = binned.parts
    n = int(binned.weight) if part.whole else binned.n
    if n < 2:
        raise InputError("y_true", "must have at least two rows to be judged", f"got {n}")
    return BinGaps.of_bins(part, n)


def too_good_in_bins(bins: Bins) -> float | None:
    """P-value for event rates that agree with the scores better than chance allows.

    It is small if they do. The statistic is Σ S²/V over bins, where S is the sum of the residuals y
    − p of a bin and V = Σ p(1 − p) its variance if the scores p are right. The p-value is the lower
    tail of the chi-squared distribution, with as many degrees of freedom as there are bins.

    Without the sums of p² a bin's rows are taken to have its mean score. Bins with V < 5 are left
    out; the result is None if there is no other, or if weights are not whole numbers.
    """
    if bins.moments:
        square = bins.sum_square
    else:
        square = bins.sum_score**2 / np.maximum(bins.weight, 1e-300)
    variance = bins.sum_score - square
    judged = variance >= _LEAST_VARIANCE
    if not bins.whole or not judged.any():
        return None
    return float(chdtr(judged.sum(), (bins.excess[judged] ** 2 / variance[judged]).sum()))


class BinGaps(NamedTuple):
    """Everything about the limits but their level, for independent rows: a number per filled bin.

    The arrays are of shape (bins,).
    """

    n: int
    """Rows."""
    rows: float
    """The rows of equal weight that the rows are worth."""
    share: Floats
    """The share of each bin in the weight of all rows."""
    score: Floats
    """Mean score."""
    rate: Floats
    """Event rate."""
    variance: Floats
    """Mean of p(1 − p)."""
    residual: Floats
    """Variance of the labels around their line on the scores."""

    @classmethod
    def of_bins(cls, bins: Bins, n: int) -> "BinGaps":
        """From the sums of the bins of `n` rows; empty bins are left out.

        Second moments are the sums of p² and of p y in each bin, with the score p and the label y
        of a row. Sums without them are taken for those of rows that all have the mean score of
        their bin.
        """
        filled = bins.weight > 0
        weight = bins.weight[filled].astype(np.float64)
        score = bins.score[filled]
        rate = bins.rate[filled]
        if bins.moments:
            square = bins.sum_square[filled] / weight
            product = bins.sum_event_score[filled] / weight
        else:
            square = score**2
            product = score * rate
        return cls.of_means(
            n=n,
            rows=float(weight.sum() ** 2 / bins.squares.sum()),
            share=weight / weight.sum(),
            score=score,
            rate=rate,
            square=square,
            product=product,
        )

    @classmethod
    def of_means(
        cls,
        *,
        n: int,
        rows: float,
        share: Floats,
        score: Floats,
        rate: Floats,
        square: Floats,
        product: Floats,
    ) -> "BinGaps":
        """From the means of p (`score`), y (`rate`), p² (`square`) and py (`product`) in each bin.

        p is the score and y the label of a row. `n` rows are worth `rows` rows of equal weight,
        (Σw)²/Σw², and each bin has a `share` of the weight.

        The field `variance` of the result is the mean of p(1 − p), the variance of labels if the
        scores are right. `residual` is the variance of the labels around their least-squares line
        on the scores of the bin, corrected for its two degrees of freedom; it is 0 in bins that are
        worth at most three rows.
        """
        score_variance = square - score**2
        covariance = product - score * rate
        explained = np.divide(
            covariance**2,
            score_variance,
            out=np.zeros(share.size),
            where=score_variance > 1e-12,
        )
        # Two degrees of freedom are lost to the line; where few rows are left, the scores alone
        # must do.
        freedom = np.where(rows * share > 3 * (1 + _ROUNDING), 1 - 2 / (rows * share), np.inf)
        residual = np.clip(rate * (1 - rate) - explained, 0, None) / freedom
        return cls(
            n=n,
            rows=rows,
            share=share,
            score=score,
            rate=rate,
            variance=np.clip(score - square, 0, None),
            residual=residual,
        )

    @property
    def ece(self) -> float:
        """The l1 error."""
        return float(self.share @ np.abs(self.rate - self.score))

    def high(self, alpha: float) -> float:
        """The upper limit, exceeded with probability `alpha`: at least the error, at most 1."""
        return min(max(self._upper(alpha), self.ece), 1.0)

    def _upper(self, alpha: float) -> float:
        """The upper limit of the expected calibration error, before it is brought into its range.

        It is exact if the scores expect fewer than 10 events, or fewer than 10 non-events.
        Otherwise it is the largest error under which an observed error as small as this one is
        still likely: see :func:`_largest_mean`, and docs/methods/ece-limits.md. The result may lie
        below the observed error or above 1. `alpha` is the probability that the truth exceeds it.
        """
        expected_rate = float(self.share @ self.score)
        expected_others = float(self.share @ (1 - self.score))
        rarer = self.rows * min(expected_rate, expected_others)
        if rarer < _FEW_EVENTS * (1 - _ROUNDING):
            return self._exact_upper(alpha)
        steepest = float(np.abs(1 - 2 * self.score).max())
        mean = float(self.share @ self.variance)
        floor = float(self.share @ self.residual)
        n = self.rows

        def deviation(theta: float) -> float:
            """The largest standard deviation of the sum of signed gaps if the error is `theta`."""
            return math.sqrt(max(mean + theta * steepest - theta * theta, floor) / n)

        # Bins with few events have a skewed gap, of which absolute values add less.
        size = self.share * n
        v = np.minimum(self.variance, self.rate * (1 - self.rate))
        enough = size * v >= _LEAST_VARIANCE * (1 - _ROUNDING)
        bin_noise = np.where(enough, np.sqrt(v / size), 0)
        noise = float(self.share @ bin_noise)
        return _largest_mean(self.ece, noise, deviation, -float(ndtri(alpha)))

    def _exact_upper(self, alpha: float) -> float:
        """The largest upper limit, over all signs s of the bins, for the mean of s·(y − p).

        y is the label and p the score of a row. The error is the largest of these means over all
        signs. For given signs the limit is the exact binomial (Clopper-Pearson) limit for the share
        of rows with y = 1 where s is plus and y = 0 where s is minus, less the share that the
        scores expect.

        With more than 12 bins the signs are too many. The result is then the observed error plus
        the largest distance, over all numbers of events, of such a limit from the observed share.
        `alpha` is the error probability of one limit.
        """
        n = self.rows
        hits = self.rows * self.share * self.rate
        expected_hits = self.share * self.score
        if hits.size > _MOST_SIGNS:
            count = np.linspace(0, n, 2001)
            _, high = clopper_pearson(count, n, 1 - 2 * alpha)
            return self.ece + float((high - count / n).max())
        plus = np.array(list(product((True, False), repeat=hits.size)))
        count = plus @ hits + ~plus @ (n * self.share - hits)
        expected = plus @ expected_hits + ~plus @ (self.share - expected_hits)
        _, high = clopper_pearson(count, n, 1 - 2 * alpha)
        return float((high - expected).max())

    def low(self, alpha: float, seed: int) -> float:
        """The lower limit of the error, at least 0; the truth is below it with probability `alpha`.

        The sum of absolute gaps |rate − score| is too large because of noise, so the limit
        subtracts an upper quantile of what noise alone adds up to (:func:`_lower_limit`). The noise
        is drawn with `seed`: binomial counts of events at the rate or the mean score of each bin,
        whichever varies more, less their mean. There are 4,000 draws, fewer if there are more than
        10,000 bins.
        """
        observed_varies_more = self.rate * (1 - self.rate) > self.score * (1 - self.score)
        rate = np.where(observed_varies_more, self.rate, self.score)
        size = np.rint(self.rows * self.share).astype(np.int64)
        draws = max(199, min(_DRAWS, int(_DRAWN / size.size)))
        events = stream(seed, "resample").binomial(size, rate, (draws, size.size))
        noise = events - size * rate
        deviation = math.sqrt(float(size @ (rate * (1 - rate)))) / self.rows
        gap = self.share * (self.rate - self.score)
        return max(_lower_limit(gap, noise / self.rows, deviation, alpha), 0.0)


class ClusteredGaps:
    """Everything about the limits but their level, for rows in clusters or with sampling weights.

    Limits are at least as wide as for independent rows.
    """

    def __init__(self, rows: ClusteredRows, rule: BinRule) -> None:
        """From the rows in clusters, in the bins of a rule.

        It keeps the gap of each bin, the covariance of the gaps over clusters, the largest standard
        deviation of their signed sums, and the same rows as independent ones.
        """
        bin_of = bin_numbers(rows.top, rule, rows.cells)
        weight = rows.w
        total = weight.sum()
        n_bins = int(bin_of.max()) + 1
        clusters = rows.clusters
        cell = bin_of * clusters + rows.cluster
        sums = np.bincount(cell, weight * rows.u, n_bins * clusters).reshape(n_bins, clusters)
        gap = np.bincount(bin_of, weight * rows.u, n_bins) / total
        influence = (sums - np.outer(gap, np.bincount(rows.cluster, weight, clusters))) / total
        covariance = covariance_of_sums(influence)
        errors = np.sqrt(np.diag(covariance))
        # The signed sum of gaps varies most with signs of the covariances, or along the first
        # eigenvector of the correlations; bins without an error have no correlation.
        scale = np.where(errors > 0, errors, 1)
        eigenvalue = float(np.linalg.eigvalsh(covariance / np.outer(scale, scale))[-1])
        largest_variance = min(float(np.abs(covariance).sum()), eigenvalue * float(errors @ errors))
        share = np.bincount(bin_of, weight, n_bins) / total

        def means(values: Floats) -> Floats:
            return np.asarray(np.bincount(bin_of, weight * values, n_bins) / total / share)

        score = means(rows.p)
        self.n = rows.n
        self._gap = gap
        self._errors = errors
        self._covariance = covariance
        self._deviation = math.sqrt(largest_variance)
        self._freedom = max(rows.units.effective(rows.weight) - 1, 1)
        self._alone = BinGaps.of_means(
            n=rows.n,
            rows=float(total**2 / rows.squares.sum()),
            share=share,
            score=score,
            rate=np.clip(score + gap / share, 0, 1),
            square=means(rows.p**2),
            product=means(rows.p * rows.y),
        )
        self.ece = self._alone.ece

    def low(self, alpha: float, seed: int) -> float:
        """The lower limit of the error, at least 0; the truth is below it with probability `alpha`.

        It subtracts what noise alone adds to the sum of absolute gaps (:func:`_lower_limit`). The
        noise is normal, has the covariance of the gaps over clusters, and is widened by the ratio
        of Student's t to the normal quantile. It is drawn with `seed`. The limit of the same rows
        without clusters replaces a larger one.
        """
        # Errors of 0 would leave the matrix singular.
        root = np.linalg.cholesky(self._covariance + 1e-12 * np.diag(self._errors**2 + 1e-300))
        normal = stream(seed, "resample").standard_normal((_DRAWS, self._gap.size))
        noise = normal @ root.T * t_over_normal(alpha, self._freedom)
        clustered = _lower_limit(self._gap, noise, self._deviation, alpha)
        return max(min(clustered, self._alone.low(alpha, seed)), 0)

    def high(self, alpha: float) -> float:
        """The upper limit of the error, exceeded with probability `alpha`: at most 1.

        It is the largest error under which one as small as observed is still likely, with the
        standard deviation over clusters and a quantile of Student's t (:func:`_largest_mean`). The
        limit of the same rows without clusters replaces a smaller one.
        """
        noise = float(self._errors.sum())
        quantile = -float(stdtrit(self._freedom, alpha))
        clustered = _largest_mean(self.ece, noise, lambda _: self._deviation, quantile)
        return min(max(clustered, self._alone.high(alpha)), 1)


def _largest_mean(
    value: float, noise: float, deviation: Callable[[float], float], quantile: float
) -> float:
    """The largest error θ in [0, 1] under which an error as small as `value` is still likely.

    `value` is the observed sum of absolute gaps of bins. If the true error is θ, that sum has at
    least the mean of |θ + noise·Z|, where Z is standard normal and `noise` the sum of the standard
    deviations of the gaps. Its own standard deviation is at most `deviation(θ)`. The value is
    likely if the mean is at most `quantile` such deviations above it.

    A value below the mean for θ = 0 counts as that mean. θ is found by bisection.
    """

    def mean(theta: float) -> float:
        if noise == 0:
            return theta
        t = theta / noise
        folded = math.sqrt(2 / math.pi) * math.exp(-t * t / 2) + t * (1 - 2 * float(ndtr(-t)))
        return noise * folded

    value = max(value, mean(0.0))
    low = 0.0
    high = 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if mean(middle) <= value + quantile * deviation(middle):
            low = middle
        else:
            high = middle
    return high


def _lower_limit(gap: Floats, noise: Floats, deviation: float, alpha: float) -> float:
    """The larger of two lower limits for the sum of the absolute true gaps of bins.

    `gap` holds the observed gaps, of shape (bins,), and `noise` draws of their errors, of shape
    (draws, bins), whose signed sums have at most the standard deviation `deviation`. One limit
    comes from the sum of absolute gaps, the other from the largest sum over signs that change at
    most once; from each, the upper quantile of the same sum of the noise is subtracted.
    """
    absolute = float(np.abs(gap).sum())
    by_sums = absolute - _quantile(np.abs(noise).sum(axis=1), deviation, alpha / 2)
    one_change = float(_one_change(gap[np.newaxis])[0])
    by_one_change = one_change - _quantile(_one_change(noise), deviation, alpha / 2)
    return max(by_sums, by_one_change)


def _one_change(gap: Floats) -> Floats:
    """The largest absolute sum of the gaps of each row over signs that change at most once."""
    sums = np.cumsum(gap, axis=1)
    return np.asarray(np.abs(sums[:, -1:] - 2 * sums).max(axis=1))


def _quantile(drawn: Floats, deviation: float, alpha: float) -> float:
    """The quantile of draws that is exceeded with probability `alpha`.

    If fewer than 20 draws lie beyond it, draws cannot show it. It is then the mean of the draws
    plus `deviation` times the normal quantile, a bound for a function of normal variables whose
    changes are limited by `deviation`.
    """
    if alpha * drawn.size < 20:
        return float(drawn.mean()) - float(ndtri(alpha)) * deviation
    return float(np.quantile(drawn, 1 - alpha, method="higher"))


class Gaps(NamedTuple):
    """A power mean over bins of a power of |event rate − mean score|."""

    rule: BinRule
    norm: float
    power: int

    @property
    def blind(self) -> bool:
        """Whether the bins do not depend on the labels."""
        return not isinstance(self.rule, Isotonic | BlockIsotonic)


def gaps_of(function: str, options: Options) -> Gaps | None:
    """The bins, norm and power of a measure of gaps, from its name and options.

    Without options the bins are ten of equal width and the norm is the mean. None for a loss that
    is neither the absolute nor the squared gap.
    """
    bins = options.get("bins", 10)
    norm = exponent(options.get("norm", "l1"))
    if function == "ace":
        return Gaps(bins if isinstance(bins, BinRule) else EqualMass(bins), norm, 1)
    if function == "mce":
        return Gaps(as_rule(bins), math.inf, 1)
    loss = options.get("loss", "absolute")
    if loss not in ("absolute", "squared"):
        return None
    return Gaps(as_rule(bins), norm, 1 if loss == "absolute" else 2)


def gap_limits(function: str, question: Asked) -> Limits:
    """Limits of a measure of gaps between event rate and mean score of bins.

    `function` is the name of the measure; its bins and norm are among the options of the question.
    The mean absolute gap has two one-sided limits, each at the tail of the question's level. The
    root of the mean squared gap, and the mean squared gap, have those of `ece_interval`.

    Other norms and losses, and bins that depend on the labels, have a note instead of limits; so
    has the mean absolute gap of several classes. The value of the measure is not in the result.
    """
    gaps = gaps_of(function, question.options)
    if gaps is None or not gaps.blind or (gaps.norm, gaps.power) not in ((1, 1), (2, 1), (1, 2)):
        return biased(question)
    if gaps.norm * gaps.power == 2:
        limits = _l2_limits(question, gaps.rule, squared=gaps.power == 2)
        return limits._replace(value=math.nan, known=False)
    if question.evidence.one is None:
        return Limits(note=SEVERAL)
    observed = quietly(bin_gaps, question.evidence, gaps.rule)
    low = observed.low(question.tail, question.seed)
    high = observed.high(question.tail)
    return Limits(low, high, "signed sums of gaps, and redrawn labels")


def largest_gap(question: Asked) -> Limits:
    """A note instead of limits: to which rows the largest gap belongs.

    The gap of a bin is |event rate − mean score|, and `bins`, by default 10, is an option of the
    question. The result is a :class:`Limits` without limits. Its `where` says how many rows the bin
    with the largest gap has and from which score to which it reaches; its note adds why there are
    no limits. If the value is a mean over classes, there is one such bin in every class, and the
    note gives only the reason.
    """
    data = question.evidence
    bins = question.options.get("bins", 10)
    if data.one is None:
        return biased(question)
    (part,) = quietly(data.binned, bins, moments=False).parts
    worst = int(np.argmax(np.where(part.weight > 0, np.abs(part.gap), -1)))
    low, high = part.edges[worst : worst + 2]
    if part.whole:
        size = part.weight
        total = part.totals.weight
    else:
        size = part.count
        total = part.totals.rows
    where = f"{int(size[worst]):,} of {int(total):,} rows, in the bin from {low:.4g} to {high:.4g}"
    return Limits(note=f"The largest gap is that of {where}. {BIASED}", where=where)


def squared_error_of(
    evidence: Evidence,
    *,
    k: int | None = None,
    bins: BinsLike | None = None,
    smoothness: float | None = None,
) -> float:
    """The debiased squared error, which :func:`trueness.ece_interval` estimates.

    From rows or sums that have been read: of the largest `k` scores of each row, of rows in
    clusters, or of sums. `bins` and `smoothness` set the bins; only one of them may be given.
    """
    if k not in (None, 1):
        if not evidence.has_one_score:
            got = f"got {evidence.view!r}"
            raise InputError("kind", "must be 'confidence' here, or be left out", got)
        return top_k_squared_ece(evidence.matrix, k, bins, smoothness)
    rows = evidence.in_clusters
    if rows is None:
        return squared_ece(evidence.sums, bins=bins, smoothness=smoothness)
    if smoothness is not None:
        bins = default_width(rows.n, checked_smoothness(smoothness, bins))
    rule = default_rule(rows.cells, rows.n) if bins is None else blind_to_labels(as_rule(bins))
    return residuals_in(rows, rule, check=False).estimate


def squared_limits(question: Asked, *, squared: bool) -> Limits:
    """Limits of the l2 error, with its value, or with `squared` of its square, without the value.

    The options of the measure are the number of largest scores `k` and either `bins` or
    `smoothness`.
    """
    k = question.options.get("k")
    bins = question.options.get("bins")
    smoothness = question.options.get("smoothness")
    if smoothness is not None and k in (None, 1):
        bins = default_width(question.evidence.weight, checked_smoothness(smoothness, bins))
        smoothness = None
    limits = _l2_limits(question, bins, squared=squared, k=k, smoothness=smoothness)
    # The typical error is the estimate of its confidence set; its square has a function of its own.
    if squared:
        return limits._replace(value=math.nan, known=False)
    return limits


def _l2_limits(
    question: Asked,
    bins: BinsLike | None,
    *,
    squared: bool,
    k: int | None = None,
    smoothness: float | None = None,
) -> Limits:
    """Limits of the l2 error, or with `squared` of its square, from the set of `ece_interval`.

    They are the ends of the set or, if it is an interval and zero, of the interval from zero on. A
    mean over classes, and sums whose weights are fractions, have a note instead.
    """
    data = question.evidence
    if k in (None, 1) and data.one is None:
        return Limits(note=SEVERAL)
    if not data.has_rows and not data.whole:
        note = (
            "No interval from sums with weights that are not whole numbers. Pass labels and scores."
        )
        return Limits(note=note)
    if isinstance(data.one, Bins):
        part = data.one if bins is None else data.one.coarsen(as_rule(bins))
        assert data.given is not None
        bins = Distinct()
        buckets: Buckets[Any] | None = data.given.buckets
        if buckets is not None:
            bins = Edges(part.edges)
            buckets = buckets.map(lambda bucket: bucket.at_means())
        data = Sums.read(Tally("binary", (part.at_means(),), None, buckets))
    interval = quietly(
        interval_of,
        data,
        k=k,
        bins=bins,
        smoothness=smoothness,
        level=question.level,
        squared=squared,
        seed=question.seed,
    )
    low, high = interval.hull
    return Limits(
        low=low,
        high=high,
        method=f"test inversion (score), {interval.bins}",
        note=interval.note,
        value=interval.estimate,
        known=True,
        low_open=not interval.includes_zero and low == 0,
    )
