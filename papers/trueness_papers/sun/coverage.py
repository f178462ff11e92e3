"""Coverage, length and power of intervals for the l2 error (Sun et al. 2025, Figures 3 to 5 and 8 to 10)."""

import math
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trueness._numerics.proportions import clopper_pearson
from trueness.errors import TruenessWarning
from trueness_papers.experiment import SUN, Experiment, Outcome, Picture, Piece, Size
from trueness_papers.record import Estimate, Row, Table
from trueness_papers.sun.figures import Point, draw_coverage, draw_length, draw_power
from trueness_papers.sun.intervals import (
    CORRECTED,
    IMPROVED,
    OF_THE_PAPER,
    Verdict,
    judge_improved,
    judge_published,
)
from trueness_papers.sun.simulation import (
    LEVEL,
    SETTINGS,
    generator_for,
    simulate_run,
    true_squared_error,
)

__all__ = ["FIGURES_3_4_5", "FIGURES_8_9_10"]

_METHODS = {
    **dict.fromkeys(OF_THE_PAPER, "text"),
    **dict.fromkeys(IMPROVED, "improved"),
    **dict.fromkeys(CORRECTED, "corrected"),
    "subsampling": "code",  # another one than the text cites
}
"""Methods, in the order of the tables, and what they are."""

_RUNS: dict[int, dict[str, dict[Size, int]]] = {
    100: {"published": {"full": 1000, "quick": 50}, "improved": {"full": 1000, "quick": 30}},
    1000: {"published": {"full": 1000, "quick": 20}, "improved": {"full": 400, "quick": 20}},
}
"""Data sets per β, by number of rows, methods and size of the run."""
_STEP = {"published": 1, "improved": 2}
"""Every β for the paper's methods; every second one for ours, which takes longest."""
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
    return [
        Reference(s, b, what, v) for (what, s), values in known.items() for b, v in values.items()
    ]


def _pieces(size: Size, seed: int, *, n: int) -> Sequence[Piece]:
    return [
        Piece(
            f"{judge}-setting-{setting}-beta-{index:02d}",
            simulate_coverage,
            {
                "judge": judge,
                "setting": setting,
                "n": n,
                "index": index,
                "runs": runs[size],
                "seed": seed,
            },
        )
        for judge, runs in _RUNS[n].items()
        for setting, law in SETTINGS.items()
        for index in (
            range(0, len(law.betas), _STEP[judge]) if size == "full" else _QUICK[n][setting]
        )
    ]


_JUDGES = {"published": judge_published, "improved": judge_improved}


def simulate_coverage(
    judge: str, setting: int, n: int, index: int, runs: int, seed: int
) -> dict[str, dict[str, float]]:
    """Counts, mean lengths and percentiles of the lengths, by method, over the data sets of one β."""
    truth = true_squared_error(setting, SETTINGS[setting].betas[index])
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", TruenessWarning
        )  # in setting 3 most rows are alone in their cell, as published
        for run in range(runs):
            draws = partial(generator_for, seed, setting, n, index, run)
            for name, one in _JUDGES[judge](
                simulate_run(seed, setting, n, index, run), setting, truth, draws
            ):
                verdicts[name].append(one)
    return {name: _summarise(found) for name, found in verdicts.items()}


def _summarise(verdicts: Sequence[Verdict]) -> dict[str, float]:
    covers, length, power, above_zero = (np.array(values) for values in zip(*verdicts, strict=True))
    shortest, longest = np.percentile(length, [5, 95])
    return {
        "runs": len(verdicts),
        "coverage": float(covers.mean()),
        "power": float(power.mean()),
        "length": float(length.mean()),
        "shortest": float(shortest),
        "longest": float(longest),
        "spread": float(length.std() / math.sqrt(max(1, len(verdicts) - 1))),
        "above_zero": float(above_zero.mean()),
    }


