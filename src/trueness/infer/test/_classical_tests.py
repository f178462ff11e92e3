"""Classical tests of calibration.

Spiegelhalter's of the Brier score, Cox's of the line, Hosmer and Lemeshow's of groups.
"""

import math

import numpy as np
from scipy.special import chdtrc, ndtr

from trueness._tally.binned_scores import bin_starts
from trueness._tally.cells import Cells, pool_cells, segment_sums
from trueness._tally.rules import EqualMass
from trueness.errors import InputError
from trueness.infer.null._redrawn_labels import (
    caveat,
    is_nearly_normal,
    monte_carlo_outcome,
    of_events,
    with_draws,
)
from trueness.infer.test._method import Options, Outcome, observed_events, require_counts
from trueness.typing import Floats

# Log-odds whose variance is a smaller share of their mean square are equal.
_EQUAL = 1e-12
# Sums of the same weights in another order may differ by this share.
_ROUNDED = 1e-9


def _weighted_sums(values: Floats, weights: Floats) -> Floats:
    """Weighted sum of each row, added in the same order for any number of rows."""
    return np.asarray(np.einsum("ij,j->i", values, weights))


def spiegelhalter(cells: Cells, options: Options) -> Outcome:
    """The z of Σ (y − p)(1 − 2p), two-sided: whether the scores expect this Brier score."""
    slope = 1 - 2 * cells.score
    expected = cells.weight * cells.score
    variances = cells.square_sums[0] * slope**2 * cells.score * (1 - cells.score)
    spread = math.sqrt(float(variances.sum()))

    def z_of(excess: Floats) -> Floats:
        if spread > 0:
            return np.asarray(excess / spread)
        # Every score is 0, 1/2 or 1: any excess is impossible, and none is certain.
        return np.where(excess == 0, 0.0, np.copysign(np.inf, excess))

    z = float(z_of((cells.events - expected) @ slope))
    rows = "Rows are independent; two-sided"
    detail = "Detects only departures that change the Brier score."
    pooled = pool_cells(cells)
    accurate = is_nearly_normal(pooled, 1 - 2 * pooled.score)
    options = with_draws(cells, options, accurate=accurate)
    if options.resamples:
        size = of_events(lambda events: np.abs(z_of(_weighted_sums(events - expected, slope))))
        outcome = monte_carlo_outcome(size, cells, options, rows=rows, detail=detail)
        return outcome._replace(statistic=z)
    limit = "z is approximately normal: this needs many rows, none of which dominates the variance"
    assumptions = f"{rows}; {limit}. {detail}{caveat(accurate=accurate)}"
    return Outcome(z, float(2 * ndtr(-abs(z))), assumptions)


def cox(cells: Cells, options: Options) -> Outcome:
    """The score test of slope 1 and intercept 0, with the information at these values."""
    score = _Score(cells)
    statistic = float(score(observed_events(cells))[0])
    freedom = score.freedom
    detail = (
        f"Chi-squared with {_degrees(freedom)}: "
        "detects only departures in the slope and intercept of the log-odds."
    )
    # An infinite score is impossible, whatever could be drawn.
    pooled = pool_cells(cells)
    accurate = math.isinf(statistic) or _Score(pooled).is_nearly_normal(pooled)
    options = with_draws(cells, options, accurate=accurate)
    if options.resamples:
        return monte_carlo_outcome(of_events(score), cells, options, detail=detail)
    # Without any freedom the statistic is 0 or infinite.
    pvalue = float(chdtrc(max(freedom, 1), statistic))
    assumptions = (
        "Rows are independent; the score is approximately normal: this needs many rows, "
        f"none of which dominates the information. {detail}{caveat(accurate=accurate)}"
    )
    return Outcome(statistic, pvalue, assumptions)


def _degrees(freedom: int) -> str:
    if freedom == 1:
        return "1 degree of freedom"
    return f"{freedom} degrees of freedom"


