"""The table of measures: what each is called and means, and how its limits and its noise floor are found."""

import math
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from trueness import measure as measures
from trueness._tally.rows_or_sums import as_tally
from trueness._tally.rules import BinRule, BlockIsotonic, EqualMass, Isotonic, as_rule
from trueness.errors import InputError
from trueness.infer.limits._measure_limits import (
    Asked,
    Limits,
    LimitsOf,
    Options,
    auc_limits,
    biased,
    curve_limits,
    discrimination_limits,
    ece_limits_in,
    free_intercept_limits,
    intercept_limits,
    l2_limits,
    loss_limits,
    rate_limits,
    ratio_limits,
    scaled_brier_limits,
    slope_limits,
    uncertainty_limits,
)
from trueness.infer.limits._slope import free_intercept_interval
from trueness.infer.test._calibration_test import calibration_test
from trueness.measure._binned import checked_norm


class Measure(NamedTuple):
    """A measure of the library: its name, its meaning, and how its uncertainty is found."""

    name: str
    definition: str
    function: str | Callable[..., float]
    """A function of the sums, or its name in `trueness.measure`."""
    limits: LimitsOf
    floor: Literal["", "gaps", "pooled", "drawn", "curve"] = ""
    """How the noise floor is simulated: gaps of bins, labels of pooled scores, of every score, or with a curve."""


class Gaps(NamedTuple):
    """A power mean over bins of a power of |event rate − mean score|."""

    rule: BinRule
    norm: float
    power: int

    @property
    def blind(self) -> bool:
        """Whether the bins do not depend on the labels."""
        return not isinstance(self.rule, Isotonic | BlockIsotonic)


def gaps_of(function: str, options: Options) -> Gaps | None:
    """The bins and norm of a measure of gaps; None for other losses."""
    bins, norm = options.get("bins", 10), checked_norm(options.get("norm", "l1"))
    if function == "ace":
        return Gaps(bins if isinstance(bins, BinRule) else EqualMass(bins), norm, 1)
    if function == "mce":
        return Gaps(as_rule(bins), math.inf, 1)
    loss = options.get("loss", "absolute")
    if loss not in ("absolute", "squared"):
        return None
    return Gaps(as_rule(bins), norm, 1 if loss == "absolute" else 2)


def _gap_limits(function: str) -> LimitsOf:
    """Limits of the l1 and the l2 error in bins that do not depend on the labels; none for other norms."""

    def limits(asked: Asked) -> Limits:
        gaps = gaps_of(function, asked.options)
        if gaps is not None and gaps.blind and (gaps.norm, gaps.power) == (1, 1):
            return ece_limits_in(asked, gaps.rule)
        if gaps is not None and gaps.blind and (gaps.norm, gaps.power) in ((2, 1), (1, 2)):
            return l2_limits(asked, gaps.rule, squared=gaps.power == 2)
        return biased(asked)

    return limits


def _squared_limits(asked: Asked) -> Limits:
    return l2_limits(asked, asked.options.get("bins"), squared=True, k=asked.options.get("k"))


def _corp(part: str) -> Callable[..., float]:
    def value(sums: Any, *, score: Literal["brier", "log"] = "brier") -> float:
        return float(getattr(measures.corp(sums, score=score), part))

    return value


def _distance(method: Literal["ks", "kuiper"]) -> Callable[..., float]:
    def value(sums: Any) -> float:
        return calibration_test(sums, method=method).statistic

    return value


def _event_rate(sums: Any) -> float:
    return float(sums.average(lambda part: part.totals.events / part.totals.weight))


def _prevalence(sums: Any) -> float:
    if sums.kind != "binary":
        demand = "'prevalence' needs one event per row"
        raise InputError("measure", demand, f"these sums are {sums.kind}", remedy="'accuracy' is for the top class.")
    return _event_rate(sums)


def _accuracy(sums: Any) -> float:
    if sums.kind not in ("confidence", "top-label"):
        remedy = "Pass a matrix with `kind='confidence'`."
        raise InputError(
            "measure", "'accuracy' needs the top class of each row", f"these are {sums.kind}", remedy=remedy
        )
    return _event_rate(sums)


def _free_intercept(sums: Any) -> float:
    return as_tally(sums, None, {}).average(lambda cells: free_intercept_interval(cells, 0.95).intercept)


