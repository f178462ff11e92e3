"""Coverage, length and power of intervals for the l2 error (Sun et al. 2025, Figures 3 to 5 and 8 to 10)."""

import math
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from trueness._numerics.proportions import clopper_pearson
from trueness.errors import TruenessWarning
from trueness_papers.experiment import SUN, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.record import Row, Table
from trueness_papers.sun.figures import Point, draw_coverage, draw_length, draw_power
from trueness_papers.sun.intervals import CORRECTED, PUBLISHED, Verdict, judge_methods
from trueness_papers.sun.simulation import LEVEL, SETTINGS, generator_for, simulate_run, true_squared_error

__all__ = ["FIGURES_3_4_5", "FIGURES_8_9_10"]

_ORDER = ("score", "analytic", "analytic, reachable", "bootstrap", "centred bootstrap", "subsampling", "Politis-Romano")
_METHODS = (*_ORDER, "adaptive HulC", "HulC", "T-Cal")
assert set(_METHODS) == {*PUBLISHED, *CORRECTED}

_RUNS: dict[int, dict[Size, tuple[int, int]]] = {
    100: {"full": (1000, 1000), "quick": (50, 50)},
    1000: {"full": (1000, 200), "quick": (30, 10)},
}
"""Data sets per β, and how many of them are bootstrapped, by number of rows and size of the run."""
_QUICK: dict[int, dict[int, tuple[int, ...]]] = {
    100: {1: (0, 10, 20), 2: (0, 8, 20), 3: (0, 14, 20)},
    1000: {1: (0, 20), 2: (0, 20), 3: (0, 20)},
}


class Reference(NamedTuple):
    """A result of the published procedure, simulated beforehand with 20,000 data sets."""

    setting: int
    beta: float
    what: str
    value: float


def _references(n: int) -> list[Reference]:
    if n != 100:
        return []
    known = {
        ("coverage", 1): {0: 0.889, 0.25: 0.878, 0.5: 0.960, 0.9: 0.965, 1: 0.880},
        ("coverage", 2): {0: 0.884, 0.25: 0.875, 0.4: 0.859, 0.7: 0.956, 1: 0.907},
        ("coverage", 3): {0: 0.976, 0.03: 0.955, 0.07: 0.949, 0.1: 0.924},
        ("length", 1): {0: 0.098, 0.25: 0.065, 0.5: 0.039, 1: 0.020},
        ("length", 2): {0.4: 0.045},
        ("length", 3): {0.1: 0.049},
        ("power", 1): {0: 1.00, 0.25: 0.89, 0.5: 0.46, 1: 0.12},
        ("power", 2): {0.4: 0.74},
        ("power", 3): {0.1: 0.32},
    }
    return [Reference(s, b, what, v) for (what, s), values in known.items() for b, v in values.items()]


def _pieces(size: Size, seed: int, *, n: int) -> Sequence[Piece]:
    runs, slow = _RUNS[n][size]
    return [
        Piece(
            f"setting-{setting}-beta-{index:02d}",
            simulate_coverage,
            {"setting": setting, "n": n, "index": index, "runs": runs, "slow_runs": slow, "seed": seed},
        )
        for setting, law in SETTINGS.items()
        for index in (tuple(range(len(law.betas))) if size == "full" else _QUICK[n][setting])
    ]


def simulate_coverage(
    setting: int, n: int, index: int, runs: int, slow_runs: int, seed: int
) -> dict[str, dict[str, float]]:
    """Counts and sums of lengths, by method, over the data sets of one β."""
    truth = true_squared_error(setting, SETTINGS[setting].betas[index])
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruenessWarning)  # in setting 3 most rows are alone in their cell, as published
        for run in range(runs):
            draws = partial(generator_for, seed, setting, n, index, run)
            data = simulate_run(seed, setting, n, index, run)
            for name, one in judge_methods(data, setting, truth, draws, slow=run < slow_runs):
                _add(sums[name], one)
    return {name: dict(found) for name, found in sums.items()}


