"""One table, and how it is written for a terminal, in Markdown, CSV, HTML and JSON."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from trueness._text.numbers import common_decimals, number, p_value, percent, percentage, signed
from trueness._text.strings import (
    align,
    display_width,
    json_ready,
    markdown_text,
    shorten,
    spreadsheet_text,
    wrap,
)
from trueness.errors import visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Kind: TypeAlias = Literal[
    "text", "name", "count", "number", "fraction", "signed", "percent", "share", "p"
]
"""How a column's values are written. 'name' is text that a terminal may shorten; 'fraction' has the
same decimals in all rows; 'percent' is a percentage already, 'share' a fraction written as one."""

_MOST_NARROW = 4
"""Columns that fit a telephone."""
_LONGEST_NAME = 32
_LONG_CELL = 24  # HTML repeats longer ones as a tooltip, since the style may cut them
_CLASS_NUM = ' class="num"'
# A terminal's numbers can be pasted and searched for.
_PLAIN_NUMBERS = str.maketrans({"−": "-", "–": "-", "∞": "inf"})
Value: TypeAlias = Any
"""What a cell holds: a number for the kinds of numbers, else what has a ``str``."""

_FORMS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "name": str,
    "signed": signed,
    "share": percent,
}
_FORMS |= {"percent": percentage, "p": partial(p_value, named=False)}


class Column(NamedTuple):
    """A column: its key in CSV and JSON, its title in a table, how its values are written."""

    key: str
    title: str
    kind: Kind = "text"
    forms: Literal["all", "table", "data"] = "all"
    """Where it appears: 'table' is terminal, Markdown and HTML, 'data' is CSV and JSON."""
    optional: bool = False
    """Whether a terminal too narrow for the table goes without it."""

    @property
    def is_number(self) -> bool:
        """Whether its cells are flush right."""
        return self.kind not in ("text", "name")


class Cell(NamedTuple):
    """A value with its own text, or one that deserves notice."""

    value: Value
    text: str | None = None
    """What a table shows in place of the formatted value."""
    mark: Literal["", "flag", "good"] = ""


@dataclass(frozen=True)
class Table:
    r"""Rows of values by the keys of the columns, and notes below.

    >>> columns = [Column("model", "model", "name"), Column("ece", "ECE", "fraction")]
    >>> columns += [Column("p", "p", "p"), Column("none", "none"), Column("gap", "gap", "signed")]
    >>> columns += [Column("why", "why", optional=True)]
    >>> first = {"model": "a|b", "ece": Cell(0.00123, mark="flag"), "p": 0.04, "gap": -0.5}
    >>> first["why"] = "x" * 70
    >>> second = {"model": "=1+1", "ece": 0.5, "p": math.nan}
    >>> table = Table(columns, [first, second], notes=["A note."])
    >>> print(table.to_text(), end="")
    model      ECE     p      gap
    a|b    0.00123  0.04  -0.5000
    =1+1   0.50000     -
    <BLANKLINE>
    A note.
    >>> print("\n".join(table.to_markdown().splitlines()[1:3]).replace("x", ""))
    | :--- | ---: | ---: | ---: | :--- |
    | a\|b | **0.00123** | 0.04 | −0.5000 |  |
    >>> print(table.to_csv().splitlines()[2], table.to_dict()[1]["p"], table.to_rich(20))
    '=1+1,0.5,,,, None None
    >>> 'data-sort="0.00123"' in table.to_html()
    True
    """

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    """Values or cells; a key may be missing."""
    notes: Sequence[str] = ()
    name: str = ""
    """The class of the HTML table."""
    caption: str = ""
    """The caption of the HTML table."""
    sortable: bool = True
    """Whether the page sorts it by a click on a title."""

    @classmethod
    def from_lines(
        cls,
        columns: Sequence[Column],
        lines: Iterable[Sequence[Any]],
        *,
        notes: Sequence[str] = (),
        name: str = "",
        caption: str = "",
        sortable: bool = True,
    ) -> "Table":
        """A table of lines, each with one value per column."""
        keys = [column.key for column in columns]
        rows = [dict(zip(keys, line, strict=True)) for line in lines]
        return cls(columns, rows, notes, name=name, caption=caption, sortable=sortable)

    def cell(self, row: Mapping[str, Any], key: str) -> Cell:
        """What stands in one place."""
        value = row.get(key)
        cell = value if isinstance(value, Cell) else Cell(value)
        if hasattr(cell.value, "item"):
            return cell._replace(value=cell.value.item())
        return cell

    def texts(self, column: Column) -> list[str]:
        """The cells of a column as text."""
        cells = [self.cell(row, column.key) for row in self.rows]
        numbers = [cell.value for cell in cells if isinstance(cell.value, int | float)]
        decimals = common_decimals(numbers) if column.kind == "fraction" else 4
        texts = []
        for cell in cells:
            text = cell.text
            if text is None:
                text = written(cell.value, column.kind, decimals)
            texts.append(visible(text))
        return texts

    def shown(self) -> list[Column]:
        """The columns of a table: those with a value in some row."""
        columns = [column for column in self.columns if column.forms != "data"]
        if not self.rows:
            return columns
        return [column for column in columns if self._has_values(column)]

    def _has_values(self, column: Column) -> bool:
        return any(self.cell(row, column.key) != Cell(None) for row in self.rows)

    def to_text(self, width: int = 80) -> str:
        """Aligned columns for a terminal, without colour; notes below are wrapped to `width`."""
        columns = self._fitted(width)
        texts = [[column.title, *cells] for column, cells in columns.items()]
        lines = list(zip(*texts, strict=True))
        parts = [align(lines, [column.is_number for column in columns])]
        notes = "\n".join(wrap(note, width) for note in self.notes)
        if notes:
            parts.append(notes)
        return "\n\n".join(parts) + "\n"

    def to_rich(self, width: int) -> "RichTable | None":
        """The table, without its notes, for rich to draw.

        None if rich is not installed or the table too wide.
        """
        try:
            from rich.box import SIMPLE_HEAD
            from rich.table import Table as RichTable
            from rich.text import Text
        except ImportError:
            return None
        texts = self._fitted(width - 2)
        if _total_width(texts) + 2 > width:
            return None
        table = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for column in texts:
            # Text, not str: rich reads "[bold]" in a str as markup.
            justify: Literal["left", "right"] = "right" if column.is_number else "left"
            style = "dim" if column.optional else None
            table.add_column(Text(column.title), justify=justify, style=style, no_wrap=True)
        for line in zip(*texts.values(), strict=True):
            table.add_row(*map(Text, line))
        return table

    def _fitted(self, width: int) -> dict[Column, list[str]]:
        """The cells of each column for a terminal; optional columns only if there is room."""
        texts = {}
        for column in self.shown():
            texts[column] = [_for_terminal(text, column.kind) for text in self.texts(column)]
        if _total_width(texts) <= width:
            return texts
        return {column: cells for column, cells in texts.items() if not column.optional}

    def to_markdown(self) -> str:
        """A Markdown table, with marked cells in bold, and a paragraph per note."""
        columns = []
        for column in self.shown():
            cells = [markdown_text(column.title), "---:" if column.is_number else ":---"]
            for row, text in zip(self.rows, map(markdown_text, self.texts(column)), strict=True):
                if text and self.cell(row, column.key).mark:
                    text = f"**{text}**"
                cells.append(text)
            columns.append(cells)
        table = "\n".join(f"| {' | '.join(line)} |" for line in zip(*columns, strict=True))
        return "\n\n".join([table, *map(markdown_text, self.notes)]) + "\n"

    def to_csv(self) -> str:
        """Every value with every digit, by key; nothing for nan.

        Text that could be a formula follows an apostrophe.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        keys = [column.key for column in self.columns if column.forms != "table"]
        writer.writerow(map(spreadsheet_text, keys))
        writer.writerows(
            [_csv_text(self.cell(row, key).value) for key in keys] for row in self.rows
        )
        return out.getvalue()

    def to_dict(self) -> list[dict[str, Any]]:
        """One dict per row, ready for JSON."""
        keys = [column.key for column in self.columns if column.forms != "table"]
        return [{key: json_ready(self.cell(row, key).value) for key in keys} for row in self.rows]

    def to_html(self) -> str:
        """An escaped HTML table in a box that scrolls, and a paragraph per note."""
        columns = self.shown()
        head = ""
        for column in columns:
            kind = _CLASS_NUM if column.is_number else ""
            head += f'<th scope="col"{kind}>{escape(visible(column.title))}</th>'
        lines = zip(*map(self._html_cells, columns), strict=True)
        body = "\n".join(f"<tr>{''.join(line)}</tr>" for line in lines)
        notes = [f'\n<p class="note">{escape(visible(note))}</p>' for note in self.notes]
        caption = escape(visible(self.caption))
        sortable = " data-sortable" if self.sortable else ""
        classes = f"{self.name} wide" if self._is_wide else self.name
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">\n'
            f'<table class="{escape(classes)}"{sortable}>\n'
            f"<caption>{caption}</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n"
            "</table>\n</div>" + "".join(notes)
        )

    @property
    def _is_wide(self) -> bool:
        """Whether a telephone shows each row as a paragraph, in which columns are named."""
        return self.sortable and len(self.columns) > _MOST_NARROW

    def _html_cells(self, column: Column) -> Iterator[str]:
        """The cells of one column as HTML, from the first row on.

        Numbers carry their value to sort by; a long text is also its tooltip.
        """
        label = f' data-label="{escape(visible(column.title))}"' if self._is_wide else ""
        for row, text in zip(self.rows, self.texts(column), strict=True):
            cell = self.cell(row, column.key)
            classes = f"num {cell.mark}".rstrip() if column.is_number else cell.mark
            attributes = f' class="{classes}"{label}' if classes else label
            if column.is_number:
                value = cell.value if isinstance(cell.value, int | float) else math.nan
                attributes += f' data-sort="{value}"'
            is_long = len(text) > _LONG_CELL and self.sortable
            tooltip = f' title="{escape(text)}"' if is_long else ""
            yield f"<td{attributes}><bdi{tooltip}>{escape(text)}</bdi></td>"


def written(value: Value, kind: Kind, decimals: int = 4) -> str:
    """A value as a column of this kind shows it."""
    if value is None:
        return ""
    if kind in _FORMS:
        return _FORMS[kind](value)
    if kind == "count" and not math.isnan(value):
        return f"{value:,.0f}"
    return number(value, decimals)


def _for_terminal(text: str, kind: Kind) -> str:
    if kind == "name":
        return shorten(text, _LONGEST_NAME)
    if kind == "text":
        return text
    return text.translate(_PLAIN_NUMBERS)


def _total_width(texts: Mapping[Column, list[str]]) -> int:
    widths = [max(map(display_width, [column.title, *cells])) for column, cells in texts.items()]
    return sum(widths) + 2 * (len(widths) - 1)


def _csv_text(value: object) -> str:
    """A value as CSV holds it: nothing for None and nan, and text that no spreadsheet executes."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return spreadsheet_text(str(value))
