"""What follows for decisions: a certified threshold, risk against coverage."""

from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class NetBenefit(Record):
    """The net benefit of decisions at each threshold: arrays, or arrays by model."""

    _columns = (
        *("threshold", "value", "low", "high", "band_low", "band_high"),
        *("gain", "gain_low", "gain_high", "treat_all"),
    )

    threshold: Floats
    """Rows with scores of at least this are treated."""
    value: Floats | dict[str, Floats]
    """Net benefit."""
    low: Floats | dict[str, Floats]
    """Lower limit at one threshold."""
    high: Floats | dict[str, Floats]
    """Upper limit at one threshold."""
    band_low: Floats | dict[str, Floats]
    """Lower end of a band for all thresholds together; nan where too few rows are accepted."""
    band_high: Floats | dict[str, Floats]
    """Upper end of that band."""
    gain: Floats | dict[str, Floats]
    """Net benefit beyond that of treating all."""
    gain_low: Floats | dict[str, Floats]
    """Lower limit of the gain."""
    gain_high: Floats | dict[str, Floats]
    """Upper limit of the gain."""
    treat_all: Floats
    """Net benefit of treating all; that of treating none is 0."""
    differences: dict[tuple[str, str], Floats]
    """For two models: the difference of the first and the second, with its lower and its upper limit."""
    level: float
    """Confidence level."""
    n: int
    """Rows."""
    prevalence: float
    """Share of events, as observed or as stated."""

    @property
    def avoided(self) -> Floats | dict[str, Floats]:
        """Interventions avoided per row without a missed event more: the gain, divided by the odds of the threshold."""
        factor = (1 - self.threshold) / self.threshold
        if isinstance(self.gain, dict):
            return {name: gain * factor for name, gain in self.gain.items()}
        return self.gain * factor

    def columns(self) -> dict[str, list[Any]]:
        """A line per threshold, and per model if there are several."""
        models = list(self.value) if isinstance(self.value, dict) else [""]
        found: dict[str, list[Any]] = {"model": [m for m in models for _ in self.threshold]} if models != [""] else {}
        found["threshold"] = self.threshold.tolist() * len(models)
        for name in self._columns[1:-1]:
            values = getattr(self, name)
            found[name] = [v for m in models for v in (values[m] if isinstance(values, dict) else values).tolist()]
        return found | {"treat_all": self.treat_all.tolist() * len(models)}

    def __str__(self) -> str:
        values = self.value if isinstance(self.value, dict) else {"": self.value}
        gains = self.gain_low if isinstance(self.gain_low, dict) else {"": self.gain_low}
        lows = self.low if isinstance(self.low, dict) else {"": self.low}
        lines = []
        for name in values:
            useful = self.threshold[(gains[name] > 0) & (lows[name] > 0)]
            where = f"from {useful[0]:g} to {useful[-1]:g}" if useful.size else "at no threshold"
            lines.append(f"{name + ': ' if name else ''}better than treating all or none {where}")
        return "; ".join(lines) + f" ({level_percent(self.level)} limits at one threshold, n = {self.n:,})"


@dataclass(frozen=True)
class Decision(Record):
    """What decisions by a score cost, per row."""

    threshold: float
    """Act from this score on: the costs imply it."""
    cost: Estimate
    """Mean cost at that threshold."""
    best_threshold: float
    """The cheapest threshold on these rows; above 1 to act never."""
    best_cost: Estimate
    """Mean cost at the cheapest threshold, which was found on other rows."""
    recalibrated_cost: Estimate
    """Mean cost after isotonic recalibration, fitted on other rows."""
    always: Estimate
    """Mean cost of acting on all rows."""
    never: Estimate
    """Mean cost of acting on none."""
    miscalibration: Estimate
    """What miscalibration costs at the threshold, with its noise floor."""
    most_to_save: float
    """Upper limit of what any increasing map of the scores could save, at any threshold for costs of this sum."""
    cost_fp: float
    """Cost of acting on a row without the event."""
    cost_fn: float
    """Cost of not acting on a row with the event."""
    level: float
    """Confidence level."""
    n: int
    """Rows."""

    def __str__(self) -> str:
        worth = min(self.always.value, self.never.value)
        plain = "always" if self.always.value <= self.never.value else "never"
        lines = [
            f"Act from {number(self.threshold)} on: mean cost {number(self.cost.value)} "
            f"({number(self.cost.low)} to {number(self.cost.high)}), {number(worth)} if one acts {plain}.",
            f"After recalibration {number(self.recalibrated_cost.value)}, at the best threshold "
            f"({number(self.best_threshold)}) {number(self.best_cost.value)}, both on held-out rows.",
            f"Miscalibration costs {number(self.miscalibration.value)} here; calibrated scores would show "
            f"{number(self.miscalibration.floor)} by chance.",
            f"No increasing map saves more than {number(self.most_to_save)} ({level_percent(self.level)} confidence).",
        ]
        return "\n".join(lines)
