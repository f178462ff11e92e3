"""JSON lines: an object per line, with the same keys.

Polars parses, with the types that the first lines suggest. A block of lines that it refuses, or that holds text which
might have been numbers, is read again with Python's json module, which knows the type of each value. So is a block
in which a key may be repeated, of which Polars takes the first. Groups are the text of their cells: 1 is not 1.0.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.sources._compression import Block, text_blocks
from trueness.sources._table import Columns, PolarsTable

_INSPECTED_LINES = 1000
_KINDS: dict[type, str] = {bool: "true/false", int: "numbers", float: "numbers", str: "text"}
_LABELS = "must hold labels: 0/1, true/false, integers or text"
_MIXED_SCORES = "must hold numbers, or lists of one length"
_GROUP = "group\0"
"""Before the name of a column that is read as groups: the same column may hold labels, too."""
# ASCII letters, which no writer escapes, and halves of surrogate pairs, which are not text.
_ODD_ESCAPES = re.compile(rb"\\u00[2-7]|\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]")
_MOST_DIGITS = 4000  # Python refuses to convert longer integers


class _Number(str):
    """The text of a number."""

    __slots__ = ()


_KINDS[_Number] = "numbers"


class _Object(dict[str, Any]):
    """An object; `repeated` holds the keys that it has more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: list[str] = []
        if len(self) < len(pairs):
            self.repeated = [key for key, n in Counter(key for key, _ in pairs).items() if n > 1]


