"""Compressed files, read as streams in blocks of whole lines, and written."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from trueness.errors import InputError, MissingLibraryError

BLOCK_BYTES = 1 << 23
_LONGEST_LINE = 1 << 28  # bytes of a line, which must fit into memory with its cells
_LONGEST = 1 << 25  # bytes of a block that is extended until its quotes are closed
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}


def compression_of(start: bytes) -> str | None:
    """The compression of a file, by its first bytes."""
    return next((compression for magic, compression in _MAGIC.items() if start.startswith(magic)), None)


def compression_by_name(path: str | Path) -> str | None:
    """The compression of a file, by its name."""
    return _SUFFIXES.get(Path(path).suffix.lower())


def inner_suffix(path: str | Path) -> str:
    """The suffix of the format, without that of the compression.

    Examples
    --------
    >>> inner_suffix("x.tsv.gz"), inner_suffix("x.tsv")
    ('.tsv', '.tsv')
    """
    inner = Path(path).with_suffix("") if compression_by_name(path) else Path(path)
    return inner.suffix.lower()


@contextmanager
def open_decompressed(path: Path, name: str, compression: str | None) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """The decompressed bytes of a file, and a function that returns how many of its bytes have been read.

    A file that is damaged or ends too early is refused: the rows before the damage would look like all rows.
    """
    with path.open("rb") as file:
        if compression is None:
            yield file, file.tell
            return
        if compression in _DECOMPRESSORS:
            stream: Any = io.BufferedReader(_Streams(file, _DECOMPRESSORS[compression]))
        else:
            stream = (_import_zstd(name) if compression == "zstd" else gzip).open(file)
        try:
            with stream:
                yield stream, file.tell
        except Exception as reason:
            known = isinstance(reason, EOFError | OSError | zlib.error | lzma.LZMAError)
            if not known and type(reason).__name__ != "ZstdError":
                raise
            demand = f"{name} cannot be unpacked: it is truncated or damaged ({_damage(reason, compression)})"
            raise InputError("", demand) from reason


class _Streams(io.RawIOBase):
    """The bytes of one bz2 or xz stream after the other.

    Python's own readers take anything after the first stream for the end of the file.
    """

    def __init__(self, file: BinaryIO, decompressor: Callable[[], Any]) -> None:
        self._file, self._make, self._stream = file, decompressor, decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            data = b""
            if self._stream.eof:
                data = self._stream.unused_data.lstrip(b"\0")
                while not data and (piece := self._file.read(io.DEFAULT_BUFFER_SIZE)):
                    data = piece.lstrip(b"\0")  # padding
                if not data:
                    return 0
                self._stream = self._make()
            elif self._stream.needs_input:
                data = self._file.read(io.DEFAULT_BUFFER_SIZE)
                if not data:
                    raise EOFError
            text = self._stream.decompress(data, len(buffer))
            if text:
                buffer[: len(text)] = text
                return len(text)


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
}


def _damage(reason: Exception, compression: str) -> str:
    if isinstance(reason, EOFError):
        return f"{compression}: the end is missing"
    if isinstance(reason, gzip.BadGzipFile) and "CRC" not in str(reason) and "length" not in str(reason):
        return f"a part of it is not {compression}"
    if isinstance(reason, OSError) and reason.errno is not None:
        return f"{compression}: {reason.strerror}"
    return f"{compression}: a checksum or a block is wrong"


def _import_zstd(name: str) -> Any:
    """Python's own module, from 3.14 on, or its backport."""
    try:
        import compression.zstd as zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            import backports.zstd as zstd  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise MissingLibraryError(
                f"{name} is compressed with zstd, which needs Python 3.14 or the package backports.zstd: "
                "`pip install backports.zstd`; or pipe the text: `zstd -dc … | trueness … -`."
            ) from None
    return zstd


class Block(NamedTuple):
    """Consecutive lines of a text file."""

    data: bytes
    line: int
    """The number of the first line, from 1 on."""
    read: int
    """How many bytes of the file have been read, compressed as they are."""


def text_blocks(path: Path, name: str, compression: str | None, *, quoted: bool) -> Iterator[Block]:
    """The lines of a text file in blocks of bounded size, without a byte-order mark.

    With `quoted`, a line break between double quotes does not end a line. Only quotes are counted here: parsers need
    whole lines, and a file may not fit into memory. If a quote is never closed, or means inches, blocks end with any
    line; the parser decides whether a quote opens a cell.
    """
    line, rest = 1, b""
    with open_decompressed(path, name, compression) as (file, position):
        while piece := file.read(BLOCK_BYTES):
            rest = rest + piece if rest else piece.removeprefix(b"\xef\xbb\xbf") if line == 1 else piece
            cut = rest.rfind(b"\n") + 1
            if quoted and len(rest) < _LONGEST:
                cut = _outside_quotes(rest, cut)
            if not cut and len(rest) > _LONGEST_LINE:
                demand = f"has more than {_LONGEST_LINE >> 20} MiB without a line break: it is no table of rows"
                raise InputError("", f"{name}, line {line:,}, {demand}")
            if cut and not rest[:cut].isspace():  # blank lines above a header go with it
                yield Block(rest[:cut], line, position())
                line += rest.count(b"\n", 0, cut)
                rest = rest[cut:]
        if rest:
            yield Block(rest, line, position())


def _outside_quotes(data: bytes, end: int) -> int:
    """The last end of a line, at most at `end`, before which the number of quotes is even."""
    quotes = data.count(b'"', 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, data.rfind(b'"', 0, end)) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end


def compress_into(path: str, write: Callable[[BinaryIO], None]) -> Callable[[BinaryIO], None]:
    """The same writer, compressing its output as the name of the file says."""
    compression = compression_by_name(path)
    if compression is None:
        return write
    streams: dict[str, Callable[[BinaryIO], Any]] = {
        "gzip": lambda file: gzip.GzipFile("", "wb", fileobj=file, mtime=0),  # the same bytes every time
        "bzip2": lambda file: bz2.BZ2File(file, "wb"),
        "xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
        "zstd": lambda file: _import_zstd(path).ZstdFile(file, "wb"),
    }

    def write_compressed(file: BinaryIO) -> None:
        with streams[compression](file) as stream:
            write(stream)

    return write_compressed
