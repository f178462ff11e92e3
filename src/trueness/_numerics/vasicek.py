"""Numbers of events whose probabilities rise and fall together: Vasicek's one-factor model."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, ndtr, ndtri

from trueness._numerics.roots import bracketed_root
from trueness.typing import Floats

# Mass of the factor, and of a tail, that is neglected.
_FAR = 9.0
_NEGLECTED = 1e-18
# Below it, 1 minus a probability is 1.
_ROUNDING = 1e-16
# The probit of every probability lies between these.
_FARTHEST = 50.0
_NODES = 96
_HALVINGS = 60


class OneFactor:
    r"""The law of events in a portfolio under one standard normal factor.

    Given the factor :math:`z`, rows of probability :math:`p_j` have events independently with
    probability

    .. math:: p_j(z) = \Phi\Big( \frac{\Phi^{-1}(p_j) + \sqrt{\rho}\, z}{\sqrt{1 - \rho}} \Big) ,

    and the number of events in n rows is taken as binomial with their mean, which has heavier tails
    than the exact law if the :math:`p_j` differ (Hoeffding 1956). At :math:`\rho = 0` it is
    binomial.

    `share` is the share of the rows that have each probability `p`, `correlation` the asset
    correlation ρ, in [0, 1).

    O. Vasicek, The distribution of loan portfolio value, Risk 15 (2002), 160-162.
    W. Hoeffding, On the distribution of the number of successes in independent trials, Annals of
    Mathematical Statistics 27 (1956), 713-721.
    """

    def __init__(self, p: Floats, share: Floats, correlation: float) -> None:
        self.p = p
        self.share = share
        self.correlation = correlation
        self.mean = min(float(p @ share), 1.0)

    def rate(self, z: Floats | float) -> Floats:
        """Mean probability of an event at values of the factor."""
        scaled = math.sqrt(self.correlation) * np.asarray(z, np.float64)[..., np.newaxis]
        conditional = ndtr((ndtri(self.p) + scaled) / math.sqrt(1 - self.correlation))
        return np.asarray(np.minimum(conditional @ self.share, 1.0))

    def quantile(self, probability: float) -> float:
        """Quantile of the event rate in an infinitely large portfolio: it rises with the factor."""
        if self.correlation > 0:
            return float(self.rate(ndtri(probability)))
        return self.mean

    def at_least(self, k: float, n: float) -> float:
        """Probability of `k` events or more in `n` rows.

        Real numbers by the incomplete beta function.
        """
        if k <= 0:
            return 1.0
        return self._average(k, n - k + 1, upper=True)

    def at_most(self, k: float, n: float) -> float:
        """Probability of `k` events or fewer."""
        if k >= n:
            return 1.0
        return self._average(k + 1, n - k, upper=False)

    def _average(self, a: float, b: float, *, upper: bool) -> float:
        """The mean over the factor of P(B ≤ rate), or of P(B > rate), for B ~ Beta(a, b)."""
        tail = betainc if upper else betaincc
        if self.correlation == 0:
            return float(tail(a, b, self.mean))
        # Between these the conditional probability changes; outside it is 0 or 1.
        low = self._factor(betaincinv(a, b, _NEGLECTED))
        high = self._factor(betainccinv(a, b, _NEGLECTED))
        x, w = _legendre()
        z = low + (high - low) * x
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        inside = (high - low) * float(w @ (density * tail(a, b, self.rate(z))))
        return min(1.0, inside + float(ndtr(-high) if upper else ndtr(low)))

    def _factor(self, rate: float) -> float:
        """The value of the factor at which events have this mean probability, as far as ±9."""
        low = -_FAR
        high = _FAR
        if self.p.size == 1 and 0 < self.p[0] < 1:
            root = math.sqrt(self.correlation)
            z = (
                math.sqrt(1 - self.correlation) * float(ndtri(rate)) - float(ndtri(self.p[0]))
            ) / root
            return min(max(z, low), high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.rate(middle) < rate else (low, middle)
        return (low + high) / 2

    def shifted(self, shift: float) -> "OneFactor":
        """The law with every probability moved by `shift` on the probit scale."""
        inside = np.clip(self.p, _NEGLECTED, 1 - _ROUNDING)
        return OneFactor(ndtr(ndtri(inside) + shift), self.share, self.correlation)

    def rate_limits(self, k: float, n: float, low: float, high: float) -> tuple[float, float]:
        """Mean probabilities at the limits of `k` events.

        There `k` events or more have the probability `low`, and `k` or fewer `high`.

        The probabilities of the rows keep their distances on the probit scale.
        """

        def mean_at(excess: Callable[[float], float]) -> float:
            return self.shifted(bracketed_root(excess, -_FARTHEST, _FARTHEST, xtol=1e-9)).mean

        lower = 0.0
        upper = 1.0
        if k > 0:
            lower = mean_at(lambda shift: self.shifted(shift).at_least(k, n) - low)
        if k < n:
            upper = mean_at(lambda shift: self.shifted(shift).at_most(k, n) - high)
        return lower, upper

    def most_events(self, n: float, probability: float, *, whole: bool = True) -> float:
        """The largest number reached with more than 1 − `probability`: more are too many."""
        return _last(lambda k: self.at_least(k, n) > 1 - probability, n, whole)

    def fewest_events(self, n: float, probability: float, *, whole: bool = True) -> float:
        """The smallest number that is not exceeded with more than 1 − `probability`.

        Fewer are too few.
        """
        return n - _last(lambda k: self.at_most(n - k, n) > 1 - probability, n, whole)


@lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(_NODES)
    return (x + 1) / 2, w / 2


def _last(holds: Callable[[float], bool], n: float, whole: bool) -> float:
    """The last k from 0 to n for which it holds.

    It holds at 0, and once it fails it fails for good.
    """
    if holds(n):
        return n
    low = 0.0
    high = n
    while high - low > (1 if whole else 1e-12 * n):
        middle = (low + high) // 2 if whole else (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
