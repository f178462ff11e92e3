"""
Two-sided binomial test where counts and rate are known within limits only.

:mod:`trueness._numerics.binomial` has the test itself, its near and far tail, and which way it is written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from trueness._numerics.binomial import BoolArray, FloatArray, IntArray, _at_most, _rounding, _Side

__all__ = ["Box", "surely_decided"]

# Into how many pieces a box is cut where it stays open.
_PIECES = 32


class Box(NamedTuple):
    """Limits of events, other rows, all rows and rate; arrays of one shape."""

    k: tuple[IntArray, IntArray]
    others: tuple[IntArray, IntArray]
    n: tuple[IntArray, IntArray]
    p: tuple[FloatArray, FloatArray]


def surely_decided(box: Box, alpha: float) -> tuple[BoolArray, BoolArray]:
    r"""
    Where the test rejects, and where it accepts, whatever the counts and the rate are within limits.

    Parameters
    ----------
    box : Box
        What is known of each case.
    alpha : float
        Level of the test, between 0 and 1.

    Returns
    -------
    rejects, accepts : ndarray of bool, both false where it stays open

    Notes
    -----
    Let :math:`k > np` throughout. The near tail :math:`P(X \ge k)` grows with :math:`n` and :math:`p` and falls with
    :math:`k`. Of a count above its expectation the likelihood grows with :math:`n`, of one below it falls: so the far
    tail ends no later than :math:`y(p; k, n)` for the least :math:`k`, the greatest :math:`n` and :math:`p`, and with
    the least :math:`n` and :math:`p` it is largest,

    .. math:: f \le P(X \ge k^-; n^+, p^+) + P(X \le y(p^+; k^-, n^+); n^-, p^-),

    and with all signs turned it is bounded from below. Where :math:`k` may lie on either side, the p-value is at least
    the smaller of the two near tails. Where that does not decide, it is asked again of pieces with similar :math:`n`.

    Examples
    --------
    About 30 events in 100 rows surely refute 0.5 and surely do not refute 0.3.

    >>> one = np.ones(2, np.int64)
    >>> box = Box((29 * one, 31 * one), (69 * one, 71 * one), (99 * one, 101 * one), (np.array([0.3, 0.5]),) * 2)
    >>> [answer.tolist() for answer in surely_decided(box, 0.05)]
    [[False, True], [True, False]]
    """
    rejects, accepts = _decided(box, alpha)
    # One corner's number of rows ends the far tail and another's weighs it: with fewer of them between, less is open.
    again = np.flatnonzero(~rejects & ~accepts & (box.n[0] > 0) & (box.n[0] < box.n[1]))
    some, piece, of = _pieces(box, again)
    for decision, found in zip((rejects, accepts), _decided(piece, alpha), strict=True):
        decision[again] = some & (np.bincount(of, ~found, minlength=again.size) == 0)
    return rejects, accepts


def _pieces(box: Box, index: IntArray) -> tuple[BoolArray, Box, IntArray]:
    """Some boxes by their number of rows; which have a piece at all, the pieces, and which box each is of."""
    n_low, n_high = box.n[0][index], box.n[1][index]
    edges = n_low + (n_high - n_low + 1) * np.arange(_PIECES + 1)[:, None] // _PIECES
    low, high = edges[:-1], edges[1:] - 1
    (k_low, k_high), (o_low, o_high) = ((ends[0][index], ends[1][index]) for ends in (box.k, box.others))
    k = np.maximum(k_low, low - o_high), np.minimum(k_high, high - o_low)
    others = np.maximum(o_low, low - k_high), np.minimum(o_high, high - k_low)
    real = (low <= high) & (k[0] <= k[1]) & (others[0] <= others[1])
    of = np.nonzero(real)[1]
    p = box.p[0][index][of], box.p[1][index][of]
    piece = Box((k[0][real], k[1][real]), (others[0][real], others[1][real]), (low[real], high[real]), p)
    return np.asarray(real.any(axis=0)), piece, of


def _decided(box: Box, alpha: float) -> tuple[BoolArray, BoolArray]:
    """From one corner of each box."""
    (n_low, n_high), (p_low, p_high) = box.n, box.p
    above = (box.k[0] >= (n_high + 1) * p_high + 1) & (n_low > 0)
    below = (box.others[0] >= (n_high + 1) * (1 - p_low) + 1) & (n_low > 0)
    least, most = _smaller_tail(box), np.ones(above.shape)
    for side, count, mirrored in ((above, box.k, False), (below, box.others, True)):
        near, far = (p_low, p_high) if mirrored else (p_high, p_low)  # to the counts, and from them
        most[side] = _with_far_tail(
            count[0][side], n_high[side], near[side], n_low[side], far[side], mirrored, generous=True
        )
        of = side & (count[1] <= n_low)  # else no rows have these limits, which is no bound
        least[of] = _with_far_tail(count[1][of], n_low[of], far[of], n_high[of], near[of], mirrored, generous=False)
    margin = alpha * 100 * _rounding(n_high)
    return most < alpha - margin, least > alpha + margin


def _with_far_tail(
    k: IntArray, n: IntArray, p: FloatArray, far_n: IntArray, far_p: FloatArray, mirrored: bool, *, generous: bool
) -> FloatArray:
    """Near tail of one corner of the limits, and the far tail that ends where that corner says, of another."""
    flipped = np.full(k.shape, mirrored)
    side = _Side.of(n - k if mirrored else k, n, p, flipped)
    end, doubtful = side.far_end()
    end = np.where(doubtful, side.centre if generous else -1, end)
    other = _Side.of(k, far_n, far_p, flipped)
    return side.near() + _at_most(np.minimum(end, far_n), far_n, other.q)


def _smaller_tail(box: Box) -> FloatArray:
    """The least that either near tail can be, anywhere within the limits."""
    (n_low, n_high), (p_low, p_high) = box.n, box.p
    tails = []
    for count, others, p in ((box.k, box.others, p_low), (box.others, box.k, 1 - p_high)):
        # With most events and fewest rows; or, since k = n − others, with fewest others and most rows.
        few_rows = np.where(count[1] <= n_low, _at_least(np.minimum(count[1], n_low), n_low, p), 0.0)
        tails.append(np.maximum(few_rows, _at_least(n_high - others[0], n_high, p)))
    return np.where(n_low > 0, np.minimum(*tails), 0.0)


def _at_least(k: IntArray, n: IntArray, p: FloatArray) -> FloatArray:
    """Probability of ``k`` or more events in ``n`` trials."""
    return np.where(k > 0, betainc(np.maximum(k, 1), n - k + 1, p), 1.0)
