"""The answer of a group-by as `Bins`, `Cells` and `GridCells`, one per group and part."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeAlias, TypeVar

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
from trueness.sources._group_by import BAD, OCTAVE, PARTS, TOP, UNWEIGHED
from trueness.sources._row_expressions import Rows, ends_of
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
    answer = lazy.collect(**({"engine": "streaming"} if lazy.implementation.is_polars() else {}))
    columns = {
        name: np.asarray(answer.get_column(name).to_numpy())
        for name in answer.columns
        if name not in rows.by
    }
    numbers = {
        name: v.astype(np.float64 if name in _FLOATS else np.int64) for name, v in columns.items()
    }
    keys = [known_values(answer.get_column(name)) for name in rows.by]
    return numbers, list(zip(*keys, strict=True)) if keys else [()] * len(answer)


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
    numeric = (bool, int, float)
    return tuple(
        (v is None, not isinstance(v, numeric), v if isinstance(v, numeric) else 0, str(v))
        for v in key
    )


def parts_by_group(
    numbers: Columns, groups: list[Group], rows: Rows, make: Callable[[Columns], Part]
) -> dict[Group, tuple[Part, ...]]:
    found = {}
    for key, mine in each_group(numbers, groups, rows):
        found[key] = tuple(
            map(make, _split(mine, mine["part"], rows.n_parts) if "part" in mine else [mine])
        )
    return found


def bins_of(numbers: Columns, rule: BinRule) -> Bins:
    edges = rule.fixed_edges
    assert edges is not None
    good = _ordered(numbers)
    place = good["cell"] >> 1
    label = good["cell"] & 1
    if isinstance(rule, EqualWidth):
        place = np.minimum(
            place, edges.size - 2
        )  # a score of 1 belongs to the last bin, which is closed
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
    good = _ordered(numbers)
    if good["p"].size == 0:
        return Cells.empty()
    weighted, score = (
        "m0" in good,
        good["p"] + 0.0,
    )  # -0.0 and 0.0 are one score; engines may group them apart
    first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    columns = [good["n"], good["n"], good["y"]]
    if weighted:
        w = _weighted_sum(good, "m")
        ww = _weighted_sum(good, "mm")
        columns = [good["n"], w, w * good["y"], ww, ww * good["y"]]
    pooled = [np.add.reduceat(column, first) for column in columns]
    if weighted and not good["broken"].any() and pooled[1].sum() < MOST_WHOLE:
        pooled[1:3] = [np.rint(column).astype(np.int64) for column in pooled[1:3]]
    return Cells(score[first], *pooled)


def refuse_outside(numbers: Columns, rule: BinRule, rows: Rows) -> None:
    """Raise if a good score lies outside the edges."""
    edges = rule.fixed_edges
    assert edges is not None
    place = good_rows(numbers)["cell"] >> 1
    if (
        not isinstance(rule, EqualWidth)
        and place.size
        and (place.min() < 0 or place.max() > edges.size - 2)
    ):
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
    good = _ordered(numbers)
    if good["cell"].size == 0:
        return GridCells.empty()
    refuse_full_cells(good["n"])
    cell, at = np.unique(good["cell"] >> 1, return_inverse=True)
    first = np.flatnonzero(np.diff(at, prepend=-1))
    ends = [np.minimum.reduceat(good["least"], first), np.maximum.reduceat(good["greatest"], first)]
    # -0.0 and 0.0 are one score.
    found = (cell, np.add.reduceat(good["n"], first), np.column_stack(ends) + 0.0)
    if "m0" not in good:
        return GridCells(*found, _by_label(good, at, [good[name] for name in ("n", *PARTS)]))
    return GridCells(*found, *_weighted_table(good, at))


def _weighted_table(good: Columns, at: Ints) -> tuple[Ints | None, Floats | None, Floats]:
    """Exact sums if all weights are whole, else floats; and the sums of squares of weights."""
    w = _weighted_sum(good, "m")
    squares = _by_label(good, at, [_weighted_sum(good, "mm")])[:, :, 0]
    if "hi" in good and have_whole_weights(good):
        return (
            _by_label(good, at, [np.rint(w).astype(np.int64), *(good[name] for name in PARTS)]),
            None,
            squares,
        )
    cell = good["cell"] >> 1
    shift = np.where(cell <= LAST_CELL // 2, TOP - (cell - 2) // OCTAVE, 0)  # the s of x = p · 2^s
    wp, wpp = (
        np.ldexp(_weighted_sum(good, term), -shift * times)
        for term, times in (("mp", 1), ("mpp", 2))
    )
    return None, _by_label(good, at, [w, wp, wpp]), squares


def _by_label(good: Columns, at: Ints, columns: list[NDArray[Any]]) -> NDArray[Any]:
    sums = np.column_stack(columns)
    found = np.zeros((at.max() + 1, 2, sums.shape[1]), dtype=sums.dtype)
    np.add.at(found, (at, good["cell"] & 1), sums)
    return found


# Bins whose edges depend on the scores, or are too many to compare with, take two group-bys and no
# sort. The first sums the cells of this grid, where the cell of a score is the exact floor of a
# product; the second returns the distinct scores of the cells that a cut falls into. Cells and
# scores in order are the pieces that bins are assembled from.
FINE_GRID = EqualWidth(1 << 14)


class FineCells:
    """The sums of the filled cells of the grid, and the smallest score of each."""

    def __init__(self, numbers: Columns) -> None:
        found = bins_of(numbers, FINE_GRID)
        assert found.table is not None
        self.cell = np.flatnonzero(found.count)
        self.table = found.table[self.cell]
        self.count = found.count[self.cell]
        least = np.full(FINE_GRID.n, np.inf)
        good = numbers["cell"] > UNWEIGHED // 2
        np.minimum.at(
            least, np.minimum(numbers["cell"][good] >> 1, FINE_GRID.n - 1), numbers["least"][good]
        )
        self.least = least[self.cell] + 0.0


def cells_with_cuts(fine: FineCells, rule: EqualMass | Edges) -> Ints:
    """The cells of the grid that a cut may fall into, whose distinct scores are needed."""
    if isinstance(rule, EqualMass):
        ranks = rule.ranks(int(fine.count.sum()))
        return np.asarray(
            fine.cell[np.unique(np.searchsorted(np.cumsum(fine.count), ranks, side="left"))]
        )
    scaled = rule.edges * FINE_GRID.n
    # An edge on the border of two cells cuts neither; but the last one is closed.
    inside = (scaled != np.floor(scaled)) | (
        (np.arange(scaled.size) == scaled.size - 1) & (scaled < FINE_GRID.n)
    )
    return np.intersect1d(np.floor(scaled[inside]).astype(np.int64), fine.cell)


def bins_from_pieces(fine: FineCells, cells: Cells, rule: EqualMass | Edges) -> Bins:
    """Assemble the bins; `cells` holds at least the distinct scores of the cells with cuts."""
    cut = cells_with_cuts(fine, rule)
    whole = ~np.isin(fine.cell, cut)
    separate = np.isin(
        np.minimum(np.floor(cells.score * FINE_GRID.n).astype(np.int64), FINE_GRID.n - 1), cut
    )
    each = Bins.from_cells(cells, Groups(np.zeros(cells.size + 1), np.arange(cells.size + 1))).table
    assert each is not None
    first = np.concatenate([fine.least[whole], cells.score[separate]])
    order = np.argsort(first)
    first = first[order]
    table = np.concatenate([fine.table[whole], each[separate]])[order]
    if isinstance(rule, EqualMass):
        start = rule.first_cells(np.cumsum(table[:, :, 0].sum(axis=1)))
        edges = np.concatenate([[0.0], midpoints(first[start[1:] - 1], first[start[1:]]), [1.0]])
        return Bins(edges, np.add.reduceat(table, start, axis=0), moments=True)
    edges = rule.edges
    if first.size and (first[0] < edges[0] or first[-1] > edges[-1]):
        refuse_uncovered(edges, float(first[0] if first[0] < edges[0] else first[-1]))
    place = np.minimum(np.searchsorted(edges, first, side="right") - 1, edges.size - 2)
    found = np.zeros((edges.size - 1, 2, 5), dtype=np.int64)
    np.add.at(found, place, table)
    return Bins(edges, found, moments=True)
