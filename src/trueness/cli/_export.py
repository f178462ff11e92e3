"""``trueness export``."""

from typing import Any

import click

import trueness.cli._options as opt
from trueness.cli._apply import load_map
from trueness.cli._messages import reword_messages, wording
from trueness.cli._writing import Target
from trueness.errors import InputError

DIALECTS = ("duckdb", "sqlite", "postgresql", "spark", "bigquery")
_ONLY = {"dialect": "sql", "prob": "sql", "matrices": "sql", "table": "sql", "dtype": "onnx"}


@opt.command("export")
@click.argument("path", metavar="MAP")
@opt.choice("--dialect", DIALECTS, "duckdb", "Dialect of the SQL.")
@opt.text("--prob", "SQL: column of the scores.  [default: the one of `fit`, else p]")
@opt.text("--prob-columns", "SQL: columns of several classes, in class order: a,b,c.", "matrices", metavar="NAMES")
@opt.text("--table", "SQL: write a whole query of this table; shorter for maps class by class.")
@opt.choice("--dtype", ("float64", "float32"), "float64", "ONNX: the type of scores and results.")
@opt.output(("sql", "onnx"))
def command(path: str, **options: Any) -> None:
    """Write a fitted map as SQL or as an ONNX model.

    MAP is the JSON file that `trueness fit` wrote. SQL is what stands after SELECT: an expression for each column that
    `trueness apply` would add, under the same name. An ONNX model takes `scores` and gives `calibrated`. Neither needs
    trueness to run, and both agree with `apply` to 1e-12; scores that `apply` refuses become NULL or NaN.

    \b
      trueness export map.json --dialect postgresql --prob score -o map.sql
      trueness export map.json -o map.onnx

    Exit code 0: written. 2: the options or the map are wrong, or no formula of either kind gives the map.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    target = Target.pop_from({**options, "files": (path,)}, {".sql": "sql", ".onnx": "onnx"}, "sql", demand_suffix=True)
    for name, typed in opt.typed_options():
        if _ONLY.get(name, target.form) != target.form:
            raise click.UsageError(f"{typed} is for --format {_ONLY[name]}.")
    if target.form == "onnx" and target.path is None:
        raise click.UsageError("An ONNX model is binary: name a file, -o map.onnx.")
    calibrator = load_map(path, repr(path))
    if target.form == "onnx":
        with reword_messages(wording({}), path):
            model = calibrator.to_onnx(dtype=options["dtype"])
        target.write(model.SerializeToString())
        return
    dialect, columns = options["dialect"], _columns(options["prob"], options["matrices"])
    with reword_messages(wording({"column": "--prob" if calibrator.n_classes_ is None else "--prob-columns"}), path):
        found = calibrator.to_sql(dialect, column=columns, table=options["table"])
    if options["table"] is not None:
        target.write(f"{found}\n")
        return
    from trueness.recalibrate._sql import WRITERS

    several = isinstance(found, dict)
    names = columns or calibrator.score_names_ or (list(found) if several else ["p"])
    names = [names] if isinstance(names, str) else names
    items = zip(names, found.values() if several else [found], strict=True)
    target.write(",\n".join(f"{text} AS {WRITERS[dialect].name(f'{name}_calibrated')}" for name, text in items) + "\n")


def _columns(prob: str | None, matrix: str | None) -> str | list[str] | None:
    if prob is not None and matrix is not None:
        raise click.UsageError("Give --prob or --prob-columns, not both.")
    if matrix is None:
        return prob
    names = [name.strip() for name in matrix.split(",")]
    if "" in names:
        raise InputError("--prob-columns", "must name columns separated by commas", f"got {matrix!r}")
    return names
