"""Units of rows that are independent: each row, or clusters; sums, means and their variances.

Rows of one cluster may depend on each other in any way; clusters are independent. So the variance
of a sum over rows comes from the sums of the units (Liang and Zeger, Longitudinal data analysis
using generalized linear models, Biometrika 73 (1986), 13-22).
"""

import math
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness._level import Level
from trueness.typing import Floats, Ints

Squares = TypeVar("Squares", float, Floats)
Values = TypeVar("Values", bound=NDArray[Any])


class Mean(NamedTuple):
    """A weighted mean over rows, with its standard error."""

    value: float
    error: float
    units: int
    """The number of clusters, or of rows without clusters."""


class Units:
    """What is independent: every row by itself; clusters are :class:`ClusterUnits`."""

    word = "rows"
    clustered: bool = False
    """Whether rows may depend on each other."""
    argument = ""
    """The argument that a function of independent rows refuses; empty for rows."""
    cluster: Ints | None = None
    """The number of the cluster of each row, from 0; None if rows are independent."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    @property
    def number(self) -> int:
        """How many units there are."""
        return self._rows

    @property
    def clusters(self) -> int | None:
        """The number of clusters; None if rows are independent."""
        return None

    def few(self, enough: int) -> int:  # noqa: ARG002  # clusters use it
        """The number of clusters if it is below `enough`, otherwise 0."""
        return 0

    @property
    def code(self) -> Ints:
        """The number of the unit of each row, from 0."""
        return np.arange(self._rows)

    @property
    def sizes(self) -> Floats:
        """The number of rows of each unit."""
        return np.ones(self._rows)

    @property
    def largest(self) -> int:
        """The number of rows of the largest unit."""
        return 1

    def at(self, place: NDArray[Any]) -> "Units":
        """The units of some rows; clusters keep their numbers."""
        return Units(int(place.sum()) if place.dtype == bool else place.size)

    def renumbered(self) -> "Units":
        """The same with numbers from 0 on, none of which is without a row."""
        return self

    def spread(self, of_units: Values) -> Values:
        """What is known of each unit, for each row."""
        return of_units

    def sums(self, terms: Floats) -> Floats:
        """The sum of the terms of each unit.

        `terms` has one entry per row, or several rows of such entries, which are summed separately.
        """
        return terms

    def means(self, values: Floats) -> Floats:
        """The mean of the values of each unit."""
        return values

    def effective(self, weight: Floats | None = None) -> float:
        r"""Effective number of units of equal size or weight: :math:`(\sum n_g)^2 / \sum n_g^2`."""
        if weight is None:
            return float(self._rows)
        return float(weight.sum()) ** 2 / float((weight * weight).sum())

    def design_effect(self, terms: Floats, alone: float) -> float:  # noqa: ARG002  # clusters use it
        """The factor by which clusters enlarge the variance of a sum, at least 1.

        `terms` are the terms of the sum, and `alone` is the variance if all rows were independent.
        The factor is 1 if `alone` is 0.
        """
        return 1.0

    def rows_per_unit(self, terms: Floats, level: float) -> float:  # noqa: ARG002  # clusters use it
        """How many rows are worth one independent row, for limits of a mean.

        `terms` are the deviations of the rows from the mean, or their influences on the number at
        hand. The result is the ratio of the variances with and without clusters, widened as
        Student's t of the clusters is wider than the normal law at this level. If no row varies, it
        is the size of the clusters. It is 1 without clusters, and the number of rows if there is
        only one cluster.
        """
        return 1.0

    def resampled(self, rng: np.random.Generator) -> Ints:
        """The rows of as many units as there are, drawn with replacement."""
        return rng.integers(0, self._rows, self._rows)

    def squared_sums(self, terms: Floats) -> float:
        """The squared sums of all units, added up."""
        sums = self.sums(terms)
        # Not `@`: its last bits depend on the number of threads of a linear algebra library.
        return float((sums * sums).sum())

    def variance_of_sum(self, terms: Floats) -> float:
        """The variance of the sum of terms whose mean is zero."""
        return for_fitted_mean(self.squared_sums(terms), self.number)

    def mean(self, values: Floats, weight: Floats | None = None) -> Mean:
        """The weighted mean of the rows; the standard error is 0 if all values are equal."""
        w = np.ones(values.size) if weight is None else weight
        mean = float(np.average(values, weights=weight))
        if (values == values[0]).all():
            return Mean(mean, 0.0, self.number)
        error = math.sqrt(self.variance_of_sum(w * (values - mean))) / float(w.sum())
        return Mean(mean, error, self.number)


class ClusterUnits(Units):
    """Clusters of rows; rows of one may depend on each other."""

    word = "clusters"
    clustered = True
    argument = "cluster"

    def __init__(self, cluster: Ints) -> None:
        """From the number of the cluster of each row, from 0."""
        self.cluster: Ints = cluster

    @property
    def number(self) -> int:
        """The number of clusters."""
        return int(self.cluster.max()) + 1

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return self.number

    def few(self, enough: int) -> int:
        """The number of clusters if it is below `enough`, otherwise 0."""
        return self.number if self.number < enough else 0

    @property
    def code(self) -> Ints:
        """The number of the cluster of each row."""
        return self.cluster

    @property
    def sizes(self) -> Floats:
        """The number of rows of each cluster."""
        return np.bincount(self.cluster).astype(np.float64)

    @property
    def largest(self) -> int:
        """The number of rows of the largest cluster."""
        return int(np.bincount(self.cluster).max())

    def at(self, place: NDArray[Any]) -> "ClusterUnits":
        """The clusters of some rows, which keep their numbers."""
        return ClusterUnits(self.cluster[place])

    def renumbered(self) -> "ClusterUnits":
        """The same with numbers from 0 on, none of which is without a row."""
        return ClusterUnits(np.unique(self.cluster, return_inverse=True)[1].reshape(-1))

    def spread(self, of_units: Values) -> Values:
        """What is known of each cluster, for each row."""
        return of_units[self.cluster]  # type: ignore[return-value]  # an array of the same kind

    def sums(self, terms: Floats) -> Floats:
        """The sum of the terms of each cluster."""
        if terms.ndim == 1:
            return np.asarray(np.bincount(self.cluster, terms), np.float64)
        return np.stack([np.bincount(self.cluster, column) for column in terms])

    def means(self, values: Floats) -> Floats:
        """The mean of the values of each cluster."""
        return self.sums(values) / self.sizes

    def effective(self, weight: Floats | None = None) -> float:
        """The number of clusters of equal size or weight that these are worth."""
        sizes = np.bincount(self.cluster, weight).astype(np.float64)
        if sizes.size:
            return float(sizes.sum() ** 2 / (sizes @ sizes))
        return 0.0

    @cached_property
    def _rows_of_each(self) -> list[Ints]:
        order = np.argsort(self.cluster, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.cluster[order])) + 1)

    def resampled(self, rng: np.random.Generator) -> Ints:
        """The rows of as many clusters as there are, drawn with replacement."""
        n = len(self._rows_of_each)
        return np.concatenate([self._rows_of_each[i] for i in rng.integers(0, n, n)])

    def design_effect(self, terms: Floats, alone: float) -> float:
        """The variance of the sums of clusters as a multiple of `alone`, at least 1."""
        if alone > 0:
            return max(1.0, self.squared_sums(terms) / alone)
        return 1.0

    def rows_per_unit(self, terms: Floats, level: float) -> float:
        """How many rows of clusters are worth one independent row, for limits of a mean."""
        # Imported here: SciPy takes longer than everything that tallies need.
        from scipy.special import ndtri

        from trueness._numerics.students_t import t_quantile

        clusters = int(np.unique(self.cluster).size)
        if clusters < 2:
            return float(terms.size)
        alone = float((terms * terms).sum())
        ratio = terms.size / self.effective()
        if alone > 0:
            ratio = self.design_effect(terms, alone)
        normal = -float(ndtri(Level(level).tail))
        return ratio * (t_quantile(level, clusters - 1) / normal) ** 2


def units_of(cluster: Ints | None, rows: int) -> Units:
    """The clusters of the rows, by number; without clusters each of the `rows` by itself."""
    if cluster is None:
        return Units(rows)
    return ClusterUnits(cluster)


def for_fitted_mean(squares: Squares, units: float) -> Squares:
    """Squares of deviations, as from the true mean, not from that of the same units."""
    return squares * units / (units - 1 if units > 1 else 1)


def covariance_of_sums(sums: Floats) -> Floats:
    """The covariances of several such sums, from those of the units, which are the columns."""
    return for_fitted_mean(np.asarray(sums @ sums.T), sums.shape[1])
