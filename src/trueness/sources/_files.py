"""Files of rows in every format: recognised by their first bytes, opened, and several as one table."""

import bz2
import glob
import gzip
import importlib
import lzma
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import unquote

import numpy as np

from trueness.errors import InputError, MissingLibraryError
from trueness.sources._numpy import NpyFile, NpzFile
from trueness.sources._table import ArrowFile, ConcatenatedTable, ParquetFile, Table, import_polars
from trueness.sources._text import CsvFile, JsonLinesFile

_KINDS = (CsvFile, JsonLinesFile, ParquetFile, ArrowFile, NpzFile, NpyFile)
SUFFIXES = {
    suffix for kind in _KINDS for suffix in kind.suffixes
}  # of all files that can be read, not compressed
SEPARATORS = {"csv": ",", "tsv": "\t", ".tsv": "\t", ".tab": "\t"}
_Kind: TypeAlias = type[ParquetFile | NpzFile | NpyFile | JsonLinesFile]
_BY_FORMAT: dict[str, _Kind] = {
    "parquet": ParquetFile,
    "arrow": ArrowFile,
    "npz": NpzFile,
    "npy": NpyFile,
}
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy"}
_SUMS = (b"TNTALLYS", b"TNSKETCH")
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip and zstd, which Polars unpacks
_UNPACKERS: dict[bytes, Callable[[], Any]] = {
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lzma.LZMADecompressor,
}
_CHUNK = 1 << 20
# Polars holds a line in 16 times its bytes, and where memory does not suffice it ends the process.
_LONGEST_LINE = 1 << 26
_MOST_OF_GZIP = 1032  # times the bytes of a file may be unpacked from it


def compression_by_name(path: str | Path) -> str | None:
    return _COMPRESSIONS.get(Path(path).suffix.lower())


def inner_suffix(path: str | Path) -> str:
    """The suffix of the format, without that of the compression: ".tsv" of "x.tsv" and of "x.tsv.gz"."""
    return (Path(path).with_suffix("") if compression_by_name(path) else Path(path)).suffix.lower()


@contextmanager
def open_tables(
    paths: Sequence[str], separator: str | None = None, decimal: str = ".", form: str | None = None
) -> Iterator[Table]:
    with ExitStack() as stack:
        tables = [open_table(path, stack, separator, decimal, form) for path in paths]
        for one, two in (
            pair for other in tables[1:] for pair in ((tables[0], other), (other, tables[0]))
        ):
            lacking = [name for name in one.names if name not in two.names]
            if lacking:
                more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
                got = f"{two.name} has no column {lacking[0]!r}{more}, which {one.name} has"
                raise InputError("", "Files must have the same columns to be one data set", got)
        yield tables[0] if len(tables) == 1 else ConcatenatedTable(tables)


def open_table(
    name: str,
    stack: ExitStack,
    separator: str | None = None,
    decimal: str = ".",
    form: str | None = None,
) -> Table:
    """Open a file, or standard input for '-', as what it looks like or as `form`.

    Copies last as long as the stack.
    """
    path = Path(name)
    if (
        name == "-" or path.is_fifo()
    ):  # some formats need to be read from the end, and all more than once
        if name == "-" and sys.stdin is None:
            raise InputError("", "standard input is closed", remedy="Name a file.")
        copy = _temporary(stack)
        with (
            copy.open("wb") as file,
            nullcontext(sys.stdin.buffer) if name == "-" else path.open("rb") as given,
        ):
            shutil.copyfileobj(given, file)
        name = "standard input" if name == "-" else name
        path = copy
    start = _first_bytes(path, name)
    unpacker = next((make for magic, make in _UNPACKERS.items() if start.startswith(magic)), None)
    if unpacker is not None:
        packed = path
        path = _temporary(stack)
        _unpack(packed, name, unpacker, path)
        start = _first_bytes(path, name)
    found = next(
        (_BY_FORMAT[kind] for magic, kind in _BINARY.items() if start.startswith(magic)), None
    )
    if form is not None and found is not _BY_FORMAT.get(form):
        raise InputError(
            "", f"`--input-format` says {form}, but {name} does not begin as such a file does"
        )
    if form is None and found is None:
        _refuse_other_bytes(name, start)
    suffix = inner_suffix(name)
    is_object = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))
    if form == "jsonl" or (
        not (form or found) and (is_object or suffix in {*JsonLinesFile.suffixes} - {".json"})
    ):
        found = JsonLinesFile
    if found in (None, JsonLinesFile):
        _refuse_long_lines(path, name, quoted=found is None)
    if found is None:
        usual = SEPARATORS.get(form or suffix, "," if decimal == "." else ";")
        return CsvFile(path, name, separator or usual, decimal)
    if separator is not None:
        raise InputError(
            "--separator",
            "is only for CSV and TSV",
            f"{name} is {found.format}",
            remedy="Leave it out.",
        )
    return found(path, name)


