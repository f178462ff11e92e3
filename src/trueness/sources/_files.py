"""Files of rows in every format: recognised by their first bytes, opened, and several of them as one table."""

import glob
import os
import re
import shlex
import shutil
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError
from trueness.sources._compression import compression_by_name, compression_of, inner_suffix, open_decompressed
from trueness.sources._csv import CsvFile
from trueness.sources._json_lines import JsonLinesFile
from trueness.sources._numpy import NpyFile, NpzFile
from trueness.sources._parquet import ArrowFile, ParquetFile
from trueness.sources._table import Columns, Table

STANDARD_INPUT = "standard input"
SUFFIXES = {
    suffix for kind in (CsvFile, JsonLinesFile, ParquetFile, ArrowFile, NpzFile, NpyFile) for suffix in kind.suffixes
}
"""How the names of all files end that can be read, before the suffix of a compression."""

_SEPARATORS = {"csv": ",", "tsv": "\t", ".tsv": "\t", ".tab": "\t"}
_BINARY: dict[bytes, type[ParquetFile | NpzFile | NpyFile]] = {
    b"PAR1": ParquetFile,
    b"ARROW1": ArrowFile,
    b"PK\x03\x04": NpzFile,
    b"\x93NUMPY": NpyFile,
}
_BY_FORMAT = {"parquet": ParquetFile, "arrow": ArrowFile, "npz": NpzFile, "npy": NpyFile}
_SUMS = (b"TNTALLYS", b"TNSKETCH")


@contextmanager
def open_tables(
    paths: Sequence[str], separator: str | None = None, decimal: str = ".", form: str | None = None
) -> Iterator[Table]:
    """Open one file, or several as one table."""
    with ExitStack() as stack:
        tables = [stack.enter_context(open_table(path, separator, decimal, form)) for path in paths]
        yield tables[0] if len(tables) == 1 else ConcatenatedTable(tables)


@contextmanager
def open_table(path: str, separator: str | None = None, decimal: str = ".", form: str | None = None) -> Iterator[Table]:
    """Open a file, or standard input for '-'; `form` is a format that overrides what the file looks like."""
    if path != "-":
        yield open_file(Path(path), path, separator, form, decimal)
        return
    with tempfile.TemporaryDirectory() as folder:  # some formats need to be read from the end
        copy = Path(folder, "input")
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield open_file(copy, STANDARD_INPUT, separator, form, decimal)


def open_file(
    path: Path, name: str, separator: str | None = None, form: str | None = None, decimal: str = "."
) -> Table:
    """The table in a file on disk, which messages call `name`."""
    start = _first_bytes(path, name)
    compression = compression_of(start)
    suffix = path.suffix.lower()
    if compression is not None:
        start, suffix = _first_bytes_inside(path, name, compression), inner_suffix(name)
    found = next((kind for magic, kind in _BINARY.items() if start.startswith(magic)), None)
    if form is not None:
        if found is not _BY_FORMAT.get(form):
            raise InputError("", f"`--input-format` says {form}, but {name} does not begin as such a file does")
    elif found is None:
        _refuse_other_bytes(name, start, suffix)
    if found is not None:
        _refuse_separator(separator, name, found.format)
        return found(path, name)
    if form in (None, "jsonl"):
        _refuse_json_array(name, start)
    is_object = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    if form == "jsonl" or (form is None and (is_object or suffix in {*JsonLinesFile.suffixes} - {".json"})):
        _refuse_separator(separator, name, "JSON lines")
        return JsonLinesFile(path, name, compression)
    usual = _SEPARATORS.get(form or suffix, "," if decimal == "." else ";")
    return CsvFile(path, name, separator or usual, compression, decimal)


def _refuse_separator(separator: str | None, name: str, form: str) -> None:
    if separator is not None:
        raise InputError("--separator", "is only for CSV and TSV", f"{name} is {form}", remedy="Leave it out.")


def _refuse_other_bytes(name: str, start: bytes, suffix: str) -> None:
    """Refuse a file that is not text, or not of the format that its name suggests."""
    if start.startswith(_SUMS):
        raise InputError(
            "",
            f"{name} holds sums, and this needs rows",
            remedy="`trueness measure`, `report` and `tally` take sums, from files that `trueness tally` or "
            "`Accumulator.save` wrote and whose names end in .tally.",
        )
    if start.startswith(b"\xff\xff\xff\xff"):
        demand = f"{name} is an Arrow IPC stream; only Arrow IPC files, which begin with ARROW1, are read"
        raise InputError("", demand, remedy="`polars.read_ipc_stream(…).write_ipc(…)` makes such a file.")
    for kind in _BINARY.values():
        if suffix in kind.suffixes:
            raise InputError(
                "", f"{name} does not begin as a file of type {kind.format} does: damaged, or of another type"
            )
    if b"\x00" in start:
        demand = f"{name} is not CSV, TSV, JSON lines, Parquet, Arrow IPC, npz or npy: it has zero bytes"
        raise InputError("", demand, remedy="UTF-16 must become UTF-8.")


