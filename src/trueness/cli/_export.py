"""``trueness export``: a map as SQL or as an ONNX model."""

from typing import Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness.cli._command import command
from trueness.cli._printing import (
    Target,
    check_writable,
    reword_messages,
    wording,
)
from trueness.cli._reading import load_map
from trueness.errors import InputError

DIALECTS = (
    *("duckdb", "sqlite", "postgresql", "postgres", "spark", "bigquery"),
    *("snowflake", "redshift", "databricks", "trino", "clickhouse", "mysql", "tsql", "oracle"),
)
_ONLY = {"dialect": "sql", "prob": "sql", "matrices": "sql", "table": "sql", "dtype": "onnx"}
"""Options of one format of `export`."""


@command("export")
@click.argument("path", metavar="MAP")
@opt.choice(
    "--dialect",
    DIALECTS,
    "Dialect of the SQL: duckdb, sqlite, postgresql, spark, bigquery; translated by sqlglot, and "
    "not executed here, also snowflake, redshift, databricks, trino, clickhouse, mysql, tsql, "
    "oracle.",
    default="duckdb",
    metavar="NAME",
)
@opt.text("--prob", "SQL: column of the scores.  [default: the one of `fit`, else p]")
@opt.text(
    "--prob-columns",
    "SQL: columns of several classes, in class order: a,b,c.",
    "matrices",
    metavar="NAMES",
)
@opt.text("--table", "SQL: write a whole query of this table; shorter for maps class by class.")
@opt.choice(
    "--dtype", "float64 float32", "ONNX: the type of scores and results.", default="float64"
)
@opt.output(("sql", "onnx"), {".sql": "sql", ".onnx": "onnx"}, demand_suffix=True)
def export(path: str, target: Target, **values: object) -> None:
    """Write a fitted map as SQL or as an ONNX model.

    MAP is the JSON file that `trueness fit` wrote. SQL is what stands after SELECT: an expression
    for each column that `trueness apply` would add, under the same name. An ONNX model takes
    `scores` and gives `calibrated`. Neither needs trueness to run, and both agree with `apply` to
    1e-12 (1e-16 times the logit, for logits beyond 10,000); scores that `apply` refuses become NULL
    or NaN.

    \b
      trueness export map.json --dialect postgresql --prob score -o map.sql
      trueness export map.json -o map.onnx

    Exit code 0: written. 2: the options or the map are wrong, or no formula of either kind gives
    the map.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    options: dict[str, Any] = values
    check_writable(target.path, path)
    for name, typed in opt.typed_options():
        if _ONLY.get(name, target.form) != target.form:
            raise click.UsageError(f"{typed} is for --format {_ONLY[name]}.")
    if target.form == "onnx" and target.path is None:
        raise click.UsageError("An ONNX model is binary: name a file, -o map.onnx.")
    calibrator = load_map(path, repr(path))
    if isinstance(calibrator, tn.IntervalCalibration):
        raise InputError("MAP", "must map scores", f"{path} moves the ends of intervals")
    if target.form == "onnx":
        with reword_messages(wording({}), path):
            model = calibrator.to_onnx(dtype=options["dtype"])
        target.write(model.SerializeToString())
        return
    dialect = options["dialect"]
    columns = _columns(options["prob"], options["matrices"])
    option = "--prob" if calibrator.n_classes_ is None else "--prob-columns"
    with reword_messages(wording({"column": option}), path):
        sql = calibrator.to_sql(dialect, column=columns, table=options["table"])
    if options["table"] is not None:
        target.write(f"{sql}\n")
        return
    from trueness.recalibrate._sql import quoted

    expressions = sql if isinstance(sql, dict) else {"p": sql}
    names = columns or calibrator.score_names_ or list(expressions)
    if isinstance(names, str):
        names = [names]
    lines = []
    for name, expression in zip(names, expressions.values(), strict=True):
        lines.append(f"{expression} AS {quoted(f'{name}_calibrated', dialect)}")
    target.write(",\n".join(lines) + "\n")


def _columns(prob: str | None, matrix: str | None) -> str | list[str] | None:
    """The column of scores, or the columns of `--prob-columns` as a list; None if neither is given.

    `matrix` holds names separated by commas. Both options together are an error.
    """
    if prob is not None and matrix is not None:
        raise click.UsageError("Give --prob or --prob-columns, not both.")
    if matrix is None:
        return prob
    names = [name.strip() for name in matrix.split(",")]
    if "" in names:
        raise InputError(
            "--prob-columns", "must name columns separated by commas", f"got {matrix!r}"
        )
    return names
