"""Residuals in bins: estimate, influence, resamples and variance of pairs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness.infer import compare
from trueness.infer._residuals import BinnedResiduals, pair_variance

RNG = np.random.default_rng(7)

N = 300

Q = RNG.uniform(0.02, 0.98, N)

Y = (RNG.uniform(size=N) < Q).astype(int)

A = np.clip(Q + 0.10 * RNG.standard_normal(N), 0.01, 0.99)

B = np.clip(0.5 + 0.6 * (Q - 0.5) + 0.05 * RNG.standard_normal(N), 0.01, 0.99)

C = np.clip(Q + 0.05, 0.01, 0.99)

THREE = {"a": A, "b": B, "c": C}

residuals = st.lists(st.floats(-1, 1).map(lambda u: round(u, 3)), min_size=2, max_size=14)


def brute_estimate(u, bins, cluster):
    """T by the double sum: in each bin the mean of products over pairs of different clusters."""
    total = 0.0
    for b in set(bins):
        rows = [i for i in range(len(u)) if bins[i] == b]
        pairs = [u[i] * u[j] for i in rows for j in rows if cluster[i] != cluster[j]]
        total += len(rows) * np.mean(pairs) if pairs else 0.0
    return total / len(u)


def brute_influence(u, bins, cluster):
    values = []
    for i in range(len(u)):
        rows = [j for j in range(len(u)) if bins[j] == bins[i]]
        others = [j for j in rows if cluster[j] != cluster[i]]
        pairs = [(j, k) for j in others for k in others if cluster[j] != cluster[k]]
        pairs = pairs or [(j, k) for j in rows for k in rows if cluster[j] != cluster[k]]
        values.append(2 * u[i] * np.mean(u[others]) - np.mean([u[j] * u[k] for j, k in pairs]) if others else 0.0)
    return values


@given(u=residuals, data=st.data())
def test_influence_and_estimate_are_those_of_the_pairs_of_different_clusters(u, data):
    u = np.array(u)
    bins = np.array(data.draw(st.lists(st.integers(0, 2), min_size=u.size, max_size=u.size)))
    bins = np.unique(bins, return_inverse=True)[1]
    cluster = np.array(data.draw(st.lists(st.integers(0, 4), min_size=u.size, max_size=u.size)))
    for given_cluster, names in ((cluster, cluster), (None, np.arange(u.size))):
        found = BinnedResiduals(u, bins, given_cluster)
        np.testing.assert_allclose(found.estimate, brute_estimate(u, bins, names), atol=1e-12)
        np.testing.assert_allclose(found.influence(), brute_influence(u, bins, names), atol=1e-9)


def test_influence_is_the_pseudo_value_of_the_jackknife():
    y, p = Y[:40], A[:40]
    bins = tn.Edges([0, 0.3, 0.7, 1])
    whole = y.size * tn.squared_ece(y, p, bins=bins)
    without = [tn.squared_ece(np.delete(y, i), np.delete(p, i), bins=bins) for i in range(y.size)]
    pseudo = whole - (y.size - 1) * np.array(without)
    found = BinnedResiduals(y - p, np.searchsorted([0.3, 0.7], p, side="right"))
    np.testing.assert_allclose(found.influence(), pseudo, atol=1e-12)
    assert found.influence().mean() == pytest.approx(found.estimate, abs=1e-14)


def test_rows_that_are_clusters_of_their_own_are_rows():
    alone = compare(Y, THREE, cluster=np.arange(N)[::-1])
    plain = compare(Y, THREE)
    assert alone.clusters == N
    for one, other in zip(alone.pairs, plain.pairs, strict=True):
        assert one.difference == pytest.approx(other.difference, rel=1e-10)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-10)
        assert one.pvalue == pytest.approx(other.pvalue, rel=1e-8)


def test_a_row_drawn_twice_is_not_paired_with_itself():
    found = BinnedResiduals(np.array([0.5, -0.25, 0.75]), np.zeros(3, dtype=int))
    assert found.resampled(np.array([2, 1, 0])) == pytest.approx(0.5 * -0.25)
    assert found.resampled(np.array([3, 0, 0])) == 0
    assert found.resampled(np.array([1, 1, 1])) == found.estimate


def independent(rng, n):
    q = rng.uniform(size=n)
    return q, (rng.uniform(size=n) < q).astype(int), {}


CALIBRATED = {"sharp": lambda q, rng: q, "coarse": lambda q, rng: (np.floor(q * 4) + 0.5) / 4}


@pytest.mark.parametrize(("n", "runs"), [(60, 300), pytest.param(1_000, 1_500, marks=pytest.mark.slow)])
def test_the_variance_of_pairs_is_that_of_the_difference_of_calibrated_models(n, runs):
    rng = np.random.default_rng(n)
    differences, variances = [], []
    for _ in range(runs):
        q, y, _ = independent(rng, n)
        a, b = (BinnedResiduals(y - of(q, rng), np.minimum((q * 4).astype(int), 3)) for of in CALIBRATED.values())
        differences.append(a.estimate - b.estimate)
        variances.append(pair_variance(a, b))
    # The relative deviation of a variance of such tails is about twice that of a normal one.
    assert np.mean(variances) == pytest.approx(np.var(differences), rel=4 * 2 * np.sqrt(2 / runs))


def test_the_variance_of_pairs_is_that_of_all_signs():
    rng = np.random.default_rng(3)
    u, v = rng.normal(size=(2, 9))
    bins = np.array([[0, 0, 0, 0, 1, 1, 1, 1, 2], [0, 1, 0, 1, 0, 1, 0, 1, 0]])
    for cluster in (None, np.array([0, 0, 1, 1, 2, 2, 3, 4, 4])):
        a, b = (BinnedResiduals(part, where, cluster) for part, where in zip((u, v), bins, strict=True))
        x, z = a.deviations().toarray(), b.deviations().toarray()
        kernel = x.T @ x - z.T @ z
        np.fill_diagonal(kernel, 0)
        every = [s @ kernel @ s for s in map(np.array, product([-1, 1], repeat=len(kernel)))]
        assert pair_variance(a, b) == pytest.approx(np.var(every), rel=1e-9)
        assert pair_variance(a, a) == pytest.approx(0, abs=1e-12)
