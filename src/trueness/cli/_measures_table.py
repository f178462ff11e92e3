"""The tables and files of ``trueness measure``: every number with its interval, or with its value if calibrated.

Several .tally files, such as days, stand side by side: the measures of each, its noise floor,
confidence set and flag.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import trueness as tn
from trueness._progress import progress_bar
from trueness._text.numbers import bin_name, common_decimals, level_percent, ratio, span, total
from trueness._text.strings import display_width, grouped, shorten, visible
from trueness._text.table import Cell, Column, Table, written
from trueness.cli._columns import Group, group_columns, model_column
from trueness.cli._measurements import (
    CERTAIN,
    Measurements,
    ModelMeasures,
    Options,
    Quantity,
    group_name,
    measure_sums,
)
from trueness.cli._printing import Output, interval_cell, join_names, limits_notes, note
from trueness.infer._catalogue import MEASURES
from trueness.results import Series

_OF_GROUPS = ("n", "prevalence", "accuracy", "ece", "ace", "tce", "brier", "observed_expected")
"""Measures that a table of groups shows; CSV and JSON have all."""
_ALWAYS = ("n", "ece", "observed_expected")
"""Those that a narrow terminal shows, too."""
_BESIDE = 22
"""Room for the columns of two models, whose intervals then stand beside their values; otherwise
they stand below."""
_VALUE = 9
"""The width of a value."""
_VIEW = re.compile("_(classwise|confidence|top_label)$")
_NUMBERS = re.compile(r"(\d+)")
_COLUMNS = {
    "ece_low": "ece_low",
    "ece_high": "ece_high",
    "ece_floor": "floor",
    "ece_floor_high": "floor_high",
    "l2_error": "error",
    "l2_low": "error_low",
    "l2_high": "error_high",
    "l2_includes_zero": "includes_zero",
    "pvalue": "pvalue",
    "adjusted_pvalue": "adjusted_pvalue",
    "flagged": "flagged",
}
"""Keys of a line of a file, and the columns of the series that they hold."""
_SHOWN = (
    *(
        "file",
        "group",
        "n",
        "prevalence",
        "prevalence_interval",
        "ece",
        "ece_interval",
        "ece_floor",
        "l2_error",
    ),
    *(
        "confidence_set",
        "observed_expected",
        "observed_expected_interval",
        "adjusted_pvalue",
        "flag",
    ),
)
"""The columns of a table of files; those without any number are left out."""
_NAMES = {"n": "rows", "ece": "ECE", "ece_floor": "noise floor", "observed_expected": "O/E"}
Results: TypeAlias = Sequence[tuple[Group, Measurements]]


def _written(q: Quantity, models: Iterable[ModelMeasures]) -> Callable[[float], Cell]:
    """How a value is written, with decimals that suit the values of all models."""
    values = [model.values.get(q.key, math.nan) for model in models]
    decimals = common_decimals(values) if q.unit == "fraction" else 4
    if q.key == "weight":
        return lambda value: Cell(value, total(value))
    return lambda value: Cell(value, written(value, q.unit, decimals))


def measures_table(result: Measurements) -> Table:
    """A row per measure; how the interval and the value of a calibrated model are placed depends on the models.

    One model: a column for each. Two: the interval is a column, the value of a calibrated model a
    row below. More, or two with long names: a row below for each, so that the table fits into 80
    columns.
    """
    number = len(result.models)
    widths = [display_width(shorten(visible(model.name), 24)) for model in result.models]
    beside = number == 1 or (number == 2 and sum(max(_VALUE, width) for width in widths) <= _BESIDE)
    title = "" if result.level is None else f"{level_percent(result.level)} interval"
    columns = [Column("measure", "measure")]
    for i, model in enumerate(result.models):
        columns.append(Column(f"value {i}", shorten(visible(model.name), 24), "number"))
        columns += [Column(f"interval {i}", title, "number")] if title and beside else []
    columns += [Column("floor", "if calibrated", "number")] if number == 1 else []
    columns.append(Column("meaning", "meaning", optional=True))
    shown = shown_quantities(result)
    rows = [row for q in shown for row in _measure_rows(q, result.models, title, beside)]
    ideals = [f"{q.name} {q.ideal:g}" for q in shown if q.ideal == q.ideal and q.unit == "number"]
    more = [f"Calibrated: {', '.join(ideals)}."] if ideals and number > 1 and title else []
    return Table(columns, rows, [*_notes([result], shown), *more])


def shown_quantities(result: Measurements) -> list[Quantity]:
    """The measures of a table: without the number of scores of 0 and 1 if there are none."""
    some = any(model.values.get("n_certain", 0) > 0 for model in result.models)
    return [q for q in result.quantities if some or q.key not in CERTAIN]


def _measure_rows(
    q: Quantity, models: Sequence[ModelMeasures], title: str, beside: bool
) -> Iterator[dict[str, Any]]:
    single = len(models) == 1
    cell = _written(q, models)
    inverted = q.key == "slope" and any(model.values[q.key] < 0 for model in models)
    row: dict[str, Any] = {"measure": f"– {q.name}" if q.part else q.name}
    row["meaning"] = "< 0: inverted" if inverted else q.meaning
    intervals = dict[str, Any]()
    floors = dict[str, Any]()
    for i, model in enumerate(models):
        row[f"value {i}"] = cell(model.values[q.key])
        if (found := model.estimates.get(q.key)) is None:
            continue
        if beside:
            row[f"interval {i}"] = interval_cell(found.low, found.high, q.unit)
        elif found.bounded:
            intervals[f"value {i}"] = interval_cell(found.low, found.high, q.unit)
        if not math.isnan(found.floor):
            floors["floor" if single else f"value {i}"] = cell(found.floor)
        elif single and not math.isnan(q.ideal):
            row["floor"] = Cell(q.ideal, f"{q.ideal:g}")
    yield row | (floors if single else {})
    if intervals:
        yield {"measure": f"– {title}", **intervals}
    if floors and not single:
        yield {"measure": "– if calibrated", "meaning": "noise floor", **floors}


def _notes(results: Sequence[Measurements], shown: Sequence[Quantity]) -> list[str]:
    """The data, the bins in words, and what the columns of the measures shown mean."""
    first = results[0]
    models = [model for one in results for model in one.models]
    measures = grouped((words, MEASURES[key].name) for key, words in first.bins.items())
    bins = "; ".join(f"{', '.join(names)}: {words}" for words, names in measures.items())
    found = [
        (q.name, one.estimates[q.key])
        for q in shown
        for one in first.models
        if q.key in one.estimates
    ]
    reasons = grouped(
        (one.reasons[q.key], q.name) for q in shown for one in models if q.key in one.reasons
    )
    why = [f"{join_names(names)}: {reason}" for reason, names in reasons.items()]
    return [*first.notes, f"Bins: {bins}.", *limits_notes(found, clustered=first.clustered), *why]


def groups_table(results: Results) -> Table:
    """A row per group and model, a column per measure."""
    first = results[0][1]
    columns = group_columns(group.by for group, _ in results)
    columns.append(
        model_column((model.name for _, one in results for model in one.models), columns)
    )
    rows = [_named(group, model) for group, one in results for model in one.models]
    models = [model for _, one in results for model in one.models]
    shown = [q for q in first.quantities if _VIEW.sub("", q.key) in _OF_GROUPS]
    for q in shown:
        base = _VIEW.sub("", q.key)
        cell = _written(q, models)
        optional = base not in _ALWAYS
        name = "O/E" if base == "observed_expected" else q.name
        titles = {
            "": name,
            " interval": f"{level_percent(first.level or 0)} interval",
            " floor": "floor",
        }
        columns += [
            Column(q.key + end, title, "number", optional=optional) for end, title in titles.items()
        ]
        for row, model in zip(rows, models, strict=True):
            row[q.key] = cell(model.values.get(q.key, math.nan))
            if (found := model.estimates.get(q.key)) is not None:
                row |= (
                    {f"{q.key} interval": interval_cell(found.low, found.high, q.unit)}
                    if found.bounded
                    else {}
                )
                row |= {f"{q.key} floor": cell(found.floor)} if found.floor == found.floor else {}
    return Table(columns, rows, _notes([one for _, one in results], shown))


def _named(group: Group, model: ModelMeasures) -> dict[str, Any]:
    entry = group.entry()
    return {
        **entry,
        **({"group": group_name(entry["group"])} if entry else {}),
        "model": model.name,
    }


def bins_table(table: tn.results.BinTable) -> Table:
    columns = [
        Column("label", "class", "name"),
        Column("bin", "bin"),
        Column("n", "rows", "count"),
        *(Column(key, key, "number") for key in ("score", "rate")),
        Column("low", f"{100 * table.level:g} % interval", "number"),
        Column("gap", "gap", "signed"),
        Column("ratio", "O/E", "number"),
        Column("ratio_low", f"{100 * table.level:g} % interval", "number"),
    ]
    bins = table.rows()
    rows = []
    for row, following in zip(bins, [*bins[1:], {"low_edge": -1}], strict=True):
        name = bin_name(
            row["low_edge"], row["high_edge"], last=following["low_edge"] < row["high_edge"]
        )
        interval = "" if row["low"] != row["low"] else f"{row['low']:.4f} to {row['high']:.4f}"
        if row["ratio_low"] != row["ratio_low"]:
            limits = ""
        else:
            limits = span(row["ratio_low"], row["ratio_high"], ratio)
        texts = {"low": interval, "ratio": ratio(row["ratio"]), "ratio_low": limits}
        cells = {key: Cell(row[key], text) for key, text in texts.items()}
        empty = dict.fromkeys(("score", "rate", "gap", "ratio")) if row["n"] == 0 else {}
        rows.append({**row, "bin": name, **cells, **empty})
    return Table(columns, rows)


def results_output(results: Results) -> Output:
    """The models side by side, a row per measure.

    Or a row per group and model, and a column per measure.
    """
    first = results[0][1]
    data = {**first.about, "bins": first.bins, "level": first.level, **_entries(results)}
    if first.level is None:
        del data["level"]
    if results[-1][0].by is not None:
        pairs = [(group, model, one.quantities) for group, one in results for model in one.models]
        rows = [
            {**_named(group, model), **model.numbers(quantities)}
            for group, model, quantities in pairs
        ]
        numbers = first.models[0].numbers(first.quantities)
        return Output(
            groups_table(results), data, csv=_every_digit(("by", "group", "model", *numbers), rows)
        )
    tables = [
        (model.name, kind, table) for model in first.models for kind, table in model.tables.items()
    ]
    details = [
        (f"Bins of {shorten(name, 24)}{'' if kind == 'binary' else f', {kind}'}", bins_table(table))
        for name, kind, table in tables
    ]
    if tables:
        every = dict.fromkeys(key for *_, table in tables for key in table.columns())
        keys = sorted(every, key=lambda key: key != "label")
        rows = [
            {"model": name, "kind": kind, **row}
            for name, kind, table in tables
            for row in table.rows()
        ]
        return Output(
            measures_table(first), data, details, _every_digit(("model", "kind", *keys), rows)
        )
    by_model = {model.name: model.numbers(shown_quantities(first)) for model in first.models}
    key = "measure"
    while key in by_model:  # a model may be called so
        key += "_"
    lines = [
        {key: one} | {name: own[one] for name, own in by_model.items()}
        for one in by_model[first.models[0].name]
    ]
    return Output(measures_table(first), data, details, _every_digit((key, *by_model), lines))


def _every_digit(keys: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table for CSV."""
    return Table([Column(key, key) for key in keys], rows)


