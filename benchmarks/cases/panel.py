"""The panel of a million rows, intervals and floors included, against a bare sum of its two columns.

The bar is 600 times `p.sum() + y.sum()` in CPU time, by the median ratio of interleaved rounds, and 200 MB beyond the
inputs. The parts are timed one by one, each from a tally, except the tally itself.
"""

import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmark import Page, case
from processes import child, peak_beyond
from timing import Pace, race_or_fail, ratio, seconds, times

import trueness as tn

RATIO_BAR, MEMORY_BAR = 600.0, 200e6
SUM = "p.sum() + y.sum()"
LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(0.5, 25, n),
    "confident": lambda rng, n: rng.beta(0.1, 0.1, n),
    "two decimals": lambda rng, n: rng.random(n).round(2),
}
PARTS = {
    "O/E": ("observed_expected",),
    "calibration in the large": ("intercept",),
    "slope and free intercept": ("slope", "free_intercept"),
    "Brier and scaled Brier": ("brier", "scaled_brier"),
    "log loss": ("log_loss",),
    "AUC": ("auc",),
    "ICI, E50, E90, Emax with floors": ("ici", "e50", "e90", "emax"),
    "ECE with floor": ("ece",),
}


def estimates(tally: tn.Tally, names: tuple[str, ...]) -> list[tn.results.Estimate]:
    """Measures of one tally, which share what they need."""
    assessed = tn.assess(tally)
    return [assessed.estimate(name) for name in names]


def rows(law: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores of a calibrated model."""
    rng = np.random.default_rng(0)
    p = LAWS[law](rng, n)
    return (rng.random(n) < p).astype(np.int64), p


@case("panel", "The panel of a million rows", "20 s", one_thread=True)
def panel(page: Page, quick: bool) -> None:
    n = 100_000 if quick else 1_000_000
    page.text(f"{n:,} rows, float64 scores and int64 labels; all limits at 95 %, all floors.")
    page.head("scores", "wall", "CPU", f"CPU, times `{SUM}`", "memory beyond the inputs")
    for law in LAWS:
        y, p = rows(law, n)
        calls = {
            "panel": lambda y=y, p=p: tn.panel(y, p, seed=0),
            SUM: lambda y=y, p=p: p.sum() + y.sum(),
        }
        found = race_or_fail(calls, Pace(rounds=9))
        wall, cpu = (
            statistics.median(s.values()) for s in (found["panel"].wall, found["panel"].cpu)
        )
        many = ratio(found["panel"].cpu, found[SUM].cpu).median
        answer = child("cases.panel", law, str(n))
        extra = None if answer is None else answer["extra"]
        page.row(
            law,
            seconds(wall),
            seconds(cpu),
            times(many),
            "–" if extra is None else f"{extra / 1e6:,.0f} MB",
        )
        if law == "uniform":
            promise = (
                f"panel of 1,000,000 distinct scores: at most {RATIO_BAR:.0f}× the time of `{SUM}`"
            )
            page.bar(promise, times(many), None if quick else many <= RATIO_BAR)
            promise = f"panel of 1,000,000 distinct scores: at most {MEMORY_BAR / 1e6:.0f} MB beyond the inputs"
            page.bar(
                promise,
                f"{(extra or 0) / 1e6:,.0f} MB",
                None if quick or extra is None else extra <= MEMORY_BAR,
            )
    _parts(page, n)


def _parts(page: Page, n: int) -> None:
    y, p = rows("uniform", n)
    cells = tn.tally(y, p).parts[0].columns()

    def fresh() -> Any:  # a tally that remembers nothing of an earlier call
        return tn.Tally("binary", (type(tn.tally([0, 1], [0.1, 0.9]).parts[0])(**cells),))

    calls: dict[str, Callable[[], Any]] = {
        SUM: lambda: p.sum() + y.sum(),
        "tally": lambda: tn.tally(y, p),
    }
    calls |= {what: lambda names=names: estimates(fresh(), names) for what, names in PARTS.items()}
    for test in ("spiegelhalter", "cox"):
        calls[f"{test.title()}'s test"] = lambda test=test: tn.calibration_test(
            fresh(), method=test
        )
    found = race_or_fail(calls, Pace(rounds=9))
    page.head("part, uniform scores", "wall", "CPU", f"CPU, times `{SUM}`")
    for what, samples in found.items():
        wall, cpu = (statistics.median(s.values()) for s in (samples.wall, samples.cpu))
        page.row(
            what, seconds(wall), seconds(cpu), times(ratio(samples.cpu, found[SUM].cpu).median)
        )


if __name__ == "__main__":
    law, size = sys.argv[1:]
    labels, scores = rows(law, int(size))
    tn.panel(labels[:20_000], scores[:20_000], seed=0)  # loads what is loaded lazily
    print(json.dumps({"extra": peak_beyond(lambda: tn.panel(labels, scores, seed=0))}))
