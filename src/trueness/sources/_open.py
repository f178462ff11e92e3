"""Open a file of rows in any format: its first bytes tell the format, then its name."""

import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trueness.errors import InputError
from trueness.sources._compression import compression_named, compression_of, decompressed, inner_suffix
from trueness.sources._concatenated import ConcatenatedTable
from trueness.sources._csv import CsvFile
from trueness.sources._json_lines import JsonLinesFile
from trueness.sources._numpy import NpyFile, NpzFile
from trueness.sources._parquet import ArrowFile, ParquetFile
from trueness.sources._table import Table

__all__ = ["SUFFIXES", "open_table", "open_tables"]

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
def open_tables(paths: Sequence[str], separator: str | None = None, form: str | None = None) -> Iterator[Table]:
    """Open one file, or several as one table."""
    with ExitStack() as stack:
        tables = [stack.enter_context(open_table(path, separator, form)) for path in paths]
        yield tables[0] if len(tables) == 1 else ConcatenatedTable(tables)


@contextmanager
def open_table(path: str, separator: str | None = None, form: str | None = None) -> Iterator[Table]:
    """Open a file, or standard input for '-'; `form` is a format that overrides what the file looks like."""
    if path != "-":
        yield _table(Path(path), path, separator, form)
        return
    with tempfile.TemporaryDirectory() as folder:  # formats are told by looking ahead, and some need the end first
        copy = Path(folder, "input")
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield _table(copy, STANDARD_INPUT, separator, form)


def _table(path: Path, name: str, separator: str | None, form: str | None) -> Table:
    start = _first_bytes(path, name)
    compression = compression_of(start)
    suffix = path.suffix.lower()
    if compression is not None:
        start, suffix = _first_decompressed(path, name, compression), inner_suffix(name)
    found = next((kind for magic, kind in _BINARY.items() if start.startswith(magic)), None)
    if form is not None:
        if found is not _BY_FORMAT.get(form):
            raise InputError("", f"`--input-format` says {form}, but {name} does not begin as such a file does")
    elif found is None:
        _refuse_other_bytes(name, start, suffix)
    if found is not None:
        return found(path, name)
    if form in (None, "jsonl"):
        _refuse_json_array(name, start)
    if form == "jsonl" or (form is None and _is_json_lines(start, suffix)):
        return JsonLinesFile(path, name, compression)
    return CsvFile(path, name, separator or _SEPARATORS.get(form or suffix, ","), compression)


def _is_json_lines(start: bytes, suffix: str) -> bool:
    named = suffix in JsonLinesFile.suffixes and suffix != ".json"
    return named or start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _refuse_other_bytes(name: str, start: bytes, suffix: str) -> None:
    """Refuse a file that is no text, or not what its name says."""
    if start.startswith(_SUMS):
        raise InputError(
            "",
            f"{name} holds sums, and this needs rows",
            remedy="`trueness measure`, `report` and `tally` take sums, from files that `trueness tally` or "
            "`Accumulator.save` wrote and whose names end in .tally.",
        )
    for kind in _BINARY.values():
        if suffix in kind.suffixes:
            raise InputError(
                "", f"{name} does not begin as a file of type {kind.format} does: damaged, or of another type"
            )
    if b"\x00" in start:
        raise InputError(
            "",
            f"{name} is not CSV, TSV, JSON lines, Parquet, Arrow IPC, npz or npy: it has zero bytes",
            remedy="UTF-16 must become UTF-8.",
        )


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
    return (path.stem if compression_named(path) else path.name).lower()


def _first_decompressed(path: Path, name: str, compression: str) -> bytes:
    """The first bytes of the text in a compressed file."""
    with decompressed(path, name, compression) as (file, _):
        start = file.read(4096)
    if not start.strip():
        raise InputError("", f"{name} is empty once unpacked")
    if start.startswith(tuple(_BINARY)) or compression_of(start):
        raise InputError(
            "", f"{name} is {compression} of a file that is compressed by itself, or of arrays; unpack it first"
        )
    return start
