"""The base of every record: plain Python, frames, and tables in a notebook."""

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from html import escape
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from trueness._text.numbers import MISSING, level_percent, number, p_value
from trueness._text.strings import json_ready, shorten, visible, visible_lines
from trueness.errors import InputError, MissingLibraryError

FrameLibrary: TypeAlias = Literal["pandas", "polars", "pyarrow"]
Value: TypeAlias = Any
"""What a field of a record may hold."""
Frame: TypeAlias = Any
"""A frame of any library."""
_FRAMES: tuple[FrameLibrary, ...] = ("pandas", "polars", "pyarrow")

# Rows of a table, entries of an array and letters of a text that a notebook shows.
_ROWS = 20
_ENTRIES = 4
_LETTERS = 500
_GAP = re.compile(r"\S {2,}\S")
"""What a table of characters has between its columns."""


# The note of rows that were read from a matrix of two columns.
_TWO_COLUMNS = re.compile(r"The two columns of scores are .*?\.(?= |$)")


def with_two_columns(sentence: str, note: str) -> str:
    """The sentence, and what the note says about a matrix of two columns."""
    remark = _TWO_COLUMNS.search(note)
    if remark is None:
        return sentence
    return f"{sentence.removesuffix('.')}. {remark[0]}"


class Record:
    """A frozen dataclass that converts to plain Python, a frame, and a table in a notebook."""

    _columns: ClassVar[tuple[str, ...]] = ()
    """The fields that are the columns of a table, all of one length; or one field, a tuple of
    records, its rows."""
    _text_first: ClassVar[bool] = False
    """Whether a notebook shows the text, since the columns are too many for its cell."""
    _also: ClassVar[tuple[str, ...]] = ()
    """Properties that `to_dict` holds beside the fields."""

    def __init_subclass__(cls) -> None:
        """Names of models and groups come from anywhere: no record prints a control character.

        Equality is ours: that of dataclasses fails for arrays, and nan would differ from itself.
        """
        cls.__eq__ = Record._equals  # type: ignore[assignment, method-assign]  # of every record
        cls.__hash__ = Record._hash  # type: ignore[assignment, method-assign]
        if "__str__" in cls.__dict__:
            text_of = cls.__str__
            visible_text = wraps(text_of)(lambda self: visible_lines(text_of(self)))
            cls.__str__ = visible_text  # type: ignore[method-assign]  # the same signature

    def __post_init__(self) -> None:
        """Arrays of a frozen record cannot be written to."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                value = value.view()
                value.flags.writeable = False
                object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()

    def _equals(self, other: object) -> bool:
        return type(self) is type(other) and _same(vars(self), vars(other))

    def _hash(self) -> int:
        return hash(
            (type(self), *(value for value in vars(self).values() if isinstance(value, str)))
        )

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, ready for JSON.

        Arrays are lists, records are dicts, undefined and infinite numbers are None.
        """
        plain: dict[str, Any] = json_ready(self._entries())
        return plain

    def _entries(self) -> dict[str, Any]:
        """What `to_dict` holds, as plain Python; undefined numbers are nan."""
        # Subclasses are dataclasses.
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {name: _plain(getattr(self, name)) for name in (*names, *self._also)}

    def columns(self) -> dict[str, list[Any]]:
        """The columns of a table by name.

        Of any other record its single values, as a table of one row.
        """
        columns = {name: getattr(self, name) for name in self._columns}
        match list(columns.values()):
            case []:
                entries = self._entries().items()
                return {k: [v] for k, v in entries if not isinstance(v, list | dict)}
            case [tuple(records)]:
                lines = [record._entries() for record in records]
                names = lines[0] if lines else {}
                return {name: [line[name] for line in lines] for name in names}
        return {
            name: list(_plain(values)) for name, values in columns.items() if values is not None
        }

    def rows(self) -> list[dict[str, Any]]:
        """One dict per row of :meth:`columns`."""
        columns = self.columns()
        return [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]

    def to_frame(self, library: FrameLibrary | None = None) -> Frame:
        """The :meth:`columns` as a frame.

        Parameters
        ----------
        library : {'pandas', 'polars', 'pyarrow'}, optional
            The library of the frame, which must be installed. By default pandas, or Polars where
            there is no pandas.
        """
        if library not in (None, *_FRAMES):
            raise InputError(
                "library", "must be 'pandas', 'polars' or 'pyarrow'", f"got {library!r}"
            )
        import narwhals.stable.v2 as nw

        libraries = _FRAMES[:2] if library is None else (library,)
        for name in libraries:
            try:
                importlib.import_module(name)
            except ImportError:
                continue
            columns = {key: _one_type(values) for key, values in self.columns().items()}
            return nw.from_dict(columns, backend=name).to_native()
        call = type(self).__name__
        argument = "" if library is None else repr(library)
        text = f"`{call}.to_frame({argument})` needs {' or '.join(libraries)}"
        raise MissingLibraryError(f"{text}: `pip install {library or _FRAMES[0]}`.")

    def _caption(self) -> str:
        """The record in one line: its text, unless that is a table."""
        text = str(self)
        if "\n" not in text:
            return text
        return str(self.__doc__).partition("\n")[0]

    def _opening(self) -> str:
        """What a notebook shows first: what a table says, or the text of the record."""
        sentence = str(getattr(self, "sentence", ""))
        if self._columns and self._text_first:
            return f"{sentence}\n{str(self).replace(sentence, '', 1)}" if sentence else str(self)
        if self._columns:
            return sentence or self._caption()
        return str(self)

    def _html_opening(self) -> str:
        """The same as HTML."""
        return html_text(self._opening())

    def _repr_html_(self) -> str:
        """For a notebook: the text, the table of the columns if any, and the fields in a fold."""
        texts = []
        for field in fields(self):  # type: ignore[arg-type]
            if field.name not in self._columns:
                text = _text(field.name, getattr(self, field.name))
                if text not in ("", MISSING):
                    texts.append((field.name.replace("_", " "), text))
        parts = [self._html_opening()]
        if self._columns:
            table = self._html_columns()
            if self._text_first:
                table = html_fold("All columns", table)
            parts.append(table)
        parts.append(html_fold("Fields", html_table((), texts)))
        return html_cell(parts)

    def _html_columns(self) -> str:
        """The columns as a table; of a long one its ends."""
        columns = self.columns()
        length = max(map(len, columns.values()), default=0)
        shown = range(length) if length <= _ROWS else (*range(_ROWS - 1), length - 1)
        columns = {name: _counts(name, values) for name, values in columns.items()}
        lines = [[_text(name, values[i]) for name, values in columns.items()] for i in shown]
        table = html_table([name.replace("_", " ") for name in columns], lines)
        if length <= _ROWS:
            return table
        note = f"{_ROWS} of {length:,} rows: the first {_ROWS - 1} and the last."
        return f"{table}\n{html_text(note)}"


