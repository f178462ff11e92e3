"""Sample sizes for the validation of a model, one per criterion."""

from dataclasses import dataclass
from typing import Any

from trueness._text.numbers import level_percent
from trueness._text.strings import align
from trueness.results._record import Record


@dataclass(frozen=True)
class ValidationSize(Record):
    """Rows that a validation needs: for each criterion, and for all of them.

    The columns `criterion`, `target`, `size` and `events` have one entry per criterion.

    Examples
    --------
    >>> print(ValidationSize(905, ("O/E",), ("95 % limits 1.00 apart",), (905,), (17,), 0.018, 0.8, 0.95, 0.8))
    criterion  target                  rows  events
    O/E        95 % limits 1.00 apart   905      17
    <BLANKLINE>
    905 rows meet all criteria, if 1.8 % of them are events.
    """

    _columns = ("criterion", "target", "size", "events")

    n: int
    """Rows that meet all criteria."""
    criterion: tuple[str, ...]
    """What is estimated, tested or accepted."""
    target: tuple[str, ...]
    """How precisely, or what must be detected, in words."""
    size: tuple[int | None, ...]
    """Rows that each criterion needs; None if no number that was tried is enough."""
    events: tuple[int | None, ...]
    """The events expected among them."""
    prevalence: float
    """The event rate."""
    c_statistic: float
    """The c-statistic (area under the ROC curve); nan if unknown."""
    level: float
    """Confidence level of the limits; tests reject at 1 − level."""
    power: float
    """Probability with which tests should detect what they are planned for."""
    notes: tuple[str, ...] = ()
    """What else to know."""

    def columns(self) -> dict[str, list[Any]]:
        """One row per criterion."""
        columns = {"criterion": self.criterion, "target": self.target, "rows": self.size, "events": self.events}
        return {name: list(values) for name, values in columns.items()}

    def __str__(self) -> str:
        counts = [["–" if n is None else f"{n:,}" for n in column] for column in (self.size, self.events)]
        rows = zip(self.criterion, self.target, *counts, strict=True)
        text = align([("criterion", "target", "rows", "events"), *rows], (False, False, True, True))
        met = "all criteria" if None not in self.size else "the other criteria"
        rate = level_percent(float(f"{self.prevalence:.3g}"))
        sentence = f"{self.n:,} rows meet {met}, if {rate} of them are events." if self.n else ""
        return "\n".join([text, *([""] if sentence or self.notes else []), *filter(None, [sentence, *self.notes])])
