"""The speed table: what a call costs in this version and in an earlier one, beside a bare sum of its inputs.

Two versions cannot be imported into one process, so each has a worker process of its own. The workers take turns: a
round times the call and the sum in one of them, then in the other. Shown are the least CPU times of all rounds, with
all threads counted.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from benchmark import Page, case
from timing import seconds

import trueness as tn
from cases import commands, logits, temperature
from cases._contenders import USUAL, rows

Arrays = tuple[np.ndarray, ...]

_SHORTEST_S = 0.02
_HERE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Work:
    """A row of the table: `call` and the sum of the last `summed` inputs get what `inputs` draws."""

    name: str
    possible: str
    inputs: Callable[[bool], Arrays]
    call: Callable[..., Any]
    summed: int = 2


@cache
def _rows(n: int) -> Callable[[bool], Arrays]:
    return lambda quick: rows(min(n, 10**5) if quick else n, USUAL)


@cache
def _logits(dtype: type) -> Callable[[bool], Arrays]:
    def draw(quick: bool) -> Arrays:
        y, Z = logits.logits(5_000 if quick else 50_000, 1_000)
        return y, Z.astype(dtype, copy=False)

    return draw


@cache
def _probabilities(dtype: type) -> Callable[[bool], Arrays]:
    def draw(quick: bool) -> Arrays:
        y, Z = logits.logits(5_000 if quick else 50_000, 1_000)
        P = np.exp(Z, dtype=dtype)
        P /= P.sum(axis=1, keepdims=True)
        return y, P

    return draw


def _overconfident_logits(quick: bool) -> Arrays:
    return temperature.logits(5_000 if quick else 50_000, 1_000)[::-1]


WORKS = [
    Work("`tn.ece`, 10 rows", "12 µs", _rows(10), tn.ece),
    Work("`tn.ece`, 1,000 rows", "12 µs", _rows(1_000), tn.ece),
    Work("equal-width ECE, 10^6", "0.8 ms", _rows(10**6), tn.ece),
    Work("smooth ECE, 10^6", "4 ms", _rows(10**6), tn.smooth_ece),
    Work(
        "isotonic fit, 10^6", "19 ms", _rows(10**6), lambda y, p: tn.IsotonicCalibration().fit(p, y)
    ),
    Work("log loss, 10^6", "8 ms", _rows(10**6), tn.log_loss),
    Work("slope, 10^6", "25 ms", _rows(10**6), tn.calibration_slope),
    Work("interval, 10^6", "15 ms", _rows(10**6), lambda y, p: tn.ece_interval(y, p, seed=0)),
    Work(
        "omnibus test, 10^6", "15 ms", _rows(10**6), lambda y, p: tn.calibration_test(y, p, seed=0)
    ),
    Work(
        "bootstrap, 1,000 resamples, 10^6",
        "one pass + 5 ms",
        _rows(10**6),
        lambda y, p: tn.ece_interval(y, p, bins=10, method="bootstrap", resamples=1000, seed=0),
    ),
    Work("exact ACE, 10^7", "39 ms", _rows(10**7), tn.ace),
    *(
        Work(
            f"confidence ECE from logits, 50,000 × 1,000, {dtype.__name__}",
            "4× the sum",
            _logits(dtype),
            lambda y, Z: tn.ece(y, Z, kind="confidence", from_logits=True),
            summed=1,
        )
        for dtype in (np.float32, np.float64)
    ),
    *(
        Work(
            f"class-wise ECE, 50,000 × 1,000, {dtype.__name__}",
            "1.8× the sum",
            _probabilities(dtype),
            tn.ece,
            summed=1,
        )
        for dtype in (np.float32, np.float64)
    ),
    Work(
        "temperature fit, 50,000 × 1,000, float32",
        "0.12 s",
        _overconfident_logits,
        lambda y, Z: tn.TemperatureScaling(from_logits=True).fit(Z, y),
        summed=1,
    ),
]
_COMMANDS = {"trueness report": "0.6× of before", "trueness measure": "0.8× of before"}


@case("speed-table", "The speed table, beside an earlier version", "4 min, 3 GB", one_thread=True)
def speed_table(page: Page, quick: bool, *, before: str = "", only: str = "") -> None:
    """CPU time of each work; `before` is another checkout with kernels of its own, `only` part of a work's name."""
    sources = {"after": Path(tn.__file__).parents[1]} | (
        {"before": Path(before, "src").resolve()} if before else {}
    )
    page.text(
        "Least CPU times of interleaved rounds. The sum is `p.sum() + y.sum()`, or of a matrix `z.sum()`; *possible* "
        "is what prototypes reached on another day."
    )
    if quick:
        page.text("A quick run: at most 100,000 rows, or 5,000 × 1,000.")
    page.head("work", "before", "after", "before / after", "the sum", "after / sum", "possible")
    page.data = []
    workers = {version: _Worker(source) for version, source in sources.items()}
    try:
        for i, work in enumerate(WORKS):
            if only in work.name:
                found = _race(workers, i, quick)
                _print(
                    page,
                    work,
                    {version: call for version, (call, _) in found.items()},
                    found["after"][1],
                )
    finally:
        for worker in workers.values():
            worker.close()
    for name, possible in _COMMANDS.items():
        if only in name:
            least = _race_command(commands.COMMANDS[name], sources, 2 if quick else 4)
            _print(page, Work(f"`{name}`, 10,000 rows", possible, _rows(0), tn.ece), least, None)


