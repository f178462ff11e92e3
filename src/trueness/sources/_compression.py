"""Compressed files, read as streams in blocks of whole lines, and written."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from trueness.errors import InputError, MissingLibraryError

BLOCK_BYTES = 1 << 23
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
        modules: dict[str, Any] = {"gzip": gzip, "bzip2": bz2, "xz": lzma}
        stream = (_import_zstd(name) if compression == "zstd" else modules[compression]).open(file)
        try:
            with stream:
                yield stream, file.tell
        except Exception as reason:
            known = isinstance(reason, EOFError | OSError | zlib.error | lzma.LZMAError)
            if not known and type(reason).__name__ != "ZstdError":
                raise
            demand = f"{name} cannot be unpacked: it is truncated or damaged ({compression}: {reason})"
            raise InputError("", demand) from reason


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

    With `quoted`, a line break between double quotes does not end a line. Counting quotes is all that is done here:
    parsers want whole lines, and a file may not fit into memory.
    """
    line, rest = 1, b""
    with open_decompressed(path, name, compression) as (file, position):
        while piece := file.read(BLOCK_BYTES):
            rest = rest + piece if rest else piece.removeprefix(b"\xef\xbb\xbf") if line == 1 else piece
            cut = rest.rfind(b"\n") + 1
            while quoted and cut and rest.count(b'"', 0, cut) % 2:
                cut = rest.rfind(b"\n", 0, cut - 1) + 1
            if cut and not rest[:cut].isspace():  # blank lines above a header go with it
                yield Block(rest[:cut], line, position())
                line += rest.count(b"\n", 0, cut)
                rest = rest[cut:]
        if rest:
            yield Block(rest, line, position())


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
