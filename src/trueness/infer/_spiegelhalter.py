"""Spiegelhalter's test: whether the Brier score is what the scores themselves expect."""

import math

import numpy as np
from scipy.special import ndtr

from trueness._tally.cells import Cells
from trueness.infer._finding import Ask, Finding, events_of, squared_weights, whole
from trueness.infer._null_draws import monte_carlo, weighted_sums
from trueness.typing import Floats

__all__ = ["spiegelhalter"]


def spiegelhalter(cells: Cells, ask: Ask) -> Finding:
    """The z of Σ (y − p)(1 − 2p), two-sided."""
    p = cells.score
    slope = 1 - 2 * p
    expected = cells.weight * p
    spread = math.sqrt(float((squared_weights(cells) * slope**2 * p * (1 - p)).sum()))

    def statistic(events: Floats) -> Floats:
        excess = weighted_sums(events - expected, slope)
        if spread > 0:
            return np.asarray(excess / spread)
        # Every score is 0, 1/2 or 1: any excess is impossible, and none is certain.
        return np.where(excess == 0, 0.0, np.copysign(np.inf, excess))

    (z,) = statistic(events_of(cells))
    if ask.resamples:
        _, pvalue = monte_carlo(
            lambda events: np.abs(statistic(events)), whole(cells, "redrawing labels"), ask.resamples, ask.rng
        )
        return Finding(
            float(z),
            float(pvalue),
            f"Rows are independent; two-sided; the level is exact at any n: {ask.resamples:,} sets of labels were "
            "drawn from the scores. Only departures that move the Brier score are seen.",
            1 / (ask.resamples + 1),
        )
    return Finding(
        float(z),
        float(2 * ndtr(-abs(z))),
        "Rows are independent; two-sided; z is near normal: many rows, none with much of the variance. Only "
        "departures that move the Brier score are seen.",
    )
