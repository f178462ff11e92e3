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

import numpy as np

from trueness._numerics.streams import stream
from trueness._tally.cells import Cells
from trueness._tally.rules import MassAndWidth
from trueness.infer.null._redrawn_labels import monte_carlo_pvalue
from trueness.typing import Floats, Ints

# With more days, only single days and lasting changes are tried.
_MANY_DAYS = 200
_STRATA = 10
_EVENTS = 10
_BATCH = 2_000_000
# Runs whose residuals have a smaller share of the total variance than this say nothing.
_LEAST = 1e-9
_TINY = 1e-300


def change_point(days: Sequence[Cells], draws: int, seed: int) -> tuple[float, int, int]:
    """The p-value of "no run of days differs", and the run that differs most.

    The run is given by its first day and the day after its last. There must be at least two days,
    each with rows.
    """
    strata = _Strata(days)
    scan = _Scan(strata)
    largest, start, stop = (part[0] for part in scan(strata.observed[np.newaxis]))
    rng = stream(seed, "labels")
    batch_size = max(1, _BATCH // strata.count.size)
    drawn = []
    for first in range(0, draws, batch_size):
        labels = strata.draw(min(batch_size, draws - first), rng)
        drawn.append(scan(labels)[0])
    pvalue = monte_carlo_pvalue(largest, np.concatenate(drawn))
    return float(pvalue), int(start), int(stop)


class _Strata:
    """Sums of each day in each stratum of the pooled scores, in arrays of shape (days, strata)."""

    def __init__(self, days: Sequence[Cells]) -> None:
        self.whole = all(cells.whole for cells in days)
        edges = _edges(days)
        n = edges.size - 1
        sums = []
        for cells in days:
            stratum = np.clip(np.searchsorted(edges, cells.score, side="right") - 1, 0, n - 1)
            columns = (cells.weight, cells.events, cells.square_sums[0], cells.weight * cells.score)
            sums.append([np.bincount(stratum, column.astype(np.float64), n) for column in columns])
        self.count, events, self.squares, self.expected = np.moveaxis(np.array(sums), 1, 0)
        self.observed = events - self.expected
        expected = self.expected.sum(axis=0)
        self.total = self.count.sum(axis=0)
        centre = expected / self.total
        score = np.divide(
            self.expected, self.count, out=np.tile(centre, (len(days), 1)), where=self.count > 0
        )
        # The gap r of a day and stratum, interpolated at its mean score, is hat @ r.
        gap_columns = [np.interp(score, centre, unit) for unit in np.eye(n)]
        self.hat = np.stack(gap_columns, axis=-1)
        self.rate = np.clip(score + self.hat @ self.gap(self.observed), 0, 1)
        self.variance = self.squares * self.rate * (1 - self.rate)
        # Half an event on either side keeps the log-odds of a stratum of scores 0 or 1 finite.
        x = np.log((expected + 0.5) / (self.total - expected + 0.5))
        v = self.variance.sum(axis=0)
        self.x = x - float(v @ x) / max(float(v.sum()), _TINY)

    def gap(self, excess: Floats) -> Floats:
        """The pooled gap of each stratum."""
        return np.asarray(excess.sum(axis=-2) / self.total)

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Excess events if nothing changed, of shape (draws, days, strata)."""
        shape = (draws, *self.rate.shape)
        if self.whole:
            return np.asarray(
                rng.binomial(self.count.astype(np.int64), self.rate, shape) - self.expected
            )
        noise = np.sqrt(self.variance) * rng.standard_normal(shape)
        return np.asarray(self.count * self.rate - self.expected + noise)


def _edges(days: Sequence[Cells]) -> Floats:
    """Edges of the strata: about ten of equal mass and ten of equal width.

    There are fewer if few events or few non-events are expected.
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


class _Scan:
    """The largest statistic over all runs of days, for many sets of labels at once."""

    def __init__(self, strata: _Strata) -> None:
        self.strata = strata
        x = strata.x
        self.level_gap = np.einsum("dk,dkj->jd", strata.count, strata.hat)
        self.slope_gap = np.einsum("dk,dkj->jd", strata.count * x, strata.hat)
        self.variance = strata.variance.sum(axis=0)
        self.least = _LEAST * np.array([self.variance.sum(), self.variance @ x**2])
        self.reached = np.vstack([np.zeros(x.size), np.cumsum(strata.count, axis=0)]) / strata.total
        weights = np.stack([self.variance, self.variance * x**2])
        total_weights = np.maximum(weights.sum(axis=1, keepdims=True), _TINY)
        self.shares = weights @ self.reached.T / total_weights

    def __call__(self, excess: Floats) -> tuple[Floats, Ints, Ints]:
        """The largest statistic of each set of labels, the first day of its run, the day after."""
        gap = self.strata.gap(excess)
        draws, days, _ = excess.shape
        level = _tied_down(excess.sum(axis=-1) - gap @ self.level_gap, self.shares[0])
        slope = _tied_down(excess @ self.strata.x - gap @ self.slope_gap, self.shares[1])
        best = np.full(draws, -np.inf)
        start = np.zeros(draws, dtype=np.int64)
        stop = np.zeros(draws, dtype=np.int64)
        for i in range(1, days):
            ends = np.arange(i + 1, days + 1) if days <= _MANY_DAYS else np.unique([i + 1, days])
            run_level = level[:, ends] - level[:, i, None]
            run_slope = slope[:, ends] - slope[:, i, None]
            value = self._statistic(i, ends, run_level, run_slope)
            value -= np.where(ends < days, 2 * np.log(days), 0.0)
            best_end = value.argmax(axis=1)
            largest = value[np.arange(draws), best_end]
            better = largest > best
            best[better] = largest[better]
            start[better] = i
            stop[better] = ends[best_end[better]]
        return best, start, stop

    def _statistic(self, i: int, ends: Ints, level: Floats, slope: Floats) -> Floats:
        """S of the runs from day i to each end; level and slope have shape (draws, ends)."""
        share = self.reached[ends] - self.reached[i]
        free = share * (1 - share) * self.variance
        v_level = free.sum(axis=1)
        covariance = free @ self.strata.x
        v_slope = free @ self.strata.x**2
        divisor = np.maximum(v_level, _TINY)
        # The slope, free of what the level explains, and the variance of this rest.
        rest = slope - level * (covariance / divisor)
        v_rest = v_slope - covariance**2 / divisor
        has_level = v_level > self.least[0]
        has_slope = has_level & (v_rest > np.maximum(1e-6 * v_slope, self.least[1]))
        by_level = np.where(has_level, level**2 / divisor, 0.0)
        by_slope = np.where(has_slope, rest**2 / np.maximum(v_rest, _TINY), 0.0)
        return np.asarray(by_level + by_slope)


def _tied_down(values: Floats, share: Floats) -> Floats:
    """Sums over the first 0, 1, 2, … days, less their share of the sum over all days.

    Interpolation leaves such a sum, which would be 0 without it.
    """
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)
    return np.asarray(sums - sums[:, -1:] * share)
