r"""The change point of calibration in a series of samples, such as days.

The null hypothesis is that the event rate given the score is the same on all days. It need not
equal the score, so a model that is miscalibrated in the same way on all days has no change point;
and the scores may drift.

1. Cut the pooled scores into strata. The pooled gap :math:`r_k`, rate − mean score of stratum k, is
   interpolated linearly between strata: a row of score p has the pooled event probability p + r(p).
2. For each day, sum the residuals y − p − r(p), and the same with weights x, the log-odds of the
   stratum: changes of level and of slope. What interpolation leaves of the sum over all days is
   shared out by variance.
3. For each run of days i, …, j − 1 (i > 0), with A and B the sums of these over the run and V their
   covariance if nothing changes, :math:`S_{ij} = (A, B) V^{-1} (A, B)^T`. A run up to the last of
   the D days is a lasting change; any other run ends with a second change, for which 2 log D is
   subtracted.
4. The largest S is compared with those of labels drawn from the pooled event probabilities, with r
   estimated again for each draw.

Rows are independent. The level is approximate, since r is estimated;
``docs/evidence/coverage-tests.md`` has simulated levels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trueness._numerics.streams import stream
from trueness._tally.cells import Cells
from trueness._tally.rules import MassAndWidth
from trueness.infer.null._redrawn_labels import monte_carlo_pvalue
from trueness.typing import Floats, Ints

# With more days, only single days and lasting changes are tried.
_MANY_DAYS = 200
# At most ten strata of equal mass and ten of equal width, with ten events and ten non-events
# expected in each on average: docs/evidence/coverage-tests.md has the levels simulated with them.
_STRATA = 10
_EVENTS = 10
# Numbers of a batch of draws: 16 MB of floats.
_BATCH = 2_000_000
# Runs whose residuals have a smaller share of the total variance than this say nothing.
_LEAST = 1e-9
# Stands for a variance of 0, by which something is divided.
_TINY = 1e-300


class ChangePoint(NamedTuple):
    """The run of days that differs most, and the p-value of "no run of days differs"."""

    pvalue: float
    start: int
    """The first day of the run."""
    stop: int
    """The day after its last."""


def change_point(days: Sequence[Cells], draws: int, seed: int) -> ChangePoint:
    """Find the run of days whose calibration differs most, and test whether it differs at all.

    `days` are the sums by score of each day, at least two days and each with rows. The p-value is
    from `draws` sets of labels drawn as if nothing changed.
    """
    strata = _Strata(days)
    scan = _Scan(strata)
    observed = scan(strata.observed[np.newaxis])
    rng = stream(seed, "labels")
    batch_size = max(1, _BATCH // strata.weight.size)
    drawn = []
    for first in range(0, draws, batch_size):
        residuals = strata.draw(min(batch_size, draws - first), rng)
        drawn.append(scan(residuals).statistic)
    pvalue = monte_carlo_pvalue(observed.statistic[0], np.concatenate(drawn))
    return ChangePoint(float(pvalue), int(observed.start[0]), int(observed.stop[0]))


class _Strata:
    """Sums of each day in each stratum of the pooled scores, in arrays of shape (days, strata)."""

    def __init__(self, days: Sequence[Cells]) -> None:
        """Sum the rows of each day by stratum, and estimate the pooled event rates."""
        self.whole = all(cells.whole for cells in days)
        """Whether weights count rows."""
        edges = _edges(days)
        sums = [_sums_by_stratum(cells, edges) for cells in days]
        self.weight, events, self.squares, self.expected = np.moveaxis(np.array(sums), 1, 0)
        self.observed = events - self.expected
        """The residuals Σw(y − p)."""
        expected = self.expected.sum(axis=0)
        self.total = self.weight.sum(axis=0)
        """Σw of each stratum on all days."""
        centre = expected / self.total
        no_rows = np.tile(centre, (len(days), 1))
        score = np.divide(self.expected, self.weight, out=no_rows, where=self.weight > 0)
        gap_columns = [np.interp(score, centre, unit) for unit in np.eye(centre.size)]
        self.hat = np.stack(gap_columns, axis=-1)
        """Of shape (days, strata, strata): hat @ r are the pooled gaps r, one per stratum,
        interpolated at the mean score of each day and stratum."""
        self.rate = np.clip(score + self.hat @ self.gap(self.observed), 0, 1)
        """The pooled event rate at that score."""
        self.variance = self.squares * self.rate * (1 - self.rate)
        # Half an event on either side keeps the log-odds of a stratum of scores 0 or 1 finite.
        x = np.log((expected + 0.5) / (self.total - expected + 0.5))
        v = self.variance.sum(axis=0)
        self.x = x - float(v @ x) / max(float(v.sum()), _TINY)
        """The log-odds of each stratum less their mean."""

    def gap(self, residual: Floats) -> Floats:
        """The pooled gap r of each stratum: the residuals of all days over their weight.

        From shape (…, days, strata) to shape (…, strata).
        """
        return np.asarray(residual.sum(axis=-2) / self.total)

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Residuals Σw(y − p) if nothing changed, of shape (draws, days, strata).

        Events are binomial at the pooled rate or, with weights that do not count rows, normal.
        """
        shape = (draws, *self.rate.shape)
        if self.whole:
            events = rng.binomial(self.weight.astype(np.int64), self.rate, shape)
            return np.asarray(events - self.expected)
        noise = np.sqrt(self.variance) * rng.standard_normal(shape)
        return np.asarray(self.weight * self.rate - self.expected + noise)


