"""`Sketch`: sums of bounded size for every measure."""

from __future__ import annotations

from trueness._tally.grid import GridCells
from trueness._tally.tally import Parts, Tally, tally_of_sums


class Sketch(Parts[GridCells]):
    """The sums of the rows in each of 7,684 fixed cells.

    Cells are fine near 0 and near 1: none is wider than 1/128 of the distance of its scores from
    the nearer end, down to 2⁻³¹. Memory is bounded whatever the number of rows. Sketches can be
    added; without weights they are identical for any order and any split of the rows.
    :func:`trueness.sketch` makes one.

    Every measure takes a sketch in place of labels and scores. Sums over whole cells are exact. The
    order of scores inside a cell is not kept: a measure sees all rows of a cell at their mean
    score, and its value is an approximation; ``docs/reference/sums.md`` lists the largest errors
    seen in experiments.

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
    _as_bins = GridCells.as_bins

    def as_tally(self) -> Tally:
        """The tally of rows at the mean score of their cell, without buckets of clusters."""
        return tally_of_sums(self)
