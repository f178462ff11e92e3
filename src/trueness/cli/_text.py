"""CSV and TSV.

The reader on Python's csv module says what a file means: it skips blank lines, refuses ragged ones, knows
the words for a missing value and names the line of what it cannot read. Polars, pyarrow and pandas read the
same files many times faster, and differ from each other in just these matters; so their answer is taken where
nothing is missing and nothing went wrong, and otherwise the plain reader decides.
"""

import csv
import io
import math
import re
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness.cli._packed import unpacking
from trueness.cli._source import Columns, Source
from trueness.errors import InputError

__all__ = ["MISSING", "TextFile"]

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Cells that mean a missing value, in labels and in numbers."""

Cells: TypeAlias = tuple[Mapping[str, Sequence[str | None]], Mapping[str, NDArray[Any]]]

_BLOCK = 1 << 24
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")


class TextFile(Source):
    """A text file with a header.

    Parameters
    ----------
    path, name
        Where it lies, and what messages call it.
    separator
        Between the cells of a line.
    above
        How many lines of the file come before the first after the header, if this is a piece of a file.
    packing
        What it is compressed with.
    """

    def __init__(self, path: Path, name: str, separator: str, above: int = 0, packing: str | None = None) -> None:
        self.path, self.name, self.separator, self.packing = path, name, separator, packing
        self.size = path.stat().st_size
        self._above, self._line = 0, 0
        self.header = next(self.records(), [])
        self._head = self._line
        self._above = above - self._head if above else 0
        self.names = tuple(cell.strip() for cell in self.header)
        if not any(self.names):
            raise InputError(f"{name} has no header: its first line must name the columns.")

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read the columns, fast if possible."""
        for wanted in dict.fromkeys((*labels, *numbers, *groups)):
            if self.names.count(wanted) > 1:
                raise InputError(f"{self.name} has {self.names.count(wanted)} columns named {wanted!r}.")
        cells, values = self._cells(tuple(dict.fromkeys((*labels, *groups))), numbers)
        return Columns(
            {name: _labels(cells[name]) for name in labels}, values, {name: _distinct(cells[name]) for name in groups}
        )

    def pieces(
        self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()
    ) -> Iterator[tuple[Columns, int]]:
        """Cut between lines."""
        with closing(self._cut()) as cut:
            for piece, read in cut:
                yield piece.read(labels, numbers, groups), read

    def _cells(self, texts: Sequence[str], numbers: Sequence[str]) -> Cells:
        if self.packing is not None:
            with closing(self._cut()) as cut:
                return _joined([piece._cells(texts, numbers) for piece, _ in cut], texts, numbers)
        plain = self.names != tuple(self.header) or not set(texts).isdisjoint(numbers)
        found = None if plain else self._fast(texts, numbers)
        return self._plain(texts, numbers) if found is None else found

    def _cut(self) -> Generator[tuple["TextFile", int], None, None]:
        """Pieces of the file, each with the header above it, and the bytes of the file read so far."""
        with (
            unpacking(self.path, self.name, self.packing) as (file, read),
            tempfile.TemporaryDirectory() as folder,
        ):
            head = b"".join(file.readline() for _ in range(self._head))
            above = self._head
            for block in _blocks(file):
                piece = Path(folder, "piece")
                piece.write_bytes(head + block)
                yield TextFile(piece, self.name, self.separator, above), read()
                above += block.count(b"\n")

    def records(self) -> Iterator[list[str]]:
        """Lines cut into cells; blank lines left out. Bytes that are not UTF-8 may stand in columns nobody reads."""
        with unpacking(self.path, self.name, self.packing) as (file, _):
            text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
            reader = csv.reader(text, delimiter=self.separator)
            try:
                for cells in reader:
                    self._line = reader.line_num + self._above
                    if cells:
                        yield cells
            except csv.Error as reason:
                line = reader.line_num + self._above
                raise InputError(f"{self.name}, line {line}, cannot be read: {reason}.") from reason

    def rows(self) -> Iterator[list[str]]:
        """The cells of every line below the header, as many as the header has."""
        records = self.records()
        width = len(next(records))
        for cells in records:
            if len(cells) != width and (len(cells) < width or any(cells[width:])):
                raise InputError(
                    f"{self.name}, line {self._line}, has {len(cells)} cells where the header has {width}. "
                    "Cells that hold the separator need quotes."
                )
            yield cells[:width]

    def _plain(self, labels: Sequence[str], numbers: Sequence[str]) -> Cells:
        texts: dict[str, list[str | None]] = {name: [] for name in labels}
        values: dict[str, list[float]] = {name: [] for name in numbers}
        at = {name: self.names.index(name) for name in (*labels, *numbers)}
        for cells in self.rows():
            for name, column in texts.items():
                column.append(self._label(cells[at[name]], name))
            for name, numeric in values.items():
                numeric.append(self._number(cells[at[name]], name))
        return texts, {name: np.array(numeric) for name, numeric in values.items()}

    def _label(self, cell: str, column: str) -> str | None:
        if _ESCAPED_BYTE.search(cell):
            raise InputError(
                f"{self.name}, line {self._line}: column {column!r} is not UTF-8; convert the file, "
                "as `iconv -f latin1 -t utf-8` does."
            )
        cell = cell.strip()
        return None if cell in MISSING else cell

    def _number(self, cell: str, column: str) -> float:
        cell = cell.strip()
        if cell in MISSING:
            return math.nan
        try:
            if "_" not in cell:  # Python reads 1_0 as 10; no other reader does
                return float(cell)
        except ValueError:
            pass
        hint = ""
        if cell.endswith("%"):
            hint = " Percentages must be written as fractions."
        elif _DECIMAL_COMMA.fullmatch(cell):
            hint = " The decimal sign must be a point."
        raise InputError(f"{self.name}: column {column!r} must hold numbers; line {self._line} has {cell!r}.{hint}")

    def _fast(self, labels: Sequence[str], numbers: Sequence[str]) -> Cells | None:
        for reader in (_polars, _pyarrow, _pandas):
            try:
                frame = reader(str(self.path), list(labels), list(numbers), self.separator)
            except ImportError:
                continue
            except Exception:  # whatever it was, the plain reader says it better
                return None
            if any(frame[name].is_null().any() for name in frame.columns):
                return None
            values = {name: frame[name].to_numpy() for name in numbers}
            texts = {name: [text.strip() for text in frame[name].to_list()] for name in labels}
            if any(np.isnan(column).any() for column in values.values()):
                return None
            if any(not set(MISSING).isdisjoint(column) for column in texts.values()):
                return None
            return texts, values
        return None


