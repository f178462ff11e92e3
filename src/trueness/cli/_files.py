"""Files of labels and scores: what a file is, and the columns of Parquet, npz and npy."""

import re
import shlex
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueness.cli._json_lines import JsonLinesFile
from trueness.cli._packed import inner_suffix, packing_named, packing_of, unpacking
from trueness.cli._source import Columns, Source
from trueness.cli._text import TextFile
from trueness.errors import InputError, MissingLibraryError

__all__ = ["opened"]

STANDARD_INPUT = "standard input"
_BATCH = 1 << 20
_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
_FORMATS = {".parquet": "Parquet", ".pq": "Parquet", ".npz": "npz", ".npy": "npy"}
_LINES = (".jsonl", ".ndjson", ".jsonlines")


@contextmanager
def opened(path: str, separator: str | None = None, form: str | None = None) -> Iterator[Source]:
    """The columns of a file, or of standard input for '-'. Its first bytes decide what it is, then its name."""
    if path != "-":
        yield _source(Path(path), path, separator, form)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "input")
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield _source(copy, STANDARD_INPUT, separator, form)


def _source(path: Path, name: str, separator: str | None, form: str | None) -> Source:
    start = _first_bytes(path, name)
    packing = packing_of(start)
    suffix = path.suffix.lower()
    if packing is not None:
        start, suffix = _first_unpacked(path, name, packing), inner_suffix(name)
    if form is not None:
        return _said(path, name, separator, form, start, packing)
    if start.startswith(b"PAR1"):
        return ParquetFile(path, name)
    if start.startswith(b"PK\x03\x04"):
        return ArraysFile(path, name)
    if start.startswith(b"\x93NUMPY"):
        return ArrayFile(path, name)
    if start.startswith((b"TNTALLYS", b"TNSKETCH")):
        raise InputError(
            f"{name} holds sums, and this needs rows. `trueness measure`, `report` and `tally` take sums, from files "
            "that `trueness tally` or `Accumulator.save` wrote and whose names end in .tally."
        )
    if suffix in _FORMATS:
        raise InputError(
            f"{name} does not begin as a file of type {_FORMATS[suffix]} does: damaged, or of another type."
        )
    if b"\x00" in start:
        raise InputError(
            f"{name} is not CSV, TSV, JSON lines, Parquet, npz or npy: it has zero bytes. UTF-16 must become UTF-8."
        )
    _refuse_json_array(name, start)
    if suffix in _LINES or start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return JsonLinesFile(path, name, packing)
    return TextFile(path, name, separator or _SEPARATORS.get(suffix, ","), packing=packing)


def _said(path: Path, name: str, separator: str | None, form: str, start: bytes, packing: str | None) -> Source:
    """What `--input-format` says, unless the first bytes cannot be that."""
    magic = {"parquet": b"PAR1", "npz": b"PK\x03\x04", "npy": b"\x93NUMPY"}
    wrong = not start.startswith(magic[form]) if form in magic else start.startswith(tuple(magic.values()))
    if wrong:
        raise InputError(f"`--input-format` says {form}, but {name} does not begin as such a file does.")
    if form == "jsonl":
        _refuse_json_array(name, start)
        return JsonLinesFile(path, name, packing)
    if form in ("csv", "tsv"):
        return TextFile(path, name, separator or {"csv": ",", "tsv": "\t"}[form], packing=packing)
    binary: dict[str, type[ParquetFile | ArraysFile | ArrayFile]] = {
        "parquet": ParquetFile,
        "npz": ArraysFile,
        "npy": ArrayFile,
    }
    return binary[form](path, name)


def _refuse_json_array(name: str, start: bytes) -> None:
    """All rows in one pair of brackets: read whole or not at all, which no line can tell."""
    if re.match(rb"\[\s*(\{|$)", start.lstrip(b"\xef\xbb\xbf \t\r\n")):
        what = "" if name == STANDARD_INPUT else f" {shlex.quote(name)}"
        raise InputError(
            f"{name} is one JSON array; JSON lines have one object per line, without brackets and commas around them: "
            f"`jq -c '.[]'{what} > lines.jsonl` writes them so."
        )


def _first_bytes(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob("*") if _unpacked_name(p) == path.name.lower())
        hint = f" There is {near[0]!r} in that folder." if near else ""
        raise InputError(f"There is no file {name!r}.{hint}") from None
    except IsADirectoryError:
        raise InputError(f"{name!r} is a folder; name files in it, as '{Path(name, '*.csv')}' does.") from None
    except OSError as reason:
        raise InputError(f"{name!r} cannot be read: {reason.strerror or reason}.") from reason
    if not start.strip():
        raise InputError(f"{name} is empty.")
    return start


