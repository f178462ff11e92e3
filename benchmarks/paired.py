"""How often `compare` tells apart models of equal squared error, and how large its standard error is: a Markdown table.

python benchmarks/paired.py --runs 500
"""

import argparse
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import expit, logit, ndtr

from trueness.infer import compare

LEVELS = (0.1, 0.05, 0.01)
Model = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def shifted(by: float, noise: float = 0.0) -> Model:
    return lambda q, rng: expit(logit(q) + by + noise * rng.normal(size=q.size))


SCENARIOS: Mapping[str, Mapping[str, Model]] = {
    "both calibrated, one sharp": {"sharp": shifted(0), "flat": lambda q, _: np.full(q.size, 0.5)},
    "both nearly the same, calibrated": {"one": shifted(0), "other": shifted(0, 0.01)},
    "both nearly the same, too low": {"one": shifted(-0.4), "other": shifted(-0.4, 0.02)},
    "one too low, one too high": {"low": shifted(-0.4), "high": shifted(0.4)},
}


def rows(n: int, clustered: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Chances, labels and clusters of five rows, whose labels and chances go together."""
    if not clustered:
        q = rng.random(n)
        return q, (rng.random(n) < q).astype(int), None
    cluster = np.repeat(np.arange(n // 5), 5)
    q, u = (ndtr(np.sqrt(0.5) * (rng.normal(size=n // 5)[cluster] + rng.normal(size=n))) for _ in range(2))
    return q, (u < q).astype(int), cluster


def measured(models: Mapping[str, Model], n: int, clustered: bool, runs: int, rng: np.random.Generator) -> list[str]:
    found = []
    for _ in range(runs):
        q, y, cluster = rows(n, clustered, rng)
        found.append(compare(y, {name: of(q, rng) for name, of in models.items()}, cluster=cluster).pairs[0])
    error = np.sqrt(np.mean([one.standard_error**2 for one in found]))
    pvalues = np.array([one.pvalue for one in found])
    spread = np.std([one.difference for one in found])
    return [f"{error / spread:.2f}", *(f"{np.mean(pvalues <= alpha):.3f}" for alpha in LEVELS)]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--runs", type=int, default=500)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(given.seed)
    head = ["models", "rows", "standard error / deviation", *(f"refuted at {alpha:g}" for alpha in LEVELS)]
    print("| " + " | ".join(head) + " |\n|---" + "|--:" * (len(head) - 1) + "|")
    for name, models in SCENARIOS.items():
        for n, clustered in ((200, False), (1_000, False), (1_000, True)):
            size = f"{n:,}, in clusters of 5" if clustered else f"{n:,}"
            print("| " + " | ".join([name, size, *measured(models, n, clustered, given.runs, rng)]) + " |", flush=True)


if __name__ == "__main__":
    main()
