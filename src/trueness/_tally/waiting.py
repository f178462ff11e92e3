"""`WaitingRows`: sums of small groups and buckets of a stream, split up only when needed.

A batch of a stream has few rows of each of many groups, or of each bucket of clusters. To add a
sketch for each costs more than to sort the rows once.
"""

import math
from typing import NamedTuple, Self

import numpy as np

from trueness._input.sample import Sample
from trueness._tally.bins import MOST_EXACT
from trueness._tally.buckets import RowClusters
from trueness._tally.grid import GridCells, PlacedCells
from trueness._tally.group_keys import Group
from trueness._tally.sketch import Sketch
from trueness.typing import Ints

FEW_ROWS = 1000
"""Groups or buckets of fewer rows, on average, are summed faster by one sort than one by one."""


class WaitingRows(NamedTuple):
    """Unweighted rows with one score each, in sketches by group and bucket.

    They are added to the sums of the groups, of which only the counts are known here.
    """

    groups: dict[Group, int]
    """The number of each group."""
    buckets: int
    """Of each group; 1 without clusters."""
    cells: tuple[PlacedCells, ...]
    """Of each place: the number of the group times `buckets`, plus that of the bucket."""
    rows: Ints
    """Of each group and bucket, with those of the sums that they are added to; shape (G, B)."""
    largest: Ints
    """The size of the largest cluster of each group, or more."""

    @classmethod
    def beside(cls, sums: dict[Group, Sketch], buckets: int | None) -> Self | None:
        """No rows yet, beside the sums of earlier ones; None if these are of another kind."""
        rows = np.zeros((len(sums), buckets or 1), dtype=np.int64)
        largest = np.zeros(len(sums), dtype=np.int64)
        for i, sketch in enumerate(sums.values()):
            parts = sketch.parts if sketch.buckets is None else sketch.buckets.parts
            is_counted = all(part.table is not None and part.squares is None for part in parts)
            if sketch.kind != "binary" or not is_counted:
                return None
            rows[i] = [part.count.sum() for part in parts]
            largest[i] = sketch.largest_cluster or 0
        return cls({key: i for i, key in enumerate(sums)}, buckets or 1, (), rows, largest)

    @property
    def n(self) -> int:
        """Rows, with those of the sums that they are added to."""
        return int(self.rows.sum())

    def plus(
        self, sample: Sample, found: list[tuple[Group, Ints]], clusters: RowClusters | None
    ) -> Self | None:
        """With a batch, whose rows are `found` by group; None if the integers might overflow.

        A bad value raises.
        """
        if self.n + sample.n > MOST_EXACT:
            return None
        groups = dict(self.groups)
        of_row = np.zeros(sample.n, dtype=np.int64)
        for key, at in found:
            of_row[at] = groups.setdefault(key, len(groups))
        place = of_row * self.buckets
        if clusters is not None:
            place += clusters.bucket[clusters.code]
        cells = [*self.cells, PlacedCells.of_rows(sample, place)]
        # Sums of like size are added first.
        while len(cells) > 1 and cells[-2].key.size <= 2 * cells[-1].key.size:
            last = cells.pop()
            cells[-1] = cells[-1].plus(last)
        shape = (len(groups), self.buckets)
        rows = np.bincount(place, minlength=math.prod(shape)).reshape(shape)
        rows[: len(self.groups)] += self.rows
        largest = np.zeros(len(groups), dtype=np.int64)
        largest[: len(self.groups)] = self.largest
        if clusters is not None:
            largest += _largest_clusters(of_row, clusters.code, len(groups))
            largest = np.minimum(largest, rows.max(axis=1))
        return self._replace(groups=groups, cells=tuple(cells), rows=rows, largest=largest)

    def added_to(self, sums: dict[Group, Sketch]) -> dict[Group, Sketch]:
        """The sketches of each group with the rows that wait here added; `sums` stays as it is.

        Each group has one sketch, or one for each of its `buckets` of clusters, made from the cells
        that were summed so far. Groups without rows are left out. `largest` is the number of rows
        of the largest cluster over all batches, which a sum of sketches would only bound.
        """
        total = self.cells[0]
        for cells in self.cells[1:]:
            total = total.plus(cells)
        grids = dict(total.grids())
        added = dict(sums)
        has_buckets = self.buckets > 1
        none = GridCells.empty()
        for key, i in self.groups.items():
            places = range(i * self.buckets, (i + 1) * self.buckets)
            parts = [Sketch("binary", (grids.get(place, none),)) for place in places]
            piece = Sketch.of_buckets(parts, int(self.largest[i])) if has_buckets else parts[0]
            if not piece.n:
                continue
            whole = added[key] + piece if key in added else piece
            if has_buckets and whole.buckets is not None:
                of_bucket = whole.buckets._replace(largest=int(self.largest[i]))
                whole = Sketch("binary", whole.parts, None, of_bucket)
            added[key] = whole
        return added


def _largest_clusters(group: Ints, cluster: Ints, n_groups: int) -> Ints:
    """The rows of the largest cluster of each group."""
    pair, count = np.unique(group * (int(cluster.max()) + 1) + cluster, return_counts=True)
    largest = np.zeros(n_groups, dtype=np.int64)
    np.maximum.at(largest, pair // (int(cluster.max()) + 1), count)
    return largest