def _entries(results: Results) -> dict[str, Any]:
    """The models, or the models of each group, as JSON has them."""
    found = [
        {**group.entry(), "models": [_entry(model, one) for model in one.models]}
        for group, one in results
    ]
    if results[-1][0].by is None:
        return found[0]
    return {"groups": found}


def _entry(model: ModelMeasures, result: Measurements) -> dict[str, Any]:
    values = model.numbers(result.quantities)
    entry: dict[str, Any] = {
        "name": model.name,
        "columns": list(model.columns),
        "classes": None if model.classes is None else list(model.classes),
        "measures": values,
        "infinite": [key for key, value in values.items() if math.isinf(value)],
    }
    for words, key in (("methods", "method"), ("notes", "note")) if model.estimates else ():
        entry[words] = {
            name: text for name, one in model.estimates.items() if (text := getattr(one, key))
        }
    entry |= {"notes": {**entry.get("notes", {}), **model.reasons}} if model.reasons else {}
    if model.tables:
        entry["bin_tables"] = {kind: table.to_dict() for kind, table in model.tables.items()}
    return entry


class Files(NamedTuple):
    """What is known about each file and about all together."""

    series: Series
    rows: list[dict[str, Any]]
    measures: list[tuple[str, Results]]


def compare_files(
    sums: Mapping[str, tn.Accumulator],
    total: tn.Accumulator,
    options: Options,
    whole: Results | None = None,
) -> Files:
    """Measure and test each file, and look for a change.

    `whole` are the measures of all files, if they are known.
    """
    names = list(sums)
    _mention_order(names)
    named = {Path(name).name: one for name, one in sums.items()}
    how: Any = {"bins": options.bins, "level": options.level, "seed": 0}
    with progress_bar("Testing the files") as bar:
        series = tn.calibration_series(
            named if len(named) == len(sums) else sums, progress=bar, **how
        )
    alone = tn.calibration_series({"all": total}, progress=False, **how)
    # The series has the noise floor that the table shows; those of other measures would take a
    # second for each file.
    quick = replace(options, floors=False)
    measures: list[tuple[str, Results]] = []
    with progress_bar("Measuring the files") as bar:
        for name, one in sums.items():
            measures.append((name, measure_sums(one, [name], quick, name)))
            bar(len(measures), len(sums))
    rows = list[dict[str, Any]]()
    for name, results in (*measures, ("all", whole or measure_sums(total, names, quick))):
        own = (
            (group_name(group.value), one.models[0].numbers(one.quantities))
            for group, one in results
        )
        rows += [{"file": name, "group": group, **numbers} for group, numbers in own]
    tested = [*series.rows(), alone.rows()[0] | {"adjusted_pvalue": None, "flagged": None}]
    change = series.change
    shown = [key for key in _COLUMNS if options.intervals or not _is_limit(key)]
    changed = range(0) if change is None else range(change.start, change.start + change.days)
    for i, (row, test) in enumerate(
        zip((row for row in rows if row["group"] is None), tested, strict=True)
    ):
        row |= {key: test[_COLUMNS[key]] for key in shown} | {
            "changed": None if i == len(sums) else i in changed
        }
    return Files(series, rows, measures)


