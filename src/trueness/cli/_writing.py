"""Output: to a file that is either the new one or, if anything fails, the old one; or to standard output."""

import errno
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from trueness.errors import InputError

if TYPE_CHECKING:
    from trueness.cli._sheet import Sheet

__all__ = ["check_suffix", "check_writable", "deliver", "form_of", "write", "write_with"]

_SUFFIXES = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".csv": "csv", ".txt": "table"}


def form_of(form: str | None, output: str | None, suffixes: Mapping[str, str] = _SUFFIXES, usual: str = "table") -> str:
    """The form asked for, or that of the name of the output, or the usual one for a name that says none."""
    if form is not None or output is None or output == "-":
        return form or usual
    suffix = Path(output).suffix.lower()
    if suffix and suffix not in suffixes:
        known = ", ".join([*suffixes][:-1])
        raise InputError(
            f"`--output` must end in {known} or {[*suffixes][-1]}, or `--format` say which; got {output!r}."
        )
    return suffixes.get(suffix, usual)


def check_suffix(path: str | None, what: str, suffixes: Sequence[str], suffix: str | None = None) -> None:
    """Refuse a name that says another format than the one that is written."""
    if suffix is None:
        suffix = "" if path is None or path == "-" else Path(path).suffix.lower()
    if suffix and suffix not in suffixes:
        raise InputError(f"`--output` must end in {' or '.join(suffixes)}: what is written is {what}; got {path!r}.")


def check_writable(path: str | None, *read: str | None) -> None:
    """Refuse, before any work is done, a place where no file can be, or where one lies that is read."""
    if path is None or path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise InputError(f"`--output` must be a file; {path!r} is a folder.")
    if not target.parent.is_dir():
        raise InputError(f"`--output` {path!r} cannot be written: there is no folder {str(target.parent)!r}.")
    for name in read:
        if name is not None and _same_file(target, name):
            raise InputError(f"`--output` {path!r} is the file that is read, and would be lost; name another.")


def _same_file(target: Path, name: str) -> bool:
    """Whether both are one file, by whatever name; a terminal is no file."""
    try:
        there = os.fstat(sys.stdin.fileno()) if name == "-" else Path(name).stat()
        return target.is_file() and os.path.samestat(target.stat(), there)
    except (OSError, ValueError):  # there is none, or standard input is no file; reading says more
        return False


def write(path: str, content: str | bytes) -> None:
    """Write beside the target, then replace it in one step."""
    data = content.encode() if isinstance(content, str) else content
    write_with(path, lambda file: file.write(data))


def write_with(path: str, fill: Callable[[BinaryIO], object]) -> None:
    """Let `fill` write beside the target, then replace it in one step."""
    from trueness._tally.atomic import replace_file

    target = Path(path)
    try:
        # A pipe or a device cannot be replaced; nor resolved: /dev/stdout leads to a pipe that has no name.
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                fill(file)
        else:
            replace_file(target.resolve(), fill)
    except OSError as reason:
        if reason.errno == errno.EPIPE:
            raise  # a reader that has seen enough
        raise InputError(f"`--output` {path!r} cannot be written: {reason.strerror or reason}.") from reason


def deliver(sheet: "Sheet", form: str | None, output: str | None) -> None:
    """Print the sheet, or write it to a file."""
    from trueness.cli._sheet import rendered

    chosen = form_of(form, output)
    if output is not None and output != "-":
        write(output, rendered(sheet, chosen))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    click.echo(rendered(sheet, chosen, width=width), nl=False)
