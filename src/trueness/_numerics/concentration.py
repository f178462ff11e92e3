r"""How far the mean of N labels is from its rate: exact two-sided deviations, Hoeffding's bound.

:math:`F_N(e) = \sup_p P(|X/N - p| > e)` for X binomial (N, p), and :math:`\varepsilon(N, d) =
\min\{e : F_N(e) \le d\}`.

Which rates matter: between two rates at which a count enters or leaves :math:`\{k : |k/N - p| \le
e\}`, the probability of that set rises and then falls in p, so its infimum is a limit at one of
those rates. By symmetry the limits from the left at :math:`p = k/N - e` suffice; just left of it
count k is outside, and the set is the m counts :math:`k - m, \dots, k - 1` with :math:`m = \lfloor
2Ne \rfloor`. Hence

.. math:: F_N(e) = 1 - \min_k P(k - m \le X \le k - 1), \quad p = k/N - e .

While m stays the same this is continuous in e and falls; it jumps down where 2Ne is a whole number.

Which k can be skipped: Zubkov and Serov bound binomial tails by normal ones, and the divergence in
their argument is at least :math:`\delta^2 / (2v)` with v the largest variance x(1 - x) on the way;
so the failure at rate p is at most :math:`2 \Phi(-\sqrt{N/v}\,(e - 1/N))`. With v = 1/4 this bounds
F itself.

A. M. Zubkov and A. A. Serov, A complete proof of universal inequalities for the distribution
function of the binomial law, Theory of Probability and Its Applications 57 (2013), 539-544.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.special import betainc, betaincc, betaln, gammaln, ndtr, ndtri

from trueness.typing import Bools, Floats, Ints

_SPREADS = 12.0  # standard deviations beyond which counts are lumped together


def binomial_epsilon(n: int, d: float) -> float:
    """The smallest e with F_n(e) ≤ d, rounded up to a float; it is not monotone in `n`.

    With one label, a rate of 1/2 is missed by 1/2; a rate of 0.9 by 0.9, one time in ten.

    >>> binomial_epsilon(1, 0.1)
    0.9
    >>> [round(binomial_epsilon(n, 0.1), 4) for n in (72, 73, 75)]
    [0.0982, 0.1027, 0.1]
    """
    m = _counts_needed(n, d)
    low = _float_above(Fraction(m, 2 * n))
    if keeps(n, low, d, m):
        return low
    top = _float_below(Fraction(m + 1, 2 * n))
    # F is a maximum over k. The zero of one member is at most the zero of F, so this climbs to it.
    while True:
        k, failure = _worst(n, low, m, d)
        if failure <= d:
            return low
        low = _zero_at(n, k, m, d, low, top)


def keeps(n: int, e: float, d: float, m: int | None = None) -> bool:
    """Whether F_n(e) ≤ d: no rate is missed by more than `e` with a probability above `d`.

    F_n(e) is the largest probability, over all rates, that the mean of n labels is farther than e
    from its rate. It depends on e also through the whole number ⌊2ne⌋; `m` replaces this number
    where `e` stands for a limit from the left.
    """
    if e <= 0:
        return False
    return e >= 1 or _worst(n, e, math.floor(2 * n * Fraction(e)) if m is None else m, d)[1] <= d


def certainly_fails(n: Ints, e: Floats, d: Floats) -> Bools:
    """Whether F_n(e) > d can be shown from the counts nearest to a rate of one half alone.

    True is certain; False means only that other rates have to be checked. `n`, `e` and `d` are
    arrays, or numbers, that broadcast.
    """
    fails = np.zeros(np.broadcast(n, e, d).shape, bool)
    with np.errstate(invalid="ignore"):
        # One count too many fails less often.
        m = np.floor(2 * n * e * (1 + 1e-15) + 1e-12).astype(np.int64)
        for near in (0, 1):
            k = np.clip(np.floor(n / 2 + n * e).astype(np.int64) + near, 1, n)
            inside = (k / n - e > 0) & (k / n - e < 1)
            fails |= inside & (_failures(n, k, m, e) > d * (1 + 1e-12))
    return fails


def least_size(target: Callable[[int], float], d: float) -> int:
    """The smallest N such that F_M(target(M)) ≤ d for all M ≥ N; `target` must not fall."""
    high = 1
    while not _clears(high, target(high), d):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _clears(middle, target(middle), d) else (middle, high)
    # From `high` on the normal bound suffices; below it each size is checked, since F is not
    # monotone in N.
    while high > 1 and keeps(high - 1, target(high - 1), d):
        high -= 1
    return high


def _clears(n: int, e: float, d: float) -> bool:
    return e >= 1 or (e > 1 / n and bool(2 * ndtr(-2 * math.sqrt(n) * (e - 1 / n)) <= d))


def _counts_needed(n: int, d: float) -> int:
    """The smallest m such that F_n(e) ≤ d for e just below (m + 1) / 2n.

    Between m / 2n and (m + 1) / 2n the number of counts ⌊2ne⌋ is m, and F_n falls; so the smallest
    e with F_n(e) ≤ d lies there. The search starts at the value of the normal distribution.
    """

    def enough(m: int) -> bool:
        return keeps(n, _float_below(Fraction(m + 1, 2 * n)), d, m)

    m = max(0, round(-float(ndtri(d / 2)) * math.sqrt(n)) - 1)
    while not enough(m):
        m += 1
    while m > 0 and enough(m - 1):
        m -= 1
    return m


def _worst(n: int, e: float, m: int, d: float) -> tuple[int, float]:
    """The k of the largest failure, and that failure, among those that can exceed d."""
    first = math.ceil(n * Fraction(e))
    last = n
    z = -float(ndtri(d / 2))
    slack = max(0.0, e - 1 / n)
    # A rate can only exceed d if some variance on the way to it exceeds n slack² / z².
    reach = math.sqrt(max(0.0, 0.25 - n * (slack / z) ** 2)) + e
    first = max(first, math.floor(n * (0.5 - reach + e)) - 1)
    last = min(last, math.ceil(n * (0.5 + reach + e)) + 1)
    k = np.arange(first, last + 1)
    if k.size == 0:
        return n, 0.0
    failures = _failures(n, k, m, e)
    largest = int(np.argmax(failures))
    return int(k[largest]), float(failures[largest])


def _failures(n: int | Ints, k: Ints, m: int | Ints, e: float | Floats) -> Floats:
    """1 − P(k − m ≤ X ≤ k − 1) at the rate k/n − e."""
    p = np.clip(k / n - e, 0.0, 1.0)
    first = k - m
    below = np.where(k > m, betaincc(np.maximum(first, 1), n - k + m + 1.0, p), 0.0)
    at_least_k = betainc(np.maximum(k, 1), n - k + 1.0, p)
    return np.asarray(below + at_least_k)


def _zero_at(n: int, k: int, m: int, d: float, low: float, high: float) -> float:
    """The smallest float above `low` at which the failure at count `k` is at most `d`.

    The failure is the probability, at rate k/n − e, of counts outside the `m` below k. It exceeds
    `d` at e = `low` and is at most `d` at e = `high`. By bisection, down to neighbouring floats.
    """
    count = np.array([k])
    while low < (middle := low + (high - low) / 2) < high:
        if _failures(n, count, m, middle)[0] > d:
            low = middle
        else:
            high = middle
    return high


def _float_above(x: Fraction) -> float:
    e = float(x)
    if Fraction(e) >= x:
        return e
    return math.nextafter(e, 2)


def _float_below(x: Fraction) -> float:
    return -_float_above(-x)


def beta_binomial_log_pmf(count: Floats, n: int, a: float, b: float) -> Floats:
    """Log-probability of `count` of n rows in a bin whose mass is Beta(a, b).

    With b = 0 the mass is 1.
    """
    choose = gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1)
    if b == 0:  # the bin is everything
        return np.where(count == n, 0.0, -np.inf)
    return np.asarray(choose + betaln(count + a, n - count + b) - betaln(a, b))


def hoeffding_failure(e: float, n_mean: int, a: int, b: int) -> float:
    """Hoeffding's bound, over random bins, on the probability that a rate is off by over `e`.

    A bin that spans `a` of the a + b gaps between other scores without ties has a mass that is
    Beta(a, b), whatever the distribution of the scores. Of `n_mean` further rows it then holds a
    beta-binomial number N; the bound is the mean of min(1, 2 exp(−2Ne²)) over N. With b = 0 the bin
    is everything, and this is Hoeffding's bound for all rows:

    >>> round(hoeffding_failure(0.1, 200, 5, 0), 6), round(2 * math.exp(-2 * 200 * 0.1**2), 6)
    (0.036631, 0.036631)
    """
    gaps = a + b
    mean = n_mean * a / gaps
    spread = math.sqrt(mean * (1 - a / gaps) * (gaps + n_mean) / (gaps + 1))
    largest = min(n_mean, math.ceil(mean + _SPREADS * spread))
    count = np.arange(largest + 1, dtype=np.float64)
    mass = np.exp(beta_binomial_log_pmf(count, n_mean, a, b))
    failure = np.minimum(1.0, 2 * np.exp(-2 * count * e * e))
    # Larger counts, which are left out, fail at most as often as the largest.
    left_out = max(0.0, 1 - mass.sum())
    return float(mass @ failure + left_out * failure[-1])
