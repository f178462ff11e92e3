"""The pass over the rows of a sample into the cells of the grid."""

import numpy as np

from trueness import _kernels
from trueness._input.sample import Sample
from trueness._kernels.fixed import parts, square_parts
from trueness._kernels.grid import GRID_CELLS, cell_of, grid_edges
from trueness._kernels.reference import faults, weight_faults
from trueness._tally.cells import MOST_WHOLE
from trueness._tally.grid_cells import GridCells, refuse_full_cells
from trueness._tally.rows import _ready, _whole
from trueness.typing import Floats, Ints

__all__ = ["LAST_CELL", "GridSums", "grid_of_rows"]

LAST_CELL = GRID_CELLS - 1
"""The cell of the score 1."""

_CHUNK = 1 << 16


def grid_of_rows(sample: Sample) -> GridCells:
    """Sum the rows of each cell, in one pass without sorting."""
    if sample.w is not None:
        return _weighted(sample, sample.w)
    sums = GridSums()
    sums.add(sample)
    return sums.cells


class GridSums:
    """Sums of cells that grow by pieces of rows without weights."""

    def __init__(self) -> None:
        self._table: Ints = np.zeros((GRID_CELLS, 2, 5), dtype=np.int64)
        self._ends = _no_ends()

    def add(self, sample: Sample) -> None:
        """Add rows; an error says what is wrong with them, after which the sums are of no use."""
        status = 0
        for p, y in _ready(sample.p, sample.y):
            status |= _kernels.sketch_sums(p, y, self._table, self._ends)
        if status:
            sample.explain()

    @property
    def cells(self) -> GridCells:
        """The cells that have rows."""
        refuse_full_cells(self._table[:, :, 0])
        return GridCells.of_table(self._table, self._ends)


def _no_ends() -> Floats:
    return np.tile([np.inf, -np.inf], (GRID_CELLS, 1))


def _weighted(sample: Sample, w: Floats) -> GridCells:
    status = weight_faults(w)
    for p, y in _ready(sample.p, sample.y):
        status |= faults(p, y)
    if status:
        sample.explain()
    whole = _whole(w) and float(w.sum()) < MOST_WHOLE
    count, ends, squares = np.zeros(GRID_CELLS, dtype=np.int64), _no_ends(), np.zeros((GRID_CELLS, 2))
    table: Ints = np.zeros((GRID_CELLS, 2, 5), dtype=np.int64)
    floats = np.zeros((2, GRID_CELLS, 7, 2))
    for i in range(0, w.size, _CHUNK):
        kept = np.flatnonzero(w[i : i + _CHUNK] > 0) + i
        p, y, weight = np.add(sample.p[kept], 0.0, dtype=np.float64), sample.y[kept].astype(np.int64), w[kept]
        cell = cell_of(p)
        count += np.bincount(cell, minlength=GRID_CELLS)
        np.minimum.at(ends[:, 0], cell, p)
        np.maximum.at(ends[:, 1], cell, p)
        if whole:
            np.add.at(squares, (cell, y), weight * weight)
            _add_whole(table, cell, y, p, weight.astype(np.int64))
        else:
            _add_floats(floats, p, y, weight)
    cell = np.flatnonzero(count)
    if whole:
        return GridCells(cell, count[cell], ends[cell], table[cell], None, squares[cell])
    by_cell = np.moveaxis(floats.sum(axis=3), 0, 1)[cell]  # rows, Σw, Σw², Σwy, Σwp, Σwp², Σwyp of each label
    sums, squares = by_cell[:, :, [1, 4, 5]], by_cell[:, :, 2]
    return GridCells(cell, count[cell], ends[cell], None, np.ascontiguousarray(sums), np.ascontiguousarray(squares))


def _add_whole(table: Ints, cell: Ints, label: Ints, p: Floats, w: Ints) -> None:
    for column, part in enumerate([np.ones(p.size), *parts(p), *square_parts(p)]):
        np.add.at(table[:, :, column], (cell, label), part.astype(np.int64) * w)


def _add_floats(sums: Floats, p: Floats, y: Ints, w: Floats) -> None:
    for label in (0, 1):
        of = y == label
        none = np.zeros(int(of.sum()), dtype=np.uint8)
        _kernels.weighted_bin_sums(p[of], none, w[of], grid_edges(), sums[label], uniform=False)
