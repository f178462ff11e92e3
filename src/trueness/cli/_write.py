"""Output to a file that is either the new text or, if anything fails, the old one."""

from pathlib import Path

from trueness._tally.atomic import replace_file
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
            replace_file(target, lambda file: file.write(text.encode()))
    except OSError as reason:
        raise InputError(f"`--output` {path!r} cannot be written: {reason.strerror or reason}.") from reason
