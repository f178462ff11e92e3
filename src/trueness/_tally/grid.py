"""`GridCells`: sums of the rows in each cell of a fixed grid, and the pass that makes them."""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._input.sample import Sample
from trueness._kernels.fixed import fixed_value, parts, square_parts
from trueness._kernels.grid import GRID_CELLS, cell_of, grid_edges
from trueness._kernels.reference import faults, weight_faults
from trueness._tally.bins import MOST_EXACT, Bins, fits, sums_from
from trueness._tally.cells import MOST_WHOLE, Cells, Totals, check_row_total, same
from trueness._tally.row_sums import count_rows, sum_rows
from trueness._tally.rules import Groups
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

LAST_CELL = GRID_CELLS - 1  # the cell of the score 1

_CHUNK = 1 << 16


class GridCells:
    """The sums of the rows in each cell that has any.

    See :mod:`trueness._kernels.grid` for the cells.

    `cell` holds the numbers of the m cells, ascending, `count` the rows of positive weight, `ends`
    the least and the greatest score, of shape (m, 2). The sums are a `table` as that of `Bins`, of
    shape (m, 2, 5), or `floats` of shape (m, 2, 3), by cell and label Σw, Σwp and Σwp². `squares`,
    of shape (m, 2), is Σw² by label; without it, Σw is.
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
        """No rows: adding them changes nothing."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, np.zeros((0, 2)), np.zeros((0, 2, 5), dtype=np.int64))

    @property
    def size(self) -> int:
        return self.cell.size

    @property
    def whole(self) -> bool:
        """As of :class:`~trueness._tally.cells.Cells`."""
        return self.table is not None

    @property
    def by_label(self) -> Numbers:
        """Σw of each label, of shape (m, 2)."""
        sums = self.floats if self.table is None else self.table
        assert sums is not None
        return sums[:, :, 0]

    @property
    def scores_by_label(self) -> Floats:
        """Σwp of each label, of shape (m, 2).

        Without weights, each score is cut to a multiple of 2⁻⁵³.
        """
        return self._by_label(1)

    @property
    def squares_by_label(self) -> Floats:
        """Σwp² of each label, of shape (m, 2)."""
        return self._by_label(2)

    def _by_label(self, power: int) -> Floats:
        if self.table is not None:
            return fixed_value(self.table[:, :, 2 * power - 1], self.table[:, :, 2 * power])
        assert self.floats is not None
        return self.floats[:, :, power]

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
        totals = self.table.sum(axis=1)
        return fixed_value(totals[:, 1], totals[:, 2])

    @property
    def _weight_squares(self) -> Floats:
        """Σw² by label."""
        if self.squares is None:
            return self.by_label.astype(np.float64)
        return self.squares

    @property
    def score(self) -> Floats:
        """Mean score, clipped to the ends of the cell."""
        return np.clip(self.sum_score / self.weight, *self.ends.T)

    @property
    def totals(self) -> Totals:
        """Rows, Σw and Σwy over all cells."""
        return Totals(int(self.count.sum()), self.weight.sum().item(), self.events.sum().item())

    def at_means(self) -> Cells:
        """Cells of a tally: every row at the mean score of its cell."""
        # Copies: neighbours in memory make the kernels faster, and some of them demand it.
        weight = self.weight.copy()
        events = self.events.copy()
        if self.squares is None:
            return Cells(self.score, self.count, weight, events)
        squares = self.squares.sum(axis=1)
        event_squares = np.ascontiguousarray(self.squares[:, 1])
        return Cells(self.score, self.count, weight, events, squares, event_squares)

    def as_bins(self, groups: Groups) -> Bins:
        """The sums of whole cells in each bin; exact unless a bin has too many rows for that."""
        edges, start = groups
        count = sums_from(start, self.count)
        if self.table is not None and fits(sums_from(start, self.weight)):
            return Bins(edges, sums_from(start, self.table), None, count, moments=True)
        w = self.by_label
        p = self.scores_by_label
        p2 = self.squares_by_label
        w2 = self._weight_squares
        columns = (w.sum(axis=1), w2.sum(axis=1), w[:, 1], p.sum(axis=1), p2.sum(axis=1), p[:, 1])
        floats = sums_from(start, np.column_stack(columns).astype(np.float64))
        return Bins(edges, None, floats, count, moments=True, whole=self.whole)

    def __add__(self, other: "GridCells") -> "GridCells":
        """The sums of both by cell, ascending; integers as long as both have them.

        An error if the rows, or the weights of a cell, are too many to be exact.
        """
        if self.whole != other.whole:
            return self._as_floats() + other._as_floats()
        cell = np.union1d(self.cell, other.cell)
        here = np.searchsorted(cell, self.cell)
        there = np.searchsorted(cell, other.cell)

        def added(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
            out = np.zeros((cell.size, *a.shape[1:]), dtype=a.dtype)
            out[here] = a
            out[there] += b
            return out

        count = check_row_total(added(self.count, other.count))
        ends = _no_ends(cell.size)
        for place, part in ((here, self), (there, other)):
            ends[place, 0] = np.minimum(ends[place, 0], part.ends[:, 0])
            ends[place, 1] = np.maximum(ends[place, 1], part.ends[:, 1])
        weighted = self.squares is not None or other.squares is not None
        squares = added(self._weight_squares, other._weight_squares) if weighted else None
        if self.floats is not None and other.floats is not None:
            return GridCells(cell, count, ends, None, added(self.floats, other.floats), squares)
        assert self.table is not None and other.table is not None
        table = added(self.table, other.table)
        refuse_full_cells(table[:, :, 0])
        return GridCells(cell, count, ends, table, None, squares).settled()

    @classmethod
    def pooled(cls, parts: Sequence["GridCells"]) -> "GridCells":
        """The sum of many, as adding one after the other gives it."""
        if any(part.table is None or part.squares is not None for part in parts):
            total: GridCells = reduce(add, parts)
            return total
        every = np.concatenate([part.cell for part in parts])
        if every.size == 0:
            return cls.empty()
        order = np.argsort(every, kind="stable")
        cell = every[order]
        first = np.flatnonzero(np.diff(cell, prepend=-1))

        def sums(name: str) -> NDArray[Any]:
            values = np.concatenate([getattr(part, name) for part in parts])
            return np.add.reduceat(values[order], first, axis=0)

        ends = np.concatenate([part.ends for part in parts])[order]
        extremes = [np.minimum.reduceat(ends[:, 0], first), np.maximum.reduceat(ends[:, 1], first)]
        count = check_row_total(sums("count"))
        table = sums("table")
        refuse_full_cells(table[:, :, 0])
        return cls(cell[first], count, np.column_stack(extremes), table, None, None)

    def settled(self) -> "GridCells":
        """The same sums as one pass over the rows has them.

        They are floats where whole weights sum to too much.
        """
        within = self.squares is None or self.table is None or self.weight.sum() < MOST_WHOLE
        if within:
            return self
        return self._as_floats()

    def _as_floats(self) -> "GridCells":
        if self.table is None:
            return self
        floats = np.stack(
            [self.by_label.astype(np.float64), self.scores_by_label, self.squares_by_label], axis=2
        )
        return GridCells(self.cell, self.count, self.ends, None, floats, self._weight_squares)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridCells):
            return NotImplemented
        return all(same(getattr(self, name), getattr(other, name)) for name in self.__slots__)


