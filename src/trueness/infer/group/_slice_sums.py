"""Slices: rows that share the values of one or more columns.

All of them, their sums, and a search for deep ones.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from trueness._numerics.proportions import clopper_pearson
from trueness._tally.clusters import FEW_CLUSTERS
from trueness.infer.group._segment_rows import SegmentRows, order_by_code
from trueness.infer.group._segment_tests import LEAST_VARIANCE
from trueness.typing import Bools, Floats, Ints

# Entries of a block of memberships that are multiplied at a time: 32 MiB of floats.
_BLOCK = 1 << 22
# Slices that a search extends by one more column, and that it hands on to be tested.
BEAM = 100
# Values that are given one column each use this many numbers for cells at least.
_FEW_CELLS = 1 << 16

# A condition: the number of a column, and the number of one of its values.
Condition: TypeAlias = tuple[int, int]


class SliceSums(NamedTuple):
    """Slices, and the sums of their rows."""

    column: Ints
    """The columns of the conditions of each slice, of shape (slices, depth); −1 where there are
    fewer conditions."""
    code: Ints
    """The number of the value of each of these columns; −1 where there are fewer conditions."""
    n: Ints
    """Rows."""
    weight: Floats
    events: Floats
    expected: Floats
    score_variance: Floats
    """Σwp(1 − p)."""
    square_error: Floats
    """Σw(y − p)²."""
    variance: Floats
    """Of Σwy, if the scores are calibrated and rows are independent."""
    squares: Floats
    """Σw² over labels."""
    cluster_variance: Floats
    """Of Σwy, from the clusters: the sum over clusters of (Σw(y − p))². Without clusters, that of
    independent rows."""
    clusters: Floats
    """The number of clusters of equal size that the clusters are worth; without, infinite."""

    @property
    def clustered(self) -> bool:
        """Whether rows are in clusters."""
        return bool(np.isfinite(self.clusters).all())

    @property
    def effective(self) -> Floats:
        """Independent labels per unit of weight, for each slice.

        Without clusters, Σw/Σw² over labels. With clusters, this is divided by how much larger the
        variance from clusters is than that of independent labels. Where that cannot be seen, since
        labels or scores leave nothing to vary, a label is a cluster.
        """
        by_weights = self.weight / self.squares
        inflation = self.cluster_variance / np.where(self.variance > 0, self.variance, np.inf)
        one_class = (self.events == 0) | (self.events == self.weight)
        by_number = np.minimum(by_weights, self.clusters / self.weight)
        by_variance = by_weights / np.maximum(1.0, inflation)
        return np.where(one_class | (self.variance == 0), by_number, by_variance)

    def rate_limits(self, level: float) -> tuple[Floats, Floats]:
        """Clopper-Pearson limits of the event rate of each slice: all lower ones, all upper ones.

        Labels with known, different scores vary less than binomial labels with the same mean, so
        that plain limits would be too wide. The number of labels is therefore multiplied by
        binomial variance divided by variance given the scores. The smaller of two estimates of this
        ratio is taken, one with p(1 − p) and one with the squared errors of the labels, but at
        least 1. Where the labels of a slice have a variance below 5 in all, the number stays as it
        is. With weights or clusters, labels are counted by `effective`.
        """
        score = self.expected / self.weight
        rate = self.events / self.weight
        label_variance = self.score_variance / self.weight
        square_error = self.square_error / self.weight
        # Scores or labels that are all 0 or all 1 have no variance: 0 / 0 is nan, which fmin and
        # fmax leave out.
        with np.errstate(divide="ignore", invalid="ignore"):
            by_scores = score * (1 - score) / label_variance
            by_labels = rate * (1 - rate) / (square_error - (rate - score) ** 2)
        gain = np.fmax(np.fmin(by_scores, by_labels), 1.0)
        labels = self.weight * self.effective
        has_enough = labels * label_variance >= LEAST_VARIANCE
        labels = labels * np.where(has_enough, gain, 1.0)
        return clopper_pearson(rate * labels, labels, level)

    @property
    def residual(self) -> Floats:
        """Σw(y − p): events observed less events expected."""
        return self.events - self.expected

    @property
    def has_enough_clusters(self) -> Bools:
        """Whether each slice is worth enough clusters for random signs; always without clusters."""
        return self.clusters >= FEW_CLUSTERS

    @property
    def z(self) -> Floats:
        """The residual of each slice in units of its standard deviation.

        Labels that are impossible, as an event of score 0, are infinitely far off.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.residual / np.sqrt(self.cluster_variance)
        return np.where(self.residual == 0, 0.0, z)

    def at(self, place: Ints | Bools) -> "SliceSums":
        """The slices at these places, or where this is True."""
        return SliceSums._make(values[place] for values in self)

    def conditions(self, i: int) -> list[Condition]:
        """The conditions that the rows of the i-th slice fulfil."""
        pairs = zip(self.column[i].tolist(), self.code[i].tolist(), strict=True)
        return [(column, code) for column, code in pairs if column >= 0]


