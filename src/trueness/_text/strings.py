"""Strings made safe and made to fit: unseen characters, Markdown, JSON, width of a terminal."""

import math
import re
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

_LONG_NAME = 60
_NARROWEST = 40
_KEPT = "\N{NO-BREAK SPACE}%"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def visible(text: str) -> str:
    r"""The text with control characters, and others that cannot be seen, spelled out.

    Examples
    --------
    >>> print(visible("a\x1b[31m‮b"))
    a\x1b[31m\u202eb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is.

    Examples
    --------
    >>> print(markdown_text("p_a|b <i>"))
    p\_a\|b \<i\>
    """
    return _MARKDOWN.sub(r"\\\1", visible(text))


def shorten(name: str, widest: int = _LONG_NAME) -> str:
    """A long name without its middle: names of models tend to differ at their ends."""
    if len(name) <= widest:
        return name
    end = (widest - 1) // 2
    return f"{name[: widest - 1 - end]}…{name[len(name) - end :]}"


def quoted(name: str) -> str:
    """A name inside a sentence."""
    return f"“{shorten(visible(name))}”"


def display_width(text: str) -> int:
    """Columns that a terminal gives to the text: two for wide letters, none for combining marks."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wrap(paragraph: str, width: int, *, hanging: bool = False) -> str:
    """A paragraph in lines of at most `width`; longer words, and numbers with their percent sign, stay whole."""
    indent = "  " if hanging else ""
    lines = textwrap.fill(
        visible(paragraph).replace(" %", _KEPT),
        max(width, _NARROWEST),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace(_KEPT, " %")


def align(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Columns two spaces apart, each flush left or flush right."""
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            " " * (w - display_width(cell)) + cell if flush_right else cell + " " * (w - display_width(cell))
            for cell, w, flush_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def json_ready(value: Any) -> Any:
    """Plain values that JSON can hold: records and arrays as dicts and lists, nan and infinity as None."""
    if hasattr(value, "to_dict"):
        return json_ready(value.to_dict())
    if is_dataclass(value):
        return {field.name: json_ready(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): json_ready(one) for name, one in value.items()}
    if hasattr(value, "tolist"):
        return json_ready(value.tolist())
    if isinstance(value, list | tuple):
        return [json_ready(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int | str | None) else str(value)
