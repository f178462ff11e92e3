"""The sketch against a bare sum of its two columns, on one core.

The bar is 50 million rows per second of CPU time, by the median of the rounds, for every form of rows.
"""

import statistics

import numpy as np
from benchmark import Page, case
from timing import Pace, race, ratio

import trueness as tn
from trueness._kernels import compiled, library

BAR = 50e6


def forms(n: int, seed: int = 0) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows of several distributions and types."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, p in (
        ("uniform", rng.random(n)),
        ("rare", rng.beta(0.3, 9, n)),
        ("two decimals", rng.random(n).round(2)),
    ):
        y = rng.random(n) < p
        found[f"{name}, float32 and uint8"] = (p.astype(np.float32), y.view(np.uint8))
        found[f"{name}, float64 and bool"] = (p, y)
    return found


@case("sketch", "rows per second of `tn.sketch` on one core", "15 s", one_thread=True)
def sketch(page: Page, quick: bool, *, rows: int = 0) -> None:
    n = rows or (400_000 if quick else 4_000_000)
    if library.available():
        compiled.workers = lambda _: 1  # one core: the bar is per core
    page.text(f"{n:,} rows, one thread.")
    page.head("rows", "million rows per CPU second", "times `p.sum() + y.sum()`", "bytes")
    slowest = float("inf")
    for name, (p, y) in forms(n).items():
        calls = {
            "sketch": lambda p=p, y=y: tn.sketch(y, p),
            "sums": lambda p=p, y=y: p.sum() + y.sum(),
        }
        found = race(calls, Pace(rounds=9))
        cpu = found["sketch"].cpu
        speed = n / statistics.median(cpu.values())
        slowest = min(slowest, speed)
        size = len(tn.sketch(y, p).to_bytes())
        page.row(
            name, f"{speed / 1e6:.0f}", f"{ratio(cpu, found['sums'].cpu).median:.1f}×", f"{size:,}"
        )
    promise = (
        f"sketch: at least {BAR / 1e6:.0f} million rows per CPU second, for every form of rows"
    )
    page.bar(promise, f"{slowest / 1e6:.0f} million", None if quick else slowest >= BAR)
