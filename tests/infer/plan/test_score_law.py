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
    return quad(lambda z: of(mean + deviation * z) * np.exp(-z * z / 2), -10, 10, epsabs=1e-12)[0] / np.sqrt(2 * np.pi)


def slope_rows(total, first, second):
    return np.ceil(total / (total * second - first**2) / SE**2)


@pytest.mark.parametrize(("rate", "c"), [(0.1, 0.8), (0.5, 0.55), (0.001, 0.97), (1e-8, 0.6), (0.99, 0.999)])
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
    assert found.c_statistic == pytest.approx(sum(w * right for w, right in pairs) / sum(w for w, _ in pairs))
    assert found.prevalence == pytest.approx(p.mean())
    v, x = p * (1 - p), np.log(p / (1 - p))
    assert found.n == slope_rows(v.mean(), (v * x).mean(), (v * x**2).mean())
    certain = tn.validation_size(scores=[*p, *np.repeat([0.0, 1.0], 20)], slope_width=2 * Z * SE)
    assert certain.n == slope_rows(v.mean() / 2, (v * x).mean() / 2, (v * x**2).mean() / 2)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"scores": []}, r"`scores` must be a vector of probabilities; got shape \(0,\)"),
        ({"scores": [[0.1]]}, "`scores` must be a vector of probabilities"),
        ({"scores": [0.0, 1.0]}, "`scores` must not all be 0 or 1"),
        ({"scores": [0.2, 1.2]}, r"`scores` must lie in \[0, 1\]"),
        ({"scores": [0.2], "log_odds": (0, 1)}, "`scores` must be given without `log_odds`"),
        ({"log_odds": (0, 0)}, "`log_odds` must be the mean and the standard deviation"),
        ({"log_odds": (0, 1, 2)}, "`log_odds` must be the mean"),
        ({"log_odds": (800, 1)}, "`log_odds` must be the mean"),
        ({"prevalence": 0.1, "c_statistic": 0.5}, "`c_statistic` must be above 0.5 and below 1"),
        ({"prevalence": 1e-12, "c_statistic": 0.7}, "`prevalence` must not be so near 0 or 1"),
        ({"prevalence": 0.3, "c_statistic": 0.5 + 1e-9}, "`c_statistic` must not be so near 0.5 or 1"),
        ({}, "`prevalence` must be given, or `log_odds` or `scores`"),
        ({"prevalence": 0.1, "slope_width": 0.2}, "`slope_width` needs the spread of the scores"),
        ({"scores": [0.3, 0.3], "slope_width": 0.2}, "`slope_width` needs scores that differ"),
    ],
)
def test_a_law_that_cannot_be_made_is_refused(how, message):
    with pytest.raises(tn.InputError, match=message):
        tn.validation_size(**how)
