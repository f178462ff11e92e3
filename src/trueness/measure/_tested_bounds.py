"""Limits of the percentage of scores that a test refutes."""

from typing import NamedTuple

import numpy as np

from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule
from trueness.measure._bin_bounds import Ends, bins_between
from trueness.measure._cell_bins import Places, places
from trueness.measure._cuts import Cuts, Range
from trueness.measure._mass_cuts import doubt_of
from trueness.measure._tce import Test
from trueness.typing import Bools, Floats, Ints

__all__ = ["Decisions", "decisions", "refuted"]

# The last digit of 1, and the least rate that is told from none.
_LAST, _LEAST = 2.0**-52, 1e-300


class Decisions(NamedTuple):
    """What the test of a bin surely says about the scores of a cell, for each pair of them."""

    at: Places
    rejects: Bools
    accepts: Bools


def refuted(part: GridCells, cuts: Cuts, rule: BinRule, alpha: float, test: Test = "binomial") -> Ends:
    """At least the cells that are refuted whatever the bin of their rows, at most all but those that surely are not."""
    at, *sides = decisions(part, cuts, rule, alpha, test)
    weight = np.asarray(part.weight, dtype=np.float64)
    rejects, accepts = (float(weight[np.logical_and.reduceat(side, at.start)].sum() / weight.sum()) for side in sides)
    return Ends(100 * rejects, 100 * (1 - accepts))


def decisions(part: GridCells, cuts: Cuts, rule: BinRule, alpha: float, test: Test) -> Decisions:
    """Ask the test about every cell and every bin that rows of it may lie in."""
    at = places(part, rule)
    rows, events, others = (bins_between(sums, floor=True) for sums in (cuts.weight, cuts.events, cuts.others))
    p = part.low[at.cell], part.high[at.cell]
    if test == "binomial":
        from trueness._numerics.binomial_range import Box, surely_decided

        k, o, n = ((_whole(r.low)[at.bin], _whole(r.high)[at.bin]) for r in (events, others, rows))
        return Decisions(at, *surely_decided(Box(k, o, n, p), alpha))
    from trueness._numerics.student_range import RateBox, surely_decided_t

    if not part.exact:
        rows, events, others = _of_floats(part, at, rows, events, others)
    off = 0.0 if part.exact else float(part.count.sum()) * _LAST
    rate, number = _rates(rows, events, others, off), rows if part.exact else _effective(part, at, rows)
    box = RateBox((rate.low[at.bin], rate.high[at.bin]), (number.low[at.bin], number.high[at.bin]), p)
    return Decisions(at, *surely_decided_t(box, alpha, deviation="standard" if test == "t" else "variance"))


def _whole(values: Floats) -> Ints:
    return np.rint(values).astype(np.int64)


def _of_floats(part: GridCells, at: Places, rows: Range, events: Range, others: Range) -> tuple[Range, Range, Range]:
    """Limits with room for the rounding of sums; where a bin has no event, or nothing else, that is exact."""
    relative = doubt_of(part)
    doubt = relative * float(part.weight.sum())

    def room(sums: Range, whole_cells: Range) -> Range:
        low = np.maximum(sums.low - doubt, whole_cells.low * (1 - relative))
        return Range(low, np.minimum(sums.high + doubt, whole_cells.high * (1 + relative)))

    columns = (part.weight, part.by_label[:, 1], part.by_label[:, 0])
    found = [room(sums, at.limits(of, of)) for sums, of in zip((rows, events, others), columns, strict=True)]
    return found[0], found[1], found[2]


def _rates(rows: Range, events: Range, others: Range, off: float) -> Range:
    """Limits of the event rate of each bin, off by so much relatively; just 0 or 1 only if all labels surely agree."""
    known = (events.low == events.high) & (others.low == others.high)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = events.low / (events.low + others.low)
        low, high = _least_share(events, others, rows), _most_share(events, others, rows)
    low = np.where(others.high > 0, low * (1 - off), low)
    high = np.where(events.high > 0, np.clip(high * (1 + off), _LEAST, 1), 0.0)
    return Range(np.where(known, exact, low), np.where(known, exact, high))


def _least_share(part: Range, rest: Range, rows: Range) -> Floats:
    shares = (part.low / (part.low + rest.high), part.low / rows.high, _complement(rest.high, rows.low, -_LAST))
    return np.asarray(np.clip(np.fmax(np.fmax(*shares[:2]), np.fmax(shares[2], 0)), 0, 1))


def _most_share(part: Range, rest: Range, rows: Range) -> Floats:
    """Not one less the least share of the rest, which is 0 for all that is less than the last digit of 1."""
    shares = (part.high / (part.high + rest.low), part.high / rows.low, _complement(rest.low, rows.high, _LAST))
    return np.asarray(np.clip(np.fmin(np.fmin(*shares[:2]), np.fmin(shares[2], 1)), 0, 1))


def _complement(rest: Floats, rows: Floats, off: float) -> Floats:
    return np.where(rest < rows, 1 - rest / rows + off, 0.0)


def _effective(part: GridCells, at: Places, rows: Range) -> Range:
    """Limits of (Σw)²/Σw² of each bin, which is at least 1 and at most the number of rows."""
    assert part.squares is not None
    doubt = doubt_of(part)
    squares, most = part.squares.sum(axis=1), at.possibly(part.count[at.cell])
    sums = at.limits(squares, squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(rows.low > 0, np.maximum(rows.low**2 / sums.high * (1 - doubt), 1), 0)
        high = np.where(sums.low > 0, rows.high**2 / sums.low * (1 + doubt), np.inf)
    return Range(np.minimum(low, most), np.minimum(high, most))
