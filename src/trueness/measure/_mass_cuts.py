"""Where cuts of equal mass fall among the cells of a sketch, whatever the weights.

With whole-number weights the cell of a cut is known. Other weights add up within rounding only, and a cut that falls on
the end of a cell as far as that can tell may lie there, or after the first score of the next cell.
"""

from typing import NamedTuple

import numpy as np

from trueness._tally.grid import GridCells
from trueness._tally.rules import EqualMass
from trueness.measure._cuts import Cuts, Range, Spread, _lowest, _stacked, _sums_below, cells_cut, spread_of
from trueness.typing import Bools, Floats, Ints

__all__ = ["DOUBT", "MassCuts", "at_float_masses", "at_whole_masses", "doubt_of", "mass_cuts"]

DOUBT = 2.0**-36
"""Above what sums of floats are off by, relative to the weight of all rows, unless rows are very many."""

# Into how many parts a cell is cut to see where a cut may lie in it.
_PARTS = 24


class MassCuts(NamedTuple):
    """For each cut, the cells that it may fall in."""

    first: Ints
    last: Ints
    least: Floats
    """How much of the first cell lies below, at least."""
    whole: Bools
    """Whether all of the first cell lies below."""


def doubt_of(part: GridCells, least: float = DOUBT) -> float:
    """Above what sums of floats, of the rows and of the cells, are off by, added up one after another at worst."""
    return max(least, float(part.count.sum()) * 2.0**-52)


def mass_cuts(part: GridCells, rule: EqualMass) -> MassCuts:
    """The cells that each cut of equal mass may fall in."""
    weight, tied = np.asarray(part.weight), np.asarray(part.low == part.high)
    if part.exact:
        at, rows = cells_cut(part, rule)
        return MassCuts(at, at, rows, (rows >= weight[at]) | tied[at])
    reached = np.cumsum(weight)
    units, doubt = np.arange(1, rule.n) * reached[-1] / rule.n, doubt_of(part) * reached[-1]
    first, last = (np.minimum(np.searchsorted(reached, units + d, side="left"), part.size - 1) for d in (-doubt, doubt))
    least = np.maximum(units - doubt - (reached - weight)[first], 0)
    return MassCuts(first, last, np.asarray(least, dtype=np.float64), tied[first])


def at_whole_masses(part: GridCells, rule: EqualMass) -> Cuts:
    """Limits of the sums below cuts of equal mass: after so many rows and all that tie with the last of them."""
    cells = spread_of(part)
    at, rows = cells_cut(part, rule)
    here = Spread(*(column[at] for column in cells))
    known = (rows >= here.n.sum(axis=1)) | here.tied
    pairs = zip(_lowest(here, rows), _wherever(here, rows), strict=True)
    return _stacked(cells, at, [_common(a, b, known) for a, b in pairs])


def _wherever(cell: Spread, least: Floats) -> list[Range]:
    """Limits of the sums over the lowest rows of a cell, whatever part of the cell the last of them lies in.

    If it lies in [a, b), the rows below are at least those below a, which are fewer than `least`, and at most those
    below b, which are no fewer.
    """
    steps = np.linspace(0, 1, _PARTS + 1)
    low, high = cell.ends[:, :1], cell.ends[:, 1:]
    edges = low + (high - low) * steps
    edges[:, -1:] = np.nextafter(high, 2)
    every = Spread(*(np.repeat(column, steps.size, axis=0) for column in cell))
    below, rows = _sums_below(every, edges.reshape(-1, 1), whole=True), least[:, None]

    def from_a(sums: Floats) -> Floats:
        return np.asarray(sums.reshape(edges.shape)[:, :-1])

    def to_b(sums: Floats) -> Floats:
        return np.asarray(sums.reshape(edges.shape)[:, 1:])

    most0, most1 = to_b(below.most[:, 0]), to_b(below.most[:, 1])
    possible = (from_a(below.least.sum(axis=1)) < rows) & (most0 + most1 >= rows)
    least0 = np.maximum(from_a(below.least[:, 0]), rows - most1)
    least1 = np.maximum(from_a(below.least[:, 1]), rows - most0)
    top = np.minimum(cell.high[:, 1:], edges[:, 1:])
    gained = np.maximum(from_a(below.gained.low), least1 * (1 - top))
    lost = np.maximum(from_a(below.lost.low), least0 * cell.low[:, :1])
    ranges = [
        (np.broadcast_to(rows, most0.shape), most0 + most1),
        (least1, most1),
        (least0, most0),
        (gained - to_b(below.lost.high), to_b(below.gained.high) - lost),
        (from_a(below.squares.low), to_b(below.squares.high)),
    ]
    return [
        Range(np.where(possible, a, np.inf).min(axis=1), np.where(possible, b, -np.inf).max(axis=1)) for a, b in ranges
    ]


def _common(a: Range, b: Range, known: Bools) -> Range:
    """What two ranges of the same sum have in common, but for rounding."""
    room = 1e-12 * (1 + np.abs(a.high))
    keep = known | ~(b.low <= b.high)
    low, high = np.maximum(a.low, b.low - room), np.minimum(a.high, b.high + room)
    return Range(np.where(keep, a.low, low), np.where(keep, a.high, high))


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
