"""The walk of cumulated differences."""

from dataclasses import dataclass
from typing import Any

from trueness.results._record import Record
from trueness.results._significance import Significance
from trueness.typing import Floats

__all__ = ["Walk"]


@dataclass(frozen=True)
class Walk(Record):
    """How far labels run ahead of scores, cumulated over the rows in the order of their scores."""

    share: Floats
    """Share of the weight passed so far, from 0 to 1."""
    score: Floats
    """The last score passed; at the start the least one."""
    height: Floats
    """Σw(y − p)/Σw over the rows passed, the lower sum over all rows; it starts at 0."""
    half: Floats
    """Within ± this each height, taken alone, lies with probability `level` if the scores are the true ones."""
    level: float
    """Level of the bands."""
    reach: float
    """Within ± this the whole walk stays with probability `level`, if the scores are the true probabilities."""
    ks: Significance
    """The largest distance from 0."""
    kuiper: Significance
    """The distance between the highest and the lowest point."""
    n: int
    """Rows of positive weight; one of weight 2 is two where weights are whole."""

    def to_dict(self) -> dict[str, Any]:
        """Fields by name, the tests as dicts."""
        return super().to_dict() | {"ks": self.ks.to_dict(), "kuiper": self.kuiper.to_dict()}
