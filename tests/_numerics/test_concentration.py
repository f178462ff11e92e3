"""The exact deviation of a mean of labels, against a dense search over rates and the published ranges."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import betabinom, binom

from trueness._numerics.concentration import (
    _failures,
    beta_binomial_log_pmf,
    binomial_epsilon,
    certainly_fails,
    hoeffding_failure,
    keeps,
    least_size,
)


def worst_failure(n, e):
    """F_n(e), over every k."""
    k = np.arange(math.ceil(n * Fraction(e)), n + 1)
    return float(_failures(n, k, math.floor(2 * n * Fraction(e)), e).max(initial=0.0))


def dense_failure(n, e):
    """sup over a fine grid of rates, with both sides of every rate at which the event changes."""
    k = np.arange(n + 1)
    turns = np.concatenate([k / n - e, k / n + e])
    rates = np.concatenate(
        [np.linspace(0, 1, 5_001), *(turns + side for side in (-1e-11, 0, 1e-11))]
    )
    rates = rates[(rates >= 0) & (rates <= 1)]
    outside = np.abs(k / n - rates[:, None]) > e
    return float((binom.pmf(k, n, rates[:, None]) * outside).sum(axis=1).max())


@pytest.mark.parametrize(("n", "d"), [(1, 0.5), (2, 0.1), (7, 0.01), (12, 0.1), (64, 0.1)])
def test_a_dense_search_over_rates_agrees(n, d):
    e = binomial_epsilon(n, d)
    assert dense_failure(n, e * (1 + 1e-12)) <= d + 1e-8
    assert dense_failure(n, e - 1e-6) > d
    for off in (
        0.31,
        0.57,
        0.93,
    ):  # where 2ne is not a whole number, which the dense search would round
        assert worst_failure(n, off * e) == pytest.approx(dense_failure(n, off * e), abs=1e-8)


@pytest.mark.parametrize(("n", "d"), [(5, 0.3), (50, 0.0105), (333, 0.1), (2_000, 1e-4)])
def test_leaving_out_rates_far_from_one_half_changes_nothing(n, d):
    e = binomial_epsilon(n, d)
    assert worst_failure(n, e) <= d < worst_failure(n, math.nextafter(e, 0)) + 1e-12


def test_with_one_label_the_rate_d_is_missed():
    assert binomial_epsilon(1, 0.1) == pytest.approx(0.9, abs=1e-15)
    assert binomial_epsilon(1, 0.6) == 0.5


def test_the_sizes_that_keep_a_tenth():
    assert [n for n in range(60, 90) if keeps(n, 0.1, 0.1)] == [70, 71, 72, *range(75, 90)]
    d = 1 - 0.9**0.1
    assert [n for n in range(150, 185) if keeps(n, 0.1, d)] == [165, 166, *range(170, 185)]
    assert least_size(lambda _: 0.1, 0.1) == 75
    assert least_size(lambda _: 0.1, d) == 170


def test_no_size_from_the_least_on_fails():
    for e, d in ((0.2, 0.1), (0.11, 0.02), (0.31, 0.4)):
        least = least_size(lambda _, e=e: e, d)
        assert all(worst_failure(n, e) <= d for n in range(least, 2 * least))
        assert least == 1 or worst_failure(least - 1, e) > d


def test_what_certainly_fails_does_fail():
    n = np.arange(1, 200)
    for e, d in ((0.1, 0.1), (0.05, 0.01), (0.3, 0.2)):
        found = certainly_fails(n, np.full(n.size, e), np.full(n.size, d))
        fails = np.array([worst_failure(int(i), e) > d for i in n])
        assert not (found & ~fails).any()
        assert found.sum() > 0.5 * fails.sum()


@pytest.mark.parametrize(("n", "a", "b"), [(10, 3, 4), (200, 20, 181), (50, 1, 1)])
def test_probabilities_are_those_of_scipy(n, a, b):
    count = np.arange(n + 1.0)
    np.testing.assert_allclose(
        np.exp(beta_binomial_log_pmf(count, n, a, b)), betabinom.pmf(count, n, a, b), rtol=1e-9
    )


@pytest.mark.parametrize("e", [0.01, 0.1, 0.5])
def test_the_mean_over_counts_is_a_sum(e):
    n, a, b = 300, 12, 90
    count = np.arange(n + 1)
    wanted = sum(betabinom.pmf(count, n, a, b) * np.minimum(1, 2 * np.exp(-2 * count * e * e)))
    assert hoeffding_failure(e, n, a, b) == pytest.approx(wanted, rel=1e-9)