class _Score:
    """S' V⁻¹ S for S = Σ (y − p)(1, x), x the log-odds: squares of two uncorrelated parts.

    Scores of 0 and 1, whose log-odds are infinite, enter by their limits: nothing if the label
    agrees, an infinite score if it does not.
    """

    def __init__(self, cells: Cells) -> None:
        p = cells.score
        # Scores of 0 and 1, their rows, and the only number of events that they allow.
        self.certain = (p == 0) | (p == 1)
        self.certain_weight = cells.weight[self.certain]
        self.certain_events = np.where(p == 1, cells.weight, 0)[self.certain]
        # The parts are Σ(y − p), of variance `information`, and Σ(y − p)(x − centre), of variance
        # `second`, over all other scores: the centre makes them uncorrelated.
        self.inside = np.flatnonzero(~self.certain)
        p = p[self.inside]
        v = cells.square_sums[0][self.inside] * p * (1 - p)
        x = np.log(p) - np.log1p(-p)
        self.expected = cells.weight[self.inside] * p
        self.information = float(v.sum())
        centre = float((v * x).sum()) / self.information if self.information > 0 else 0.0
        self.away = x - centre
        self.second = float((v * self.away**2).sum())
        # Scores that are all equal have no second part.
        spread = self.second > _EQUAL * self.information * (1 + centre**2)
        self.freedom = int(self.information > 0) + int(spread)

    def is_nearly_normal(self, cells: Cells) -> bool:
        """Whether the parts of the score are close to normal."""
        away = np.zeros(cells.size)
        away[self.inside] = self.away
        return is_nearly_normal(cells, *(np.ones(cells.size), away)[: self.freedom])

    def __call__(self, events: Floats) -> Floats:
        excess = events[:, self.inside] - self.expected
        value = np.zeros(len(events))
        with np.errstate(over="ignore"):  # an event of score 1e-320 is practically impossible
            if self.freedom > 0:
                value += excess.sum(axis=1) ** 2 / self.information
            if self.freedom > 1:
                value += _weighted_sums(excess, self.away) ** 2 / self.second
        distance = np.abs(events[:, self.certain] - self.certain_events)
        wrong = distance > _ROUNDED * self.certain_weight
        value[wrong.any(axis=1)] = np.inf
        return value


# From this variance of the events of a group on, their number is nearly normal.
_LEAST_VARIANCE = 5.0


def hosmer_lemeshow(cells: Cells, options: Options) -> Outcome:
    """Σ (observed − expected)² / (n p̄ (1 − p̄)) over the groups."""
    rule = options.rule or EqualMass(10)
    first = bin_starts(cells, rule)
    weight = segment_sums(cells.weight.astype(np.float64), first)
    squares = segment_sums(cells.square_sums[0].astype(np.float64), first)
    expected = segment_sums(cells.weight * cells.score, first)
    mean = np.clip(expected / weight, 0, 1)
    variance = squares * mean * (1 - mean)
    varies = variance > 0

    def statistic(events: Floats) -> Floats:
        excess = np.add.reduceat(events, first, axis=1) - expected
        # A group whose scores are all 0, or all 1, adds nothing if its labels agree.
        impossible = (np.abs(excess[:, ~varies]) > _ROUNDED * weight[~varies]).any(axis=1)
        with np.errstate(over="ignore"):  # an event of score 1e-320 is practically impossible
            value = (excess[:, varies] ** 2 / variance[varies]).sum(axis=1)
        return np.where(impossible, np.inf, value)

    used = int(varies.sum())
    groups = f"Groups: {rule!r}, {first.size} of them."
    if used < first.size:
        certain = first.size - used
        groups = (
            f"{groups} {certain} with scores of only 0 or only 1 "
            "leave nothing to chance and do not count."
        )
    (value,) = statistic(observed_events(cells))
    # In units of the mean weight, so that fractional weights count too.
    enough = (variance * weight**2 >= _LEAST_VARIANCE * squares**2)[varies]
    # An infinite value is impossible. Few rows with large weights dominate a group, whatever its
    # variance.
    accurate = bool((cells.whole and enough.all()) or np.isinf(value))
    if not options.fitted:
        options = with_draws(cells, options, accurate=accurate)
    elif require_counts(cells, "`fitted=True`") and used < 3:
        demand = "leaves g − 2 degrees of freedom and needs g ≥ 3 groups"
        remedy = "Use more `bins`, or rows not used to fit."
        raise InputError("fitted", demand, f"there are {used}", remedy=remedy)
    if options.resamples:
        rows = "Rows are independent and were not used to fit the model"
        return monte_carlo_outcome(of_events(statistic), cells, options, rows=rows, detail=groups)
    if options.fitted:
        freedom = used - 2
        fitted = "were used to fit a logistic model with intercept"
    else:
        freedom = used
        fitted = "were not used to fit the model"
    small = int((~enough).sum())
    several = (
        f"{small} of {used} groups have few" if small else "Every group that counts has several"
    )
    assumptions = (
        f"Rows are independent and {fitted}: {_degrees(freedom)}. "
        f"{several} expected events and non-events. {groups}{caveat(accurate=accurate)}"
    )
    pvalue = float(chdtrc(freedom, value)) if freedom else float(value == 0)
    return Outcome(float(value), pvalue, assumptions)