def _sums_by_stratum(cells: Cells, edges: Floats) -> Floats:
    """Σw, Σwy, Σw² and Σwp of the rows of one day in each stratum, of shape (4, strata).

    `edges` are those of the strata, intervals of the score p; y is the label, and w the weight.
    """
    strata = edges.size - 1
    stratum = np.clip(np.searchsorted(edges, cells.score, side="right") - 1, 0, strata - 1)
    squares, _ = cells.square_sums
    terms = (cells.weight, cells.events, squares, cells.weight * cells.score)
    return np.stack([np.bincount(stratum, term.astype(np.float64), strata) for term in terms])


def _edges(days: Sequence[Cells]) -> Floats:
    """Edges of the strata, intervals of the score: about ten of equal mass and ten of equal width.

    `days` has the sums of each day; the edges are the same for all. There are fewer strata if few
    events or few non-events are expected, and at least one.
    """
    all_scores = np.concatenate([cells.score for cells in days])
    all_weights = np.concatenate([cells.weight for cells in days])
    score, inverse = np.unique(all_scores, return_inverse=True)
    weight = np.bincount(inverse, all_weights)
    if all(cells.whole for cells in days):
        weight = np.rint(weight).astype(np.int64)
    expected = float(weight @ score)
    rarer = min(expected, float(weight.sum()) - expected)
    n = max(1, min(_STRATA, int(rarer / _EVENTS)))
    return MassAndWidth(n, n).group(Cells(score, weight, weight, weight)).edges


class _Runs(NamedTuple):
    """The run of days that differs most, for each set of labels."""

    statistic: Floats
    start: Ints
    """Its first day."""
    stop: Ints
    """The day after its last."""


