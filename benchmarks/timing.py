"""Interleaved timing: in every round each contender runs once, in shuffled order.

A busy machine slows all contenders of a round alike, so ratios within a round are steadier than times. CPU time
of the whole process counts every thread; wall time is kept beside it.
"""

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmark import Page

Call = Callable[[], Any]

_BEFORE = -1  # the round of a call so slow that it ran only once, before the others


@dataclass(frozen=True)
class Pace:
    """How long to measure. Slow calls run in fewer rounds; very slow ones run once, unwarmed."""

    rounds: int = 15
    fewest: int = 5
    budget_s: float = 2.0
    slow_s: float = 8.0
    shortest_s: float = 0.02

    def repeats(self, call_s: float) -> int:
        if call_s > self.slow_s:
            return 0
        return min(max(int(self.budget_s / max(call_s, self.shortest_s)), self.fewest), self.rounds)

    def loops(self, call_s: float) -> int:
        return max(1, math.ceil(self.shortest_s / max(call_s, 1e-7)))


@dataclass
class Samples:
    """Seconds per call, by round."""

    loops: int = 1
    cpu: dict[int, float] = field(default_factory=dict)
    wall: dict[int, float] = field(default_factory=dict)
    result: Any = None
    error: str = ""


@dataclass(frozen=True)
class Ratio:
    """Median and quartiles of the ratios within rounds."""

    median: float
    low: float
    high: float


def race(calls: Mapping[str, Call], pace: Pace) -> dict[str, Samples]:
    """Time the calls against each other."""
    found: dict[str, Samples] = {}
    repeats: dict[str, int] = {}
    for name, call in calls.items():
        found[name], repeats[name] = _first(call, pace)
    n_rounds = max(repeats.values(), default=0)
    order, rng = list(calls), random.Random(0)
    for i in range(n_rounds):
        rng.shuffle(order)
        for name in order:
            if _takes_part(i, repeats[name], n_rounds):
                cpu, wall, _ = _timed(calls[name], found[name].loops)
                found[name].cpu[i], found[name].wall[i] = cpu, wall
    return found


def ratio(of: Mapping[int, float], to: Mapping[int, float]) -> Ratio:
    """Round by round; a round that the other sat out is compared with its median."""
    usual = statistics.median(to.values())
    found = sorted(seconds / to.get(i, usual) for i, seconds in of.items())
    low, _, high = (
        statistics.quantiles(found, n=4, method="inclusive") if len(found) > 1 else found * 3
    )
    return Ratio(statistics.median(found), low, high)


def _first(call: Call, pace: Pace) -> tuple[Samples, int]:
    try:
        cpu, wall, result = _timed(call, 1)
    except Exception as error:
        return Samples(error=f"{type(error).__name__}: {error}"), 0
    # The first call also loads and caches; for short ones the second says how many make up a sample.
    if wall < 0.2:
        cpu, wall, result = _timed(call, 1)
    repeats = pace.repeats(wall)
    samples = Samples(pace.loops(wall), result=result)
    if not repeats:
        samples.cpu[_BEFORE], samples.wall[_BEFORE] = cpu, wall
    return samples, repeats


def _takes_part(i: int, repeats: int, n_rounds: int) -> bool:
    """Spread over the rounds, the first one included."""
    return repeats > 0 and (i == 0 or i * repeats // n_rounds != (i - 1) * repeats // n_rounds)


def _timed(call: Call, loops: int) -> tuple[float, float, Any]:
    time.sleep(0.001)  # lets threads of the contender before come to rest
    result = None
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(loops):
        result = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu / loops, wall / loops, result


# --------------------------------------------------------------------------------------------- tables

_HEAD = ("rounds", "wall", "CPU", "value", "wall, times ours", "CPU, times ours")


class Line(NamedTuple):
    """A row of a table of times."""

    what: str
    samples: Samples
    times: float = 1.0
    """Factor for the time: draws wanted over draws timed."""
    against: Samples | None = None
    """Our samples, for a ratio."""
    at_least: float | None = None
    """The promised ratio, if any."""
    value: str = ""
    """The number that was computed, where the table shows it."""


def times(value: float) -> str:
    return f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×"


def seconds(value: float) -> str:
    return f"{value:,.3g} s" if value >= 1 else f"{value * 1e3:,.3g} ms"


def race_or_fail(calls: Mapping[str, Call], pace: Pace) -> dict[str, Samples]:
    """Time the calls; an error in one of them ends the run."""
    gc.freeze()  # what the libraries loaded is not worth traversing during anybody's turn
    found = race(calls, pace)
    for name, samples in found.items():
        if samples.error:
            raise SystemExit(f"{name}: {samples.error}")
    return found


def time_table(page: Page, what: str, lines: Iterable[Line], *, judged: bool = True) -> None:
    """A table of times and ratios to ours, with a bar for each promised ratio; `judged` at the size of the bar."""
    page.head(what, *_HEAD)
    for line in lines:
        wall, cpu = (
            statistics.median(s.values()) * line.times
            for s in (line.samples.wall, line.samples.cpu)
        )
        cells = [line.what, str(len(line.samples.wall)), seconds(wall), seconds(cpu), line.value]
        if line.against is None:
            page.row(*cells, "", "")
            continue
        by_wall = ratio(line.samples.wall, line.against.wall).median * line.times
        by_cpu = ratio(line.samples.cpu, line.against.cpu).median * line.times
        page.row(*cells, times(by_wall), times(by_cpu))
        if line.at_least is not None:
            slower = min(by_wall, by_cpu)
            promise = (
                f"{what}: at least {line.at_least:g}× as fast as {line.what.removeprefix('… ')}"
            )
            page.bar(promise, times(slower), slower >= line.at_least if judged else None)
