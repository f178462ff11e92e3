"""The bucket of each row's cluster as a column, and the sums of buckets put together.

The bucket is one more column to group by. Where an engine has MD5, it hashes every row; elsewhere
Python hashes every name once. See :mod:`trueness._tally.buckets`.
"""

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from trueness._input.columns import is_missing, some
from trueness._tally.buckets import MISSING, Hashed
from trueness.errors import DroppedRowsWarning, InputError, dropped_rows, warn
from trueness.sources.engines._gather import Group, known_values
from trueness.sources.engines._question import Question, column_error
from trueness.sources.engines._row_expressions import plain_names, select_plainly

_DIGITS = "0123456789abcdef"


def with_buckets(frame: Any, question: Question) -> tuple[Any, Question]:
    """The frame with a column of buckets, which the question groups by after its own columns."""
    new = _unused_name(plain_names(frame))
    hashed = Hashed(question.buckets, f"`cluster` column {question.cluster!r}")
    native = _with_column(frame, str(question.cluster), new, hashed, question.buckets)
    by = (*question.by, new)
    return nw.from_native(native), question._replace(by=by, cluster=None, buckets=0)


def _unused_name(names: Mapping[str, Any]) -> str:
    """A name for the new column; engines that ignore case would confuse "bucket" and "Bucket"."""
    lower = {str(name).lower() for name in names}
    new = "bucket"
    while new in lower:
        new += "_"
    return new


def _with_column(frame: Any, name: str, new: str, hashed: Hashed, buckets: int) -> Any:
    """The native frame with a column `new`: the bucket of each cluster's name.

    Engines that have MD5 compute it themselves; for others `hashed` does, in Python. `name` is the
    column of clusters and `buckets` their number of buckets. InputError for an engine that can do
    neither.
    """
    native = frame.to_native()
    engine = frame.implementation
    if isinstance(frame, nw.DataFrame):
        codes = hashed.of(known_values(frame.get_column(name)))
        return frame.with_columns(nw.new_series(new, codes, nw.Int64, backend=engine))
    if engine.is_polars():
        return native.with_columns(_polars_buckets(frame, name, hashed).alias(new))
    if engine.is_duckdb():
        place = list(plain_names(frame)).index(name)
        return native.project(f"*, {_sql(f'CAST(#{place + 1} AS VARCHAR)', buckets)} AS {new}")
    if engine.is_spark_like() and engine is not nw.Implementation.SQLFRAME:
        quoted = name.replace("`", "``")
        return native.selectExpr("*", f"{_sql(f'CAST(`{quoted}` AS STRING)', buckets)} AS {new}")
    if engine.is_dask():
        codes = native[name].map_partitions(
            lambda names: type(names)(hashed.of(known_values(names)), index=names.index),
            meta=(new, "int64"),
        )
        return native.assign(**{new: codes})
    if engine.is_ibis():
        return native.mutate(**{new: _ibis_buckets(native[name], buckets)})
    raise InputError("cluster", "cannot be hashed by this engine", f"got {engine}")


def _polars_buckets(frame: Any, name: str, hashed: Hashed) -> Any:
    """The bucket of each value of the column `name`, as a Polars expression."""
    import polars as pl

    # By its place: Polars would take a name such as ^p$ for a pattern.
    place = list(plain_names(frame)).index(name)
    return pl.nth(place).map_batches(
        lambda names: pl.Series(hashed.of(names.to_list())),
        return_dtype=pl.Int64,
        is_elementwise=True,
    )


def _ibis_buckets(names: Any, buckets: int) -> Any:
    """The bucket of each name, computed in the database.

    It is the first byte of the MD5 digest, modulo the number of buckets.
    """
    import ibis

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # Ibis has no types
    def md5(text: str) -> str:
        """The digest in hexadecimal digits."""
        raise NotImplementedError  # the database has it

    digest = md5(names.cast("string"))
    digits = ibis.literal(_DIGITS)
    code = digits.find(digest.substr(0, 1)) * 16 + digits.find(digest.substr(1, 1))
    return (code % buckets).cast("int64")


