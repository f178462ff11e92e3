"""`Bins`: the sums of the rows in each bin."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._tally.cells import Cells, Totals, check_row_total, same, segment_sums
from trueness._tally.rules import BinRule, Groups
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

# Most rows of a bin whose scores, in units of 2⁻²⁶ and 2⁻⁵³, still add up within 64 bits.
MOST_EXACT = 2**36

_total = np.add.reduce  # ndarray.sum without its wrapper, which costs as much again on ten bins

# Columns of the float sums of weighted rows.
_W, _W2, _WY, _WP, _WP2, _WYP = range(6)


class Bins:
    """The sums of the rows in each bin: count, Σw, Σwy, Σwp and, with `moments`, Σwp² and Σwyp.

    Bin b is [edges[b], edges[b + 1]), the last one closed on both sides. Without weights the sums
    are integers (scores in units of 2⁻⁵³), so that they are the same bits for any order of the
    rows, any split and any engine: the `table`, of shape (B, 2, 5), holds by bin and label Σw, Σhi,
    Σlo, Σhi² and Σlo². With weights that are not whole numbers, or more than 2³⁶ rows in a bin,
    `floats` of shape (B, 6) take its place, the :attr:`columns`. Without `count`, Σw counts the
    rows; `moments` says whether Σwp² is known, `whole` what it says of `Cells`. Bins with the same
    edges add.
    """

    def __init__(
        self,
        edges: Floats,
        table: Ints | None,
        floats: Floats | None = None,
        count: Ints | None = None,
        *,
        moments: bool = False,
        whole: bool = True,
    ) -> None:
        self.edges = edges
        self.table = table
        self.floats = floats
        self.moments = moments
        self.whole = whole
        self._count = count
        self._columns = floats
        self._totals: Totals | None = None

    def at_means(self) -> Cells:
        """One cell per filled bin, with all of its rows at their mean score."""
        filled = self.count > 0
        score = np.clip(self.score[filled], 0, 1)
        count = np.asarray(self.count[filled])
        weight = self.weight[filled]
        events = self.events[filled]
        squares = self.squares[filled]
        if self.whole:
            return Cells(
                score, count, np.rint(weight).astype(np.int64), np.rint(events).astype(np.int64)
            )
        return Cells(score, count, weight, events, squares, squares * events / weight)

    @classmethod
    def empty(cls, edges: Floats) -> "Bins":
        """Bins without rows."""
        return cls(edges, np.zeros((edges.size - 1, 2, 5), dtype=np.int64), moments=True)

    @classmethod
    def from_cells(cls, cells: Cells, groups: Groups) -> "Bins":
        """Add up the cells of each bin."""
        start = groups.start
        count = sums_from(start, cells.count)
        if not cells.whole:
            return cls(
                groups.edges, None, _float_sums(cells, start), count, moments=True, whole=False
            )
        if not fits(count if cells.weight is cells.count else sums_from(start, cells.weight)):
            return cls(
                groups.edges, None, _float_sums(cells.as_floats(), start), count, moments=True
            )
        table = np.zeros((start.size - 1, 2, 5), dtype=np.int64)
        weight, events = (
            np.ascontiguousarray(column, dtype=np.int64) for column in (cells.weight, cells.events)
        )
        _kernels.cell_sums(np.ascontiguousarray(cells.score), weight, events, start, table)
        return cls(groups.edges, table, None, count, moments=True)

    @property
    def size(self) -> int:
        """Number of bins, empty ones included."""
        return self.edges.size - 1

    @property
    def count(self) -> Ints:
        """Rows of positive weight."""
        return np.asarray(self.weight if self._count is None else self._count, dtype=np.int64)

    @property
    def totals(self) -> Totals:
        """Rows, Σw and Σwy over all bins."""
        if self._totals is None:
            if self.table is None:
                weight = _total(self.weight).item()
                events = _total(self.events).item()
            else:
                non_events, events = _total(self.table[:, :, 0], 0).tolist()
                weight = non_events + events
            rows = int(weight if self._count is None else self._count.sum())
            self._totals = Totals(rows, weight, events)
        return self._totals

    @property
    def weight(self) -> Numbers:
        """Σw."""
        if self.table is None:
            return self.columns[:, _W]
        return self.table[:, 0, 0] + self.table[:, 1, 0]

    @property
    def events(self) -> Numbers:
        """Σwy."""
        if self.table is None:
            return self.columns[:, _WY]
        return self.table[:, 1, 0]

    @property
    def sum_score(self) -> Floats:
        """Σwp."""
        return self.columns[:, _WP]

    @property
    def sum_square(self) -> Floats:
        """Σwp²."""
        assert self.moments, "these bins have no Σwp²"
        return self.columns[:, _WP2]

    @property
    def sum_event_score(self) -> Floats:
        """Σwyp."""
        return self.columns[:, _WYP]

    @property
    def squares(self) -> Floats:
        """Σw².

        For whole-number weights the weights themselves, since a row of weight 2 is two rows.
        """
        return self.columns[:, _W if self.whole else _W2]

    @property
    def excess(self) -> Floats:
        """Σwy − Σwp: observed minus expected events."""
        columns = self.columns
        return columns[:, _WY] - columns[:, _WP]

    @property
    def rate(self) -> Floats:
        """Event rate, nan in an empty bin."""
        return self._per_weight(self.columns[:, _WY])

    @property
    def score(self) -> Floats:
        """Mean score, nan in an empty bin."""
        return self._per_weight(self.columns[:, _WP])

    @property
    def gap(self) -> Floats:
        """Event rate − mean score, nan in an empty bin."""
        return self._per_weight(self.excess)

    def _per_weight(self, sums: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return sums / self.columns[:, _W]

    @property
    def columns(self) -> Floats:
        """All sums as floats, of shape (B, 6): Σw, Σw², Σwy, Σwp, Σwp², Σwyp.

        Σwp² is 0 without moments.
        """
        if self._columns is None:
            assert self.table is not None
            self._columns = _kernels.float_sums(np.ascontiguousarray(self.table))
        return self._columns

    def __add__(self, other: "Bins") -> "Bins":
        """The sums of both; an error if their edges differ.

        They stay exact as long as both are and the weights of their bins are small enough.
        """
        if not np.array_equal(self.edges, other.edges):
            got = f"got {self.size} and {other.size} bins with different edges"
            raise InputError("", "Bins can be added or subtracted only if their edges agree", got)
        count = check_row_total(self.count + other.count)
        moments = self.moments and other.moments
        if self.table is not None and other.table is not None and fits(self.weight + other.weight):
            return Bins(self.edges, self.table + other.table, None, count, moments=moments)
        whole = self.whole and other.whole
        return Bins(
            self.edges, None, self.columns + other.columns, count, moments=moments, whole=whole
        )

    def coarsen(self, rule: BinRule) -> "Bins":
        """Merge neighbouring bins; the edges of `rule` must be among the existing edges."""
        edges = rule.fixed_edges
        inside = edges is not None and np.isin(edges, self.edges).all()
        if edges is None or not inside or edges[[0, -1]].tolist() != self.edges[[0, -1]].tolist():
            equal = np.array_equal(self.edges, np.arange(self.size + 1) / self.size)
            current = f"`bins={self.size}`" if equal else "their edges as `bins`"
            demand = f"must be a coarsening of the {self.size} bins at hand"
            remedy = f"Pass {current} to measure these sums in their own bins."
            raise InputError("bins", demand, f"{rule!r} is not", remedy=remedy)
        if edges.size == self.edges.size:
            return self
        first = np.searchsorted(self.edges, edges[:-1])
        count = np.add.reduceat(self.count, first)
        floats = None
        if self.table is not None and fits(np.add.reduceat(self.weight, first)):
            table = self.table
        else:
            table = None
        if table is None:
            floats = np.add.reduceat(self.columns, first, axis=0)
        else:
            table = np.add.reduceat(table, first, axis=0)
        return Bins(edges, table, floats, count, moments=self.moments, whole=self.whole)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bins):
            return NotImplemented
        names = ("edges", "count", "table", "floats")
        return self.whole == other.whole and all(
            same(getattr(self, x), getattr(other, x)) for x in names
        )

    def __repr__(self) -> str:
        return f"Bins({self.size} bins, {int(self.count.sum()):,} rows)"


def fits(weight: NDArray[Any]) -> bool:
    """Whether bins of this weight can have integer sums."""
    return weight.size == 0 or bool(weight.max() <= MOST_EXACT)


def sums_from(start: Ints, values: NDArray[Any]) -> NDArray[Any]:
    """Sums of values, or of rows of values, from start[b] up to start[b + 1]; empty bins are 0."""
    out = np.zeros((start.size - 1, *values.shape[1:]), dtype=values.dtype)
    filled = start[1:] > start[:-1]
    if filled.any():
        first = start[:-1][filled]
        out[filled] = (
            segment_sums(values, first)
            if values.ndim == 1
            else np.add.reduceat(values, first, axis=0)
        )
    return out


def _float_sums(cells: Cells, start: Ints) -> Floats:
    p = cells.score
    w = cells.weight
    wy = cells.events
    assert cells.squares is not None
    columns = (w, cells.squares, wy, w * p, w * (p * p), wy * p)
    return np.column_stack([sums_from(start, c) for c in columns])
