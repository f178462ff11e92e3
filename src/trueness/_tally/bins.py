"""`Bins`: the sums of the rows in each bin."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.fixed import parts, square_parts
from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rules import BinRule, Groups
from trueness.errors import InputError
from trueness.typing import Floats, Ints, Numbers

__all__ = ["Bins"]

_LOW_BITS = 27
_LOW = (1 << _LOW_BITS) - 1
_UNIT = 2.0**-26

# Columns of the float sums of weighted rows.
_W, _W2, _WY, _WP, _WP2, _WYP = range(6)


class Bins:
    """The sums of the rows in each bin: count, Σw, Σwy, Σwp and, if asked for, Σwp² and Σwyp.

    Without weights the sums are integers (scores in units of 2⁻⁵³), so that they are the same bits
    for any order of the rows, any split and any engine. Bins with the same edges add.
    """

    def __init__(
        self,
        edges: Floats,
        count: Ints,
        table: Ints | None,
        floats: Floats | None = None,
        *,
        moments: bool = False,
    ) -> None:
        self.edges = edges
        """Bin b is [edges[b], edges[b + 1]), the last one closed on both sides."""
        self.count = count
        """Rows of positive weight."""
        self.table = table
        """Exact sums [bin, label, (Σw, Σhi, Σlo, Σhi², Σlo²)], int64; None if weights are not whole."""
        self.floats = floats
        """[bin, (Σw, Σw², Σwy, Σwp, Σwp², Σwyp)], when weights are not whole."""
        self.moments = moments
        """Whether Σwp² is known."""

    @classmethod
    def from_cells(cls, cells: Cells, groups: Groups) -> "Bins":
        """Add up the cells of each bin."""
        start = groups.start
        count = _sums(cells.count, start)
        if not cells.exact:
            return cls(groups.edges, count, None, _float_sums(cells, start), moments=True)
        table = np.zeros((start.size - 1, 2, 5), dtype=np.int64)
        pieces = [part.astype(np.int64) for part in (*parts(cells.score), *square_parts(cells.score))]
        for label, n in enumerate((cells.weight - cells.events, cells.events)):
            table[:, label, 0] = _sums(n, start)
            for column, piece in enumerate(pieces, start=1):
                table[:, label, column] = _sums(n * piece, start)
        return cls(groups.edges, count, table, moments=True)

    @property
    def size(self) -> int:
        """Number of bins, empty ones included."""
        return self.count.size

    @cached_property
    def weight(self) -> Numbers:
        """Σw."""
        return self.table[:, :, 0].sum(axis=1) if self.table is not None else self._float(_W)

    @cached_property
    def events(self) -> Numbers:
        """Σwy."""
        return self.table[:, 1, 0] if self.table is not None else self._float(_WY)

    @cached_property
    def sum_score(self) -> Floats:
        """Σwp."""
        if self.table is None:
            return self._float(_WP)
        return _value(self.table[:, :, 1].sum(axis=1), self.table[:, :, 2].sum(axis=1))

    @cached_property
    def sum_square(self) -> Floats:
        """Σwp²."""
        assert self.moments, "Σwp² was not asked for"
        if self.table is None:
            return self._float(_WP2)
        return _value(self.table[:, :, 3].sum(axis=1), self.table[:, :, 4].sum(axis=1))

    @cached_property
    def sum_event_score(self) -> Floats:
        """Σwyp."""
        if self.table is None:
            return self._float(_WYP)
        return _value(self.table[:, 1, 1], self.table[:, 1, 2])

    @cached_property
    def squares(self) -> Floats:
        """Σw²; for whole-number weights the weights themselves, since a row of weight 2 is two rows."""
        return self._float(_W2) if self.table is None else self.weight.astype(np.float64)

    @cached_property
    def excess(self) -> Floats:
        """Σwy − Σwp: what happened beyond what was predicted."""
        return np.asarray(self.events - self.sum_score)

    @cached_property
    def rate(self) -> Floats:
        """Event rate, nan in an empty bin."""
        return _ratio(self.events, self.weight)

    @cached_property
    def score(self) -> Floats:
        """Mean score, nan in an empty bin."""
        return _ratio(self.sum_score, self.weight)

    @cached_property
    def gap(self) -> Floats:
        """Event rate − mean score, nan in an empty bin."""
        return _ratio(self.excess, self.weight)

    def _float(self, column: int) -> Floats:
        assert self.floats is not None
        return self.floats[:, column]

    def __add__(self, other: "Bins") -> "Bins":
        if not np.array_equal(self.edges, other.edges):
            raise InputError(
                f"Bins add only when their edges agree; got {self.size} and {other.size} bins with different edges."
            )
        count = self.count + other.count
        moments = self.moments and other.moments
        if self.table is not None and other.table is not None:
            return Bins(self.edges, count, self.table + other.table, moments=moments)
        return Bins(self.edges, count, None, self._as_floats() + other._as_floats(), moments=moments)

    def _as_floats(self) -> Floats:
        if self.floats is not None:
            return self.floats
        square = self.sum_square if self.moments else np.zeros(self.size)
        columns = (self.weight, self.squares, self.events, self.sum_score, square, self.sum_event_score)
        return np.column_stack(columns).astype(np.float64)

    def coarsen(self, rule: BinRule) -> "Bins":
        """Merge neighbouring bins; the edges of `rule` must be among the edges there are."""
        edges = rule.fixed_edges
        if (
            edges is None
            or not np.isin(edges, self.edges).all()
            or edges[[0, -1]].tolist() != self.edges[[0, -1]].tolist()
        ):
            raise InputError(f"`bins` must be a coarsening of the {self.size} bins at hand; {rule!r} is not.")
        if edges.size == self.edges.size:
            return self
        first = np.searchsorted(self.edges, edges[:-1])
        table = None if self.table is None else np.add.reduceat(self.table, first, axis=0)
        floats = None if self.floats is None else np.add.reduceat(self.floats, first, axis=0)
        return Bins(edges, np.add.reduceat(self.count, first), table, floats, moments=self.moments)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bins):
            return NotImplemented
        return (
            np.array_equal(self.edges, other.edges)
            and np.array_equal(self.count, other.count)
            and _same(self.table, other.table)
            and _same(self.floats, other.floats)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays can change

    def __repr__(self) -> str:
        return f"Bins({self.size} bins, {int(self.count.sum()):,} rows)"


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return (a is None) == (b is None) and (a is None or b is None or np.array_equal(a, b))


def _value(high: Ints, low: Ints) -> Floats:
    """Σhi and Σlo as a float: carry first, so that equal sums give equal bits however they were split."""
    high = high + (low >> _LOW_BITS)
    return np.asarray((high + (low & _LOW) * 2.0**-_LOW_BITS) * _UNIT)


def _ratio(top: Numbers, bottom: Numbers) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.true_divide(top, bottom))


def _sums(values: Numbers, start: Ints) -> Any:
    """Sums of values from start[b] up to start[b + 1]; empty bins are 0."""
    out = np.zeros(start.size - 1, dtype=values.dtype)
    filled = start[1:] > start[:-1]
    if filled.any():
        out[filled] = segment_sums(values, start[:-1][filled])
    return out


def _float_sums(cells: Cells, start: Ints) -> Floats:
    p, w, wy = cells.score, cells.weight, cells.events
    assert cells.squares is not None
    columns = (w, cells.squares, wy, w * p, w * (p * p), wy * p)
    return np.column_stack([_sums(c, start) for c in columns])
