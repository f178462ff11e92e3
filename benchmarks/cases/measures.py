"""ECE and TCE against other libraries: time, memory, start-up."""

import contextlib
import gc
import json
import math
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmark import Page, case
from processes import available_memory, child, cpu_of_statement, peak_beyond
from timing import Call, Pace, Ratio, race, ratio

from cases._contenders import (
    COMPACT,
    EQUAL_MASS,
    EQUAL_WIDTH,
    TASKS,
    TCE,
    USUAL,
    Contender,
    Task,
    rows,
)

MB = 1_000_000
HUGE, HUGE_NEEDS = 10**8, 6 * 10**9
SUMS = "p.sum() + y.sum()"
_WARM_ROWS = 1_000
_QUICK = Pace(rounds=7, fewest=3, budget_s=0.3, slow_s=0.5)


@dataclass
class Entry:
    """The result of one contender; `remark` says why there are no numbers, or how it was called."""

    name: str
    is_peer: bool
    remark: str = ""
    cpu: float | None = None
    wall: float | None = None
    cpu_ratio: Ratio | None = None
    wall_ratio: Ratio | None = None
    rounds: int = 0
    value: float | None = None

    @property
    def times(self) -> float | None:
        """CPU time as a multiple of ours."""
        return None if self.cpu_ratio is None else self.cpu_ratio.median


Race = dict[str, Entry]
Races = dict[tuple[int, str], Race]


# ---------------------------------------------------------------------------------------------------- the cases


@case("ece", "ECE, ten bins of equal width", "4 min", default=True)
def ece(page: Page, quick: bool) -> None:
    sizes = [
        (n, USUAL) for n in ((10, 10**4, 10**6) if quick else (10, 10**4, 10**5, 10**6, 10**7))
    ]
    sizes += [(n, COMPACT) for n in ((10**6,) if quick else (10**6, 10**7))]
    if not quick:
        if (available_memory() or 0) >= HUGE_NEEDS:
            sizes.append((HUGE, COMPACT))
        else:
            page.text(
                f"10⁸ rows were left out: they take {HUGE_NEEDS / 1e9:.0f} GB of free memory."
            )
    races = _race_all(page, EQUAL_WIDTH, sizes, quick)
    cases = [("trueness", n, form) for n, form in sizes]
    cases += [
        (c, n, USUAL)
        for n in (() if quick else (10**6, 10**7))
        for c in _measured_peers(EQUAL_WIDTH, n)
    ]
    most = _memory_table(page, EQUAL_WIDTH, cases, races)
    for form in (USUAL, COMPACT):
        promise = f"ECE at 10,000,000 rows ({form}): at most 8× the time of `{SUMS}`"
        times = _times(races, 10**7, form, SUMS)
        page.bar(
            promise,
            "" if times is None else f"{1 / times:.2f}×",
            None if times is None else 1 / times <= 8,
        )
    for form in (USUAL, COMPACT):
        _faster(page, races, "ECE", 10**6, form, "torchmetrics", 20)
    for form in (USUAL, COMPACT):
        peers = [
            e for e in races.get((10**6, form), {}).values() if e.is_peer and e.times is not None
        ]
        fastest = min(peers, key=lambda e: e.times or math.inf, default=None)
        promise = f"ECE at 1,000,000 rows ({form}): at least 2.5× as fast as the fastest peer"
        if fastest is None or fastest.times is None:
            page.bar(promise)
        else:
            page.bar(promise, f"{_short(fastest.times)}× ({fastest.name})", fastest.times >= 2.5)
    promise = "ECE: at most 4 MB of memory beyond the inputs, at any size"
    page.bar(
        promise,
        "" if most is None else f"{most / MB:.2f} MB",
        None if most is None else most <= 4 * MB,
    )


