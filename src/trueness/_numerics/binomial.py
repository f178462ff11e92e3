r"""Binomial distributions: a two-sided test of many rates, and many random numbers by tables.

The test decides many hypotheses about the same counts. Its p-value is that of :func:`scipy.stats.binomtest`: the
probability, under rate :math:`p`, of all counts that are no likelier than the one observed, likelihoods being compared
with a relative tolerance of 1e-7. If :math:`k > np` it is

.. math:: f(p) = P(X \ge k; p) + P(X \le y(p); p),

a *near* tail that starts at :math:`k` and a *far* tail that ends at :math:`y(p)`, the last count below
:math:`np` that is no likelier than :math:`k`. The other side is its mirror image (:math:`k \to n - k`,
:math:`p \to 1 - p`), and everything below is written for this one.

A table of a distribution function pays off from about a hundred random numbers per distribution: each then costs a few
nanoseconds, where a general method needs fifty.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, gammaln, xlog1py, xlogy

from trueness import _kernels
from trueness.typing import Bools, Floats, Ints

_TOLERANCE = math.log1p(1e-7)
# Parts per cut of a range: more of them, fewer levels but more scores evaluated in vain.
_FAN = 5
MOST_OUTCOMES = 1 << 14
"""Most outcomes of one table."""
# A tail of less than e to the minus this is left out of a table: less than the rounding of a distribution function.
_TAIL = 40.0
_UNIT = 1 << 16


def binomial_rejections(k: ArrayLike, n: ArrayLike, starts: ArrayLike, scores: ArrayLike, alpha: float) -> Bools:
    r"""Which of the scores in a bin the bin's labels reject as its rate.

    Bins have `k` events in `n` rows each, and the scores from `starts` on, ascending within each bin. Rejected is what
    ``scipy.stats.binomtest(k, n, score).pvalue <= alpha`` rejects: the same decision for every score that SciPy has an
    answer for (it has none for some scores below 1e-300).

    Between two rates :math:`a < b` on one side of :math:`k / n` the p-value is bounded by its parts at the
    ends, since the near tail grows with :math:`p`, :math:`y(p)` does not fall and every
    :math:`P(X \le y; p)` falls:

    .. math:: P(X \ge k; a) + P(X \le y(a); b) \le f \le P(X \ge k; b) + P(X \le y(b); a).

    These bounds decide whole ranges of scores; an undecided range is cut, and the cuts are evaluated. The accepted
    scores need not form an interval: for (k, n) = (1, 30) and alpha = 0.05 they have a hole, which two searches for
    two ends would miss.

    A score is passed on to SciPy when its p-value is too close to `alpha`, or an atom's likelihood too close to
    the tolerance, given the rounding errors. Bounds count only if they clear `alpha` by the same margin.

    Two bins: 3 events in 10 rows, and 1 in 30, where 0.17 is rejected between accepted neighbours.

    >>> binomial_rejections([3, 1], [10, 30], [0, 3], [0.05, 0.3, 0.7, 0.16, 0.17, 0.176], 0.05).tolist()
    [True, False, True, False, True, False]
    """
    scores = np.asarray(scores, np.float64)
    if alpha >= 1 or scores.size == 0:
        return np.ones(scores.size, np.bool_)
    search = _Search(np.asarray(k, np.int64), np.asarray(n, np.int64), np.asarray(starts, np.int64), scores, alpha)
    return search.run()


class _Side(NamedTuple):
    """Counts and rates in the orientation of the module's formula: ``k > n p``."""

    k: Ints
    n: Ints
    p: Floats
    q: Floats
    centre: Ints

    @staticmethod
    def of(k: Ints, n: Ints, p: Floats, mirrored: Bools) -> _Side:
        """Mirror where the count lies below its expectation."""
        # 1 - p is exact from 1/2 on and near 1 below it: both rates keep their relative precision.
        q = 1.0 - p
        # The rounded product marks the centre, as it does in SciPy.
        expected = p * n
        return _Side(
            k=np.where(mirrored, n - k, k),
            n=n,
            p=np.where(mirrored, q, p),
            q=np.where(mirrored, p, q),
            centre=np.where(mirrored, n - np.ceil(expected), np.floor(expected)).astype(np.int64),
        )

    def take(self, index: Bools | Ints) -> _Side:
        return _Side(self.k[index], self.n[index], self.p[index], self.q[index], self.centre[index])

    def near(self) -> Floats:
        """Probability of ``k`` or more."""
        return np.asarray(betainc(self.k, self.n - self.k + 1, self.p))

    def log_likelihood(self, x: Ints) -> Floats:
        """Logarithm of ``P(X = x)`` up to a term free of ``x``.

        As that of two Poisson counts, ``x`` and ``n - x``: differences of log-gamma functions would lose,
        from a million trials on, the digits that a tolerance of 1e-7 compares.
        """
        counts = np.stack([x, self.n - x])
        means = np.stack([self.n * self.p, self.n * self.q])
        return np.asarray(_log_poisson(counts, means).sum(axis=0))

    def log_rise(self, x: Ints) -> Floats:
        """Logarithm of ``P(X = x + 1) / P(X = x)``."""
        odds = np.maximum(self.p, 1e-300) / np.maximum(self.q, 1e-300)
        return np.asarray(np.log((self.n - x) / (x + 1)) + np.log(odds))

    def far_end(self) -> tuple[Ints, Bools]:
        """Last count up to the centre that is no likelier than ``k``, or -1; and whether rounding may err.

        Up to the centre the log-likelihood grows and is concave, so that Newton's method closes in on the end; every
        third probe halves the bracket instead, so that the search cannot stall.
        """
        bar = self.log_likelihood(self.k) + _TOLERANCE
        end = np.full(self.k.shape, -1, np.int64)
        side, low, high, goal, probe = self, end, self.centre + 1, bar, self._mirror_image()
        pending, turn = np.arange(end.size), 0
        while pending.size:
            height, rise = side.log_likelihood(probe) - goal, side.log_rise(probe)
            under = height <= 0
            next_under = (height + rise <= 0) & (probe < side.centre)
            low = np.where(next_under, probe + 1, np.where(under, probe, low))
            high = np.where(under, np.where(next_under, high, probe + 1), probe)
            end[pending] = low
            turn += 1
            target = probe - height / np.maximum(rise, 1e-12) if turn % 3 else (low + high) / 2
            probe = np.clip(np.floor(target), low + 1, high - 1).astype(np.int64)
            on = high - low > 1
            side, pending = side.take(on), pending[on]
            low, high, goal, probe = low[on], high[on], goal[on], probe[on]
        return end, self._in_doubt(end, bar)

    def _in_doubt(self, end: Ints, bar: Floats) -> Bools:
        """Whether the last count in the far tail, or the first one out, is too close to the bar to tell."""
        x = np.maximum(end, 0)
        height = self.log_likelihood(x) - bar
        next_height = np.where(end < 0, height, height + self.log_rise(x))
        error = _rounding(self.n)
        doubtful_in = (end >= 0) & (np.abs(height) <= error)
        doubtful_out = (end < self.centre) & (np.abs(next_height) <= error)
        return doubtful_in | doubtful_out

    def _mirror_image(self) -> Ints:
        """Count as unlikely as ``k`` if the log-likelihood were a cubic around the mean."""
        mean = self.n * self.p
        distance = self.k - mean
        skew = (self.q - self.p) / np.maximum(3 * mean * self.q, 1.0)
        image = mean - distance * np.clip(1 - distance * skew, 0.0, 2.0)
        return np.clip(image, 0, self.centre).astype(np.int64)


