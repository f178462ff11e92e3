"""Where columns come from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["Columns", "Source"]


@dataclass(frozen=True)
class Columns:
    """What was read, by name. Missing is None among objects, nan among floats."""

    labels: Mapping[str, NDArray[Any]]
    """Columns of any type: labels, groups, clusters."""
    numbers: Mapping[str, NDArray[Any]]
    """Columns of numbers: scores, weights."""

    def every(self) -> list[NDArray[Any]]:
        """All columns, of both kinds."""
        return [*self.labels.values(), *self.numbers.values()]

    def at(self, rows: NDArray[Any]) -> "Columns":
        """Some of the rows."""
        return Columns(
            {name: values[rows] for name, values in self.labels.items()},
            {name: values[rows] for name, values in self.numbers.items()},
        )


class Source(ABC):
    """Named columns, of which only those asked for are read."""

    name: str
    """What messages call it."""
    names: tuple[str, ...]
    """The columns there are."""
    size: int = 0
    """Bytes on the disk, where that says how long reading takes."""

    binary: bool = False
    """Whether a terminal cannot show it."""

    @abstractmethod
    def read(self, labels: Sequence[str], numbers: Sequence[str]) -> Columns:
        """Read some columns of any type and some of numbers."""

    def pieces(self, labels: Sequence[str], numbers: Sequence[str]) -> Iterator[tuple[Columns, int]]:
        """The same, some rows at a time, each with the bytes read so far; all at once where a file cannot be cut."""
        yield self.read(labels, numbers), self.size
