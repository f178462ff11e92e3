"""Files read by Polars, which demands one schema of all: those of another are read apart and put together."""

from typing import Any

from trueness.errors import InputError
from trueness.sources._files import header_of, is_remote, refuse_absent, refuse_repeated
from trueness.sources._named import asked_columns
from trueness.sources._question import Question

__all__ = ["scan_parquet", "scan_text"]


def scan_parquet(files: list[str], question: Question) -> Any:
    """A lazy frame of all rows."""
    import polars as pl

    if len(files) == 1 or any(map(is_remote, files)):
        return pl.scan_parquet(files, glob=any(map(is_remote, files)))
    schemas = {file: dict(pl.read_parquet_schema(file)) for file in files}
    alike: dict[Any, list[str]] = {}
    for file in files:
        alike.setdefault(tuple(schemas[file].items()), []).append(file)
    if len(alike) == 1:
        return pl.scan_parquet(files, glob=False)
    refuse_absent(schemas, question)
    return _together([(few[0], pl.scan_parquet(few, glob=False)) for few in alike.values()], question)


def scan_text(files: list[str], separator: str, question: Question, texts: set[str], numbers: set[str]) -> Any:
    """A lazy frame of all rows; `texts` and `numbers` are columns whose types are known beforehand."""
    if any(map(is_remote, files)):
        return _text(files, separator, question, texts, numbers, pattern=True)
    headers = {file: header_of(file, separator) for file in files}
    files = _with_rows(files, separator)
    alike: dict[Any, list[str]] = {}
    for file in files:
        header = headers[file]
        refuse_repeated(header or [], question, file)
        alike.setdefault(None if header is None else tuple(header), []).append(file)
    if len(alike) == 1:
        return _text(files, separator, question, texts, numbers)
    refuse_absent({file: header for file, header in headers.items() if header is not None}, question)
    return _together([(few[0], _text(few, separator, question, texts, numbers)) for few in alike.values()], question)


def _with_rows(files: list[str], separator: str) -> list[str]:
    """The files that have rows, or else the first: of a header alone Polars takes every column for text."""
    import polars as pl

    def has_rows(file: str) -> bool:
        return pl.scan_csv(file, separator=separator, infer_schema_length=0, glob=False).head(1).collect().height > 0

    return ([file for file in files if has_rows(file)] if len(files) > 1 else files) or files[:1]


def _text(
    files: list[str],
    separator: str,
    question: Question,
    texts: set[str],
    numbers: set[str],
    *,
    pattern: bool = False,
) -> Any:
    import polars as pl

    names = pl.scan_csv(files, separator=separator, infer_schema_length=0, glob=pattern).collect_schema().names()
    known: Any = {name: pl.String for name in names if name in texts}
    # A column of scores may begin with whole numbers; it must not be taken for integers.
    known |= {name: pl.Float64 for name in names if name in numbers}
    options: Any = {"separator": separator, "infer_schema_length": 10_000, "glob": pattern}
    found = pl.scan_csv(files, schema_overrides=known, **options)
    label = found.collect_schema().get(question.label)
    if label is not None and label.is_integer():  # 0 and 1 may go on as 0.0 and 1.0
        return pl.scan_csv(files, schema_overrides=known | {question.label: pl.Float64}, **options)
    return found


def _together(frames: list[tuple[str, Any]], question: Question) -> Any:
    """The columns that are asked for, of one type each."""
    import polars as pl

    schemas = [(file, frame.collect_schema()) for file, frame in frames]
    asked = asked_columns(question)
    types = {name: _common(schemas, name, argument) for argument, names in asked.items() for name in names}
    parts = []
    for (_, frame), (_, schema) in zip(frames, schemas, strict=True):
        places = {name: i for i, name in enumerate(schema.names())}
        parts.append(frame.select(*[pl.nth(places[name]).cast(dtype).alias(name) for name, dtype in types.items()]))
    return pl.concat(parts, how="vertical")


def _common(schemas: list[tuple[str, Any]], name: str, argument: str) -> Any:
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
    other = next(pair for pair in found if pair[1] != found[0][1])
    raise InputError(
        f"`{argument}` column {name!r} must have one type in all files; it is {found[0][1]} in {found[0][0]!r} and "
        f"{other[1]} in {other[0]!r}."
    )
