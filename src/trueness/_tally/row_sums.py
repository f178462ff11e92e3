"""Passes over the rows of a sample that sum them in bins, or in cells of equal score."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness import _kernels
from trueness._input.sample import Sample
from trueness._tally.bins import Bins
from trueness._tally.cells import MOST_WHOLE, Cells, Totals
from trueness._tally.rules import (
    BinRule,
    EqualMass,
    EqualWidth,
    edges_of,
    midpoints,
    refuse_uncovered,
)
from trueness.errors import InputError
from trueness.typing import Bools, Floats, Ints

_CHUNK = 1 << 16
# Dtypes are compared, not their names or types: np.longlong may be np.int64, and another byte order
# is another dtype.
_SCORES = frozenset(map(np.dtype, (np.float64, np.float32)))
_LABELS = frozenset(
    map(np.dtype, (np.bool_, np.uint8, np.int8, np.int32, np.int64, np.float32, np.float64))
)


def bins_of_rows(sample: Sample, rule: BinRule, *, moments: bool = False) -> Bins:
    """Sum the rows of each bin, in one pass without sorting if the edges are fixed."""
    if not sample.y.size:
        return Bins.empty(edges_of(rule))
    edges = rule.fixed_edges
    if edges is not None:
        uniform = isinstance(rule, EqualWidth)
        if sample.w is not None:
            return _weighted(sample, edges, uniform)
        table = np.zeros((edges.size - 1, 2, 5), dtype=np.int64)
        sum_rows(
            sample,
            lambda p, y, _: _kernels.bin_sums(p, y, edges, table, uniform=uniform, moments=moments),
            edges,
        )
        return Bins(edges, table, moments=moments)
    if isinstance(rule, EqualMass) and sample.w is None:
        return _equal_mass(sample, rule, moments)
    cells = cells_of_rows(sample, split_ties=rule.splits_ties)
    return Bins.from_cells(cells, rule.group(cells))


def add_to_tables(sample: Sample, group: NDArray[np.uint32], rule: BinRule, table: Ints) -> None:
    """Add unweighted rows to the sums of groups and bins, of shape (G, B, 2, 5), in one pass."""
    edges = edges_of(rule)
    uniform = isinstance(rule, EqualWidth)

    def add(p: NDArray[Any], y: NDArray[Any], rows: slice) -> int:
        return _kernels.grouped_bin_sums(
            p, y, np.ascontiguousarray(group[rows]), edges, table, uniform=uniform
        )

    sum_rows(sample, add, edges)


def _weighted(sample: Sample, edges: Floats, uniform: bool) -> Bins:
    """The sums of weighted rows in the bins between `edges`; an error if no weight is above 0."""
    w = sample.w
    assert w is not None
    sums = np.zeros((edges.size - 1, 7, 2))
    add = _kernels.weighted_bin_sums
    sum_rows(sample, lambda p, y, rows: add(p, y, w[rows], edges, sums, uniform=uniform), edges)
    total = sums.sum(axis=2)
    if not total[:, 1].sum() > 0:
        sample.explain()
    return Bins(
        edges,
        None,
        total[:, 1:],
        total[:, 0].astype(np.int64),
        moments=True,
        whole=count_rows(sample),
    )


def _equal_mass(sample: Sample, rule: EqualMass, moments: bool) -> Bins:
    """The sums of bins of equal mass, of unweighted rows.

    Bins that ties leave empty are omitted. An edge lies midway between the scores beside it.
    """
    p, y = native_rows(sample)
    status, _, low, high, table = _kernels.mass_sums(p, y, rule.ranks(p.size), moments=moments)
    if status:
        _refuse(sample, status)
    kept = table[:, :, 0].any(axis=1)
    inner = midpoints(high[kept][:-1], low[kept][1:])
    edges = np.concatenate([[0.0], inner, [1.0]])
    return Bins(edges, table[kept], moments=moments)


def events_of_rows(sample: Sample) -> int:
    """Count the events, whatever their weights; scores and labels are checked on the way."""
    block_events = []

    def count(p: NDArray[Any], y: NDArray[Any], _: slice) -> int:
        status, events = _kernels.events(p, y)
        block_events.append(events)
        return status

    sum_rows(sample, count)
    return sum(block_events)


def cells_of_rows(sample: Sample, *, split_ties: bool = False) -> Cells:
    """Sort the rows and sum those of equal score.

    Or, with `split_ties`, keep every row in stable order.
    """
    p, y = native_rows(sample)
    if not p.size:
        return Cells.empty()
    if sample.w is not None:
        return _weighted_cells(sample, p, y, split_ties)
    status, score, count, events = _kernels.cells(p, y)
    if status:
        _refuse(sample, status)
    if not split_ties:
        return Cells(score, count, count, events)
    order = np.argsort(p, kind="stable")
    ones = np.ones(p.size, dtype=np.int64)
    return Cells(p[order].astype(np.float64) + 0.0, ones, ones, y[order].astype(np.int64))


def _weighted_cells(sample: Sample, p: NDArray[Any], y: NDArray[Any], split_ties: bool) -> Cells:
    """The sums of weighted rows for each distinct score.

    Weights that count rows have whole sums. Rules that split ties take single rows and refuse
    weights; so are bad values refused, and weights that are all 0.
    """
    assert sample.w is not None
    if split_ties:
        raise InputError(
            "sample_weight",
            'cannot be combined with `ties="split"` or "printed", which take single rows',
        )
    status, score, count, *sums = _kernels.weighted_cells(p, y, sample.w)
    if status:
        _refuse(sample, status)
    if score.size == 0:
        sample.explain()
    weight, events, squares, event_squares = sums
    if count_rows(sample):
        return Cells(
            score, count, weight.astype(np.int64), events.astype(np.int64), squares, event_squares
        )
    return Cells(score, count, weight, events, squares, event_squares)


def count_rows(sample: Sample) -> bool:
    """Whether weights, if any, count rows.

    They are whole numbers, and not declared as sampling weights.
    """
    if sample.w is None:
        return True
    return not sample.importance and are_whole(sample.w)


def are_whole(w: Floats) -> bool:
    """Whether all weights are whole numbers, and sum to less than 2³⁵."""
    chunks = (w[i : i + _CHUNK] for i in range(0, w.size, _CHUNK))
    return float(w.sum()) < MOST_WHOLE and all(bool((c == np.floor(c)).all()) for c in chunks)


def native_rows(sample: Sample) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scores and labels as the kernels take them, copied only if they must be converted."""
    return _native(sample.p, _SCORES), _native(sample.y, _LABELS)