class JsonLinesFile(PolarsTable):
    """Objects by line. A key that a line lacks is a missing value, like null; a list of numbers is a row of scores."""

    format, suffixes, is_text = "JSON lines", (".jsonl", ".ndjson", ".jsonlines", ".json"), True

    def __init__(self, path: Path, name: str, compression: str | None = None) -> None:
        self.path, self.name, self.size, self.compression = path, name, path.stat().st_size, compression
        self._types: dict[str, set[type]] = {}
        for _, row in islice(self._objects(), _INSPECTED_LINES):
            for key, value in row.items():
                self._types.setdefault(key, set()).add(type(_none_for_nan(value)))
        self.names = tuple(self._types)
        if not self.names:
            raise InputError("", f'{name} has no columns: each line must be an object such as {{"y": 1, "p": 0.7}}')

    def frames(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """A frame for each block of lines, in which groups are text or true/false."""
        self._group_kinds: dict[str, set[str]] = {name: set() for name in groups}
        names = list(dict.fromkeys((*labels, *numbers)))
        for block in self._blocks():
            frame = self._parse(block, names, numbers, groups)
            yield (self._parse_strictly(block, names, numbers, groups) if frame is None else frame), block.read

    def _parse(self, block: Block, names: Sequence[str], numbers: Sequence[str], groups: Sequence[str]) -> Any:
        """The columns as Polars reads them; None if it cannot, or may have read something else."""
        polars = self._polars
        schema = {name: self._dtype(self._types.get(name, set()), name in numbers) for name in names}
        keys = {name: self._dtype(self._types.get(name, set()), False) for name in groups}
        if schema.keys() & keys:
            return None
        try:
            frame = polars.read_ndjson(block.data, schema=schema | keys)
        except polars.exceptions.PolarsError:
            return None
        if _may_differ(block.data, frame):
            return None
        texts = (
            series.alias("cells").unique().to_list() for series in frame.get_columns() if series.dtype == polars.String
        )
        if any(_is_ambiguous(text) for cells in texts for text in cells if text is not None):
            return None
        columns = {name: frame[name] for name in names}
        for name, dtype in keys.items():
            kind = {polars.String: "text", polars.Boolean: "true/false"}.get(dtype, "numbers")
            self._add_group_kinds(name, {kind} if frame[name].null_count() < frame.height else set())
            column = _digits(block.data, frame[name]) if dtype == polars.Float64 else frame[name]
            if column is None:
                return None
            columns[_GROUP + name] = column.cast(polars.String) if dtype == polars.Int64 else column
        return polars.DataFrame(columns)

    def _add_group_kinds(self, name: str, kinds: set[str]) -> None:
        self._group_kinds[name] |= kinds
        self._check_kinds(self._group_kinds[name], name)

    def holds_numbers(self, name: str) -> bool | None:
        """Whether the first lines have numbers in a column; None if they have no value."""
        types = self._types.get(name, set()) - {type(None)}
        return types <= {int, float} if types else None

    def _dtype(self, types: set[type], number: bool) -> Any:
        polars, present = self._polars, types - {type(None)}
        if number:
            return polars.List(polars.Float64) if list in present else polars.Float64
        known = {(bool,): polars.Boolean, (str,): polars.String, (int,): polars.Int64, (): polars.Int64}
        return known.get(tuple(present), polars.Float64)

    def _parse_strictly(self, block: Block, names: Sequence[str], numbers: Sequence[str], groups: Sequence[str]) -> Any:
        rows = list(self._objects([block]))
        lines = [line for line, _ in rows]
        for line, row in rows:
            self._check_repeated(row, line, (*names, *groups))
        columns = {}
        for name in names:
            values = [_none_for_nan(row.get(name)) for _, row in rows]
            self._types[name] = {type(value) for value in values}
            check = self._check_numbers if name in numbers else self._check_labels
            check(values, lines, name)
            if name in numbers:
                values = [list(map(_as_float, v)) if isinstance(v, list) else _as_float(v) for v in values]
            dtype = self._dtype(self._types[name], name in numbers)
            columns[name] = self._series(name, values, dtype)
        cells = [row for _, row in self._objects([block], as_text=True)] if groups else []
        for name in groups:
            columns[_GROUP + name] = self._group_series(name, [row.get(name) for row in cells], lines)
            # What the next block is likely to hold.
            self._types[name] = {type(_none_for_nan(row.get(name))) for _, row in rows}
        return self._polars.DataFrame(columns)

    def _check_repeated(self, row: _Object, line: int, names: Sequence[str] | None = None) -> None:
        """Refuse a key, of those in `names`, that an object has twice."""
        for key in row.repeated:
            if names is None or key in names:
                raise InputError("", f"{self.name}, line {line}, has the key {key!r} more than once")

    def _group_series(self, name: str, values: list[Any], lines: list[int]) -> Any:
        """The text of each cell, or true/false."""
        self._check_labels(values, lines, name)
        self._add_group_kinds(name, {_KINDS[type(value)] for value in values if value is not None})
        boolean = self._group_kinds[name] == {"true/false"}
        return self._polars.Series(name, values, self._polars.Boolean if boolean else self._polars.String)

    def _series(self, name: str, values: list[Any], dtype: Any) -> Any:
        if dtype == self._polars.Int64 and any(v is not None and not -(2**63) <= v < 2**63 for v in values):
            return self._polars.Series(name, [None if v is None else str(v) for v in values], self._polars.String)
        return self._polars.Series(name, values, dtype, strict=False)

    def _check_labels(self, values: list[Any], lines: list[int], name: str) -> None:
        for line, value in zip(lines, values, strict=True):
            if isinstance(value, str) and not _is_text(value):
                raise self._error(name, "must hold text", f"line {line} has half of a surrogate pair")
        nested = next((i for i, value in enumerate(values) if isinstance(value, list | dict)), None)
        if nested is not None:
            raise self._error(name, _LABELS, f"line {lines[nested]} has {_description(values[nested])}")
        self._check_kinds({_KINDS[type(value)] for value in values if value is not None}, name)

    def _check_kinds(self, kinds: set[str], name: str) -> None:
        if len(kinds) > 1:
            raise self._error(name, "must hold labels of one type", f"it mixes {' and '.join(sorted(kinds))}")

    def _check_numbers(self, values: list[Any], lines: list[int], name: str) -> None:
        widths = {len(value) if isinstance(value, list) else None for value in values}
        if len(widths) > 1:
            raise self._error(name, _MIXED_SCORES, "they are mixed")
        for line, value in zip(lines, values, strict=True):
            for entry in value if isinstance(value, list) else [value]:
                if entry is not None and (isinstance(entry, bool) or not isinstance(entry, int | float)):
                    raise self._error(name, "must hold numbers", f"line {line} has {_description(entry)}")

    def _join(self, frames: list[Any], names: Sequence[str]) -> Any:
        polars = self._polars
        if not frames:
            return super()._join(frames, names)
        for name in (names := frames[0].columns):
            filled = [f[name] for f in frames if f[name].null_count() < f.height]
            kinds = {"numbers" if s.dtype.is_numeric() else str(s.dtype) for s in filled}
            if any(kind.startswith("List") for kind in kinds) and len(kinds) > 1:
                raise self._error(name, _MIXED_SCORES, "they are mixed")
            self._check_kinds({{"Boolean": "true/false", "String": "text"}.get(kind, kind) for kind in kinds}, name)
        nulls = [
            f.with_columns(polars.lit(None).alias(name) for name in names if f[name].null_count() == f.height)
            for f in frames
        ]
        return polars.concat(nulls, how="vertical_relaxed")

    def _columns(
        self, frame: Any, first: int, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str]
    ) -> Columns:
        keys = {name: frame[_GROUP + name].alias(name) for name in groups}
        found = super()._columns(frame, first, labels, numbers, ())
        return replace(found, groups={name: self._groups(series) for name, series in keys.items()})

    def _groups(self, series: Any) -> NDArray[Any]:
        """Text, as the file has it; integers if all cells are."""
        are_numbers = self._group_kinds[series.name] == {"numbers"}
        return super()._groups(self._whole_groups(series) if are_numbers else series)

    def _numbers(self, series: Any, first: int) -> NDArray[Any]:  # noqa: ARG002
        if not str(series.dtype).startswith("List"):
            return self._as_numbers(series)
        widths = series.list.len().unique()
        if series.null_count() or len(widths) != 1:
            raise self._error(series.name, _MIXED_SCORES, "they are mixed")
        return np.asarray(series.list.to_array(widths[0]).to_numpy())

    def _blocks(self) -> Iterator[Block]:
        return text_blocks(self.path, self.name, self.compression, quoted=False)

    def place(self, row: int) -> str:
        """The line of a row."""
        try:
            return f"line {next(line for i, (line, _) in enumerate(self._objects()) if i == row):,}"
        except OSError:  # standard input, whose copy is gone
            return super().place(row)

    def _objects(self, blocks: Any = None, *, as_text: bool = False) -> Iterator[tuple[int, _Object]]:
        """Every object with the number of its line; blank lines are left out."""
        for block in self._blocks() if blocks is None else blocks:
            for i, line in enumerate(block.data.split(b"\n")):
                if line.strip():
                    yield block.line + i, self._object(line, block.line + i, as_text)

    def _object(self, line: bytes, at: int, as_text: bool) -> _Object:
        where = f"{self.name}, line {at},"
        try:
            row = (_TEXT_DECODER if as_text else _DECODER).decode(line.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError("", f"{where} must be UTF-8 text", remedy="Save the file in that encoding.") from None
        except ValueError as reason:  # such as a line that was cut off
            raise InputError("", f"{where} is not JSON: {reason}") from None
        if not isinstance(row, _Object):
            raise InputError("", f"{where} must be an object", f"it is {_description(row)}")
        return row

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all objects with new keys."""
        columns = [column.tolist() for column in new.values()]
        for (line, row), values in zip(self._objects(), zip(*columns, strict=True), strict=True):
            self._check_repeated(row, line)
            more = dict(zip(new, map(_without_nan, values), strict=True))
            file.write(json.dumps({**row, **more}, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")


def _parse_integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_int=_parse_integer)
_TEXT_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object,
    parse_int=lambda digits: _Number("0" if digits == "-0" else digits),
    parse_float=_Number,
    parse_constant=lambda name: None if name == "NaN" else _Number(name),
)
"""Reads numbers as text, so that they keep their digits."""


def _as_float(value: Any) -> float | None:
    """The nearest float, infinite for integers that are too large."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _may_differ(data: bytes, frame: Any) -> bool:
    """Whether Python may read a block in another way than Polars did: keys are repeated, or escaped."""
    if b"\\" in data and (_ODD_ESCAPES.search(data) or not all(name.isidentifier() for name in frame.columns)):
        return True
    for series in frame.get_columns():
        key, filled = _key(series.name), len(series) - series.null_count()
        if data.count(key) != filled and len(re.findall(re.escape(key) + rb"\s*:", data)) != filled:
            return True
    return False


def _digits(data: bytes, series: Any) -> Any:
    """The text of numbers that Polars has read; None if that is not certain.

    There are as many keys of that name as values, so that all keys are those of the column.
    """
    cells = re.findall(re.escape(_key(series.name)) + rb"\s*:\s*(-?\d[-+.\deE]*)", data)
    series = series.alias("cells")  # Polars may take its name for a pattern
    rows = series.is_not_null().arg_true()
    if len(cells) != len(rows):
        return None
    texts = ["0" if cell == b"-0" else cell.decode() for cell in cells]
    empty = series.clear(len(series)).cast(str)
    return empty.scatter(rows, texts)


def _key(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _is_text(value: str) -> bool:
    """Whether a string has no half of a surrogate pair, which JSON can write and UTF-8 cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _none_for_nan(value: Any) -> Any:
    """NaN, which Python writes for a missing value, must not turn a column of integers into floats."""
    return None if value != value else value


def _is_ambiguous(text: str) -> bool:
    """Whether text that Polars returned may have been a number, true/false, a list or an object in the file."""
    try:
        return not isinstance(json.loads(text), str)
    except ValueError:
        return False


def _description(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _without_nan(value: Any) -> Any:
    missing = any(map(math.isnan, value)) if isinstance(value, list) else math.isnan(value)
    return None if missing else value
