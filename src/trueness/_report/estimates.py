"""Limits and noise floors of each measure, with as many draws as a report has time for; the panel and its curve."""

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
from trueness._tally.rules import BinRule, EqualMass
from trueness._tally.tally import Tally
from trueness.infer import noise_floor
from trueness.infer._estimate import estimates_of
from trueness.infer._panel import NAMES, panel_of_answers
from trueness.infer.band._curve_bands import band_of_cells
from trueness.infer.band._monotone_band import BandRuns
from trueness.infer.limits._curve_errors import curve_errors
from trueness.infer.null._noise_floor import noise_floor_of
from trueness.infer.test._calibration_test import test_of
from trueness.measure import ace, corp, ece, mce, smooth_ece, tce
from trueness.measure._flexible_curve import curve_places
from trueness.results import Estimate, NoiseFloor, Panel, Significance
from trueness.typing import Floats

ALPHA = 0.05
"""Level of the tests of the TCE."""
VERDICT = ("slope", "intercept", "observed_expected")
"""Measures whose limits the verdict needs."""
_CURVE = ("ici", "e50", "e90", "emax")
_ERRORS = ("ece", "ace", "mce")
_PROPER = ("brier", "log_loss", "miscalibration", "discrimination", "uncertainty")
_BINARY = ("free_intercept", "scaled_brier", "auc")
_FEW_DRAWS, _FEWEST_DRAWS, _MANY_CELLS = 39, 19, 200_000
_DRAWS, _LABELS = 99, 2e7
_ORDINARY_BINS = 10
_SHARE = 0.95
_METHODS: tuple[Literal["spiegelhalter", "cox"], ...] = ("spiegelhalter", "cox")
_STEP = 4  # of the 512 places of a curve, those that the page draws


def equal_mass(rule: BinRule) -> EqualMass:
    """The bins of the ACE."""
    return rule if isinstance(rule, EqualMass) else EqualMass(rule.n_requested or _ORDINARY_BINS)


def measure_estimates(
    data: Evidence, options: Options, notes: Notes, floor: NoiseFloor | None, *, binary: bool
) -> dict[str, Estimate]:
    """The measures of the summary with limits or noise floors, by field; those of the panel, too, if `binary`.

    `floor` is that of the ECE. Without intervals, only what the verdict and the first screen need.
    """
    if not options.intervals:
        return _limits(data, VERDICT, options, notes)
    names = ["rate", *VERDICT, "smooth_ece", "tce", *(_PROPER if data.classwise is None else ())]
    known = ["ece"] if floor is not None else []
    found = _limits(data, [*names, *known, *((*_BINARY, *_CURVE) if binary else ())], options, notes)
    found |= _limits(data, [key for key in _ERRORS if key not in known], options, notes, floor=True)
    if data.classwise is not None:
        found |= _all_classes(data, options, notes)
    floors = _floors(data, options, notes, floor)
    draws = {key: one.draws for key, one in floors.items() if one is not None}
    if binary and data.tally is not None:
        # Fewer draws than `estimates` takes, which would be a fifth of the time of a report.
        drawn = curve_errors(data.tally.parts[0], "spline", _FEW_DRAWS, generator(options.seed)).floors
        draws |= dict(zip(_CURVE, drawn.T, strict=True))
    return found | {key: _with_floor(found[key], values) for key, values in draws.items() if key in found}


def _limits(
    data: Evidence, names: Iterable[str], options: Options, notes: Notes, *, floor: bool = False
) -> dict[str, Estimate]:
    """Measures of the binary problem by field, from the rows if weights or clusters require them."""
    asked = {key: _measure(key, options.rule, data) for key in names}
    return _ask(asked, data, options, notes, floor=floor)


def _all_classes(data: Evidence, options: Options, notes: Notes) -> dict[str, Estimate]:
    """The class-wise ECE and the proper scores of a matrix."""
    asked = {key: key for key in _PROPER} | {"ece_classwise": partial(ece, bins=options.rule)}
    return _ask(asked, data.every_class, options, notes, floor=False)


def _ask(
    asked: Mapping[str, Any], data: Evidence, options: Options, notes: Notes, *, floor: bool
) -> dict[str, Estimate]:
    same: Any = {"level": options.level, "rng": generator(options.seed), "floor": floor}
    return notes.attempt("Intervals", lambda: estimates_of(asked, data, **same), warn=False) or {}


def _measure(key: str, rule: BinRule, data: Evidence) -> Any:
    """A measure as `estimates` takes it."""
    measures: dict[str, Any] = {
        "ece": partial(ece, bins=rule),
        "ace": partial(ace, bins=equal_mass(rule)),
        "mce": partial(mce, bins=rule),
        "tce": partial(tce, alpha=ALPHA),
        "rate": "prevalence" if data.view == "binary" else "accuracy",
    }
    return measures.get(key, key)


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
    if not known.size:
        return found
    mean, high = float(known.mean()), float(np.quantile(known, found.level))
    return replace(found, floor=mean, floor_high=high, excess=found.value - mean)


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
