"""Where columns come from."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["Columns", "Source"]


@dataclass(frozen=True)
class Columns:
    """What was read: labels of any type, and numbers by name. Missing is None among objects, nan among floats."""

    label: NDArray[Any]
    numbers: Mapping[str, NDArray[Any]]


class Source(ABC):
    """Named columns, of which only those asked for are read."""

    name: str
    """What messages call it."""
    names: tuple[str, ...]
    """The columns there are."""

    @abstractmethod
    def read(self, label: str, numbers: Sequence[str]) -> Columns:
        """Read one column of labels and some of numbers."""