def _unpacked_name(path: Path) -> str:
    return (path.stem if packing_named(path) else path.name).lower()


def _first_unpacked(path: Path, name: str, packing: str) -> bytes:
    """The first bytes of what a packed file holds, if it is text."""
    with unpacking(path, name, packing) as (file, _):
        start = file.read(4096)
    if not start.strip():
        raise InputError(f"{name} is empty once unpacked.")
    if start.startswith((b"PAR1", b"PK\x03\x04", b"\x93NUMPY")) or packing_of(start):
        raise InputError(f"{name} is {packing} of a file that is compressed by itself, or of arrays; unpack it first.")
    return start


class ParquetFile(Source):
    """Parquet, through Polars or pyarrow, whichever is installed."""

    binary = True

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name, self.size = path, name, path.stat().st_size
        self.library = _parquet_library(name)
        self.names = tuple(self._guarded(self._column_names))

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read the columns; no other is touched."""
        frame = self._guarded(self._frame, list(dict.fromkeys((*labels, *numbers, *groups))))
        return self._columns(frame, labels, numbers, groups)

    def _columns(self, frame: Any, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str]) -> Columns:
        return Columns(
            {name: _series_labels(frame[name], name, self.name) for name in labels},
            {name: _series_numbers(frame[name], name, self.name) for name in numbers},
            {name: _series_groups(frame[name], name, self.name) for name in groups},
        )

    def pieces(
        self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()
    ) -> Iterator[tuple[Columns, int]]:
        """By row groups where pyarrow is there; else all at once: only the columns asked for take memory."""
        try:
            import pyarrow.parquet
        except ImportError:
            yield self.read(labels, numbers, groups), self.size
            return
        import narwhals.stable.v2 as nw

        file = self._guarded(pyarrow.parquet.ParquetFile, self.path)
        rows, seen = max(file.metadata.num_rows, 1), 0
        batches = file.iter_batches(_BATCH, columns=list(dict.fromkeys((*labels, *numbers, *groups))))
        while (batch := self._guarded(next, batches, None)) is not None:
            frame = nw.from_native(pyarrow.Table.from_batches([batch]))
            seen += batch.num_rows
            yield self._columns(frame, labels, numbers, groups), self.size * seen // rows

    def _column_names(self) -> list[str]:
        if self.library == "polars":
            import narwhals.stable.v2 as nw

            return nw.scan_parquet(str(self.path), backend="polars", glob=False).collect_schema().names()
        import pyarrow.parquet

        return list(pyarrow.parquet.read_schema(self.path).names)

    def whole(self) -> Any:
        """Every column, as a frame of the library that reads it."""
        return self._guarded(self._frame, list(self.names)).to_native()

    def _frame(self, columns: list[str]) -> Any:
        import narwhals.stable.v2 as nw

        options = {"glob": False} if self.library == "polars" else {}
        return nw.read_parquet(str(self.path), backend=self.library, columns=columns, **options)  # type: ignore[arg-type]  # one of two names

    def _guarded(self, step: Any, *arguments: Any) -> Any:
        try:
            return step(*arguments)
        except Exception as reason:  # each library has errors of its own for a damaged file
            said = str(reason).strip().partition("\n")[0]
            raise InputError(
                f"{self.name} cannot be read as Parquet; it may be truncated. {self.library}: {said}"
            ) from reason


def _parquet_library(name: str) -> str:
    for library in ("polars", "pyarrow"):
        try:
            __import__(library if library == "polars" else "pyarrow.parquet")
        except ImportError:
            continue
        return library
    raise MissingLibraryError(
        f"{name} is Parquet, which needs Polars or pyarrow: `pip install polars` (or `pip install 'trueness[files]'`)."
    )


def _series_numbers(series: Any, name: str, source: str) -> NDArray[Any]:
    import narwhals.stable.v2 as nw

    if series.null_count() == len(series) > 0:
        return np.full(len(series), np.nan)
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise InputError(f"{source}: column {name!r} must hold numbers; it holds {series.dtype}.")
    if series.null_count() or series.dtype in (nw.Decimal, nw.Boolean):
        return np.asarray(series.cast(nw.Float64).fill_null(float("nan")).to_numpy())
    return np.asarray(series.to_numpy())


def _series_labels(series: Any, name: str, source: str) -> NDArray[Any]:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype.is_numeric():
        return _series_numbers(series, name, source)
    if dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    elif dtype not in (nw.String, nw.Boolean) and series.null_count() < len(series):
        raise InputError(
            f"{source}: column {name!r} must hold labels: 0/1, true/false, integers or text; it holds {dtype}."
        )
    values = np.array(series.to_list(), dtype=object)
    return values.astype(bool) if dtype == nw.Boolean and not series.null_count() else values


def _series_groups(series: Any, name: str, source: str) -> NDArray[Any]:
    """As labels are, but without a float in between: it has no room for the last digits of a long number."""
    import narwhals.stable.v2 as nw

    if series.dtype == nw.Decimal:
        return np.array([None if v is None else str(v) for v in series.to_list()], dtype=object)
    if series.dtype.is_integer() and series.null_count():
        return np.array(series.to_list(), dtype=object)
    if series.dtype == nw.Date:
        return np.array([None if v is None else v.isoformat() for v in series.to_list()], dtype=object)
    if series.dtype == nw.Datetime:
        zone = "Z" if series.dtype.time_zone else ""
        moments = series.dt.timestamp("ns").to_list()
        return np.array([None if v is None else f"{_moment(v)}{zone}" for v in moments], dtype=object)
    return _series_labels(series, name, source)


def _moment(nanoseconds: int) -> str:
    """A time as ISO 8601 writes it; not by `datetime`, which cuts off what is less than a microsecond.

    Examples
    --------
    >>> _moment(1_600_000_000_500_000_000)
    '2020-09-13T12:26:40.5'
    """
    seconds, rest = divmod(nanoseconds, 10**9)
    return str(np.datetime64(seconds, "s")) + (f".{rest:09d}".rstrip("0") if rest else "")


class ArraysFile(Source):
    """An npz archive: one array per column, or a matrix of scores under one name. Nothing in it is executed."""

    binary = True

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
        except (zipfile.BadZipFile, OSError) as reason:
            raise InputError(f"{name} cannot be read as npz; it may be truncated. {reason}") from reason
        if not members or not all(member.endswith(".npy") for member in members):
            raise InputError(f"{name} is a zip file, but not one of NumPy arrays (npz).")
        self.names = tuple(member.removesuffix(".npy") for member in members)

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read the arrays; those not asked for stay packed."""
        values = {name: _numeric(_flat(self.array(name)), name, self.name) for name in numbers}
        texts = {name: _text_of(_flat(self.array(name))) for name in dict.fromkeys((*labels, *groups))}
        return Columns({name: texts[name] for name in labels}, values, {name: texts[name] for name in groups})

    def array(self, name: str) -> NDArray[Any]:
        """One array as it is stored."""
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return np.asarray(archive[name])
        except Exception as reason:  # damaged archives raise a dozen kinds, of zlib, of NumPy and of the system
            _refuse_array(self.name, f"array {name!r}", reason)


