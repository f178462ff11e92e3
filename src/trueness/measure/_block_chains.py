r"""Which blocks rows can fall into, where a sketch does not know the order of the rows inside its cells.

Rows enter in the order of their scores. Say that a block begins at the position :math:`s` and never merges with the one
on its left; then nothing left of :math:`s` matters to what follows. While at most `n_max` rows right of :math:`s` have
entered, any two neighbouring blocks may merge, so that their rates rise strictly, and the first one grows only to rates
that are no higher. Hence the first block ends at

.. math:: e(s) = \text{the last } t \text{ with the least rate of } [s, t), \quad n_{min} \le t - s \le n_{max},

over ends :math:`t` of groups of ties, and the blocks are the chain 0, e(0), e(e(0)), … Isotonic regression is the same
without limits of size. Groups of ties add three cases: a group that passes both limits at once ends the block; a block
that stays below `n_min` before a group above `n_max` may join its left neighbour; and the rows that are kept back begin
with the group that row N − `n_min` falls into.

A sketch knows rows and events at the ends of cells, and of the path from one end to the next only that it rises by the
events and runs by the others of the cell. So a position is a node: the end of a cell, or somewhere inside one. An arrow
from s to e is kept unless it is impossible for all places that s and e can be: the rate up to e must be no higher than
that up to every end t of a cell before it that surely is a candidate, and lower than up to every such t behind it. Two
facts make these conditions cheap. Rates of [s, e) and [s, t) compare as those of [s, t) and [t, e), so that s matters
through the rate of [s, t) alone; and that is greatest for all t at once if s has the others of its cell below it and
the events above, and least the other way round. If moreover the end of its cell was a candidate when s ended the block
before, the rows from s to there have a rate above that block's.
"""

from typing import NamedTuple

import numpy as np

from trueness.measure._cuts import Spread
from trueness.measure._isotonic_bounds import Fit
from trueness.typing import Bools, Floats, Ints

__all__ = ["Chains", "Limits", "possible_chains"]

# More arrows than that are not looked at one by one.
MOST_ARROWS = 6_000_000
# Above what rounding does to a quotient of sums; an arrow is kept when in doubt.
_SLACK = 1 + 1e-9


class Limits(NamedTuple):
    """Sizes of blocks."""

    n_min: float
    n_max: float
    tail: float
    """The last rows that are kept back, up to a group of ties; none in isotonic regression."""


class Chains(NamedTuple):
    """Arrows between nodes, by their start: node 2i is the position before cell i, node 2i + 1 is inside of it."""

    begin: Ints
    end: Ints
    rate: Floats
    """Of each node inside a cell, a rate above which the rows of the cell behind it surely are."""
    loops: Bools
    """Whether whole blocks can lie inside a cell, apart from those that begin or end with it."""


class _Path(NamedTuple):
    """Events and rows up to each end of a cell, and what each cell has."""

    events: Floats
    rows: Floats
    ones: Floats
    zeros: Floats
    tied: Bools
    last: int
    """The cell in which the rows that are kept back begin; as many as there are cells if none are."""
    head: float
    """They begin at this position or before."""
    giants: Ints
    """Cells that may have a group above `n_max`, the one of the rows that are kept back among them."""

    together: Ints
    """The first cell that cannot be in one block with each cell, where that is known."""
    fit: Fit | None = None

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.ones.size


def possible_chains(cells: Spread, limits: Limits, fit: Fit | None = None) -> Chains | None:
    """All arrows that may be part of the chain of blocks from the first row to the last; None if they are too many.

    Parameters
    ----------
    cells : Spread
        The cells of a sketch, with whole or other weights.
    limits : Limits
        Sizes of blocks.
    fit : Fit, optional
        Of isotonic regression, what is known of the fit.

    Returns
    -------
    Chains or None
    """
    path = _path(cells, limits)
    if fit is not None:
        # A block has one rate, which is a fit of its first cell and of its last one.
        path = path._replace(together=np.searchsorted(fit.low, fit.high, side="right"), fit=fit)
    m = path.size
    reached = np.zeros(2 * m + 1, dtype=bool)
    reached[0] = True
    rate = np.full(2 * m + 1, np.inf)
    begins: list[Ints] = []
    ends: list[Ints] = []
    count = 0
    for node in range(2 * m):
        if not reached[node]:
            continue
        end, floor = _arrows(path, limits, node, rate[node])
        if fit is not None:
            kept = fit.vertices[end]
            end, floor = end[kept], floor[kept]
        reached[end] = True
        rate[end] = np.minimum(rate[end], floor)
        begins.append(np.full(end.size, node))
        ends.append(end)
        count += end.size
        if count > MOST_ARROWS:
            return None
    begin, end = np.concatenate(begins), np.concatenate(ends)
    kept = _leads_on(begin, end, m)
    loops = ~path.tied & (path.ones + path.zeros > limits.n_min)
    return Chains(begin[kept], end[kept], np.where(reached, rate, 0.0), loops)


