r"""Binomial distributions: a two-sided test of many rates, and many random numbers by tables.

The test decides many hypotheses about the same counts. Its p-value is that of
:func:`scipy.stats.binomtest`: the probability, under rate :math:`p`, of all counts that are no
likelier than the one observed, likelihoods being compared with a relative tolerance of 1e-7. If
:math:`k > np` it is

.. math:: f(p) = P(X \ge k; p) + P(X \le y(p); p),

a *near* tail that starts at :math:`k` and a *far* tail that ends at :math:`y(p)`, the last count
below :math:`np` that is no likelier than :math:`k`. The other side is its mirror image (:math:`k
\to n - k`, :math:`p \to 1 - p`), and everything below is written for this one.

A table of a distribution function pays off from about a hundred random numbers per distribution:
each then costs a few nanoseconds, where a general method needs fifty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, gammaln, xlog1py, xlogy

from trueness import _kernels
from trueness.typing import Bools, Floats, Ints

_TOLERANCE = math.log1p(1e-7)
_BLOCKS = (48, 8)
"""Scores from one tested score to the next, first and where that leaves some undecided."""
MOST_OUTCOMES = 1 << 14
"""Most outcomes of one table."""
# Where the log-likelihood is flat, or a rate is 0, a step of Newton's stays finite.
_LEAST_SLOPE = 1e-3
_TINY = 1e-300
# A tail of less than e to the minus this is left out of a table: less than the rounding of a
# distribution function.
_TAIL = 40.0
_UNIT = 1 << 16


def binomial_rejections(
    k: ArrayLike, n: ArrayLike, starts: ArrayLike, scores: ArrayLike, alpha: float
) -> Bools:
    r"""Which of the scores in a bin the bin's labels reject as its rate.

    Bins have `k` events in `n` rows each, and the scores from `starts` on, ascending within each
    bin. Rejected is what ``scipy.stats.binomtest(k, n, score).pvalue <= alpha`` rejects: the same
    decision for every score that SciPy has an answer for (it has none for some scores below
    1e-300).

    The near tail grows with :math:`p` up to :math:`k / n`, and so does a bound on the far one: by
    the inequalities of Chernoff and of Ash (Information Theory, 1965, lemma 4.7.1) it is at most

    .. math:: P(X = k; p) \sqrt{8 v}, \qquad v = n \max_{x \le p} x (1 - x) ,

    or :math:`P(X = k; p)` if that is larger. So two searches on either side of a bin's rate find
    the scores that the near tail alone accepts, and those that tail and bound reject; between them,
    scores are tested. The accepted ones need not form an interval: for (k, n) = (1, 30) and alpha =
    0.05 they have a hole.

    A score is passed on to SciPy when its p-value is too close to `alpha`, or an atom's likelihood
    too close to the tolerance, given the rounding errors. Bounds count only if they clear `alpha`
    by the same margin.

    Two bins: 3 events in 10 rows, and 1 in 30, where 0.17 is rejected between accepted neighbours.

    >>> scores = [0.05, 0.3, 0.7, 0.16, 0.17, 0.176]
    >>> binomial_rejections([3, 1], [10, 30], [0, 3], scores, 0.05).tolist()
    [True, False, True, False, True, False]
    """
    scores = np.asarray(scores, np.float64)
    if alpha >= 1 or scores.size == 0:
        return np.ones(scores.size, np.bool_)
    k, n, starts = (np.asarray(numbers, np.int64) for numbers in (k, n, starts))
    margin = _margin(n, alpha)
    ends = np.append(starts[1:], scores.size)
    rest = _stirling_rest(n) - _stirling_rest(k) - _stirling_rest(n - k)

    def stage(index: Ints) -> Ints:
        """Codes from the first score of a bin to the last.

        0 is rejected, 1 to be tested, 2 accepted, 3 as 1, 4 as 0.
        """
        p = scores[np.minimum(index, scores.size - 1)]
        above = p * n > k
        side = _Side.of(k, n, p, above)
        near = side.near()
        nearness = (near + side.most_far(rest) >= alpha - margin).astype(np.int8) + (
            near > alpha + margin
        )
        return np.where(p * n == k, 2, np.where(above, 4 - nearness, nearness))

    wanted = np.arange(1, 5)[:, np.newaxis]
    low, high = (np.broadcast_to(numbers, (4, n.size)) for numbers in (starts, ends))
    bounds = _first(low, high, lambda index: stage(index) >= wanted)
    sizes = np.diff(np.vstack([starts, bounds, ends]), axis=0).T.ravel()
    rejected = np.repeat(np.tile([True, False, False, False, True], n.size), sizes)
    open_ = np.flatnonzero(np.repeat(np.tile([False, True, False, True, False], n.size), sizes))
    run = np.repeat(np.arange(2 * n.size), sizes.reshape(-1, 5)[:, 1::2].ravel())
    tested = _tested_in_blocks(run, k[run // 2], n[run // 2], scores[open_], alpha, _BLOCKS)
    rejected[open_] = tested
    return rejected


def _first(low: Ints, high: Ints, holds: Callable[[Ints], Bools]) -> Ints:
    """For each pair of bounds, the first whole number from `low` up at which `holds` is true.

    It is `high` if there is none below. `holds` takes an array of numbers, one per pair, and must
    stay true after the first. All pairs are halved at once.
    """
    while (low < high).any():
        middle = (low + high) // 2
        # Where the search has ended, it may point past the end.
        is_reached = holds(middle) | (low == high)
        low = np.where(is_reached, low, middle + 1)
        high = np.where(is_reached, middle, high)
    return low


def _tested_in_blocks(
    run: Ints, k: Ints, n: Ints, p: Floats, alpha: float, blocks: tuple[int, ...]
) -> Bools:
    """The decisions on runs of ascending scores, each on one side of its bin's rate.

    An odd number of a run means that it lies above the rate.

    From one tested score to the next, a block further, the near tail grows towards the rate, the
    far one has no more outcomes at the outer score than at the inner, and each outcome is less
    likely at the inner: where these bounds decide, the scores between are not tested. The others
    are cut into smaller blocks.
    """
    if not blocks:
        side = _Side.of(k, n, p, p * n > k)
        end, doubtful = side.far_end()
        return _tested(k, p, side, side.near(), end, doubtful, alpha)
    chosen = np.diff(run, append=-1) != 0
    first = np.flatnonzero(np.diff(run, prepend=-1))
    place = np.arange(run.size) - np.repeat(first, np.diff(first, append=run.size))
    chosen |= place % blocks[0] == 0
    ends = np.flatnonzero(chosen)
    side = _Side.of(k[ends], n[ends], p[ends], run[ends] % 2 == 1)
    (end, doubtful), near = side.far_end(), side.near()
    pair = np.flatnonzero(np.diff(run[ends]) == 0)
    above = run[ends][pair] % 2
    rows = side.n[pair]
    outer = pair + above
    inner = pair + 1 - above
    margin = _margin(rows, alpha)
    lowest = near[outer] + _at_most(end[outer] - doubtful[outer], rows, side.q[inner])
    highest = near[inner] + _at_most(end[inner] + doubtful[inner], rows, side.q[outer])
    between = np.full(ends.size, -1, np.int8)  # to be tested
    between[pair] = np.where(highest < alpha - margin, 1, np.where(lowest > alpha + margin, 0, -1))
    decided = between[np.cumsum(chosen) - 1]
    decided[ends] = _tested(k[ends], p[ends], side, near, end, doubtful, alpha)
    open_ = np.flatnonzero(decided < 0)
    if open_.size:
        decided[open_] = _tested_in_blocks(
            run[open_], k[open_], n[open_], p[open_], alpha, blocks[1:]
        )
    return np.asarray(decided == 1)


def _tested(
    k: Ints, p: Floats, side: _Side, near: Floats, end: Ints, doubtful: Bools, alpha: float
) -> Bools:
    """Whether the two-sided binomial test rejects each score, at level `alpha`.

    `k` and `p` are the events and the score tested; `side` holds them in the orientation in which
    the near tail begins at k. `near` is the probability of the near tail, `end` the last count of
    the far tail. A score is rejected if both tails together have less than `alpha`. Where the end
    is `doubtful` because of rounding, or the sum is too near to `alpha`, SciPy's test decides, once
    for each distinct case.
    """
    value = near + _at_most(end, side.n, side.q)
    rejected = value < alpha
    unsure = np.flatnonzero(doubtful | (np.abs(value - alpha) <= _margin(side.n, alpha)))
    if unsure.size:
        from scipy.stats import binomtest

        cases = np.column_stack([k, side.n, p])[unsure]
        cases, which = np.unique(cases, axis=0, return_inverse=True)
        pvalues = np.array(
            [binomtest(int(events), int(rows), rate).pvalue for events, rows, rate in cases]
        )
        rejected[unsure] = (pvalues <= alpha)[which.ravel()]
    return rejected


class _Side(NamedTuple):
    """Counts and rates in the orientation of the module's formula: ``k > n p``."""

    k: Ints
    n: Ints
    p: Floats
    q: Floats
    mirrored: Bools

    @staticmethod
    def of(k: Ints, n: Ints, p: Floats, mirrored: Bools) -> _Side:
        """Orient counts and rates so that the count lies above its expectation.

        Where `mirrored` is true, k events at rate p become n − k at rate 1 − p.
        """
        # 1 - p is exact from 1/2 on and near 1 below it: both rates keep their relative precision.
        q = 1.0 - p
        return _Side(
            k=np.where(mirrored, n - k, k),
            n=np.broadcast_to(n, p.shape),
            p=np.where(mirrored, q, p),
            q=np.where(mirrored, p, q),
            mirrored=mirrored,
        )

    def at(self, some: Ints) -> _Side:
        """Those of some of the scores."""
        return _Side(
            k=self.k[some],
            n=self.n[some],
            p=self.p[some],
            q=self.q[some],
            mirrored=self.mirrored[some],
        )

    def centre(self) -> Ints:
        """The last count that is no larger than its expectation."""
        # The rounded product marks the centre, as it does in SciPy.
        expected = np.where(self.mirrored, self.q, self.p) * self.n
        below = np.where(self.mirrored, self.n - np.ceil(expected), np.floor(expected))
        return below.astype(np.int64)

    def near(self) -> Floats:
        """Probability of ``k`` or more."""
        return np.asarray(betainc(self.k, self.n - self.k + 1, self.p))

    def most_far(self, rest: Floats) -> Floats:
        """A bound on the probability of the far tail; `rest` is free of the rate in an atom."""
        variance = np.where(self.p < 0.5, self.n * self.p * self.q, self.n / 4)
        others = self.n - self.k
        deviance = _deviance(self.k, self.n * self.p) + _deviance(others, self.n * self.q)
        # With room for tolerance and rounding.
        return np.asarray(1.001 * np.exp(rest - deviance) * np.sqrt(np.maximum(8 * variance, 1)))

    def log_likelihood(self, x: Ints) -> Floats:
        """Logarithm of ``P(X = x)`` up to a term free of ``x``.

        As that of two Poisson counts, ``x`` and ``n - x``: differences of log-gamma functions would
        lose, from a million trials on, the digits that a tolerance of 1e-7 compares.
        """
        counts = np.stack([x, self.n - x])
        means = np.stack([self.n * self.p, self.n * self.q])
        return np.asarray(_log_poisson(counts, means).sum(axis=0))

    def far_end(self) -> tuple[Ints, Bools]:
        """The last count of the far tail, and whether rounding may make it wrong.

        It is the largest count, up to the last that does not exceed its expectation, whose
        likelihood is at most that of `k` (with the relative tolerance of 1e-7 that SciPy uses), or
        -1 if there is none. It is guessed first; guesses that are wrong are moved by one, and what
        is then still wrong is searched. It is doubtful if the count itself, or the next, is as
        likely as `k` within the rounding errors.
        """
        bar = self.log_likelihood(self.k) + _TOLERANCE
        centre = self.centre()
        end = self._guessed_far_end(bar, centre)
        height, next_height = self._heights(end, bar)
        for is_next_to_it in (True, False):
            too_far = (end >= 0) & (height > 0)
            too_near = (end < centre) & (next_height <= 0)
            missed = np.flatnonzero(too_far | too_near)
            if not missed.size:
                break
            some = self.at(missed)
            if is_next_to_it:
                end[missed] += np.where(too_far[missed], -1, 1)
            else:
                end[missed] = some._searched_far_end(bar[missed], centre[missed])
            height[missed], next_height[missed] = some._heights(end[missed], bar[missed])
        error = _rounding(self.n)
        doubtful_in = (end >= 0) & (np.abs(height) <= error)
        doubtful_out = (end < centre) & (np.abs(next_height) <= error)
        return end, doubtful_in | doubtful_out

    def _heights(self, end: Ints, bar: Floats) -> tuple[Floats, Floats]:
        """How far the log-likelihoods of a count and of the next one lie above a bar."""
        height = self.log_likelihood(np.maximum(end, 0)) - bar
        return height, self.log_likelihood(end + 1) - bar

    def _guessed_far_end(self, bar: Floats, centre: Ints) -> Ints:
        """A first guess of the end of the far tail, which is right for most cases.

        The count as far below the expectation as `k` is above it, moved by one Newton step to the
        log-likelihood `bar`. It lies between -1 and `centre`, the last count that is no larger than
        its expectation.
        """
        mirror_image = np.floor(2 * (self.n * self.p)).astype(np.int64) - self.k
        x = np.clip(mirror_image, 0, centre)
        odds = (self.n - x + 0.5) * self.p / np.maximum((x + 0.5) * self.q, _TINY)
        slope = np.maximum(np.log(np.maximum(odds, 1)), _LEAST_SLOPE)
        step = (self.log_likelihood(x) - bar) / slope
        return np.asarray(np.clip(np.floor(x - step), -1, centre), np.int64)

    def _searched_far_end(self, bar: Floats, centre: Ints) -> Ints:
        """The end of the far tail by bisection."""
        after = _first(np.zeros_like(centre), centre + 1, lambda x: self.log_likelihood(x) > bar)
        return after - 1


