"""Slices: rows that share the values of one or more columns.

All of them, their sums, and a search for deep ones.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
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
        """Independent labels per unit of weight: by the spread of clusters, or their number where it says nothing."""
        found = self.weight / self.squares
        if self.spread is self.variance:
            return found
        inflation = self.spread / np.where(self.variance > 0, self.variance, np.inf)
        unknown = (self.events == 0) | (self.events == self.weight) | (self.variance == 0)
        by_clusters = np.minimum(found, self.clusters / self.weight)
        return np.where(unknown, by_clusters, found / np.maximum(1.0, inflation))

    def rate_limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits of the event rates.

        Labels count for more by the larger estimate of their variance given the score.
        """
        score, rate, given, left = (
            one / self.weight for one in (self.expected, self.events, self.given, self.left)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.fmin(
                score * (1 - score) / given, rate * (1 - rate) / (left - (rate - score) ** 2)
            )
        labels = self.weight * self.effective
        labels = labels * np.where(labels * given >= LEAST_VARIANCE, np.fmax(found, 1.0), 1.0)
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

    def at(self, some: Any) -> "SliceSums":
        """Some of the slices."""
        found = SliceSums._make(one[some] for one in self)
        if self.spread is self.variance:
            return found._replace(spread=found.variance)
        return found

    def conditions(self, i: int) -> list[tuple[int, int]]:
        """The conditions of one slice: columns and values."""
        return [
            (a, b)
            for a, b in zip(self.column[i].tolist(), self.code[i].tolist(), strict=True)
            if a >= 0
        ]


def joined(parts: Sequence[SliceSums]) -> SliceSums:
    """Slices of any depth, one after the other."""
    depth = max((part.column.shape[1] for part in parts), default=1)
    wide = [
        np.pad(v, ((0, 0), (0, depth - v.shape[1])), constant_values=-1)
        for p in parts
        for v in (p.column, p.code)
    ]
    rest = (np.concatenate(values) for values in list(zip(*parts, strict=True))[2:])
    found = SliceSums._make((np.concatenate(wide[::2]), np.concatenate(wide[1::2]), *rest))
    if parts[0].spread is parts[0].variance:
        return found._replace(spread=found.variance)
    return found


class Members:
    """Which rows belong to which slice: a sparse matrix of shape (slices, rows), in blocks."""

    def __init__(self, parts: Sequence[tuple[Any, Any]], n: int) -> None:
        """Take the rows of slices, one slice after the other, and the number of rows of each slice."""
        self.n = n
        self.blocks: list[tuple[Any, Any]] = []
        size = 0
        held = list[tuple[Any, Any]]()
        for part in [*parts, (np.empty(0, np.int32), np.empty(0, np.int64))]:
            size += part[0].size
            held.append(part)
            if size > _BLOCK or part[1].size == 0:
                index, sizes = (np.concatenate([one[k] for one in held]) for k in (0, 1))
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


def _frequent(code: Ints, rows: Ints, least: int) -> _Frequent:
    n = _counts(code, rows)
    value = np.flatnonzero((n >= least) & (n < rows.sum()))
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
    variance, squares = sums[5:] if len(sums) > 5 else (sums[3], sums[0])
    spread = variance
    clusters = n.astype(np.float64)
    if rows.cluster is not None:
        excess = by_cluster(rows.residual)
        size = by_cluster(rows.weight)
        excess = (
            excess - size * ((sums[1] - sums[2]) / sums[0])[:, np.newaxis] if centred else excess
        )
        spread, sizes = (np.asarray(one.power(2).sum(axis=1)).reshape(-1) for one in (excess, size))
        clusters = sums[0] ** 2 / np.maximum(sizes, 1e-300)
    weight, events, expected, given, left = sums[:5]
    column = np.broadcast_to(column, code.shape)
    return SliceSums(
        column, code, n, weight, events, expected, given, left, variance, squares, spread, clusters
    )


def all_slices(
    rows: SegmentRows, depth: int, least: int, *, members: bool = False
) -> tuple[SliceSums, Members | None]:
    """All slices of one column, or of up to `depth` columns, of at least `least` rows.

    A slice of two columns that has the rows of one of its values alone is that slice.
    """
    frequent = [_frequent(one.code, rows.rows, least) for one in rows.columns]
    usable = [i for i, one in enumerate(frequent) if one.value.size]
    terms = _terms(rows)
    found = list[SliceSums]()
    index = list[tuple[Ints, Ints]]()
    for some in (some for k in range(1, depth + 1) for some in combinations(usable, k)):
        sizes = [frequent[i].value.size + 1 for i in some]
        code = frequent[some[0]].code.astype(np.int64)
        for i, size in zip(some[1:], sizes[1:], strict=True):
            code *= size
            code += frequent[i].code
        cells = np.arange(int(np.prod(sizes)))
        if cells.size > max(1 << 16, 4 * rows.size):
            cells, code = (one.reshape(-1) for one in np.unique(code, return_inverse=True))
        n = _counts(code, rows.rows, cells.size)
        digits = np.unravel_index(cells, sizes)
        kept = n >= least
        for i, digit in zip(some, digits, strict=True):
            kept &= digit < frequent[i].value.size
            if len(some) > 1:
                kept &= n < np.append(frequent[i].n, 0)[digit]
        if not kept.any():
            continue
        values = np.stack(
            [frequent[i].value[d[kept]] for i, d in zip(some, digits, strict=True)], axis=1
        )
        sums = [np.bincount(code, term, cells.size)[kept].astype(np.float64) for term in terms]
        if members or rows.cluster is not None:
            place = np.where(kept, np.cumsum(kept) - 1, -1)[code]
        else:
            place = code
        here = np.flatnonzero(place >= 0)

        def by_cluster(term: Floats, place: Ints = place, here: Ints = here) -> Any:
            assert rows.cluster is not None
            return sparse.csr_array((term[here], (place[here], rows.cluster[here])))

        part = _with_sums(rows, np.array(some), values, n[kept], sums, by_cluster)
        enough = part.clusters >= part.fewest_clusters
        if not enough.all():
            place = np.append(np.where(enough, np.cumsum(enough) - 1, -1), -1)[place]
            here = np.flatnonzero(place >= 0)
            part = part.at(enough)
        found.append(part)
        if members:
            small = np.uint16 if part.n.size < 1 << 16 else np.int64
            order = here[np.argsort(place[here].astype(small), kind="stable")]
            index.append((order.astype(np.int32), np.bincount(place[here], minlength=part.n.size)))
    empty = np.empty((0, depth), dtype=np.int64)
    none = SliceSums._make((empty, empty, *[np.empty(0)] * (len(SliceSums._fields) - 2)))
    return joined(found) if found else none, Members(index, rows.size) if members else None


def mask_of(rows: SegmentRows, conditions: Sequence[tuple[int, int]]) -> Bools:
    """Which rows fulfil all conditions."""
    return np.asarray(
        np.logical_and.reduce([rows.columns[column].code == code for column, code in conditions])
    )


def some_slices(
    rows: SegmentRows, wanted: Sequence[Sequence[tuple[int, int]]]
) -> tuple[SliceSums, Members]:
    """The slices of these conditions."""
    index = [np.flatnonzero(mask_of(rows, one)).astype(np.int32) for one in wanted]
    members = Members(
        [(np.concatenate(index), np.array([one.size for one in index], dtype=np.int64))], rows.size
    )
    depth = max(map(len, wanted))
    pairs = np.array([[*one, *[(-1, -1)] * (depth - len(one))] for one in wanted], dtype=np.int64)
    return _of_members(rows, members, pairs[..., 0], pairs[..., 1]), members


def segment_sums(rows: SegmentRows) -> SliceSums:
    """Every value of every column; the spread is that around its gap."""
    members = Members([(rows.members.indices, np.diff(rows.members.indptr))], rows.size)
    code = np.concatenate([np.arange(len(one.values)) for one in rows.columns])
    return _of_members(rows, members, np.cumsum(code == 0) - 1, code, centred=True)


def _of_members(
    rows: SegmentRows, members: Members, column: Ints, code: Ints, *, centred: bool = False
) -> SliceSums:
    n, *sums = (members @ term.astype(np.float64) for term in (rows.rows, *_terms(rows)))

    def by_cluster(term: Floats) -> Any:
        assert rows.cluster is not None
        return sparse.vstack(members.by_cluster(term, rows.cluster)).tocsr()

    return _with_sums(rows, column, code, n.astype(np.int64), sums, by_cluster, centred=centred)


def search(rows: SegmentRows, depth: int, least: int) -> list[list[tuple[int, int]]]:
    """The slices that are furthest off: all of up to two columns are seen, then the worst extended column by column."""
    table, _ = all_slices(rows, min(depth, 2), least)
    worst = np.argsort(-np.abs(table.z), kind="stable")[:BEAM]
    found = [(abs(float(table.z[i])), sorted(table.conditions(i))) for i in worst]
    beam = [conditions for _, conditions in found if len(conditions) == 2]
    frequent = [_frequent(one.code, rows.rows, least) for one in rows.columns]
    for _ in range(3, depth + 1):
        deeper: dict[tuple[tuple[int, int], ...], float] = {}
        for conditions in beam:
            here = np.flatnonzero(mask_of(rows, conditions))
            taken = {column for column, _ in conditions}
            for column in set(range(len(frequent))) - taken:
                code = frequent[column].code[here]
                value = frequent[column].value
                n, excess, variance = (
                    np.bincount(code, term[here], value.size + 1)[:-1]
                    for term in (rows.rows, rows.residual, rows.variance)
                )
                for i in np.flatnonzero((n >= least) & (n < here.size) & (variance > 0)):
                    key = tuple(sorted([*conditions, (column, int(value[i]))]))
                    deeper[key] = abs(float(excess[i])) / float(np.sqrt(variance[i]))
        best = sorted(deeper.items(), key=lambda one: -one[1])[:BEAM]
        found += [(z, list(conditions)) for conditions, z in best]
        beam = [list(conditions) for conditions, _ in best]
    return [conditions for _, conditions in sorted(found, key=lambda one: -one[0])[:BEAM]]
