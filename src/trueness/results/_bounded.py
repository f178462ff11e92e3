"""A number from sums, with what is known of the number of the rows."""

from dataclasses import dataclass

from trueness.results._record import Record

__all__ = ["Bounded"]


@dataclass(frozen=True)
class Bounded(Record):
    """A measure computed from a sketch, and proven limits of the same measure of the rows."""

    value: float
    """What the measure gives for the sketch, moved to the nearer limit if it lies beyond one."""
    low: float
    """The measure of the rows is at least this."""
    high: float
    """The measure of the rows is at most this."""
    error: float
    """The most by which `value` can differ from the measure of the rows."""
    measure: str
    """What was measured."""
    n: int
    """Rows of positive weight."""

    def __str__(self) -> str:
        return f"{self.measure} {self.value:.6g}, of the rows within {self.low:.6g} to {self.high:.6g} (n = {self.n:,})"