def _points(results: Mapping[str, Any]) -> list[Point]:
    """The points of the figures, in the order of the tables."""
    points = []
    for key, found in results.items():
        _, _, number, _, index = key.split("-")
        law = SETTINGS[int(number)]
        beta = law.betas[int(index)]
        error = math.sqrt(true_squared_error(law.number, beta))
        points += [Point(law.number, beta, error, name, **values) for name, values in found.items()]
    order = list(_METHODS)
    return sorted(points, key=lambda p: (p.setting, p.beta, order.index(p.method)))


def limits(point: Point, what: str) -> tuple[float, float, float]:
    """A value with its 95 % limits: Clopper-Pearson for shares, ±1.96 standard errors for the mean length."""
    value = getattr(point, what)
    if what == "length":
        return value, value - 1.96 * point.spread, value + 1.96 * point.spread
    low, high = clopper_pearson(round(value * point.runs), point.runs, 0.95)
    return value, float(low), float(high)


def _wide_table(points: Sequence[Point], what: str, title: str, digits: int, note: str) -> Table:
    rows = []
    for point in points:
        labels = (
            str(point.setting),
            f"{point.beta:g}",
            f"{point.error:.4f}",
            _heading(point.method),
        )
        shown = (
            what == "length" and point.method not in CORRECTED
        )  # the figures have the limits of shares
        low, high = (point.shortest, point.longest) if shown else (None, None)
        rows.append(Row(labels, getattr(point, what), low=low, high=high))
    headings = ("setting", "β", "l2 error", "method")
    return Table(title, "", headings, tuple(rows), digits=digits, note=note, across="method")


def _heading(method: str) -> str:
    return f"{_METHODS[method]}: {method}"


_SLACK = {"coverage": 0.005, "length": 0.0006, "power": 0.01}
"""Two standard errors of the reference, which has 20,000 runs, plus its rounding."""


def _reference_tables(points: Sequence[Point], n: int) -> list[Table]:
    by = {(p.setting, p.beta): p for p in points if p.method == "analytic"}
    known = [
        (one, by[one.setting, one.beta]) for one in _references(n) if (one.setting, one.beta) in by
    ]
    source = "not published (the paper has figures): simulated beforehand by its procedure, 20,000 data sets per β"
    tables = []
    for what, slack in _SLACK.items():
        rows = []
        for one, point in known:
            if one.what == what:
                value, low, high = limits(point, what)
                rows.append(
                    Row((str(one.setting), f"{one.beta:g}"), value, one.value, low=low, high=high)
                )
        title, note = f"The published interval: {what}", f"The reference is accurate to {slack:g}."
        tables.append(
            Table(title, source, ("setting", "β"), tuple(rows), slack, 3, note, against="reference")
        )
    return [table for table in tables if table.rows]


