"""Several .tally files side by side, such as days: the measures of each, its noise floor, confidence set and flag."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import trueness as tn
from trueness._progress import progress_bar
from trueness._report.tables import files_table
from trueness._text.table import Column, Table
from trueness.cli._columns import Group
from trueness.cli._measurements import Measurements, Options, group_name, measure_sums
from trueness.cli._measures_table import entries, results_output, shown_quantities
from trueness.cli._messages import note
from trueness.cli._sums import SumsFile
from trueness.cli._writing import Output
from trueness.results import Series

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
    *("file", "group", "n", "prevalence", "prevalence_interval", "ece", "ece_interval", "ece_floor", "l2_error"),
    *("confidence_set", "observed_expected", "observed_expected_interval", "adjusted_pvalue", "flag"),
)
"""The columns of a table of files; those without any number are left out."""
_NAMES = {"n": "rows", "ece": "ECE", "ece_floor": "noise floor", "observed_expected": "O/E"}
Results: TypeAlias = Sequence[tuple[Group, Measurements]]


class Files(NamedTuple):
    """What is known about each file and about all together."""

    series: Series
    rows: list[dict[str, Any]]
    measures: list[tuple[str, Results]]


def compare_files(
    sums: Sequence[SumsFile], total: tn.Accumulator, options: Options, whole: Results | None = None
) -> Files:
    """Measure and test each file, and look for a change; `whole` are the measures of all files, if they are known."""
    names = [name for name, _ in sums]
    _mention_order(names)
    named = {Path(name).name: one for name, one in sums}
    how: Any = {"bins": options.bins, "level": options.level, "seed": 0}
    with progress_bar("Testing the files") as bar:
        series = tn.calibration_series(named if len(named) == len(sums) else dict(sums), progress=bar, **how)
    alone = tn.calibration_series({"all": total}, progress=False, **how)
    # The series has the noise floor that the table shows; those of other measures would take a second for each file.
    quick = replace(options, floors=False)
    measures: list[tuple[str, Results]] = []
    with progress_bar("Measuring the files") as bar:
        for name, one in sums:
            measures.append((name, measure_sums(one, [name], quick, name)))
            bar(len(measures), len(sums))
    rows: list[dict[str, Any]] = [
        {"file": name, "group": group_name(group.value), **one.models[0].numbers(one.quantities)}
        for name, results in (*measures, ("all", whole or measure_sums(total, names, quick)))
        for group, one in results
    ]
    tested = iter([*series.rows(), alone.rows()[0] | {"adjusted_pvalue": None, "flagged": None}])
    change = series.change
    changed = range(0) if change is None else range(change.start, change.start + change.days)
    place = -1
    for row in rows:
        if row["group"] is None:
            place, test = place + 1, next(tested)
            row |= {key: test[column] for key, column in _COLUMNS.items() if options.intervals or not _is_limit(key)}
            row["changed"] = None if place == len(sums) else place in changed
    return Files(series, rows, measures)


def _is_limit(key: str) -> bool:
    """Whether a column is about the uncertainty of another one."""
    return key.endswith(("_low", "_high", "_floor", "_interval", "_includes_zero", "confidence_set"))


def _mention_order(names: Sequence[str]) -> None:
    """Say so if the files come as a shell sorts them, with day-10 before day-2."""
    by_number = sorted(
        names, key=lambda name: [int(part) if part.isdecimal() else part for part in _NUMBERS.split(name)]
    )
    if list(names) == sorted(names) != by_number:
        one, other = next(pair for pair in zip(names, by_number, strict=True) if pair[0] != pair[1])
        note(
            f"the files are a series in the order given, in which {one} comes before {other}. Numbers with leading "
            "zeros sort in order of time, and so does `ls -v`."
        )


def files_output(files: Files, results: Results) -> Output:
    """A row per file and group, and rows for all files; `results` are those of all files together."""
    first, by = results[0][1], results[-1][0].by
    shown = first.models[0].numbers(shown_quantities(first))
    names = {key: "interval" if key.endswith("_interval") else key.replace("_", " ") for key in _SHOWN}
    table = files_table(files.rows, files.series, names | _NAMES | {"group": str(by), "adjusted_pvalue": "adjusted p"})
    whole = results_output(results)
    each = [{"file": name, **entries(own)} for name, own in files.measures]
    tested = [key for key in _COLUMNS if first.level is not None or not _is_limit(key)]
    keys = ["file", *(["group"] if by else []), "n", *shown, *tested, "changed"]
    csv = Table([Column(key, key) for key in dict.fromkeys(keys)], files.rows)
    data = {**whole.data, "files": each, "series": files.series}
    notes = [files.series.headline, *table.notes, *first.notes]
    return replace(whole, table=replace(table, notes=notes), data=data, csv=csv)
