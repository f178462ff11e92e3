"""A contender: how one library is asked for one number."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

Call = Callable[[], Any]


def _number(result: Any, _y: np.ndarray, _p: np.ndarray) -> float:
    return float(result)


@dataclass(frozen=True)
class Contender:
    """One library's way.

    `ready(y, p)` imports the library and puts the rows into the form it takes, which is not timed, and returns the
    call that is. `value(result, y, p)` reads the number out of what that call returned.
    """

    name: str
    package: str
    ready: Callable[[np.ndarray, np.ndarray], Call]
    value: Callable[[Any, np.ndarray, np.ndarray], float] = _number
    most_rows: int = 10**7
    is_peer: bool = True
    note: str = ""

    def version(self) -> str | None:
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None


@dataclass(frozen=True)
class Task:
    """One number, and everybody who is asked for it. Ratios are to the first contender."""

    name: str
    title: str
    contenders: tuple[Contender, ...]

    @property
    def baseline(self) -> Contender:
        return self.contenders[0]

    def contender(self, name: str) -> Contender:
        return next(c for c in self.contenders if c.name == name)
