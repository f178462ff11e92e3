"""Level of `compare` for models of equal squared error, and the size of its standard error."""

from collections.abc import Callable, Mapping

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit, ndtr

from trueness.infer import compare

LEVELS = (0.1, 0.05, 0.01)
Model = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def shift(by: float, noise: float = 0.0) -> Model:
    return lambda q, rng: expit(logit(q) + by + noise * rng.normal(size=q.size))


SCENARIOS: Mapping[str, Mapping[str, Model]] = {
    "both calibrated, one sharp": {"sharp": shift(0), "flat": lambda q, _: np.full(q.size, 0.5)},
    "both nearly the same, calibrated": {"one": shift(0), "other": shift(0, 0.01)},
    "both nearly the same, too low": {"one": shift(-0.4), "other": shift(-0.4, 0.02)},
    "one too low, one too high": {"low": shift(-0.4), "high": shift(0.4)},
}


def rows(
    n: int, clustered: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Probabilities, labels and clusters of five rows, with labels and probabilities correlated within clusters."""
    if not clustered:
        q = rng.random(n)
        return q, (rng.random(n) < q).astype(int), None
    cluster = np.repeat(np.arange(n // 5), 5)
    q, u = (
        ndtr(np.sqrt(0.5) * (rng.normal(size=n // 5)[cluster] + rng.normal(size=n)))
        for _ in range(2)
    )
    return q, (u < q).astype(int), cluster


def simulate_pairs(
    models: Mapping[str, Model], n: int, clustered: bool, runs: int, rng: np.random.Generator
) -> list[str]:
    """Mean standard error by the deviation of the differences, and the share rejected at each level."""
    found = []
    for _ in range(runs):
        q, y, cluster = rows(n, clustered, rng)
        found.append(
            compare(y, {name: of(q, rng) for name, of in models.items()}, cluster=cluster).pairs[0]
        )
    error = np.sqrt(np.mean([one.standard_error**2 for one in found]))
    pvalues = np.array([one.pvalue for one in found])
    spread = np.std([one.difference for one in found])
    return [f"{error / spread:.2f}", *(f"{np.mean(pvalues <= alpha):.3f}" for alpha in LEVELS)]


@case("compare", "level and standard error of `compare`", "10 min")
def compare_models(page: Page, quick: bool, *, runs: int = 0, seed: int = 0) -> None:
    runs = runs or (20 if quick else 500)
    rng = np.random.default_rng(seed)
    columns = (
        "rows",
        "standard error / deviation",
        *(f"rejected at {alpha:g}" for alpha in LEVELS),
    )
    page.head("models", *columns, title=f"{runs:,} data sets of each kind")
    for name, models in SCENARIOS.items():
        for n, clustered in ((200, False), (1_000, False), (1_000, True)):
            size = f"{n:,}, in clusters of 5" if clustered else f"{n:,}"
            page.row(name, size, *simulate_pairs(models, n, clustered, runs, rng))
