"""Power of the omnibus test of calibration relative to the best single test for each kind of error.

For each of several sets of scores, label vectors of the truth are ranked among the same 999 drawn from the scores, by
every statistic: all tests are exact. The size of each error is such that the best single test detects it in most data
sets of 1,000 rows; for other n it is multiplied by (1,000/n)^½, as the errors that a test can detect shrink with n.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn
from trueness._tally.binned_scores import bin_starts
from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule, EqualMass, EqualWidth
from trueness.infer.test._omnibus import power_function
from trueness.infer.test._pair_tests import PairStatistic

SINGLE = ("exact", "t-cal", "ks", "kuiper", "spiegelhalter", "cox", "hosmer-lemeshow")
ALPHA = 0.05
BARS = {300: (0.84, 0.65), 1000: (0.93, 0.75)}
Draw = Callable[[np.random.Generator, int], np.ndarray]
Truth = Callable[[np.ndarray, float], np.ndarray]

VALUES = np.arange(1, 20) / 20
SHARES = np.array([1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 3, 4, 5, 6, 8, 8, 10, 8, 6]) / 77
LAWS: dict[str, Draw] = {
    "uniform": lambda rng, n: rng.random(n),
    "Beta(2, 2)": lambda rng, n: rng.beta(2, 2, n),
    "Beta(1, 3)": lambda rng, n: rng.beta(1, 3, n),
    "bimodal: Beta(0.3, 0.3)": lambda rng, n: rng.beta(0.3, 0.3, n).clip(1e-6, 1 - 1e-6),
    "confident: Beta(12, 0.5)": lambda rng, n: rng.beta(12, 0.5, n).clip(1e-6, 1 - 1e-6),
    "rare: Beta(0.5, 20)": lambda rng, n: rng.beta(0.5, 20, n).clip(1e-7, 1),
    "rare: Beta(1, 50)": lambda rng, n: rng.beta(1, 50, n).clip(1e-7, 1),
    "verbal: 0.05, …, 0.95": lambda rng, n: rng.choice(VALUES, n, p=SHARES),
}


class Alternative(NamedTuple):
    """The true probability, as a function of the score and the size of the error."""

    law: str
    name: str
    truth: Truth
    size: float
    """At 1,000 rows."""


def slope(p: np.ndarray, a: float) -> np.ndarray:
    return expit((1 - a) * logit(p))


def shift(p: np.ndarray, a: float) -> np.ndarray:
    return expit(logit(p) + a)


def top_tenth_too_high(p: np.ndarray, a: float) -> np.ndarray:
    return np.where(p >= np.quantile(p, 0.9), too_high(p, a), p)


def too_high(p: np.ndarray, a: float) -> np.ndarray:
    return p * max(1 - a, 0)


def wave(cycles: float) -> Truth:
    return lambda p, a: p + a * np.sin(2 * np.pi * cycles * p) * 4 * p * (1 - p)


ALTERNATIVES = (
    Alternative("uniform", "shift", shift, 0.25),
    Alternative("uniform", "slope < 1", slope, 0.2),
    Alternative("uniform", "slope > 1", slope, -0.27),
    Alternative("uniform", "3 waves", wave(3), 0.12),
    Alternative("uniform", "6 waves", wave(6), 0.16),
    Alternative("uniform", "bump over 8 %", lambda p, a: p + a * (abs(p - 0.6) < 0.04), 0.25),
    Alternative(
        "uniform", "wide bump", lambda p, a: p + a * np.exp(-(((p - 0.3) / 0.1) ** 2)), 0.16
    ),
    Alternative("uniform", "saturation above", lambda p, a: np.minimum(p, 1 - a), 0.11),
    Alternative(
        "uniform", "too high above 1/2", lambda p, a: p - a * np.maximum(2 * p - 1, 0), 0.11
    ),
    Alternative("Beta(2, 2)", "shift", shift, 0.22),
    Alternative("Beta(2, 2)", "slope < 1", slope, 0.28),
    Alternative("Beta(1, 3)", "4 waves", wave(4), 0.13),
    Alternative(
        "Beta(1, 3)",
        "steps",
        lambda p, a: p + a * (1 - 2 * ((8 * p).astype(int) % 2)) * 2 * np.minimum(p, 1 - p),
        0.13,
    ),
    Alternative("bimodal: Beta(0.3, 0.3)", "slope < 1", slope, 0.18),
    Alternative(
        "bimodal: Beta(0.3, 0.3)",
        "saturation on both sides",
        lambda p, a: np.clip(p, a, 1 - a),
        0.02,
    ),
    Alternative(
        "bimodal: Beta(0.3, 0.3)", "middle too low", lambda p, a: p + a * (abs(p - 0.5) < 0.2), 0.14
    ),
    Alternative("confident: Beta(12, 0.5)", "slope < 1", slope, 0.18),
    Alternative(
        "confident: Beta(12, 0.5)", "saturation above", lambda p, a: np.minimum(p, 1 - a), 0.014
    ),
    Alternative(
        "confident: Beta(12, 0.5)", "too high below 0.9", lambda p, a: p - a * (p < 0.9), 0.13
    ),
    Alternative("rare: Beta(0.5, 20)", "shift", shift, 0.55),
    Alternative(
        "rare: Beta(0.5, 20)",
        "slope < 1",
        lambda p, a: expit((1 - a) * (logit(p) + 3.5) - 3.5),
        0.5,
    ),
    Alternative("rare: Beta(0.5, 20)", "too high", too_high, 0.6),
    Alternative("rare: Beta(0.5, 20)", "top tenth too high", top_tenth_too_high, 0.6),
    Alternative("rare: Beta(1, 50)", "too high", too_high, 0.6),
    Alternative("rare: Beta(1, 50)", "top tenth too high", top_tenth_too_high, 0.6),
    Alternative(
        "verbal: 0.05, …, 0.95",
        "one value too high",
        lambda p, a: p - a * (abs(p - 0.8) < 0.01),
        0.18,
    ),
    Alternative(
        "verbal: 0.05, …, 0.95",
        "too high above 0.7",
        lambda p, a: p - a * np.maximum(2 * p - 1.4, 0),
        0.17,
    ),
)


SETS, NULL = 12, 999


def single_statistics(cells: Cells) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Statistics of events of shape (cells, draws), by the names of the tests they belong to."""
    p, n = cells.score, cells.weight.astype(float)
    expected, v = n * p, n * p * (1 - p)
    x = logit(p) - (v @ logit(p)) / v.sum()
    first = bin_starts(cells, EqualMass(10))
    group, events = np.add.reduceat(n, first), np.add.reduceat(expected, first)
    variance = events * (1 - events / group)

    def extremes(hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        path = np.cumsum(hits - expected[:, None], axis=0)
        return np.maximum(path.max(axis=0), 0), np.minimum(path.min(axis=0), 0)

    def pairs(rule: BinRule, divisor: str) -> Callable[[np.ndarray], np.ndarray]:
        statistic = PairStatistic(p[:, None], cells.weight, bin_starts(cells, rule), divisor)
        return lambda hits: statistic([hits])

    size = max(5, round(n.sum() ** 0.4))
    return {
        "exact": pairs(EqualMass(size), "pairs"),
        "t-cal": pairs(EqualWidth(size), "rows"),
        "ks": lambda hits: np.maximum(extremes(hits)[0], -extremes(hits)[1]),
        "kuiper": lambda hits: extremes(hits)[0] - extremes(hits)[1],
        "spiegelhalter": lambda hits: np.abs((1 - 2 * p) @ (hits - expected[:, None])),
        "cox": lambda hits: (
            (hits.sum(axis=0) - expected.sum()) ** 2 / v.sum()
            + (x @ (hits - expected[:, None])) ** 2 / (v @ x**2)
        ),
        "hosmer-lemeshow": lambda hits: (
            (np.add.reduceat(hits, first, axis=0) - events[:, None]) ** 2 / variance[:, None]
        ).sum(axis=0),
    }


def powers(alternative: Alternative, n: int, runs: int, seed: int) -> dict[str, float]:
    """Shares rejected at 0.05, all methods on the same labels."""
    rng = np.random.default_rng([seed, n, *map(ord, alternative.law + alternative.name)])
    size = alternative.size * (1000 / n) ** 0.5
    found: dict[str, list[float]] = {method: [] for method in ("omnibus", *SINGLE)}
    draws = -(-runs // SETS)
    for _ in range(SETS):
        scores = LAWS[alternative.law](rng, n)
        cells = tn.tally(np.arange(n) % 2, scores).parts[0]
        truth = np.clip(alternative.truth(cells.score, size), 0, 1)
        found["omnibus"].append(
            power_function(cells, ALPHA, null_draws=NULL, seed=int(rng.integers(2**31)))(
                truth, draws
            )
        )
        shape = (cells.size, NULL), (cells.size, draws)
        null = rng.binomial(cells.weight[:, None], cells.score[:, None], shape[0])
        hits = rng.binomial(cells.weight[:, None], truth[:, None], shape[1])
        for method, statistic in single_statistics(cells).items():
            # The p-value (1 + #{null ≥ value}) / 1,000 is at most 0.05 if fewer than 50 of the null values are larger.
            limit = np.sort(statistic(null))[-round(ALPHA * (NULL + 1))]
            found[method].append(float(np.mean(statistic(hits) > limit * (1 + 1e-9))))
    return {method: float(np.mean(shares)) for method, shares in found.items()}


@case("omnibus", "power of the omnibus test relative to the best single test", "2 min")
def omnibus(page: Page, quick: bool, *, runs: int = 0, seed: int = 0) -> None:
    runs = runs or (120 if quick else 1_200)
    for n in (1000,) if quick else (300, 1000):
        title = f"{n:,} rows: share of {runs:,} label vectors rejected at {ALPHA:g}"
        page.head("scores", "error", "omnibus", "best single test", "which", "ratio", title=title)
        ratios = []
        for alternative in ALTERNATIVES:
            found = powers(alternative, n, runs, seed)
            best = max(SINGLE, key=found.__getitem__)
            ratios.append(found["omnibus"] / found[best])
            cells = (f"{found['omnibus']:.3f}", f"{found[best]:.3f}", best, f"{ratios[-1]:.2f}")
            page.row(alternative.law, alternative.name, *cells)
        mean, least = float(np.mean(ratios)), float(np.min(ratios))
        page.text(
            f"Ratio: mean {mean:.3f}, least {least:.2f} (bars: {BARS[n][0]} and {BARS[n][1]})."
        )
