"""What a verb found as one table: a line per finding, in four forms."""

import csv
import io
import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from trueness._version import __version__
from trueness.cli._layout import Form, aligned, decimals_for, escaped, exact, finite, number, piped, short
from trueness.cli._messages import visible

__all__ = ["Column", "Sheet", "rendered", "stamped"]

SheetForm: TypeAlias = Form | Literal["text", "name", "pvalue"]


class Column(NamedTuple):
    """One column: its key in CSV, what a table calls it, how its values are written."""

    key: str
    name: str
    form: SheetForm


@dataclass(frozen=True)
class Sheet:
    """A table, what is to be said below it, and the JSON object."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    data: Mapping[str, Any]
    notes: Sequence[str] = ()
    """Sentences below a table; JSON has what they say among its keys."""
    shown: Sequence[Column] | None = None
    """The columns of a table, if it does not have room for all that CSV has."""


def stamped(**data: Any) -> dict[str, Any]:
    """A JSON object that says of which form and by which version it is."""
    return {"schema": 1, "version": __version__, **data}


def rendered(sheet: Sheet, form: str, *, width: int = 80) -> str:
    """The text in one of four forms, with a line break at its end."""
    if form == "json":
        return json.dumps(finite(dict(sheet.data)), indent=2, allow_nan=False) + "\n"
    if form == "csv":
        return _csv(sheet)
    shown = [c for c in sheet.shown or sheet.columns if any(row.get(c.key) is not None for row in sheet.rows)]
    head = [column.name for column in shown]
    right = [column.form not in ("text", "name") for column in shown]
    if form == "markdown":
        lines = list(zip(*(_cells(column, sheet, 300) for column in shown), strict=True))
        table = piped(head, [[escaped(cell) for cell in line] for line in lines], [i for i, r in enumerate(right) if r])
        return "\n\n".join([table, *map(escaped, sheet.notes)]) + "\n"
    lines = list(zip(*(_cells(column, sheet, 32) for column in shown), strict=True))
    said = [
        textwrap.fill(visible(note), max(width, 40), break_long_words=False, break_on_hyphens=False)
        for note in sheet.notes
    ]
    return aligned([head, *lines], right) + "\n" + ("\n" + "\n".join(said) + "\n" if said else "")


def _cells(column: Column, sheet: Sheet, widest: int) -> list[str]:
    values = [row.get(column.key) for row in sheet.rows]
    numbers = [v for v in values if isinstance(v, int | float)]
    decimals = 4 if column.form == "number" else decimals_for(numbers)
    return [_cell(value, column.form, decimals, widest) for value in values]


def _cell(value: Any, form: SheetForm, decimals: int, widest: int) -> str:
    if value is None:
        return ""
    if form == "text":
        return visible(str(value))
    if form == "name":
        return short(visible(str(value)), widest)
    if form == "pvalue":
        return "-" if math.isnan(value) else f"{value:.2g}" if value < 0.1 else f"{value:.3f}"
    return number(value, form, decimals)


def _csv(sheet: Sheet) -> str:
    """Every column, by key, with every digit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in sheet.columns])
    for row in sheet.rows:
        writer.writerow([_csv_cell(row.get(column.key)) for column in sheet.columns])
    return out.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return exact(value) if isinstance(value, int | float) else visible(str(value))
