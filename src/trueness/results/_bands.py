"""Bands around a binned reliability curve."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness.results._bin_table import BinTable
from trueness.typing import Bools

__all__ = ["Bands"]


@dataclass(frozen=True)
class Bands(BinTable):
    """A table of bins whose columns `low` and `high` are a band, one row per bin.

    For 'pointwise' and 'simultaneous' the band is about the rate and should hold the mean score; for
    'consistency' it is about the score and should hold the rate.
    """

    band: str
    """'pointwise', 'simultaneous', 'consistency' or 'simultaneous-consistency'."""
    level_each: float
    """Level of each bin taken alone (the least, if classes differ); `level` itself unless simultaneous."""

    @property
    def outside(self) -> Bools:
        """Whether the mean score (the rate, for consistency) lies outside the band; False in an empty bin."""
        value = self.rate if self.band.endswith("consistency") else self.score
        with np.errstate(invalid="ignore"):
            return np.asarray((value < self.low) | (value > self.high))

    def columns(self) -> dict[str, Any]:
        """The columns of a table of bins, and whether a bin lies outside the band."""
        return super().columns() | {"outside": self.outside.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Columns as lists, then what holds for the whole table."""
        return super().to_dict() | {"band": self.band, "level_each": self.level_each}
