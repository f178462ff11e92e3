"""How scores are spread."""

from dataclasses import dataclass

from trueness.results._record import Record
from trueness.typing import Floats, Numbers

__all__ = ["Histogram"]


@dataclass(frozen=True)
class Histogram(Record):
    """The weight of the scores between neighbouring edges."""

    edges: Floats
    """Edges, one more than there are bars; a bar holds its left edge, the last one both."""
    weight: Numbers
    """Total weight of each bar; without sample weights, rows."""
