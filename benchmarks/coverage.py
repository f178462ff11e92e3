"""How often confidence sets for the l2 calibration error hold the truth, how long they are, and what they detect.

    python benchmarks/coverage.py --quick                  # minutes: 200 runs a scenario, at most 1,000 rows
    python benchmarks/coverage.py --full --out table.md    # hours on two cores
    python benchmarks/coverage.py --only paper --json paper.json    # what benchmarks/figures.py draws

Two grids. The settings 1, 2 and 3 of Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected
calibration error" (2025), with its bins and the methods it compares with; setting 3 looks at two scores of a row
(k = 2). And harder scenarios, from 50 to 10,000 rows: calibrated and not, a local bump, oscillations, rare events,
confident models, tied scores, several classes. Half of the harder ones are marked "chosen": whoever changes a constant
of a method looks at these; the other half, "reported", says how good it is. Unequal weights and rows in clusters, which
no method but 'score' takes, are "apart". Lengths are of the hull, for the squared error. Power is how often zero is not
in the set; for calibrated scores that is the level of the test of zero.
"""

import argparse
import json
import os
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

# Two workers with as many threads each as there are cores would fight.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import stats

from trueness import simulate
from trueness.infer import ece_interval
from trueness_papers.sun import sun_setting
from trueness_papers.sun.simulation import LEVEL, SETTINGS

ALIKE = 0.3  # correlation of the normal numbers behind the labels of a cluster
GOOD = (0.88, 0.97)
METHODS = ("score", "analytic")
COMPETITORS = ("bootstrap", "centred-bootstrap", "subsampling", "hulc", "adaptive-hulc")


# Labels, scores, and options of the interval.
Rows: TypeAlias = tuple[np.ndarray, np.ndarray, dict[str, Any]]


@dataclass(frozen=True)
class Scenario:
    """Data of known error, and how the interval is asked for."""

    name: str
    n: int
    make: Callable[..., simulate.Simulated]
    group: str
    k: int = 1
    bins: dict[str, Any] = field(default_factory=dict)
    """Bins of a method that does not use its default."""
    methods: tuple[str, ...] = METHODS
    rows: Callable[[simulate.Simulated, int, np.random.Generator], Rows] | None = None
    """What becomes of the rows that `make` draws, where they are not taken as they are."""

    @property
    def label(self) -> str:
        return f"{self.name}, n = {self.n:,}"


@dataclass(frozen=True)
class Outcome:
    scenario: Scenario
    truth: float
    runs: int
    found: dict[str, tuple[float, float, float]]
    """Coverage, length and power of each method."""


def paper(step: int) -> list[Scenario]:
    """Settings 1 to 3, every `step`-th value of the grid of β."""
    found = []
    for setting, law in SETTINGS.items():
        methods = METHODS + COMPETITORS
        for n, m in law.cells.items():
            bins = dict.fromkeys(methods[1:], m)
            for beta in law.betas[::step]:
                make = partial(sun_setting, setting, n, beta=beta)
                found.append(Scenario(f"setting {setting}, β = {beta:g}", n, make, "paper", law.k, bins, methods))
    return found