def _joined(parts: Sequence[SliceSums]) -> SliceSums:
    """The slices of all parts, one part after the other; there must be at least one part.

    Their arrays of conditions get as many columns as the part with the most conditions has.
    """
    depth = max(part.column.shape[1] for part in parts)

    def padded(conditions: Ints) -> Ints:
        """With −1 for the conditions that these slices do not have."""
        missing = depth - conditions.shape[1]
        return np.pad(conditions, ((0, 0), (0, missing)), constant_values=-1)

    parts = [part._replace(column=padded(part.column), code=padded(part.code)) for part in parts]
    return SliceSums._make(map(np.concatenate, zip(*parts, strict=True)))


class SliceRows(NamedTuple):
    """The rows of some slices."""

    place: Ints
    """The rows of the first slice, then those of the second, and so on."""
    size: Ints
    """The number of rows of each slice."""


class Members:
    """Which rows belong to which slice: a sparse matrix of shape (slices, rows), in blocks."""

    def __init__(self, parts: Sequence[SliceRows], n: int) -> None:
        """Store which rows belong to each slice.

        `parts` have the rows of some slices each, and `n` is the number of all rows. Parts are
        joined in blocks, so that each has enough entries to multiply at once.
        """
        self.n = n
        self.slices = sum(part.size.size for part in parts)
        self.blocks: list[SliceRows] = []
        entries = 0
        waiting: list[SliceRows] = []
        for part in parts:
            entries += part.place.size
            waiting.append(part)
            if entries > _BLOCK:
                self._add_block(waiting)
                entries = 0
                waiting = []
        self._add_block(waiting)
        largest = max(block.place.size for block in self.blocks)
        self._ones = np.ones(largest, dtype=np.float32)

    def _add_block(self, parts: list[SliceRows]) -> None:
        """Add these parts as one block; it is empty if there are none."""
        nothing = SliceRows(np.empty(0, np.int32), np.empty(0, np.int64))
        self.blocks.append(SliceRows._make(map(np.concatenate, zip(*parts, nothing, strict=True))))

    def matrices(self, dtype: type[np.floating[Any]] = np.float32) -> Iterator[sparse.csr_array]:
        """The blocks as sparse matrices of ones, of shape (slices of the block, rows)."""
        ones = self._ones.astype(dtype, copy=False)
        for place, size in self.blocks:
            start = np.concatenate([[0], np.cumsum(size)])
            entries = (ones[: place.size], place, start)
            yield sparse.csr_array(entries, shape=(size.size, self.n))

    def __matmul__(self, values: Floats) -> Floats:
        """Sums over the rows of each slice, of values of shape (rows,) or (rows, …)."""
        return np.concatenate([block @ values for block in self.matrices(values.dtype.type)])

    def by_cluster(self, values: Floats, cluster: Ints) -> list[sparse.csr_array]:
        """Sums over the rows of each slice and cluster.

        They are in blocks of sparse matrices of shape (slices of the block, clusters).
        """
        units = sparse.csr_array((values, (np.arange(self.n), cluster)))
        return [block @ units for block in self.matrices(np.float64)]


class _FrequentValues(NamedTuple):
    """The values of a column that have enough rows, but not all."""

    value: Ints
    """Their numbers in the column."""
    n: Ints
    """The number of rows of each."""
    code: NDArray[np.int32]
    """For each row, the place of its value in `value`; the number of values if it is none of
    them."""


