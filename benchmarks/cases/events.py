"""Levels and coverage of intervals, quantiles and risks by a horizon, by simulation."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmark import Page, case
from scipy.stats import chisquare, norm

import trueness as tn

RATES = {"10 %": 0.022, "30 %": 0.09, "60 %": 0.28}
"""Rates of censoring by the share of rows that they lose before the horizon, about."""
DRAWS = 199


def rejects(events: Any, seed: int, **options: Any) -> bool:
    """Whether a test rejects at 0.05."""
    found = tn.calibration_test(events, resamples=DRAWS, seed=seed, **options)
    return found.pvalue <= 0.05


def shares(make: Callable[[int], tuple[bool, ...]], runs: int) -> list[str]:
    """The share of each outcome over the runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.mean([make(seed) for seed in range(runs)], axis=0)
    return [f"{share:.3f}" for share in found]


def covers(events: Any, truth: np.ndarray) -> bool:
    """Whether the limits of all levels hold together."""
    found = tn.assess(events).coverage
    return bool(((found.low <= truth) & (truth <= found.high)).all())


@case("events", "level and coverage of intervals, quantiles and risks by a horizon", "6 min")
def events(page: Page, quick: bool, *, runs: int = 0, seed: int = 0) -> None:
    runs = runs or (20 if quick else 300)
    error = f"standard error {math.sqrt(0.05 * 0.95 / runs):.3f}"
    intervals(page, runs, np.random.default_rng([seed, 1]), error)
    quantiles(page, runs, np.random.default_rng([seed, 2]), error)
    horizons(page, runs, np.random.default_rng([seed, 3]), error)
    greenwood(page, runs, np.random.default_rng([seed, 4]))


def intervals(page: Page, runs: int, rng: np.random.Generator, error: str) -> None:
    page.head(
        "rows",
        "clusters",
        "size",
        "covered",
        title=f"90 % intervals that hold, {runs} runs, {error}",
    )
    half = norm.ppf(0.95)
    for n, groups in ((50, 0), (500, 0), (5_000, 0), (200, 40), (1_000, 100)):

        def one(seed: int, n: int = n, groups: int = groups) -> tuple[bool, ...]:
            scale = np.exp(0.5 * rng.normal(size=n)) if not groups else np.ones(n)
            cluster = np.arange(n) % groups if groups else None
            noise = rng.normal(size=n)
            if cluster is not None:
                noise = 0.55 * rng.normal(size=groups)[cluster] + math.sqrt(1 - 0.55**2) * noise
            found = tn.events.interval(scale * noise, -half * scale, half * scale, cluster=cluster)
            return rejects(found, seed), covers(found, np.array([0.9]))

        page.row(f"{n:,}", str(groups or "–"), *shares(one, runs))


def quantiles(page: Page, runs: int, rng: np.random.Generator, error: str) -> None:
    def made(n: int, number: int, shift: float = 0.0, spread: float = 1.0) -> Any:
        levels = np.arange(1, number + 1) / (number + 1)
        y = shift + spread * rng.normal(size=n)
        return tn.events.quantiles(y, np.tile(norm.ppf(levels), (n, 1)), levels=levels)

    page.head(
        "rows",
        "levels",
        "size of the joint test",
        "limits cover all levels",
        title=f"Quantiles that hold, {runs} runs, {error}",
    )
    for n in (50, 100, 500):
        for number in (3, 9, 39):

            def one(seed: int, n: int = n, number: int = number) -> tuple[bool, ...]:
                found = made(n, number)
                return rejects(found, seed, method="quantiles"), covers(found, found.levels)

            page.row(str(n), str(number), *shares(one, runs))
    page.head(
        "error", "rows", "joint test", "Pearson's test alone", title=f"Power, 9 levels, {runs} runs"
    )
    for name, shift, spread in (("location 0.1", 0.1, 1.0), ("spread × 1.15", 0.0, 1.15)):
        for n in (100, 500):

            def both(
                seed: int, n: int = n, shift: float = shift, spread: float = spread
            ) -> tuple[bool, ...]:
                found = made(n, 9, shift, spread)
                gaps = 9 - found.event.reshape(-1, 9).sum(axis=1).astype(int)
                pearson = chisquare(np.bincount(gaps, minlength=10)).pvalue
                return rejects(found, seed, method="quantiles"), bool(pearson <= 0.05)

            page.row(name, str(n), *shares(both, runs))


