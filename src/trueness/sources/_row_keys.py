"""The group of each row and its bucket of clusters, as codes that stay the same from batch to batch."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._tally.buckets import buckets_of
from trueness._tally.codes import Codes, Dictionary
from trueness.sources._gather import Group
from trueness.sources._question import Question
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
        valid: Bools | None = (
            values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
        )
        present = values if valid is None else values.drop_null()
        self._type = present.type
        code = self._keys.encode(*_bytes_of(present)) + np.uint32(1)
        if valid is None:
            return code
        found = np.zeros(valid.size, np.uint32)
        found[valid] = code
        return found

    def values(self, dtype: str) -> list[Any]:
        """The value of each code; `dtype` is that of the column."""
        return [
            None,
            *(self._array().cast("bool") if dtype == "Boolean" else self._array()).to_pylist(),
        ]

    def _array(self) -> Any:
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
    """The bytes of each value of an Arrow array without gaps: where they start, and all of them."""
    _, *buffers = values.buffers()
    n = len(values)
    offset = values.offset
    if len(buffers) == 1:
        width = values.type.bit_width // 8
        return np.arange(0, (n + 1) * width, width), np.frombuffer(
            buffers[0], np.uint8, n * width, offset * width
        )
    start = np.frombuffer(buffers[0], np.int64, n + 1, 8 * offset) if n else np.zeros(1, np.int64)
    return start, np.frombuffer(buffers[1], np.uint8) if start[-1] else np.zeros(0, np.uint8)


class RowKeys:
    """The places of rows in the sums: one for each group or, with clusters, for each of its buckets."""

    def __init__(self, question: Question, schema: Any) -> None:
        self.number = question.buckets
        self._types = [str(schema[name]) for name in question.by]
        self._columns = [Column() for _ in (*question.by, *question.columns["cluster"])]
        self._pairs = [Dictionary() for _ in self._columns[1:]]
        self._bucket = np.zeros(1, np.int64)
        self._place = np.zeros(0, np.uint32)
        self._group, self._size = np.zeros(0, np.int64), np.zeros(0)  # of each group's clusters

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
        names = self._columns[-1]
        if len(names) > self._bucket.size:
            self._bucket = np.concatenate(
                [self._bucket, names.buckets(self.number, self._bucket.size)]
            )
        self._group, cluster = (
            _unpaired(self._pairs[-1]) if self._pairs else (np.zeros(n, np.int64), np.arange(n))
        )
        self._place = (self._group * self.number + self._bucket[cluster]).astype(np.uint32)
        self._size = np.concatenate([self._size, np.zeros(n - self._size.size)])

    def groups(self) -> list[tuple[int, Group]]:
        """The code and the key of each group, in the order of the keys."""
        n_by = len(self._types)
        if n_by == 0:
            return [(0, ())]
        codes = [np.arange(len(self._pairs[n_by - 2] if n_by > 1 else self._columns[0]))]
        for pairs in reversed(self._pairs[: n_by - 1]):
            first, last = _unpaired(pairs)
            codes[:1] = [first[codes[0]], last[codes[0]]]
        values = [
            column.values(dtype) for column, dtype in zip(self._columns, self._types, strict=False)
        ]
        order = np.lexsort(
            [_ranks(mine)[code] for mine, code in zip(values, codes, strict=True)][::-1]
        )
        keys = [
            map(mine.__getitem__, code[order].tolist())
            for mine, code in zip(values, codes, strict=True)
        ]
        return list(zip(order.tolist(), zip(*keys, strict=True), strict=True))

    def largest(self) -> Ints:
        """The size of the largest cluster of each group."""
        found = np.zeros(self._group.max(initial=0) + 1, np.int64)
        np.maximum.at(found, self._group, np.ceil(self._size).astype(np.int64))
        return found


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
    both = pairs.keys()[1].view(np.int64)
    return both >> 32, both & 0xFFFFFFFF


def _ranks(values: list[Any]) -> Ints:
    """The rank of each value, all of one type; the first is None, and ranks last."""
    order = sorted(range(1, len(values)), key=values.__getitem__)
    found = np.full(len(values), len(values), np.int64)
    found[order] = np.arange(len(order))
    return found


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
