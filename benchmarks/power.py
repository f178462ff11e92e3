"""How often each test refutes calibration: levels at 0.1, 0.05 and 0.01, and power, as Markdown tables.

python benchmarks/power.py --quick
"""

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import clusters
import numpy as np

import trueness as tn
from trueness import simulate
from trueness.infer import calibration_test

METHODS = (
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
DRAWN = {"exact", "t-cal", "adaptive-t-cal"}
WEIGHING = {"ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow"}
LEVELS = (0.1, 0.05, 0.01)
ALPHA = 0.05


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
    """Scores of two digits, each pair of score and label once, weighted by its number."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        data = simulate.binary(n, scores=TIED, seed=rng)
        pairs, count = np.unique(np.column_stack([data.y_prob, data.y_true]), axis=0, return_counts=True)
        return {"y_true": pairs[:, 1].astype(int), "y_prob": pairs[:, 0], "sample_weight": count}

    return Scenario("two digits, weights that count rows", n, draw)


def weights(n: int) -> Scenario:
    """Weights that are not counts; tests that count rows refuse them."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        data = simulate.binary(n, seed=rng)
        return {"y_true": data.y_true, "y_prob": data.y_prob, "sample_weight": rng.choice([0.5, 2.5], n)}

    return Scenario("uniform, weights 0.5 and 2.5", n, draw, frozenset(WEIGHING))


def in_clusters(law: str, n: int) -> Scenario:
    """Clusters of 1 to 12 rows, 6.5 on average; the tests are told of them."""
    scenario = clusters.Scenario(law, round(n / 6.5))

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        data = clusters.drawn(scenario, 0.0, rng)
        return {"y_true": data.y, "y_prob": data.p, "cluster": data.cluster}

    return Scenario(scenario.name, n, draw, frozenset(clusters.METHODS))


UNIFORM, RARE, SURE = simulate.Beta(), simulate.Beta(0.3, 60), simulate.Beta(12, 0.25)
TIED = simulate.Discrete(np.arange(1, 100) / 100)


def calibrated(n: int) -> Iterator[Scenario]:
    yield rows("uniform", n, UNIFORM)
    yield rows("rare: Beta(0.3, 60)", n, RARE)
    yield rows("near 1: Beta(12, 0.25)", n, SURE)
    yield rows("two digits", n, TIED)
    yield counts(n)
    yield weights(n)
    for law in clusters.LAWS:
        yield in_clusters(law, n)


def wrong(n: int) -> Iterator[Scenario]:
    yield rows("overconfident: slope 0.7", n, UNIFORM, simulate.Logit(slope=0.7))
    yield rows("timid: slope 1.4", n, UNIFORM, simulate.Logit(slope=1.4))
    yield rows("too low: shift 0.4", n, UNIFORM, simulate.Logit(shift=0.4))
    yield rows("local bump of 0.25 at 0.3", n, UNIFORM, simulate.Bump(center=0.3, width=0.05, height=0.25))
    yield rows("oscillation, ±0.15, 4 cycles", n, UNIFORM, simulate.Oscillation(height=0.15, cycles=4))
    yield rows("near 1: slope 0.6", n, SURE, simulate.Logit(slope=0.6))
    yield rows("rare: shift 1", n, RARE, simulate.Logit(shift=1.0))
    yield rows("two digits: slope 0.7", n, TIED, simulate.Logit(slope=0.7))


def pvalues(scenario: Scenario, runs: int, seed: int) -> dict[str, np.ndarray]:
    """Of each method, all on the same data; nan where it does not take such data."""
    rng = np.random.default_rng(seed)
    found = {method: np.full(runs, np.nan) for method in METHODS}
    for i in range(runs):
        data = scenario.draw(rng)
        for method in METHODS:
            if method in scenario.methods:
                given = {"seed": rng} if method in DRAWN or "cluster" in data else {}
                found[method][i] = calibration_test(**data, method=method, **given).pvalue
    return found


def line(scenario: Scenario, found: dict[str, np.ndarray], alpha: float) -> str:
    shares = (f"{np.mean(p <= alpha):.3f}" if np.isfinite(p).all() else "–" for p in found.values())
    return f"| {scenario.name} | {scenario.n:,} | " + " | ".join(shares) + " |"


def head(title: str, alpha: float, runs: int) -> None:
    error = math.sqrt(alpha * (1 - alpha) / runs)
    print(f"{title}: share of {runs:,} data sets refuted at {alpha:g} (deviation of a level: {error:.3f}).\n")
    print("| scores and truth | n | " + " | ".join(METHODS) + " |")
    print("|---|--:|" + "--:|" * len(METHODS), flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--quick", action="store_true", help="100 runs and n = 200 only")
    asked.add_argument("--runs", type=int, help="data sets per row of the table (2,000; --quick: 100)")
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    runs = given.runs or (100 if given.quick else 2_000)
    sizes = (200,) if given.quick else (50, 200, 1_000)
    warnings.simplefilter("ignore")
    found = [(s, pvalues(s, runs, given.seed)) for n in sizes for s in calibrated(n)]
    for alpha in LEVELS:
        head("Calibrated", alpha, runs)
        print("\n".join(line(*one, alpha) for one in found) + "\n")
    head("Not calibrated", ALPHA, runs)
    for n in sizes:
        for scenario in wrong(n):
            print(line(scenario, pvalues(scenario, runs, given.seed), ALPHA), flush=True)


if __name__ == "__main__":
    main()