class _Points(NamedTuple):
    """Scores that were evaluated, with what the bounds need of them."""

    score: Ints
    side: Ints  # the bin, plus the number of bins if the score lies above the bin's rate
    q: Floats
    near: Floats
    far_least: Ints  # the far tail reaches at least this count
    far_most: Ints  # and at most this one

    def append(self, more: _Points) -> _Points:
        return _Points(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))


class _Ranges(NamedTuple):
    """Pairs of evaluated points of one side, by their rows; the scores strictly between are in question."""

    outer: Ints
    inner: Ints

    def take(self, index: Bools) -> _Ranges:
        return _Ranges(self.outer[index], self.inner[index])


class _Search:
    """Branch and bound over the scores of all bins and both sides at once, level by level."""

    def __init__(self, k: Ints, n: Ints, starts: Ints, scores: Floats, alpha: float) -> None:
        self.k, self.n, self.scores, self.alpha = k, n, scores, alpha
        self.begin, self.end = starts, np.append(starts[1:], scores.size)
        # The tails are less precise than log-likelihoods: they take a rounded 1 - p.
        margin = alpha * 100 * _rounding(n)
        self.accept_above, self.reject_below = alpha + margin, alpha - margin
        # +1 where a stretch of rejected scores begins, -1 where it ends.
        self.steps = np.zeros(scores.size + 1, np.int8)

    def run(self) -> Bools:
        points, ranges = self._initial_ranges()
        while ranges.outer.size:
            ranges = self._undecided_ranges(points, ranges)
            points, ranges = self._cut(points, ranges)
        return np.cumsum(self.steps[:-1], dtype=np.int8).view(np.bool_)

    def _initial_ranges(self) -> tuple[_Points, _Ranges]:
        """Each side of each bin, from its farthest score to that nearest to the rate."""
        rate_begin, rate_end = self._first_reaching(np.stack([self.k, np.nextafter(self.k, np.inf)]))
        outer = np.concatenate([self.begin, self.end - 1])
        inner = np.concatenate([rate_begin - 1, rate_end])
        # Scores equal to the rate belong to no side: their p-value is 1.
        side = np.flatnonzero(np.concatenate([rate_begin > self.begin, rate_end < self.end]))
        chain = np.vstack([outer, inner]).T[side]
        new = np.diff(chain, axis=1, prepend=-1) != 0
        points = self._evaluate(chain[new], np.repeat(side, new.sum(axis=1)))
        row = np.cumsum(new).reshape(new.shape) - 1
        holds_scores = np.abs(np.diff(chain, axis=1)) > 1
        return points, _Ranges(row[:, :-1][holds_scores], row[:, 1:][holds_scores])

    def _first_reaching(self, target: Floats) -> Ints:
        """First score of each bin (a column of the targets) whose multiple by ``n`` is at least the target."""
        low, high = (np.broadcast_to(ends, target.shape).copy() for ends in (self.begin, self.end))
        while (low < high).any():
            middle = (low + high) // 2
            # A bin that is settled may point past the end; its answer does not change any more.
            expected = self.scores[np.minimum(middle, self.scores.size - 1)] * self.n
            reached = (expected >= target) | (low == high)
            high = np.where(reached, middle, high)
            low = np.where(reached, low, middle + 1)
        return low

    def _evaluate(self, index: Ints, side: Ints) -> _Points:
        """Decide these scores, and keep what the bounds of ranges will need."""
        bin_, mirrored = side % self.n.size, side >= self.n.size
        at = _Side.of(self.k[bin_], self.n[bin_], self.scores[index], mirrored)
        near = at.near()
        points = _Points(index, side, at.q, near, np.full(index.size, -1, np.int64), at.centre)
        # Where the near tail alone exceeds alpha, no bound will ask for the far one.
        open_ = np.flatnonzero(near <= self.accept_above[bin_])
        bin_, at = bin_[open_], at.take(open_)
        end, doubtful = at.far_end()
        points.far_least[open_] = np.where(doubtful, -1, end)
        points.far_most[open_] = np.where(doubtful, at.centre, end)
        value = near[open_] + _at_most(end, at.n, at.q)
        reject = value < self.reject_below[bin_]
        unsure = doubtful | (~reject & (value <= self.accept_above[bin_]))
        reject[unsure] = self._decide_by_scipy(index[open_[unsure]], bin_[unsure])
        self._reject(index[open_[reject]], index[open_[reject]] + 1)
        return points

    def _decide_by_scipy(self, index: Ints, bin_: Ints) -> Bools:
        """SciPy's own decisions, each distinct case once."""
        if index.size == 0:
            return np.zeros(0, np.bool_)
        from scipy.stats import binomtest

        cases = np.column_stack([self.k[bin_], self.n[bin_], self.scores[index]])
        distinct, which = np.unique(cases, axis=0, return_inverse=True)
        pvalues = np.array([binomtest(int(k), int(n), p).pvalue for k, n, p in distinct])
        return np.asarray(pvalues <= self.alpha)[which.ravel()]

    def _reject(self, begin: Ints, end: Ints) -> None:
        self.steps[begin] += 1
        self.steps[end] -= 1

    def _undecided_ranges(self, points: _Points, ranges: _Ranges) -> _Ranges:
        """Decide the ranges whose bounds clear alpha; return the others."""
        outer, inner = ranges
        bin_ = points.side[outer] % self.n.size
        n, above, below = self.n[bin_], self.accept_above[bin_], self.reject_below[bin_]
        lower, upper = points.near[outer], points.near[inner]
        some = np.flatnonzero(lower <= above)
        lower[some] += _at_most(points.far_least[outer[some]], n[some], points.q[inner[some]])
        some = np.flatnonzero(upper < below)
        upper[some] += _at_most(points.far_most[inner[some]], n[some], points.q[outer[some]])
        reject = upper < below
        ends = np.sort([points.score[outer[reject]], points.score[inner[reject]]], axis=0)
        self._reject(ends[0] + 1, ends[1])
        return ranges.take(~reject & (lower <= above))

    def _cut(self, points: _Points, ranges: _Ranges) -> tuple[_Points, _Ranges]:
        """Cut each range into equal parts; return all points and the parts that still hold scores."""
        start = points.score[ranges.outer]
        extent = points.score[ranges.inner] - start
        parts = np.minimum(np.abs(extent), _FAN)
        row = np.repeat(np.arange(parts.size), parts)
        part = np.arange(row.size) - np.repeat(np.cumsum(parts) - parts, parts)
        # Truncated division: the same cuts whichever way the side faces, and never an end.
        index = start[row] + np.trunc(part * extent[row] / parts[row]).astype(np.int64)
        inside = part > 0
        fresh = self._evaluate(index[inside], points.side[ranges.outer[row[inside]]])
        outer = ranges.outer[row]
        outer[inside] = points.score.size + np.arange(fresh.score.size)
        inner = np.append(outer[1:], 0)
        inner[np.cumsum(parts) - 1] = ranges.inner
        points = points.append(fresh)
        holds_scores = np.abs(points.score[outer] - points.score[inner]) > 1
        return points, _Ranges(outer, inner).take(holds_scores)


