"""Replacing a file in one step: whatever fails, the file is the old one or the new one."""

import errno
import os
import reprlib
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from trueness.errors import InputError

_SUFFIX = ".trueness"
"""The end of the names of files that are being written."""


class Stamp(NamedTuple):
    """Tells one content of a file from the next."""

    inode: int
    size: int
    changed: int
    end: bytes
    """The last bytes, which are the checksum of sums: two writes may have the same time stamp."""


def as_path(path: object) -> Path:
    """The path, if it is one that a system can open."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise InputError("path", "must be the name of a file, as text or a Path", f"got {reprlib.repr(path)}")
    return Path(name)


def _stamp(file: BinaryIO) -> Stamp:
    known = os.fstat(file.fileno())
    file.seek(max(0, known.st_size - 4))
    return Stamp(known.st_ino, known.st_size, known.st_mtime_ns, file.read())


def read_file(path: Path) -> tuple[bytes, Stamp]:
    """All bytes of a file, and the stamp of that very content."""
    with path.open("rb") as file:
        return file.read(), _stamp(file)


def replace_file(target: Path, fill: Callable[[BinaryIO], object], *, known: Stamp | None = None) -> Stamp:
    """Let `fill` write beside the target, then replace it in one step; but not if it has changed since `known`."""
    target = resolve_path(target) if target.is_symlink() else target
    beside = f".{target.name[:100]}."
    try:
        return _replaced(target, beside, fill, known)
    except OSError as reason:
        if reason.errno is None or not (reason.filename is None or Path(reason.filename).name.startswith(beside)):
            raise
        # The user asked for the target and does not know the temporary file.
        raise OSError(reason.errno, reason.strerror, str(target)) from reason


def resolve_path(target: Path) -> Path:
    """The full name of a file, without symbolic links."""
    try:
        found = target.resolve()
    except RuntimeError:  # before Python 3.13, a link that leads to itself
        found = target
    if found.is_symlink():  # from 3.13 on, such a link is returned
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(target))
    return found


def _replaced(target: Path, beside: str, fill: Callable[[BinaryIO], object], known: Stamp | None) -> Stamp:
    mode = _mode(target)
    with ExitStack() as stack:
        with _locked(target.parent):
            _remove_stale(target.parent, beside)
            handle, temporary = tempfile.mkstemp(_SUFFIX, beside, target.parent)
            _lock_until_end(handle, stack)
        try:
            with os.fdopen(handle, "wb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            with Path(temporary).open("rb") as again:
                written = _stamp(again)
            Path(temporary).chmod(mode)
            with _locked(target.parent):
                if known is not None:
                    _refuse_changed(target, known)
                Path(temporary).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
    return written


def _lock_until_end(handle: int, stack: ExitStack) -> None:
    """Lock a file until the stack ends, also after it was closed; a kill releases the lock."""
    with suppress(ImportError, OSError):
        import fcntl

        held = os.dup(handle)
        stack.callback(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_stale(folder: Path, beside: str) -> None:
    """Remove what killed writers of this file have left: no running one lets go of its lock."""
    with suppress(ImportError, OSError):
        import fcntl

        for name in os.listdir(folder):  # noqa: PTH208  # names, not paths: a folder may have many files
            if not (name.startswith(beside) and name.endswith(_SUFFIX)):
                continue
            with suppress(OSError), (folder / name).open("rb") as left:
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (folder / name).unlink()


def _refuse_changed(target: Path, known: Stamp) -> None:
    try:
        _, now = read_file(target)
    except FileNotFoundError:
        return  # nothing that could be lost
    if now != known:
        demand = f"{str(target)!r} has changed since it was read or written here"
        got = "another process writes it, and the rows of that process would be lost"
        raise InputError("", demand, got, remedy="Load it again, or save under another name.")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other writers of this module, where the system can; a kill releases the lock."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):  # without locks, a change is still noticed unless it happens right now
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or of any new file; mkstemp gives fewer."""
    if target.exists():
        known = target.stat().st_mode
        if stat.S_ISDIR(known):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not stat.S_ISREG(known):
            got = "it is a device or a pipe, which cannot be replaced in one step"
            raise InputError("", f"{str(target)!r} must be a file", got)
        return known & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
