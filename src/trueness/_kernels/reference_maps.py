"""The kernels in NumPy that learn and apply maps of scores; a part of :mod:`trueness._kernels.reference`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.status import BAD_SCORE

__all__ = ["ranks", "venn_abers"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = NDArray[np.floating[Any]]


def ranks(edges: Floats, p: Scores) -> tuple[int, Ints]:
    r"""How many edges are not above each score.

    Parameters
    ----------
    edges : array of float64, shape (k,)
        Ascending; there may be none.
    p : array of float32 or float64, shape (n,)
        Scores.

    Returns
    -------
    status : int
        BAD_SCORE.
    rank : array of int64, shape (n,)
        From 0 to k.
    """
    # Comparisons with nan are false, so nan is a fault too.
    status = 0 if p.size == 0 or (p.min() >= 0 and p.max() <= 1) else BAD_SCORE
    return status, np.searchsorted(edges, p, "right").astype(np.int64, copy=False)


def venn_abers(corner_weight: Ints, corner_events: Ints, unit: int, *, mirrored: bool) -> tuple[Ints, Ints, Ints]:
    r"""The isotonic fit at every cell when one more event joins that cell.

    The corners of the cumulative sum diagram are :math:`P_i = (W_i, E_i)`, :math:`i = 0 \dots m`. When an event of
    weight `unit` joins cell j, the corners before it move to :math:`Q_i = P_i - (unit, unit)`, and the fitted value
    is the slope of the one edge of the lower hull that leads from some :math:`Q_a` to some :math:`P_b`. It never
    falls as j grows, so both ends of that edge only move to the right.

    Parameters
    ----------
    corner_weight, corner_events : arrays of int64, shape (m + 1,)
        W and E: zero, then the sums of weights and of events up to and with each cell. Neither they nor their
        difference fall. W + unit must stay below 2⁶³.
    unit : int
        The weight of the event, at least 1.
    mirrored : bool
        Look from the other end: cells and corners are counted from the right, and what is no event takes the place
        of events. This is the fit, from 1 downwards, when one more row joins that is no event.

    Returns
    -------
    first, left, right : arrays of int64, of one length
        For cells j from ``first[i]`` (counted from 1) up to ``first[i + 1]``, a and b are ``left[i]`` and
        ``right[i]``, and the value is (E_b − E_a + unit) / (W_b − W_a + unit).
    """
    if mirrored:
        corner_weight, corner_events = (x[-1] - x[::-1] for x in (corner_weight, corner_weight - corner_events))
    W, E = corner_weight.tolist(), corner_events.tolist()
    hull: list[int] = []
    for i in range(1, len(W)):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (E[b] - E[a]) * (W[i] - W[b]) < (E[i] - E[b]) * (W[b] - W[a]):
                break
            hull.pop()
        hull.append(i)
    found: list[tuple[int, int, int]] = []
    a, h, rise, run = 0, 0, 0, 0
    for j in range(1, len(W)):
        if j > 1 and (E[j - 1] - E[a]) * run >= rise * (W[j - 1] - W[a]):
            continue
        a = j - 1
        rise, run = E[hull[h]] - E[a] + unit, W[hull[h]] - W[a] + unit
        while h + 1 < len(hull) and rise * (W[hull[h + 1]] - W[hull[h]]) >= (E[hull[h + 1]] - E[hull[h]]) * run:
            h += 1
            rise, run = E[hull[h]] - E[a] + unit, W[hull[h]] - W[a] + unit
        found.append((j, a, hull[h]))
    first, left, right = np.array(found, np.int64).reshape(-1, 3).T.copy()
    return first, left, right