def _claims(points: Sequence[Point]) -> Table:
    """The sentences of section 4.1 and appendix C.1 as numbers."""
    rows = []
    for setting in SETTINGS:
        by: dict[str, dict[float, Point]] = defaultdict(dict)
        for p in points:
            if p.setting == setting:
                by[p.method][p.beta] = p
        own = by["analytic"]
        for method in OF_THE_PAPER:
            worst = min(by[method].values(), key=lambda p: p.coverage)
            low = [p for p in by[method].values() if limits(p, "coverage")[2] < LEVEL]
            below = (
                f"significantly below 0.9 at {len(low)} of {len(by[method])} β"
                if low
                else "not below 0.9"
            )
            rows.append(
                Row(
                    (f"{method}: lowest coverage", str(setting)),
                    worst.coverage,
                    note=f"β = {worst.beta:g}; {below}",
                )
            )
        for method in OF_THE_PAPER[1:]:
            ratio = {beta: p.length / own[beta].length for beta, p in by[method].items()}
            least = min(ratio, key=ratio.__getitem__)
            shorter = [beta for beta, value in ratio.items() if value < 1]
            words = (
                f"shorter at {len(shorter)} of {len(ratio)} β" if shorter else "longer at every β"
            )
            labels = (f"{method}: smallest ratio of lengths to analytic", str(setting))
            rows.append(Row(labels, ratio[least], note=f"β = {least:g}; {words}"))
        for method in ("subsampling", "Politis-Romano", "adaptive HulC"):
            wrong = [p.beta for p in by[method].values() if p.power > own[p.beta].power]
            most = max(own, key=lambda beta: own[beta].power - by[method][beta].power)
            words = (
                f"more power than analytic at {len(wrong)} of {len(own)} β"
                if wrong
                else "never more power than analytic"
            )
            labels = (f"{method}: largest loss of power against analytic", str(setting))
            rows.append(
                Row(labels, own[most].power - by[method][most].power, note=f"β = {most:g}; {words}")
            )
    note = (
        "The text says, without numbers: the interval is valid; the bootstrap covers far too little where the error "
        "is small; subsampling and adaptive HulC cover enough, with longer intervals and less power; all of them are "
        "much longer than the interval. It cites the subsampling of Politis and Romano; its figures have that of its "
        "code (`subsampling`). Significantly: the 95 % limits lie below 0.9."
    )
    headings = ("claim of the text", "setting")
    return Table("Claims of the text", "", headings, tuple(rows), digits=3, note=note)


def _by_source(points: Sequence[Point], sets: str) -> Table:
    """The published interval and the improved one, on the same data sets."""
    by = {(p.setting, p.beta, p.method): p for p in points}
    rows = []
    for (setting, beta, method), improved in by.items():
        if method == "score":
            text = by[setting, beta, "analytic"]
            labels = (str(setting), f"{beta:g}", f"{text.error:.4f}")
            for what in ("coverage", "length", "power"):
                of_text, of_improved = (Estimate(*limits(p, what)) for p in (text, improved))
                rows.append(Row((*labels, what), text=of_text, improved=of_improved))
    note = (
        f"{sets}; in brackets 95 % limits. The paper has figures and prints no number, so there is no published "
        "column. By the text: Algorithm 1 in the paper's cells. Improved: the default of `trueness.ece_interval`, in "
        "its own bins."
    )
    headings = ("setting", "β", "l2 error", "measure")
    title = "The interval by the text and improved"
    return Table(title, "", headings, tuple(rows), digits=4, note=note, across="measure")


def _summary(points: Sequence[Point]) -> Table:
    published = {(p.setting, p.beta): p.length for p in points if p.method == "analytic"}
    rows = []
    for setting in SETTINGS:
        for method in _METHODS:
            own = [p for p in points if (p.setting, p.method) == (setting, method)]
            if own:
                rows += _summary_rows(setting, method, own, published)
    headings = ("setting", "method", "over all β")
    note = (
        "*text*: ours by the text of the paper; *improved*: the default of `trueness.ece_interval`, in its own bins; "
        "*corrected*: the paper's competitors, corrected. Nothing is published as a number."
    )
    return Table("Summary", "", headings, tuple(rows), digits=3, note=note, across="over all β")