def _joined(parts: Sequence[Cells], texts: Sequence[str], numbers: Sequence[str]) -> Cells:
    """The cells of pieces, one after the other."""
    values = {name: [np.zeros(0), *(numeric[name] for _, numeric in parts)] for name in numbers}
    return (
        {name: [cell for cells, _ in parts for cell in cells[name]] for name in texts},
        {name: np.concatenate(columns) for name, columns in values.items()},
    )


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file, cut after line breaks that are not inside quotes."""
    rest = b""
    while piece := file.read(_BLOCK):
        rest += piece
        cut = rest.rfind(b"\n") + 1
        while cut and rest.count(b'"', 0, cut) % 2:
            cut = rest.rfind(b"\n", 0, cut - 1) + 1
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def _labels(texts: Sequence[str | None]) -> NDArray[Any]:
    """Text as the simplest type that holds every label: whole numbers, numbers, true/false, text."""
    distinct = {text for text in texts if text is not None}
    parsers: tuple[Callable[[str], Any], ...] = (_whole, _decimal, _truth, str)
    parse = next(parse for parse in parsers if all(parse(text) is not None for text in distinct))
    meaning: dict[str | None, Any] = {text: parse(text) for text in distinct}
    meaning[None] = math.nan if parse in (_whole, _decimal) else None
    values = [meaning[text] for text in texts]
    if parse is str or (parse is _truth and None in texts):
        return np.array(values, dtype=object)
    return np.array(values)


def _distinct(texts: Sequence[str | None]) -> NDArray[Any]:
    """Text as it is, or whole numbers where each is written in the only way: 0123 is not 123."""
    distinct = {text for text in texts if text is not None}
    if not all(_whole(text) is not None and str(_whole(text)) == text for text in distinct):
        return np.array(texts, dtype=object)
    return np.array([None if text is None else int(text) for text in texts], dtype=object if None in texts else None)


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII) else None


def _decimal(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _truth(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _polars(path: str, labels: list[str], numbers: list[str], separator: str) -> Any:
    import narwhals.stable.v2 as nw
    import polars as pl

    types = {**dict.fromkeys(labels, pl.String), **dict.fromkeys(numbers, pl.Float64)}
    return nw.read_csv(
        path,
        backend="polars",
        columns=[*labels, *numbers],
        schema_overrides=types,
        null_values=list(MISSING),
        glob=False,
        **_separated(separator),
    )


def _pyarrow(path: str, labels: list[str], numbers: list[str], separator: str) -> Any:
    import narwhals.stable.v2 as nw
    import pyarrow as pa
    import pyarrow.csv

    types = {**dict.fromkeys(labels, pa.string()), **dict.fromkeys(numbers, pa.float64())}
    wanted = pyarrow.csv.ConvertOptions(
        include_columns=[*labels, *numbers], column_types=types, null_values=list(MISSING), strings_can_be_null=True
    )
    parse = pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    return nw.read_csv(path, backend="pyarrow", convert_options=wanted, parse_options=parse, **_separated(separator))


def _pandas(path: str, labels: list[str], numbers: list[str], separator: str) -> Any:
    import narwhals.stable.v2 as nw

    types = {**dict.fromkeys(labels, str), **dict.fromkeys(numbers, "float64")}
    # All columns, not `usecols`: with it, pandas 2 cuts lines that are too long without a word.
    frame = nw.read_csv(
        path,
        backend="pandas",
        dtype=types,
        keep_default_na=False,
        na_values=list(MISSING),
        float_precision="round_trip",
        **_separated(separator),
    )
    if type(frame.to_native().index).__name__ != "RangeIndex":  # lines longer than the header, read as row names
        raise ValueError("ragged lines")
    return frame.select(*labels, *numbers)


def _separated(separator: str) -> dict[str, str]:
    """As an argument only where it is needed: the earliest narwhals 2 does not know it."""
    return {} if separator == "," else {"separator": separator}
