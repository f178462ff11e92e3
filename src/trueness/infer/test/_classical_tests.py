"""Classical tests of calibration.

Spiegelhalter's of the Brier score, Cox's of the line, Hosmer and Lemeshow's of groups.
"""

import math

import numpy as np
from scipy.special import chdtrc, ndtr

from trueness._tally.binned_scores import bin_starts
from trueness._tally.cells import Cells, pool_cells, segment_sums
from trueness._tally.rules import BinRule, EqualMass
from trueness.errors import InputError
from trueness.infer.null._redrawn_labels import (
    caveat,
    is_nearly_normal,
    monte_carlo_outcome,
    of_events,
    with_draws,
)
from trueness.infer.test._method import (
    Options,
    Outcome,
    observed_events,
    require_counts,
    standardised,
)
from trueness.typing import Floats

# Log-odds whose variance is a smaller share of their mean square are equal.
_EQUAL = 1e-12
# Sums of the same weights in another order may differ by this share.
_ROUNDED = 1e-9


def _weighted_sums(values: Floats, weights: Floats) -> Floats:
    """Weighted sum of each row, added in the same order for any number of rows."""
    return np.asarray(np.einsum("ij,j->i", values, weights))


def spiegelhalter(cells: Cells, options: Options) -> Outcome:
    """Spiegelhalter's test: the z of Σ (y − p)(1 − 2p), two-sided.

    y is the label and p the score of a row. The sum is the difference between the sum of the
    squared errors (y − p)² and its expectation if the scores are right, so the test detects only
    departures that change the Brier score. z is the sum divided by its standard deviation if the
    scores are right, and keeps its sign in the outcome.

    Labels are redrawn from the scores if `options` asks for draws, and by default if z is not
    nearly normal and labels can be drawn; otherwise the p-value is that of the normal distribution.
    If all scores are 0, 1/2 or 1, the sum cannot vary: z is 0, or infinite if it differs from 0.
    """
    slope = 1 - 2 * cells.score
    expected = cells.weight * cells.score
    variances = cells.square_sums[0] * slope**2 * cells.score * (1 - cells.score)
    # 0 if every score is 0, 1/2 or 1.
    deviation = math.sqrt(float(variances.sum()))
    z = standardised(float((cells.events - expected) @ slope), deviation)

    def absolute_z(events: Floats) -> Floats:
        """|z| of sets of events, of shape (draws, cells)."""
        sums = np.abs(_weighted_sums(events - expected, slope))
        if deviation > 0:
            return sums / deviation
        return np.where(sums == 0, 0.0, np.inf)

    rows = "Rows are independent; two-sided"
    detail = "Detects only departures that change the Brier score."
    pooled = pool_cells(cells)
    accurate = is_nearly_normal(pooled, 1 - 2 * pooled.score)
    options = with_draws(cells, options, accurate=accurate)
    if options.resamples:
        drawn = of_events(absolute_z)
        outcome = monte_carlo_outcome(drawn, cells, options, rows=rows, detail=detail)
        return outcome._replace(statistic=z)
    limit = "z is approximately normal: this needs many rows, none of which dominates the variance"
    assumptions = f"{rows}; {limit}. {detail}{caveat(accurate=accurate)}"
    return Outcome(z, float(2 * ndtr(-abs(z))), assumptions)


def cox(cells: Cells, options: Options) -> Outcome:
    """Cox's test: the score test of slope 1 and intercept 0 of the line on the log-odds.

    Labels are redrawn if draws are requested, or if the score is not nearly normal; otherwise the
    p-value is that of the chi-squared distribution.
    """
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
    """A number of degrees of freedom, in words."""
    if freedom == 1:
        return "1 degree of freedom"
    return f"{freedom} degrees of freedom"


