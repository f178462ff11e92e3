"""The report as Markdown."""

import re
from collections.abc import Iterable

from trueness._report.outline import Heading, Items, Piece, outline
from trueness._report.records import Contents
from trueness._report.tables import Table
from trueness._report.words import visible

__all__ = ["markdown"]

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def markdown(contents: Contents) -> str:
    """Headings, paragraphs and tables; names are escaped, so that they stay text."""
    return "\n\n".join(_piece(piece) for piece in outline(contents) if piece != "") + "\n"


def _piece(piece: Piece) -> str:
    if isinstance(piece, Heading):
        return f"{'#' * piece.depth} {_text(piece.text)}"
    if isinstance(piece, Table):
        return _table(piece)
    if isinstance(piece, Items):
        return "\n".join(f"- **{_text(word)}**: {_text(meaning)}" for word, meaning in piece.pairs)
    return _text(piece)


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", visible(text))


def _table(table: Table) -> str:
    numeric = [all(row[i].is_number for row in table.rows) for i in range(len(table.head))]
    lines = [
        _line(map(_text, table.head)),
        _line("--:" if right else "---" for right in numeric),
        *(
            _line(f"**{_text(cell.text)}**" if cell.flag or cell.good else _text(cell.text) for cell in row)
            for row in table.rows
        ),
    ]
    return "\n".join(lines) + (f"\n\n{_text(table.note)}" if table.note else "")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
