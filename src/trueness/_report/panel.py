"""The panel of one model, and its calibration curve, from what the summary has found."""

from collections.abc import Mapping
from functools import partial
from typing import Literal

import numpy as np

from trueness._input.arguments import generator
from trueness._report.inference import Notes, Options
from trueness._report.records import FlexibleCurve
from trueness._tally.cells import pool_cells
from trueness._tally.evidence import Evidence
from trueness.infer._panel import NAMES, panel_of_answers
from trueness.infer.band._curve_bands import band_of_cells
from trueness.infer.test._calibration_test import test_of
from trueness.measure._flexible_curve import curve_places
from trueness.results import Estimate, Panel, Significance
from trueness.typing import Floats

_METHODS: tuple[Literal["spiegelhalter", "cox"], ...] = ("spiegelhalter", "cox")
_STEP = 4  # of the 512 places of a curve, those that the page draws


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
