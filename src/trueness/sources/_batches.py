"""Rows of an engine on this machine, batch by batch through the library's own pass.

A group-by that keeps exact sums takes several times as long as reading the rows; the compiled pass adds little to
it. So where the engine can hand over batches, and nothing about the rows needs explaining, that is the way.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueness._input.sample import Sample
from trueness._tally.bins import Bins
from trueness._tally.grid import GridSums
from trueness._tally.row_sums import bins_of_rows
from trueness._tally.rules import BinRule
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned
from trueness.errors import InputError
from trueness.sources._gather import refuse_overflow
from trueness.sources._named import plain_names, plainly_named
from trueness.sources._question import Question

__all__ = ["streamed"]

_ROWS = 1 << 20
_FLOATS = ("Float32", "Float64")

Batch = tuple[NDArray[Any], NDArray[Any]]


class _UntoldError(Exception):
    """A batch holds something that only the general way can tell apart."""


def streamed(frame: Any, question: Question, schema: Any, rule: BinRule | Literal["sketch"]) -> Binned | Sketch | None:
    """The sums of each bin or cell, or None where this way cannot go or a value is bad: the general way says which."""
    import narwhals.stable.v2 as nw

    told = question.labels is not None or question.pos_label is not None or question.weight is not None
    label = schema[question.label]
    if not question.binary or told or question.by:
        return None
    if not isinstance(rule, str) and rule.fixed_edges is None:
        return None
    if not (label.is_numeric() or str(label) == "Boolean"):
        return None
    ways = {nw.Implementation.POLARS: _of_polars, nw.Implementation.DUCKDB: _of_duckdb}
    if frame.implementation not in ways:
        return None
    named, names = plainly_named(frame, question, schema, opaque=False), plain_names(frame)
    plain = question._replace(label=names[question.label], scores=(names[question.scores[0]],))
    batches = ways[frame.implementation](nw.to_native(named), plain, named.collect_schema())
    sums = GridSums() if isinstance(rule, str) else _BinSums(rule)
    try:
        for y, p in batches:
            sums.add(Sample(y, p))
    except (InputError, _UntoldError):
        return None
    return Sketch("binary", (sums.cells,)) if isinstance(sums, GridSums) else Binned("binary", (sums.bins,))


class _BinSums:
    """Sums of bins that grow by pieces of rows."""

    def __init__(self, rule: BinRule) -> None:
        assert rule.fixed_edges is not None
        self._rule, self._found = rule, Bins.empty(rule.fixed_edges)

    def add(self, sample: Sample) -> None:
        self._found = self._found + bins_of_rows(sample, self._rule, moments=True)

    @property
    def bins(self) -> Bins:
        assert self._found.table is not None
        refuse_overflow(self._found.table[:, :, 0])
        return Bins(self._found.edges, self._found.table, moments=True)


def _of_polars(native: Any, question: Question, schema: Any) -> Iterator[Batch]:
    import polars as pl

    if not hasattr(pl.LazyFrame, "collect_batches"):
        raise _UntoldError
    score, label = pl.col(question.scores[0]).alias("p"), pl.col(question.label).alias("y")
    score = score if str(schema[question.scores[0]]) in _FLOATS else score.cast(pl.Float64)
    label = _narrow(label, schema[question.label], pl.UInt8, pl.Float64)
    batches = native.lazy().select(label, score).collect_batches(maintain_order=False, engine="streaming")
    for batch in batches:
        yield _checked(*((batch[name].null_count(), batch[name].to_numpy()) for name in ("y", "p")))


def _narrow(label: Any, dtype: Any, small: Any, wide: Any) -> Any:
    """Labels as a type that the pass reads without a copy."""
    if str(dtype) == "Boolean":
        return label.cast(small)
    return label if str(dtype) in ("Int8", "UInt8", "Int32", "Int64", *_FLOATS) else label.cast(wide)


def _of_duckdb(native: Any, question: Question, schema: Any) -> Iterator[Batch]:
    import duckdb

    score = duckdb.ColumnExpression(question.scores[0])
    score = score if str(schema[question.scores[0]]) in _FLOATS else score.cast("DOUBLE")
    label = _narrow(duckdb.ColumnExpression(question.label), schema[question.label], "UTINYINT", "DOUBLE")
    chosen = native.select(label.alias("y"), score.alias("p"))
    reader = (chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader)(_ROWS)
    for batch in reader:
        yield _checked(*((c.null_count, c.to_numpy(zero_copy_only=False)) for c in batch.columns))


def _checked(y: tuple[int, Any], p: tuple[int, Any]) -> Batch:
    if y[0] or p[0]:
        raise _UntoldError
    return np.asarray(y[1]), np.asarray(p[1])
