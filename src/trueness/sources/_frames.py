"""Frames, relations and paths as frames that narwhals can query.

Text and JSON lines are read as the command line reads them, batch by batch. Polars demands one schema of all Parquet
files; those of another schema are read separately and put together. DuckDB fills in columns that a file lacks, and
takes names in any case; so the columns of each file are checked first.
"""

import glob
import itertools
import math
import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from trueness._input.columns import is_decimal, is_missing, numbers_of
from trueness.errors import InputError, MissingLibraryError
from trueness.sources._compression import inner_suffix
from trueness.sources._files import as_text, open_file
from trueness.sources._json_lines import JsonLinesFile
from trueness.sources._question import Question, absent_column, column_error, refuse_repeated
from trueness.sources._table import Table

PathEngine: TypeAlias = Literal["auto", "polars", "duckdb"]

_PARQUET = (".parquet", ".pq", ".parq")
_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")
_ARROW = (".arrow", ".feather", ".ipc")


def open_frame(source: Any, question: Question, engine: PathEngine) -> Any:
    """A narwhals frame, lazy unless the source is in memory."""
    if engine not in ("auto", "polars", "duckdb"):
        raise InputError("engine", "must be 'auto', 'polars' or 'duckdb'", f"got {engine!r}")
    several = source if isinstance(source, list | tuple) else [source]
    if several and all(isinstance(part, str | os.PathLike) for part in several):
        return nw.from_native(_scan_files([os.fspath(part) for part in several], question, engine))
    if engine != "auto":
        raise InputError("engine", "is only for paths", f"this source is a {type(source).__name__}, which has its own")
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise InputError(
            "source",
            "must be a frame or relation that narwhals reads (Polars, DuckDB, PySpark, Dask, Ibis, "
            "pandas, PyArrow, …), or a path of Parquet, Arrow IPC, CSV, TSV or JSON lines",
            f"got {type(source).__name__}",
        ) from None
    except nw.exceptions.DuplicateError:
        raise InputError("source", "must have columns of different names", "some have the same") from None
    return _without_objects(frame, question)


def _without_objects(frame: Any, question: Question) -> Any:
    """A frame in memory whose Decimals, or floats among objects, are columns of numbers."""
    numbers = dict.fromkeys(question.scores, "prob") | {question.label: "label"}
    numbers |= {} if question.weight is None else {question.weight: "weight"}
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_pyarrow():
        return nw.from_native(_without_decimals(frame.to_native(), set(numbers)))
    if not isinstance(frame, nw.DataFrame) or not frame.implementation.is_pandas_like():
        return frame
    schema = frame.collect_schema()
    converted = []
    for name, argument in numbers.items():
        kind = str(schema.get(name))
        if kind == "Unknown":
            dtype = frame.get_column(name).to_native().dtype
            if getattr(dtype, "kind", "O") not in "biuf":
                raise column_error(argument, name, "must hold numbers", f"its type is {dtype}")
        elif kind == "Object" and (argument != "label" or _are_numbers(frame.get_column(name))):
            found = numbers_of(frame.get_column(name).to_numpy(), f"{argument}` column `{name}")
            values = found.values if found.missing is None else np.where(found.missing, np.nan, found.values)
            converted.append(nw.new_series(name, values, nw.Float64, backend=frame.implementation))
    for name in question.by:
        entries = frame.get_column(name).to_list() if str(schema.get(name)) == "Object" else []
        for entry in entries:
            if not isinstance(entry, Hashable):
                raise column_error("by", name, "must hold single values", f"it holds a {type(entry).__name__}")
    return frame.with_columns(*converted) if converted else frame


