"""The rows of one model in clusters."""

from typing import Any

import numpy as np

from trueness._input.columns import column
from trueness._tally import rows_or_sums
from trueness._tally.clusters import FEW_CLUSTERS, ClusteredRows, codes_by_content, effective_number
from trueness._tally.multiclass import binary_of_two_columns
from trueness._tally.row_sums import cells_of_rows
from trueness._tally.tally import Parts
from trueness.errors import FewClustersWarning, InputError, warn
from trueness.infer._paired_rows import read_rows, require_confidence, top_scores
from trueness.typing import RowOptions


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
    rows_or_sums.check_one_class(sample)
    top = top_scores(sample)
    cells_of_rows(top)  # checks every value
    codes = codes_by_content(top, paired.cluster)
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
