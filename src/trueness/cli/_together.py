"""Several files as one: their rows one after the other, their columns by name."""

import glob
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness.cli._source import Columns, Source
from trueness.errors import InputError

__all__ = ["Together", "as_texts", "named_files"]

_SHOWN = 3
_WORDS = {"b": "true/false", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "S": "text"}


def named_files(asked: Sequence[str]) -> tuple[str, ...]:
    """The files, each once; a pattern that the shell has left alone as the files that it fits."""
    found: list[str] = []
    for name in asked:
        if name == "-" or not glob.has_magic(name) or Path(name).exists():
            found.append(name)
            continue
        fits = sorted(glob.glob(name, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
        if not fits:
            raise InputError(f"No file fits the pattern {name!r}.")
        found += fits
    for name in found:
        if len(found) > 1 and name != "-" and not Path(name).suffix and not Path(name).exists():
            raise InputError(
                f"There is no file {name!r}. If it is a column: `--prob` and `--by` take one name, and are repeated "
                "for more."
            )
    seen: dict[Any, str] = {}
    for name in found:
        which = name if name == "-" else _which(Path(name))
        if which in seen:
            also = "" if seen[which] == name else f", also as {seen[which]!r}"
            raise InputError(f"{name!r} is given twice{also}: its rows would count twice.")
        seen[which] = name
    return tuple(found)


def _which(path: Path) -> Any:
    """What two names of one file share, links of either kind among them."""
    if not path.is_file():
        return path.resolve()
    known = path.stat()
    return known.st_dev, known.st_ino


class Together(Source):
    """Files with the same columns, in any order."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._ends: list[int] = []
        self.name = _listed([source.name for source in sources])
        self.names = sources[0].names
        self.size = sum(source.size for source in sources)
        self.packing = next((source.packing for source in sources if source.packing), None)
        for other in sources[1:]:
            _check_columns(sources[0], other)

    @property
    def counts(self) -> str:  # type: ignore[override]  # known once the rows are read
        """How many files and rows."""
        sizes = [end - start for start, end in zip([0, *self._ends], self._ends, strict=False)]
        each = ", ".join(f"{source.name} {n:,}" for source, n in zip(self._sources, sizes, strict=True))
        return f"{len(self._sources)} files, {self._ends[-1]:,} rows in all: {each}."

    def place(self, row: int) -> str:
        """The file, and the row in it."""
        at = min(bisect_right(self._ends, row), len(self._sources) - 1)
        start = self._ends[at - 1] if at and self._ends else 0
        return f"row {row - start:,} of {self._sources[at].name}"

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """The rows of every file."""
        parts = [source.read(labels, numbers, groups) for source in self._sources]
        self._ends = list(accumulate(_rows(part) for part in parts))
        return Columns(
            self._joined([part.labels for part in parts]),
            self._joined([part.numbers for part in parts]),
            self._joined([part.groups for part in parts], texts=True),
        )

    def pieces(
        self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()
    ) -> Iterator[tuple[Columns, int]]:
        """The pieces of one file after the other."""
        self._ends, before, total = [], 0, 0
        kinds: dict[str, tuple[str, str]] = {}
        for source in self._sources:
            self._ends.append(total)
            for columns, read in source.pieces(labels, numbers, groups):
                for name, column in columns.labels.items():
                    self._check_kind(kinds, source.name, name, column)
                total += _rows(columns)
                self._ends[-1] = total
                yield columns, before + read
            before += source.size

    def _check_kind(self, kinds: dict[str, tuple[str, str]], source: str, name: str, column: NDArray[Any]) -> None:
        """Refuse labels that are numbers in one file and text in another."""
        if _is_blank(column):
            return
        word = _word(column)
        first, known = kinds.setdefault(name, (source, word))
        if first != source and known != word:
            _refuse_kinds(name, first, known, source, word)

    def _joined(self, parts: Sequence[Mapping[str, NDArray[Any]]], texts: bool = False) -> dict[str, NDArray[Any]]:
        return {name: self._one(name, [part[name] for part in parts], texts) for name in parts[0]}

    def _one(self, name: str, columns: Sequence[NDArray[Any]], texts: bool) -> NDArray[Any]:
        filled = [(s.name, c) for s, c in zip(self._sources, columns, strict=True) if not _is_blank(c)]
        if not filled:
            return np.concatenate(columns)
        for source, column in filled[1:]:
            if column.shape[1:] != filled[0][1].shape[1:]:
                raise InputError(
                    f"Column {name!r} must have the same shape in all files; its rows have {filled[0][1].shape[1:]} "
                    f"entries in {filled[0][0]} and {column.shape[1:]} in {source}."
                )
        words = [_word(column) for _, column in filled]
        if texts and set(words) == {"numbers", "text"} and not any(c.dtype.kind == "f" for _, c in filled):
            # Ids: in one file each could be a number, as a whole they are text.
            return np.concatenate([as_texts(column) for column in columns])
        for (source, _), word in zip(filled, words, strict=True):
            if word != words[0]:
                _refuse_kinds(name, filled[0][0], words[0], source, word)
        if any(column.dtype.kind in "OU" for _, column in filled):
            columns = [_as_objects(column) for column in columns]
        return np.concatenate([column for column in columns if column.ndim == filled[0][1].ndim])


def _check_columns(first: Source, other: Source) -> None:
    for one, two in ((first, other), (other, first)):
        lacking = [name for name in one.names if name not in two.names]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise InputError(
                f"Files must have the same columns to be one data set; {two.name} has no column {lacking[0]!r}{more}, "
                f"which {one.name} has."
            )


def _refuse_kinds(name: str, first: str, word: str, second: str, other: str) -> None:
    raise InputError(f"Column {name!r} must hold one kind of values; {first} has {word} and {second} has {other}.")


def _rows(columns: Columns) -> int:
    return len(columns.every()[0])


def _is_blank(column: NDArray[Any]) -> bool:
    """Whether it has no value, so that its type says nothing."""
    if column.dtype.kind == "f":
        return bool(np.isnan(column).all())
    return column.size == 0 or (column.dtype.kind == "O" and all(value is None for value in column.ravel()))


def _word(column: NDArray[Any]) -> str:
    """What its values are; of objects, the first that is there tells."""
    kind = column.dtype.kind
    if kind == "O":
        kind = np.asarray(next(value for value in column.ravel() if value is not None)).dtype.kind
    return _WORDS.get(kind, str(column.dtype))


def _as_objects(column: NDArray[Any]) -> NDArray[Any]:
    """Objects, of which what is missing is None, as text has it."""
    return np.full(len(column), None, dtype=object) if _is_blank(column) else column.astype(object)


def as_texts(column: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as text, which is how they are written."""
    return np.array([v if v is None or isinstance(v, str) else str(v) for v in _as_objects(column)], dtype=object)


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _SHOWN:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{', '.join(names[: _SHOWN - 1])} and {len(names) - _SHOWN + 1} more files"
