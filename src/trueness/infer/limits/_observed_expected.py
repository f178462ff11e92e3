"""Confidence limits for observed divided by expected events."""

import math
from typing import NamedTuple

import numpy as np

from trueness._level import Level
from trueness._numerics.proportions import clopper_pearson
from trueness._numerics.students_t import t_over_normal
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, pool_cells
from trueness._tally.clusters import ClusteredRows
from trueness.infer.limits._limits import Limits
from trueness.typing import Floats, Ints, Numbers

# Rows are cut into strata of the scores that expect at least five events and non-events each, but
# into no more than this.
_MOST_STRATA = 10
_EXPECTED = 5
# More distinct scores than this are pooled.
_MANY_SCORES = 2**15


def ratio_limits(
    sums: Cells | Bins, level: float, cluster_rows: ClusteredRows | None = None
) -> Limits:
    r"""The event probability of the rows divided by their mean score.

    Clopper-Pearson limits of the event rate with an effective number of rows (Korn and Graubard
    1998), divided by the mean score. The effective number is :math:`r(1 - r)/\hat v`, where
    :math:`r` is the rate and :math:`\hat v` its variance within up to ten strata of the scores:
    scores that separate the labels leave less to chance than one rate for all rows would. A
    pseudo-row per stratum keeps :math:`\hat v` away from 0, and for unweighted rows :math:`\hat v`
    is never above the binomial variance. For clusters, :math:`\hat v` is the variance of cluster
    sums and the effective number is reduced for Student's t. If all labels are equal, the effective
    number is that of the rows (weights: of rows of equal weight; clusters: of clusters of equal
    size).

    E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data, Survey Methodology 24 (1998), 193-201.
    """
    return EffectiveEvents.of(sums, cluster_rows).limits(Level(level).tail)


class EffectiveEvents(NamedTuple):
    """Everything about the limits of O/E but their level.

    It is the rate of events, with the number of rows it is worth, and the mean score.
    """

    value: float
    """O/E."""
    rate: float
    """The event rate."""
    mean_score: float
    rows: float
    """Independent rows of equal weight whose rate would have the same variance."""
    freedom: float
    """Degrees of freedom of the variance; infinite if it is known."""

    @classmethod
    def of(cls, sums: Cells | Bins, cluster_rows: ClusteredRows | None = None) -> "EffectiveEvents":
        """From the sums of the rows, and the rows in clusters if there are any.

        The variance of the event rate is taken within up to ten strata of neighbouring scores. It
        decides how many independent rows of equal weight the rows are worth. If no event is
        expected, because all scores are 0, O/E is infinite, or nan without an event, and no row
        counts.
        """
        if isinstance(sums, Cells) and sums.size > _MANY_SCORES and cluster_rows is None:
            sums = pool_cells(sums)  # ten strata need no more
        if isinstance(sums, Bins) and cluster_rows is not None:
            # Buckets of clusters, each at the mean scores of its own rows.
            sums = cluster_rows.cells
        strata = _Strata(sums)
        events = float(strata.events.sum())
        rate = min(events / strata.total, 1.0)
        if strata.expected == 0:
            return cls(
                value=math.inf if events > 0 else math.nan,
                rate=rate,
                mean_score=0.0,
                rows=0.0,
                freedom=math.inf,
            )
        size, freedom = _effective_rows(strata, rate, cluster_rows)
        return cls(
            value=events / strata.expected,
            rate=rate,
            mean_score=strata.expected / strata.total,
            rows=size,
            freedom=freedom,
        )

    def limits(self, tail: float) -> Limits:
        """The limits of observed/expected events, each of which is wrong with probability `tail`.

        They are Clopper-Pearson limits of the event rate for the effective number of rows, divided
        by the mean score. The number of rows is first divided by the square of Student's t over the
        normal quantile. The standard error is nan if the rate is 0 or 1.

        With a mean score of 0 both limits are the value. Without degrees of freedom the rate may be
        anything from 0 to 1.
        """
        method = "Clopper-Pearson, effective number of rows"
        if self.mean_score == 0:
            return Limits(self.value, self.value, method, value=self.value)
        error = math.nan
        if 0 < self.rate < 1:
            error = math.sqrt(self.rate * (1 - self.rate) / self.rows) / self.mean_score
        low = 0.0
        high = 1.0
        if self.freedom > 0:
            size = self.rows / t_over_normal(tail, self.freedom) ** 2
            low, high = map(float, clopper_pearson(self.rate * size, size, 1 - 2 * tail))
        return Limits(
            low=low / self.mean_score,
            high=high / self.mean_score,
            method=method,
            standard_error=error,
            value=self.value,
        )


