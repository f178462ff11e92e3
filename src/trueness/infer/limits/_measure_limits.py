"""The confidence limits of each measure, for rows, weights, clusters and sums of any kind."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from trueness._input.arguments import checked_word
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, pool_cells
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule, Distinct, as_rule
from trueness._tally.tally import Tally
from trueness.errors import InputError, quietly
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.limits._auc import auc_interval
from trueness.infer.limits._curve_errors import CurveErrors, curve_errors
from trueness.infer.limits._discrimination import discrimination_interval
from trueness.infer.limits._ece import bin_gaps
from trueness.infer.limits._observed_expected import EffectiveEvents
from trueness.infer.limits._row_means import (
    Loss,
    MeanInterval,
    cells_of_bins,
    class_log_loss_interval,
    class_losses,
    mean_loss_interval,
    mean_row_interval,
    rate_interval,
    scaled_brier_interval,
    uncertainty_interval,
)
from trueness.infer.limits._shift import limits_in_words, shift_interval
from trueness.infer.limits._slope import (
    MANY,
    FittedLine,
    fit_line,
    free_intercept_interval,
    slope_interval,
    slope_limits_in_words,
)
from trueness.measure._flexible_curve import checked_knots, few_cells
from trueness.measure._slope import InsideCells, contradicted_in_words, inside_cells

_SEVERAL = "No interval: the value is a mean over classes, which depend on each other."
_BY_ROW = "No interval from class-wise sums: they do not keep the scores of a row together. Pass labels and scores."
_BIASED = (
    "No valid interval is known, since the value is biased upwards and a bootstrap would miss the truth near zero. "
    "Compare the value with its noise floor."
)
_NO_CURVE = "No calibration curve can be fitted to these rows."
_OTHER_SLOPE = "The limits assume a slope of 1, which these rows refute; those of observed/expected do not."
# Sets of labels for the floors of flexible curves.
_CURVE_DRAWS = 199


class Limits(NamedTuple):
    """Confidence limits and how they were found."""

    low: float = math.nan
    high: float = math.nan
    method: str = ""
    standard_error: float = math.nan
    note: str = ""
    value: float | None = None
    """The value, where the limits come with it."""


Options = dict[str, Any]


class Asked(NamedTuple):
    """A measure asked of evidence: all that its limits may depend on."""

    evidence: Evidence
    value: float
    options: Options
    level: float
    rng: np.random.Generator
    floors: bool = True
    """Whether noise floors will be needed."""

    @property
    def alpha(self) -> float:
        """Probability beyond each limit."""
        return (1 - self.level) / 2


LimitsOf = Callable[[Asked], Limits]


def no_limits(note: str) -> LimitsOf:
    """A measure for which no valid interval is known, and why."""
    return lambda _asked: Limits(note=note)


biased = no_limits(_BIASED)


def _left_out(inside: InsideCells) -> str:
    if not inside.certain:
        return ""
    return (
        f"{inside.certain:,.6g} scores of exactly 0 or 1 are left out, since their log-odds are infinite; "
        f"{contradicted_in_words(inside.wrong)}."
    )


def _line(evidence: Evidence, cells: Cells) -> FittedLine:
    """The line of these rows, fitted once for slope and intercepts."""
    if "line" not in evidence.memory:
        evidence.memory["line"] = fit_line(cells, evidence.in_clusters)
    line: FittedLine = evidence.memory["line"]
    return line


def _likelihood_words(evidence: Evidence, independent: str) -> str:
    if evidence.whole and not evidence.dependent:
        return independent
    return "sandwich of clusters, t" if evidence.dependent else "sandwich, t"


def slope_limits(asked: Asked) -> Limits:
    """Profile likelihood; the sandwich for clusters and weights that are not whole numbers."""
    data, cells = asked.evidence, asked.evidence.one
    if not isinstance(cells, Cells):
        return Limits(note=_SEVERAL)
    line = _line(data, cells)
    found = slope_interval(cells, asked.level, data.in_clusters, line)
    error = math.sqrt(line.covariance.matrix[1, 1])
    method = _likelihood_words(data, slope_limits_in_words(line))
    return Limits(found.slope_low, found.slope_high, method, error, _left_out(line.inside), found.slope)


def free_intercept_limits(asked: Asked) -> Limits:
    """As for the slope."""
    data, cells = asked.evidence, asked.evidence.one
    if not isinstance(cells, Cells):
        return Limits(note=_SEVERAL)
    line = _line(data, cells)
    found = free_intercept_interval(cells, asked.level, data.in_clusters, line)
    method = _likelihood_words(data, "Wald" if line.rarer > MANY else "profile likelihood")
    note = _left_out(line.inside)
    return Limits(found.low, found.high, method, found.standard_error, note, found.intercept)


def intercept_limits(asked: Asked) -> Limits:
    """Likelihood ratio with the slope fixed at 1; the sandwich for clusters and other weights."""
    data, cells = asked.evidence, asked.evidence.one
    if not isinstance(cells, Cells):
        return Limits(note=_SEVERAL)
    found = shift_interval(cells, asked.level, data.in_clusters)
    line = _line(data, cells)
    method = _likelihood_words(data, limits_in_words(line.inside.cells))
    low, high = line.covariance.limits(line.slope, 1, asked.level)
    # The sandwich of clusters and other weights holds for any slope.
    doubtful = data.whole and not data.dependent and not low <= 1 <= high
    note = " ".join(filter(None, [_left_out(line.inside), _OTHER_SLOPE if doubtful else ""]))
    return Limits(found.low, found.high, method, found.standard_error, note, found.shift)


def ratio_limits(asked: Asked) -> Limits:
    """Clopper-Pearson limits of the event rate over the mean score."""
    if asked.evidence.one is None:
        return Limits(note=_SEVERAL)
    events = EffectiveEvents.of(asked.evidence.one, asked.evidence.in_clusters)
    _, low, high = events.interval(asked.alpha)
    return Limits(low, high, "Clopper-Pearson, effective number of rows", events.standard_error)


def auc_limits(asked: Asked) -> Limits:
    """DeLong's variance on the scale of the logit."""
    cells = asked.evidence.one
    if not isinstance(cells, Cells):
        return Limits(note=_SEVERAL)
    found = auc_interval(cells, asked.level, asked.evidence.in_clusters)
    if math.isnan(found.value):
        return Limits(note="There is only one class: the AUC is undefined.")
    return Limits(found.low, found.high, "DeLong, on the logit scale", found.standard_error, value=found.value)


