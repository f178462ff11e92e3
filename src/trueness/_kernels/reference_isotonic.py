"""Isotonic fits and step functions in NumPy; a part of :mod:`trueness._kernels.reference`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._kernels.library import BAD_SCORE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = NDArray[np.floating[Any]]


def pava(weight: NDArray[Any], events: NDArray[Any]) -> Ints:
    """Pool adjacent violators: the first cell of each block of the isotonic fit of events / weight.

    Weights > 0 and sums of labels are in ascending order of score. Neighbouring blocks are pooled while the mean on the
    left is not below the mean on the right; means are compared as fractions (int64) or as float64 quotients.
    """
    exact = weight.dtype == np.int64
    starts: list[int] = []
    weights: list[Any] = []
    sums: list[Any] = []
    for i, (w, e) in enumerate(zip(weight.tolist(), events.tolist(), strict=True)):
        starts.append(i)
        weights.append(w)
        sums.append(e)
        while len(starts) > 1 and _not_below(sums[-2], weights[-2], sums[-1], weights[-1], exact):
            starts.pop()
            w, e = weights.pop(), sums.pop()
            weights[-1] += w
            sums[-1] += e
    return np.array(starts, np.int64)


def block_pava(count: Ints, events: Ints, n_min: int, n_max: int) -> Ints:
    r"""Pool adjacent violators into blocks of limited size.

    Tie groups are pushed one by one and pooled as by Algorithm 2 of Matsubara et al. (2023); the groups that
    are not wholly inside the first N − n_min rows form the tail, which joins the last block or stands alone.
    Groups are never split, so the limits hold up to one group; a block that would stay below
    n_min joins its right neighbour, or its left one where the right is above n_max and the left has room. If
    n_max < 2 n_min − 1, the last block before the tail may stay below n_min, as in the published algorithm.

    `count` and `events` are those of each tie group, in ascending order of score; the first cell of each block is
    returned.
    """
    before_tail = int(count.sum()) - n_min
    head = int(np.searchsorted(np.cumsum(count), before_tail, "right"))
    starts: list[int] = []
    sizes: list[int] = []
    sums: list[int] = []

    def push(start: int, size: int, total: int) -> None:
        starts.append(start)
        sizes.append(size)
        sums.append(total)

    def merge(left: int) -> None:
        sizes[left] += sizes.pop(left + 1)
        sums[left] += sums.pop(left + 1)
        starts.pop(left + 1)

    def left_has_room() -> bool:
        return sizes[-1] > n_max and len(starts) > 2 and sizes[-3] + sizes[-2] <= n_max

    for i in range(head):
        push(i, int(count[i]), int(events[i]))
        while len(starts) > 1:
            left, right = sizes[-2:]
            both = left + right
            if both <= n_min or (both <= n_max and sums[-2] * right >= sums[-1] * left):
                merge(len(starts) - 2)
            elif left >= n_min:
                break
            elif left_has_room():
                merge(len(starts) - 3)
                break
            else:
                merge(len(starts) - 2)

    if head < count.size:
        push(head, int(count[head:].sum()), int(events[head:].sum()))
        if len(starts) > 1:
            if sizes[-2] + sizes[-1] <= n_max:
                merge(len(starts) - 2)
            elif sizes[-2] < n_min and n_max >= 2 * n_min - 1:
                merge(len(starts) - (3 if left_has_room() else 2))
    return np.array(starts, np.int64)


def _not_below(left_sum: Any, left: Any, right_sum: Any, right: Any, exact: bool) -> bool:
    if exact:
        return bool(left_sum * right >= right_sum * left)
    return bool(left_sum / left >= right_sum / right)


def venn_abers(corner_weight: Ints, corner_events: Ints, unit: int) -> tuple[Ints, Ints]:
    r"""The isotonic fit at every cell when one more row joins that cell: as an event, and as none.

    The corners of the cumulative sum diagram are :math:`P_i = (W_i, E_i)`, :math:`i = 0 \dots m`. When an event of
    weight `unit` joins cell j, the corners before it move to :math:`Q_i = P_i - (unit, unit)`, and the fitted value
    is the slope of the bridge, the one edge of the lower hull that leads from some :math:`Q_a` to some :math:`P_b`. It
    never falls as j grows, so both ends of the bridge only move to the right.

    W and E are zero, then the sums of weights and of events up to and with each cell; neither they nor their difference
    fall, `unit` is at least 1, and W + unit must stay below 2⁶³. Returned are the bridges, each with rows `first`, a
    and b: in cells j from ``first[i]`` (counted from 1) up to ``first[i + 1]`` the bridge leads from ``a[i]`` to
    ``b[i]``, and the value is (E_b − E_a + unit) / (W_b − W_a + unit). The second array is the same seen in a mirror:
    cells and corners are counted from the right, and what is no event takes the place of events; 1 − value is the fit
    when the row is no event.
    """
    hull = _lower_hull(corner_weight.tolist(), corner_events.tolist())
    turned = [corner_weight.size - 1 - i for i in reversed(hull)]
    W, N = (x[-1] - x[::-1] for x in (corner_weight, corner_weight - corner_events))
    with_event = _bridges(corner_weight.tolist(), corner_events.tolist(), hull, unit)
    return with_event, _bridges(W.tolist(), N.tolist(), turned, unit)


def _lower_hull(W: list[int], E: list[int]) -> list[int]:
    hull: list[int] = []
    for i in range(len(W)):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (E[b] - E[a]) * (W[i] - W[b]) < (E[i] - E[b]) * (W[b] - W[a]):
                break
            hull.pop()
        hull.append(i)
    return hull


def _bridges(W: list[int], E: list[int], hull: list[int], unit: int) -> Ints:
    found: list[tuple[int, int, int]] = []
    a, b, h = 0, 0, 0
    for j in range(1, len(W)):
        if j > 1 and (E[j - 1] - E[a]) * (W[b] - W[a] + unit) >= (E[b] - E[a] + unit) * (W[j - 1] - W[a]):
            continue
        a = j - 1
        while h + 1 < len(hull):
            c = hull[h + 1]
            if (E[b] - E[a] + unit) * (W[c] - W[b]) < (E[c] - E[b]) * (W[b] - W[a] + unit):
                break
            b, h = c, h + 1
        found.append((j, a, b))
    return np.array(found, np.int64).reshape(-1, 3).T.copy()


def ranks(edges: Floats, p: Scores) -> tuple[int, Ints]:
    """Status (BAD_SCORE), and the number of ascending edges, perhaps none, that are not above each score."""
    # Comparisons with nan are false, so nan is a fault too.
    status = 0 if p.size == 0 or (p.min() >= 0 and p.max() <= 1) else BAD_SCORE
    return status, np.searchsorted(edges, p, "right").astype(np.int64, copy=False)


def steps(edges: Floats, values: Floats, p: Scores) -> tuple[int, Floats]:
    """Status (BAD_SCORE), and a step function of the scores: its values below the first edge, and from each edge on."""
    status, rank = ranks(edges, p)
    return status, values[rank]
