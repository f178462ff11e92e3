"""Binomial numbers by tables of their distribution functions."""

import math

import numpy as np
import pytest
from scipy.stats import binom, chi2

from trueness._numerics.binomial import MOST_OUTCOMES, binomial_outcomes, binomial_tables


def test_a_number_is_the_first_outcome_whose_threshold_exceeds_the_uniform_one():
    n, p = np.array([9, 50, 1_000, 30]), np.array([0.3, 0.001, 0.5, 0.999])
    tables = binomial_tables(n, p)
    drawn = tables.draw(2_001, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    words = rng.integers(0, 1 << 64, 2_001, dtype=np.uint64).view("<u2").reshape(4, 2_001)
    whole = np.floor(np.minimum(tables.cdf, 65535))
    for i, (own, word) in enumerate(zip(drawn, words, strict=True)):
        thresholds = tables.cdf[tables.start[i] : tables.start[i + 1]]
        decided = ~np.isin(word, whole[tables.start[i] : tables.start[i + 1]])
        rest = np.where(decided, 0.5, 0.0)
        rest[~decided] = rng.random((~decided).sum())
        assert (
            own.tolist()
            == (tables.low[i] + np.searchsorted(thresholds, word + rest, "right")).tolist()
        )


def test_certain_trials_have_one_outcome():
    drawn = binomial_tables(np.array([9, 12]), np.array([0.0, 1.0])).draw(
        5, np.random.default_rng(0)
    )
    assert drawn.tolist() == [[0] * 5, [12] * 5]


@pytest.mark.parametrize(
    ("n", "p"), [(9, 0.5), (400, 1e-9), (10**6, 0.5), (10**5, 1e-4), (2_000, 1 - 1e-7)]
)
def test_what_a_table_leaves_out_is_below_the_rounding_of_a_sum(n, p):
    tables = binomial_tables(np.array([n]), np.array([p]))
    low, high = int(tables.low[0]), int(tables.low[0]) + tables.cdf.size
    law = binom(n, p)
    assert law.cdf(low - 1) + law.sf(high) < 1e-16
    np.testing.assert_allclose(
        tables.cdf / 65536, law.cdf(np.arange(low, high)), rtol=0, atol=1e-11
    )
    assert binomial_outcomes(np.array([n]), np.array([p])) == high - low + 1 <= MOST_OUTCOMES


@pytest.mark.slow
def test_the_frequencies_are_those_of_the_distribution():
    """Six distributions, a million numbers of each, by the chi-squared statistic of the outcomes expected ten times."""
    mean, draws = np.array([0.7, 3.0, 11.0, 40.0, 170.0, 2_000.0]), 10**6
    n = np.array([9, 12, 400, 45, 340, 10**6])
    tables = binomial_tables(n, mean / n)
    rng = np.random.default_rng(11)
    drawn = np.hstack([tables.draw(draws // 10, rng) for _ in range(10)])
    for i, own in enumerate(drawn):
        exact = binom(n[i], mean[i] / n[i])
        k = np.arange(own.min(), own.max() + 1)
        expected = draws * exact.pmf(k)
        many = expected >= 10
        seen = np.bincount(own - own.min())
        statistic = ((seen - expected)[many] ** 2 / expected[many]).sum()
        assert statistic < chi2(many.sum()).isf(1e-5)
        assert abs(own.mean() - mean[i]) < 4.5 * math.sqrt(exact.var() / draws)
