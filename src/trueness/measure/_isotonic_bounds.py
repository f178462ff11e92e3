"""What a sketch knows of the isotonic fit of its rows: where blocks can begin, and how high the fit can be."""

from typing import NamedTuple

import numpy as np

from trueness._tally.cells import Cells
from trueness._tally.rules import Isotonic
from trueness.measure._cuts import Spread
from trueness.typing import Bools, Floats

__all__ = ["Fit", "isotonic_fit"]

# Relative to the number of rows, and to a rate: above what rounding does to sums of weights.
_ROUNDING = 1e-12


class Fit(NamedTuple):
    """What is known of the isotonic fit."""

    vertices: Bools
    """Nodes (2i before cell i, 2i + 1 inside of it) at which a block can begin or end."""
    low: Floats
    """Of each cell, the least that its rows can be fitted,"""
    high: Floats
    """and the greatest; both rise from cell to cell."""


def isotonic_fit(cells: Spread) -> Fit:
    """Limits of the isotonic fit of the rows.

    Blocks end where the greatest convex function below the path of the cumulated events bends. The path is known at the
    ends of cells, so that the function lies nowhere above the one of these points alone, and a bend must not either.
    Inside a cell the path is lowest with all others first.

    The fit of a row is the least, over ends t behind it, of the greatest rate of [s, t) over beginnings s before
    it. Ends of cells are some of the t, and that same lowest point is the best s inside a cell: together they
    bound the fit from above. It is also the greatest, over s, of the least rate over t, which bounds it from below.
    """
    zeros, ones = cells.n.T
    weight, ones = zeros + ones, ones.copy()
    rows, events = (np.concatenate([[0.0], np.cumsum(column)]) for column in (weight, ones))
    start = Isotonic().group(Cells(np.arange(weight.size, dtype=np.float64), weight, weight, ones)).start
    room = rows[-1] * _ROUNDING
    allowed = np.zeros(2 * weight.size + 1, dtype=bool)
    allowed[::2] = events <= np.interp(rows, rows[start], events[start]) + room
    lowest = rows[:-1] + np.where(cells.tied, 0, zeros)
    allowed[1::2] = ~cells.tied & (events[:-1] <= np.interp(lowest, rows[start], events[start]) + room)
    return Fit(allowed, *_between(rows, events, lowest, np.where(cells.tied, events[1:], events[:-1]), cells.tied))


def _between(rows: Floats, events: Floats, lowest: Floats, reached: Floats, tied: Bools) -> tuple[Floats, Floats]:
    """The least and the greatest fit of each cell; `lowest` and `reached` are rows and events at its lowest point."""
    count = lowest.size
    least, greatest = np.empty(count), np.empty(count)
    most = np.zeros(count + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        for c in range(count):
            ahead = (events[c + 1 :] - events[c]) / (rows[c + 1 :] - lowest[c])
            most[c + 1 :] = np.fmax(most[c + 1 :], ahead)
            greatest[c] = most[c + 1 :].min()
        fewest, end = np.ones(count), np.where(tied, rows[1:], lowest)
        for c in range(count - 1, -1, -1):
            behind = (reached[c] - events[: c + 1]) / (end[c] - rows[: c + 1])
            fewest[: c + 1] = np.fmin(fewest[: c + 1], behind)
            least[c] = fewest[: c + 1].max()
    return np.maximum(least - _ROUNDING, 0), np.minimum(greatest + _ROUNDING, 1)
