"""Size and power of the equivalence test, by simulation."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn
from cases import clusters

CRITERIA = ("l2", "ece", "oe", "band")
ALPHA = 0.05
MARGINS = (0.02, 0.05, 0.1)
LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "rare: Beta(0.5, 20)": lambda rng, n: rng.beta(0.5, 20, n),
    "near 1: 1 − Beta(0.3, 8)": lambda rng, n: 1 - rng.beta(0.3, 8, n),
    "one digit": lambda rng, n: rng.integers(1, 10, n) / 10,
}
ERRORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "shift 0.3": lambda p: expit(log_odds(p) + 0.3),
    "shift 1": lambda p: expit(log_odds(p) + 1),
    "slope 0.6": lambda p: expit(0.6 * log_odds(p) + 0.4 * logit(p.mean())),
    "±0.1, waves": lambda p: np.clip(p + 0.4 * p * (1 - p) * np.sin(6 * np.pi * p), 0, 1),
}


class Rows(NamedTuple):
    y: np.ndarray
    p: np.ndarray
    truth: np.ndarray
    cluster: np.ndarray | None = None


def log_odds(p: np.ndarray) -> np.ndarray:
    return logit(np.clip(p, 1e-9, 1 - 1e-9))


def margins(rows: Rows) -> dict[str, float]:
    """The true error by each criterion, given the scores."""
    gap = rows.truth - rows.p
    bins = np.minimum((10 * rows.p).astype(int), 9)
    return {
        "l2": math.sqrt(np.mean(gap**2)),
        "ece": float(np.abs(np.bincount(bins, gap)).sum()) / gap.size,
        "oe": abs(float(rows.truth.mean() / rows.p.mean()) - 1),
        "band": float(np.sort(np.abs(gap))[math.ceil(0.95 * gap.size) - 1]) * (1 - 1e-9),
    }


def accepts(rows: Rows, criterion: str, within: float) -> bool:
    if criterion == "band":
        return tn.curve_band(rows.y, rows.p, level=1 - ALPHA, method="monotone").within(within)
    found = tn.equivalence_test(
        rows.y, rows.p, criterion=criterion, within=within, cluster=rows.cluster
    )
    return found.pvalue <= ALPHA


def draws(law: str, error: str, n: int, runs: int, rng: np.random.Generator) -> Iterator[Rows]:
    for _ in range(runs):
        p = LAWS[law](rng, n)
        truth = ERRORS[error](p) if error else p
        yield Rows((rng.random(n) < truth).astype(int), p, truth)


def clustered(law: str, n: int, runs: int, rng: np.random.Generator) -> Iterator[Rows]:
    """Clusters of 1 to 12 rows, 6.5 on average, with correlated labels that are too frequent."""
    scenario = clusters.Scenario(law, round(n / 6.5))
    for _ in range(runs):
        y, p, cluster = clusters.draw(scenario, clusters.SHIFT, rng)
        yield Rows(y, p, expit(log_odds(p) + clusters.SHIFT), cluster)


def sizes(data: Iterator[Rows], criteria: tuple[str, ...]) -> list[str]:
    """Mean l2 error, and the share of data sets whose error, equal to the margin, is accepted."""
    errors, accepted = [], {criterion: [] for criterion in criteria}
    for rows in data:
        true = margins(rows)
        errors.append(true["l2"])
        for criterion in criteria:
            within = true[criterion]
            # An error of (nearly) 0, or above 1, is no margin.
            is_margin = 0.004 < within <= 1
            accepted[criterion].append(accepts(rows, criterion, within) if is_margin else math.nan)
    shares = [np.mean(accepted[c]) if c in accepted else math.nan for c in CRITERIA]
    return [
        f"{np.mean(errors):.3f}",
        *("–" if math.isnan(share) else f"{share:.3f}" for share in shares),
    ]


@case("equivalence", "size and power of the equivalence test", "5 min")
def equivalence(page: Page, quick: bool, *, runs: int = 0, seed: int = 0) -> None:
    runs = runs or (40 if quick else 400)
    rng = np.random.default_rng(seed)
    error = math.sqrt(ALPHA * (1 - ALPHA) / runs)
    title = f"Size: an error equal to the margin, accepted at {ALPHA:g} in {runs:,} data sets (standard error {error:.3f})"
    page.head("scores", "error", "n", "l2 error", *CRITERIA, title=title)
    for law in LAWS:
        for name in ERRORS:
            for n in (300,) if quick else (300, 3_000):
                page.row(law, name, f"{n:,}", *sizes(draws(law, name, n, runs, rng), CRITERIA))
    for law in clusters.LAWS:
        page.row(
            f"{law}, clusters",
            f"shift {clusters.SHIFT:g}",
            "1,000",
            *sizes(clustered(law, 1_000, runs, rng), CRITERIA[:3]),
        )
    few = max(20, runs // 8)
    columns = [f"{criterion}, {within:g}" for criterion in CRITERIA for within in MARGINS]
    page.head(
        "scores",
        "n",
        *columns,
        title=f"Power: calibrated scores accepted at {ALPHA:g}, {few:,} data sets",
    )
    for law in LAWS:
        for n in (1_000, 10_000) if quick else (1_000, 10_000, 100_000):
            shares = np.array(
                [
                    [accepts(rows, c, w) for c in CRITERIA for w in MARGINS]
                    for rows in draws(law, "", n, few, rng)
                ]
            ).mean(axis=0)
            page.row(law, f"{n:,}", *(f"{share:.2f}" for share in shares))
