"""Sums over cells that decide a logistic regression on one predictor, and the area under the ROC curve, in NumPy."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = Floats | NDArray[np.int64]

# Cells whose temporaries stay in the processor's cache, and whose products are not worth a second thread to BLAS.
_BLOCK = 2**13


def line_sums(x: Floats, weight: Numbers, events: Numbers, slope: float, intercept: float, centre: float) -> Floats:
    r"""Score and Fisher information of the line of a logistic regression.

    Parameters
    ----------
    x : float64 array of shape (m,)
        The predictor of each cell.
    weight, events : arrays of shape (m,), both int64 or both float64
        Weight of the rows of each cell, and of its events.
    slope, intercept, centre : float
        The line: the log-odds are intercept + slope · (x − centre).

    Returns
    -------
    array of shape (5,)
        With q the probability on the line and z = x − centre: Σ(e − wq), Σ(e − wq)z, Σwq(1 − q), Σwq(1 − q)z,
        Σwq(1 − q)z².
    """
    sums = np.zeros(5)
    for i in range(0, x.size, _BLOCK):
        some = slice(i, i + _BLOCK)
        z = x[some] - centre
        eta = slope * z + intercept
        decay = np.exp(-np.abs(eta))
        share = 1 / (1 + decay)
        w, e = weight[some].astype(np.float64, copy=False), events[some].astype(np.float64, copy=False)
        residual = e - w * np.where(eta < 0, decay * share, share)
        spread = w * (decay * share * share)
        bent = spread * z
        sums += residual.sum(), residual @ z, spread.sum(), bent.sum(), bent @ z
    return sums


def placement_sums(weight: Numbers, events: Numbers, total: float, rest: float, area: float) -> Floats:
    r"""Sums of placements: shares of the other class below the score of an event, or above that of a non-event.

    Parameters
    ----------
    weight, events : arrays of shape (m,), both int64 or both float64
        Weight of the rows of each cell, in order of their scores, and of its events.
    total, rest : float
        Weight of all events, and of all non-events.
    area : float
        Where distances are measured from.

    Returns
    -------
    array of shape (3,)
        Sum of the placements of events, by weight; sums of the squared distances of the placements of events, and of
        non-events, from `area`. Ties count half.
    """
    sums, seen = np.zeros(3), np.zeros(2)
    for i in range(0, weight.size, _BLOCK):
        e = events[i : i + _BLOCK].astype(np.float64)
        o = weight[i : i + _BLOCK] - e
        events_through, others_through = np.cumsum(e) + seen[0], np.cumsum(o) + seen[1]
        seen[:] = events_through[-1], others_through[-1]
        below, above = (others_through - o / 2) / rest, 1 - (events_through - e / 2) / total
        sums += e @ below, e @ (below - area) ** 2, o @ (above - area) ** 2
    return sums
