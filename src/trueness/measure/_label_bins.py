"""Limits of errors of a sketch in bins that look at the labels: isotonic blocks, with and without limits of size."""

import math
from typing import NamedTuple

import numpy as np

from trueness._tally.grid import GridCells
from trueness._tally.rules import BinRule, BlockIsotonic, Isotonic
from trueness.measure import _chain_bounds, _chain_tests
from trueness.measure._bin_bounds import Ends, root_mean
from trueness.measure._block_chains import Chains, Limits, possible_chains
from trueness.measure._chain_bounds import Nodes, nodes_of, sum_between
from trueness.measure._cuts import Spread, spread_of
from trueness.measure._isotonic_bounds import Fit, isotonic_fit
from trueness.typing import Bools

__all__ = ["errors", "looks_at_labels", "refuted"]

# More arrows than that are not tested one by one.
_MOST_TESTED = 200_000


def looks_at_labels(rule: BinRule) -> bool:
    """Whether bins of this rule follow the labels."""
    return isinstance(rule, Isotonic | BlockIsotonic)


def errors(part: GridCells, rule: BinRule, loss: int, norm: float) -> Ends:
    """Limits of (Σ(w_b/W) gap_b^(loss·norm))^(1/norm), or of the largest gap_b^loss; both are at least the mean gap."""
    known = _known(part, rule)
    cells, chains, nodes = known.cells, known.chains, known.nodes
    q = loss * norm
    found = Ends(abs(float(cells.excess.sum())) / float(cells.n.sum()), _of_rows(known, 1.0))
    if chains is not None and nodes is not None:
        along = _chain_bounds.l1(cells, chains, nodes, known.fused, known.fit)
        found = Ends(max(found.low, along.low), min(found.high, along.high))
    if q == 1:
        return found
    least, most = found.low**loss, _of_rows(known, q) ** loss
    if chains is None or nodes is None:
        return Ends(least, most)
    smallest = max(min(known.limits.n_min, float(cells.n.sum())), 1.0)  # a single row may be fewer
    found = _chain_bounds.power(cells, chains, nodes, known.fit, loss, norm, smallest)
    return Ends(least if known.fused.any() else max(least, found.low), min(most, found.high))


def refuted(part: GridCells, rule: BinRule, alpha: float) -> Ends:
    """Limits of the percentage of scores that the binomial test refutes."""
    known = _known(part, rule)
    many = known.chains is None or known.chains.begin.size > _MOST_TESTED
    if known.chains is None or known.nodes is None or many or known.fused.any():
        return Ends(0.0, 100.0)
    return _chain_tests.refuted(known.cells, known.chains, known.nodes, known.fit, alpha)


class _Known(NamedTuple):
    """What a sketch knows of the bins."""

    cells: Spread
    limits: Limits
    fit: Fit | None
    chains: Chains | None
    nodes: Nodes | None
    fused: Bools
    """Nodes that may lie between blocks of equal rate that become one bin."""


def _known(part: GridCells, rule: BinRule) -> _Known:
    cells, limits = spread_of(part), limits_of(part, rule)
    if not part.exact:  # rounded sums of tiny weights beside large ones can put blocks anywhere
        return _Known(cells, limits, None, None, None, np.zeros(2 * part.size + 1, dtype=bool))
    fit = None if limits.tail else isotonic_fit(cells)
    chains = possible_chains(cells, limits, fit)
    nodes = None if chains is None else nodes_of(cells, chains)
    fused = np.zeros(2 * part.size + 1, dtype=bool)
    if isinstance(rule, BlockIsotonic) and rule.fuse:
        fused = ~fused if chains is None or nodes is None else can_fuse(chains, nodes, limits.n_max)
        fused[1::2] |= False if chains is None else chains.loops
    return _Known(cells, limits, fit, chains, nodes, fused)


def _of_rows(known: _Known, q: float) -> float:
    """At least the q-th root of the mean of |fit − score|^q over rows, or the largest: gaps of bins are means of these.

    For q = 1, the excess of a bin is also at most Σ|y − p| over its rows, those of a tie taken together.
    """
    cells, fit = known.cells, known.fit
    low, high = cells.ends.T
    least, most = (np.zeros(low.size), np.ones(low.size)) if fit is None else (fit.low, fit.high)
    apart = np.maximum(most - low, high - least)
    if q == math.inf:
        return float(apart.max())
    size = cells.n.sum(axis=1)
    found = root_mean(apart, size, float(size.sum()), q)
    if q == 1:
        each = cells.n[:, 1] - cells.sum_score[:, 1] + cells.sum_score[:, 0]
        found = min(found, float(np.where(cells.tied, np.abs(cells.excess), each).sum() / size.sum()))
    return min(found, 1.0)


def limits_of(part: GridCells, rule: BinRule) -> Limits:
    """Sizes of blocks."""
    if isinstance(rule, BlockIsotonic):
        n_min, n_max = rule.limits(int(part.weight.sum()))
        return Limits(n_min, n_max, n_min)
    return Limits(0.0, np.inf, 0.0)


def can_fuse(chains: Chains, nodes: Nodes, n_max: float) -> Bools:
    """Nodes that may lie between blocks of equal rate.

    Within `n_max` rows of the beginning of a block everything behind it has a higher rate; so the two have more
    rows together, or the second one has those that were kept back.
    """
    events, others = sum_between(nodes.events, chains), sum_between(nodes.others, chains)
    least, most = (np.maximum(ends, 0) for ends in ((events[0], others[0]), (events[1], others[1])))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.nan_to_num(least[0] / (least[0] + most[1]), nan=0.0) * (1 - 1e-12)
        high = np.nan_to_num(most[0] / (most[0] + least[1]), nan=1.0) * (1 + 1e-12)
    rows, count = nodes.events + nodes.others, len(nodes.events)
    first = np.full(count, np.inf)
    np.minimum.at(first, chains.end, rows[chains.begin, 0])
    second = (chains.end == count - 1) | (rows[chains.end, 1] - first[chains.begin] > n_max)
    ends = []
    for at, some in ((chains.end, np.ones(second.size, dtype=bool)), (chains.begin, second)):
        lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(lowest, at[some], low[some])
        np.maximum.at(highest, at[some], high[some])
        ends.append((lowest, highest))
    (in_low, in_high), (out_low, out_high) = ends
    return np.asarray((in_low <= out_high) & (out_low <= in_high))
