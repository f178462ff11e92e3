"""What the confidence limits of any measure consist of, and what they may depend on."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._tally.bins import Bins
from trueness._tally.clusters import ClusteredRows
from trueness._tally.evidence import Evidence
from trueness.errors import InputError

SEVERAL = "No interval: the value is a mean over classes, which depend on each other."
BIASED = (
    "No valid interval is known, since the value is biased upwards and a bootstrap would miss the truth near zero. "
    "Compare the value with its noise floor."
)

Options: TypeAlias = dict[str, Any]


class Limits(NamedTuple):
    """Confidence limits and how they were found."""

    low: float = math.nan
    high: float = math.nan
    method: str = ""
    standard_error: float = math.nan
    note: str = ""
    value: float = math.nan
    """The value, where it comes with the limits."""
    known: bool = False
    """Whether the measure itself need not be asked for its value."""
    where: str = ""
    """The rows that decide the value, if it is that of a single bin."""
    low_open: bool = False
    """Whether `low` itself is excluded."""


@dataclass(frozen=True)
class Asked:
    """A measure asked of evidence: all that its limits may depend on."""

    evidence: Evidence
    measure: Callable[[Evidence], float]
    options: Options
    level: float
    rng: np.random.Generator
    floors: bool = True
    """Whether noise floors will be needed."""

    @cached_property
    def value(self) -> float:
        """The value of the measure."""
        return self.measure(self.evidence)

    @property
    def alpha(self) -> float:
        """Probability beyond each limit."""
        return (1 - self.level) / 2


LimitsOf: TypeAlias = Callable[[Asked], Limits]


def no_limits(note: str) -> LimitsOf:
    """A measure for which no valid interval is known, and why."""
    return lambda _asked: Limits(note=note)


biased = no_limits(BIASED)


def of_one(limits: Callable[[Any, float, ClusteredRows | None], Limits], *, bins: bool = False) -> LimitsOf:
    """Limits from the sums of the only score of each row, per distinct score or perhaps per bin, and its clusters."""

    def of_asked(asked: Asked) -> Limits:
        sums = asked.evidence.one
        if sums is None or (isinstance(sums, Bins) and not bins):
            return Limits(note=SEVERAL)
        return limits(sums, asked.level, asked.evidence.in_clusters)

    return of_asked


def limits_or_note(limits: LimitsOf, asked: Asked) -> Limits:
    """The limits; where these rows do not allow any, a note that says why."""
    try:
        return limits(asked)
    except InputError as reason:
        return Limits(note=f"No interval: {str(reason)[:1].lower()}{str(reason)[1:]}")
