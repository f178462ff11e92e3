"""Coverage, length and power of confidence sets for the l2 calibration error, by simulation.

Two grids. The settings 1, 2 and 3 of Sun, Chaudhari, Barnett, Dobriban, "A confidence interval for the l2 expected
calibration error" (2025), with their bins and the methods they compare with (group "paper"). And harder scenarios, from
50 to 10,000 rows: calibrated and not, a local bump, oscillations, rare events, confident models, tied scores, several
classes. Half of the harder ones, "chosen", may be used to tune a method; the other half, "reported", says how good it
is. The group "hard" has errors over few rows, point masses, bimodal scores, few events and contradicted certainty, for
'score' alone. Unequal weights and rows in clusters, which only 'score' supports, are "apart". Lengths are those of the
hull, for the squared error. Power is how often the set excludes zero; for calibrated scores that is the level.

The set of 'score' in its default cells is tested for zero only where the answer matters: in the first tenth of the
runs, for calibrated scores, in the paper's settings, and if its lower end would exceed the truth.

The case "coverage-figures" draws what `--json` kept: one figure per setting, with a column per number of rows. Its
grey band is two Monte-Carlo standard errors around the level.
"""

import json
import os
import sys
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from benchmark import Page, case
from scipy import stats

import trueness as tn
from cases._hard_scenarios import HardData, hard_scenarios
from trueness import ece_interval, simulate
from trueness.infer.interval._score_interval import DefaultParts
from trueness.infer.test._omnibus import omnibus_test
from trueness.infer.test._pair_tests import required_draws
from trueness_papers.dirichlet import with_true_errors
from trueness_papers.distortions import Bump, Oscillation, Steps
from trueness_papers.sun import sun_setting
from trueness_papers.sun.simulation import LEVEL, SETTINGS

ALIKE = 0.3  # correlation of the latent normals behind the labels of a cluster
GOOD = (0.88, 0.97)
GROUPS = ("paper", "chosen", "reported", "hard", "apart")
METHODS = ("score", "analytic")
COMPETITORS = ("bootstrap", "centred-bootstrap", "subsampling-published", "hulc", "adaptive-hulc")


# Labels, scores, and options of the interval.
Rows: TypeAlias = tuple[np.ndarray, np.ndarray, dict[str, Any]]


@dataclass(frozen=True)
class Scenario:
    """Data of known error, and the options of the interval."""

    name: str
    n: int
    make: Callable[..., simulate.Simulated]
    group: str
    k: int = 1
    bins: dict[str, Any] = field(default_factory=dict)
    """Bins of methods that do not use their default."""
    methods: tuple[str, ...] = METHODS
    rows: Callable[[simulate.Simulated, int, np.random.Generator], Rows] | None = None
    """A change to the rows that `make` draws."""

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
                found.append(
                    Scenario(
                        f"setting {setting}, β = {beta:g}", n, make, "paper", law.k, bins, methods
                    )
                )
    return found


