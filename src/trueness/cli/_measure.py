"""``trueness measure``, of rows and of .tally files. docs/commands.md lists the keys of the JSON object."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import trueness as tn
import trueness.cli._options as opt
from trueness._text.bins import bin_name, rule_in_words
from trueness._text.numbers import ratio, span
from trueness._text.strings import shorten, visible
from trueness._text.table import Cell, Column, Table
from trueness.cli import _sums
from trueness.cli._columns import Group, Request, group_columns
from trueness.cli._messages import note, warning
from trueness.cli._rows import Dataset, open_dataset
from trueness.cli._sums import OWN_BINS, SumsFile, each, file_names, own_bins, read_total
from trueness.cli._writing import Output, Target

if TYPE_CHECKING:
    from trueness._tally.rules import BinRule
    from trueness.cli._measurements import Line, Measurements, ModelMeasures, Options, Quantity

_BINNED = {"ece": "ECE", "mce": "MCE", "ace": "ACE", "tce": "TCE", "squared_ece": "squared ECE"}
_OF_GROUPS = {
    *("n", "prevalence", "accuracy", "ece", "ece_floor", "ace", "tce", "tce_floor", "brier", "observed_expected")
}
"""Measures that a table of groups shows; CSV and JSON have all."""

_KINDS = "What to compare for several classes; repeatable.  [default: classwise and confidence]"
_SKETCH = (
    "The sums are a sketch: where limits are shown, the exact value lies between them, and needs the rows. Equal-width "
    "bins are exact if their number is a power of two up to 512."
)
_VIEW = re.compile("_(classwise|confidence|top_label)$")
_NO_LIMITS = (
    "No limits known: rows count at the mean score of their cell. The errors seen in experiments are in docs/sketch.md."
)


@click.command("measure", no_args_is_help=True)
@opt.data()
@opt.seed("Seed of the demo data.")
@opt.choice("--kind", opt.KINDS, None, _KINDS, "kinds", multiple=True)
@opt.bins("10", "Bins of ECE and MCE; ACE takes as many, of equal mass")
@click.option("--table", "tables", is_flag=True, help="Also the bins, with intervals for the event rates.")
@opt.level(0.95, "Confidence level of these intervals.")
@click.option("--each", is_flag=True, help="For .tally files: also each file separately.")
@opt.stream
@opt.output()
def command(**options: Any) -> None:
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
    from trueness.cli._measurements import Options, measure_all

    opt.check_input(only_demo=("rows", "seed"))
    if not options["tables"] and opt.is_typed("level"):
        raise click.UsageError("--level is for the intervals of --table; add --table or leave it out.")
    stream = options["stream"]
    if options.pop("each"):
        raise click.UsageError("--each is for .tally files; `trueness tally` makes one from each file of rows.")
    if options["by"] and options["tables"]:
        raise click.UsageError("--table is for all rows together; leave --by out.")
    if options["by"] and stream:
        raise click.UsageError("--by needs all rows at once; leave --stream out.")
    kinds = tuple(dict.fromkeys(options["kinds"]))
    settings = Options(opt.bin_rule(options["bins"]), options["level"], kinds, options["tables"])
    target = Target.pop_from(options)
    request = Request.pop_from(options)
    with open_dataset(request) as data:
        if stream or (stream is None and data.large and not request.by):
            results = [(Group(), _from_stream(data, settings, asked=stream is not None))]
        else:
            rows = data.rows().validate()
            if request.by:
                rows.warn_of_dropped()
            results = [(group, measure_all(part, settings, group)) for group, part in rows.groups()]
    _print_remarks(results)
    target.deliver((_groups_output if request.by else _models_output)(results, data.source.name))


@click.command("measure")
@click.argument("files", nargs=-1, required=True, metavar="TALLY...")
@opt.bins(None, f"Bins of ECE and MCE, {OWN_BINS}; ACE and TCE take as many, of equal mass")
@each
@opt.level(0.95, "Confidence level of sets and flags, with --each.", least=0.5)
@opt.output()
def measure(**options: Any) -> None:
    """Measure the rows that .tally files sum up, all together, and each group.

    \b
      trueness measure monday.tally tuesday.tally
      trueness measure day-*.tally --each --format csv -o days.csv
    """  # noqa: D301  # click reads the backspace character: leave these lines as they are
    from trueness.cli._measurements import sums_lines

    target = Target.pop_from(options)
    rule = opt.bin_rule(options["bins"])  # before the files are read
    sums, total = read_total(options["files"], target.path)
    rule = rule or own_bins(total)
    lines = sums_lines(total, rule, blocks=True)
    output = _sums_output(sums, total, lines, rule)
    if options["each"]:
        from trueness.cli._series import compare_files, files_output

        files = compare_files(sums, total, rule, options["level"], lines)
        output = files_output(files, output, lines, total.by)
    target.deliver(output)


def _from_stream(data: Dataset, settings: "Options", *, asked: bool) -> "Measurements":
    from trueness.cli._measurements import measure_sums, measurements, sums_of

    total = _sums.stream_sums(data, lambda rows, model: sums_of(rows, model, settings), settings.bins, asked=asked)
    binned = any(sums.binned for sums in total.values())
    if binned:
        note(
            f"there are more than {_sums.MOST_CELLS:,} distinct scores. Measures that need each of them are left "
            "out: ACE, TCE, smooth ECE, the parts of the Brier score, log loss, slope and intercept. `--no-stream` "
            "computes them."
        )
    models = []
    for model in data.choice.models:
        sums = total[model.name]
        with data.about(model.name) as warned:
            one = measure_sums(model, sums, settings)
        models.append(replace(one, warnings=(*sums.warnings, *warned)))
    return measurements(data.choice, models, settings, binned=binned)


def _print_remarks(results: Sequence[tuple[Group, "Measurements"]]) -> None:
    """Print each remark and each warning once, with the models and groups it is about unless it is about all."""
    models = [(group.name(model.name), model) for group, one in results for model in one.models]
    for kind, print_one in (("remarks", note), ("warnings", warning)):
        about: dict[str, list[str]] = {}
        for name, model in models:
            for message in getattr(model, kind):
                about.setdefault(message, []).append(name)
        for message, names in about.items():
            print_one(message if len(names) == len(models) else f"{'; '.join(names)}: {message}")


def _models_output(results: Sequence[tuple[Group, "Measurements"]], source: str) -> Output:
    """A row per measure, a column per model."""
    from trueness.cli._measurements import CERTAIN

    ((_, result),) = results
    names = [model.name for model in result.models]
    key, meaning = (_unused_key(names, word) for word in ("measure", "meaning"))
    columns = [Column(key, "measure"), *(Column(name, shorten(visible(name), 24), "number") for name in names)]
    columns.append(Column(meaning, "meaning", forms="table", optional=True))
    texts = _value_table(result.quantities, [model.values for model in result.models])
    rows = [
        {
            key: Cell(q.key, f"– {q.name}" if q.part else q.name),
            **{m.name: Cell(m.values[q.key], texts.texts(c)[i]) for i, m in enumerate(result.models)},
            meaning: q.meaning,
        }
        for q, c in zip(result.quantities, texts.columns, strict=True)
        if q.key not in CERTAIN or any(m.values["n_certain"] > 0 for m in result.models)
    ]
    tables = [(model.name, kind, table) for model in result.models for kind, table in model.tables.items()]
    details = [
        (f"Bins of {shorten(name, 24)}{'' if kind == 'binary' else f', {kind}'}", _bins_table(table))
        for name, kind, table in tables
    ]
    data = {
        "data": {"source": source, "label": result.label, "weight": result.weight},
        "bins": result.bins,
        "models": [_entry(model, result) for model in result.models],
    }
    csv = _bin_lines(tables) if tables else None
    return Output(Table(columns, rows, _notes(result, source)), data, details, csv)


def _unused_key(names: Sequence[str], word: str) -> str:
    """The word, changed if a model is called so."""
    return word if word not in names else _unused_key(names, f"{word}_")


def _groups_output(results: Sequence[tuple[Group, "Measurements"]], source: str) -> Output:
    """A row per group and model, a column per measure."""
    first = results[0][1]
    rows = [{**group.entry(), "model": model.name, **model.values} for group, one in results for model in one.models]
    table = _value_table(first.quantities, rows)
    columns = [c if _VIEW.sub("", c.key) in _OF_GROUPS else c._replace(forms="data") for c in table.columns]
    floors = {c.key: f"{c.key.partition('_')[0].upper()} floor" for c in columns if "_floor" in c.key}
    columns = [c._replace(title=floors.get(c.key, c.title)) for c in columns]
    columns = [*group_columns(["by"]), Column("model", "model", "name"), *columns]
    data = {
        "data": {"source": source, "label": first.label, "weight": first.weight},
        "bins": first.bins,
        "groups": [{**group.entry(), "models": [_entry(m, one) for m in one.models]} for group, one in results],
    }
    return Output(replace(table, columns=columns, notes=_notes(first, source)), data)


def _value_table(quantities: Sequence["Quantity"], rows: Sequence[dict[str, Any]]) -> Table:

    return Table([Column(q.key, q.name, q.form) for q in quantities], rows)


def _notes(result: "Measurements", source: str) -> list[str]:
    """The data, and the bins in words."""
    weight = "" if result.weight is None else f", weights {result.weight!r}"
    measures: dict[str, list[str]] = {}
    for key, words in result.bins.items():
        measures.setdefault(words, []).append(_BINNED[key])
    bins = "; ".join(f"{', '.join(names)}: {words}" for words, names in measures.items())
    floors = ["If calibrated (noise floor): the mean over labels drawn from the scores."]
    with_floors = any("_floor" in q.key for q in result.quantities)
    return [f"Data: {source}, labels {result.label!r}{weight}.", f"Bins: {bins}.", *(floors if with_floors else [])]


def _bins_table(table: "tn.BinTable") -> Table:
    """The bins as people read them."""
    columns = [
        Column("label", "class", "name"),
        Column("bin", "bin"),
        Column("n", "rows", "count"),
        Column("score", "score", "number"),
        Column("rate", "rate", "number"),
        Column("low", f"{100 * table.level:g} % interval", "number"),
        Column("gap", "gap", "signed"),
        Column("ratio", "O/E", "number"),
        Column("ratio_low", f"{100 * table.level:g} % interval", "number"),
    ]
    bins, rows = table.rows(), []
    for row, following in zip(bins, [*bins[1:], {"low_edge": -1}], strict=True):
        name = bin_name(row["low_edge"], row["high_edge"], last=following["low_edge"] < row["high_edge"])
        interval = "" if row["low"] != row["low"] else f"{row['low']:.4f} to {row['high']:.4f}"
        limits = "" if row["ratio_low"] != row["ratio_low"] else span(row["ratio_low"], row["ratio_high"], ratio)
        texts = {"low": interval, "ratio": ratio(row["ratio"]), "ratio_low": limits}
        cells = {key: Cell(row[key], text) for key, text in texts.items()}
        empty = dict.fromkeys(("score", "rate", "gap", "ratio")) if row["n"] == 0 else {}
        rows.append({**row, "bin": name, **cells, **empty})
    return Table(columns, rows)


def _bin_lines(tables: Sequence[tuple[str, str, "tn.BinTable"]]) -> Table:
    """The bins of all models with every digit, one line per bin."""
    keys = list(dict.fromkeys(key for *_, table in tables for key in table.columns()))
    keys.sort(key=lambda key: key != "label")
    rows = [{"model": name, "kind": kind, **row} for name, kind, table in tables for row in table.rows()]
    return Table([Column(key, key) for key in ("model", "kind", *keys)], rows)


def _entry(model: "ModelMeasures", result: "Measurements") -> dict[str, Any]:
    """One model as JSON has it."""
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


def _sums_output(sums: Sequence[SumsFile], total: "tn.Accumulator", lines: Sequence["Line"], rule: "BinRule") -> Output:
    """A row per measure and group."""
    from trueness.cli._measurements import group_name, lines_data

    names = [name for name, _ in sums]
    columns = [
        *([Column("group", total.by, "name")] if total.by else []),
        Column("key", "measure"),
        Column("value", "value"),
        *(Column(name, name, forms="data") for name in ("low", "high")),
        Column("limits", "limits", forms="table"),
        Column("note", ""),
    ]
    rows = [
        {
            **line,
            "group": group_name(line["group"]),
            "key": Cell(line["key"], line["name"]),
            "value": Cell(line.get("value"), _value(line)),
            "limits": _limits(line),
            "note": Cell(line.get("note") or None, _short_note(line.get("note") or "")),
        }
        for line in lines
    ]
    data = {
        "data": {"sources": names, **total.about, "by": total.by},
        "kept": total.bins,
        "bins": rule_in_words(rule),
        "measures": lines_data(lines),
    }
    first = f"{file_names(names)}: {total.n:,} rows; labels {total.about.get('label')!r}"
    notes = [f"{first}, scores {total.about.get('score')!r}; bins: {rule_in_words(rule)}."]
    if total.bins == "sketch":
        notes.append(_SKETCH)
    if any(str(line.get("note")).startswith("No limits known") for line in lines):
        notes.append(_NO_LIMITS)
    return Output(Table(columns, rows, notes), data)


def _short_note(note: str) -> str:
    """The beginning of a long note, for which a table has no room; JSON and CSV have all of it."""
    starts = {
        "No limits known": "no limits known",
        "This measure needs every": "needs every distinct score",
        "`--bins` must be a coarsening": "needs other bins",
    }
    return next((short for start, short in starts.items() if note.startswith(start)), note)


def _value(line: "Line") -> str:
    value = line.get("value")
    return "-" if value is None else f"{value:,}" if line["key"] == "n" else f"{value:.6g}"


def _limits(line: "Line") -> str | None:
    """The limits, if there are any and they differ."""
    return f"{line['low']:.6g} to {line['high']:.6g}" if line.get("low") is not None and not line["note"] else None
