"""What an engine says when it cannot read its rows, in this library's words."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trueness.errors import InputError

__all__ = ["readable"]

_HOMES = frozenset(
    ("polars", "duckdb", "_duckdb", "narwhals", "pyarrow", "pyspark", "py4j", "grpc", "dask", "distributed", "ibis")
)
_LINES, _LETTERS = 3, 300


@contextmanager
def readable(source: Any) -> Iterator[None]:
    """Turn what engines raise inside into an InputError that says what could not be read, and why."""
    try:
        yield
    except Exception as reason:  # engines have no class in common; what is not theirs goes on as it is
        if not _is_foreign(reason):
            raise
        raise InputError(f"`source` {_shown(source)} cannot be read: {_first_lines(reason)}") from reason


def _is_foreign(reason: Exception) -> bool:
    if isinstance(reason, OSError | NotImplementedError):
        return True
    return any(base.__module__.partition(".")[0] in _HOMES for base in type(reason).__mro__)


def _shown(source: Any) -> str:
    several = source if isinstance(source, list | tuple) and source else [source]
    if not isinstance(several[0], str | os.PathLike):
        return f"({type(source).__name__})"
    more = f" (or one of the {len(several) - 1} other files)" if len(several) > 1 else ""
    return repr(os.fspath(several[0])) + more


def _first_lines(reason: Exception) -> str:
    """The first lines: later ones repeat the options of a reader, or are the trace of another machine."""
    lines = [line.strip() for line in str(reason).splitlines() if line.strip()][:_LINES]
    while len(lines) > 1 and lines[-1].endswith(":"):  # what it announces does not come
        lines.pop()
    said = "; ".join(lines) or type(reason).__name__
    return said if len(said) <= _LETTERS else said[:_LETTERS] + "…"
