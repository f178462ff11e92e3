"""Files read by DuckDB, which fills in columns that a file lacks, and takes names in any case: both are looked at."""

from typing import Any

from trueness.sources._files import escaped, header_of, is_remote, refuse_absent, refuse_repeated
from trueness.sources._question import Question

__all__ = ["scan_parquet", "scan_text"]


def scan_parquet(files: list[str], question: Question) -> Any:
    """A relation of all rows."""
    connection = _connection()
    literal = [escaped(file) for file in files]
    if len(files) > 1 and not any(map(is_remote, files)):
        names: dict[str, list[str]] = {}
        told = connection.execute("SELECT file_name, name FROM parquet_schema(?)", [literal]).fetchall()
        for file, name in told:
            names.setdefault(file, []).append(name)
        refuse_absent({file: found[1:] for file, found in names.items()}, question)  # the first is the root
    return connection.read_parquet(literal, union_by_name=True)  # else later files are cast to the types of the first


def scan_text(files: list[str], separator: str, question: Question, texts: set[str], numbers: set[str]) -> Any:
    """A relation of all rows; `texts` and `numbers` are columns whose types are known beforehand."""
    connection = _connection()
    headers = {file: None if is_remote(file) else header_of(file, separator) for file in files}
    told = {file: header for file, header in headers.items() if header is not None}
    for file, header in told.items():
        refuse_repeated(header, question, file)
    # Blanks around a name are no part of it for DuckDB.
    trimmed = {file: dict.fromkeys([*header, *map(str.strip, header)]) for file, header in told.items()}
    refuse_absent(trimmed, question)
    literal: Any = [escaped(file) for file in files]
    options: dict[str, Any] = {"sep": separator, "header": True, "union_by_name": True}
    as_text = connection.read_csv(literal, all_varchar=True, **options)
    names = as_text.columns
    known = {name: "VARCHAR" for name in names if name in texts} | {name: "DOUBLE" for name in names if name in numbers}
    found = connection.read_csv(literal, dtype=known, sample_size=100_000, **options)
    if question.label in names and _are_words(found, as_text, question.label):
        known[question.label] = "VARCHAR"
        return connection.read_csv(literal, dtype=known, sample_size=100_000, **options)
    return found


def _are_words(found: Any, as_text: Any, name: str) -> bool:
    """Whether labels such as yes and no were taken for booleans, which would say which of them is the event."""
    import duckdb

    if found.types[found.columns.index(name)] != "BOOLEAN":
        return False
    some = as_text.select(duckdb.ColumnExpression(name)).limit(1000).fetchall()
    return any(label is not None and label.strip().lower() not in ("true", "false") for (label,) in some)


def _connection() -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")  # order means nothing here, and keeping it takes memory
    return connection