@case("ace", "ECE, ten bins of equal mass", "3 min", default=True)
def ace(page: Page, quick: bool) -> None:
    sizes = [(n, USUAL) for n in ((10**6,) if quick else (10**4, 10**6, 10**7))]
    races = _race_all(page, EQUAL_MASS, sizes, quick)
    if not quick:
        cases = [("trueness", n, form) for n, form in sizes]
        cases += [(name, 10**7, USUAL) for name in _measured_peers(EQUAL_MASS, 10**7)]
        _memory_table(page, EQUAL_MASS, cases, races)
    _faster(page, races, "Equal-mass ECE, exact", 10**7, USUAL, "scikit-learn", 15)


@case("tce", "TCE, PAVA-BC bins, binomial test at 5 %", "3 min", default=True)
def tce(page: Page, quick: bool) -> None:
    sizes = [(n, USUAL) for n in ((2_000,) if quick else (50_000, 10**6, 10**7))]
    races = _race_all(page, TCE, sizes, quick)
    _faster(page, races, "TCE", 50_000, USUAL, "published algorithm", 1_000)
    values = [entry.value for entry in races[sizes[0]].values() if entry.value is not None]
    same = len(set(values)) == 1 if len(values) > 1 else None
    page.bar(
        "TCE: exactly the value of the published algorithm",
        " and ".join(f"{v!r}" for v in values),
        same,
    )
    cpu = races[10**7, USUAL]["trueness"].cpu if (10**7, USUAL) in races else None
    promise = "TCE at 10,000,000 rows: below 10 s of CPU time"
    page.bar(promise, "" if cpu is None else f"{cpu:.3g} s", None if cpu is None else cpu < 10)


@case("numpy-kernels", "ECE with the NumPy kernels (no C compiler)", "10 s", default=True)
def numpy_kernels(page: Page, quick: bool) -> None:
    # Kernels are chosen when trueness is imported: hence a process of its own.
    n = 10**6
    answer = child(
        "cases.measures", "numpy-kernels", str(n), str(int(quick)), TRUENESS_KERNELS="reference"
    )
    if answer is None:
        page.bar("ECE with the NumPy kernels")
        return
    entries = {name: _entry_from_dict(entry) for name, entry in answer.items()}
    _race_table(page, n, USUAL, entries)
    _faster(page, {(n, USUAL): entries}, "ECE with the NumPy kernels", n, USUAL, "torchmetrics", 4)


@case("ten-rows", "the cost of a call on ten rows", "2 s", default=True)
def ten_rows(page: Page, quick: bool) -> None:
    import trueness as tn

    y, p = np.array([0, 1, 0, 0, 1, 0, 1, 1, 1, 1]), np.arange(10) / 10
    blocks, own, yardstick = 10 if quick else 40, [], []
    for _ in range(blocks):
        time.sleep(0.02)  # so that a busy spell does not affect all blocks
        own.append([_wall(lambda: tn.ece(y, p, bins=10)) for _ in range(250)])
        yardstick += [_wall(lambda: p.sum() + y.sum()) for _ in range(250)]
    median = statistics.median
    typical, quietest = median(t for block in own for t in block), min(map(median, own))
    page.head("call", "median wall time", "in the quietest block")
    page.row("`trueness.ece`", _time(typical), _time(quietest))
    page.row(f"`{SUMS}`", _time(median(yardstick)), "")
    found = f"{typical * 1e6:.1f} µs (in the quietest block {quietest * 1e6:.1f})"
    page.bar("`ece` on 10 rows: below 30 µs", found, typical < 30e-6)


_NUMPY = "import numpy"
_FIRST_CALL = "import trueness, first ece"
_STATEMENTS = {
    _NUMPY: _NUMPY,
    "import trueness": "import trueness",
    _FIRST_CALL: "import numpy, trueness; trueness.ece(numpy.array([0, 1]), numpy.array([.2, .8]), bins=2)",
    "import sklearn.calibration": "import sklearn.calibration",
    "import torchmetrics": "import torchmetrics",
}
_SLOW_IMPORTS = ("import sklearn.calibration", "import torchmetrics")


