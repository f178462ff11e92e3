"""`Sketch`: sums of bounded size that serve every measure, within bounds that can be stated."""

from __future__ import annotations

from trueness._tally.bins import Bins
from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule, BinsLike, BlockIsotonic, Distinct, as_rule
from trueness._tally.tally import Binned, Parts, Tally, edges_of
from trueness.errors import InputError

__all__ = ["Sketch", "served"]


class Sketch(Parts[GridCells]):
    """The sums of the rows in each of 7,684 cells, which the data do not move.

    Cells are fine near 0 and near 1: none is wider than 1/128 of the distance of its scores from the nearer end,
    down to 2⁻³¹. Memory is bounded whatever the number of rows; sketches add; without weights they are the
    same bits for any order and any split of the rows. :func:`trueness.sketch` makes one.

    Every measure takes a sketch in place of labels and scores. Sums over whole cells are exact; what depends on the
    order of scores inside a cell is not known, and a measure then sees all rows of the cell at their mean score:
    its value is an approximation. :func:`trueness.bounded` says how far the value of the rows can be from it.

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
        """Sum the cells of each bin; a cell that an edge cuts goes whole to the bin of its mean score.

        Parameters
        ----------
        bins : int, sequence of edges or bin rule

        Returns
        -------
        Binned
        """
        rule = served(as_rule(bins))
        parts = (
            part.as_bins(rule.group(part.as_cells())) if part.size else Bins.empty(edges_of(rule))
            for part in self.parts
        )
        return Binned(self.kind, tuple(parts), self.classes)

    def pooled(self) -> Tally:
        """The tally of rows that lie at the mean score of their cell.

        Returns
        -------
        Tally
        """
        return Tally(self.kind, tuple(part.as_cells() for part in self.parts), self.classes)

    def __repr__(self) -> str:
        return f"Sketch({self.kind}, {self.n:,} rows, {sum(part.size for part in self.parts):,} cells)"


def served(rule: BinRule) -> BinRule:
    """The rule, unless it asks for what a sketch has not kept."""
    if isinstance(rule, Distinct):
        raise InputError("`Distinct()` bins need every distinct score, which a sketch does not keep; pass a Tally.")
    if isinstance(rule, BlockIsotonic) and rule.ties == "split":
        raise InputError('`ties="split"` needs the rows in order; a sketch has none. Pass `y_true` and `y_prob`.')
    return rule
