r"""What a sketch knows of the rows below a cut: sums of whole cells exactly, and limits for the cell that is cut.

Everything about bins follows from sums over the rows below each edge: those of a bin are the difference of two. A
sum is exact where the edge lies between cells. Where it falls inside one, the rows of that cell may lie on either side,
as far as the sums of the cell allow.
"""

from typing import NamedTuple

import numpy as np

from trueness._tally.grid import GridCells
from trueness._tally.rules import EqualMass
from trueness.measure._below import Moments, share_below
from trueness.typing import Bools, Floats, Ints

__all__ = ["Cuts", "Range", "Spread", "at_edges", "cells_cut", "spread_of"]

# Above what cutting scores to 2⁻⁵³ and rounding their sums can do to a mean, or to a mean of squares.
_ROUNDING = 2.0**-50
# Above what adding floats does to a sum, relatively.
_ROUNDING_OF_FLOATS = 2.0**-40


class Range(NamedTuple):
    """The least and the greatest that a sum can be, at each cut."""

    low: Floats
    high: Floats


class Cuts(NamedTuple):
    """Limits of sums over the rows below each cut, from no row to all rows."""

    weight: Range
    """Σw."""
    events: Range
    """Σwy."""
    others: Range
    """Σw(1 − y)."""
    excess: Range
    """Σw(y − p)."""
    squares: Range
    """Σw(y − p)²."""


class Spread(NamedTuple):
    """The cells of a sketch by label, each of shape (m, 2), and how far apart their scores can lie."""

    n: Floats
    """Σw."""
    sum_score: Floats
    """Σwp."""
    low: Floats
    """No row has a lower score."""
    high: Floats
    """No row has a higher score."""
    square: Floats
    """Σwp²."""
    ends: Floats
    """The least and the greatest score of the rows of both labels."""

    @property
    def tied(self) -> Bools:
        """Whether all rows of the cell have one score."""
        return np.asarray(self.ends[:, 0] == self.ends[:, 1])

    @property
    def excess(self) -> Floats:
        """Σw(y − p) of each cell."""
        return np.asarray(self.n[:, 1] - self.sum_score.sum(axis=1))

    @property
    def squares(self) -> Floats:
        """Σw(y − p)² of each cell."""
        return np.asarray(self.n[:, 1] - 2 * self.sum_score[:, 1] + self.square.sum(axis=1))


def spread_of(part: GridCells) -> Spread:
    """The least and the greatest score of a cell, for each label moved inwards by what its sum of squares says.

    With weights of at least one each, (p − mean)² ≤ Σw(p − mean)² for every score.
    """
    n, total, square = part.by_label.astype(np.float64), part.scores_by_label, part.squares_by_label
    low, high = (np.broadcast_to(end[:, None], n.shape) for end in (part.low, part.high))
    if part.exact:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / n
            reach = np.sqrt(np.maximum(square - total * mean, 0) + n * _ROUNDING)
        low = np.where(n > 0, np.maximum(low, mean - reach), low)
        high = np.where(n > 0, np.minimum(high, mean + reach), high)
    return Spread(n, total, low, high, square, part.ends)


def at_edges(part: GridCells, edges: Floats) -> Cuts:
    """At fixed edges: a row lies below if its score is less than the edge."""
    cells, inner = spread_of(part), edges[1:-1]
    at = np.searchsorted(part.low, inner, side="left") - 1  # the last cell that can have a row below the edge
    some = at >= 0
    here = Spread(*(column[at[some]] for column in cells))
    pieces = [_placed(piece, some) for piece in _partly(here, inner[some][:, None], whole=part.exact)]
    return _stacked(cells, np.maximum(at, 0), pieces)


class _Below(NamedTuple):
    """Limits of sums over the rows of a cell that lie below an edge."""

    least: Floats
    """Σw of each label, of shape (m, 2)."""
    most: Floats
    gained: Range
    """Σw(1 − p) of events."""
    lost: Range
    """Σwp of others."""
    squares: Range
    """Σw(y − p)²."""


def _partly(cell: Spread, edge: Floats, *, whole: bool) -> list[Range]:
    """The five sums of `Cuts` over the rows of a cell that lie below an edge, one cell and edge per row."""
    below = _sums_below(cell, edge, whole=whole)
    least, most = below.least, below.most
    return [
        Range(least.sum(axis=1), most.sum(axis=1)),
        Range(least[:, 1], most[:, 1]),
        Range(least[:, 0], most[:, 0]),
        Range(below.gained.low - below.lost.high, below.gained.high - below.lost.low),
        below.squares,
    ]


