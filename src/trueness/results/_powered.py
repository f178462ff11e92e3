"""Calibration from few human labels and many labels of a judge."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from trueness._text.numbers import count, level_percent, number, p_value, span
from trueness._text.strings import align
from trueness.errors import InputError
from trueness.results._inference import Estimate
from trueness.results._record import Record
from trueness.typing import Floats, Ints


@dataclass(frozen=True)
class Powered(Record):
    """What few human labels and a judge's label for every row say about calibration."""

    _columns = (
        "low_score",
        "high_score",
        "rows_in_bin",
        "humans_in_bin",
        "score",
        "rate",
        "gap",
        "low",
        "high",
    )

    pvalue: float
    """P-value of the hypothesis that the scores are calibrated."""
    event_rate: Estimate
    """Share of events."""
    observed_expected: Estimate
    """Observed divided by expected events."""
    brier: Estimate
    """Brier score."""
    humans_alone: Estimate
    """Share of events from the human labels and the scores, without the judge."""
    low_score: Floats
    """Smallest score of each bin."""
    high_score: Floats
    """Largest score."""
    rows_in_bin: Ints
    """Rows."""
    humans_in_bin: Ints
    """Rows with a human label."""
    score: Floats
    """Mean score."""
    rate: Floats
    """Event rate; nan in a bin without a human label."""
    gap: Floats
    """Event rate − mean score."""
    low: Floats
    """Lower limit of the gap; the limits hold for all bins together."""
    high: Floats
    """Upper limit."""
    level: float
    """Confidence level."""
    n: int
    """Rows."""
    humans: int
    """Human labels."""
    selection_pvalue: float
    """P-value of the hypothesis that scores and judge are distributed alike in rows with and
    without a human label."""
    label_variance: dict[str, float]
    """Variance of each number that falls as 1/(human labels)."""
    row_variance: dict[str, float]
    """Variance of each number that more human labels do not lower, only more rows."""

    @property
    def worth(self) -> float:
        """Human labels that would determine the event rate as well without the judge.

        Inf if none would.
        """
        spread = self.event_rate.standard_error**2 - self.row_variance["humans_alone"]
        if spread > 0:
            return self.humans * self.label_variance["humans_alone"] / spread
        return math.inf

    def labels_needed(
        self, half_width: float, *, of: str = "event_rate", power: float | None = None
    ) -> int | None:
        """Human labels still needed for limits at ± `half_width`, drawn like the others.

        Parameters
        ----------
        half_width : float
            Half the distance of the limits; with `power`, a difference that a test at 1 − level
            must detect.
        of : {'event_rate', 'observed_expected', 'brier', 'bins'}, default 'event_rate'
            The number that is tested or has the limits; 'bins' is the widest gap, at the joint
            level.
        power : float, optional
            The probability with which the test detects the difference.

        Returns
        -------
        int or None
            0 if there are enough; None if human labels of all rows would not suffice.
        """
        if of not in self.label_variance:
            raise InputError(
                "of", f"must be one of {', '.join(map(repr, self.label_variance))}", f"got {of!r}"
            )
        if not 0 < half_width < math.inf:
            raise InputError("half_width", "must be above 0", f"got {half_width!r}")
        if power is not None and not 0 < power < 1:
            raise InputError("power", "must lie strictly between 0 and 1", f"got {power!r}")
        level = self.level ** (1 / self.score.size) if of == "bins" else self.level
        reach = NormalDist().inv_cdf((1 + level) / 2) + NormalDist().inv_cdf(power or 0.5)
        left = (half_width / reach) ** 2 - self.row_variance[of]
        labels = self.humans * self.label_variance[of]
        if labels > self.n * left:
            return None
        return max(0, math.ceil(labels / left) - self.humans)

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return "; ".join(self._findings()) + "."

    def _findings(self) -> list[str]:
        """The p-value of the test, then the estimates; the last one is without the judge."""
        rows = f"{count(self.humans, 'human label')} and a judge's labels of {count(self.n, 'row')}"
        every = self.event_rate, self.observed_expected, self.brier, self.humans_alone
        limits = [
            f"{level_percent(self.level)} {span(estimate.low, estimate.high)}" for estimate in every
        ]
        numbers = [
            f"{estimate.measure} {number(estimate.value)}, {limits_in_words}"
            for estimate, limits_in_words in zip(every, limits, strict=True)
        ]
        numbers[-1] = f"without the judge: {numbers[-1]}"
        return [f"From {rows}: test of calibration {p_value(self.pvalue)}", *numbers]

    def __str__(self) -> str:
        """The findings, and a table with a line for each bin."""
        table = [
            ["scores", "rows", "human", "gap", f"{level_percent(self.level)}, all bins together"]
        ]
        for low_score, high_score, rows, humans, *_, gap, low, high in (
            row.values() for row in self.rows()
        ):
            limits = f"{low:+.4f} to {high:+.4f}"
            table.append(
                [span(low_score, high_score), f"{rows:,}", f"{humans:,}", f"{gap:+.4f}", limits]
            )
        return "\n".join([*self._findings(), align(table, [False, True, True, True, True])])
