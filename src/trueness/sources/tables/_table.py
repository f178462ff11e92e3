"""Tables of named columns, read whole or in batches: Parquet, Arrow IPC, and the common parts."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from trueness.errors import InputError, MissingLibraryError, TruenessError
from trueness.sources._columns import Columns

_BATCH_ROWS = 1 << 17
_REMEDIES = {
    "invalid utf": "Convert it, as `iconv -f latin1 -t utf-8` does.",
    "UTF-8 BOM": "Leave out the byte order mark, as `sed '1s/^\\xEF\\xBB\\xBF//'` does.",
    "('N')": "JSON has no NaN: null is a missing value.",
}
"""Ways out by what a parser of text says."""
_PLAIN_INTEGER = r"^(?:0|-?[1-9]\d{0,17})$"


class Table(ABC):
    """Named columns, of which only the requested ones are read: labels, numbers and groups."""

    format: ClassVar[str] = ""  # what the file format is called
    suffixes: ClassVar[tuple[str, ...]] = ()  # how the names of such files end
    is_text: bool = False  # whether a terminal can show the file
    name: str
    names: tuple[str, ...]
    nested: tuple[
        str, ...
    ] = ()  # names of values inside of objects, such as doc.topic, which can be read like columns
    rows: int  # known at the latest when they are read
    size: int = 0  # bytes on disk, where they predict how long reading takes
    note: str = ""  # how many rows each of several files had, once they are read

    def place(self, row: int) -> str:
        """A row, as messages locate it."""
        return f"row {row:,}"

    @abstractmethod
    def read(self, *names: Sequence[str]) -> Columns:
        """Read all rows of some columns."""

    def batches(self, *names: Sequence[str]) -> Iterator[tuple[Columns, int]]:
        """Read some columns in batches of rows, in order, each with the bytes read so far."""
        yield self.read(*names), self.size

    @abstractmethod
    def lazy(self, *names: Sequence[str]) -> Any:
        """Some columns as a lazy frame of Polars, called 'label y', 'number p' or 'group g'."""
        # Polars would take a name such as ^p$ for a pattern, and a column may be label and group.

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all rows in the format of the table, with new columns after the others."""
        raise NotImplementedError


