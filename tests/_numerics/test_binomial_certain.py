"""Rates that are decided whatever was observed within limits are decided for everything within them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueness._numerics.binomial import pvalue
from trueness._numerics.binomial_certain import Observed, certain_rates


def observed(k, others):
    """From limits of both counts."""
    (k0, k1), (o0, o1) = k, others
    rate, n = (k0 / max(k0 + o1, 1), k1 / max(k1 + o0, 1)), (max(k0 + o0, 1), max(k1 + o1, 1))
    return Observed(*((np.array([float(a)]), np.array([float(b)])) for a, b in (rate, n, k, others)))


def places(found, k, others):
    """Rates around the limits, and all over."""
    near = [float(end[0]) for end in found if np.isfinite(end[0])]
    more = [np.clip(at + np.linspace(-1, 1, 21) * 0.1 * max(at * (1 - at), 1e-3), 0, 1) for at in near]
    middle, n = sum(k) / (sum(k) + sum(others)), (sum(k) + sum(others)) / 2
    deviation = np.sqrt(max(middle * (1 - middle), 1 / n) / n)
    return np.unique(
        np.concatenate(
            [
                *more,
                np.array(near),
                np.linspace(0, 1, 101)[[0, 1, 50, 99, 100]],
                np.clip(middle + np.linspace(-8, 8, 161) * deviation, 0, 1),
            ]
        )
    )


@settings(max_examples=80)
@given(
    k=st.integers(0, 400),
    others=st.integers(0, 400),
    wider=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    alpha=st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.45, 0.5, 0.8, 0.99]),
    scale=st.sampled_from([1, 1, 100]),
)
def test_what_is_decided_is_so_for_all_counts_within_the_limits(k, others, wider, alpha, scale):
    if k + others == 0:
        others = 1
    k, others = (k * scale, k * scale + wider[0]), (others * scale, others * scale + wider[1])
    found = certain_rates(observed(k, others), alpha)
    p = places(found, k, others)
    rejected = (p <= found.rejected_to[0]) | (p >= found.rejected_from[0])
    accepted = (p >= found.accepted_from[0]) & (p <= found.accepted_to[0])
    for a in {k[0], sum(k) // 2, k[1]}:
        for b in {others[0], sum(others) // 2, others[1]}:
            if a + b:
                value = pvalue(a, a + b, p)
                assert (value[rejected] <= alpha).all()
                assert (value[accepted] > alpha).all()


@pytest.mark.parametrize("n", [500, 50_000, 5_000_000])
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_little_is_left_open_where_the_counts_are_known(n, rate):
    """At most 0.3 standard errors altogether, of the 3.9 between which a test accepts."""
    k = round(n * rate)
    found = certain_rates(observed((k, k), (n - k, n - k)), 0.05)
    open_ = found.accepted_from - found.rejected_to + found.rejected_from - found.accepted_to
    assert float(open_[0]) < 0.3 * np.sqrt(rate * (1 - rate) / n)


def test_counts_at_the_ends_are_decided_too():
    """No event in 1,000 rows: 0 is not rejected, 0.1 is."""
    found = certain_rates(observed((0, 0), (1000, 1000)), 0.05)
    assert float(found.accepted_from[0]) == 0
    assert float(found.rejected_from[0]) < 0.1
    assert np.isnan(found.rejected_to[0])
