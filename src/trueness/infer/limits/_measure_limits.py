"""The confidence limits of each measure, for rows, weights, clusters and sums of any kind."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from trueness._input.arguments import checked_word
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, pool_cells
from trueness._tally.rules import BinRule, Distinct, as_rule
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer._observed_rows import ObservedRows, quietly
from trueness.infer.interval._ece_interval import ece_interval
from trueness.infer.limits._auc import auc_interval
from trueness.infer.limits._curve_errors import CurveErrors, curve_errors
from trueness.infer.limits._discrimination import discrimination_interval
from trueness.infer.limits._ece import ClusteredGaps, bin_gaps
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
LimitsOf = Callable[[ObservedRows, float, Options], Limits]


def no_limits(note: str) -> LimitsOf:
    """A measure for which no valid interval is known, and why."""
    return lambda _data, _value, _options: Limits(note=note)


biased = no_limits(_BIASED)


def _left_out(inside: InsideCells) -> str:
    if not inside.certain:
        return ""
    return (
        f"{inside.certain:,.6g} scores of exactly 0 or 1 are left out, since their log-odds are infinite; "
        f"{contradicted_in_words(inside.wrong)}."
    )


def _line(data: ObservedRows, cells: Cells) -> FittedLine:
    """The line of these rows, fitted once for slope and intercepts."""
    if "line" not in data.memory:
        data.memory["line"] = fit_line(cells, data.clustered)
    line: FittedLine = data.memory["line"]
    return line


def _likelihood_words(data: ObservedRows, independent: str) -> str:
    if data.whole and not data.dependent:
        return independent
    return "sandwich of clusters, t" if data.dependent else "sandwich, t"


def slope_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    """Profile likelihood; the sandwich for clusters and weights that are not whole numbers."""
    if not isinstance(data.one, Cells):
        return Limits(note=_SEVERAL)
    line = _line(data, data.one)
    found = slope_interval(data.one, data.level, data.clustered, line)
    error = math.sqrt(line.covariance.matrix[1, 1])
    method = _likelihood_words(data, slope_limits_in_words(line))
    return Limits(found.slope_low, found.slope_high, method, error, _left_out(line.inside), found.slope)


def free_intercept_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    """As for the slope."""
    if not isinstance(data.one, Cells):
        return Limits(note=_SEVERAL)
    line = _line(data, data.one)
    found = free_intercept_interval(data.one, data.level, data.clustered, line)
    method = _likelihood_words(data, "Wald" if line.rarer > MANY else "profile likelihood")
    note = _left_out(line.inside)
    return Limits(found.low, found.high, method, found.standard_error, note, found.intercept)


def intercept_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    """Likelihood ratio with the slope fixed at 1; the sandwich for clusters and other weights."""
    if not isinstance(data.one, Cells):
        return Limits(note=_SEVERAL)
    found = shift_interval(data.one, data.level, data.clustered)
    line = _line(data, data.one)
    method = _likelihood_words(data, limits_in_words(line.inside.cells))
    low, high = line.covariance.limits(line.slope, 1, data.level)
    # The sandwich of clusters and other weights holds for any slope.
    doubtful = data.whole and not data.dependent and not low <= 1 <= high
    note = " ".join(filter(None, [_left_out(line.inside), _OTHER_SLOPE if doubtful else ""]))
    return Limits(found.low, found.high, method, found.standard_error, note, found.shift)


def ratio_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    """Clopper-Pearson limits of the event rate over the mean score."""
    if data.one is None:
        return Limits(note=_SEVERAL)
    events = EffectiveEvents.of(data.one, data.clustered)
    _, low, high = events.interval((1 - data.level) / 2)
    return Limits(low, high, "Clopper-Pearson, effective number of rows", events.standard_error)


def auc_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    """DeLong's variance on the scale of the logit."""
    if not isinstance(data.one, Cells):
        return Limits(note=_SEVERAL)
    found = auc_interval(data.one, data.level, data.clustered)
    if math.isnan(found.value):
        return Limits(note="There is only one class: the AUC is undefined.")
    return Limits(found.low, found.high, "DeLong, on the logit scale", found.standard_error, value=found.value)


