"""Histogram binning against other libraries: fit and predict.

What a peer computes is compared with ours where both should agree. A peer that is not installed is left out.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from benchmark import Page, case
from timing import Line, Pace, race_or_fail, time_table

from trueness.recalibrate import HistogramBinning

RATIO_BAR = 10.0
N_BINS = 10

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def histogram(n: int, pace: Pace) -> Iterator[Line]:
    """Bins of equal width and of equal mass, each against the peers that have it."""
    rows = scores(n)
    peers = {**equal_width(*rows), **equal_mass(*rows)}
    found = race_or_fail({**ours(*rows), **peers}, pace)
    for scheme, names in (("fixed-width", equal_width(*rows)), ("umd", equal_mass(*rows))):
        yield Line(f"scheme {scheme!r}", found[scheme])
        for name in names:
            agree(scheme, found[scheme].result, name, found[name].result)
            yield Line(f"… {name}", found[name], against=found[scheme], at_least=RATIO_BAR)
    for scheme in ("randomized", "original", "split"):
        yield Line(f"scheme {scheme!r}", found[scheme])


def scores(n: int) -> Rows:
    rng = np.random.default_rng(0)
    p, new = rng.beta(0.7, 1.5, (2, n))
    return p, (rng.random(n) < p).astype(np.int64), new


def ours(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> dict[str, Callable[[], Any]]:
    def call(scheme: str) -> Callable[[], Any]:
        return lambda: HistogramBinning(N_BINS, scheme, seed=0).fit(p, y).predict(new)

    return {
        scheme: call(scheme) for scheme in ("fixed-width", "umd", "randomized", "original", "split")
    }


def equal_width(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> dict[str, Callable[[], Any]]:
    if find_spec("netcal") is None:
        return {}
    from netcal.binning import HistogramBinning as Netcal

    def call() -> Any:
        peer = Netcal(bins=N_BINS)
        peer.fit(p, y)
        return peer.transform(new)

    return {"netcal": call}


def equal_mass(p: np.ndarray, y: np.ndarray, new: np.ndarray) -> dict[str, Callable[[], Any]]:
    if find_spec("calibration") is None:
        return {}
    import calibration

    def call() -> Any:
        peer = calibration.HistogramCalibrator(p.size, N_BINS)
        peer.train_calibration(p, y)
        return peer.calibrate(new)

    return {"uncertainty-calibration": call}


def agree(scheme: str, mine: np.ndarray, name: str, theirs: np.ndarray) -> None:
    """Equal rates for bins of equal width; for equal mass, up to rows on boundaries."""
    # One boundary row more or less moves few new rows to another bin, and a rate by one label in n / B.
    share = 1.0 if scheme == "fixed-width" else 0.99
    if np.mean(np.abs(mine - theirs) <= 2.0 * N_BINS / mine.size + 1e-9) < share:
        raise SystemExit(f"{name} and scheme {scheme!r} do not agree")


@case("histogram", "histogram binning: fit and predict", "1 min", one_thread=True)
def histogram_binning(page: Page, quick: bool, *, rows: int = 0) -> None:
    for package in ("netcal", "calibration"):
        if find_spec(package) is None:
            page.text(f"{package} is not installed, and left out.")
    n, pace = (
        rows or (10_000 if quick else 100_000),
        Pace(rounds=5, fewest=3) if quick else Pace(rounds=25),
    )
    time_table(
        page, f"histogram binning, {n:,} rows, {N_BINS} bins", histogram(n, pace), judged=not quick
    )