def _at_most(x: Ints, n: Ints, q: Floats) -> Floats:
    """Probability of ``x`` or fewer events in ``n`` trials of rate ``1 - q``; ``x`` may be -1."""
    return np.where(x < 0, 0.0, betainc(n - x, np.maximum(x, 0) + 1, q))


def _rounding(n: Ints) -> Floats:
    """Bound, with room to spare, on what rounding does to a difference of log-likelihoods."""
    return np.asarray(1e-9 + 1e-16 * n, np.float64)


_SMALL = np.arange(16.0)
_SMALL_REST = gammaln(_SMALL + 1) - xlogy(_SMALL, _SMALL) + _SMALL


def _log_poisson(x: Ints, mean: Floats) -> Floats:
    """Logarithm of the probability of a Poisson count, precise near the mean however large it is."""
    mean = np.maximum(mean, 1e-288)  # any 64-bit count over it is still a float
    excess = x - mean
    # x log(x / mean) - x + mean, free of cancellation.
    deviance = xlog1py(x, excess / mean) - excess
    return np.asarray(-_stirling_rest(x) - deviance)


def _stirling_rest(x: Ints) -> Floats:
    """``log x!`` minus ``x log x - x``."""
    large = np.maximum(x, _SMALL.size).astype(np.float64)
    u = 1 / (large * large)
    series = (1 / 12 - u * (1 / 360 - u * (1 / 1260 - u / 1680))) / large
    return np.where(
        x < _SMALL.size,
        _SMALL_REST[np.minimum(x, _SMALL.size - 1)],
        0.5 * np.log(2 * math.pi * large) + series,
    )


