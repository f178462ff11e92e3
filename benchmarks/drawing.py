"""How much longer than a tally of the rows a picture of them takes: from the rows to a PNG, display by display.

    python benchmarks/drawing.py                 # ten million rows
    python benchmarks/drawing.py --rows 1e6 --runs 9

Tally and picture take turns; the table shows medians in seconds of the clock, and the median of the differences of
neighbours, by the clock and in CPU time (all threads: the tally has several, so that this difference is the larger of
the two only on a busy machine). One second is what a picture may take beyond the tally.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from io import BytesIO
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import trueness as tn
from trueness import plot

BAR = 1.0
Draw = Callable[[Any, Any], Any]

DISPLAYS: dict[str, Draw] = {
    "ReliabilityDisplay, binned": plot.ReliabilityDisplay.from_predictions,
    "ReliabilityDisplay, isotonic": lambda y, p: plot.ReliabilityDisplay.from_predictions(y, p, curve="isotonic"),
    "ReliabilityDisplay, smooth": lambda y, p: plot.ReliabilityDisplay.from_predictions(y, p, curve="smooth"),
    "TestReliabilityDisplay": plot.TestReliabilityDisplay.from_predictions,
    "CumulativeDisplay": plot.CumulativeDisplay.from_predictions,
    "BinsDisplay": plot.BinsDisplay.from_predictions,
    "ValidityDisplay, 20 bins": lambda y, p: plot.ValidityDisplay.from_predictions(y, p, bins=20),
    "IntervalDisplay": plot.IntervalDisplay.from_predictions,
}


def scores(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct scores, a little too high."""
    rng = np.random.default_rng(0)
    p = rng.beta(1.2, 2.0, n)
    return (rng.random(n) < p**1.1).astype(np.int64), p


def picture(draw: Draw, y: np.ndarray, p: np.ndarray) -> None:
    """From the rows to a PNG."""
    draw(y, p).plot().figure_.savefig(BytesIO(), format="png")
    plt.close("all")


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """By the clock, and of the CPU."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


def raced(draw: Draw, y: np.ndarray, p: np.ndarray, runs: int) -> tuple[float, float, float, float]:
    """Medians of the tally, the picture and their difference, and of the difference in CPU time."""
    pairs = [(seconds(lambda: tn.tally(y, p)), seconds(lambda: picture(draw, y, p))) for _ in range(runs)]
    columns = ((t[0], d[0], d[0] - t[0], d[1] - t[1]) for t, d in pairs)
    tally, drawn, clock, cpu = (statistics.median(column) for column in zip(*columns, strict=True))
    return tally, drawn, clock, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="displays whose names contain this")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", tn.TruenessWarning)
    y, p = scores(asked.rows)
    print(f"{asked.rows:,} rows, medians of {asked.runs} runs, seconds\n")
    print("| display | tally | picture | beyond the tally | … in CPU time | within a second |")
    print("|---|---|---|---|---|---|")
    for name, draw in DISPLAYS.items():
        if asked.only.lower() in name.lower():
            picture(draw, y[:10_000], p[:10_000])  # what is imported once is not drawing
            tally, drawn, clock, cpu = raced(draw, y, p, asked.runs)
            said = "yes" if clock <= BAR else "no"
            print(f"| {name} | {tally:.2f} | {drawn:.2f} | {clock:.2f} | {cpu:.2f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
