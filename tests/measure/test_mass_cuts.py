"""Windows of the sums below cuts of equal mass hold those of the rows, and no more than they must."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness.measure._cuts import _lowest, cells_cut, spread_of
from trueness.measure._mass_cuts import at_float_masses, at_whole_masses, mass_cuts

crowd = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40)), min_size=3, max_size=40)


def below(y, p, w, rule):
    """Σw, Σwy, Σw(1 − y), Σw(y − p), Σw(y − p)² of the rows up to each cut, ties included; cuts may coincide."""
    order = np.argsort(p, kind="stable")
    y, p, w = y[order], p[order], w[order]
    reached, total = np.cumsum(w), w.sum()
    units = np.arange(1, rule.n) * total / rule.n
    if (w == np.rint(w)).all():
        units = np.unique(np.arange(1, rule.n) * int(total) // rule.n)
        units = units[units > 0]
    last = p[np.minimum(np.searchsorted(reached, units), p.size - 1)]
    sums = (w, w * y, w * (1 - y), w * (y - p), w * (y - p) ** 2)
    return [np.array([column[p <= score].sum() for score in last]) for column in sums]


@pytest.mark.parametrize("kind", ["none", "whole", "fractional"])
@given(rows=crowd, bins=st.integers(2, 6), seed=st.integers(0, 99))
def test_windows_hold_the_sums_of_the_rows(kind, rows, bins, seed):
    """All rows lie in two neighbouring cells."""
    y, at = (np.array(column) for column in zip(*rows, strict=True))
    p, rng, rule = 0.5 + at * 2**-12, np.random.default_rng(seed), tn.EqualMass(bins)
    w = {"none": np.ones(y.size), "whole": rng.integers(1, 4, y.size) * 1.0, "fractional": rng.random(y.size) + 0.01}[
        kind
    ]
    part = tn.sketch(y, p, sample_weight=None if kind == "none" else w).parts[0]
    found = (at_whole_masses if part.exact else at_float_masses)(part, rule)
    for window, exact in zip(found, below(y, p, w, rule), strict=True):
        assert (window.low[1:-1] <= exact + 1e-9).all()
        assert (exact <= window.high[1:-1] + 1e-9).all()


def test_windows_are_narrower_than_those_of_any_order():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.25, 0.25 + 2**-9, 10_000)
    part, rule = tn.sketch(rng.random(p.size) < p, p).parts[0], tn.EqualMass(2)
    assert part.size == 1
    excess, (_, rows) = at_whole_masses(part, rule).excess, cells_cut(part, rule)
    any_order = _lowest(spread_of(part), rows)[3]
    assert excess.high[1] - excess.low[1] <= 0.9 * (any_order.high[0] - any_order.low[0])


def test_a_cut_at_the_end_of_a_cell_may_lie_in_the_next_if_weights_only_add_up_nearly():
    part = tn.sketch([0, 1, 0, 1], [0.2, 0.2001, 0.7, 0.7001], sample_weight=[0.1, 0.2, 0.1, 0.2]).parts[0]
    cuts = mass_cuts(part, tn.EqualMass(2))
    assert (cuts.first.tolist(), cuts.last.tolist()) == ([0], [1])
    weight = at_float_masses(part, tn.EqualMass(2)).weight
    assert weight.low[1] == pytest.approx(0.3)
    assert weight.high[1] == pytest.approx(0.6)