def _sql(text: str, buckets: int) -> str:
    """The bucket of a text in SQL: its first two hexadecimal digits, modulo the buckets."""
    first, second = (f"instr('{_DIGITS}', substr(md5({text}), {i}, 1)) - 1" for i in (1, 2))
    return f"CAST((16 * ({first}) + {second}) % {buckets} AS BIGINT)"


def largest_clusters(frame: Any, question: Question, schema: Any) -> dict[Group, int]:
    """The size of the largest cluster of each group: its rows, or the sum of their weights.

    Without groups there is one entry, with the empty tuple as its key.
    """
    names = plain_names(frame)
    plain = select_plainly(frame, question, schema, opaque=False)
    by = [f"by{i}" for i in range(len(question.by))]
    keys = dict(zip((*by, "k"), (*question.by, str(question.cluster)), strict=True))
    columns = [nw.col(names[name]).alias(key) for key, name in keys.items()]
    size = nw.len()
    if question.weight is not None:
        columns.append(nw.col(names[question.weight]).cast(nw.Float64).alias("w"))
        size = nw.col("w").sum()
    sizes = plain.select(*columns).lazy().group_by(*keys).agg(size.alias("n"))
    largest = nw.col("n").max()
    if not by:
        (value,) = sizes.select(largest).collect().get_column("n").to_list()
        return {(): _whole_size(value)}
    of_groups = sizes.group_by(*by).agg(largest).collect()
    groups = zip(*[known_values(of_groups.get_column(name)) for name in by], strict=True)
    values = of_groups.get_column("n").to_list()
    return {group: _whole_size(value) for group, value in zip(groups, values, strict=True)}


def _whole_size(value: Any) -> int:
    """A size, rounded up; 0 where a group has no rows."""
    if is_missing(value):
        return 0
    return int(np.ceil(float(value)))


def fold_buckets(
    sums: dict[Group, Any], largest: dict[Group, int], question: Question
) -> dict[Group, Any]:
    """The sums of each group, made from those of its buckets.

    A bucket holds the rows of many clusters, chosen by a hash of the cluster's name. The keys of
    `sums` are those of the group with the bucket last; `largest` has the size of the largest
    cluster of each group. Rows without a cluster are an error or are dropped with a warning, as the
    question says.
    """
    _report_unnamed(sums, question)
    groups: dict[Group, dict[int, Any]] = {}
    for key, of_bucket in sums.items():
        bucket: Any = key[-1]
        if not _is_unnamed(bucket):
            groups.setdefault(key[:-1], {})[int(bucket)] = of_bucket
    if not groups and not question.by:
        raise InputError("source", "must have at least one row with a cluster", "it has none")
    return {
        group: together(of_buckets, largest[group], question.buckets)
        for group, of_buckets in groups.items()
    }


def _is_unnamed(bucket: Any) -> bool:
    """Whether a bucket is that of rows without a cluster."""
    return bucket in (None, MISSING)


def _report_unnamed(sums: dict[Group, Any], question: Question) -> None:
    """Refuse rows without a cluster, or warn that they were dropped."""
    unnamed = sum(of_bucket.n for key, of_bucket in sums.items() if _is_unnamed(key[-1]))
    if not unnamed:
        return
    total = sum(of_bucket.n for of_bucket in sums.values())
    if question.missing == "raise":
        demand = "must not have missing values"
        got = some(unnamed, total, "rows have one")
        remedy = '`missing="drop"` leaves such rows out.'
        raise column_error("cluster", str(question.cluster), demand, got, remedy)
    warn(dropped_rows(unnamed, total, "no cluster"), DroppedRowsWarning)


def together(of_bucket: dict[int, Any], largest: int, buckets: int) -> Any:
    """The sums of a group from those of its buckets."""
    first = next(iter(of_bucket.values()))
    (part,) = first.parts
    edges = [part.edges] if hasattr(part, "edges") else []
    none = type(first)(first.kind, (type(part).empty(*edges),), first.classes)
    return first.of_buckets([of_bucket.get(i, none) for i in range(buckets)], largest)
