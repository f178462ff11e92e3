"""A band around the diagonal for a curve that has no bins."""

from dataclasses import dataclass

from trueness.results._record import Record
from trueness.typing import Floats

__all__ = ["CurveBand"]


@dataclass(frozen=True)
class CurveBand(Record):
    """Where a reliability curve lies, place by place, when the scores are the true probabilities."""

    x: Floats
    """Scores, ascending."""
    low: Floats
    """Lower end of the band."""
    high: Floats
    """Upper end."""
    level: float
    """Share of redrawn curves between `low` and `high`, at each score taken alone."""
    method: str
    """The curve: 'isotonic' or 'smooth'."""
    resamples: int
    """How many times labels were redrawn."""

    @property
    def band(self) -> str:
        """'consistency': the band is about the scores and should hold the curve."""
        return "consistency"
