"""Compressed text, unpacked as it is read and never whole; and text compressed as it is written."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from trueness.errors import InputError, MissingLibraryError

__all__ = ["inner_suffix", "packed_into", "packing_named", "packing_of", "unpacking"]

_MAGIC = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))
_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}
_CHUNK = 1 << 14  # small: a chunk may unpack to a thousand times its size
_GZIP = 31  # zlib's number for a gzip header and the largest window


def packing_of(start: bytes) -> str | None:
    """What a file that begins so is compressed with."""
    return next((packing for magic, packing in _MAGIC if start.startswith(magic)), None)


def packing_named(path: str | Path) -> str | None:
    """What a file of that name is compressed with."""
    return _SUFFIXES.get(Path(path).suffix.lower())


def inner_suffix(path: str | Path) -> str:
    """The ending that says what is inside.

    Examples
    --------
    >>> inner_suffix("x.tsv.gz"), inner_suffix("x.tsv")
    ('.tsv', '.tsv')
    """
    inner = Path(path).with_suffix("") if packing_named(path) else Path(path)
    return inner.suffix.lower()


@contextmanager
def unpacking(path: Path, name: str, packing: str | None) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """The bytes of a file, unpacked, and a function that says how much of the file has been read."""
    with path.open("rb") as file:
        if packing is None:
            yield file, file.tell
        else:
            yield cast(BinaryIO, io.BufferedReader(_Unpacked(file, name, packing))), file.tell


class _Unpacked(io.RawIOBase):
    """Bytes as they are unpacked. A file that ends too early is refused, for a prefix of its rows looks like all."""

    def __init__(self, file: BinaryIO, name: str, packing: str) -> None:
        self._file, self._name, self._packing = file, name, packing
        self._make = _decompressor(name, packing)
        self._one: Any = None
        """What unpacks the part that is being read: files may be several packed ones in a row."""
        self._packed = self._ready = b""

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack some bytes."""
        while not self._ready:
            if not self._more():
                return 0
        found, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)

    def _more(self) -> bool:
        self._packed = self._packed or self._file.read(_CHUNK)
        if self._one is not None and self._one.eof:
            self._packed = self._packed.lstrip(b"\0")  # tapes and block devices pad
            self._one = None
            return bool(self._packed) or self._more()
        if not self._packed:
            if self._one is not None:
                self._refuse("the end is missing")
            return False
        self._one = self._one or self._make()
        try:
            self._ready = self._one.decompress(self._packed)
        except Exception as reason:  # each library has errors of its own for a damaged file
            self._refuse(str(reason))
        self._packed = self._one.unused_data if self._one.eof else b""
        return True

    def _refuse(self, why: str) -> None:
        raise InputError(
            f"{self._name} cannot be unpacked: it is truncated or damaged ({self._packing}: {why})."
        ) from None


def _decompressor(name: str, packing: str) -> Callable[[], Any]:
    if packing == "zstd":
        return _zstd(name).decompressor
    return {"gzip": lambda: zlib.decompressobj(_GZIP), "bzip2": bz2.BZ2Decompressor, "xz": lzma.LZMADecompressor}[
        packing
    ]


class _Zstd:
    """Python's own zstd, from 3.14 on, or the package zstandard."""

    def __init__(self, decompressor: Callable[[], Any], writer: Callable[[BinaryIO], Any]) -> None:
        self.decompressor, self.writer = decompressor, writer


def _zstd(name: str) -> _Zstd:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return _Zstd(zstd.ZstdDecompressor, lambda file: zstd.ZstdFile(file, "wb"))
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise MissingLibraryError(
            f"{name} is compressed with zstd, which needs Python 3.14 or the package zstandard: "
            "`pip install zstandard`; or pipe the text: `zstd -dc … | trueness … -`."
        ) from None
    return _Zstd(
        lambda: zstandard.ZstdDecompressor().decompressobj(),
        lambda file: zstandard.ZstdCompressor().stream_writer(file, closefd=False),
    )


def packed_into(path: str, fill: Callable[[BinaryIO], None]) -> Callable[[BinaryIO], None]:
    """The same filling, compressed as the name of the file says."""
    packing = packing_named(path)
    if packing is None:
        return fill
    writers: dict[str, Callable[[BinaryIO], Any]] = {
        "gzip": lambda file: gzip.GzipFile("", "wb", fileobj=file, mtime=0),  # no name, no date: the same bytes again
        "bzip2": lambda file: bz2.BZ2File(file, "wb"),
        "xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115  # whoever fills it closes it
    }
    writer = _zstd(path).writer if packing == "zstd" else writers[packing]

    def filled(file: BinaryIO) -> None:
        with writer(file) as packed:
            fill(packed)

    return filled