def prefixed(names: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """The names of columns in a lazy frame, and in the file."""
    kinds = zip(("label", "number", "group"), names, strict=False)
    return [(f"{kind} {name}", name) for kind, of_kind in kinds for name in of_kind]


def import_polars(name: str) -> Any:
    """Polars, or an error that says how to install it."""
    try:
        import polars
    except ImportError:
        raise MissingLibraryError(
            f"Reading {name} needs Polars: `pip install 'trueness[cli]'`."
        ) from None
    return polars


def _remedy(why: str) -> str:
    """The way out of what a parser of text says, or nothing if there is none."""
    for words, remedy in _REMEDIES.items():
        if words in why:
            return remedy
    return ""


class PolarsTable(Table):
    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.size = path.stat().st_size
        self._polars = import_polars(name)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise our message, with the name of the file, in place of any error of Polars.

        Our own errors pass as they are.
        """
        try:
            yield
        except TruenessError:
            raise
        except Exception as reason:  # damaged files raise a dozen classes
            why = str(reason).strip().partition("\n")[0][:200].rstrip(".")
            got = why if self.is_text else f"it may be truncated ({why})"
            raise InputError(
                "",
                f"{self.name} cannot be read as {self.format}",
                got,
                remedy=_remedy(why) if self.is_text else "",
            ) from reason

    def _frames(self, lazy: Any) -> Iterator[Any]:
        with self._reading():
            yield from lazy.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True)

    def read(self, *names: Sequence[str]) -> Columns:
        lazy = self.lazy(*names)
        frames = list(self._frames(lazy)) or [lazy.clear().collect()]
        return self._columns(self._polars.concat(frames))

    def batches(self, *names: Sequence[str]) -> Iterator[tuple[Columns, int]]:
        seen = 0
        for frame in self._frames(self.lazy(*names)):
            seen += frame.height
            yield self._columns(frame), self.size * seen // self.rows

    def _columns(self, frame: Any) -> Columns:
        readers = {"label": self._labels, "number": self._numbers, "group": self._groups}
        columns: dict[str, dict[str, NDArray[Any]]] = {kind: {} for kind in readers}
        for series in frame:
            kind, _, name = series.name.partition(" ")
            columns[kind][name] = readers[kind](series)
        return Columns(columns["label"], columns["number"], columns["group"])

    def _numbers(self, series: Any) -> NDArray[Any]:
        """A column of scores or weights as numbers, with nan where a value is missing.

        A column of lists of one length is a matrix. Columns that hold anything but numbers are
        refused.
        """
        dtype = series.dtype
        if series.null_count() == len(series) > 0:
            return np.full(len(series), np.nan)
        if str(dtype).startswith("List"):
            widths = series.list.len().unique()
            if len(widths) > 1 or series.null_count():
                demand = "must hold numbers, or lists of one length"
                raise self._error(series, demand, "they are mixed")
            return np.asarray(series.list.to_array(widths[0]).to_numpy())
        if not (dtype.is_numeric() or str(dtype).startswith(("Boolean", "Null", "Array"))):
            raise self._error(series, "must hold numbers", f"it holds {dtype}")
        if dtype.is_decimal() or str(dtype) in ("Boolean", "Null") or series.null_count():
            series = series.cast(self._polars.Float64).fill_null(float("nan"))
        return np.asarray(series.to_numpy())

    def _labels(self, series: Any) -> NDArray[Any]:
        """Labels of the column's own type; objects where it holds text or misses values."""
        kind = str(series.dtype).partition("(")[0]
        if series.dtype.is_numeric():
            return self._numbers(series)
        is_empty = series.null_count() == len(series)
        if kind not in ("String", "Boolean", "Categorical", "Enum") and not is_empty:
            demand = "must hold labels: 0/1, true/false, integers or text"
            raise self._error(series, demand, f"it holds {series.dtype}")
        if kind == "Boolean" and not series.null_count():
            return np.asarray(series.to_numpy())
        return np.array(series.to_list(), dtype=object)

    def _groups(self, series: Any) -> NDArray[Any]:
        """Groups: like labels, but integers never become floats, which would round long ones."""
        pl = self._polars
        kind = str(series.dtype).partition("(")[0]
        if kind == "Datetime":
            series = _times_as_text(series)
        elif kind in ("Decimal", "Date"):
            series = series.cast(pl.String)
        elif self.is_text and kind == "String" and _are_plain_integers(series):
            series = series.cast(pl.Int64)
        if series.dtype.is_integer() and series.null_count():
            return np.array(series.to_list(), dtype=object)
        return self._labels(series)

    def _error(self, series: Any, demand: str, got: str) -> InputError:
        name = series.name.partition(" ")[2]
        return InputError("", f"column {name!r} {demand}", got, context=self.name)


def _are_plain_integers(series: Any) -> bool:
    """Whether each text is an integer, written in the only way: 0123 is not 123."""
    return bool(series.unique().str.contains(_PLAIN_INTEGER).all())


def _times_as_text(series: Any) -> Any:
    """Times in the notation of ISO 8601, those with a zone in UTC."""
    if series.dtype.time_zone is None:
        return _iso_8601(series)
    return _iso_8601(series.dt.convert_time_zone("UTC")) + "Z"


def _iso_8601(series: Any) -> Any:
    text = series.dt.to_string("%Y-%m-%dT%H:%M:%S%.9f")
    return text.str.strip_chars_end("0").str.strip_chars_end(".")


class ParquetFile(PolarsTable):
    format: ClassVar[str] = "Parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq", ".parq")
    _method = "parquet"

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path, name)
        with self._reading():
            self.names = tuple(self._scan().collect_schema().names())

    @cached_property
    def rows(self) -> int:  # type: ignore[override]  # from the footer of the file
        with self._reading():
            return int(self._scan().select(self._polars.len()).collect().item())

    def lazy(self, *names: Sequence[str]) -> Any:
        nth = self._polars.nth
        return self._scan().select(
            nth(self.names.index(name)).alias(new) for new, name in prefixed(names)
        )

    def write(self, file: BinaryIO, new: Mapping[str, NDArray[Any]]) -> None:
        """Write all rows, some at a time, with the new columns."""
        added = self._polars.DataFrame(dict(new)).fill_nan(None).lazy()
        rows = self._polars.concat([self._scan(), added], how="horizontal")
        try:
            getattr(rows, f"sink_{self._method}")(file)
        except OSError:
            raise  # the disk is full, or the reader has closed the pipe
        except Exception as reason:
            number = re.search(r"No space left on device \(os error (\d+)\)", str(reason))
            if number:  # Parquet's writer takes it for a fault of the file
                raise OSError(int(number[1]), "No space left on device") from reason
            with self._reading():
                raise reason

    def _scan(self) -> Any:
        return getattr(self._polars, f"scan_{self._method}")(self.path, glob=False)