def _path(cells: Spread, limits: Limits) -> _Path:
    zeros, ones = cells.n.T
    rows, events = (np.concatenate([[0.0], np.cumsum(column)]) for column in (zeros + ones, ones))
    head = rows[-1] - limits.tail
    last = ones.size if limits.tail == 0 else int(np.searchsorted(rows, head, side="right")) - 1
    many = zeros + ones > limits.n_max
    if last < ones.size:
        many[last] |= rows[-1] - rows[last] > limits.n_max
    giants, together = np.flatnonzero(many[: last + 1]), np.full(ones.size, ones.size)
    return _Path(events, rows, ones, zeros, cells.tied, last, head, giants, together)


def _leads_on(begin: Ints, end: Ints, m: int) -> Bools:
    """Arrows from which the end of all rows can be reached."""
    leads = np.zeros(2 * m + 1, dtype=bool)
    leads[-1] = True
    first = np.flatnonzero(np.diff(begin, prepend=-1))
    for a, b in zip(first[::-1], [begin.size, *first[:0:-1]], strict=True):
        leads[begin[a]] = bool(leads[end[a:b]].any())
    return np.asarray(leads[end])


class _Start(NamedTuple):
    """Where a block begins: limits of the position, and the places from which rates are greatest and least."""

    low: float
    high: float
    steep: tuple[float, float]
    """Events and rows below: the rate of all that follows is greatest from here."""
    flat: tuple[tuple[float, float], ...]
    """The same where it is least, which depends on what follows."""
    first: int
    """The cell of the first row."""
    cell: int
    """The first cell inside of which the block may end."""


def _arrows(path: _Path, limits: Limits, node: int, floor: float) -> tuple[Ints, Floats]:
    """Nodes at which a block may end that begins at this one, and the rate of which each knows."""
    start = _start(path, node, floor)
    ends = [_regular(path, limits, start)]
    ends.append((_oversized(path, limits, start, ends[0][0]), np.zeros(0)))
    ends.append((_kept_back(path, limits, start, ends[0][0]), np.zeros(0)))
    end = np.concatenate([e for e, _ in ends])
    rate = np.zeros(end.size)
    rate[: ends[0][1].size] = ends[0][1]
    order = np.lexsort([rate, end])
    end, rate = end[order], rate[order]
    new = np.concatenate([[True], end[1:] != end[:-1]])[: end.size]
    return end[new], rate[new]


def _start(path: _Path, node: int, floor: float) -> _Start:
    cell, inside = divmod(node, 2)
    events, rows = float(path.events[cell]), float(path.rows[cell])
    if not inside:
        here = (events, rows)
        return _Start(rows, rows, here, (here,), cell, cell)
    above = (float(path.events[cell + 1]), float(path.rows[cell + 1]))
    ones, zeros = float(path.ones[cell]), float(path.zeros[cell])
    # Behind the node, as many others as the least rate there allows with so many events, or nothing at all.
    odds = floor / (1 - floor) if floor < 1 else np.inf
    others = min(zeros, ones / odds if odds > 0 else np.inf)
    behind = others * odds if others > 0 else 0.0
    flat = (above[0] - behind, above[1] - behind - others)
    return _Start(rows, above[1], (events, rows + zeros), (flat, above), cell, cell + 1)


