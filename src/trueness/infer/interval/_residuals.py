r"""The debiased squared error from residuals in bins: its estimate, influences and resamples.

A row has the residual :math:`u = y - p`. The error is a mean over products of pairs of rows that
share a bin. A row is never paired with itself, nor with another row of its cluster: such a pair
would measure their dependence.

References: Hoeffding, "A class of statistics with asymptotically normal distribution", Annals of
Mathematical Statistics, 1948; Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2
expected calibration error", 2025.
"""

import numpy as np
from scipy import sparse

from trueness._numerics.units import Units
from trueness._tally.binned_scores import bin_numbers
from trueness._tally.clusters import ClusteredRows
from trueness._tally.rows_or_sums import warn_few_rows
from trueness._tally.rules import BinRule
from trueness.errors import FewRowsWarning, InputError, warn
from trueness.typing import Bools, Floats, Ints


class BinnedResiduals:
    r"""Residuals in bins, grouped into entries that are not paired with themselves.

    An entry is a row, or the rows of a cluster in a bin. Rows have the residual `u` in bin `bin_of`
    and belong to `units`, both numbered from 0 without gaps. With weights "rows" below means
    weight; they are importance unless they `counts` rows.
    """

    def __init__(
        self,
        u: Floats,
        bin_of: Ints,
        units: Units,
        weight: Floats | None = None,
        *,
        counts: bool = False,
    ) -> None:
        self.u = u
        self.bin_of = bin_of
        self.weight = weight
        self.counts = counts
        self.units = units
        number = units.number
        pair, entry = np.unique(bin_of * number + units.code, return_inverse=True)
        self.entry: Ints = entry.reshape(-1)
        """The entry of each row."""
        bins, unit = np.divmod(pair, number)
        self.unit: Ints = unit
        """The row, or cluster, of each entry; entries are in the order of their bins."""
        self.n: Floats = np.bincount(self.entry, weight).astype(np.float64)
        """Rows of each entry."""
        weighted = u if weight is None else weight * u
        self.s: Floats = np.bincount(self.entry, weighted).astype(np.float64)
        """Σu of each entry."""
        self.first: Ints = np.flatnonzero(np.diff(bins, prepend=-1))
        """The first entry of each bin."""
        self.start: Ints = np.append(self.first, self.s.size)

    @property
    def estimate(self) -> float:
        r"""The debiased squared error T, over bins with N rows in at least two entries e.

        .. math:: T = \frac1n \sum_b N \frac{S^2 - \sum_e S_e^2}{N^2 - \sum_e N_e^2} .
        """
        return self._statistic(self.n, self.s)

    def resampled(self, count: Ints) -> float:
        """T of a resample with `count` copies of each row or, with clusters, of each cluster.

        Copies are not paired with each other.
        """
        drawn = count[self.unit]
        return self._statistic(drawn * self.n, drawn * self.s)

    @property
    def coefficient(self) -> Floats:
        r"""The factor of :math:`S^2 - \sum_e S_e^2` of each bin in T.

        0 for a bin with one entry.
        """
        size = self._bin_sums(self.n)
        pairs = size * size - self._bin_sums(self.n * self.n)
        ratio = np.divide(size, pairs, out=np.zeros(size.size), where=pairs > 0)
        return np.asarray(ratio / size.sum())

    def _bin_sums(self, values: Floats) -> Floats:
        """Sums over the entries of each bin."""
        return np.add.reduceat(values, self.first)

    @property
    def row_weight(self) -> Floats:
        """The weight of each row; 1 without weights."""
        if self.weight is None:
            return np.ones(self.u.size)
        return self.weight

    @property
    def coefficient_of_entries(self) -> Floats:
        """The coefficient of the bin of each entry."""
        return np.repeat(self.coefficient, np.diff(self.start))

    def _statistic(self, n: Floats, s: Floats) -> float:
        """T of entries with these rows and sums of residuals; bins without a pair add 0."""
        size = self._bin_sums(n)
        bin_sum = self._bin_sums(s)
        pairs = size * size - self._bin_sums(n * n)
        products = bin_sum * bin_sum - self._bin_sums(s * s)
        paired = pairs > 0
        return float(size[paired] @ (products[paired] / pairs[paired]) / size.sum())

    def influence(self) -> Floats:
        r"""The influence of each row on T, :math:`\psi_i = 2 u_i \bar u_{-g} - \theta_{-g}`.

        T is the debiased squared error, :math:`u_i` the residual (label − score) of row i and g its
        cluster. :math:`\bar u_{-g}` is the mean residual of the rows of its bin outside g, and
        :math:`\theta_{-g}` the mean of the products over their pairs from two clusters.

        If only one other cluster is in the bin, it has no pair, and the mean over pairs is that of
        the whole bin; if there is none, the influence is 0. If every row is its own cluster, the
        influences average to T.
        """
        size = self._bin_sums(self.n)
        bin_sum = self._bin_sums(self.s)
        size_squares = self._bin_sums(self.n**2)
        squares = self._bin_sums(self.s**2)
        n = self.n[self.entry]
        s = self.s[self.entry]
        rest_n = size[self.bin_of] - n
        rest_s = bin_sum[self.bin_of] - s
        rest_pairs = rest_n**2 - (size_squares[self.bin_of] - n**2)
        others = self._bin_sums((self.n > 0).astype(np.int64))[self.bin_of] - (n > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = ((bin_sum**2 - squares) / (size**2 - size_squares))[self.bin_of]
            rest = (rest_s**2 - (squares[self.bin_of] - s**2)) / rest_pairs
            # Not by weight alone: rounding leaves some pairs of a single other entry.
            paired = (others > 1) & (rest_pairs > 1e-12 * rest_n**2)
            values = 2 * self.u * rest_s / rest_n - np.where(paired, rest, whole)
        return np.where(rest_n > 0, values, 0.0)

    def deviations(self) -> sparse.csr_array:
        r"""Sums of u − ū of the entries times √c, of shape (bins, units), c the coefficients of T.

        A unit is a row, or a cluster. The mean of a bin is pulled towards its own rows: the sum of
        entry e, with :math:`N_e` of N rows, has only :math:`1 - N_e/N` of its variance around the
        true mean, and is divided by the root of this factor. An entry alone in its bin has 0.
        """
        entries = np.diff(self.start)
        size = np.repeat(self._bin_sums(self.n), entries)
        bin_sum = np.repeat(self._bin_sums(self.s), entries)
        factor = 1 - self.n / size
        centred = self.s - self.n * bin_sum / size
        deviation = centred / np.sqrt(np.where(factor > 0, factor, 1.0))
        values = np.sqrt(self.coefficient_of_entries) * deviation
        shape = self.first.size, int(self.unit.max()) + 1
        return sparse.csr_array((values, self.unit, self.start), shape=shape)

    def check(self) -> None:
        """Raise if no bin holds a pair of rows, of different clusters if there are any.

        Warn if most rows are in bins without a pair.
        """
        entries = np.diff(self.start)
        alone: Bools = np.repeat(entries == 1, entries)
        of_entry = self.n if self.weight is None or self.counts else np.bincount(self.entry)
        rows = int(of_entry[alone].sum())
        total = int(of_entry.sum())
        check_pairs(rows, total, "rows of two clusters" if self.units.clustered else "two rows")


def residuals_in(rows: ClusteredRows, rule: BinRule, *, check: bool = True) -> BinnedResiduals:
    """The residuals, label − score, of clustered rows in the bins of a rule.

    With `check` a sample in which no bin has rows of two clusters is refused with InputError, and
    one in which most rows have no such partner is warned of; so are fewer rows than bins.
    """
    bin_of = bin_numbers(rows.top, rule, rows.cells)
    residuals = BinnedResiduals(rows.u, bin_of, rows.units, rows.weight, counts=rows.counts)
    if check:
        warn_few_rows(rows.n, rule)
        residuals.check()
    return residuals


def check_pairs(alone: int, total: int, what: str, where: str = "") -> None:
    """Raise if no row has another to be paired with; warn if most rows have none.

    `alone` of `total` rows have none. `what` names the pair in the message, such as "two rows" or
    "rows of two clusters", which must share a bin. `where` says where the rows without a partner
    are; if it is empty, they are in bins without `what`. The squared error is estimated from pairs
    alone.
    """
    if alone == total:
        got = f"{alone:,} rows are in as many bins" if what == "two rows" else ""
        demand = f"No bin holds {what}, so the error cannot be estimated"
        raise InputError("", demand, got, remedy="Use fewer `bins`.")
    if 2 * alone > total:
        place = where or f"in bins without {what}"
        warn(
            f"{alone:,} of {total:,} rows are {place} and add nothing to the estimate, "
            "which is therefore too low. Use fewer `bins`.",
            FewRowsWarning,
        )


def pair_variance(first: BinnedResiduals, second: BinnedResiduals) -> float:
    r"""The variance of the difference of two T if both models were right on average in every bin.

    The residuals are those of the same rows, in the bins of each model. Both T are sums over pairs
    of units, :math:`T = \sum_{g \ne h} \sum_b c_b S_{bg} S_{bh}`. Their difference
    :math:`\sum_{g \ne h} K_{gh}` has uncorrelated terms of mean zero and the variance
    :math:`2 \sum_{g \ne h} K_{gh}^2`, :math:`K = X^\top X - Z^\top Z`, from products of bins:
    :math:`\|K\|^2 = \|X X^\top\|^2 - 2 \|X Z^\top\|^2 + \|Z Z^\top\|^2`, less the diagonal.
    """
    x = first.deviations()
    z = second.deviations()
    norm = _squared_norm(x @ x.T) - 2 * _squared_norm(x @ z.T) + _squared_norm(z @ z.T)
    units = x.shape[1]
    diagonal = np.bincount(x.indices, x.data**2, units) - np.bincount(z.indices, z.data**2, units)
    return max(0.0, 2 * (norm - float(diagonal @ diagonal)))


def _squared_norm(products: sparse.csr_array) -> float:
    """The sum of the squares of all entries of a matrix."""
    return float(products.data @ products.data)
