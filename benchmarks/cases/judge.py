"""A judge's labels: size and power of `powered` and coverage of its limits, beside human labels alone."""

import warnings
from collections.abc import Callable

import numpy as np
from benchmark import Page, case

import trueness as tn

Judge = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
JUDGES: dict[str, Judge] = {
    "good": lambda y, p, rng: np.where(rng.random(p.size) < 0.92, y, 1 - y),
    "poor": lambda y, p, rng: np.where(rng.random(p.size) < 0.65, y, 1 - y),
    "useless": lambda _, p, rng: rng.integers(0, 2, p.size),
    "too high": lambda y, p, rng: np.maximum(y, rng.random(p.size) < 0.35),
    "too low": lambda y, p, rng: y * (rng.random(p.size) < 0.6),
    "leaning on the score": lambda y, p, rng: np.maximum(y, rng.random(p.size) < 0.25 + 0.5 * p),
    "a score": lambda y, p, rng: 2 * y + rng.normal(size=p.size),
}


def asked(judge: str, n: int, runs: int, power: float = 1.0, humans: bool = False) -> np.ndarray:
    """Shares of data sets, ten rows per human label: rejected at 0.05, by humans alone, rate covered, all bins."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng((seed, n, list(JUDGES).index(judge)))
        p = rng.beta(2, 1, 10 * n)
        y = (rng.random(p.size) < p**power).astype(float)
        human = np.full(p.size, np.nan)
        human[:n] = y[:n]
        one = tn.powered(human, JUDGES[judge](y, p, rng).astype(float), p, seed=seed)
        which = np.searchsorted(one.low_score, p, side="right") - 1
        gap = np.array([(p**power - p)[which == b].mean() for b in range(one.score.size)])
        alone = humans and tn.calibration_test(y[:n], p[:n], seed=seed).pvalue <= 0.05
        rate = 2 / (2 + power)
        inside = (
            one.event_rate.low <= rate <= one.event_rate.high,
            ((one.low <= gap) & (gap <= one.high)).all(),
        )
        found.append([one.pvalue <= 0.05, alone, *inside])
    return np.mean(found, axis=0)


@case("judge", "human labels and a judge: size, power, coverage", "8 min", one_thread=True)
def judge(page: Page, quick: bool, *, runs: int = 0) -> None:
    runs = runs or (40 if quick else 1_500)
    fewer = max(40, runs // 5)
    head = [f"size, {n:,}" for n in (100, 300, 1_000)]
    title = f"Human labels of a tenth of the rows, {runs:,} data sets; power {fewer:,}, true rate p to the power 1.25"
    page.head(
        "judge",
        *head,
        "event rate covered, 100",
        "all bins, 100",
        "power, 300",
        "humans alone",
        title=title,
    )
    sizes, covered = [], []
    for name in JUDGES:
        found = [asked(name, n, runs) for n in (100, 300, 1_000)]
        strong = asked(name, 300, fewer, 1.25, humans=True)
        page.row(
            name,
            *(f"{one:.3f}" for one in [*(one[0] for one in found), *found[0][2:], *strong[:2]]),
        )
        sizes += [float(one[0]) for one in found]
        covered += found[0][2:].tolist()
    page.bar("size at most 0.065", f"{max(sizes):.3f}", None if quick else max(sizes) <= 0.065)
    page.bar(
        "covered at least 0.93 with 100 labels",
        f"{min(covered):.3f}",
        None if quick else min(covered) >= 0.93,
    )


BINARY_JUDGES = {
    "right in 90 %": (0.9, 0.9),
    "misses 40 %": (0.6, 0.98),
    "false alarms": (0.95, 0.8),
    "useless": (0.5, 0.5),
    "nearly perfect": (0.98, 0.995),
}
"""Sensitivity and specificity."""
RATES = ("sensitivity", "specificity", "ppv", "npv", "kappa", "event_rate", "bias")


def true_rates(prevalence: float, sensitivity: float, specificity: float) -> dict[str, float]:
    both = prevalence * sensitivity
    neither = (1 - prevalence) * specificity
    called = both + (1 - prevalence) - neither
    agree = both + neither
    chance = prevalence * called + (1 - prevalence) * (1 - called)
    return {
        "sensitivity": sensitivity,
        "specificity": specificity,
        "ppv": both / called,
        "npv": neither / (1 - called),
        "kappa": (agree - chance) / (1 - chance),
        "event_rate": prevalence,
        "bias": called - prevalence,
    }


def record_covered(
    prevalence: float, judge: tuple[float, float], n: int, runs: int, cluster: int = 1
) -> np.ndarray:
    """Shares of samples of n human labels and 10 n judge labels in which each limit covers."""
    truth = true_rates(prevalence, *judge)
    covered = np.zeros(len(RATES))
    for seed in range(runs):
        rng = np.random.default_rng((seed, n, round(1000 * prevalence), round(100 * judge[0])))
        groups = 10 * n // cluster
        y = np.repeat(rng.random(groups) < prevalence, cluster).astype(float)
        flip = np.repeat(rng.random(groups), cluster)
        labels = np.where(y == 1, flip < judge[0], flip > judge[1]).astype(float)
        human = np.where(np.arange(y.size) < n, y, np.nan)
        names = np.arange(y.size) // cluster if cluster > 1 else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tn.TruenessWarning)
            found = tn.judge(human, labels, cluster=names)
        limits = [getattr(found, name) for name in RATES]
        covered += [
            one.low - 1e-12 <= truth[name] <= one.high + 1e-12
            for name, one in zip(RATES, limits, strict=True)
        ]
    return covered / runs


@case("judge-record", "the record of a judge: coverage", "3 min", one_thread=True, default=False)
def judge_record(page: Page, quick: bool, *, runs: int = 0) -> None:
    runs = runs or (40 if quick else 500)
    title = f"Share of {runs} samples in which limits at 95 % cover"
    page.head("judge", "prevalence", "labels", "cluster", *RATES, title=title)
    settings = [
        (name, prevalence, n, 1)
        for name in BINARY_JUDGES
        for prevalence in (0.03, 0.1, 0.3, 0.5)
        for n in (50, 300)
    ]
    settings += [(name, 0.3, 200, 4) for name in BINARY_JUDGES]
    least = np.ones(len(RATES))
    for name, prevalence, n, size in settings:
        fewer = runs if n == 50 else max(runs // 3, 40)
        covered = record_covered(prevalence, BINARY_JUDGES[name], n, fewer, size)
        page.row(name, f"{prevalence:g}", f"{n}", f"{size}", *(f"{one:.3f}" for one in covered))
        if n == 50:
            least = np.minimum(least, covered)
    allowed = 0.93 - 2 * np.sqrt(0.93 * 0.07 / runs)
    for name, one in zip(RATES, least, strict=True):
        promise = f"{name} covered with 50 labels: at least .93 - 2 se = {allowed:.3f}"
        page.bar(promise, f"{one:.3f}", None if quick else bool(one >= allowed))
