"""A paired difference of two rates whose rows are in clusters.

P-value and limits by Student's t.
"""

import math
from typing import NamedTuple

from scipy.special import stdtr

from trueness._numerics.students_t import t_quantile
from trueness._numerics.units import Units
from trueness.typing import Floats


class ClusteredDifference(NamedTuple):
    """What clusters say about a mean of rows that are −1, 0 or 1."""

    pvalue: float
    """P-value of the hypothesis that the mean is the margin or more."""
    low: float
    high: float


def clustered_difference(
    signs: Floats, units: Units, margin: float, level: float
) -> ClusteredDifference:
    """The mean of rows that are −1, 0 or 1, compared with a margin by the sums of clusters.

    `signs` are the rows, such as differences of two 0/1 outcomes, and `units` their clusters. The
    limits at `level` are those of Student's t with one degree of freedom less than clusters, for
    the variance of the clusters and of as many more that disagree as make score limits of a rate
    wider than Wald's. The p-value is for the hypothesis that the mean is `margin` or more; it is
    small if the mean is below.

    For the p-value the variance is at least margin (1 − margin) over the effective number of
    clusters, because equal rows would otherwise certify anything. If nothing varies and this floor
    is 0, as for a margin of 0 or 1, the p-value is one half.
    """
    n = signs.size
    value = float(signs.mean())
    # The sums of clusters vary about their share of the mean, not about zero.
    sums = units.sums((signs - value) / n)
    variance = Units(sums.size).variance_of_sum(sums)
    # Without a disagreement the sums do not vary at all, which would certify anything.
    floor = margin * (1 - margin) / units.effective()
    freedom = sums.size - 1
    error = math.sqrt(max(variance, floor))
    quantile = t_quantile(level, freedom)
    unseen = quantile * _disagreeing_rows(signs, units) / n
    half = quantile * math.sqrt(variance + unseen**2)
    statistic = (value - margin) / error if error > 0 else 0.0
    return ClusteredDifference(
        pvalue=float(stdtr(freedom, statistic)),
        low=max(-1.0, value - half),
        high=min(1.0, value + half),
    )


def _disagreeing_rows(signs: Floats, units: Units) -> float:
    """By how many rows a cluster disagrees that does; without any, the effective size of clusters.

    It is the root of the mean square of the sums of clusters, each weighted by its square, since
    those that disagree most vary most. With the plain mean square, limits at 95 % covered .905 for
    clusters of 1 to 30 rows with dependent disagreements, with this one .932 (± .009).
    """
    squares = units.sums(signs) ** 2
    if not squares.any():
        return signs.size / units.effective()
    return math.sqrt(float((squares**2).sum() / squares.sum()))
