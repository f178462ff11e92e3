"""How often each test refutes calibration: level and power, as a Markdown table.

python benchmarks/power.py --quick
"""

import argparse
import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import trueness as tn
from trueness import simulate
from trueness.infer import calibration_test

METHODS = {
    "exact": {"resamples": 199},
    "analytic": {},
    "t-cal": {"resamples": 199},
    "adaptive-t-cal": {"resamples": 499},
    "ks": {},
    "kuiper": {},
    "spiegelhalter": {},
    "cox": {},
    "hosmer-lemeshow": {},
}
DRAWN = {"exact", "t-cal", "adaptive-t-cal"}
ALPHA = 0.05


class Scenario(NamedTuple):
    name: str
    n: int
    scores: simulate.Beta | simulate.Discrete
    distortion: object = None


def scenarios(n: int) -> Iterator[Scenario]:
    uniform, rare, sure = simulate.Beta(), simulate.Beta(0.3, 60), simulate.Beta(12, 0.25)
    tied = simulate.Discrete(np.arange(1, 100) / 100)
    yield Scenario("calibrated, uniform", n, uniform)
    yield Scenario("calibrated, rare: Beta(0.3, 60)", n, rare)
    yield Scenario("calibrated, near 1: Beta(12, 0.25)", n, sure)
    yield Scenario("calibrated, two digits", n, tied)
    yield Scenario("overconfident: slope 0.7", n, uniform, simulate.Logit(slope=0.7))
    yield Scenario("timid: slope 1.4", n, uniform, simulate.Logit(slope=1.4))
    yield Scenario("too low: shift 0.4", n, uniform, simulate.Logit(shift=0.4))
    yield Scenario("local bump of 0.25 at 0.3", n, uniform, simulate.Bump(center=0.3, width=0.05, height=0.25))
    yield Scenario("oscillation, ±0.15, 4 cycles", n, uniform, simulate.Oscillation(height=0.15, cycles=4))
    yield Scenario("near 1: slope 0.6", n, sure, simulate.Logit(slope=0.6))
    yield Scenario("rare: shift 1", n, rare, simulate.Logit(shift=1.0))
    yield Scenario("two digits: slope 0.7", n, tied, simulate.Logit(slope=0.7))


def share(scenario: Scenario, runs: int, seed: int) -> dict[str, float]:
    """How often each method refutes, all on the same data."""
    rng = np.random.default_rng(seed)
    refuted = dict.fromkeys(METHODS, 0)
    for _ in range(runs):
        data = simulate.binary(scenario.n, scores=scenario.scores, distortion=scenario.distortion, seed=rng)
        tally = tn.tally(data.y_true, data.y_prob)
        for method, how in METHODS.items():
            given = how | ({"seed": rng} if method in DRAWN else {})
            refuted[method] += calibration_test(tally, method=method, **given).pvalue <= ALPHA
    return {method: count / runs for method, count in refuted.items()}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--quick", action="store_true", help="100 runs and n = 200 only")
    asked.add_argument("--runs", type=int, help="data sets per row of the table (2,000; --quick: 100)")
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    runs = given.runs or (100 if given.quick else 2_000)
    warnings.simplefilter("ignore")
    error = math.sqrt(ALPHA * (1 - ALPHA) / runs)
    print(f"Share of {runs:,} data sets refuted at {ALPHA:g} (Monte-Carlo deviation of a level: {error:.3f}).\n")
    print("| scores and truth | n | " + " | ".join(METHODS) + " |")
    print("|---|--:|" + "--:|" * len(METHODS))
    for n in (200,) if given.quick else (50, 200, 1_000):
        for scenario in scenarios(n):
            row = share(scenario, runs, given.seed)
            print(f"| {scenario.name} | {n:,} | " + " | ".join(f"{v:.2f}" for v in row.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
