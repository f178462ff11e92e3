"""The table of the files of a series, such as days: for a page and for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trueness._text.numbers import level_percent, number
from trueness._text.table import Cell, Column, Kind, Table
from trueness.results import Series

_KINDS: dict[str, Kind] = {"file": "name", "group": "name", "n": "count", "flag": "text", "adjusted_pvalue": "p"}
_LEVELLED = ("_interval", "confidence_set")
# A narrow terminal omits these.
_OPTIONAL = {"prevalence", "prevalence_interval", "l2_error", "confidence_set"}


class Day(NamedTuple):
    """What a chart shows of one file."""

    name: str
    ece: float
    low: float
    high: float
    floor: float
    floor_high: float
    flagged: bool


def days(series: Series) -> list[Day]:
    """The files of a series for its chart."""
    columns = ("name", "ece", "ece_low", "ece_high", "floor", "floor_high", "flagged")
    return [Day(*(row[column] for column in columns)) for row in series.rows()]


def files_table(
    rows: Sequence[Mapping[str, Any]], series: Series | None, titles: Mapping[str, str], exact: bool = False
) -> Table:
    """A line per file and group, and lines for all files; `titles` are the columns, by key.

    Keys that are not in the rows: 'flag', 'confidence_set' and '<key>_interval', the confidence interval of a measure.
    With `exact`, ≈ stands before values whose exact range is unknown.
    """
    lines = [{key: _cell(row, key, exact) for key in titles} for row in rows]
    texts = {key: [line[key].text or "" for line in lines if isinstance(line[key], Cell)] for key in titles}
    ranged = [key for key in titles if any("[" in text for text in texts[key])]
    columns = []
    for key, title in titles.items():
        words = f"{level_percent(series.level)} {title}" if series and key.endswith(_LEVELLED) else title
        words += " [exact range]" if key in ranged else ""
        columns.append(Column(key, words, _KINDS.get(key, "number"), optional=key in _OPTIONAL))
    notes = [] if series is None else _explanations(series, floors="ece_floor" in titles)
    if ranged:
        notes.append("Brackets: range of the exact value (not a confidence interval).")
    if any("≈" in text for one in texts.values() for text in one):
        notes.append("≈: approximate, without known limits.")
    return Table(columns, lines, notes, "files", "Each file, and all together")


def _cell(row: Mapping[str, Any], key: str, exact: bool) -> Any:
    if key == "flag":
        return Cell("miscalibrated", None, "flag") if row.get("flagged") else None
    if key == "confidence_set":
        return _span(0.0 if row.get("l2_includes_zero") else row.get("l2_low"), row.get("l2_high"))
    if key.endswith("_interval"):
        of = key.removesuffix("_interval")
        return _span(row.get(f"{of}_low"), row.get(f"{of}_high"))
    value, low, high = (row.get(name) for name in (key, f"{key}_exact_low", f"{key}_exact_high"))
    if f"{key}_exact_low" not in row or value is None:
        return None if value != value else value  # a column without any number is left out
    if low is None or high is None:
        return Cell(value, f"≈{number(value)}") if exact else value
    return value if number(low) == number(high) else Cell(value, f"{number(value)} [{number(low)}, {number(high)}]")


def _span(low: float | None, high: float | None) -> Cell | None:
    return None if low is None or high is None or high != high else Cell(high, f"{number(low)} to {number(high)}")


def _explanations(series: Series, *, floors: bool) -> list[str]:
    doubled = " and doubled (the other half is for the change)" if series.change_pvalue is not None else ""
    floor = "Noise floor: mean ECE of a calibrated model with the same scores. " if floors else ""
    return [
        f"{floor}A file is flagged if the p-value of its "
        f"test, adjusted by Holm's method{doubled}, is at most {level_percent(1 - series.level)}. The files "
        "are a series in the order given.",
        *series.notes,
    ]
