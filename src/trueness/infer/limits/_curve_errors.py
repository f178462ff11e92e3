"""ICI, E50, E90 and Emax with their noise floors."""

import math
from typing import NamedTuple

import numpy as np

from trueness._input.arguments import checked_word
from trueness._numerics.logistic import logits
from trueness._numerics.smooth import loess
from trueness._numerics.splines import fitted_probabilities
from trueness._tally.cells import Cells, pool_cells
from trueness.infer.limits._limits import BIASED, Asked, Limits
from trueness.measure import _flexible_curve as flexible
from trueness.typing import Floats

CURVE_ERRORS = ("ici", "e50", "e90", "emax")
# Sets of labels for noise floors.
_DRAWS = 199
# Distinct scores for redrawn labels: more are pooled, but for the outermost at either end.
_MOST, _ENDS = 512, 32


class CurveErrors(NamedTuple):
    """The distances of a flexible calibration curve from the diagonal: ICI, E50, E90 and Emax."""

    values: Floats
    """Of the labels; nan if the curve has no finite estimate."""
    floors: Floats
    """Of labels drawn from the scores, of shape (draws, 4); nan where such labels give no curve."""


def curve_limits(key: str, asked: Asked) -> Limits:
    """ICI, E50, E90 and Emax: no interval, but values and floors in one go."""
    found = curve_distances(asked)
    if found is None:
        return Limits(note=BIASED)
    value, none = float(found.values[CURVE_ERRORS.index(key)]), "No calibration curve can be fitted to these rows."
    return Limits(note=none if math.isnan(value) else BIASED, value=value, known=True)


def curve_distances(asked: Asked) -> CurveErrors | None:
    """The four distances of a flexible curve, with those of redrawn labels; None for several scores per row."""
    cells, memory = asked.evidence.one, asked.evidence.memory
    if not isinstance(cells, Cells):
        return None
    curve, knots = asked.options.get("curve", "spline"), asked.options.get("knots", 5)
    draws = _DRAWS if asked.floors else 0
    key = ("curve", curve, knots, draws)
    if key not in memory:
        checked_word(curve, "curve", flexible.METHODS)
        flexible.checked_knots(knots)
        memory[key] = curve_errors(cells, curve, draws, asked.rng, knots)
    found: CurveErrors = memory[key]
    return found


def curve_errors(
    cells: Cells, curve: flexible.FlexibleMethod, draws: int, rng: np.random.Generator, knots: int = 5
) -> CurveErrors:
    """The four distances, and those of labels that are drawn from the scores as if these were calibrated.

    Drawn labels are fitted in full, all at once, on at most about 512 pooled cells. (One Newton step from the
    calibrated curve is not enough: for 1,000 confident scores it gave an ICI of 0.037 on average instead of 0.012.)
    """
    values = flexible.distances(flexible.fit_curve(cells, curve, knots))
    used = flexible.usable_cells(cells, curve)
    if not used.size or not draws:
        return CurveErrors(values, np.full((draws, 4), np.nan))
    few = pool_cells(flexible.few_cells(used), _MOST, ends=_ENDS)
    events = drawn_events(few, draws, rng)
    if curve == "loess":
        smoother = loess(few.score, few.weight)
        curves = (events @ smoother.operator.T) @ smoother.design(few.score).T
    else:
        curves = fitted_probabilities(logits(few.score), few.weight, events, flexible.knot_candidates(used, knots))
    return CurveErrors(
        values, np.array([flexible.distance_summary(each, few.weight) for each in np.abs(curves - few.score)])
    )


def drawn_events(cells: Cells, draws: int, rng: np.random.Generator) -> Floats:
    """Events of the cells drawn from their scores, of shape (draws, cells)."""
    p = cells.score
    if cells.whole:
        return rng.binomial(np.asarray(cells.weight, np.int64), p, (draws, cells.size)).astype(np.float64)
    # Rows of the weight that gives the sum its variance; of rare events, clipped normal noise would have a high mean.
    unit = np.sqrt(cells.square_sums[0] / cells.count)
    noise = (rng.binomial(cells.count, p, (draws, cells.size)) - cells.count * p) * unit
    return np.clip(cells.weight * p + noise, 0, cells.weight)
