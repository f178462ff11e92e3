"""Limits of the debiased squared error for rows that matter unequally."""

import numpy as np

from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule
from trueness.measure._bin_bounds import Ends, bins_between
from trueness.measure._cell_bins import Places, places
from trueness.measure._cuts import Cuts, Range
from trueness.measure._mass_cuts import doubt_of
from trueness.typing import Floats

__all__ = ["importance"]

# Above what products of sums are off by, relative to the squared weight of a bin; and differences of sums of floats,
# relative to the weight of all rows.
_ROUNDING = 2.0**-40


def importance(part: GridCells, cuts: Cuts, rule: BinRule) -> Ends:
    r"""ΣW_b·(E² − Q)/(W_b² − S) over Σw, where E = Σwu, Q = Σw²u², S = Σw² of a bin and u = y − p.

    The quotient is a weighted mean of products of two different u, so that it lies between −1 and 1.
    W/(W² − S) falls with W and rises with S.
    """
    at = places(part, rule)
    off = _ROUNDING if part.exact else 4 * doubt_of(part, _ROUNDING)
    room = 0.0 if part.exact else off * float(part.weight.sum())
    weight, excess = bins_between(cuts.weight, floor=True), bins_between(cuts.excess)
    weight = Range(np.maximum(weight.low - room, 0), weight.high + room)
    squares, products = _squares(part, at)
    nearest = np.maximum(0, np.maximum(excess.low, -excess.high) - room)
    farthest = np.minimum(np.maximum(np.abs(excess.low), np.abs(excess.high)) + room, weight.high)
    slack = off * weight.high**2
    above, below = farthest**2 - products.low + slack, nearest**2 - products.high - slack
    fewest = weight.low**2 - squares.high - slack
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(fewest > 0, weight.low / fewest, np.inf)
        least = weight.high / (weight.high**2 - squares.low + slack)
        high = np.minimum(np.where(above > 0, above * most, above * least), weight.high)
        low = np.maximum(np.where(below < 0, below * most, below * least), -weight.high)
    # Where one row may have all the weight but for rounding, there may be no pair to speak of, or any.
    open_ = ~(fewest > 0)
    high, low = np.where(open_, weight.high, high), np.where(open_, -weight.high, low)
    rows = at.limits(part.count, part.count)
    none, maybe_none = rows.high < 2, rows.low < 2
    high = np.where(none, 0, np.where(maybe_none, np.maximum(high, 0), high))
    low = np.where(none, 0, np.where(maybe_none, np.minimum(low, 0), low))
    total = float(part.weight.sum())
    return Ends(float(low.sum()) / total, float(high.sum()) / total)


def _squares(part: GridCells, at: Places) -> tuple[Range, Range]:
    """Limits of Σw² and of Σw²u² of each bin."""
    by_label: Floats = np.asarray(part.by_label, dtype=np.float64) if part.squares is None else part.squares
    both = by_label.sum(axis=1)
    least = by_label[:, 0] * part.low**2 + by_label[:, 1] * (1 - part.high) ** 2
    most = by_label[:, 0] * part.high**2 + by_label[:, 1] * (1 - part.low) ** 2
    return at.limits(both, both), at.limits(least, most)
