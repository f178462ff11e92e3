"""The zip archives of inspect, of which a small one cannot fill a memory."""

import importlib
import sys
import zipfile
from contextlib import suppress

from trueness.errors import InputError, MissingLibraryError
from trueness.sources.logs._sample import Log, parse
from trueness.sources.tables._text import DAMAGED
from trueness.sources.tables._zstd import import_zstandard, read_member

_ZSTD = 93
# Python unpacks other methods without a limit on memory.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
# The members of an archive may unpack to this many bytes, plus this many times its size: enough for
# any log, too little to fill a memory. Objects of Python take up to 24 times the bytes of their
# JSON.
_ROOM = 1 << 24
_RATIO = 100
_CHUNK = 1 << 20


def open_archive(log: Log) -> zipfile.ZipFile:
    """The zip archive of a log; with the backport of zstd for Pythons that need it.

    Damaged archives are refused, and members whose names lead outside.
    """
    try:
        archive: zipfile.ZipFile = zipfile.ZipFile(log.path)
        uses_zstd = any(entry.compress_type == _ZSTD for entry in archive.infolist())
        if uses_zstd and sys.version_info < (3, 14):
            archive = _backported_archive(log) or archive
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as reason:
        demand = f"{log} cannot be read as a zip file: {DAMAGED}"
        raise InputError("", demand, str(reason)) from None
    for name in archive.namelist():
        if _is_hostile(name):
            problem = "a name that leads outside of it or is hidden"
            raise InputError("", f"{log} has the member {name[:200]!r}, {problem}")
    return archive


def _backported_archive(log: Log) -> zipfile.ZipFile | None:
    """The archive by the backport of Python 3.14; None if zstandard unpacks its members instead."""
    with suppress(ImportError):
        archive: zipfile.ZipFile = importlib.import_module("backports.zstd.zipfile").ZipFile(
            log.path
        )
        return archive
    if import_zstandard() is None:
        remedy = "`pip install 'trueness[evals]'`, or use Python 3.14"
        raise MissingLibraryError(f"{log} is compressed with zstd. To read it: {remedy}.")
    return None


def _is_hostile(name: str) -> bool:
    """Whether the name of a member is no plain path inside of the archive."""
    return name.startswith("/") or "\\" in name or ".." in name.split("/") or not name.isprintable()


class Members:
    """The members of an archive as JSON, of which a small file cannot unpack to a large memory."""

    def __init__(self, archive: zipfile.ZipFile, log: Log) -> None:
        self.archive = archive
        self.log = log
        self.limit = _ROOM + _RATIO * log.path.stat().st_size
        self.left = self.limit

    def read(self, entry: zipfile.ZipInfo) -> object:
        """The parsed JSON of one member.

        Refused are other packings, damaged members, and those that exceed what is left of the limit
        of bytes.
        """
        place = f"{self.log}, member {entry.filename!r},"
        if entry.compress_type not in _METHODS:
            demand = f"{place} must be stored, deflated or packed by zstd"
            raise InputError("", demand, f"got {entry.compress_type}")
        if entry.file_size > self.left:
            raise self._too_large(entry, place)
        self.left -= entry.file_size
        try:
            data = self._unpacked(entry)
        except Exception as reason:  # zlib, zstd and the system raise a dozen classes
            demand = f"{place} cannot be unpacked: {DAMAGED}"
            raise InputError("", demand, str(reason)) from None
        return parse(data, place)

    def _unpacked(self, entry: zipfile.ZipInfo) -> bytes:
        """The bytes of one member, unpacked."""
        is_plain = type(self.archive) is zipfile.ZipFile
        if entry.compress_type == _ZSTD and is_plain and sys.version_info < (3, 14):
            return read_member(self.log.path, entry, import_zstandard())
        # Not at once: what is packed may have more bytes than the archive says, and ends with its
        # checksum.
        with self.archive.open(entry) as file:
            return b"".join(iter(lambda: file.read(_CHUNK), b""))

    def _too_large(self, entry: zipfile.ZipInfo, place: str) -> InputError:
        together = "" if self.left == self.limit else " with those before it"
        limit = f"at most {self.limit:,} bytes, by the size of the file"
        remedy = "`inspect log dump` writes a log as JSON, which is read whatever its size."
        demand = f"{place} must unpack{together} to {limit}"
        return InputError("", demand, f"it has {entry.file_size:,}", remedy=remedy)
