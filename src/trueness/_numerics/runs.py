"""Sums over runs of entries: in pieces that fit the processor's cache, and of nested partitions."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from trueness.typing import Ints


def whole_runs(first: Ints, size: int, step: int) -> list[tuple[slice, slice, Ints]]:
    """Cut `size` entries into pieces of about `step`, none of which splits a run.

    Runs begin at the entries `first`, strictly increasing from 0; a run longer than `step` is a
    piece of its own. For each piece: its entries, its runs, and where these begin, counted from the
    start of the piece.

    >>> for entries, runs, at in whole_runs(np.array([0, 1, 3, 9]), 11, 3):
    ...     print(entries, runs, at)
    slice(0, 3, None) slice(0, 2, None) [0 1]
    slice(3, 9, None) slice(2, 3, None) [0]
    slice(9, 11, None) slice(3, 4, None) [0]
    """
    last = np.append(first[1:], size)
    ends = np.searchsorted(last, np.arange(step, size + step, step), side="left") + 1
    large = np.flatnonzero(last - first > step)
    ends = np.unique(np.minimum(np.concatenate([ends, large, large + 1]), last.size))
    cuts = [0, *ends[ends > 0].tolist()]
    return [
        (slice(int(first[a]), int(last[b - 1])), slice(a, b), first[a:b] - first[a])
        for a, b in pairwise(cuts)
    ]


class NestedRuns:
    """Partitions of the same entries into runs, each of which refines the one before it.

    Each sum adds two sums that were needed before, so all partitions together cost one addition per
    entry. (`np.add.reduceat` along the first axis walks through memory column by column; adding
    pairs of whole rows is many times faster.)

    `partitions` are where the runs of each begin among `size` entries, the coarsest partition
    first.
    """

    def __init__(self, size: int, partitions: Sequence[Ints]) -> None:
        """Plan the sums of pairs from which the sum of each run of each partition follows.

        The finest partition comes last, and each run of one is made of runs of the next.
        """
        self.size = size
        self.steps: list[tuple[slice, Ints, Ints]] = []
        """For each step, the sums that it computes and the two terms of each."""
        self.nodes = size
        """Number of sums, including the entries themselves."""
        rows = []
        start = node = np.arange(size)
        for first in reversed(partitions):
            while start.size > first.size:
                start, node = self._join_pairs(first, start, node)
            rows.append(node)
        self.rows: list[Ints] = rows[::-1]
        """For each partition, the index of the sum of each run."""

    def _join_pairs(self, first: Ints, start: Ints, node: Ints) -> tuple[Ints, Ints]:
        """One step of the plan: join neighbouring runs in pairs, where both lie in one larger run.

        `first` are the entries at which the larger runs begin. `start` are those at which the
        present runs begin, and `node` the numbers of their sums. New sums are added to the plan.
        The result is `start` and `node` of the runs after this step, about half as many.
        """
        group = np.searchsorted(first, start, side="right")
        pairs = np.arange(start.size)
        rank = pairs - np.searchsorted(group, group)
        even = pairs[rank % 2 == 0]
        joined = np.append(group[1:], -1)[even] == group[even]
        left = even[joined]
        new = slice(self.nodes, self.nodes + left.size)
        self.steps.append((new, node[left], node[left + 1]))
        kept = node[even]
        kept[joined] = np.arange(new.start, new.stop)
        self.nodes = new.stop
        return start[even], kept

    def sums(self, values: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
        """All sums of the plan, for each column of `values`, of shape (size, columns).

        The result has `nodes` rows: the entries themselves first, then the sums of runs. Those of
        partition i are at `rows[i]`. The sums must fit `dtype`.
        """
        sums = np.empty((self.nodes, values.shape[1]), dtype=dtype)
        sums[: self.size] = values
        for into, left, right in self.steps:
            part = np.take(sums, left, axis=0, out=sums[into], mode="clip")
            part += np.take(sums, right, axis=0)
        return sums
