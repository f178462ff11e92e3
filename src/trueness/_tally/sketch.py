"""`Sketch`: sums of bounded size for every measure."""

from __future__ import annotations

from trueness._tally.bins import Bins
from trueness._tally.buckets import Buckets, starts_in
from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule, BinsLike, Distinct, Groups, as_rule
from trueness._tally.tally import Binned, Parts, Tally, edges_of, needs_row_order
from trueness.errors import InputError


class Sketch(Parts[GridCells]):
    """The sums of the rows in each of 7,684 fixed cells.

    Cells are fine near 0 and near 1: none is wider than 1/128 of the distance of its scores from the nearer end, down
    to 2⁻³¹. Memory is bounded whatever the number of rows. Sketches can be added; without weights they are identical
    for any order and any split of the rows. :func:`trueness.sketch` makes one.

    Every measure takes a sketch in place of labels and scores. Sums over whole cells are exact. The order of scores
    inside a cell is not kept: a measure sees all rows of a cell at their mean score, and its value is an approximation;
    the guide to sketches lists the largest errors seen in experiments.

    Examples
    --------
    >>> import trueness as tn
    >>> monday, tuesday = tn.sketch([0, 1], [0.2, 0.7]), tn.sketch([1, 1], [0.7, 0.9])
    >>> monday + tuesday
    Sketch(binary, 4 rows, 3 cells)
    >>> tn.brier(monday + tuesday) == tn.brier([0, 1, 1, 1], [0.2, 0.7, 0.7, 0.9])
    True
    """

    __slots__ = ()

    def coarsen(self, bins: BinsLike) -> Binned:
        """Sum the cells of each bin; a cell that an edge cuts goes whole to the bin of its mean score."""
        rule = check_sketch_rule(as_rule(bins))

        def bins_of(part: GridCells) -> Bins:
            return part.as_bins(rule.group(part.at_means())) if part.size else Bins.empty(edges_of(rule))

        buckets: Buckets[Bins] | None = None
        if self.buckets is not None and self.parts[0].size:
            edges, start = rule.group(self.parts[0].at_means())
            starts = starts_in(self.buckets, self.parts[0].cell, start, "cell")
            made = (part.as_bins(Groups(edges, s)) for part, s in zip(self.buckets.parts, starts, strict=True))
            buckets = Buckets(tuple(made), self.buckets.largest)
        return Binned(self.kind, tuple(map(bins_of, self.parts)), self.classes, buckets)

    def as_tally(self) -> Tally:
        """The tally of rows that lie at the mean score of their cell, without buckets of clusters."""
        return Tally(self.kind, tuple(part.at_means() for part in self.parts), self.classes)


def check_sketch_rule(rule: BinRule) -> BinRule:
    """The rule, unless a sketch does not keep what it needs."""
    if isinstance(rule, Distinct):
        demand = "`Distinct()` bins need every distinct score, which a sketch does not keep"
        raise InputError("", demand, remedy="Pass a Tally.")
    if rule.splits_ties:
        raise needs_row_order("sketch")
    return rule