def horizons(page: Page, runs: int, rng: np.random.Generator, error: str) -> None:
    page.head(
        "rows",
        "lost",
        "censoring",
        "size",
        "O/E covers",
        "slope covers",
        title=f"Risks by a horizon that hold, {runs} runs, {error}",
    )
    for n in (100, 300, 1_000):
        for lost, rate in RATES.items():
            for censoring in ("independent", "by score", "by group"):

                def one(
                    seed: int, n: int = n, rate: float = rate, censoring: str = censoring
                ) -> tuple[bool, ...]:
                    risk = rng.beta(2, 5, n)
                    time = -np.log(rng.random(n)) / -np.log1p(-risk) * 5
                    rates = np.full(n, rate)
                    if censoring == "by score":
                        rates = rate * np.exp(3 * (risk - 0.28))
                    elif censoring == "by group":
                        rates = rate * np.where(rng.random(n) < 0.5, 0.4, 1.6)
                    censored = rng.exponential(1 / rates)
                    rows = np.minimum(time, censored), (time <= censored).astype(int), risk
                    found = tn.events.at_horizon(*rows, horizon=5)
                    ratio = tn.estimate("observed_expected", found)
                    slope = tn.estimate("slope", found)
                    return (
                        rejects(found, seed),
                        ratio.low <= 1 <= ratio.high,
                        slope.low <= 1 <= slope.high,
                    )

                page.row(f"{n:,}", lost, censoring, *shares(one, runs))


def greenwood(page: Page, runs: int, rng: np.random.Generator) -> None:
    page.head(
        "rows",
        "lost",
        "strata",
        "length / Greenwood's",
        "covers",
        "Greenwood's covers",
        title=f"Limits of the event rate at the horizon, true rate 0.3, {runs} runs",
    )
    for n in (300, 1_000):
        for lost, rate in RATES.items():
            for strata in (None, "auto"):
                found = np.empty((runs, 4))
                for run in range(runs):
                    risk = rng.uniform(0.25, 0.35, n)
                    time = rng.exponential(-5 / math.log(0.7), n)
                    censored = rng.exponential(1 / rate, n)
                    rows = np.minimum(time, censored), (time <= censored).astype(int)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        made = tn.events.at_horizon(*rows, risk, horizon=5, strata=strata)
                        ratio = tn.estimate("observed_expected", made)
                    weight = np.ones(n) if made.weight is None else made.weight
                    mean = np.average(made.p, weights=weight)
                    low, high = ratio.low * mean, ratio.high * mean
                    least, most = greenwood_limits(*rows)
                    found[run] = high - low, most - least, low <= 0.3 <= high, least <= 0.3 <= most
                own, other, covered, others = found.mean(axis=0)
                name = "none" if strata is None else "by risk"
                page.row(
                    f"{n:,}", lost, name, f"{own / other:.2f}", f"{covered:.3f}", f"{others:.3f}"
                )


def greenwood_limits(time: np.ndarray, event: np.ndarray) -> tuple[float, float]:
    """One minus Kaplan-Meier at 5, with normal limits by Greenwood's formula."""
    stays, spread = 1.0, 0.0
    for moment in np.sort(time[(event == 1) & (time <= 5)]):
        risk = (time >= moment).sum()
        stays *= 1 - 1 / risk
        spread += 1 / (risk * (risk - 1))
    error = 1.96 * stays * math.sqrt(spread)
    return 1 - stays - error, 1 - stays + error
