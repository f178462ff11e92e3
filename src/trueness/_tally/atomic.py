"""Replacing a file in one step: whatever fails, the file is the old one or the new one."""

import errno
import os
import reprlib
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from trueness.errors import InputError


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
