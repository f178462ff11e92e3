"""The summary of one model: measures with limits and noise floors, confidence set and test.

The panel and its curve.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from trueness._assess.asked import FLOOR, INTERVAL, PANEL, POWER, PRIOR_SHIFT, TEST, Asked
from trueness._assess.judgement import FEW_ROWS, NEEDED
from trueness._assess.notes import Notes, collect_warnings
from trueness._assess.one_measure import asked_question, draw_together
from trueness._assess.page_subject import Options
from trueness._assess.rows import ModelRows
from trueness._assess.statement import has_one_statement
from trueness._tally.cells import pool_cells
from trueness._tally.evidence import Evidence
from trueness.errors import InputError, quietly
from trueness.infer._catalogue import MEASURES
from trueness.infer.band._flexible_bands import band_of_cells
from trueness.infer.band._monotone_band import BandRuns
from trueness.measure import ece
from trueness.measure._flexible_curve import curve_places
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, Panel
from trueness.results._page import FlexibleCurve, Summary

ALPHA = 0.05
"""Level of the tests of the TCE."""
_SHARE = 0.95
_STEP = 4  # of the 512 places of a curve, those that the page draws
_FIELDS = (
    "ece",
    "ace",
    "mce",
    "smooth_ece",
    "tce",
    "brier",
    "log_loss",
    "slope",
    "intercept",
    "observed_expected",
    "miscalibration",
    "discrimination",
    "uncertainty",
)
_MOST_K = 5
_MOST_ROWS = 200_000


def summarize(a: Asked, options: Options, notes: Notes) -> Summary:
    """Every measure of one model, and the evidence about its calibration."""
    data = a.view("confidence")
    tally = data.tally
    classwise = data.classwise
    exact = tally is not None and tally.parts[0].whole
    if tally is not None and not exact:
        weights = "Weights are sampling weights"
        if data.events is not None and data.events.kind == "horizon":
            weights = "Weights stand for rows that were censored"
        notes.add(f"{weights}, so there is no TCE, which counts rows.")
    absent: list[str] = []
    inference: dict[str, Any] = dict.fromkeys(("ece_interval", "test", "noise_floor"))
    if tally is None:
        absent += ["the confidence set", "the test"]
    else:
        obstacle = "there are too few rows." if tally.n < FEW_ROWS else None
        inference["ece_interval"] = notes.attempt(
            "The confidence set", partial(a.ask, INTERVAL), obstacle
        )
        inference["test"] = notes.attempt("The test", partial(a.ask, TEST))
        floor = partial(a.ask, FLOOR, measure="ece", kind=a.kind("confidence"), resamples=None)
        inference["noise_floor"] = notes.attempt("The noise floor of the ECE", floor)
        if inference["test"] is None or inference["test"].pvalue > options.alpha:
            inference["power"] = quietly(a.possible, POWER)
    score, rate, _ = data.means
    with collect_warnings(notes):
        values = _values(a, data, absent, counted=exact or tally is None)
    if tally is not None:
        inside = inside_cells(tally.parts[0])
        inference |= {"n_certain": inside.certain, "n_certain_wrong": inside.wrong}
        inference["prior_shift"] = quietly(a.ask, PRIOR_SHIFT)
    return Summary(
        n=data.n,
        rate=rate,
        mean_score=score,
        ece_confidence=None if classwise is None else values["ece"],
        ece_classwise=None if classwise is None else ece(classwise, bins=options.rule),
        absent=tuple(absent),
        estimates=dict(_estimates(a, data, options)),
        within=_shown_within(data, options),
        **inference,
        **values,
    )


def _values(a: Asked, data: Evidence, absent: list[str], *, counted: bool) -> dict[str, Any]:
    """The measures by field; nan for those that sums of bins cannot give, which go to `absent`.

    The TCE requires weights that count rows. Proper scores and their parts are of all classes of a
    matrix.
    """
    values = dict.fromkeys(_FIELDS, math.nan)
    for key in _FIELDS:
        if key == "tce" and not counted:
            continue
        if key == "slope" and _states_one_share(data):
            continue
        measure = MEASURES[key]
        evidence = data
        if data.classwise is not None and key in _PROPER:
            evidence = a.view("classwise")
        try:
            values[key] = asked_question(a, key, {}).value(evidence)
        except InputError:
            if not data.is_binned:
                raise
            name = f"the {measure.short or measure.name}"
            absent.append("the parts of the Brier score" if measure.part else name)
    absent[:] = dict.fromkeys(absent)
    return values


def _states_one_share(data: Evidence) -> bool:
    """Whether all rows have one stated probability, as intervals have: no slope is asked of it."""
    if data.tally is None or not has_one_statement(data):
        return False
    return data.tally.parts[0].size == 1


def _section(*words: str) -> list[str]:
    return [key for key, measure in MEASURES.items() if set(words) & set(measure.shown.split())]


_PROPER = _section("classes")
"""Proper scores and their parts, which are of all classes of a matrix."""


def _estimates(a: Asked, data: Evidence, options: Options) -> Iterator[tuple[str, Estimate]]:
    """The measures of the summary with limits or noise floors, by field.

    Those of the panel, too, of one problem.

    Without intervals, only what the verdict and the first screen need.
    """
    if not options.intervals:
        for key in (*NEEDED, "ece"):
            yield key, quietly(a.estimate, key, "confidence")
        return
    if data.classwise is not None:
        keys = [*NEEDED, *_section("errors")]
    elif data.is_binary:
        keys = [*_section("line", "curve", "scores"), *_section("errors")]
    else:
        keys = [*NEEDED, *_section("errors"), *_PROPER]
    draw_together(a, keys, a.kind("confidence") or "confidence")
    rate = "prevalence" if data.is_binary else "accuracy"
    yield "rate", quietly(a.estimate, rate, "confidence")
    for key in keys:
        yield key, quietly(a.estimate, key, "confidence")
    if data.classwise is None:
        return
    draw_together(a, [*_PROPER, "ece"], "classwise")
    for key in _PROPER:
        yield key, quietly(a.estimate, key, "classwise")
    yield "ece_classwise", quietly(a.estimate, "ece", "classwise")


def validation_panel(a: Asked, options: Options) -> Panel | None:
    """The panel; None for a matrix, for sums of bins, and without intervals."""
    data = a.view("confidence")
    if data.classwise is not None or not data.is_binary or not options.intervals:
        return None
    return quietly(a.possible, PANEL)


def top_k(a: Asked, notes: Notes) -> tuple[dict[str, Any], ...]:
    """The l2 error of the k largest scores jointly, for k from 1 to 5 or the number of classes."""
    data = a.view("confidence")
    n, classes = data.matrix.p.shape
    largest_k = min(_MOST_K, classes)
    if not data.whole:
        largest_k = 1
        notes.add(
            "The confidence set of several scores jointly requires whole-number weights: k = 1 "
            "only."
        )
    if data.dependent:
        largest_k = 1
        notes.add(
            "No confidence set of several scores jointly takes clusters into account: k = 1 only."
        )
    if n > _MOST_ROWS:
        a = a.but(rows=ModelRows(a.rows.evidence.at(np.arange(_MOST_ROWS))))
        notes.add(f"The errors of the k largest scores use the first {_MOST_ROWS:,} rows.")
    intervals = []
    for k in range(1, largest_k + 1):
        ask = partial(a.ask, INTERVAL, k=k)
        interval = notes.attempt(f"The error of the {k} largest scores", ask)
        if interval is not None:
            intervals.append({"k": k, "interval": interval})
    return tuple(intervals)


def _shown_within(data: Evidence, options: Options) -> float:
    """The distance that the monotone band shows 95 % of the rows not to exceed.

    Nan if it does not apply.
    """
    if not options.intervals or data.dependent or data.tally is None:
        return math.nan
    cells = data.tally.parts[0]
    if not cells.whole:
        return math.nan
    band = BandRuns(cells).band(options.level)
    order = np.argsort(band.distance)
    reached = np.cumsum(band.share[order])
    if not band.rising:
        return math.nan
    return float(band.distance[order][np.searchsorted(reached, _SHARE - 1e-12)])


def calibration_curve(data: Evidence, options: Options) -> FlexibleCurve | None:
    """The curve by splines with its bands, of at most 4,096 pools of scores.

    None if it has no finite estimate.
    """
    if data.tally is None:
        return None
    cells = pool_cells(data.tally.parts[0])
    rows = data.in_clusters
    places = curve_places(cells)
    if places.size > _STEP:
        places = places[(places > 0) & (places < 1)][::_STEP]
    pointwise = band_of_cells(cells, "spline", "pointwise", options.level, at=places, rows=rows)
    joint = band_of_cells(cells, "spline", "simultaneous", options.level, at=places, rows=rows)
    if pointwise.y is None or not np.isfinite(pointwise.low).any():
        return None
    return FlexibleCurve(
        score=tuple(pointwise.x.tolist()),
        rate=tuple(pointwise.y.tolist()),
        low=tuple(pointwise.low.tolist()),
        high=tuple(pointwise.high.tolist()),
        all_low=tuple(joint.low.tolist()),
        all_high=tuple(joint.high.tolist()),
    )
