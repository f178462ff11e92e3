"""``trueness measure``.

The JSON object has, and keeps, these keys:

``schema``
    1; raised when the meaning of a key changes.
``version``
    Of trueness.
``data``
    ``source``, ``label``, ``weight`` (null without weights).
``bins``
    In words, by measure: ``ece``, ``mce``, ``ace``, ``tce``, ``squared_ece``.
``models``
    A list, in the order asked for. Each has ``name``; ``columns``; ``classes`` (in column order; null for
    one column of scores); ``measures``, by the keys that CSV has in its first column; ``infinite``, the
    measures that are infinite; and, with ``--table``, ``bin_tables``: by kind, the columns of
    :class:`trueness.BinTable` with ``kind``, ``level`` and ``interval``.

JSON has no nan and no infinity: both are null.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from trueness.cli._messages import errors_as_messages, note, warning
from trueness.cli._options import (
    bin_rule,
    bins_option,
    check_input,
    data_options,
    level_option,
    output_options,
    seed_option,
    stream_option,
)
from trueness.cli._writing import Output, check_writable, deliver, form_of

if TYPE_CHECKING:
    from trueness._text.table import Table
    from trueness.cli._measurements import Measured, Measurements, Options, Quantity
    from trueness.cli._rows import Dataset, Group
    from trueness.results import BinTable

__all__ = ["command"]

_BINNED = {"ece": "ECE", "mce": "MCE", "ace": "ACE", "tce": "TCE", "squared_ece": "squared ECE"}
_OF_GROUPS = {"n", "prevalence", "accuracy", "ece", "ace", "tce", "brier", "observed_expected"}
"""Measures that a table of groups shows; CSV and JSON have all."""


@click.command("measure", no_args_is_help=True)
@data_options()
@seed_option("Seed of the demo data.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(["classwise", "confidence", "top-label"]),
    multiple=True,
    help="What to compare for several classes; repeatable.  [default: classwise and confidence]",
)
@bins_option("10", "Bins of ECE and MCE; ACE takes as many, of equal mass")
@click.option("--table", "tables", is_flag=True, help="Also the bins, with intervals for the event rates.")
@level_option(0.95, "Confidence level of these intervals.")
@click.option("--each", is_flag=True, help="For .tally files: also each file separately.")
@stream_option
@output_options
@click.pass_context
def command(context: click.Context, /, files: tuple[str, ...], demo: bool, debug: bool, **options: Any) -> None:
    """Measure the calibration of scores and print a table.

    FILE is CSV, TSV, JSON lines, Parquet, Arrow, npz or npy; '-' is standard input. Columns called label, y, y_true or
    target, and prob, p, y_prob, score or probability, are found without being named if there is one of each.

    \b
      trueness measure --demo
      trueness measure predictions.csv --label churned --prob model_a --prob model_b
      trueness measure scores.parquet --label species --prob-columns 'p_*' --table
      trueness measure scores.npz --label y --prob P --format json -o measures.json
      trueness measure monday.tally tuesday.tally --each

    Exit code 0: measured. 2: the options or the data are wrong, and a message says how.
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    check_input(context, files, demo, only_demo=("rows", "seed"))
    if options.pop("each"):
        raise click.UsageError("--each is for .tally files; `trueness tally` makes one from each file of rows.")
    if options["by"] and options["tables"]:
        raise click.UsageError("--table is for all rows together; leave --by out.")
    if options["by"] and options["stream"]:
        raise click.UsageError("--by needs all rows at once; leave --stream out.")
    with errors_as_messages(debug):
        _measure(files, **options)


