"""Output to a file that is either the new text or, if anything fails, the old one."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from trueness.errors import InputError

__all__ = ["check_writable", "write"]


def check_writable(path: str) -> None:
    """Refuse, before any work is done, a place where no file can be."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"`--output` must be a file; {path!r} is a folder.")
    if not target.parent.is_dir():
        raise InputError(f"`--output` {path!r} cannot be written: there is no folder {str(target.parent)!r}.")


def write(path: str, text: str) -> None:
    """Write beside the target, then replace it in one step."""
    target = Path(path).resolve()
    try:
        if target.exists() and not target.is_file():  # a pipe or a terminal cannot be replaced
            target.write_text(text, encoding="utf-8", newline="")
        else:
            _replace(target, text)
    except OSError as reason:
        raise InputError(f"`--output` {path!r} cannot be written: {reason.strerror or reason}.") from reason


def _replace(target: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(_mode(target))
        Path(temporary).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _mode(target: Path) -> int:
    """The rights of the file that is replaced, or those of any new file; mkstemp gives fewer."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
