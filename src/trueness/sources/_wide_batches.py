"""Batches of rows with weights, groups, classes or named labels, through the library's own passes.

As :mod:`trueness.sources._batches` for the plain question: the engine reads, casts and compares labels; sums are made
here, and those of batches add. Whatever needs explaining is left to the group-by of the general way.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import is_missing
from trueness._input.sample import Sample
from trueness._tally.bins import Bins
from trueness._tally.row_sums import tables_of_groups
from trueness._tally.rows_or_sums import binned_of, sketch_of, tally_of
from trueness._tally.rules import Distinct, EqualMass
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import DroppedRowsWarning, InputError, warn
from trueness.sources._gather import Group, rank_of, refuse_overflow
from trueness.sources._named import plain_names, plainly_named
from trueness.sources._question import Asked, Question
from trueness.sources._rows import MOST_WEIGHT, code_of, raw_rows

__all__ = ["batched"]

_ROWS = 1 << 20
_FLOATS = ("Float32", "Float64")
_WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32")
_KEYS = (*_WHOLE, "UInt64", "String", "Boolean", "Date")

# Groups of fewer rows than this are summed faster by the engine.
_FEW_ROWS = 1000

# Whole numbers within such a range are their own codes.
_CLOSE = 1 << 9

# Groups times bins that are summed in one pass, in tables of 80 bytes each.
_MOST_CELLS = 1 << 16

# Squares of weights are summed, which must not vanish.
_LEAST_WEIGHT = 2.0**-331


class _UntoldError(Exception):
    """A batch holds something that only the general way can tell apart, or does better."""


class _Rows(NamedTuple):
    """A batch, of rows that miss nothing."""

    y: NDArray[Any]
    p: NDArray[Any]
    w: NDArray[Any] | None
    keys: list[Group]
    codes: NDArray[Any] | None
    """The place of each row's group among the keys."""
    dropped: int


def batched(frame: Any, question: Question, schema: Any, rule: Asked) -> dict[Group, Any] | None:
    """The sums of each group, or None where this way cannot go or a value is bad: the general way then says which."""
    if not _may_go(frame, question, schema, rule):
        return None
    chosen, order = _selected(frame, question, schema)
    sums = _Sums(question, rule, None if question.binary else tuple(order))
    try:
        _add_all(sums, _batches(chosen, question))
        return sums.found()
    except (InputError, _UntoldError):
        return None


def _add_all(sums: "_Sums", batches: Iterator[_Rows]) -> None:
    """Add every batch, while the engine makes the next one."""
    with ThreadPoolExecutor(1) as adder:
        waiting: deque[Future[None]] = deque()
        for rows in batches:
            waiting.append(adder.submit(sums.add, rows))
            if len(waiting) > 1:  # no more than two batches at a time
                waiting.popleft().result()
        for last in waiting:
            last.result()


def _may_go(frame: Any, question: Question, schema: Any, rule: Asked) -> bool:
    fixed = isinstance(rule, str) or rule.fixed_edges is not None
    in_two_passes = isinstance(rule, EqualMass) and question.weight is None
    told = question.labels is not None or question.pos_label is not None
    plain = question.binary and question.weight is None and not question.by and not told and fixed
    if in_two_passes or (plain and question.missing == "raise"):  # the plain way has found something
        return False
    label = schema[question.label]
    if not (label.is_numeric() or str(label) in ("Boolean", "String")):
        return False
    if any(str(schema[name]) not in _KEYS for name in question.by) or not _has_arrow():
        return False
    if frame.implementation.is_polars():
        import polars as pl

        return hasattr(pl.LazyFrame, "collect_batches")
    return bool(frame.implementation.is_duckdb())


def _has_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _selected(frame: Any, question: Question, schema: Any) -> tuple[Any, tuple[Any, ...]]:
    """The columns y, x0, x1, …, w, by0, … as the passes read them; and the labels in order of their codes."""
    import narwhals.stable.v2 as nw

    order = raw_rows(frame, question)[1]
    label = str(schema[question.label])
    plain = (question.binary and order == (0, 1)) or label in (*_WHOLE, "Boolean")
    coded = not plain or order != tuple(range(len(order))) or label == "String"
    names = plain_names(frame)
    # DuckDB must not decide comparisons of labels beforehand; scores and weights are compared here.
    named = plainly_named(frame, question, schema, opaque=coded and label in _FLOATS)
    columns = [_score(nw.col(names[x]), str(schema[x]), nw).alias(f"x{i}") for i, x in enumerate(question.scores)]
    if question.weight is not None:
        columns.append(nw.col(names[question.weight]).cast(nw.Float64).alias("w"))
    columns += [nw.col(names[name]).alias(f"by{i}") for i, name in enumerate(question.by)]
    t = nw.col(names[question.label])
    if not coded:
        return named.select(_label(t, label, question, nw).alias("y"), *columns), order
    text = label == "String"
    with_label = named.with_columns((t if text else t.cast(nw.Float64)).alias("t"))
    code = nw.when(~nw.col("t").is_null()).then(code_of(order, text)).cast(nw.Int64)
    return with_label.select(code.alias("y"), *columns), order


