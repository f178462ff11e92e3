"""The columns that are asked for, under names that every engine takes literally.

Polars reads `*` and `^p$` as patterns, DuckDB reads `*` so, Spark looks into `a.b`; DuckDB and Spark take `p` and `P`
for one name. So columns are taken by their place where an engine has places, and are then called c0, c1 and so on.
"""

from typing import Any

from trueness.errors import InputError
from trueness.sources._question import Question

__all__ = ["asked_columns", "column_names", "plain_names", "plainly_named", "refuse_same_names"]

_FLOATS = ("Float32", "Float64")


def asked_columns(question: Question) -> dict[str, tuple[str, ...]]:
    """The names of columns by the argument that they were passed as."""
    weight = () if question.weight is None else (question.weight,)
    return {"label": (question.label,), "score": question.scores, "by": question.by, "weight": weight}


def column_names(frame: Any) -> list[Any]:
    """The names of all columns in order, as the engine has them."""
    native = frame.to_native()
    return list(native.columns) if frame.implementation.is_duckdb() else list(frame.collect_schema())


def refuse_same_names(frame: Any, question: Question) -> None:
    """Raise if a name that is asked for belongs to several columns; DuckDB allows it."""
    names = column_names(frame)
    for argument, asked in asked_columns(question).items():
        for name in asked:
            if names.count(name) > 1:
                raise InputError(
                    argument, "must name one column", f"`source` has {names.count(name)} columns named {name!r}"
                )


def plain_names(frame: Any) -> dict[Any, str]:
    """What each column is called in :func:`plainly_named`."""
    return {name: f"c{i}" for i, name in enumerate(column_names(frame))}


def plainly_named(frame: Any, question: Question, schema: Any, *, opaque: bool = True) -> Any:
    """The columns that are asked for, and no other, each called c and its place.

    `opaque` keeps DuckDB from deciding comparisons by the least and greatest value that a Parquet file states for a
    column, which leave nan out; it does so through most functions, too. What is random it does not decide beforehand.
    """
    import narwhals.stable.v2 as nw

    asked = {name for names in asked_columns(question).values() for name in names}
    places = [(i, name) for i, name in enumerate(column_names(frame)) if name in asked]
    numbers = {question.label, *question.scores, *((question.weight,) if question.weight is not None else ())}
    floats = {name for name in numbers if opaque and str(schema[name]) in _FLOATS}
    native = frame.to_native()
    if frame.implementation.is_polars():
        import polars as pl

        return nw.from_native(native.select(*[pl.nth(i).alias(f"c{i}") for i, _ in places]))
    if frame.implementation.is_duckdb():
        hidden = [f"#{i + 1}{' + 0 * random()' if name in floats else ''} AS c{i}" for i, name in places]
        return nw.from_native(native.project(", ".join(hidden)))
    if frame.implementation.is_spark_like():
        frame = nw.from_native(native.toDF(*[f"c{i}" for i in range(len(native.columns))]))
        return frame.select(*[f"c{i}" for i, _ in places])
    if frame.implementation.is_ibis():
        frame = nw.from_native(_opaque_ibis(native, sorted(floats)))
    return frame.select(*[nw.col(name).alias(f"c{i}") for i, name in places])


def _opaque_ibis(table: Any, floats: list[str]) -> Any:
    """DuckDB behind Ibis believes the same."""
    import ibis

    if not floats or table.get_backend().name != "duckdb":
        return table
    return table.mutate([(table[name] + ibis.random() * 0).name(name) for name in floats])
