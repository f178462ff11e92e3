"""Limits and noise floors of each measure, with as many draws as a report has time for; the panel and its curve."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from trueness._input.arguments import generator
from trueness._report.inference import Notes, Options
from trueness._report.records import FlexibleCurve
from trueness._tally.cells import pool_cells
from trueness._tally.evidence import Evidence
from trueness._tally.rules import BinRule
from trueness._tally.tally import Tally
from trueness.infer import noise_floor
from trueness.infer._catalogue import MEASURES
from trueness.infer._estimate import estimates_of
from trueness.infer._panel import NAMES, panel_of_answers
from trueness.infer.band._curve_bands import band_of_cells
from trueness.infer.band._monotone_band import BandRuns
from trueness.infer.limits._curve_errors import CURVE_ERRORS, curve_errors
from trueness.infer.null._noise_floor import noise_floor_of
from trueness.infer.test._calibration_test import test_of
from trueness.measure import corp, ece, smooth_ece, tce
from trueness.measure._flexible_curve import curve_places
from trueness.results import Estimate, NoiseFloor, Panel, Significance
from trueness.typing import Floats

ALPHA = 0.05
"""Level of the tests of the TCE."""
VERDICT = ("slope", "intercept", "observed_expected")
"""Measures whose limits the verdict needs."""
PROPER = tuple(key for key, one in MEASURES.items() if "classes" in one.shown.split())
"""Proper scores and their parts, which are of all classes of a matrix."""
_FEW_DRAWS, _FEWEST_DRAWS, _MANY_CELLS = 39, 19, 200_000
_DRAWS, _LABELS = 99, 2e7
_SHARE = 0.95
_METHODS: tuple[Literal["spiegelhalter", "cox"], ...] = ("spiegelhalter", "cox")
_STEP = 4  # of the 512 places of a curve, those that the page draws


def _section(*words: str) -> list[str]:
    """The measures of some sections of the page."""
    return [key for key, one in MEASURES.items() if set(words) & set(one.shown.split())]


def measure_estimates(
    data: Evidence, options: Options, notes: Notes, floor: NoiseFloor | None, *, binary: bool
) -> dict[str, Estimate]:
    """The measures of the summary with limits or noise floors, by field; those of the panel, too, if `binary`.

    `floor` is that of the ECE. Without intervals, only what the verdict and the first screen need.
    """
    if not options.intervals:
        return _limits(data, VERDICT, options, notes)
    errors = _section("errors")
    # Floors of gaps are drawn in no time; those of other measures are drawn below, where there is time.
    quick = [key for key in errors if MEASURES[key].floor == "gaps" and (key != "ece" or floor is None)]
    whole = _section("line", "curve", "scores") if binary else [*VERDICT, *(PROPER if data.classwise is None else ())]
    names = ["rate", *whole, *(key for key in errors if key not in quick)]
    found = _limits(data, names, options, notes) | _limits(data, quick, options, notes, floor=True)
    if data.classwise is not None:
        found |= _all_classes(data, options, notes)
    floors = _floors(data, options, notes, floor)
    draws = {key: one.draws for key, one in floors.items() if one is not None}
    if binary and data.tally is not None:
        # Fewer draws than `estimates` takes, which would be a fifth of the time of a report.
        drawn = curve_errors(data.tally.parts[0], "spline", _FEW_DRAWS, generator(options.seed)).floors
        draws |= dict(zip(CURVE_ERRORS, drawn.T, strict=True))
    return found | {key: _with_floor(found[key], values) for key, values in draws.items() if key in found}


def _limits(
    data: Evidence, names: Iterable[str], options: Options, notes: Notes, *, floor: bool = False
) -> dict[str, Estimate]:
    """Measures of the binary problem by field, from the rows if weights or clusters require them."""
    asked = {key: asked_measure(key, options.rule, data.view) for key in names}
    return _ask(asked, data, options, notes, floor=floor)


def _all_classes(data: Evidence, options: Options, notes: Notes) -> dict[str, Estimate]:
    """The class-wise ECE and the proper scores of a matrix."""
    asked = {key: key for key in PROPER} | {"ece_classwise": partial(ece, bins=options.rule)}
    return _ask(asked, data.every_class, options, notes, floor=False)


def _ask(
    asked: Mapping[str, Any], data: Evidence, options: Options, notes: Notes, *, floor: bool
) -> dict[str, Estimate]:
    same: Any = {"level": options.level, "rng": generator(options.seed), "floor": floor}
    return notes.attempt("Intervals", lambda: estimates_of(asked, data, **same), warn=False) or {}


def asked_measure(key: str, rule: BinRule, view: str = "binary") -> Any:
    """A measure in the bins of the report, as `estimates_of` takes it."""
    if key == "rate":
        key = "prevalence" if view == "binary" else "accuracy"
    return MEASURES[key].asked(rule)


def shown_within(data: Evidence, options: Options) -> float:
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


def miscalibration(tally: Tally) -> float:
    """The part of the Brier score that isotonic regression of the same rows removes."""
    return corp(tally).miscalibration


def _floors(data: Evidence, options: Options, notes: Notes, of_ece: NoiseFloor | None) -> dict[str, NoiseFloor | None]:
    """Noise floors that take labels for all rows; for a matrix also those of all classes."""
    found: dict[str, NoiseFloor | None] = {"ece": of_ece}
    tally = data.tally
    if tally is None:
        return found
    cells = tally.parts[0]
    few = _FEW_DRAWS if cells.size < _MANY_CELLS else _FEWEST_DRAWS
    if cells.whole:
        found["tce"] = drawn_floor("TCE", partial(tce, alpha=ALPHA), tally, few, options, notes)
        pooled = Tally("binary", (pool_cells(cells),))
        found["smooth_ece"] = drawn_floor("smooth ECE", smooth_ece, pooled, _FEWEST_DRAWS, options, notes)
    if data.classwise is not None:
        found["ece_classwise"] = _floor_of_rows("class-wise ECE", partial(ece, bins=options.rule), data, options, notes)
    if data.classwise is None and (cells.whole or data.rows is None):
        draws = _DRAWS if cells.size < _MANY_CELLS else _FEWEST_DRAWS
        found["miscalibration"] = drawn_floor("miscalibration", miscalibration, tally, draws, options, notes)
    else:
        found["miscalibration"] = _floor_of_rows("miscalibration", miscalibration, data, options, notes)
        if data.classwise is None:
            found["smooth_ece"] = _floor_of_rows("smooth ECE", smooth_ece, data, options, notes)
    return found


def _floor_of_rows(name: str, measure: Any, data: Evidence, options: Options, notes: Notes) -> NoiseFloor | None:
    """The noise floor over all classes of a matrix, or of weighted rows; None if there are very many."""
    if data.rows is None:
        return None
    draws = min(_DRAWS, int(_LABELS / data.matrix.p.size))
    return None if draws < _FEWEST_DRAWS else drawn_floor(name, measure, data.every_class, draws, options, notes)


def drawn_floor(
    name: str, measure: Any, data: Evidence | Tally, draws: int, options: Options, notes: Notes
) -> NoiseFloor | None:
    """A noise floor; None, with a note, if there is none."""
    ask: Any = partial(noise_floor, measure, data, seed=options.seed)
    if isinstance(data, Evidence):
        ask = partial(noise_floor_of, data, measure, labelled=False, rng=generator(options.seed))
    return notes.attempt(
        f"The noise floor of the {name}", partial(ask, resamples=draws, level=options.level, progress=False)
    )


def validation_panel(data: Evidence, estimates: Mapping[str, Estimate], options: Options) -> Panel | None:
    """The panel; None for a matrix, for sums of bins, and without intervals."""
    if data.tally is None or not estimates.keys() >= set(NAMES):
        return None
    clusters = data.units if data.dependent else None
    tests = tuple(_tests(data, options))
    return panel_of_answers(estimates, tests, data.tally.parts[0], options.level, clusters=clusters)


def _tests(data: Evidence, options: Options) -> list[Significance]:
    """Spiegelhalter's and Cox's tests; with clusters the first only, whose weights must count rows."""
    methods = _METHODS[:1] if data.dependent else _METHODS
    notes = Notes()
    found = [
        notes.attempt(method, partial(test_of, data, method=method, rng=generator(options.seed))) for method in methods
    ]
    return [one for one in found if one is not None]


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
    return FlexibleCurve(*map(_numbers, (each.x, each.y, each.low, each.high, every.low, every.high)))


def _numbers(values: Floats) -> tuple[float, ...]:
    """Five digits are enough to draw with."""
    return tuple(float(f"{value:.5g}") for value in values)