class ArrowFile(ParquetFile):
    """An Arrow IPC file, also known as Feather."""

    format = "Arrow IPC"
    suffixes = (".arrow", ".feather", ".ipc")
    _method = "ipc"


class ParquetFolder(ParquetFile):
    """Parquet files below a folder as one table, with the columns that their folders name."""

    def __init__(self, path: Path, name: str, files: Sequence[str], partitions: Sequence[str]):
        self.files = list(files)
        self.partitions = partitions
        super().__init__(path, name)
        self.size = sum(Path(file).stat().st_size for file in files)

    def lazy(self, *names: Sequence[str]) -> Any:
        nth = self._polars.nth
        groups = names[2] if len(names) > 2 else ()
        return self._scan(groups).select(
            nth(self.names.index(name)).alias(new) for new, name in prefixed(names)
        )

    def _scan(self, groups: Sequence[str] = ()) -> Any:
        """A lazy frame of the files.

        `groups` are columns that name groups. Where these are parts of folder names (year=2020),
        they are read as text, since 007 and 7 are two groups.
        """
        options: dict[str, Any] = {"glob": False, "hive_partitioning": bool(self.partitions)}
        scanned = self._polars.scan_parquet(self.files, **options)
        if not set(groups) & set(self.partitions):
            return scanned
        types = scanned.collect_schema()
        schema = {name: types[name] for name in self.partitions}
        # Groups are the text of a folder's name: 007 and 7 are two.
        schema |= {name: self._polars.String for name in groups if name in schema}
        return self._polars.scan_parquet(self.files, hive_schema=schema, **options)


class RemoteFile(ParquetFile):
    """Parquet or Arrow IPC at an address (``s3://…``, ``hf://…``), which Polars fetches."""

    def __init__(self, name: str, kind: type[ParquetFile]) -> None:
        """Read the names of the columns at an address; `kind` says which format it has."""
        self._method = kind._method
        self.format = kind.format  # type: ignore[misc]  # what `apply` writes
        self.suffixes = kind.suffixes  # type: ignore[misc]
        self.name = name
        self._polars = import_polars(name)
        with self._reading():
            self.names = tuple(self._scan().collect_schema().names())

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with fetching(self.name):
            yield

    def _scan(self) -> Any:
        # An address may be a pattern: only the store knows what it has.
        return getattr(self._polars, f"scan_{self._method}")(self.name)


@contextmanager
def fetching(name: str) -> Iterator[None]:
    """Say what could not be fetched, and why, in place of the errors of the network."""
    try:
        yield
    except TruenessError:
        raise
    except Exception as reason:  # stores and networks raise a dozen classes
        why = str(reason).strip().partition("\n")[0][:200].rstrip(".")
        remedy = "Download it and name the file, or check the address, the network and the keys."
        raise InputError("", f"{name} cannot be fetched", why, remedy=remedy) from reason


class PartitionedTable(PolarsTable):
    """A table and the columns that the folders of its path name."""

    def __init__(self, table: PolarsTable, values: Mapping[str, str | None]) -> None:
        self.__dict__.update(vars(table))
        self.format = table.format  # type: ignore[misc]  # that of the file
        self._table = table
        self._values = {name: value for name, value in values.items() if name not in table.names}
        self.names = (*table.names, *self._values)

    @property
    def rows(self) -> int:  # type: ignore[override]  # known once they are read
        return self._table.rows

    def lazy(self, *names: Sequence[str]) -> Any:
        """The named columns of the file, and those that its folders name, equal in each row."""
        inner = [[name for name in group if name not in self._values] for group in names]
        columns = [
            self._literal(name, is_group=new.startswith("group ")).alias(new)
            for new, name in prefixed(names)
            if name in self._values
        ]
        frame = self._table.lazy(*inner).with_columns(columns)
        return frame.select(new for new, _ in prefixed(names))

    def _literal(self, name: str, *, is_group: bool) -> Any:
        """The value of a folder: a group is its text, a label or a weight may be an integer."""
        text = self._values[name]
        if text is not None and not is_group and re.match(_PLAIN_INTEGER, text):
            return self._polars.lit(int(text))
        return self._polars.lit(text, dtype=self._polars.String)


