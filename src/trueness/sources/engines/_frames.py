"""Frames, relations and paths as frames that narwhals can query.

Polars reads files as the command line does. DuckDB fills in columns that a file lacks, and takes
names in any case; so the columns of each file are checked first.
"""

import glob
import os
from collections.abc import Hashable
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from trueness._input.arguments import checked_word, is_real
from trueness._input.columns import is_decimal, is_missing, numbers_of
from trueness.errors import InputError, MissingLibraryError
from trueness.sources.engines._question import (
    Question,
    absent_column,
    column_error,
    refuse_repeated,
)
from trueness.sources.tables._files import (
    SEPARATORS,
    expand_paths,
    inner_suffix,
    open_table,
    partition_of,
)
from trueness.sources.tables._table import (
    ArrowFile,
    ConcatenatedTable,
    ParquetFile,
    PartitionedTable,
    PolarsTable,
)
from trueness.sources.tables._text import CsvFile, JsonLinesFile

PathEngine: TypeAlias = Literal["auto", "polars", "duckdb"]
# The process in which Polars has started its threads, also as a fork remembers it.
_started_in: set[int] = set()


def _need_polars() -> None:
    """Raise where Polars would wait for ever: a fork lacks the threads started before it."""
    if _started_in - {os.getpid()}:
        remedy = (
            "Start processes with `multiprocessing.get_context('spawn')`, or scan with "
            "`engine='duckdb'`."
        )
        demand = "Polars cannot be used in a forked process once its parent has used it"
        raise InputError("", demand, "the parent has scanned rows with it", remedy=remedy)
    _started_in.add(os.getpid())


def open_frame(source: Any, question: Question, engine: PathEngine, stack: ExitStack) -> Any:
    """A narwhals frame, lazy unless the source is in memory.

    What is unpacked is removed at the end of the stack.
    """
    checked_word(engine, "engine", ("auto", "polars", "duckdb"))
    several = source if isinstance(source, list | tuple) else [source]
    if several and all(isinstance(part, str | os.PathLike) for part in several):
        return nw.from_native(
            _scan_files([os.fspath(part) for part in several], question, engine, stack)
        )
    if engine != "auto":
        raise InputError(
            "engine",
            "is only for paths",
            f"this source is a {type(source).__name__}, which has its own",
        )
    try:
        frame = nw.from_native(source)
    except TypeError:
        frames = (
            "a frame or relation that narwhals reads (Polars, DuckDB, PySpark, Dask, Ibis, "
            "pandas, PyArrow, …)"
        )
        demand = f"must be {frames}, or a path of Parquet, Arrow IPC, CSV, TSV or JSON lines"
        raise InputError("source", demand, f"got {type(source).__name__}") from None
    except nw.exceptions.DuplicateError:
        raise InputError(
            "source", "must have columns of different names", "some have the same"
        ) from None
    if frame.implementation.is_polars():
        _need_polars()
    return _without_objects(frame, question)


def _without_objects(frame: Any, question: Question) -> Any:
    """A frame in memory whose Decimals, or floats among objects, are columns of numbers."""
    if not isinstance(frame, nw.DataFrame):
        return frame
    numbers = {
        name: argument
        for argument in ("prob", "label", "weight")
        for name in question.columns[argument]
    }
    if frame.implementation.is_pyarrow():
        return nw.from_native(_without_decimals(frame.to_native(), set(numbers)))
    if not frame.implementation.is_pandas_like():
        return frame
    types = {name: str(dtype) for name, dtype in frame.collect_schema().items()}
    converted = []
    for name, argument in numbers.items():
        column = frame.get_column(name) if name in types else None
        if types.get(name) == "Unknown":
            _refuse_other_types(column, name, argument)
        elif types.get(name) == "Object" and (argument != "label" or _are_numbers(column)):
            values = _numbers_of_objects(column, name, argument)
            converted.append(nw.new_series(name, values, nw.Float64, backend=frame.implementation))
    for name in question.by:
        if types.get(name) == "Object":
            _refuse_unhashable(frame.get_column(name), name)
    if converted:
        return frame.with_columns(*converted)
    return frame


def _refuse_other_types(column: Any, name: str, argument: str) -> None:
    """Refuse a column of a type that narwhals does not know, unless NumPy knows its numbers."""
    dtype = column.to_native().dtype
    if getattr(dtype, "kind", "O") not in "biuf":
        raise column_error(argument, name, "must hold numbers", f"its type is {dtype}")


