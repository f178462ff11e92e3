"""The summary of one model: its measures, with noise floor, confidence set and test; the largest scores jointly."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueness._input.arguments import generator
from trueness._report.estimates import PROPER, asked_measure, drawn_floor, measure_estimates, shown_within
from trueness._report.inference import Notes, Options, collect_warnings
from trueness._report.records import Summary, TopK
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer._catalogue import MEASURES
from trueness.infer._estimate import value_of
from trueness.infer.decision._verdict import FEW_ROWS, power_of, prior_shift_in, significance_of
from trueness.infer.interval._ece_interval import interval_of
from trueness.measure import ece
from trueness.measure._slope import inside_cells
from trueness.results import NoiseFloor

_FIELDS = (
    *("ece", "ace", "mce", "smooth_ece", "tce", "brier", "log_loss", "slope", "intercept", "observed_expected"),
    *("miscalibration", "discrimination", "uncertainty"),
)
_MOST_K, _MOST_ROWS = 5, 200_000
_DRAWS, _LEAST_DRAWS, _DRAWN_LABELS = 999, 39, 2e7


def summarize(data: Evidence, options: Options, notes: Notes, *, top_label: bool = False) -> Summary:
    """Every measure of one model, and the evidence about its calibration.

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
    if tally is not None and (inference["test"] is None or inference["test"].pvalue > options.alpha):
        inference["power"] = power_of(data, options.alpha, generator(options.seed))
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


def _values(data: Evidence, rule: BinRule, absent: list[str], *, counted: bool) -> dict[str, Any]:
    """The measures by field; nan for those that sums of bins cannot give, whose names are added to `absent`.

    The TCE requires weights that count rows. Proper scores and their parts are of all classes of a matrix.
    """
    values = dict.fromkeys(_FIELDS, math.nan)
    for key in _FIELDS if counted else [key for key in _FIELDS if key != "tce"]:
        one = MEASURES[key]
        evidence = data if data.classwise is None or key not in PROPER else data.every_class
        try:
            values[key] = value_of(asked_measure(key, rule), evidence)
        except InputError:
            if not isinstance(data.sums, Binned):
                raise
            absent.append("the parts of the Brier score" if one.part else f"the {one.short or one.name}")
    absent[:] = dict.fromkeys(absent)
    return values


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
