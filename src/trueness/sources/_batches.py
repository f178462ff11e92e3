"""Rows of an engine on this machine, batch by batch through the library's own passes.

A group-by that keeps exact sums takes several times as long as reading the rows; the compiled
passes add little. So where Polars or DuckDB can hand over batches, they only read, cast and compare
labels. Whatever needs explaining is left to the group-by, which counts the bad rows.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import reduce
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from trueness._input.sample import Sample
from trueness._tally.bins import Bins
from trueness._tally.grid import PlacedCells
from trueness._tally.row_sums import add_to_tables
from trueness._tally.rows_or_sums import binned_of, sketch_of, tally_of
from trueness._tally.rules import Distinct, EqualMass
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import DroppedRowsWarning, InputError, dropped_rows, warn
from trueness.sources import _row_expressions as expressions
from trueness.sources._cluster_buckets import together
from trueness.sources._gather import Group, refuse_overflow
from trueness.sources._question import Question, Rule, check_group_bins
from trueness.sources._row_expressions import FLOATS
from trueness.sources._row_keys import RowKeys, uncollected

_BATCH_ROWS = 1 << 20
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32")
_KEYS = ("Int", "UInt", "Float", "String", "Categorical", "Enum", "Boolean", "Date")
_OTHER_KEYS = ("Int128", "UInt128", "Datetime(time_unit='ns")
_FEW_ROWS = 1000  # sums of weights and classes of groups of fewer rows are made faster by the engine, sketches by one sort


class _NeedsGroupByError(Exception):
    """A batch holds something that only a group-by can explain, or does better."""


class _Batch(NamedTuple):
    y: NDArray[Any]
    p: NDArray[Any]
    w: NDArray[Any] | None
    places: NDArray[Any]  # of each row in the sums
    n_places: int
    dropped: int


def sums_of_batches(
    frame: Any, question: Question, schema: Any, rule: Rule
) -> dict[Group, Any] | None:
    """The sums of each group; None if batches cannot serve or a value is bad, which the group-by then explains."""
    if not _can_serve(frame, question, schema, rule):
        return None
    selected, order = _select(frame, question, schema)
    keys = RowKeys(question, schema)
    sums = _Sums(question, rule, None if question.binary else tuple(order))
    try:
        with ThreadPoolExecutor(1) as adder:  # while the engine makes the next batch
            waiting: deque[Future[None]] = deque()
            for batch in _batches(selected, rule):
                waiting.append(
                    adder.submit(copy_context().run, sums.add, _complete(batch, question, keys))
                )
                if len(waiting) > 1:  # no more than two batches at a time
                    waiting.popleft().result()
            for last in waiting:
                last.result()
        with uncollected():
            return sums.total(keys)
    except (InputError, _NeedsGroupByError):
        return None


def _can_serve(frame: Any, question: Question, schema: Any, rule: Rule) -> bool:
    label = schema[question.label]
    in_two_passes = (
        isinstance(rule, EqualMass) and question.weight is None
    )  # without a sort, which is faster
    if in_two_passes or not (label.is_numeric() or str(label) in ("Boolean", "String")):
        return False
    names = (*question.by, *question.columns["cluster"])
    dtypes = [str(schema[name]) for name in names]
    if any(
        not one.startswith(_KEYS) or one.startswith(_OTHER_KEYS) or "zone='" in one
        for one in dtypes
    ):
        return False
    if frame.implementation.is_polars():
        import polars as pl

        # Groups are encoded by pyarrow; older versions of Polars have no batches, or lose the
        # errors of reading them.
        return hasattr(pl, "scan_lines") and not (names and find_spec("pyarrow") is None)
    return bool(frame.implementation.is_duckdb()) and find_spec("pyarrow") is not None


def _select(frame: Any, question: Question, schema: Any) -> tuple[Any, tuple[Any, ...]]:
    """The columns y, x0, x1, …, w, by0, … as the passes read them.

    And the labels in order of their codes.
    """
    label = str(schema[question.label])
    order: tuple[Any, ...] = (0, 1)
    if (
        not question.binary
        or question.labels is not None
        or question.pos_label is not None
        or label == "String"
    ):
        order = expressions.raw_rows(frame, question)[1]
    plain = (question.binary and order == (0, 1)) or label in (*_INTEGERS, "Boolean")
    coded = not plain or order != tuple(range(len(order))) or label == "String"
    names = expressions.plain_names(frame)
    # DuckDB must not decide comparisons of labels beforehand; scores and weights are compared here.
    named = expressions.select_plainly(frame, question, schema, opaque=coded and label in FLOATS)
    scores = [(nw.col(names[x]), str(schema[x]) in FLOATS) for x in question.scores]
    columns = [
        (x if ready else x.cast(nw.Float64)).alias(f"x{i}") for i, (x, ready) in enumerate(scores)
    ]
    if question.weight is not None:
        columns.append(nw.col(names[question.weight]).cast(nw.Float64).alias("w"))
    for i, name in enumerate((*question.by, *question.columns["cluster"])):
        words = str(schema[name]).startswith(("Categorical", "Enum"))
        columns.append(
            (nw.col(names[name]).cast(nw.String) if words else nw.col(names[name])).alias(f"by{i}")
        )
    t = nw.col(names[question.label])
    if coded:
        text = label == "String"
        named = named.with_columns((t if text else t.cast(nw.Float64)).alias("t"))
        y: Any = (
            nw.when(~nw.col("t").is_null()).then(expressions.label_code(order, text)).cast(nw.Int64)
        )
    else:  # a type that the passes read without a copy
        y = t.cast(nw.UInt8) if label == "Boolean" else t
        if not question.binary or label not in (
            "Boolean",
            "Int8",
            "UInt8",
            "Int32",
            "Int64",
            *FLOATS,
        ):
            y = y.cast(nw.Float64 if question.binary else nw.Int64)
    return named.select(y.alias("y"), *columns), order


def _batches(selected: Any, rule: Rule) -> Iterator[Any]:
    native = selected.to_native()
    if selected.implementation.is_polars():
        options = {"chunk_size": _BATCH_ROWS, "maintain_order": False, "engine": "streaming"}
        yield from map(nw.from_native, native.lazy().collect_batches(**options))
        return
    import pyarrow as pa

    reader = (
        native.to_arrow_reader if hasattr(native, "to_arrow_reader") else native.fetch_arrow_reader
    )
    # DuckDB's threads work in parallel on small batches only; but sketches of small batches cost
    # more to add.
    n_rows = _BATCH_ROWS if isinstance(rule, str) else _BATCH_ROWS >> 3
    yield from (nw.from_native(pa.Table.from_batches([batch])) for batch in reader(n_rows))


def _complete(batch: Any, question: Question, keys: RowKeys) -> _Batch:
    """The rows without missing values, which are nan in arrays of numbers."""
    scores = [f"x{i}" for i in range(len(question.scores))]
    names = ["y", *scores, *([] if question.weight is None else ["w"])]
    arrays = {name: batch.get_column(name).to_numpy() for name in names}
    groups = [batch.get_column(name).to_arrow() for name in batch.columns if name.startswith("by")]
    if question.cluster is not None and groups[-1].null_count:
        raise _NeedsGroupByError
    n = arrays["y"].size
    if question.missing == "drop":
        gaps = [np.isnan(values) for values in arrays.values() if values.dtype.kind == "f"]
        kept = ~np.logical_or.reduce([np.zeros(n, dtype=bool), *gaps])
        if not kept.all():
            arrays = {name: values[kept] for name, values in arrays.items()}
            groups = [column.filter(kept) for column in groups]
    p = arrays["x0"]
    places, n_places = (
        keys.places(groups, arrays.get("w")) if groups else (np.zeros(p.size, np.uint32), 1)
    )
    if not question.binary:
        columns = [arrays[x] for x in scores]
        order: Any = "F" if question.view == "classwise" else "C"  # as the passes read them
        room = np.empty((p.size, len(columns)), np.result_type(*columns), order=order)
        p = np.stack(columns, axis=1, out=room)
    return _Batch(arrays["y"], p, arrays.get("w"), places, n_places, n - arrays["y"].size)


class _Sums:
    def __init__(self, question: Question, rule: Rule, classes: tuple[Any, ...] | None) -> None:
        self.question = question
        self.rule = rule
        self.classes = classes
        self.edges: Any = None if isinstance(rule, str) else rule.fixed_edges
        self.at_place: dict[int, list[Tally | Binned | Sketch]] = {}
        self.tables = np.zeros(
            (0, 0 if self.edges is None else self.edges.size - 1, 2, 5), np.int64
        )
        self.rows = self.dropped = 0
        self.heaviest: dict[int, float] = {}
        self.placed: list[PlacedCells] = []

    def add(self, batch: _Batch) -> None:
        """Add a batch; a bad value raises."""
        self.rows += batch.y.size + batch.dropped
        self.dropped += batch.dropped
        if batch.y.size == 0:
            return
        if self.classes is not None:
            if not (batch.y.min() >= 0 and batch.y.max() < len(self.classes)):
                raise _NeedsGroupByError
            batch = batch._replace(y=batch.y.astype(np.int64, copy=False))
        if batch.w is not None and not (
            float(batch.w.max()) <= expressions.MOST_WEIGHT and batch.w.min() >= 0
        ):
            raise _NeedsGroupByError
        one = self.classes is None or self.question.view == "confidence"
        check_group_bins(self.rule, 1 if one else len(self.question.scores), batch.n_places)
        # Without weights, sums are integers in small tables, and one pass can sum all groups.
        if self.edges is not None and batch.w is None and self.question.binary:
            assert not isinstance(self.rule, str)
            if len(self.tables) < batch.n_places:
                old = self.tables
                self.tables = np.zeros(
                    (2 * batch.n_places, *old.shape[1:]), np.int64
                )  # memory is taken when used
                self.tables[: len(old)] = old
            sample = Sample(batch.y, batch.p)
            if batch.n_places == 1:
                self.tables[0] += binned_of(sample, "classwise", self.rule).parts[0].table
            else:
                add_to_tables(sample, batch.places, self.rule, self.tables)
            return
        if batch.n_places > max(1, self.question.buckets) and batch.n_places * _FEW_ROWS > max(
            _BATCH_ROWS, self.rows
        ):
            if self.rule != "sketch" or batch.w is not None or not self.question.binary:
                raise _NeedsGroupByError
            self._add_sketches(batch)
            return
        for place, rows in _split_by_place(batch):
            self._add_to(place, rows)

    def _add_sketches(self, batch: _Batch) -> None:
        """Add the rows of many places, each of which has few."""
        self.placed.append(PlacedCells.of_rows(Sample(batch.y, batch.p), batch.places))
        # Sums of like size are added first, as below.
        while len(self.placed) > 1 and self.placed[-2].key.size <= 2 * self.placed[-1].key.size:
            last = self.placed.pop()
            self.placed[-1] = self.placed[-1].plus(last)

    def _add_to(self, place: int, rows: Sample) -> None:
        sample = Sample(rows.y, rows.p, rows.w, self.classes, self.question.tolerance)
        if sample.w is not None and not sample.w.any():
            self._sum(
                Sample(sample.y, sample.p, None, self.classes, sample.tolerance)
            )  # only to check the values
            return
        if sample.w is not None:
            self.heaviest[place] = max(self.heaviest.get(place, 0.0), float(sample.w.max()))
        pile = self.at_place.setdefault(place, [])
        pile.append(self._sum(sample))
        # Sums of like size are added first: otherwise many distinct scores take quadratic time, and
        # floats lose digits.
        while len(pile) > 1 and _size(pile[-2]) <= 2 * _size(pile[-1]):
            last = pile.pop()
            pile[-1] = pile[-1] + last

    def _sum(self, sample: Sample) -> Tally | Binned | Sketch:
        kind: Any = "classwise" if self.question.binary else self.question.view
        if isinstance(self.rule, str):
            return sketch_of(sample, kind, piece=True)
        if self.edges is not None:
            return binned_of(sample, kind, self.rule)
        return tally_of(sample, kind, piece=True)

    def total(self, keys: RowKeys) -> dict[Group, Any]:
        """The sums of each group, in the order of their keys."""
        if any(
            heaviest < 2.0 ** (expressions.LEAST_EXPONENT + 1)
            for heaviest in self.heaviest.values()
        ):
            raise _NeedsGroupByError
        totals: dict[int, Any] = {
            place: sum(reversed(pile)) for place, pile in self.at_place.items()
        }
        if self.placed:
            for place, grid in reduce(PlacedCells.plus, self.placed).grids():
                one = Sketch("binary", (grid,))
                totals[place] = totals[place] + one if place in totals else one
        for place, total in totals.items():
            if isinstance(total, Binned):
                for part in total.parts:
                    refuse_overflow(part.count)
            elif isinstance(total, Tally) and not isinstance(self.rule, str | Distinct):
                totals[place] = total.coarsen(self.rule)
        rows = self.tables[:, :, 0, 0] + self.tables[:, :, 1, 0]
        refuse_overflow(rows)
        filled: list[bool] = rows.any(axis=1).tolist()  # type: ignore[assignment]  # of one axis
        if not (totals or any(filled)):
            raise _NeedsGroupByError
        if self.dropped:
            warn(dropped_rows(self.dropped, self.rows), DroppedRowsWarning)
        groups = keys.groups()
        if (
            self.question.cluster is None
        ):  # made in the order of the keys: a million in another are slow to look at
            found = {key: totals[group] for group, key in groups if group in totals}
            return found or {key: self._binned(group) for group, key in groups if filled[group]}
        totals |= {place: self._binned(place) for place, has_rows in enumerate(filled) if has_rows}
        number = self.question.buckets
        largest = keys.largest().tolist()
        found = {}
        for group, key in groups:
            places = enumerate(range(group * number, (group + 1) * number))
            of_bucket = {bucket: totals[place] for bucket, place in places if place in totals}
            if of_bucket:
                found[key] = together(of_bucket, largest[group], number)
        return found

    def _binned(self, place: int) -> Binned:
        return Binned("binary", (Bins(self.edges, self.tables[place], moments=True),))


def _size(sums: Any) -> int:
    if isinstance(sums, Binned):
        return sums.n
    return sum(part.size for part in sums.parts)


def _split_by_place(batch: _Batch) -> Iterator[tuple[int, Sample]]:
    if batch.n_places == 1:
        yield 0, Sample(batch.y, batch.p, batch.w)
        return
    # Sorting short integers is a count of digits, several times as fast as sorting long ones.
    n = batch.n_places
    places = batch.places.astype(np.uint8 if n <= 2**8 else np.uint16 if n <= 2**16 else np.int64)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=n))
    p = batch.p[order] if batch.p.ndim == 1 else np.ascontiguousarray(batch.p.T[:, order]).T
    y = batch.y[order]
    w = None if batch.w is None else batch.w[order]
    for place, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        if end > start:
            yield place, Sample(y[start:end], p[start:end], None if w is None else w[start:end])
