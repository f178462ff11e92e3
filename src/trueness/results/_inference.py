"""Intervals, limits, noise floors and tests: how certain a number is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trueness._text.numbers import confidence_set, level_percent, p_value
from trueness.results._record import Record
from trueness.typing import Floats

_ALPHA = 0.05  # the level of the limits that an equivalence test gives in words


@dataclass(frozen=True)
class Interval(Record):
    """A confidence set for a calibration error: an interval, with or without the point zero.

    The set can be {0} together with an interval away from zero, because "no error at all" is tested separately.

    Examples
    --------
    >>> print(Interval(0.02, 0.01, 0.04, 0.9, "analytic", 500, True, True, "EqualWidth(12)", False))
    l2 calibration error 0.0200, 90 % confidence set {0} ∪ [0.0100, 0.0400] (analytic, n = 500, EqualWidth(12))
    """

    estimate: float
    """The error: the root of the debiased square, cut at zero, or that square itself, which may be negative."""
    low: float
    """Lower end of the continuous part."""
    high: float
    """Upper end."""
    level: float
    """Nominal coverage."""
    method: str
    """The method of `ece_interval`."""
    n: int
    """Rows; a row of weight 2 counts as two."""
    low_closed: bool
    """Whether `low` belongs to the set. The upper end always does."""
    includes_zero: bool
    """Whether zero belongs to the set, so that calibration is not rejected."""
    bins: str = ""
    """The bins, in words."""
    squared: bool = False
    """Whether the numbers are on the scale of the squared error."""
    finer: float | None = None
    """The estimate in the fine cells of the upper end; how far it exceeds `estimate` is what coarse cells hide. None if
    there is one partition only."""
    note: str = ""
    """What else to know, such as that the limits are exact because one class is nearly absent."""

    @property
    def is_interval(self) -> bool:
        """Whether the set has no gap between the point zero and `low`."""
        return not self.includes_zero or self.low == 0

    @property
    def hull(self) -> tuple[float, float]:
        """The ends of the smallest interval that contains the set."""
        return (0.0 if self.includes_zero else self.low, self.high)

    def __contains__(self, value: float) -> bool:
        if value == 0:
            return self.includes_zero
        return (self.low < value or (self.low_closed and self.low == value)) and value <= self.high

    def root(self) -> "Interval":
        """The square root of a set for the squared error; negative numbers become zero."""
        if not self.squared:
            return self
        estimate, low, high = (max(0.0, value) ** 0.5 for value in (self.estimate, self.low, self.high))
        finer = None if self.finer is None else max(0.0, self.finer) ** 0.5
        return replace(self, estimate=estimate, low=low, high=high, finer=finer, squared=False)

    def _entries(self) -> dict[str, Any]:
        """Fields by name, with `is_interval` and `hull`."""
        return super()._entries() | {"is_interval": self.is_interval, "hull": list(self.hull)}

    def __str__(self) -> str:
        what = "squared l2 calibration error" if self.squared else "l2 calibration error"
        how = ", ".join(part for part in (self.method, f"n = {self.n:,}", self.bins) if part)
        span = f"{level_percent(self.level)} confidence set {confidence_set(self, _decimal)}"
        return f"{what} {_decimal(self.estimate)}, {span} ({how})"


def _decimal(value: float) -> str:
    """Four decimals, or three significant digits where four decimals would say little."""
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.001 else f"{value:.3g}"


@dataclass(frozen=True)
class NoiseFloor(Record):
    """The distribution of a measure if the scores were the true probabilities, and the observed value."""

    measure: str
    """The measure, by name."""
    mean: float
    """Mean of the simulated values."""
    std: float
    """Their standard deviation."""
    low: float
    """Their lower quantile: a share (1 − level)/2 lies below."""
    high: float
    """Their upper quantile."""
    level: float
    """Share of simulated values between `low` and `high`."""
    observed: float | None
    """The value for the observed labels; None if they are unknown."""
    pvalue: float | None
    """How often a calibrated model shows a value at least as extreme; never 0. None without an observed value."""
    alternative: str
    """Which values are extreme: 'greater', 'less' or 'two-sided'."""
    resamples: int
    """Number of sets of labels drawn."""
    n: int
    """Rows."""
    kind: str
    """The view: 'binary', 'classwise', 'confidence', 'top-label' or 'multilabel'."""
    draws: Floats = field(repr=False, compare=False)
    """The simulated values in the order drawn; not part of :meth:`to_dict`."""

    def _entries(self) -> dict[str, Any]:
        """Fields by name, without the draws."""
        return {name: value for name, value in super()._entries().items() if name != "draws"}

    def __str__(self) -> str:
        floor = f"{self.mean:.4f} ± {self.std:.4f}"
        if self.observed is None:
            span = f"{level_percent(self.level)} between {self.low:.4f} and {self.high:.4f}"
            return f"{self.measure}: a calibrated model would show {floor} ({span})"
        assert self.pvalue is not None
        return f"{self.measure} {self.observed:.4f}; a calibrated model would show {floor} ({p_value(self.pvalue)})"


@dataclass(frozen=True)
class Significance(Record):
    """The outcome of a test of calibration, or of an equivalence test, whose small p-value is evidence for it.

    Examples
    --------
    >>> print(Significance(0.004, 0.003, "l2 equivalence", 900, "", within=0.02))
    calibrated within 0.02: shown at 95 % confidence, p = 0.003 (l2 equivalence test, estimate 0.004, n = 900).
    """

    statistic: float
    """The test statistic; its scale depends on the method. For an equivalence test, the estimate."""
    pvalue: float
    """Probability of a statistic at least as extreme if the scores are calibrated; for an equivalence test, if their
    error is as large as `within`."""
    method: str
    """The method of `calibration_test`, or the criterion of `equivalence_test`."""
    n: int
    """Rows of positive weight; a row of weight 2 counts as two if all weights are whole numbers."""
    assumptions: str
    """The assumptions behind the p-value, and the defaults that were used."""
    alone: Mapping[str, float] = field(default_factory=dict, hash=False)
    """For 'omnibus': the p-value of each statistic by itself; for several labels, that of each label."""
    adjusted: Mapping[str, float] = field(default_factory=dict, hash=False)
    """For several labels: the p-value of each, adjusted for their number (Holm)."""
    strongest: str = ""
    """For 'omnibus': the statistic with the smallest p-value of its own, in words."""
    too_good: float | None = None
    """For 'omnibus': the p-value of the lower tail. Small if labels agree with the scores better than chance allows."""
    contradicted: int = 0
    """Rows whose label is impossible under their score: events at score 0, non-events at score 1."""
    within: float | None = None
    """The margin of an equivalence test: a small p-value shows that the error is smaller. None for other tests."""
    condition: str = ""
    """For an equivalence test: what it assumes of the scores and the rows cannot show; '' if nothing."""
    smallest_pvalue: float = 0.0
    """The smallest p-value that the method could give: 1/(R + 1) for R sets of redrawn labels."""

    @property
    def pvalue_in_words(self) -> str:
        """The p-value as text; ``p ≤ …`` if it is the smallest that redrawn labels could give."""
        text = p_value(self.pvalue)
        return text.replace("=", "≤") if 0 < self.pvalue == self.smallest_pvalue else text

    def __str__(self) -> str:
        if self.within is not None:
            how = f"{self.method} test, estimate {self.statistic:.4g}, n = {self.n:,}"
            shown = f"{'shown' if self.pvalue <= _ALPHA else 'not shown'} at {level_percent(1 - _ALPHA)} confidence"
            outcome = f"calibrated within {self.within:g}: {shown}, {self.pvalue_in_words} ({how})."
            return f"{outcome} {self.assumptions}".rstrip()
        outcome = f"statistic {self.statistic:.4g}, {self.pvalue_in_words} (n = {self.n:,})"
        return f"{self.method} test of calibration: {outcome}. {self.assumptions}"
