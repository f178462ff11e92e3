"""Files of rows in every format: recognised by their first bytes, opened, joined as one table."""

import bz2
import glob
import gzip
import lzma
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

import numpy as np

from trueness.errors import InputError
from trueness.sources.tables._numpy import NpyFile, NpzFile
from trueness.sources.tables._table import (
    ArrowFile,
    ConcatenatedTable,
    ParquetFile,
    ParquetFolder,
    RemoteFile,
    Table,
    fetching,
    import_polars,
)
from trueness.sources.tables._text import BLANK, CsvFile, JsonLinesFile
from trueness.sources.tables._zstd import packing_stream, unpacking_stream

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
_ARROW_STREAM = b"\xff\xff\xff\xff"
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
    """The suffix without that of the compression: ".tsv" of "x.tsv" and of "x.tsv.gz"."""
    return (Path(path).with_suffix("") if compression_by_name(path) else Path(path)).suffix.lower()


@contextmanager
def open_tables(
    paths: Sequence[str], separator: str | None = None, decimal: str = ".", form: str | None = None
) -> Iterator[Table]:
    """Files as one table, whose rows follow each other; a single file is its own table.

    Files whose columns differ are refused. They are closed when the caller is done.
    """
    with ExitStack() as stack:
        tables = [open_table(path, stack, separator, decimal, form) for path in paths]
        first = tables[0]
        if len(tables) == 1:
            yield first
            return
        for table in tables[1:]:
            _refuse_other_columns(first, table)
            _refuse_other_columns(table, first)
        yield ConcatenatedTable(tables)


def _refuse_other_columns(wide: Table, narrow: Table) -> None:
    """Refuse a table that lacks columns of another."""
    lacking = [name for name in wide.names if name not in narrow.names]
    if not lacking:
        return
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    got = f"{narrow.name} has no column {lacking[0]!r}{more}, which {wide.name} has"
    raise InputError("", "Files must have the same columns to be one data set", got)


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
    suffix = inner_suffix(name)
    if is_address(name):
        remote = _remote_file(name, form)
        if remote is not None:
            return remote
        path = _fetched_text(name, stack)
        suffix = _suffix_of_address(name)
    elif path.is_dir():
        return _folder(path, name, form)
    elif name == "-" or path.is_fifo():
        path = _copy_of_stream(name, stack)
        if name == "-":
            name = "standard input"
    path = _without_wrapping(path, name, stack)
    kind = _kind_of_file(path, name, suffix, form)
    if kind in (None, JsonLinesFile):
        _refuse_long_lines(path, name, quoted=kind is None)
    if kind is None:
        usual = SEPARATORS.get(form or suffix, "," if decimal == "." else ";")
        return CsvFile(path, name, separator or usual, decimal)
    if separator is not None:
        got = f"{name} is {kind.format}"
        raise InputError("--separator", "is only for CSV and TSV", got, remedy="Leave it out.")
    return kind(path, name)


def _copy_of_stream(name: str, stack: ExitStack) -> Path:
    """A copy of a pipe: some formats are read from the end, and all of them more than once."""
    if name == "-" and sys.stdin is None:
        raise InputError("", "standard input is closed", remedy="Name a file.")
    copy = _temporary(stack)
    with copy.open("wb") as file:
        if name == "-":
            shutil.copyfileobj(sys.stdin.buffer, file)
            return copy
        with Path(name).open("rb") as pipe:
            shutil.copyfileobj(pipe, file)
    return copy


def _without_wrapping(path: Path, name: str, stack: ExitStack) -> Path:
    """The file; of bzip2 and xz, which Polars does not read, an unpacked copy."""
    start = _first_bytes(path, name)
    for magic, make in _UNPACKERS.items():
        if start.startswith(magic):
            copy = _temporary(stack)
            _unpack(path, name, make, copy)
            return copy
    return path


def _kind_of_file(path: Path, name: str, suffix: str, form: str | None) -> _Kind | None:
    """The kind of a file by its first bytes, or by its name if it is text; None is CSV."""
    start = _first_bytes(path, name)
    binary = _binary_kind(start)
    if form is not None and binary is not _BY_FORMAT.get(form):
        demand = f"`--input-format` says {form}, but {name} does not begin as such a file does"
        raise InputError("", demand)
    if binary is not None:
        return binary
    if form is not None:
        return JsonLinesFile if form == "jsonl" else None
    _refuse_other_bytes(name, start)
    is_object = start.lstrip(BLANK).startswith((b"{", b"["))
    # Of x.json only the first byte says whether it is JSON.
    is_json_lines = suffix in JsonLinesFile.suffixes and suffix != ".json"
    return JsonLinesFile if is_object or is_json_lines else None


def _binary_kind(start: bytes) -> _Kind | None:
    for magic, form in _BINARY.items():
        if start.startswith(magic):
            return _BY_FORMAT[form]
    return None


