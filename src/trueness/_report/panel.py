"""The panel of one model, and its calibration curve, from what the summary has found."""

from collections.abc import Mapping
from functools import partial
from typing import Literal

import numpy as np

from trueness._report.evidence import Evidence
from trueness._report.inference import Notes, Options
from trueness._report.records import FlexibleCurve
from trueness._tally.cells import pool_cells
from trueness._tally.clusters import ClusteredRows
from trueness.infer import calibration_test
from trueness.infer._panel import NAMES, panel_of_answers
from trueness.infer.band._curve_bands import band_of_cells
from trueness.measure._flexible_curve import curve_places
from trueness.results import Estimate, Panel, Significance
from trueness.typing import Floats

_METHODS: tuple[Literal["spiegelhalter", "cox"], ...] = ("spiegelhalter", "cox")
_STEP = 4  # of the 512 places of a curve, those that the page draws


def validation_panel(data: Evidence, estimates: Mapping[str, Estimate], options: Options) -> Panel | None:
    """The panel; None for a matrix, for sums of bins, and without intervals."""
    if data.tally is None or not estimates.keys() >= set(NAMES):
        return None
    clusters = None if options.cluster is None else int(options.cluster.max()) + 1
    tests = tuple(_tests(data, options))
    return panel_of_answers(estimates, tests, data.tally.parts[0], options.level, clusters=clusters)


def _tests(data: Evidence, options: Options) -> list[Significance]:
    """Spiegelhalter's and Cox's tests; with clusters the first only, whose weights must count rows."""
    tally, view, notes = data.tally, data.view, Notes()
    assert tally is not None
    if options.cluster is None or view is None:
        found = [
            notes.attempt(method, partial(calibration_test, tally, method=method, seed=options.seed))
            for method in _METHODS
        ]
        return [one for one in found if one is not None]
    test = partial(calibration_test, view.y, view.p, method="spiegelhalter", sample_weight=view.w)
    one = notes.attempt("spiegelhalter", partial(test, cluster=options.cluster, seed=options.seed))
    return [] if one is None else [one]


def calibration_curve(data: Evidence, options: Options) -> FlexibleCurve | None:
    """The curve by splines with its bands, of at most 4,096 pools of scores; None if it has no finite estimate."""
    if data.tally is None:
        return None
    cells = pool_cells(data.tally.parts[0])
    rows = None if options.cluster is None or data.view is None else ClusteredRows(data.view, options.cluster)
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
