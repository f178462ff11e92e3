"""Measurements as text: a table for a terminal, Markdown, CSV or JSON. Nothing is computed here.

The JSON object has, and keeps, these keys:

``schema``
    1; raised when the meaning of a key changes.
``version``
    Of trueness.
``data``
    ``source``, ``label``, ``weight`` (null without weights).
``bins``
    In words, by the measure that they serve: ``ece``, ``mce``, ``ace``, ``tce``, ``squared_ece``.
``models``
    A list, in the order asked for. Each has ``name``; ``columns``; ``classes`` (in column order; null for
    one column of scores); ``measures``, by the keys that CSV has in its first column; ``infinite``, the
    measures that are infinite; and, with ``--table``, ``bin_tables``: by kind, the columns of
    :class:`trueness.BinTable` with ``kind``, ``level`` and ``interval``.

JSON has no nan and no infinity: both are null.
"""

import csv
import io
import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from trueness._version import __version__
from trueness.cli._layout import aligned, decimals_for, escaped, exact, finite, number, piped, short, wide
from trueness.cli._measurements import Measured, Measurements, Quantity
from trueness.cli._messages import visible
from trueness.results import BinTable

__all__ = ["Format", "footer", "model_entry", "rendered", "show"]

Format: TypeAlias = Literal["table", "markdown", "csv", "json"]

_BINNED = {"ece": "ECE", "mce": "MCE", "ace": "ACE", "tce": "TCE", "squared_ece": "squared ECE"}


def rendered(found: Measurements, form: Format, *, source: str, width: int = 80) -> str:
    """The text in one of four forms, with a line break at its end."""
    if form == "json":
        return _json(found, source)
    if form == "csv":
        return _csv(found)
    if form == "markdown":
        return _markdown(found, source)
    return _plain(found, source, width)


def show(found: Measurements, *, source: str, width: int, console: Any = None) -> bool:
    """Draw the table with rich in a terminal that it fits; False if rich is not there or the table too wide."""
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    head, lines = _grid(found, width - 2)
    if wide([head, *lines]) + 2 > width:
        return False
    # Text, not str: rich reads "[bold]" in a str as an order.
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for i, title in enumerate(head):
        number = 0 < i <= len(found.models)
        style = "dim" if i > len(found.models) else None
        table.add_column(Text(title), justify="right" if number else "left", style=style, no_wrap=True)
    for line in lines:
        table.add_row(*map(Text, line))
    out = console or Console(highlight=False, emoji=False)
    out.print(table)
    for title, text in _bin_tables(found):
        out.print(Text(f"{title}\n", style="bold"), Text(text), Text(""), sep="\n")
    out.print(Text(footer(found, source, width), style="dim"))
    return True


def _plain(found: Measurements, source: str, width: int) -> str:
    head, lines = _grid(found, width)
    blocks = [aligned([head, *lines], [0 < i <= len(found.models) for i in range(len(head))])]
    blocks += [f"{title}\n\n{text}" for title, text in _bin_tables(found)]
    return "\n\n".join([*blocks, footer(found, source, width)]) + "\n"


def _grid(found: Measurements, width: int) -> tuple[list[str], list[list[str]]]:
    """Head and lines: a name, a number per model, and what it means if there is room."""
    head = ["", *(short(visible(model.name)) for model in found.models)]
    lines = [[_name(quantity), *_cells(quantity, found)] for quantity in found.quantities]
    full = [[*line, quantity.meaning] for line, quantity in zip(lines, found.quantities, strict=True)]
    if wide([[*head, ""], *full]) <= width:
        return [*head, ""], full
    return head, lines


def _name(quantity: Quantity) -> str:
    return f"  {quantity.name}" if quantity.form == "part" else quantity.name


def _cells(quantity: Quantity, found: Measurements) -> list[str]:
    values = [model.values[quantity.key] for model in found.models]
    decimals = 4 if quantity.form == "number" else decimals_for(values)
    return [number(value, quantity.form, decimals) for value in values]


