"""The kernels in C.

The functions of the same names in :mod:`trueness._kernels.reference` document them.

Nothing here can be called unless :func:`trueness._kernels.library.available`.
"""

from collections.abc import Callable
from ctypes import byref, c_int64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels import reference
from trueness._kernels.grid import GRID_CELLS
from trueness._kernels.library import call, every_fault, in_threads, over_rows, shares, workers
from trueness._kernels.reference import Codes, Labels
from trueness._kernels.reference_loops import Floats, Ints, Scores

__all__: list[str] = []
__all__ += reference.__all__

Array = NDArray[Any]
Keys = NDArray[np.uint64]
Range = tuple[int, int]

# Every thread has a table of its own; larger ones (in bytes) are not multiplied.
_OWN_TABLE = 1 << 17
_OWN_CLASS_TABLE = 1 << 22

# The grid pays off from this many rows, and up to this many ranks; otherwise all rows are sorted.
_GRID_ROWS = 1 << 15
_GRID_RANKS = 500

# A guide of half a megabyte; where edges are more crowded, a few steps of binary search follow.
_MOST_GUIDE_CELLS = (1 << 16) - 1

_RECORD = np.dtype([("key", np.uint64), ("weight", np.float64)])


def bin_sums(
    p: Scores, y: Labels, edges: Floats, table: Ints, *, uniform: bool, moments: bool
) -> int:
    rows = shares(p.size, workers(p.size) if table.nbytes <= _OWN_TABLE else 1)
    return _add_rows("bin_sums", (p, y, edges), table, rows, uniform, moments)


def _add_rows(
    name: str, columns: tuple[Array, ...], table: Array, rows: list[Range], *numbers: object
) -> int:
    """Let each thread add its rows to a table of its own; the table gets the sums of all."""
    if len(rows) == 1:
        return call(name, (*columns, table), *rows[0], *numbers)
    tables = [table] + [np.zeros_like(table) for _ in rows[1:]]
    status = over_rows(name, rows, lambda i: (*columns, tables[i]), *numbers)
    for part in tables[1:]:
        table += part
    return status


def grouped_bin_sums(
    p: Scores, y: Labels, group: Codes, edges: Floats, table: Ints, *, uniform: bool
) -> int:
    return call("grouped_bin_sums", (p, y, group, edges, table), 0, p.size, uniform)


def encode_keys(start: Ints, text: Array, code: Codes, *known: Array) -> int:
    return call("encode_keys", (start, text, code, *known))


def events(p: Scores, y: Labels) -> tuple[int, int]:
    rows = shares(p.size, workers(p.size))
    counts = [c_int64() for _ in rows]
    statuses = in_threads(
        lambda i: call("count_events", (p, y), *rows[i], byref(counts[i])), len(rows)
    )
    return every_fault(statuses), sum(part.value for part in counts)


def weighted_bin_sums(
    p: Scores, y: Labels, w: Floats, edges: Floats, table: Floats, *, uniform: bool
) -> int:
    """Add the weighted rows to the compensated sums in `table`, and return the status.

    Large tables are filled by one thread; otherwise each thread has a table of its own, and these
    are added in their order.
    """
    rows = shares(p.size, workers(p.size) if table.nbytes <= _OWN_TABLE else 1)
    tables = [table] + [np.zeros_like(table) for _ in rows[1:]]
    status = over_rows("weighted_bin_sums", rows, lambda i: (p, y, w, edges, tables[i]), uniform)
    for part in tables[1:]:
        reference.add_compensated(table, np.arange(table.shape[0]), part[:, :, 0])
        table[:, :, 1] += part[:, :, 1]
    return status


