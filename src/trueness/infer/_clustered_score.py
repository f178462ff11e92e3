"""The score interval for rows in clusters."""

import numpy as np
from scipy import sparse

from trueness.infer._analytic import upper_quantile
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer._exact import draws_for
from trueness.infer._influence import PairedResiduals
from trueness.infer._region import Region
from trueness.infer._score import score_ends
from trueness.infer._wild import wild_pvalue
from trueness.infer._wild_pairs import wild_pairs
from trueness.typing import Floats, Ints

__all__ = ["clustered_region", "label_variance", "sign_variance"]


def clustered_region(rows: ClusteredRows, residuals: PairedResiduals, alpha: float, rng: np.random.Generator) -> Region:
    """The values of θ that T does not refute at their own spread, and zero if random signs do not refute it."""
    noise, unevenness = _noise(rows, residuals), _unevenness(rows, residuals)
    statistic = residuals.estimate
    pvalue = wild_pvalue(wild_pairs(residuals, rows.p), rows.clusters, draws_for(alpha), rng)
    null = max(sign_variance(residuals), label_variance(residuals, rows.p))
    low, high = score_ends(statistic, null, noise, unevenness, rows.n, upper_quantile(alpha / 2))
    zero = pvalue > alpha
    low = 0.0 if zero else low
    return Region(low, high, low > 0 or zero, zero)


def sign_variance(residuals: PairedResiduals) -> float:
    r"""The variance of T over random signs of the clusters.

    .. math:: \tau^2 = 2 \sum_{g \ne h} \Big( \sum_b c_b S_{bg} S_{bh} \Big)^2
        = 2 \sum_{b, b'} c_b c_{b'} \Big( \sum_g S_{bg} S_{b'g} \Big)^2
        - 2 \sum_g \Big( \sum_b c_b S_{bg}^2 \Big)^2 ,

    c the coefficients of T. For calibrated scores its mean is the variance of T, however rows of a cluster depend on
    each other.
    """
    entries = np.diff(np.append(residuals.first, residuals.s.size))
    c = np.repeat(residuals.coefficient, entries)
    start = np.append(residuals.first, residuals.s.size)
    sums = sparse.csr_array((np.sqrt(c) * residuals.s, residuals.unit, start))
    products = (sums @ sums.T).data
    own = np.bincount(residuals.unit, c * residuals.s**2)
    return max(0.0, 2 * float(products @ products - own @ own))


def label_variance(residuals: PairedResiduals, p: Floats) -> float:
    r"""The variance of T for labels drawn from the scores, independent of each other.

    :math:`2 \sum_b c_b^2 (V_b^2 - \sum_g V_{bg}^2)`, V the sums of w² p(1 − p).
    """
    v = p * (1 - p) * _weights(residuals) ** 2
    own = np.bincount(residuals.entry, v, minlength=residuals.s.size).astype(np.float64)
    every, squares = (np.add.reduceat(part, residuals.first) for part in (own, own * own))
    return max(0.0, 2 * float(((every * every - squares) * residuals.coefficient**2).sum()))


def _noise(rows: ClusteredRows, residuals: PairedResiduals) -> float:
    r"""R₁: the variance of cluster sums along the error; at least that of the rows of a cluster in a bin.

    With the mean :math:`m_i` of the bin of row i, and :math:`m_{-i}` that of its rows of other clusters, the larger of
    :math:`\sum_g (\sum_{i \in g} m_i (u_i - m_{-i}))^2 / \sum m_i^2` and
    :math:`\frac1n \sum_{g, b} (\sum_{i \in g, b} (u_i - m_{-i}))^2`. A cluster draws the mean of its bin towards
    itself, and is left out of it. That the mean of the others is off by chance, too, adds to the spread of a row of
    weight w by the factor :math:`1 / (1 - w / W_b)`, which is taken out where every row is a cluster of its own. With
    weights of mean 1, sums are weighted.
    """
    w = _weights(residuals)
    w = w / w.mean()
    error = _bin_means(residuals)[residuals.bin_of]
    rest = w * (residuals.u - _means_of_others(residuals)) * np.sqrt(_share_of_others(residuals))
    weight = float((w * error * error).sum())
    along = _squared_sums(rows.cluster, error * rest) / weight if weight > 0 else 0.0
    return max(along, _squared_sums(residuals.entry, rest) / rows.n)


def _unevenness(rows: ClusteredRows, residuals: PairedResiduals) -> float:
    """R₂: n times the relative variance of the mean over rows of the squared error."""
    w = _weights(residuals)
    w = w / w.mean()
    square = _bin_means(residuals)[residuals.bin_of] ** 2
    mean = float((w * square).mean())
    return _squared_sums(rows.cluster, w * (square - mean)) / (rows.n * mean**2) if mean > 0 else 0.0


def _weights(residuals: PairedResiduals) -> Floats:
    return np.ones(residuals.u.size) if residuals.weight is None else residuals.weight


def _bin_means(residuals: PairedResiduals) -> Floats:
    size, excess = (np.add.reduceat(part, residuals.first) for part in (residuals.n, residuals.s))
    return np.asarray(excess / size)


def _means_of_others(residuals: PairedResiduals) -> Floats:
    """The mean residual of the rows of the bin that are of other clusters; 0 where there are none."""
    size, excess = (np.add.reduceat(part, residuals.first)[residuals.bin_of] for part in (residuals.n, residuals.s))
    n, s = residuals.n[residuals.entry], residuals.s[residuals.entry]
    return np.asarray(np.divide(excess - s, size - n, out=np.zeros(n.size), where=size > n))


def _share_of_others(residuals: PairedResiduals) -> Floats:
    """For each row, the share of its bin that is not its own; 1 where clusters have several rows.

    Rows of one cluster may go together, and then the mean of the others is off by less than their own sum.
    """
    if residuals.unit.size < residuals.u.size:
        return np.ones(residuals.u.size)
    size = np.add.reduceat(residuals.n, residuals.first)[residuals.bin_of]
    return np.asarray(1 - residuals.n[residuals.entry] / size)


def _squared_sums(group: Ints, values: Floats) -> float:
    """The squares of the sums of groups, added."""
    sums = np.bincount(group, values)
    return float((sums * sums).sum())
