"""Spiegelhalter's test of the Brier score, and Cox's test of the calibration line."""

import math

import numpy as np
from scipy.special import chdtrc, ndtr

from trueness._tally.cells import Cells
from trueness.infer._redrawn_labels import monte_carlo_test, weighted_sums
from trueness.infer._test_method import Options, Outcome, observed_events, require_counts, squared_weights
from trueness.typing import Floats

__all__ = ["cox", "spiegelhalter"]

# Log-odds whose variance is a smaller share of their mean square are equal.
_EQUAL = 1e-12


def spiegelhalter(cells: Cells, options: Options) -> Outcome:
    """The z of Σ (y − p)(1 − 2p), two-sided: whether the Brier score is what the scores expect."""
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

    (z,) = statistic(observed_events(cells))
    if options.resamples:
        _, pvalue = monte_carlo_test(
            lambda events: np.abs(statistic(events)),
            require_counts(cells, "redrawing labels"),
            options.resamples,
            options.rng,
        )
        level = f"the level is exact at any n: {options.resamples:,} sets of labels were drawn from the scores"
        smallest = 1 / (options.resamples + 1)
    else:
        pvalue, smallest = float(2 * ndtr(-abs(z))), 0.0
        level = "z is approximately normal: this needs many rows, none of which dominates the variance"
    assumptions = f"Rows are independent; two-sided; {level}. Detects only departures that change the Brier score."
    return Outcome(float(z), pvalue, assumptions, smallest)


def cox(cells: Cells, options: Options) -> Outcome:
    """The score test of slope 1 and intercept 0, with the information at these values."""
    score = _Score(cells)
    if options.resamples:
        statistic, pvalue = monte_carlo_test(
            score, require_counts(cells, "redrawing labels"), options.resamples, options.rng
        )
        level = f"the level is exact at any n: {options.resamples:,} sets of labels were drawn from the scores"
    else:
        statistic = float(score(observed_events(cells))[0])
        pvalue = float(chdtrc(score.freedom, statistic)) if score.freedom else float(statistic == 0)
        level = "the score is approximately normal: this needs many rows, none of which dominates the information"
    assumptions = (
        f"Rows are independent; {level}. Chi-squared with {score.freedom} degrees of freedom: detects only departures "
        "in the slope and intercept of the log-odds."
    )
    return Outcome(statistic, pvalue, assumptions, 1 / (options.resamples + 1) if options.resamples else 0.0)


class _Score:
    """S' V⁻¹ S for S = Σ (y − p)(1, x), x the log-odds, as the squares of two uncorrelated parts.

    Scores of 0 and 1, whose log-odds are infinite, enter by their limits: nothing if the label agrees, an
    infinite score if it does not.
    """

    def __init__(self, cells: Cells) -> None:
        p = cells.score
        self.certain = (p == 0) | (p == 1)
        self.certain_events = np.where(p == 1, cells.weight, 0)[self.certain]
        self.inside = np.flatnonzero(~self.certain)
        p = p[self.inside]
        v = squared_weights(cells)[self.inside] * p * (1 - p)
        x = np.log(p) - np.log1p(-p)
        self.expected = cells.weight[self.inside] * p
        self.information = float(v.sum())
        centre = float((v * x).sum()) / self.information if self.information > 0 else 0.0
        self.away = x - centre
        self.second = float((v * self.away**2).sum())
        spread = self.second > _EQUAL * self.information * (1 + centre**2)
        self.freedom = int(self.information > 0) + int(spread)

    def __call__(self, events: Floats) -> Floats:
        excess = events[:, self.inside] - self.expected
        value = np.zeros(len(events))
        with np.errstate(over="ignore"):  # an event of score 1e-320 is practically impossible
            if self.freedom > 0:
                value += excess.sum(axis=1) ** 2 / self.information
            if self.freedom > 1:
                value += weighted_sums(excess, self.away) ** 2 / self.second
        value[(events[:, self.certain] != self.certain_events).any(axis=1)] = np.inf
        return value
