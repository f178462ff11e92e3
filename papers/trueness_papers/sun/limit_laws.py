"""The limiting distributions of the estimate with growing numbers of rows (Sun et al. 2025, section 3)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from trueness._numerics.pairs import PairSums, null_variance
from trueness._numerics.proportions import clopper_pearson
from trueness.infer.interval._analytic import analytic_region, zero_threshold
from trueness.typing import Floats
from trueness_papers.experiment import SUN, Experiment, Outcome, Piece, Size
from trueness_papers.record import Row, Table
from trueness_papers.sun.bias import expected_statistics
from trueness_papers.sun.simulation import LEVEL

__all__ = ["LIMIT_LAWS", "limiting_variance", "simulate_estimates"]

_ALPHA = round(1 - LEVEL, 12)
_SLOPES = (1.0, 0.5)
"""Of setting 1: calibrated and over-confident."""
_RUNS = {100: 4000, 1000: 4000, 10_000: 2000, 100_000: 1000}


def _truth(c: Floats, beta: float) -> Floats:
    """P(correct) at the confidence c of setting 1."""
    return np.asarray(special.expit(beta * special.logit(c)))


def limiting_variance(beta: float) -> float:
    """σ₁² of (11) in setting 1 with k = 1, by quadrature: Var δ² + 4 E δ² t (1 − t), with the error δ and truth t."""
    x, weight = np.polynomial.legendre.leggauss(200)
    c, weight = (3 + x) / 4, weight / 2  # uniform on [1/2, 1]
    t = _truth(c, beta)
    square = (t - c) ** 2
    return float(
        weight @ square**2 - (weight @ square) ** 2 + 4 * (weight @ (square * t * (1 - t)))
    )


def cells_for(n: int) -> int:
    """Cells on [0, 1], mK with m = √n: between n^{1/4} and n, as Conditions 3.2 and 3.8 ask for with s = k = 1."""
    return 2 * round(math.sqrt(n))


def simulate_estimates(beta: float, n: int, runs: int, seed: Sequence[int]) -> Floats:
    """T and σ̂₁² of data sets of setting 1, of shape (runs, 2)."""
    rng = np.random.default_rng(seed)
    cells = cells_for(n)
    found = np.empty((runs, 2))
    for run in range(runs):
        c = 0.5 + rng.random(n) / 2
        u = (rng.random(n) < _truth(c, beta)) - c
        cell = (c * cells).astype(np.int64)
        rows = np.bincount(cell, minlength=cells)
        filled = rows > 0
        s, q = (
            np.bincount(cell, values, cells)[filled].astype(np.float64) for values in (u, u * u)
        )
        unused = np.zeros((1, 1))
        sums = PairSums(rows[filled], s[:, np.newaxis], q, s**2 * q, unused, unused)
        found[run] = sums.statistic, sums.variance
    return found


def limit_laws(beta: float, n: int, runs: int, seed: Sequence[int]) -> dict[str, Any]:
    """Standardised moments of T and coverage of Algorithm 1."""
    t, variance = simulate_estimates(beta, n, runs, seed).T
    cells = cells_for(n)
    mean = expected_statistics(1, beta, n, cells)
    threshold = zero_threshold(n, _ALPHA, cells, 2)
    regions = [
        analytic_region(a, b, n, threshold, _ALPHA) for a, b in zip(t, variance, strict=True)
    ]
    if beta == 1:
        z = n * t / math.sqrt(cells * null_variance(2))
        smoothed = exact = sum(bool(region.includes_zero) for region in regions)
        ratio = None
    else:
        z = math.sqrt(n) * (t - mean.estimate) / math.sqrt(limiting_variance(beta))
        smoothed, exact = (
            sum(bool(r.low <= v <= r.high) for r in regions) for v in (mean.estimate, mean.true)
        )
        ratio = float(variance.mean()) / limiting_variance(beta)
    moments = {
        "mean": float(z.mean()),
        "sd": float(z.std()),
        "tail": int((z > special.ndtri(LEVEL)).sum()),
    }
    return {**moments, "ratio": ratio, "smoothed": smoothed, "exact": exact, "runs": runs}


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    runs = _RUNS if size == "full" else {100: 400, 1000: 200}
    return [
        Piece(
            f"slope-{i}-n-{n}",
            limit_laws,
            {"beta": beta, "n": n, "runs": many, "seed": [seed, i, n]},
        )
        for i, beta in enumerate(_SLOPES)
        for n, many in runs.items()
    ]


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know their sizes
    rows = []
    most = max(int(key.split("-")[-1]) for key in results)
    for key, found in results.items():
        _, index, _, n = key.split("-")
        rows += _measures(_SLOPES[int(index)], int(n), found, compared=int(n) == most)
    note = (
        "Setting 1, k = 1, level 0.9, m = √n. Calibrated: z = n √w T/σ₀ (Theorem 3.3). Otherwise z = √n (T − E T)/σ₁ "
        "(Theorem 3.4), with E T and σ₁ computed by quadrature; mean σ̂₁² / σ₁² tends to 1 (Proposition 3.5), which "
        "gives Corollary 3.6. Coverage: Theorems 3.7 and 3.9. The most rows are compared with the limit, which is in "
        "brackets where it lies outside the 95 % limits of the simulation."
    )
    headings = ("setting 1", "rows", "cells", "measure")
    title = "Limiting distributions and coverage"
    table = Table(title, "the theorems", headings, tuple(rows), 0.0, 3, note, "measure", "limit")
    return Outcome((table,))


def _measures(beta: float, n: int, found: Mapping[str, Any], *, compared: bool) -> list[Row]:
    labels = ("calibrated" if beta == 1 else f"β = {beta:g}", f"{n:,}", str(cells_for(n)))
    runs, mean, sd = found["runs"], found["mean"], found["sd"]
    half = 1.96 / math.sqrt(runs)
    limited = {
        "mean of z": (mean, 0.0, mean - half * sd, mean + half * sd),
        "sd of z": (sd, 1.0, sd * (1 - half / math.sqrt(2)), sd * (1 + half / math.sqrt(2))),
    }
    shares = {
        "share of z above 1.28": "tail",
        "coverage of E T": "smoothed",
        "coverage of ECE²": "exact",
    }
    for words, name in shares.items():
        low, high = clopper_pearson(found[name], runs, 0.95)
        limited[words] = (
            found[name] / runs,
            _ALPHA if name == "tail" else LEVEL,
            float(low),
            float(high),
        )
    rows = [
        Row((*labels, words), value, limit if compared else None, low, high)
        for words, (value, limit, low, high) in limited.items()
    ]
    return rows if beta == 1 else [*rows, Row((*labels, "mean σ̂₁² / σ₁²"), found["ratio"])]


LIMIT_LAWS = Experiment(
    name="sun-limit-laws",
    paper=SUN,
    covers="Theorems 3.3 to 3.9",
    title="the distribution of T and the coverage with more and more rows",
    pieces=_pieces,
    assemble=_assemble,
    minutes=0.5,
)
