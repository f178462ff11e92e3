"""How often a prior shift is suspected and shown, where there is one and where there is not."""

import math

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn

LAWS = ((2, 3), (1, 1), (0.5, 10))
TRUTHS = {
    "calibrated": (1.0, 1.0),
    "odds × 2": (1.0, 2.0),
    "slope 0.7": (0.7, 1.0),
    "slope 0.7, odds × 2": (0.7, 2.0),
}


def findings(
    law: tuple[float, float], n: int, slope: float, factor: float, runs: int, seed: int
) -> np.ndarray:
    """The shares of data sets in which a shift is suspected, and shown."""
    rng, found = np.random.default_rng([seed, n]), []
    for _ in range(runs):
        p = rng.beta(*law, n).clip(1e-6, 1 - 1e-6)
        y = (rng.random(n) < expit(slope * logit(p) - math.log(factor))).astype(int)
        shift = tn.prior_shift(y, p)
        found.append((shift.suspected, shift.shown))
    return np.mean(found, axis=0)


@case("prior-shift", "how often a prior shift is suspected and shown", "2 min")
def prior_shift(page: Page, quick: bool, *, runs: int = 0, seed: int = 0) -> None:
    runs = runs or (20 if quick else 200)
    title = f"Share of {runs:,} data sets (standard error at most {0.5 / math.sqrt(runs):.3f}): suspected, shown"
    sizes = (100, 300, 1_000, 5_000)
    page.head("scores", "truth", *(f"n = {n:,}" for n in sizes), title=title)
    for law in LAWS:
        for name, (slope, factor) in TRUTHS.items():
            shares = (findings(law, n, slope, factor, runs, seed) for n in sizes)
            page.row(
                f"Beta({law[0]:g}, {law[1]:g})", name, *(f"{a:.3f}, {b:.3f}" for a, b in shares)
            )