def rate_limits(asked: Asked) -> Limits:
    """Clopper-Pearson."""
    if asked.evidence.one is None:
        return Limits(note=_SEVERAL)
    found = rate_interval(asked.evidence.one, asked.level, asked.evidence.in_clusters)
    return _of_mean(found, _exact_words(asked.evidence))


def uncertainty_limits(asked: Asked) -> Limits:
    """From the limits of the event rate."""
    data, score = asked.evidence, asked.options.get("score", "brier")
    if data.one is None:
        return Limits(note=_SEVERAL)
    found = uncertainty_interval(data.one, asked.level, data.in_clusters, score=score)
    return _of_mean(found, f"{_exact_words(data)} of the event rate")


def discrimination_limits(asked: Asked) -> Limits:
    """Student's t for the losses of the isotonic fit, the lower limit less the gain of fitting."""
    data, cells = asked.evidence, asked.evidence.one
    if not isinstance(cells, Cells):
        return Limits(note=_SEVERAL)
    if data.dependent or not data.whole or asked.options.get("score", "brier") != "brier":
        return Limits(note="No interval: one is known for independent rows, whole weights and the Brier score only.")
    found = discrimination_interval(cells, asked.value, asked.level, asked.rng)
    note = "The event probability is assumed to rise with the score; the value is biased upwards."
    return _of_mean(found, "t, lower limit debiased", note)


def _exact_words(evidence: Evidence) -> str:
    plain = evidence.whole and not evidence.dependent
    return "Clopper-Pearson" if plain else "Clopper-Pearson, effective number of rows"


def _of_mean(found: MeanInterval, method: str, note: str = "") -> Limits:
    return Limits(found.low, found.high, method, found.standard_error, note)


def loss_limits(loss: Loss) -> LimitsOf:
    """The mean of a loss over rows: t, corrected for skewness."""

    def limits(asked: Asked) -> Limits:
        data, value, level = asked.evidence, asked.value, asked.level
        method = "t of clusters, skewness-corrected" if data.dependent else "t, skewness-corrected"
        if not math.isfinite(value):
            return Limits(note=f"{_contradicted(data)}: the log loss is infinite and has no interval.")
        if data.one is not None:
            sums = data.one
            if isinstance(sums, Cells):  # a logarithm needs the outermost scores by themselves
                sums = pool_cells(sums) if loss == "brier" else few_cells(sums)
            return _of_mean(mean_loss_interval(sums, loss, value, level, data.in_clusters), method)
        if data.view == "top-label" and data.tally is not None and not data.dependent:
            return _of_mean(mean_loss_interval(_joined(data.tally), loss, value, level), method)
        if data.view == "classwise" and data.rows is not None:
            rows = data.expanded
            losses, surprise = class_losses(rows.matrix, loss)
            if loss == "brier" and len(data.parts) == 2:
                losses, surprise = losses / 2, surprise / 2
            return _of_mean(mean_row_interval(losses, surprise, level, rows.matrix.w, rows.cluster), method)
        if loss == "log" and data.tally is not None and data.view == "classwise":
            return _of_mean(class_log_loss_interval(data.tally, value, level), method)
        return Limits(note=_BY_ROW)

    return limits