def _numbers_of_objects(column: Any, name: str, argument: str) -> Any:
    numbers = numbers_of(column.to_numpy(), f"{argument}` column `{name}")
    if numbers.missing is None:
        return numbers.values
    return np.where(numbers.missing, np.nan, numbers.values)


def _refuse_unhashable(column: Any, name: str) -> None:
    for entry in column.to_list():
        if not isinstance(entry, Hashable):
            got = f"it holds a {type(entry).__name__}"
            raise column_error("by", name, "must hold single values", got)


def _without_decimals(table: Any, numbers: set[str]) -> Any:
    """The nearest float of each decimal.

    Arrow's own cast is one off in the last digit for a third of them.
    """
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
    return bool(entries) and all(is_decimal(entry) or is_real(entry) for entry in entries)


def _scan_files(paths: list[str], question: Question, engine: PathEngine, stack: ExitStack) -> Any:
    """A lazy frame of files, by Polars or DuckDB.

    DuckDB reads Parquet, or CSV; files of other formats are refused there.
    """
    files = list(expand_paths(paths, folders=True))
    if _library(engine) == "polars":
        _need_polars()
        # Only the engine knows what a path with a scheme names.
        remote = any("://" in file for file in files)
        if remote:
            return _polars_remote(files, question)
        return _polars_files(files, question, stack)
    suffixes = {inner_suffix(file) for file in files}
    if suffixes <= {*ParquetFile.suffixes}:
        return _duckdb_parquet(files, question)
    if len(suffixes) > 1 or not suffixes <= {*CsvFile.suffixes}:
        got = f"DuckDB reads Parquet or CSV, not {', '.join(sorted(suffixes))}"
        raise InputError("engine", "must be 'polars' for such files", got)
    return _duckdb_text(files, question)


def _kinds(question: Question) -> dict[str, str]:
    """How the columns of a text file are read."""
    # A group is the text of its cell: 007 and 7 are two groups. So is a label that is compared with
    # text.
    compared_with = question.labels or (question.pos_label,)
    is_text = any(isinstance(value, str) for value in compared_with)
    kinds = {
        "by": "group",
        "cluster": "group",
        "label": "group" if is_text else "label",
        "prob": "number",
        "weight": "number",
    }
    return {name: kind for argument, kind in kinds.items() for name in question.columns[argument]}


def _library(engine: PathEngine) -> str:
    """The name of the library that reads paths; an error if it is not installed."""
    names = ("polars", "duckdb") if engine == "auto" else (engine,)
    for name in filter(find_spec, names):
        return name
    extra = "cli" if names[0] == "polars" else "duckdb"
    command = f"`pip install 'trueness[{extra}]'`"
    raise MissingLibraryError(
        f"`trueness.scan` of a path needs {' or '.join(names)}, which is not installed: {command}."
    )


def _check_names(names_of: dict[str, Any], question: Question) -> None:
    """Refuse a column that a file lacks: readers would stop, or fill it in."""
    for path, names in names_of.items():
        for argument, name in question.named:
            if name not in names:
                raise absent_column(argument, f"{name!r} in {path!r}", names)


def _polars_remote(files: list[str], question: Question) -> Any:
    """A lazy frame of files at addresses, in the format that the first name ends with.

    Scores and weights of text files are read as numbers, groups as text.
    """
    import polars as pl

    suffix = inner_suffix(files[0])
    if suffix in (*ParquetFile.suffixes, *ArrowFile.suffixes):
        scan = pl.scan_parquet if suffix in ParquetFile.suffixes else pl.scan_ipc
        return scan(files)
    types: dict[str, Any] = {"number": pl.Float64, "group": pl.String}
    dtypes = {name: types[kind] for name, kind in _kinds(question).items() if kind in types}
    if suffix in JsonLinesFile.suffixes:
        return pl.scan_ndjson(files, schema_overrides=dtypes, infer_schema_length=10_000)
    return pl.scan_csv(
        files,
        separator=SEPARATORS.get(suffix, ","),
        schema_overrides=dtypes,
        infer_schema_length=10_000,
    )


