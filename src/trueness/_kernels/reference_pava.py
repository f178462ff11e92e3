"""Pooling of adjacent violators in NumPy; a part of :mod:`trueness._kernels.reference`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["block_pava", "pava"]

Ints = NDArray[np.int64]


def pava(weight: NDArray[Any], events: NDArray[Any]) -> Ints:
    r"""Pool adjacent violators: the blocks of the isotonic fit of events / weight.

    Neighbouring blocks are pooled while the mean on the left is not below the mean on the right.

    Parameters
    ----------
    weight, events : arrays of int64, or of float64, shape (m,)
        Weights > 0 and sums of labels, in ascending order of score.

    Returns
    -------
    array of int64
        The first cell of each block. The blocks' means increase strictly: as fractions for integers,
        as float64 quotients for floats.
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
    n_min joins its right neighbour, or its left one where the right is above n_max and the left has room.

    Parameters
    ----------
    count, events : arrays of int64, shape (m,)
        Rows and events of each tie group, in ascending order of score.
    n_min, n_max : int
        Least and largest number of rows in a block.

    Returns
    -------
    array of int64
        The first cell of each block.
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
            elif sizes[-2] < n_min:
                merge(len(starts) - (3 if left_has_room() else 2))
    return np.array(starts, np.int64)


def _not_below(left_sum: Any, left: Any, right_sum: Any, right: Any, exact: bool) -> bool:
    if exact:
        return bool(left_sum * right >= right_sum * left)
    return bool(left_sum / left >= right_sum / right)
