"""Limits of the percentage of scores that a test refutes, in bins that look at the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueness.measure._bin_bounds import Ends
from trueness.measure._block_chains import Chains
from trueness.measure._chain_bounds import Nodes, steps, sum_between
from trueness.measure._cuts import Spread
from trueness.measure._isotonic_bounds import Fit
from trueness.typing import Floats, Ints

if TYPE_CHECKING:
    from trueness._numerics.binomial_certain import Observed

__all__ = ["refuted"]

_MOST_SLICES = 150_000


def refuted(cells: Spread, chains: Chains, nodes: Nodes, fit: Fit | None, alpha: float) -> Ends:
    """The least and the greatest percentage along a chain.

    An arrow costs the rows of its whole cells whose scores are refuted whatever the counts of the block, and at most
    all but those that surely are not. A cell inside of which blocks meet may have all of its rows refuted or none. What
    the test accepts moves with the rate of the block: the range of that is cut into slices, and the worst one counts.
    """
    from trueness._numerics.binomial_certain import certain_rates

    arrow, observed = _slices(chains, nodes, fit)
    found = certain_rates(observed, alpha)
    first, last = ((chains.begin + 1) // 2)[arrow], (chains.end // 2)[arrow]
    size = cells.n.sum(axis=1)
    rows = np.concatenate([[0.0], np.cumsum(size)])
    low, high = cells.ends.T

    def between(a: Ints, b: Ints) -> Floats:
        """Rows of the cells from a up to b that the arrow has."""
        a, b = np.clip(a, first, last), np.clip(b, first, last)
        return np.asarray(np.maximum(rows[b] - rows[a], 0))

    below = np.where(np.isnan(found.rejected_to), 0, np.searchsorted(high, found.rejected_to, side="right"))
    above = np.where(np.isnan(found.rejected_from), size.size, np.searchsorted(low, found.rejected_from, side="left"))
    surely = between(first, below) + between(np.maximum(above, below), last)
    begin = np.searchsorted(low, found.accepted_from, side="left")
    end = np.searchsorted(high, found.accepted_to, side="right")
    spared = np.where(np.isnan(found.accepted_from), 0.0, between(begin, np.maximum(end, begin)))
    each = np.flatnonzero(np.diff(arrow, prepend=-1))
    least, most = np.minimum.reduceat(surely, each), np.maximum.reduceat(between(first, last) - spared, each)
    met = np.zeros(len(nodes.events))
    met[1::2] = size
    ends = steps(chains, least, most, met)
    return Ends(*(float(100 * min(end / rows[-1], 1.0)) for end in ends))


def _slices(chains: Chains, nodes: Nodes, fit: Fit | None) -> tuple[Ints, Observed]:
    """Slices of the rates that the block of each arrow can have, about half a standard error each."""
    from trueness._numerics.binomial_certain import Observed

    (k, most_k), (others, most_others) = (sum_between(at, chains) for at in (nodes.events, nodes.others))
    k, others = np.maximum(k, 0), np.maximum(others, 0)
    n, most_n = np.maximum(k + others, 1), np.maximum(most_k + most_others, 1)
    low, high = k / np.maximum(k + most_others, 1), most_k / np.maximum(most_k + others, 1)
    if fit is not None:
        low, high = np.maximum(low, fit.low[(chains.end - 1) // 2]), np.minimum(high, fit.high[chains.begin // 2])
        high = np.maximum(low, high)
    middle = np.clip((low + high) / 2, 1 / most_n, 1 - 1 / most_n)
    deviation = np.sqrt(np.maximum(middle * (1 - middle), 1e-12) / most_n)
    wanted = np.clip(np.ceil((high - low) / deviation * 2), 1, 64)
    share = min(1.0, _MOST_SLICES / float(wanted.sum()))
    count = np.maximum(np.floor(wanted * share), 1).astype(np.int64)
    arrow = np.repeat(np.arange(count.size), count)
    place = np.arange(arrow.size) - np.repeat(np.cumsum(count) - count, count)
    width = (high - low)[arrow] / count[arrow]
    # A little wider than they need be: neighbours overlap, and no rate is lost to rounding.
    begin, end = low[arrow] + (place - 1e-9) * width, low[arrow] + (place + 1 + 1e-9) * width
    counts = ((a[arrow], b[arrow]) for a, b in ((n, most_n), (k, most_k), (others, most_others)))
    return arrow, Observed((np.clip(begin, 0, 1), np.clip(end, 0, 1)), *counts)
