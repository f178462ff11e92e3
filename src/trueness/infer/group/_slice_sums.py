"""Slices: rows that share the values of one or more columns.

All of them, their sums, and a search for deep ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from trueness._numerics.proportions import clopper_pearson
from trueness._tally.clusters import FEW_CLUSTERS
from trueness.infer.group._segment_rows import SegmentRows
from trueness.infer.group._segment_tests import LEAST_VARIANCE
from trueness.typing import Bools, Floats, Ints

# Entries of a block of memberships that are multiplied at a time.
_BLOCK = 1 << 22
# Slices that a search extends by one more column, and that it hands on to be tested.
BEAM = 100


class SliceSums(NamedTuple):
    """Slices, and the sums of their rows."""

    column: Ints
    """The columns of the conditions of each slice, of shape (slices, depth); −1 where there are
    fewer."""
    code: Ints
    """The value of each of these columns."""
    n: Ints
    """Rows."""
    weight: Floats
    events: Floats
    expected: Floats
    given: Floats
    """Σwp(1 − p)."""
    left: Floats
    """Σw(y − p)²."""
    variance: Floats
    """Of Σwy, if the scores are calibrated and rows are independent."""
    squares: Floats
    """Σw² over labels."""
    spread: Floats
    """Σ over clusters of (Σw(y − p))²; without clusters, the variance."""
    clusters: Floats
    """The number of clusters of equal size that the clusters are worth; without clusters, rows."""

    @property
    def effective(self) -> Floats:
        """Independent labels per unit of weight.

        With clusters, by their spread, or by their number where the spread says nothing.
        """
        by_weights = self.weight / self.squares
        if self.spread is self.variance:
            return by_weights
        inflation = self.spread / np.where(self.variance > 0, self.variance, np.inf)
        unknown = (self.events == 0) | (self.events == self.weight) | (self.variance == 0)
        by_number = np.minimum(by_weights, self.clusters / self.weight)
        return np.where(unknown, by_number, by_weights / np.maximum(1.0, inflation))

    def rate_limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits of the event rates.

        Labels count for more by the larger estimate of their variance given the score.
        """
        score = self.expected / self.weight
        rate = self.events / self.weight
        label_variance = self.given / self.weight
        square_error = self.left / self.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            by_scores = score * (1 - score) / label_variance
            by_labels = rate * (1 - rate) / (square_error - (rate - score) ** 2)
        gain = np.fmax(np.fmin(by_scores, by_labels), 1.0)
        labels = self.weight * self.effective
        labels = labels * np.where(labels * label_variance >= LEAST_VARIANCE, gain, 1.0)
        return clopper_pearson(rate * labels, labels, level)

    @property
    def excess(self) -> Floats:
        """Σw(y − p)."""
        return self.events - self.expected

    @property
    def fewest_clusters(self) -> float:
        """The fewest clusters that a slice may have; 0 without clusters."""
        if self.spread is self.variance:
            return 0
        return FEW_CLUSTERS

    @property
    def z(self) -> Floats:
        """The excess in units of its standard deviation.

        Impossible labels are infinitely far off.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.excess == 0, 0.0, self.excess / np.sqrt(self.spread))

    def at(self, place: Any) -> "SliceSums":
        """Some of the slices."""
        return SliceSums._make(values[place] for values in self)._like(self)

    def _like(self, origin: "SliceSums") -> "SliceSums":
        """The same sums; without clusters in `origin`, the spread is the very variance again."""
        if origin.spread is origin.variance:
            return self._replace(spread=self.variance)
        return self

    def conditions(self, i: int) -> list[tuple[int, int]]:
        """The conditions of one slice: columns and values."""
        pairs = zip(self.column[i].tolist(), self.code[i].tolist(), strict=True)
        return [(column, code) for column, code in pairs if column >= 0]


def joined(parts: Sequence[SliceSums]) -> SliceSums:
    """Slices of any depth, one after the other."""
    depth = max((part.column.shape[1] for part in parts), default=1)

    def wide(values: Ints) -> Ints:
        return np.pad(values, ((0, 0), (0, depth - values.shape[1])), constant_values=-1)

    column = np.concatenate([wide(part.column) for part in parts])
    code = np.concatenate([wide(part.code) for part in parts])
    sums = (np.concatenate(values) for values in list(zip(*parts, strict=True))[2:])
    return SliceSums._make((column, code, *sums))._like(parts[0])


class Members:
    """Which rows belong to which slice: a sparse matrix of shape (slices, rows), in blocks."""

    def __init__(self, parts: Sequence[tuple[Any, Any]], n: int) -> None:
        """Take the rows of slices, one slice after the other, and the number of rows of each.

        `n` is the number of all rows.
        """
        self.n = n
        self.blocks: list[tuple[Any, Any]] = []
        size = 0
        held = list[tuple[Any, Any]]()
        # An empty part closes the last block.
        for part in [*parts, (np.empty(0, np.int32), np.empty(0, np.int64))]:
            size += part[0].size
            held.append(part)
            if size > _BLOCK or part[1].size == 0:
                index = np.concatenate([rows for rows, _ in held])
                sizes = np.concatenate([counts for _, counts in held])
                self.blocks.append((index, np.concatenate([[0], np.cumsum(sizes)])))
                size = 0
                held = []
        self._ones = np.ones(max(index.size for index, _ in self.blocks), dtype=np.float32)

    def matrices(self, dtype: Any = np.float32) -> Iterator[Any]:
        """The blocks as sparse matrices of ones."""
        ones = self._ones.astype(dtype, copy=False)
        for index, start in self.blocks:
            yield sparse.csr_array(
                (ones[: index.size], index, start), shape=(start.size - 1, self.n)
            )

    def __matmul__(self, values: Any) -> Any:
        """Sums over the rows of each slice."""
        return np.concatenate([block @ values for block in self.matrices(values.dtype)])

    def by_cluster(self, values: Floats, cluster: Ints) -> list[Any]:
        """Sums over the rows of each slice and cluster, in blocks of sparse matrices."""
        units = sparse.csr_array((values, (np.arange(self.n), cluster)))
        return [block @ units for block in self.matrices(np.float64)]


class _Frequent(NamedTuple):
    """The values of a column that have enough rows, but not all."""

    value: Ints
    n: Ints
    code: NDArray[np.int32]
    """The number of the value of each row among these; one more for any other."""


def _counts(code: Ints, rows: Ints, size: int = 0) -> Ints:
    """Rows by code; entries of sums hold several."""
    return np.bincount(code, rows, size).astype(np.int64)


def _frequent(code: Ints, rows: Ints, fewest: int) -> _Frequent:
    """The values of at least `fewest` rows."""
    n = _counts(code, rows)
    value = np.flatnonzero((n >= fewest) & (n < rows.sum()))
    place = np.full(n.size, value.size, dtype=np.int32)
    place[value] = np.arange(value.size)
    return _Frequent(value, n[value], place[code])


def _terms(rows: SegmentRows) -> list[Any]:
    """What is summed over the rows of a slice, in the order of the fields of `SliceSums`."""
    p = rows.score
    w = rows.weight
    terms = [w, rows.events, w * p, w * p * (1 - p), rows.events * (1 - 2 * p) + w * p * p]
    if rows.whole:
        return terms
    return [*terms, rows.variance, rows.count * rows.scale**2]


def _with_sums(
    rows: SegmentRows,
    column: Any,
    code: Ints,
    n: Ints,
    sums: list[Floats],
    by_cluster: Any,
    *,
    centred: bool = False,
) -> SliceSums:
    """Slices with their sums; `by_cluster` sums residuals and weights over slices and clusters."""
    weight, events, expected, given, left = sums[:5]
    variance, squares = sums[5:] if len(sums) > 5 else (given, weight)
    spread = variance
    clusters = n.astype(np.float64)
    if rows.cluster is not None:
        excess = by_cluster(rows.residual)
        size = by_cluster(rows.weight)
        if centred:
            excess = excess - size * ((events - expected) / weight)[:, np.newaxis]
        spread = _row_sums(excess.power(2))
        clusters = weight**2 / np.maximum(_row_sums(size.power(2)), 1e-300)
    return SliceSums(
        column=np.broadcast_to(column, code.shape),
        code=code,
        n=n,
        weight=weight,
        events=events,
        expected=expected,
        given=given,
        left=left,
        variance=variance,
        squares=squares,
        spread=spread,
        clusters=clusters,
    )


def _row_sums(matrix: Any) -> Floats:
    """The sum of each row of a sparse matrix."""
    return np.asarray(matrix.sum(axis=1)).reshape(-1)


class _Crossing(NamedTuple):
    """The values of some columns together: cells, of which some are slices."""

    code: Ints
    """The cell of each row."""
    n: Ints
    """Rows of each cell."""
    is_slice: Bools
    """Whether a cell has enough rows of frequent values, and fewer than each value alone."""
    values: Ints
    """The values of each slice, of shape (slices, columns)."""


def _crossing(rows: SegmentRows, columns: list[_Frequent], fewest: int) -> _Crossing:
    """Every combination of the frequent values of some columns, and which of them are slices.

    A slice has at least `fewest` rows.
    """
    # The last code of a column stands for all values that are not frequent.
    sizes = [column.value.size + 1 for column in columns]
    # The values of a row as digits of one number; cells are the numbers there may be.
    code = columns[0].code.astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        code *= size
        code += column.code
    cells = np.arange(int(np.prod(sizes)))
    if cells.size > max(1 << 16, 4 * rows.size):
        cells, code = np.unique(code, return_inverse=True)
        code = code.reshape(-1)
    n = _counts(code, rows.rows, cells.size)
    digits = np.unravel_index(cells, sizes)
    is_slice = n >= fewest
    for column, digit in zip(columns, digits, strict=True):
        is_slice &= digit < column.value.size
        if len(columns) > 1:
            is_slice &= n < np.append(column.n, 0)[digit]
    values = [column.value[digit[is_slice]] for column, digit in zip(columns, digits, strict=True)]
    return _Crossing(code, n, is_slice, np.stack(values, axis=1))


def all_slices(
    rows: SegmentRows, depth: int, fewest: int, *, members: bool = False
) -> tuple[SliceSums, Members | None]:
    """All slices of one column, or of up to `depth` columns, of at least `fewest` rows.

    A slice of two columns that has the rows of one of its values alone is that slice.
    """
    frequent = [_frequent(column.code, rows.rows, fewest) for column in rows.columns]
    usable = [i for i, column in enumerate(frequent) if column.value.size]
    terms = _terms(rows)
    parts = list[SliceSums]()
    index = list[tuple[Ints, Ints]]()
    for columns in chain.from_iterable(combinations(usable, k) for k in range(1, depth + 1)):
        crossing = _crossing(rows, [frequent[i] for i in columns], fewest)
        kept = crossing.is_slice
        if not kept.any():
            continue
        code = crossing.code
        sums = [np.bincount(code, term, kept.size)[kept].astype(np.float64) for term in terms]
        place = code
        if members or rows.cluster is not None:
            place = np.where(kept, np.cumsum(kept) - 1, -1)[code]
        here = np.flatnonzero(place >= 0)

        def by_cluster(term: Floats, place: Ints = place, here: Ints = here) -> Any:
            assert rows.cluster is not None
            return sparse.csr_array((term[here], (place[here], rows.cluster[here])))

        part = _with_sums(
            rows, np.array(columns), crossing.values, crossing.n[kept], sums, by_cluster
        )
        enough = part.clusters >= part.fewest_clusters
        if not enough.all():
            place = np.append(np.where(enough, np.cumsum(enough) - 1, -1), -1)[place]
            here = np.flatnonzero(place >= 0)
            part = part.at(enough)
        parts.append(part)
        if members:
            # NumPy sorts small integers by radix, in linear time.
            small = np.uint16 if part.n.size < 1 << 16 else np.int64
            order = here[np.argsort(place[here].astype(small), kind="stable")]
            index.append((order.astype(np.int32), np.bincount(place[here], minlength=part.n.size)))
    memberships = Members(index, rows.size) if members else None
    if parts:
        return joined(parts), memberships
    empty = np.empty((0, depth), dtype=np.int64)
    no_sums = [np.empty(0)] * (len(SliceSums._fields) - 2)
    return SliceSums._make((empty, empty, *no_sums)), memberships


def mask_of(rows: SegmentRows, conditions: Sequence[tuple[int, int]]) -> Bools:
    """Which rows fulfil all conditions."""
    return np.asarray(
        np.logical_and.reduce([rows.columns[column].code == code for column, code in conditions])
    )


def some_slices(
    rows: SegmentRows, wanted: Sequence[Sequence[tuple[int, int]]]
) -> tuple[SliceSums, Members]:
    """The slices of these conditions."""
    index = [np.flatnonzero(mask_of(rows, conditions)).astype(np.int32) for conditions in wanted]
    sizes = np.array([places.size for places in index], dtype=np.int64)
    members = Members([(np.concatenate(index), sizes)], rows.size)
    pairs = np.full((len(wanted), max(map(len, wanted)), 2), -1, dtype=np.int64)
    for i, conditions in enumerate(wanted):
        pairs[i, : len(conditions)] = conditions
    return _of_members(rows, members, pairs[..., 0], pairs[..., 1]), members


def segment_sums(rows: SegmentRows) -> SliceSums:
    """Every value of every column; the spread is that around its gap."""
    members = Members([(rows.members.indices, np.diff(rows.members.indptr))], rows.size)
    code = np.concatenate([np.arange(len(column.values)) for column in rows.columns])
    column_number = np.cumsum(code == 0) - 1
    return _of_members(rows, members, column_number, code, centred=True)


def _of_members(
    rows: SegmentRows, members: Members, column: Ints, code: Ints, *, centred: bool = False
) -> SliceSums:
    """The sums of the rows that belong to each slice, from the membership of every row.

    `column` and `code` are the conditions of each slice, as in `SliceSums`. With `centred`, the
    spread over clusters is that around the gap of the slice.
    """
    # Sums are floats, also those of counts, because memberships are multiplied in one type.
    n, *sums = (members @ term.astype(np.float64) for term in (rows.rows, *_terms(rows)))

    def by_cluster(term: Floats) -> Any:
        """The sums of a term in a sparse matrix of shape (slices, clusters)."""
        assert rows.cluster is not None
        return sparse.vstack(members.by_cluster(term, rows.cluster)).tocsr()

    return _with_sums(rows, column, code, n.astype(np.int64), sums, by_cluster, centred=centred)


def search(rows: SegmentRows, depth: int, fewest: int) -> list[list[tuple[int, int]]]:
    """The slices that are furthest off.

    All slices of up to two columns are seen; then the worst are extended column by column.
    """
    table, _ = all_slices(rows, min(depth, 2), fewest)
    worst = np.argsort(-np.abs(table.z), kind="stable")[:BEAM]
    candidates = [(abs(float(table.z[i])), sorted(table.conditions(i))) for i in worst]
    beam = [conditions for _, conditions in candidates if len(conditions) == 2]
    frequent = [_frequent(column.code, rows.rows, fewest) for column in rows.columns]
    for _ in range(3, depth + 1):
        deeper: dict[tuple[tuple[int, int], ...], float] = {}
        for conditions in beam:
            deeper.update(_extended(rows, frequent, conditions, fewest))
        best = _largest((z, list(conditions)) for conditions, z in deeper.items())
        candidates += best
        beam = [conditions for _, conditions in best]
    return [conditions for _, conditions in _largest(candidates)]


def _extended(
    rows: SegmentRows, frequent: list[_Frequent], conditions: list[tuple[int, int]], fewest: int
) -> Iterator[tuple[tuple[tuple[int, int], ...], float]]:
    """The slices of one more condition, and how far each is off, in standard errors."""
    here = np.flatnonzero(mask_of(rows, conditions))
    taken = {column for column, _ in conditions}
    for column in set(range(len(frequent))) - taken:
        code = frequent[column].code[here]
        value = frequent[column].value
        n, excess, variance = (
            np.bincount(code, term[here], value.size + 1)[:-1]
            for term in (rows.rows, rows.residual, rows.variance)
        )
        for i in np.flatnonzero((n >= fewest) & (n < here.size) & (variance > 0)):
            key = tuple(sorted([*conditions, (column, int(value[i]))]))
            yield key, abs(float(excess[i])) / float(np.sqrt(variance[i]))


def _largest(
    candidates: Iterable[tuple[float, list[tuple[int, int]]]],
) -> list[tuple[float, list[tuple[int, int]]]]:
    """The candidates that are furthest off, at most `BEAM` of them."""
    return sorted(candidates, key=lambda candidate: -candidate[0])[:BEAM]