def rate_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    """Clopper-Pearson."""
    if data.one is None:
        return Limits(note=_SEVERAL)
    return _of_mean(rate_interval(data.one, data.level, data.clustered), _exact_words(data))


def uncertainty_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    """From the limits of the event rate."""
    if data.one is None:
        return Limits(note=_SEVERAL)
    found = uncertainty_interval(data.one, data.level, data.clustered, score=options.get("score", "brier"))
    return _of_mean(found, f"{_exact_words(data)} of the event rate")


def discrimination_limits(data: ObservedRows, value: float, options: Options) -> Limits:
    """Student's t for the losses of the isotonic fit, the lower limit less the gain of fitting."""
    if not isinstance(data.one, Cells):
        return Limits(note=_SEVERAL)
    if data.dependent or not data.whole or options.get("score", "brier") != "brier":
        return Limits(note="No interval: one is known for independent rows, whole weights and the Brier score only.")
    found = discrimination_interval(data.one, value, data.level, data.rng)
    note = "The event probability is assumed to rise with the score; the value is biased upwards."
    return _of_mean(found, "t, lower limit debiased", note)


def _exact_words(data: ObservedRows) -> str:
    plain = data.whole and not data.dependent
    return "Clopper-Pearson" if plain else "Clopper-Pearson, effective number of rows"


def _of_mean(found: MeanInterval, method: str, note: str = "") -> Limits:
    return Limits(found.low, found.high, method, found.standard_error, note)


def loss_limits(loss: Loss) -> LimitsOf:
    """The mean of a loss over rows: t, corrected for skewness."""

    def limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
        method = "t of clusters, skewness-corrected" if data.dependent else "t, skewness-corrected"
        if not math.isfinite(value):
            return Limits(note=f"{_contradicted(data)}: the log loss is infinite and has no interval.")
        if data.one is not None:
            sums = data.one
            if isinstance(sums, Cells):  # a logarithm needs the outermost scores by themselves
                sums = pool_cells(sums) if loss == "brier" else few_cells(sums)
            return _of_mean(mean_loss_interval(sums, loss, value, data.level, data.clustered), method)
        kind = data.sums.kind
        if kind == "top-label" and data.tally is not None and not data.dependent:
            return _of_mean(mean_loss_interval(_joined(data.tally), loss, value, data.level), method)
        if data.sample is not None:
            losses, surprise = class_losses(data.sample, loss)
            if loss == "brier" and len(data.parts) == 2:
                losses, surprise = losses / 2, surprise / 2
            w = data.sample.w
            if w is not None and data.whole and data.sample_cluster is None:
                some = np.repeat(np.arange(losses.size), w.astype(np.int64))
                losses, w = losses[some], None
            return _of_mean(mean_row_interval(losses, surprise, data.level, w, data.sample_cluster), method)
        if loss == "log" and data.tally is not None and kind == "classwise":
            return _of_mean(class_log_loss_interval(data.tally, value, data.level), method)
        return Limits(note=_BY_ROW)

    return limits


def _contradicted(data: ObservedRows) -> str:
    if data.tally is None or data.tally.kind == "classwise":
        return "Some labels had probability 0"
    wrong = sum(inside_cells(part).wrong for part in data.tally.parts)
    return f"{wrong:,.6g} label{'' if wrong == 1 else 's'} had probability 0"


def _joined(tally: Tally) -> Cells:
    """The cells of parts that share no rows, one after another; scores need not ascend."""
    parts = [part for part in tally.parts if part.size]
    if not all(part.exact for part in parts):
        parts = [part.as_floats() for part in parts]
    columns = [part.columns() for part in parts]
    return Cells(**{name: np.concatenate([each[name] for each in columns]) for name in columns[0]})