def sketch_sums(p: Scores, y: Labels, table: Ints, ends: Floats) -> int:
    """Add the rows to the cells of a sketch, and return the status.

    `table` gets the sums of each cell, and `ends` its least and greatest score.
    """
    rows = shares(p.size, workers(p.size))
    tables = [table] + [np.zeros_like(table) for _ in rows[1:]]
    reached = [ends] + [ends.copy() for _ in rows[1:]]
    status = over_rows("sketch_sums", rows, lambda i: (p, y, tables[i], reached[i]))
    for part, part_ends in zip(tables[1:], reached[1:], strict=True):
        table += part
        np.minimum(ends[:, 0], part_ends[:, 0], out=ends[:, 0])
        np.maximum(ends[:, 1], part_ends[:, 1], out=ends[:, 1])
    return status


def mass_sums(
    p: Scores, y: Labels, ranks: Ints, *, moments: bool
) -> tuple[int, Floats, Floats, Floats, Ints]:
    """Sums of the rows between the scores of the given `ranks`, which count from 1.

    The status, the scores at the ranks, the lowest and the highest score of each bin, and the table
    of sums, which mean nothing if the status is a fault. Many rows and few ranks are counted on a
    grid first, so that only the rows near a cut are sorted.
    """
    table = np.zeros((ranks.size + 1, 2, 5), np.int64)
    cuts, low, high = np.full(ranks.size, np.nan), *np.full((2, ranks.size + 1), np.nan)
    grid = _Grid(p, ranks) if p.size >= _GRID_ROWS and ranks.size <= _GRID_RANKS else None
    if grid:
        status, keys, places = grid.add_rows(p, y, table, moments)
    else:
        status, keys = _pack_and_sort(p, y, np.empty((2, p.size + 1), np.uint64), 0, GRID_CELLS)
        places = ranks - 1
    if status or p.size == 0:
        return status, cuts, low, high, table

    cuts[:] = _scores_of(keys[places])
    ends = np.append(np.searchsorted(keys, keys[places] | np.uint64(1), "right"), keys.size)
    call("key_sums", (keys, ends, table), moments)

    # A score follows the j-th cut wherever bin j+1 is not empty; elsewhere what is written is not
    # used.
    scores = _scores_of(keys)
    following = scores[np.minimum(ends[:-1], keys.size - 1)] if keys.size else np.empty(0)
    lowest, greatest = (grid.least, grid.greatest) if grid else (scores[0], scores[-1])
    if grid:
        grid.look_up_following(p, ends[:-1], following)
    filled = table[:, :, 0].any(axis=1)
    low[filled] = np.concatenate([[lowest], following])[filled]
    high[filled] = np.concatenate([cuts, [greatest]])[filled]
    return status, cuts, low, high, table


class _Grid:
    """Rows per cell of the grid, and the cells that hold the wanted ranks."""

    def __init__(self, p: Scores, ranks: Ints) -> None:
        self.rows = shares(p.size, workers(p.size))
        self.status, self.counts, (self.least, self.greatest) = _count_grid(p, self.rows)
        self.total = self.counts.sum(axis=0)
        self.ranks = ranks

    def add_rows(self, p: Scores, y: Labels, table: Ints, moments: bool) -> tuple[int, Keys, Ints]:
        """Add most rows to the table.

        Return the sorted keys of the others, and where in them the cuts are.
        """
        if self.status:
            return (
                self.status | reference.faults(p, y),
                np.empty(0, np.uint64),
                np.empty(0, np.int64),
            )
        through = np.cumsum(self.total)
        # A cell that holds a wanted rank is opened: its rows will be sorted.
        self.opened = np.searchsorted(through, self.ranks, "left")
        self.is_open = np.zeros(GRID_CELLS, np.bool_)
        self.is_open[self.opened] = True
        self.open_through = np.cumsum(np.where(self.is_open, self.total, 0))[self.opened]
        bin_of = np.searchsorted(self.opened, np.arange(GRID_CELLS), "left").astype(np.uint16)
        bin_of[self.opened] = table.shape[0]

        def work(i: int) -> tuple[int, Keys]:
            keys = np.empty(self.counts[i, self.is_open].sum() + 1, np.uint64)
            n = c_int64()
            status = call(
                "grid_sums", (p, y, bin_of, tables[i], keys), *self.rows[i], moments, byref(n)
            )
            return status, keys[: n.value]

        tables = np.zeros((len(self.rows), table.shape[0] + 1, 2, 5), np.int64)
        statuses, keys = zip(*in_threads(work, len(self.rows)), strict=True)
        table += tables[:, :-1].sum(axis=0)
        places = self.open_through - through[self.opened] + self.ranks - 1
        collected = np.concatenate(keys)
        return (
            every_fault(statuses),
            _sort("sort_keys", collected, np.empty_like(collected)),
            places,
        )

    def look_up_following(self, p: Scores, ends: Ints, following: Floats) -> None:
        """Correct the score after a cut if the next score lies in a cell that was not opened."""
        occupied = np.flatnonzero(self.total)
        after = np.searchsorted(occupied, self.opened, "right")
        next_cell = occupied[np.minimum(after, occupied.size - 1)]
        is_asked = np.flatnonzero(
            (ends == self.open_through) & (after < occupied.size) & ~self.is_open[next_cell]
        )
        if is_asked.size == 0:
            return
        which = np.zeros(GRID_CELLS, np.uint16)
        which[next_cell[is_asked]] = is_asked + 1
        lowest = np.full((len(self.rows), following.size + 1), np.inf)
        over_rows("grid_lowest", self.rows, lambda i: (p, which, lowest[i]))
        following[is_asked] = lowest.min(axis=0)[which[next_cell[is_asked]]]


