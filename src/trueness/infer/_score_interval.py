"""The score interval for the squared error: all values that the estimate does not reject at their own spread."""

import math

import numpy as np
from scipy import sparse

from trueness._numerics.pairs import PairSums, null_moments
from trueness._tally.binned_scores import BinnedScores
from trueness.infer._analytic import Region, upper_quantile
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer._clustered_tests import pair_statistic, wild_pvalue
from trueness.infer._exact import rejects_calibration, required_draws
from trueness.infer._residuals import BinnedResiduals
from trueness.typing import Floats, Ints

# The smallest coefficient of θ²: below zero there would be no upper end.
_LEAST_LEADING = 0.2


def score_region(scores: BinnedScores, sums: PairSums, alpha: float, rng: np.random.Generator) -> Region:
    """The score interval; it includes zero if the exact test does not reject calibration."""
    variance, implied = null_moments(scores.z, scores.count, scores.first, sums.s)
    noise, z = sums.noise(implied), upper_quantile(alpha / 2)
    ends = score_ends(sums.statistic, variance, noise, sums.unevenness, sums.total, z)
    return _region(ends, zero=not rejects_calibration(scores, sums.statistic, alpha, rng))


def clustered_region(rows: ClusteredRows, residuals: BinnedResiduals, alpha: float, rng: np.random.Generator) -> Region:
    """The score interval for rows in clusters; it includes zero if random signs or labels do not reject calibration."""
    noise, unevenness = _noise(rows, residuals), _unevenness(rows, residuals)
    pvalue = wild_pvalue(pair_statistic(residuals, rows.p), rows.clusters, required_draws(alpha), rng)
    null = max(sign_variance(residuals), label_variance(residuals, rows.p))
    ends = score_ends(residuals.estimate, null, noise, unevenness, rows.n, upper_quantile(alpha / 2))
    return _region(ends, zero=pvalue > alpha)


def _region(ends: tuple[float, float], *, zero: bool) -> Region:
    low = 0.0 if zero else ends[0]
    return Region(low, ends[1], low > 0 or zero, zero)


def score_ends(
    statistic: float, null: float, noise: float, unevenness: float, n: float, z: float
) -> tuple[float, float]:
    r"""All :math:`\theta \ge 0` with :math:`(T - \theta)^2 \le z^2 (\tau^2 + 4 R_1 \theta / n + R_2 \theta^2 / n)`.

    `null` is τ², the variance of T for calibrated scores, `noise` R₁, the variance of the labels along the error, and
    `unevenness` R₂, the relative variance of the error over rows. The upper end uses max(T, 0).
    """
    leading = max(_LEAST_LEADING, 1 - z * z * unevenness / n)

    def root(t: float, side: int) -> float:
        half = t + 2 * z * z * noise / n
        return (half + side * math.sqrt(max(0.0, half * half - leading * (t * t - z * z * null)))) / leading

    low = root(statistic, -1) if statistic > 0 else 0.0
    return max(0.0, low), root(max(statistic, 0.0), 1)


def sign_variance(residuals: BinnedResiduals) -> float:
    r"""The variance of T over random signs of the clusters.

    .. math:: \tau^2 = 2 \sum_{g \ne h} \Big( \sum_b c_b S_{bg} S_{bh} \Big)^2
        = 2 \sum_{b, b'} c_b c_{b'} \Big( \sum_g S_{bg} S_{b'g} \Big)^2
        - 2 \sum_g \Big( \sum_b c_b S_{bg}^2 \Big)^2 ,

    c the coefficients of T. For calibrated scores its mean is the variance of T, whatever the dependence of rows within
    a cluster.
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
    v = p * (1 - p) * residuals.row_weight**2
    own = np.bincount(residuals.entry, v, minlength=residuals.s.size).astype(np.float64)
    every, squares = (np.add.reduceat(part, residuals.first) for part in (own, own * own))
    return max(0.0, 2 * float(((every * every - squares) * residuals.coefficient**2).sum()))


def _noise(rows: ClusteredRows, residuals: BinnedResiduals) -> float:
    r"""R₁: the variance of cluster sums along the error, and at least that of the rows of a cluster in a bin.

    With the mean :math:`m_i` of the bin of row i, and :math:`m_{-i}` that of its rows of other clusters, the larger of
    :math:`\sum_g (\sum_{i \in g} m_i (u_i - m_{-i}))^2 / \sum m_i^2` and
    :math:`\frac1n \sum_{g, b} (\sum_{i \in g, b} (u_i - m_{-i}))^2`. A cluster is left out of the mean of its bin
    because it pulls that mean towards itself. The mean of the others varies too, which inflates the variance of a row
    of weight w by the factor :math:`1 / (1 - w / W_b)`; this is divided out if every row is its own cluster. Weights
    are scaled to mean 1.
    """
    w = residuals.row_weight / residuals.row_weight.mean()
    size, excess = (np.add.reduceat(part, residuals.first)[residuals.bin_of] for part in (residuals.n, residuals.s))
    n, s = residuals.n[residuals.entry], residuals.s[residuals.entry]
    error = excess / size
    others = np.divide(excess - s, size - n, out=np.zeros(n.size), where=size > n)
    # Rows of one cluster may be correlated, and then the mean of the others varies less than their own sum.
    share = 1 - n / size if residuals.unit.size == residuals.u.size else np.ones(n.size)
    rest = w * (residuals.u - others) * np.sqrt(share)
    weight = float((w * error * error).sum())
    along = _squared_sums(rows.cluster, error * rest) / weight if weight > 0 else 0.0
    return max(along, _squared_sums(residuals.entry, rest) / rows.n)


def _unevenness(rows: ClusteredRows, residuals: BinnedResiduals) -> float:
    """R₂: n times the relative variance of the mean squared error over rows."""
    w = residuals.row_weight / residuals.row_weight.mean()
    size, excess = (np.add.reduceat(part, residuals.first) for part in (residuals.n, residuals.s))
    square = (excess / size)[residuals.bin_of] ** 2
    mean = float((w * square).mean())
    return _squared_sums(rows.cluster, w * (square - mean)) / (rows.n * mean**2) if mean > 0 else 0.0


def _squared_sums(group: Ints, values: Floats) -> float:
    """The sum of the squared sums of groups."""
    sums = np.bincount(group, values)
    return float((sums * sums).sum())