def _regular(path: _Path, limits: Limits, start: _Start) -> tuple[Ints, Floats]:
    """Ends at which the rate can be least."""
    first = int(np.searchsorted(path.rows, start.low + limits.n_min, side="left"))
    first = max(first, start.cell + (start.low == start.high), 1)
    stop = min(int(np.searchsorted(path.rows, start.high + limits.n_max, side="right")) - 1, path.last)
    until = int(path.together[start.first])
    at = slice(first, max(min(stop, until) + 1, first))
    cells = slice(first - 1, max(min(stop + 1, until), first - 1))
    rows = path.rows[at]
    sure = (rows >= start.high + limits.n_min) & (rows <= start.low + limits.n_max)
    inner_events, inner_rows, fits = _inside(path, limits, start, cells)
    fits[: max(start.cell - cells.start, 0)] = False

    def rates(place: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = (path.events[at] - place[0]) / (rows - place[1])
            return ends, (inner_events - place[0]) / (inner_rows - place[1]), np.where(sure, ends, np.inf)

    # A comparison with nan, of a place with itself, keeps the arrow.
    ends, inner, known = rates(start.steep)
    before = np.concatenate([[np.inf], np.fmin.accumulate(known)]) * _SLACK
    end_kept, inner_kept = ~(ends > before[: ends.size]), ~(inner > before[: inner.size])
    end_also, inner_also = np.zeros(ends.size, dtype=bool), np.zeros(inner.size, dtype=bool)
    least, end_least = np.full(inner.size, np.inf), np.full(ends.size, np.inf)
    for place in start.flat:
        ends, inner, known = rates(place)
        after = np.concatenate([np.fmin.accumulate(known[::-1])[::-1], [np.inf]]) * _SLACK
        end_also |= _below(ends, after[1:])
        inner_also |= _below(inner, after[: inner.size])
        least, end_least = np.fmin(least, inner), np.fmin(end_least, ends)
    if path.fit is not None:
        ceiling = path.fit.high[start.first] * _SLACK
        end_also &= ~(end_least > ceiling)
        inner_also &= ~(least > ceiling)
    ahead = np.concatenate([sure, [False]])[: inner.size]
    floor = np.where(ahead & np.isfinite(least), np.maximum(least / _SLACK, 0), 0)
    chosen, chosen_inner = np.flatnonzero(end_kept & end_also), np.flatnonzero(inner_kept & inner_also & fits)
    end = np.concatenate([2 * (first + chosen), 2 * (cells.start + chosen_inner) + 1])
    return end, np.concatenate([np.zeros(chosen.size), floor[chosen_inner]])


def _below(rate: Floats, after: Floats) -> Bools:
    """Whether a rate may be below what follows, as far as rounding tells; nothing is below 0, and 1 below nothing."""
    return ~(rate > after) & ~((rate <= 0) & (after <= 0)) & ~((rate >= 1) & (after < np.inf))


def _inside(path: _Path, limits: Limits, start: _Start, cells: slice) -> tuple[Floats, Floats, Bools]:
    """The place inside each cell with the least rate from anywhere before, and whether there is a place at all.

    It has as many others as it can, and events only if it would be too near without.
    """
    rows, zeros, ones = path.rows[:-1][cells], path.zeros[cells], path.ones[cells]
    least = np.maximum(start.low + limits.n_min - rows, 0)
    most = np.minimum(start.high + limits.n_max, path.head) - rows
    most = np.minimum(most, zeros + ones)
    fits = ~path.tied[cells] & (least < zeros + ones) & (most > 0) & (least <= most)
    taken = np.minimum(np.maximum(zeros, least), most)
    return path.events[:-1][cells] + np.maximum(taken - zeros, 0), rows + taken, fits


def _oversized(path: _Path, limits: Limits, start: _Start, ends: Ints) -> Ints:
    """Ends that groups of ties above the limits make."""
    found: list[int] = []
    # A group that begins before n_min and ends behind n_max.
    below = int(np.searchsorted(path.rows, start.low + limits.n_max, side="right")) - 1
    above = int(np.searchsorted(path.rows, start.high + limits.n_min, side="left")) - 1
    for cell in range(below, min(above, path.last, path.size - 1) + 1):
        if cell >= start.cell and not path.tied[cell]:
            found.append(2 * cell + 1)
        if cell < path.last:
            found.append(2 * cell + 2)
    # A block below n_min in front of a group above n_max joins this one.
    reach = path.rows[(ends + 1) // 2]
    for cell in path.giants.tolist():
        joins = bool((reach > path.rows[cell] - limits.n_min).any())
        if joins and start.low + limits.n_min <= path.rows[cell] <= start.high + limits.n_max and cell > 0:
            found.append(2 * cell)
        inside = start.low + limits.n_min < path.rows[cell + 1] and path.rows[cell] < start.high + limits.n_max
        if joins and inside and not path.tied[cell] and cell >= start.cell:
            found.append(2 * cell + 1)
    return np.array(found, dtype=np.int64)


def _kept_back(path: _Path, limits: Limits, start: _Start, ends: Ints) -> Ints:
    """The end of all rows, if the rows that are kept back may join the block, or form one."""
    if path.last == path.size:
        return np.zeros(0, dtype=np.int64)
    alone = path.rows[path.last] - start.high < limits.n_min
    joined = path.rows[-1] - start.high <= limits.n_max and bool((ends >= 2 * path.last).any())
    return np.array([2 * path.size] if alone or joined else [], dtype=np.int64)
