"""Bins whose edges depend on the scores, or are too many to compare with: two group-bys, no sort.

The first group-by sums the cells of a fine grid. Cells that no cut falls into are done; of the others the second
group-by returns the distinct scores. Cells and scores in order are then the pieces that bins are put together from.
"""

import numpy as np

from trueness._tally.bins import Bins
from trueness._tally.cells import Cells
from trueness._tally.rules import Edges, EqualMass, EqualWidth, Groups, midpoints, refuse_uncovered
from trueness.sources._cells import UNWEIGHED
from trueness.sources._gather import Columns, bins_of
from trueness.typing import Floats, Ints

__all__ = ["GRID", "Fine", "bins_of_pieces", "cells_with_cuts"]

GRID = EqualWidth(1 << 14)
"""The fine grid: a power of two, so that the cell of a score is exactly the floor of a product."""


class Fine:
    """The sums of the filled cells of the grid, and the smallest score of each."""

    def __init__(self, numbers: Columns) -> None:
        found = bins_of(numbers, GRID)
        assert found.table is not None
        self.cell = np.flatnonzero(found.count)
        self.table = found.table[self.cell]
        self.count = found.count[self.cell]
        least = np.full(GRID.n, np.inf)
        good = numbers["cell"] > UNWEIGHED // 2
        np.minimum.at(least, np.minimum(numbers["cell"][good] >> 1, GRID.n - 1), numbers["least"][good])
        self.least = least[self.cell] + 0.0


def cells_with_cuts(fine: Fine, rule: EqualMass | Edges) -> Ints:
    """The cells of the grid whose scores must be told apart."""
    if isinstance(rule, EqualMass):
        ranks = rule.ranks(int(fine.count.sum()))
        return np.asarray(fine.cell[np.unique(np.searchsorted(np.cumsum(fine.count), ranks, side="left"))])
    scaled = rule.edges * GRID.n
    # An edge on the border of two cells cuts neither; but the last one is closed.
    inside = (scaled != np.floor(scaled)) | ((np.arange(scaled.size) == scaled.size - 1) & (scaled < GRID.n))
    return np.intersect1d(np.floor(scaled[inside]).astype(np.int64), fine.cell)


def bins_of_pieces(fine: Fine, cells: Cells, rule: EqualMass | Edges) -> Bins:
    """Put the bins together; `cells` holds at least the distinct scores of the cells with cuts."""
    cut = cells_with_cuts(fine, rule)
    whole = ~np.isin(fine.cell, cut)
    told = np.isin(np.minimum(np.floor(cells.score * GRID.n).astype(np.int64), GRID.n - 1), cut)
    each = Bins.from_cells(cells, Groups(np.zeros(cells.size + 1), np.arange(cells.size + 1))).table
    assert each is not None
    first = np.concatenate([fine.least[whole], cells.score[told]])
    order = np.argsort(first)
    first, table = first[order], np.concatenate([fine.table[whole], each[told]])[order]
    if isinstance(rule, EqualMass):
        start = rule.first_cells(np.cumsum(table[:, :, 0].sum(axis=1)))
        edges = np.concatenate([[0.0], midpoints(first[start[1:] - 1], first[start[1:]]), [1.0]])
        return Bins(edges, np.add.reduceat(table, start, axis=0), moments=True)
    return _between(rule.edges, first, table)


def _between(edges: Floats, first: Floats, table: Ints) -> Bins:
    for score in first[:1][first[:1] < edges[0]], first[-1:][first[-1:] > edges[-1]]:
        if score.size:
            refuse_uncovered(edges, float(score[0]))
    place = np.minimum(np.searchsorted(edges, first, side="right") - 1, edges.size - 2)
    found = np.zeros((edges.size - 1, 2, 5), dtype=np.int64)
    np.add.at(found, place, table)
    return Bins(edges, found, moments=True)
