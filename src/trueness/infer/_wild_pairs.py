"""T of rows in clusters, for random signs of the clusters and for labels drawn from the scores."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from trueness._numerics.runs import NestedRuns
from trueness._tally.rules import EqualMass
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer._finding import Ask, Finding
from trueness.infer._influence import PairedResiduals
from trueness.infer._wild import WILD, Wild, in_words, wild_pvalue
from trueness.typing import Floats

__all__ = ["CLUSTERED", "wild_pairs"]


def wild_pairs(residuals: PairedResiduals, p: Floats) -> Wild:
    """T without pairs of one cluster; `p` are the scores of the rows."""
    order = np.argsort(residuals.entry, kind="stable")
    share = np.repeat(residuals.coefficient, np.diff(np.append(residuals.first, residuals.s.size)))
    start = np.append(residuals.first, residuals.s.size)
    sums = sparse.csr_array((residuals.s, residuals.unit, start))
    # The square of the sum of a cluster does not depend on its sign.
    own = float(share @ residuals.s**2)
    first = np.flatnonzero(np.diff(residuals.entry[order], prepend=-1))
    runs = NestedRuns(order.size, [first[residuals.first], first])
    w = None if residuals.weight is None else residuals.weight[order, np.newaxis]
    dtype = np.min_scalar_type(order.size) if w is None else np.float64
    expected = p[order, np.newaxis] if w is None else w * p[order, np.newaxis]
    of_bins, of_entries = (_sums(runs, expected, np.float64, i) for i in range(2))

    def of_signs(signs: Floats) -> Floats:
        excess = sums @ signs
        return np.asarray(np.einsum("i,ij,ij->j", residuals.coefficient, excess, excess) - own)

    def of_labels(labels: NDArray[Any]) -> Floats:
        events = runs.sums(labels if w is None else w * labels, dtype)
        excess, alone = events.take(runs.rows[0], axis=0) - of_bins, events.take(runs.rows[1], axis=0) - of_entries
        whole = np.einsum("i,ij,ij->j", residuals.coefficient, excess, excess)
        return np.asarray(whole - np.einsum("i,ij,ij->j", share, alone, alone))

    return Wild(residuals.estimate, p[order], of_signs, of_labels)


def _sums(runs: NestedRuns, values: Floats, dtype: Any, partition: int) -> Floats:
    return np.asarray(runs.sums(values, dtype)[runs.rows[partition]])


def _exact(rows: ClusteredRows, ask: Ask, draws: int) -> Finding:
    rule = ask.rule or EqualMass(max(5, round(rows.n**0.4)))
    statistic = wild_pairs(rows.residuals(rule), rows.p)
    pvalue = wild_pvalue(statistic, rows.clusters, draws, ask.rng)
    said = f"{in_words(rows, draws)} No pair of rows of one cluster is counted. Bins: {rule!r}."
    return Finding(statistic.observed, pvalue, said, 1 / (draws + 1))


CLUSTERED: Mapping[str, Callable[[ClusteredRows, Ask, int], Finding]] = {"exact": _exact, **WILD}
"""The tests that take clusters: rows, options and the number of draws."""
