"""Counts in a bin between order statistics of other rows, and Hoeffding's bound averaged over them.

A bin that spans `k` of the `m + 1` gaps between `m` scores without ties has a mass that is Beta(k, m + 1 − k),
whatever the distribution of the scores; of `n_mean` further rows it then holds a beta-binomial number.
"""

import math

import numpy as np
from scipy.special import betaln, gammaln

from trueness.typing import Floats

__all__ = ["hoeffding_failure", "log_pmf"]

_SPREADS = 12.0  # standard deviations beyond which counts are lumped together


def log_pmf(count: Floats, n: int, a: float, b: float) -> Floats:
    """Logarithm of the probability of so many of n rows, for a mass that is Beta(a, b)."""
    choose = gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1)
    if b == 0:  # the bin is everything
        return np.where(count == n, 0.0, -np.inf)
    return np.asarray(choose + betaln(count + a, n - count + b) - betaln(a, b))


def hoeffding_failure(e: float, n_mean: int, a: int, b: int) -> float:
    r"""Mean of min(1, 2 exp(−2Ne²)) over the beta-binomial number N of rows in a bin.

    Parameters
    ----------
    e : float
        The deviation that is allowed.
    n_mean : int
        Rows that may fall into the bin.
    a, b : int
        The mass of the bin is Beta(a, b); b = 0 means a mass of one.

    Returns
    -------
    float
        A bound on the probability that the mean of the labels in the bin misses their rate by more than `e`.

    Examples
    --------
    With the whole mass it is Hoeffding's bound of all rows.

    >>> round(hoeffding_failure(0.1, 200, 5, 0), 6), round(2 * math.exp(-2 * 200 * 0.1**2), 6)
    (0.036631, 0.036631)
    """
    mean = n_mean * a / (a + b)
    spread = math.sqrt(mean * (1 - a / (a + b)) * (a + b + n_mean) / (a + b + 1))
    count = np.arange(min(n_mean, math.ceil(mean + _SPREADS * spread)) + 1, dtype=np.float64)
    mass = np.exp(log_pmf(count, n_mean, a, b))
    failure = np.minimum(1.0, 2 * np.exp(-2 * count * e * e))
    return float(mass @ failure + max(0.0, 1 - mass.sum()) * failure[-1])