TWO_DIGITS = simulate.Discrete(np.arange(101) / 100)
BINARY: dict[str, dict[str, Any]] = {
    "uniform, calibrated": {},
    "uniform, over-confident": {"distortion": simulate.Logit(slope=0.5)},
    "uniform, too low": {"distortion": simulate.Logit(shift=0.5)},
    "uniform, bump": {"distortion": simulate.Bump(0.5, 0.1, 0.3)},
    "uniform, 2 oscillations": {"distortion": simulate.Oscillation(0.15, 2)},
    "uniform, 5 oscillations": {"distortion": simulate.Oscillation(0.15, 5)},
    "uniform, 10 steps": {"distortion": simulate.Steps(10)},
    "U-shaped Beta(.5, .5), calibrated": {"scores": simulate.Beta(0.5, 0.5)},
    "U-shaped Beta(.5, .5), over-confident": {
        "scores": simulate.Beta(0.5, 0.5),
        "distortion": simulate.Logit(slope=0.7),
    },
    "rare Beta(.3, 60), calibrated": {"scores": simulate.Beta(0.3, 60)},
    "rare Beta(.3, 60), too low": {"scores": simulate.Beta(0.3, 60), "distortion": simulate.Logit(shift=1)},
    "rare Beta(.3, 60), over-confident": {"scores": simulate.Beta(0.3, 60), "distortion": simulate.Logit(slope=0.7)},
    "confident Beta(12, .25), calibrated": {"scores": simulate.Beta(12, 0.25)},
    "confident Beta(12, .25), too high": {"scores": simulate.Beta(12, 0.25), "distortion": simulate.Logit(shift=-1)},
    "confident Beta(12, .25), over-confident": {
        "scores": simulate.Beta(12, 0.25),
        "distortion": simulate.Logit(slope=0.6),
    },
    "confident Beta(50, 1), calibrated": {"scores": simulate.Beta(50, 1)},
    "confident Beta(50, 1), too high": {"scores": simulate.Beta(50, 1), "distortion": simulate.Logit(shift=-1)},
    "two digits, calibrated": {"scores": TWO_DIGITS},
    "two digits, over-confident": {"scores": TWO_DIGITS, "distortion": simulate.Logit(slope=0.5)},
}
SEVERAL: dict[str, tuple[int, Callable[..., Callable[..., simulate.Simulated]]]] = {
    "10 classes, k = 2, calibrated": (2, lambda n: partial(sun_setting, 3, n, beta=0)),
    "10 classes, k = 2, exchanged": (2, lambda n: partial(sun_setting, 3, n, beta=0.05)),
    "3 classes, k = 3, calibrated": (3, lambda n: partial(simulate.multiclass, n, 3)),
    "3 classes, k = 3, noisy labels": (
        3,
        lambda n: partial(simulate.multiclass, n, 3, distortion=simulate.LabelNoise(0.2)),
    ),
}


def weighed(d: simulate.Simulated, n: int, rng: np.random.Generator) -> Rows:
    """Weights that have nothing to do with the rows; the effective number of rows is n / 2.7, about."""
    return d.y_true, d.y_prob, {"sample_weight": rng.lognormal(0, 1, n), "weight_type": "importance"}


def sampled(d: simulate.Simulated, n: int, rng: np.random.Generator) -> Rows:
    """Rows of high scores are sampled more often, and weigh the less: the error is that of all rows."""
    chance = 0.2 + 0.8 * d.y_prob
    kept = np.flatnonzero(rng.random(chance.size) < chance)[:n]
    return d.y_true[kept], d.y_prob[kept], {"sample_weight": 1 / chance[kept], "weight_type": "importance"}


