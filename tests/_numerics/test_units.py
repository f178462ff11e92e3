"""Means and sums over independent rows and clusters."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trueness._numerics.students_t import t_limits
from trueness._numerics.units import ClusterUnits, Units, covariance_of_sums

rows = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(1, 4), st.integers(0, 5)), min_size=2, max_size=30
)


def slow_mean(values, weight, cluster):
    """The weighted mean and its standard error, cluster by cluster."""
    mean = sum(w * v for v, w in zip(values, weight, strict=True)) / sum(weight)
    squares = 0.0
    for name in set(cluster):
        own = [i for i, each in enumerate(cluster) if each == name]
        squares += sum(weight[i] * (values[i] - mean) for i in own) ** 2
    units = len(set(cluster))
    return mean, math.sqrt(squares * units / (units - 1)) / sum(weight)


@given(rows=rows)
def test_the_mean_and_its_error_are_those_of_sums_cluster_by_cluster(rows):
    values, weight, names = zip(*rows, strict=True)
    cluster = np.unique(names, return_inverse=True)[1]
    assume(cluster.max() > 0)
    found = ClusterUnits(cluster).mean(np.array(values, float), np.array(weight, float))
    mean, error = slow_mean(values, weight, names)
    assert found.value == pytest.approx(mean, abs=1e-12)
    assert found.error == pytest.approx(error, abs=1e-12)
    assert found.units == len(set(names))


@given(rows=rows)
def test_without_clusters_every_row_is_one(rows):
    values, weight = (np.array(each, float) for each in list(zip(*rows, strict=True))[:2])
    alone = ClusterUnits(np.arange(values.size)).mean(values, weight)
    assert Units(values.size).mean(values, weight) == alone


def test_the_error_of_unweighted_rows_is_that_of_the_textbook():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    assert Units(4).mean(values).error == pytest.approx(values.std(ddof=1) / 2, rel=1e-15)


def test_equal_values_have_no_error_whatever_the_rounding_of_their_mean():
    assert Units(3).mean(np.full(3, 0.1), np.array([0.3, 0.3, 0.1])).error == 0


def test_the_variance_of_sums_is_the_diagonal_of_their_covariance():
    rng = np.random.default_rng(0)
    terms, cluster = rng.normal(size=(3, 50)), ClusterUnits(rng.integers(0, 7, 50))
    covariance = covariance_of_sums(cluster.sums(terms))
    alone = [cluster.variance_of_sum(each) for each in terms]
    np.testing.assert_allclose(np.diag(covariance), alone, rtol=1e-14)


def test_the_effective_number_counts_equal_clusters_and_discounts_others():
    assert ClusterUnits(np.array([0, 0, 1, 2, 2, 2])).effective() == pytest.approx(36 / 14)
    assert ClusterUnits(np.array([0, 0, 1])).effective(np.array([0.5, 0.5, 3.0])) == pytest.approx(
        16 / 10
    )
    assert ClusterUnits(np.zeros(0, int)).effective() == 0


def test_clusters_of_equal_rows_enlarge_the_variance_by_their_size_and_opposite_rows_do_not_shrink_it():
    units = ClusterUnits(np.array([0, 0, 0, 1, 1, 1]))
    assert units.design_effect(np.array([1.0, 1, 1, -1, -1, -1]), 6.0) == 3.0
    assert units.design_effect(np.array([1.0, -1, 0, 1, -1, 0]), 4.0) == 1.0
    assert units.design_effect(np.zeros(6), 0.0) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size"), [(12, 5), (60, 5)])
def test_limits_of_a_clustered_mean_cover_it_as_often_as_they_say(clusters, size):
    rng, runs = np.random.default_rng(1), 4000
    cluster, inside = np.repeat(np.arange(clusters), size), 0
    for _ in range(runs):
        values = rng.normal(size=clusters)[cluster] + rng.normal(size=cluster.size)
        mean, error, units = ClusterUnits(cluster).mean(values)
        low, high = t_limits(mean, error, units - 1, 0.9)
        inside += low <= 0 <= high
    assert abs(inside / runs - 0.9) < 4 * math.sqrt(0.9 * 0.1 / runs)
