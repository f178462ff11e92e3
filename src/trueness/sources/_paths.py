"""Anything rows may lie in → a frame that narwhals can ask."""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from trueness.errors import InputError, MissingLibraryError
from trueness.sources import _duckdb_files, _polars_files
from trueness.sources._files import local_files
from trueness.sources._question import Question

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
        raise InputError("engine", "must be 'auto', 'polars' or 'duckdb'", f"got {engine!r}")
    if is_path(source):
        return nw.from_native(_of_files([os.fspath(p) for p in _several(source)], question, engine))
    if engine != "auto":
        raise InputError("engine", "is for paths", f"this source is a {type(source).__name__}, which has its own")
    try:
        return nw.from_native(source)
    except TypeError:
        raise InputError(
            "source",
            "must be a frame or relation that narwhals reads (Polars, DuckDB, PySpark, Dask, Ibis, "
            "pandas, PyArrow, …), or a path of Parquet or CSV",
            f"got {type(source).__name__}",
        ) from None
    except nw.exceptions.DuplicateError:
        raise InputError("source", "must have columns of different names", "some have the same") from None


def _several(source: Any) -> Iterable[Any]:
    return source if isinstance(source, list | tuple) else [source]


def _of_files(paths: list[str], question: Question, engine: PathEngine) -> Any:
    files = local_files(paths)
    suffixes = {_suffix(file) for file in files}
    if len(suffixes) > 1:
        raise InputError("source", "must name files of one type", f"got {', '.join(sorted(suffixes))}")
    (suffix,) = suffixes
    if suffix not in _PARQUET and suffix not in _TEXT:
        raise InputError(
            f"`source` as a path must end in .parquet, .pq, .csv or .tsv (text also .gz); got {paths[0]!r}."
        )
    reader: Any = _polars_files if _library(engine) == "polars" else _duckdb_files
    if suffix in _PARQUET:
        return reader.scan_parquet(files, question)
    numbers = {*question.scores, *([question.weight] if question.weight is not None else [])}
    # A group is what stands in the file: 007 and 7 are two, and what comes late may be text.
    texts = {*question.by} - {question.label}
    if any(isinstance(label, str) for label in question.labels or (question.pos_label,)):
        texts.add(question.label)
    return reader.scan_text(files, _TEXT[suffix], question, texts - numbers, numbers)


def _suffix(path: str) -> str:
    name = Path(path.lower())
    return Path(name.stem).suffix if name.suffix in _PACKED else name.suffix


def _library(engine: PathEngine) -> str:
    names = ("polars", "duckdb") if engine == "auto" else (engine,)
    for name in names:
        if find_spec(name) is not None:
            return name
    raise MissingLibraryError(
        f"`trueness.scan` of a path needs {' or '.join(names)}, which is not installed: "
        f"`pip install 'trueness[{'cli' if names[0] == 'polars' else 'duckdb'}]'`."
    )
