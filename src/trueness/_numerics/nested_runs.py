"""Sums over runs of entries, and over runs of those runs, for many columns at once.

`np.add.reduceat` along the first axis goes through memory column by column; pairs of whole rows are added many times
faster.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from trueness.typing import Ints

__all__ = ["NestedRuns"]


class NestedRuns:
    """Partitions of the same entries into runs, each of which refines the one before it.

    A run is the sum of two, which were needed before: so all partitions together cost one addition per entry, and a
    run that several partitions share is added once.

    Parameters
    ----------
    size : int
        Entries.
    partitions : sequence of int arrays
        Where the runs of each partition begin, the coarsest partition first.
    """

    def __init__(self, size: int, partitions: Sequence[Ints]) -> None:
        self.size = size
        self.steps: list[tuple[slice, Ints, Ints]] = []
        """For each step the sums that it makes, and the two that each of them adds."""
        self.nodes = size
        """Sums in all, the entries themselves among them."""
        found = []
        start = node = np.arange(size)
        for first in reversed(partitions):
            while start.size > first.size:
                start, node = self._halved(first, start, node)
            found.append(node)
        self.rows: list[Ints] = found[::-1]
        """Of each partition, which sum is that of each run."""

    def _halved(self, first: Ints, start: Ints, node: Ints) -> tuple[Ints, Ints]:
        """Join every second run with its neighbour, where both belong to one run of the partition."""
        group = np.searchsorted(first, start, side="right")
        at = np.arange(start.size)
        rank = at - np.searchsorted(group, group)
        even = at[rank % 2 == 0]
        joined = np.append(group[1:], -1)[even] == group[even]
        left = even[joined]
        made = slice(self.nodes, self.nodes + left.size)
        self.steps.append((made, node[left], node[left + 1]))
        kept = node[even]
        kept[joined] = np.arange(made.start, made.stop)
        self.nodes = made.stop
        return start[even], kept

    def sums(self, values: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
        """All sums of each column of `values`, of shape (size, columns): those of the entries first.

        They must fit into `dtype`.
        """
        sums = np.empty((self.nodes, values.shape[1]), dtype=dtype)
        sums[: self.size] = values
        for into, left, right in self.steps:
            part = np.take(sums, left, axis=0, out=sums[into], mode="clip")
            part += np.take(sums, right, axis=0)
        return sums
