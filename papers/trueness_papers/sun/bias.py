"""The bias of the debiased estimate beside that of T-Cal's statistic (Sun et al. 2025, Remark B.8)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueness._numerics.pairs import pair_sums
from trueness._tally.binned_scores import of_matrix
from trueness._tally.rows_or_sums import as_sample
from trueness.infer._exact import PairStatistic
from trueness_papers.experiment import SUN, Experiment, Outcome, Piece, Size
from trueness_papers.record import Row, Table
from trueness_papers.sun.expected import expected
from trueness_papers.sun.settings import SETTINGS, drawn, true_error

__all__ = ["REMARK_B8"]

_STATISTICS = ("T", "T-Cal")
_INDICES = {1: (0, 5, 10, 15), 2: (0, 5, 10, 15), 3: (8, 20)}
"""Of the 21 values of β; where the scores are calibrated both statistics have mean zero."""


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
    """Means over data sets of both statistics, with standard errors, rows alone in their cell and cells with rows."""
    law = SETTINGS[setting]
    found, alone, filled = np.empty((runs, 2)), 0, 0
    for run in range(runs):
        data = drawn(seed, setting, n, index, run)
        scores = of_matrix(as_sample(data.y_true, data.y_prob, {}, kind="confidence"), law.k, law.cells[n])
        sums = pair_sums(scores.z, scores.count, scores.hits, scores.first)
        (t_cal,) = PairStatistic(scores.z, scores.count, scores.first, "rows")(list(scores.hits.T[:, :, np.newaxis]))
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
    """Means of the statistics, and what they aim at."""
    if setting < 3:
        found = expected(setting, beta, n, SETTINGS[setting].cells[n])
        return {"true": found.true, "binned": found.binned, "T": found.estimate, "T-Cal": found.t_cal}
    # Every cell has the same error, so bins lose nothing; T loses the rows that are alone, T-Cal one of a cell.
    true = true_error(setting, beta)
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
    source = "closed form; in setting 3 given how many rows were alone and how many cells filled"
    first = Table(
        "Mean of the statistics", source, headings, tuple(compared), 1e-9, 6, "Squared errors.", against="exact"
    )
    second = Table("Relative bias", "", headings, tuple(biases), digits=2, across="statistic")
    remark = (
        f"T divides by N − 1 and is low by at most {-100 * worst['T']:.1f} % here: by what bins cannot show, and by "
        f"rows that are alone. T-Cal's statistic divides by N and is low by up to {-100 * worst['T-Cal']:.1f} %; as a "
        "test it is compared with labels drawn from the scores, so that this costs it no level."
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
