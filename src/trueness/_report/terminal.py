"""The report as text for a terminal."""

import textwrap
import unicodedata

from trueness._report.outline import Heading, Items, Piece, outline
from trueness._report.records import Contents
from trueness._report.tables import Table
from trueness._report.words import shortened, visible

__all__ = ["text"]

_WIDTH = 100
_MOST_NAME = 32


def text(contents: Contents) -> str:
    """Plain lines without colour; control characters in names are shown, not sent, and long names are cut."""
    return "\n\n".join(_piece(piece) for piece in outline(contents) if piece != "") + "\n"


def _piece(piece: Piece) -> str:
    if isinstance(piece, Heading):
        title = shortened(visible(piece.text), _WIDTH)
        return f"{title}\n{('=' if piece.depth == 1 else '-') * _wide(title)}"
    if isinstance(piece, Table):
        return _table(piece)
    if isinstance(piece, Items):
        return "\n".join(_filled(f"{word}: {meaning}", hanging=True) for word, meaning in piece.pairs)
    return _filled(piece)


def _filled(paragraph: str, *, hanging: bool = False) -> str:
    return textwrap.fill(visible(paragraph), _WIDTH, subsequent_indent="  " if hanging else "", break_long_words=True)


def _table(table: Table) -> str:
    rows = [
        [shortened(visible(cell.text), _MOST_NAME if not cell.is_number else _WIDTH) for cell in row]
        for row in table.rows
    ]
    if table.name == "summary":  # the meanings are sentences, and stand last
        rows = [[visible(cell.text) for cell in row] for row in table.rows]
    columns = list(zip(table.head, *rows, strict=True))
    right = [all(row[i].is_number for row in table.rows) for i in range(len(table.head))]
    widths = [max(map(_wide, column)) for column in columns]
    lines = [
        "  ".join(
            (" " * (w - _wide(c)) + c) if r else c + " " * (w - _wide(c))
            for c, w, r in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in [list(table.head), *rows]
    ]
    return "\n".join(lines) + (f"\n{_filled(table.note)}" if table.note else "")


def _wide(text: str) -> int:
    """Columns that a terminal gives to a text."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
