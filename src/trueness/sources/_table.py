"""Tables of named columns, read whole or batch by batch: what every file format has in common."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError, MissingLibraryError


@dataclass(frozen=True)
class Columns:
    """Columns that were read, by name. A missing value is None in an object array and nan in a float array."""

    labels: Mapping[str, NDArray[Any]]
    """Columns of any type that the library accepts as labels."""
    numbers: Mapping[str, NDArray[Any]]
    """Columns of numbers: scores and weights."""
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns of groups and clusters, whose values are only compared with each other."""

    def arrays(self) -> list[NDArray[Any]]:
        """All columns of the three kinds."""
        return [*self.labels.values(), *self.numbers.values(), *self.groups.values()]

    def at(self, rows: NDArray[Any]) -> "Columns":
        """The columns restricted to some rows."""
        kinds = (self.labels, self.numbers, self.groups)
        return Columns(*({name: values[rows] for name, values in columns.items()} for columns in kinds))


class Table(ABC):
    """Named columns, of which only the requested ones are read."""

    format: ClassVar[str] = ""
    """What the file format is called."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """How the names of such files end."""
    is_text: ClassVar[bool] = False
    """Whether a terminal can show the file."""

    name: str
    """What messages call the table."""
    names: tuple[str, ...]
    """The names of all columns."""
    size: int = 0
    """Bytes on disk, where they predict how long reading takes."""
    compression: str | None = None
    """The compression of the file, such as 'gzip'."""
    note: str = ""
    """How many rows each of several files had, once they are read."""

    def place(self, row: int) -> str:
        """A row, as messages locate it."""
        return f"row {row:,}"

    @abstractmethod
    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read all rows of some columns."""

    def batches(
        self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()
    ) -> Iterator[tuple[Columns, int]]:
        """Read some columns in batches of rows, in order, each with the number of bytes read so far."""
        yield self.read(labels, numbers, groups), self.size

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all rows in the format of the table, with new columns after the others."""
        raise NotImplementedError


def import_polars(name: str) -> Any:
    """Polars, or an error that says how to install it."""
    try:
        import polars
    except ImportError:
        raise MissingLibraryError(f"Reading {name} needs Polars: `pip install 'trueness[cli]'`.") from None
    return polars


class PolarsTable(Table):
    """A file that Polars parses, one frame after the other."""

    @property
    def _polars(self) -> Any:
        return import_polars(self.name)

    @abstractmethod
    def frames(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Frames of the named columns, in order, each with the bytes read so far."""

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read all rows of some columns."""
        names = list(dict.fromkeys((*labels, *numbers, *groups)))
        frames = [frame for frame, _ in self.frames(labels, numbers, groups)]
        return self._columns(self._join(frames, names), 0, labels, numbers, groups)

    def batches(
        self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()
    ) -> Iterator[tuple[Columns, int]]:
        """Read some columns frame by frame."""
        first = 0
        for frame, read in self.frames(labels, numbers, groups):
            yield self._columns(frame, first, labels, numbers, groups), read
            first += frame.height

    def _join(self, frames: list[Any], names: Sequence[str]) -> Any:
        return self._polars.concat(frames) if frames else self._polars.DataFrame({name: [] for name in names})

    def _columns(
        self, frame: Any, first: int, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str]
    ) -> Columns:
        return Columns(
            {name: self._labels(frame[name]) for name in labels},
            {name: self._numbers(frame[name], first) for name in numbers},
            {name: self._groups(frame[name]) for name in groups},
        )

    def _numbers(self, series: Any, first: int) -> NDArray[Any]:  # noqa: ARG002  # text files name the line
        """A column as numbers; `first` is the number of its first row."""
        return self._as_numbers(series)

    def _as_numbers(self, series: Any) -> NDArray[Any]:
        if series.null_count() == len(series) > 0:
            return np.full(len(series), np.nan)
        dtype = series.dtype
        if not (dtype.is_numeric() or str(dtype) in ("Boolean", "Null")):
            raise self._error(series.name, "must hold numbers", f"it holds {dtype}")
        if dtype.is_decimal() or not dtype.is_numeric() or series.null_count():
            series = series.cast(self._polars.Float64).fill_null(float("nan"))
        return np.asarray(series.to_numpy())

    def _labels(self, series: Any) -> NDArray[Any]:
        """Labels of the column's own type; objects where it holds text or misses values."""
        kind = str(series.dtype).partition("(")[0]
        if series.dtype.is_numeric():
            return self._as_numbers(series)
        if kind not in ("String", "Boolean", "Categorical", "Enum") and series.null_count() < len(series):
            raise self._error(
                series.name, "must hold labels: 0/1, true/false, integers or text", f"it holds {series.dtype}"
            )
        if kind == "Boolean" and not series.null_count():
            return np.asarray(series.to_numpy())
        return np.array(series.to_list(), dtype=object)

    def _groups(self, series: Any) -> NDArray[Any]:
        """Groups: like labels, but integers never become floats, which would round long ones."""
        kind = str(series.dtype).partition("(")[0]
        if series.dtype.is_integer() and series.null_count():
            return np.array(series.to_list(), dtype=object)
        if kind in ("Decimal", "Date"):
            return np.array([None if v is None else str(v) for v in series.to_list()], dtype=object)
        if kind == "Datetime":
            zone = "Z" if series.dtype.time_zone else ""
            moments = series.dt.timestamp("ns").to_list()
            return np.array([None if v is None else f"{_iso_time(v)}{zone}" for v in moments], dtype=object)
        return PolarsTable._labels(self, series)  # text files read labels in their own way

    def _whole_groups(self, series: Any) -> Any:
        """Text as integers if each is written in the only way: 0123 is not 123."""
        # Without its name, which Polars may take for a pattern.
        cells = series.alias("cells").drop_nulls().unique().to_list()
        return series.cast(self._polars.Int64) if all(map(is_plain_integer, cells)) else series

    def _error(self, column: str, demand: str, got: str, remedy: str = "") -> InputError:
        return InputError("", f"column {column!r} {demand}", got, remedy=remedy, context=self.name)


def is_plain_integer(cell: str) -> bool:
    """Whether text is a 64-bit integer as Python writes it."""
    return re.fullmatch(r"0|-?[1-9]\d{0,17}", cell, re.ASCII) is not None


def _iso_time(nanoseconds: int) -> str:
    """A time in ISO 8601; `datetime` would cut it off after microseconds.

    Examples
    --------
    >>> _iso_time(1_600_000_000_500_000_000)
    '2020-09-13T12:26:40.5'
    """
    seconds, rest = divmod(nanoseconds, 10**9)
    return str(np.datetime64(seconds, "s")) + (f".{rest:09d}".rstrip("0") if rest else "")
