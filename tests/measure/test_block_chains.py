"""Chains of blocks that a sketch allows hold the chain of the rows."""

import numpy as np
import pytest
from crowded_cells import block_rules, crowds
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness as tn
from trueness.measure import _block_chains
from trueness.measure._block_chains import Limits, possible_chains
from trueness.measure._chain_bounds import nodes_of
from trueness.measure._cuts import spread_of
from trueness.measure._isotonic_bounds import isotonic_fit


def chain_of_rows(y, p, rule, part):
    """Positions at which the blocks of the rows begin and end: node, rows and events and Σ(y − p) below."""
    cells = tn.tally(y, p).parts[0]
    start = rule.group(cells).start
    sums = [np.concatenate([[0], np.cumsum(c)]) for c in (cells.weight, cells.events, cells.weight * cells.score)]
    rows, events, scores = (column[start] for column in sums)
    ends = np.concatenate([[0], np.cumsum(part.weight)])
    at = np.searchsorted(ends, rows)
    return np.where(ends[at] == rows, 2 * at, 2 * at - 1), rows, events, events - scores


def assert_allowed(y, p, rule):
    part = tn.sketch(y, p).parts[0]
    cells = spread_of(part)
    if isinstance(rule, tn.Isotonic):
        limits, fit = Limits(0, np.inf, 0), isotonic_fit(cells)
    else:
        n_min, n_max = rule.limits(y.size)
        limits, fit = Limits(n_min, n_max, n_min), None
    chains = possible_chains(cells, limits, fit)
    nodes = nodes_of(cells, chains)
    arrows = set(zip(chains.begin.tolist(), chains.end.tolist(), strict=True))
    at, rows, events, excess = chain_of_rows(y, p, rule, part)
    for a, b in zip(at[:-1].tolist(), at[1:].tolist(), strict=True):
        assert (a, b) in arrows or (a == b and a % 2 and chains.loops[a // 2])
    for limit, true in ((nodes.excess, excess), (nodes.events, events), (nodes.others, rows - events)):
        assert (limit[at, 0] <= true + 1e-9).all()
        assert (true <= limit[at, 1] + 1e-9).all()
    inside = at % 2 == 1
    behind = nodes.events[at + inside, 0] - events, (nodes.events + nodes.others)[at + inside, 0] - rows
    assert (behind[0][inside] >= behind[1][inside] * chains.rate[at[inside]] - 1e-9).all()


@settings(max_examples=300)
@given(data=st.data(), rows=crowds())
def test_blocks_of_the_rows_are_a_chain_of_arrows(data, rows):
    assert_allowed(*rows, data.draw(block_rules(rows[0].size)))


@settings(max_examples=150)
@given(rows=crowds(most_cells=15, most_rows=6))
def test_so_are_blocks_of_the_default_size_and_isotonic_ones(rows):
    assert_allowed(*rows, tn.BlockIsotonic())
    assert_allowed(*rows, tn.Isotonic())


def test_a_group_that_passes_both_limits_ends_the_block():
    """Blocks of 2 to 3 rows, of which a group of five ties is one; its cell has other scores as well."""
    y, p = np.array([0, 1, 0, 1, 1, 0, 1, 0, 1, 1]), np.r_[0.1, 0.5, np.full(5, 0.501), 0.502, 0.8, 0.9]
    assert_allowed(y, p, tn.BlockIsotonic(2, 3))


def test_a_block_too_small_before_a_large_group_joins_its_left_neighbour():
    y = np.array([0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1])
    p = np.r_[0.1, 0.2, 0.3, 0.4, np.full(7, 0.50001), 0.5001, 0.9]
    assert_allowed(y, p, tn.BlockIsotonic(3, 5))


@pytest.mark.parametrize("seed", range(5))
def test_one_chain_is_left_of_ties(seed):
    """Twenty scores of some hundred rows each, and blocks of any size: nothing but equal rates is in doubt."""
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 20, 3001) / 20
    y = (rng.random(p.size) < p).astype(int)
    cells = spread_of(tn.sketch(y, p).parts[0])
    for rule, limits in ((tn.Isotonic(), Limits(0, np.inf, 0)), (tn.BlockIsotonic(301, 907), Limits(301, 907, 301))):
        chains = possible_chains(cells, limits, isotonic_fit(cells) if limits.tail == 0 else None)
        start = rule.group(tn.tally(y, p).parts[0]).start
        arrows = set(zip(chains.begin.tolist(), chains.end.tolist(), strict=True))
        assert arrows >= set(zip((2 * start[:-1]).tolist(), (2 * start[1:]).tolist(), strict=True))
        assert len(arrows) <= start.size + 1


def test_too_many_arrows_are_none(monkeypatch):
    monkeypatch.setattr(_block_chains, "MOST_ARROWS", 10)
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    assert possible_chains(spread_of(tn.sketch(rng.random(2000) < p, p).parts[0]), Limits(100, 400, 100)) is None


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_few_chains_are_left_of_spread_scores(n):
    """Of some n²/2 pairs of positions, a few thousand arrows."""
    rng = np.random.default_rng(1)
    p = rng.random(n)
    cells = spread_of(tn.sketch(rng.random(n) < p, p).parts[0])
    chains = possible_chains(cells, Limits(n // 20, n // 5, n // 20))
    assert chains.begin.size < 10_000
