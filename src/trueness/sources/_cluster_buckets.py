"""The bucket of each row's cluster as a column that the engine computes, and the sums of buckets put together.

The bucket is one more column to group by. Where an engine has MD5, it hashes every row; elsewhere Python hashes every
name once. See :mod:`trueness._tally.buckets`.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from trueness._input.columns import is_missing, some
from trueness._tally.buckets import MISSING, Hashed
from trueness.errors import DroppedRowsWarning, InputError, dropped_rows, warn
from trueness.sources._gather import Group
from trueness.sources._question import Question, column_error
from trueness.sources._row_expressions import plain_names, select_plainly

_DIGITS = "0123456789abcdef"


def with_buckets(frame: Any, question: Question) -> tuple[Any, Question]:
    """The frame with a column of buckets, which the question groups by after its own columns."""
    names, name = plain_names(frame), str(question.cluster)
    place, new = list(names).index(name), "bucket"
    while new.lower() in {str(known).lower() for known in names}:
        new += "_"
    added = _with_column(frame, name, place, new, question.buckets)
    return added, question._replace(by=(*question.by, new), cluster=None, buckets=0)


def _with_column(frame: Any, name: str, place: int, new: str, buckets: int) -> Any:
    hashed = Hashed(buckets, f"`cluster` column {name!r}")
    native = frame.to_native()
    if isinstance(frame, nw.DataFrame):
        codes = hashed.of([None if is_missing(v) else v for v in frame.get_column(name).to_list()])
        return frame.with_columns(nw.new_series(new, codes, nw.Int64, backend=frame.implementation))
    if frame.implementation.is_polars():
        import polars as pl

        key = pl.nth(place).alias(f"{new}_name")
        names = native.select(key).unique().collect(engine="streaming")
        coded = names.with_columns(pl.Series(new, hashed.of(names.to_series().to_list())))
        joined = native.with_columns(key).join(coded.lazy(), on=f"{new}_name", how="left", nulls_equal=True)
        return nw.from_native(joined.drop(f"{new}_name"))
    if frame.implementation.is_duckdb():
        return nw.from_native(native.project(f"*, {_sql(f'CAST(#{place + 1} AS VARCHAR)', buckets)} AS {new}"))
    if frame.implementation.is_spark_like() and frame.implementation is not nw.Implementation.SQLFRAME:
        quoted = name.replace("`", "``")
        return nw.from_native(native.selectExpr("*", f"{_sql(f'CAST(`{quoted}` AS STRING)', buckets)} AS {new}"))
    if frame.implementation.is_dask():

        def of_partition(values: Any) -> Any:
            return hashed.of([None if is_missing(v) else v for v in values.tolist()])

        column = native[name].map_partitions(lambda v: v.__class__(of_partition(v), index=v.index), meta=(new, "int64"))
        return nw.from_native(native.assign(**{new: column}))
    if frame.implementation.is_ibis():
        import ibis

        @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # Ibis has no types
        def md5(text: str) -> str:
            """The digest in hexadecimal digits."""
            raise NotImplementedError  # the database has it

        digest, digits = md5(native[name].cast("string")), ibis.literal(_DIGITS)
        code = digits.find(digest.substr(0, 1)) * 16 + digits.find(digest.substr(1, 1))
        return nw.from_native(native.mutate(**{new: (code % buckets).cast("int64")}))
    raise InputError("cluster", "cannot be hashed by this engine", f"got {frame.implementation}")


def _sql(text: str, buckets: int) -> str:
    first, second = (f"instr('{_DIGITS}', substr(md5({text}), {i}, 1)) - 1" for i in (1, 2))
    return f"CAST((16 * ({first}) + {second}) % {buckets} AS BIGINT)"


def largest_clusters(frame: Any, question: Question, schema: Any) -> dict[Group, int]:
    """The size of the largest cluster of each group."""
    names = plain_names(frame)
    by = [f"by{i}" for i in range(len(question.by))]
    plain = select_plainly(frame, question, schema, opaque=False).select(
        nw.col(names[question.cluster]).alias("k"),
        *[nw.col(names[name]).alias(key) for key, name in zip(by, question.by, strict=True)],
        *([] if question.weight is None else [nw.col(names[question.weight]).cast(nw.Float64).alias("w")]),
    )
    size = nw.len() if question.weight is None else nw.col("w").sum()
    sizes = plain.lazy().group_by(*by, "k").agg(size.alias("n"))
    most = (sizes.group_by(*by).agg(nw.col("n").max()) if by else sizes.select(nw.col("n").max())).collect()
    keys = [[None if is_missing(v) else v for v in most.get_column(name).to_list()] for name in by]
    values = [0 if is_missing(v) else int(np.ceil(float(v))) for v in most.get_column("n").to_list()]
    return dict(zip(zip(*keys, strict=True) if by else [()], values, strict=True))


def fold_buckets(sums: dict[Group, Any], largest: dict[Group, int], question: Question) -> dict[Group, Any]:
    """The sums of each group, of all its buckets."""
    found: dict[Group, dict[int, Any]] = {}
    unnamed = sum(one.n for key, one in sums.items() if key[-1] in (None, MISSING))
    if unnamed:
        total = sum(one.n for one in sums.values())
        if question.missing == "raise":
            got, remedy = some(unnamed, total, "rows have one"), '`missing="drop"` leaves such rows out.'
            raise column_error("cluster", str(question.cluster), "must not have missing values", got, remedy)
        warn(dropped_rows(unnamed, total, "no cluster"), DroppedRowsWarning)
    for (*key, bucket), one in sums.items():
        if bucket not in (None, MISSING):
            found.setdefault(tuple(key), {})[int(bucket)] = one  # type: ignore[call-overload]  # a whole number
    if not found and not question.by:
        raise InputError("source", "must have at least one row with a cluster", "it has none")
    return {key: together(of_bucket, largest[key], question.buckets) for key, of_bucket in found.items()}


def together(of_bucket: dict[int, Any], largest: int, buckets: int) -> Any:
    """The sums of a group from those of its buckets."""
    known = next(iter(of_bucket.values()))
    (part,) = known.parts
    none = type(known)(
        known.kind, (type(part).empty(*([part.edges] if hasattr(part, "edges") else [])),), known.classes
    )
    return known.of_buckets([of_bucket.get(i, none) for i in range(buckets)], largest)
