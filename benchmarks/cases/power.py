"""Level and power of every calibration test, by simulation."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from benchmark import Page, case

import trueness as tn
from cases import clusters
from trueness import calibration_test, simulate
from trueness_papers.distortions import Bump, Oscillation

METHODS = (
    "omnibus",
    "exact",
    "analytic",
    "t-cal",
    "adaptive-t-cal",
    "ks",
    "kuiper",
    "spiegelhalter",
    "cox",
    "hosmer-lemeshow",
)
WEIGHTED = {"omnibus", "ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow"}
LEVELS = (0.1, 0.05, 0.01)
ALPHA = 0.05
Pvalues = dict[str, np.ndarray]


class Scenario(NamedTuple):
    name: str
    n: int
    draw: Callable[[np.random.Generator], dict[str, Any]]
    """Data, by the names of the arguments of `calibration_test`."""
    methods: frozenset[str] = frozenset(METHODS)


def rows(name: str, n: int, scores: Any, distortion: Any = None) -> Scenario:
    def draw(rng: np.random.Generator) -> dict[str, Any]:
        data = simulate.binary(n, scores=scores, distortion=distortion, seed=rng)
        return {"y_true": tn.tally(data.y_true, data.y_prob)}

    return Scenario(name, n, draw)


def counts(n: int) -> Scenario:
    """Scores with two digits; each pair of score and label once, weighted by its count."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        data = simulate.binary(n, scores=TIED, seed=rng)
        pairs, count = np.unique(
            np.column_stack([data.y_prob, data.y_true]), axis=0, return_counts=True
        )
        return {"y_true": pairs[:, 1].astype(int), "y_prob": pairs[:, 0], "sample_weight": count}

    return Scenario("two digits, weights that count rows", n, draw)


def weights(n: int) -> Scenario:
    """Weights that are not counts, which tests that count rows refuse."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        data = simulate.binary(n, seed=rng)
        return {
            "y_true": data.y_true,
            "y_prob": data.y_prob,
            "sample_weight": rng.choice([0.5, 2.5], n),
        }

    return Scenario("uniform, weights 0.5 and 2.5", n, draw, frozenset(WEIGHTED))


def in_clusters(law: str, n: int) -> Scenario:
    """Clusters of 1 to 12 rows, 6.5 on average, known to the tests."""
    scenario = clusters.Scenario(law, round(n / 6.5))

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        data = clusters.draw(scenario, 0.0, rng)
        return {"y_true": data.y, "y_prob": data.p, "cluster": data.cluster}

    return Scenario(scenario.name, n, draw, frozenset(clusters.METHODS))


UNIFORM, RARE, CONFIDENT = simulate.Beta(), simulate.Beta(0.3, 60), simulate.Beta(12, 0.25)
TIED = simulate.Discrete(np.arange(1, 100) / 100)


def calibrated(n: int) -> Iterator[Scenario]:
    yield rows("uniform", n, UNIFORM)
    yield rows("rare: Beta(0.3, 60)", n, RARE)
    yield rows("near 1: Beta(12, 0.25)", n, CONFIDENT)
    yield rows("two digits", n, TIED)
    yield counts(n)
    yield weights(n)
    for law in clusters.LAWS:
        yield in_clusters(law, n)


def miscalibrated(n: int) -> Iterator[Scenario]:
    yield rows("overconfident: slope 0.7", n, UNIFORM, simulate.Logit(slope=0.7))
    yield rows("underconfident: slope 1.4", n, UNIFORM, simulate.Logit(slope=1.4))
    yield rows("too low: shift 0.4", n, UNIFORM, simulate.Logit(shift=0.4))
    yield rows("local bump of 0.25 at 0.3", n, UNIFORM, Bump(center=0.3, width=0.05, height=0.25))
    yield rows("oscillation, ±0.15, 4 cycles", n, UNIFORM, Oscillation(height=0.15, cycles=4))
    yield rows("near 1: slope 0.6", n, CONFIDENT, simulate.Logit(slope=0.6))
    yield rows("rare: shift 1", n, RARE, simulate.Logit(shift=1.0))
    yield rows("two digits: slope 0.7", n, TIED, simulate.Logit(slope=0.7))


def pvalues(scenario: Scenario, runs: int, seed: int) -> Pvalues:
    """P-values of each method, all on the same data; nan where it does not take such data."""
    rng = np.random.default_rng(seed)
    found = {method: np.full(runs, np.nan) for method in METHODS}
    for i in range(runs):
        data = scenario.draw(rng)
        for method in METHODS:
            if method in scenario.methods:
                options = {} if method == "analytic" else {"seed": rng}
                found[method][i] = calibration_test(**data, method=method, **options).pvalue
    return found


def shares(
    page: Page, title: str, alpha: float, results: Iterable[tuple[Scenario, Pvalues]], runs: int
) -> None:
    error = math.sqrt(alpha * (1 - alpha) / runs)
    what = f"{title}: share of {runs:,} data sets rejected at {alpha:g} (standard error of a level: {error:.3f})"
    page.head("scores and truth", "n", *METHODS, title=what)
    for scenario, found in results:
        cells = (
            f"{np.mean(p <= alpha):.3f}" if np.isfinite(p).all() else "–" for p in found.values()
        )
        page.row(scenario.name, f"{scenario.n:,}", *cells)


@case("power", "level and power of every calibration test", "15 min")
def power(page: Page, quick: bool, *, runs: int = 0, seed: int = 0) -> None:
    runs = runs or (100 if quick else 2_000)
    sizes = (200,) if quick else (50, 200, 1_000)
    found = [(s, pvalues(s, runs, seed)) for n in sizes for s in calibrated(n)]
    for alpha in LEVELS:
        shares(page, "Calibrated", alpha, found, runs)
    results = ((s, pvalues(s, runs, seed)) for n in sizes for s in miscalibrated(n))
    shares(page, "Miscalibrated", ALPHA, results, runs)
