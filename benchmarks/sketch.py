"""The sketch against a bare sum of its two columns, on one core, as a Markdown table.

    python benchmarks/sketch.py            # a quarter of a minute
    python benchmarks/sketch.py --quick    # a tenth of the rows

Calls that are compared take turns in shuffled order, and ratios are taken within a round. The bar is 50 million rows
per second of CPU time, by the median of the rounds, for every form of rows. Scores and labels are checked on the way.
"""

import argparse
import os
import statistics

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from harness.rounds import Pace, race, ratio

import trueness as tn
from trueness._kernels import compiled, library

BAR = 50e6


def forms(n: int, seed: int = 0) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows of two spreads and as many types."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    n = 400_000 if parser.parse_args().quick else 4_000_000
    if library.available():
        compiled.workers = lambda _: 1  # one core: the bar is per core
    print(f"{n:,} rows, one thread.\n")
    print("| rows | million rows per CPU second | times p.sum() + y.sum() | bytes | bar |\n|---|---|---|---|---|")
    slowest = float("inf")
    for name, (p, y) in forms(n).items():
        calls = {"sketch": lambda p=p, y=y: tn.sketch(y, p), "sums": lambda p=p, y=y: p.sum() + y.sum()}
        found = race(calls, Pace(rounds=9))
        cpu = found["sketch"].cpu
        speed = n / statistics.median(cpu.values())
        slowest = min(slowest, speed)
        times = ratio(cpu, found["sums"].cpu).median
        size = len(tn.sketch(y, p).to_bytes())
        verdict = "pass" if speed >= BAR else "**FAIL**"
        print(f"| {name} | {speed / 1e6:.0f} | {times:.1f}× | {size:,} | {verdict} |", flush=True)
    print(f"\nSlowest form: {slowest / 1e6:.0f} million rows per CPU second; the bar is {BAR / 1e6:.0f}.")
    if slowest < BAR:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
