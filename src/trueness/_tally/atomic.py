"""A file that is either the new one or, if anything fails, the old one."""

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from trueness.errors import InputError

__all__ = ["Stamp", "naming", "read_file", "replace_file"]


class Stamp(NamedTuple):
    """What tells one content of a file from the next."""

    inode: int
    size: int
    changed: int
    end: bytes
    """The last bytes, which are the checksum of sums: clocks of files may stand still for milliseconds."""


def _stamp(file: BinaryIO) -> Stamp:
    known = os.fstat(file.fileno())
    file.seek(max(0, known.st_size - 4))
    return Stamp(known.st_ino, known.st_size, known.st_mtime_ns, file.read())


def read_file(path: Path) -> tuple[bytes, Stamp]:
    """All bytes of a file, and the stamp of that very content."""
    with path.open("rb") as file:
        return file.read(), _stamp(file)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Let errors about what a file holds say which."""
    try:
        yield
    except InputError as reason:
        raise InputError(f"{str(path)!r}: {reason}") from reason


def replace_file(target: Path, fill: Callable[[BinaryIO], object], *, known: Stamp | None = None) -> Stamp:
    """Let `fill` write beside the target, then replace it in one step; but not if it has changed since `known`."""
    target = target.resolve() if target.is_symlink() else target
    beside = f".{target.name[:100]}."
    try:
        return _replaced(target, beside, fill, known)
    except OSError as reason:
        if reason.errno is None or not (reason.filename is None or Path(reason.filename).name.startswith(beside)):
            raise
        # The name of the file beside it says nothing to whoever wanted the target.
        raise OSError(reason.errno, reason.strerror, str(target)) from reason


def _replaced(target: Path, beside: str, fill: Callable[[BinaryIO], object], known: Stamp | None) -> Stamp:
    mode = _mode(target)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=beside)
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        with Path(temporary).open("rb") as again:
            written = _stamp(again)
        Path(temporary).chmod(mode)
        with _alone_in(target.parent):
            if known is not None:
                _refuse_changed(target, known)
            Path(temporary).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
    return written


def _refuse_changed(target: Path, known: Stamp) -> None:
    try:
        _, now = read_file(target)
    except FileNotFoundError:
        return  # nothing that could be lost
    if now != known:
        raise InputError(
            f"{str(target)!r} has changed since it was read or written here: something else writes it, and its rows "
            "would be lost. Load it again, or save under another name."
        )


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep others who ask for the same out of a folder for a moment, where the system can; a kill ends it."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):  # no locks here: a change is noticed all the same, unless of this moment
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _mode(target: Path) -> int:
    """The rights of the file that is replaced, or those of any new file; mkstemp gives fewer."""
    if target.exists():
        known = target.stat().st_mode
        if stat.S_ISDIR(known):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not stat.S_ISREG(known):
            raise InputError(
                f"{str(target)!r} is no file but a device or a pipe, which cannot be replaced in one step."
            )
        return known & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
