"""The rows of a source with more columns, in its own format."""

import csv
import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from trueness.cli._files import ArrayFile, ArraysFile, ParquetFile
from trueness.cli._json_lines import JsonLinesFile
from trueness.cli._source import Source
from trueness.cli._text import TextFile
from trueness.errors import InputError

__all__ = ["SUFFIXES", "appended"]

New = Mapping[str, NDArray[Any]]


SUFFIXES: dict[type[Source], tuple[str, tuple[str, ...]]] = {
    TextFile: ("text", (".csv", ".tsv", ".tab", ".txt")),
    JsonLinesFile: ("JSON lines", (".jsonl", ".ndjson", ".jsonlines", ".json")),
    ParquetFile: ("Parquet", (".parquet", ".pq")),
    ArraysFile: ("npz", (".npz",)),
    ArrayFile: ("npy", (".npy",)),
}
"""What the format of a source is called, and how names of such files end."""


def appended(source: Source, new: New) -> Callable[[BinaryIO], None]:
    """What writes the rows with the new columns after the others."""
    writers: dict[type[Source], Callable[[Any, New, BinaryIO], None]] = {
        TextFile: _text,
        JsonLinesFile: _json_lines,
        ParquetFile: _parquet,
        ArraysFile: _arrays,
        ArrayFile: _array,
    }
    writer = writers[type(source)]
    return lambda file: writer(source, new, file)


def _text(source: TextFile, new: New, file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="", write_through=True)
    writer = csv.writer(text, delimiter=source.separator, lineterminator="\n")
    writer.writerow([*source.header, *new])
    columns = [column.tolist() for column in new.values()]
    for i, cells in enumerate(source.rows()):
        writer.writerow([*cells, *(_cell(column[i]) for column in columns)])
    text.detach()  # the file is closed by whoever opened it


def _cell(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def _json_lines(source: JsonLinesFile, new: New, file: BinaryIO) -> None:
    columns = {name: column.tolist() for name, column in new.items()}
    for i, (_, row) in enumerate(source.records()):
        more = {name: _null(column[i]) for name, column in columns.items()}
        file.write(json.dumps({**row, **more}, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")


def _null(value: Any) -> Any:
    if isinstance(value, list):
        return None if any(math.isnan(entry) for entry in value) else value
    return None if math.isnan(value) else value


def _parquet(source: ParquetFile, new: New, file: BinaryIO) -> None:
    native = source.whole()
    if source.library == "polars":
        import polars as pl

        gaps = [pl.Series(name, column).fill_nan(None) for name, column in new.items()]
        native.with_columns(gaps).write_parquet(file)
        return
    import pyarrow as pa
    import pyarrow.parquet

    for name, column in new.items():
        native = native.append_column(name, pa.array(column, from_pandas=True))
    pyarrow.parquet.write_table(native, file)


def _arrays(source: ArraysFile, new: New, file: BinaryIO) -> None:
    with zipfile.ZipFile(source.path) as archive:
        packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist())
    # Not `np.savez`: it has arguments of its own, which an array may be called like.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        for name in (*source.names, *new):
            array = source.array(name) if name in source.names else new[name]
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _array(source: ArrayFile, new: New, file: BinaryIO) -> None:
    table = source.table
    if table.dtype.names is None:
        np.save(file, np.column_stack([table, *new.values()]))
        return
    kinds = [(name, table.dtype[name]) for name in table.dtype.names] + [(name, np.dtype(np.float64)) for name in new]
    wider = np.empty(table.shape, dtype=kinds)
    for name in table.dtype.names:
        wider[name] = table[name]
    for name, column in new.items():
        if column.ndim != 1:
            raise InputError(f"{source.name}: a matrix of scores cannot become a field of a structured array.")
        wider[name] = column
    np.save(file, wider)
