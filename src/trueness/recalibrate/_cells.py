"""Checked rows as cells: one per distinct score, so that ties cannot be split."""

from trueness._input.sample import Sample
from trueness._tally.cells import Cells
from trueness._tally.rows import cells_of_rows
from trueness.recalibrate._rows import Rows

__all__ = ["cells_of"]


def cells_of(rows: Rows) -> Cells:
    """The sums of the rows that share a score, in ascending order of score."""
    return cells_of_rows(Sample(rows.y, rows.p, rows.w))