def _frequent_values(code: Ints, rows: Ints, fewest: int) -> _FrequentValues:
    """The values of a column that at least `fewest` rows have, but not all rows.

    `code` is the number of the value of each entry, and `rows` how many rows an entry stands for.
    In the result, `code` renumbers the values: 0, 1, … for those kept, and the next number for all
    others.
    """
    n = np.bincount(code, rows).astype(np.int64)
    value = np.flatnonzero((n >= fewest) & (n < rows.sum()))
    place = np.full(n.size, value.size, dtype=np.int32)
    place[value] = np.arange(value.size)
    return _FrequentValues(value, n[value], place[code])


def _terms(rows: SegmentRows) -> list[Floats]:
    """What is summed over the rows of a slice: the fields of `SliceSums` from `weight` on.

    The last two, `variance` and `squares`, are left out where weights count rows.
    """
    p = rows.score
    w = rows.weight
    expected = w * p
    square_error = rows.events * (1 - 2 * p) + w * p * p
    terms = [w, rows.events, expected, expected * (1 - p), square_error]
    if rows.whole:
        return terms
    return [*terms, rows.variance, rows.count * rows.scale**2]


class _Conditions(NamedTuple):
    """What the rows of some slices fulfil, as in `SliceSums`, and how many they are."""

    column: Ints
    code: Ints
    n: Ints


def _with_sums(
    rows: SegmentRows,
    conditions: _Conditions,
    sums: Sequence[Floats],
    by_cluster: Callable[[Floats], sparse.csr_array],
    *,
    centred: bool = False,
) -> SliceSums:
    """Slices with their sums, from the conditions that their rows fulfil and from sums of terms.

    `sums` has the sum over each slice of each of the :func:`_terms`. `by_cluster` sums one term
    over slices and clusters; without clusters it is not called, and the variance is that of
    independent labels. The variance from clusters is the sum of squared residuals of clusters. With
    `centred`, the slice's mean residual is subtracted first, in proportion to the size of the
    cluster.
    """
    weight, events, expected, score_variance, square_error = sums[:5]
    variance, squares = sums[5:] or (score_variance, weight)
    cluster_variance = variance
    clusters = np.full(weight.shape, np.inf)
    if rows.units.clustered:
        residual = by_cluster(rows.residual)
        size = by_cluster(rows.weight)
        if centred:
            gap = (events - expected) / weight
            residual = residual - size * gap[:, np.newaxis]
        cluster_variance = _sums_of_rows(residual.power(2))
        # A slice without rows has size 0.
        clusters = weight**2 / np.maximum(_sums_of_rows(size.power(2)), 1e-300)
    return SliceSums(
        column=np.broadcast_to(conditions.column, conditions.code.shape),
        code=conditions.code,
        n=conditions.n,
        weight=weight,
        events=events,
        expected=expected,
        score_variance=score_variance,
        square_error=square_error,
        variance=variance,
        squares=squares,
        cluster_variance=cluster_variance,
        clusters=clusters,
    )


def _sums_of_rows(matrix: sparse.csr_array) -> Floats:
    """The sum of each row of a sparse matrix."""
    return np.asarray(matrix.sum(axis=1)).reshape(-1)


@dataclass(frozen=True)
class _Crossing:
    """The values of some columns together: cells, of which some are slices."""

    code: Ints
    """The cell of each row."""
    n: Ints
    """Rows of each cell."""
    is_slice: Bools
    """Whether a cell is a slice."""
    values: Ints
    """The values of each slice, of shape (slices, columns)."""

    @cached_property
    def place(self) -> Ints:
        """The slice of each row; −1 for rows of none."""
        slice_of_cell = np.where(self.is_slice, np.cumsum(self.is_slice) - 1, -1)
        return slice_of_cell[self.code]

    def only(self, kept: Bools) -> "_Crossing":
        """The same with only those slices where `kept` is True."""
        is_slice = self.is_slice.copy()
        is_slice[self.is_slice] = kept
        return replace(self, is_slice=is_slice, values=self.values[kept])

    def rows_of_slices(self) -> SliceRows:
        """The rows that belong to each slice."""
        inside = np.flatnonzero(self.place >= 0)
        place = self.place[inside]
        slices = len(self.values)
        order = inside[order_by_code(place, slices)]
        return SliceRows(order.astype(np.int32), np.bincount(place, minlength=slices))


