"""The catalogue: the only list of measures.

It says what each is called and means, how it is computed, and how its uncertainty is found.
`estimate`, `trueness measure`, the panel, the report, the scorers and docs/reference/measures.md
read it.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from trueness import measure as of
from trueness._tally.evidence import AnySums
from trueness._tally.rows_or_sums import as_tally
from trueness._tally.rules import BinRule, BinsLike, EqualMass
from trueness._tally.sketch import Sketch
from trueness._tally.sums_of_rows import Sums
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.limits._auc import auc_limits
from trueness.infer.limits._curve_errors import curve_limits
from trueness.infer.limits._ece import gap_limits, largest_gap, squared_limits
from trueness.infer.limits._limits import LimitsOf, biased, of_one
from trueness.infer.limits._observed_expected import ratio_limits
from trueness.infer.limits._row_means import (
    discrimination_limits,
    loss_limits,
    rate_limits,
    scaled_brier_limits,
    uncertainty_limits,
)
from trueness.infer.limits._slope import (
    fit_line,
    free_intercept_limits,
    intercept_limits,
    of_line,
    slope_limits,
)
from trueness.infer.test._calibration_test import test_of
from trueness.typing import Kind


class Measure(NamedTuple):
    """One measure."""

    key: str
    """Its name as an argument, and in JSON and CSV."""
    name: str
    definition: str
    """How it is computed, in a sentence."""
    meaning: str
    """How to read it, for a page."""
    brief: str
    """The same in at most 16 letters, for a terminal."""
    function: Callable[..., float]
    """Of the sums and of its options."""
    limits: LimitsOf
    floor: Literal["", "gaps", "pooled", "drawn", "curve"] = ""
    """How the noise floor is simulated: gaps of bins, labels of pooled scores, of every score, or
    with a curve."""
    ideal: float = math.nan
    """Its value for a calibrated model, if that does not depend on the scores."""
    unit: Literal["fraction", "percent", "number"] = "fraction"
    better: Literal["less", "more", ""] = "less"
    """Which of two values is that of the better model, if one can tell."""
    bins: Literal["", "own", "mass"] = ""
    """Its bins, if they can be chosen: any, or of equal mass."""
    scores: bool = True
    """Whether it needs every distinct score: sums of bins do not suffice."""
    view: Kind = "classwise"
    """The default view of a matrix."""
    preset: Mapping[str, Any] = MappingProxyType({})
    """Options by which it differs from another measure with the same function."""
    part: bool = False
    """Whether it is a part of the measure above it."""
    summed: bool = False
    """Whether it is summed over classes, not averaged."""
    short: str = ""
    """Its name where room is scarce."""
    shown: str = ""
    """Where it is listed: by `trueness measure` for 'rows', each view of a 'matrix', all 'classes'
    of a matrix, only for stored 'sums'; in the 'errors', 'line', 'curve' or 'scores' of a
    report."""

    def asked(self, rule: BinRule) -> "str | partial[float]":
        """The measure in bins of a rule, or in as many of equal mass, for `estimates_of`."""
        if not self.bins:
            return self.key
        mass = rule if isinstance(rule, EqualMass) else EqualMass(rule.n_requested or 10)
        return partial(self.function, **self.preset, bins=mass if self.bins == "mass" else rule)


def _corp(part: str) -> Callable[..., float]:
    """A part of the CORP decomposition of a score."""
    return lambda sums, *, score="brier": float(getattr(of.corp(sums, score=score), part))


def _l2(
    sums: AnySums,
    *,
    k: int | None = None,
    bins: BinsLike | None = None,
    smoothness: float | None = None,
) -> float:
    """The root of the squared error, which may be negative."""
    return math.sqrt(max(0.0, of.squared_ece(sums, k=k, bins=bins, smoothness=smoothness)))


def _distance(method: Literal["ks", "kuiper"]) -> Callable[..., float]:
    """The statistic of a test of cumulative sums."""
    return lambda sums: test_of(Sums.read(sums), method=method, seed=0).statistic


def _event_rate(key: str, views: tuple[str, ...], demand: str, remedy: str) -> Callable[..., float]:
    """The event rate of sums of some kinds; others are refused."""

    def value(sums: AnySums) -> float:
        if sums.kind not in views:
            got = f"these sums are {sums.kind}"
            raise InputError("measure", f"{key!r} needs {demand}", got, remedy=remedy)
        return float(sums.average(lambda part: part.totals.events / part.totals.weight))

    return value


def _free_intercept(sums: Tally | Sketch) -> float:
    """The intercept of the line whose slope is free."""
    return as_tally(sums, None, {}).average(lambda cells: fit_line(cells).intercept.value)


# fmt: off
_TABLE = (
    Measure("prevalence", "prevalence", "Share of events.", "share of events", "share of events",
            _event_rate("prevalence", ("binary",), "one event per row",
                        "'accuracy' is for the top class."),
            partial(of_one, rate_limits, bins=True), better="", scores=False, shown="rows"),
    Measure("accuracy", "accuracy", "Share of rows whose top class is the label.",
            "share of correct top labels",
            "top label right",
            _event_rate("accuracy", ("confidence", "top-label"), "the top class of each row",
                        "Pass a matrix with `kind='confidence'`."),
            partial(of_one, rate_limits, bins=True), better="more", scores=False,
            view="confidence"),
    Measure("ece", "ECE",
            "Mean over bins of |event rate − mean score|, a lower bound of the error over all scores.",
            "mean gap between score and rate", "mean gap",
            of.ece, partial(gap_limits, "ece"), "gaps", bins="own", scores=False,
            shown="rows matrix errors"),
    Measure("l2", "typical error",
            "Root mean square of event rate − mean score over cells of scores, debiased.",
            "root mean square gap, debiased", "debiased RMS gap",
            _l2, partial(squared_limits, squared=False), ideal=0, scores=False, view="confidence",
            shown="rows matrix"),
    Measure("squared_ece", "squared ECE",
            "The square of the typical error; below zero by chance near calibration.",
            "mean squared gap, debiased", "l2 squared",
            of.squared_ece, partial(squared_limits, squared=True), ideal=0, scores=False,
            view="confidence"),
    Measure("ece_l2", "ECE, l2",
            "Root mean square over bins of event rate − mean score, biased upwards.",
            "root mean square gap between score and rate", "quadratic mean",
            of.ece, partial(gap_limits, "ece"), "gaps", bins="own", scores=False,
            preset={"norm": "l2"}),
    Measure("ace", "ACE", "The ECE over bins of equal mass.", "mean gap in bins of equal mass",
            "equal-mass bins",
            of.ace, partial(gap_limits, "ace"), "gaps", bins="mass", shown="rows matrix errors"),
    Measure("mce", "MCE", "Largest |event rate − mean score| of a bin.", "largest gap of any bin",
            "largest gap",
            of.mce, largest_gap, "gaps", bins="own", scores=False, shown="rows matrix errors"),
    Measure("gce", "GCE", "Power mean over bins of a loss of each bin.",
            "power mean of the losses of bins",
            "any loss",
            of.gce, partial(gap_limits, "gce"), "gaps", bins="own", scores=False),
    Measure("tce", "TCE", "Percentage of scores that a test rejects as the rate of their bin.",
            "share of rows whose score a test rejects", "scores rejected",
            of.tce, biased, "pooled", unit="percent", shown="rows matrix errors"),
    Measure("smooth_ece", "smooth ECE",
            "Mean |label − score| after kernel smoothing of the residuals.",
            "mean gap after smoothing, without bins", "without bins",
            of.smooth_ece, biased, "pooled", shown="rows matrix errors"),
    Measure("ks", "KS distance", "Largest |mean of label − score| over all scores up to one.",
            "largest gap of cumulative sums", "cumulative gap",
            _distance("ks"), biased, "pooled", view="confidence", shown="sums"),
    Measure("kuiper", "Kuiper distance",
            "Largest |mean of label − score| over all ranges of scores.",
            "largest gap of any range of scores", "gap of a range",
            _distance("kuiper"), biased, "pooled", view="confidence", shown="sums"),
    Measure("brier", "Brier score", "Mean of (score − label)².", "mean squared error",
            "squared error",
            of.brier, partial(loss_limits, "brier"), scores=False, shown="rows classes scores"),
    # Not pooled: pools hide the steps of the isotonic fit: of 10^6 scores the floor would be 14 %
    # too low
    Measure("miscalibration", "miscalibration",
            "Score minus that of the isotonic recalibration (CORP).",
            "gap to isotonic regression fitted on these rows", "0 at best",
            _corp("miscalibration"), biased, "drawn", part=True, summed=True,
            shown="rows classes scores"),
    Measure("discrimination", "discrimination",
            "Score of the event rate minus that of the isotonic recalibration (CORP).",
            "gain over the base rate",
            "is subtracted",
            _corp("discrimination"), discrimination_limits, better="more", part=True,
            shown="rows classes scores"),
    Measure("uncertainty", "uncertainty", "Score of the event rate, for the Brier score r(1 − r).",
            "Brier score of the base rate", "of prevalence",
            _corp("uncertainty"), uncertainty_limits, better="", part=True,
            shown="rows classes scores"),
    Measure("scaled_brier", "scaled Brier score", "1 − Brier score / r(1 − r), with event rate r.",
            "1 − Brier score / UNC: 1 at best, 0 for the base rate", "1 at best",
            of.scaled_brier, scaled_brier_limits, better="more", scores=False, shown="scores"),
    Measure("log_loss", "log loss", "Mean of −log(probability of the label), in nats.",
            "negative log-likelihood, in nats", "-log-likelihood",
            of.log_loss, partial(loss_limits, "log"), shown="rows classes scores"),
    Measure("observed_expected", "observed/expected",
            "Observed events divided by the sum of the scores.",
            "below 1: scores too high on average", "> 1: too low",
            of.observed_expected, partial(of_one, ratio_limits, bins=True), ideal=1, unit="number",
            better="",
            scores=False, shown="rows line"),
    Measure("intercept", "calibration in the large",
            "Intercept of the logistic regression of labels on the logits of the scores, "
            "the slope being 1.",
            "intercept at slope 1; below 0: too high on average", "at slope 1",
            of.calibration_intercept, partial(of_line, intercept_limits), ideal=0, unit="number",
            better="",
            short="intercept", shown="rows line"),
    Measure("slope", "slope",
            "Slope of the logistic regression of labels on the logits of the scores.",
            "below 1: overconfident; above 1: underconfident; below 0: the wrong way round",
            "0–1: too extreme",
            of.calibration_slope, partial(of_line, slope_limits), ideal=1, unit="number", better="",
            shown="rows line"),
    Measure("free_intercept", "intercept (free slope)",
            "Intercept of the logistic regression of labels on the logits of the scores, "
            "beside the slope.",
            "of the same fit as the slope", "beside the slope",
            _free_intercept, partial(of_line, free_intercept_limits), ideal=0, unit="number",
            better="", shown="line"),
    Measure("auc", "AUC", "Probability that an event has a higher score than a non-event.",
            "for orientation: discrimination, not calibration", "discrimination",
            of.auc, partial(of_one, auc_limits), better="more", shown="scores"),
    Measure("ici", "ICI", "Mean |flexible curve − score|.",
            "mean distance between scores and calibration curve",
            "mean distance",
            of.ici, partial(curve_limits, "ici"), "curve", shown="curve"),
    Measure("e50", "E50", "Median of |flexible curve − score|.", "median of these distances",
            "median of them",
            of.e50, partial(curve_limits, "e50"), "curve", shown="curve"),
    Measure("e90", "E90", "90 % quantile of |flexible curve − score|.",
            "distance that 90 % of the rows do not exceed", "90 % of them",
            of.e90, partial(curve_limits, "e90"), "curve", shown="curve"),
    Measure("emax", "Emax", "Largest |flexible curve − score|.", "largest of these distances",
            "largest of them",
            of.emax, partial(curve_limits, "emax"), "curve", shown="curve"),
)
# fmt: on
MEASURES: Final[dict[str, Measure]] = {measure.key: measure for measure in _TABLE}
ALIASES: Final = {
    f"brier_{part}": part for part in ("miscalibration", "discrimination", "uncertainty")
} | {
    measure.function.__name__: measure.key
    for measure in _TABLE
    if measure.function.__name__ in of.__all__ and not measure.preset
}
"""Other names of measures: those of their functions, and of parts of the Brier score."""
