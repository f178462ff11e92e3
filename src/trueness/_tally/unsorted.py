"""`Rows`: scores and labels in the order in which they came, for measures that need no order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.sample import Sample
from trueness._tally.cells import Totals
from trueness._tally.row_sums import events_of_rows, native_rows
from trueness.typing import Bools


class Rows:
    """Checked rows without weights. A measure that takes them must return what it returns for their `Cells`."""

    __slots__ = ("_totals", "events", "score")
    weight = None  # each row weighs 1, and no array says so

    def __init__(self, score: NDArray[Any], events: NDArray[Any], totals: Totals) -> None:
        self.score = score
        """The score of each row, float32 or float64."""
        self.events = events
        """The label of each row."""
        self._totals = totals

    @classmethod
    def empty(cls) -> "Rows":
        """No rows."""
        return cls(np.zeros(0), np.zeros(0, np.int64), Totals(0, 0, 0))

    def at(self, kept: Bools) -> "Rows":
        """Some of the rows."""
        score, events = self.score[kept], self.events[kept]
        return Rows(score, events, Totals(score.size, score.size, int(np.count_nonzero(events))))

    @property
    def totals(self) -> Totals:
        """Rows, weight and events, as of :class:`~trueness._tally.cells.Cells`."""
        return self._totals

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.score.size


def rows_of(sample: Sample) -> Rows:
    """The rows of a sample without weights; every value is checked here."""
    events = events_of_rows(sample)
    score, label = native_rows(sample)
    return Rows(score, label, Totals(score.size, score.size, events))
