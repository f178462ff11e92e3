"""Anything rows may lie in → a frame that narwhals can ask."""

import glob
import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from trueness.engines._question import Question
from trueness.errors import InputError, MissingLibraryError

__all__ = ["PathEngine", "is_path", "opened"]

PathEngine: TypeAlias = Literal["auto", "polars", "duckdb"]

_PARQUET = (".parquet", ".pq", ".parq")
_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PACKED = (".gz", ".zst")


def is_path(source: Any) -> bool:
    """Whether the source is a path, a pattern or a list of them."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(part, str | os.PathLike) for part in source)
    return isinstance(source, str | os.PathLike)


def opened(source: Any, question: Question, engine: PathEngine) -> Any:
    """A narwhals frame, lazy unless the source is in memory."""
    import narwhals.stable.v2 as nw

    if engine not in ("auto", "polars", "duckdb"):
        raise InputError(f"`engine` must be 'auto', 'polars' or 'duckdb'; got {engine!r}.")
    if is_path(source):
        return nw.from_native(_of_files([os.fspath(p) for p in _several(source)], question, engine))
    if engine != "auto":
        raise InputError(f"`engine` is for paths; this source is a {type(source).__name__}, which has its own.")
    try:
        return nw.from_native(source)
    except TypeError:
        raise InputError(
            "`source` must be a frame or relation that narwhals reads (Polars, DuckDB, PySpark, Dask, Ibis, pandas, "
            f"PyArrow, …), or a path of Parquet or CSV; got {type(source).__name__}."
        ) from None
    except nw.exceptions.DuplicateError:
        raise InputError("`source` must have columns of different names; some have the same.") from None


def _several(source: Any) -> Iterable[Any]:
    return source if isinstance(source, list | tuple) else [source]


def _of_files(paths: list[str], question: Question, engine: PathEngine) -> Any:
    suffixes = {_suffix(_checked(path)) for path in paths}
    if len(suffixes) > 1:
        raise InputError(f"`source` must name files of one type; got {', '.join(sorted(suffixes))}.")
    (suffix,) = suffixes
    if suffix not in _PARQUET and suffix not in _TEXT:
        raise InputError(
            f"`source` as a path must end in .parquet, .pq, .csv or .tsv (text also .gz); got {paths[0]!r}."
        )
    numbers = [*question.scores, *([question.weight] if question.weight else [])]
    return (_by_polars if _library(engine) == "polars" else _by_duckdb)(paths, suffix, numbers)


def _suffix(path: str) -> str:
    name = Path(path.lower())
    return Path(name.stem).suffix if name.suffix in _PACKED else name.suffix


def _checked(path: str) -> str:
    """The path, if it names a file that is there; what has a scheme is left to the engine."""
    if "://" in path or Path(path).is_file():
        return path
    if Path(path).is_dir():
        raise InputError(f"`source` {path!r} is a folder; name its files, as in {str(Path(path, '*.parquet'))!r}.")
    if not glob.glob(path, recursive=True):  # noqa: PTH207  # a pattern may be absolute
        raise InputError(f"`source` {path!r} names no file.")
    return path


def _library(engine: PathEngine) -> str:
    names = ("polars", "duckdb") if engine == "auto" else (engine,)
    for name in names:
        if find_spec(name) is not None:
            return name
    raise MissingLibraryError(
        f"`trueness.scan` of a path needs {' or '.join(names)}, which is not installed: "
        f"`pip install 'trueness[{'files' if names[0] == 'polars' else 'duckdb'}]'`."
    )


def _by_polars(paths: list[str], suffix: str, numbers: list[str]) -> Any:
    import polars as pl

    if suffix in _PARQUET:
        return pl.scan_parquet(paths)
    names = pl.scan_csv(paths, separator=_TEXT[suffix], infer_schema_length=0).collect_schema().names()
    # A column of scores may begin with whole numbers; it must not be taken for integers.
    wide: Any = {name: pl.Float64 for name in numbers if name in names}
    return pl.scan_csv(paths, separator=_TEXT[suffix], schema_overrides=wide, infer_schema_length=10_000)


def _by_duckdb(paths: Any, suffix: str, numbers: list[str]) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")  # order means nothing here, and keeping it takes memory
    if suffix in _PARQUET:
        return connection.read_parquet(paths, union_by_name=True)  # else later files are cast to the types of the first
    names = connection.read_csv(paths, sep=_TEXT[suffix], all_varchar=True, union_by_name=True).columns
    wide = {name: "DOUBLE" for name in numbers if name in names}
    return connection.read_csv(paths, sep=_TEXT[suffix], dtype=wide, sample_size=100_000, union_by_name=True)
