"""A rate from few human labels and a judge's labels of many rows.

It is as cautious as its few events demand.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from trueness._numerics.proportions import clopper_pearson
from trueness.typing import Floats

HALF_TRUST = 3.0
"""With as many expected events the judge has half its weight: with fewer, a regression on the very
events that it explains promises too much. Chosen by simulation among three rules, then confirmed on
other laws."""
_LEAST_SHARE = 1e-3
"""The share of the variance that a judge leaves at least, where a rate is tested."""


class JudgedRate(NamedTuple):
    """A rate, and the number of rows that it is worth."""

    value: float
    rows: float
    """Rows that would determine the rate as well without a judge."""

    def limits(self, level: float) -> tuple[float, float]:
        """Clopper-Pearson limits of as many rows."""
        low, high = clopper_pearson(self.value * self.rows, self.rows, level)
        return float(low), float(high)

    def below(self, rate: float) -> float:
        """P-value of "the rate is `rate` or more": P(Bin(rows, rate) ≤ events)."""
        events = self.value * self.rows
        # The beta distribution has no parameter 0, as of rows that are all events.
        return float(betainc(max(self.rows - events, 1e-9), events + 1, 1 - rate))


def judged_rate(y: Floats, judge: Floats, judge_mean: float, n_all: int) -> JudgedRate:
    r"""The rate of events from human labels `y` and the labels of a judge.

    `judge` holds the judge's labels of the same n rows, `judge_mean` their mean over all `n_all`
    rows with and without a human label. The rate is the prediction-powered mean :math:`\bar Y +
    \lambda (\bar J_N - \bar J_n)`, between 0 and 1. λ is the least-squares slope of the labels on
    the judge, for each row without it, times :math:`w = E / (E + 3)` with E the number of the rarer
    label.

    The result also has the number of rows that the rate is worth: those that would determine it as
    well without a judge. The reduction of the variance by the judge counts with the weight w, too.
    A rate of 0 or 1 has the variance of half an event, or half a non-event, in n rows.
    """
    n = y.size
    rarer = min(float(y.sum()), float(n - y.sum()))
    trust = rarer / (rarer + HALF_TRUST)
    centred = judge - judge_mean
    slopes = trust * _slopes_without_each(centred, y)
    value = float((y - slopes * centred).mean())
    value = min(max(value, 0.0), 1.0)
    # A rate of 0 or 1 would have no variance: half an event or non-event is seen.
    inner = min(max(value, 1 / (2 * n)), 1 - 1 / (2 * n))
    variance = inner * (1 - inner)
    unlabelled = 1 - n / n_all
    slope = float(slopes.mean())
    explained = 2 * slope * _covariance(centred, y) - slope**2 * _covariance(centred, centred)
    gain = min(max(trust * explained * unlabelled, 0.0), variance * unlabelled)
    return JudgedRate(value, n * variance / (variance - gain))


def judged_rate_at(
    y: Floats, judge: Floats, judge_mean: float, n_all: int, rate: float
) -> JudgedRate:
    r"""The rate of events from human and judge's labels, for a test whether it is `rate`.

    `y` are the human labels and `judge` the judge's labels of the same n rows; `judge_mean` is the
    mean of the judge's labels over all `n_all` rows, with and without a human label. The rate is
    :math:`\bar Y + \lambda (\bar J_N - \bar J_n)`. λ is the least-squares slope of the human labels
    on the judge's, times E / (E + 3), with E the events among the human labels, or those that
    `rate` expects if these are fewer.

    The result also has the number of rows that the rate is worth: n times r(1 − r) over the same
    less what the judge explains, with r the `rate` of the hypothesis. The judge leaves at least a
    thousandth of the variance.
    """
    n = y.size
    expected = min(n * rate, float(y.sum()))
    trust = expected / (expected + HALF_TRUST)
    judge_variance = _covariance(judge, judge)
    covariance = _covariance(judge, y)
    slope = trust * covariance / judge_variance if judge_variance > 0 else 0.0
    value = float(y.mean()) + slope * (judge_mean - float(judge.mean()))
    variance = rate * (1 - rate)
    explained = 2 * slope * covariance - slope**2 * judge_variance
    gain = min(max(trust * explained * (1 - n / n_all), 0.0), (1 - _LEAST_SHARE) * variance)
    return JudgedRate(min(max(value, 0.0), 1.0), n * variance / (variance - gain))


def _covariance(a: Floats, b: Floats) -> float:
    """The covariance, divided by the number of rows."""
    return float(((a - a.mean()) * (b - b.mean())).mean())


def _slopes_without_each(x: Floats, y: Floats) -> Floats:
    """The least-squares slope of y on x over all rows but one, for each row that is left out.

    It has an intercept. It is computed from the sums of all rows, of which the row's own part is
    subtracted. It is 0 if x does not vary over the other rows, and for fewer than three rows.
    """
    n = x.size
    if n < 3:
        return np.zeros(n)
    a = x - x.mean()
    b = y - y.mean()
    # Without a row the mean moves, too: its square counts n/(n − 1) times.
    factor = n / (n - 1)
    squares = (a * a).sum() - factor * a * a
    products = (a * b).sum() - factor * a * b
    varied = squares > 1e-12 * n  # less is rounding
    return np.where(varied, products / np.where(varied, squares, 1.0), 0.0)