def _without_decimals(table: Any, numbers: set[str]) -> Any:
    """The nearest float of each decimal: Arrow's own cast is one off in the last digit for a third of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema):
        if field.name in numbers and pa.types.is_decimal(field.type):
            text = pc.cast(table.column(i), pa.string())
            table = table.set_column(i, field.name, pc.cast(text, pa.float64()))
    return table


def _are_numbers(series: Any) -> bool:
    """Whether labels are Decimals or floats; booleans with gaps stay booleans."""
    entries = [entry for entry in series.to_list() if not is_missing(entry)]
    return bool(entries) and all(
        is_decimal(e) or (isinstance(e, int | float) and not isinstance(e, bool)) for e in entries
    )


def _scan_files(paths: list[str], question: Question, engine: PathEngine) -> Any:
    files = _local_files(paths)
    suffixes = {inner_suffix(file) for file in files}
    if len(suffixes) > 1:
        raise InputError("source", "must name files of one type", f"got {', '.join(sorted(suffixes))}")
    (suffix,) = suffixes
    if suffix not in (*_PARQUET, *_TEXT, *_JSON_LINES, *_ARROW):
        demand = "as a path must end in .parquet, .pq, .arrow, .csv, .tsv or .jsonl (text also compressed)"
        raise InputError("source", demand, f"got {paths[0]!r}")
    polars = _library(engine) == "polars"
    if not polars and suffix not in (*_PARQUET, *_TEXT):
        raise InputError("engine", "must be 'polars' for such files", f"DuckDB reads Parquet and CSV, not {paths[0]!r}")
    if suffix in _PARQUET:
        return (_polars_parquet if polars else _duckdb_parquet)(files, question)
    numbers = {*question.scores, *([question.weight] if question.weight is not None else [])}
    # A group is the text of its cell: 007 and 7 are two groups, and later cells may not be numbers.
    texts = {*question.by} - {question.label}
    if any(isinstance(label, str) for label in question.labels or (question.pos_label,)):
        texts.add(question.label)
    types = dict.fromkeys(numbers, "number") | dict.fromkeys(texts - numbers, "text")
    if suffix in _ARROW:
        import polars as pl

        return pl.scan_ipc(files, glob=any(map(_is_remote, files)))
    return (_polars_text if polars else _duckdb_text)(files, _TEXT.get(suffix, ","), question, types)


def columns_of_numbers(source: Any, names: Sequence[str]) -> list[bool]:
    """For each column, whether files of JSON lines hold numbers in it, which are read as text."""
    several = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(several, list | tuple) or not all(isinstance(part, str | os.PathLike) for part in several):
        return [False] * len(names)
    tables = [open_file(Path(file), file) for file in _local_files(map(os.fspath, several)) if _is_json_lines(file)]
    known = [[table.holds_numbers(name) for table in tables if isinstance(table, JsonLinesFile)] for name in names]
    return [True in column and False not in column for column in known]


def _is_json_lines(file: str) -> bool:
    return inner_suffix(file) in _JSON_LINES and not _is_remote(file)


def _library(engine: PathEngine) -> str:
    names = ("polars", "duckdb") if engine == "auto" else (engine,)
    for name in names:
        if find_spec(name) is not None:
            return name
    raise MissingLibraryError(
        f"`trueness.scan` of a path needs {' or '.join(names)}, which is not installed: "
        f"`pip install 'trueness[{'cli' if names[0] == 'polars' else 'duckdb'}]'`."
    )


def _is_remote(path: str) -> bool:
    """Whether the path has a scheme, so that only the engine knows what it names."""
    return "://" in path


def _local_files(paths: Iterable[str]) -> list[str]:
    """The files that paths and patterns name. A file of that very name takes precedence over a pattern."""
    files: list[str] = []
    for path in paths:
        if _is_remote(path) or Path(path).is_file():
            files.append(path)
            continue
        if Path(path).is_dir():
            pattern = str(Path(path, "*.parquet"))
            raise InputError("", f"`source` {path!r} is a folder; name its files, as in {pattern!r}")
        matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # a pattern may be absolute
        matches = [name for name in matches if Path(name).is_file()]
        if not matches:
            raise InputError("", f"`source` {path!r} names no file")
        files += matches
    return files


def _header(path: str, separator: str) -> list[str] | None:
    """The names in the first line of a text file; None if only the engine can decompress it."""
    try:
        return list(open_file(Path(path), path, separator, "csv").names)
    except MissingLibraryError:
        return None


def _refuse_absent(names_of: dict[str, Any], question: Question, *, folders: bool = True) -> None:
    """Refuse a column that a file lacks: readers would stop, or fill it in. A folder named day=mon is a column, too."""
    for path, names in names_of.items():
        for argument, name in question.named:
            if name not in names and not (folders and f"{name}=" in path):
                raise absent_column(argument, f"{name!r} in {path!r}", names)


def _polars_parquet(files: list[str], question: Question) -> Any:
    import polars as pl

    if len(files) == 1 or any(map(_is_remote, files)):
        return pl.scan_parquet(files, glob=any(map(_is_remote, files)))
    schemas = {file: dict(pl.read_parquet_schema(file)) for file in files}
    alike: dict[Any, list[str]] = {}
    for file in files:
        alike.setdefault(tuple(schemas[file].items()), []).append(file)
    if len(alike) == 1:
        return pl.scan_parquet(files, glob=False)
    _refuse_absent(schemas, question)
    return _concatenate([(few[0], pl.scan_parquet(few, glob=False)) for few in alike.values()], question)


def _polars_text(files: list[str], separator: str, question: Question, types: dict[str, str]) -> Any:
    """Text and JSON lines as a lazy frame, which the reader of :mod:`trueness.sources._files` fills batch by batch."""
    import polars as pl
    from polars.io.plugins import register_io_source

    if any(map(_is_remote, files)):
        known: dict[str, Any] = {name: pl.Float64 if kind == "number" else pl.String for name, kind in types.items()}
        return pl.scan_csv(files, separator=separator, schema_overrides=known, infer_schema_length=10_000)
    tables = [open_file(Path(file), file) for file in files]
    for table in tables:
        refuse_repeated(table.names, question, repr(table.name))
    _refuse_absent({table.name: table.names for table in tables}, question, folders=False)
    kinds = {name: types.get(name, "label") for _, name in question.named}
    schema: dict[str, Any] = {name: pl.Float64 if kind == "number" else pl.String for name, kind in kinds.items()}
    if kinds[question.label] == "label":
        schema[question.label] = _label_type(tables, question.label)

    def frames(columns: Any, predicate: Any, n_rows: Any, _: Any) -> Iterator[Any]:
        wanted = {name: kinds[name] for name in (kinds if columns is None else columns)}
        left = math.inf if n_rows is None else n_rows
        for frame in itertools.chain.from_iterable(_frames_of_table(table, wanted, schema) for table in tables):
            rows = frame if predicate is None else frame.filter(predicate)
            yield rows if rows.height <= left else rows.head(left)
            left -= rows.height
            if left <= 0:
                return

    return register_io_source(frames, schema=schema)


def _label_type(tables: list[Table], label: str) -> Any:
    """The type of the labels in the first file that has rows."""
    import polars as pl

    first = (next(table.batches([label], []), None) for table in tables)
    labels = next((batch[0].labels[label] for batch in first if batch is not None), np.zeros(0))
    if labels.dtype.kind == "O":
        return pl.Boolean if any(isinstance(value, bool) for value in labels) else pl.String
    return pl.Boolean if labels.dtype.kind == "b" else pl.Float64


def _frames_of_table(table: Table, kinds: dict[str, str], schema: dict[str, Any]) -> Iterator[Any]:
    import polars as pl

    def names_of(kind: str) -> list[str]:
        return [name for name, known in kinds.items() if known == kind]

    for columns, _ in table.batches(names_of("label"), names_of("number"), names_of("text")):
        arrays = {**columns.labels, **columns.numbers, **{name: as_text(v) for name, v in columns.groups.items()}}
        try:
            values = {name: v.tolist() if v.dtype.kind == "O" else v for name, v in arrays.items()}
            yield pl.DataFrame([pl.Series(name, values[name], schema[name]) for name in kinds])
        except (TypeError, pl.exceptions.PolarsError) as reason:
            (label,) = names_of("label")
            demand = f"column {label!r} must hold labels of one type"
            raise InputError("", demand, str(reason).partition("\n")[0], context=table.name) from reason


def _concatenate(frames: list[tuple[str, Any]], question: Question) -> Any:
    """The columns of the question, of one type each."""
    import polars as pl

    schemas = [(file, frame.collect_schema()) for file, frame in frames]
    types = {name: _common_type(schemas, name, argument) for argument, name in question.named}
    parts = []
    for (_, frame), (_, schema) in zip(frames, schemas, strict=True):
        places = {name: i for i, name in enumerate(schema.names())}
        parts.append(frame.select(*[pl.nth(places[name]).cast(dtype).alias(name) for name, dtype in types.items()]))
    return pl.concat(parts, how="vertical")


def _common_type(schemas: list[tuple[str, Any]], name: str, argument: str) -> Any:
    """A type that holds the values of a column in every file as they are."""
    import polars as pl

    found = [(file, schema[name]) for file, schema in schemas if schema[name] != pl.Null]
    kinds = {dtype for _, dtype in found}
    if len(kinds) <= 1:
        return found[0][1] if found else pl.Null
    if all(dtype.is_integer() for dtype in kinds):
        return pl.Int64
    if all(dtype.is_numeric() or (dtype == pl.Boolean and argument != "by") for dtype in kinds):
        return pl.Float64
    if all(dtype in (pl.String, pl.Categorical, pl.Enum) for dtype in kinds):
        return pl.String
    (file, dtype), (other_file, other) = found[0], next(pair for pair in found if pair[1] != found[0][1])
    got = f"it is {dtype} in {file!r} and {other} in {other_file!r}"
    raise column_error(argument, name, "must have one type in all files", got)


def _duckdb(files: list[str]) -> tuple[Any, list[str]]:
    """A connection, and the paths as it takes them literally, not as patterns."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")  # order means nothing here, and keeping it takes memory
    return connection, [file if _is_remote(file) else glob.escape(file) for file in files]


