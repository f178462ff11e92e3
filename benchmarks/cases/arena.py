"""Every map on real models: what it does to the Brier score and the log loss of rows that were held out.

The scores are those of ``arena.npz`` in the folder that TRUENESS_DATA names (seven kinds of models on 15 data sets,
with rows to fit a map on and rows to judge it by); ``arena_peers.json`` has a peer library's losses on the same rows.
The Brier score is summed over classes; the log loss takes probabilities of at least 1e-15.
"""

import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmark import Page, case

import trueness as tn

RESAMPLES = 1_000
SCORES = ("Brier score", "log loss")
DEFAULT = "AutoCalibration"

VECTOR: dict[str, Callable[[], Any]] = {
    "AutoCalibration": tn.AutoCalibration,
    "PlattScaling": tn.PlattScaling,
    "PlattScaling, ridge 1": lambda: tn.PlattScaling(ridge=1),
    "BetaCalibration": tn.BetaCalibration,
    "BetaCalibration, ridge 1": lambda: tn.BetaCalibration(ridge=1),
    "QuadraticScaling": tn.recalibrate.QuadraticScaling,
    "QuadraticScaling, signed": lambda: tn.recalibrate.QuadraticScaling(signed=True),
    "SplineCalibration": tn.SplineCalibration,
    "TemperatureScaling": tn.TemperatureScaling,
    "IsotonicCalibration": tn.IsotonicCalibration,
    "IsotonicCalibration, centred, prior 1": lambda: tn.IsotonicCalibration(
        interpolation="centred", prior=1
    ),
    "HistogramBinning": lambda: tn.HistogramBinning(seed=0),
    "VennAbers": tn.VennAbers,
}
MATRIX: dict[str, Callable[[], Any]] = {
    "AutoCalibration": tn.AutoCalibration,
    "StructuredScaling, matrix": tn.recalibrate.StructuredScaling,
    "StructuredScaling, vector": lambda: tn.recalibrate.StructuredScaling(structure="vector"),
    "TemperatureScaling": tn.TemperatureScaling,
    "EnsembleTemperatureScaling": tn.recalibrate.EnsembleTemperatureScaling,
    "VectorScaling": tn.recalibrate.VectorScaling,
    "MatrixScaling": tn.recalibrate.MatrixScaling,
    "DirichletCalibration": tn.recalibrate.DirichletCalibration,
    "OneVsRest(BetaCalibration)": lambda: tn.OneVsRest(tn.BetaCalibration()),
    "OneVsRest(AutoCalibration)": lambda: tn.OneVsRest(tn.AutoCalibration()),
}


class Experiment(NamedTuple):
    """Scores and labels to fit on and to judge by."""

    name: str
    fit_scores: np.ndarray
    fit_labels: np.ndarray
    scores: np.ndarray
    labels: np.ndarray

    @property
    def data_set(self) -> str:
        return self.name.split(".")[0]


def experiments(file: Path) -> list[Experiment]:
    """All of them."""
    with np.load(file) as arrays:
        names = [name.removesuffix(".pt") for name in arrays.files if name.endswith(".pt")]
        parts = {
            name: [arrays[f"{name}.{part}"] for part in ("pc", "yc", "pt", "yt")] for name in names
        }
    return [
        Experiment(
            name,
            pc.astype(np.float64),
            yc.astype(np.int64),
            pt.astype(np.float64),
            yt.astype(np.int64),
        )
        for name, (pc, yc, pt, yt) in parts.items()
    ]