def _crossing(rows: SegmentRows, columns: Sequence[_FrequentValues], fewest: int) -> _Crossing:
    """Every combination of the frequent values of some columns, and which of them are slices.

    A slice has at least `fewest` rows, frequent values only, and fewer rows than each of its values
    alone: otherwise it would be the slice of that value. A cell is a combination, with the values
    that are not frequent taken as one value of their column.
    """
    # The last code of a column stands for all values that are not frequent.
    sizes = [column.value.size + 1 for column in columns]
    # The values of a row as digits of one number; cells are the numbers there may be.
    code = columns[0].code.astype(np.int64)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        code *= size
        code += column.code
    cells = np.arange(int(np.prod(sizes)))
    if cells.size > max(_FEW_CELLS, 4 * rows.size):
        cells, code = np.unique(code, return_inverse=True)
        code = code.reshape(-1)
    n = np.bincount(code, rows.rows, cells.size).astype(np.int64)
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
    """All slices of 1 to `depth` columns with at least `fewest` rows, with their sums.

    A slice is the rows that share one value in each of its columns. A slice of several columns that
    has the same rows as one of its values is left out. So is, with clusters, one that is worth too
    few clusters for a test by random signs. The second result is which rows belong to each slice if
    `members` is true, otherwise None.
    """
    frequent = [_frequent_values(column.code, rows.rows, fewest) for column in rows.columns]
    usable = [i for i, column in enumerate(frequent) if column.value.size]
    terms = _terms(rows)
    parts = []
    slice_rows = []
    for columns in chain.from_iterable(combinations(usable, k) for k in range(1, depth + 1)):
        crossing = _crossing(rows, [frequent[i] for i in columns], fewest)
        if not crossing.is_slice.any():
            continue
        part = _sums_of_crossing(rows, columns, crossing, terms)
        enough = part.has_enough_clusters
        if not enough.all():
            crossing = crossing.only(enough)
            part = part.at(enough)
        parts.append(part)
        if members:
            slice_rows.append(crossing.rows_of_slices())
    memberships = Members(slice_rows, rows.size) if members else None
    if parts:
        return _joined(parts), memberships
    conditions = np.empty((0, depth), dtype=np.int64)
    no_sums = [np.empty(0)] * (len(SliceSums._fields) - 2)
    return SliceSums._make((conditions, conditions, *no_sums)), memberships


def _sums_of_crossing(
    rows: SegmentRows, columns: Sequence[int], crossing: _Crossing, terms: Sequence[Floats]
) -> SliceSums:
    """The sums of the slices of some columns; `terms` are what is summed, by row."""
    kept = crossing.is_slice
    sums = []
    for term in terms:
        of_cells = np.bincount(crossing.code, term, kept.size)
        sums.append(of_cells[kept].astype(np.float64))

    def by_cluster(term: Floats) -> sparse.csr_array:
        """The sums of a term in a sparse matrix of shape (slices, clusters)."""
        inside = np.flatnonzero(crossing.place >= 0)
        place = (crossing.place[inside], rows.units.code[inside])
        return sparse.csr_array((term[inside], place))

    conditions = _Conditions(np.array(columns), crossing.values, crossing.n[kept])
    return _with_sums(rows, conditions, sums, by_cluster)


def has_conditions(rows: SegmentRows, conditions: Sequence[Condition]) -> Bools:
    """Which rows fulfil all conditions."""
    fulfilled = [rows.columns[column].code == code for column, code in conditions]
    return np.asarray(np.logical_and.reduce(fulfilled))


def some_slices(
    rows: SegmentRows, wanted: Sequence[Sequence[Condition]]
) -> tuple[SliceSums, Members]:
    """The slices of these conditions: their sums, and which rows belong to each.

    Each element of `wanted` has the conditions of one slice: pairs of the number of a column and
    the number of its value. Slices of fewer conditions than others are padded with −1.
    """
    places = []
    for conditions in wanted:
        place = np.flatnonzero(has_conditions(rows, conditions))
        places.append(place.astype(np.int32))
    sizes = np.array([place.size for place in places], dtype=np.int64)
    members = Members([SliceRows(np.concatenate(places), sizes)], rows.size)
    pairs = np.full((len(wanted), max(map(len, wanted)), 2), -1, dtype=np.int64)
    for i, conditions in enumerate(wanted):
        pairs[i, : len(conditions)] = conditions
    return _sums_of_members(rows, members, pairs[..., 0], pairs[..., 1]), members


