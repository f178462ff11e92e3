"""Where columns come from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

__all__ = ["Columns", "Source"]


@dataclass(frozen=True)
class Columns:
    """What was read, by name. Missing is None among objects, nan among floats."""

    labels: Mapping[str, NDArray[Any]]
    """Columns of any type, as the library takes labels."""
    numbers: Mapping[str, NDArray[Any]]
    """Columns of numbers: scores, weights."""
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns that only tell rows apart, groups and clusters: two cells are equal only if they are so in the file."""

    def every(self) -> list[NDArray[Any]]:
        """All columns, of both kinds."""
        return [*self.labels.values(), *self.numbers.values(), *self.groups.values()]

    def at(self, rows: NDArray[Any]) -> "Columns":
        """Some of the rows."""
        return Columns(
            {name: values[rows] for name, values in self.labels.items()},
            {name: values[rows] for name, values in self.numbers.items()},
            {name: values[rows] for name, values in self.groups.items()},
        )


class Source(ABC):
    """Named columns, of which only those asked for are read."""

    name: str
    """What messages call it."""
    names: tuple[str, ...]
    """The columns there are."""
    size: int = 0
    """Bytes on the disk, where that says how long reading takes."""

    packing: str | None = None
    """What it is compressed with."""
    counts: str = ""
    """How many rows of how many files were read, if they are several."""
    binary: bool = False
    """Whether a terminal cannot show it."""

    def place(self, row: int) -> str:
        """Where a row is, in words."""
        return f"row {row:,}"

    @abstractmethod
    def read(self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()) -> Columns:
        """Read some columns of any type, some of numbers and some that tell rows apart."""

    def pieces(
        self, labels: Sequence[str], numbers: Sequence[str], groups: Sequence[str] = ()
    ) -> Iterator[tuple[Columns, int]]:
        """The same, some rows at a time, each with the bytes read so far; all at once where a file cannot be cut."""
        yield self.read(labels, numbers, groups), self.size
