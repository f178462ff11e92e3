"""`GridCells`: the sums of the rows in each cell of a fixed grid."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._input.sample import Sample
from trueness._kernels.fixed import parts, square_parts
from trueness._kernels.grid import GRID_CELLS, cell_of, grid_edges
from trueness._kernels.reference import faults, weight_faults
from trueness._tally.bins import MOST_EXACT, Bins, fits
from trueness._tally.cells import MOST_WHOLE, Cells, Totals
from trueness._tally.row_sums import _ready, _whole
from trueness._tally.rules import Groups
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

__all__ = ["LAST_CELL", "MOST_IN_A_CELL", "GridCells", "GridSums", "grid_of_rows", "refuse_full_cells"]

_HIGH_UNIT, _LOW_UNIT = 2.0**-26, 2.0**-53

MOST_IN_A_CELL = MOST_EXACT
"""Rows of one cell and label whose scores, in units of 2⁻²⁶, still add up within 64 bits."""


class GridCells:
    """The sums of the rows in each cell that has any; see :mod:`trueness._kernels.grid` for the cells.

    Parameters
    ----------
    cell : int64 array of shape (m,)
        Numbers of the cells, ascending.
    count : int64 array of shape (m,)
        Rows of positive weight.
    ends : array of shape (m, 2)
        Their least and their greatest score.
    table : int64 array of shape (m, 2, 5), or None if weights are not whole numbers
        Exact sums [cell, label, (Σw, Σhi, Σlo, Σhi², Σlo²)], as in `Bins`.
    floats : array of shape (m, 2, 3), in the place of `table`
        [cell, label, (Σw, Σwp, Σwp²)].
    squares : array of shape (m, 2), optional
        Σw² by label; without weights it is Σw.
    """

    __slots__ = ("cell", "count", "ends", "floats", "squares", "table")

    def __init__(
        self,
        cell: Ints,
        count: Ints,
        ends: Floats,
        table: Ints | None,
        floats: Floats | None = None,
        squares: Floats | None = None,
    ) -> None:
        self.cell = cell
        self.count = count
        self.ends = ends
        self.table = table
        self.floats = floats
        self.squares = squares

    @classmethod
    def empty(cls) -> "GridCells":
        """No rows: the zero of addition."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, np.zeros((0, 2)), np.zeros((0, 2, 5), dtype=np.int64))

    @classmethod
    def of_table(cls, table: Ints, ends: Floats) -> "GridCells":
        """From the exact sums and the ends of every cell of the grid, without weights."""
        count = table[:, :, 0].sum(axis=1)
        cell = np.flatnonzero(count)
        return cls(cell, count[cell], ends[cell], table[cell])

    @property
    def size(self) -> int:
        """Number of cells that have rows."""
        return self.cell.size

    @property
    def exact(self) -> bool:
        """Whether every weight is a whole number, so that sums are integers."""
        return self.table is not None

    @property
    def low(self) -> Floats:
        """The least score of the rows of each cell."""
        return self.ends[:, 0]

    @property
    def high(self) -> Floats:
        """The greatest score of the rows of each cell."""
        return self.ends[:, 1]

    @property
    def by_label(self) -> Numbers:
        """Σw of each label, of shape (m, 2)."""
        if self.table is None:
            assert self.floats is not None
            return self.floats[:, :, 0]
        return self.table[:, :, 0]

    @property
    def scores_by_label(self) -> Floats:
        """Σwp of each label, of shape (m, 2); without weights, each score is cut to a multiple of 2⁻⁵³."""
        if self.table is None:
            assert self.floats is not None
            return self.floats[:, :, 1]
        return np.asarray(self.table[:, :, 1] * _HIGH_UNIT + self.table[:, :, 2] * _LOW_UNIT)

    @property
    def squares_by_label(self) -> Floats:
        """Σwp² of each label, of shape (m, 2)."""
        if self.table is None:
            assert self.floats is not None
            return self.floats[:, :, 2]
        return np.asarray(self.table[:, :, 3] * _HIGH_UNIT + self.table[:, :, 4] * _LOW_UNIT)

    @property
    def weight(self) -> Numbers:
        """Σw."""
        return np.asarray(self.by_label.sum(axis=1))

    @property
    def events(self) -> Numbers:
        """Σwy."""
        return self.by_label[:, 1]

    @property
    def sum_score(self) -> Floats:
        """Σwp."""
        if self.table is None or not fits(self.weight):
            return np.asarray(self.scores_by_label.sum(axis=1))
        both = self.table.sum(axis=1)
        return np.asarray(both[:, 1] * _HIGH_UNIT + both[:, 2] * _LOW_UNIT)

    @property
    def sum_square(self) -> Floats:
        """Σwp²."""
        if self.table is None or not fits(self.weight):
            return np.asarray(self.squares_by_label.sum(axis=1))
        both = self.table.sum(axis=1)
        return np.asarray(both[:, 3] * _HIGH_UNIT + both[:, 4] * _LOW_UNIT)

    @property
    def score(self) -> Floats:
        """Mean score, kept between the ends where rounding would leave them."""
        return np.clip(self.sum_score / self.weight, self.low, self.high)

    @property
    def totals(self) -> Totals:
        """Rows, Σw and Σwy over all cells."""
        return Totals(int(self.count.sum()), self.weight.sum().item(), self.events.sum().item())

    def as_cells(self) -> Cells:
        """Every row of a cell at the mean score of the cell."""
        # Made anew: neighbours in memory make the kernels faster, and some of them demand it.
        weight, events = self.weight.copy(), self.events.copy()
        if self.squares is None:
            extra: tuple[Floats, ...] = ()
        else:
            extra = (self.squares.sum(axis=1), np.ascontiguousarray(self.squares[:, 1]))
        return Cells(self.score, self.count, weight, events, *extra)

    def as_bins(self, groups: Groups) -> Bins:
        """Add up the cells of each bin: the sums of whole cells, exactly unless a bin has too many rows for that."""
        if self.table is not None and fits(_sums(self.weight, groups)):
            return Bins(groups.edges, _sums(self.table, groups), None, _sums(self.count, groups), moments=True)
        w, p, p2 = self.by_label, self.scores_by_label, self.squares_by_label
        squares = self.by_label if self.squares is None else self.squares
        columns = (w.sum(axis=1), squares.sum(axis=1), w[:, 1], p.sum(axis=1), p2.sum(axis=1), p[:, 1])
        floats = _sums(np.column_stack(columns).astype(np.float64), groups)
        return Bins(groups.edges, None, floats, _sums(self.count, groups), moments=True, whole=self.exact)

    def __add__(self, other: "GridCells") -> "GridCells":
        if self.exact != other.exact:
            return self._as_floats() + other._as_floats()
        cell = np.union1d(self.cell, other.cell)
        here, there = np.searchsorted(cell, self.cell), np.searchsorted(cell, other.cell)

        def added(a: NDArray[Any], b: NDArray[Any]) -> Any:
            out = np.zeros((cell.size, *a.shape[1:]), dtype=a.dtype)
            out[here] = a
            out[there] += b
            return out

        count, ends = added(self.count, other.count), np.tile([np.inf, -np.inf], (cell.size, 1))
        for at, part in ((here, self), (there, other)):
            ends[at, 0] = np.minimum(ends[at, 0], part.low)
            ends[at, 1] = np.maximum(ends[at, 1], part.high)
        squares = None
        if self.squares is not None or other.squares is not None:
            squares = added(
                *(part.by_label.astype(np.float64) if s is None else s for part, s in _squares(self, other))
            )
        if self.table is None or other.table is None:
            assert self.floats is not None
            assert other.floats is not None
            return GridCells(cell, count, ends, None, added(self.floats, other.floats), squares)
        table = added(self.table, other.table)
        refuse_full_cells(table[:, :, 0])
        return GridCells(cell, count, ends, table, None, squares).settled()

    def settled(self) -> "GridCells":
        """The form that one pass over the rows has: floats, where whole weights sum to too much."""
        within = self.squares is None or self.table is None or self.weight.sum() < MOST_WHOLE
        return self if within else self._as_floats()

    def _as_floats(self) -> "GridCells":
        if self.table is None:
            return self
        floats = np.stack([self.by_label.astype(np.float64), self.scores_by_label, self.squares_by_label], axis=2)
        squares = self.by_label.astype(np.float64) if self.squares is None else self.squares
        return GridCells(self.cell, self.count, self.ends, None, floats, squares)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridCells):
            return NotImplemented
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__slots__)
        return all((a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays can change


def refuse_full_cells(rows: Ints) -> None:
    """Raise if a sum of scores may have passed 64 bits."""
    if rows.size and int(rows.max()) > MOST_IN_A_CELL:
        raise InputError(
            f"A sketch holds at most {MOST_IN_A_CELL:,} rows of one cell and label; these have {int(rows.max()):,}. "
            "Keep sketches of fewer rows, and add what is measured of them."
        )


def _squares(*parts: GridCells) -> Any:
    return [(part, part.squares) for part in parts]


def _sums(values: NDArray[Any], groups: Groups) -> Any:
    """Sums of the rows of `values` from start[b] up to start[b + 1]; empty bins are 0."""
    start = groups.start
    out = np.zeros((start.size - 1, *values.shape[1:]), dtype=values.dtype)
    filled = start[1:] > start[:-1]
    if filled.any():
        out[filled] = np.add.reduceat(values, start[:-1][filled], axis=0)
    return out


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
