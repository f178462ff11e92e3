"""What follows for decisions: a certified threshold, risk against coverage."""

from dataclasses import dataclass

from trueness._text.numbers import count, level_percent, number, percentage
from trueness.results._estimate import Estimate
from trueness.results._record import Record
from trueness.typing import Floats


@dataclass(frozen=True)
class AcceptThreshold(Record):
    """A threshold from which on answers may be accepted."""

    threshold: float
    """Accept scores of at least this; nan if none can be certified."""
    coverage: float
    """Share of the rows that are accepted."""
    coverage_low: float
    """Lower limit of that share."""
    coverage_high: float
    """Upper limit."""
    certified: bool
    """Whether the promise holds for new rows with confidence `level`."""
    observed: float
    """Share that was right among the accepted; for the recall, share of the events that were kept."""
    accepted: int
    """Rows that are accepted."""
    n: int
    """Rows in all."""
    accuracy: float
    """The share that was demanded."""
    level: float
    """Confidence of the promise."""
    criterion: str
    """'accuracy', 'precision' or 'recall'."""
    rows_needed: int | None = None
    """If nothing is certified: rows with which it would be if the rates stay; None if more rows would not help."""

    def __str__(self) -> str:
        goal, level = f"{self.criterion} at least {level_percent(self.accuracy)}", level_percent(self.level)
        if not self.certified:
            more = "more rows would not help"
            if self.rows_needed is not None:
                more = f"about {count(self.rows_needed, 'row')} would be needed"
            return f"No threshold can be certified for {goal} with {count(self.n, 'row')} at {level}: {more}."
        share, low, high = (percentage(100 * value) for value in (self.coverage, self.coverage_low, self.coverage_high))
        start = f"Accept from {number(self.threshold)} on: {share} of rows ({low.removesuffix(' %')} to {high})"
        return f"{start}, {goal}, certified at {level}."


@dataclass(frozen=True)
class RiskCoverage(Record):
    """The share of errors among the most confident rows, against their share of all rows."""

    _columns = ("threshold", "coverage", "risk")

    threshold: Floats
    """Accept confidences of at least this, from the highest down."""
    coverage: Floats
    """Share of the rows that are accepted."""
    risk: Floats
    """Share of errors among them."""
    aurc: Estimate
    """The mean of the risk over all coverages."""
    excess: float
    """`aurc` beyond that of the ideal order, with all errors at the lowest confidences."""

    def __str__(self) -> str:
        return f"{self.aurc}; {number(self.excess)} above the ideal order"
