"""The tables and files of ``trueness measure``: numbers with intervals and noise floors.

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
from trueness._assess.measured import CERTAIN, Measured, Options, Quantity
from trueness._progress import progress_bar
from trueness._text.numbers import bin_name, common_decimals, level_percent, ratio, span, total
from trueness._text.strings import display_width, grouped, shorten, visible
from trueness._text.table import Cell, Column, Table, written
from trueness.cli._measurements import Measurements, group_name, measure_sums, numbers_of
from trueness.cli._printing import (
    Output,
    group_columns,
    in_words,
    interval_cell,
    model_column,
    note,
)
from trueness.infer._catalogue import MEASURES
from trueness.results import Series
from trueness.results._limits_words import join_names, limits_notes
from trueness.sources._request import Group

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
    *("file", "group", "n", "prevalence", "prevalence_interval", "ece", "ece_interval"),
    *("ece_floor", "l2_error", "confidence_set", "observed_expected"),
    *("observed_expected_interval", "adjusted_pvalue", "flag"),
)
"""The columns of a table of files; those without any number are left out."""
_NAMES = {"n": "rows", "ece": "ECE", "ece_floor": "noise floor", "observed_expected": "O/E"}
Results: TypeAlias = Sequence[tuple[Group, Measurements]]


def _written(quantity: Quantity, models: Iterable[Measured]) -> Callable[[float], Cell]:
    """How a value is written, with decimals that suit the values of all models."""
    values = [model.values.get(quantity.key, math.nan) for model in models]
    decimals = common_decimals(values) if quantity.unit == "fraction" else 4
    if quantity.key == "weight":
        return lambda value: Cell(value, total(value))
    return lambda value: Cell(value, written(value, quantity.unit, decimals))


def measures_table(result: Measurements) -> Table:
    """A row per measure; where limits and noise floors stand depends on the number of models.

    One model: a column for each. Two: the interval is a column, the value of a calibrated model a
    row below. More, or two with long names: a row below for each, so that the table fits into 80
    columns.
    """
    number = len(result.models)
    names = [shorten(visible(model.name), 24) for model in result.models]
    widths = [max(_VALUE, display_width(name)) for name in names]
    beside = number == 1 or (number == 2 and sum(widths) <= _BESIDE)
    title = "" if result.level is None else f"{level_percent(result.level)} interval"
    columns = [Column("measure", "measure")]
    for i, name in enumerate(names):
        columns.append(Column(f"value {i}", name, "number"))
        if title and beside:
            columns.append(Column(f"interval {i}", title, "number"))
    if number == 1:
        columns.append(Column("floor", "if calibrated", "number"))
    columns.append(Column("meaning", "meaning", optional=True))
    shown = shown_quantities(result)
    rows = list[dict[str, Any]]()
    ideals = []
    for quantity in shown:
        rows += _measure_rows(quantity, result.models, title, beside)
        if quantity.unit == "number" and not math.isnan(quantity.ideal):
            ideals.append(f"{quantity.name} {quantity.ideal:g}")
    notes = _notes([result], shown)
    if ideals and number > 1 and title:
        notes.append(f"Calibrated: {', '.join(ideals)}.")
    return Table(columns, rows, notes)


def shown_quantities(result: Measurements) -> list[Quantity]:
    """The measures of a table: without the number of scores of 0 and 1 if there are none."""
    if any(model.values.get("n_certain", 0) > 0 for model in result.models):
        return list(result.quantities)
    return [quantity for quantity in result.quantities if quantity.key not in CERTAIN]


def _measure_rows(
    quantity: Quantity, models: Sequence[Measured], title: str, beside: bool
) -> Iterator[dict[str, Any]]:
    """The row of a measure, and the rows below it."""
    key = quantity.key
    single = len(models) == 1
    cell = _written(quantity, models)
    inverted = key == "slope" and any(model.values[key] < 0 for model in models)
    row: dict[str, Any] = {
        "measure": f"– {quantity.name}" if quantity.part else quantity.name,
        "meaning": "< 0: inverted" if inverted else quantity.meaning,
    }
    intervals = dict[str, Any]()
    floors = dict[str, Any]()
    for i, model in enumerate(models):
        row[f"value {i}"] = cell(model.values[key])
        estimate = model.estimates.get(key)
        if estimate is None:
            continue
        interval = interval_cell(estimate.low, estimate.high, quantity.unit)
        if beside:
            row[f"interval {i}"] = interval
        elif estimate.bounded:
            intervals[f"value {i}"] = interval
        if not math.isnan(estimate.floor):
            floors["floor" if single else f"value {i}"] = cell(estimate.floor)
        elif single and not math.isnan(quantity.ideal):
            row["floor"] = Cell(quantity.ideal, f"{quantity.ideal:g}")
    if single:
        row |= floors
    yield row
    if intervals:
        yield {"measure": f"– {title}", **intervals}
    if floors and not single:
        yield {"measure": "– if calibrated", "meaning": "noise floor", **floors}


def _notes(results: Sequence[Measurements], shown: Sequence[Quantity]) -> list[str]:
    """The data, the bins in words, and what the columns of the measures shown mean."""
    first = results[0]
    measures = grouped((words, MEASURES[key].name) for key, words in first.bins.items())
    bins = "; ".join(f"{', '.join(names)}: {words}" for words, names in measures.items())
    estimates = []
    reasons = []
    for quantity in shown:
        for model in first.models:
            if quantity.key in model.estimates:
                estimates.append((quantity.name, model.estimates[quantity.key]))
        for result in results:
            for model in result.models:
                if quantity.key in model.reasons:
                    reasons.append((in_words(model.reasons[quantity.key]), quantity.name))
    notes = [*first.notes, f"Bins: {bins}.", *limits_notes(estimates, clustered=first.clustered)]
    for reason, names in grouped(reasons).items():
        notes.append(f"{join_names(names)}: {reason}")
    return notes


def groups_table(results: Results) -> Table:
    """A row per group and model, a column per measure."""
    first = results[0][1]
    models = []
    rows = []
    for group, measurements in results:
        for model in measurements.models:
            models.append(model)
            rows.append(_named(group, model))
    columns = group_columns(group.by for group, _ in results)
    columns.append(model_column((model.name for model in models), columns))
    shown = [q for q in first.quantities if _VIEW.sub("", q.key) in _OF_GROUPS]
    for quantity in shown:
        key = quantity.key
        measure = _VIEW.sub("", key)
        cell = _written(quantity, models)
        optional = measure not in _ALWAYS
        name = "O/E" if measure == "observed_expected" else quantity.name
        interval = f"{level_percent(first.level or 0)} interval"
        columns += [
            Column(key, name, "number", optional=optional),
            Column(f"{key} interval", interval, "number", optional=optional),
            Column(f"{key} floor", "floor", "number", optional=optional),
        ]
        for row, model in zip(rows, models, strict=True):
            row[key] = cell(model.values.get(key, math.nan))
            estimate = model.estimates.get(key)
            if estimate is None:
                continue
            if estimate.bounded:
                limits = interval_cell(estimate.low, estimate.high, quantity.unit)
                row[f"{key} interval"] = limits
            if not math.isnan(estimate.floor):
                row[f"{key} floor"] = cell(estimate.floor)
    return Table(columns, rows, _notes([result for _, result in results], shown))


def _named(group: Group, model: Measured) -> dict[str, Any]:
    entry = group.entry()
    if entry:
        entry["group"] = group_name(entry["group"])
    return {**entry, "model": model.name}


def bins_table(table: tn.results.BinTable) -> Table:
    """The table of bins: rows, mean score, event rate, gap, and observed over expected events.

    Rates and ratios have intervals, left empty where they are unknown. In a bin without rows,
    score, rate, gap and ratio are empty. The last bin of a class includes its right edge.
    """
    interval = f"{level_percent(table.level)} interval"
    columns = [
        Column("label", "class", "name"),
        Column("bin", "bin"),
        Column("n", "rows", "count"),
        Column("score", "score", "number"),
        Column("rate", "rate", "number"),
        Column("low", interval, "number"),
        Column("gap", "gap", "signed"),
        Column("ratio", "O/E", "number"),
        Column("ratio_low", interval, "number"),
    ]
    bins = table.rows()
    rows = []
    for row, following in zip(bins, [*bins[1:], {"low_edge": -1}], strict=True):
        # The bins of a class begin again at its lowest edge.
        is_last = following["low_edge"] < row["high_edge"]
        limits = ratio_limits = ""
        if not math.isnan(row["low"]):
            limits = f"{row['low']:.4f} to {row['high']:.4f}"
        if not math.isnan(row["ratio_low"]):
            ratio_limits = span(row["ratio_low"], row["ratio_high"], ratio)
        line = {
            **row,
            "bin": bin_name(row["low_edge"], row["high_edge"], last=is_last),
            "low": Cell(row["low"], limits),
            "ratio": Cell(row["ratio"], ratio(row["ratio"])),
            "ratio_low": Cell(row["ratio_low"], ratio_limits),
        }
        if row["n"] == 0:
            line |= dict.fromkeys(("score", "rate", "gap", "ratio"))
        rows.append(line)
    return Table(columns, rows)


def results_output(results: Results) -> Output:
    """The models side by side, a row per measure.

    Or a row per group and model, and a column per measure.
    """
    first = results[0][1]
    data = {**first.about, "bins": first.bins}
    if first.level is not None:
        data["level"] = first.level
    data |= _entries(results)
    if results[-1][0].by is not None:
        numbers = numbers_of(first.models[0], first.quantities)
        rows = []
        for group, result in results:
            for model in result.models:
                rows.append({**_named(group, model), **numbers_of(model, result.quantities)})
        csv = _every_digit(("by", "group", "model", *numbers), rows)
        return Output(groups_table(results), data, csv=csv)
    if first.options.tables:
        return _output_with_bins(first, data)
    by_model = {model.name: numbers_of(model, shown_quantities(first)) for model in first.models}
    heading = "measure"
    while heading in by_model:  # a model may be called so
        heading += "_"
    rows = []
    for key in by_model[first.models[0].name]:
        row = {name: numbers[key] for name, numbers in by_model.items()}
        rows.append({heading: key, **row})
    return Output(measures_table(first), data, csv=_every_digit((heading, *by_model), rows))


def _output_with_bins(result: Measurements, data: dict[str, Any]) -> Output:
    """The measures and, below them and in CSV, the bins."""
    details = []
    rows = []
    keys = dict[str, None]()
    for model in result.models:
        for kind, table in model.tables.items():
            of_kind = "" if kind == "binary" else f", {kind}"
            details.append((f"Bins of {shorten(model.name, 24)}{of_kind}", bins_table(table)))
            rows += [{"model": model.name, "kind": kind, **row} for row in table.rows()]
            keys |= dict.fromkeys(table.columns())
    columns = sorted(keys, key=lambda key: key != "label")  # the classes first
    csv = _every_digit(("model", "kind", *columns), rows)
    return Output(measures_table(result), data, details, csv)


def _every_digit(keys: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table for CSV."""
    return Table([Column(key, key) for key in keys], rows)


