"""Which bins the rows of a cell may lie in, and sums over the cells that surely, or possibly, lie in a bin."""

from typing import NamedTuple

import numpy as np

from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule, EqualMass
from trueness.measure._cuts import Range, spread_of
from trueness.measure._mass_cuts import doubt_of, mass_cuts
from trueness.typing import Bools, Floats, Ints, Numbers

__all__ = ["ROUNDING_OF_SUMS", "Apart", "Places", "apart", "places"]

ROUNDING_OF_SUMS = 2.0**-40
"""Above what rounding does to sums of floats, relative to their weight, unless rows are very many."""


class Places(NamedTuple):
    """Pairs of a cell and a bin that rows of it may lie in, cell by cell."""

    cell: Ints
    bin: Ints
    start: Ints
    """Where the pairs of each cell begin."""
    alone: Bools
    """Of each pair, whether the cell has no other bin."""
    n_bins: int

    def surely(self, of_pairs: Numbers) -> Floats:
        """Sums over the cells that lie in each bin whole."""
        return _added(self.bin[self.alone], of_pairs[self.alone], self.n_bins)

    def possibly(self, of_pairs: Numbers) -> Floats:
        """Sums over the cells that have, or may have, rows in each bin."""
        return _added(self.bin, of_pairs, self.n_bins)

    def limits(self, low: Numbers, high: Numbers) -> Range:
        """Limits of the sums of bins of something not negative, from its limits in whole cells."""
        return Range(self.surely(low[self.cell]), self.possibly(high[self.cell]))

    def between(self, whole: Floats, low: Floats, high: Floats) -> Range:
        """Limits of the sums of bins, from the sums of cells and, for cells that are cut, the limits of a part."""
        sure, cut = self.surely(whole[self.cell]), ~self.alone
        own = (_added(self.bin[cut], end[self.cell[cut]], self.n_bins) for end in (low, high))
        return Range(*(sure + end for end in own))


class Apart(NamedTuple):
    """Limits of the sums of bins from the cells that lie in them or may, whatever the other bins are."""

    weight: Range
    excess: Range
    room: float
    """What rounding may do to a sum over all rows."""
    whole: bool
    """Whether weights are whole numbers, so that their sums are exact."""


def places(part: GridCells, rule: BinRule) -> Places:
    """All pairs, for bins of equal mass or of fixed edges."""
    first, last, n_bins = _bins_of_cells(part, rule)
    number = last - first + 1
    start = np.cumsum(number) - number
    cell = np.repeat(np.arange(part.size), number)
    bin_ = np.arange(cell.size) + np.repeat(first - start, number)
    return Places(cell, bin_, start, (number == 1)[cell], n_bins)


def apart(part: GridCells, rule: BinRule) -> Apart:
    """The same for weights and excess, with room for rounding."""
    cells, found = spread_of(part), places(part, rule)
    weight = np.asarray(part.weight, dtype=np.float64)
    weights = found.between(weight, np.zeros(part.size), weight)
    excess = found.between(cells.excess, -cells.sum_score[:, 0], cells.n[:, 1] - cells.sum_score[:, 1])
    off = ROUNDING_OF_SUMS if part.exact else doubt_of(part, ROUNDING_OF_SUMS)
    around = weights.high * off
    weights = weights if part.exact else Range(weights.low - around, weights.high + around)
    room = float(weight.sum()) * (part.size * 2.0**-52 if part.exact else off)
    return Apart(weights, Range(excess.low - around, excess.high + around), room, part.exact)


def _bins_of_cells(part: GridCells, rule: BinRule) -> tuple[Ints, Ints, int]:
    """The first and the last bin that rows of each cell can lie in, and how many bins there are."""
    if isinstance(rule, EqualMass):
        cuts = mass_cuts(part, rule)
        every = np.arange(part.size)
        surely, possibly = (np.searchsorted(np.sort(at), every, side="left") for at in (cuts.last, cuts.first))
        # A cut that may take all of its cell may leave nothing of it to the bin above; one that must, does.
        within = np.bincount(cuts.first[~cuts.whole], minlength=part.size)
        return surely, possibly + within, cuts.first.size + 1
    edges = rule.fixed_edges
    assert edges is not None
    return _place(edges, part.low), _place(edges, part.high), edges.size - 1


def _added(bin_: Ints, of_pairs: Numbers, n_bins: int) -> Floats:
    return np.asarray(np.bincount(bin_, of_pairs, minlength=n_bins), dtype=np.float64)


def _place(edges: Floats, score: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, score, side="right") - 1, 0, edges.size - 2)
