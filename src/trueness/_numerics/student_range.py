"""
Two-sided t test where the rate, the number of rows and the score are known within limits only.

:mod:`trueness._numerics.student` has the test itself.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

__all__ = ["RateBox", "surely_decided_t"]

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]

# Above what quantiles of neighbouring degrees of freedom may be off by, relatively, and rates absolutely.
_QUANTILE, _RATE = 1e-7, 1e-14


class RateBox(NamedTuple):
    """Limits of event rate, number of rows and score; arrays of one shape."""

    rate: tuple[FloatArray, FloatArray]
    n: tuple[FloatArray, FloatArray]
    p: tuple[FloatArray, FloatArray]


def surely_decided_t(
    box: RateBox, alpha: float, *, deviation: Literal["standard", "variance"] = "standard"
) -> tuple[BoolArray, BoolArray]:
    r"""
    Where the test rejects, and where it accepts, whatever rate, number of rows and score are within limits.

    Parameters
    ----------
    box : RateBox
        What is known of each case. Where there may be no row at all, the test may do anything.
    alpha : float
        Level of the test, between 0 and 1.
    deviation : {'standard', 'variance'}, default 'standard'
        As for :func:`trueness._numerics.student.rejected_t`.

    Returns
    -------
    rejects, accepts : ndarray of bool, both false where it stays open

    Notes
    -----
    A score is rejected outside :math:`r \pm c_n s(r)`, with :math:`s = \sqrt{r (1 - r)}`, or :math:`s = r (1 - r)` for
    the variance. The quantile and so :math:`c_n` fall with :math:`n`, and :math:`r - c s(r)` is convex in :math:`r`:
    it is greatest at an end of the limits, and least at an end or where its derivative vanishes.

    Examples
    --------
    Rates of about 0.3 in 100 rows surely refute 0.5 and surely do not refute 0.3.

    >>> one = np.ones(2)
    >>> box = RateBox((0.29 * one, 0.31 * one), (99 * one, 101 * one), (np.array([0.3, 0.5]),) * 2)
    >>> [answer.tolist() for answer in surely_decided_t(box, 0.05)]
    [[False, True], [True, False]]
    """
    standard = deviation == "standard"
    factor = _standard if standard else _variance
    (r_low, r_high), (n_low, n_high), (p_low, p_high) = box
    widest, narrowest = factor(n_low, alpha), factor(n_high, alpha)
    with np.errstate(invalid="ignore"):
        below, above = _outermost(r_low, r_high, widest, standard)
        slack = _slack(r_low, r_high, widest, standard)
        rejects = (below - slack >= p_high) | (above + slack <= p_low)
        accepts = np.ones(rejects.shape, dtype=np.bool_)
        for rate in (r_low, r_high):
            reach = narrowest * _spread(rate, standard) * (1 - _QUANTILE) - _RATE
            accepts &= (rate - reach < p_low) & (rate + reach > p_high)
    if standard:  # the rate itself is not rejected, and one row rejects nothing
        rejects &= ((r_low > p_high) | (r_high < p_low)) & (n_low > 1)
        accepts |= ((r_low == r_high) & (p_low == p_high) & (r_low == p_low)) | (n_high <= 1)
    some = n_low > 0
    return np.asarray(rejects & some), np.asarray(accepts & some)


def _standard(n: FloatArray, alpha: float) -> FloatArray:
    testable = n > 1
    df = np.where(testable, n - 1, 1.0)
    return np.where(testable, -stdtrit(df, alpha / 2) / np.sqrt(df), np.inf)


def _variance(n: FloatArray, alpha: float) -> FloatArray:
    return np.asarray(-stdtrit(np.maximum(n - 1, 1.0), alpha / 2) / np.sqrt(np.maximum(n, 1.0)))


def _spread(rate: FloatArray, standard: bool) -> FloatArray:
    variance = np.maximum(rate * (1 - rate), 0)
    return np.asarray(np.sqrt(variance) if standard else variance)


def _outermost(low: FloatArray, high: FloatArray, factor: FloatArray, standard: bool) -> tuple[FloatArray, FloatArray]:
    """The least of r − c·s(r) and the greatest of r + c·s(r) between two rates."""
    with np.errstate(divide="ignore"):
        half = 0.5 / np.sqrt(1 + factor**2) if standard else 0.5 / factor
    # Not as 1 − r mirrored: a small rate would lose its digits.
    down, up = np.clip(0.5 - half, low, high), np.clip(0.5 + half, low, high)
    return down - factor * _spread(down, standard), up + factor * _spread(up, standard)


def _slack(low: FloatArray, high: FloatArray, factor: FloatArray, standard: bool) -> FloatArray:
    """Room for rounding; none where all labels are surely equal, since then nothing is rounded."""
    reach = factor * _spread(np.clip(0.5, low, high), standard)
    equal = ((low == 0) & (high == 0)) | ((low == 1) & (high == 1))
    return np.where(equal, 0.0, _QUANTILE * reach + _RATE)