def _entries(results: Results) -> dict[str, Any]:
    """The models, or the models of each group, as JSON has them."""
    entries = []
    for group, result in results:
        models = [_entry(model, result) for model in result.models]
        entries.append({**group.entry(), "models": models})
    if results[-1][0].by is None:
        return entries[0]
    return {"groups": entries}


def _entry(model: Measured, result: Measurements) -> dict[str, Any]:
    """The data of one model: its measures, and notes on how their limits were found.

    As JSON has no infinity, the names of infinite measures are listed apart. Methods, notes and bin
    tables are entries only where there are estimates, reasons or tables.
    """
    values = numbers_of(model, result.quantities)
    entry: dict[str, Any] = {
        "name": model.name,
        "columns": list(model.columns),
        "classes": None if model.classes is None else list(model.classes),
        "measures": values,
        "infinite": [key for key, value in values.items() if math.isinf(value)],
    }
    notes = {key: estimate.note for key, estimate in model.estimates.items() if estimate.note}
    if model.estimates:
        methods = {key: estimate.method for key, estimate in model.estimates.items()}
        entry["methods"] = {key: method for key, method in methods.items() if method}
    if model.estimates or model.reasons:
        reasons = {key: in_words(reason) for key, reason in model.reasons.items()}
        entry["notes"] = {**notes, **reasons}
    if model.tables:
        entry["bin_tables"] = {kind: table.to_dict() for kind, table in model.tables.items()}
    return entry


