"""Intervals for real models, before and after scaling (the procedure of Sun et al. 2025, Tables 1 and 2)."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from trueness import EqualWidth, ece_interval
from trueness._numerics.pairs import PairSums
from trueness._tally.binned_scores import default_cells
from trueness._tally.rows_or_sums import as_binned
from trueness.errors import TruenessWarning
from trueness.infer.interval._analytic import analytic_region, sums_of_bins, zero_threshold
from trueness.typing import Floats, Ints
from trueness_papers.experiment import SUN, Experiment, Outcome, Picture, Piece, Size, data_file
from trueness_papers.record import Row, Table
from trueness_papers.sun.figures import ZERO, draw_models
from trueness_papers.sun.simulation import LEVEL

__all__ = ["TABLES_1_2"]

_CONFIDENCES, _LOGITS = "top1_confidence.npz", "cifar10_resnet50_logits.npz"
_CLASSES = {"cifar10_resnet50": 10, "imagenet_resnet152": 1000}
_BINS = (10, 20, 40, 80, 160)
_SCALINGS = ("none", "temperature", "vector", "matrix", "matrix, no ridge")
_COLUMNS = ("estimate", "low", "high")

Ends: TypeAlias = dict[str, float | bool | str]


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    tops = (1, 2) if size == "quick" else (1, 2, 3)
    models = [
        Piece(f"confidence-{name}", confidence_intervals, {"name": name, "seed": seed})
        for name in _CLASSES
    ]
    scaled = [
        Piece(
            f"scaled-{_SCALINGS.index(scaling)}-k-{k}",
            scaled_intervals,
            {"scaling": scaling, "k": k, "seed": seed},
        )
        for scaling in _SCALINGS
        for k in tops
    ]
    return models + scaled


def confidence_intervals(name: str, seed: int) -> dict[str, Any]:
    """Intervals from top-1 confidences by number of bins, with and without confidences of 1."""
    data = np.load(data_file(_CONFIDENCES))
    p, y = data[f"{name}_confidence"], data[f"{name}_correct"]
    score = ece_interval(y, p, level=LEVEL, seed=seed)
    result: dict[str, Any] = {"n": p.size, "score": _ends(score), "ones": int((p == 1).sum())}
    rule = default_cells(p.size, 1, None)
    for bins in sorted({*_BINS, rule}):
        result[f"published {bins}"] = _published(y, p, bins, _CLASSES[name], p.size)
        kept = p < 1
        result[f"without ones {bins}"] = _published(y[kept], p[kept], bins, _CLASSES[name], p.size)
    return result


def _published(y: Ints, p: Floats, bins: int, classes: int, n: int) -> Ends:
    """Algorithm 1 for n rows, of which the given ones fall into bins; the published code drops scores of 1."""
    alpha = round(1 - LEVEL, 12)
    sums = sums_of_bins(
        as_binned(y, p, EqualWidth(bins), {}, moments=True, kind="confidence").parts[0]
    )
    region = analytic_region(
        sums.statistic * sums.total / n,
        _variance(sums, n),
        n,
        zero_threshold(n, alpha, bins, classes),
        alpha,
    )
    ends = {"estimate": sums.statistic * sums.total / n, "low": region.low, "high": region.high}
    return {
        **{end: math.sqrt(max(value, 0.0)) for end, value in ends.items()},
        "zero": region.includes_zero,
    }


def _variance(sums: PairSums, n: int) -> float:
    """σ̂₁² with shares N/n that need not sum to 1."""
    w = sums.n / n
    square = (sums.s**2).sum(axis=1) / sums.n**2.0
    within = sums.along / sums.n**3.0 - square**2
    return max(0.0, float(w @ square**2 - (w @ square) ** 2 + 4 * (w @ within)))


def scaled_intervals(scaling: str, k: int, seed: int) -> dict[str, Any]:
    """Intervals on the test rows for a scaling fitted on the validation rows."""
    data = np.load(data_file(_LOGITS))
    y = data["test_labels"].astype(np.int64)
    scores = _scaled(
        scaling, data["val_logits"], data["val_labels"].astype(np.int64), data["test_logits"]
    )
    own = None if k == 1 else k
    result: dict[str, Any] = {"accuracy": float((scores.argmax(axis=1) == y).mean()), "n": y.size}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", TruenessWarning
        )  # with k = 3 many rows are alone in their cell
        result["published"] = _ends(ece_interval(y, scores, k=own, level=LEVEL, method="analytic"))
        result["score"] = _ends(ece_interval(y, scores, k=own, level=LEVEL, seed=seed))
        result["bins"] = ece_interval(y, scores, k=own, level=LEVEL, method="analytic").bins
    return result


def _scaled(scaling: str, logits: Floats, y: Ints, test: Floats) -> Floats:
    if scaling == "none":
        shifted = np.exp(test.astype(np.float64) - test.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
    from trueness.recalibrate import MatrixScaling, TemperatureScaling, VectorScaling

    maps: dict[str, Any] = {
        "temperature": TemperatureScaling(from_logits=True),
        "vector": VectorScaling(from_logits=True),
        "matrix": MatrixScaling(from_logits=True),
        "matrix, no ridge": MatrixScaling(from_logits=True, l2=1e-6),
    }
    return np.asarray(
        maps[scaling].fit(logits.astype(np.float64), y).predict(test.astype(np.float64))
    )


def _ends(interval: Any) -> Ends:
    return {
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "zero": bool(interval.includes_zero),
    }


def _rows(labels: tuple[str, ...], ends: Ends) -> list[Row]:
    """Estimate and ends. A note says whether zero is included: it may be an isolated point, or an excluded end."""
    return [
        Row((*labels, end), float(ends[end]), note=ZERO if ends["zero"] else "") for end in _COLUMNS
    ]


def _scaled_table(results: Mapping[str, Any]) -> Table:
    rows = []
    for key, found in results.items():
        if key.startswith("scaled"):
            _, index, _, k = key.split("-")
            for method in ("published", "score"):
                rows += _rows((k, _SCALINGS[int(index)], method), found[method])
    rows.sort(key=lambda row: row.labels[0])
    note = (
        "CIFAR-10, ResNet-50: 5,000 validation rows for the scaling, 10,000 test rows for the interval, level 0.9, l2 "
        "error (not squared). The published interval uses the bins of the rule, `score` its own."
    )
    headings = ("k", "scaling", "interval", "l2 error")
    return Table(
        "Logits, before and after scaling",
        "",
        headings,
        tuple(rows),
        digits=4,
        note=note,
        across="l2 error",
    )


def _confidence_table(results: Mapping[str, Any]) -> Table:
    rows = []
    for name, classes in _CLASSES.items():
        found = results[f"confidence-{name}"]
        rows += _rows((name, "score", "own"), found["score"])
        for key, ends in found.items():
            kind, _, bins = key.rpartition(" ")
            if kind == "published" or (kind == "without ones" and found["ones"]):
                rule = " (the rule)" if int(bins) == default_cells(found["n"], 1, classes) else ""
                words = "published" if kind == "published" else "published code: drops 1"
                rows += _rows((name, words, f"{bins}{rule}"), ends)
    note = "Top-1 confidence against correctness, k = 1, level 0.9, l2 error (not squared)."
    headings = ("model", "interval", "bins", "l2 error")
    return Table("Confidences", "", headings, tuple(rows), digits=5, note=note, across="l2 error")


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # fewer k, otherwise the same
    scaled, confidences = _scaled_table(results), _confidence_table(results)
    ones = {name: results[f"confidence-{name}"]["ones"] for name in _CLASSES}
    accuracy = {
        _SCALINGS[int(key.split("-")[1])]: found["accuracy"]
        for key, found in results.items()
        if key.startswith("scaled") and key.endswith("k-1")
    }
    remarks = (
        "Accuracy on the test rows: "
        + "; ".join(f"{name} {value:.4f}" for name, value in accuracy.items())
        + ".",
        "Confidences equal to 1: "
        + "; ".join(f"{name} {count:,}" for name, count in ones.items())
        + ". The published "
        "code puts them in no bin but counts them in n; Algorithm 1 and this library put them in the last bin.",
        "Tables 1 and 2 have other networks (DenseNet40, ResNet110, WideResNet-28-10), so their numbers are not "
        "comparable with these; `sun-printed-tables` checks them against Algorithm 1.",
    )
    picture = Picture(
        "scaled",
        "Intervals at level 0.9 before and after scaling; a ring: the set includes zero.",
        lambda: draw_models(scaled.rows),
    )
    return Outcome((scaled, confidences), (picture,), remarks)


TABLES_1_2 = Experiment(
    name="sun-tables-1-2",
    paper=SUN,
    covers="Tables 1 and 2 (procedure)",
    title="real models before and after scaling",
    pieces=_pieces,
    assemble=_assemble,
    minutes=0.2,
    needs=(_CONFIDENCES, _LOGITS),
)