def _summary_rows(
    setting: int, method: str, own: Sequence[Point], published: Mapping[Any, Any]
) -> list[Row]:
    coverage = [p.coverage for p in own]
    ratio = sorted(p.length / published[p.setting, p.beta] for p in own)
    cut = sorted(p.above_zero / published[p.setting, p.beta] for p in own)
    values = {
        "lowest coverage": min(coverage),
        "highest coverage": max(coverage),
        "mean distance from 0.9": sum(abs(c - LEVEL) for c in coverage) / len(coverage),
        "length / analytic, median": ratio[len(ratio) // 2],
        "the same, above zero only": cut[len(cut) // 2],
        "rejected if calibrated": next(
            (p.power for p in own if p.beta == SETTINGS[setting].calibrated), math.nan
        ),
    }
    return [Row((str(setting), _heading(method), name), value) for name, value in values.items()]


def _assemble(
    results: Mapping[str, Any], size: Size, *, n: int, figures: tuple[int, int, int]
) -> Outcome:
    points = _points(results)
    runs = {judge: sizes[size] for judge, sizes in _RUNS[n].items()}
    sets = f"{runs['published']:,} data sets of {n:,} rows per β"
    if runs["improved"] != runs["published"]:
        sets += f", {runs['improved']:,} for `score`"
    worst = max((high - low) / 2 for p in points for _, low, high in [limits(p, "coverage")])
    first, second, third = figures
    shares = f"{sets}; 95 % limits of a share: at most ±{worst:.3f}"
    percentiles = "in brackets the 5th and 95th percentiles"
    tables = [
        *_reference_tables(points, n),
        _claims(points),
        _by_source(points, sets),
        _summary(points),
        _wide_table(points, "coverage", f"Figure {first}: coverage at level 0.9", 3, f"{shares}."),
        _wide_table(
            points,
            "length",
            f"Figure {second}: length, squared error",
            4,
            f"{sets}. Means; {percentiles}.",
        ),
        _wide_table(
            points,
            "power",
            f"Figure {third}: share without zero",
            3,
            f"{shares}. If calibrated: the level.",
        ),
    ]
    bars = f"{sets}, with 95 % limits (Clopper-Pearson)"
    spread = f"{sets}. Means, with bars from the 5th to the 95th percentile, and ratios of means to that of `analytic`"
    pictures = (
        Picture(
            "coverage",
            f"Figure {first} recomputed: coverage. {bars}.",
            partial(draw_coverage, points, limits, n),
        ),
        Picture(
            "length",
            f"Figure {second} recomputed: length. {spread}.",
            partial(draw_length, points, n),
        ),
        Picture(
            "power",
            f"Figure {third} recomputed: power. {bars}.",
            partial(draw_power, points, limits, n),
        ),
    )
    return Outcome(tuple(tables), pictures, _remarks(points, n))


def _remarks(points: Sequence[Point], n: int) -> tuple[str, ...]:
    coverage: dict[str, list[float]] = defaultdict(list)
    for p in points:
        coverage[p.method].append(p.coverage)
    spans = "; ".join(
        f"{name} {min(coverage[name]):.3f}–{max(coverage[name]):.3f}"
        for name in _METHODS
        if name in coverage
    )
    remarks = [
        f"Range of the coverage over all settings and β: {spans}.",
        "`bootstrap` (percentile, 200 resamples), `subsampling` (with replacement, tails not exchanged) and "
        "`adaptive HulC`, with 500 subsamples of ⌊√n⌋ rows, are as in the authors' code: open intervals whose ends "
        "may be negative. `centred bootstrap`, `Politis-Romano` (the subsampling that the text cites: without "
        "replacement, tails exchanged) and `HulC` (assuming no median bias) are cut at zero. All use the cells of the "
        "paper; `score` chooses its own, and is run at every second β. T-Cal, a line of the paper's figure of power, "
        "is in `sun-t-cal`.",
    ]
    if n == 1000:
        remarks.append(
            "Simulated beforehand with 20,000 data sets per β (not published), the published interval covered 0.896 to "
            "0.929 in setting 1, 0.882 to 0.913 in setting 2 and 0.925 to 0.979 in setting 3."
        )
    return tuple(remarks)


def _figures(name: str, n: int, figures: tuple[int, int, int], minutes: float) -> Experiment:
    first, second, third = figures
    return Experiment(
        name=name,
        paper=SUN,
        covers=f"Figures {first}, {second} and {third}",
        title=f"coverage, length and power, n = {n:,}",
        pieces=partial(_pieces, n=n),
        assemble=partial(_assemble, n=n, figures=figures),
        minutes=minutes,
    )


FIGURES_3_4_5 = _figures("sun-figures-3-4-5", 100, (3, 4, 5), 7)
FIGURES_8_9_10 = _figures("sun-figures-8-9-10", 1000, (8, 9, 10), 12)
