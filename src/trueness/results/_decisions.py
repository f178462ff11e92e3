"""What follows for decisions: a certified threshold, risk against coverage."""

import math
from dataclasses import dataclass, field
from typing import Any, TypeVar

from trueness._text.numbers import count, level_percent, number, percent, percentage, span
from trueness._text.strings import align, quoted
from trueness.results._inference import Estimate
from trueness.results._record import Record, with_two_columns
from trueness.typing import Floats

Values = TypeVar("Values")
_SHOWN = 5
"""Thresholds of a printed curve."""


def threshold_in_digits(threshold: float) -> str:
    """A threshold with four decimals, or as many as tell it from 1.

    >>> threshold_in_digits(0.86014), threshold_in_digits(0.99994553)
    ('0.8601', '0.9999455')
    """
    digits = 4
    if threshold >= 0.999:
        digits = 2 + math.ceil(-math.log10(max(1 - threshold, 1e-12)))
    return number(threshold, digits)


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
    """Share that was right among the accepted; for the recall, share of the events that were
    kept."""
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
    """If nothing is certified: rows, or human labels, with which it would be if the rates stay;
    None if no threshold does so well in these rows, or the goal is 1."""
    humans: int | None = None
    """Human labels, if a judge labelled all rows."""
    noun: str = "row"
    """'row', or 'answer' if several rows are one answer."""
    note: str = ""
    """What else to know."""

    def __str__(self) -> str:
        """The threshold, what it accepts and what is certified.

        Without a certificate it says which goal could not be reached, and how many labels would be
        needed.
        """
        goal = f"{self.criterion} at least {level_percent(self.accuracy)}"
        level = level_percent(self.level)
        if not self.certified:
            labels = self.noun
            n = self.n
            if self.humans is not None:
                labels = "human label"
                n = self.humans
            more = "no threshold does so well here, so it is unknown how many would be needed"
            if self.accuracy == 1:
                more = f"no number of {labels}s can show that none is wrong"
            if self.rows_needed is not None:
                needed = count(_in_round_numbers(self.rows_needed), labels)
                more = f"about {needed} would be needed"
            labels_at_hand = f"{count(n, labels)} at {level} confidence"
            refusal = f"No threshold can be certified for {goal} with {labels_at_hand}: {more}."
            return f"{refusal} {self.note}".rstrip()
        share, low, high = (
            percentage(100 * value)
            for value in (self.coverage, self.coverage_low, self.coverage_high)
        )
        start = (
            f"Accept from {threshold_in_digits(self.threshold)} on: {share} of {self.noun}s "
            f"({low.removesuffix(' %')} to {high})"
        )
        return f"{start}, {goal}, certified at {level}. {self.note}".rstrip()