class _Score:
    """The statistic of Cox's test, S' V⁻¹ S for S = Σ (y − p)(1, x) with V the variance of S.

    x is the log-odds of the score p. It is the sum of squares of two uncorrelated parts.

    Scores of 0 and 1, whose log-odds are infinite, enter by their limits: nothing if the label
    agrees, an infinite score if it does not.
    """

    def __init__(self, cells: Cells) -> None:
        """Prepare the statistic for labels of these cells, the sums of rows per distinct score.

        Scores of 0 and 1 are set apart, with the only number of events that they allow. Over all
        others S = Σ (y − p)(1, x), where x is the log-odds of p. It is turned into two uncorrelated
        parts: Σ (y − p), of variance `information`, and Σ (y − p)(x − centre), of variance
        `second`. `freedom` is the number of parts that labels can change: 2, or 1 if all these
        scores are equal, or 0 if there are none.
        """
        p = cells.score
        # Scores of 0 and 1, their rows, and the only number of events that they allow.
        self.certain = (p == 0) | (p == 1)
        self.certain_weight = cells.weight[self.certain]
        self.certain_events = np.where(p == 1, cells.weight, 0)[self.certain]
        # Over all other scores, the parts are Σ(y − p), of variance `information`, and
        # Σ(y − p)(x − centre), of variance `second`: the centre makes them uncorrelated.
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
        scores_differ = self.second > _EQUAL * self.information * (1 + centre**2)
        self.freedom = int(self.information > 0) + int(scores_differ)
        """The number of parts that labels can change: 0, 1 or 2."""

    def is_nearly_normal(self, cells: Cells) -> bool:
        """Whether the parts of the statistic are close to normal; `cells` are those it is of."""
        away = np.zeros(cells.size)
        away[self.inside] = self.away
        parts = [np.ones(cells.size), away]
        return is_nearly_normal(cells, *parts[: self.freedom])

    def __call__(self, events: Floats) -> Floats:
        """The statistic of sets of events of shape (sets, cells), one number for each set.

        It is the sum of the squares of the two parts, each divided by its variance; a part that
        labels cannot change is left out. It is infinite where a label contradicts a score of 0 or
        1.
        """
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
    """Hosmer and Lemeshow's test: Σ (observed − expected)²/(n p̄(1 − p̄)) over groups of scores.

    Each group has n rows with the mean score p̄. The groups are bins of `options.rule`, by default
    ten of equal mass. The outcome has this sum as statistic, its p-value and the assumptions in
    words.

    `options.fitted` says that the rows were used to fit the model. That costs two of the degrees of
    freedom, which are otherwise the number of groups. It requires weights that count rows and at
    least three groups with a variance; otherwise InputError.

    For other rows labels are redrawn from the scores if `options` asks for draws, and by default if
    the chi-squared distribution is doubtful and labels can be drawn. It is doubtful if weights do
    not count rows, or n p̄(1 − p̄) is below 5 in some group. In all other cases the p-value is that
    of the chi-squared distribution. A label that contradicts a group with scores of only 0 or only
    1 makes the statistic infinite.
    """
    rule = options.rule or EqualMass(10)
    groups = _Groups(cells, rule)
    (value,) = groups.statistic(observed_events(cells))
    # An infinite value is impossible. Few rows with large weights dominate a group, whatever its
    # variance.
    accurate = bool((cells.whole and not groups.small) or np.isinf(value))
    if not options.fitted:
        options = with_draws(cells, options, accurate=accurate)
    elif require_counts(cells, "`fitted=True`") and groups.used < 3:
        demand = "leaves g − 2 degrees of freedom and needs g ≥ 3 groups"
        remedy = "Use more `bins`, or rows not used to fit."
        raise InputError("fitted", demand, f"there are {groups.used}", remedy=remedy)
    words = _groups_in_words(groups, rule)
    if options.resamples:
        rows = "Rows are independent and were not used to fit the model"
        drawn = of_events(groups.statistic)
        return monte_carlo_outcome(drawn, cells, options, rows=rows, detail=words)
    freedom = groups.used
    fitted = "were not used to fit the model"
    if options.fitted:
        freedom -= 2
        fitted = "were used to fit a logistic model with intercept"
    several = "Every group that counts has several"
    if groups.small:
        several = f"{groups.small} of {groups.used} groups have few"
    assumptions = (
        f"Rows are independent and {fitted}: {_degrees(freedom)}. "
        f"{several} expected events and non-events. {words}{caveat(accurate=accurate)}"
    )
    pvalue = float(chdtrc(freedom, value)) if freedom else float(value == 0)
    return Outcome(float(value), pvalue, assumptions)


class _Groups:
    """The groups of Hosmer and Lemeshow's test, and its statistic."""

    def __init__(self, cells: Cells, rule: BinRule) -> None:
        """Group the cells, which hold the sums per distinct score, by a bin rule.

        For each group that is not empty: its first cell, Σw, the expected events Σwp, and the
        variance of the events, Σw² · m (1 − m) with the mean score m of the group. `varies` says
        whether this variance is above 0, and `used` is the number of such groups. `small` is how
        many of these have an effective number of rows (Σw)² / Σw² that, times m (1 − m), is below
        5.

        The other groups have scores of only 0 or only 1. They are not used: they add nothing to the
        statistic if their labels agree with the scores, and make it infinite if not.
        """
        self.first = bin_starts(cells, rule)
        self.weight = segment_sums(cells.weight.astype(np.float64), self.first)
        squares = segment_sums(cells.square_sums[0].astype(np.float64), self.first)
        self.expected = segment_sums(cells.weight * cells.score, self.first)
        mean = np.clip(self.expected / self.weight, 0, 1)
        self.variance = squares * mean * (1 - mean)
        self.varies = self.variance > 0
        self.used = int(self.varies.sum())
        """The number of groups that count."""
        # In units of the mean weight, so that fractional weights count too.
        enough = self.variance * self.weight**2 >= _LEAST_VARIANCE * squares**2
        self.small = int((self.varies & ~enough).sum())
        """The number of these with few expected events or non-events."""

    def statistic(self, events: Floats) -> Floats:
        """Σ (observed − expected)² / variance over the groups, for each set of events.

        `events` are of shape (sets, cells): the weight of the events at each distinct score. The
        result is of shape (sets,). It is infinite where a label contradicts a group with scores of
        only 0 or only 1.
        """
        excess = np.add.reduceat(events, self.first, axis=1) - self.expected
        certain = ~self.varies
        wrong = np.abs(excess[:, certain]) > _ROUNDED * self.weight[certain]
        with np.errstate(over="ignore"):  # an event of score 1e-320 is practically impossible
            squares = excess[:, self.varies] ** 2 / self.variance[self.varies]
        return np.where(wrong.any(axis=1), np.inf, squares.sum(axis=1))


def _groups_in_words(groups: _Groups, rule: BinRule) -> str:
    """The number of groups, and how many of them do not count."""
    words = f"Groups: {rule!r}, {groups.first.size} of them."
    certain = groups.first.size - groups.used
    if not certain:
        return words
    return (
        f"{words} {certain} with scores of only 0 or only 1 "
        "leave nothing to chance and do not count."
    )