def refuse_full_cells(rows: Ints) -> None:
    if rows.size and int(rows.max()) > MOST_EXACT:
        demand = f"A sketch holds at most {MOST_EXACT:,} rows of one cell and label"
        remedy = "Keep sketches of fewer rows, and combine their measures."
        raise InputError("", demand, f"these have {int(rows.max()):,}", remedy=remedy)


def grid_of_rows(sample: Sample) -> GridCells:
    """Sum the rows of each cell, in one pass without sorting."""
    if sample.w is not None:
        return _weighted(sample, sample.w)
    if not sample.y.size:
        return GridCells.empty()
    table = np.zeros((GRID_CELLS, 2, 5), dtype=np.int64)
    ends = _no_ends(GRID_CELLS)
    sum_rows(sample, lambda p, y, _: _kernels.sketch_sums(p, y, table, ends))
    refuse_full_cells(table[:, :, 0])
    count = table[:, :, 0].sum(axis=1)
    cell = np.flatnonzero(count)
    return GridCells(cell, count[cell], ends[cell], table[cell])


class PlacedCells(NamedTuple):
    """The sums of unweighted rows in many places, by place and cell, from a single sort."""

    key: Ints
    """GRID_CELLS times the place plus the cell, ascending."""
    table: Ints
    ends: Floats

    @classmethod
    def of_rows(cls, sample: Sample, places: Ints) -> "PlacedCells":
        """Sum the rows of each place and cell; a bad value raises."""
        sum_rows(sample, lambda p, y, _: faults(p, y))
        p = np.add(sample.p, 0.0, dtype=np.float64)  # -0.0 and 0.0 are one score
        label = np.asarray(sample.y).astype(np.int64)
        key = places.astype(np.int64) * GRID_CELLS + cell_of(p)
        both, order = _sorted(2 * key + label)
        p = p[order]
        key = both >> 1
        is_new = np.diff(key, prepend=-1) != 0
        start = np.flatnonzero(is_new)
        first = np.flatnonzero(np.diff(both, prepend=-1))
        table = np.zeros((start.size, 2, 5), dtype=np.int64)
        of_label = 2 * (np.cumsum(is_new)[first] - 1) + (both[first] & 1)
        columns = [np.ones(p.size), *parts(p), *square_parts(p)]
        for column, values in enumerate(columns):
            sums = np.add.reduceat(values.astype(np.int64), first) if first.size else 0
            table.reshape(-1, 5)[of_label, column] = sums
        ends = np.zeros((start.size, 2))
        if start.size:
            ends[:, 0] = np.minimum.reduceat(p, start)
            ends[:, 1] = np.maximum.reduceat(p, start)
        return cls(key[start], table, ends)

    def plus(self, other: "PlacedCells") -> "PlacedCells":
        """The sums of both."""
        key, order = _sorted(np.concatenate([self.key, other.key]))
        is_new = np.diff(key, prepend=-1) != 0
        row = np.empty(key.size, dtype=np.int64)
        row[order] = np.cumsum(is_new) - 1
        here, there = np.split(row, [self.key.size])
        size = int(is_new.sum())
        # No array of both tables is made, which would take longer than the rest.
        table = np.zeros((size, 2, 5), dtype=np.int64)
        table[here] = self.table
        table[there] += other.table
        ends = _no_ends(size)
        ends[here] = self.ends
        ends[there, 0] = np.minimum(ends[there, 0], other.ends[:, 0])
        ends[there, 1] = np.maximum(ends[there, 1], other.ends[:, 1])
        return PlacedCells(key[is_new], table, ends)

    def grids(self) -> Iterator[tuple[int, GridCells]]:
        """The sums of each place."""
        refuse_full_cells(self.table[:, :, 0])
        count = self.table[:, :, 0].sum(axis=1)
        place = self.key // GRID_CELLS
        cell = self.key % GRID_CELLS
        start = np.flatnonzero(np.diff(place, prepend=-1))
        for low, high in pairwise([*start.tolist(), place.size]):
            rows = slice(low, high)
            grid = GridCells(cell[rows], count[rows], self.ends[rows], self.table[rows])
            yield int(place[low]), grid


