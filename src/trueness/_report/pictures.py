"""The data of the pictures: isotonic blocks with their tests, and sums for the bins that the page offers."""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from trueness._numerics.proportions import clopper_pearson
from trueness._report.records import Blocks, Explorer
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.rules import BinRule, BlockIsotonic, EqualMass, EqualWidth, Groups
from trueness.measure._bin_table import effective_counts
from trueness.measure._tce import rejections
from trueness.typing import Floats, Ints, Numbers

OFFERED = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 40, 50)
_MOST_OFFERED = 100
_QUARTILES = (0.25, 0.5, 0.75)
_BARS = 50
_RARE = 0.001
_ZOOM_BELOW = 0.5


def isotonic_blocks(cells: Cells, alpha: float) -> Blocks:
    """The blocks of the test-based diagram; the shares rejected, averaged over rows, are the TCE."""
    rule = BlockIsotonic()
    groups = rule.group(cells)
    start, weight = groups.start, cells.weight
    rejected = rejections(cells, start[:-1], alpha, "binomial")
    n = np.add.reduceat(weight, start[:-1])
    quartiles = np.array([_quartiles(cells, a, b) for a, b in pairwise(start)])
    return Blocks(
        low_edge=_floats(groups.edges[:-1]),
        high_edge=_floats(groups.edges[1:]),
        n=_ints(n),
        rate=_floats(np.add.reduceat(cells.events, start[:-1]) / n),
        score_min=_floats(cells.score[start[:-1]]),
        score_q1=_floats(quartiles[:, 0]),
        score_median=_floats(quartiles[:, 1]),
        score_q3=_floats(quartiles[:, 2]),
        score_max=_floats(cells.score[start[1:] - 1]),
        refuted=_floats(np.add.reduceat(np.where(rejected, weight, 0), start[:-1]) / n),
        alpha=alpha,
        rule=repr(rule),
    )


def _quartiles(cells: Cells, first: int, end: int) -> Floats:
    """The smallest score that a quarter, half and three quarters of the rows do not exceed."""
    reached: Ints = np.cumsum(cells.weight[first:end])
    at = np.searchsorted(reached, np.array(_QUARTILES) * reached[-1], side="left")
    return np.asarray(cells.score[first:end][at])


def offered(rule: BinRule) -> tuple[int, ...]:
    """The numbers of bins that the page offers: a fixed list, and the one asked for."""
    asked = {rule.n} if isinstance(rule, EqualWidth | EqualMass) and rule.n <= _MOST_OFFERED else set()
    return tuple(sorted({*OFFERED, *asked}))


def explorer(name: str, sums: Cells | Bins, rule: BinRule, level: float) -> Explorer:
    """Cut the cells wherever any offered rule does, and sum what lies between; sums of bins have these bins only.

    A bin of any offered rule is then a run of fine cells, and its sums are sums of theirs: whole numbers if the
    weights are, so that the page computes exactly what the library does.
    """
    if isinstance(sums, Bins):
        bins = sums.coarsen(rule)
        start = np.arange(bins.size + 1)
        kind = "width" if isinstance(rule, EqualWidth) and rule.n in offered(rule) else "given"
        return _explorer(name, bins, start, {kind: {str(bins.size): Groups(bins.edges, start)}}, kind, level)
    kinds: dict[str, Any] = {"width": EqualWidth, "mass": EqualMass}
    groups = {kind: {str(n): of(n).group(sums) for n in offered(rule)} for kind, of in kinds.items()}
    asked = "mass" if isinstance(rule, EqualMass) else "width"
    if not (isinstance(rule, EqualWidth | EqualMass) and rule.n in offered(rule)):
        found, asked = rule.group(sums), "given"
        groups["given"] = {str(found.start.size - 1): found}
    start = np.unique(np.concatenate([one.start for by_number in groups.values() for one in by_number.values()]))
    fine = Bins.from_cells(sums, Groups(start.astype(np.float64), start))
    bins_asked = str(rule.n_requested) if asked != "given" else None
    return _explorer(name, fine, start, groups, asked, level, bins_asked, sums)


