"""Several .tally files side by side, such as days: the measures of each, its noise floor, confidence set and flag."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import trueness as tn
from trueness._progress import progress_bar
from trueness._report.tables import files_table
from trueness._text.table import Column, Table
from trueness.cli._measurements import LIMITS, Line, Options, group_name, lines_data, sums_lines
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


class Files(NamedTuple):
    """What is known about each file and about all together."""

    series: Series
    rows: list[Line]
    """A row per file and group, and rows for all files."""
    measures: list[tuple[str, list[Line]]]
    """The measures of each file."""


def compare_files(
    sums: Sequence[SumsFile], total: tn.Accumulator, options: Options, lines: list[Line] | None = None
) -> Files:
    """Measure and test each file, and look for a change; `lines` are the measures of all files, if they are known."""
    _mention_order([name for name, _ in sums])
    named = {Path(name).name: one for name, one in sums}
    how: Any = {"bins": options.bins, "level": options.level, "seed": 0}
    with progress_bar("Testing the files") as bar:
        series = tn.calibration_series(named if len(named) == len(sums) else dict(sums), progress=bar, **how)
    whole = tn.calibration_series({"all": total}, progress=False, **how)
    # The series has the noise floor that the table shows; those of other measures would take a second for each file.
    quick = replace(options, floors=False)
    measures: list[tuple[str, list[Line]]] = []
    with progress_bar("Measuring the files") as bar:
        for name, one in sums:
            measures.append((name, sums_lines(one, quick, name)))
            bar(len(measures), len(sums))
    rows = _file_rows([*measures, ("all", sums_lines(total, quick) if lines is None else lines)])
    tested = iter([*series.rows(), whole.rows()[0] | {"adjusted_pvalue": None, "flagged": None}])
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


def _file_rows(files: Sequence[tuple[str, Sequence[Line]]]) -> list[Line]:
    """Of each file one row for all groups, and one for each."""
    rows: dict[Any, Line] = {}
    for i, (name, lines) in enumerate(files):
        for line in lines:
            group, key = line["group"], line["key"]
            row = rows.setdefault((i, group), {"file": name, "group": group_name(group)})
            row[key] = line.get("value")
            if key != "n":
                row |= {f"{key}_{end}": line.get(end) for end in LIMITS}
    return list(rows.values())


def files_output(
    files: Files, whole: Output, lines: Sequence[Line], by: str | None, notes: Sequence[str], *, intervals: bool
) -> Output:
    """A row per file and group, and rows for all files; `whole` is the output for all files together."""
    names = {line["key"]: line["name"] for line in lines if line["key"] != "n"}
    titles = {"file": "file", **({"group": by} if by else {}), "n": "rows"}
    if "prevalence" in names:
        titles |= {"prevalence": "prevalence", "prevalence_interval": "interval"}
    titles |= {"ece": names.get("ece", "ECE"), "ece_interval": "interval", "ece_floor": "noise floor"}
    titles |= {"l2_error": "l2 error", "confidence_set": "confidence set"}
    if "observed_expected" in names:
        titles |= {"observed_expected": "O/E", "observed_expected_interval": "interval"}
    titles |= {"adjusted_pvalue": "adjusted p", "flag": "flag"}
    if not intervals:
        titles = {key: title for key, title in titles.items() if not _is_limit(key)}
    table = files_table(files.rows, files.series, titles)
    data = {
        **whole.data,
        "files": [{"file": name, "measures": lines_data(own, intervals)} for name, own in files.measures],
        "series": files.series,
    }
    notes = [files.series.headline, *table.notes, *notes]
    ends = ("", *(f"_{end}" for end in (LIMITS if intervals else ())))
    tested = [key for key in _COLUMNS if intervals or not _is_limit(key)]
    keys = dict.fromkeys([*(key + end for key in names for end in ends), *tested, "changed"])
    columns = [Column(key, key) for key in ("file", *(["group"] if by else []), "n", *keys)]
    return replace(whole, table=replace(table, notes=notes), data=data, csv=Table(columns, files.rows))