def sum_rows(
    sample: Sample, kernel: Callable[[Any, Any, slice], int], edges: Floats | None = None
) -> None:
    """Hand the rows to a kernel, all at once if they need no conversion, else chunk by chunk.

    Raise for every fault.
    """
    p = sample.p
    y = sample.y
    if _is_native(p, _SCORES) and _is_native(y, _LABELS):
        status = kernel(p, y, slice(0, p.size)) if p.size else 0
    else:
        status = 0
        for i in range(0, p.size, _CHUNK):
            rows = slice(i, i + _CHUNK)
            status |= kernel(_native(p[rows], _SCORES), _native(y[rows], _LABELS), rows)
    if status:
        _refuse(sample, status, edges)


def _is_native(array: NDArray[Any], dtypes: frozenset[np.dtype[Any]]) -> bool:
    flags = array.flags
    return flags.c_contiguous and flags.aligned and array.dtype in dtypes


def _native(array: NDArray[Any], dtypes: frozenset[np.dtype[Any]]) -> NDArray[Any]:
    if _is_native(array, dtypes):
        return array
    target = array.dtype.newbyteorder("=")
    return np.require(
        array, dtype=target if target in dtypes else np.float64, requirements=["C", "A"]
    )


def _refuse(sample: Sample, status: int, edges: Floats | None = None) -> None:
    if status == _kernels.OUTSIDE_EDGES and edges is not None:
        bad = np.asarray(sample.p)
        bad = bad[(bad < edges[0]) | (bad > edges[-1])]
        refuse_uncovered(edges, float(bad[0]))
    sample.explain()


_ENTRIES = 1 << 16


def blocks(p: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """A matrix as the kernels take it: in one block if no row needs conversion, else in several.

    There is at least one block, even without rows.
    """
    # Not pixels, of which some are copied at a time.
    if isinstance(p, np.ndarray) and _is_native(p, _SCORES):
        yield slice(0, p.shape[0]), p
        return
    step = max(1, _ENTRIES // p.shape[1])
    for i in range(0, max(1, p.shape[0]), step):
        yield slice(i, i + step), as_float(p[i : i + step])


def as_float(p: NDArray[Any]) -> NDArray[Any]:
    """Contiguous float32 or float64, which hold the same numbers."""
    return _native(p, _SCORES)


class UnsortedRows(NamedTuple):
    """Checked rows without weights in their original order, for measures that need no order."""

    score: NDArray[Any]  # the score of each row, float32 or float64
    events: NDArray[Any]  # the label of each row
    n_events: int
    weight: None = None  # each row weighs 1, and no array says so

    @property
    def totals(self) -> Totals:
        """Rows, weight and events, as of :class:`~trueness._tally.cells.Cells`."""
        return Totals(self.score.size, self.score.size, self.n_events)

    @property
    def size(self) -> int:
        return self.score.size

    def at(self, kept: Bools) -> "UnsortedRows":
        label = self.events[kept]
        return UnsortedRows(self.score[kept], label, int(np.count_nonzero(label)))


def unsorted_rows(sample: Sample) -> UnsortedRows:
    """The rows of a sample without weights; every value is checked here."""
    return UnsortedRows(*native_rows(sample), events_of_rows(sample))