def _explorer(
    name: str,
    fine: Bins,
    start: Ints,
    groups: dict[str, dict[str, Groups]],
    rule: str,
    level: float,
    bins: str | None = None,
    cells: Cells | None = None,
) -> Explorer:
    both = None if fine.table is None else fine.table.sum(axis=1)
    tenths = fine if cells is None else Bins.from_cells(cells, EqualMass(10).group(cells))
    zoom = _zoom(fine if cells is None else cells, tenths, level)
    return Explorer(
        name=name,
        n=_ints(fine.count),
        events=_floats(fine.events),
        weight=_floats(fine.weight),
        high=None if both is None else _ints(both[:, 1]),
        low=None if both is None else _ints(both[:, 2]),
        sum_score=_floats(fine.sum_score) if both is None else None,
        rules={
            kind: {n: _bins_of(one, fine, start, level) for n, one in by_number.items()}
            for kind, by_number in groups.items()
        },
        rule=rule,
        bins=bins or next(iter(groups[rule])),
        zoom=zoom,
        histogram=_histogram(cells or fine, 1.0),
        near_histogram=_histogram(cells or fine, zoom),
    )


def _zoom(sums: Cells | Bins, bins: Bins, level: float) -> float:
    """A round number above nearly all scores and the intervals of the bins' rates, if it is small; else 1."""
    reached = np.cumsum(sums.weight) / sums.weight.sum()
    _, high = clopper_pearson(*effective_counts(bins), level)
    most = max(float(sums.score[np.searchsorted(reached, 1 - _RARE)]), float(np.nanmax(high)))
    if most >= _ZOOM_BELOW or most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(round(step * power, 12) for step in (1, 2, 5, 10) if step * power >= most)


def _histogram(sums: Cells | Bins, top: float) -> tuple[float, ...]:
    """Weight per bar; that of a bin is spread evenly over its width."""
    if isinstance(sums, Bins):
        reached = np.concatenate([[0.0], np.cumsum(sums.weight, dtype=np.float64)])
        return _rounded(np.diff(np.interp(np.linspace(0, top, _BARS + 1), sums.edges, reached)))
    within = sums.score <= top
    found = np.histogram(sums.score[within], bins=_BARS, range=(0, top), weights=sums.weight[within])[0]
    return _rounded(found.astype(np.float64))


def _bins_of(groups: Groups, fine: Bins, start: Ints, level: float) -> dict[str, tuple[float, ...]]:
    """Where the bins of one rule begin among the fine cells, and the interval of each rate."""
    first = np.searchsorted(start, groups.start)
    low, high = clopper_pearson(*effective_counts(_merged(fine, first, groups.edges)), level)
    return {"start": _ints(first), "edges": _rounded(groups.edges), "low": _rounded(low), "high": _rounded(high)}


def _merged(fine: Bins, first: Ints, edges: Floats) -> Bins:
    table = None if fine.table is None else _runs(fine.table, first)
    floats = None if fine.floats is None else _runs(fine.floats, first)
    return Bins(edges, table, floats, _runs(fine.count, first), moments=True, whole=fine.whole)


def _runs(sums: Any, first: Ints) -> Any:
    """Sums of runs that begin at `first` and end where the next begins; a run may be empty."""
    reached = np.concatenate([np.zeros_like(sums[:1]), np.cumsum(sums, axis=0)])
    return reached[first[1:]] - reached[first[:-1]]


def _ints(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def _floats(values: Numbers) -> tuple[float, ...]:
    return tuple(values.tolist())


def _rounded(values: Floats) -> tuple[float, ...]:
    """Six decimals are enough to draw with."""
    return tuple(np.round(values, 6).tolist())