class Files(NamedTuple):
    """What is known about each file and about all together."""

    series: Series
    rows: list[dict[str, Any]]
    measures: list[tuple[str, Results]]

    @property
    def of_page(self) -> dict[str, Any]:
        """What a page says about files."""
        return {"files": self.rows, "series": self.series}


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
    short = {Path(name).name: file for name, file in sums.items()}
    with progress_bar("Testing the files") as bar:
        series = tn.calibration_series(
            short if len(short) == len(sums) else sums,
            bins=options.bins,
            level=options.level,
            seed=0,
            progress=bar,
        )
    alone = tn.calibration_series(
        {"all": total}, bins=options.bins, level=options.level, seed=0, progress=False
    )
    # The series has the noise floor that the table shows; those of other measures would take a
    # second for each file.
    quick = replace(options, floors=False)
    measures: list[tuple[str, Results]] = []
    with progress_bar("Measuring the files") as bar:
        for name, file in sums.items():
            measures.append((name, measure_sums(file, [name], quick, name)))
            bar(len(measures), len(sums))
    tests = [*series.rows(), alone.rows()[0] | {"adjusted_pvalue": None, "flagged": None}]
    changed: list[bool | None] = [False] * len(sums)
    if series.change is not None:
        start = series.change.start
        changed[start : start + series.change.days] = [True] * series.change.days
    changed.append(None)
    tested = [key for key in _COLUMNS if options.intervals or not _is_limit(key)]
    rows = list[dict[str, Any]]()
    of_files = [*measures, ("all", whole or measure_sums(total, names, quick))]
    for (name, results), test, is_changed in zip(of_files, tests, changed, strict=True):
        for group, result in results:
            numbers = numbers_of(result.models[0], result.quantities)
            row = {"file": name, "group": group_name(group.value), **numbers}
            if group.by is None:
                row |= {key: test[_COLUMNS[key]] for key in tested} | {"changed": is_changed}
            rows.append(row)
    return Files(series, rows, measures)