def _polars_files(files: list[str], question: Question, stack: ExitStack) -> Any:
    """Files of any format that Polars parses, as the command line reads them."""
    import polars as pl

    tables = [open_table(file, stack) for file in files]
    for table in tables:
        if not isinstance(table, PolarsTable):
            demand = (
                "as a path must name Parquet, Arrow IPC, CSV, TSV or JSON lines (text also "
                "compressed)"
            )
            raise InputError("source", demand, f"{table.name!r} is {table.format}")
    tables = [_with_partition(table, file) for table, file in zip(tables, files, strict=True)]
    _check_names({table.name: table.names for table in tables}, question)
    kinds = _kinds(question)
    names = [
        [name for name, own_kind in kinds.items() if own_kind == kind]
        for kind in ("label", "number", "group")
    ]
    lazy = (tables[0] if len(tables) == 1 else ConcatenatedTable(tables)).lazy(*names)
    columns = {name: pl.col(f"{kind} {name}") for name, kind in kinds.items()}
    typed = [table.types for table in tables if isinstance(table, JsonLinesFile)]
    for name in names[2] if len(typed) == len(tables) else ():
        if all(types[name] == {int} for types in typed):
            columns[name] = columns[name].cast(pl.Int64)
    return lazy.select(column.alias(name) for name, column in columns.items())


def _with_partition(table: Any, file: str) -> Any:
    """The table with the columns that its folders name."""
    values = partition_of(file)
    return PartitionedTable(table, values) if values else table


def _duckdb(files: list[str]) -> tuple[Any, list[str]]:
    """A connection, and the paths as it takes them literally, not as patterns."""
    import duckdb

    connection = duckdb.connect()
    # Order means nothing here, and keeping it takes memory.
    connection.execute("SET preserve_insertion_order = false")
    return connection, [file if "://" in file else glob.escape(file) for file in files]


def _duckdb_parquet(files: list[str], question: Question) -> Any:
    """A relation of Parquet files, whose columns are matched by name.

    Columns are checked before files are read, unless these lie at addresses. A group that is part
    of a path (`region=007`) is text.
    """
    connection, paths = _duckdb(files)
    if not any("://" in file for file in files):
        names: dict[str, list[str]] = {}
        for file, name in connection.execute(
            "SELECT file_name, name FROM parquet_schema(?)", [paths]
        ).fetchall():
            names.setdefault(file, []).append(name)
        # The first name is that of the root.
        of_files = {file: [*columns[1:], *partition_of(file)] for file, columns in names.items()}
        _check_names(of_files, question)
    # By name: else later files are cast to the types of the first.
    partitions = {name for file in files for name in partition_of(file)}
    groups = [name for name, kind in _kinds(question).items() if kind == "group"]
    text = [f"{_sql_text(name)}: VARCHAR" for name in groups if name in partitions]
    if not text:
        return connection.read_parquet(
            paths, union_by_name=True, hive_partitioning=bool(partitions)
        )
    # Groups are text, as for Polars; only the function of SQL has an option for it.
    sources = ", ".join(map(_sql_text, paths))
    options = "union_by_name = true, hive_partitioning = true"
    types = f"hive_types = {{{', '.join(text)}}}"
    return connection.sql(f"SELECT * FROM read_parquet([{sources}], {options}, {types})")


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _duckdb_text(files: list[str], question: Question) -> Any:
    """A relation of CSV files, whose columns are matched by name.

    Repeated and missing columns are refused. Labels of which DuckDB would make booleans, such as
    yes and no, are read as text instead.
    """
    connection, paths = _duckdb(files)
    separator = SEPARATORS.get(inner_suffix(files[0]), ",")
    names = {}
    for file, path in zip(files, paths, strict=True):  # DuckDB renames repeated names
        first = (
            connection.read_csv(path, sep=separator, header=False, all_varchar=True)
            .limit(1)
            .fetchall()
        )
        names[file] = [(cell or "").strip() for row in first for cell in row]
        refuse_repeated(names[file], question, repr(file))
    _check_names(names, question)
    options: dict[str, Any] = {"sep": separator, "header": True, "union_by_name": True}
    as_text = connection.read_csv(paths, all_varchar=True, **options)
    dtypes = {"number": "DOUBLE", "group": "VARCHAR"}
    kinds = {name: kind for name, kind in _kinds(question).items() if name in as_text.columns}
    read_as = {name: dtypes[kind] for name, kind in kinds.items() if kind in dtypes}
    rows = connection.read_csv(paths, dtype=read_as, sample_size=100_000, **options)
    dtypes = dict(zip(rows.columns, rows.types, strict=True))
    if dtypes.get(question.label) == "BOOLEAN":  # of yes and no it would decide which is the event
        labels = as_text.limit(1000).fetchnumpy()[question.label].tolist()
        if any(
            label is not None and label.strip().lower() not in ("true", "false") for label in labels
        ):
            read_as[question.label] = "VARCHAR"
            return connection.read_csv(paths, dtype=read_as, sample_size=100_000, **options)
    return rows
