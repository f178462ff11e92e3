"""JSON lines: an object per line, with the same keys.

Polars parses, with the types that the first lines suggest. A block of lines that it refuses, or that holds text which
might have been numbers, is read again with Python's json module, which knows the type of each value.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.sources._compression import Block, text_blocks
from trueness.sources._table import PolarsTable

_INSPECTED_LINES = 1000
_KINDS: dict[type, str] = {bool: "true/false", int: "numbers", float: "numbers", str: "text"}
_LABELS = "must hold labels: 0/1, true/false, integers or text"
_MIXED_SCORES = "must hold numbers, or lists of one length"


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

    def frames(self, names: Sequence[str], numbers: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """A frame for each block of lines."""
        for block in self._blocks():
            frame = self._parse(block, names, numbers)
            yield (self._parse_strictly(block, names, numbers) if frame is None else frame), block.read

    def _parse(self, block: Block, names: Sequence[str], numbers: Sequence[str]) -> Any:
        """The columns as Polars reads them; None if it cannot, or may have taken other values for text."""
        schema = {name: self._dtype(self._types.get(name, set()), name in numbers) for name in names}
        try:
            frame = self._polars.read_ndjson(block.data, schema=schema)
        except self._polars.exceptions.PolarsError:
            return None
        texts = (frame[name].unique().to_list() for name, dtype in schema.items() if dtype == self._polars.String)
        return None if any(_is_ambiguous(text) for cells in texts for text in cells if text is not None) else frame

    def _dtype(self, types: set[type], number: bool) -> Any:
        polars, present = self._polars, types - {type(None)}
        if number:
            return polars.List(polars.Float64) if list in present else polars.Float64
        known = {(bool,): polars.Boolean, (str,): polars.String, (int,): polars.Int64, (): polars.Int64}
        return known.get(tuple(present), polars.Float64)

    def _parse_strictly(self, block: Block, names: Sequence[str], numbers: Sequence[str]) -> Any:
        rows = list(self._objects([block]))
        lines = [line for line, _ in rows]
        columns = {}
        for name in names:
            values = [_none_for_nan(row.get(name)) for _, row in rows]
            self._types[name] = {type(value) for value in values}
            check = self._check_numbers if name in numbers else self._check_labels
            check(values, lines, name)
            dtype = self._dtype(self._types[name], name in numbers)
            columns[name] = self._series(name, values, dtype)
        return self._polars.DataFrame(columns)

    def _series(self, name: str, values: list[Any], dtype: Any) -> Any:
        if dtype == self._polars.Int64 and any(v is not None and not -(2**63) <= v < 2**63 for v in values):
            return self._polars.Series(name, [None if v is None else str(v) for v in values], self._polars.String)
        return self._polars.Series(name, values, dtype, strict=False)

    def _check_labels(self, values: list[Any], lines: list[int], name: str) -> None:
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
        for name in names:
            filled = [f[name] for f in frames if f[name].null_count() < f.height]
            kinds = {"numbers" if s.dtype.is_numeric() else str(s.dtype) for s in filled}
            if any(kind.startswith("List") for kind in kinds) and len(kinds) > 1:
                raise self._error(name, _MIXED_SCORES, "they are mixed")
            self._check_kinds({{"Boolean": "true/false", "String": "text"}.get(kind, kind) for kind in kinds}, name)
        if not frames:
            return super()._join(frames, names)
        nulls = [
            f.with_columns(polars.lit(None).alias(name) for name in names if f[name].null_count() == f.height)
            for f in frames
        ]
        return polars.concat(nulls, how="vertical_relaxed")

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

    def _objects(self, blocks: Any = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every object with the number of its line; blank lines are left out."""
        for block in self._blocks() if blocks is None else blocks:
            for i, line in enumerate(block.data.split(b"\n")):
                if line.strip():
                    yield block.line + i, self._object(line, block.line + i)

    def _object(self, line: bytes, number: int) -> dict[str, Any]:
        where = f"{self.name}, line {number},"
        try:
            row = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError("", f"{where} must be UTF-8 text", remedy="Save the file in that encoding.") from None
        except ValueError as reason:  # such as a line that was cut off
            raise InputError("", f"{where} is not JSON: {reason}") from None
        if not isinstance(row, dict):
            raise InputError("", f"{where} must be an object", f"it is {_description(row)}")
        return row

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all objects with new keys."""
        columns = [column.tolist() for column in new.values()]
        for (_, row), values in zip(self._objects(), zip(*columns, strict=True), strict=True):
            more = dict(zip(new, map(_without_nan, values), strict=True))
            file.write(json.dumps({**row, **more}, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")


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