def _measure(
    files: tuple[str, ...], *, form: str | None, output: str | None, stream: bool | None, **options: Any
) -> None:
    from trueness.cli._measurements import Options, measure_all
    from trueness.cli._rows import Group, Request, open_dataset

    settings = Options(
        bins=bin_rule(options["bins"]),
        level=options["level"],
        kinds=tuple(dict.fromkeys(options["kinds"])),
        tables=options["tables"],
    )
    check_writable(output, *files)
    form = form_of(form, output)
    request = Request.pop_from(options, files=files)
    with open_dataset(request) as data:
        if stream or (stream is None and data.large and not request.by):
            results = [(Group(), _streamed(data, settings, asked=stream is not None))]
        else:
            rows = data.rows().checked()
            if request.by:
                rows.warn_of_dropped()
            results = [(group, measure_all(part, settings, group)) for group, part in rows.groups()]
    _print_remarks(results)
    deliver((_by_group if request.by else _by_model)(results, data.source.name), form, output)


def _streamed(data: "Dataset", settings: "Options", *, asked: bool) -> "Measurements":
    from dataclasses import replace

    from trueness.cli import _stream
    from trueness.cli._measurements import measured, measurements, sums_of

    total = _stream.stream_sums(data, lambda rows, model: sums_of(rows, model, settings), settings.bins, asked=asked)
    binned = any(sums.binned for sums in total.values())
    if binned:
        note(
            f"there are more than {_stream.MOST_CELLS:,} distinct scores. Measures that need each of them are left "
            "out: ACE, TCE, smooth ECE, the parts of the Brier score, log loss, slope and intercept. `--no-stream` "
            "computes them."
        )
    models = []
    for model in data.choice.models:
        sums = total[model.name]
        with data.about(model.name) as warned:
            one = measured(model, sums, settings)
        models.append(replace(one, warnings=(*sums.warnings, *warned)))
    return measurements(data.choice, models, settings, binned=binned)


def _print_remarks(results: Sequence[tuple["Group", "Measurements"]]) -> None:
    """Print each remark and each warning once, with the models and groups it is about unless it is about all."""
    models = [
        (f"{model.name}, {group}" if str(group) else model.name, model)
        for group, one in results
        for model in one.models
    ]
    for kind, print_one in (("remarks", note), ("warnings", warning)):
        about: dict[str, list[str]] = {}
        for name, model in models:
            for message in getattr(model, kind):
                about.setdefault(message, []).append(name)
        for message, names in about.items():
            print_one(message if len(names) == len(models) else f"{'; '.join(names)}: {message}")


def _by_model(results: Sequence[tuple["Group", "Measurements"]], source: str) -> Output:
    """A row per measure, a column per model."""
    from trueness._text.strings import shorten, visible
    from trueness._text.table import Cell, Column, Table

    ((_, result),) = results
    names = [model.name for model in result.models]
    key, meaning = (_unlike(names, word) for word in ("measure", "meaning"))
    columns = [Column(key, "measure"), *(Column(name, shorten(visible(name), 24), "number") for name in names)]
    columns.append(Column(meaning, "meaning", forms="table", optional=True))
    texts = _wide(result.quantities, [model.values for model in result.models])
    rows = [
        {
            key: Cell(q.key, f"– {q.name}" if q.part else q.name),
            **{m.name: Cell(m.values[q.key], texts.texts(c)[i]) for i, m in enumerate(result.models)},
            meaning: q.meaning,
        }
        for q, c in zip(result.quantities, texts.columns, strict=True)
    ]
    tables = [(model.name, kind, table) for model in result.models for kind, table in model.tables.items()]
    details = [
        (f"Bins of {shorten(name, 24)}{'' if kind == 'binary' else f', {kind}'}", _bins(table))
        for name, kind, table in tables
    ]
    data = {
        "data": {"source": source, "label": result.label, "weight": result.weight},
        "bins": result.bins,
        "models": [_entry(model, result) for model in result.models],
    }
    csv = _bin_lines(tables) if tables else None
    return Output(Table(columns, rows, _notes(result, source)), data, details, csv)


