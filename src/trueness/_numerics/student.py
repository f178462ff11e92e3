"""One-sample t test of a bin's labels against each of its scores."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

__all__ = ["rejected_t"]

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]


def rejected_t(
    k: ArrayLike,
    n: ArrayLike,
    starts: ArrayLike,
    scores: ArrayLike,
    alpha: float,
    *,
    deviation: Literal["standard", "variance"] = "standard",
) -> BoolArray:
    r"""
    Which of the scores in a bin a t test on the bin's labels rejects as its rate.

    Parameters
    ----------
    k, n : array-like, shape (B,)
        Events and rows of each bin; real numbers are allowed, such as effective counts.
    starts : array-like of int, shape (B,)
        Where the scores of each bin begin; those of the last bin end with ``scores``.
    scores : array-like of float, shape (m,)
        Scores in [0, 1].
    alpha : float
        Level of the test, between 0 and 1.
    deviation : {'standard', 'variance'}, default 'standard'
        What the difference is divided by. 'variance' is what the code published with the test-based
        calibration error does, to reproduce its tables; it is no test of level ``alpha``: it takes
        :math:`r (1 - r)` for :math:`s`, and rejects everything where that is 0.

    Returns
    -------
    ndarray of bool, shape (m,)
        Whether the two-sided p-value is at most ``alpha``. A bin whose labels are all equal rejects every
        score but its rate; a bin of one row, or none, rejects nothing.

    Notes
    -----
    With rate :math:`r = k / n`, score :math:`p` is rejected if

    .. math:: |r - p| \sqrt{n} \ge t_{n-1, 1-\alpha/2} \, s, \qquad s^2 = r (1 - r) \frac{n}{n - 1} .

    Examples
    --------
    >>> rejected_t([3], [10], [0], [0.1, 0.3, 0.7], 0.05).tolist()
    [False, False, True]
    """
    scores = np.asarray(scores, np.float64)
    k, n = np.asarray(k, np.float64), np.asarray(n, np.float64)
    rate, reach = _accepted(k, n, alpha) if deviation == "standard" else _accepted_by_code(k, n, alpha)
    sizes = np.diff(np.append(np.asarray(starts, np.int64), scores.size))
    distance = np.abs(np.repeat(rate, sizes) - scores)
    rejected = distance >= np.repeat(reach, sizes)
    return np.asarray(rejected & (distance > 0) if deviation == "standard" else rejected)


def _accepted(k: FloatArray, n: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Rate of each bin, and the distance from it at which rejection begins."""
    testable = n > 1
    n = np.where(testable, n, 2.0)
    rate = k / n
    spread = np.sqrt(rate * (1 - rate) * n / (n - 1))
    reach = -stdtrit(n - 1, alpha / 2) * spread / np.sqrt(n)
    return np.where(testable, rate, 0.5), np.where(testable, reach, np.inf)


def _accepted_by_code(k: FloatArray, n: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    n = np.maximum(n, 1.0)
    rate = k / n
    spread = rate * (1 - rate)
    # Of one row, and of equal labels, the code rejects even the rate itself.
    reach = -stdtrit(np.maximum(n - 1, 1.0), alpha / 2) * spread / np.sqrt(n)
    return rate, reach
