"""Rows in clusters: coverage of the interval and level of the tests with few clusters, or with one large one.

Nothing in the library was tuned on these scenarios.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from benchmark import Page, case
from scipy.special import betaincinv, expit, logit, ndtr

from trueness import calibration_test, ece_interval

METHODS = ("omnibus", "exact", "ks", "kuiper", "spiegelhalter")
LEVELS = (0.1, 0.05)
LAWS = {"Beta(2, 2)": (2.0, 2.0), "rare: Beta(0.5, 15)": (0.5, 15.0)}
SHIFT = 0.7


class Scenario(NamedTuple):
    """Clusters of 1 to 12 rows, except that the first may have a given share of all rows."""

    law: str
    clusters: int
    share: float = 0.0
    alike: float = 0.4
    """Correlation of the latent normals behind the labels of a cluster."""

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


def draw(scenario: Scenario, shift: float, rng: np.random.Generator) -> Rows:
    """Labels with probability expit(logit p + shift); labels and scores are correlated within clusters."""
    sizes = rng.integers(1, 13, scenario.clusters)
    if scenario.share:
        sizes[0] = round(scenario.share / (1 - scenario.share) * sizes[1:].sum())
    cluster = np.repeat(np.arange(scenario.clusters), sizes)

    def uniform(share: float) -> np.ndarray:
        own = rng.normal(size=cluster.size)
        return ndtr(
            math.sqrt(share) * rng.normal(size=scenario.clusters)[cluster]
            + math.sqrt(1 - share) * own
        )

    p = betaincinv(*LAWS[scenario.law], uniform(0.3)).clip(1e-9, 1 - 1e-9)
    return Rows((uniform(scenario.alike) < expit(logit(p) + shift)).astype(int), p, cluster)


def truth(law: str, shift: float) -> float:
    p = betaincinv(*LAWS[law], (np.arange(100_000) + 0.5) / 100_000).clip(1e-9, 1 - 1e-9)
    return float(np.mean((expit(logit(p) + shift) - p) ** 2))


def levels(scenario: Scenario, runs: int, rng: np.random.Generator) -> list[str]:
    """Shares of calibrated data sets rejected."""
    pvalues = np.empty((runs, len(METHODS)))
    for row in pvalues:
        data = draw(scenario, 0.0, rng)
        row[:] = [
            calibration_test(
                data.y, data.p, method=m, cluster=data.cluster, resamples=199, seed=rng
            ).pvalue
            for m in METHODS
        ]
    return [
        f"{np.mean(pvalues[:, j] <= alpha):.3f}" for j in range(len(METHODS)) for alpha in LEVELS
    ]


def coverages(scenario: Scenario, runs: int, rng: np.random.Generator) -> list[str]:
    """True error, coverage at level 0.9 and median upper end, for calibrated and for shifted scores."""
    cells = []
    for shift in (0.0, SHIFT):
        target = truth(scenario.law, shift) if shift else 0.0
        found = []
        for _ in range(runs):
            data = draw(scenario, shift, rng)
            found.append(
                ece_interval(
                    data.y, data.p, cluster=data.cluster, level=0.9, squared=True, seed=rng
                )
            )
        held = np.mean([target in one for one in found])
        cells += [
            f"{math.sqrt(target):.4f}",
            f"{held:.3f}",
            f"{np.median([one.high for one in found]):.4f}",
        ]
    return cells


@case("clusters", "coverage and level with rows in clusters", "20 min")
def clusters(page: Page, quick: bool, *, runs: int = 0, seed: int = 0) -> None:
    runs = runs or (20 if quick else 300)
    chosen = list(scenarios())[:: 5 if quick else 1]
    rng = np.random.default_rng(seed)
    title = f"Share of {runs:,} calibrated data sets rejected at 0.1 and 0.05 (199 resamples each)"
    page.head(
        "scores and clusters",
        *(f"{m}, {alpha:g}" for m in METHODS for alpha in LEVELS),
        title=title,
    )
    for scenario in chosen:
        page.row(scenario.name, *levels(scenario, runs, rng))
    title = f"Coverage of the interval at level 0.9, {runs:,} data sets, and its median upper end (squared error)"
    columns = [
        f"{what}, {error}"
        for error in ("calibrated", "too low")
        for what in ("√truth", "coverage", "upper end")
    ]
    page.head("scores and clusters", *columns, title=title)
    for scenario in chosen:
        page.row(scenario.name, *coverages(scenario, runs, rng))
