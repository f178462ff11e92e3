"""The rows of one model in clusters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import column
from trueness._input.sample import Sample
from trueness._tally import rows_or_sums
from trueness._tally.cells import Cells
from trueness._tally.multiclass import binary_of_two_columns
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.rules import BinRule
from trueness._tally.tally import Parts
from trueness.errors import FewClustersWarning, InputError, warn
from trueness.infer._paired_rows import bin_numbers, read_rows, require_confidence, top_scores, warn_few_rows
from trueness.infer.interval._residuals import BinnedResiduals
from trueness.typing import Floats, Ints, RowOptions

FEW_CLUSTERS = 20
"""With fewer clusters of equal size, tests at 0.1 rejected 0.2 of calibrated data sets in simulations."""


@dataclass(frozen=True)
class ClusteredRows:
    """One score per row, and rows in clusters; their order depends neither on the input order nor on cluster names."""

    top: Sample
    """Labels, scores and, perhaps, importance weights; of a matrix, the largest scores."""
    cluster: Ints
    """The cluster of each row, numbered from 0."""

    @property
    def weight(self) -> Floats | None:
        """Importance weights, if any."""
        return self.top.w

    @property
    def n(self) -> int:
        """Rows."""
        return self.cluster.size

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max()) + 1

    @property
    def p(self) -> Floats:
        """Scores."""
        return np.asarray(self.top.p, dtype=np.float64)

    @property
    def u(self) -> Floats:
        """Residuals, y − p."""
        return np.asarray(self.top.y, dtype=np.float64) - self.p

    @property
    def cells(self) -> Cells:
        """The sums of each distinct score."""
        return cells_of_rows(self.top)

    def residuals(self, rule: BinRule, *, check: bool = True) -> BinnedResiduals:
        """The residuals in the bins of a rule; `check` that there are pairs."""
        residuals = BinnedResiduals(self.u, bin_numbers(self.top, rule), self.cluster, self.weight)
        if check:
            warn_few_rows(self.n, rule)
            residuals.check()
        return residuals


def effective_number(cluster: Ints, weight: Floats | None = None) -> float:
    r"""Effective number of clusters of equal size or weight: :math:`(\sum n_g)^2 / \sum n_g^2`."""
    sizes = np.bincount(cluster, weight).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes)) if sizes.size else 0.0


def clustered_rows(
    y_true: Any, y_prob: Any, cluster: Any, rows: RowOptions, *, importance: bool = False, binary: bool = False
) -> ClusteredRows:
    """Read labels, scores and clusters; without `cluster`, importance weights make every row its own cluster.

    `binary` takes a matrix of two columns as the binary problem of the second.
    """
    if isinstance(y_true, Parts):
        raise InputError(
            "weight_type='importance'" if cluster is None else "cluster",
            "needs labels and scores",
            f"a {type(y_true).__name__} holds only sums of rows",
        )
    alone = importance and cluster is None
    if alone:
        cluster = np.arange(column(y_true, "y_true").values.shape[0])
    paired = read_rows(y_true, {"": y_prob}, cluster, rows, kind="confidence", importance=importance)
    sample = paired.samples[""]
    sample = binary_of_two_columns(sample) if binary else sample
    if sample.p.ndim == 2:
        require_confidence(paired.kind, "a matrix with `cluster`")
    assert paired.cluster is not None
    rows_or_sums.warn_one_class(sample)
    top = top_scores(sample)
    cells_of_rows(top)  # checks every value
    codes = _codes_by_content(top, paired.cluster)
    w = top.w
    order = np.lexsort((top.y, top.p, codes) if w is None else (w, top.y, top.p, codes))
    result = ClusteredRows(top.at(order, None if w is None else w[order]), codes[order])
    effective = effective_number(result.cluster, result.weight)
    if effective < FEW_CLUSTERS:
        worth = f"{effective:.1f} of equal {'size' if w is None else 'weight'}"
        what = "rows by `sample_weight`" if alone else "clusters"
        warn(
            f"There are {result.clusters:,} {what}, worth {worth}. Below {FEW_CLUSTERS} the level may not be kept: "
            "for rare events, tests at 0.1 rejected 0.22 of calibrated data sets in simulations.",
            FewClustersWarning,
        )
    return result


def _codes_by_content(top: Sample, cluster: Ints) -> Ints:
    """Number the clusters by their content, so that results for a seed do not depend on cluster names.

    Clusters of equal content may be swapped.
    """
    event: NDArray[np.uint64] = np.asarray(top.y).astype(np.uint64) << np.uint64(63)
    bits: NDArray[np.uint64] = (np.asarray(top.p, dtype=np.float64) + 0.0).view(np.uint64) ^ event
    if top.w is not None:
        bits = bits * np.uint64(0xD6E8FEB86659FD93) ^ top.w.view(np.uint64)
    return rank_by_sum(cluster, mix_bits(bits))[cluster]


def mix_bits(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Other 64-bit integers, of which each bit depends on all bits."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0x9E3779B97F4A7C15)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits


def rank_by_sum(code: Ints, values: NDArray[np.uint64]) -> Ints:
    """The rank of each code by the sum of its values, which ignores their order."""
    sums = np.zeros(int(code.max()) + 1, dtype=np.uint64)
    np.add.at(sums, code, values)
    rank = np.empty(sums.size, dtype=np.int64)
    rank[np.argsort(sums, kind="stable")] = np.arange(sums.size)
    return rank