@case("startup", "import and first call in a fresh process", "1 min", default=True)
def startup(page: Page, quick: bool) -> None:
    rounds, slow_rounds = (5, -1) if quick else (21, 2)
    seconds: dict[str, dict[int, float]] = {name: {} for name in _STATEMENTS}
    with TemporaryDirectory() as bytecode:
        for i in range(-1, rounds):  # round -1 compiles
            names = [name for name in _STATEMENTS if i < slow_rounds or name not in _SLOW_IMPORTS]
            for name in names[i % len(names) :] + names[: i % len(names)]:
                with contextlib.suppress(subprocess.CalledProcessError):  # not installed
                    seconds[name][i] = cpu_of_statement(_STATEMENTS[name], Path(bytecode))
    page.text("CPU time of the statement in a fresh process, without the start of Python.")
    page.head("statement", "CPU", "ratio to `import numpy`", "rounds")
    for name, found in seconds.items():
        found.pop(-1, None)
        if found:
            to_numpy = ratio(found, seconds[_NUMPY])
            page.row(
                f"`{name}`",
                _time(statistics.median(found.values())),
                _ratio(to_numpy),
                str(len(found)),
            )
            if name == _FIRST_CALL:
                promise = "`import trueness` and the first `ece`: at most 1.3× `import numpy`"
                page.bar(promise, f"{to_numpy.median:.2f}×", to_numpy.median <= 1.3)


# ------------------------------------------------------------------------------------------------------- races


def _race_all(page: Page, task: Task, sizes: Iterable[tuple[int, str]], quick: bool) -> Races:
    page.text(
        "Times are medians per call. A ratio is that contender's time divided by ours, taken within each round of an "
        "interleaved run (every contender once, in shuffled order): median, and quartiles in brackets. CPU time counts "
        "all threads; the bars are about it. *Off by* is the relative distance from our value."
    )
    races: Races = {}
    for n, form in sizes:
        races[n, form] = _race_task(task, n, form, _QUICK if quick else Pace())
        _race_table(page, n, form, races[n, form])
    return races


def _race_task(
    task: Task, n: int, form: str, pace: Pace, only: Collection[str] | None = None
) -> Race:
    """Race the contenders of a task on the same rows."""
    y, p = rows(n, form)
    race_entries: Race = {}
    calls: dict[str, Call] = {}
    for contender in task.contenders:
        if only is None or contender.name in only:
            entry = race_entries[contender.name] = Entry(
                contender.name, contender.is_peer, contender.note
            )
            call = _call(contender, y, p, entry)
            if call is not None:
                calls[contender.name] = call
    gc.freeze()  # what the libraries loaded is not worth traversing during anybody's turn
    found = race(calls, pace)
    baseline = found[task.baseline.name]
    for name, samples in found.items():
        entry = race_entries[name]
        if samples.error:
            entry.remark = f"fails: {samples.error.splitlines()[0]}"
            continue
        entry.cpu, entry.wall = (
            statistics.median(seconds.values()) for seconds in (samples.cpu, samples.wall)
        )
        entry.rounds, entry.value = (
            len(samples.cpu),
            task.contender(name).value(samples.result, y, p),
        )
        if not baseline.error:
            entry.cpu_ratio = ratio(samples.cpu, baseline.cpu)
            entry.wall_ratio = ratio(samples.wall, baseline.wall)
    return race_entries


def _call(contender: Contender, y: Any, p: Any, entry: Entry) -> Call | None:
    if y.size > contender.most_rows:
        entry.remark = f"left out above {contender.most_rows:,} rows: too slow or too large"
        return None
    try:
        return contender.ready(y, p)
    except ImportError as error:
        missing = contender.version() is None
        entry.remark = (
            f"not installed: pip install {contender.package}"
            if missing
            else f"does not import: {error}"
        )
    return None


