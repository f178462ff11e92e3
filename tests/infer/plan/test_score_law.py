"""The distribution of scores that a validation is planned for."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtri

import trueness as tn

SE = 0.05
Z = float(ndtri(0.975))


def normal_mean(of, mean, deviation):
    """The mean of a function of normal log-odds, by quadrature."""
    return quad(lambda z: of(mean + deviation * z) * np.exp(-z * z / 2), -10, 10, epsabs=1e-12)[
        0
    ] / np.sqrt(2 * np.pi)


def slope_rows(total, first, second):
    return np.ceil(total / (total * second - first**2) / SE**2)


@pytest.mark.parametrize(
    ("rate", "c"), [(0.1, 0.8), (0.5, 0.55), (0.001, 0.97), (1e-8, 0.6), (0.99, 0.999)]
)
def test_normal_log_odds_have_the_prevalence_and_the_c_statistic(rate, c):
    both = tn.validation_size(prevalence=rate, c_statistic=c, slope_width=2 * Z * SE)
    assert (both.prevalence, both.c_statistic) == pytest.approx((rate, c))


@pytest.mark.parametrize("pair", [(0, 1), [-2.5, 0.4], np.array([1.0, 3.0])])
def test_normal_log_odds_have_the_moments_of_the_normal_law(pair):
    powers = [normal_mean(lambda x, k=k: expit(x) * expit(-x) * x**k, *pair) for k in range(3)]
    found = tn.validation_size(log_odds=pair, slope_width=2 * Z * SE)
    assert found.prevalence == pytest.approx(normal_mean(expit, *pair), abs=1e-10)
    assert found.n == slope_rows(*powers)


def test_scores_have_the_c_statistic_of_their_pairs_and_the_information_of_their_mean():
    p = np.random.default_rng(1).random(40).round(1).clip(0.05, 0.95)
    pairs = [(a * (1 - b), (a > b) + (a == b) / 2) for a in p for b in p]
    found = tn.validation_size(scores=p, slope_width=2 * Z * SE)
    assert found.c_statistic == pytest.approx(
        sum(w * right for w, right in pairs) / sum(w for w, _ in pairs)
    )
    assert found.prevalence == pytest.approx(p.mean())
    v, x = p * (1 - p), np.log(p / (1 - p))
    assert found.n == slope_rows(v.mean(), (v * x).mean(), (v * x**2).mean())
    certain = tn.validation_size(scores=[*p, *np.repeat([0.0, 1.0], 20)], slope_width=2 * Z * SE)
    assert certain.n == slope_rows(v.mean() / 2, (v * x).mean() / 2, (v * x**2).mean() / 2)
