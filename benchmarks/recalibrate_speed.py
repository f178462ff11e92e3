"""Calibrators against those of other libraries: fit and predict, as a Markdown table.

    python benchmarks/recalibrate_speed.py            # a minute
    python benchmarks/recalibrate_speed.py --quick    # a tenth of the rows; the bars are for the full size

Calls that are compared take turns in shuffled order, and ratios are taken within a round. What a peer computes is
checked against what ours does, where both are meant to be the same. A peer that is not installed is left out.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

# Set before NumPy is loaded: matrix products play no part here, and their threads would blur the CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from harness.lines import Line, print_head, print_lines, raced
from harness.rounds import Pace

from trueness.recalibrate import HistogramBinning

RATIO_BAR = 10.0
N_BINS = 10

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def histogram(n: int, pace: Pace) -> Iterator[Line]:
    """Bins of equal width and of equal mass, each against the peers that have it."""
    rows = scores(n)
    peers = {**equal_width(*rows), **equal_mass(*rows)}
    found = raced({**ours(*rows), **peers}, pace)
    for scheme, names in (("fixed-width", equal_width(*rows)), ("umd", equal_mass(*rows))):
        yield Line(f"histogram binning, {n:,} rows, {N_BINS} bins, scheme {scheme!r}: fit and predict", found[scheme])
        for name in names:
            agree(scheme, found[scheme].result, name, found[name].result)
            yield Line(f"… {name}", found[name], against=found[scheme], at_least=RATIO_BAR)
    for scheme in ("randomized", "original", "split"):
        yield Line(f"histogram binning, {n:,} rows, {N_BINS} bins, scheme {scheme!r}", found[scheme])


def scores(n: int) -> Rows:
    rng = np.random.default_rng(0)
    p, new = rng.beta(0.7, 1.5, (2, n))
    return p, (rng.random(n) < p).astype(np.int64), new


def ours(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> dict[str, Callable[[], Any]]:
    def call(scheme: str) -> Callable[[], Any]:
        return lambda: HistogramBinning(N_BINS, scheme, seed=0).fit(p, y).predict(new)

    return {scheme: call(scheme) for scheme in ("fixed-width", "umd", "randomized", "original", "split")}


def equal_width(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> dict[str, Callable[[], Any]]:
    if not installed("netcal"):
        return {}
    from netcal.binning import HistogramBinning as Netcal

    def call() -> Any:
        peer = Netcal(bins=N_BINS)
        peer.fit(p, y)
        return peer.transform(new)

    return {"netcal": call}


def equal_mass(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> dict[str, Callable[[], Any]]:
    if not installed("calibration"):
        return {}
    import calibration

    def call() -> Any:
        peer = calibration.HistogramCalibrator(p.size, N_BINS)
        peer.train_calibration(p, y)
        return peer.calibrate(new)

    return {"uncertainty-calibration": call}


def agree(scheme: str, mine: np.ndarray, name: str, theirs: np.ndarray) -> None:
    """The same rates for bins of equal width; for equal mass up to where boundary rows go."""
    # A boundary row more or less moves few new rows to another bin, and a rate by one label in n / B.
    share = 1.0 if scheme == "fixed-width" else 0.99
    if np.mean(np.abs(mine - theirs) <= 2.0 * N_BINS / mine.size + 1e-9) < share:
        raise SystemExit(f"{name} and scheme {scheme!r} do not agree")


def installed(package: str) -> bool:
    if find_spec(package):
        return True
    print(f"{package} is not installed: left out\n")
    return False


# A section takes a number of rows and a pace and yields the lines of its races.
SECTIONS: list[Callable[[int, Pace], Iterator[Line]]] = [histogram]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer rounds")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # peers warn of their own future
    print_head()
    for section in SECTIONS:
        print_lines(section(10_000 if quick else 100_000, Pace(rounds=5, fewest=3) if quick else Pace(rounds=25)))


if __name__ == "__main__":
    main()