class ArrayFile(Source):
    """An npy file: the fields of a structured array, or the columns of a matrix, named '0', '1', …."""

    binary = True

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        try:
            self.table = np.load(path, allow_pickle=False, mmap_mode="r")
        except (ValueError, OSError, EOFError) as reason:
            _refuse_array(name, "the array", reason)
        if self.table.dtype.names:
            self.names = self.table.dtype.names
        elif self.table.ndim == 2:
            self.names = tuple(str(i) for i in range(self.table.shape[1]))
        else:
            raise InputError(
                f"{name} must hold a table: a matrix or a structured array; got shape {self.table.shape}. "
                "Labels and scores kept apart go into one npz: `np.savez(path, y=…, p=…)`."
            )

    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read the columns from the mapped file."""
        values = {name: _numeric(self._column(name), name, self.name) for name in numbers}
        texts = {name: _text_of(self._column(name)) for name in dict.fromkeys((*labels, *groups))}
        return Columns({name: texts[name] for name in labels}, values, {name: texts[name] for name in groups})

    def _column(self, name: str) -> NDArray[Any]:
        return _flat(np.array(self.table[name] if self.table.dtype.names else self.table[:, int(name)]))


def _refuse_array(source: str, what: str, reason: Exception) -> NoReturn:
    if "allow_pickle" in str(reason) or "Python objects" in str(reason):
        said = "it holds Python objects, which are not loaded because loading can run code. Save numbers or text."
    else:
        said = f"it may be truncated. {reason}"
    raise InputError(f"{source}: {what} cannot be read; {said}") from reason


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """A matrix of one column is that column."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _numeric(array: NDArray[Any], name: str, source: str) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise InputError(f"{source}: {name!r} must hold numbers; it holds {array.dtype}.")
    return array


def _text_of(array: NDArray[Any]) -> NDArray[Any]:
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
