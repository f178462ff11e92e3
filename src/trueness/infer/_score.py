"""The score interval for the squared error: all values that the estimate does not refute at their own spread."""

import math

import numpy as np

from trueness._numerics.pairs import PairSums, null_moments
from trueness._tally.binned_scores import BinnedScores
from trueness.infer._analytic import upper_quantile
from trueness.infer._exact import zero_refuted
from trueness.infer._region import Region

__all__ = ["score_ends", "score_region"]

_LEAST_LEADING = 0.2


def score_region(scores: BinnedScores, sums: PairSums, alpha: float, rng: np.random.Generator) -> Region:
    """The score interval, with zero in it if the exact test says so."""
    variance, implied = null_moments(scores.z, scores.count, scores.first, sums.s)
    statistic = sums.statistic
    low, high = score_ends(
        statistic, variance, sums.noise(implied), sums.unevenness, sums.total, upper_quantile(alpha / 2)
    )
    zero = not zero_refuted(scores, statistic, alpha, rng)
    low = 0.0 if zero else low
    return Region(low, high, low > 0 or zero, zero)


def score_ends(
    statistic: float, null: float, noise: float, unevenness: float, n: float, z: float
) -> tuple[float, float]:
    r"""All :math:`\theta \ge 0` with :math:`(T - \theta)^2 \le z^2 (\tau^2 + 4 R_1 \theta / n + R_2 \theta^2 / n)`.

    Parameters
    ----------
    statistic : float
        T; for the upper end max(T, 0).
    null : float
        τ², the variance of T if the scores are calibrated.
    noise : float
        R₁, the variance of a row along the error.
    unevenness : float
        R₂, the relative variance of the error over rows.
    n : float
        Rows.
    z : float
        Normal quantile.

    Returns
    -------
    low, high : float
        The coefficient of θ², 1 − z² R₂/n, is kept at 0.2 or more: below zero there would be no upper end.
    """
    leading = max(_LEAST_LEADING, 1 - z * z * unevenness / n)

    def root(t: float, side: int) -> float:
        half = t + 2 * z * z * noise / n
        return (half + side * math.sqrt(max(0.0, half * half - leading * (t * t - z * z * null)))) / leading

    low = root(statistic, -1) if statistic > 0 else 0.0
    return max(0.0, low), root(max(statistic, 0.0), 1)
