"""The outcome of one race: a row per contender, ratios to trueness."""

import gc
import statistics
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from contenders.contender import Call, Contender, Task

from harness.rounds import Pace, Ratio, Samples, race, ratio
from harness.rows import rows


@dataclass
class Row:
    """What one contender did; `remark` says why there are no numbers, or how it was asked."""

    name: str
    is_peer: bool
    remark: str = ""
    cpu: float | None = None
    wall: float | None = None
    cpu_ratio: Ratio | None = None
    wall_ratio: Ratio | None = None
    rounds: int = 0
    value: float | None = None
    extra: int | None = None


@dataclass
class Table:
    """One task at one size."""

    task: str
    title: str
    n: int
    form: str
    kernels: str
    rows: list[Row] = field(default_factory=list)

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows if row.name == name), None)

    @staticmethod
    def from_dict(given: dict[str, Any]) -> "Table":
        found = [Row(**row) for row in given.pop("rows")]
        for row in found:
            for name in ("cpu_ratio", "wall_ratio"):
                value = getattr(row, name)
                setattr(row, name, None if value is None else Ratio(**value))
        return Table(**given, rows=found)


def measured(
    task: Task,
    n: int,
    form: str,
    pace: Pace,
    *,
    only: Collection[str] | None = None,
    tick: Callable[[str], None] = lambda _: None,
) -> Table:
    """Race the contenders of a task on the same rows."""
    from trueness._kernels import implementation

    y, p = rows(n, form)
    table = Table(task.name, task.title, n, form, implementation())
    calls: dict[str, Call] = {}
    for contender in task.contenders:
        if only is None or contender.name in only:
            table.rows.append(Row(contender.name, contender.is_peer, contender.note))
            call = _call(contender, y, p, table.rows[-1])
            if call is not None:
                calls[contender.name] = call
    gc.freeze()  # what the libraries loaded is not worth traversing during anybody's turn
    found = race(calls, pace, tick)
    baseline = found[task.baseline.name]
    for row in table.rows:
        if row.name in found:
            _fill(row, found[row.name], baseline, task.contender(row.name), (y, p))
    return table


def _call(contender: Contender, y: Any, p: Any, row: Row) -> Call | None:
    if y.size > contender.most_rows:
        row.remark = f"left out above {contender.most_rows:,} rows: too slow or too large"
        return None
    try:
        return contender.ready(y, p)
    except ImportError as error:
        missing = contender.version() is None
        row.remark = f"not installed: pip install {contender.package}" if missing else f"does not import: {error}"
    return None


def _fill(row: Row, samples: Samples, baseline: Samples, contender: Contender, data: tuple[Any, Any]) -> None:
    if samples.error:
        row.remark = f"fails: {samples.error.splitlines()[0]}"
        return
    row.cpu, row.wall = (statistics.median(seconds.values()) for seconds in (samples.cpu, samples.wall))
    row.rounds, row.value = len(samples.cpu), contender.value(samples.result, *data)
    if not baseline.error:
        row.cpu_ratio = ratio(samples.cpu, baseline.cpu)
        row.wall_ratio = ratio(samples.wall, baseline.wall)
