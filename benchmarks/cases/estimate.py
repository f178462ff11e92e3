"""Coverage of the interval of every measure that has one.

Nothing in the library was tuned on these scenarios, except that the limits of Brier score and log loss were chosen
among four by simulations of similar ones.
"""

import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from benchmark import Page, case
from scipy.special import betaincinv, expit, logit, ndtr

import trueness as tn
from trueness._numerics.logistic import recalibration_line, recalibration_shift

LAWS = ("uniform", "rare", "confident", "tied")
TIES = np.array([0.05, 0.2, 0.5, 0.8, 0.95])
ERRORS = {"calibrated": (1.0, 0.0), "slope 0.6": (0.6, 0.0), "shift 0.7": (1.0, 0.7)}
MEANS = (
    "observed_expected",
    "intercept",
    "slope",
    "free_intercept",
    "brier",
    "scaled_brier",
    "log_loss",
    "auc",
)
ERRORS_IN_BINS = ("ece", "ace", "ece_l2", "squared_ece")
RATES = ("prevalence", "uncertainty", "discrimination")
SIZE = 5
GRID = 20_000


class Scenario(NamedTuple):
    """A law of the scores, an error of the log-odds, a number of rows, and whether rows are in clusters of five."""

    law: str
    error: str
    n: int
    clustered: bool

    @property
    def name(self) -> str:
        return f"{self.law}, {self.error}, n = {self.n:,}{', clusters' if self.clustered else ''}"


def scenarios() -> Iterator[Scenario]:
    for clustered in (False, True):
        for n in (100, 1_000):
            for law in LAWS:
                for error in ERRORS:
                    yield Scenario(law, error, n, clustered)


def quantile(law: str, u: np.ndarray) -> np.ndarray:
    if law == "uniform":
        return u
    if law == "rare":
        return 1 - (1 - u) ** (1 / 30)
    if law == "confident":
        return betaincinv(0.15, 0.15, u).clip(1e-6, 1 - 1e-6)
    return TIES[np.minimum((u * TIES.size).astype(int), TIES.size - 1)]


def probability(error: str, p: np.ndarray) -> np.ndarray:
    slope, shift = ERRORS[error]
    return expit(slope * logit(p) + shift)


def draw(
    scenario: Scenario, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Labels, scores and clusters; scores and labels of a cluster are correlated through latent normals."""
    cluster = np.repeat(np.arange(scenario.n // SIZE), SIZE) if scenario.clustered else None

    def uniform(share: float) -> np.ndarray:
        own = rng.normal(size=scenario.n)
        if cluster is None:
            return ndtr(own)
        common = rng.normal(size=scenario.n // SIZE)[cluster]
        return ndtr(math.sqrt(share) * common + math.sqrt(1 - share) * own)

    p = quantile(scenario.law, uniform(0.3))
    return (uniform(0.3) < probability(scenario.error, p)).astype(int), p, cluster


def truths(law: str, error: str) -> dict[str, float]:
    """The measures of the population."""
    p = np.sort(quantile(law, (np.arange(GRID) + 0.5) / GRID))
    q = probability(error, p)
    x, ones = logit(p), np.ones(GRID)
    slope, intercept = recalibration_line(x, ones, q)
    rate, brier = float(q.mean()), float((q * (1 - p) ** 2 + (1 - q) * p**2).mean())
    edges = np.minimum((p * 10).astype(int), 9)
    gaps = np.bincount(edges, q - p, 10) / GRID
    shares = np.bincount(edges, minlength=10) / GRID
    mass = np.bincount(np.arange(GRID) * 10 // GRID, q - p, 10) / GRID
    squares = np.divide(gaps**2, shares, out=np.zeros(10), where=shares > 0).sum()
    # Ties are half right and half wrong.
    below = np.cumsum(1 - q) - (1 - q) / 2
    if law == "tied":
        cell = np.searchsorted(TIES, p)
        events, others = np.bincount(cell, q), np.bincount(cell, 1 - q)
        area = float(events @ (np.cumsum(others) - others / 2))
    else:
        area = float(q @ below)
    return {
        "observed_expected": rate / float(p.mean()),
        "intercept": recalibration_shift(x, ones, q),
        "slope": slope,
        "free_intercept": intercept,
        "brier": brier,
        "scaled_brier": 1 - brier / (rate * (1 - rate)),
        "log_loss": float(-(q * np.log(p) + (1 - q) * np.log1p(-p)).mean()),
        "auc": area / (GRID * rate * GRID * (1 - rate)),
        "ece": float(np.abs(gaps).sum()),
        "ace": float(np.abs(mass).sum()),
        "ece_l2": math.sqrt(squares),
        "squared_ece": float(((q - p) ** 2).mean()),
        "prevalence": rate,
        "uncertainty": rate * (1 - rate),
        "discrimination": float(q.var()),
    }


def coverage(
    scenario: Scenario, names: tuple[str, ...], runs: int, rng: np.random.Generator
) -> dict[str, float]:
    """The share of data sets whose interval contains the truth; data sets without an interval are left out."""
    truth = truths(scenario.law, scenario.error)
    held: dict[str, list[bool]] = {name: [] for name in names}
    for run in range(runs):
        y, p, cluster = draw(scenario, rng)
        # Of rows, O/E is about these scores.
        truth["observed_expected"] = float(probability(scenario.error, p).sum() / p.sum())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tn.TruenessWarning)
            found = {
                name: tn.estimate(name, y, p, cluster=cluster, seed=run, floor=False)
                for name in names
            }
        for name, one in found.items():
            if one.bounded:
                slack = 1e-12 * (1 + abs(truth[name]))
                held[name].append(one.low - slack <= truth[name] <= one.high + slack)
    return {name: float(np.mean(each)) if each else math.nan for name, each in held.items()}


@case("estimate", "coverage of the interval of every measure", "25 min")
def estimate(
    page: Page,
    quick: bool,
    *,
    runs: int = 0,
    measures: str = "",
    clustered: bool = False,
    seed: int = 0,
) -> None:
    """All measures, or some of them (separated by commas); `clustered` leaves out independent rows."""
    runs = runs or (10 if quick else 300)
    chosen = [one for one in scenarios() if one.clustered or not clustered][:: 8 if quick else 1]
    rng = np.random.default_rng(seed)
    groups = [(MEANS + RATES, 1), (ERRORS_IN_BINS, 4)]
    if measures:
        groups = [(tuple(measures.split(",")), 1)]
    for names, share in groups:
        number = max(1, runs // share)
        noise = math.sqrt(0.95 * 0.05 / number)
        title = f"Coverage at level 0.95 of {number:,} data sets (standard error {noise:.3f})"
        page.head("scores, error, rows", *names, title=title)
        for scenario in chosen:
            found = coverage(scenario, names, number, rng)
            page.row(
                scenario.name,
                *("–" if math.isnan(found[name]) else f"{found[name]:.3f}" for name in names),
            )