def _refuse_json_array(name: str, start: bytes) -> None:
    """Refuse rows inside one pair of brackets, which cannot be read line by line."""
    if re.match(rb"\[\s*(\{|$)", start.lstrip(b"\xef\xbb\xbf \t\r\n")):
        file = "" if name == STANDARD_INPUT else f" {shlex.quote(name)}"
        raise InputError(
            "",
            f"{name} is one JSON array; JSON lines have one object per line, without brackets and commas around them: "
            f"`jq -c '.[]'{file} > lines.jsonl` writes them so",
        )


def _first_bytes(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob("*") if _plain_name(p) == path.name.lower())
        hint = f"There is {near[0]!r} in that folder." if near else ""
        raise InputError("", f"There is no file {name!r}", remedy=hint) from None
    except IsADirectoryError:
        raise InputError("", f"{name!r} is a folder; name files in it, as '{Path(name, '*.csv')}' does") from None
    except OSError as reason:
        raise InputError("", f"{name!r} cannot be read: {reason.strerror or reason}") from reason
    if not start.strip():
        raise InputError("", f"{name} is empty")
    return start


def _plain_name(path: Path) -> str:
    return (path.stem if compression_by_name(path) else path.name).lower()


def _first_bytes_inside(path: Path, name: str, compression: str) -> bytes:
    """The first bytes of the text in a compressed file."""
    with open_decompressed(path, name, compression) as (file, _):
        start = file.read(4096)
    if not start.strip():
        raise InputError("", f"{name} is empty once unpacked")
    if start.startswith(tuple(_BINARY)) or compression_of(start):
        demand = f"{name} is {compression} of a file that is compressed by itself, or of arrays; unpack it first"
        raise InputError("", demand)
    return start


_LISTED = 3
_KINDS = {"b": "true/false", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "S": "text"}