def _is_limit(key: str) -> bool:
    """Whether a column is about the uncertainty of another one."""
    return key.endswith(
        ("_low", "_high", "_floor", "_interval", "_includes_zero", "confidence_set")
    )


def _mention_order(names: Sequence[str]) -> None:
    """Say so if the files come as a shell sorts them, with day-10 before day-2."""

    def parts(name: str) -> list[int | str]:
        return [int(part) if part.isdecimal() else part for part in _NUMBERS.split(name)]

    by_number = sorted(names, key=parts)
    if list(names) != sorted(names) or list(names) == by_number:
        return
    pairs = zip(names, by_number, strict=True)
    first, second = next(pair for pair in pairs if pair[0] != pair[1])
    note(
        f"the files are a series in the order given, in which {first} comes before {second}. "
        "Numbers with leading zeros sort in order of time, and so does `ls -v`."
    )


def files_output(files: Files, results: Results) -> Output:
    """A row per file and group, and rows for all files.

    `results` are those of all files together.
    """
    from trueness._report.file_tables import files_table  # for several files only

    first = results[0][1]
    by = results[-1][0].by
    shown = numbers_of(first.models[0], shown_quantities(first))
    names = {}
    for key in _SHOWN:
        names[key] = "interval" if key.endswith("_interval") else key.replace("_", " ")
    names |= _NAMES | {"group": str(by), "adjusted_pvalue": "adjusted p"}
    table = files_table(files.rows, files.series, names)
    whole = results_output(results)
    entries = [{"file": name, **_entries(of_file)} for name, of_file in files.measures]
    keys = ["file", *(["group"] if by else []), "n", *shown]
    keys += [key for key in _COLUMNS if first.level is not None or not _is_limit(key)]
    keys.append("changed")
    return replace(
        whole,
        table=replace(table, notes=[files.series.headline, *table.notes, *first.notes]),
        data={**whole.data, "files": entries, "series": files.series},
        csv=_every_digit(dict.fromkeys(keys), files.rows),
    )
