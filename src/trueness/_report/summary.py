"""The summary of one model: its measures, with noise floor, confidence set and test; the largest scores jointly."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueness._input.arguments import generator
from trueness._report.estimates import ALPHA, drawn_floor, equal_mass, measure_estimates, shown_within
from trueness._report.inference import Notes, Options, collect_warnings
from trueness._report.records import Summary, TopK
from trueness._tally.evidence import Evidence, Sums
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer.decision._verdict import FEW_ROWS, Alpha, power_of, prior_shift_in, significance_of
from trueness.infer.interval._ece_interval import interval_of
from trueness.measure import (
    ace,
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
from trueness.measure._slope import inside_cells
from trueness.results import NoiseFloor

_PARTS = ("miscalibration", "discrimination", "uncertainty")
_PROPER = ("brier", "log_loss")
_MOST_K, _MOST_ROWS = 5, 200_000
_DRAWS, _LEAST_DRAWS, _DRAWN_LABELS = 999, 39, 2e7


def summarize(
    data: Evidence, options: Options, notes: Notes, *, segmented: bool = False, top_label: bool = False
) -> Summary:
    """Every measure of one model, and the evidence about its calibration; segments share the error rate.

    Confidences in the top label have no positives that could have been weighted, and so no prior shift.
    """
    rule, tally = options.rule, data.tally
    exact = tally is not None and tally.parts[0].whole
    if tally is not None and not exact:
        notes.add("Weights are not whole numbers: they express importance, and there is no TCE, which counts rows.")
    absent: list[str] = []
    inference: dict[str, Any] = dict.fromkeys(("ece_interval", "test", "noise_floor"))
    if tally is None:
        absent += ["the confidence set", "the test"]
    else:
        few = "there are too few rows." if tally.n < FEW_ROWS else None
        inference["noise_floor"] = _ece_floor(data, tally, options, notes)
        level, seed = options.level, options.seed
        interval = notes.attempt(
            "The confidence set", partial(interval_of, data, level=level, rng=generator(seed)), few
        )
        test = notes.attempt("The test", partial(significance_of, data, level, generator(seed)))
        inference |= {"ece_interval": interval, "test": test}
    alpha = Alpha.of_level(options.level, segmented + (data.classwise is not None)).rejection
    if tally is not None and (inference["test"] is None or inference["test"].pvalue > alpha):
        inference["power"] = power_of(data, alpha, generator(options.seed))
    score, rate, _ = data.means
    classwise = data.classwise
    with collect_warnings(notes):
        values = _values(data, rule, absent, counted=exact or tally is None)
    binary = classwise is None and not top_label
    estimates = measure_estimates(data, options, notes, inference["noise_floor"], binary=binary)
    if tally is not None:
        inside = inside_cells(tally.parts[0])
        inference |= {"n_certain": inside.certain, "n_certain_wrong": inside.wrong}
        if binary and {"slope", "intercept"} <= estimates.keys():
            inference["prior_shift"] = prior_shift_in(estimates, inside, options.level)
    return Summary(
        n=data.sums.n,
        rate=rate,
        mean_score=score,
        ece_confidence=None if classwise is None else values["ece"],
        ece_classwise=None if classwise is None else ece(classwise, bins=rule),
        absent=tuple(absent),
        estimates=estimates,
        within=shown_within(data, options),
        **inference,
        **values,
    )


def _measures(rule: BinRule) -> dict[str, tuple[str, "partial[float]"]]:
    """Name and function of each measure, by field."""
    return {
        "ece": ("the ECE", partial(ece, bins=rule)),
        "ace": ("the ACE", partial(ace, bins=equal_mass(rule))),
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


def _ece_floor(data: Evidence, tally: Tally, options: Options, notes: Notes) -> NoiseFloor | None:
    cells = tally.parts[0]
    measure, most = partial(ece, bins=options.rule), int(_DRAWN_LABELS / max(1, cells.size))
    draws = max(_LEAST_DRAWS, min(_DRAWS, most))  # fewer if there are many distinct scores
    if cells.whole or data.rows is None:
        return drawn_floor("ECE", measure, tally, draws, options, notes)
    # Rows with one score may differ in weight, which a tally does not know.
    rows = replace(data, view="binary", rows=data.sample, given=None, memory={})
    return drawn_floor("ECE", measure, rows, draws, options, notes)


def top_k(data: Evidence, options: Options, notes: Notes) -> tuple[TopK, ...]:
    """The l2 error of the k largest scores jointly, for k from 1 to 5 or the number of classes."""
    n, classes = data.matrix.p.shape
    most = min(_MOST_K, classes)
    if not data.whole:
        notes.add("The confidence set of several scores jointly requires whole-number weights: k = 1 only.")
        most = 1
    if data.dependent:
        notes.add("No confidence set of several scores jointly takes clusters into account: k = 1 only.")
        most = 1
    if n > _MOST_ROWS:
        data = data.at(np.arange(_MOST_ROWS))
        notes.add(f"The errors of the k largest scores use the first {_MOST_ROWS:,} rows.")
    found = []
    for k in range(1, most + 1):
        ask = partial(interval_of, data, k=k, level=options.level, rng=generator(options.seed))
        one = notes.attempt(f"The error of the {k} largest scores", ask)
        if one is not None:
            found.append(TopK(k, one))
    return tuple(found)