class Table(Record):
    """A record with a row for each entry of its first column."""

    def __len__(self) -> int:
        return len(getattr(self, self._columns[0]))


def _one_type(values: list[Any]) -> list[Any]:
    """A column of one type, as frames need it: numbers as floats, else all as text."""
    kinds = {type(value) for value in values if value is not None}
    common = float if kinds <= {int, float} else str
    if len(kinds) <= 1:
        return values
    return [None if value is None else common(value) for value in values]


def _counts(name: str, values: list[Any]) -> list[Any]:
    """A column as whole numbers if all are whole, and some are above 1 in size.

    Shares and labels are never larger.
    """
    plain = values.tolist() if hasattr(values, "tolist") else values
    whole = "pvalue" not in name and all(
        isinstance(value, float) and value.is_integer() for value in plain
    )
    if whole and any(abs(value) > 1 for value in plain):
        return [int(value) for value in plain]
    return values


def _text(name: str, value: object) -> str:
    """A value of the field or column `name`, for people.

    The name says which numbers are levels or p-values; long sequences are cut.
    """
    if isinstance(value, Record):
        return value._caption()
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(name, entry)}" for key, entry in value.items())
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        entries = [_text(name, entry) for entry in value[:_ENTRIES]]
        if len(value) > _ENTRIES:
            entries.append(f"… ({len(value):,} in all)")
        return ", ".join(entries)
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if name.startswith("level"):
            return level_percent(value)
        if "pvalue" in name:
            return p_value(value, named=False)
        return number(value)
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def html_cell(parts: Iterable[str]) -> str:
    """Parts of a notebook's output, never wider than its cell."""
    inside = "\n".join(filter(None, parts))
    return f'<div style="max-width:100%;overflow-x:auto">\n{inside}\n</div>'


