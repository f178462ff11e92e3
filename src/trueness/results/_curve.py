"""A reliability curve."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueness.results._record import Record
from trueness.typing import Floats, Ints, Numbers

__all__ = ["Curve"]


@dataclass(frozen=True)
class Curve(Record):
    """What happened against what was predicted: one point per bin, isotonic block or place of a kernel.

    Columns are arrays of one length. For a matrix of scores the curves of the classes stand one below the other;
    :meth:`parts` takes them apart.
    """

    x: Floats
    """Mean score of the rows of the point; nan in an empty bin."""
    y: Floats
    """Event rate of the rows of the point; nan in an empty bin."""
    n: Ints
    """Rows of positive weight; for a smooth curve, rows whose scores are nearest to the point."""
    weight: Numbers
    """Total weight of these rows."""
    low_edge: Floats
    """Lower edge of a bin; least score of an isotonic block; where the kernel of a smooth curve is centred."""
    high_edge: Floats
    """Upper edge of a bin; largest score of an isotonic block; where the kernel of a smooth curve is centred."""
    label: tuple[Any, ...] | None
    """The class that each point is about; None when there is one problem only."""
    method: str
    """'binned', 'isotonic' or 'smooth'."""
    kind: str
    """What is compared with what: 'binary', 'classwise', 'confidence' or 'top-label'."""
    bins: str
    """The bin rule, in words; empty unless binned."""
    bandwidth: tuple[float, ...] | None
    """Width of the kernel, one for each class; None unless smooth."""

    def __len__(self) -> int:
        return int(self.x.size)

    def parts(self) -> Iterator[tuple[Any, "Curve"]]:
        """The class and its curve, for each class; (None, self) when there is one problem only."""
        if self.label is None:
            yield None, self
            return
        names = list(dict.fromkeys(self.label))
        for i, name in enumerate(names):
            own = np.array([found == name for found in self.label])
            columns = {column: getattr(self, column)[own] for column in _COLUMNS}
            width = None if self.bandwidth is None else (self.bandwidth[i],)
            yield name, replace(self, **columns, label=None, bandwidth=width)

    def to_dict(self) -> dict[str, Any]:
        """Columns as lists, then what holds for the whole curve."""
        found = super().to_dict()
        return found if found["label"] is not None else {k: v for k, v in found.items() if k != "label"}

    def __str__(self) -> str:
        what = self.bins if self.method == "binned" else self.method
        filled = int(np.isfinite(self.y).sum())
        return f"reliability curve ({what}, {self.kind}): {filled} points of {int(self.n.sum()):,} rows"


_COLUMNS = ("x", "y", "n", "weight", "low_edge", "high_edge")
