"""Rows of an engine on this machine, batch by batch through the library's own passes.

A group-by that keeps exact sums takes several times as long as reading the rows; the compiled
passes add little. So where Polars or DuckDB can hand over batches, they only read, cast and compare
labels. Whatever needs explaining is left to the group-by, which counts the bad rows.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import reduce
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Literal, NamedTuple

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
from trueness.sources.engines import _row_expressions as expressions
from trueness.sources.engines._cluster_buckets import together
from trueness.sources.engines._gather import Group, refuse_overflow
from trueness.sources.engines._question import Question, Rule, check_group_bins
from trueness.sources.engines._row_expressions import FLOATS
from trueness.sources.engines._row_keys import RowKeys, uncollected
from trueness.typing import Bools, Ints

_BATCH_ROWS = 1 << 20
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32")
_KEYS = ("Int", "UInt", "Float", "String", "Categorical", "Enum", "Boolean", "Date")
_OTHER_KEYS = ("Int128", "UInt128", "Datetime(time_unit='ns")
# Sums of weights and classes of groups of fewer rows are made faster by the engine, sketches by one
# sort.
_FEW_ROWS = 1000


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
    """The sums of each group, from rows that are read in batches.

    None if batches cannot serve, or if a value is bad: then the rows are summed by the engine's
    group-by, which names the fault. `rule` is the rule of bins, and `schema` has the types of the
    columns.
    """
    if not _can_serve(frame, question, schema, rule):
        return None
    selected, order = _select(frame, question, schema)
    keys = RowKeys(question, schema)
    sums = _Sums(question, rule, None if question.binary else tuple(order))
    try:
        _add_batches(_batches(selected, rule), sums, question, keys)
        with uncollected():
            return sums.total(keys)
    except (InputError, _NeedsGroupByError):
        return None


def _add_batches(batches: Iterator[Any], sums: "_Sums", question: Question, keys: RowKeys) -> None:
    """Add each batch while the engine makes the next one; no more than two are in memory."""
    with ThreadPoolExecutor(1) as adder:
        waiting: deque[Future[None]] = deque()
        for batch in batches:
            rows = _complete(batch, question, keys)
            waiting.append(adder.submit(copy_context().run, sums.add, rows))
            if len(waiting) > 1:
                waiting.popleft().result()
        for last in waiting:
            last.result()


def _can_serve(frame: Any, question: Question, schema: Any, rule: Rule) -> bool:
    """Whether the engine can hand out the rows in batches, which are then summed here.

    If not, for example for labels or groups of other types, the engine is asked by a group-by.
    """
    label = schema[question.label]
    if not label.is_numeric() and str(label) not in ("Boolean", "String"):
        return False
    if isinstance(rule, EqualMass) and question.weight is None:
        return False  # the group-by takes two passes without a sort, which is faster
    names = (*question.by, *question.columns["cluster"])
    if not all(_can_be_key(str(schema[name])) for name in names):
        return False
    # Groups are encoded by pyarrow.
    has_pyarrow = find_spec("pyarrow") is not None
    if frame.implementation.is_polars():
        import polars as pl

        # Older versions of Polars have no batches, or lose the errors of reading them.
        return hasattr(pl, "scan_lines") and (has_pyarrow or not names)
    return bool(frame.implementation.is_duckdb()) and has_pyarrow


def _can_be_key(dtype: str) -> bool:
    """Whether values of a type can be encoded as codes; times with a zone cannot."""
    return dtype.startswith(_KEYS) and not dtype.startswith(_OTHER_KEYS) and "zone='" not in dtype


def _select(frame: Any, question: Question, schema: Any) -> tuple[Any, tuple[Any, ...]]:
    """The columns that are summed: y, x0, x1, …, w, by0, … are their names.

    These are the label, the scores, the weight, and the groups with the cluster last. Labels that
    need it are replaced by codes. The second result is the labels in the order of their codes.
    """
    label = str(schema[question.label])
    order: tuple[Any, ...] = (0, 1)
    names_labels = question.labels is not None or question.pos_label is not None
    if not question.binary or names_labels or label == "String":
        order = expressions.raw_rows(frame, question)[1]
    is_coded = _needs_codes(question, label, order)
    names = expressions.plain_names(frame)
    # DuckDB must not decide comparisons of labels beforehand; scores and weights are compared here.
    opaque = is_coded and label in FLOATS
    named = expressions.select_plainly(frame, question, schema, opaque=opaque)
    columns = []
    for i, name in enumerate(question.scores):
        score = nw.col(names[name])
        if str(schema[name]) not in FLOATS:
            score = score.cast(nw.Float64)
        columns.append(score.alias(f"x{i}"))
    if question.weight is not None:
        columns.append(nw.col(names[question.weight]).cast(nw.Float64).alias("w"))
    for i, name in enumerate((*question.by, *question.columns["cluster"])):
        key = nw.col(names[name])
        if str(schema[name]).startswith(("Categorical", "Enum")):
            key = key.cast(nw.String)
        columns.append(key.alias(f"by{i}"))
    y = nw.col(names[question.label])
    if is_coded:
        is_text = label == "String"
        named = named.with_columns((y if is_text else y.cast(nw.Float64)).alias("t"))
        code = expressions.label_code(order, is_text)
        y = nw.when(~nw.col("t").is_null()).then(code).cast(nw.Int64)
    else:
        y = _as_the_passes_read(y, label, binary=question.binary)
    return named.select(y.alias("y"), *columns), order


def _needs_codes(question: Question, label: str, order: tuple[Any, ...]) -> bool:
    """Whether labels must be compared with the order of the classes, or are codes already."""
    if label == "String" or order != tuple(range(len(order))):
        return True
    is_01 = question.binary and order == (0, 1)
    return not is_01 and label not in (*_INTEGERS, "Boolean")


# Types of labels 0/1 that the passes read without a copy.
_READ_AS_THEY_ARE = ("Int8", "UInt8", "Int32", "Int64", *FLOATS)


def _as_the_passes_read(y: Any, label: str, *, binary: bool) -> Any:
    """A column of labels in the type that the sums of rows read.

    Class codes are whole numbers. Labels of one event may be booleans or any numbers; booleans
    become 0 and 1.
    """
    if label == "Boolean":
        y = y.cast(nw.UInt8)
    if not binary:
        return y.cast(nw.Int64)
    if label == "Boolean" or label in _READ_AS_THEY_ARE:
        return y
    return y.cast(nw.Float64)


def _batches(selected: Any, rule: Rule) -> Iterator[Any]:
    """The selected rows as frames of a bounded number of rows, in any order.

    Polars hands out its own batches; other libraries are read through Arrow.
    """
    native = selected.to_native()
    if selected.implementation.is_polars():
        options = {"chunk_size": _BATCH_ROWS, "maintain_order": False, "engine": "streaming"}
        yield from map(nw.from_native, native.lazy().collect_batches(**options))
        return
    import pyarrow as pa

    if hasattr(native, "to_arrow_reader"):
        reader = native.to_arrow_reader
    else:
        reader = native.fetch_arrow_reader
    # DuckDB's threads work in parallel on small batches only; but sketches of small batches cost
    # more to add.
    row_count = _BATCH_ROWS if isinstance(rule, str) else _BATCH_ROWS >> 3
    for batch in reader(row_count):
        yield nw.from_native(pa.Table.from_batches([batch]))


def _complete(batch: Any, question: Question, keys: RowKeys) -> _Batch:
    """The rows of a batch as arrays, with the place of each row among groups and clusters.

    With `missing="drop"`, rows with a missing value (nan in arrays of numbers) are left out and
    counted. A row without a cluster is left to the group-by.
    """
    scores = [f"x{i}" for i in range(len(question.scores))]
    names = ["y", *scores]
    if question.weight is not None:
        names.append("w")
    arrays = {name: batch.get_column(name).to_numpy() for name in names}
    groups = [batch.get_column(name).to_arrow() for name in batch.columns if name.startswith("by")]
    if question.cluster is not None and groups[-1].null_count:
        raise _NeedsGroupByError
    row_count = arrays["y"].size
    if question.missing == "drop":
        kept = ~_gaps(arrays)
        if not kept.all():
            arrays = {name: values[kept] for name, values in arrays.items()}
            groups = [column.filter(kept) for column in groups]
    y = arrays["y"]
    w = arrays.get("w")
    if groups:
        places, n_places = keys.places(groups, w)
    else:
        places = np.zeros(y.size, np.uint32)
        n_places = 1
    p = arrays["x0"]
    if not question.binary:
        p = _matrix([arrays[name] for name in scores], question.view)
    return _Batch(y, p, w, places, n_places, dropped=row_count - y.size)


def _gaps(arrays: Mapping[str, NDArray[Any]]) -> Bools:
    """The rows with a nan."""
    gaps = np.zeros(arrays["y"].size, dtype=bool)
    for values in arrays.values():
        if values.dtype.kind == "f":
            gaps |= np.isnan(values)
    return gaps


def _matrix(columns: list[NDArray[Any]], view: str) -> NDArray[Any]:
    """The scores of all classes, in the order of memory in which the passes read them."""
    order: Literal["C", "F"] = "F" if view == "classwise" else "C"
    shape = (columns[0].size, len(columns))
    room = np.empty(shape, np.result_type(*columns), order=order)
    return np.stack(columns, axis=1, out=room)


class _Sums:
    """The sums of all batches so far."""

    def __init__(self, question: Question, rule: Rule, classes: tuple[Any, ...] | None) -> None:
        """Begin without rows. The table of a place has a row per bin, if the edges are fixed."""
        self.question = question
        self.rule = rule
        self.classes = classes
        self.edges: Any = None if isinstance(rule, str) else rule.fixed_edges
        self.at_place: dict[int, list[Tally | Binned | Sketch]] = {}
        n_bins = 0 if self.edges is None else self.edges.size - 1
        self.tables = np.zeros((0, n_bins, 2, 5), np.int64)
        self.rows = 0
        self.dropped = 0
        self.heaviest: dict[int, float] = {}
        self.placed: list[PlacedCells] = []

    def add(self, batch: _Batch) -> None:
        """Add a batch; a bad value raises."""
        self.rows += batch.y.size + batch.dropped
        self.dropped += batch.dropped
        if batch.y.size == 0:
            return
        if self.classes is not None:
            are_codes = batch.y.min() >= 0 and batch.y.max() < len(self.classes)
            if not are_codes:  # also where one is nan
                raise _NeedsGroupByError
            batch = batch._replace(y=batch.y.astype(np.int64, copy=False))
        if batch.w is not None and not _are_usable(batch.w):
            raise _NeedsGroupByError
        is_one_part = self.classes is None or self.question.view == "confidence"
        part_count = 1 if is_one_part else len(self.question.scores)
        check_group_bins(self.rule, part_count, batch.n_places)
        # Without weights, sums are integers in small tables, and one pass can sum all groups.
        if self.edges is not None and batch.w is None and self.question.binary:
            self._add_to_tables(batch)
            return
        has_groups = batch.n_places > max(1, self.question.buckets)
        if has_groups and batch.n_places * _FEW_ROWS > max(_BATCH_ROWS, self.rows):
            if self.rule != "sketch" or batch.w is not None or not self.question.binary:
                raise _NeedsGroupByError
            self._add_sketches(batch)
            return
        for place, rows in _split_by_place(batch):
            self._add_to(place, rows)

    def _add_to_tables(self, batch: _Batch) -> None:
        """Add a batch of unweighted rows to the table of each place; tables grow when needed."""
        assert not isinstance(self.rule, str)
        if len(self.tables) < batch.n_places:
            smaller = self.tables
            # Twice as many as needed: memory is taken only when it is used.
            self.tables = np.zeros((2 * batch.n_places, *smaller.shape[1:]), np.int64)
            self.tables[: len(smaller)] = smaller
        sample = Sample(batch.y, batch.p)
        if batch.n_places == 1:
            self.tables[0] += binned_of(sample, "classwise", self.rule).parts[0].table
        else:
            add_to_tables(sample, batch.places, self.rule, self.tables)

    def _add_sketches(self, batch: _Batch) -> None:
        """Add the rows of many places, each of which has few."""
        self.placed.append(PlacedCells.of_rows(Sample(batch.y, batch.p), batch.places))
        # Sums of like size are added first, as below.
        while len(self.placed) > 1 and self.placed[-2].key.size <= 2 * self.placed[-1].key.size:
            last = self.placed.pop()
            self.placed[-1] = self.placed[-1].plus(last)

    def _add_to(self, place: int, rows: Sample) -> None:
        """Add rows to the sums at a place; rows whose weights are all 0 are checked only."""
        sample = Sample(rows.y, rows.p, rows.w, self.classes, self.question.tolerance)
        if sample.w is not None:
            if not sample.w.any():
                # Only to check the values: rows of weight 0 are no rows.
                self._sum(Sample(sample.y, sample.p, None, self.classes, sample.tolerance))
                return
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
        lightest_allowed = 2.0 ** (expressions.LEAST_EXPONENT + 1)
        if any(heaviest < lightest_allowed for heaviest in self.heaviest.values()):
            raise _NeedsGroupByError
        totals = {place: self._total_of(pile) for place, pile in self.at_place.items()}
        if self.placed:
            for place, grid in reduce(PlacedCells.plus, self.placed).grids():
                sketch = Sketch("binary", (grid,))
                totals[place] = totals[place] + sketch if place in totals else sketch
        rows = self.tables[:, :, 0, 0] + self.tables[:, :, 1, 0]
        refuse_overflow(rows)
        filled: list[bool] = rows.any(axis=1).tolist()  # type: ignore[assignment]  # of one axis
        if not (totals or any(filled)):
            raise _NeedsGroupByError
        if self.dropped:
            warn(dropped_rows(self.dropped, self.rows), DroppedRowsWarning)
        if self.question.cluster is not None:
            tables = {
                place: self._binned(place) for place, has_rows in enumerate(filled) if has_rows
            }
            return self._with_clusters(totals | tables, keys)
        # Made in the order of the keys: a million in another are slow to look at.
        groups = keys.groups()
        if totals:
            return {key: totals[group] for group, key in groups if group in totals}
        return {key: self._binned(group) for group, key in groups if filled[group]}

    def _total_of(self, pile: list[Tally | Binned | Sketch]) -> Any:
        """The sum of a pile of sums, in the bins that were asked for."""
        total: Any = sum(reversed(pile))
        if isinstance(total, Binned):
            for part in total.parts:
                refuse_overflow(part.count)
        elif isinstance(total, Tally) and not isinstance(self.rule, str | Distinct):
            return total.coarsen(self.rule)
        return total

    def _with_clusters(self, totals: dict[int, Any], keys: RowKeys) -> dict[Group, Any]:
        """The sums of each group, by its key, from those of its buckets.

        `totals` has the sums by place, which is the number of the group times the number of
        buckets, plus the bucket. Buckets without rows are not in it, and groups without rows not in
        the result.
        """
        n_buckets = self.question.buckets
        largest_clusters = keys.largest().tolist()
        sums = {}
        for group, key in keys.groups():
            first = group * n_buckets
            of_buckets = {i: totals[first + i] for i in range(n_buckets) if first + i in totals}
            if of_buckets:
                sums[key] = together(of_buckets, largest_clusters[group], n_buckets)
        return sums

    def _binned(self, place: int) -> Binned:
        return Binned("binary", (Bins(self.edges, self.tables[place], moments=True),))


def _are_usable(w: NDArray[Any]) -> bool:
    """Whether no weight is negative, nan or too large to be squared."""
    return bool(float(w.max()) <= expressions.MOST_WEIGHT and w.min() >= 0)


def _size(sums: Any) -> int:
    if isinstance(sums, Binned):
        return sums.n
    return sum(part.size for part in sums.parts)


def _split_by_place(batch: _Batch) -> Iterator[tuple[int, Sample]]:
    """The rows of each place that has any."""
    if batch.n_places == 1:
        yield 0, Sample(batch.y, batch.p, batch.w)
        return
    places = batch.places.astype(_smallest_type(batch.n_places))
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=batch.n_places))
    y = batch.y[order]
    p = _rows_in_order(batch.p, order)
    w = None if batch.w is None else batch.w[order]
    for place, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        if end > start:
            w_here = None if w is None else w[start:end]
            yield place, Sample(y[start:end], p[start:end], w_here)


def _smallest_type(n: int) -> Any:
    """A type for n places: short integers are sorted several times as fast as long ones."""
    if n <= 2**8:
        return np.uint8
    if n <= 2**16:
        return np.uint16
    return np.int64


def _rows_in_order(p: NDArray[Any], order: Ints) -> NDArray[Any]:
    if p.ndim == 1:
        return p[order]
    # By columns, so that those of a class stay together in memory.
    return np.ascontiguousarray(p.T[:, order]).T
