"""Numbers of rows in a bin between order statistics."""

import numpy as np
import pytest
from scipy.stats import betabinom

from trueness._numerics.beta_binomial import hoeffding_failure, log_pmf


@pytest.mark.parametrize(("n", "a", "b"), [(10, 3, 4), (200, 20, 181), (50, 1, 1)])
def test_probabilities_are_those_of_scipy(n, a, b):
    count = np.arange(n + 1.0)
    np.testing.assert_allclose(np.exp(log_pmf(count, n, a, b)), betabinom.pmf(count, n, a, b), rtol=1e-9)


@pytest.mark.parametrize("e", [0.01, 0.1, 0.5])
def test_the_mean_over_counts_is_a_sum(e):
    n, a, b = 300, 12, 90
    count = np.arange(n + 1)
    wanted = sum(betabinom.pmf(count, n, a, b) * np.minimum(1, 2 * np.exp(-2 * count * e * e)))
    assert hoeffding_failure(e, n, a, b) == pytest.approx(wanted, rel=1e-9)


def test_the_mass_between_order_statistics_is_beta():
    rng = np.random.default_rng(3)
    m, k, n, e = 19, 4, 60, 0.2
    scores = np.sort(rng.random((20_000, m)), axis=1)
    counts = rng.binomial(n, scores[:, 7 + k] - scores[:, 7])
    simulated = np.minimum(1, 2 * np.exp(-2 * counts * e * e))
    error = simulated.std() / np.sqrt(simulated.size)
    assert hoeffding_failure(e, n, k, m + 1 - k) == pytest.approx(simulated.mean(), abs=4 * error)
