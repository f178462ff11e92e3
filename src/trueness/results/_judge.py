"""The record of a judge: agreement with people, errors, and whether it may replace them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trueness._text.numbers import count, level_percent, number, percentage
from trueness.results._inference import Estimate
from trueness.results._record import Record
from trueness.results._route import in_points, signed_points

_RATES = ("sensitivity", "specificity", "ppv", "npv")


@dataclass(frozen=True)
class Judge(Record):
    """How a judge labels rows that people labelled too."""

    sensitivity: Estimate
    """Share of events that the judge calls events."""
    specificity: Estimate
    """Share of other rows that the judge calls other."""
    ppv: Estimate
    """Share of events among rows that the judge calls events."""
    npv: Estimate
    """Share of other rows among those that the judge calls other."""
    kappa: Estimate
    """Cohen's kappa: agreement beyond chance."""
    bias: Estimate
    """The judge's rate of events less that of people, on the same rows."""
    event_rate: Estimate
    """Rate of events in all rows, from human labels, corrected by the judge."""
    repeatability: Estimate | None
    """Probability that two judgements of one row agree; None without repeated judgements."""
    both: int
    """Rows that both call events."""
    judge_only: int
    """Rows that the judge alone calls events."""
    human_only: int
    """Rows that people alone call events."""
    neither: int
    """Rows that nobody calls events."""
    within: float | None
    """How far the two rates of events may differ for the judge to replace people."""
    pvalue: float | None
    """P-value of the hypothesis that they differ by as much or more; None without `within`."""
    replaces: bool | None
    """True if the rates are shown to differ by less than `within`, False if by more, else None."""
    level: float
    """Confidence level."""
    n: int
    """Rows."""
    humans: int
    """Rows with a human label."""
    differences: Mapping[str, Estimate] = field(default_factory=dict, hash=False)
    """For each segment: the judge's bias there less that in the other rows; the limits of all hold
    together."""
    segments: Mapping[str, "Judge"] = field(default_factory=dict, hash=False)
    """The record in each segment, whose limits hold together."""

    @property
    def sentence(self) -> str:
        """Whether the judge may replace people, in words."""
        low, high = signed_points(self.bias.low), signed_points(self.bias.high)
        bias = (
            f"its rate of events lies {signed_points(self.bias.value)} points from that of people"
        )
        limits = f"{bias} ({level_percent(self.level)} {low} to {high})"
        if self.within is None:
            return f"The judge beside {count(self.humans, 'human label')}: {limits}."
        margin = in_points(self.within)
        if self.replaces:
            return f"The judge may replace people within {margin}: {limits}."
        if self.replaces is False:
            return f"The judge must not replace people: {limits}, which is more than {margin}."
        return f"Whether the judge may replace people within {margin} is open: {limits}."

    def _findings(self) -> list[str]:
        """The judge's rates of error, the corrected rate of events, and its repeatability."""
        rates = []
        for name in _RATES:
            word = name.upper() if len(name) == 3 else name
            rates.append(f"{word} {_in_percent(getattr(self, name))}")
        lines = [
            f"{self.sentence} {', '.join(rates)}, κ {number(self.kappa.value, 2)} "
            f"({number(self.kappa.low, 2)} to {number(self.kappa.high, 2)}).",
            f"Rate of events, corrected: {_in_percent(self.event_rate)}.",
        ]
        if self.repeatability is not None:
            lines.append(f"Two judgements of one row agree in {_in_percent(self.repeatability)}.")
        return lines

    def __str__(self) -> str:
        """The findings, then for each group how its bias differs from that elsewhere."""
        lines = self._findings()
        for name, difference in self.differences.items():
            low, high = signed_points(difference.low), signed_points(difference.high)
            lines.append(
                f"{name}: the bias differs from that elsewhere by "
                f"{signed_points(difference.value)} points ({low} to {high})."
            )
        return "\n".join(lines)


def _in_percent(estimate: Estimate) -> str:
    value, low, high = (
        percentage(100 * number) for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low.removesuffix(' %')} to {high})"
