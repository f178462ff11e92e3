"""Estimates pooled over imputed data sets."""

from collections.abc import Iterator
from dataclasses import dataclass

from trueness.results._inference import Estimate
from trueness.results._record import Table


@dataclass(frozen=True)
class Pooled(Table):
    """Estimates pooled over imputed data sets, by measure: ``pooled["slope"]``."""

    _columns = ("estimates",)

    names: tuple[str, ...]
    """The key of each measure."""
    estimates: tuple[Estimate, ...]
    """Its pooled estimate."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.names:
            raise KeyError(f"{name!r}; there are {', '.join(self.names)}")
        return self.estimates[self.names.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def _caption(self) -> str:
        return "Estimates pooled over imputations"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.estimates), *self.notes])