def is_address(name: str) -> bool:
    """Whether a name is an address such as ``s3://…``, and not a path."""
    return "://" in name


def _suffix_of_address(name: str) -> str:
    return inner_suffix(urlsplit(name).path or name)


def _remote_file(name: str, form: str | None) -> Table | None:
    """What is read in place at an address; None of text, which is fetched first."""
    suffix = _suffix_of_address(name)
    if form == "parquet" or (form is None and suffix in ParquetFile.suffixes):
        return RemoteFile(name, ParquetFile)
    if form == "arrow" or (form is None and suffix in ArrowFile.suffixes):
        return RemoteFile(name, ArrowFile)
    if form in ("npz", "npy") or suffix in (*NpzFile.suffixes, *NpyFile.suffixes):
        demand = f"{name} must be Parquet, Arrow IPC, CSV, TSV or JSON lines to be read in place"
        raise InputError("", demand, remedy="Download it and name the file.")
    return None


def _fetched_text(name: str, stack: ExitStack) -> Path:
    """A copy of the lines of a text at an address."""
    polars = import_polars(name)
    copy = _temporary(stack)
    with fetching(name), copy.open("wb") as file:
        lines = polars.scan_lines(name, name="line", glob=False)
        for frame in lines.collect_batches(chunk_size=1 << 17, maintain_order=True):
            for line in frame["line"]:
                file.write(line.encode())
                file.write(b"\n")
    return copy


def _folder(path: Path, name: str, form: str | None) -> Table:
    """A folder as one table of its Parquet files."""
    if form not in (None, "parquet"):
        raise InputError("", f"`--input-format` says {form}, but {name} is a folder")
    files = [file for file in files_below(path) if inner_suffix(file) in ParquetFile.suffixes]
    if not files:
        demand = f"The folder {name!r} has no Parquet files"
        raise InputError("", demand, remedy="Of other files, name them: FOLDER/*.csv.")
    partitions = dict.fromkeys(name for file in files for name in partition_of(file))
    return ParquetFolder(path, name, files, tuple(partitions))


def _temporary(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory()), "input")


def _first_bytes(path: Path, name: str) -> bytes:
    """The beginning of a file, unpacked.

    It has 4,096 bytes, or 100 lines where only Polars can unpack the file.
    Files that are missing, empty or damaged are refused.
    """
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
    return unpacking_stream(path)


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
            ends = _line_ends(piece, is_open, quoted=quoted)
            is_open = ends.is_open
            if seen - begun + (len(piece) if ends.first is None else ends.first) > _LONGEST_LINE:
                return begun
            if not piece:
                return None
            if ends.last is not None:
                begun = seen + ends.last + 1
            seen += len(piece)


class _LineEnds(NamedTuple):
    """Where the first and the last line of a piece end; None if no line ends in it."""

    first: int | None
    last: int | None
    is_open: bool
    """Whether a quote is still open at the end of the piece."""


def _line_ends(piece: bytes, is_open: bool, *, quoted: bool) -> _LineEnds:
    """The line ends of a piece; `is_open` says whether a quote is open where it begins."""
    if not quoted or (b'"' not in piece and not is_open):
        first = piece.find(b"\n")
        if first < 0:
            return _LineEnds(None, None, is_open=False)
        return _LineEnds(first, piece.rfind(b"\n"), is_open=False)
    letters = np.frombuffer(piece, np.uint8)
    inside = np.cumsum(letters == ord('"'), dtype=np.uint32) % 2 == (0 if is_open else 1)
    ends = np.flatnonzero((letters == ord("\n")) & ~inside)
    if not ends.size:
        return _LineEnds(None, None, bool(inside[-1]))
    return _LineEnds(int(ends[0]), int(ends[-1]), bool(inside[-1]))


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
        remedy = (
            "`trueness measure`, `report` and `tally` take sums, from files whose names end in "
            ".tally."
        )
        raise InputError("", f"{name} holds sums, and this needs rows", remedy=remedy)
    if start.startswith(_ARROW_STREAM):
        demand = f"{name} is a stream of Arrow, and this needs an Arrow IPC file"
        remedy = "`pyarrow.ipc.new_file` and Polars' `write_ipc` write one."
        raise InputError("", demand, remedy=remedy)
    for kind in _BY_FORMAT.values():
        if inner_suffix(name) in kind.suffixes:
            demand = (
                f"{name} does not begin as a file of type {kind.format} does: damaged, or of "
                "another type"
            )
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
        # Path.glob takes no absolute pattern.
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
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
        "zstd": lambda file: packing_stream(file, path),
    }

    def write_compressed(file: BinaryIO) -> None:
        with streams[compression](file) as stream:
            write(stream)

    return write_compressed
