"""The base of every record, and tables as frames."""

import importlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, TypeAlias

from trueness.errors import InputError, MissingLibraryError

FrameLibrary: TypeAlias = Literal["pandas", "polars", "pyarrow"]


class Record:
    """A frozen dataclass that converts to plain Python."""

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, ready for JSON: arrays as lists, records as dicts, undefined numbers as nan."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]  # subclasses are dataclasses


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def frame_of(columns: Mapping[str, Any], library: FrameLibrary, record: str) -> Any:
    """Columns as a pandas, Polars or PyArrow frame; `record` names the table in messages."""
    if library not in ("pandas", "polars", "pyarrow"):
        raise InputError("library", "must be 'pandas', 'polars' or 'pyarrow'", f"got {library!r}")
    import narwhals.stable.v2 as nw

    try:
        importlib.import_module(library)
    except ImportError as reason:
        raise MissingLibraryError(
            f"`{record}.to_frame({library!r})` needs {library}: `pip install {library}`."
        ) from reason
    return nw.from_dict(columns, backend=library).to_native()
