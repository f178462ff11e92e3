"""What a call costs when there is next to nothing to sum."""

import statistics
import time
from dataclasses import dataclass

import numpy as np
from contenders.contender import Call

ROWS = 10


@dataclass(frozen=True)
class Overhead:
    """Wall seconds of a call, median of all and of the quietest block; and of a yardstick that took turns with it."""

    median: float
    quietest: float
    yardstick: float


def overhead(blocks: int = 40, calls: int = 250) -> Overhead:
    """`trueness.ece` on ten rows, in blocks with pauses, so that a busy spell does not meet all of them."""
    import trueness as tn

    y = np.array([0, 1, 0, 0, 1, 0, 1, 1, 1, 1])
    p = np.arange(ROWS) / ROWS
    own, yardstick = [], []
    for _ in range(blocks):
        time.sleep(0.02)
        own.append([_seconds(lambda: tn.ece(y, p, bins=10)) for _ in range(calls)])
        yardstick += [_seconds(lambda: p.sum() + y.sum()) for _ in range(calls)]
    median = statistics.median
    return Overhead(median(t for block in own for t in block), min(map(median, own)), median(yardstick))


def _seconds(call: Call) -> float:
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) * 1e-9
