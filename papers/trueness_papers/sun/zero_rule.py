"""The published rule for zero: its true level and its assumed variance (Sun et al. 2025, (8) and (10))."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueness import EqualWidth, calibration_test
from trueness._numerics.pairs import null_variance
from trueness._numerics.proportions import clopper_pearson
from trueness._tally.rows_or_sums import as_binned
from trueness.errors import TruenessWarning
from trueness.infer.interval._analytic import sums_of_bins, zero_threshold
from trueness.measure import squared_ece
from trueness.simulate import Beta, binary, multiclass
from trueness_papers.experiment import SUN, Experiment, Outcome, Piece, Size
from trueness_papers.record import Row, Table

__all__ = ["ZERO_RULE"]

_ALPHA = 0.1
_LAWS = {
    "uniform": (1.0, 1.0),
    "Beta(5, 0.5)": (5.0, 0.5),
    "Beta(12, 0.25)": (12.0, 0.25),
    "Beta(50, 1)": (50.0, 1.0),
}
_RARE = {"Beta(0.3, 60)": (0.3, 60.0)}
_ROWS_AND_BINS = {50: (5, 10), 100: (6, 20), 1000: (16, 50)}
"""By the rule n^0.4, and as in the paper; 10 for 50 rows."""
_QUICK = (
    ("uniform", 50, 10),
    ("uniform", 100, 20),
    ("Beta(50, 1)", 100, 20),
    ("Beta(0.3, 60)", 100, 6),
)
_SEVERAL = (
    (3, 8, 5000),
    (3, 16, 5000),
    (3, 32, 5000),
    (10, 10, 100),
    (10, 20, 1000),
    (10, 20, 20_000),
)
"""Classes, cells per axis and rows, for k = 2."""
_KNOWN = {(3, 8, "reachable"): 1.36, (3, 8, "published"): 1.19}


def _pieces(size: Size, seed: int) -> Sequence[Piece]:
    runs, exact, several = (6000, 600, 3000) if size == "full" else (1000, 100, 300)
    laws = {**_LAWS, **_RARE}
    cases = [(law, n, b) for law in laws for n, bins in _ROWS_AND_BINS.items() for b in bins]
    one = [
        Piece(
            f"one-{i:02d}",
            level_of_zero,
            {
                "law": laws[law],
                "n": n,
                "bins": b,
                "runs": runs,
                "exact_runs": exact,
                "seed": [seed, 1, i],
            },
        )
        for i, (law, n, b) in enumerate(cases)
        if size == "full" or (law, n, b) in _QUICK
    ]
    two = [
        Piece(
            f"two-{i:02d}",
            spread_of_two,
            {"classes": k, "cells": m, "n": n, "runs": several, "seed": [seed, 2, i]},
        )
        for i, (k, m, n) in enumerate(_SEVERAL)
        if size == "full" or i in (0, 3)
    ]
    return one + two


def level_of_zero(
    law: Sequence[float], n: int, bins: int, runs: int, exact_runs: int, seed: Sequence[int]
) -> dict[str, float]:
    """How often a calibrated P(positive) is rejected, by the published rule and by the exact test in the same bins."""
    rng = np.random.default_rng(seed)
    statistics, rejected, away = np.empty(runs), 0, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruenessWarning)  # with rare events all labels may be equal
        for run in range(runs):
            y, p = (data := binary(n, scores=Beta(*law), seed=rng)).y_true, data.y_prob
            statistics[run] = calibration_test(y, p, method="analytic", bins=bins).statistic
            if run < exact_runs:
                found = calibration_test(y, p, method="exact", bins=bins, resamples=199, seed=rng)
                rejected += found.pvalue <= _ALPHA + 1e-9
                away += sums_of_bins(
                    as_binned(y, p, EqualWidth(bins), {}, moments=True).parts[0]
                ).variance
    unit = (
        math.sqrt(bins * null_variance(None)) / n
    )  # the statistic is T divided by its assumed standard deviation
    threshold = zero_threshold(n, _ALPHA, bins, None) / unit
    return {
        "published": int((statistics >= threshold).sum()),
        "runs": runs,
        "exact": int(rejected),
        "exact runs": exact_runs,
        "spread": float(statistics.std()),
        "away": away / exact_runs / (n * unit**2 * float(statistics.var())),
    }


def spread_of_two(
    classes: int, cells: int, n: int, runs: int, seed: Sequence[int]
) -> dict[str, float]:
    """Standard deviation of T with k = 2 for calibrated scores, uniform on the simplex."""
    rng = np.random.default_rng(seed)
    found = np.empty(runs)
    for run in range(runs):
        data = multiclass(n, classes, seed=rng)
        found[run] = squared_ece(data.y_true, data.y_prob, k=2, bins=cells)
    levels = {
        support: int((found >= zero_threshold(n, _ALPHA, cells, classes, 2, support)).sum())
        for support in ("published", "reachable")
    }
    return {"spread": float(found.std()) * n / cells, "runs": runs, **levels}


def _case(index: int) -> tuple[str, int, int]:
    laws = {**_LAWS, **_RARE}
    cases = [(law, n, b) for law in laws for n, bins in _ROWS_AND_BINS.items() for b in bins]
    return cases[index]


def _levels(results: Mapping[str, Any]) -> Table:
    rows = []
    for key, found in results.items():
        kind, index = key.split("-")
        if kind != "one":
            continue
        law, n, bins = _case(int(index))
        for name, hits, runs in (
            ("published rule", "published", "runs"),
            ("exact test", "exact", "exact runs"),
        ):
            low, high = clopper_pearson(found[hits], found[runs], 0.95)
            labels = (law, f"{n:,}", str(bins), name)
            rows.append(Row(labels, found[hits] / found[runs], low=float(low), high=float(high)))
        rows.append(Row((law, f"{n:,}", str(bins), "sd / σ₀"), found["spread"]))
        rows.append(Row((law, f"{n:,}", str(bins), "mean σ̂₁² / variance"), found["away"]))
    note = (
        "Labels are drawn from the scores, P(positive) in bins of equal width. The exact test decides whether the "
        "score interval includes zero; σ₀ is the standard deviation that the published rule assumes. σ̂₁² of (7) is "
        "meant for miscalibrated scores: the last column shows how far off it is for calibrated ones."
    )
    headings = ("scores", "rows", "bins", "rejected at 0.1")
    title = "Calibrated scores: how often zero is excluded"
    return Table(title, "", headings, tuple(rows), digits=3, note=note, across=headings[-1])


def _spreads(results: Mapping[str, Any]) -> Table:
    rows = []
    for key, found in results.items():
        kind, index = key.split("-")
        if kind != "two":
            continue
        classes, cells, n = _SEVERAL[int(index)]
        for support in ("published", "reachable"):
            ratio = found["spread"] / math.sqrt(null_variance(classes, 2, support))
            # Standard error of the standard deviation of nearly normal numbers.
            error = 1.96 * ratio / math.sqrt(2 * found["runs"])
            labels = (str(classes), str(cells), f"{n:,}", support)
            known = _KNOWN.get((classes, cells, support))
            level = f"rejected at 0.1: {found[support] / found['runs']:.3f}"
            rows.append(Row(labels, ratio, known, ratio - error, ratio + error, note=level))
    headings = ("classes", "cells per axis", "rows", "support of σ₀")
    note = "Two of 3 or 10 uniform scores, k = 2. The ratio should be 1; σ₀ is a limit of many cells with many rows each."
    source = "not published: simulated beforehand, number of rows not recorded"
    title = "Standard deviation of T, calibrated, in units of the σ₀ of (10)"
    return Table(title, source, headings, tuple(rows), 0.006, 3, note, against="reference")


def _assemble(results: Mapping[str, Any], size: Size) -> Outcome:  # noqa: ARG001  # the pieces know their sizes
    levels, spreads = _levels(results), _spreads(results)
    published = {row.labels: row.ours for row in levels.rows if row.labels[-1] == "published rule"}
    exact = [row.ours for row in levels.rows if row.labels[-1] == "exact test"]
    most, least = (
        max(published, key=published.__getitem__),
        min(published, key=published.__getitem__),
    )
    remark = (
        "At nominal 0.1 the published rule rejects calibrated scores in "
        f"{published[least]:.3f} ({least[0]}, {least[1]} rows, {least[2]} bins) to {published[most]:.3f} ({most[0]}, "
        f"{most[1]} rows, {most[2]} bins) of the data sets, the exact test in {min(exact):.3f} to {max(exact):.3f}."
    )
    return Outcome((levels, spreads), remarks=(remark,))


ZERO_RULE = Experiment(
    name="sun-zero-rule",
    paper=SUN,
    covers="Equations (8) and (10)",
    title="true level and assumed variance of the rule for zero",
    pieces=_pieces,
    assemble=_assemble,
    minutes=3,
)