def _race_table(page: Page, n: int, form: str, entries: Race) -> None:
    columns = ("", "CPU", "ratio", "wall", "wall ratio", "value", "off by", "rounds", "remark")
    page.head(*columns, title=f"{n:,} rows, {form}")
    ours = entries["trueness"].value
    for entry in entries.values():
        if entry.cpu is None:
            page.row(entry.name, *["–"] * 7, entry.remark)
            continue
        page.row(
            entry.name,
            _time(entry.cpu),
            _ratio(entry.cpu_ratio),
            _time(entry.wall),
            "–" if entry.wall_ratio is None else _short(entry.wall_ratio.median),
            "–" if entry.value is None or math.isnan(entry.value) else f"{entry.value:.9g}",
            _distance(entry.value, ours),
            str(entry.rounds),
            entry.remark,
        )


def _times(races: Races, n: int, form: str, peer: str) -> float | None:
    entry = races.get((n, form), {}).get(peer)
    return None if entry is None else entry.times


def _faster(
    page: Page, races: Races, what: str, n: int, form: str, peer: str, least: float
) -> None:
    times = _times(races, n, form, peer)
    promise = f"{what} at {n:,} rows ({form}): at least {least:,}× as fast as {peer}"
    page.bar(
        promise,
        "" if times is None else f"{_short(times)}×",
        None if times is None else times >= least,
    )


def _entry_from_dict(given: dict[str, Any]) -> Entry:
    ratios = {name: given[name] and Ratio(**given[name]) for name in ("cpu_ratio", "wall_ratio")}
    return Entry(**{**given, **ratios})


# ------------------------------------------------------------------------------------------------------ memory


def _measured_peers(task: Task, n: int) -> list[str]:
    """Peers whose memory is measured: those that compute the number at that size."""
    peers = [c for c in task.contenders if c.is_peer and n <= c.most_rows]
    return [contender.name for contender in peers if "unchecked" not in contender.name]


def _memory_table(
    page: Page,
    task: Task,
    cases: Iterable[tuple[str, int, str]],
    races: Mapping[tuple[int, str], Race],
) -> int | None:
    """Peak memory beyond the inputs, a fresh process each; the largest of ours."""
    page.head("", "rows", "form", "memory beyond the inputs", title="Memory")
    ours = []
    for name, n, form in cases:
        if races[n, form][name].cpu is None:
            continue
        answer = child("cases.measures", "memory", task.name, name, str(n), form)
        if answer is not None:
            page.row(name, f"{n:,}", form, f"{answer['extra'] / MB:,.1f} MB")
            ours += [int(answer["extra"])] if name == "trueness" else []
    return max(ours, default=None)


def _peak_of(task: str, name: str, n: int, form: str) -> int:
    contender = TASKS[task].contender(name)
    # Load what the library loads at its first call: code is not what a call needs per row.
    contender.ready(*rows(_WARM_ROWS, form))()
    return peak_beyond(contender.ready(*rows(n, form)))


# -------------------------------------------------------------------------------------------------------- text


def _wall(call: Call) -> float:
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) * 1e-9


def _distance(value: float | None, reference: float | None) -> str:
    if not value or not reference or math.isnan(value):
        return "–"
    distance = abs(value / reference - 1)
    return (
        "0"
        if distance == 0
        else f"{distance:.0e}"
        if distance < 1e-4
        else f"{100 * distance:.2g} %"
    )


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{_short(seconds / unit)} {name}"
    return f"{_short(seconds / 1e-6)} µs"


def _ratio(found: Ratio | None) -> str:
    return (
        "–"
        if found is None
        else f"{_short(found.median)} ({_short(found.low)}–{_short(found.high)})"
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


if __name__ == "__main__":  # a fresh process, started by `child`
    from dataclasses import asdict

    warnings.simplefilter("ignore")
    what, *arguments = sys.argv[1:]
    if what == "memory":
        print(
            json.dumps(
                {"extra": _peak_of(arguments[0], arguments[1], int(arguments[2]), arguments[3])}
            )
        )
    else:
        names = ("trueness", SUMS, "relplot", "torchmetrics")
        pace = _QUICK if arguments[1] == "1" else Pace()
        found = _race_task(EQUAL_WIDTH, int(arguments[0]), USUAL, pace, names)
        print(json.dumps({name: asdict(entry) for name, entry in found.items()}))
