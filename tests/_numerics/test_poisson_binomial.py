"""The number of events among trials of unequal probability."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from trueness._numerics import poisson_binomial
from trueness._numerics.poisson_binomial import central_interval, distribution, tails


def by_enumeration(p):
    pmf = np.zeros(p.size + 1)
    for came in itertools.product([0, 1], repeat=p.size):
        pmf[sum(came)] += np.prod(np.where(came, p, 1 - p))
    return pmf


def spread(found, n):
    pmf = np.zeros(n + 1)
    pmf[found.first : found.first + found.pmf.size] = found.pmf
    return pmf


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_the_law_is_that_of_all_outcomes(p):
    p = np.array(p)
    found = distribution(p, np.ones(p.size, dtype=np.int64))
    assert np.allclose(spread(found, p.size), by_enumeration(p), atol=1e-14)


@pytest.mark.parametrize(
    ("n", "p"), [(10, 0.5), (1_000, 0.3), (100_000, 1e-5), (10**7, 0.999), (1, 0.0), (5, 1.0)]
)
def test_equal_probabilities_are_binomial(n, p):
    found = distribution(np.array([p]), np.array([n]))
    k = found.first + np.arange(found.pmf.size)
    assert np.allclose(found.pmf, binom.pmf(k, n, p), atol=1e-11)


def test_tied_trials_are_trials_one_by_one():
    p, count = np.array([0.1, 0.4, 0.9]), np.array([3, 1, 40])
    one_by_one = np.repeat(p, count)
    expected = distribution(one_by_one, np.ones(one_by_one.size, dtype=np.int64))
    assert np.allclose(distribution(p, count).pmf, expected.pmf, atol=1e-14)


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=8), level=st.floats(0.01, 0.99))
def test_the_central_interval_cuts_off_no_more_than_it_may(p, level):
    p = np.array(p)
    pmf = by_enumeration(p)
    low, high = central_interval(p, np.ones(p.size, dtype=np.int64), level)
    tail = (1 - level) / 2
    assert pmf[:low].sum() <= tail + 1e-12
    assert pmf[high + 1 :].sum() <= tail + 1e-12
    # and no less than it can
    assert pmf[: low + 1].sum() > tail - 1e-12
    assert pmf[high:].sum() > tail - 1e-12


@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_the_law_of_three_moments_is_at_most_one_count_off(scale, monkeypatch):
    p = np.random.default_rng(1).random(10_000) * scale
    one = np.ones(p.size, dtype=np.int64)
    assert p.size * distribution(p, one).pmf.size  # within reach of the exact law
    for level in (0.8, 0.95, 0.995):
        monkeypatch.setattr(poisson_binomial, "_MOST_WORK", 1e12)
        monkeypatch.setattr(poisson_binomial, "_LARGE_VARIANCE", 1e12)
        exact = central_interval(p, one, level)
        monkeypatch.setattr(poisson_binomial, "_MOST_WORK", 0)
        assert np.abs(np.subtract(central_interval(p, one, level), exact)).max() <= 1


def test_heavy_weights_do_not_take_the_exact_law(monkeypatch):
    monkeypatch.setattr(poisson_binomial, "distribution", None)
    n = 10**9
    low, high = central_interval(np.array([0.1, 0.4]), np.array([n, n]), 0.95)
    mean, sd = 0.5 * n, (0.33 * n) ** 0.5
    assert ((low - mean) / sd, (high - mean) / sd) == pytest.approx((-1.959964, 1.959964), abs=1e-4)


def by_hand(p, k):
    """Two-sided tail by convolution, one trial after another."""
    pmf = np.ones(1)
    for chance in p:
        pmf = np.convolve(pmf, [1 - chance, chance])
    return min(1.0, 2 * min(pmf[: k + 1].sum(), pmf[k:].sum()))


@pytest.mark.parametrize("sizes", [[1, 3, 130, 8, 128, 129], [1], [300], [2] * 50])
def test_tails_of_many_groups_are_those_of_each(sizes):
    rng = np.random.default_rng(len(sizes))
    p = rng.beta(0.5, 2, sum(sizes))
    starts = np.cumsum([0, *sizes[:-1]])
    found = tails(p, np.ones(p.size, dtype=np.int64), starts)
    for step in (0, 1, 2):
        counts = np.minimum(np.array(sizes), step * np.array(sizes) // 3)
        expected = [by_hand(p[a : a + n], k) for a, n, k in zip(starts, sizes, counts, strict=True)]
        np.testing.assert_allclose(found.of(counts), expected, atol=1e-13)


def test_tails_take_repeated_trials_and_many_draws():
    p, count = np.array([0.2, 0.5, 0.2]), np.array([3, 200, 1])
    found = tails(p, count, np.array([0, 2]))
    plain = tails(np.repeat(p, count), np.ones(204, dtype=np.int64), np.array([0, 203]))
    events = np.array([[0, 100, 203], [0, 1, 1]])
    np.testing.assert_allclose(found.of(events), plain.of(events), atol=1e-13)


def test_impossible_counts_have_no_tail():
    found = tails(np.array([0.0, 1.0, 0.5]), np.array([1, 1, 2]), np.array([0, 1, 2]))
    assert found.of(np.array([1, 0, 3])).tolist() == [0.0, 0.0, 0.0]
    assert found.of(np.array([0, 1, 1])).tolist() == [1.0, 1.0, 1.0]
