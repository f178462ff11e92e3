"""A paired difference of two rates whose rows are in clusters.

P-value and limits by Student's t.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr

from trueness._level import Level
from trueness._numerics.clustered import (
    cluster_sums,
    effective_number,
    squared_sums,
    variance_of_sum,
)
from trueness._numerics.students_t import t_quantile
from trueness.typing import Floats, Ints


class ClusteredDifference(NamedTuple):
    """What clusters say about a mean of rows that are −1, 0 or 1."""

    pvalue: float
    """P-value of the hypothesis that the mean is the margin or more."""
    low: float
    high: float


def clustered_difference(
    signs: Floats, cluster: Ints, margin: float, level: float
) -> ClusteredDifference:
    """The mean of rows that are −1, 0 or 1, compared with a margin by the sums of clusters.

    `signs` are the rows, such as differences of two 0/1 outcomes, and `cluster` the cluster of
    each. The limits at `level` are those of Student's t with one degree of freedom less than
    clusters. The p-value is for the hypothesis that the mean is `margin` or more; it is small if
    the mean is below.

    For the p-value the variance is at least margin (1 − margin) over the effective number of
    clusters, because equal rows would otherwise certify anything. If nothing varies and this floor
    is 0, as for a margin of 0 or 1, the p-value is one half.
    """
    n = signs.size
    value = float(signs.mean())
    # The sums of clusters vary about their share of the mean, not about zero.
    sums = cluster_sums((signs - value) / n, cluster)
    variance = variance_of_sum(sums, None)
    # Without a disagreement the sums do not vary at all, which would certify anything.
    floor = margin * (1 - margin) / effective_number(cluster)
    freedom = sums.size - 1
    error = math.sqrt(max(variance, floor))
    half = t_quantile(level, freedom) * math.sqrt(variance)
    statistic = (value - margin) / error if error > 0 else 0.0
    return ClusteredDifference(
        pvalue=float(stdtr(freedom, statistic)),
        low=value - half,
        high=value + half,
    )


def rows_per_unit(terms: Floats, cluster: Ints | None, level: float) -> float:
    """How many rows of clusters are worth one independent row, for limits of a mean.

    `terms` are the deviations of the rows from the mean, or their influences on the number at hand.
    The result is the ratio of the variances with and without clusters, widened as Student's t of
    the clusters is wider than the normal law at this level. If no row varies, it is the size of the
    clusters. It is 1 without clusters, and the number of rows if there is only one.
    """
    if cluster is None:
        return 1.0
    units = effective_number(cluster)
    clusters = int(np.unique(cluster).size)
    if clusters < 2:
        return float(terms.size)
    alone = float((terms * terms).sum())
    ratio = terms.size / units
    if alone > 0:
        ratio = max(1.0, squared_sums(terms, cluster) / alone)
    normal = -float(ndtri(Level(level).tail))
    return ratio * (t_quantile(level, clusters - 1) / normal) ** 2
