"""The answer of a group-by as `Bins`, `Cells` and `GridCells`, one per group and part."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import is_missing
from trueness._tally.bins import Bins
from trueness._tally.cells import MOST_WHOLE, Cells
from trueness._tally.grid import LAST_CELL, GridCells, refuse_full_cells
from trueness._tally.rules import (
    BinRule,
    Edges,
    EqualMass,
    EqualWidth,
    Groups,
    midpoints,
    refuse_uncovered,
)
from trueness.errors import InputError
from trueness.sources.engines._bad_rows import ends_of
from trueness.sources.engines._group_by import BAD, OCTAVE, PARTS, TOP, UNWEIGHED
from trueness.sources.engines._row_expressions import Rows
from trueness.typing import Floats, Ints

Columns: TypeAlias = dict[str, NDArray[Any]]
Group: TypeAlias = tuple[Hashable, ...]
Part = TypeVar("Part")
_FLOATS = ("p", "least", "greatest")
_NEVER_MISSING = {str, int, bool, type(None)}
"""Types whose only missing value is None."""


def collect(query: Any, rows: Rows) -> tuple[Columns, list[Group]]:
    """The rows of the answer: numbers as arrays, and the group of each row."""
    lazy = query.lazy()
    options = {"engine": "streaming"} if lazy.implementation.is_polars() else {}
    answer = lazy.collect(**options)
    numbers = {}
    for name in answer.columns:
        if name not in rows.by:
            dtype = np.float64 if name in _FLOATS else np.int64
            numbers[name] = np.asarray(answer.get_column(name).to_numpy()).astype(dtype)
    if not rows.by:
        return numbers, [()] * len(answer)
    keys = [known_values(answer.get_column(name)) for name in rows.by]
    return numbers, list(zip(*keys, strict=True))


def known_values(column: Any) -> list[Any]:
    """The values of a column, None where one is missing."""
    values: list[Any] = column.to_list()
    if set(map(type, values)) <= _NEVER_MISSING:
        return values
    return [None if is_missing(value) else value for value in values]


def each_group(
    numbers: Columns, groups: list[Group], rows: Rows
) -> Iterator[tuple[Group, Columns]]:
    """The rows of each group, in the order of the keys.

    Without `by` there is one, even if it has no rows.
    """
    if not rows.by:
        yield (), numbers
        return
    places = {key: i for i, key in enumerate(dict.fromkeys(groups))}
    which = np.fromiter(map(places.__getitem__, groups), np.int64, len(groups))
    split = _split(numbers, which, len(places))
    yield from ((key, split[places[key]]) for key in sorted(places, key=group_order))


def _split(numbers: Columns, codes: Ints, n: int) -> list[Columns]:
    """The rows of each of the codes from 0 to n - 1."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(n + 1))
    return [
        {name: values[order[ends[k] : ends[k + 1]]] for name, values in numbers.items()}
        for k in range(n)
    ]


def group_order(key: Group) -> tuple[Any, ...]:
    """A sort key of groups: numbers by size, the rest as text, missing values last."""
    return tuple(_value_order(value) for value in key)


def _value_order(value: Hashable) -> tuple[Any, ...]:
    is_number = isinstance(value, bool | int | float)
    size = value if is_number else 0
    return (value is None, not is_number, size, str(value))


def parts_by_group(
    numbers: Columns, groups: list[Group], rows: Rows, make: Callable[[Columns], Part]
) -> dict[Group, tuple[Part, ...]]:
    """What `make` makes of the rows of each part of each group."""
    parts = {}
    for key, of_group in each_group(numbers, groups, rows):
        of_parts = [of_group]
        if "part" in of_group:
            of_parts = _split(of_group, of_group["part"], rows.n_parts)
        parts[key] = tuple(make(of_part) for of_part in of_parts)
    return parts


def bins_of(numbers: Columns, rule: BinRule) -> Bins:
    """The bins of one part of a group."""
    edges = rule.fixed_edges
    assert edges is not None
    good = _ordered(numbers)
    place = good["cell"] >> 1
    label = good["cell"] & 1
    if isinstance(rule, EqualWidth):  # a score of 1 belongs to the last bin, which is closed
        place = np.minimum(place, edges.size - 2)
    refuse_overflow(good["n"])
    if "m0" not in good:
        table = np.zeros((edges.size - 1, 2, 5), dtype=np.int64)
        np.add.at(table, (place, label), np.column_stack([good[name] for name in ("n", *PARTS)]))
        return Bins(edges, table, moments=True)
    floats = np.zeros((edges.size - 1, 6))
    count = np.zeros(edges.size - 1, dtype=np.int64)
    w, ww, wp, wpp = (_weighted_sum(good, term) for term in ("m", "mm", "mp", "mpp"))
    np.add.at(floats, place, np.column_stack([w, ww, w * label, wp, wpp, wp * label]))
    np.add.at(count, place, good["n"])
    return Bins(edges, None, floats, count, moments=True, whole=not good["broken"].any())


