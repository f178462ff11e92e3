"""Isotonic and Venn-Abers calibration against scikit-learn and the venn-abers package, as a Markdown table.

    python benchmarks/recalibrate_isotonic.py            # a minute or two
    python benchmarks/recalibrate_isotonic.py --quick    # a tenth of the rows; the bars are for the full size

Each call fits on one set of rows and predicts another of the same size. Calls that are compared take turns in shuffled
order, and ratios are taken within a round. Predictions must agree, or the script ends with an error. The peer packages
are those of `pip install 'trueness[bench]' venn-abers`.
"""

import argparse
import os
import statistics
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

# Set before NumPy is loaded: matrix products play no part here, and their threads would blur the CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from harness.rounds import Pace, Samples, race, ratio
from sklearn.isotonic import IsotonicRegression

from trueness import simulate
from trueness.recalibrate import IsotonicCalibration, VennAbers

with np.errstate():  # the package changes NumPy's error state when it is imported
    import venn_abers

ISOTONIC_BAR = 6.0
VENN_ABERS_BAR = 100.0
DISTORTION = simulate.Logit(slope=0.7)


class Line(NamedTuple):
    """A row of the table; `against` is what its time is divided by."""

    what: str
    samples: Samples
    against: Samples | None = None
    bar: float | None = None

    def cells(self) -> list[str]:
        wall, cpu = (seconds(statistics.median(s.values())) for s in (self.samples.wall, self.samples.cpu))
        cells = [self.what, str(len(self.samples.wall)), wall, cpu]
        if self.against is None:
            return [*cells, "", "", ""]
        by_wall = ratio(self.samples.wall, self.against.wall).median
        by_cpu = ratio(self.samples.cpu, self.against.cpu).median
        good = "" if self.bar is None else f"≥ {self.bar:g}×: {verdict(min(by_wall, by_cpu) >= self.bar)}"
        return [*cells, f"{by_wall:,.1f}×", f"{by_cpu:,.1f}×", good]


def seconds(value: float) -> str:
    return f"{value:,.3g} s" if value >= 1 else f"{value * 1e3:,.3g} ms"


def verdict(good: bool) -> str:
    return "pass" if good else "**FAIL**"


def raced(calls: dict[str, Callable[[], Any]], pace: Pace) -> dict[str, Samples]:
    found = race(calls, pace)
    for name, samples in found.items():
        if samples.error:
            raise SystemExit(f"{name}: {samples.error}")
    return found


def isotonic(n: int, pace: Pace) -> list[Line]:
    d = simulate.binary(n, distortion=DISTORTION, seed=0)
    new = simulate.binary(n, distortion=DISTORTION, seed=1).y_prob
    w = np.random.default_rng(2).uniform(0.5, 2, n)
    linear, step = IsotonicCalibration(), IsotonicCalibration(interpolation="step")
    peer = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    found = raced(
        {
            "linear": lambda: linear.fit(d.y_prob, d.y_true).predict(new),
            "step": lambda: step.fit(d.y_prob, d.y_true).predict(new),
            "weighted": lambda: linear.fit(d.y_prob, d.y_true, w).predict(new),
            "peer": lambda: peer.fit(d.y_prob, d.y_true).predict(new),
            "peer weighted": lambda: peer.fit(d.y_prob, d.y_true, w).predict(new),
        },
        pace,
    )
    for ours, theirs in (("linear", "peer"), ("weighted", "peer weighted")):
        np.testing.assert_allclose(found[ours].result, found[theirs].result, atol=1e-9)
    scikit_learn = f"scikit-learn {version('scikit-learn')}"
    return [
        Line(f"`IsotonicCalibration`, {n:,} rows", found["linear"]),
        Line('… `interpolation="step"`', found["step"]),
        Line(f"… {scikit_learn}", found["peer"], found["linear"], ISOTONIC_BAR),
        Line("`IsotonicCalibration` with weights", found["weighted"]),
        Line(f"… {scikit_learn} with weights", found["peer weighted"], found["weighted"]),
    ]


def inductive(n: int, pace: Pace) -> list[Line]:
    d = simulate.binary(n, distortion=DISTORTION, seed=0)
    new = simulate.binary(n, distortion=DISTORTION, seed=1).y_prob
    # The package wants a column per class; making them is not its work.
    known, asked = (np.column_stack([1 - p, p]) for p in (d.y_prob, new))

    def theirs() -> np.ndarray:
        peer = venn_abers.VennAbers()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            peer.fit(known, d.y_true)
            return peer.predict_proba(asked)[0][:, 1]

    found = raced(
        {
            "ours": lambda: VennAbers().fit(d.y_prob, d.y_true).predict(new),
            "cross": lambda: VennAbers(folds=5, seed=0).fit(d.y_prob, d.y_true).predict(new),
            "peer": theirs,
        },
        pace,
    )
    np.testing.assert_allclose(found["ours"].result, found["peer"].result, atol=1e-12)
    return [
        Line(f"`VennAbers`, {n:,} rows", found["ours"]),
        Line("… `folds=5`", found["cross"]),
        Line(f"… venn-abers {version('venn-abers')}", found["peer"], found["ours"], VENN_ABERS_BAR),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer rounds")
    quick = parser.parse_args().quick
    pace = Pace(rounds=5, fewest=3) if quick else Pace(slow_s=30.0)
    many, some = (100_000, 10_000) if quick else (1_000_000, 100_000)
    head = ["fit + predict", "rounds", "wall", "CPU", "wall, times ours", "CPU, times ours", "bar"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for lines in (isotonic(many, pace), inductive(some, pace)):
        for line in lines:
            print("| " + " | ".join(line.cells()) + " |", flush=True)


if __name__ == "__main__":
    main()
