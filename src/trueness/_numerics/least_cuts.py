"""The partition of ordered cells with the least total error among those whose rates do not fall."""

from collections.abc import Callable
from typing import Any

import numpy as np

from trueness.typing import Floats, Ints, Numbers

__all__ = ["least_cuts"]


def least_cuts(weight: Numbers, events: Numbers, error: Callable[[Any, Any], Any]) -> Ints:
    """The first cell of each bin of the partition with the least sum of weight · error.

    The error is a function of events and weight.

    Rates must not fall from bin to bin. Dynamic programming: all pairs of a first and a last cell
    are looked at once. If several partitions are as good, bins are as long as they can be, from the
    last one on.
    """
    size = weight.size
    weights = np.concatenate([[0], np.cumsum(weight)])
    sums = np.concatenate([[0], np.cumsum(events)])
    # For the cells before `end`, with a last bin from `start` on: the least sum, and where the bin
    # before begins.
    lowest_cost = np.full((size, size + 1), np.inf)
    before = np.zeros((size, size + 1), dtype=np.int64)
    for start in range(size):
        n = weights[start + 1 :] - weights[start]
        k = sums[start + 1 :] - sums[start]
        cost = n * error(k, n)
        if start == 0:
            lowest_cost[0, 1:] = cost
            continue
        earlier_rate = (sums[start] - sums[:start]) / (weights[start] - weights[:start])
        order = np.argsort(earlier_rate, kind="stable")
        earlier = lowest_cost[order, start]
        lowest = np.minimum.accumulate(earlier)
        # The bin before may be any of those whose rate is not above this one's.
        allowed = np.searchsorted(earlier_rate[order], k / n, side="right")
        last = np.maximum(allowed, 1) - 1
        lowest_cost[start, start + 1 :] = np.where(allowed > 0, cost + lowest[last], np.inf)
        before[start, start + 1 :] = _first_of_lowest(earlier, lowest, order)[last]
    return _trace(before.astype(np.int64, copy=False), int(np.argmin(lowest_cost[:, size])))


def _first_of_lowest(values: Floats, lowest: Floats, start: Ints) -> Ints:
    """The smallest start with the lowest value so far: the fewest bins among equal cuts."""
    beyond = start.size + 1
    steps_down = np.append(0, np.cumsum(lowest[1:] < lowest[:-1]))
    # A new lowest value forgets the starts before it, because it subtracts more than any start.
    ranked = np.where(values == lowest, start, start.size) - steps_down * beyond
    return np.asarray(np.minimum.accumulate(ranked) + steps_down * beyond)


def _trace(before: Ints, start: int) -> Ints:
    """The first entries of all bins of the best partition, ascending.

    `before[start, end]` is where the bin begins that precedes the bin from `start` to `end`;
    `start` is that of the last bin.
    """
    starts = [start]
    end = before.shape[0]
    while start > 0:
        start, end = int(before[start, end]), start
        starts.append(start)
    return np.array(starts[::-1], dtype=np.int64)
