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

import numpy as np

from trueness._tally.rules import EqualMass
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer._finding import Ask, Finding
from trueness.infer._null_draws import drawn_pvalue, weighted_sums
from trueness.typing import Floats

__all__ = ["CLUSTERED", "wild_pvalue"]

# Numbers drawn at a time, so that they stay in the processor's cache; but not fewer than so many draws.
_BATCH, _LEAST = 1 << 15, 16


def wild_pvalue(
    statistic: Callable[[Floats], Floats], rows: ClusteredRows, draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The statistic and its p-value, the larger of two: by random signs of the clusters and by independent labels.

    Parameters
    ----------
    statistic : callable
        From residuals of shape (n, draws) to values of shape (draws,), large ones speaking against calibration.
    rows : ClusteredRows
    draws : int
        R, for each of the two: a p-value is (1 + #{drawn ≥ observed}) / (R + 1).
    rng : Generator

    Returns
    -------
    statistic, pvalue : float
        Signs alone make the test valid for many clusters; labels, if rows are in truth independent, for any number.
    """
    u = rows.u
    (observed,) = statistic(u[:, np.newaxis])
    size = max(_LEAST, _BATCH // rows.n)
    pvalues = []
    for residuals in (_signed, _independent):
        batches = [min(size, draws - i) for i in range(0, draws, size)]
        drawn = np.concatenate([statistic(residuals(rows, u, batch, rng)) for batch in batches])
        pvalues.append(float(drawn_pvalue(observed, drawn)))
    return float(observed), max(pvalues)


def _signed(rows: ClusteredRows, u: Floats, draws: int, rng: np.random.Generator) -> Floats:
    signs = 2 * rng.integers(0, 2, (rows.clusters, draws), dtype=np.int8).astype(np.float64) - 1
    return np.asarray(signs[rows.cluster] * u[:, np.newaxis])


def _independent(rows: ClusteredRows, u: Floats, draws: int, rng: np.random.Generator) -> Floats:
    p = rows.p[:, np.newaxis]
    return np.asarray((rng.random((u.size, draws)) < p) - p)


def _exact(rows: ClusteredRows, ask: Ask, draws: int) -> Finding:
    """T without pairs of one cluster."""
    rule = ask.rule or EqualMass(max(5, round(rows.n**0.4)))
    statistic, pvalue = wild_pvalue(rows.residuals(rule).redone, rows, draws, ask.rng)
    said = f"{_words(rows, draws)} No pair of rows of one cluster is counted. Bins: {rule!r}."
    return Finding(statistic, pvalue, said, 1 / (draws + 1))


def _spiegelhalter(rows: ClusteredRows, ask: Ask, draws: int) -> Finding:
    slope = 1 - 2 * rows.p
    spread = float(np.sqrt((slope**2 * rows.p * (1 - rows.p)).sum()))
    excess, pvalue = wild_pvalue(lambda u: np.abs(weighted_sums(u.T, slope)), rows, draws, ask.rng)
    signed = float(np.copysign(excess, rows.u @ slope))
    z = signed / spread if spread > 0 else (0.0 if excess == 0 else float(np.copysign(np.inf, signed)))
    return Finding(
        z,
        pvalue,
        f"{_words(rows, draws)} Two-sided; z is divided by the deviation that independent rows would have, the p-value "
        "is not. Only departures that move the Brier score are seen.",
        1 / (draws + 1),
    )


def _cumulative(rows: ClusteredRows, ask: Ask, draws: int, of: Callable[[Floats, Floats], Floats]) -> Finding:
    order = np.argsort(rows.p, kind="stable")
    last = np.append(np.flatnonzero(np.diff(rows.p[order])), rows.n - 1)

    def statistic(u: Floats) -> Floats:
        path = np.cumsum(u[order], axis=0)[last]
        # The path starts at 0.
        return of(np.maximum(path.max(axis=0), 0), np.minimum(path.min(axis=0), 0)) / rows.n

    observed, pvalue = wild_pvalue(statistic, rows, draws, ask.rng)
    return Finding(observed, pvalue, _words(rows, draws), 1 / (draws + 1))


def _ks(rows: ClusteredRows, ask: Ask, draws: int) -> Finding:
    return _cumulative(rows, ask, draws, lambda high, low: np.maximum(high, -low))


def _kuiper(rows: ClusteredRows, ask: Ask, draws: int) -> Finding:
    return _cumulative(rows, ask, draws, lambda high, low: high - low)


def _words(rows: ClusteredRows, draws: int) -> str:
    return (
        f"Clusters are independent, rows of one cluster need not be; the level holds for many clusters, and is not "
        f"exact for few ({rows.clusters:,} here): {draws:,} times a random sign was given to the residuals of each "
        f"cluster, and {draws:,} times labels were drawn from the scores; the larger p-value is reported."
    )


CLUSTERED: Mapping[str, Callable[[ClusteredRows, Ask, int], Finding]] = {
    "exact": _exact,
    "ks": _ks,
    "kuiper": _kuiper,
    "spiegelhalter": _spiegelhalter,
}
"""The tests that take clusters: rows, options and the number of draws."""
