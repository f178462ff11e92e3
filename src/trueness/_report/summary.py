"""The summary of one model: its measures, with noise floor, confidence set and test."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from trueness._input.arguments import generator
from trueness._report.evidence import Evidence, Sums, means, weight_type
from trueness._report.inference import (
    FEW_ROWS,
    Alpha,
    Notes,
    Options,
    collect_warnings,
    confidence_set,
    draws_for_floor,
    significance_of_all_rows,
)
from trueness._report.records import Summary
from trueness._tally.rules import BinRule, EqualMass
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer import noise_floor
from trueness.infer._clustered_rows import ClusteredRows, effective_number
from trueness.infer._detection_power import DetectionPower, detection_power
from trueness.infer._observed_expected import observed_expected_interval
from trueness.infer._prior_shift import shift_of_limits
from trueness.infer._shift_interval import shift_interval
from trueness.infer._slope_interval import slope_interval
from trueness.measure import (
    ace,
    bounded,
    brier,
    calibration_intercept,
    calibration_slope,
    corp,
    ece,
    log_loss,
    mce,
    observed_expected,
    smooth_ece,
    tce,
)
from trueness.results import Bounded, NoiseFloor
from trueness.typing import Ints

ALPHA = 0.05
"""Level of the tests of the TCE."""
_TCE_DRAWS, _FEWER_TCE_DRAWS, _MANY_CELLS = 39, 19, 200_000
_MCB_DRAWS, _MCB_LABELS = 99, 2e7
_ORDINARY_BINS = 10
_PARTS = ("miscalibration", "discrimination", "uncertainty")
_PROPER = ("brier", "log_loss")


def summarize(
    data: Evidence, options: Options, notes: Notes, *, segmented: bool = False, top_label: bool = False
) -> Summary:
    """Every measure of one model, and the evidence about its calibration; segments share the error rate.

    Confidences in the top label have no positives that could have been weighted, and so no prior shift.
    """
    rule, tally = options.rule, data.tally
    exact = tally is not None and tally.parts[0].exact
    if tally is not None and not exact:
        notes.add("Weights are not whole numbers: they express importance, and there is no TCE, which counts rows.")
    absent: list[str] = []
    inference: dict[str, Any] = dict.fromkeys(("ece_interval", "test", "noise_floor", "tce_floor"))
    if tally is None:
        absent += ["the confidence set", "the test", "noise floors"]
    else:
        few = "there are too few rows." if tally.n < FEW_ROWS else None
        inference["noise_floor"] = _ece_floor(data, tally, options, notes)
        interval = notes.attempt("The confidence set", lambda: confidence_set(data.view, tally, options), few)
        test = notes.attempt("The test", lambda: significance_of_all_rows(data.view, tally, options))
        inference |= {"ece_interval": interval, "test": test, "tce_floor": None}
        if exact:
            inference["tce_floor"] = _tce_floor(tally, options, notes)
    alpha = Alpha.of_level(options.level, segmented + (data.classwise is not None)).rejection
    if tally is not None and (inference["test"] is None or inference["test"].pvalue > alpha):
        inference["power"] = _power(data, tally, alpha, options)
    score, rate, _ = means(data.sums)
    classwise = data.classwise
    with collect_warnings(notes):
        limits = _limits(data.sums, rule)
        values = _values(data, rule, absent, counted=exact or tally is None) | {
            key: found.value for key, found in limits.items()
        }
        return Summary(
            n=data.sums.n,
            rate=rate,
            mean_score=score,
            miscalibration_floor=_miscalibration_floor(data, options, notes),
            ece_classwise_floor=None
            if classwise is None
            else _floor_of_rows("class-wise ECE", partial(ece, bins=rule), data, options, notes),
            ece_confidence=None if classwise is None else values["ece"],
            ece_classwise=None if classwise is None else ece(classwise, bins=rule),
            limits={key: (found.low, found.high) for key, found in limits.items()},
            absent=tuple(absent),
            **_limits_of_line(data, options.level, options.cluster, top_label=top_label),
            **inference,
            **values,
        )


def _limits_of_line(data: Evidence, level: float, cluster: Ints | None, *, top_label: bool) -> dict[str, Any]:
    """Confidence limits of the slope and of observed/expected, the rows that the slope leaves out, the prior shift."""
    rows = None if cluster is None or data.view is None else ClusteredRows(data.view, cluster)
    part = data.sums.parts[0] if data.tally is None else data.tally.parts[0]
    ratio = observed_expected_interval(part, level, rows)  # type: ignore[arg-type]  # a sketch has a tally
    found: dict[str, Any] = {"observed_expected_low": ratio.low, "observed_expected_high": ratio.high}
    if data.tally is not None:
        cells = data.tally.parts[0]
        line, shift = slope_interval(cells, level, rows), shift_interval(cells, level, rows)
        found |= {"slope_low": line.slope_low, "slope_high": line.slope_high}
        found |= {"n_certain": line.n_certain, "n_certain_wrong": line.n_certain_wrong}
        found["prior_shift"] = None if top_label else shift_of_limits(shift, line, level)
    return found


def _power(data: Evidence, tally: Tally, alpha: float, options: Options) -> DetectionPower:
    """Power to detect a miscalibration that matters, for as many independent rows as these are worth."""
    cells, view = tally.parts[0], data.view
    effective = float(cells.weight.sum())
    if not cells.exact:
        squares = cells.squares
        effective = effective**2 / float(squares.sum()) if squares is not None else effective
    clusters = None
    if view is not None and options.cluster is not None:
        clusters = effective_number(options.cluster)
        # The variance of the sum of residuals in clusters, as a multiple of that of independent rows.
        u = (view.y - view.p) * (1 if view.w is None else view.w)
        sums = np.bincount(options.cluster, u)
        effective /= max(1.0, float(sums @ sums) / max(float(u @ u), 1e-300))
    return detection_power(cells, alpha, effective, generator(options.seed), clusters)


def _measures(rule: BinRule) -> dict[str, tuple[str, "partial[float]"]]:
    """Name and function of each measure, by field."""
    mass = rule if isinstance(rule, EqualMass) else EqualMass(rule.n_requested or _ORDINARY_BINS)
    return {
        "ece": ("the ECE", partial(ece, bins=rule)),
        "ace": ("the ACE", partial(ace, bins=mass)),
        "mce": ("the MCE", partial(mce, bins=rule)),
        "smooth_ece": ("the smooth ECE", partial(smooth_ece)),
        "tce": ("the TCE", partial(tce, alpha=ALPHA)),
        "brier": ("the Brier score", partial(brier)),
        "log_loss": ("the log loss", partial(log_loss)),
        "slope": ("the slope", partial(calibration_slope)),
        "intercept": ("the intercept", partial(calibration_intercept)),
        "observed_expected": ("the ratio observed/expected", partial(observed_expected)),
    }


def _values(data: Evidence, rule: BinRule, absent: list[str], *, counted: bool) -> dict[str, Any]:
    """The measures by field; nan for those that sums of bins cannot give, whose names are added to `absent`.

    The TCE requires weights that count rows. Proper scores and their parts are of all classes of a matrix.
    """

    def attempt(name: str, measure: Callable[[Sums], Any], sums: Sums = data.sums) -> Any:
        try:
            return measure(sums)
        except InputError:
            if not isinstance(sums, Binned):
                raise
            absent.append(name)
            return None

    whole: Sums = data.sums if data.classwise is None else data.classwise
    values = {
        key: attempt(name, measure, whole if key in _PROPER else data.sums) if counted or key != "tce" else None
        for key, (name, measure) in _measures(rule).items()
    }
    parts = attempt("the parts of the Brier score", corp, whole)
    values |= {key: None if parts is None else getattr(parts, key) for key in _PARTS}
    return {key: math.nan if value is None else float(value) for key, value in values.items()}


def _limits(sums: Sums, rule: BinRule) -> dict[str, Bounded]:
    """Measures of a sketch with the range of their exact values, where one is known."""
    if not isinstance(sums, Sketch):
        return {}
    asked: dict[str, tuple[Any, dict[str, Any]]] = {
        key: (measure.func, measure.keywords) for key, (_, measure) in _measures(rule).items() if key != "tce"
    }
    asked |= {key: (key, {}) for key in _PARTS[:2]}
    found = {}
    for key, (measure, options) in asked.items():
        try:
            limits = bounded(measure, sums, **options)
        except InputError:
            continue
        if math.isfinite(limits.low) and math.isfinite(limits.high):
            found[key] = limits
    return found


def _ece_floor(data: Evidence, tally: Tally, options: Options, notes: Notes) -> NoiseFloor | None:
    cells, view = tally.parts[0], data.view
    measure, draws = partial(ece, bins=options.rule), draws_for_floor(cells.size)
    if cells.exact or view is None:
        return _floor("ECE", measure, tally, draws, options, notes)
    # Rows with one score may differ in weight, which a tally does not know.
    return _floor("ECE", measure, view.p, draws, options, notes, sample_weight=view.w, weight_type="importance")


def _tce_floor(tally: Tally, options: Options, notes: Notes) -> NoiseFloor | None:
    draws = _TCE_DRAWS if tally.parts[0].size < _MANY_CELLS else _FEWER_TCE_DRAWS
    return _floor("TCE", partial(tce, alpha=ALPHA), tally, draws, options, notes)


def miscalibration(tally: Tally) -> float:
    """The part of the Brier score that isotonic regression of the same rows removes."""
    return corp(tally).miscalibration


def _miscalibration_floor(data: Evidence, options: Options, notes: Notes) -> NoiseFloor | None:
    tally = data.tally
    if tally is None:
        return None
    if data.classwise is None and (tally.parts[0].exact or data.sample is None):
        draws = _MCB_DRAWS if tally.parts[0].size < _MANY_CELLS else _FEWER_TCE_DRAWS
        return _floor("miscalibration", miscalibration, tally, draws, options, notes)
    return _floor_of_rows("miscalibration", miscalibration, data, options, notes)


def _floor_of_rows(name: str, measure: Any, data: Evidence, options: Options, notes: Notes) -> NoiseFloor | None:
    """The noise floor over all classes of a matrix, or of weighted rows; None if there are very many."""
    rows = data.sample
    draws = 0 if rows is None else min(_MCB_DRAWS, int(_MCB_LABELS / rows.p.size))
    if rows is None or draws < _FEWER_TCE_DRAWS:
        return None
    weights: dict[str, Any] = {"sample_weight": rows.w, "weight_type": weight_type(rows)}
    return _floor(name, measure, rows.p, draws, options, notes, sum_tolerance=rows.tolerance or None, **weights)


def _floor(
    name: str, measure: Any, scores: Any, draws: int, options: Options, notes: Notes, **rows: Any
) -> NoiseFloor | None:
    same: Any = {"resamples": draws, "level": options.level, "seed": options.seed, "progress": False}
    return notes.attempt(f"The noise floor of the {name}", lambda: noise_floor(measure, scores, **same, **rows))