def _score(column: Any, dtype: str, nw: Any) -> Any:
    return column if dtype in _FLOATS else column.cast(nw.Float64)


def _label(column: Any, dtype: str, question: Question, nw: Any) -> Any:
    if not question.binary:
        return (column.cast(nw.UInt8) if dtype == "Boolean" else column).cast(nw.Int64)
    if dtype == "Boolean":
        return column.cast(nw.UInt8)
    return column if dtype in ("Int8", "UInt8", "Int32", "Int64", *_FLOATS) else column.cast(nw.Float64)


def _batches(chosen: Any, question: Question) -> Iterator[_Rows]:
    native = chosen.to_native()
    if chosen.implementation.is_duckdb():
        reader = native.to_arrow_reader if hasattr(native, "to_arrow_reader") else native.fetch_arrow_reader
        # Its threads work side by side on small batches, and one after the other on large ones.
        for batch in reader(_ROWS >> 3):
            yield _complete(dict(zip(batch.schema.names, batch.columns, strict=True)), question)
        return
    options = {"chunk_size": _ROWS, "maintain_order": False, "engine": "streaming"}
    scores = [f"x{i}" for i in range(len(question.scores))]
    for frame in native.lazy().collect_batches(**options):
        matrix = None
        if not question.binary and question.missing == "raise":
            if any(frame[name].null_count() for name in scores):
                raise _UntoldError
            # The order in which the passes read it; one by one, columns would be copied twice.
            matrix = frame.select(scores).to_numpy(order="fortran" if question.view == "classwise" else "c")
            frame = frame.drop(scores)
        yield _complete({column.name: column.to_arrow() for column in frame.get_columns()}, question, matrix)


def _complete(columns: dict[str, Any], question: Question, matrix: NDArray[Any] | None = None) -> _Rows:
    """The rows that miss nothing; `matrix` has the scores, if they are not among the columns."""
    import pyarrow.compute as pc

    numbers = [name for name in columns if not name.startswith("by")]
    kept = None
    if question.missing == "drop":
        there = [_there(columns[name], pc) for name in numbers]
        whole = np.logical_and.reduce(there)
        kept = None if whole.all() else whole
    n = len(columns["y"])
    if kept is not None:
        columns = {name: column.filter(kept) for name, column in columns.items()}
    elif any(columns[name].null_count for name in numbers):
        raise _UntoldError
    arrays = {name: columns[name].to_numpy(zero_copy_only=False) for name in numbers}
    p = arrays["x0"] if question.binary else matrix
    p = _matrix([arrays[f"x{i}"] for i in range(len(question.scores))]) if p is None else p
    keys, codes = _groups([columns[f"by{i}"] for i in range(len(question.by))])
    return _Rows(arrays["y"], p, arrays.get("w"), keys, codes, n - arrays["y"].size)


def _there(column: Any, pc: Any) -> NDArray[np.bool_]:
    present = np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False))
    values = column.to_numpy(zero_copy_only=False)
    return present & ~np.isnan(values) if values.dtype.kind == "f" else present


def _matrix(scores: list[NDArray[Any]]) -> NDArray[Any]:
    """A column per class, each of them in one piece."""
    found = np.empty((len(scores), scores[0].size), np.result_type(*scores))
    for row, score in zip(found, scores, strict=True):
        row[:] = score
    return found.T


def _groups(columns: list[Any]) -> tuple[list[Group], NDArray[Any] | None]:
    """The groups in a batch, and the place of each row's among them."""
    if not columns:
        return [()], None
    keys: list[Group] = [()]
    codes: NDArray[Any] | None = None
    for column in columns:
        values, mine = _encoded(column)
        if len(keys) * len(values) * _FEW_ROWS > max(_ROWS, mine.size):
            raise _UntoldError
        codes = mine if codes is None else codes.astype(np.int64) * len(values) + mine
        keys = [(*key, value) for key in keys for value in values]
    return keys, codes


def _encoded(column: Any) -> tuple[list[Any], NDArray[Any]]:
    """The values of a column, and the place of each row's among them."""
    numbers = None if column.null_count else column.to_numpy(zero_copy_only=False)
    if numbers is not None and numbers.size and numbers.dtype.kind in "iu":
        numbers = numbers.astype(np.int16) if numbers.dtype == np.int8 else numbers  # whose differences overflow
        low, high = int(numbers.min()), int(numbers.max())
        # Numbers close to each other need no hash table. Some that lie between may have no rows.
        if high - low < _CLOSE:
            return list(range(low, high + 1)), (numbers - low).astype(np.uint16)
    encoded = column.dictionary_encode(null_encoding="encode")
    values = [None if is_missing(v) else v for v in encoded.dictionary.to_pylist()]
    return values, encoded.indices.to_numpy(zero_copy_only=False)


