"""Vasicek's one-factor model against SciPy, in its limits and by simulation."""

import numpy as np
import pytest
from scipy import integrate, stats

from trueness._numerics.vasicek import OneFactor


@pytest.mark.parametrize(
    ("k", "n", "pd"), [(2, 50, 0.01), (0, 50, 0.01), (40, 1000, 0.02), (7, 7, 0.3)]
)
def test_p_values_with_correlation_average_the_binomial_over_the_factor(k, n, pd):
    def rate(z):
        return stats.norm.cdf((stats.norm.ppf(pd) + np.sqrt(0.2) * z) / np.sqrt(0.8))

    def average(tail):
        return integrate.quad(
            lambda z: stats.norm.pdf(z) * tail(rate(z)), -9, 9, limit=200, epsabs=1e-13
        )[0]

    law = OneFactor(np.array([pd]), np.array([1.0]), 0.2)
    assert law.at_least(k, n) == pytest.approx(
        average(lambda q: stats.binom.sf(k - 1, n, q)), rel=1e-6
    )
    assert law.at_most(k, n) == pytest.approx(average(lambda q: stats.binom.cdf(k, n, q)), rel=1e-6)


@pytest.mark.parametrize(
    ("n", "pd", "level"), [(1000, 0.01, 0.95), (30, 0.3, 0.999), (1, 0.5, 0.9), (10**6, 1e-5, 0.99)]
)
def test_without_correlation_the_limits_are_binomial_quantiles(n, pd, level):
    law, exact = OneFactor(np.array([pd]), np.array([1.0]), 0.0), stats.binom(n, pd)
    assert law.most_events(n, level) == exact.ppf(level)
    assert law.fewest_events(n, level) == exact.ppf(np.nextafter(1 - level, 1))


def test_limits_of_many_rows_approach_vasiceks_quantiles():
    law = OneFactor(np.array([0.01, 0.05]), np.array([0.7, 0.3]), 0.12)
    assert law.most_events(10**7, 0.99) / 10**7 == pytest.approx(law.quantile(0.99), rel=1e-4)
    assert law.fewest_events(10**7, 0.99) / 10**7 == pytest.approx(law.quantile(0.01), rel=1e-3)


@pytest.mark.parametrize("correlation", [0.0, 0.1])
def test_certain_scores_have_certain_events(correlation):
    never, always = (OneFactor(np.array([p]), np.array([1.0]), correlation) for p in (0.0, 1.0))
    assert (never.at_most(0, 10), always.at_least(10, 10)) == (1, 1)
    assert max(never.at_least(1, 10), always.at_most(9, 10)) < 1e-18