def _print(page: Page, work: Work, least: dict[str, float], total: float | None) -> None:
    before, after = least.get("before"), least["after"]
    page.row(
        work.name,
        "" if before is None else _duration(before),
        _duration(after),
        "" if before is None else f"{before / after:.2f}",
        "" if total is None else _duration(total),
        "" if total is None else f"{after / total:.1f}",
        work.possible,
    )
    page.data.append(
        {
            "work": work.name,
            "before": before,
            "after": after,
            "sum": total,
            "possible": work.possible,
        }
    )


def _duration(value: float) -> str:
    return seconds(value) if value >= 1e-4 else f"{value * 1e6:.3g} µs"


def _race(workers: dict[str, "_Worker"], i: int, quick: bool) -> dict[str, tuple[float, float]]:
    """The least seconds of the call and of the sum, by version."""
    samples: dict[str, list[list[float]]] = {version: [] for version in workers}
    for _ in range(3 if quick else 15):
        for version, worker in workers.items():
            samples[version].append(worker.time(i, quick))
    return {
        version: (min(c for c, _ in each), min(s for _, s in each))
        for version, each in samples.items()
    }


def _race_command(
    arguments: tuple[str, ...], sources: dict[str, Path], rounds: int
) -> dict[str, float]:
    taken: dict[str, list[float]] = {version: [] for version in sources}
    with tempfile.TemporaryDirectory() as folder:
        commands.write_rows(folder)
        for i in range(rounds + 1):
            for version, source in sources.items():
                cpu = commands.cpu_of_command(arguments, str(source), folder)
                if i:  # the first run compiles
                    taken[version].append(cpu)
    return {version: min(each) for version, each in taken.items()}


class _Worker:
    """A process that imports one version and times works on request."""

    def __init__(self, source: Path) -> None:
        path = os.pathsep.join([str(_HERE), str(source)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cases.speed_table"],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def time(self, i: int, quick: bool) -> list[float]:
        """CPU seconds of the call and of the sum."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([i, quick]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{WORKS[i].name}: the worker process ended")
        return cast("list[float]", json.loads(answer))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@dataclass
class _Stopwatch:
    """Times one work after another; inputs are kept until the work changes."""

    i: int = -1
    arrays: Arrays = ()
    loops: dict[str, int] = field(default_factory=dict)

    def time(self, i: int, quick: bool) -> list[float]:
        work = WORKS[i]
        if i != self.i:
            if self.i < 0 or WORKS[self.i].inputs is not work.inputs:
                self.arrays = ()  # before the next are drawn
                self.arrays = work.inputs(quick)
            self.i, self.loops = i, {}
        return [
            self._time("call", lambda: work.call(*self.arrays)),
            self._time("sum", lambda: _sum(work, self.arrays)),
        ]

    def _time(self, name: str, call: Callable[[], Any]) -> float:
        if name not in self.loops:
            call()  # loads and caches
            self.loops[name] = max(1, round(_SHORTEST_S / max(_cpu(call, 1), 1e-6)))
        return _cpu(call, self.loops[name])


def _sum(work: Work, arrays: Arrays) -> Any:
    return sum(array.sum() for array in arrays[-work.summed :])


def _cpu(call: Callable[[], Any], loops: int) -> float:
    start = time.process_time()
    for _ in range(loops):
        call()
    return (time.process_time() - start) / loops


if __name__ == "__main__":  # a worker: a line of JSON for every line of JSON
    warnings.simplefilter("ignore")
    stopwatch = _Stopwatch()
    for line in sys.stdin:
        print(json.dumps(stopwatch.time(*json.loads(line))), flush=True)
