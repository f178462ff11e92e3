"""A mean score taken apart."""

from dataclasses import dataclass

from trueness.results._record import Record

__all__ = ["Decomposition"]


@dataclass(frozen=True)
class Decomposition(Record):
    """A proper score as miscalibration − discrimination + uncertainty."""

    score: float
    """The mean score of the predictions."""
    miscalibration: float
    """What recalibration would gain; at least 0."""
    discrimination: float
    """What the recalibrated predictions gain over the base rate; at least 0."""
    uncertainty: float
    """The score of the base rate."""
    rule: str
    """The scoring rule: 'brier' or 'log'."""
    n: int
    """Rows of positive weight."""

    def __str__(self) -> str:
        return (
            f"{self.rule} score {self.score:.4f} = miscalibration {self.miscalibration:.4f} "
            f"− discrimination {self.discrimination:.4f} + uncertainty {self.uncertainty:.4f} (n = {self.n:,})"
        )