def expand_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Replace patterns by the files that match; refuse a file that is named twice."""
    expanded: list[str] = []
    for name in paths:
        if name == "-" or not glob.has_magic(name) or Path(name).exists():
            expanded.append(name)
            continue
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
        if not matches:
            raise InputError("", f"No file fits the pattern {name!r}")
        expanded += matches
    for name in expanded:
        if len(expanded) > 1 and name != "-" and not Path(name).suffix and not Path(name).exists():
            remedy = "If it is a column: `--prob` and `--by` take one name, and are repeated for more."
            raise InputError("", f"There is no file {name!r}", remedy=remedy)
    seen: dict[Any, str] = {}
    for name in expanded:
        identity = name if name == "-" else _identity(Path(name))
        if identity in seen:
            also = "" if seen[identity] == name else f", also as {seen[identity]!r}"
            raise InputError("", f"{name!r} is given twice{also}: its rows would count twice")
        seen[identity] = name
    return tuple(expanded)


def _identity(path: Path) -> Any:
    """What two names of one file share, even if one is a link."""
    if not path.is_file():
        return os.path.realpath(path)
    status = path.stat()
    return status.st_dev, status.st_ino


class ConcatenatedTable(Table):
    """Tables with the same columns, in any order."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables
        self._ends: list[int] = []
        self.name = _joined_names([table.name for table in tables])
        self.names = tables[0].names
        self.size = sum(table.size for table in tables)
        self.compression = next((table.compression for table in tables if table.compression), None)
        for other in tables[1:]:
            _check_names(tables[0], other)

    @property
    def note(self) -> str:  # type: ignore[override]  # known once the rows are read
        """The number of rows of each file."""
        sizes = [end - start for start, end in zip([0, *self._ends], self._ends, strict=False)]
        each = ", ".join(f"{table.name} {n:,}" for table, n in zip(self._tables, sizes, strict=True))
        return f"{len(self._tables)} files, {self._ends[-1]:,} rows in all: {each}."

    def place(self, row: int) -> str:
        """A row, as its line or number within its file."""
        at = min(bisect_right(self._ends, row), len(self._tables) - 1)
        start = self._ends[at - 1] if at and self._ends else 0
        return f"{self._tables[at].place(row - start)} of {self._tables[at].name}"

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read all rows of every file."""
        parts = [table.read(labels, numbers, groups) for table in self._tables]
        self._ends = list(accumulate(_height(part) for part in parts))
        return Columns(
            self._join([part.labels for part in parts]),
            self._join([part.numbers for part in parts]),
            self._join([part.groups for part in parts], groups=True),
        )

    def batches(
        self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()
    ) -> Iterator[tuple[Columns, int]]:
        """Read the batches of one file after the other."""
        self._ends, before, total = [], 0, 0
        kinds: dict[str, tuple[str, str]] = {}
        for table in self._tables:
            self._ends.append(total)
            for columns, read in table.batches(labels, numbers, groups):
                for name, column in columns.labels.items():
                    _check_kind(kinds, table.name, name, column)
                total += _height(columns)
                self._ends[-1] = total
                yield columns, before + read
            before += table.size

    def _join(self, parts: Sequence[Mapping[str, NDArray[Any]]], groups: bool = False) -> dict[str, NDArray[Any]]:
        return {name: self._join_column(name, [part[name] for part in parts], groups) for name in parts[0]}

    def _join_column(self, name: str, columns: Sequence[NDArray[Any]], groups: bool) -> NDArray[Any]:
        filled = [(t.name, c) for t, c in zip(self._tables, columns, strict=True) if not _is_blank(c)]
        if not filled:
            return np.concatenate(columns)
        (first, model), kinds = filled[0], {_kind(column) for _, column in filled}
        for table, column in filled[1:]:
            if column.shape[1:] != model.shape[1:]:
                got = f"its rows have {model.shape[1:]} entries in {first} and {column.shape[1:]} in {table}"
                raise InputError("", f"Column {name!r} must have the same shape in all files", got)
        if groups and kinds == {"numbers", "text"} and not any(c.dtype.kind == "f" for _, c in filled):
            # Identifiers that look like numbers in one file and not in another are text in both.
            return np.concatenate([as_text(column) for column in columns])
        first_kinds: dict[str, tuple[str, str]] = {}
        for table, column in filled:
            _check_kind(first_kinds, table, name, column)
        if any(column.dtype.kind in "OU" for _, column in filled):
            columns = [_as_objects(column) for column in columns]
        return np.concatenate([column for column in columns if column.ndim == model.ndim])


def _check_names(first: Table, other: Table) -> None:
    for one, two in ((first, other), (other, first)):
        lacking = [name for name in one.names if name not in two.names]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            got = f"{two.name} has no column {lacking[0]!r}{more}, which {one.name} has"
            raise InputError("", "Files must have the same columns to be one data set", got)


def _check_kind(kinds: dict[str, tuple[str, str]], table: str, name: str, column: NDArray[Any]) -> None:
    """Refuse a column that holds numbers in one file and text in another."""
    if _is_blank(column):
        return
    kind = _kind(column)
    first, known = kinds.setdefault(name, (table, kind))
    if first != table and known != kind:
        demand = f"Column {name!r} must hold one kind of values"
        raise InputError("", demand, f"{first} has {known} and {table} has {kind}")


def _height(columns: Columns) -> int:
    return len(columns.arrays()[0])


def _is_blank(column: NDArray[Any]) -> bool:
    """Whether all values are missing, so that the type of the column means nothing."""
    if column.dtype.kind == "f":
        return bool(np.isnan(column).all())
    return column.size == 0 or (column.dtype.kind == "O" and all(value is None for value in column.ravel()))


def _kind(column: NDArray[Any]) -> str:
    """The kind of a column's values; for objects, that of the first value that is not missing."""
    kind = column.dtype.kind
    if kind == "O":
        kind = np.asarray(next(value for value in column.ravel() if value is not None)).dtype.kind
    return _KINDS.get(kind, str(column.dtype))


def _as_objects(column: NDArray[Any]) -> NDArray[Any]:
    """A column as objects, with None for missing values as in text columns."""
    return np.full(len(column), None, dtype=object) if _is_blank(column) else column.astype(object)


def as_text(column: NDArray[Any]) -> NDArray[Any]:
    """A column of integers or text as text."""
    return np.array([v if v is None or isinstance(v, str) else str(v) for v in _as_objects(column)], dtype=object)


def _joined_names(names: Sequence[str]) -> str:
    if len(names) <= _LISTED:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[: _LISTED - 1])} and {len(names) - _LISTED + 1} more files"
