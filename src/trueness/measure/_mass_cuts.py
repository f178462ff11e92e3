"""Where cuts of equal mass fall among the cells of a sketch, whatever the weights.

With whole-number weights the cell of a cut is known. Other weights add up within rounding only, and a cut that falls on
the end of a cell as far as that can tell may lie there, or after the first score of the next cell.
"""

from typing import NamedTuple

import numpy as np

from trueness._tally.grid_cells import GridCells
from trueness._tally.rules import EqualMass
from trueness.measure._cuts import Cuts, Range, Spread, _lowest, _stacked, cells_cut, spread_of
from trueness.typing import Bools, Floats, Ints

__all__ = ["DOUBT", "MassCuts", "at_float_masses", "mass_cuts"]

DOUBT = 2.0**-36
"""Above what sums of floats are off by, relative to the weight of all rows."""


class MassCuts(NamedTuple):
    """For each cut, the cells that it may fall in."""

    first: Ints
    last: Ints
    least: Floats
    """How much of the first cell lies below, at least."""
    whole: Bools
    """Whether all of the first cell lies below."""


def mass_cuts(part: GridCells, rule: EqualMass) -> MassCuts:
    """The cells that each cut of equal mass may fall in."""
    weight, tied = np.asarray(part.weight), np.asarray(part.low == part.high)
    if part.exact:
        at, rows = cells_cut(part, rule)
        return MassCuts(at, at, rows, (rows >= weight[at]) | tied[at])
    reached = np.cumsum(weight)
    units, doubt = np.arange(1, rule.n) * reached[-1] / rule.n, DOUBT * reached[-1]
    first, last = (np.minimum(np.searchsorted(reached, units + d, side="left"), part.size - 1) for d in (-doubt, doubt))
    least = np.maximum(units - doubt - (reached - weight)[first], 0)
    return MassCuts(first, last, np.asarray(least, dtype=np.float64), tied[first])


def at_float_masses(part: GridCells, rule: EqualMass) -> Cuts:
    """Limits of the sums below cuts of equal mass, for weights that are not whole numbers."""
    cells, cuts = spread_of(part), mass_cuts(part, rule)
    found, at, least = None, cuts.first, cuts.least
    for _ in range(int((cuts.last - cuts.first).max(initial=0)) + 1):
        here = Spread(*(column[at] for column in cells))
        piece = _stacked(cells, at, _lowest(here, least))
        found = piece if found is None else Cuts(*(_hull(a, b) for a, b in zip(found, piece, strict=True)))
        least = np.where(at < cuts.last, 0.0, least)
        at = np.minimum(at + 1, cuts.last)
    assert found is not None
    return found


def _hull(a: Range, b: Range) -> Range:
    return Range(np.minimum(a.low, b.low), np.maximum(a.high, b.high))
