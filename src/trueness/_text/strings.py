"""Strings made safe and made to fit: Markdown, JSON, spreadsheets, terminals."""

import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, overload

from trueness.errors import visible as visible
from trueness.errors import visible_json as visible_json

if TYPE_CHECKING:
    from trueness.typing import Json  # with NumPy, which help does not need

Value = TypeVar("Value")
_LONG_NAME = 60
_NARROWEST = 40
_KEPT = "\N{NO-BREAK SPACE}%"
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"[+-]?(\d[\d,]*\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def visible_lines(text: str) -> str:
    """The text with such characters spelled out, and its line breaks kept."""
    if text.isprintable():
        return text
    return "\n".join(map(visible, text.split("\n")))


def spreadsheet_text(text: str) -> str:
    """Text that a spreadsheet does not take for a formula.

    An apostrophe stands before ``=``, ``@``, ``+`` and ``-``; numbers keep their sign.

    >>> [spreadsheet_text(name) for name in ("=1+1", "@SUM(A1)", "-x", "-0.5", "a=b")]
    ["'=1+1", "'@SUM(A1)", "'-x", '-0.5', 'a=b']
    """
    plain = visible(text)
    if plain.lstrip()[:1] in _FORMULA and not _NUMBER.fullmatch(plain):
        return f"'{plain}"
    return plain


def markdown_text(text: str) -> str:
    r"""Text that Markdown shows as it is.

    >>> print(markdown_text("p_a|b <i>"))
    p\_a\|b \<i\>
    """
    return _MARKDOWN.sub(r"\\\1", visible(text))


def shorten(name: str, widest: int = _LONG_NAME) -> str:
    """A long name without its middle: names of models tend to differ at their ends.

    >>> shorten("x" * 50 + "y" * 50, 10), shorten("x" * 10, 10)
    ('xxxxx…yyyy', 'xxxxxxxxxx')
    """
    if len(name) <= widest:
        return name
    end = (widest - 1) // 2
    return f"{name[: widest - 1 - end]}…{name[len(name) - end :]}"


def quoted(name: str) -> str:
    """A name inside a sentence."""
    return f"“{shorten(visible(name))}”"


def capitalized(text: str) -> str:
    """Text with a capital first letter; the others stay as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def uncapitalized(text: str) -> str:
    """Text with a small first letter; the others stay as they are."""
    return f"{text[:1].lower()}{text[1:]}"


def display_width(text: str) -> int:
    r"""Columns that a terminal gives to the text: two for wide letters, none for combining marks.

    >>> [display_width(text) for text in ("ab", "宽", "e\u0301")]
    [2, 2, 1]
    """
    width = 0
    for letter in text:
        if not unicodedata.combining(letter):
            width += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
    return width


def wrap(paragraph: str, width: int, *, hanging: bool = False) -> str:
    """A paragraph in lines of at most `width`.

    Longer words, and numbers with their percent sign, stay whole.

    >>> wrap("x" * 37 + " 95 % limits", 40).splitlines()[1]
    '95 % limits'
    >>> wrap("one " * 12, 40, hanging=True).splitlines()[1]
    '  one one'
    """
    lines = textwrap.fill(
        visible(paragraph).replace(" %", _KEPT),
        max(width, _NARROWEST),
        break_long_words=False,
        break_on_hyphens=False,
        subsequent_indent="  " if hanging else "",
    )
    return lines.replace(_KEPT, " %")


def align(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Columns two spaces apart, each flush left or flush right.

    Characters that cannot be seen are spelled out.
    """
    lines = [[visible(cell) for cell in line] for line in lines]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    aligned = []
    for line in lines:
        cells = []
        for cell, width, flush_right in zip(line, widths, right, strict=True):
            space = " " * (width - display_width(cell))
            if flush_right:
                cells.append(space + cell)
            else:
                cells.append(cell + space)
        aligned.append("  ".join(cells).rstrip())
    return "\n".join(aligned)


class _Record(Protocol):
    """A dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@overload
def json_ready(value: _Record | Mapping[Any, Any]) -> dict[str, Any]: ...


@overload
def json_ready(value: object) -> "Json": ...


def json_ready(value: object) -> "Json":
    """Plain values for JSON: records and arrays as dicts and lists, nan and infinity as None.

    >>> json_ready({4: (math.inf, math.nan, 1.5), "a": ValueError("no")})
    {'4': [None, None, 1.5], 'a': 'no'}
    """
    if hasattr(value, "to_dict"):
        entries: object = value.to_dict()
        return json_ready(entries)
    if is_dataclass(value):
        return {field.name: json_ready(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): json_ready(item) for name, item in value.items()}
    if hasattr(value, "tolist"):
        items: object = value.tolist()
        return json_ready(items)
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None
    if isinstance(value, int | str | None):
        return value
    return str(value)


def grouped(pairs: Iterable[tuple[str, Value]]) -> dict[str, list[Value]]:
    """The values of each key, in their order."""
    groups: dict[str, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