def _at_most(x: Ints, n: Ints, q: Floats) -> Floats:
    """Probability of ``x`` or fewer events in ``n`` trials of rate ``1 - q``; ``x`` may be -1."""
    return np.where(x < 0, 0.0, betainc(n - x, np.maximum(x, 0) + 1, q))


def _margin(n: Ints, alpha: float) -> Floats:
    """How far from `alpha` a p-value decides.

    Tails take a rounded 1 - p, less precise than log-likelihoods.
    """
    return alpha * 100 * _rounding(n)


def _rounding(n: Ints) -> Floats:
    """Bound, with room to spare, on what rounding does to a difference of log-likelihoods."""
    return np.asarray(1e-9 + 1e-16 * n, np.float64)


_SMALL = np.arange(16.0)
_SMALL_REST = gammaln(_SMALL + 1) - xlogy(_SMALL, _SMALL) + _SMALL


def _log_poisson(x: Ints, mean: Floats) -> Floats:
    """Log-probability of a Poisson count, precise near the mean however large it is."""
    return np.asarray(-_stirling_rest(x) - _deviance(x, mean))


def _deviance(x: Ints, mean: Floats) -> Floats:
    """``x log(x / mean) - x + mean``, free of cancellation."""
    mean = np.maximum(mean, 1e-288)  # any 64-bit count over it is still a float
    excess = x - mean
    return np.asarray(xlog1py(x, excess / mean) - excess)