def cells(p: Scores, y: Labels) -> tuple[int, Floats, Ints, Ints]:
    """The status, and score, number of rows and events of each distinct score, ascending.

    With a fault in the rows there are no cells, and the status has every kind of fault.
    """
    key_type = np.uint32 if p.dtype == np.float32 else np.uint64

    def sorted_keys(low: int, high: int, room: int) -> tuple[int, Array]:
        return _pack_and_sort(p, y, np.empty((2, room + 1), key_type), low, high)

    status, pieces = _sorted_pieces(p, sorted_keys)
    if status:
        return (
            status | reference.faults(p, y),
            np.empty(0),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
        )
    firsts = _first_cells(pieces)
    score, (count, events) = np.empty(firsts[-1]), np.empty((2, firsts[-1]), np.int64)
    out = score, count, events
    in_threads(
        lambda i: call("collect_cells", (pieces[i], *out), len(pieces[i]), firsts[i]), len(pieces)
    )
    return status, score, count, events


def weighted_cells(
    p: Scores, y: Labels, w: Floats
) -> tuple[int, Floats, Ints, Floats, Floats, Floats, Floats]:
    """The same of weighted rows, with four sums of each distinct score.

    They are Σw, Σwy, Σw² and Σw²y, after the number of rows. With a fault there are no cells, and
    the status has every kind of fault.
    """

    def sorted_records(low: int, high: int, room: int) -> tuple[int, Array]:
        records, spare = np.empty((2, room + 1), _RECORD)
        n = c_int64()
        status = call("pack_records", (p, y, w, records), low, high, byref(n))
        return status, records[:0] if status else _sort("sort_weighted", records[: n.value], spare)

    status, pieces = _sorted_pieces(p, sorted_records)
    if status:
        none = np.empty(0)
        status |= reference.faults(p, y) | reference.weight_faults(w)
        return status, none, np.empty(0, np.int64), none, none, none, none
    firsts = _first_cells(pieces)
    score = np.empty(firsts[-1])
    sums = np.empty((4, firsts[-1]))
    count = np.empty(score.size, np.int64)
    name = "collect_weighted_cells"
    in_threads(
        lambda i: call(name, (pieces[i], score, count, sums), len(pieces[i]), firsts[i]),
        len(pieces),
    )
    return status, score, count, sums[0], sums[1], sums[2], sums[3]


def cell_sums(score: Floats, weight: Ints, events: Ints, start: Ints, table: Ints) -> None:
    call("cell_sums", (score, weight, events, start, table))


def float_sums(table: Ints) -> Floats:
    sums = np.empty((len(table), 6))
    call("float_sums", (table, sums))
    return sums