def marks(numbers: Columns) -> NDArray[Any]:
    """The column in which bad rows and rows of weight 0 are marked."""
    if "cell" in numbers:
        return numbers["cell"]
    return numbers["p"]


def good_rows(numbers: Columns) -> Columns:
    """The rows of the answer that describe good rows of positive weight."""
    keep = (marks(numbers) != BAD) & (marks(numbers) != UNWEIGHED)
    return {name: values[keep] for name, values in numbers.items()}


def _ordered(numbers: Columns) -> Columns:
    """The good rows in one order, in which floats are added: engines answer in any."""
    good = good_rows(numbers)
    order = np.lexsort([good[name] for name in ("e", "y", "cell", "p") if name in good])
    return {name: values[order] for name, values in good.items()}


def refuse_overflow(n: Ints) -> None:
    """Raise if a sum may have exceeded 64 bits, which engines do not report."""
    if n.size and n.max() > MOST_WHOLE:
        demand = "A bin must have at most 2**35 rows to be summed exactly"
        raise InputError("", demand, f"one has {int(n.max()):,}", remedy="Ask for more bins.")


def _weighted_sum(good: Columns, term: str) -> Floats:
    """The sum of a term of weighted rows, from the sums of its parts."""
    exponent = good["e"] * (2 if term == "mm" else 1)
    parts = [(name, 26 + 27 * i) for i in (2, 1, 0) if (name := f"{term}{i}") in good]
    return np.asarray(
        sum(np.ldexp(good[name].astype(np.float64), exponent - bits) for name, bits in parts)
    )


def cells_of(numbers: Columns) -> Cells:
    """The distinct scores of one part of a group."""
    good = _ordered(numbers)
    if good["p"].size == 0:
        return Cells.empty()
    score = good["p"] + 0.0  # -0.0 and 0.0 are one score; engines may group them apart
    first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    n = np.add.reduceat(good["n"], first)
    if "m0" not in good:
        return Cells(score[first], n, n, np.add.reduceat(good["y"], first))
    row_weight = _weighted_sum(good, "m")
    row_square = _weighted_sum(good, "mm")
    weight = np.add.reduceat(row_weight, first)
    events = np.add.reduceat(row_weight * good["y"], first)
    squares = np.add.reduceat(row_square, first)
    squares_of_events = np.add.reduceat(row_square * good["y"], first)
    if not good["broken"].any() and weight.sum() < MOST_WHOLE:
        weight = np.rint(weight).astype(np.int64)
        events = np.rint(events).astype(np.int64)
    return Cells(score[first], n, weight, events, squares, squares_of_events)


def refuse_outside(numbers: Columns, rule: BinRule, rows: Rows) -> None:
    """Raise if a good score lies outside the edges."""
    edges = rule.fixed_edges
    assert edges is not None
    place = good_rows(numbers)["cell"] >> 1
    if isinstance(rule, EqualWidth) or not place.size:
        return
    if place.min() >= 0 and place.max() <= edges.size - 2:
        return
    low, high = ends_of(rows.frame, "ok", "p", "p")
    refuse_uncovered(edges, low if low < edges[0] else high)


def have_whole_weights(numbers: Columns) -> bool:
    """Whether all weights are whole numbers, and small enough for integer sums."""
    good = good_rows(numbers)
    return (
        good["n"].size > 0
        and not good["broken"].any()
        and _weighted_sum(good, "m").sum() < MOST_WHOLE
    )


def fit_in_integers(numbers: Columns) -> bool:
    """Whether no sum of parts times weights can exceed 64 bits.

    Larger weights count as 0 in them.
    """
    good = good_rows(numbers)
    counted = good["e"] <= MOST_WHOLE.bit_length()
    return bool((_weighted_sum(good, "m")[counted] <= MOST_WHOLE).all())


def grid_of(numbers: Columns) -> GridCells:
    """The cells of a sketch of one part of a group."""
    good = _ordered(numbers)
    if good["cell"].size == 0:
        return GridCells.empty()
    refuse_full_cells(good["n"])
    cell, place = np.unique(good["cell"] >> 1, return_inverse=True)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    n = np.add.reduceat(good["n"], first)
    smallest = np.minimum.reduceat(good["least"], first)
    greatest = np.maximum.reduceat(good["greatest"], first)
    ends = np.column_stack([smallest, greatest]) + 0.0  # -0.0 and 0.0 are one score
    if "m0" not in good:
        table = _by_label(good, place, [good[name] for name in ("n", *PARTS)])
        return GridCells(cell, n, ends, table)
    squares = _by_label(good, place, [_weighted_sum(good, "mm")])[:, :, 0]
    if "hi" in good and have_whole_weights(good):
        weight = np.rint(_weighted_sum(good, "m")).astype(np.int64)
        table = _by_label(good, place, [weight, *(good[name] for name in PARTS)])
        return GridCells(cell, n, ends, table, None, squares)
    return GridCells(cell, n, ends, None, _weighted_sums_by_label(good, place), squares)


