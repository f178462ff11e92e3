"""The spread of the statistic under calibration: closed forms against integrals."""

import itertools
import math

import numpy as np
import pytest

from trueness._numerics.null_spread import log_null_variance, null_variance


def integrand(z):
    square = (z**2).sum(axis=-1)
    return square - 2 * (z**3).sum(axis=-1) + square**2


def ordered_sums(rng, n, k):
    """Points spread evenly over the ordered scores with a sum up to 1, and the volume of that set."""
    shares = rng.dirichlet(np.ones(k + 1), n)[:, :k]
    return -np.sort(-shares, axis=1), 1 / math.factorial(k) ** 2


@pytest.mark.parametrize(
    ("arguments", "value"), [((None, 1), 1 / 15), ((2, 1), 1 / 30), ((2, 2), 4 / 15), ((3, 3), 1 / 6)]
)
def test_values_known_by_hand(arguments, value):
    # K = 3: 4 · 2 / (4 · 6 · 2!)
    assert null_variance(*arguments) == pytest.approx(value, rel=1e-14)


def test_the_integrand_is_the_squared_norm_of_the_covariance_of_a_label():
    z = np.array([0.5, 0.2])
    c = np.diag(z) - np.outer(z, z)
    assert integrand(z) == pytest.approx((c**2).sum(), rel=1e-14)


@pytest.mark.parametrize("K", range(2, 11))
def test_one_score_is_an_integral_over_a_segment(K):
    x, w = np.polynomial.legendre.leggauss(8)
    low = 1 / K
    z = (low + (1 - low) * (x + 1) / 2)[:, None]
    value = 2 * (w @ integrand(z)) * (1 - low) / 2
    assert null_variance(K, 1) == pytest.approx(value, rel=1e-13)
    assert null_variance(K, 1, "reachable") == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("K", range(3, 11))
@pytest.mark.parametrize("support", ["published", "reachable"])
def test_two_scores_by_quadrature(K, support):
    x, w = np.polynomial.legendre.leggauss(12)

    def segment(low, high):
        return low + (high - low) * (x + 1) / 2, w * (high - low) / 2

    total = 0.0
    # In t = z₁ + z₂ the reachable set and the published one are cut from the same triangle.
    for t, weight in zip(*segment(2 / K, 1), strict=True):
        least = max(0.0, (1 - t) / (K - 2)) if support == "reachable" else 0.0
        second, inner = segment(least, t / 2)
        total += weight * (inner @ integrand(np.stack([t - second, second], axis=1)))
    assert null_variance(K, 2, support) == pytest.approx(2 * total, rel=1e-10)


@pytest.mark.parametrize("K", range(3, 13))
def test_the_reachable_values_of_two_scores_are_a_polynomial_in_one_over_the_classes(K):
    value = 2 / 45 - 1 / (30 * K) - 1 / (30 * K**2) - 2 / (9 * K**3) + 4 / (15 * K**4) - 4 / (15 * K**5)
    assert null_variance(K, 2, "reachable") == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("K", range(4, 13))
def test_the_reachable_values_of_three_scores_are_a_polynomial_in_one_over_the_classes(K):
    value = 2 / 315 - 1 / (90 * K) - 4 / (315 * K**2) - 1 / (28 * K**3) + 3 / (140 * K**4) - 3 / (70 * K**5)
    assert null_variance(K, 3, "reachable") == pytest.approx(value, rel=1e-12)


def test_published_reachable_values():
    assert null_variance(10, 4, "reachable") == pytest.approx(2.940952e-4, rel=1e-6)
    assert null_variance(10, 5, "reachable") == pytest.approx(9.927984e-6, rel=1e-6)


def monte_carlo(K, k, support, n):
    rng = np.random.default_rng(K * 100 + k)
    if k == K:
        return 2 * integrand(rng.dirichlet(np.ones(K), n)) / math.factorial(K - 1)
    z, volume = ordered_sums(rng, n, k)
    inside = z.sum(axis=1) >= k / K
    if support == "reachable":
        inside &= z.sum(axis=1) + (K - k) * z[:, -1] >= 1
    return 2 * volume * inside * integrand(z)


def agrees_with_monte_carlo(K, k, support, n):
    values = monte_carlo(K, k, support, n)
    error = values.std() / math.sqrt(n)
    assert abs(values.mean() - null_variance(K, k, support)) < 5 * error


CASES = [(K, k) for K, k in itertools.product(range(2, 11), range(1, 5)) if k <= K]


@pytest.mark.parametrize(("K", "k"), CASES)
@pytest.mark.parametrize("support", ["published", "reachable"])
def test_closed_forms_agree_with_monte_carlo(K, k, support):
    agrees_with_monte_carlo(K, k, support, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize(("K", "k"), CASES)
@pytest.mark.parametrize("support", ["published", "reachable"])
def test_closed_forms_agree_with_much_monte_carlo(K, k, support):
    agrees_with_monte_carlo(K, k, support, 2_000_000)


@pytest.mark.parametrize(("K", "k"), [case for case in CASES if 1 < case[1] < case[0]])
def test_what_can_be_reached_is_less_than_what_is_printed(K, k):
    assert 0 < null_variance(K, k, "reachable") < null_variance(K, k)


def test_no_number_of_classes_is_too_large():
    assert all(math.isfinite(log_null_variance(1000, k, "reachable")) for k in (2, 500, 999, 1000))
