"""Promises that hold only nearly, each where it is weakest.

`equivalence`: acceptance by the l2 error with few clusters, when the error equals the margin.
`bands`: simultaneous bands of a spline and of loess around a smooth truth and around one with a
kink. `planned`: the power that rows planned by `validation_size` deliver. `tied`: how often the
error lies below the set if the scores have three values.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from benchmark import Page, case
from scipy.optimize import brentq
from scipy.special import expit, logit

import trueness as tn
from cases import clusters
from cases.equivalence import clustered, sizes

Truth = Callable[[np.ndarray], np.ndarray]
MEAN_CLUSTER = 6.5
TRUTHS: dict[str, Truth] = {
    "calibrated": lambda p: p,
    "slope 0.6": lambda p: expit(0.6 * logit(p)),
    "kink: 0.3 + 0.8 |p − 1/2|": lambda p: 0.3 + 0.8 * np.abs(p - 0.5),
}
CURVES: dict[str, dict[str, Any]] = {
    "spline": {"method": "spline"},
    "spline, 7 knots": {"method": "spline", "knots": 7},
    "loess": {"method": "loess"},
}
TIED_ERRORS: dict[str, Truth] = {
    "calibrated": lambda p: p,
    "shift 0.8": lambda p: expit(logit(p) + 0.8),
    "shift −0.8": lambda p: expit(logit(p) - 0.8),
    "slope 0.6": lambda p: expit(0.6 * logit(p)),
}


@case("borderline", "promises that hold only nearly", "10 min")
def borderline(page: Page, quick: bool, *, runs: int = 0, only: str = "", seed: int = 0) -> None:
    """`only`: one of the tables, by the name of its function."""
    runs = runs or (40 if quick else 400)
    for function in (equivalence, bands, planned, tied):
        if only in ("", function.__name__):
            function(page, runs, np.random.default_rng(seed))


def standard_error(share: float, runs: int) -> float:
    return math.sqrt(share * (1 - share) / runs)


def equivalence(page: Page, runs: int, rng: np.random.Generator) -> None:
    error = standard_error(0.05, runs)
    title = f"Accepted at 0.05 though the l2 error equals the margin, {runs:,} data sets (standard error {error:.3f})"
    page.head("scores", "clusters", "l2 error", "l2", title=title)
    for law in clusters.LAWS:
        for count in (20, 40, 80, 160):
            data = clustered(law, round(count * MEAN_CLUSTER), runs, rng)
            l2_error, share, *_ = sizes(data, ("l2",))
            page.row(law, str(count), l2_error, share)


def bands(page: Page, runs: int, rng: np.random.Generator) -> None:
    error = standard_error(0.95, runs)
    title = f"Simultaneous 95 % bands that contain the truth, {runs:,} data sets (standard error {error:.3f})"
    page.head("truth of uniform scores", "rows", *CURVES, title=title)
    for name, truth in TRUTHS.items():
        for n in (1_000, 4_000):
            shares = band_coverage(truth, n, runs, rng)
            page.row(name, f"{n:,}", *(f"{share:.3f}" for share in shares))


def band_coverage(truth: Truth, n: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """For each kind of curve, how often its band contains the truth at every score."""
    inside = np.empty((runs, len(CURVES)), dtype=bool)
    for run in range(runs):
        p = rng.random(n)
        y = (rng.random(n) < truth(p)).astype(int)
        for i, options in enumerate(CURVES.values()):
            band = tn.curve_band(y, p, band="simultaneous", **options)
            at_scores = truth(band.x)
            inside[run, i] = ((band.low <= at_scores) & (at_scores <= band.high)).all()
    return inside.mean(axis=0)


class Plan(NamedTuple):
    """Log-odds with a mean and a deviation of 1.2, and what the rows are planned for."""

    mean: float
    goal: dict[str, float]

    @property
    def text(self) -> str:
        (name, value), *_ = self.goal.items()
        return f"{name}={value:g}"


PLANS = (
    Plan(-1, {"accept_l2": 0.04}),
    Plan(-1, {"accept_l2": 0.05}),
    Plan(-1, {"accept_l2": 0.06}),
    Plan(-4.4, {"detect_oe": 1.5}),
    Plan(-1, {"detect_oe": 1.2}),
    Plan(-1, {"detect_slope": 0.7}),
)
SPREAD = 1.2


def planned(page: Page, runs: int, rng: np.random.Generator) -> None:
    error = standard_error(0.8, runs)
    title = (
        f"Power of the rows planned for 0.8, {runs:,} data sets each (standard error {error:.3f})"
    )
    page.head("event rate", "plan", "rows", "power", title=title)
    for plan in PLANS:
        n = tn.validation_size(log_odds=(plan.mean, SPREAD), progress=False, **plan.goal).n
        rate = expit(rng.normal(plan.mean, SPREAD, 400_000)).mean()
        power = np.mean([succeeds(plan, n, rng) for _ in range(runs)])
        page.row(f"{rate:.3f}", plan.text, f"{n:,}", f"{power:.3f}")


def succeeds(plan: Plan, n: int, rng: np.random.Generator) -> bool:
    """Whether fresh rows are accepted, or their error is detected."""
    x = rng.normal(plan.mean, SPREAD, n)
    ((name, value),) = plan.goal.items()
    if name == "accept_l2":
        y = (rng.random(n) < expit(x)).astype(int)
        return tn.equivalence_test(y, expit(x), within=value).pvalue <= 0.05
    ratio, slope = (value, 1.0) if name == "detect_oe" else (1.0, value)
    y = (rng.random(n) < expit(slope * x + shift_for(plan.mean, ratio, slope))).astype(int)
    return tn.calibration_test(y, expit(x), seed=rng).pvalue <= 0.05


def shift_for(mean: float, ratio: float, slope: float) -> float:
    """The intercept at which O/E is this ratio, beside a slope."""
    x = np.random.default_rng(0).normal(mean, SPREAD, 100_000)
    expected = ratio * expit(x).mean()
    return float(brentq(lambda shift: expit(slope * x + shift).mean() - expected, -5, 5))


def tied(page: Page, runs: int, rng: np.random.Generator) -> None:
    error = standard_error(0.05, runs)
    title = (
        f"Error below the 90 % set (0.05 is meant), {runs:,} data sets (standard error {error:.3f})"
    )
    page.head("three scores", "rows", *TIED_ERRORS, title=title)
    for scores in ((0.02, 0.1, 0.3), (0.2, 0.5, 0.7), (0.6, 0.9, 0.97)):
        for n in (150, 300, 1_000):
            shares = [below(np.array(scores), e, n, runs, rng) for e in TIED_ERRORS.values()]
            page.row(
                ", ".join(f"{score:g}" for score in scores),
                f"{n:,}",
                *(f"{share:.3f}" for share in shares),
            )


def below(scores: np.ndarray, truth: Truth, n: int, runs: int, rng: np.random.Generator) -> float:
    """How often the lower end of the set is above the error in the population."""
    error = math.sqrt(np.mean((truth(scores) - scores) ** 2))
    above = []
    for _ in range(runs):
        p = rng.choice(scores, n)
        y = (rng.random(n) < truth(p)).astype(int)
        above.append(tn.ece_interval(y, p, level=0.9).low > error + 1e-12)
    return float(np.mean(above))