class Tables(NamedTuple):
    """Distribution functions of several distributions on whole numbers."""

    low: Ints
    """The smallest outcome of each."""
    start: Ints
    """Where the thresholds of each begin; it has one more outcome than thresholds."""
    cdf: Floats
    """Thresholds: the probabilities of at most each outcome, times 2¹⁶."""

    def draw(self, draws: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Independent numbers, of shape (distributions, draws).

        A number is the first outcome whose threshold exceeds 2¹⁶ U, U uniform. The whole part of 2¹⁶ U mostly decides;
        the rest is drawn only where it does not.
        """
        size = self.low.size * draws
        # Little-endian, so that a seed gives the same numbers on every machine.
        bits = rng.integers(0, 1 << 64, -(-size // 4), dtype=np.uint64).astype("<u8", copy=False)
        words = bits.view("<u2")[:size].astype(np.uint16, copy=False).reshape(-1, draws)
        whole = np.minimum(self.cdf, _UNIT - 1).astype(np.uint16)
        found = _kernels.outcomes(words, whole, self.start, self.low)
        flat = found.reshape(-1)
        undecided = np.flatnonzero(flat < 0)
        entry = undecided // draws if draws else undecided
        rest = words.reshape(-1)[undecided] + rng.random(undecided.size)
        flat[undecided] = self.low[entry] + self._bisect(entry, rest)
        return found

    def _bisect(self, entry: Ints, value: Floats) -> Ints:
        """The number of thresholds of each entry that are at most the value."""
        low, high = self.start[entry], self.start[entry + 1]
        while bool((low < high).any()):
            middle = (low + high) // 2
            above = (low < high) & (self.cdf[np.minimum(middle, self.cdf.size - 1)] <= value)
            low, high = np.where(above, middle + 1, low), np.where(above, high, middle)
        return low - self.start[entry]


def binomial_tables(n: Ints, p: Floats) -> Tables:
    """Tables of the numbers of successes in `n` trials of probability `p`."""
    low, high = _ends(n * p, n * p * (1 - p))
    most = np.where(p > 0, np.minimum(high, n), 0).astype(np.int64)
    least = np.where(p < 1, np.minimum(low, most), n).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(most - least)]).astype(np.int64)
    odds = np.divide(p, 1 - p, out=np.ones(p.size), where=(p > 0) & (p < 1))
    mode = np.clip(np.floor((n + 1) * p).astype(np.int64), least, most)
    return Tables(least, start, _kernels.outcome_tables(n.astype(np.int64), odds, mode, least, start))


def binomial_outcomes(n: Ints, p: Floats) -> Ints:
    """How many outcomes the table of each binomial distribution would have."""
    low, high = _ends(n * p, n * p * (1 - p))
    return (np.minimum(high, n) - low + 1).astype(np.int64)


def _ends(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest outcome of a table; Bernstein's inequality bounds what lies beyond."""
    reach = _TAIL / 3 + np.sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * variance)
    return np.maximum(np.floor(mean - reach), 0), np.ceil(mean + reach)
