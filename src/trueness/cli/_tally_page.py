"""The page about sums: a verdict, a diagram, two tables and what is to be said of them, in four forms."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trueness.cli._layout import finite
from trueness.cli._sheet import rendered
from trueness.cli._tally_picture import STYLE, diagram
from trueness.cli._tally_verdict import Verdict

if TYPE_CHECKING:
    from trueness.cli._sheet import Sheet

__all__ = ["page"]

_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.2rem .8rem .2rem 0;text-align:left}
tr+tr td{border-top:1px solid #d8dee4}td.right,th.right{text-align:right}p{color:#57606a}
.verdict{font-size:1.15rem;color:inherit}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}tr+tr td{border-color:#30363d}
p{color:#9198a1}}"""


def page(
    title: str, verdict: Verdict, measures: "Sheet", bins: "Sheet", form: str, files: "Sheet | None" = None
) -> str:
    """Everything, in one of four forms; `files` side by side if that was asked for."""
    if form == "json":
        whole = measures if files is None else files
        data = {**whole.data, "title": title, **verdict._asdict(), "table": bins.data["table"]}
        return json.dumps(finite(data), indent=2, allow_nan=False) + "\n"
    sheets = [measures, bins]
    if files is not None:
        sheets.insert(0, replace(files, notes=files.notes[len(measures.notes) :]))
    if form == "html":
        return _html(title, verdict, sheets)
    tables = [rendered(sheet, "markdown" if form == "markdown" else "table") for sheet in sheets]
    head = f"# {title}\n" if form == "markdown" else f"{title}\n"
    return "\n".join([head, verdict.verdict + "\n", *tables])


def _html(title: str, verdict: Verdict, sheets: Sequence["Sheet"]) -> str:
    name = html.escape(title)
    lead = f'<p class="verdict">{html.escape(verdict.verdict)}</p>'
    body = lead + diagram(sheets[-1].data["table"]) + "".join(map(_section, sheets))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}{STYLE}</style></head>'
        f"<body><h1>{name}</h1>{body}</body></html>\n"
    )


def _section(sheet: "Sheet") -> str:
    """The table of a sheet as its Markdown has it: one way to write numbers, not two."""
    head, rule, *lines = rendered(sheet, "markdown").split("\n\n")[0].splitlines()
    right = [cell.strip().endswith(":") for cell in _split(rule)]
    rows = [_row("th", head, right), *(_row("td", line, right) for line in lines)]
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in sheet.notes)
    return f"<table>{''.join(rows)}</table>{notes}"


def _row(tag: str, line: str, right: list[bool]) -> str:
    cells = (
        f"<{tag}{' class=right' if to_right else ''}>{html.escape(_unescaped(cell))}</{tag}>"
        for cell, to_right in zip(_split(line), right, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _split(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def _unescaped(cell: str) -> str:
    return re.sub(r"\\(.)", r"\1", cell)