def _temporary(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory()), "input")


def _first_bytes(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except FileNotFoundError:
        raise InputError("", f"There is no file {name!r}") from None
    except OSError as reason:
        raise InputError("", f"{name!r} cannot be read: {reason.strerror or reason}") from reason
    if not start.strip():
        raise InputError("", f"{name} is empty")
    if not start.startswith(_PACKED):
        return start
    stream = _unpacking(path, start)
    if stream is not None:
        try:
            with stream:
                return bytes(stream.read(4096))
        except Exception as reason:  # damaged files raise a dozen classes
            raise InputError(
                "", f"{name} cannot be unpacked: it is truncated or damaged ({reason})"
            ) from reason
    polars = import_polars(name)
    try:
        lines = polars.scan_lines(path, name="line", n_rows=100, glob=False).collect()["line"]
    except (OSError, polars.exceptions.PolarsError) as reason:
        raise InputError(
            "", f"{name} cannot be unpacked: it is truncated or damaged ({reason})"
        ) from reason
    return "\n".join(lines).encode()


def _unpacking(path: Path, start: bytes) -> Any:
    """A stream of what a file of text holds.

    None of zstd, if nothing but Polars unpacks it here.
    """
    if start.startswith(_PACKED[0]):
        return gzip.open(path)
    if not start.startswith(_PACKED[1]):
        return path.open("rb")
    zstd = _zstd()
    if zstd is None:
        return None
    return zstd.ZstdFile(path)


def _refuse_long_lines(path: Path, name: str, *, quoted: bool) -> None:
    """Refuse a line that Polars may not hold in memory.

    A line of CSV, `quoted`, goes on while a quote is open.
    """
    with path.open("rb") as file:
        start = file.read(4)
    size = path.stat().st_size * (_MOST_OF_GZIP if start.startswith(_PACKED[0]) else 1)
    if size <= _LONGEST_LINE and not start.startswith(_PACKED[1]):
        return
    stream = _unpacking(path, start)
    begun = None if stream is None else _begin_of_long_line(stream, quoted)
    if begun is not None:
        demand = f"{name} must have lines of at most {_LONGEST_LINE:,} bytes"
        remedy = "In CSV, a line goes on while a quote is open." if quoted else ""
        raise InputError("", demand, f"that at byte {begun:,} is longer", remedy=remedy)


def _begin_of_long_line(stream: Any, quoted: bool) -> int | None:
    """Where the first line begins that is too long.

    None if none is, or if the file is damaged before.
    """
    begun = 0
    seen = 0
    is_open = False
    with stream:
        while True:
            try:
                piece = stream.read(min(_CHUNK, _LONGEST_LINE))
            except Exception:  # the reader of the rows says what is wrong
                return None
            first, last, is_open = _line_ends(piece, is_open, quoted=quoted)
            if seen - begun + (len(piece) if first is None else first) > _LONGEST_LINE:
                return begun
            if not piece:
                return None
            begun = begun if last is None else seen + last + 1
            seen += len(piece)


def _line_ends(piece: bytes, is_open: bool, *, quoted: bool) -> tuple[int | None, int | None, bool]:
    """Where the first and the last line of a piece end, if any does, and whether a quote is open behind it."""
    if not quoted or (b'"' not in piece and not is_open):
        first = piece.find(b"\n")
        if first < 0:
            return (None, None, False)
        return (first, piece.rfind(b"\n"), False)
    letters = np.frombuffer(piece, np.uint8)
    inside = np.cumsum(letters == ord('"'), dtype=np.uint32) % 2 == (0 if is_open else 1)
    ends = np.flatnonzero((letters == ord("\n")) & ~inside)
    if not ends.size:
        return None, None, bool(inside[-1])
    return int(ends[0]), int(ends[-1]), bool(inside[-1])


def _unpack(packed: Path, name: str, make: Callable[[], Any], path: Path) -> None:
    """Unpack all streams of a bzip2 or xz file.

    Python's own readers take anything after the first for the end.
    """
    try:
        with packed.open("rb") as file, path.open("wb") as target:
            data = file.read(_CHUNK)
            while data:
                stream = make()
                while not stream.eof:
                    target.write(stream.decompress(data, _CHUNK))
                    data = file.read(_CHUNK) if stream.needs_input else b""
                    if stream.needs_input and not data:
                        raise EOFError("the end is missing")
                data = stream.unused_data.lstrip(b"\0")
                while not data and (piece := file.read(_CHUNK)):
                    data = piece.lstrip(b"\0")  # padding
    except (EOFError, OSError, lzma.LZMAError) as reason:
        raise InputError(
            "", f"{name} cannot be unpacked: it is truncated or damaged ({reason})"
        ) from reason


def _refuse_other_bytes(name: str, start: bytes) -> None:
    """Refuse a file that is not text, or not of the format that its name suggests."""
    if start.startswith(_SUMS):
        remedy = "`trueness measure`, `report` and `tally` take sums, from files whose names end in .tally."
        raise InputError("", f"{name} holds sums, and this needs rows", remedy=remedy)
    for kind in _BY_FORMAT.values():
        if inner_suffix(name) in kind.suffixes:
            demand = f"{name} does not begin as a file of type {kind.format} does: damaged, or of another type"
            raise InputError("", demand)
    if b"\x00" in start:
        demand = (
            f"{name} is not CSV, TSV, JSON lines, Parquet, Arrow IPC, npz or npy: it has zero bytes"
        )
        raise InputError("", demand, remedy="UTF-16 must become UTF-8.")


def files_below(folder: str | Path) -> tuple[str, ...]:
    """The files of a folder and of those in it, in the order of their names.

    Names that begin with a dot or an underscore are notes of other programs.
    """
    names = []
    for path in sorted(Path(folder).rglob("*")):
        hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        is_data = inner_suffix(path) in {*SUFFIXES, ".tally"}
        if path.is_file() and is_data and not hidden:
            names.append(str(path))
    if not names:
        raise InputError("", f"The folder {str(folder)!r} holds no file that can be read")
    return tuple(names)


def partition_of(path: str) -> dict[str, str | None]:
    """The values that the folders of a path name, as in ``day=2025-01-31/part-0.parquet``."""
    values = {}
    for folder in Path(path).parts[:-1]:
        name, sign, value = folder.partition("=")
        if sign and name:
            is_missing = value == "__HIVE_DEFAULT_PARTITION__"
            values[unquote(name)] = None if is_missing else unquote(value)
    return values


def expand_paths(paths: Sequence[str], *, folders: bool = False) -> tuple[str, ...]:
    """Replace patterns by the files that match; refuse a file that is named twice.

    With `folders`, these are replaced by their files. A scheme is left to the engine.
    """
    expanded: list[str] = []
    for name in paths:
        if folders and Path(name).is_dir():
            expanded += files_below(name)
            continue
        if name == "-" or "://" in name or not glob.has_magic(name) or Path(name).exists():
            expanded.append(name)
            continue
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
        if not matches:
            raise InputError("", f"No file fits the pattern {name!r}")
        expanded += matches
    seen: dict[Any, str] = {}
    for name in expanded:
        identity: Any = os.path.realpath(name)
        if Path(name).is_file():  # what two names of one file share, even if one is a link
            identity = Path(name).stat().st_dev, Path(name).stat().st_ino
        if identity in seen:
            also = "" if seen[identity] == name else f", also as {seen[identity]!r}"
            raise InputError("", f"{name!r} is given twice{also}: its rows would count twice")
        seen[identity] = name
    return tuple(expanded)


def compress_into(path: str, write: Callable[[BinaryIO], None]) -> Callable[[BinaryIO], None]:
    """The same writer, compressing its output as the name of the file says."""
    compression = compression_by_name(path)
    if compression is None:
        return write
    streams: dict[str, Callable[[BinaryIO], Any]] = {
        "gzip": lambda file: gzip.GzipFile(
            "", "wb", fileobj=file, mtime=0
        ),  # the same bytes every time
        "bzip2": lambda file: bz2.BZ2File(file, "wb"),
        "xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
        "zstd": lambda file: _import_zstd(path).ZstdFile(file, "wb"),
    }

    def write_compressed(file: BinaryIO) -> None:
        with streams[compression](file) as stream:
            write(stream)

    return write_compressed


def _zstd() -> Any:
    """Python's own module, from 3.14 on, or its backport, if there is one."""
    for module in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            return importlib.import_module(module)
    return None


def _import_zstd(name: str) -> Any:
    found = _zstd()
    if found is not None:
        return found
    raise MissingLibraryError(f"Writing {name} needs Python 3.14 or `pip install backports.zstd`.")
