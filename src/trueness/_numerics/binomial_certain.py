"""
Two-sided binomial test of all rates at once, where the observed rate and the number of rows are known within limits.

:mod:`trueness._numerics.binomial` has the test itself, its near and its far tail.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, xlog1py

from trueness._numerics.binomial import BoolArray, FloatArray, IntArray
from trueness._numerics.binomial_range import Box, surely_decided
from trueness._numerics.proportions import wilson_low

__all__ = ["Decided", "Observed", "certain_rates"]

# What rounding may do to a p-value, with room to spare; and above the tolerance with which likelihoods are compared.
_MARGIN, _TOLERANCE = 1e-6, 1e-6
# How far Stirling's formula for a likelihood can be from it: by a factor of 2 / sqrt(pi).
_STIRLING = 0.5 * math.log(4 / math.pi)

# Up to so many rows, and in so many cases, sums of tails decide what inequalities leave open.
_FEW_ROWS, _FEW_CASES = 1000, 5000


class Observed(NamedTuple):
    """The least and the greatest that the observed rate k / n, rows n, events k and other rows n − k can be."""

    rate: tuple[FloatArray, FloatArray]
    n: tuple[FloatArray, FloatArray]
    k: tuple[FloatArray, FloatArray]
    others: tuple[FloatArray, FloatArray]

    def take(self, index: IntArray) -> Observed:
        """Some of the cases."""
        return Observed(*((low[index], high[index]) for low, high in self))

    def mirrored(self) -> Observed:
        """The same of the other label."""
        return Observed((1 - self.rate[1], 1 - self.rate[0]), self.n, self.others, self.k)


class Decided(NamedTuple):
    """Rates that are decided whatever was observed within the limits; nan where none are."""

    rejected_to: FloatArray
    accepted_from: FloatArray
    accepted_to: FloatArray
    rejected_from: FloatArray


def certain_rates(observed: Observed, alpha: float) -> Decided:
    r"""
    Rates that the test surely rejects, and rates that it surely does not reject.

    Parameters
    ----------
    observed : Observed
        What is known of each case; n is at least 1.
    alpha : float
        Level of the test, between 0 and 1.

    Returns
    -------
    Decided
        All rates up to ``rejected_to`` and from ``rejected_from`` on are rejected, all from ``accepted_from`` to
        ``accepted_to`` are not. What lies between is open.

    Notes
    -----
    Let :math:`D(x, p)` be the divergence of a rate :math:`x` from :math:`p`, and
    :math:`S(x, p) = \Phi(-\sqrt{2 n D(x, p)})`. Zubkov and Serov have
    :math:`S(k/n, p) \le P(X \ge k) \le S((k-1)/n, p)` for :math:`k/n`, and :math:`(k-1)/n`, above :math:`p`; and
    alike on the other side. So the near tail is known in terms of the observed rate and of :math:`n`; it falls in both.

    The far tail ends with the last :math:`y` below :math:`np` that is no likelier than :math:`k`. Since
    :math:`P(X = x) = a_x e^{-n D(x/n, p)}` with :math:`(8 n v_x)^{-1/2} \le a_x \le (2 \pi n v_x)^{-1/2}`,
    :math:`v_x = (x/n)(1 - x/n)`, and :math:`a_x = 1` at the ends, :math:`n D(y/n, p)` is that of :math:`k` up to half
    the logarithm of :math:`(4/\pi) v_y / v_k`, or less.

    Far out, both tails are below :math:`e^{-n D(k/n, p)}(1 + a_k / a_y)` (Chernoff), which grows with :math:`p` up to
    the observed rate: where it is below alpha, all rates that are farther off are rejected. From there inwards ranges
    :math:`a < b` of rates are decided as in :func:`trueness._numerics.binomial.rejected`, by the near tail at one end
    and a far tail that ends where one end says, of the rate at the other.

    References
    ----------
    A. M. Zubkov and A. A. Serov, A complete proof of universal inequalities for the distribution function of the
    binomial law, Theory of Probability and its Applications 57 (2013), 539-544. :doi:`10.1137/S0040585X97986138`

    Examples
    --------
    3,000 events in 10,000 rows, or a few more or less:

    >>> limits = (0.298, 0.302), (9900, 10100), (2950, 3050), (6900, 7100)
    >>> seen = Observed(*((np.array([low]), np.array([high])) for low, high in limits))
    >>> [round(float(limit[0]), 3) for limit in certain_rates(seen, 0.05)]
    [0.289, 0.293, 0.307, 0.311]
    """
    # Limits that do not exist are nan or infinite on the way, and decide nothing.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rejected_to, accepted_from = _below(observed, alpha)
        beyond, within = _below(observed.mirrored(), alpha)
    # One float outwards, and inwards: 1 - p is rounded.
    rejected_from, accepted_to = np.nextafter(1 - beyond, 2.0), np.nextafter(1 - within, -1.0)
    empty = ~(accepted_from <= accepted_to)
    accepted_from, accepted_to = (np.where(empty, np.nan, end) for end in (accepted_from, accepted_to))
    return Decided(rejected_to, accepted_from, accepted_to, rejected_from)


def _below(seen: Observed, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Below the observed rate: up to which rates are rejected, and from which on they are not."""
    (r, highest), (n, most) = seen.rate, seen.n
    limit, outer = np.full(r.shape, np.nan), np.full(r.shape, -1.0)
    for z in _rejecting_cuts(alpha):
        inner = wilson_low(np.maximum(n * r - 0.5, 0), n, z)
        sure = _chernoff(seen, inner) < alpha * (1 - _MARGIN)
        linked = np.flatnonzero((limit == outer) & ~sure)
        sure[linked] = _rejects(seen.take(linked), outer[linked], inner[linked], alpha)
        limit, outer = np.where(sure, inner, limit), inner
    start = np.where(highest <= 0, 0.0, highest)
    for z in _accepting_cuts(alpha):
        outer = wilson_low(most * highest, most, z)
        more = (highest > 0) & (outer < start) & _accepts(seen, outer, start, alpha)
        start = np.where(more, outer, start)
    return limit, start