def _add(sums: dict[str, float], one: Verdict) -> None:
    sums["runs"] += 1
    sums["power"] += one.power
    if one.covers is not None and one.length is not None and one.above_zero is not None:
        sums["covers"] += one.covers
        sums["length"] += one.length
        sums["squares"] += one.length**2
        sums["above zero"] += one.above_zero


def _points(results: Mapping[str, Any]) -> list[Point]:
    """The points of the figures, in the order of the tables."""
    points = []
    for key, found in results.items():
        _, number, _, index = key.split("-")
        law = SETTINGS[int(number)]
        beta = law.betas[int(index)]
        error = math.sqrt(true_squared_error(law.number, beta))
        points += [_point(law.number, beta, error, name, found[name]) for name in _METHODS if name in found]
    return points


def _point(setting: int, beta: float, error: float, method: str, sums: Mapping[str, float]) -> Point:
    runs = int(sums["runs"])
    coverage = length = spread = above = None
    if "covers" in sums:
        coverage, length, above = (sums[name] / runs for name in ("covers", "length", "above zero"))
        spread = math.sqrt(max(0.0, sums["squares"] / runs - length**2) / max(1, runs - 1))
    return Point(setting, beta, error, method, runs, coverage, sums["power"] / runs, length, spread, above)


def limits(point: Point, what: str) -> tuple[float, float, float]:
    """A value with its 95 % limits: Clopper-Pearson for shares, ±1.96 standard errors for lengths."""
    value = getattr(point, what)
    if what == "length":
        assert point.spread is not None
        return value, value - 1.96 * point.spread, value + 1.96 * point.spread
    low, high = clopper_pearson(round(value * point.runs), point.runs, 0.95)
    return value, float(low), float(high)


def _wide_table(points: Sequence[Point], what: str, title: str, digits: int, note: str) -> Table:
    rows = []
    for point in points:
        if getattr(point, what) is not None:
            labels = (str(point.setting), f"{point.beta:g}", f"{point.error:.4f}", point.method)
            rows.append(Row(labels, getattr(point, what)))  # the figures have the limits
    headings = ("setting", "β", "l2 error", "method")
    return Table(title, "", headings, tuple(rows), digits=digits, note=note, across="method")


_SLACK = {"coverage": 0.005, "length": 0.0006, "power": 0.01}
"""Two standard errors of the reference, which has 20,000 runs, plus its rounding."""


def _reference_tables(points: Sequence[Point], n: int) -> list[Table]:
    by = {(p.setting, p.beta): p for p in points if p.method == "analytic"}
    known = [(one, by[one.setting, one.beta]) for one in _references(n) if (one.setting, one.beta) in by]
    source = "not published (the paper has figures): simulated beforehand by its procedure, 20,000 data sets per β"
    tables = []
    for what, slack in _SLACK.items():
        rows = []
        for one, point in known:
            if one.what == what:
                value, low, high = limits(point, what)
                rows.append(Row((str(one.setting), f"{one.beta:g}"), value, one.value, low=low, high=high))
        title, note = f"The published interval: {what}", f"The reference is accurate to {slack:g}."
        tables.append(Table(title, source, ("setting", "β"), tuple(rows), slack, 3, note, against="reference"))
    return [table for table in tables if table.rows]


def _summary(points: Sequence[Point]) -> Table:
    published = {(p.setting, p.beta): p.length for p in points if p.method == "analytic"}
    rows = []
    for setting in SETTINGS:
        for method in _METHODS:
            own = [p for p in points if (p.setting, p.method) == (setting, method) and p.coverage is not None]
            if own:
                rows += _summary_rows(setting, method, own, published)
    return Table("Summary", "", ("setting", "method", "over all β"), tuple(rows), digits=3, across="over all β")


