"""The base of every record."""

from dataclasses import fields
from typing import Any


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
