"""JSON lines: one object per line, with the same keys."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.cli._packed import unpacking
from trueness.cli._source import Columns, Source
from trueness.errors import InputError

__all__ = ["JsonLinesFile"]

_LOOKED_AT = 1000
_PIECE = 1 << 18


class JsonLinesFile(Source):
    """Objects by line. A key that a line lacks is a missing value, as null is; a list of numbers is a row of scores."""

    def __init__(self, path: Path, name: str, packing: str | None = None) -> None:
        self.path, self.name, self.size, self.packing = path, name, path.stat().st_size, packing
        keys: dict[str, None] = {}
        for i, (_, row) in enumerate(self.records()):
            if i == _LOOKED_AT:
                break
            keys |= dict.fromkeys(row)
        self.names = tuple(keys)
        if not keys:
            raise InputError(f'{name} has no columns: each line must be an object such as {{"y": 1, "p": 0.7}}.')

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every object with the number of its line; blank lines left out."""
        with unpacking(self.path, self.name, self.packing) as (file, _):
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, self._object(line, number)

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read the columns."""
        return self._columns(list(self.records()), labels, numbers, groups)

    def pieces(
        self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()
    ) -> Iterator[tuple[Columns, int]]:
        """So many lines at a time."""
        wanted = {*labels, *numbers, *groups}
        rows: list[tuple[int, dict[str, Any]]] = []
        with unpacking(self.path, self.name, self.packing) as (file, read):
            for number, line in enumerate(file, start=1):
                if line.strip():
                    row = self._object(line, number)
                    rows.append((number, {name: row[name] for name in wanted & row.keys()}))
                if len(rows) == _PIECE:
                    yield self._columns(rows, labels, numbers, groups), read()
                    rows = []
        if rows:
            yield self._columns(rows, labels, numbers, groups), self.size

    def _object(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise InputError(
                f"{self.name}, line {number}, must be UTF-8 text; save the file in that encoding."
            ) from None
        except ValueError as reason:  # among others, a line cut in the middle
            raise InputError(f"{self.name}, line {number}, is not JSON: {reason}.") from None
        if not isinstance(row, dict):
            raise InputError(f"{self.name}, line {number}, must be an object; it is {_called(row)}.")
        return row

    def _columns(
        self,
        rows: list[tuple[int, dict[str, Any]]],
        labels: Sequence[str],
        numbers: Sequence[str],
        groups: Sequence[str],
    ) -> Columns:
        return Columns(
            {name: self._labels(rows, name) for name in labels},
            {name: self._numbers(rows, name) for name in numbers},
            {name: self._groups(rows, name) for name in groups},
        )

    def _labels(self, rows: list[tuple[int, dict[str, Any]]], name: str) -> NDArray[Any]:
        values, types = self._of_one_type(rows, name)
        if types & {int, float}:
            numeric: NDArray[Any] = np.array([math.nan if v is None else v for v in values])
            if numeric.dtype.kind in "if":
                return numeric
        return np.array(values) if types == {bool} else np.array(values, dtype=object)

    def _groups(self, rows: list[tuple[int, dict[str, Any]]], name: str) -> NDArray[Any]:
        values, types = self._of_one_type(rows, name)
        if types == {int} and all(-(2**63) <= v < 2**63 for v in values):
            return np.array(values, dtype=np.int64)
        # As objects: a float has no room for the last digits of a long number.
        return np.array([None if v != v else v for v in values], dtype=object)

    def _of_one_type(self, rows: list[tuple[int, dict[str, Any]]], name: str) -> tuple[list[Any], set[type]]:
        values = [row.get(name) for _, row in rows]
        types = {type(value) for value in values}
        if not types <= {bool, int, float, str, type(None)}:
            number = next(n for n, row in rows if isinstance(row.get(name), list | dict))
            raise InputError(
                f"{self.name}: column {name!r} must hold labels: 0/1, true/false, integers or text; "
                f"line {number} has {_called(dict(rows)[number][name])}."
            )
        kinds = {_WORDS[kind] for kind in types - {type(None)}}
        if len(kinds) > 1:
            shown = " and ".join(sorted(kinds))
            raise InputError(f"{self.name}: column {name!r} must hold labels of one type; it mixes {shown}.")
        return values, types

    def _numbers(self, rows: list[tuple[int, dict[str, Any]]], name: str) -> NDArray[Any]:
        values = [row.get(name) for _, row in rows]
        widths = {len(value) for value in values if isinstance(value, list)}
        for (number, _), value in zip(rows, values, strict=True):
            entries = value if isinstance(value, list) else [value]
            if len(widths) > 1 or (widths and not isinstance(value, list)):
                raise InputError(
                    f"{self.name}: column {name!r} must hold numbers, or lists of one length; they are mixed."
                )
            for entry in entries:
                if entry is not None and (isinstance(entry, bool) or not isinstance(entry, int | float)):
                    raise InputError(
                        f"{self.name}: column {name!r} must hold numbers; line {number} has {_called(entry)}."
                    )
        return np.array(values, dtype=np.float64)  # None becomes nan


_WORDS: dict[type, str] = {bool: "true/false", int: "numbers", float: "numbers", str: "text"}


def _called(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