def _summary_rows(setting: int, method: str, own: Sequence[Point], published: Mapping[Any, Any]) -> list[Row]:
    coverage = [p.coverage for p in own if p.coverage is not None]
    ratio = sorted(p.length / published[p.setting, p.beta] for p in own if p.length)
    cut = sorted(p.above_zero / published[p.setting, p.beta] for p in own if p.above_zero)
    values = {
        "lowest coverage": min(coverage),
        "highest coverage": max(coverage),
        "mean distance from 0.9": sum(abs(c - LEVEL) for c in coverage) / len(coverage),
        "length / analytic, median": ratio[len(ratio) // 2],
        "the same, above zero only": cut[len(cut) // 2],
        "rejected if calibrated": next((p.power for p in own if p.beta == SETTINGS[setting].calibrated), math.nan),
    }
    return [Row((str(setting), method, name), value) for name, value in values.items()]


def _assemble(results: Mapping[str, Any], size: Size, *, n: int, figures: tuple[int, int, int]) -> Outcome:
    points = _points(results)
    runs, slow = _RUNS[n][size]
    sets = f"{runs:,} data sets of {n:,} rows per β" + (f", {slow:,} for the bootstraps" if slow < runs else "")
    worst = max((high - low) / 2 for p in points if p.coverage is not None for _, low, high in [limits(p, "coverage")])
    first, second, third = figures
    titles = f"{sets}; 95 % limits of a share: at most ±{worst:.3f}"
    tables = [
        *_reference_tables(points, n),
        _summary(points),
        _wide_table(points, "coverage", f"Figure {first}: coverage at level 0.9", 3, f"{titles}."),
        _wide_table(
            points, "length", f"Figure {second}: mean length, squared error", 4, f"{sets}. End points as published."
        ),
        _wide_table(
            points,
            "power",
            f"Figure {third}: share of intervals without zero",
            3,
            f"{titles}. If calibrated: the level.",
        ),
    ]
    bars = f"{sets}, with 95 % limits (Clopper-Pearson; lengths ±1.96 standard errors)"
    pictures = (
        Picture("coverage", f"Figure {first} recomputed: coverage. {bars}.", partial(draw_coverage, points, limits, n)),
        Picture(
            "length",
            f"Figure {second} recomputed: length and its ratio. {bars}.",
            partial(draw_length, points, limits, n),
        ),
        Picture(
            "power", f"Figure {third} recomputed: share without zero. {bars}.", partial(draw_power, points, limits, n)
        ),
    )
    return Outcome(tuple(tables), pictures, _remarks(points, n))


def _remarks(points: Sequence[Point], n: int) -> tuple[str, ...]:
    coverage: dict[str, list[float]] = defaultdict(list)
    for p in points:
        if p.coverage is not None:
            coverage[p.method].append(p.coverage)
    spans = "; ".join(f"{name} {min(values):.3f}–{max(values):.3f}" for name, values in coverage.items())
    remarks = [
        f"Range of the coverage over all settings and β: {spans}.",
        "`bootstrap` (percentile), `subsampling` (with replacement, tails not exchanged) and `adaptive HulC` are as "
        "published: open intervals whose ends may be negative. `centred bootstrap`, `Politis-Romano` (without "
        "replacement, tails exchanged) and `HulC` (assuming no median bias) are cut at zero. All use the paper's "
        "cells; `score` chooses its own bins. T-Cal is a test in the cells of the interval, with 199 resampled sets of "
        "labels.",
    ]
    if n == 1000:
        remarks.append(
            "Simulated beforehand with 20,000 data sets per β (not published), the published interval covered 0.896 to "
            "0.929 in setting 1, 0.882 to 0.913 in setting 2 and 0.925 to 0.979 in setting 3."
        )
    return tuple(remarks)


def _figures(n: int, figures: tuple[int, int, int], minutes: float) -> Experiment:
    first, second, third = figures
    return Experiment(
        name=f"sun-figures-{first}-{second}-{third}",
        paper=SUN,
        covers=f"Figures {first}, {second} and {third}",
        title=f"coverage, length and power, n = {n:,}",
        pieces=partial(_pieces, n=n),
        assemble=partial(_assemble, n=n, figures=figures),
        minutes=minutes,
    )


FIGURES_3_4_5 = _figures(100, (3, 4, 5), 8)
FIGURES_8_9_10 = _figures(1000, (8, 9, 10), 21)