def _rejecting_cuts(alpha: float) -> list[float]:
    """Distances in standard errors, from far to near: half as far apart as bounds of ranges reject for normal tails."""
    cuts = [-float(ndtri(0.475 * alpha))]
    while (b := cuts[-1]) < 12:
        cuts.append(b + 0.5 * (b + float(ndtri(0.99 * alpha - ndtr(-b)))))
    return [cut for cut in cuts[::-1] if cut > 0]


def _accepting_cuts(alpha: float) -> list[float]:
    """Distances in standard errors, from near to far: half as far apart as they accept."""
    cuts = [-float(ndtri(0.525 * alpha))]
    while (a := cuts[-1]) > 0 and 1.01 * alpha > ndtr(-a):
        cuts.append(a + 0.5 * (a + float(ndtri(1.01 * alpha - ndtr(-a)))))
    return [cut for cut in cuts[::-1] if cut > 0]


def _apart(x: FloatArray, p: FloatArray) -> FloatArray:
    """The divergence of a rate from another, precise where they are near."""
    return np.asarray(np.maximum(xlog1py(x, (x - p) / p) + xlog1py(1 - x, (p - x) / (1 - p)), 0))


def _variance(rate: FloatArray) -> FloatArray:
    return np.asarray(rate * (1 - rate))


def _largest_variance(low: FloatArray, high: FloatArray) -> FloatArray:
    return np.where((low < 0.5) & (high > 0.5), 0.25, np.maximum(_variance(low), _variance(high)))


def _half_log(value: FloatArray) -> FloatArray:
    return np.asarray(0.5 * np.log(value))


def _chernoff(seen: Observed, p: FloatArray) -> FloatArray:
    """At least the p-value of every rate up to p, where that is below the observed rate; else 1."""
    low, high = seen.rate
    least, most = np.minimum(_variance(low), _variance(high)), _variance(np.minimum(p, 0.5))
    odds = np.fmin(_STIRLING + _half_log(most / least), _half_log(8 * seen.n[1] * most))  # k may be n
    bound = np.exp(-seen.n[0] * _apart(low, p)) * (1 + (1 + _TOLERANCE) * np.exp(np.maximum(odds, 0)))
    return np.where((p < low) & (p > 0), bound, 1.0)


def _tail(n: FloatArray, x: FloatArray, p: FloatArray) -> FloatArray:
    return np.asarray(ndtr(-np.sqrt(2 * n * _apart(x, p))))


def _rejects(seen: Observed, a: FloatArray, b: FloatArray, alpha: float) -> BoolArray:
    """Whether every rate from a to b, below the observed one, is rejected."""
    (r, high), (n, most) = seen.rate, seen.n
    reach = _apart(r, b)
    near = np.minimum(np.where(r - 1 / n > b, _tail(n, r - 1 / n, b), 1.0), np.exp(-n * reach))
    least = np.minimum(_variance(r), _variance(high))
    y = np.clip(_image(r, b, n, least, -1) + 0.005 * np.sqrt(_variance(b) / n), 0, b)
    end = y + 1 / n
    # Is the first count above y likelier than k? Then so are all from there to the centre.
    largest = _largest_variance(y, end)
    odds = np.fmin(_rest(y, end, n) + _half_log(largest / least), _half_log(8 * most * largest))  # k may be n
    placed = (end < a) & (a <= b) & (b < r) & (_apart(y, b) + _per_row(odds, seen) <= reach)
    far = _tail(n, np.where(placed, end, a), a)
    # No count at all is less likely than k.
    none = (b < r) & (a <= b) & (a > 0) & (-np.log1p(-b) + _TOLERANCE / n < reach)
    found = np.asarray((placed | none) & (near + np.where(none, 0, far) < alpha * (1 - _MARGIN)))
    few = _few_rows(seen, (a < b) & ~found)
    found[few] = _by_tails(seen.take(few), a[few], b[few], alpha)[0]
    return found