def losses(p: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Brier score, summed over classes, and log loss."""
    P = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    own = P[np.arange(y.size), y]
    brier = float(np.mean((P * P).sum(axis=1) - 2 * own + 1))
    return brier, float(-np.mean(np.log(np.clip(own, 1e-15, None))))


def judge(
    every: list[Experiment], maps: dict[str, Callable[[], Any]]
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Losses of each map in each experiment, and CPU seconds per experiment."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in maps}
    seconds = dict.fromkeys(maps, 0.0)
    for one in every:
        for name, make in maps.items():
            begin = time.process_time()
            after = make().fit(one.fit_scores, one.fit_labels).predict(one.scores)
            seconds[name] += time.process_time() - begin
            found[name].append(losses(np.asarray(after), one.labels))
    return {name: np.array(rows) for name, rows in found.items()}, {
        n: s / len(every) for n, s in seconds.items()
    }


def win_rates(loss: dict[str, np.ndarray], column: int) -> dict[str, np.ndarray]:
    """For each map and experiment, the share of the other maps that it beats; ties count half."""
    table = np.stack([one[:, column] for one in loss.values()])
    rates = {}
    for i, name in enumerate(loss):
        others = np.delete(table, i, axis=0)
        tie = np.abs(table[i] - others) <= 1e-12
        rates[name] = np.mean(np.where(tie, 0.5, table[i] < others), axis=0)
    return rates


def by_data_set(every: list[Experiment], values: np.ndarray) -> tuple[float, float, float]:
    """Mean of values of experiments, with 95 % limits by resampling data sets."""
    names = np.array([one.data_set for one in every])
    sets = np.unique(names)
    sums = np.array([[values[names == name].sum(), (names == name).sum()] for name in sets])
    draws = np.random.default_rng(0).integers(0, sets.size, (RESAMPLES, sets.size))
    drawn = sums[draws].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def table(
    page: Page,
    title: str,
    every: list[Experiment],
    maps: dict[str, Callable[[], Any]],
    peers: dict[str, Any],
) -> None:
    """Judge one kind of scores, and check the bars of the default map."""
    loss, seconds = judge(every, maps)
    raw = np.array([peers[one.name]["raw"] for one in every])
    names = sorted(set.intersection(*(set(peers[one.name]) for one in every)) - {"raw"})
    loss |= {"the scores as they are": raw} | {
        n: np.array([peers[one.name][n] for one in every]) for n in names
    }
    for column, score in enumerate(SCORES):
        page.head(
            "map", "win rate", "worse than raw", "mean gain", "CPU ms", title=f"{title}: {score}"
        )
        wins = win_rates(loss, column)
        gains = {name: 1 - one[:, column] / raw[:, column] for name, one in loss.items()}
        worse = {
            name: (one[:, column] > raw[:, column] + 1e-12).astype(float)
            for name, one in loss.items()
        }
        for name in sorted(loss, key=lambda name: -wins[name].mean()):
            win, low, high = by_data_set(every, wins[name])
            gain, least, most = by_data_set(every, 100 * gains[name])
            cost = f"{1e3 * seconds[name]:.1f}" if name in seconds else ""
            page.row(
                name,
                f"{win:.3f} ({low:.3f} to {high:.3f})",
                f"{100 * worse[name].mean():.0f} %",
                f"{gain:.1f} % ({least:.1f} to {most:.1f})",
                cost,
            )
        _bars(page, f"{title}, {score}", wins, worse, gains, names)


def _bars(page: Page, where: str, wins: Any, worse: Any, gains: Any, peers: list[str]) -> None:
    best = max(wins, key=lambda name: wins[name].mean())
    page.bar(f"{where}: the default map wins most often", best, best == DEFAULT)
    share = float(worse[DEFAULT].mean())
    page.bar(
        f"{where}: worse than the raw scores in at most 10 %", f"{100 * share:.1f} %", share <= 0.1
    )
    most = max(float(gains[name].mean()) for name in peers)
    own = float(gains[DEFAULT].mean())
    page.bar(
        f"{where}: mean gain above the best peer's",
        f"{100 * own:.1f} % and {100 * most:.1f} %",
        own > most,
    )


@case("arena", "every map on the scores of real models, beside a peer's", "3 min")
def arena(page: Page, quick: bool) -> None:
    folder = Path(os.environ.get("TRUENESS_DATA", ""))
    if not os.environ.get("TRUENESS_DATA") or not (folder / "arena.npz").exists():
        page.text("Skipped: TRUENESS_DATA names no folder with arena.npz.")
        return
    every = experiments(folder / "arena.npz")[:: 6 if quick else 1]
    peers = json.loads((folder / "arena_peers.json").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dimensions, title, maps in ((1, "two classes", VECTOR), (2, "several classes", MATRIX)):
            some = [one for one in every if one.scores.ndim == dimensions]
            table(page, f"{len(some)} models, {title}", some, maps, peers)