def _in_round_numbers(rows: int) -> int:
    """Thousands of rows with two digits, rounded up: they are a rough estimate."""
    if rows < 1000:
        return rows
    unit: int = 10 ** (len(str(rows)) - 2)
    return -(-rows // unit) * unit


def by_model(values: Values | dict[str, Values]) -> dict[str, Values]:
    """What a field holds for each model; a single one has no name."""
    if isinstance(values, dict):
        return values
    return {"": values}


def single(values: Values | dict[str, Values]) -> Values:
    """What a field holds for the only model."""
    return by_model(values)[""]


def _label(name: str) -> str:
    """The name of a model before what is said of it; a single one has none."""
    return f"{name}: " if name else ""


class _Curves(Record):
    """Arrays, or arrays by model: a line of the table per threshold and model."""

    def columns(self) -> dict[str, list[Any]]:
        """The table by column."""
        models = by_model(getattr(self, self._columns[1]))
        table: dict[str, list[Any]] = {}
        if "" not in models:
            table["model"] = [name for name, values in models.items() for _ in values]
        for column in self._columns:
            values = getattr(self, column)
            if not isinstance(values, dict):  # the same for all models
                values = dict.fromkeys(models, values)
            table[column] = [entry for part in values.values() for entry in part.tolist()]
        return table


@dataclass(frozen=True)
class RiskCoverage(_Curves):
    """The share of errors among the most confident rows, against their share of all rows.

    Or each of them by model.
    """

    _columns = ("threshold", "coverage", "risk")

    threshold: Floats | dict[str, Floats]
    """Accept confidences of at least this, from the highest down."""
    coverage: Floats | dict[str, Floats]
    """Share of the rows that are accepted."""
    risk: Floats | dict[str, Floats]
    """Share of errors among them."""
    aurc: Estimate | dict[str, Estimate]
    """The mean of the risk over all coverages."""
    excess: float | dict[str, float]
    """`aurc` beyond that of the ideal order, with all errors at the lowest confidences."""
    differences: dict[tuple[str, str], Floats] = field(default_factory=dict)
    """For two models: `aurc` of the first less that of the second, with its lower and its upper
    limit."""

    def __str__(self) -> str:
        """The area under the curve of each model and its excess, then the differences of models."""
        excess = by_model(self.excess)
        lines = [
            f"{_label(name)}{area}; {number(excess[name])} above the ideal order"
            for name, area in by_model(self.aurc).items()
        ]
        for (a, b), (value, low, high) in self.differences.items():
            lines.append(f"{a} less {b}: {number(value)} ({span(low, high)})")
        return "\n".join(lines)


@dataclass(frozen=True)
class NetBenefit(_Curves):
    """The net benefit of decisions at each threshold: arrays, or arrays by model."""

    _text_first = True
    _columns = (
        "threshold",
        "value",
        "low",
        "high",
        "band_low",
        "band_high",
        "gain",
        "gain_low",
        "gain_high",
        "treat_all",
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
    """For two models: the difference of the first and the second, with its lower and its upper
    limit."""
    level: float
    """Confidence level."""
    n: int
    """Rows."""
    prevalence: float
    """Share of events, as observed or as stated."""
    note: str = ""
    """How the rows were read, such as what a matrix of two columns was taken for."""

    @property
    def avoided(self) -> Floats | dict[str, Floats]:
        """Interventions avoided per row without missing one more event.

        The gain, divided by the odds of the threshold.
        """
        factor = (1 - self.threshold) / self.threshold
        avoided = {name: gain * factor for name, gain in by_model(self.gain).items()}
        if isinstance(self.gain, dict):
            return avoided
        return avoided[""]

    def useful(self, name: str = "") -> Floats:
        """The thresholds at which decisions by a model beat treating all and treating none."""
        gain = by_model(self.gain_low)[name]
        low = by_model(self.low)[name]
        useful: Floats = self.threshold[(gain > 0) & (low > 0)]
        return useful

    def gaps(self, name: str = "") -> bool:
        """Whether some thresholds between the useful ones are not useful."""
        t = self.threshold
        useful = self.useful(name)
        return useful.size > 0 and bool(((t >= useful[0]) & (t <= useful[-1])).sum() > useful.size)

    @property
    def sentence(self) -> str:
        """At which thresholds each model is worth using."""
        models = "; ".join(where_useful(self, name) for name in by_model(self.value))
        level = f"{level_percent(self.level)} confidence at each threshold"
        return f"{models} ({level}, n = {self.n:,})."

    def __str__(self) -> str:
        sentence = with_two_columns(self.sentence, self.note)
        return f"{sentence}\n{self._at_some_thresholds()}"

    def _at_some_thresholds(self) -> str:
        """The net benefit with its limits at up to five thresholds, beside that of treating all."""
        size = self.threshold.size
        shown = sorted({round(i * (size - 1) / (_SHOWN - 1)) for i in range(_SHOWN)})
        names = list(by_model(self.value))
        head = ["threshold", *(name or "net benefit" for name in names), "acting on everyone"]
        table = [head]
        for i in shown:
            line = [f"{self.threshold[i]:.3g}"]
            for name in names:
                value = number(by_model(self.value)[name][i])
                limits = span(by_model(self.low)[name][i], by_model(self.high)[name][i])
                line.append(f"{value} ({limits})")
            table.append([*line, number(self.treat_all[i])])
        return align(table, [True] * len(head))


def where_useful(benefit: NetBenefit, name: str = "") -> str:
    """At which thresholds decisions by a model beat treating all and treating none."""
    scores = quoted(name) if name else "the scores"
    useful = benefit.useful(name)
    if not useful.size:
        return (
            f"Using {scores} is not shown to beat acting on everyone or on no one at any threshold"
        )
    threshold = f"a threshold of {percent(useful[0])}"
    if useful.size > 1:
        low, high = percent(useful[0]), percent(useful[-1])
        threshold = f"a threshold between {low} and {high}"
    gaps = ", except at some thresholds in between" if benefit.gaps(name) else ""
    return f"Using {scores} with {threshold} beats acting on everyone or on no one{gaps}"


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
    """Mean cost after automatic calibration, fitted on other rows."""
    always: Estimate
    """Mean cost of acting on all rows."""
    never: Estimate
    """Mean cost of acting on none."""
    miscalibration: Estimate
    """What miscalibration costs: the mean cost less that after automatic calibration, on held-out
    rows."""
    most_to_save: float
    """Upper limit of what any increasing map of the scores could save, at any threshold for costs
    of this sum."""
    cost_fp: float
    """Cost of acting on a row without the event."""
    cost_fn: float
    """Cost of not acting on a row with the event."""
    level: float
    """Confidence level."""
    n: int
    """Rows."""
    few_clusters: int = 0
    """The number of clusters, if there are too few to split for a map; otherwise 0."""

    def __str__(self) -> str:
        """The threshold, what deciding by it costs beside two simple rules, what a map saves."""
        shown = number(self.threshold, 4) if 0.001 <= self.threshold <= 0.999 else self.threshold
        cost, low, high, always, never = _costs(
            *(self.cost.value, self.cost.low, self.cost.high),
            *(self.always.value, self.never.value),
        )
        return "\n".join(
            [
                f"Act where the score is at least {shown} (a miss costs {self._false_alarms}).",
                f"This costs {cost} per row ({low} to {high}); acting always costs {always}, "
                f"acting never {never}.",
                self.saving,
            ]
        )

    @property
    def _false_alarms(self) -> str:
        """How many false alarms a miss costs."""
        ratio = self.cost_fn / self.cost_fp
        if ratio == 1:
            return "as much as a false alarm"
        return f"{ratio:.3g} times a false alarm"

    @property
    def saving(self) -> str:
        """What recalibration would save, in a sentence."""
        if math.isnan(self.miscalibration.value):
            few = "rows" if not self.few_clusters else count(self.few_clusters, "cluster")
            return f"These {few} are too few to tell what recalibration would save."
        value, low, high = _costs(
            self.miscalibration.value,
            self.miscalibration.low,
            self.miscalibration.high,
            digits=2,
        )
        limits = f"({low} to {high} at {level_percent(self.level)} confidence)"
        if self.miscalibration.low > 0:
            return f"Recalibrating first would save {value} per row {limits}."
        if self.miscalibration.low == self.miscalibration.high == 0:
            return "Recalibrating first would change no decision on these rows."
        if self.miscalibration.high < 0:
            return f"Recalibrating first would save nothing: it would cost more {limits}."
        return f"Recalibrating first would save nothing that can be shown {limits}."


def _costs(*values: float, digits: int = 3) -> tuple[str, ...]:
    """Costs with the decimals that show some digits of the largest."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    size = math.floor(math.log10(largest)) if largest > 0 else 0
    decimals = min(12, max(0, digits - 1 - size))
    return tuple(
        f"{round(value, decimals) + 0.0:,.{decimals}f}".replace("-", "−") for value in values
    )
