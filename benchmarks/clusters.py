"""Rows in clusters: coverage of the interval and level of the tests with few clusters, or one that is large.

    python benchmarks/clusters.py --runs 300

Prints two Markdown tables. Nothing in the library was chosen by these scenarios.
"""

import argparse
import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr

from trueness.infer import calibration_test, ece_interval

METHODS = ("exact", "ks", "kuiper", "spiegelhalter")
LEVELS = (0.1, 0.05)
LAWS = {"Beta(2, 2)": (2.0, 2.0), "rare: Beta(0.5, 15)": (0.5, 15.0)}
SHIFT = 0.7


class Scenario(NamedTuple):
    """Clusters, of which the first may hold a share of the rows; the others have 1 to 12 rows."""

    law: str
    clusters: int
    share: float = 0.0
    alike: float = 0.4
    """Correlation of the normal numbers behind the labels of a cluster."""

    @property
    def name(self) -> str:
        large = f", one with {100 * self.share:.0f} % of the rows" if self.share else ""
        return f"{self.law}, {self.clusters} clusters{large}{', labels nearly equal' if self.alike > 0.8 else ''}"


class Rows(NamedTuple):
    y: np.ndarray
    p: np.ndarray
    cluster: np.ndarray


def scenarios() -> Iterator[Scenario]:
    for law in LAWS:
        for clusters in (5, 10, 20, 40, 80):
            yield Scenario(law, clusters)
        for clusters, share in ((80, 0.2), (80, 0.5)):
            yield Scenario(law, clusters, share)
        for clusters, share in ((10, 0.0), (20, 0.0), (80, 0.5)):
            yield Scenario(law, clusters, share, alike=0.9)


def drawn(scenario: Scenario, shift: float, rng: np.random.Generator) -> Rows:
    """The label of a row has the probability expit(logit p + shift); labels and scores of a cluster go together."""
    sizes = rng.integers(1, 13, scenario.clusters)
    if scenario.share:
        sizes[0] = round(scenario.share / (1 - scenario.share) * sizes[1:].sum())
    cluster = np.repeat(np.arange(scenario.clusters), sizes)

    def uniform(share: float) -> np.ndarray:
        own = rng.normal(size=cluster.size)
        return ndtr(math.sqrt(share) * rng.normal(size=scenario.clusters)[cluster] + math.sqrt(1 - share) * own)

    p = betaincinv(*LAWS[scenario.law], uniform(0.3)).clip(1e-9, 1 - 1e-9)
    return Rows((uniform(scenario.alike) < expit(logit(p) + shift)).astype(int), p, cluster)


def truth(law: str, shift: float) -> float:
    p = betaincinv(*LAWS[law], (np.arange(100_000) + 0.5) / 100_000).clip(1e-9, 1 - 1e-9)
    return float(np.mean((expit(logit(p) + shift) - p) ** 2))


def levels(scenario: Scenario, runs: int, rng: np.random.Generator) -> list[str]:
    """Shares of calibrated data sets refuted."""
    pvalues = np.empty((runs, len(METHODS)))
    for row in pvalues:
        data = drawn(scenario, 0.0, rng)
        row[:] = [
            calibration_test(data.y, data.p, method=m, cluster=data.cluster, resamples=199, seed=rng).pvalue
            for m in METHODS
        ]
    return [f"{np.mean(pvalues[:, j] <= alpha):.3f}" for j in range(len(METHODS)) for alpha in LEVELS]


def coverages(scenario: Scenario, runs: int, rng: np.random.Generator) -> list[str]:
    """Coverage of the set at level 0.9 and its median upper end, calibrated and with an error."""
    cells = []
    for shift in (0.0, SHIFT):
        target = truth(scenario.law, shift) if shift else 0.0
        found = []
        for _ in range(runs):
            data = drawn(scenario, shift, rng)
            found.append(ece_interval(data.y, data.p, cluster=data.cluster, squared=True, seed=rng))
        held = np.mean([target in one for one in found])
        cells += [f"{math.sqrt(target):.4f}", f"{held:.3f}", f"{np.median([one.high for one in found]):.4f}"]
    return cells


def table(head: list[str], lines: Iterator[list[str]]) -> None:
    print("| " + " | ".join(head) + " |\n|---" + "|--:" * (len(head) - 1) + "|")
    for line in lines:
        print("| " + " | ".join(line) + " |", flush=True)
    print()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--runs", type=int, default=300)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(given.seed)
    print(f"Share of {given.runs:,} calibrated data sets refuted at 0.1 and 0.05 (199 draws each).\n")
    head = [f"{m}, {alpha:g}" for m in METHODS for alpha in LEVELS]
    table(["scores and clusters", *head], ([s.name, *levels(s, given.runs, rng)] for s in scenarios()))
    print(
        f"Coverage of the interval at level 0.9, {given.runs:,} data sets, and its median upper end (squared error).\n"
    )
    head = [f"{what}, {error}" for error in ("calibrated", "too low") for what in ("√truth", "coverage", "upper end")]
    table(["scores and clusters", *head], ([s.name, *coverages(s, given.runs, rng)] for s in scenarios()))


if __name__ == "__main__":
    main()