def _duckdb_parquet(files: list[str], question: Question) -> Any:
    connection, paths = _duckdb(files)
    if len(files) > 1 and not any(map(_is_remote, files)):
        names: dict[str, list[str]] = {}
        for file, name in connection.execute("SELECT file_name, name FROM parquet_schema(?)", [paths]).fetchall():
            names.setdefault(file, []).append(name)
        _refuse_absent({file: columns[1:] for file, columns in names.items()}, question)  # the first is the root
    return connection.read_parquet(paths, union_by_name=True)  # else later files are cast to the types of the first


def _duckdb_text(files: list[str], separator: str, question: Question, types: dict[str, str]) -> Any:
    connection, paths = _duckdb(files)
    headers = {file: None if _is_remote(file) else _header(file, separator) for file in files}
    local = {file: header for file, header in headers.items() if header is not None}
    for file, header in local.items():
        refuse_repeated(header, question, repr(file))
    _refuse_absent(local, question)
    options: dict[str, Any] = {"sep": separator, "header": True, "union_by_name": True}
    as_text = connection.read_csv(paths, all_varchar=True, **options)
    dtypes = {"number": "DOUBLE", "text": "VARCHAR"}
    known = {name: dtypes[types[name]] for name in as_text.columns if name in types}
    rows = connection.read_csv(paths, dtype=known, sample_size=100_000, **options)
    if question.label in as_text.columns and _are_words(rows, as_text, question.label):
        known[question.label] = "VARCHAR"
        return connection.read_csv(paths, dtype=known, sample_size=100_000, **options)
    return rows


def _are_words(rows: Any, as_text: Any, name: str) -> bool:
    """Whether DuckDB took labels such as yes and no for booleans, which would decide which of them is the event."""
    import duckdb

    if rows.types[rows.columns.index(name)] != "BOOLEAN":
        return False
    some = as_text.select(duckdb.ColumnExpression(name)).limit(1000).fetchall()
    return any(label is not None and label.strip().lower() not in ("true", "false") for (label,) in some)
