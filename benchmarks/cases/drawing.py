"""How much longer than a tally of the rows a figure takes: from the rows to a PNG, by display.

Tally and figure take turns. The table has medians in seconds of wall time, and the median difference of neighbours in
wall and in CPU time (of all threads). A figure may take one second more than the tally.
"""

import statistics
import time
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
from benchmark import Page, case

import trueness as tn

BAR = 1.0
Draw = Callable[[Any, Any], Any]


def scores(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct scores, slightly too high."""
    rng = np.random.default_rng(0)
    p = rng.beta(1.2, 2.0, n)
    return (rng.random(n) < p**1.1).astype(np.int64), p


def picture(draw: Draw, y: np.ndarray, p: np.ndarray) -> None:
    """From the rows to a PNG."""
    import matplotlib.pyplot as plt

    draw(y, p).plot().figure_.savefig(BytesIO(), format="png")
    plt.close("all")


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall time and CPU time."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


def take_turns(
    draw: Draw, y: np.ndarray, p: np.ndarray, runs: int
) -> tuple[float, float, float, float]:
    """Medians of the tally, the figure and their difference, and of the difference in CPU time."""
    pairs = [
        (seconds(lambda: tn.tally(y, p)), seconds(lambda: picture(draw, y, p))) for _ in range(runs)
    ]
    columns = ((t[0], d[0], d[0] - t[0], d[1] - t[1]) for t, d in pairs)
    tally, drawn, clock, cpu = (statistics.median(column) for column in zip(*columns, strict=True))
    return tally, drawn, clock, cpu


def displays() -> dict[str, Draw]:
    from trueness import plot

    return {
        "ReliabilityDisplay, binned": plot.ReliabilityDisplay.from_predictions,
        "ReliabilityDisplay, isotonic": lambda y, p: plot.ReliabilityDisplay.from_predictions(
            y, p, curve="isotonic"
        ),
        "ReliabilityDisplay, smooth": lambda y, p: plot.ReliabilityDisplay.from_predictions(
            y, p, curve="smooth"
        ),
        "TestReliabilityDisplay": plot.TestReliabilityDisplay.from_predictions,
        "CumulativeDisplay": plot.CumulativeDisplay.from_predictions,
        "BinsDisplay": plot.BinsDisplay.from_predictions,
        "ValidityDisplay, 20 bins": lambda y, p: plot.ValidityDisplay.from_predictions(
            y, p, bins=20
        ),
        "IntervalDisplay": plot.IntervalDisplay.from_predictions,
    }


@case("drawing", "time of a figure beyond that of a tally, by display", "5 min")
def drawing(page: Page, quick: bool, *, rows: int = 0, runs: int = 0, only: str = "") -> None:
    """With `only`, displays whose names contain this."""
    import matplotlib

    matplotlib.use("Agg")
    n, runs = rows or (100_000 if quick else 10_000_000), runs or (2 if quick else 5)
    y, p = scores(n)
    page.text(f"{n:,} rows, medians of {runs} runs, seconds.")
    page.head("display", "tally", "figure", "beyond the tally", "… in CPU time")
    for name, draw in displays().items():
        if only.lower() in name.lower():
            picture(draw, y[:10_000], p[:10_000])  # imports are not timed
            tally, drawn, wall, cpu = take_turns(draw, y, p, runs)
            page.row(name, f"{tally:.2f}", f"{drawn:.2f}", f"{wall:.2f}", f"{cpu:.2f}")
            promise = f"{name}: at most {BAR:g} s beyond the tally of 10,000,000 rows"
            page.bar(promise, f"{wall:.2f} s", wall <= BAR if n == 10_000_000 else None)
