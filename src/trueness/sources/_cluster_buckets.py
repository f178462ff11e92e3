"""The bucket of each row's cluster as a column that the engine computes, and the sums of buckets put together.

The bucket is one more column to group by. Where an engine has MD5, it hashes every row; elsewhere
Python hashes every name once. See :mod:`trueness._tally.buckets`.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from trueness._input.columns import is_missing, some
from trueness._tally.buckets import MISSING, Hashed
from trueness.errors import DroppedRowsWarning, InputError, dropped_rows, warn
from trueness.sources._gather import Group, known_values
from trueness.sources._question import Question, column_error
from trueness.sources._row_expressions import plain_names, select_plainly

_DIGITS = "0123456789abcdef"


def with_buckets(frame: Any, question: Question) -> tuple[Any, Question]:
    """The frame with a column of buckets, which the question groups by after its own columns."""
    names = plain_names(frame)
    name = str(question.cluster)
    buckets = question.buckets
    place = list(names).index(name)
    new = "bucket"
    native = frame.to_native()
    while new.lower() in {str(known).lower() for known in names}:
        new += "_"
    hashed = Hashed(buckets, f"`cluster` column {name!r}")
    engine = frame.implementation
    if isinstance(frame, nw.DataFrame):
        codes: Any = hashed.of(known_values(frame.get_column(name)))
        added: Any = frame.with_columns(nw.new_series(new, codes, nw.Int64, backend=engine))
    elif engine.is_polars():
        import polars as pl

        options: Any = {"return_dtype": pl.Int64, "is_elementwise": True}
        codes = pl.nth(place).map_batches(
            lambda names: pl.Series(hashed.of(names.to_list())), **options
        )
        added = native.with_columns(codes.alias(new))
    elif engine.is_duckdb():
        added = native.project(f"*, {_sql(f'CAST(#{place + 1} AS VARCHAR)', buckets)} AS {new}")
    elif engine.is_spark_like() and engine is not nw.Implementation.SQLFRAME:
        quoted = name.replace("`", "``")
        added = native.selectExpr("*", f"{_sql(f'CAST(`{quoted}` AS STRING)', buckets)} AS {new}")
    elif engine.is_dask():
        meta = (new, "int64")
        codes = native[name].map_partitions(
            lambda v: type(v)(hashed.of(known_values(v)), index=v.index), meta=meta
        )
        added = native.assign(**{new: codes})
    elif engine.is_ibis():
        import ibis

        @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # Ibis has no types
        def md5(text: str) -> str:
            """The digest in hexadecimal digits."""
            raise NotImplementedError  # the database has it

        digest = md5(native[name].cast("string"))
        digits = ibis.literal(_DIGITS)
        code = digits.find(digest.substr(0, 1)) * 16 + digits.find(digest.substr(1, 1))
        added = native.mutate(**{new: (code % buckets).cast("int64")})
    else:
        raise InputError("cluster", "cannot be hashed by this engine", f"got {engine}")
    return nw.from_native(added), question._replace(by=(*question.by, new), cluster=None, buckets=0)


def _sql(text: str, buckets: int) -> str:
    first, second = (f"instr('{_DIGITS}', substr(md5({text}), {i}, 1)) - 1" for i in (1, 2))
    return f"CAST((16 * ({first}) + {second}) % {buckets} AS BIGINT)"


def largest_clusters(frame: Any, question: Question, schema: Any) -> dict[Group, int]:
    """The size of the largest cluster of each group."""
    names = plain_names(frame)
    by = [f"by{i}" for i in range(len(question.by))]
    plain = select_plainly(frame, question, schema, opaque=False)
    keys = dict(zip((*by, "k"), (*question.by, question.cluster), strict=True))
    if question.weight is None:
        weight = []
    else:
        weight = [nw.col(names[question.weight]).cast(nw.Float64).alias("w")]
    rows = plain.select(*[nw.col(names[name]).alias(key) for key, name in keys.items()], *weight)
    size = nw.col("w").sum() if weight else nw.len()
    sizes = rows.lazy().group_by(*keys).agg(size.alias("n"))
    most = (
        sizes.group_by(*by).agg(nw.col("n").max()) if by else sizes.select(nw.col("n").max())
    ).collect()
    groups = [known_values(most.get_column(name)) for name in by]
    values = [
        0 if is_missing(v) else int(np.ceil(float(v))) for v in most.get_column("n").to_list()
    ]
    return dict(zip(zip(*groups, strict=True) if by else [()], values, strict=True))


def fold_buckets(
    sums: dict[Group, Any], largest: dict[Group, int], question: Question
) -> dict[Group, Any]:
    """The sums of each group, of all its buckets."""
    unnamed = sum(one.n for key, one in sums.items() if key[-1] in (None, MISSING))
    if unnamed:
        total = sum(one.n for one in sums.values())
        if question.missing == "raise":
            got = some(unnamed, total, "rows have one")
            remedy = '`missing="drop"` leaves such rows out.'
            raise column_error(
                "cluster", str(question.cluster), "must not have missing values", got, remedy
            )
        warn(dropped_rows(unnamed, total, "no cluster"), DroppedRowsWarning)
    found: dict[Group, dict[int, Any]] = {}
    for (*key, bucket), one in sums.items():
        if bucket not in (None, MISSING):
            found.setdefault(tuple(key), {})[int(bucket)] = one  # type: ignore[call-overload]  # a whole number
    if not found and not question.by:
        raise InputError("source", "must have at least one row with a cluster", "it has none")
    return {
        key: together(of_bucket, largest[key], question.buckets) for key, of_bucket in found.items()
    }


def together(of_bucket: dict[int, Any], largest: int, buckets: int) -> Any:
    """The sums of a group from those of its buckets."""
    known = next(iter(of_bucket.values()))
    (part,) = known.parts
    edges = [part.edges] if hasattr(part, "edges") else []
    none = type(known)(known.kind, (type(part).empty(*edges),), known.classes)
    return known.of_buckets([of_bucket.get(i, none) for i in range(buckets)], largest)