def footer(found: Measurements, source: str, width: int) -> str:
    """What was measured, and the bins in words."""
    served: dict[str, list[str]] = {}
    for key, words in found.bins.items():
        served.setdefault(words, []).append(_BINNED[key])
    bins = "; ".join(f"{', '.join(names)}: {words}" for words, names in served.items())
    lines = (f"Data: {_data(found, source)}.", f"Bins: {bins}.")
    return "\n".join(
        textwrap.fill(line, max(width, 40), break_long_words=False, break_on_hyphens=False) for line in lines
    )


def _data(found: Measurements, source: str) -> str:
    weight = "" if found.weight is None else f", weights {visible(found.weight)!r}"
    return f"{visible(source)}, labels {visible(found.label)!r}{weight}"


def _bin_tables(found: Measurements) -> list[tuple[str, str]]:
    tables = [(model, kind, table) for model in found.models for kind, table in model.tables.items()]
    return [
        (f"Bins of {short(visible(model.name))}{'' if kind == 'binary' else f', {kind}'}", str(_seen(table)))
        for model, kind, table in tables
    ]


def _seen(table: BinTable) -> BinTable:
    return table if table.label is None else replace(table, label=tuple(visible(str(name)) for name in table.label))


def _markdown(found: Measurements, source: str) -> str:
    head = ["measure", *(escaped(model.name) for model in found.models), "meaning"]
    lines = [[_dash(q), *_cells(q, found), q.meaning] for q in found.quantities]
    blocks = [piped(head, lines, right=range(1, len(found.models) + 1))]
    for model in found.models:
        for kind, table in model.tables.items():
            title = escaped(model.name) + ("" if kind == "binary" else f", {kind}")
            blocks.append(f"Bins of {title}:\n\n{_piped_bins(table)}")
    blocks += [escaped(line) for line in footer(found, source, 10**6).split("\n")]
    return "\n\n".join(blocks) + "\n"


def _dash(quantity: Quantity) -> str:
    return f"– {quantity.name}" if quantity.form == "part" else quantity.name


def _piped_bins(table: BinTable) -> str:
    columns = table.columns()
    lines = [
        [escaped(_bin_cell(name, value)) for name, value in zip(columns, row, strict=True)] for row in _rows(table)
    ]
    right = range(0 if table.label is None else 1, len(columns))
    return piped([escaped(name) for name in columns], lines, right=right)


def _rows(table: BinTable) -> list[tuple[Any, ...]]:
    return list(zip(*table.columns().values(), strict=True))


def _bin_cell(name: str, value: Any) -> str:
    if name == "label":
        return str(value)
    if name in ("low_edge", "high_edge", "weight"):
        return f"{value:.6g}"
    return number(value, "count" if name == "n" else "fraction", 4)


def _csv(found: Measurements) -> str:
    """One line per measure; or, where bin tables were asked for, one line per bin."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    tables = [(model.name, kind, table) for model in found.models for kind, table in model.tables.items()]
    if tables:
        named = any(table.label is not None for *_, table in tables)
        columns = [name for name in tables[0][2].columns() if name != "label"]
        writer.writerow(["model", "kind", *(["label"] if named else []), *columns])
        for model, kind, table in tables:
            for i, row in enumerate(_rows(replace(table, label=None))):
                label = [] if not named else [visible(str(table.label[i])) if table.label is not None else ""]
                writer.writerow([visible(model), kind, *label, *map(exact, row)])
    else:
        writer.writerow(["measure", *(visible(model.name) for model in found.models)])
        for quantity in found.quantities:
            writer.writerow([quantity.key, *(exact(model.values[quantity.key]) for model in found.models)])
    return out.getvalue()


def _json(found: Measurements, source: str) -> str:
    keys = [quantity.key for quantity in found.quantities]
    models = [model_entry(model, keys) for model in found.models]
    data = {
        "schema": 1,
        "version": __version__,
        "data": {"source": source, "label": found.label, "weight": found.weight},
        "bins": found.bins,
        "models": models,
    }
    return json.dumps(finite(data), indent=2, allow_nan=False) + "\n"


def model_entry(model: Measured, keys: Sequence[str]) -> dict[str, Any]:
    """One model as JSON has it."""
    values = {key: model.values[key] for key in keys}
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
