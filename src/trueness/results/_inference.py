"""Estimates, intervals, noise floors and tests: how certain a number is; and the prior shift."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trueness._text.numbers import (
    cells_in_words,
    confidence_set,
    level_percent,
    number,
    p_value,
    rule_in_words,
    span,
    with_rules_in_words,
)
from trueness.results._record import Record, with_two_columns
from trueness.typing import Floats

_ALPHA = 0.05  # the level of the limits that an equivalence test gives in words


@dataclass(frozen=True)
class Interval(Record):
    """A confidence set for a calibration error: an interval, with or without the point zero.

    The set can be {0} together with an interval away from zero, because "no error at all" is tested
    separately.

    Examples
    --------
    >>> print(Interval(0.02, 0.01, 0.04, 0.9, "analytic", 500, True, True, "EqualWidth(12)", False))
    typical error 0.0200, 90 % confidence set {0} ∪ [0.0100, 0.0400] (analytic, n = 500, 12 bins of equal width)
    """

    _also = ("is_interval", "hull")

    estimate: float
    """The error: the root of the debiased square, cut at zero, or that square itself, which may be
    negative."""
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
    """The estimate in the fine cells of the upper end; how far it exceeds `estimate` is what coarse
    cells hide. None if there is one partition only."""
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
        estimate, low, high = (
            max(0.0, value) ** 0.5 for value in (self.estimate, self.low, self.high)
        )
        finer = None if self.finer is None else max(0.0, self.finer) ** 0.5
        return replace(self, estimate=estimate, low=low, high=high, finer=finer, squared=False)

    def __str__(self) -> str:
        what = "squared typical error" if self.squared else "typical error"
        cells = cells_in_words(self.bins)
        details = ", ".join(part for part in (self.method, f"n = {self.n:,}", cells) if part)
        span = f"{level_percent(self.level)} confidence set {confidence_set(self, _decimal)}"
        sentence = f"{what} {_decimal(self.estimate)}, {span} ({details})"
        return with_two_columns(sentence, self.note)


def _decimal(value: float) -> str:
    """Four decimals, or three significant digits where four decimals would say little."""
    if value == 0 or abs(value) >= 0.001:
        return f"{value:.4f}"
    return f"{value:.3g}"


@dataclass(frozen=True)
class NoiseFloor(Record):
    """The distribution of a measure if the scores were true, and the observed value."""

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
    """How often a calibrated model shows a value at least as extreme; never 0. None without an
    observed value."""
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
    note: str = ""
    """How the rows were read, such as what a matrix of two columns was taken for."""

    def _entries(self) -> dict[str, Any]:
        """Fields by name, without the draws."""
        return {name: value for name, value in super()._entries().items() if name != "draws"}

    def __str__(self) -> str:
        """What a calibrated model would show; the observed value and its p-value if known."""
        floor = f"{self.mean:.4f} ± {self.std:.4f}"
        if self.observed is None:
            span = f"{level_percent(self.level)} between {self.low:.4f} and {self.high:.4f}"
            sentence = f"{self.measure}: a calibrated model would show {floor} ({span})"
            return with_two_columns(sentence, self.note)
        assert self.pvalue is not None
        sentence = (
            f"{self.measure} {self.observed:.4f}; a calibrated model would show {floor} "
            f"({p_value(self.pvalue)})"
        )
        return with_two_columns(sentence, self.note)


# The normal quantile of a 99 % interval.
_MONTE_CARLO = 2.576
# The omnibus test ranks its statistics among the draws before it ranks their combination: between
# seeds its p-value varies about twice as much as a share of draws (root mean square of 9 data
# sets).
_OMNIBUS_ERROR = 2.0
# Tests whose usual p-value is that of a limiting distribution.
_TEXTBOOK = ("spiegelhalter", "cox", "hosmer-lemeshow", "ks", "kuiper")


@dataclass(frozen=True)
class Significance(Record):
    """The outcome of a test of calibration or of equivalence.

    Examples
    --------
    >>> print(Significance(0.004, 0.003, "l2 equivalence", 900, "", within=0.02))
    calibrated within 0.02: shown at 95 % confidence, p = 0.003 (l2 equivalence test, estimate 0.004, n = 900).
    """

    _also = ("pvalue_error", "is_open")

    statistic: float
    """The test statistic; its scale depends on the method. For an equivalence test, the
    estimate."""
    pvalue: float
    """Probability of a statistic at least as extreme if the scores are calibrated; for an
    equivalence test, if their error is as large as `within`."""
    method: str
    """The method of `calibration_test`, or the criterion of `equivalence_test`."""
    n: int
    """Rows of positive weight; a row of weight 2 counts as two if all weights are whole numbers."""
    assumptions: str
    """The assumptions behind the p-value, and the defaults that were used."""
    alone: Mapping[str, float] = field(default_factory=dict, hash=False)
    """For 'omnibus': the p-value of each statistic by itself; for several labels, that of each
    label."""
    adjusted: Mapping[str, float] = field(default_factory=dict, hash=False)
    """For several labels: the p-value of each, adjusted for their number (Holm)."""
    strongest: str = ""
    """For 'omnibus': the statistic with the smallest p-value of its own, in words."""
    too_good: float | None = None
    """For 'omnibus': the p-value of the lower tail. Small if labels agree with the scores better
    than chance allows."""
    contradicted: int = 0
    """Rows whose label is impossible under their score: events at score 0, non-events at score
    1."""
    within: float | None = None
    """The margin of an equivalence test: a small p-value shows that the error is smaller. None for
    other tests."""
    condition: str = ""
    """For an equivalence test: what it assumes of the scores and the rows cannot show; '' if
    nothing."""
    smallest_pvalue: float = 0.0
    """The smallest p-value that the method could give: 1/(R + 1) for R sets of redrawn labels."""
    level: float = 0.95
    """The level at which it decides: more labels are drawn where the p-value is near 1 − level."""

    @property
    def pvalue_error(self) -> float:
        """The Monte-Carlo standard error of the p-value; 0 if no labels were drawn for it.

        For 'omnibus' an approximation.
        """
        if not 0 < self.smallest_pvalue <= self.pvalue < 1:
            return 0.0
        error = math.sqrt(self.pvalue * (1 - self.pvalue) * self.smallest_pvalue)
        if self.method == "omnibus":
            return _OMNIBUS_ERROR * error
        return error

    @property
    def is_open(self) -> bool:
        """Whether other draws may decide otherwise.

        So it is if the 99 % Monte-Carlo interval of the p-value contains 1 − level.
        """
        distance = abs(self.pvalue - (1 - self.level))
        return self.pvalue_error > 0 and distance <= _MONTE_CARLO * self.pvalue_error

    @property
    def pvalue_in_words(self) -> str:
        """The p-value as text, as ``p ≤ …`` if it is the smallest that redrawn labels could give.

        With its error where other draws may decide otherwise, and marked as simulated where a
        textbook has another.
        """
        text = p_value(self.pvalue)
        if 0 < self.pvalue == self.smallest_pvalue:
            text = text.replace("=", "≤")
        elif self.is_open:
            text = f"p = {self.pvalue:.3f} ± {self.pvalue_error:.3f}"
        if self.smallest_pvalue > 0 and self.method in _TEXTBOOK:
            return f"{text}, simulated"
        return text

    def __str__(self) -> str:
        """The method, its p-value and assumptions; of an equivalence test, if it was shown."""
        if self.within is not None:
            details = f"{self.method} test, estimate {self.statistic:.4g}, n = {self.n:,}"
            shown = "shown" if self.pvalue <= _ALPHA else "not shown"
            outcome = (
                f"calibrated within {self.within:g}: {shown} at {level_percent(1 - _ALPHA)} "
                f"confidence, {self.pvalue_in_words} ({details})."
            )
            return f"{outcome} {self.assumptions}".rstrip()
        outcome = f"statistic {self.statistic:.4g}, {self.pvalue_in_words} (n = {self.n:,})"
        assumptions = with_rules_in_words(self.assumptions)
        return f"{self.method} test of calibration: {outcome}. {assumptions}"


# A slope between this and its inverse is near enough to 1 for one factor to correct the odds.
_LEAST = 0.8


@dataclass(frozen=True)
class PriorShift(Record):
    """The factor by which the odds of all scores are too high.

    Examples
    --------
    >>> print(PriorShift(1.2, 0.9, 1.6, 0.95, 1.02, 0.93, 1.11, 5000))
    No prior shift: the odds are too high by a factor of 1.20 (95 %: 0.90 to 1.60), which may be chance.
    """

    _also = ("suspected", "shown", "sentence")

    weight: float
    """w: the odds are w times too high, as if positives had been weighted w-fold; 1 if they are
    right on average."""
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
    """Rows with a score strictly between 0 and 1; a row of weight 2 counts as two if weights count
    rows."""
    n_certain: int = 0
    """Rows with a score of exactly 0 or 1, which no weight changes and which are left out."""
    note: str = ""
    """What else to know about the rows."""

    @property
    def suspected(self) -> bool:
        """Whether one factor may explain the error.

        The limits of the weight then exclude 1, and those of the slope include it.
        """
        if not 0 < self.weight < math.inf or math.isnan(self.slope):
            return False
        return not self.low <= 1 <= self.high and self.slope_low <= 1 <= self.slope_high

    @property
    def shown(self) -> bool:
        """Whether a shift is suspected, and the limits of the slope lie between 0.8 and 1.25.

        Few rows never show it.
        """
        return self.suspected and self.slope_low > _LEAST and self.slope_high < 1 / _LEAST

    @property
    def factor(self) -> str:
        """Which class looks overweighted and by how much, with limits, as text."""
        times, limits = self._factor_and_limits()
        labels = "events" if self.weight > 1 else "non-events"
        return f"training with {labels} weighted about {times}-fold {limits}"

    def _factor_and_limits(self) -> tuple[str, str]:
        ends = [self.weight, self.low, self.high]
        if self.weight <= 1:
            ends = [_inverse(self.weight), _inverse(self.high), _inverse(self.low)]
        times, low, high = map(_factor, ends)
        return times, f"({level_percent(self.level)}: {low} to {high})"

    @property
    def sentence(self) -> str:
        """The finding in words."""
        too = "too high" if self.weight > 1 else "too low"
        if not 0 < self.weight < math.inf:
            span = (
                f"{level_percent(self.level)} limits {_factor(self.low)} and {_factor(self.high)}"
            )
            return f"These rows determine no weight ({span}): there must be events and non-events."
        # Limits that exclude 1 are not shown as 1.00.
        low = self.slope_low
        high = self.slope_high
        digits = 4 if any(end != 1 and f"{end:.2f}" == "1.00" for end in (low, high)) else 2
        slope = f"{self.slope:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
        remedy = f"`prior_correction(y_prob, weight={self.weight:.3g})`"
        if self.shown:
            return f"Looks like {self.factor}; the slope, {slope}, agrees. {remedy} undoes it."
        if self.suspected:
            other = f"the slope, {slope}, agrees with 1, but not only with 1"
            return (
                f"Looks like {self.factor}, or like another error: {other}. {remedy} undoes the "
                "factor."
            )
        times, limits = self._factor_and_limits()
        if self.low <= 1 <= self.high:
            return (
                f"No prior shift: the odds are {too} by a factor of {times} {limits}, which may "
                "be chance."
            )
        if self.slope != self.slope:
            return f"The odds are {too}, but these rows determine no slope."
        factor = f"the odds are {too} by a factor of {times} {limits} on average, but the slope"
        return (
            f"Not a prior shift alone: {factor}, {slope}, is not 1, so that no single factor "
            "corrects them."
        )

    def __str__(self) -> str:
        return with_two_columns(self.sentence, self.note)


def _inverse(factor: float) -> float:
    return 1 / factor if factor > 0 else math.inf


def _factor(value: float) -> str:
    """Two or three digits of a number above 0."""
    if value >= 10:
        return number(value, 0)
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}"


INDEPENDENT_FLOOR = (
    "The noise floor takes rows as independent: in clusters, a calibrated model may show more."
)


@dataclass(frozen=True)
class Estimate(Record):
    """A measure with its confidence limits, or with its noise floor where none are valid.

    Examples
    --------
    >>> print(Estimate("Brier score", 0.1624, 0.1493, 0.1755, 0.95, "t", 400,
    ...     "Mean of (score − label)²."))
    Brier score 0.1624, 95 % 0.1493 to 0.1755 (t, n = 400)
    >>> nan = float("nan")
    >>> print(Estimate("MCE", 0.21, nan, nan, 0.95, "", 400, "Largest gap.", floor=0.14,
    ...     floor_high=0.25))
    MCE 0.2100, no interval; a calibrated model would show 0.1400 on average, at most 0.2500 in 95 % (n = 400)
    """

    _also = ("bounded",)

    measure: str
    """The measure, by its display name."""
    value: float
    """Its value on these rows."""
    low: float
    """Lower confidence limit; nan if no valid interval is known."""
    high: float
    """Upper confidence limit."""
    level: float
    """Nominal coverage of the interval from `low` to `high`."""
    method: str
    """How the limits were found; empty if there are none."""
    n: int
    """Rows; a row of weight 2 counts as two if all weights are whole numbers."""
    definition: str
    """The measure in one line."""
    standard_error: float = math.nan
    """Standard error of `value`; nan where it has no meaning."""
    floor: float = math.nan
    """Noise floor: mean of the measure for a calibrated model with these scores; nan if the measure
    has none."""
    floor_high: float = math.nan
    """Upper `level` quantile of the measure for a calibrated model. A value above it is more than
    noise; `value` − `floor` is no estimate of the error, since noise adds less to a wrong model
    than to a calibrated one."""
    note: str = ""
    """Anything else to know, such as why there is no interval or how many rows were left out."""
    ideal: float = math.nan
    """Value of a calibrated model, if it does not depend on the scores; nan otherwise."""
    kind: str = "binary"
    """The view: 'binary', 'classwise', 'confidence', 'top-label' or 'multilabel'."""
    bins: str = ""
    """The rule of the bins, if it can be chosen."""
    where: str = ""
    """The rows that decide the value, if it is that of a single bin."""
    low_open: bool = False
    """Whether a lower limit of 0 is excluded: the error is above 0, but may be as small as one
    likes."""
    each: Mapping[str, "Estimate"] = field(default_factory=dict, hash=False)
    """Of a mean over labels: the measure of each, with limits that hold for all of them
    together."""

    @property
    def bounded(self) -> bool:
        """Whether there are confidence limits."""
        return not (math.isnan(self.low) and math.isnan(self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high and not (self.low_open and value == self.low)

    def columns(self) -> dict[str, list[Any]]:
        """The values by name, as a table of one row, or of one row per label."""
        lines = [{"label": name, **estimate._entries()} for name, estimate in self.each.items()]
        if not lines:
            return super().columns()
        return {name: [line[name] for line in lines] for name in lines[0] if name != "each"}

    def __str__(self) -> str:
        if not self.each:
            return with_two_columns(self._line(), self.note)
        lines = [f"{name}: {estimate._line()}" for name, estimate in self.each.items()]
        return "\n".join([f"Mean over {len(lines)}: {self._line()}", *lines])

    def _line(self) -> str:
        """The value with its limits; without limits with its noise floor, if there is one."""
        view = {"binary": "", "classwise": "class-wise"}.get(self.kind, self.kind)
        which = ", ".join(filter(None, [view, rule_in_words(self.bins)]))
        name = f"{self.measure} ({which})" if which else self.measure
        value = f"{name} {number(self.value)}"
        level = level_percent(self.level)
        rows = f"n = {self.n:,}"
        if self.bounded:
            limits = span(self.low, self.high)
            if self.low_open:
                limits = f"above 0 to {number(self.high)}"
            method = with_rules_in_words(self.method)
            return f"{value}, {level} {limits} ({method}, {rows})"
        if math.isnan(self.floor):
            return f"{value}, no interval ({rows})"
        floor = f"{number(self.floor)} on average, at most {number(self.floor_high)} in {level}"
        return f"{value}, no interval; a calibrated model would show {floor} ({rows})"


def contradicted_in_words(wrong: float, *, counted: bool) -> str:
    """How many scores of exactly 0 and 1 have the other label, or which weight they have.

    `counted` says whether weights count rows, so that `wrong` is a number of scores.
    """
    if wrong and not counted:
        return f"some, with a weight of {amount_in_words(wrong)}, contradict their label"
    if wrong == 0:
        return "none of them contradicts its label"
    return f"{amount_in_words(wrong)} of them contradict{'s its' if wrong == 1 else ' their'} label"


def amount_in_words(weight: float) -> str:
    """Rows, or weight, in words: 1,000,000, not 1e+06."""
    if weight == round(weight) or weight >= 1000:
        return f"{weight:,.0f}"
    return f"{weight:,.4g}"
