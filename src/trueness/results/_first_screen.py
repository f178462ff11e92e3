"""What the first screen of a report shows: the diagram, and short answers to its questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness.results._bins import Bands
from trueness.results._record import Record
from trueness.typing import Floats


@dataclass(frozen=True)
class Answer(Record):
    """A short answer to one question of the first screen."""

    question: str
    """The question."""
    phrase: str
    """A short answer."""
    detail: str
    """Its numbers in a sentence."""
    numbers: Mapping[str, Any]
    """The numbers in the answer, by name; probabilities, not percentages."""
    sections: tuple[str, ...] = ()
    """Where a page says more: 'bins', 'segments', 'slices' or 'classes', the strongest first."""
    command: str = ""
    """What to copy in order to follow the advice."""

    def __str__(self) -> str:
        stop = "" if self.phrase.endswith("?") else "."
        return f"{self.phrase}{stop} {self.detail}".strip()


@dataclass(frozen=True)
class Picture:
    """The bins of the first diagram and its table.

    The requested ones, unless most rows lie in one of them.
    """

    bins: Bands
    interval_low: tuple[float, ...]
    interval_high: tuple[float, ...]
    words: str
    """The bin rule in words."""

    @property
    def ratio_limits(self) -> tuple[Any, ...]:
        """The limits of the rates over the mean scores."""
        return tuple(
            self.bins.over_score(np.array(ends)) for ends in (self.interval_low, self.interval_high)
        )

    @property
    def worst(self) -> int | None:
        """The flagged bin that contributes most to the error; None if none is flagged."""
        b = self.bins
        low = np.array(self.interval_low)
        high = np.array(self.interval_high)
        outside = np.nan_to_num(
            np.fmax(low - b.score, b.score - high)
        )  # empty bins have neither score nor rate
        candidates = b.outside & (b.n > 0) if b.band else outside > 0
        return next((i for i in self.costliest if candidates[i]), None)

    @property
    def shares(self) -> Floats:
        """The share of each bin in the ECE."""
        damage: Floats = np.nan_to_num(self.bins.weight * np.abs(self.bins.gap))
        return damage / max(float(damage.sum()), 1e-300)

    @property
    def costliest(self) -> tuple[int, ...]:
        """The bins that contribute to the error, the largest share first."""
        return tuple(int(i) for i in np.argsort(-self.shares, kind="stable") if self.shares[i] > 0)