def pava(weight: Array, events: Array) -> Ints:
    kind = "counts" if weight.dtype == np.int64 else "weights"
    starts = np.empty(weight.size, np.int64)
    n_blocks = call(
        f"pava_{kind}", (weight, events, starts, np.empty_like(weight), np.empty_like(events))
    )
    return starts[:n_blocks].copy()


def block_pava(count: Ints, events: Ints, n_min: int, n_max: int) -> Ints:
    starts = np.empty(count.size, np.int64)
    arrays = count, events, starts, np.empty_like(count), np.empty_like(events)
    n_blocks = call("block_pava", arrays, n_min, n_max)
    return starts[:n_blocks].copy()


def top1(P: Scores, y: Ints, tolerance: float) -> tuple[int, Scores, Ints, NDArray[np.uint8]]:
    """The status, and of each row the largest probability, its class and whether that is the label.

    Rows must sum to 1 within `tolerance`; the first of several largest is taken.
    """
    n = P.shape[0]
    confidence = np.empty(n, P.dtype)
    predicted = np.empty(n, np.int64)
    correct = np.empty(n, np.uint8)
    rows = shares(n, workers(P.size))
    status = over_rows(
        "top1", rows, lambda _: (P, y, confidence, predicted, correct), float(tolerance)
    )
    return status, confidence, predicted, correct


def classwise_sums(P: Scores, y: Ints, n_bins: int, table: Ints, tolerance: float) -> int:
    rows = shares(P.shape[0], workers(P.size) if table.nbytes <= _OWN_CLASS_TABLE else 1)
    return _add_rows("classwise_sums", (P, y), table, rows, n_bins, float(tolerance))


def grid_moments(p: Floats, columns: Floats, table: Floats) -> None:
    call("grid_moments", (p, columns, table))


def residual_moments(p: Scores, y: Labels, table: Floats) -> int:
    rows = shares(p.size, workers(p.size) if table.nbytes <= _OWN_CLASS_TABLE else 1)
    return _add_rows("residual_moments", (p, y), table, rows)


def ranks(edges: Floats, p: Scores) -> tuple[int, Ints]:
    result = np.empty(p.size, np.int64)
    return _looked_up("ranks", (edges, p, _guide(edges, p), result)), result


def steps(edges: Floats, values: Floats, p: Scores) -> tuple[int, Floats]:
    result = np.empty(p.size)
    return _looked_up("steps", (edges, values, p, _guide(edges, p), result)), result