def _stirling_rest(x: Ints) -> Floats:
    """``log x!`` minus ``x log x - x``."""
    large = np.maximum(x, _SMALL.size).astype(np.float64)
    u = 1 / (large * large)
    series = (1 / 12 - u * (1 / 360 - u * (1 / 1260 - u / 1680))) / large
    small = _SMALL_REST[np.minimum(x, _SMALL.size - 1)]
    return np.where(x < _SMALL.size, small, 0.5 * np.log(2 * math.pi * large) + series)


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

        A number is the first outcome whose threshold exceeds 2¹⁶ U, U uniform. The whole part of
        2¹⁶ U mostly decides; the rest is drawn only where it does not.
        """
        size = self.low.size * draws
        # Little-endian, so that a seed gives the same numbers on every machine.
        bits = rng.integers(0, 1 << 64, -(-size // 4), dtype=np.uint64).astype("<u8", copy=False)
        words = bits.view("<u2")[:size].astype(np.uint16, copy=False).reshape(-1, draws)
        whole = np.minimum(self.cdf, _UNIT - 1).astype(np.uint16)
        outcomes = _kernels.outcomes(words, whole, self.start, self.low)
        flat = outcomes.reshape(-1)
        undecided = np.flatnonzero(flat < 0)
        entry = undecided // draws if draws else undecided
        rest = words.reshape(-1)[undecided] + rng.random(undecided.size)
        start = self.start[entry]
        last = self.cdf.size - 1
        after = _first(
            start, self.start[entry + 1], lambda at: self.cdf[np.minimum(at, last)] > rest
        )
        flat[undecided] = self.low[entry] + after - start
        return outcomes


def binomial_tables(n: Ints, p: Floats) -> Tables:
    """Tables to draw from binomial distributions, with `n` trials of probability `p` each.

    Each table covers the outcomes around its mean; beyond them Bernstein's inequality leaves less
    than about exp(−40) on either side. With a probability of 0 or 1 the table has a single outcome.
    """
    n = n.astype(np.int64)
    low, high = _ends(n * p, n * p * (1 - p))
    # Without a chance of success or of failure, the only outcome is 0 or n.
    top = np.where(p > 0, np.minimum(high, n), 0).astype(np.int64)
    bottom = np.where(p < 1, np.minimum(low, top), n).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(top - bottom)]).astype(np.int64)
    odds = np.divide(p, 1 - p, out=np.ones(p.size), where=(p > 0) & (p < 1))
    mode = np.clip(np.floor((n + 1) * p).astype(np.int64), bottom, top)
    cdf = _kernels.outcome_tables(n, odds, mode, bottom, start)
    return Tables(bottom, start, cdf)


def binomial_outcomes(n: Ints, p: Floats) -> Ints:
    """How many outcomes the table of each binomial distribution would have."""
    low, high = _ends(n * p, n * p * (1 - p))
    return (np.minimum(high, n) - low + 1).astype(np.int64)


def _ends(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest outcome of a table.

    Bernstein's inequality bounds what lies beyond.
    """
    reach = _TAIL / 3 + np.sqrt((_TAIL / 3) ** 2 + 2 * _TAIL * variance)
    return np.maximum(np.floor(mean - reach), 0), np.ceil(mean + reach)
