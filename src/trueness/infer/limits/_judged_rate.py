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
        return float(betainc(max(self.rows - events, 1e-9), events + 1, 1 - rate))


def judged_rate(y: Floats, judge: Floats, judge_mean: float, n_all: int) -> JudgedRate:
    r"""The rate of events from human labels `y` and the labels of a judge.

    `judge` holds the judge's labels of the same rows, `judge_mean` their mean over all rows. The
    prediction-powered mean :math:`\bar Y + \lambda (\bar J_N - \bar J_n)`, where λ is the slope of
    the labels on the judge, for each row without it, times :math:`w = E / (E + 3)` with E the rarer
    label's number. What it gains in variance counts with the weight w, too.
    """
    n = y.size
    rarer = min(float(y.sum()), float(n - y.sum()))
    trust = rarer / (rarer + HALF_TRUST)
    f = judge - judge_mean
    slope = trust * _slopes_without_each(f, y)
    value = float((y - slope * f).mean())
    value = min(max(value, 0.0), 1.0)
    near = min(max(value, 1 / (2 * n)), 1 - 1 / (2 * n))
    variance = near * (1 - near)
    unlabelled = 1 - n / n_all
    average = float(slope.mean())
    shared = 2 * average * _covariance(f, y) - average**2 * _covariance(f, f)
    gain = min(max(trust * shared * unlabelled, 0.0), variance * unlabelled)
    return JudgedRate(value, n * variance / (variance - gain))


def judged_rate_at(
    y: Floats, judge: Floats, judge_mean: float, n_all: int, rate: float
) -> JudgedRate:
    """The rate for a test whether it is `rate`: its variance is that of the hypothesis."""
    n = y.size
    events = float(y.sum())
    expected = min(n * rate, events)
    trust = expected / (expected + HALF_TRUST)
    spread = _covariance(judge, judge)
    slope = trust * _covariance(judge, y) / spread if spread > 0 else 0.0
    value = float(y.mean()) + slope * (judge_mean - float(judge.mean()))
    variance = rate * (1 - rate)
    shared = 2 * slope * _covariance(judge, y) - slope**2 * spread
    gain = min(max(trust * shared * (1 - n / n_all), 0.0), (1 - _LEAST_SHARE) * variance)
    return JudgedRate(min(max(value, 0.0), 1.0), n * variance / (variance - gain))


def _covariance(a: Floats, b: Floats) -> float:
    """The covariance, divided by the number of rows."""
    return float(((a - a.mean()) * (b - b.mean())).mean())


def _slopes_without_each(x: Floats, y: Floats) -> Floats:
    """The least-squares slope of all rows but one, for each row; 0 if the others do not vary."""
    n = x.size
    if n < 3:
        return np.zeros(n)
    a = x - x.mean()
    b = y - y.mean()
    factor = n / (n - 1)
    squares = (a * a).sum() - factor * a * a
    products = (a * b).sum() - factor * a * b
    varied = squares > 1e-12 * n
    return np.where(varied, products / np.where(varied, squares, 1.0), 0.0)
