"""Means and sums over rows in clusters: their variance, and what clusters are worth.

Rows of one cluster may depend on each other in any way; clusters are independent. So the variance
of a sum over rows comes from the sums of the clusters (Liang and Zeger, Longitudinal data analysis
using generalized linear models, Biometrika 73 (1986), 13-22).
"""

import math
from typing import NamedTuple, TypeVar

import numpy as np

from trueness.typing import Floats, Ints

Squares = TypeVar("Squares", float, Floats)


def effective_number(cluster: Ints, weight: Floats | None = None) -> float:
    r"""Effective number of clusters of equal size or weight: :math:`(\sum n_g)^2 / \sum n_g^2`."""
    sizes = np.bincount(cluster, weight).astype(np.float64)
    if sizes.size:
        return float(sizes.sum() ** 2 / (sizes @ sizes))
    return 0.0


def cluster_sums(terms: Floats, cluster: Ints | None) -> Floats:
    """The sum of the terms of each cluster; without clusters the terms themselves.

    `terms` has one entry per row, or several rows of such entries, which are summed separately.
    `cluster` numbers the cluster of each row.
    """
    if cluster is None:
        return terms
    if terms.ndim == 1:
        return np.asarray(np.bincount(cluster, terms), np.float64)
    return np.stack([np.bincount(cluster, column) for column in terms])


def squared_sums(terms: Floats, cluster: Ints | None) -> float:
    """The squared sums of all clusters, added up."""
    sums = cluster_sums(terms, cluster)
    # Not `@`: its last bits depend on the number of threads of a linear algebra library.
    return float((sums * sums).sum())


def for_fitted_mean(squares: Squares, units: float) -> Squares:
    """Squares of deviations, as from the true mean, not from that of the same units."""
    return squares * units / (units - 1 if units > 1 else 1)


def variance_of_sum(terms: Floats, cluster: Ints | None) -> float:
    """The variance of the sum of terms whose mean is zero."""
    units = terms.size if cluster is None else int(cluster.max()) + 1
    return for_fitted_mean(squared_sums(terms, cluster), units)


def covariance_of_sums(sums: Floats) -> Floats:
    """The covariances of several such sums, from those of the clusters, which are the columns."""
    return for_fitted_mean(np.asarray(sums @ sums.T), sums.shape[1])


def design_effect(terms: Floats, cluster: Ints, alone: float) -> float:
    """The factor by which clusters enlarge the variance of a sum, at least 1.

    `terms` are the terms of the sum, `cluster` the number of the cluster of each, and `alone` the
    variance if all rows were independent. It is 1 if `alone` is 0.
    """
    if alone > 0:
        return max(1.0, squared_sums(terms, cluster) / alone)
    return 1.0


class Mean(NamedTuple):
    """A weighted mean over rows, with its standard error."""

    value: float
    error: float
    units: int
    """The number of clusters, or of rows without clusters."""


def mean_of_rows(values: Floats, weight: Floats | None = None, cluster: Ints | None = None) -> Mean:
    """The weighted mean of rows in clusters; the standard error is 0 if all values are equal."""
    w = np.ones(values.size) if weight is None else weight
    mean = float(np.average(values, weights=weight))
    units = values.size if cluster is None else int(cluster.max()) + 1
    if (values == values[0]).all():
        return Mean(mean, 0.0, units)
    error = math.sqrt(variance_of_sum(w * (values - mean), cluster)) / float(w.sum())
    return Mean(mean, error, units)