def _is_limit(key: str) -> bool:
    """Whether a column is about the uncertainty of another one."""
    return key.endswith(
        ("_low", "_high", "_floor", "_interval", "_includes_zero", "confidence_set")
    )


def _mention_order(names: Sequence[str]) -> None:
    """Say so if the files come as a shell sorts them, with day-10 before day-2."""
    parts = {
        name: [int(part) if part.isdecimal() else part for part in _NUMBERS.split(name)]
        for name in names
    }
    by_number = sorted(names, key=parts.__getitem__)
    if list(names) == sorted(names) != by_number:
        one, other = next(pair for pair in zip(names, by_number, strict=True) if pair[0] != pair[1])
        order = f"the files are a series in the order given, in which {one} comes before {other}."
        note(f"{order} Numbers with leading zeros sort in order of time, and so does `ls -v`.")


def files_output(files: Files, results: Results) -> Output:
    """A row per file and group, and rows for all files.

    `results` are those of all files together.
    """
    from trueness._report.tables import files_table  # for several files only

    first = results[0][1]
    by = results[-1][0].by
    shown = first.models[0].numbers(shown_quantities(first))
    names = {
        key: "interval" if key.endswith("_interval") else key.replace("_", " ") for key in _SHOWN
    }
    table = files_table(
        files.rows,
        files.series,
        names | _NAMES | {"group": str(by), "adjusted_pvalue": "adjusted p"},
    )
    whole = results_output(results)
    each = [{"file": name, **_entries(own)} for name, own in files.measures]
    tested = [key for key in _COLUMNS if first.level is not None or not _is_limit(key)]
    keys = ["file", *(["group"] if by else []), "n", *shown, *tested, "changed"]
    data = {**whole.data, "files": each, "series": files.series}
    notes = [files.series.headline, *table.notes, *first.notes]
    csv = _every_digit(dict.fromkeys(keys), files.rows)
    return replace(whole, table=replace(table, notes=notes), data=data, csv=csv)