def scaled_brier_limits(data: ObservedRows, value: float, options: Options) -> Limits:  # noqa: ARG001  # a LimitsOf
    """The delta method."""
    if data.one is None:
        return Limits(note=_SEVERAL)
    sums = data.one
    cells = cells_of_bins(sums) if isinstance(sums, Bins) else pool_cells(sums)
    rate = float(cells.events.sum()) / float(cells.weight.sum())
    found = scaled_brier_interval(cells, (1 - value) * rate * (1 - rate), data.level, data.clustered)
    if math.isnan(found.low):
        return Limits(note="There is only one class: the scaled Brier score is undefined.")
    return _of_mean(found, "delta method, t")


def ece_limits_in(data: ObservedRows, rule: BinRule) -> Limits:
    """Two-sided limits for the l1 error in bins that do not depend on the labels."""
    alpha = (1 - data.level) / 2
    if data.one is None:
        return Limits(note=_SEVERAL)
    gaps: Any
    if data.clustered is not None:
        gaps = ClusteredGaps(data.clustered, rule)
    else:
        gaps = quietly(bin_gaps, data.sums, None, bins=rule, cluster=None, weight_type="frequency", rows={})
    return Limits(gaps.low(alpha, data.rng), gaps.high(alpha), "signed sums of gaps, and redrawn labels")


def l2_limits(data: ObservedRows, bins: Any, *, squared: bool, k: int | None = None) -> Limits:
    """The score set of `ece_interval`; with zero, its hull."""
    k = None if k == 1 else k  # `k=1` would take the largest of two columns, which are the binary problem of the second
    options: Options = {"level": data.level, "squared": squared, "seed": data.rng, "bins": bins, "k": k}
    if k is None and data.one is None:
        return Limits(note=_SEVERAL)
    if data.dependent or not data.whole or k is not None:
        if data.rows is None:
            return Limits(note="No interval from sums with weights that are not whole numbers. Pass labels and scores.")
        y_true, y_prob, rows = data.rows
        if not data.whole:
            options["weight_type"] = "importance"
        found = quietly(ece_interval, y_true, y_prob, cluster=data.cluster, **options, **rows)
    elif isinstance(data.one, Bins):
        rule = None if bins is None else as_rule(bins)
        part = data.one if rule is None else data.one.coarsen(rule)
        options["bins"] = Distinct()
        found = quietly(ece_interval, Tally("binary", (cells_of_bins(part),)), **options)
    else:
        found = quietly(ece_interval, data.tally, **options)
    low, high = found.hull
    return Limits(low, high, f"test inversion (score), {found.bins}", note=found.note)


def curve_limits(which: int) -> LimitsOf:
    """ICI, E50, E90 and Emax (0 to 3): no interval, but values and floors in one go."""

    def limits(data: ObservedRows, _value: float, options: Options) -> Limits:
        found = curve_distances(data, options)
        if found is None:
            return Limits(note=_BIASED)
        value = float(found.values[which])
        return Limits(note=_NO_CURVE if math.isnan(value) else _BIASED, value=value)

    return limits


def curve_distances(data: ObservedRows, options: Options) -> CurveErrors | None:
    """The four distances of a flexible curve, with those of redrawn labels; None for several scores per row."""
    if not isinstance(data.one, Cells):
        return None
    curve, knots = options.get("curve", "spline"), options.get("knots", 5)
    key = f"curve {curve} {knots}"
    if key not in data.memory:
        checked_word(curve, "curve", ("spline", "loess"))
        checked_knots(knots)
        draws = _CURVE_DRAWS if data.floors else 0
        data.memory[key] = curve_errors(data.one, curve, draws, data.rng, knots)
    found: CurveErrors = data.memory[key]
    return found


def limits_or_note(limits: LimitsOf, data: ObservedRows, value: float, options: Options) -> Limits:
    """The limits; where these rows do not allow any, a note that says why."""
    try:
        return limits(data, value, options)
    except InputError as reason:
        return Limits(note=f"No interval: {str(reason)[:1].lower()}{str(reason)[1:]}")
