"""Streams of zstd, by Python's own module from 3.14 on, by its backport, or by zstandard."""

import importlib
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from trueness.errors import MissingLibraryError

_LOCAL_HEADER = struct.Struct("<26xHH")  # of a member: the lengths of its name and of what follows


def unpacking_stream(path: Path) -> Any | None:
    """A stream of what a file of zstd holds; None without a library for it."""
    module = _own_module()
    if module is not None:
        return module.ZstdFile(path)
    zstandard = import_zstandard()
    if zstandard is None:
        return None
    return zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)


def packing_stream(file: BinaryIO, name: str) -> Any:
    """A stream that packs what is written to it."""
    module = _own_module()
    if module is not None:
        return module.ZstdFile(file, "wb")
    zstandard = import_zstandard()
    if zstandard is not None:
        return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    raise MissingLibraryError(f"Writing {name} needs Python 3.14 or `pip install backports.zstd`.")


def _own_module() -> Any | None:
    for module in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            return importlib.import_module(module)
    return None


def import_zstandard() -> Any | None:
    with suppress(ImportError):
        return importlib.import_module("zstandard")
    return None


def read_member(path: Path, entry: Any, zstandard: Any) -> bytes:
    """A member of a zip file that is packed by zstd, which `zipfile` reads from Python 3.14 on.

    No more is unpacked than the archive says, and one byte.
    """
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        file.seek(name_length + extra_length, 1)
        stream = zstandard.ZstdDecompressor().stream_reader(file, closefd=False)
        data = bytes(stream.read(entry.file_size + 1))
    if len(data) != entry.file_size:
        raise ValueError("its size is not that of the archive")
    if zlib.crc32(data) != entry.CRC:
        raise ValueError("its checksum is wrong")
    return data