def segment_sums(rows: SegmentRows) -> SliceSums:
    """The sums of every value of every column.

    The variance from clusters is that around the gap of each value.
    """
    slice_rows = SliceRows(rows.members.indices, np.diff(rows.members.indptr))
    members = Members([slice_rows], rows.size)
    code = np.concatenate([np.arange(len(column.values)) for column in rows.columns])
    column = np.cumsum(code == 0) - 1
    return _sums_of_members(rows, members, column, code, centred=True)


def _sums_of_members(
    rows: SegmentRows, members: Members, column: Ints, code: Ints, *, centred: bool = False
) -> SliceSums:
    """The sums of the rows that belong to each slice.

    `column` and `code` are the conditions of each slice, as in `SliceSums`. With `centred`, the
    variance from clusters is that around the gap of the slice.
    """
    # Sums are floats, also those of counts, because memberships are multiplied in one type.
    n, *sums = (members @ term.astype(np.float64) for term in (rows.rows, *_terms(rows)))

    def by_cluster(term: Floats) -> sparse.csr_array:
        """The sums of a term in a sparse matrix of shape (slices, clusters)."""
        return sparse.vstack(members.by_cluster(term, rows.units.code)).tocsr()

    conditions = _Conditions(column, code, n.astype(np.int64))
    return _with_sums(rows, conditions, sums, by_cluster, centred=centred)


class _Candidate(NamedTuple):
    """A slice that may be handed on by a search."""

    distance: float
    """How far its labels are off, in standard deviations."""
    conditions: tuple[Condition, ...]


def search(rows: SegmentRows, depth: int, fewest: int) -> list[tuple[Condition, ...]]:
    """The conditions of the slices of up to `depth` columns whose event rates are furthest off.

    How far is measured by |events − expected| in standard deviations. All slices of one or two
    columns with at least `fewest` rows are computed. Those of two columns among the worst 100 are
    extended by a third, the worst 100 of the extended ones by a fourth, and so on (a beam search).
    At most 100 slices come back, the furthest first.
    """
    sums, _ = all_slices(rows, min(depth, 2), fewest)
    distance = np.abs(sums.z)
    candidates = []
    for i in np.argsort(-distance, kind="stable")[:BEAM]:
        candidates.append(_Candidate(float(distance[i]), tuple(sorted(sums.conditions(i)))))
    worst = [candidate for candidate in candidates if len(candidate.conditions) == 2]
    frequent = [_frequent_values(column.code, rows.rows, fewest) for column in rows.columns]
    for _ in range(3, depth + 1):
        # Several slices may be extended to the same one.
        deeper: dict[tuple[Condition, ...], _Candidate] = {}
        for candidate in worst:
            for extended in _extended(rows, frequent, candidate.conditions, fewest):
                deeper[extended.conditions] = extended
        worst = _furthest(deeper.values())
        candidates += worst
    return [candidate.conditions for candidate in _furthest(candidates)]


def _extended(
    rows: SegmentRows,
    frequent: Sequence[_FrequentValues],
    conditions: Sequence[Condition],
    fewest: int,
) -> Iterator[_Candidate]:
    """The slices of some conditions and one more, of another column.

    `frequent` has, for each column, the values that are common enough. An extended slice has at
    least `fewest` rows, but not all rows of `conditions`, and labels that may vary. Its distance is
    |Σw(y − p)| divided by its standard deviation for calibrated scores and independent rows.
    """
    inside = np.flatnonzero(has_conditions(rows, conditions))
    taken = {column for column, _ in conditions}
    for column in set(range(len(frequent))) - taken:
        value = frequent[column].value
        code = frequent[column].code[inside]
        n, residual, variance = (
            np.bincount(code, term[inside], value.size + 1)[:-1]
            for term in (rows.rows, rows.residual, rows.variance)
        )
        for i in np.flatnonzero((n >= fewest) & (n < inside.size) & (variance > 0)):
            distance = abs(float(residual[i])) / float(np.sqrt(variance[i]))
            yield _Candidate(distance, tuple(sorted([*conditions, (column, int(value[i]))])))


def _furthest(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    """The candidates that are furthest off, at most `BEAM` of them."""
    return sorted(candidates, key=lambda candidate: -candidate.distance)[:BEAM]