def _unlike(names: Sequence[str], word: str) -> str:
    """The word, changed if a model is called so."""
    return word if word not in names else _unlike(names, f"{word}_")


def _by_group(results: Sequence[tuple["Group", "Measurements"]], source: str) -> Output:
    """A row per group and model, a column per measure."""
    from dataclasses import replace

    from trueness._text.table import Column
    from trueness.cli._rows import group_columns

    first = results[0][1]
    rows = [{**group.entry(), "model": model.name, **model.values} for group, one in results for model in one.models]
    table = _wide(first.quantities, rows)
    columns = [c if c.key.partition("_c")[0] in _OF_GROUPS else c._replace(forms="data") for c in table.columns]
    columns = [*group_columns(["by"]), Column("model", "model", "name"), *columns]
    data = {
        "data": {"source": source, "label": first.label, "weight": first.weight},
        "bins": first.bins,
        "groups": [{**group.entry(), "models": [_entry(m, one) for m in one.models]} for group, one in results],
    }
    return Output(replace(table, columns=columns, notes=_notes(first, source)), data)


def _wide(quantities: Sequence["Quantity"], rows: Sequence[dict[str, Any]]) -> "Table":
    from trueness._text.table import Column, Table

    return Table([Column(q.key, q.name, q.form) for q in quantities], rows)


def _notes(result: "Measurements", source: str) -> list[str]:
    """The data, and the bins in words."""
    weight = "" if result.weight is None else f", weights {result.weight!r}"
    measures: dict[str, list[str]] = {}
    for key, words in result.bins.items():
        measures.setdefault(words, []).append(_BINNED[key])
    bins = "; ".join(f"{', '.join(names)}: {words}" for words, names in measures.items())
    return [f"Data: {source}, labels {result.label!r}{weight}.", f"Bins: {bins}."]


def _bins(table: "BinTable") -> "Table":
    """The bins as people read them."""
    from trueness._text.bins import bin_name
    from trueness._text.table import Cell, Column, Table

    columns = [
        Column("label", "class", "name"),
        Column("bin", "bin"),
        Column("n", "rows", "count"),
        Column("score", "score", "number"),
        Column("rate", "rate", "number"),
        Column("low", f"{100 * table.level:g} % interval", "number"),
        Column("gap", "gap", "signed"),
    ]
    bins, rows = table.rows(), []
    for row, following in zip(bins, [*bins[1:], {"low_edge": -1}], strict=True):
        name = bin_name(row["low_edge"], row["high_edge"], last=following["low_edge"] < row["high_edge"])
        interval = "" if row["low"] != row["low"] else f"{row['low']:.4f} to {row['high']:.4f}"
        empty = dict.fromkeys(("score", "rate", "gap")) if row["n"] == 0 else {}
        rows.append({**row, "bin": name, "low": Cell(row["low"], interval), **empty})
    return Table(columns, rows)


def _bin_lines(tables: Sequence[tuple[str, str, "BinTable"]]) -> "Table":
    """The bins of all models with every digit, one line per bin."""
    from trueness._text.table import Column, Table

    keys = list(dict.fromkeys(key for *_, table in tables for key in table.columns()))
    keys.sort(key=lambda key: key != "label")
    rows = [{"model": name, "kind": kind, **row} for name, kind, table in tables for row in table.rows()]
    return Table([Column(key, key) for key in ("model", "kind", *keys)], rows)


def _entry(model: "Measured", result: "Measurements") -> dict[str, Any]:
    """One model as JSON has it."""
    import math

    values = {q.key: model.values[q.key] for q in result.quantities}
    entry: dict[str, Any] = {
        "name": model.name,
        "columns": list(model.columns),
        "classes": None if model.classes is None else list(model.classes),
        "measures": values,
        "infinite": [key for key, value in values.items() if math.isinf(value)],
    }
    if model.tables:
        entry["bin_tables"] = {kind: table.to_dict() for kind, table in model.tables.items()}
    return entry
