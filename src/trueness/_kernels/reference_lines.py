"""Log-odds, and the sums that decide a logistic regression on them, in NumPy and in whole numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.reference_losses import minus_log
from trueness._kernels.reference_softmax import _exp

__all__ = ["cell_line_sums", "logits", "row_line_sums"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 16_384
# Bits after the point of each sum; terms are below 2⁴⁴ for log-odds that are at most 1024 apart, as all of scores are.
_BITS = (44, 34, 44, 36, 26)
_HALF = 2**22


def logits(p: NDArray[np.floating[Any]]) -> Floats:
    """Log-odds of scores in [0, 1]; off by at most two units in the last place of the larger logarithm."""
    found = np.empty(p.size)
    for i in range(0, p.size, _CHUNK):
        score = p[i : i + _CHUNK].astype(np.float64)
        other = 1 - score
        odds = minus_log(other, (1 - other) - score) - minus_log(score, np.zeros_like(score))
        found[i : i + _CHUNK] = np.select([score == 0, score == 1], [-np.inf, np.inf], odds)
    return found


def row_line_sums(x: Floats, y: NDArray[Any], slope: float, intercept: float, centre: float) -> Ints:
    r"""Score and Fisher information of the line of a logistic regression, the same for any order of the rows.

    Parameters
    ----------
    x : float64 array of shape (n,)
        The log-odds of each row's score, less than 1024 from the centre.
    y : array of shape (n,)
        Labels 0 or 1.
    slope, intercept, centre : float
        The line: the log-odds are intercept + slope · (x − centre).

    Returns
    -------
    array of int64, shape (5, 2)
        With q the probability on the line and z = x − centre: Σ(y − q), Σ(y − q)z, Σq(1 − q), Σq(1 − q)z,
        Σq(1 − q)z², each as 2²²·[k, 0] + [k, 1] in units of 2⁻⁴⁴, 2⁻³⁴, 2⁻⁴⁴, 2⁻³⁶ and 2⁻²⁶.
    """
    sums = np.zeros((5, 2), np.int64)
    for i in range(0, x.size, _CHUNK):
        label = y[i : i + _CHUNK].astype(np.float64)
        _add(sums, x[i : i + _CHUNK], label, np.ones(label.size, np.int64), slope, intercept, centre)
    return sums


def cell_line_sums(x: Floats, weight: Ints, events: Ints, slope: float, intercept: float, centre: float) -> Ints:
    """The sums of :func:`row_line_sums` over cells; weights are whole numbers that sum to at most 2³⁵.

    The halves of a sum may be others than those of the rows; what they make together is the same.
    """
    sums = np.zeros((5, 2), np.int64)
    for i in range(0, x.size, _CHUNK):
        some = slice(i, i + _CHUNK)
        for label, w in enumerate((weight[some] - events[some], events[some])):
            _add(sums, x[some], np.full(w.size, float(label)), w, slope, intercept, centre)
    return sums


def _add(sums: Ints, x: Floats, y: Floats, w: Ints, slope: float, intercept: float, centre: float) -> None:
    z = x - centre
    eta = slope * z + intercept
    decay = _exp(-np.abs(eta))
    share = 1 / (1 + decay)
    residual = y - np.where(eta < 0, decay * share, share)
    spread = decay * share * share
    bent = spread * z
    for k, term in enumerate((residual, residual * z, spread, bent, bent * z)):
        whole = np.rint(term * 2.0 ** _BITS[k]).astype(np.int64)
        lower = whole & (_HALF - 1)
        sums[k] += (whole - lower) // _HALF @ w, lower @ w
