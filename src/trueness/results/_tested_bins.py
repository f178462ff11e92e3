"""Bins whose predictions were tested one by one."""

from dataclasses import dataclass

from trueness.results._record import Record
from trueness.typing import Floats, Ints, Numbers

__all__ = ["TestedBins"]


@dataclass(frozen=True)
class TestedBins(Record):
    """What the test-based calibration error is made of: one row per bin that is not empty, in order of the scores."""

    __test__ = False

    low_edge: Floats
    """Lower edge, inside the bin."""
    high_edge: Floats
    """Upper edge, outside the bin unless it is the last."""
    n: Ints
    """Rows of positive weight."""
    weight: Numbers
    """Total weight of the rows."""
    rejected: Numbers
    """Weight of the rows whose prediction the labels of the bin refute."""
    rate: Floats
    """Event rate."""
    score: Floats
    """Mean score."""
    places: Floats
    """Scores from the least to the largest of the bin, one line per bin."""
    density: Floats
    """How dense the scores of the bin are at each of these places; the largest value of a bin is 1."""
    tce: float
    """Test-based calibration error, a percentage."""
    alpha: float
    """Level of each test."""
    test: str
    """The test."""
    bins: str
    """The bin rule, in words."""

    def __len__(self) -> int:
        return int(self.n.size)