MEASURES: Final[dict[str, Measure]] = {
    "ece": Measure("ECE", "Mean over bins of |event rate − mean score|.", "ece", _gap_limits("ece"), "gaps"),
    "ace": Measure("ACE", "The same over bins of equal mass.", "ace", _gap_limits("ace"), "gaps"),
    "mce": Measure("MCE", "Largest |event rate − mean score| of a bin.", "mce", biased, "gaps"),
    "gce": Measure("GCE", "Power mean over bins of a loss of each bin.", "gce", _gap_limits("gce"), "gaps"),
    "tce": Measure(
        "TCE", "Percentage of scores that a test rejects as the rate of their bin.", "tce", biased, "pooled"
    ),
    "smooth_ece": Measure(
        "smooth ECE", "Mean |label − score| after kernel smoothing of the residuals.", "smooth_ece", biased, "pooled"
    ),
    "squared_ece": Measure(
        "squared ECE", "Mean over bins of (event rate − mean score)², debiased.", "squared_ece", _squared_limits
    ),
    "brier": Measure("Brier score", "Mean of (score − label)².", "brier", loss_limits("brier")),
    "scaled_brier": Measure(
        "scaled Brier score", "1 − Brier score / r(1 − r), with event rate r.", "scaled_brier", scaled_brier_limits
    ),
    "log_loss": Measure("log loss", "Mean of −log(probability of the label), in nats.", "log_loss", loss_limits("log")),
    "calibration_slope": Measure(
        "slope",
        "Slope of the logistic regression of labels on the logits of the scores.",
        "calibration_slope",
        slope_limits,
    ),
    "calibration_intercept": Measure(
        "calibration in the large",
        "Intercept of the logistic regression of labels on the logits of the scores, with the slope fixed at 1.",
        "calibration_intercept",
        intercept_limits,
    ),
    "free_intercept": Measure(
        "intercept (free slope)",
        "Intercept of the logistic regression of labels on the logits of the scores, beside the slope.",
        _free_intercept,
        free_intercept_limits,
    ),
    "observed_expected": Measure(
        "observed/expected", "Observed events divided by the sum of the scores.", "observed_expected", ratio_limits
    ),
    "auc": Measure("AUC", "Probability that an event has a higher score than a non-event.", "auc", auc_limits),
    "ici": Measure("ICI", "Mean |flexible curve − score|.", "ici", curve_limits(0), "curve"),
    "e50": Measure("E50", "Median of |flexible curve − score|.", "e50", curve_limits(1), "curve"),
    "e90": Measure("E90", "90 % quantile of |flexible curve − score|.", "e90", curve_limits(2), "curve"),
    "emax": Measure("Emax", "Largest |flexible curve − score|.", "emax", curve_limits(3), "curve"),
    "miscalibration": Measure(
        "miscalibration",
        "Score minus that of the isotonic recalibration (CORP).",
        _corp("miscalibration"),
        biased,
        "drawn",  # pools hide the steps of the isotonic fit: of 10^6 scores the floor would be 14 % too low
    ),
    "discrimination": Measure(
        "discrimination",
        "Score of the event rate minus that of the isotonic recalibration (CORP).",
        _corp("discrimination"),
        discrimination_limits,
    ),
    "uncertainty": Measure(
        "uncertainty",
        "Score of the event rate, for the Brier score r(1 − r).",
        _corp("uncertainty"),
        uncertainty_limits,
    ),
    "ks": Measure(
        "KS distance", "Largest |mean of label − score| over all scores up to one.", _distance("ks"), biased, "pooled"
    ),
    "kuiper": Measure(
        "Kuiper distance",
        "Largest |mean of label − score| over all ranges of scores.",
        _distance("kuiper"),
        biased,
        "pooled",
    ),
    "prevalence": Measure("prevalence", "Share of events.", _prevalence, rate_limits),
    "accuracy": Measure("accuracy", "Share of rows whose top class is the label.", _accuracy, rate_limits),
}
ALIASES: Final[dict[str, tuple[str, Options]]] = {
    "ece_l2": ("ece", {"norm": "l2"}),
    "slope": ("calibration_slope", {}),
    "intercept": ("calibration_intercept", {}),
    "brier_miscalibration": ("miscalibration", {}),
    "brier_discrimination": ("discrimination", {}),
    "brier_uncertainty": ("uncertainty", {}),
}
CURVE: Final = {"ici": 0, "e50": 1, "e90": 2, "emax": 3}
"""Places among the distances of a flexible curve."""
SUMMED: Final = ("miscalibration",)
"""Measures that are summed over classes."""
