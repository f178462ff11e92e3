"""Limits of errors of bins that look at the labels: the shortest and the longest chain of possible blocks."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trueness.measure._bin_bounds import Ends
from trueness.measure._block_chains import Chains
from trueness.measure._cuts import Spread
from trueness.measure._isotonic_bounds import Fit
from trueness.typing import Bools, Floats, Ints

__all__ = ["Nodes", "l1", "nodes_of", "power", "starts_of", "steps", "sum_between"]


class Nodes(NamedTuple):
    """The least and the greatest that sums over the rows below each node of the chains can be, of shape (2m + 1, 2)."""

    events: Floats
    others: Floats
    excess: Floats
    """Σw(y − p)."""


def nodes_of(cells: Spread, chains: Chains) -> Nodes:
    """Sums at the ends of cells, and limits of them inside.

    Inside a cell the excess climbs by all events at most and falls by all others. Where the rows behind the node have a
    rate above one that is known, it is also at most what it is at the end of the cell, plus what scores above that rate
    can take away from there on.
    """
    zeros, ones = cells.n.T
    climb, fall = ones - cells.sum_score[:, 1], cells.sum_score[:, 0]
    excess = _at_nodes(cells.excess, -fall, climb)
    behind = (zeros + ones) * np.maximum(cells.ends[:, 1] - chains.rate[1::2], 0)
    excess[1::2, 1] = np.maximum(np.minimum(excess[1::2, 1], excess[2::2, 0] + behind), excess[1::2, 0])
    nothing = np.zeros(ones.size)
    return Nodes(_at_nodes(ones, nothing, ones), _at_nodes(zeros, nothing, zeros), excess)


def _at_nodes(each: Floats, low: Floats, high: Floats) -> Floats:
    through = np.concatenate([[0.0], np.cumsum(each)])
    out = np.repeat(through, 2)[:-1, None] + np.zeros(2)
    out[1::2, 0] += low
    out[1::2, 1] += high
    return out


def sum_between(at_nodes: Floats, chains: Chains) -> tuple[Floats, Floats]:
    """Limits of a sum over the rows of each arrow."""
    begin, end = at_nodes[chains.begin], at_nodes[chains.end]
    return end[:, 0] - begin[:, 1], end[:, 1] - begin[:, 0]


def starts_of(chains: Chains) -> Iterator[tuple[int, slice, Ints]]:
    """Nodes at which blocks begin, in order, with their arrows and the ends of these."""
    first = np.flatnonzero(np.diff(chains.begin, prepend=-1)).tolist()
    for a, b in zip(first, [*first[1:], chains.begin.size], strict=True):
        arrows = slice(a, b)
        yield int(chains.begin[a]), arrows, chains.end[arrows]


def steps(chains: Chains, low: Floats, high: Floats, at_node: Floats, *, largest: bool = False) -> Ends:
    """The least and the greatest sum of what the arrows of a chain cost, or the largest of them.

    `at_node` is what may come on top wherever a chain passes a node.
    """
    least, most = np.full(at_node.size, np.inf), np.full(at_node.size, -np.inf)
    least[0] = most[0] = 0.0
    for node, arrows, end in starts_of(chains):
        extra = max(most[node], at_node[node]) if largest else most[node] + at_node[node]
        if largest:
            least[end] = np.minimum(least[end], np.maximum(least[node], low[arrows]))
            most[end] = np.maximum(most[end], np.maximum(extra, high[arrows]))
        else:
            least[end] = np.minimum(least[end], least[node] + low[arrows])
            most[end] = np.maximum(most[end], extra + high[arrows])
    return Ends(float(least[-1]), float(most[-1]))


def l1(cells: Spread, chains: Chains, nodes: Nodes, fused: Bools, fit: Fit | None) -> Ends:
    """Σ|excess of a bin| / Σw: the lengths of the shortest and of the longest walk along a chain.

    The length of the walk to a place x is a 1-Lipschitz function of x for the shortest walk, so that its values at the
    ends of a window bound it in between: it is at least the larger of two lines of slopes −1 and 1. For the longest it
    is convex, and turns at ends of windows. At a node where equal rates can fuse two blocks into one, the shortest walk
    need not stop: the lines go on from where they came.
    """
    low, high = nodes.excess.T
    count = low.size
    inner = _within(cells, chains, fit)
    at_low, at_high, long_low, long_high = (np.full(count, end) for end in (np.inf, np.inf, -np.inf, -np.inf))
    rising, falling = np.full(count, np.inf), np.full(count, np.inf)
    at_low[0] = at_high[0] = long_low[0] = long_high[0] = 0.0
    for node, _, end in starts_of(chains):
        a, b = low[node], high[node]
        up, down = (rising[node], falling[node]) if fused[node] else (at_high[node] - b, at_low[node] + a)
        rising[end], falling[end] = np.minimum(rising[end], up), np.minimum(falling[end], down)
        from_low, from_high = long_low[node], long_high[node]
        if inner[node] > 0:
            from_low = from_high = max(from_low, from_high) + inner[node]
        for window, short, long in ((low, at_low, long_low), (high, at_high, long_high)):
            x = window[end]
            short[end] = np.minimum(short[end], np.maximum(up + x, down - x))
            long[end] = np.maximum(long[end], np.maximum(from_low + np.abs(x - a), from_high + np.abs(x - b)))
    total = float(cells.n.sum())
    return Ends(max(float(at_low[-1]), 0.0) / total, float(long_low[-1]) / total)


def _within(cells: Spread, chains: Chains, fit: Fit | None) -> Floats:
    """At each node, the most that blocks inside its cell add to Σ|excess|: at most what its rows do one by one."""
    apart = cells.n[:, 1] - cells.sum_score[:, 1] + cells.sum_score[:, 0]
    out = np.zeros(2 * len(cells.n) + 1)
    out[1::2] = np.where(chains.loops, np.minimum(apart, cells.n.sum(axis=1) * _reach(cells, fit)), 0)
    return out


def _reach(cells: Spread, fit: Fit | None) -> Floats:
    """How far the rate of a block inside a cell can be from its mean score."""
    low, high = cells.ends.T
    if fit is None:
        return np.asarray(np.maximum(high, 1 - low))
    return np.asarray(np.maximum(fit.high - low, high - fit.low))


def power(
    cells: Spread, chains: Chains, nodes: Nodes, fit: Fit | None, loss: int, norm: float, least_size: float
) -> Ends:
    """(Σ(w_b/W) gap_b^(loss·norm))^(1/norm), or the largest gap_b^loss."""
    below, above = sum_between(nodes.excess, chains)
    nearest, farthest = np.maximum(0, np.maximum(below, -above)), np.maximum(np.abs(below), np.abs(above))
    lightest, heaviest = sum_between(nodes.events + nodes.others, chains)
    lightest = np.maximum(lightest, least_size)
    farthest = np.minimum(farthest, heaviest)
    reach = np.zeros(2 * len(cells.n) + 1)
    reach[1::2] = np.where(chains.loops, _reach(cells, fit), 0)
    lightest = np.clip(farthest, lightest, heaviest)
    with np.errstate(divide="ignore", invalid="ignore"):
        small = np.where(heaviest > 0, nearest / heaviest, 0)
        large = np.where(lightest > 0, np.minimum(farthest / lightest, 1), 1)
    extremes = steps(chains, small, large, reach, largest=True)
    if norm == math.inf or extremes.high == 0:
        return Ends(extremes.low**loss, extremes.high**loss)
    # In units of the largest gap that a chain can have: powers of high degree would vanish.
    top, q = extremes.high, loss * norm
    small, large, reach = (np.minimum(gap / top, 1) for gap in (small, large, reach))
    nodes = nodes._replace(excess=nodes.excess / top)
    size = np.zeros(reach.size)
    size[1::2] = cells.n.sum(axis=1)
    # w·(excess / w)^q falls in w where |excess| ≤ w, and |excess| ≤ w always.
    found = steps(chains, heaviest * small**q, lightest * large**q, size * reach**q)
    low = max(found.low, _least_power(chains, nodes, q))
    high = min(found.high, _most_power(chains, nodes, q, least_size, size * reach**q))
    total = float(cells.n.sum())
    return Ends(*((top * min(max(end / total, 0.0), 1.0) ** (1 / q)) ** loss for end in (low, high)))


def _least_power(chains: Chains, nodes: Nodes, q: float) -> float:
    """The least Σ w·|excess / w|^q along a chain, if excess and rows at a node are the same for both of its blocks.

    The function is convex in excess and w, and so nowhere below its tangent planes. One is taken for each arrow; their
    sum is linear in what is unknown at each node, and least at corners of its limits.
    """
    excess, rows = nodes.excess, nodes.events + nodes.others
    corners = np.stack([excess[:, [0, 1, 0, 1]], rows[:, [0, 0, 1, 1]]])
    middle, size = (at.mean(axis=1)[chains.end] - at.mean(axis=1)[chains.begin] for at in (excess, rows))
    gap = np.minimum(np.abs(middle) / np.maximum(size, 1e-300), 1.0)
    of_excess, of_rows = q * gap ** (q - 1) * np.sign(middle), (q - 1) * gap**q
    least = np.full((len(excess), 4), np.inf)
    least[0] = 0.0
    for node, arrows, end in starts_of(chains):
        if node % 2 and chains.loops[node // 2]:  # blocks in between, which may cost nothing, lead anywhere in the cell
            least[node] = least[node].min()
        slope, level = of_excess[arrows, None], of_rows[arrows, None]
        here, there = corners[:, node], corners[:, end]
        begun = (least[node] - slope * here[0] + level * here[1]).min(axis=1)
        least[end] = np.minimum(least[end], begun[:, None] + slope * there[0] - level * there[1])
    return float(least[-1].min())


def _most_power(chains: Chains, nodes: Nodes, q: float, least_size: float, inner: Floats) -> float:
    """The greatest Σ w·|excess / w|^q along a chain: convex in the excess at nodes, it is so at ends of its limits."""
    window, rows = nodes.excess, nodes.events + nodes.others
    size = np.maximum(sum_between(rows, chains)[0], least_size)
    most = np.full((len(window), 2), -np.inf)
    most[0] = 0.0
    for node, arrows, end in starts_of(chains):
        if most[node].max() == -np.inf:  # no chain comes here
            continue
        begun = np.full(2, most[node].max() + inner[node]) if inner[node] > 0 else most[node]
        for side in (0, 1):
            apart = np.abs(window[end, side, None] - window[node]) / size[arrows, None]
            with np.errstate(over="ignore"):
                cost = size[arrows, None] * apart**q
            most[end, side] = np.maximum(most[end, side], (begun + cost).max(axis=1))
    return float(most[-1].max())
