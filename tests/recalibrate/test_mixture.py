"""Weights of candidates and limits of a gain, against the same written out row by row."""

import math

import numpy as np
import pytest
from scipy.stats import t

from trueness.recalibrate._mixture import clustered_gain, design_effect, held_out_weights, mean_gain, mixture_weights

RNG = np.random.default_rng(5)


def by_definition(loss, effect):
    """Prior 1/2 for the first and equal shares of the other half, times the exponential of minus the loss."""
    prior = [0.5, *[0.5 / (len(loss) - 1)] * (len(loss) - 1)]
    power = [share * math.exp(-(one - min(loss)) / effect) for share, one in zip(prior, loss, strict=True)]
    return [one / sum(power) for one in power]


@pytest.mark.all_cases
@pytest.mark.parametrize("effect", [1.0, 2.5])
@pytest.mark.parametrize("loss", [[3.0, 2.0], [10.0, 11.5, 9.0, 10.2], [1000.0, 1002.0, 1001.0]])
def test_a_weight_is_the_prior_times_the_likelihood(loss, effect):
    assert mixture_weights(np.array(loss), effect).tolist() == pytest.approx(by_definition(loss, effect))


def test_weights_of_losses_without_clusters_have_no_design_effect():
    loss = RNG.uniform(5, 9, (3, 2, 4))
    assert mixture_weights(loss[:, 0, 0]).tolist() == pytest.approx(by_definition(loss[:, 0, 0].tolist(), 1))
    assert (held_out_weights(loss) == held_out_weights(loss, 1.0)).all()


def test_a_fold_has_no_say_in_its_own_weights():
    loss = RNG.uniform(5, 9, (3, 2, 4))
    found = held_out_weights(loss, 1.7)
    assert found.shape == loss.shape
    for deal in range(2):
        for fold in range(4):
            others = [sum(one[deal, f] for f in range(4) if f != fold) for one in loss]
            assert found[:, deal, fold].tolist() == pytest.approx(by_definition(others, 1.7))


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_limits_of_weighted_rows_are_students_of_the_rows_repeated(level):
    difference, weight = RNG.normal(0.3, 1, 12), RNG.integers(1, 5, 12)
    repeated = np.repeat(difference, weight)
    low, high = t.interval(level, repeated.size - 1, repeated.mean(), repeated.std(ddof=1) / math.sqrt(repeated.size))
    found = mean_gain(difference, weight.astype(float), level, float(repeated.size))
    assert found == pytest.approx((repeated.mean(), low, high))


def test_fewer_rows_than_two_have_no_limits():
    assert mean_gain(np.array([0.25]), np.ones(1), 0.9, 1.0) == (0.25, -math.inf, math.inf)
    two = mean_gain(np.array([0.0, 1.0]), np.ones(2), 0.9, 2.0)
    reach = t.ppf(0.95, 1) * math.sqrt(0.5 / 2)
    assert two == pytest.approx((0.5, 0.5 - reach, 0.5 + reach))


def test_clusters_of_one_row_are_rows():
    difference = RNG.normal(0.3, 1, 9)
    alone = mean_gain(difference, np.ones(9), 0.9, 9.0)
    assert clustered_gain(difference, np.ones(9), np.arange(9)[::-1], 0.9) == pytest.approx(alone)


def test_limits_of_clusters_by_hand():
    difference, weight, cluster = RNG.normal(0.3, 1, 12), RNG.uniform(0.5, 2, 12), np.arange(12) % 5
    mean = np.average(difference, weights=weight)
    residuals = [(weight * (difference - mean))[cluster == one].sum() for one in range(5)]
    sizes = [weight[cluster == one].sum() for one in range(5)]
    variance = 5 / 4 * sum(one**2 for one in residuals) / weight.sum() ** 2
    freedom = sum(sizes) ** 2 / sum(one**2 for one in sizes) - 1
    reach = t.ppf(0.9, freedom) * math.sqrt(variance)
    assert clustered_gain(difference, weight, cluster, 0.8) == pytest.approx((mean, mean - reach, mean + reach))


def test_a_single_cluster_has_no_limits():
    found = clustered_gain(np.array([0.0, 1.0, 0.5]), np.array([1.0, 2.0, 1.0]), np.zeros(3, int), 0.9)
    assert found == (0.625, -math.inf, math.inf)


def test_two_clusters_have_limits():
    # Residuals of the clusters are −1 and 1 in two rows each; one degree of freedom.
    reach = t.ppf(0.9, 1) * math.sqrt(2 * (1 + 1) / 4**2)
    found = clustered_gain(np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4), np.array([0, 0, 1, 1]), 0.8)
    assert found == pytest.approx((0.5, 0.5 - reach, 0.5 + reach))


def test_the_design_effect_of_copies_is_their_number():
    difference, weight = RNG.normal(0, 1, 8), RNG.uniform(0.5, 2, 8)
    assert design_effect(np.repeat(difference, 3), np.repeat(weight, 3), np.repeat(np.arange(8), 3)) == pytest.approx(3)


def test_the_design_effect_is_a_ratio_of_squares_and_at_least_one():
    weight, cluster = np.array([1.0, 2.0, 1.0, 1.0]), np.array([0, 0, 1, 1])
    # The mean of these is 1: away from it they are −1, 1, 2 and −3.
    difference = np.array([0.0, 2.0, 3.0, -2.0])
    assert design_effect(difference, weight, cluster) == 1.0  # clusters sum to 1 and −1, rows to 1, 2, 2 and 3
    # Away from the mean, 2: −2, 0, 1 and 1.
    gain = np.array([0.0, 2.0, 3.0, 3.0])
    for unit in (1.0, 0.01):
        assert design_effect(unit * gain, weight, cluster) == pytest.approx((2**2 + 2**2) / (4 + 1 + 1))


def test_rows_that_all_gain_the_same_have_no_design_effect():
    assert design_effect(np.full(4, 0.5), np.ones(4), np.array([0, 0, 1, 1])) == 1.0