def _contradicted(evidence: Evidence) -> str:
    if evidence.tally is None or evidence.view == "classwise":
        return "Some labels had probability 0"
    wrong = sum(inside_cells(part).wrong for part in evidence.tally.parts)
    return f"{wrong:,.6g} label{'' if wrong == 1 else 's'} had probability 0"


def _joined(tally: Tally) -> Cells:
    """The cells of parts that share no rows, one after another; scores need not ascend."""
    parts = [part for part in tally.parts if part.size]
    if not all(part.exact for part in parts):
        parts = [part.as_floats() for part in parts]
    columns = [part.columns() for part in parts]
    return Cells(**{name: np.concatenate([each[name] for each in columns]) for name in columns[0]})


def scaled_brier_limits(asked: Asked) -> Limits:
    """The delta method."""
    sums = asked.evidence.one
    if sums is None:
        return Limits(note=_SEVERAL)
    cells = cells_of_bins(sums) if isinstance(sums, Bins) else pool_cells(sums)
    rate = float(cells.events.sum()) / float(cells.weight.sum())
    brier = (1 - asked.value) * rate * (1 - rate)
    found = scaled_brier_interval(cells, brier, asked.level, asked.evidence.in_clusters)
    if math.isnan(found.low):
        return Limits(note="There is only one class: the scaled Brier score is undefined.")
    return _of_mean(found, "delta method, t")


def ece_limits_in(asked: Asked, rule: BinRule) -> Limits:
    """Two-sided limits for the l1 error in bins that do not depend on the labels."""
    data = asked.evidence
    if data.one is None:
        return Limits(note=_SEVERAL)
    gaps = quietly(bin_gaps, data, rule)
    low, high = gaps.low(asked.alpha, asked.rng), gaps.high(asked.alpha)
    return Limits(low, high, "signed sums of gaps, and redrawn labels")


def l2_limits(asked: Asked, bins: Any, *, squared: bool, k: int | None = None) -> Limits:
    """The score set of `ece_interval`; with zero, its hull."""
    data, several = asked.evidence, k not in (None, 1)
    if not several and data.one is None:
        return Limits(note=_SEVERAL)
    if data.rows is None and not data.whole:
        return Limits(note="No interval from sums with weights that are not whole numbers. Pass labels and scores.")
    if isinstance(data.one, Bins):
        part = data.one if bins is None else data.one.coarsen(as_rule(bins))
        data, bins = Evidence.of_sums(Tally("binary", (cells_of_bins(part),))), Distinct()
    found = quietly(interval_of, data, k=k, bins=bins, level=asked.level, squared=squared, rng=asked.rng)
    low, high = found.hull
    return Limits(low, high, f"test inversion (score), {found.bins}", note=found.note)


def curve_limits(which: int) -> LimitsOf:
    """ICI, E50, E90 and Emax (0 to 3): no interval, but values and floors in one go."""

    def limits(asked: Asked) -> Limits:
        found = curve_distances(asked)
        if found is None:
            return Limits(note=_BIASED)
        value = float(found.values[which])
        return Limits(note=_NO_CURVE if math.isnan(value) else _BIASED, value=value)

    return limits


def curve_distances(asked: Asked) -> CurveErrors | None:
    """The four distances of a flexible curve, with those of redrawn labels; None for several scores per row."""
    cells, memory = asked.evidence.one, asked.evidence.memory
    if not isinstance(cells, Cells):
        return None
    curve, knots = asked.options.get("curve", "spline"), asked.options.get("knots", 5)
    draws = _CURVE_DRAWS if asked.floors else 0
    key = ("curve", curve, knots, draws)
    if key not in memory:
        checked_word(curve, "curve", ("spline", "loess"))
        checked_knots(knots)
        memory[key] = curve_errors(cells, curve, draws, asked.rng, knots)
    found: CurveErrors = memory[key]
    return found


def limits_or_note(limits: LimitsOf, asked: Asked) -> Limits:
    """The limits; where these rows do not allow any, a note that says why."""
    try:
        return limits(asked)
    except InputError as reason:
        return Limits(note=f"No interval: {str(reason)[:1].lower()}{str(reason)[1:]}")