def _sums_below(cell: Spread, edge: Floats, *, whole: bool) -> _Below:
    below = np.nextafter(edge, 0)
    n, total, low, high = cell.n, cell.sum_score, cell.low, cell.high
    some, error = np.where(n > 0, n, 1), np.broadcast_to(_ROUNDING, n.shape) if whole else _ROUNDING_OF_FLOATS * high
    moments = Moments(total / some, error, cell.square / some, error if whole else error * high, low, high)
    least, most = (n * share for share in share_below(moments, edge))
    if whole:
        most, least = np.floor(most + 1e-9), np.ceil(least - 1e-9)
    cut = (low < edge) & (high >= edge)
    all_below = high < edge
    most = np.where(cut, np.clip(most, 0, n), np.where(all_below, n, 0))
    least = np.where(cut, np.clip(least, 0, n), np.where(all_below, n, 0))
    # Scores of the rows below: j of them, at least at the low end each, at most just below the edge.
    top = np.minimum(high, below)
    score_low = np.maximum(least * low, np.where(all_below, total, total - (n - least) * high))
    score_high = np.where(all_below, total, np.minimum(most * top, total))
    score_low = np.minimum(np.maximum(score_low, 0), score_high)
    event_low = np.where(all_below[:, 1], (n - total)[:, 1], least[:, 1] * (1 - top[:, 1]))
    event_high = np.minimum(most * (1 - low), n - total)[:, 1]
    event_high = np.maximum(np.where(all_below[:, 1], (n - total)[:, 1], event_high), event_low)
    known = (all_below | (n == 0)).all(axis=1)
    square_low = least[:, 1] * (1 - top[:, 1]) ** 2 + least[:, 0] * low[:, 0] ** 2
    square_high = np.minimum(most[:, 1] * (1 - low[:, 1]) ** 2 + most[:, 0] * top[:, 0] ** 2, cell.squares)
    squares = Range(np.where(known, cell.squares, square_low), np.where(known, cell.squares, square_high))
    return _Below(least, most, Range(event_low, event_high), Range(score_low[:, 0], score_high[:, 0]), squares)


def cells_cut(part: GridCells, rule: EqualMass) -> tuple[Ints, Floats]:
    """The cell that each cut of equal mass falls in, and how many rows of it lie below at the least."""
    reached = np.cumsum(part.weight)
    units = np.unique(np.arange(1, rule.n, dtype=object) * int(reached[-1]) // rule.n).astype(np.int64)
    units = units[units > 0]
    at = np.searchsorted(reached, units, side="left")
    return at, np.asarray(units - (reached - part.weight)[at], dtype=np.float64)


def _lowest(cell: Spread, least: Floats) -> list[Range]:
    """Limits of the sums over the lowest rows of a cell, at least so many of them."""
    n, (n0, n1) = cell.n.sum(axis=1), cell.n.T
    total, mean = cell.sum_score.sum(axis=1), cell.sum_score.sum(axis=1) / n
    low, top = cell.ends.T
    whole = (least >= n) | cell.tied  # equal scores are not split
    # Of m rows at most min(n1, m) are events, and their scores sum to at least m·low: most excess at m = n1.
    most_events, most_others = np.clip(n1, least, n), np.clip(n0, least, n)
    highest = np.minimum(np.minimum(n1, most_events) - most_events * low, n1 - cell.sum_score[:, 1])
    # At least m − n0 are events, and the lowest m have at most the mean of all: least excess at m = n0.
    lowest = np.maximum(np.maximum(most_others - n0, 0) - most_others * mean, -cell.sum_score[:, 0])
    fewest_events, fewest_others = np.maximum(least - n0, 0), np.maximum(least - n1, 0)
    squares_low = fewest_events * (1 - top) ** 2 + fewest_others * low**2
    pairs = [
        (least, n, n),
        (fewest_events, n1, n1),
        (fewest_others, n0, n0),
        (lowest, highest, n1 - total),
        (np.minimum(squares_low, cell.squares), cell.squares, cell.squares),
    ]
    return [Range(np.where(whole, exact, a), np.where(whole, exact, b)) for a, b, exact in pairs]


def _placed(piece: Range, some: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Range:
    """Zero where no cell lies below the edge."""
    low, high = np.zeros((2, some.size))
    low[some], high[some] = piece
    return Range(low, high)


def _stacked(cells: Spread, at: Ints, pieces: list[Range]) -> Cuts:
    """From nothing, over the whole cells before each cut and a piece of the next, to everything."""
    columns = (cells.n.sum(axis=1), cells.n[:, 1], cells.n[:, 0], cells.excess, cells.squares)
    ranges = []
    for column, piece in zip(columns, pieces, strict=True):
        through = np.concatenate([[0.0], np.cumsum(column)])
        whole, before = through[-1:], through[at]
        low, high = (np.concatenate([[0.0], before + end, whole]) for end in piece)
        ranges.append(Range(np.minimum(low, high), high))
    return Cuts(*ranges)
