"""Tests for rows in clusters, by random signs of whole clusters (the wild bootstrap).

If the scores are calibrated, the residuals y − p of a cluster have mean zero, whatever their
dependence: a sum over clusters varies like the same sum with a random sign for each. Where few
events are expected, labels drawn from the scores, as if rows were independent, say more. A
statistic must therefore be large by both.

References: Wu, "Jackknife, bootstrap and other resampling methods in regression analysis", Annals
of Statistics, 1986; Cameron, Gelbach, Miller, "Bootstrap-based improvements for inference with
clustered errors", Review of Economics and Statistics, 2008.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from trueness._numerics.runs import NestedRuns
from trueness._numerics.streams import stream
from trueness._tally.cells import Cells
from trueness._tally.clusters import ClusteredRows
from trueness.infer.interval._residuals import BinnedResiduals, residuals_in
from trueness.infer.null._redrawn_labels import (
    label_batches,
    monte_carlo_pvalue,
    moved_inside,
    moved_scores,
    sign_batches,
)
from trueness.infer.test._cumulative import ks_statistic, kuiper_statistic
from trueness.infer.test._method import (
    Entries,
    Options,
    Outcome,
    entries_of_rows,
    entry_of_each_row,
    standardised,
)
from trueness.infer.test._omnibus import (
    OmnibusTest,
    combined_pvalues,
    lower_tail,
    omnibus_outcome,
    omnibus_test,
)
from trueness.infer.test._omnibus_statistics import Statistics, evidence
from trueness.infer.test._pair_tests import score_test_bins
from trueness.typing import Floats, Ints

# Numbers drawn at a time, so that they stay in the processor's cache; but at least 16 draws.
_BATCH = 1 << 18
_LEAST = 16

ClusteredTest: TypeAlias = Callable[[ClusteredRows, Options, int], Outcome]


class ClusterStatistic(NamedTuple):
    """A statistic of rows in clusters, and its values for random signs and for drawn labels.

    Large values are evidence against calibration.
    """

    observed: float
    p: Floats
    """Scores of the rows, in the order in which labels are drawn."""
    rows: Ints
    """The number of rows that each row counts for."""
    of_signs: Callable[[Floats], Floats]
    """From signs of the clusters, of shape (clusters, draws), to values of shape (draws,)."""
    of_labels: Callable[[NDArray[Any]], Floats]
    """From labels of the rows (or events among them), of shape (n, draws), to values of shape
    (draws,)."""


def wild_pvalue(statistic: ClusterStatistic, clusters: int, draws: int, seed: int) -> float:
    """The larger of two p-values: by random signs of clusters, and by labels of independent rows.

    Both compare the observed statistic with `draws` others. For the first, all residuals of a
    cluster are multiplied by one random sign (the wild bootstrap of clusters); for the second,
    labels are drawn from the scores. Signs alone make the test valid for many clusters; labels make
    it valid for any number if rows are independent. `clusters` is the number of clusters.
    """
    at_most = max(_LEAST, _BATCH // statistic.p.size)
    scores = statistic.p[:, np.newaxis]
    signs = sign_batches(clusters, draws, stream(seed, "signs"), at_most)
    labels = label_batches(scores, statistic.rows, draws, stream(seed, "labels"), at_most)
    of_signs = np.concatenate([statistic.of_signs(batch) for batch in signs])
    of_labels = np.concatenate([statistic.of_labels(hits) for (hits,) in labels])
    by_signs = float(monte_carlo_pvalue(statistic.observed, of_signs))
    by_labels = float(monte_carlo_pvalue(statistic.observed, of_labels))
    return max(by_signs, by_labels)


def _counts(rows: ClusteredRows) -> Ints:
    """The number of rows that each row counts for."""
    return np.rint(rows.w).astype(np.int64)


def pair_statistic(residuals: BinnedResiduals, p: Floats) -> ClusterStatistic:
    """The sum T over pairs of rows that share a bin and are of different clusters.

    T is the debiased squared error. `residuals` holds the residuals (label − score) of the rows,
    their bins and their clusters; `p` are the scores of the rows, in the same order.

    An entry is the rows of one bin and one cluster. The products over the pairs of an entry are
    subtracted from those over all pairs of its bin. The result has the observed T and two
    functions: T for random signs of the clusters, and T for labels drawn from the scores. Its rows
    are sorted by entry. Weights that do not count rows multiply the drawn labels; others are the
    numbers of labels to draw.
    """
    order = np.argsort(residuals.entry, kind="stable")
    share = residuals.coefficient_of_entries
    sums = sparse.csr_array((residuals.s, residuals.unit, residuals.start))
    # The squared sum of a cluster does not depend on its sign.
    squares = float(share @ residuals.s**2)
    first = np.flatnonzero(np.diff(residuals.entry[order], prepend=-1))
    runs = NestedRuns(order.size, [first[residuals.first], first])
    weight = residuals.row_weight[order]
    p = p[order]
    # Fractional weights multiply labels; others are numbers of rows, whose events are drawn.
    w = weight[:, np.newaxis] if residuals.weight is not None and not residuals.counts else None
    count = np.rint(weight if w is None else np.ones(weight.size)).astype(np.int64)
    dtype = np.min_scalar_type(int(count.sum())) if w is None else np.float64
    expected_sums = runs.sums((weight * p)[:, np.newaxis], np.float64)
    bins, entries = runs.rows
    expected_in_bins = np.asarray(expected_sums[bins])
    expected_in_entries = np.asarray(expected_sums[entries])

    def of_signs(signs: Floats) -> Floats:
        """T for signs of the clusters, of shape (clusters, draws)."""
        excess = sums @ signs
        return np.asarray(np.einsum("i,ij,ij->j", residuals.coefficient, excess, excess) - squares)

    def of_labels(labels: NDArray[Any]) -> Floats:
        """T for labels of the rows, of shape (rows, draws): all pairs less those of one cluster."""
        events = runs.sums(labels if w is None else w * labels, dtype)
        excess = events.take(bins, axis=0) - expected_in_bins
        alone = events.take(entries, axis=0) - expected_in_entries
        whole = np.einsum("i,ij,ij->j", residuals.coefficient, excess, excess)
        return np.asarray(whole - np.einsum("i,ij,ij->j", share, alone, alone))

    return ClusterStatistic(
        observed=residuals.estimate, p=p, rows=count, of_signs=of_signs, of_labels=of_labels
    )


def _exact(rows: ClusteredRows, options: Options, draws: int) -> Outcome:
    """The exact test: T, without pairs of rows of one cluster."""
    rule = options.rule or score_test_bins(rows.n)
    statistic = pair_statistic(residuals_in(rows, rule), rows.p)
    more = f"Pairs of rows of one cluster are left out. Bins: {rule!r}."
    return _outcome(rows, statistic, options, draws, statistic.observed, more)


def _spiegelhalter(rows: ClusteredRows, options: Options, draws: int) -> Outcome:
    """Spiegelhalter's test of rows in clusters: |Σ w (y − p)(1 − 2p)|.

    y is the label, p the score and w the number of rows that a row counts for. The p-value compares
    the absolute sum with those for random signs of clusters and for drawn labels
    (:func:`wild_pvalue`). The statistic of the outcome is the signed sum, divided by the standard
    deviation it would have if rows were independent.
    """
    slope = 1 - 2 * rows.p
    variance = float((rows.w * slope**2 * rows.p * (1 - rows.p)).sum())
    sums = np.bincount(rows.cluster, rows.w * rows.u * slope)
    signed = float(sums.sum())
    expected = float(slope @ (rows.w * rows.p))

    def of_signs(signs: Floats) -> Floats:
        return np.asarray(np.abs(np.einsum("i,ij->j", sums, signs)))

    def of_labels(labels: NDArray[Any]) -> Floats:
        events = np.einsum("i,ij->j", slope, labels.astype(np.float64))
        return np.asarray(np.abs(events - expected))

    statistic = ClusterStatistic(
        observed=abs(signed),
        p=rows.p,
        rows=_counts(rows),
        of_signs=of_signs,
        of_labels=of_labels,
    )
    z = standardised(signed, math.sqrt(variance))
    more = (
        "Two-sided; z is divided by the standard deviation of independent rows, "
        "the p-value is not. Detects only departures that change the Brier score."
    )
    return _outcome(rows, statistic, options, draws, z, more)


def _cumulative(
    of_extremes: Callable[[Floats, Floats], Floats],
    rows: ClusteredRows,
    options: Options,
    draws: int,
) -> Outcome:
    """A test of the path of Σ (y − p) along ascending scores, 'ks' or 'kuiper'.

    y is the label and p the score of a row. The path starts at 0, and rows of one score are one
    step. `of_extremes` gives the statistic from the highest and the lowest points of paths: the
    larger distance from 0, or the difference of the two. It is divided by the number of rows. Its
    p-value is from random signs of clusters and from drawn labels (:func:`wild_pvalue`), `draws` of
    each.
    """
    order = np.argsort(rows.p, kind="stable")
    count = _counts(rows)[order]
    p = rows.p[order]
    u = count * rows.u[order]
    cluster = rows.cluster[order]
    last = np.append(np.flatnonzero(np.diff(p)), p.size - 1)

    def of_residuals(residuals: Floats) -> Floats:
        """The statistic of residuals of shape (draws, rows), which are overwritten."""
        path = np.cumsum(residuals, axis=1, out=residuals)[:, last]
        # The path starts at 0.
        high = np.maximum(path.max(axis=1), 0)
        low = np.minimum(path.min(axis=1), 0)
        return of_extremes(high, low) / rows.n

    def of_signs(signs: Floats) -> Floats:
        return of_residuals(np.ascontiguousarray(signs.T).take(cluster, axis=1) * u)

    def of_labels(labels: NDArray[Any]) -> Floats:
        return of_residuals(labels.T - count * p)

    statistic = ClusterStatistic(
        observed=float(of_residuals(u[np.newaxis].copy())[0]),
        p=p,
        rows=count,
        of_signs=of_signs,
        of_labels=of_labels,
    )
    return _outcome(rows, statistic, options, draws, statistic.observed)


def _outcome(
    rows: ClusteredRows,
    statistic: ClusterStatistic,
    options: Options,
    draws: int,
    value: float,
    more: str = "",
) -> Outcome:
    """The outcome of a test of clusters, with its p-value by :func:`wild_pvalue`.

    `statistic` has the observed number and what it becomes for random signs and drawn labels,
    `draws` of each. `value` is the statistic that is reported, which may be scaled in another way.
    `more` is the last part of the assumptions.
    """
    pvalue = wild_pvalue(statistic, rows.clusters, draws, options.seed)
    return Outcome(value, pvalue, f"{_assumptions(rows, draws)} {more}".rstrip(), 1 / (draws + 1))


def _assumptions(rows: ClusteredRows, draws: int) -> str:
    """What all tests of clusters take for granted, in words."""
    return (
        "Clusters are independent, rows of one cluster need not be; the level holds for many "
        f"clusters and is not exact for few ({rows.clusters:,} here): {draws:,} times the "
        f"residuals of each cluster were given a random sign, and {draws:,} times labels were "
        "drawn from the scores; the larger p-value is reported."
    )


def clustered_omnibus_test(
    rows: ClusteredRows, draws: int, seed: int, rounded_to: float | None = None
) -> OmnibusTest:
    """The omnibus test by labels of independent rows and by random signs of the clusters.

    Both compare the observed statistics with `draws` others. The p-value of each statistic, that of
    all together, and `too_good`, that for labels agreeing with the scores too well, is the larger
    of the two. Rows with importance weights are drawn one by one.

    A label that contradicts a score of 0 or 1 has probability 0: the result is returned at once,
    without signs. But if the scores are known to be rounded to multiples of `rounded_to`, these
    scores are moved by up to half of it, and the test goes on; `too_good` is then None.
    """
    entries = None
    if rows.importance:
        entries = entries_of_rows(np.asarray(rows.top.y), rows.p, rows.w)
    by_labels = omnibus_test(rows.cells, draws, seed, entries, rounded_to=rounded_to)
    if not by_labels.alone:
        return by_labels
    values, weights = _values_of_signs(rows, entries, draws, seed, by_labels.unit)
    alone, combined = combined_pvalues(evidence(values), weights)
    larger = {}
    for name, by_signs in zip(by_labels.alone, alone[:, 0].tolist(), strict=True):
        larger[name] = max(by_labels.alone[name], by_signs)
    too_good = by_labels.too_good
    if too_good is not None:
        too_good = max(too_good, lower_tail(values))
    return by_labels._replace(
        pvalue=max(by_labels.pvalue, float(combined[0])), alone=larger, too_good=too_good
    )


def _values_of_signs(
    rows: ClusteredRows, entries: Entries | None, draws: int, seed: int, unit: float | None
) -> tuple[Floats, Floats]:
    """The statistics of the observed residuals, in the first column, and of randomly signed ones.

    A draw gives every cluster a random sign, which multiplies the residuals (label − score) of all
    its rows. The result is of shape (statistics, 1 + draws). The weights of the statistics when
    they are combined come second.

    `entries` are the rows if these have importance weights, otherwise None. `unit` is None unless
    labels contradict scores of 0 or 1 that were rounded to multiples of `unit`: then these scores
    are moved by up to half of it, as they were for the test by labels.
    """
    cells = rows.cells
    grouped = cells
    if entries is None:
        cell = np.searchsorted(cells.score, rows.p)
        if unit is not None:
            grouped = moved_inside(cells, unit)
    else:
        # Weighted rows are entries, and the cells count rows.
        cell = entry_of_each_row(rows.p, rows.w)
        score = cells.score
        if unit is not None:
            moved = moved_scores(entries.z, entries.rows, entries.hits, unit)
            entries = entries._replace(z=moved)
            score = np.unique(moved)
        grouped = Cells(score, cells.count, cells.count, np.zeros_like(cells.count))
    statistics = Statistics(grouped, entries, pooled=False)
    z = statistics.entries.z
    p = z[cell]
    u = rows.w * (rows.y - p)
    sums = sparse.csr_array((u, (cell, rows.cluster)), shape=(z.size, rows.clusters))
    low = statistics.low
    finest_cell = np.searchsorted(low, p, side="right") - 1
    finest = sparse.csr_array((u, (finest_cell, rows.cluster)), shape=(low.size, rows.clusters))
    forms = statistics.forms @ sums
    at_most = max(_LEAST, _BATCH // max(rows.clusters, low.size))
    batches = sign_batches(rows.clusters, draws, stream(seed, "signs"), at_most)
    observed = np.ones((rows.clusters, 1))
    # A sign does not change the squares of a cluster.
    of_sums = partial(statistics.of_sums, squares=(0.0, 0.0), symmetric=True)
    values = [of_sums(finest @ signs, forms @ signs) for signs in (observed, *batches)]
    return np.concatenate(values, axis=1), statistics.weights


def _omnibus(rows: ClusteredRows, options: Options, draws: int) -> Outcome:
    """The omnibus test of clusters, as an outcome."""
    result = clustered_omnibus_test(rows, draws, options.seed, options.rounded_to)
    return omnibus_outcome(result, _assumptions(rows, draws))


CLUSTERED_TESTS: Mapping[str, ClusteredTest] = {
    "omnibus": _omnibus,
    "exact": _exact,
    "ks": partial(_cumulative, ks_statistic),
    "kuiper": partial(_cumulative, kuiper_statistic),
    "spiegelhalter": _spiegelhalter,
}
"""The tests that take clusters: functions of rows, options and the number of draws."""