TWO_DIGITS = simulate.Discrete(np.arange(101) / 100)
BINARY: dict[str, dict[str, Any]] = {
    "uniform, calibrated": {},
    "uniform, over-confident": {"distortion": simulate.Logit(slope=0.5)},
    "uniform, too low": {"distortion": simulate.Logit(shift=0.5)},
    "uniform, bump": {"distortion": Bump(0.5, 0.1, 0.3)},
    "uniform, 2 oscillations": {"distortion": Oscillation(0.15, 2)},
    "uniform, 5 oscillations": {"distortion": Oscillation(0.15, 5)},
    "uniform, 10 steps": {"distortion": Steps(10)},
    "U-shaped Beta(.5, .5), calibrated": {"scores": simulate.Beta(0.5, 0.5)},
    "U-shaped Beta(.5, .5), over-confident": {
        "scores": simulate.Beta(0.5, 0.5),
        "distortion": simulate.Logit(slope=0.7),
    },
    "rare Beta(.3, 60), calibrated": {"scores": simulate.Beta(0.3, 60)},
    "rare Beta(.3, 60), too low": {
        "scores": simulate.Beta(0.3, 60),
        "distortion": simulate.Logit(shift=1),
    },
    "rare Beta(.3, 60), over-confident": {
        "scores": simulate.Beta(0.3, 60),
        "distortion": simulate.Logit(slope=0.7),
    },
    "confident Beta(12, .25), calibrated": {"scores": simulate.Beta(12, 0.25)},
    "confident Beta(12, .25), too high": {
        "scores": simulate.Beta(12, 0.25),
        "distortion": simulate.Logit(shift=-1),
    },
    "confident Beta(12, .25), over-confident": {
        "scores": simulate.Beta(12, 0.25),
        "distortion": simulate.Logit(slope=0.6),
    },
    "confident Beta(50, 1), calibrated": {"scores": simulate.Beta(50, 1)},
    "confident Beta(50, 1), too high": {
        "scores": simulate.Beta(50, 1),
        "distortion": simulate.Logit(shift=-1),
    },
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


def weigh(d: simulate.Simulated, n: int, rng: np.random.Generator) -> Rows:
    """Weights that do not depend on the rows; the effective number of rows is about n / 2.7."""
    return (
        d.y_true,
        d.y_prob,
        {"sample_weight": rng.lognormal(0, 1, n), "weight_type": "importance"},
    )


def sample(d: simulate.Simulated, n: int, rng: np.random.Generator) -> Rows:
    """Rows with high scores are sampled more often and weigh less: the error is that of all rows."""
    chance = 0.2 + 0.8 * d.y_prob
    kept = np.flatnonzero(rng.random(chance.size) < chance)[:n]
    return (
        d.y_true[kept],
        d.y_prob[kept],
        {"sample_weight": 1 / chance[kept], "weight_type": "importance"},
    )


def cluster_rows(d: simulate.Simulated, n: int, rng: np.random.Generator) -> Rows:
    """Four rows per cluster, with correlated labels that are correct on average."""
    cluster = np.arange(n) // 4
    shared = rng.normal(size=n // 4 + 1)[cluster]
    behind = ALIKE**0.5 * shared + (1 - ALIKE) ** 0.5 * rng.normal(size=n)
    return (stats.norm.cdf(behind) < d.truth).astype(int), d.y_prob, {"cluster": cluster}


OF_ROWS = {
    "weights": (weigh, 1),
    "sampled by score": (sample, 6),
    "clusters of 4": (cluster_rows, 1),
}
"""Changes to the rows, and how many times n must be drawn for each."""
OF_ROWS_ON = (
    "uniform, calibrated",
    "uniform, over-confident",
    "rare Beta(.3, 60), too low",
    "confident Beta(12, .25), over-confident",
)


def harder(most: int) -> list[Scenario]:
    sizes = (50, 200, 1000, 10_000)
    cases: list[tuple[str, int, int, Any]] = [
        (name, 1, n, partial(simulate.binary, n, **what))
        for name, what in BINARY.items()
        for n in sizes
    ]
    cases += [(name, k, n, make(n)) for name, (k, make) in SEVERAL.items() for n in sizes]
    # Shifted by one from case to case, so that both halves have every size.
    half = [("chosen", "reported")[(i + i // len(sizes)) % 2] for i in range(len(cases))]
    every = [
        Scenario(name, n, make, group, k)
        for (name, k, n, make), group in zip(cases, half, strict=True)
    ]
    combinations = [
        (what, law, n) for what in OF_ROWS for law in OF_ROWS_ON for n in (200, 1000, 10_000)
    ]
    for what, law, n in combinations:
        change, times = OF_ROWS[what]
        make = partial(simulate.binary, n * times, **BINARY[law])
        every.append(Scenario(f"{what}: {law}", n, make, "apart", methods=("score",), rows=change))
    for data in hard_scenarios():
        every.append(
            Scenario(f"{data.law}, {data.error}", data.n, data, "hard", methods=("score",))
        )
    return [scenario for scenario in every if scenario.n <= most]


def run(scenario: Scenario, runs: int) -> Outcome:
    if scenario.n > 1000 and scenario.group != "hard":
        runs = max(100, runs // 4)
    start = zlib.crc32(scenario.label.encode())
    truth = true_error(scenario)
    sums = {name: np.zeros(4) for name in scenario.methods}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(runs):
            rng = np.random.default_rng([start, i])
            d = scenario.make(seed=rng)
            y, p, more = (
                scenario.rows(d, scenario.n, rng) if scenario.rows else (d.y_true, d.y_prob, {})
            )
            for name in scenario.methods:
                if (
                    name == "score"
                    and scenario.k == 1
                    and p.ndim == 1
                    and not more
                    and not scenario.bins.get(name)
                ):
                    always = truth == 0 or scenario.group == "paper"
                    sums[name] += score_in_default_cells(
                        y, p, truth, rng, tested=always or 10 * i < runs
                    )
                    continue
                found = ece_interval(
                    y,
                    p,
                    k=scenario.k,
                    bins=scenario.bins.get(name),
                    level=LEVEL,
                    squared=True,
                    seed=rng,
                    method=name,
                    **more,
                )
                low, high = found.hull
                sums[name] += (truth in found, high - low, not found.includes_zero, 1)
    return Outcome(scenario, truth, runs, {name: means(s, runs) for name, s in sums.items()})


def true_error(scenario: Scenario) -> float:
    if isinstance(scenario.make, HardData):
        return scenario.make.squared_error()
    return with_true_errors(scenario.make(seed=0)).true_squared_ece(k=scenario.k)


def score_in_default_cells(
    y: np.ndarray, p: np.ndarray, truth: float, rng: np.random.Generator, *, tested: bool
) -> tuple[float, float, float, int]:
    """Coverage, length, power and 1; only the coverage if zero was not tested."""
    (cells,), alpha = tn.tally(y, p).parts, round(1 - LEVEL, 12)
    found = DefaultParts.of_cells(cells)
    low, high = found.at(alpha).region[:2]
    rejected = found.rejected
    if tested or low > truth:
        rejected = rejected or omnibus_test(cells, required_draws(alpha), rng).pvalue <= alpha
        low = low if rejected else 0.0
    covered = not rejected if truth == 0 else low <= truth <= high
    return float(covered), (high - low) * tested, float(rejected and tested), int(tested)


def means(sums: np.ndarray, runs: int) -> tuple[float, float, float]:
    """Coverage over all runs; length and power over those in which zero was tested."""
    return float(sums[0] / runs), float(sums[1] / sums[3]), float(sums[2] / sums[3])


def limits(coverage: float, runs: int) -> str:
    """Clopper-Pearson limits, 95 %."""
    hits = round(coverage * runs)
    low = stats.beta.ppf(0.025, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.ppf(0.975, hits + 1, runs - hits) if hits < runs else 1.0
    return f"{low:.3f}–{high:.3f}"


def emphasise(coverage: float) -> str:
    return f"{coverage:.3f}" if GOOD[0] <= coverage <= GOOD[1] else f"**{coverage:.3f}**"


def harder_table(page: Page, outcomes: list[Outcome]) -> None:
    """A row per scenario, for few methods."""
    names = list(outcomes[0].found)
    head = ["scenario", "half", "√truth", "runs"]
    for name in names:
        head += [f"{name}: coverage", "95 %", "length", "power"]
    page.head(*head)
    for o in outcomes:
        cells = [o.scenario.label, o.scenario.group, f"{o.truth**0.5:.4f}", str(o.runs)]
        for name in names:
            if name not in o.found:
                cells += ["–"] * 4
                continue
            coverage, length, power = o.found[name]
            cells += [
                emphasise(coverage),
                limits(coverage, o.runs),
                f"{length:.4g}",
                f"{power:.3f}",
            ]
        page.row(*cells)


def paper_tables(page: Page, outcomes: list[Outcome]) -> None:
    """One table each of coverage, length and power, a column per method."""
    names = METHODS + COMPETITORS
    forms: tuple[Callable[[float], str], ...] = (emphasise, "{:.4f}".format, "{:.3f}".format)
    for column, (what, form) in enumerate(zip(("coverage", "length", "power"), forms, strict=True)):
        page.head(f"{what}, {outcomes[0].runs} runs", "√truth", *names)
        for o in outcomes:
            cells = [form(o.found[name][column]) if name in o.found else "–" for name in names]
            page.row(o.scenario.label, f"{o.truth**0.5:.4f}", *cells)


def summary(page: Page, outcomes: list[Outcome]) -> None:
    page.head(
        "grid",
        "method",
        "scenarios",
        f"within {list(GOOD)}",
        "below 0.88",
        "worst",
        "mean distance from 0.9",
    )
    for group in GROUPS:
        part = [o for o in outcomes if o.scenario.group == group]
        for name in part[0].found if part else ():
            c = np.array([o.found[name][0] for o in part if name in o.found])
            inside = np.mean((c >= GOOD[0]) & (c <= GOOD[1]))
            cells = [
                group,
                name,
                str(c.size),
                f"{100 * inside:.0f} %",
                str(int((c < GOOD[0]).sum())),
                f"{c.min():.3f}",
            ]
            page.row(*cells, f"{np.abs(c - LEVEL).mean():.3f}")


def note(runs: int) -> str:
    """Monte-Carlo error of the coverage."""
    deviation = (LEVEL * (1 - LEVEL) / runs) ** 0.5
    hits = np.arange(runs + 1)
    inside = (hits / runs >= GOOD[0]) & (hits / runs <= GOOD[1])
    outside = 1 - stats.binom.pmf(hits[inside], runs, LEVEL).sum()
    return (
        f"Monte-Carlo standard error of a coverage of {LEVEL:g}, {runs} runs: {deviation:.3f}. A method that covers "
        f"exactly {LEVEL:g} is found outside {list(GOOD)} in {100 * outside:.0f} % of scenarios."
    )


def to_json(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Everything found."""
    return [
        {
            "scenario": o.scenario.name,
            "n": o.scenario.n,
            "group": o.scenario.group,
            "truth": o.truth,
            "runs": o.runs,
        }
        | {
            "found": {
                name: dict(zip(("coverage", "length", "power"), f, strict=True))
                for name, f in o.found.items()
            }
        }
        for o in outcomes
    ]


@case("coverage", "coverage, length and power of intervals", "hours", one_thread=True)
def coverage(
    page: Page,
    quick: bool,
    *,
    runs: int = 0,
    least: int = 0,
    most: int = 0,
    groups: str = "",
    step: int = 0,
    methods: str = "",
    workers: int = 0,
) -> None:
    """Options: data sets per scenario; fewest and most rows; groups; every STEP-th β of the paper; methods."""
    wanted = groups.split(",") if groups else GROUPS
    runs = runs or (200 if quick else 2000)
    grid = paper(step or (5 if quick else 1)) + harder(most or (1000 if quick else 10_000))
    scenarios = [
        s for s in grid if s.group in wanted and s.n >= least and (not most or s.n <= most)
    ]
    if methods:
        asked = methods.split(",")
        scenarios = [
            replace(s, methods=tuple(name for name in s.methods if name in asked))
            for s in scenarios
        ]
        scenarios = [s for s in scenarios if s.methods]
    outcomes = []
    # Not by fork: the parent may have threads.
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done, outcome in enumerate(pool.map(partial(run, runs=runs), scenarios), start=1):
            outcomes.append(outcome)
            print(
                f"\r{done} of {len(scenarios)}  {outcome.scenario.label:60}",
                end="",
                file=sys.stderr,
                flush=True,
            )
    print(file=sys.stderr)
    of_paper = [o for o in outcomes if o.scenario.group == "paper"]
    others = [o for o in outcomes if o.scenario.group != "paper"]
    if of_paper:
        paper_tables(page, of_paper)
    if others:
        harder_table(page, others)
    summary(page, outcomes)
    page.text(note(outcomes[0].runs))
    page.data = to_json(outcomes)


@case("coverage-figures", "figures of what `coverage --json FILE` kept", "10 s")
def coverage_figures(
    page: Page, _quick: bool, *, data: str = "coverage.json", folder: str = "docs/evidence/figures"
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from trueness_papers.coverage_display import CoverageDisplay

    kept = json.loads(Path(data).read_text(encoding="utf-8"))["coverage"]["data"]
    rows = [row for row in kept if row["group"] == "paper"]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for setting in sorted({row["scenario"].split(",")[0] for row in rows}):
        part = [row for row in rows if row["scenario"].startswith(f"{setting},")]
        path = Path(folder) / f"{setting.replace(' ', '-')}.png"
        display = CoverageDisplay.from_rows(part, level=LEVEL, title=setting).plot()
        display.figure_.savefig(path, dpi=90, pil_kwargs={"optimize": True})
        page.text(str(path))
