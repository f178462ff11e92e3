"""What every record can do."""

from dataclasses import fields
from typing import Any

__all__ = ["Record"]


class Record:
    """A frozen dataclass that can be turned into plain Python."""

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, arrays as lists: ready for JSON (undefined numbers are nan)."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]  # subclasses are dataclasses


def plain(value: Any) -> Any:
    """NumPy's types as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
