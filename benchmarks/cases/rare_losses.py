"""Limits of means that few rows decide: AURC where the most confident are wrong, log loss of sure mistakes."""

from collections.abc import Callable

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn

Draw = Callable[[np.random.Generator, int], np.ndarray]
Truth = Callable[[np.ndarray], np.ndarray]
MANY = 2 * 10**6


def often_wrong(share: float, rate: float, others: Truth) -> Truth:
    """The chance to be right by the rank of the confidence: the most confident share is wrong at this rate."""
    return lambda u: np.where(u > 1 - share, 1 - rate, others(u))


def constant(value: float) -> Truth:
    return lambda u: np.full(u.size, value)


def calibrated(u: np.ndarray) -> np.ndarray:
    return 0.5 + 0.5 * u


# The area depends on ranks only: confidences are uniform. The number of atoms was chosen on the first two groups.
AREAS: dict[str, dict[str, Truth]] = {
    "few rows decide": {
        "top 1 % wrong half of the time, others calibrated": often_wrong(0.01, 0.5, calibrated),
        "top 1 % wrong half of the time, others .02": often_wrong(0.01, 0.5, constant(0.98)),
        "top .5 % wrong in .8, others .01": often_wrong(0.005, 0.8, constant(0.99)),
        "top 2 % wrong in .3, others .03": often_wrong(0.02, 0.3, constant(0.97)),
    },
    "ordinary": {
        "calibrated": calibrated,
        "errors anywhere, .05": constant(0.95),
        "overconfident": lambda u: 0.5 + 0.3 * u,
        "few errors": lambda u: u ** (1 / 30),
    },
    "not looked at before": {
        "top .8 % wrong in .6, others .03": often_wrong(0.008, 0.6, constant(0.97)),
        "top 1.5 % wrong in .35, others calibrated": often_wrong(0.015, 0.35, calibrated),
        "top .6 % always wrong, others .015": often_wrong(0.006, 1.0, constant(0.985)),
        "top 3 % wrong in .2, others .01": often_wrong(0.03, 0.2, constant(0.99)),
        "right at the square root of the rank": np.sqrt,
    },
}


def spread(low: float, high: float) -> Draw:
    """Scores evenly spread in their logarithm."""
    return lambda rng, n: np.exp(rng.uniform(np.log(low), np.log(high), n))


def mixed(share: float, score: float, others: Draw) -> Draw:
    return lambda rng, n: np.where(rng.uniform(size=n) < share, score, others(rng, n))


def surprising(below: float, rate: float) -> Truth:
    """Calibrated, but for scores below a value, whose events come at this rate."""
    return lambda p: np.where(p < below, rate, p)


LOSSES: dict[str, dict[str, tuple[Draw, Truth]]] = {
    "few rows decide": {
        "1e-6 to 1e-3, rate .003": (spread(1e-6, 1e-3), constant(0.003)),
        "1e-6 to 1e-3, rate .02": (spread(1e-6, 1e-3), constant(0.02)),
        "1e-4 or .3, rate .01 at the former": (
            mixed(0.5, 1e-4, spread(0.3, 0.3001)),
            surprising(0.1, 0.01),
        ),
        "logit-normal (−8, 2), slope .5": (
            lambda rng, n: expit(rng.normal(-8, 2, n)),
            lambda p: expit(0.5 * logit(p)),
        ),
        "1 % at 1e-6, rate .3, others uniform": (
            mixed(0.01, 1e-6, lambda rng, n: rng.uniform(0.1, 0.9, n)),
            surprising(0.01, 0.3),
        ),
    },
    "ordinary": {
        "uniform": (lambda rng, n: rng.uniform(size=n), lambda p: p),
        "Beta(2, 5)": (lambda rng, n: rng.beta(2, 5, n), lambda p: p),
        "Beta(1, 20)": (lambda rng, n: rng.beta(1, 20, n), lambda p: p),
        "Beta(.5, .5)": (lambda rng, n: rng.beta(0.5, 0.5, n), lambda p: p),
        "logit-normal (0, 4), slope .6": (
            lambda rng, n: expit(rng.normal(0, 4, n)),
            lambda p: expit(0.6 * logit(p)),
        ),
    },
    "not looked at before": {
        "1e-5 to 1e-2, rate .008": (spread(1e-5, 1e-2), constant(0.008)),
        "3 % at 1e-7, rate .15, others Beta(2, 3)": (
            mixed(0.03, 1e-7, lambda rng, n: rng.beta(2, 3, n)),
            surprising(1e-6, 0.15),
        ),
        "logit-normal (−6, 3), slope .7": (
            lambda rng, n: expit(rng.normal(-6, 3, n)),
            lambda p: expit(0.7 * logit(p)),
        ),
        "Beta(.3, 4), slope .8": (
            lambda rng, n: rng.beta(0.3, 4, n),
            lambda p: expit(0.8 * logit(p)),
        ),
        "Beta(3, 3)": (lambda rng, n: rng.beta(3, 3, n), lambda p: p),
    },
}


