"""What the page needs to show other bins: sums per fine cell, of which every offered bin is a run."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from trueness._numerics.proportions import clopper_pearson
from trueness._report.records import Explorer
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule, EqualMass, EqualWidth, Groups
from trueness.measure._bin_table import effective_counts
from trueness.typing import Floats, Ints

__all__ = ["OFFERED", "explorer", "offered"]

_BARS = 50
_RARE = 0.001
_CLOSE = 0.5
OFFERED = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 40, 50)
_MOST = 100


def offered(rule: BinRule) -> tuple[int, ...]:
    """The numbers of bins that the page offers: a fixed list, and the one that was asked for."""
    asked = {rule.n} if isinstance(rule, EqualWidth | EqualMass) and rule.n <= _MOST else set()
    return tuple(sorted({*OFFERED, *asked}))


def explorer(name: str, cells: Cells, rule: BinRule, level: float) -> Explorer:
    """Cut the cells wherever any offered rule does, and sum what lies between.

    A bin of any offered rule is then a run of fine cells, and its sums are sums of theirs: whole numbers, if weights
    are, so that the page computes what the library does.
    """
    rules: dict[str, dict[int, BinRule]] = {
        "width": {n: EqualWidth(n) for n in offered(rule)},
        "mass": {n: EqualMass(n) for n in offered(rule)},
    }
    groups: dict[str, dict[str, Groups]] = {
        kind: {str(n): one.group(cells) for n, one in by_number.items()} for kind, by_number in rules.items()
    }
    if not (isinstance(rule, EqualWidth | EqualMass) and rule.n in offered(rule)):
        found = rule.group(cells)
        groups["given"] = {str(found.start.size - 1): found}
    zoom = _zoom(cells, level)
    start = np.unique(np.concatenate([one.start for one in _each(groups)]))
    fine = Bins.from_cells(cells, Groups(start.astype(np.float64), start))
    table = fine.table
    both = None if table is None else table.sum(axis=1)
    return Explorer(
        name=name,
        n=_whole(fine.count),
        events=tuple(fine.events.tolist()),
        weight=tuple(fine.weight.tolist()),
        high=None if both is None else _whole(both[:, 1]),
        low=None if both is None else _whole(both[:, 2]),
        sum_score=tuple(fine.sum_score.tolist()) if both is None else None,
        rules={
            kind: {n: _bins_of(one, fine, start, level) for n, one in by_number.items()}
            for kind, by_number in groups.items()
        },
        rule="given" if "given" in groups else "mass" if isinstance(rule, EqualMass) else "width",
        bins=next(iter(groups["given"])) if "given" in groups else str(rule.asked),
        zoom=zoom,
        histogram=_histogram(cells, 1.0),
        near_histogram=_histogram(cells, zoom),
    )


def _zoom(cells: Cells, level: float) -> float:
    """A round number that nearly all scores, and the rates of ten bins of equal mass, stay below; else 1."""
    reached = np.cumsum(cells.weight) / cells.weight.sum()
    _, high = clopper_pearson(*effective_counts(Bins.from_cells(cells, EqualMass(10).group(cells))), level)
    most = max(float(cells.score[np.searchsorted(reached, 1 - _RARE)]), float(np.nanmax(high)))
    if most >= _CLOSE or most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(round(step * power, 12) for step in (1, 2, 5, 10) if step * power >= most)


def _histogram(cells: Cells, top: float) -> tuple[float, ...]:
    within = cells.score <= top
    found = np.histogram(cells.score[within], bins=_BARS, range=(0, top), weights=cells.weight[within])[0]
    return _short(found.astype(np.float64))


def _each(groups: dict[str, dict[str, Groups]]) -> Iterable[Groups]:
    return (one for by_number in groups.values() for one in by_number.values())


def _whole(values: Ints) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def _bins_of(groups: Groups, fine: Bins, start: Ints, level: float) -> dict[str, tuple[float, ...]]:
    """Where the bins of one rule begin among the fine cells, and the interval of each rate."""
    first = np.searchsorted(start, groups.start)
    low, high = clopper_pearson(*effective_counts(_merged(fine, first, groups.edges)), level)
    return {
        "start": tuple(first.tolist()),
        "edges": _short(groups.edges),
        "low": _short(low),
        "high": _short(high),
    }


def _merged(fine: Bins, first: Ints, edges: Floats) -> Bins:
    table = None if fine.table is None else _runs(fine.table, first)
    floats = None if fine.floats is None else _runs(fine.floats, first)
    return Bins(edges, table, floats, _runs(fine.count, first), moments=True, whole=fine.whole)


def _runs(sums: Any, first: Ints) -> Any:
    """Sums of runs that begin at `first` and end where the next begins; a run may be empty."""
    reached = np.concatenate([np.zeros_like(sums[:1]), np.cumsum(sums, axis=0)])
    return reached[first[1:]] - reached[first[:-1]]


def _short(values: Floats) -> tuple[float, ...]:
    """Six decimals are enough to draw with."""
    return tuple(np.round(values, 6).tolist())
