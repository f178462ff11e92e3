"""The published confidence set for the squared error (Sun, Chaudhari, Barnett, Dobriban 2025), to the letter."""

import math

import numpy as np
from scipy import special

from trueness._numerics.pairs import PairSums, Support, log_null_variance
from trueness._tally.bins import Bins
from trueness.errors import InputError
from trueness.infer._region import Region

__all__ = ["analytic_region", "sums_of_bins", "upper_quantile", "zero_threshold"]


def upper_quantile(alpha: float) -> float:
    """The value that a standard normal number exceeds with probability `alpha`."""
    return float(-special.ndtri(alpha))


def zero_threshold(
    n: float, alpha: float, cells: int, classes: int | None, k: int = 1, support: Support = "published"
) -> float:
    r"""What T must reach to refute calibration, :math:`z_\alpha \sigma_0 / (n \sqrt w)`.

    `cells` is what an int `bins` says: per axis for cubes, of [0, 1] for P(positive), the m of the simplices.
    """
    if classes is not None and k == classes:
        log_volume = -math.lgamma(k) - (k - 1) * math.log(cells)
    else:
        log_volume = -k * math.log(cells)
    log_spread = (log_null_variance(classes, k, support) - log_volume) / 2 - math.log(n)
    return upper_quantile(alpha) * math.exp(min(log_spread, 700.0))


def analytic_region(statistic: float, variance: float, n: float, threshold: float, alpha: float) -> Region:
    """Algorithm 1, with every branch of its interval (8).

    Parameters
    ----------
    statistic : float
        T.
    variance : float
        σ̂₁².
    n : float
        Rows.
    threshold : float
        Zero belongs to the set if T is below it.
    alpha : float
        1 − level, below 1/2.
    """
    t = max(statistic, 0.0)
    s = math.sqrt(variance / n)
    two_sided, one_sided = upper_quantile(alpha / 2), upper_quantile(alpha)
    high = t + two_sided * s
    zero = t < threshold
    if t / 2 <= t - two_sided * s:
        low = t - two_sided * s
    elif t - one_sided * s < t / 2:
        low = max(0.0, t - one_sided * s)
    else:
        low = t / 2
    only_zero = high == 0
    # An end at zero belongs to the set only if the test of zero lets it in.
    return Region(low, high, low > 0 or zero or only_zero, zero or only_zero)


def sums_of_bins(bins: Bins) -> PairSums:
    """The sums of one score per row, from bins."""
    if not bins.whole:
        raise InputError("sample_weight", "must be whole numbers that sum to less than 2³⁵: weight 2 is the row twice")
    filled = bins.weight > 0
    n, s = bins.weight[filled], bins.excess[filled]
    q = (bins.events - 2 * bins.sum_event_score + bins.sum_square)[filled]
    paired = (q[n >= 2] / (n[n >= 2] - 1)).sum()
    return PairSums(n, s[:, None], q, s**2 * q, np.array([[q.sum()]]), np.array([[paired]]))