def clustered(d: simulate.Simulated, n: int, rng: np.random.Generator) -> Rows:
    """Four rows to a cluster, with labels that go together and are right on average."""
    cluster = np.arange(n) // 4
    shared = rng.normal(size=n // 4 + 1)[cluster]
    behind = ALIKE**0.5 * shared + (1 - ALIKE) ** 0.5 * rng.normal(size=n)
    return (stats.norm.cdf(behind) < d.truth).astype(int), d.y_prob, {"cluster": cluster}


OF_ROWS = {"weights": (weighed, 1), "sampled by score": (sampled, 6), "clusters of 4": (clustered, 1)}
"""What becomes of the rows, and how many times n must be drawn for it."""
OF_ROWS_ON = (
    "uniform, calibrated",
    "uniform, over-confident",
    "rare Beta(.3, 60), too low",
    "confident Beta(12, .25), over-confident",
)


def harder(most: int) -> list[Scenario]:
    sizes = (50, 200, 1000, 10_000)
    cases: list[tuple[str, int, int, Any]] = [
        (name, 1, n, partial(simulate.binary, n, **what)) for name, what in BINARY.items() for n in sizes
    ]
    cases += [(name, k, n, make(n)) for name, (k, make) in SEVERAL.items() for n in sizes]
    # Turned by one from case to case, so that both halves have every size.
    half = [("chosen", "reported")[(i + i // len(sizes)) % 2] for i in range(len(cases))]
    every = [Scenario(name, n, make, group, k) for (name, k, n, make), group in zip(cases, half, strict=True)]
    made = [(what, law, n) for what in OF_ROWS for law in OF_ROWS_ON for n in (200, 1000, 10_000)]
    for what, law, n in made:
        how, times = OF_ROWS[what]
        make = partial(simulate.binary, n * times, **BINARY[law])
        every.append(Scenario(f"{what}: {law}", n, make, "apart", methods=("score",), rows=how))
    return [scenario for scenario in every if scenario.n <= most]


def run(scenario: Scenario, runs: int) -> Outcome:
    if scenario.n > 1000:
        runs = max(100, runs // 4)
    start = zlib.crc32(scenario.label.encode())
    truth = scenario.make(seed=0).true_squared_ece(k=scenario.k)
    sums = {name: np.zeros(3) for name in scenario.methods}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(runs):
            rng = np.random.default_rng([start, i])
            d = scenario.make(seed=rng)
            y, p, more = scenario.rows(d, scenario.n, rng) if scenario.rows else (d.y_true, d.y_prob, {})
            for name in scenario.methods:
                found = ece_interval(
                    y,
                    p,
                    k=None if scenario.k == 1 else scenario.k,
                    bins=scenario.bins.get(name),
                    level=LEVEL,
                    squared=True,
                    seed=rng,
                    method=name,
                    **more,
                )
                low, high = found.hull
                sums[name] += (truth in found, high - low, not found.includes_zero)
    return Outcome(scenario, truth, runs, {name: tuple((s / runs).tolist()) for name, s in sums.items()})


def error(coverage: float, runs: int) -> str:
    """Clopper-Pearson limits, 95 %."""
    hits = round(coverage * runs)
    low = stats.beta.ppf(0.025, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.ppf(0.975, hits + 1, runs - hits) if hits < runs else 1.0
    return f"{low:.3f}–{high:.3f}"


def shown(coverage: float) -> str:
    return f"{coverage:.3f}" if GOOD[0] <= coverage <= GOOD[1] else f"**{coverage:.3f}**"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def table(outcomes: list[Outcome]) -> str:
    """All of a few methods, a row per scenario."""
    names = list(outcomes[0].found)
    head = ["scenario", "half", "√truth", "runs"]
    for name in names:
        head += [f"{name}: coverage", "95 %", "length", "power"]
    rows = []
    for o in outcomes:
        cells = [o.scenario.label, o.scenario.group, f"{o.truth**0.5:.4f}", str(o.runs)]
        for name in names:
            if name not in o.found:
                cells += ["–"] * 4
                continue
            coverage, length, power = o.found[name]
            cells += [shown(coverage), error(coverage, o.runs), f"{length:.4g}", f"{power:.3f}"]
        rows.append(cells)
    return markdown(head, rows)


def paper_tables(outcomes: list[Outcome]) -> str:
    """One table each of coverage, length and power, a column per method."""
    names = METHODS + COMPETITORS
    pages = []
    forms: tuple[Callable[[float], str], ...] = (shown, "{:.4f}".format, "{:.3f}".format)
    for column, (what, form) in enumerate(zip(("coverage", "length", "power"), forms, strict=True)):
        rows = [
            [o.scenario.label, f"{o.truth**0.5:.4f}"]
            + [form(o.found[name][column]) if name in o.found else "–" for name in names]
            for o in outcomes
        ]
        pages.append(markdown([f"{what}, {outcomes[0].runs} runs", "√truth", *names], rows))
    return "\n\n".join(pages)


def summary(outcomes: list[Outcome]) -> str:
    head = ["grid", "method", "scenarios", f"within {list(GOOD)}", "below 0.88", "worst", "mean distance from 0.9"]
    rows = []
    for group in ("paper", "chosen", "reported", "apart"):
        part = [o for o in outcomes if o.scenario.group == group]
        for name in part[0].found if part else ():
            c = np.array([o.found[name][0] for o in part if name in o.found])
            inside = np.mean((c >= GOOD[0]) & (c <= GOOD[1]))
            cells = [group, name, str(c.size), f"{100 * inside:.0f} %", str(int((c < GOOD[0]).sum())), f"{c.min():.3f}"]
            rows.append([*cells, f"{np.abs(c - LEVEL).mean():.3f}"])
    return markdown(head, rows)


def note(runs: int) -> str:
    """How far chance alone goes."""
    deviation = (LEVEL * (1 - LEVEL) / runs) ** 0.5
    hits = np.arange(runs + 1)
    inside = (hits / runs >= GOOD[0]) & (hits / runs <= GOOD[1])
    outside = 1 - stats.binom.pmf(hits[inside], runs, LEVEL).sum()
    return (
        f"Monte-Carlo deviation of a coverage of {LEVEL:g}, {runs} runs: {deviation:.3f}. A method that covers exactly "
        f"{LEVEL:g} is found outside {list(GOOD)} in {100 * outside:.0f} % of scenarios."
    )


def page(outcomes: list[Outcome]) -> str:
    paper = [o for o in outcomes if o.scenario.group == "paper"]
    harder = [o for o in outcomes if o.scenario.group != "paper"]
    parts = [
        paper_tables(paper) if paper else "",
        table(harder) if harder else "",
        summary(outcomes),
        note(outcomes[0].runs),
    ]
    return "\n\n".join(part for part in parts if part)


def kept(outcomes: list[Outcome]) -> str:
    """Everything found, as JSON."""
    rows = [
        {"scenario": o.scenario.name, "n": o.scenario.n, "group": o.scenario.group, "truth": o.truth, "runs": o.runs}
        | {"found": {name: dict(zip(("coverage", "length", "power"), f, strict=True)) for name, f in o.found.items()}}
        for o in outcomes
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="200 runs, at most 1,000 rows, a fifth of the paper's grid")
    size.add_argument("--full", action="store_true", help="2,000 runs (a quarter above 1,000 rows), everything")
    parser.add_argument("--runs", type=int, help="data sets of a scenario")
    parser.add_argument("--most", type=int, help="rows of the largest scenario")
    parser.add_argument("--least", type=int, default=0, help="rows of the smallest scenario")
    parser.add_argument(
        "--only", choices=("paper", "chosen", "reported", "apart"), action="append", help="part of the grid"
    )
    parser.add_argument("--step", type=int, help="take every STEP-th β of the 21 of the paper")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="write the tables to this file too")
    parser.add_argument("--json", type=Path, help="keep what was found, for benchmarks/figures.py")
    asked = parser.parse_args()
    runs = asked.runs or (2000 if asked.full else 200)
    most = asked.most or (10_000 if asked.full else 1000)
    every = [s for s in paper(asked.step or (1 if asked.full else 5)) + harder(most) if s.n >= asked.least]
    scenarios = [s for s in every if not asked.only or s.group in asked.only]
    began = time.perf_counter()
    outcomes = []
    with ProcessPoolExecutor(asked.workers) as pool:
        for done, outcome in enumerate(pool.map(partial(run, runs=runs), scenarios), start=1):
            outcomes.append(outcome)
            print(f"\r{done} of {len(scenarios)}  {outcome.scenario.label:60}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    text = f"{page(outcomes)}\n\n{time.perf_counter() - began:.0f} s, {asked.workers} workers\n"
    print(text)
    if asked.out:
        asked.out.write_text(text, encoding="utf-8")
    if asked.json:
        asked.json.write_text(kept(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
