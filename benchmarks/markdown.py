"""The outcome as a page of tables."""

import math
from collections.abc import Iterable, Iterator

from bars import MB, bars
from harness.rounds import Ratio
from harness.table import Row, Table
from outcome import Outcome

_INTRODUCTION = """\
Times are medians per call. A ratio is that contender's time over trueness's, taken within each round of an
interleaved run (every contender once, in shuffled order): median, and quartiles in brackets; above 1 trueness is
faster. CPU time counts all threads, and the promises are about it. Memory is the peak beyond the inputs, in a
fresh process per number. *Value* is what the contender returned, *off by* its relative distance from trueness's."""


def page(outcome: Outcome) -> str:
    return "\n".join(_lines(outcome)).rstrip() + "\n"


def _lines(outcome: Outcome) -> Iterator[str]:
    yield from ["# Benchmarks", ""]
    if outcome.quick:
        yield from ["A quick run: fewer rounds and smaller sizes, so the promises are only indicated.", ""]
    yield from [f"- {name}: {text}" for name, text in outcome.machine.items()]
    yield from [f"- note: {note}" for note in outcome.notes]
    yield from [f"- run: {outcome.seconds:.0f} s", "", "## Bars", ""]
    yield from _grid(["promise", "found", ""], ([b.promise, b.found, b.verdict] for b in bars(outcome)))
    yield from ["", "## How to read the tables", "", _INTRODUCTION, ""]
    title = ""
    for table in outcome.tables:
        if table.title != title:
            title = table.title
            yield from [f"## {title}", ""]
        yield from _race(table)
    if outcome.fallback:
        yield from ["## NumPy kernels (where no C compiler was at hand)", "", *_race(outcome.fallback)]
    yield from ["## Start", "", "CPU time of the statement in a fresh process, the start of Python not counted.", ""]
    yield from _grid(
        ["statement", "CPU", "to `import numpy`", "rounds"],
        ([f"`{s.name}`", _time(s.cpu), _ratio(s.to_numpy), str(s.rounds)] for s in outcome.startup),
    )
    if outcome.ten_rows is not None:
        found = outcome.ten_rows
        yield from [
            "",
            f"`trueness.ece` on 10 rows: {_time(found.median)} a call (median wall time; in the quietest block "
            f"{_time(found.quietest)}), `p.sum() + y.sum()` in turn with it: {_time(found.yardstick)}.",
        ]


def _race(table: Table) -> Iterator[str]:
    yield from [f"### {table.n:,} rows, {table.form}", ""]
    value = table.rows[0].value
    yield from _grid(
        ["", "CPU", "ratio", "wall", "wall ratio", "memory", "value", "off by", "rounds", "remark"],
        (_cells(row, value) for row in table.rows),
    )
    yield ""


def _cells(row: Row, value: float | None) -> list[str]:
    if row.cpu is None:
        return [row.name, *["–"] * 8, row.remark]
    return [
        row.name,
        _time(row.cpu),
        _ratio(row.cpu_ratio),
        _time(row.wall),
        "–" if row.wall_ratio is None else _short(row.wall_ratio.median),
        "–" if row.extra is None else f"{row.extra / MB:,.1f} MB",
        "–" if row.value is None or math.isnan(row.value) else f"{row.value:.9g}",
        _distance(row.value, value),
        str(row.rounds),
        row.remark,
    ]


def _distance(value: float | None, reference: float | None) -> str:
    if not value or not reference or math.isnan(value):
        return "–"
    distance = abs(value / reference - 1)
    return "0" if distance == 0 else f"{distance:.0e}" if distance < 1e-4 else f"{100 * distance:.2g} %"


def _grid(header: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'|'.join('---' for _ in header)}|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{_short(seconds / unit)} {name}"
    return f"{_short(seconds / 1e-6)} µs"


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "–"
    return f"{_short(ratio.median)} ({_short(ratio.low)}–{_short(ratio.high)})"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
