"""Prior shift: one factor on the odds of all scores."""

from dataclasses import dataclass
from typing import Any

from trueness._text.numbers import level_percent
from trueness.results._record import Record

# A slope between this and its inverse is near enough to 1 for one factor to correct the odds.
_LEAST = 0.8


@dataclass(frozen=True)
class PriorShift(Record):
    """The factor by which the odds of all scores are too high, and whether it explains the miscalibration.

    Examples
    --------
    >>> print(PriorShift(1.2, 0.9, 1.6, 0.95, 1.02, 0.93, 1.11, 5000))
    No prior shift: the odds are too high by a factor of 1.20 (95 % 0.90–1.60), which may be chance.
    """

    weight: float
    """w: the odds are w times too high, as if positives had been weighted w-fold; 1 if they are right on average."""
    low: float
    """Lower limit."""
    high: float
    """Upper limit."""
    level: float
    """Confidence level of all limits."""
    slope: float
    """Calibration slope; nan if it has no finite estimate."""
    slope_low: float
    """Its lower limit."""
    slope_high: float
    """Its upper limit."""
    n: int
    """Rows with a score strictly between 0 and 1; a row of weight 2 counts as two."""
    n_certain: int = 0
    """Rows with a score of exactly 0 or 1, which no weight changes and which are left out."""

    @property
    def detected(self) -> bool:
        """Whether the limits of the weight exclude 1, and those of the slope include 1 and lie between 0.8 and 1.25."""
        return bool(not self.low <= 1 <= self.high and _LEAST < self.slope_low <= 1 <= self.slope_high < 1 / _LEAST)

    @property
    def factor(self) -> str:
        """Which class looks overweighted and by how much, with limits, as text."""
        times, limits = self._factor_and_limits()
        return f"{'positives' if self.weight > 1 else 'negatives'} weighted about {times}× {limits}"

    def _factor_and_limits(self) -> tuple[str, str]:
        ends = (self.weight, self.low, self.high)
        times, low, high = map(_factor, ends if self.weight > 1 else map(_inverse, (self.weight, self.high, self.low)))
        return times, f"({level_percent(self.level)} {low}–{high})"

    @property
    def sentence(self) -> str:
        """The finding in words."""
        more, percent = self.weight > 1, level_percent(self.level)
        if not 0 < self.weight < float("inf"):
            span = f"{percent} limits {_factor(self.low)} and {_factor(self.high)}"
            return f"These rows determine no weight ({span}): there must be events and non-events."
        # Limits that exclude 1 are not shown as 1.00.
        ends = (self.slope_low, self.slope_high)
        digits = 4 if any(end != 1 and f"{end:.2f}" == "1.00" for end in ends) else 2
        slope = f"{self.slope:.{digits}f} ({ends[0]:.{digits}f}–{ends[1]:.{digits}f})"
        if self.detected:
            remedy = f"`prior_correction(y_prob, weight={self.weight:.3g})` undoes it."
            return f"Looks like {self.factor}; the slope, {slope}, agrees. {remedy}"
        times, limits = self._factor_and_limits()
        if self.low <= 1 <= self.high:
            direction = "high" if more else "low"
            return f"No prior shift: the odds are too {direction} by a factor of {times} {limits}, which may be chance."
        if self.slope != self.slope:
            return f"The odds are too {'high' if more else 'low'}, but these rows determine no slope."
        found = (
            f"the odds are too {'high' if more else 'low'} by a factor of {times} {limits} on average, but the slope"
        )
        if self.slope_low <= 1 <= self.slope_high:
            unknown = f"{found}, {slope}, may be another than 1"
            return f"Perhaps a prior shift: {unknown}; to tell, its limits must lie between {_LEAST} and {1 / _LEAST}."
        return f"Not a prior shift alone: {found}, {slope}, is not 1, so that no single factor corrects them."

    def _entries(self) -> dict[str, Any]:
        """Fields by name, with `detected` and `sentence`."""
        return super()._entries() | {"detected": self.detected, "sentence": self.sentence}

    def __str__(self) -> str:
        return self.sentence


def _inverse(value: float) -> float:
    return 1 / value if value > 0 else float("inf")


def _factor(value: float) -> str:
    """Two or three digits of a number above 0."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"
