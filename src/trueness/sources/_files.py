"""Files on this machine: which ones a path names, and whether the columns asked for are in each of them."""

import csv
import glob
import gzip
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trueness.errors import InputError
from trueness.sources._named import asked_columns
from trueness.sources._question import Question

__all__ = ["escaped", "header_of", "is_remote", "local_files", "refuse_absent", "refuse_repeated"]

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def is_remote(path: str) -> bool:
    """Whether the path has a scheme; what it names only the engine can tell."""
    return "://" in path


def local_files(paths: Iterable[str]) -> list[str]:
    """The files that paths and patterns name. A file of that very name comes before what a pattern may match."""
    found: list[str] = []
    for path in paths:
        if is_remote(path) or Path(path).is_file():
            found.append(path)
            continue
        if Path(path).is_dir():
            raise InputError(f"`source` {path!r} is a folder; name its files, as in {str(Path(path, '*.parquet'))!r}.")
        matched = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # a pattern may be absolute
        matched = [name for name in matched if Path(name).is_file()]
        if not matched:
            raise InputError(f"`source` {path!r} names no file.")
        found += matched
    return found


def escaped(path: str) -> str:
    """A path that a reader of patterns takes literally."""
    return path if is_remote(path) else "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def header_of(path: str, separator: str) -> list[str] | None:
    """The names in the first line of a text file; None if only the engine can read it."""
    with Path(path).open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start == _ZSTD:
            return None
        text = gzip.GzipFile(fileobj=file) if start[:2] == _GZIP else file
        lines = csv.reader(io.TextIOWrapper(text, "utf-8-sig", "replace", newline=""), delimiter=separator)
        try:
            first = next(lines, [])
        except (csv.Error, EOFError, OSError):
            return None
    if not first:
        raise InputError(f"`source` {path!r} must have a header in its first line; there is none.")
    return first


def refuse_repeated(header: list[str], question: Question, path: str) -> None:
    """Raise if a name that is asked for stands twice in a header: readers would take the first, and say nothing."""
    for argument, names in asked_columns(question).items():
        for name in names:
            if header.count(name) > 1:
                raise InputError(
                    argument, "must name one column", f"{path!r} has {header.count(name)} columns named {name!r}"
                )


def refuse_absent(names_of: dict[str, Any], question: Question) -> None:
    """Raise if one of several files lacks a column: readers would stop, or fill in what is not there."""
    for path, names in names_of.items():
        for argument, asked in asked_columns(question).items():
            for name in asked:
                # A folder named day=mon is a column, too.
                if name not in names and f"{name}=" not in path:
                    there = ", ".join(map(repr, list(names)[:8])) + (", …" if len(names) > 8 else "")
                    raise InputError(f"`{argument}` names no column {name!r} in {path!r}; the columns are {there}.")