def _sorted(key: Ints) -> tuple[Ints, Ints]:
    """Numbers ≥ 0 in ascending order, and the place at which each was."""
    bits = key.size.bit_length()
    if key.size == 0 or int(key.max()).bit_length() + bits > 63:
        order = np.argsort(key, kind="stable")
        return key[order], order
    # Sorting numbers is ten times as fast as sorting their places.
    packed = key << bits | np.arange(key.size)
    packed.sort()
    return packed >> bits, packed & ((1 << bits) - 1)


def _no_ends(size: int) -> Floats:
    return np.tile([np.inf, -np.inf], (size, 1))


def _weighted(sample: Sample, w: Floats) -> GridCells:
    """The sums of weighted rows in the cells of the grid; rows of weight 0 add nothing.

    Weights that count rows have exact sums, other weights compensated floats. Bad values are
    refused.
    """
    sum_rows(sample, lambda p, y, rows: faults(p, y) | weight_faults(w[rows]))
    whole = count_rows(sample)
    table: Ints = np.zeros((GRID_CELLS, 2, 5), dtype=np.int64)
    ends = _no_ends(GRID_CELLS)
    floats = np.zeros((2, GRID_CELLS, 7, 2))
    for i in range(0, w.size, _CHUNK):
        kept = np.flatnonzero(w[i : i + _CHUNK] > 0) + i
        p = np.add(sample.p[kept], 0.0, dtype=np.float64)
        y = sample.y[kept].astype(np.int64)
        weight = w[kept]
        cell = cell_of(p)
        np.minimum.at(ends[:, 0], cell, p)
        np.maximum.at(ends[:, 1], cell, p)
        for label, is_label in enumerate((y == 0, y == 1)):
            none = np.zeros(int(is_label.sum()), dtype=np.uint8)
            _kernels.weighted_bin_sums(
                p[is_label], none, weight[is_label], grid_edges(), floats[label], uniform=False
            )
        for column, part in enumerate(
            [np.ones(p.size), *parts(p), *square_parts(p)] if whole else ()
        ):
            np.add.at(
                table[:, :, column], (cell, y), part.astype(np.int64) * weight.astype(np.int64)
            )
    by_label = np.moveaxis(floats.sum(axis=3), 0, 1)  # rows, Σw, Σw², Σwy, Σwp, Σwp², Σwyp
    count = by_label[:, :, 0].sum(axis=1).astype(np.int64)
    cell = np.flatnonzero(count)
    squares = np.ascontiguousarray(by_label[cell, :, 2])
    if whole:
        return GridCells(cell, count[cell], ends[cell], table[cell], None, squares)
    sums = np.ascontiguousarray(by_label[cell][:, :, [1, 4, 5]])
    return GridCells(cell, count[cell], ends[cell], None, sums, squares)