def area(truth: Truth, sizes: tuple[int, ...], runs: int) -> list[str]:
    """The share of samples covered and the mean upper half of the limits, for each number of rows."""
    wrong = 1 - truth(1 - (np.arange(MANY) + 0.5) / MANY)
    goal, shown = float((np.cumsum(wrong) / np.arange(1, MANY + 1)).mean()), []
    for n in sizes:
        rng = np.random.default_rng([31, n])
        found = []
        for _ in range(runs):
            u = rng.uniform(size=n)
            one = tn.risk_coverage(rng.uniform(size=n) < truth(u), u, kind="correct").aurc
            found.append((goal in one, one.high - one.value))
        covered, half = np.mean(found, axis=0)
        shown.append(f"{covered:.3f}, {half:.4f}")
    return shown


def loss(draw: Draw, truth: Truth, sizes: tuple[int, ...], runs: int) -> list[str]:
    least = 1e-12
    many = draw(np.random.default_rng(32), MANY).clip(least, 1 - least)
    rate = truth(many)
    goal, shown = float(-(rate * np.log(many) + (1 - rate) * np.log1p(-many)).mean()), []
    for n in sizes:
        rng = np.random.default_rng([33, n])
        found = []
        for _ in range(runs):
            p = draw(rng, n).clip(least, 1 - least)
            one = tn.estimate("log_loss", rng.uniform(size=n) < truth(p), p, floor=False)
            found.append((goal in one, one.high - one.value))
        covered, half = np.mean(found, axis=0)
        shown.append(f"{covered:.3f}, {half:.4f}")
    return shown


@case(
    "rare-losses", "limits of means that a few rows decide", "6 min", one_thread=True, default=False
)
def rare_losses(page: Page, quick: bool, *, runs: int = 0) -> None:
    runs = runs or (40 if quick else 500)
    least = {}
    for name, groups, sizes in (
        ("AURC", AREAS, (300, 400, 1_000)),
        ("log loss", LOSSES, (100, 400, 1_000)),
    ):
        title = f"{name}, limits at 95 %, {runs:,} samples: covered, mean upper half of the limits"
        page.head("law", *(f"{n:,} rows" for n in sizes), title=title)
        for group, laws in groups.items():
            for law, how in laws.items():
                cells = area(how, sizes, runs) if name == "AURC" else loss(*how, sizes, runs)
                page.row(f"{group}: {law}", *cells)
                worst = min(float(cell.partition(",")[0]) for cell in cells)
                least[name, group] = min(worst, least.get((name, group), 1.0))
    allowed = 0.94 - 2 * np.sqrt(0.94 * 0.06 / runs)
    for (name, group), worst in least.items():
        page.bar(
            f"{name}, {group}: at least .94 − 2 se = {allowed:.3f}",
            f"{worst:.3f}",
            bool(worst >= allowed),
        )
