"""Replacing a file in one step: whatever fails, the file is the old one or the new one."""

import errno
import os
import reprlib
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from trueness.errors import InputError, MissingLibraryError


def as_path(path: object) -> Path:
    """The path, if it is one that a system can open."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise InputError(
            "path", "must be the name of a file, as text or a Path", f"got {reprlib.repr(path)}"
        )
    return Path(name)


def replace_file(target: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Let `fill` write a file beside the target, then rename it."""
    target = Path(os.path.realpath(target))
    if target.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if target.exists() and not target.is_file():
        got = "it is a device or a pipe, which cannot be replaced in one step"
        raise InputError("", f"{str(target)!r} must be a file", got)
    temporary = target.with_name(f".{target.name[:100]}.{os.urandom(4).hex()}.trueness")
    try:
        with temporary.open("xb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException as reason:
        with suppress(OSError):
            temporary.unlink()
        if (
            isinstance(reason, OSError)
            and reason.errno
            and reason.filename in (None, str(temporary))
        ):
            # The user asked for the target and does not know the temporary file.
            raise OSError(reason.errno, reason.strerror, str(target)) from reason
        raise


def is_url(path: object) -> bool:
    """Whether a name is a place such as ``s3://bucket/file``."""
    return isinstance(path, str) and "://" in path


def read_place(path: str | Path) -> bytes:
    """The bytes of a file, or of a URL that fsspec reads."""
    if not is_url(path):
        return as_path(path).read_bytes()
    with _opened(str(path), "rb") as file:
        data: bytes = file.read()
        return data


def replace_place(path: str | Path, data: bytes) -> None:
    """Replace a file in one step; object stores replace an object when it is closed."""
    if not is_url(path):
        replace_file(as_path(path), lambda file: file.write(data))
        return
    with _opened(str(path), "wb") as file:
        file.write(data)


def place_exists(path: str | Path) -> bool:
    """Whether there is something to read."""
    if not is_url(path):
        return as_path(path).exists()
    try:
        with _opened(str(path), "rb"):
            return True
    except FileNotFoundError:
        return False


def _opened(url: str, mode: str) -> BinaryIO:
    """The file at a URL, opened by fsspec in this mode.

    A missing file raises FileNotFoundError. A URL whose scheme is unknown, or needs a library that
    is not installed, is refused.
    """
    try:
        import fsspec
    except ImportError:
        raise MissingLibraryError(f"{url!r} needs fsspec: `pip install fsspec`.") from None
    try:
        opened: BinaryIO = fsspec.open(url, mode).open()
        return opened
    except FileNotFoundError:
        raise
    except (ImportError, ValueError) as reason:  # a scheme that is not known, or its library
        raise InputError("", f"{url!r} cannot be opened", str(reason)) from None
