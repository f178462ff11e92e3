"""The upper end of the default confidence set if scores have few distinct values: coverage and length.

Scores have 1, 2, 5 or 11 values, equally likely. The end of a 95 % set misses errors above it in 2.5 % of the data sets
at most. "Normal" is the end without the distribution of squares, which every other set has.
"""

import math
from collections.abc import Callable

import numpy as np
from benchmark import Page, case
from scipy.special import expit, logit

import trueness as tn
from trueness.infer.interval._score_interval import DefaultParts

ALPHA = 0.05
VALUES = (1, 2, 5, 11)
LAWS = {
    "around 1/2": (0.25, 0.75),
    "all over": (0.05, 0.95),
    "rare": (0.01, 0.1),
    "confident": (0.9, 0.99),
}
ERRORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda p: p,
    "shift 0.3": lambda p: expit(logit(p) + 0.3),
    "shift 0.8": lambda p: expit(logit(p) + 0.8),
    "shift −0.8": lambda p: expit(logit(p) - 0.8),
    "slope 0.6": lambda p: expit(0.6 * logit(p)),
    "one value too low": lambda p: np.where(
        np.arange(p.size) == p.size // 2, np.minimum(p + 0.1, 1), p
    ),
}


def upper_ends(
    p: np.ndarray, truth: np.ndarray, n: int, runs: int, rng: np.random.Generator
) -> np.ndarray:
    """The upper ends of the error and, without the distribution of squares, the normal ones: shape (runs, 2)."""
    found = np.empty((runs, 2))
    for i in range(runs):
        at = rng.integers(0, p.size, n)
        y = (rng.random(n) < truth[at]).astype(int)
        parts = DefaultParts.of_cells(tn.tally(y, p[at]).parts[0])
        normal = parts._replace(fine=parts.fine._replace(gaps=None))
        found[i] = [math.sqrt(part.at(ALPHA).region.high) for part in (parts, normal)]
    return found


@case("few-scores", "upper end of the default confidence set with few distinct scores", "3 min")
def few_scores(page: Page, quick: bool, *, runs: int = 0, seed: int = 0) -> None:
    runs = runs or (50 if quick else 400)
    title = f"Share of {runs} data sets whose error is below the upper end of the 95 % set, and its mean"
    page.head("scores", "rows", "values", *ERRORS, "mean end", "normal end", "ratio", title=title)
    rng = np.random.default_rng(seed)
    for n in (100, 1000):
        for law, (low, high) in LAWS.items():
            for size in VALUES:
                p = low + (high - low) * (np.arange(size) + 0.5) / size
                ends = {
                    name: upper_ends(p, error(p), n, runs, rng) for name, error in ERRORS.items()
                }
                truth = {
                    name: math.sqrt(np.mean((error(p) - p) ** 2)) for name, error in ERRORS.items()
                }
                shares = (
                    f"{np.mean(ends[name][:, 0] >= truth[name] - 1e-9):.3f}" for name in ERRORS
                )
                mean, normal = ends["calibrated"].mean(axis=0)
                page.row(
                    law,
                    f"{n:,}",
                    str(size),
                    *shares,
                    f"{mean:.4f}",
                    f"{normal:.4f}",
                    f"{normal / mean:.2f}",
                )