class _Sums:
    """What has been added up so far, by group."""

    def __init__(self, question: Question, rule: Asked, classes: tuple[Any, ...] | None) -> None:
        self.question, self.rule, self.classes = question, rule, classes
        self.edges = None if isinstance(rule, str) else rule.fixed_edges
        self.by_group: dict[Group, list[Tally | Binned | Sketch]] = {}
        self.tables: dict[Group, Any] = {}
        self.keys: list[Group] = []
        self.stack: Any = ()
        self.rows = self.dropped = 0
        self.heaviest: dict[Group, float] = {}

    def add(self, rows: _Rows) -> None:
        """Add a batch; anything bad in it raises."""
        self.rows += rows.y.size + rows.dropped
        self.dropped += rows.dropped
        if rows.y.size == 0:
            return
        if self.classes is not None and not (rows.y.min() >= 0 and rows.y.max() < len(self.classes)):
            raise _UntoldError
        if rows.w is not None and not (float(rows.w.max()) <= MOST_WEIGHT and rows.w.min() >= 0):
            raise _UntoldError
        if self._is_plain(rows):
            self._add_tables(rows)
            return
        for key, some in _apart(rows):
            self._add_to(key, some)

    def _is_plain(self, rows: _Rows) -> bool:
        """Whether one pass serves all groups: without weights their sums are integers, in tables that are not large."""
        edges = self.edges
        if edges is None or rows.w is not None or rows.codes is None or not self.question.binary:
            return False
        return len(rows.keys) * edges.size <= _MOST_CELLS

    def _add_tables(self, rows: _Rows) -> None:
        assert rows.codes is not None
        codes = rows.codes.astype(np.uint16, copy=False)
        assert not isinstance(self.rule, str)
        tables = tables_of_groups(Sample(rows.y, rows.p), codes, len(rows.keys), self.rule)
        if rows.keys == self.keys:
            self.stack += tables
            return
        self._unstack()
        self.keys, self.stack = rows.keys, tables

    def _unstack(self) -> None:
        """Give each group its table; batches whose groups have the same codes are added before, all in one step."""
        for key, table in zip(self.keys, self.stack, strict=True):
            if table[:, :, 0].any():
                self.tables[key] = self.tables[key] + table if key in self.tables else table

    def _add_to(self, key: Group, rows: Sample) -> None:
        sample = Sample(rows.y, rows.p, rows.w, self.classes, self.question.tolerance)
        if sample.w is not None and not sample.w.any():
            self._made(Sample(sample.y, sample.p, None, self.classes, sample.tolerance))  # only to be checked
            return
        if sample.w is not None:
            self.heaviest[key] = max(self.heaviest.get(key, 0.0), float(sample.w.max()))
        pile = self.by_group.setdefault(key, [])
        pile.append(self._made(sample))
        # Sums of like size are added first: else many distinct scores take quadratic time, and floats lose digits.
        while len(pile) > 1 and _size(pile[-2]) <= 2 * _size(pile[-1]):
            last = pile.pop()
            pile[-1] = pile[-1] + last

    def _made(self, sample: Sample) -> Tally | Binned | Sketch:
        kind: Any = "classwise" if self.question.binary else self.question.view
        if isinstance(self.rule, str):
            return sketch_of(sample, kind, piece=True)
        if self.edges is not None:
            return binned_of(sample, kind, self.rule)
        return tally_of(sample, kind, piece=True)

    def found(self) -> dict[Group, Any]:
        """The sums of each group, in the order of their keys."""
        if any(heaviest < _LEAST_WEIGHT for heaviest in self.heaviest.values()):
            raise _UntoldError
        self._unstack()
        for key, table in self.tables.items():
            assert self.edges is not None
            self.by_group.setdefault(key, []).append(Binned("binary", (Bins(self.edges, table, moments=True),)))
        if not self.by_group:
            raise _UntoldError
        found = {}
        for key in sorted(self.by_group, key=rank_of):
            total: Any = sum(reversed(self.by_group[key]))
            if isinstance(total, Binned):
                for part in total.parts:
                    refuse_overflow(part.count)
            elif isinstance(total, Tally) and not isinstance(self.rule, str | Distinct):
                total = total.coarsen(self.rule)
            found[key] = total
        if self.dropped:
            warn(f"{self.dropped:,} of {self.rows:,} rows miss a value and were dropped.", DroppedRowsWarning)
        return found


def _size(sums: Any) -> int:
    return sums.n if isinstance(sums, Binned) else sum(part.size for part in sums.parts)


def _apart(rows: _Rows) -> Iterator[tuple[Group, Sample]]:
    """The rows of each group of a batch."""
    if rows.codes is None:
        yield (), Sample(rows.y, rows.p, rows.w)
        return
    # A sort of short integers is a count of digits, several times as fast as one of long ones.
    codes = rows.codes.astype(
        np.uint8 if len(rows.keys) <= 2**8 else np.uint16 if len(rows.keys) <= 2**16 else np.int64
    )
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(rows.keys)))
    y, p, w = rows.y[order], _taken(rows.p, order), None if rows.w is None else rows.w[order]
    for key, start, end in zip(rows.keys, [0, *ends[:-1]], ends, strict=True):
        if end > start:
            yield key, Sample(y[start:end], p[start:end], None if w is None else w[start:end])


def _taken(p: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    return p[order] if p.ndim == 1 else np.ascontiguousarray(p.T[:, order]).T
