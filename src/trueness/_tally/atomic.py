"""A file that is either the new one or, if anything fails, the old one."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["replace_file"]


def replace_file(target: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Let `fill` write beside the target, then replace it in one step."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
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