class _Strata:
    """Sums of the rows in strata of neighbouring scores, of about equal weight.

    A whole weight counts as that number of rows.
    """

    def __init__(self, sums: Cells | Bins) -> None:
        """From the sums of the rows; bins are taken at their mean scores.

        Strata are runs of neighbouring scores of about equal weight. There are as many as can
        expect five events and five non-events each, at most ten and at least one. Each has its
        weight, events, number of rows, and the sums of squared weights of all rows and of events.
        """
        cells = sums.at_means()
        weight = cells.weight.astype(np.float64)
        squares, event_squares = cells.square_sums
        self.score = cells.score
        self.whole = cells.whole
        self.expected = float((weight * self.score).sum())
        """Expected events."""
        total = float(weight.sum())
        # A frequency counts its rows, another weight the rows of equal weight that it is worth.
        rows = total / float(squares.sum())
        rarer = min(self.expected, total - self.expected) * rows
        # Without 1e-9, five expected events could be rounded to fewer.
        size = max(1, min(int(rarer / _EXPECTED + 1e-9), _MOST_STRATA))
        middle = np.cumsum(weight) - weight / 2
        self.number: Ints = np.minimum((middle / total * size).astype(np.int64), size - 1)
        """The stratum of each score."""

        def by_stratum(values: Numbers) -> Floats:
            return np.asarray(np.bincount(self.number, values, size), np.float64)

        self.weight = by_stratum(weight)
        # Summed as the events are: if all labels are events, both are the same to the last bit.
        self.total = float(self.weight.sum())
        self.events = by_stratum(cells.events)
        self.count = by_stratum(weight if self.whole else cells.count)
        self.squares = by_stratum(squares)
        """Sums of squared weights."""
        self.event_squares = by_stratum(event_squares)

    @property
    def rate(self) -> Floats:
        """The event rate of each stratum."""
        empty = np.zeros_like(self.events)
        return np.asarray(np.divide(self.events, self.weight, out=empty, where=self.weight > 0))


def _effective_rows(
    strata: _Strata, rate: float, clustered: ClusteredRows | None
) -> tuple[float, float]:
    """The number of independent, equally weighted rows with the same variance of the event rate.

    `rate` is the event rate r of all rows. The number is r(1 − r) / v, where v is the variance of
    the rate within the strata, plus that of a pseudo-row in each stratum, which keeps it above 0.
    For rows in clusters (`clustered`) v is that of cluster sums. For rows whose weights count rows
    the number is at least that of the rows.

    The degrees of freedom of v come second: the effective number of rows or clusters less 1, and
    infinite for weights that count rows. If all labels are equal, the number is that of the
    clusters, or of the rows of equal weight that the rows are worth, (Σw)²/Σw², and the degrees of
    freedom are infinite.
    """
    one_class = rate in (0, 1)
    filled = strata.count > 0
    pseudo = rate * (1 - rate) * float((strata.squares[filled] / strata.count[filled]).sum())
    if clustered is not None:
        clusters = clustered.units.effective(clustered.weight)
        if one_class:
            return clusters, math.inf
        place = np.clip(np.searchsorted(strata.score, clustered.p), 0, strata.score.size - 1)
        residual = clustered.w * (clustered.y - strata.rate[strata.number[place]])
        variance = clustered.units.variance_of_sum(residual) + pseudo
        return strata.total**2 * rate * (1 - rate) / variance, clusters - 1
    equal = strata.total**2 / float(strata.squares.sum())
    if one_class:
        return equal, math.inf
    r = strata.rate
    residual = strata.event_squares * (1 - r) ** 2 + (strata.squares - strata.event_squares) * r**2
    inflation = strata.count / np.maximum(strata.count - 1, 1)
    variance = float((residual * inflation).sum()) + pseudo
    effective = strata.total**2 * rate * (1 - rate) / variance
    if strata.whole:
        return max(effective, equal), math.inf
    return effective, max(equal - 1, 1.0)
