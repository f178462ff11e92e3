"""Files of sums side by side: a line for each file, such as a day, and one for all."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trueness.cli._sheet import Column, Sheet
from trueness.cli._tally_measures import Line, as_data, lines_of, shown_group

if TYPE_CHECKING:
    from trueness._tally.rules import BinRule
    from trueness.cli._tally_sums import Sums

__all__ = ["each_sheet"]

_SHOWN = ("prevalence", "ece", "ace", "brier", "observed_expected")
_ALL = "all"


def each_sheet(sums: Sequence["Sums"], whole: Sheet, rule: "BinRule") -> Sheet:
    """What `whole` says of all rows, and the same of each file."""
    files = [(name, lines_of(found, rule, name)) for name, found in sums]
    everything: list[tuple[str, list[Line]]] = [*files, (_ALL, [dict(line) for line in whole.rows])]
    rows = [row for name, lines in everything for row in _rows(name, lines)]
    names = {line["key"]: line["name"] for line in whole.rows if line["key"] != "n"}
    by = sums[0].found.by
    first = [
        Column("file", "file", "name"),
        *([Column("group", by, "name")] if by else []),
        Column("n", "rows", "count"),
    ]
    columns = [*first, *(Column(key + end, key + end, "number") for key in names for end in ("", "_low", "_high"))]
    shown = [*first, *(Column(f"{key}_shown", names[key], "text") for key in _SHOWN if key in names)]
    data = {**whole.data, "files": [{"file": name, "measures": as_data(lines)} for name, lines in files]}
    cells = {str(row.get(column.key)) for row in rows for column in shown}
    signs = {"[": "In brackets: the limits of the rows.", "≈": "≈: no limits are known."}
    notes = [*whole.notes, *(said for sign, said in signs.items() if any(sign in cell for cell in cells))]
    return replace(whole, columns=columns, rows=rows, data=data, notes=notes, shown=shown)


def _rows(name: str, lines: Sequence[Line]) -> Iterator[dict[str, Any]]:
    """One for all groups, and one for each."""
    for group in dict.fromkeys(line["group"] for line in lines):
        row: dict[str, Any] = {"file": name, "group": shown_group(group)}
        for line in lines:
            if line["group"] == group and line["key"] == "n":
                row["n"] = line["value"]
            elif line["group"] == group:
                key = line["key"]
                row |= {key: line.get("value"), f"{key}_low": line.get("low"), f"{key}_high": line.get("high")}
                row[f"{key}_shown"] = _in_short(line)
        yield row


def _in_short(line: Line) -> str:
    """Four decimals, and the limits if these show that they differ."""
    if line.get("value") is None:
        return "-"
    value, low, high = (None if line[key] is None else f"{line[key]:.4f}" for key in ("value", "low", "high"))
    if low is None:
        return f"≈{value}"
    return f"{value}" if low == value == high else f"{value} [{low}, {high}]"
