"""One bin, as a user's own loss sees it."""

from dataclasses import dataclass

from trueness.results._record import Record
from trueness.typing import Floats, Numbers

__all__ = ["Bin"]


@dataclass(frozen=True)
class Bin(Record):
    """The rows of one bin that is not empty."""

    low_edge: float
    """Lower edge, inside the bin."""
    high_edge: float
    """Upper edge, outside the bin unless it is the last."""
    n: int
    """Rows of positive weight."""
    weight: float
    """Total weight of the rows."""
    events: float
    """Weight of the rows whose label is 1."""
    score: float
    """Mean score."""
    rate: float
    """Event rate."""
    scores: Floats
    """The distinct scores, ascending."""
    score_weights: Numbers
    """The weight of each distinct score."""
