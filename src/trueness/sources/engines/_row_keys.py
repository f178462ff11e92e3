"""The group of each row and its bucket of clusters, as codes that last over all batches."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._tally.buckets import buckets_of
from trueness._tally.codes import Codes, Dictionary
from trueness.sources.engines._gather import Group
from trueness.sources.engines._question import Question
from trueness.typing import Bools, Floats, Ints


class Column:
    """The values of a column. The code of a missing value is 0, that of any other is above."""

    def __init__(self) -> None:
        self._keys = Dictionary()
        self._type: Any = None

    def __len__(self) -> int:
        return len(self._keys) + 1

    def encode(self, values: Any) -> Codes:
        """The code of each value of an Arrow array."""
        import pyarrow as pa

        if pa.types.is_floating(values.type):
            numbers = values.to_numpy(zero_copy_only=False) + 0.0  # -0.0 and 0.0 are one key
            values = pa.array(numbers, mask=np.isnan(numbers))
        elif pa.types.is_boolean(values.type):
            values = values.cast(pa.uint8())
        elif not pa.types.is_primitive(values.type):
            values = values.cast(pa.large_string())
        if not values.null_count:
            self._type = values.type
            return self._codes_of(values)
        valid: Bools = values.is_valid().to_numpy(zero_copy_only=False)
        present = values.drop_null()
        self._type = present.type
        codes = np.zeros(valid.size, np.uint32)
        codes[valid] = self._codes_of(present)
        return codes

    def _codes_of(self, present: Any) -> Codes:
        return self._keys.encode(*_bytes_of(present)) + np.uint32(1)

    def values(self, dtype: str) -> list[Any]:
        """The value of each code; `dtype` is that of the column."""
        array = self._array()
        if dtype == "Boolean":
            array = array.cast("bool")
        return [None, *array.to_pylist()]

    def _array(self) -> Any:
        """The distinct values met so far, as an Arrow array in the order of their codes.

        The code of a value is its place in this array plus one; code 0 is a missing value.
        """
        import pyarrow as pa

        start, text = self._keys.keys()
        starts = [pa.py_buffer(start)] if self._type == pa.large_string() else []
        return pa.Array.from_buffers(
            self._type or pa.int8(), len(self._keys), [None, *starts, pa.py_buffer(text)]
        )

    def buckets(self, number: int, since: int) -> Ints:
        """The bucket of each code from `since` > 0 on, if the values name clusters."""
        return buckets_of(*_bytes_of(self._array()[since - 1 :].cast("large_string")), number)


def _bytes_of(values: Any) -> tuple[Ints, NDArray[np.uint8]]:
    """The bytes of each value of an Arrow array without nulls, as two arrays.

    The first holds n + 1 positions, the second bytes: value i is `bytes[starts[i] : starts[i +
    1]]`. Values are numbers of one width, or texts of type large_string, whose positions have 64
    bits. A slice of a longer array is read at its own place. For texts, positions are those in the
    whole buffer and need not begin at 0.
    """
    _, *buffers = values.buffers()
    n = len(values)
    if len(buffers) == 1:  # values of one width
        width = values.type.bit_width // 8
        starts = np.arange(0, (n + 1) * width, width)
        return starts, np.frombuffer(buffers[0], np.uint8, n * width, values.offset * width)
    if n == 0:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    starts = np.frombuffer(buffers[0], np.int64, n + 1, 8 * values.offset)
    if starts[-1] == 0:  # empty texts may have no buffer
        return starts, np.zeros(0, np.uint8)
    return starts, np.frombuffer(buffers[1], np.uint8)


class RowKeys:
    """The places of rows in the sums: one per group or, with clusters, per bucket of a group."""

    def __init__(self, question: Question, schema: Any) -> None:
        """Begin without rows; each column of groups, and that of clusters, has a dictionary."""
        self.number = question.buckets
        self._types = [str(schema[name]) for name in question.by]
        self._columns = [Column() for _ in (*question.by, *question.columns["cluster"])]
        self._pairs = [Dictionary() for _ in self._columns[1:]]
        self._bucket = np.zeros(1, np.int64)
        self._place = np.zeros(0, np.uint32)
        # Of each cluster: its group, and its rows or the sum of their weights.
        self._group = np.zeros(0, np.int64)
        self._size = np.zeros(0)

    def places(self, columns: list[Any], w: Floats | None) -> tuple[Codes, int]:
        """The place of each row, and the number of places."""
        code = self._columns[0].encode(columns[0])
        n_codes = len(self._columns[0])
        for pairs, column, values in zip(self._pairs, self._columns[1:], columns[1:], strict=True):
            code = _paired(pairs, code, n_codes, column.encode(values), len(column))
            n_codes = len(pairs)
        n = len(self._pairs[-1] if self._pairs else self._columns[0])
        if not self.number:
            return code, n
        self._learn_clusters(n)
        self._size += np.bincount(code, w, n)
        return self._place[code], (int(self._group.max(initial=0)) + 1) * self.number

    def _learn_clusters(self, n: int) -> None:
        """Find the group and the bucket of clusters that are new."""
        names = self._columns[-1]
        if len(names) > self._bucket.size:
            new = names.buckets(self.number, self._bucket.size)
            self._bucket = np.concatenate([self._bucket, new])
        if self._pairs:
            self._group, cluster = _unpaired(self._pairs[-1])
        else:
            self._group = np.zeros(n, np.int64)
            cluster = np.arange(n)
        self._place = (self._group * self.number + self._bucket[cluster]).astype(np.uint32)
        self._size = np.concatenate([self._size, np.zeros(n - self._size.size)])

    def groups(self) -> list[tuple[int, Group]]:
        """The code and the key of each group, in the order of the keys."""
        n_by = len(self._types)
        if n_by == 0:
            return [(0, ())]
        codes = self._codes_of_groups(n_by)
        columns = zip(self._columns, self._types, strict=False)
        values = [column.values(dtype) for column, dtype in columns]
        ranks = [_ranks(of_column)[code] for of_column, code in zip(values, codes, strict=True)]
        order = np.lexsort(ranks[::-1])  # the last key is the first to sort by
        keys = []
        for of_column, code in zip(values, codes, strict=True):
            keys.append([of_column[place] for place in code[order].tolist()])
        return list(zip(order.tolist(), zip(*keys, strict=True), strict=True))

    def _codes_of_groups(self, n_by: int) -> list[Ints]:
        """The code of each group in each of its columns, unpaired from the last to the first."""
        n_groups = len(self._columns[0]) if n_by == 1 else len(self._pairs[n_by - 2])
        codes = [np.arange(n_groups)]
        for pairs in reversed(self._pairs[: n_by - 1]):
            first, last = _unpaired(pairs)
            codes[:1] = [first[codes[0]], last[codes[0]]]
        return codes

    def largest(self) -> Ints:
        """The size of the largest cluster of each group."""
        largest = np.zeros(self._group.max(initial=0) + 1, np.int64)
        np.maximum.at(largest, self._group, np.ceil(self._size).astype(np.int64))
        return largest


def _paired(pairs: Dictionary, first: Codes, n_first: int, second: Codes, n_second: int) -> Codes:
    """The code of each pair of codes."""
    if n_first * n_second > first.size:
        return pairs.encode_numbers(first.astype(np.uint64) << np.uint64(32) | second)
    # Fewer pairs are possible than there are rows: each that occurs is looked up once.
    place = first.astype(np.int64) * n_second + second
    present = np.flatnonzero(np.bincount(place, minlength=n_first * n_second))
    high, low = np.divmod(present.astype(np.uint64), np.uint64(n_second))
    code = np.zeros(n_first * n_second, np.uint32)
    code[present] = pairs.encode_numbers(high << np.uint64(32) | low)
    of_row: Codes = code[place]
    return of_row


def _unpaired(pairs: Dictionary) -> tuple[Ints, Ints]:
    """The first and the last code of each pair, which one number of 64 bits holds."""
    numbers = pairs.keys()[1].view(np.int64)
    return numbers >> 32, numbers & 0xFFFFFFFF


def _ranks(values: list[Any]) -> Ints:
    """The rank of each value, all of one type; the first is None, and ranks last."""
    order = sorted(range(1, len(values)), key=values.__getitem__)
    ranks = np.full(len(values), len(values), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from looking for cycles among a million new objects again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