def html_text(text: str) -> str:
    """Text as paragraphs, and a table of characters in it as it stands."""
    lines = text.split("\n")
    aligned = [i for i, line in enumerate(lines) if _GAP.search(line)]
    if not aligned:
        return _paragraphs(lines)
    first = aligned[0]
    after = aligned[-1] + 1
    table = escape(visible_lines("\n".join(lines[first:after])))
    parts = [
        _paragraphs(lines[:first]),
        f'<pre style="overflow-x:auto">{table}</pre>',
        _paragraphs(lines[after:]),
    ]
    return "\n".join(filter(None, parts))


def _paragraphs(lines: Sequence[str]) -> str:
    shown = (escape(visible(shorten(line, _LETTERS))) for line in lines if line)
    return "\n".join(f'<p style="max-width:60em">{line}</p>' for line in shown)


def html_fold(title: str, inside: str) -> str:
    """What is shown on demand; empty if there is nothing to show."""
    if not inside:
        return ""
    return f"<details><summary>{escape(title)}</summary>\n{inside}\n</details>"


def html_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """An HTML table whose first column names the rows; columns of numbers are flush right."""
    if not lines:
        return ""
    sides = []
    for column in zip(*lines, strict=True):
        is_right = bool(head) and all(map(_is_number, column))
        sides.append("right" if is_right else "left")

    def cell(tag: str, text: str, side: str = "left") -> str:
        shown = escape(visible(shorten(text, _LETTERS)))
        return f'<{tag} style="text-align:{side}">{shown}</{tag.split()[0]}>'

    top = "".join(map(cell, ['th scope="col"'] * len(head), head, sides or ["left"] * len(head)))
    tags = ['th scope="row"', *["td"] * len(sides)]
    body = "\n".join(f"<tr>{''.join(map(cell, tags, line, sides))}</tr>" for line in lines)
    if head:
        top = f"<thead><tr>{top}</tr></thead>\n"
    return f"<table>\n{top}<tbody>\n{body}\n</tbody>\n</table>"


def _is_number(text: str) -> bool:
    return text.lstrip("−+<∞ ")[:1].isdigit() or text in (MISSING, "∞", "−∞")


def _plain(value: Value) -> Value:
    """A value as plain Python: records, mappings and arrays become dicts and lists."""
    if isinstance(value, Record):
        return value._entries()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):  # of models, or of pairs of them
        items = {}
        for key, item in value.items():
            items[" − ".join(key) if isinstance(key, tuple) else key] = _plain(item)
        return items
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _same(first: Value, other: Value) -> bool:
    """Equality of plain values, arrays, records and unfitted calibrators; nan equals nan."""
    if isinstance(first, np.ndarray) and isinstance(other, np.ndarray):
        return first.shape == other.shape and _same(first.tolist(), other.tolist())
    if isinstance(first, list | tuple) and isinstance(other, list | tuple):
        return len(first) == len(other) and all(map(_same, first, other))
    if isinstance(first, dict) and isinstance(other, dict):
        return first.keys() == other.keys() and all(
            _same(value, other[name]) for name, value in first.items()
        )
    if hasattr(first, "get_params"):  # an unfitted calibrator, whose own equality is identity
        return type(first) is type(other) and _same(first.get_params(), other.get_params())
    return bool(first == other) or (first != first and other != other)  # nan