def _weighted_sums_by_label(good: Columns, place: Ints) -> Floats:
    """Σw, Σwp and Σwp² of each cell and label, from sums of x = p · 2^s, whose s the cell says."""
    cell = good["cell"] >> 1
    s = np.where(cell <= LAST_CELL // 2, TOP - (cell - 2) // OCTAVE, 0)
    w = _weighted_sum(good, "m")
    wp = np.ldexp(_weighted_sum(good, "mp"), -s)
    wpp = np.ldexp(_weighted_sum(good, "mpp"), -2 * s)
    return _by_label(good, place, [w, wp, wpp])


def _by_label(good: Columns, place: Ints, columns: list[NDArray[Any]]) -> NDArray[Any]:
    """The sums of some columns in each place, by label."""
    values = np.column_stack(columns)
    sums = np.zeros((place.max() + 1, 2, values.shape[1]), dtype=values.dtype)
    np.add.at(sums, (place, good["cell"] & 1), values)
    return sums


# Bins whose edges depend on the scores, or are too many to compare with, take two group-bys and no
# sort. The first sums the cells of this grid, where the cell of a score is the exact floor of a
# product; the second returns the distinct scores of the cells that a cut falls into. Cells and
# scores in order are the pieces that bins are assembled from.
FINE_GRID = EqualWidth(1 << 14)


class FineCells:
    """The sums of the filled cells of the grid, and the smallest score of each."""

    def __init__(self, numbers: Columns) -> None:
        """Keep the filled cells of what a group-by answered about one part of a group."""
        bins = bins_of(numbers, FINE_GRID)
        assert bins.table is not None
        self.cell = np.flatnonzero(bins.count)
        self.table = bins.table[self.cell]
        self.count = bins.count[self.cell]
        good = numbers["cell"] > UNWEIGHED // 2
        place = np.minimum(numbers["cell"][good] >> 1, FINE_GRID.n - 1)
        smallest = np.full(FINE_GRID.n, np.inf)
        np.minimum.at(smallest, place, numbers["least"][good])
        self.least = smallest[self.cell] + 0.0


def cells_with_cuts(fine: FineCells, rule: EqualMass | Edges) -> Ints:
    """The cells of the grid that a cut may fall into, whose distinct scores are needed."""
    if isinstance(rule, EqualMass):
        ranks = rule.ranks(int(fine.count.sum()))
        places = np.searchsorted(np.cumsum(fine.count), ranks, side="left")
        return np.asarray(fine.cell[np.unique(places)])
    scaled = rule.edges * FINE_GRID.n
    # An edge on the border of two cells cuts neither; but the last one is closed.
    cuts = scaled != np.floor(scaled)
    cuts[-1] |= scaled[-1] < FINE_GRID.n
    return np.intersect1d(np.floor(scaled[cuts]).astype(np.int64), fine.cell)


class _Pieces(NamedTuple):
    """Whole cells of the grid and distinct scores of the others, in order."""

    first: Floats  # the smallest score of each
    table: Ints


def bins_from_pieces(fine: FineCells, cells: Cells, rule: EqualMass | Edges) -> Bins:
    """Assemble the bins; `cells` holds at least the distinct scores of the cells with cuts."""
    pieces = _pieces(fine, cells, cells_with_cuts(fine, rule))
    first = pieces.first
    if isinstance(rule, EqualMass):
        start = rule.first_cells(np.cumsum(pieces.table[:, :, 0].sum(axis=1)))
        inner = midpoints(first[start[1:] - 1], first[start[1:]])
        edges = np.concatenate([[0.0], inner, [1.0]])
        return Bins(edges, np.add.reduceat(pieces.table, start, axis=0), moments=True)
    edges = rule.edges
    if first.size and first[0] < edges[0]:
        refuse_uncovered(edges, float(first[0]))
    if first.size and first[-1] > edges[-1]:
        refuse_uncovered(edges, float(first[-1]))
    place = np.minimum(np.searchsorted(edges, first, side="right") - 1, edges.size - 2)
    table = np.zeros((edges.size - 1, 2, 5), dtype=np.int64)
    np.add.at(table, place, pieces.table)
    return Bins(edges, table, moments=True)


def _pieces(fine: FineCells, cells: Cells, cut: Ints) -> _Pieces:
    """Fine cells and distinct scores, in the order of their scores.

    Cells numbered in `cut` are replaced by the scores in them; all other cells stay whole.
    """
    is_whole = ~np.isin(fine.cell, cut)
    cell_of_score = np.floor(cells.score * FINE_GRID.n).astype(np.int64)
    is_separate = np.isin(np.minimum(cell_of_score, FINE_GRID.n - 1), cut)
    one_by_one = Groups(np.zeros(cells.size + 1), np.arange(cells.size + 1))
    table_of_scores = Bins.from_cells(cells, one_by_one).table
    assert table_of_scores is not None
    first = np.concatenate([fine.least[is_whole], cells.score[is_separate]])
    table = np.concatenate([fine.table[is_whole], table_of_scores[is_separate]])
    order = np.argsort(first)
    return _Pieces(first[order], table[order])
