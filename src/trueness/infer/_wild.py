"""Tests for rows in clusters: the signs of whole clusters are drawn, to see what a statistic does by chance.

If the scores are calibrated, the residuals y − p of a cluster have mean zero however they depend on each other. A sum
over clusters then spreads like the same sum with each cluster multiplied by a random sign. Where few events are
expected the residuals that were seen tell too little of those that could have been; labels that are drawn from the
scores, as if rows were independent, do, and so a statistic must be large by both.

References: Wu, "Jackknife, bootstrap and other resampling methods in regression analysis", Annals of Statistics, 1986;
Cameron, Gelbach, Miller, "Bootstrap-based improvements for inference with clustered errors", Review of Economics and
Statistics, 2008.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer._finding import Ask, Finding
from trueness.infer._null_draws import drawn_hits, drawn_pvalue
from trueness.typing import Floats

__all__ = ["WILD", "Wild", "in_words", "wild_pvalue"]

# Numbers drawn at a time, so that they stay in the processor's cache; but not fewer than so many draws.
_BATCH, _LEAST = 1 << 18, 16


class Wild(NamedTuple):
    """A statistic of rows in clusters, large values speaking against calibration, and what it would be by chance."""

    observed: float
    p: Floats
    """The scores of the rows, in the order in which their labels are drawn."""
    of_signs: Callable[[Floats], Floats]
    """From signs of the clusters, of shape (clusters, draws), to values of shape (draws,)."""
    of_labels: Callable[[NDArray[Any]], Floats]
    """From labels of the rows, of shape (n, draws), to values of shape (draws,)."""


def wild_pvalue(statistic: Wild, clusters: int, draws: int, rng: np.random.Generator) -> float:
    """The larger of two p-values: by random signs of the clusters and by labels as if rows were independent.

    Signs alone make the test valid for many clusters; labels, if rows are in truth independent, for any number.
    """
    size = max(_LEAST, _BATCH // statistic.p.size)
    batches = [min(size, draws - i) for i in range(0, draws, size)]
    rows = statistic.p[:, np.newaxis], np.ones(statistic.p.size, dtype=np.int64)
    by_signs = [statistic.of_signs(_signs(clusters, batch, rng)) for batch in batches]
    by_labels = [statistic.of_labels(drawn_hits(*rows, batch, rng)[0]) for batch in batches]
    return max(float(drawn_pvalue(statistic.observed, np.concatenate(drawn))) for drawn in (by_signs, by_labels))


def _signs(clusters: int, draws: int, rng: np.random.Generator) -> Floats:
    return 2 * rng.integers(0, 2, (clusters, draws), dtype=np.int8).astype(np.float64) - 1


def _spiegelhalter(rows: ClusteredRows, ask: Ask, draws: int) -> Finding:
    slope = 1 - 2 * rows.p
    spread = float(np.sqrt((slope**2 * rows.p * (1 - rows.p)).sum()))
    sums = np.bincount(rows.cluster, rows.u * slope)
    signed, expected = float(sums.sum()), float(slope @ rows.p)
    statistic = Wild(
        abs(signed),
        rows.p,
        lambda signs: np.abs(np.einsum("i,ij->j", sums, signs)),
        lambda labels: np.abs(np.einsum("i,ij->j", slope, labels.astype(np.float64)) - expected),
    )
    z = signed / spread if spread > 0 else (0.0 if signed == 0 else float(np.copysign(np.inf, signed)))
    return Finding(
        z,
        wild_pvalue(statistic, rows.clusters, draws, ask.rng),
        f"{in_words(rows, draws)} Two-sided; z is divided by the deviation that independent rows would have, the "
        "p-value is not. Only departures that move the Brier score are seen.",
        1 / (draws + 1),
    )


def _cumulative(rows: ClusteredRows, ask: Ask, draws: int, of: Callable[[Floats, Floats], Floats]) -> Finding:
    order = np.argsort(rows.p, kind="stable")
    p, u, cluster = rows.p[order], rows.u[order], rows.cluster[order]
    last = np.append(np.flatnonzero(np.diff(p)), rows.n - 1)

    def largest(residuals: Floats) -> Floats:
        path = np.cumsum(residuals, axis=1, out=residuals)
        path = path if last.size == rows.n else path[:, last]
        # The path starts at 0.
        return of(np.maximum(path.max(axis=1), 0), np.minimum(path.min(axis=1), 0)) / rows.n

    statistic = Wild(
        float(largest(u[np.newaxis].copy())[0]),
        p,
        lambda signs: largest(np.ascontiguousarray(signs.T).take(cluster, axis=1) * u),
        lambda labels: largest(labels.T - p),
    )
    pvalue = wild_pvalue(statistic, rows.clusters, draws, ask.rng)
    return Finding(statistic.observed, pvalue, in_words(rows, draws), 1 / (draws + 1))


def _ks(rows: ClusteredRows, ask: Ask, draws: int) -> Finding:
    return _cumulative(rows, ask, draws, lambda high, low: np.maximum(high, -low))


def _kuiper(rows: ClusteredRows, ask: Ask, draws: int) -> Finding:
    return _cumulative(rows, ask, draws, lambda high, low: high - low)


def in_words(rows: ClusteredRows, draws: int) -> str:
    """What the p-value rests on."""
    return (
        f"Clusters are independent, rows of one cluster need not be; the level holds for many clusters, and is not "
        f"exact for few ({rows.clusters:,} here): {draws:,} times a random sign was given to the residuals of each "
        f"cluster, and {draws:,} times labels were drawn from the scores; the larger p-value is reported."
    )


WILD: Mapping[str, Callable[[ClusteredRows, Ask, int], Finding]] = {
    "ks": _ks,
    "kuiper": _kuiper,
    "spiegelhalter": _spiegelhalter,
}
"""Tests of rows in clusters without bins: rows, options and the number of draws."""
