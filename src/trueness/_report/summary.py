"""The summary of one model: measures with limits and noise floors, confidence set and test; the panel and its curve.

Noise floors have as many draws as a report has time for.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from trueness._input.arguments import generator
from trueness._report.records import FlexibleCurve, Summary
from trueness._report.subject import Notes, Options, collect_warnings
from trueness._tally.cells import pool_cells
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.infer import noise_floor
from trueness.infer._catalogue import MEASURES
from trueness.infer._estimate import estimates_of, value_of
from trueness.infer._panel import NAMES, panel_of_answers
from trueness.infer.band._curve_bands import band_of_cells
from trueness.infer.band._monotone_band import BandRuns
from trueness.infer.decision._verdict import FEW_ROWS, NEEDED, attempted, power_of, significance_of
from trueness.infer.group._prior_shift import shift_of_limits
from trueness.infer.interval._ece_interval import interval_of
from trueness.infer.limits._curve_errors import CURVE_ERRORS, curve_errors
from trueness.infer.null._noise_floor import noise_floor_of
from trueness.infer.test._calibration_test import test_of
from trueness.measure import corp, ece, smooth_ece, tce
from trueness.measure._flexible_curve import curve_places
from trueness.measure._slope import inside_cells
from trueness.results import Estimate, NoiseFloor, Panel
from trueness.typing import Floats

ALPHA = 0.05
"""Level of the tests of the TCE."""
_FEW_DRAWS, _FEWEST_DRAWS, _MANY_CELLS = 39, 19, 200_000
_DRAWS, _LABELS = 99, 2e7
_SHARE = 0.95
_METHODS: tuple[Literal["spiegelhalter", "cox"], ...] = ("spiegelhalter", "cox")
_STEP = 4  # of the 512 places of a curve, those that the page draws
_FIELDS = (
    *("ece", "ace", "mce", "smooth_ece", "tce", "brier", "log_loss", "slope", "intercept", "observed_expected"),
    *("miscalibration", "discrimination", "uncertainty"),
)
_MOST_K, _MOST_ROWS = 5, 200_000
_ECE_DRAWS, _LEAST_ECE_DRAWS = 999, 39


def summarize(data: Evidence, options: Options, notes: Notes, *, top_label: bool = False) -> Summary:
    """Every measure of one model, and the evidence about its calibration.

    Confidences in the top label have no positives that could have been weighted, and so no prior shift.
    """
    rule, tally, level, seed = options.rule, data.tally, options.level, options.seed
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
        ask = partial(interval_of, data, level=level, rng=generator(seed))
        inference["ece_interval"] = notes.attempt("The confidence set", ask, few)
        test = notes.attempt("The test", partial(significance_of, data, level, generator(seed)))
        inference["test"] = test
        if test is None or test.pvalue > options.alpha:
            inference["power"] = power_of(data, options.alpha, generator(seed))
    score, rate, _ = data.means
    classwise = data.classwise
    with collect_warnings(notes):
        values = _values(data, rule, absent, counted=exact or tally is None)
    binary = classwise is None and not top_label
    estimates = _measure_estimates(data, options, notes, inference["noise_floor"], binary=binary)
    if tally is not None:
        inside = inside_cells(tally.parts[0])
        inference |= {"n_certain": inside.certain, "n_certain_wrong": inside.wrong}
        if binary and {"slope", "intercept"} <= estimates.keys():
            shift = shift_of_limits(estimates["intercept"], estimates["slope"], inside, options.level)
            inference["prior_shift"] = shift
    return Summary(
        n=data.sums.n,
        rate=rate,
        mean_score=score,
        ece_confidence=None if classwise is None else values["ece"],
        ece_classwise=None if classwise is None else ece(classwise, bins=rule),
        absent=tuple(absent),
        estimates=estimates,
        within=_shown_within(data, options),
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
        evidence = data if data.classwise is None or key not in _PROPER else data.every_class
        try:
            values[key] = value_of(_asked_measure(key, rule), evidence)
        except InputError:
            if not isinstance(data.sums, Binned):
                raise
            absent.append("the parts of the Brier score" if one.part else f"the {one.short or one.name}")
    absent[:] = dict.fromkeys(absent)
    return values


def _ece_floor(data: Evidence, tally: Tally, options: Options, notes: Notes) -> NoiseFloor | None:
    cells = tally.parts[0]
    measure, most = partial(ece, bins=options.rule), int(_LABELS / max(1, cells.size))
    draws = max(_LEAST_ECE_DRAWS, min(_ECE_DRAWS, most))  # fewer if there are many distinct scores
    known: Evidence | Tally = tally
    if not cells.whole and data.rows is not None:  # rows with one score may differ in weight: a tally cannot know
        known = replace(data, view="binary", rows=data.sample, given=None, memory={})
    return _drawn_floor("ECE", measure, known, draws, options, notes)


def top_k(data: Evidence, options: Options, notes: Notes) -> tuple[dict[str, Any], ...]:
    """The l2 error of the k largest scores jointly, for k from 1 to 5 or the number of classes."""
    n, classes = data.matrix.p.shape
    most = min(_MOST_K, classes) if data.whole and not data.dependent else 1
    if not data.whole:
        notes.add("The confidence set of several scores jointly requires whole-number weights: k = 1 only.")
    if data.dependent:
        notes.add("No confidence set of several scores jointly takes clusters into account: k = 1 only.")
    if n > _MOST_ROWS:
        data = data.at(np.arange(_MOST_ROWS))
        notes.add(f"The errors of the k largest scores use the first {_MOST_ROWS:,} rows.")
    found = []
    for k in range(1, most + 1):
        ask = partial(interval_of, data, k=k, level=options.level, rng=generator(options.seed))
        one = notes.attempt(f"The error of the {k} largest scores", ask)
        if one is not None:
            found.append({"k": k, "interval": one})
    return tuple(found)


def _section(*words: str) -> list[str]:
    return [key for key, one in MEASURES.items() if set(words) & set(one.shown.split())]


_PROPER = _section("classes")
"""Proper scores and their parts, which are of all classes of a matrix."""


def _measure_estimates(
    data: Evidence, options: Options, notes: Notes, floor: NoiseFloor | None, *, binary: bool
) -> dict[str, Estimate]:
    """The measures of the summary with limits or noise floors, by field; those of the panel, too, if `binary`.

    `floor` is that of the ECE. Without intervals, only what the verdict and the first screen need.
    """
    if not options.intervals:
        return _limits(data, NEEDED, options, notes)
    errors = _section("errors")
    # Floors of gaps are drawn in no time; those of other measures are drawn below, where there is time.
    quick = [key for key in errors if MEASURES[key].floor == "gaps" and (key != "ece" or floor is None)]
    whole = _section("line", "curve", "scores") if binary else [*NEEDED, *(_PROPER if data.classwise is None else ())]
    names = ["rate", *whole, *(key for key in errors if key not in quick)]
    found = _limits(data, names, options, notes) | _limits(data, quick, options, notes, floor=True)
    if data.classwise is not None:
        found |= _limits(data.every_class, [*_PROPER, "ece_classwise"], options, notes)
    draws = {key: one.draws for key, one in _floors(data, options, notes, floor).items() if one is not None}
    if binary and data.tally is not None:
        # Fewer draws than `estimates` takes, which would be a fifth of the time of a report.
        drawn = curve_errors(data.tally.parts[0], "spline", _FEW_DRAWS, generator(options.seed)).floors
        draws |= dict(zip(CURVE_ERRORS, drawn.T, strict=True))
    return found | {key: _with_floor(found[key], values) for key, values in draws.items() if key in found}


def _limits(
    data: Evidence, names: Iterable[str], options: Options, notes: Notes, *, floor: bool = False
) -> dict[str, Estimate]:
    """Measures by field, from the rows if weights or clusters require them."""
    asked = {key: _asked_measure(key, options.rule, data.view) for key in names}
    same: Any = {"level": options.level, "rng": generator(options.seed), "floor": floor}
    return notes.attempt("Intervals", lambda: estimates_of(asked, data, **same), warn=False) or {}


def _asked_measure(key: str, rule: BinRule, view: str = "binary") -> Any:
    """A measure in the bins of the report, as `estimates_of` takes it."""
    other = {"rate": "prevalence" if view == "binary" else "accuracy", "ece_classwise": "ece"}
    return MEASURES[other.get(key, key)].asked(rule)


def _shown_within(data: Evidence, options: Options) -> float:
    """The distance that the monotone band shows 95 % of the rows not to exceed; nan if it does not apply."""
    if not options.intervals or data.dependent or data.tally is None or not data.tally.parts[0].whole:
        return float("nan")
    band = BandRuns(data.tally.parts[0]).band(options.level)
    order = np.argsort(band.distance)
    reached = np.cumsum(band.share[order])
    return float(band.distance[order][np.searchsorted(reached, _SHARE - 1e-12)]) if band.rising else float("nan")


def _with_floor(found: Estimate, draws: Floats) -> Estimate:
    known = draws[~np.isnan(draws)]
    if not known.size or math.isnan(found.value):
        return found
    mean, high = float(known.mean()), float(np.quantile(known, found.level))
    return replace(found, floor=mean, floor_high=high)


def _floors(data: Evidence, options: Options, notes: Notes, of_ece: NoiseFloor | None) -> dict[str, NoiseFloor | None]:
    """Noise floors that take labels for all rows; for a matrix also those of all classes."""
    found: dict[str, NoiseFloor | None] = {"ece": of_ece}
    tally = data.tally
    if tally is None:
        return found

    def removed(tally: Tally) -> float:
        return corp(tally).miscalibration

    def of_rows(name: str, measure: Any) -> NoiseFloor | None:  # of all classes, or weighted; None if very many
        draws = 0 if data.rows is None else min(_DRAWS, int(_LABELS / data.matrix.p.size))
        return None if draws < _FEWEST_DRAWS else _drawn_floor(name, measure, data.every_class, draws, options, notes)

    cells, several = tally.parts[0], data.classwise is not None
    many = cells.size >= _MANY_CELLS
    if cells.whole:
        few = _FEWEST_DRAWS if many else _FEW_DRAWS
        found["tce"] = _drawn_floor("TCE", partial(tce, alpha=ALPHA), tally, few, options, notes)
        pooled = Tally("binary", (pool_cells(cells),))
        found["smooth_ece"] = _drawn_floor("smooth ECE", smooth_ece, pooled, _FEWEST_DRAWS, options, notes)
    if several:
        found["ece_classwise"] = of_rows("class-wise ECE", partial(ece, bins=options.rule))
    if several or not (cells.whole or data.rows is None):
        found["miscalibration"] = of_rows("miscalibration", removed)
        found |= {} if several else {"smooth_ece": of_rows("smooth ECE", smooth_ece)}
    else:
        draws = _FEWEST_DRAWS if many else _DRAWS
        found["miscalibration"] = _drawn_floor("miscalibration", removed, tally, draws, options, notes)
    return found


def _drawn_floor(
    name: str, measure: Any, data: Evidence | Tally, draws: int, options: Options, notes: Notes
) -> NoiseFloor | None:
    """A noise floor; None, with a note, if there is none."""
    ask: Any = partial(noise_floor, measure, data, seed=options.seed, progress=False)
    if isinstance(data, Evidence):
        ask = partial(noise_floor_of, data, measure, rng=generator(options.seed))
    ask = partial(ask, resamples=draws, level=options.level)
    return notes.attempt(f"The noise floor of the {name}", ask)


def validation_panel(data: Evidence, estimates: Mapping[str, Estimate], options: Options) -> Panel | None:
    """The panel; None for a matrix, for sums of bins, and without intervals."""
    if data.tally is None or not estimates.keys() >= set(NAMES):
        return None
    # With clusters the first test only, whose weights must count rows.
    methods = _METHODS[:1] if data.dependent else _METHODS
    tests = (attempted(test_of, data, method=method, rng=generator(options.seed)) for method in methods)
    own: Any = {"clusters": data.units if data.dependent else None, "in_buckets": data.rows is None}
    return panel_of_answers(estimates, tuple(filter(None, tests)), data.tally.parts[0], options.level, **own)


def calibration_curve(data: Evidence, options: Options) -> FlexibleCurve | None:
    """The curve by splines with its bands, of at most 4,096 pools of scores; None if it has no finite estimate."""
    if data.tally is None:
        return None
    cells = pool_cells(data.tally.parts[0])
    rows = data.clustered if data.dependent else None
    at = curve_places(cells)
    at = at[(at > 0) & (at < 1)][::_STEP] if at.size > _STEP else at
    each, every = (
        band_of_cells(cells, "spline", band, options.level, at=at, rows=rows) for band in ("pointwise", "simultaneous")
    )
    if each.y is None or not np.isfinite(each.low).any():
        return None
    columns = (each.x, each.y, each.low, each.high, every.low, every.high)
    return FlexibleCurve(*(tuple(float(f"{value:.5g}") for value in one) for one in columns))  # enough to draw with