class _Scan:
    """The largest statistic over all runs of days, for many sets of labels at once."""

    def __init__(self, strata: _Strata) -> None:
        """Prepare the search for the run of days that differs most: all that labels do not change.

        `strata` has the sums of each day by intervals of the score. A run must have a certain share
        of the variance of all days to be tested, for its level and for its slope.
        """
        self.strata = strata
        x = strata.x
        # Times the pooled gaps r, these are the sums of w r(p) and of w r(p) x of each day.
        self.level_gap = np.einsum("dk,dkj->jd", strata.weight, strata.hat)
        self.slope_gap = np.einsum("dk,dkj->jd", strata.weight * x, strata.hat)
        self.variance = strata.variance.sum(axis=0)
        """That of the events of each stratum on all days."""
        self.least = _LEAST * np.array([self.variance.sum(), self.variance @ x**2])
        """The smallest variances of the level and of the slope of a run that says anything."""
        no_days = np.zeros(x.size)
        self.reached = np.vstack([no_days, np.cumsum(strata.weight, axis=0)]) / strata.total
        """The share of the weight of each stratum on the first 0, 1, 2, … days."""
        weights = np.stack([self.variance, self.variance * x**2])
        total_weights = np.maximum(weights.sum(axis=1, keepdims=True), _TINY)
        self.shares = weights @ self.reached.T / total_weights
        """The share of the variance of level and slope on the first 0, 1, 2, … days."""

    def __call__(self, residual: Floats) -> _Runs:
        """The run of days with the largest statistic, for each set of labels.

        `residual` is Σw(y − p) of each stratum, of shape (sets, days, strata). A run starts on the
        second day or later and lasts a day or more. With more than 200 days only runs of one day,
        and those to the last day, are tried. A run that ends before the last day has two changes,
        and its statistic is reduced by 2 log(days).
        """
        gap = self.strata.gap(residual)
        sets, days, _ = residual.shape
        level = _tied_down(residual.sum(axis=-1) - gap @ self.level_gap, self.shares[0])
        slope = _tied_down(residual @ self.strata.x - gap @ self.slope_gap, self.shares[1])
        best = _Runs(np.full(sets, -np.inf), np.zeros(sets, np.int64), np.zeros(sets, np.int64))
        for start in range(1, days):
            if days <= _MANY_DAYS:
                stops = np.arange(start + 1, days + 1)
            else:
                stops = np.unique([start + 1, days])
            run_level = level[:, stops] - level[:, start, None]
            run_slope = slope[:, stops] - slope[:, start, None]
            statistic = self._statistic(start, stops, run_level, run_slope)
            # A run that ends before the last day has a second change.
            statistic -= np.where(stops < days, 2 * np.log(days), 0.0)
            best_stop = statistic.argmax(axis=1)
            largest = statistic[np.arange(sets), best_stop]
            better = largest > best.statistic
            best.statistic[better] = largest[better]
            best.start[better] = start
            best.stop[better] = stops[best_stop[better]]
        return best

    def _statistic(self, start: int, stops: Ints, level: Floats, slope: Floats) -> Floats:
        """The statistic of the runs that start on day `start` and stop before each day in `stops`.

        `level` is the sum of residuals of each run, `slope` that of residuals times log-odds, of
        shape (sets, runs), both less what the run's share of all days would explain. The statistic
        is level²/variance plus the same of that part of the slope that the level does not explain:
        about chi-square with two degrees of freedom. A part with next to no variance counts 0.
        """
        share = self.reached[stops] - self.reached[start]
        # The variance of a run's part of a sum that is tied down: share × rest.
        free = share * (1 - share) * self.variance
        level_variance = free.sum(axis=1)
        covariance = free @ self.strata.x
        slope_variance = free @ self.strata.x**2
        divisor = np.maximum(level_variance, _TINY)
        # The slope, free of what the level explains, and the variance of this rest.
        rest = slope - level * (covariance / divisor)
        rest_variance = slope_variance - covariance**2 / divisor
        has_level = level_variance > self.least[0]
        least_rest = np.maximum(1e-6 * slope_variance, self.least[1])
        has_slope = has_level & (rest_variance > least_rest)
        by_level = np.where(has_level, level**2 / divisor, 0.0)
        by_slope = np.where(has_slope, rest**2 / np.maximum(rest_variance, _TINY), 0.0)
        return by_level + by_slope


def _tied_down(values: Floats, share: Floats) -> Floats:
    """Sums over the first 0, 1, 2, … days, less their `share` of the sum over all days.

    `values` are those of each day, of shape (sets, days); `share` is the share of the variance that
    the first 0, 1, 2, … days have. So the first and the last sum are 0, of shape (sets, days + 1).
    """
    no_days = np.zeros((len(values), 1))
    sums = np.concatenate([no_days, np.cumsum(values, axis=1)], axis=1)
    return sums - sums[:, -1:] * share
