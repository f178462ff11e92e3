"""Residuals in bins: estimate, influence, resamples and variance of pairs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness as tn
from trueness.infer import compare
from trueness.infer.interval._residuals import BinnedResiduals, pair_variance

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


def weighted_rows(seed=0, n=24):
    rng = np.random.default_rng(seed)
    u, w = rng.normal(size=n), rng.uniform(0.2, 3, n)
    return u, w, np.append([0, 1, 2], rng.integers(0, 3, n - 3)), np.append(np.arange(6), rng.integers(0, 6, n - 6))


def weighted_means(u, w, rows, pairs):
    """The mean residual of rows and the mean product of pairs, both by weight."""
    products, weights = ([f(i, j) for i, j in pairs] for f in (lambda i, j: u[i] * u[j], lambda i, j: w[i] * w[j]))
    return np.average(u[rows], weights=w[rows]), np.average(products, weights=weights)


def test_weighted_estimate_and_influence_are_those_of_pairs_of_different_clusters():
    u, w, bins, cluster = weighted_rows()
    total, influences = 0.0, []
    for b in range(3):
        rows = np.flatnonzero(bins == b)
        pairs = [(i, j) for i in rows for j in rows if cluster[i] != cluster[j]]
        total += w[rows].sum() * weighted_means(u, w, rows, pairs)[1]
    for i in range(u.size):
        rows = np.flatnonzero((bins == bins[i]) & (cluster != cluster[i]))
        pairs = [(j, k) for j in rows for k in rows if cluster[j] != cluster[k]]
        mean, product_ = weighted_means(u, w, rows, pairs)
        influences.append(2 * u[i] * mean - product_)
    found = BinnedResiduals(u, bins, cluster, w)
    assert found.estimate == pytest.approx(total / w.sum())
    np.testing.assert_allclose(found.influence(), influences, atol=1e-9)
    small = BinnedResiduals(u, bins, cluster, w / 1_000)  # the unit of the weights does not matter
    assert small.estimate == pytest.approx(found.estimate)
    np.testing.assert_allclose(small.influence(), found.influence(), atol=1e-9)
    np.testing.assert_allclose(small.coefficient * 1e-6, found.coefficient)
    np.testing.assert_allclose(small.deviations().toarray(), found.deviations().toarray())
    assert found.row_weight is w
    assert BinnedResiduals(u, bins).row_weight.tolist() == [1] * u.size


@pytest.mark.parametrize("kind", ["rows", "clusters", "weights"])
def test_deviations_of_entries_from_the_mean_of_their_bin(kind):
    u, w, bins, cluster = weighted_rows()
    w = w if kind == "weights" else np.ones(u.size)
    bins = np.append(bins, 3)  # a bin with one row
    u, w, cluster = np.append(u, 0.7), np.append(w, 2.0 if kind == "weights" else 1.0), np.append(cluster, 6)
    names = np.arange(u.size) if kind == "rows" else cluster
    found = BinnedResiduals(u, bins, None if kind == "rows" else cluster, w if kind == "weights" else None).deviations()
    expected = np.zeros((4, names.max() + 1))
    for b in range(3):
        sizes = np.bincount(names[bins == b], w[bins == b], names.max() + 1)
        sums = np.bincount(names[bins == b], (w * u)[bins == b], names.max() + 1)
        total = sizes.sum()
        factor = total / w.sum() / (total**2 - (sizes**2).sum())
        expected[b] = np.sqrt(factor) * (sums - sizes * sums.sum() / total) / np.sqrt(1 - sizes / total)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)


def test_a_resample_of_clusters_repeats_their_rows():
    u, _, bins, cluster = weighted_rows()
    count = np.array([2, 0, 1, 3, 1, 0])
    rows = np.repeat(np.arange(u.size), count[cluster])
    kept = np.unique(bins[rows], return_inverse=True)[1]
    assert BinnedResiduals(u, bins, cluster).resampled(count) == pytest.approx(
        BinnedResiduals(u[rows], kept, np.unique(cluster[rows], return_inverse=True)[1]).estimate
    )


def test_a_resample_of_rows_pairs_different_rows_only():
    u, _, bins, _ = weighted_rows()
    count = np.random.default_rng(1).integers(0, 4, u.size)
    rows = np.repeat(np.arange(u.size), count)
    assert BinnedResiduals(u, bins).resampled(count) == pytest.approx(brute_estimate(u[rows], bins[rows], rows))


def test_many_bins_are_sorted_as_few_are():
    n = 2**16 + 40
    bins = np.random.default_rng(0).permutation(np.append(np.arange(2**16 + 20), np.arange(20)))
    u = np.random.default_rng(1).normal(size=n)
    order = np.argsort(bins, kind="stable")
    found = BinnedResiduals(u, bins)
    assert (found.unit == order).all()
    pairs = [np.prod(u[bins == b]) for b in range(20)]
    assert found.estimate == pytest.approx(2 * np.sum(pairs) / n)


@pytest.mark.parametrize(("alone", "warned"), [(2, False), (4, False), (5, True)])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.all_cases
def test_more_than_half_of_the_rows_alone_are_a_warning(alone, warned, clustered):
    bins = np.append(np.zeros(4, dtype=int), np.arange(alone) + 1)
    cluster = np.arange(bins.size) if clustered else None
    found = BinnedResiduals(np.ones(bins.size), bins, cluster, np.full(bins.size, 0.3) if clustered else None)
    what = "rows of two clusters" if clustered else "two rows"
    if not warned:
        found.check()  # a warning would be an error
        return
    with pytest.warns(
        tn.FewRowsWarning, match=f"{alone} of {bins.size} rows are in bins without {what} and add nothing"
    ):
        found.check()


def test_without_any_pair_there_is_no_estimate():
    with pytest.raises(
        tn.InputError, match=r"No bin holds two rows, .*; 3 rows are in as many bins\. Use fewer `bins`"
    ):
        BinnedResiduals(np.ones(3), np.arange(3)).check()
    one = BinnedResiduals(np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    with pytest.raises(
        tn.InputError, match=r"No bin holds rows of two clusters, so the error cannot be estimated\. Use"
    ):
        one.check()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_variance_of_pairs_of_different_partitions_is_that_of_their_kernels(weighted):
    rng = np.random.default_rng(5)
    u, v = rng.normal(size=(2, 20))
    cluster, w = np.append(np.arange(7), rng.integers(0, 7, 13)), rng.uniform(0.3, 2, 20) if weighted else None
    first, second = np.append([0, 1, 2], rng.integers(0, 3, 17)), np.append([0, 1], rng.integers(0, 2, 18))
    a, b = BinnedResiduals(u, first, cluster, w), BinnedResiduals(v, second, cluster, w)
    x, z = a.deviations().toarray(), b.deviations().toarray()
    kernel = x.T @ x - z.T @ z
    off = kernel - np.diag(np.diag(kernel))
    assert pair_variance(a, b) == pytest.approx(2 * (off**2).sum())
