"""Kolmogorov-Smirnov and Kuiper: how far labels run ahead of scores, cumulated over the scores."""

import math
from collections.abc import Callable

import numpy as np

from trueness._numerics.brownian import largest_distance_sf, range_sf
from trueness._tally.cells import Cells
from trueness.infer._finding import Ask, Finding, events_of, squared_weights, whole
from trueness.infer._null_draws import monte_carlo
from trueness.typing import Floats

__all__ = ["ks", "kuiper"]


def ks(cells: Cells, ask: Ask) -> Finding:
    """The largest distance of the cumulated differences from 0."""
    return _found(cells, ask, lambda high, low: np.maximum(high, -low), largest_distance_sf, "largest distance from 0")


def kuiper(cells: Cells, ask: Ask) -> Finding:
    """The range of the cumulated differences."""
    return _found(cells, ask, lambda high, low: high - low, range_sf, "range")


def _found(
    cells: Cells,
    ask: Ask,
    of: Callable[[Floats, Floats], Floats],
    survival: Callable[[float], Floats],
    what: str,
) -> Finding:
    total = float(cells.weight.sum())
    expected = cells.weight * cells.score

    def statistic(events: Floats) -> Floats:
        path = np.cumsum(events - expected, axis=1)
        # The path starts at 0.
        return of(np.maximum(path.max(axis=1), 0), np.minimum(path.min(axis=1), 0)) / total

    if ask.resamples:
        observed, pvalue = monte_carlo(statistic, whole(cells, "redrawing labels"), ask.resamples, ask.rng)
        assumed = (
            f"Rows are independent; the level is exact at any n: {ask.resamples:,} sets of labels were drawn "
            "from the scores."
        )
        return Finding(float(observed), float(pvalue), assumed, 1 / (ask.resamples + 1))
    (observed,) = statistic(events_of(cells))
    variance = float((squared_weights(cells) * cells.score * (1 - cells.score)).sum())
    spread = math.sqrt(variance) / total
    never = math.inf if observed > 0 else 0.0  # every score is 0 or 1
    scaled = float(observed) / spread if spread > 0 else never
    assumed = (
        f"Rows are independent; the path is near Brownian motion, whose {what} gives the p-value: many rows, "
        f"none with much of the variance. Statistic / null deviation: {scaled:.4g}."
    )
    return Finding(float(observed), float(survival(scaled)), assumed)
