"""The kernels in NumPy: simple, always available, and what the compiled ones must return.

Callers pass contiguous arrays of the right type and length; values are checked here, during the
pass. Every function that looks at rows returns a status (see :mod:`trueness._kernels.library`),
zero if all is well. Otherwise it has a bit for every kind of fault in the data, and the other
outputs mean nothing.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.fixed import parts, square_parts
from trueness._kernels.grid import cell_of
from trueness._kernels.library import BAD_LABEL, BAD_SCORE, BAD_SUM, BAD_WEIGHT, OUTSIDE_EDGES
from trueness._kernels.reference_loops import (
    Floats,
    Ints,
    Scores,
    block_pava,
    cell_sums,
    float_sums,
    grid_moments,
    logit_tops,
    outcome_tables,
    outcomes,
    pava,
    ranks,
    residual_sums,
    softmax,
    softmax_derivatives,
    steps,
    venn_abers,
)

__all__ = [
    "bin_sums",
    "block_pava",
    "cell_sums",
    "cells",
    "classwise_sums",
    "encode_keys",
    "events",
    "float_sums",
    "grid_moments",
    "grouped_bin_sums",
    "logit_tops",
    "mass_sums",
    "outcome_tables",
    "outcomes",
    "pava",
    "ranks",
    "residual_moments",
    "residual_sums",
    "sketch_sums",
    "softmax",
    "softmax_derivatives",
    "steps",
    "top1",
    "venn_abers",
    "weighted_bin_sums",
    "weighted_cells",
]

Labels = NDArray[Any]
Codes = NDArray[np.uint32]
Bytes = NDArray[np.uint8]

# Half a dozen temporary arrays of one chunk stay below 1 MB, inside a second-level cache.
_CHUNK = 16_384

# A plain sum of m positive terms is off by less than m·1.1e-16, relatively.
_PLAIN_SUM = 4_096


def bin_sums(
    p: Scores, y: Labels, edges: Floats, table: Ints, *, uniform: bool, moments: bool
) -> int:
    r"""Count and sum the scores of each bin and label, in whole numbers.

    Scores are float32 or float64, labels 0 or 1 of type bool, uint8, int8, int32, int64, float32 or
    float64. Bin b is [edges[b], edges[b+1]), the last one closed on both sides; `uniform`: the
    edges are b / B, b = 0 .. B. The sums are added to `table`, of shape (B, 2, 5): [bin, label,
    (count, Σhi, Σlo, Σsq_hi, Σsq_lo)] with the parts of :func:`trueness._kernels.fixed.parts` and
    :func:`~trueness._kernels.fixed.square_parts`; the last two columns only with `moments`.

    Status: BAD_SCORE, BAD_LABEL, OUTSIDE_EDGES.
    """

    def add(p: Scores, y: Labels, _: slice) -> None:
        _add_parts(table, _bin_of(p, edges, uniform), y, p, moments)

    return _each_chunk(p, y, add, edges)


def grouped_bin_sums(
    p: Scores, y: Labels, group: Codes, edges: Floats, table: Ints, *, uniform: bool
) -> int:
    """The sums of :func:`bin_sums`, with moments, of each of G groups.

    They are added to `table`, of shape (G, B, 2, 5).

    `group` has the number of each row's group, below G.
    """

    def add(p: Scores, y: Labels, rows: slice) -> None:
        place = group[rows].astype(np.int64) * (edges.size - 1) + _bin_of(p, edges, uniform)
        _add_parts(table.reshape(-1, 2, 5), place, y, p, True)

    return _each_chunk(p, y, add, edges)


def encode_keys(
    start: Ints,
    text: Bytes,
    code: Codes,
    _slots: NDArray[np.uint64],
    known_start: Ints,
    known_text: Bytes,
    known: Ints,
) -> int:
    """Give every key, text[start[i]:start[i + 1]], the number of the first key equal to it.

    Returns how many are done.

    `known` is the number of different keys so far, which lie in `known_text` from `known_start` on;
    new ones are added as long as there is room. `_slots`, a power of two and more than the keys,
    find them in the compiled kernel.
    """
    raw = text.tobytes()
    old = known_text.tobytes()
    place = {old[a:b]: i for i, (a, b) in enumerate(pairwise(known_start[: known[0] + 1].tolist()))}
    for i, (a, b) in enumerate(pairwise(start.tolist())):
        if raw[a:b] not in place:
            new = len(place)
            end = known_start[len(place)]
            if new == known_start.size - 1 or end + b - a > known_text.size:
                return i
            known[0] = new + 1
            known_start[new + 1] = end + b - a
            known_text[end : end + b - a] = text[a:b]
            place[raw[a:b]] = new
        code[i] = place[raw[a:b]]
    return code.size


def events(p: Scores, y: Labels) -> tuple[int, int]:
    """Status (BAD_SCORE, BAD_LABEL) and the number of labels 1, for rows as of :func:`bin_sums`."""
    return faults(p, y), int(np.count_nonzero(y == 1))


def weighted_bin_sums(
    p: Scores, y: Labels, w: Floats, edges: Floats, table: Floats, *, uniform: bool
) -> int:
    """Sum weights, labels and scores of each bin, with compensation.

    Arguments as for :func:`bin_sums`.

    They are added to `table`, of shape (B, 7, 2): [bin, (rows with w > 0, Σw, Σw², Σwy, Σwp, Σwp²,
    Σwyp), (sum, compensation)]; the value is sum + compensation. A row of weight 0 is checked and
    otherwise left out. Status: BAD_SCORE, BAD_LABEL, OUTSIDE_EDGES, BAD_WEIGHT.
    """
    status = 0
    n_bins = edges.size - 1
    every_bin = np.arange(min(n_bins, _PLAIN_SUM))
    for rows in _chunks(p.size, _PLAIN_SUM):
        faults = _score_faults(p[rows], edges) | _label_faults(y[rows]) | weight_faults(w[rows])
        status |= faults
        if faults:
            continue
        kept = w[rows] > 0
        weight = w[rows][kept]
        score = p[rows][kept].astype(np.float64)
        label = y[rows][kept].astype(np.float64)
        index = _bin_of(score, edges, uniform)
        which, position = (
            np.unique(index, return_inverse=True) if n_bins > _PLAIN_SUM else (every_bin, index)
        )
        product = weight * score
        terms = (
            np.ones_like(weight),
            weight,
            weight * weight,
            weight * label,
            product,
            product * score,
            product * label,
        )
        sums = [np.bincount(position, term, minlength=which.size) for term in terms]
        add_compensated(table, which, np.column_stack(sums))
    return status


def mass_sums(
    p: Scores, y: Labels, ranks: Ints, *, moments: bool
) -> tuple[int, Floats, Floats, Floats, Ints]:
    r"""Cut the scores at given ranks; count and sum each bin and label, in whole numbers.

    Bin j holds the scores s with cuts[j−1] < s ≤ cuts[j]; the last, those above all cuts. Equal
    scores are never parted, so a bin may be empty.

    `ranks`, of shape (J,), increase strictly, each in 1 .. n−1; J may be 0. Returns the status
    (BAD_SCORE, BAD_LABEL), the cuts (the ranks[j]-th smallest scores), the smallest and the largest
    score of each bin (nan when it is empty) and a table as of :func:`bin_sums`.
    """
    n_bins = ranks.size + 1
    cuts = np.full(ranks.size, np.nan)
    low = np.full(n_bins, np.nan)
    high = np.full(n_bins, np.nan)
    table = np.zeros((n_bins, 2, 5), np.int64)
    status = faults(p, y)
    if status:
        return status, cuts, low, high, table
    ascending = np.sort(_without_minus_zero(p))
    cuts[:] = ascending[ranks - 1]
    ends = np.append(np.searchsorted(ascending, cuts, "right"), p.size)
    starts = np.insert(ends[:-1], 0, 0)
    filled = starts < ends
    low[filled] = ascending[starts[filled]]
    high[filled] = ascending[ends[filled] - 1]
    for rows in _chunks(p.size):
        _add_parts(table, np.searchsorted(cuts, p[rows], "left"), y[rows], p[rows], moments)
    return status, cuts, low, high, table


def sketch_sums(p: Scores, y: Labels, table: Ints, ends: Floats) -> int:
    """The sums of :func:`bin_sums`, with moments, of each cell of :mod:`trueness._kernels.grid`.

    They are added to `table`, of shape (GRID_CELLS, 2, 5). `ends`, of shape (GRID_CELLS, 2), is
    widened to the least and the greatest score of each cell; without rows they are inf and -inf.
    Status: BAD_SCORE, BAD_LABEL.
    """

    def add(p: Scores, y: Labels, _: slice) -> None:
        cell = cell_of(p)
        _add_parts(table, cell, y, p, moments=True)
        np.minimum.at(ends[:, 0], cell, _without_minus_zero(p))
        np.maximum.at(ends[:, 1], cell, _without_minus_zero(p))

    return _each_chunk(p, y, add)


def residual_moments(p: Scores, y: Labels, table: Floats) -> int:
    """Sum residuals y − p as :func:`~trueness._kernels.reference_loops.grid_moments` does columns.

    They are added to `table`, of shape (n + 1, 4): [cell, power 0 .. 3]. Status: BAD_SCORE,
    BAD_LABEL.
    """
    status = faults(p, y)
    if not status:
        score = p.astype(np.float64)
        grid_moments(score, (y - score)[None], table[None])
    return status


def cells(p: Scores, y: Labels) -> tuple[int, Floats, Ints, Ints]:
    """Status (BAD_SCORE, BAD_LABEL), distinct scores, and rows and events of each.

    The scores ascend; zero is +0.0.
    """
    status = faults(p, y)
    if status:
        return status, np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
    # For numbers ≥ 0 the order of the bits is the order of the numbers.
    keys = _without_minus_zero(p).view(np.uint64) << np.uint64(1)
    keys |= y.astype(np.uint64)
    keys.sort()
    ordered = keys >> np.uint64(1)
    starts = _run_starts(ordered)
    count = np.diff(starts, append=keys.size)
    events_before = np.concatenate(([0], np.cumsum(keys & np.uint64(1), dtype=np.int64)))
    events = np.diff(events_before[np.append(starts, keys.size)])
    return status, ordered[starts].view(np.float64), count, events


def weighted_cells(
    p: Scores, y: Labels, w: Floats
) -> tuple[int, Floats, Ints, Floats, Floats, Floats, Floats]:
    """The same for the rows of positive weight: their number, Σw, Σwy, Σw² and Σw²y of each score.

    Also BAD_WEIGHT.
    """
    status = faults(p, y) | weight_faults(w)
    kept = w > 0
    if status or not kept.any():
        none = np.empty(0)
        return status, none, np.empty(0, np.int64), none, none, none, none
    score = _without_minus_zero(p[kept])
    label = y[kept].astype(np.float64)
    weight = w[kept]
    order = np.argsort(score, kind="stable")
    score = score[order]
    label = label[order]
    weight = weight[order]
    starts = _run_starts(score)
    count = np.diff(starts, append=score.size)
    terms = weight, weight * label, weight * weight, weight * weight * label
    weight, events, squares, event_squares = (np.add.reduceat(term, starts) for term in terms)
    return status, score[starts], count, weight, events, squares, event_squares


def top1(P: Scores, y: Ints, tolerance: float) -> tuple[int, Scores, Ints, NDArray[np.uint8]]:
    r"""The largest probability of each row, where it stands, and whether it was right.

    `y` holds class codes 0 .. K−1; `tolerance` is how far a row's float64 sum may be from one.
    Returns the status (BAD_SCORE, BAD_LABEL, BAD_SUM), the row's maximum, the smallest index that
    attains it, and whether that is y.
    """
    n, n_classes = P.shape
    confidence = np.zeros(n, P.dtype)
    predicted = np.zeros(n, np.int64)
    status = 0
    for rows in _chunks(n, max(1, _CHUNK // max(1, n_classes))):
        status |= _simplex_faults(P[rows], y[rows], tolerance)
        predicted[rows] = P[rows].argmax(axis=1)
        confidence[rows] = np.take_along_axis(P[rows], predicted[rows, None], axis=1)[
            :, 0
        ] + P.dtype.type(0)
    return status, confidence, predicted, (predicted == y).astype(np.uint8)


def classwise_sums(P: Scores, y: Ints, n_bins: int, table: Ints, tolerance: float) -> int:
    """Count and sum the scores of each class, bin of equal width and one-vs-rest label.

    Arguments as for :func:`top1`.

    They are added to `table`, of shape (K, n_bins, 2, 3): [class, bin, label (y == class), (count,
    Σhi, Σlo)]. Status: BAD_SCORE, BAD_LABEL, BAD_SUM.
    """
    n, n_classes = P.shape
    edges = np.arange(n_bins + 1) / n_bins
    flat = table.reshape(n_classes * n_bins, 2, 3)
    first_bin = np.arange(n_classes) * n_bins
    status = 0
    for rows in _chunks(n, max(1, _CHUNK // max(1, n_classes))):
        faults = _simplex_faults(P[rows], y[rows], tolerance)
        status |= faults
        if not faults:
            scores = P[rows].ravel()
            labels = (y[rows, None] == np.arange(n_classes)).ravel()
            where = _bin_of(scores, edges, uniform=True).reshape(-1, n_classes) + first_bin
            _add_parts(flat, where.ravel(), labels, scores, moments=False)
    return status


def _chunks(n: int, size: int = _CHUNK) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _each_chunk(
    p: Scores, y: Labels, add: Callable[[Scores, Labels, slice], None], edges: Floats | None = None
) -> int:
    """Hand each chunk of rows without faults to `add`; every fault of the others."""
    status = 0
    for rows in _chunks(p.size):
        faults = _score_faults(p[rows], edges) | _label_faults(y[rows])
        status |= faults
        if not faults:
            add(p[rows], y[rows], rows)
    return status


def faults(p: Scores, y: Labels) -> int:
    """Every kind of fault in scores and labels."""
    return _each_chunk(p, y, lambda *_: None)


def _score_faults(p: Scores, edges: Floats | None = None) -> int:
    """BAD_SCORE if a score leaves [0, 1] or is nan, OUTSIDE_EDGES if one leaves the edges; or 0.

    A score that is bad is not outside the edges as well.
    """
    if p.size == 0:
        return 0
    low = p.min()
    high = p.max()
    # Comparisons with nan are false, so nan ends up here too.
    faults = 0 if low >= 0 and high <= 1 else BAD_SCORE
    if edges is not None and not (low >= edges[0] and high <= edges[-1]):
        inside = p[(p >= 0) & (p <= 1)]
        if inside.size and not (inside.min() >= edges[0] and inside.max() <= edges[-1]):
            faults |= OUTSIDE_EDGES
    return faults


def _label_faults(y: Labels) -> int:
    """BAD_LABEL if a label is neither 0 nor 1, or 0; truth values need no look."""
    if y.size == 0 or y.dtype.kind == "b":
        return 0
    if y.dtype.kind == "f":
        if ((y != 0) & (y != 1)).any():
            return BAD_LABEL
        return 0
    if y.min() < 0 or y.max() > 1:
        return BAD_LABEL
    return 0


def weight_faults(w: Floats) -> int:
    """BAD_WEIGHT, or 0."""
    if w.size == 0 or (w.min() >= 0 and w.max() < np.inf):
        return 0
    return BAD_WEIGHT


def _simplex_faults(P: Scores, y: Ints, tolerance: float) -> int:
    """The kinds of fault in a matrix of probabilities with labels 0 to K − 1.

    Rows with a bad score are not asked for their sum, which must be 1 within `tolerance`.
    """
    faults = BAD_LABEL if y.size and (y.min() < 0 or y.max() >= P.shape[1]) else 0
    valid = ((P >= 0) & (P <= 1)).all(axis=1)
    if not valid.all():
        faults |= BAD_SCORE
    distance = np.abs(P[valid].sum(axis=1, dtype=np.float64) - 1)
    if (distance <= tolerance).all():
        return faults
    return faults | BAD_SUM


def _bin_of(p: Scores, edges: Floats, uniform: bool) -> NDArray[np.intp]:
    """The bin of each score, closed on the left; a score at the last edge is in the last bin.

    `uniform` edges are b / B, and are found by a multiplication in place of a search.
    """
    last = edges.size - 2
    if not uniform:
        return np.minimum(np.searchsorted(edges, p, "right") - 1, last)
    # The multiplier is a little larger than B, so that rounding never puts a score too low; then
    # one comparison with the edge on its left finds those that were put one bin too high.
    index = np.multiply(p, (last + 1) * (1 + 2.0**-50), dtype=np.float64).astype(np.intp)
    index -= edges.take(index) > p
    return np.minimum(index, last, out=index)


def _add_parts(table: Ints, index: NDArray[np.intp], y: Labels, p: Scores, moments: bool) -> None:
    """Add the rows of one chunk to table[index, y], in place.

    The columns of the table are the number of rows, Σhi and Σlo of the scores and, with `moments`,
    of their squares: whole numbers (see `parts`). Large tables are added to row by row, since a
    count of all their cells for each chunk would cost more.
    """
    flat = table.reshape(-1, table.shape[-1])
    where = index * 2
    where += y if y.dtype.kind in "bu" else y.astype(np.intp, copy=False)
    columns = [*parts(p), *(square_parts(p) if moments else ())]
    if flat.shape[0] > _CHUNK:
        np.add.at(flat[:, 0], where, 1)
        for j, column in enumerate(columns, start=1):
            np.add.at(flat[:, j], where, column.astype(np.int64))
        return
    flat[:, 0] += np.bincount(where, minlength=flat.shape[0])
    for j, column in enumerate(columns, start=1):
        # Exact in float64: the sum of one chunk stays below 2⁴¹.
        flat[:, j] += np.bincount(where, column, minlength=flat.shape[0]).astype(np.int64)


def add_compensated(table: Floats, which: NDArray[np.intp], terms: Floats) -> None:
    """Neumaier's step: table[which, :, 0] += terms.

    What rounding lost goes to table[which, :, 1].
    """
    before = table[which, :, 0]
    after = before + terms
    larger = np.abs(before) >= np.abs(terms)
    table[which, :, 1] += np.where(larger, (before - after) + terms, (terms - after) + before)
    table[which, :, 0] = after


def _without_minus_zero(p: Scores) -> Floats:
    return np.add(p, 0.0, dtype=np.float64)


def _run_starts(ascending: NDArray[Any]) -> NDArray[np.intp]:
    """Index of the first of each run of equal values."""
    if ascending.size == 0:
        return np.empty(0, np.intp)
    return np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