def _guide(edges: Floats, p: Scores) -> Ints:
    """Where among the edges to look for a score."""
    # A power of two of cells: a few for every edge, unless there are too few scores to repay the
    # work.
    cells = 1 << min(4 * edges.size, p.size // 4, _MOST_GUIDE_CELLS).bit_length()
    guide = np.empty(cells + 2, np.int64)
    call("make_ranks_guide", (edges, guide))
    return guide


def _looked_up(name: str, arrays: tuple[Array, ...]) -> int:
    n = arrays[-1].size
    return over_rows(name, shares(n, workers(n)), lambda _: arrays)


def venn_abers(corner_weight: Ints, corner_events: Ints, unit: int) -> tuple[Ints, Ints]:
    with_event, without = np.empty((2, 3, corner_weight.size - 1), np.int64)
    counts = np.empty(2, np.int64)
    hull = np.empty(corner_weight.size, np.int64)
    call("venn_abers", (corner_weight, corner_events, with_event, without, counts, hull), unit)
    return with_event[:, : counts[0]].copy(), without[:, : counts[1]].copy()


def _scores_of(keys: Keys) -> Floats:
    return (keys >> np.uint64(1)).view(np.float64)


def _sort(name: str, items: Array, spare: Array) -> Array:
    """Sort in two buffers; return the one that holds the result."""
    if call(name, (items, spare), len(items)):
        return spare[: len(items)]
    return items


def _pack_and_sort(p: Scores, y: Labels, memory: Array, low: int, high: int) -> tuple[int, Array]:
    """Sorted keys of the rows in grid cells low .. high-1, in one of the two rows of the memory."""
    keys, spare = memory
    n = c_int64()
    status = call("pack_keys", (p, y, keys), low, high, byref(n))
    return status, keys[:0] if status else _sort("sort_keys", keys[: n.value], spare)


def _count_grid(p: Scores, rows: list[Range]) -> tuple[int, Ints, tuple[float, float]]:
    """Rows per share and grid cell; least and greatest score."""
    counts = np.zeros((len(rows), GRID_CELLS), np.int64)
    extremes = np.empty((len(rows), 2))
    status = over_rows("grid_counts", rows, lambda i: (p, counts[i], extremes[i]))
    return status, counts, (float(extremes[:, 0].min()), float(extremes[:, 1].max()))


def _sorted_pieces(
    p: Scores, sorted_rows: Callable[[int, int, int], tuple[int, Array]]
) -> tuple[int, list[Array]]:
    """All rows in ascending order of score, in one piece per thread.

    Equal scores are in one piece.
    """
    n_workers = workers(p.size)
    if n_workers == 1:
        status, piece = sorted_rows(0, GRID_CELLS, p.size)
        return status, [piece]
    status, counts, _ = _count_grid(p, shares(p.size, n_workers))
    if status:
        return status, []
    through = np.cumsum(counts.sum(axis=0))
    inner = np.searchsorted(through, p.size * np.arange(1, n_workers) / n_workers)
    bounds = [0, *inner.tolist(), GRID_CELLS]
    below = np.insert(through, 0, 0)[bounds].tolist()

    def work(i: int) -> tuple[int, Array]:
        return sorted_rows(bounds[i], bounds[i + 1], below[i + 1] - below[i])

    statuses, pieces = zip(*in_threads(work, n_workers), strict=True)
    return every_fault(statuses), list(pieces)


def _first_cells(pieces: list[Array]) -> list[int]:
    """Where the cells of each piece begin, and how many there are in all."""
    numbers = in_threads(lambda i: call("count_cells", (pieces[i],), len(pieces[i])), len(pieces))
    return [0, *np.cumsum(numbers).tolist()]


def residual_sums(score: Floats, weight: Ints, events: Ints, first: Ints) -> Floats:
    sums = np.empty((7, first.size))
    call("residual_sums", (score, weight, events, first, sums))
    return sums


def outcome_tables(trials: Ints, odds: Floats, mode: Ints, low: Ints, start: Ints) -> Floats:
    cdf = np.empty(start[-1])
    call("outcome_tables", (trials, odds, mode, low, start, cdf))
    return cdf


def outcomes(words: Codes, thresholds: Codes, start: Ints, low: Ints) -> NDArray[np.int32]:
    drawn = np.empty(words.shape, np.int32)
    call("outcomes", (words, thresholds, start, low, drawn))
    return drawn


def softmax_derivatives(Z: Scores, y: Ints, w: Floats, beta: float) -> tuple[int, Floats]:
    rows = shares(Z.shape[0], workers(Z.size))
    sums = np.zeros((len(rows), 5))
    return over_rows(
        "softmax_derivatives", rows, lambda i: (Z, y, w, sums[i]), float(beta)
    ), sums.sum(axis=0)


def logit_tops(Z: Scores, y: Ints) -> tuple[int, Floats, Floats, Ints, NDArray[np.uint8]]:
    """The status, and of each row of logits what the softmax needs.

    That is the largest logit, the sum of exp(z − largest), its class, and whether that is
    the label.
    """
    n = Z.shape[0]
    top = np.empty(n)
    total = np.empty(n)
    predicted = np.empty(n, np.int64)
    correct = np.empty(n, np.uint8)
    status = over_rows(
        "logit_tops", shares(n, workers(Z.size)), lambda _: (Z, y, top, total, predicted, correct)
    )
    return status, top, total, predicted, correct


def softmax(Z: Scores, top: Floats, total: Floats, P: Floats) -> None:
    over_rows("softmax", shares(Z.shape[0], workers(Z.size)), lambda _: (Z, top, total, P))
