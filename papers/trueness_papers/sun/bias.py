"""The bias of the debiased estimate beside that of T-Cal's statistic (Sun et al. 2025, Remark B.8)."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from trueness._numerics.pairs import pair_sums
from trueness._tally.binned_scores import of_matrix
from trueness._tally.rows_or_sums import as_sample
from trueness.infer.test._pair_tests import PairStatistic
from trueness.typing import Floats
from trueness_papers.experiment import SUN, Experiment, Outcome, Piece, Size
from trueness_papers.record import Row, Table
from trueness_papers.sun.simulation import SETTINGS, SHAPES, simulate_run, true_squared_error

__all__ = ["REMARK_B8", "ExpectedStatistics", "expected_statistics", "true_with_intercept"]

_NODES = 200


class ExpectedStatistics(NamedTuple):
    """Means over data sets; all are squared errors."""

    true: float
    """Without binning."""
    binned: float
    """With bins, in the limit of many rows."""
    estimate: float
    """Mean of T, to which rows alone in their bin contribute nothing."""
    t_cal: float
    """Mean of T-Cal's statistic, which divides by N, not by N − 1."""


def expected_statistics(setting: int, beta: float, n: int, cells: int) -> ExpectedStatistics:
    r"""Exact means of the estimate T and of T-Cal's statistic in settings 1 and 2, up to one integral per bin.

    Notes
    -----
    The residuals of the N rows of a bin are independent with mean δ, so the sum of products over the N (N − 1) ordered
    pairs has mean N (N − 1) δ², where N is binomial (n, p). Hence

    .. math:: \mathrm{E}\, T = \sum_b p_b \delta_b^2 \left(1 - (1 - p_b)^{n-1}\right), \qquad
        \mathrm{E}\, T_{\mathrm{T\text{-}Cal}} = \sum_b \delta_b^2 \left(p_b - \frac{1 - (1 - p_b)^n}{n}\right) .
    """
    # The larger of two scores is at least 1/2; with an odd number of cells, the cell that contains 1/2 starts there.
    edges = np.unique(np.append(np.arange(-(-cells // 2), cells + 1) / cells, 0.5))
    p, shift, true = np.transpose(
        [_moments(setting, beta, low, high) for low, high in pairwise(edges)]
    )
    square = (shift / p) ** 2
    alone = (1 - p) ** (n - 1)
    return ExpectedStatistics(
        float(true.sum()),
        float(p @ square),
        float(p * (1 - alone) @ square),
        float((p - (1 - (1 - p) ** n) / n) @ square),
    )


def true_with_intercept(setting: int, beta: float, intercept: float) -> float:
    """Squared error of the larger score if the log-odds of the first class have this intercept.

    The larger score belongs to the first class in half of the rows and to the second in the other half, where the
    intercept has the opposite sign.
    """
    return _moments(setting, beta, 0.5, 1.0, intercept)[2]


def _moments(
    setting: int, beta: float, low: float, high: float, intercept: float = 0.0
) -> tuple[float, float, float]:
    """P(bin), E[(truth − score) 1{bin}] and E[(truth − score)² 1{bin}] of the larger score."""
    a, b = SHAPES[setting]
    # The density has a pole at 1; substituting 1 − c = t² makes it smooth.
    x, weight = _gauss()
    begin, end = np.sqrt(1 - high), np.sqrt(1 - low)
    t = begin + (end - begin) * (x + 1) / 2
    c = 1 - t * t
    constant = special.beta(a, b)
    density = (c ** (a - 1) * t ** (2 * b - 1) + t ** (2 * a - 1) * c ** (b - 1)) * 2 / constant
    mass = weight * (end - begin) / 2 * density
    odds = beta * (np.log(c) - 2 * np.log(t))
    gap = (special.expit(odds + intercept) + special.expit(odds - intercept)) / 2 - c
    return float(mass.sum()), float(mass @ gap), float(mass @ gap**2)


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Nodes and weights on [−1, 1]; slow to compute, so they are kept."""
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    return x, weight


# -------------------------------------------------------------------------------------- experiment

_STATISTICS = ("T", "T-Cal")
_INDICES = {1: (0, 5, 10, 15), 2: (0, 5, 10, 15), 3: (8, 20)}
"""Indices of β. Calibrated settings are left out: both statistics then have mean zero."""


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    runs = {100: 10_000, 1000: 5000} if size == "full" else {100: 400, 1000: 120}
    return [
        Piece(
            f"setting-{setting}-n-{n}-beta-{index:02d}",
            means,
            {"setting": setting, "n": n, "index": index, "runs": runs[n], "seed": seed},
        )
        for setting, indices in _INDICES.items()
        for n in SETTINGS[setting].cells
        for index in (indices if size == "full" else indices[1:3])
    ]


def means(setting: int, n: int, index: int, runs: int, seed: int) -> dict[str, float]:
    """Means of both statistics with standard errors; numbers of single rows and of filled cells, per row."""
    law = SETTINGS[setting]
    found, alone, filled = np.empty((runs, 2)), 0, 0
    for run in range(runs):
        data = simulate_run(seed, setting, n, index, run)
        scores = of_matrix(
            as_sample(data.y_true, data.y_prob, {}, kind="confidence"), law.k, law.cells[n]
        )
        sums = pair_sums(scores.z, scores.count, scores.hits, scores.first)
        (t_cal,) = PairStatistic(scores.z, scores.count, scores.first, "rows")(
            list(scores.hits.T[:, :, np.newaxis])
        )
        found[run] = sums.statistic, t_cal
        alone += int((sums.n == 1).sum())
        filled += sums.n.size
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(runs)
    named = {name: float(value) for name, value in zip(_STATISTICS, mean, strict=True)}
    errors = {f"{name} error": float(value) for name, value in zip(_STATISTICS, error, strict=True)}
    return {**named, **errors, "alone": alone / (runs * n), "filled": filled / (runs * n)}


def _case(key: str) -> tuple[int, int, float]:
    _, setting, _, n, _, index = key.split("-")
    return int(setting), int(n), SETTINGS[int(setting)].betas[int(index)]


def _exact(setting: int, n: int, beta: float, alone: float, filled: float) -> dict[str, float]:
    """Exact means of the statistics, and the errors they estimate."""
    if setting < 3:
        found = expected_statistics(setting, beta, n, SETTINGS[setting].cells[n])
        return {
            "true": found.true,
            "binned": found.binned,
            "T": found.estimate,
            "T-Cal": found.t_cal,
        }
    # Every cell has the same error, so binning loses nothing; T loses rows that are alone, T-Cal one row per cell.
    true = true_squared_error(setting, beta)
    return {"true": true, "binned": true, "T": true * (1 - alone), "T-Cal": true * (1 - filled)}


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know their sizes
    compared, biases, worst = [], [], {"T": 0.0, "T-Cal": 0.0}
    for key, found in results.items():
        setting, n, beta = _case(key)
        exact = _exact(setting, n, beta, found["alone"], found["filled"])
        labels = (str(setting), f"{n:,}", f"{beta:g}")
        for name in _STATISTICS:
            value, error = found[name], 1.96 * found[f"{name} error"]
            compared.append(Row((*labels, name), value, exact[name], value - error, value + error))
            bias = exact[name] / exact["true"] - 1
            worst[name] = min(worst[name], bias)
            biases.append(Row((*labels, f"{name}, bias in %"), 100 * bias))
        biases += [
            Row((*labels, "by binning alone, %"), 100 * (exact["binned"] / exact["true"] - 1)),
            Row((*labels, "rows alone in a cell, %"), 100 * found["alone"]),
        ]
    headings = ("setting", "rows", "β", "statistic")
    source = "closed form; in setting 3 given the numbers of single rows and filled cells"
    first = Table(
        "Mean of the statistics",
        source,
        headings,
        tuple(compared),
        1e-9,
        6,
        "Squared errors.",
        against="exact",
    )
    second = Table("Relative bias", "", headings, tuple(biases), digits=2, across="statistic")
    remark = (
        f"T divides by N − 1 and is too low by at most {-100 * worst['T']:.1f} % here, because of binning and of rows "
        f"alone in their cell. T-Cal's statistic divides by N and is too low by up to {-100 * worst['T-Cal']:.1f} %; "
        "the level of the test is not affected, since its null distribution is drawn with the same divisor."
    )
    return Outcome((first, second), remarks=(remark,))


REMARK_B8 = Experiment(
    name="sun-remark-b8",
    paper=SUN,
    covers="Remark B.8",
    title="the bias of the estimate and of T-Cal's statistic",
    pieces=_pieces,
    assemble=_assemble,
    minutes=3,
)