class ConcatenatedTable(PolarsTable):
    """The rows of one table after the other."""

    format = "one data set"

    def __init__(self, tables: Sequence[Table]) -> None:
        """Put tables with the same columns one below the other; no row is read.

        Values inside of objects can be read if all tables have them.
        """
        self._tables = tables
        self._polars = import_polars(tables[0].name)
        names = [table.name for table in tables]
        if len(names) > 3:
            self.name = f"{names[0]}, {names[1]} and {len(names) - 2} more files"
        else:
            self.name = f"{', '.join(names[:-1])} and {names[-1]}"
        self.names = tables[0].names
        self.is_text = any(table.is_text for table in tables)
        shared = set.intersection(*(set(table.nested) for table in tables))
        self.nested = tuple(name for name in tables[0].nested if name in shared)
        self.size = sum(table.size for table in tables)

    @property
    def rows(self) -> int:  # type: ignore[override]  # known once they are read
        return sum(table.rows for table in self._tables)

    @property
    def note(self) -> str:  # type: ignore[override]
        counts = ", ".join(f"{table.name} {table.rows:,}" for table in self._tables)
        return f"{len(self._tables)} files, {self.rows:,} rows in all: {counts}."

    def place(self, row: int) -> str:
        *tables, last = self._tables
        for table in tables:
            if row < table.rows:
                return f"{table.place(row)} of {table.name}"
            row -= table.rows
        return f"{last.place(row)} of {last.name}"

    def lazy(self, *names: Sequence[str]) -> Any:
        """The named columns of all tables, each of a type that holds the values of every table."""
        pl = self._polars
        frames = [table.lazy(*names) for table in self._tables]
        schemas = [frame.collect_schema() for frame in frames]
        casts = []
        for column in schemas[0]:
            dtype = self._common_type(column, [schema[column] for schema in schemas])
            casts.append(pl.col(column).cast(dtype))
        return pl.concat([frame.select(casts) for frame in frames])

    def _common_type(self, column: str, dtypes: list[Any]) -> Any:
        """A type that holds the values of a column in every table as they are."""
        pl = self._polars
        kind, _, name = column.partition(" ")
        types = list(dict.fromkeys(dtype for dtype in dtypes if dtype != pl.Null))
        if len(types) <= 1:
            if types:
                return types[0]
            return pl.Null
        if all(dtype.is_integer() for dtype in types):
            return pl.Int64
        if all(dtype.is_numeric() or (dtype == pl.Boolean and kind != "group") for dtype in types):
            return pl.Float64
        # Identifiers that are numbers in one file and text in another are text in both.
        text = (pl.String, pl.Categorical, pl.Enum)
        if all(dtype in text or (kind == "group" and dtype.is_integer()) for dtype in types):
            return pl.String
        in_files = [f"{dtype} in {self._tables[dtypes.index(dtype)].name!r}" for dtype in types]
        got = f"it is {in_files[0]} and {in_files[1]}"
        raise InputError("", f"column {name!r} must have one type in all files", got)


_WRITERS = {
    ".parquet": "write_parquet",
    ".arrow": "write_ipc",
    ".csv": "write_csv",
    ".jsonl": "write_ndjson",
}
SAVED_AS = tuple(_WRITERS)
"""The endings of files that columns are saved as."""


def save_columns(columns: Mapping[str, NDArray[Any]], file: BinaryIO, suffix: str) -> None:
    """Write columns as Parquet, Arrow IPC, CSV or JSON lines; nan is a missing value."""
    frame = import_polars("columns").DataFrame(
        {name: values.tolist() for name, values in columns.items()}
    )
    getattr(frame.fill_nan(None), _WRITERS[suffix])(file)