def _accepts(seen: Observed, a: FloatArray, b: FloatArray, alpha: float) -> BoolArray:
    """Whether no rate from a to b, which are up to the observed one, is rejected."""
    (low, r), (n, most) = seen.rate, seen.n
    positive = (a > 0) & (a < r)
    a = np.where(positive, a, 0.5 * r)
    near = np.where(low >= 1, np.exp(-most * _apart(r, a)), _tail(most, r, a))
    largest = _largest_variance(low, r)
    largest = np.where(r < 1, largest, np.maximum(largest, 1 / (2 * math.pi * n)))  # k may be n
    y = _image(r, a, n, largest, 1) - 0.005 * np.sqrt(_variance(a) / n)
    end = y - 1 / n
    sure = (end > 0) & (b < 1)
    y = np.where(sure, y, 0.5 * a)
    odds = _rest(low, r, n) + _half_log(largest / np.minimum(_variance(y), _variance(np.maximum(end, 0))))
    sure &= _apart(y, a) >= _apart(r, a) + _per_row(odds, seen)
    far = np.where(sure, _tail(most, np.where(sure, end, 0), np.where(sure, b, 0.5)), 0.0)
    found = np.asarray(positive & (near + far > alpha * (1 + _MARGIN)))
    few = _few_rows(seen, positive & (a < b) & (b <= r) & ~found)
    found[few] = _by_tails(seen.take(few), a[few], b[few], alpha)[1]
    return found


def _few_rows(seen: Observed, open_: BoolArray) -> IntArray:
    """Open cases of few rows, for which tails are summed; none if that would take long."""
    found = np.flatnonzero(open_ & (seen.n[1] <= _FEW_ROWS))
    return found if found.size <= _FEW_CASES else found[:0]


def _by_tails(seen: Observed, a: FloatArray, b: FloatArray, alpha: float) -> tuple[BoolArray, BoolArray]:
    (low, high), (n, most) = seen.rate, seen.n
    k = _counts(np.maximum(seen.k[0], low * n), np.minimum(seen.k[1], high * most))
    others = _counts(np.maximum(seen.others[0], (1 - high) * n), np.minimum(seen.others[1], (1 - low) * most))
    rows = _counts(np.maximum(n, k[0] + others[0]), np.minimum(most, k[1] + others[1]))
    return surely_decided(Box(k, others, rows, (a, b)), alpha)


def _counts(low: FloatArray, high: FloatArray) -> tuple[IntArray, IntArray]:
    """Whole numbers within limits, or the nearest ones."""
    least, most = np.ceil(low - 1e-6), np.floor(high + 1e-6)
    return np.minimum(least, most).astype(np.int64), np.maximum(least, most).astype(np.int64)


def _per_row(odds: FloatArray, seen: Observed) -> FloatArray:
    """The most that a difference of log-likelihoods can be, over n, if it is at most so much."""
    n, most = seen.n
    return np.asarray((odds + _TOLERANCE) / np.where(odds > 0, n, most))


def _rest(low: FloatArray, high: FloatArray, n: FloatArray) -> FloatArray:
    """By how much the logarithm of a likelihood can be below Stirling's formula without its rest."""
    return np.asarray(np.fmin(_STIRLING, 1 / (12 * n * low) + 1 / (12 * n * (1 - high))))


def _image(r: FloatArray, p: FloatArray, n: FloatArray, variance: FloatArray, side: int) -> FloatArray:
    """About the rate below p that is as likely as r: that of a cubic, and two of Newton's steps."""
    distance, spread = r - p, np.maximum(_variance(p), 1e-300)
    y = p - distance * np.clip(1 - distance * (1 - 2 * p) / (3 * spread), 0.05, 2.0)
    for _ in range(2):
        y = np.clip(y, 1e-3 * p, p * (1 - 1e-12))
        rest = _rest(y, y, n) if side < 0 else _rest(r, r, n)
        bar = _apart(r, p) + (_half_log(variance / _variance(y)) + side * rest) / n
        y = y - (_apart(y, p) - bar) / (np.log(y / p) - np.log((1 - y) / (1 - p)))
    return np.asarray(np.where(np.isfinite(y), y, -1.0))
