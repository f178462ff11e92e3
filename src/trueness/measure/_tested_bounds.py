"""Limits of the percentage of scores that a test refutes."""

import numpy as np

from trueness._tally.grid_cells import GridCells
from trueness._tally.rules import BinRule, EqualMass
from trueness.measure._bin_bounds import Ends, bins_between
from trueness.measure._cuts import Cuts, Spread, cells_cut, spread_of
from trueness.typing import Floats, Ints

__all__ = ["refuted"]


def refuted(part: GridCells, cuts: Cuts, rule: BinRule, alpha: float) -> Ends:
    """At least the cells that are refuted whatever the bin of their rows, at most all but those that surely are not."""
    from trueness._numerics.binomial_range import Box, surely_decided

    cells = spread_of(part)
    first, last = _bins_of_cells(part, cells, rule)
    number = last - first + 1
    start = np.cumsum(number) - number
    cell = np.repeat(np.arange(part.size), number)
    bin_ = np.arange(cell.size) + np.repeat(first - start, number)
    rows, events = bins_between(cuts.weight, floor=True), bins_between(cuts.events, floor=True)
    others = bins_between(cuts.others, floor=True)
    low, high = cells.ends.T
    k, o, n = ((_whole(r.low)[bin_], _whole(r.high)[bin_]) for r in (events, others, rows))
    rejects, accepts = surely_decided(Box(k, o, n, (low[cell], high[cell])), alpha)
    weight = np.asarray(part.weight, dtype=np.float64)
    surely = [float(weight[np.logical_and.reduceat(sure, start)].sum() / weight.sum()) for sure in (rejects, accepts)]
    return Ends(100 * surely[0], 100 * (1 - surely[1]))


def _bins_of_cells(part: GridCells, cells: Spread, rule: BinRule) -> tuple[Ints, Ints]:
    """The first and the last bin that rows of each cell can lie in."""
    if isinstance(rule, EqualMass):
        at, rows = cells_cut(part, rule)
        # A cut that may take all of its cell may leave nothing of it to the bin above; one that must, does.
        passed = np.searchsorted(at, np.arange(part.size), side="left")
        within = np.bincount(at[(rows < np.asarray(part.weight)[at]) & ~cells.tied[at]], minlength=part.size)
        return passed, passed + within
    edges = rule.fixed_edges
    assert edges is not None
    return _place(edges, part.low), _place(edges, part.high)


def _place(edges: Floats, score: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, score, side="right") - 1, 0, edges.size - 2)


def _whole(values: Floats) -> Ints:
    return np.rint(values).astype(np.int64)
