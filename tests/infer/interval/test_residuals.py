"""Residuals in bins, through the differences of models that rest on them: influences, pairs and resamples."""

import numpy as np
import pytest

import trueness as tn
from trueness.infer import compare

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
EDGES = [0, 0.3, 0.7, 0.985, 1]


def rows(n=36, clusters=9, seed=0):
    rng = np.random.default_rng(seed)
    p, q = rng.uniform(0.02, 0.98, (2, n))
    p[-2:] = q[-2:] = 0.99  # two rows alone in their bin
    return (
        (rng.random(n) < p).astype(int),
        p,
        q,
        rng.uniform(0.2, 3, n),
        np.append(np.arange(clusters), rng.integers(0, clusters, n - clusters)),
    )


def pairs_of(some, cluster):
    return [(i, j) for i in some for j in some if cluster[i] != cluster[j]]


def product_mean(u, w, pairs):
    return (
        np.average([u[i] * u[j] for i, j in pairs], weights=[w[i] * w[j] for i, j in pairs])
        if pairs
        else 0.0
    )


def estimate(u, w, b, cluster):
    """The mean of products over pairs of different clusters that share a bin."""
    bins = [np.flatnonzero(b == k) for k in np.unique(b)]
    return (
        sum(w[some].sum() * product_mean(u, w, pairs_of(some, cluster)) for some in bins) / w.sum()
    )


def influences(u, w, b, cluster):
    """2u times the mean of the rows of the bin outside the cluster, less the mean product of their pairs."""
    values = []
    for i in range(u.size):
        same = np.flatnonzero(b == b[i])
        others = same[cluster[same] != cluster[i]]
        pairs = pairs_of(others, cluster) or pairs_of(same, cluster)
        mean = np.average(u[others], weights=w[others]) if others.size else 0.0
        values.append(2 * u[i] * mean - product_mean(u, w, pairs) if others.size else 0.0)
    return np.array(values)


def kernel(u, w, b, cluster):
    """Products of clusters in T if all residuals of a bin had the same mean."""
    found = np.zeros((cluster.max() + 1,) * 2)
    for k in np.unique(b):
        some = b == k
        size, s = (np.bincount(cluster[some], part[some], len(found)) for part in (w, w * u))
        total = size.sum()
        rest = 1 - size / total
        spread = (s - size * s.sum() / total) / np.sqrt(np.where(rest > 0, rest, 1))
        pairs = total**2 - (size**2).sum()
        found += (total / w.sum() / pairs if pairs > 1e-12 else 0) * np.outer(spread, spread)
    return found


@pytest.mark.parametrize("kind", ["rows", "clusters", "weights", "weighted clusters"])
def test_a_difference_has_the_spread_of_its_influences_less_that_of_pairs(kind):
    y, p, q, w, cluster = rows()
    options = {"cluster": cluster} if "clusters" in kind else {}
    if "weight" in kind:
        options |= {"sample_weight": w, "weight_type": "importance"}
    w = w if "weight" in kind else np.ones(y.size)
    names = cluster if "clusters" in kind else np.arange(y.size)
    (found,) = compare(y, {"a": p, "b": q}, bins=EDGES, **options).pairs
    models = [
        (y - score, w, np.searchsorted(EDGES[1:-1], score, side="right"), names) for score in (p, q)
    ]
    assert found.difference == pytest.approx(np.subtract(*(estimate(*one) for one in models)))
    d = np.subtract(*(influences(*one) for one in models))
    sums = np.bincount(names, w * (d - np.average(d, weights=w)) / w.sum())
    spread = (sums**2).sum() * sums.size / (sums.size - 1)
    both = np.subtract(*(kernel(*one) for one in models))
    pairs = 2 * ((both**2).sum() - (np.diag(both) ** 2).sum())
    assert found.standard_error == pytest.approx(np.sqrt(max(spread - pairs, pairs)), rel=1e-9)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_row_drawn_twice_is_not_paired_with_itself(clustered):
    """The bootstrap of models that differ by a constant in one bin: spread and mean of slow resamples."""
    y, p, q, _, cluster = rows(60, 12, seed=1)
    options, names = ({"cluster": cluster}, cluster) if clustered else ({}, np.arange(60))
    (found,) = compare(
        y,
        {"a": p, "b": q},
        method="bootstrap",
        bins=EDGES,
        resamples=1_500,
        level=0.8,
        seed=0,
        **options,
    ).pairs
    rng, drawn = np.random.default_rng(2), []
    bins = [np.searchsorted(EDGES[1:-1], score, side="right") for score in (p, q)]
    for _ in range(300):
        count = np.bincount(
            rng.integers(0, names.max() + 1, names.max() + 1), minlength=names.max() + 1
        )
        some = np.repeat(np.arange(60), count[names])
        drawn.append(
            np.subtract(
                *(
                    _paired(y[some] - s[some], b[some], names[some])
                    for s, b in zip((p, q), bins, strict=True)
                )
            )
        )
    low, high = np.quantile(drawn, [0.1, 0.9]) - np.mean(drawn) + found.difference
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.35 * np.std(drawn))


def _paired(u, b, cluster):
    total = 0.0
    for k in np.unique(b):
        some = b == k
        s, n = np.bincount(cluster[some], u[some]), np.bincount(cluster[some])
        pairs = some.sum() ** 2 - (n**2).sum()
        total += some.sum() * (s.sum() ** 2 - (s**2).sum()) / pairs if pairs else 0.0
    return total / u.size


def test_rows_that_are_clusters_of_their_own_are_rows():
    y, p, q, _, _ = rows(300)
    alone, plain = (
        compare(y, {"a": p, "b": q}, **options)
        for options in ({"cluster": np.arange(300)[::-1]}, {})
    )
    assert alone.clusters == 300
    assert alone.pairs[0].standard_error == pytest.approx(plain.pairs[0].standard_error, rel=1e-10)


@pytest.mark.filterwarnings("error::trueness.TruenessWarning")
def test_bins_without_pairs_are_refused_and_few_pairs_are_a_warning():
    p = np.append(np.full(4, 0.05), np.arange(2, 8) / 8)
    y, cluster = np.arange(10) % 2, np.append([0, 1, 2, 3], np.arange(6) + 4)
    with (
        pytest.warns(
            tn.errors.FewRowsWarning,
            match="6 of 10 rows are in bins without rows of two clusters and add nothing",
        ),
        pytest.warns(tn.errors.FewClustersWarning),
    ):
        tn.ece_interval(y, p, cluster=cluster, bins=tn.Distinct(), seed=0)
    with (
        pytest.raises(
            tn.InputError,
            match=r"No bin holds rows of two clusters, so the error cannot be estimated\. Use",
        ),
        pytest.warns(tn.errors.FewClustersWarning),
    ):
        tn.ece_interval([0, 1, 1, 0], [0.2, 0.2, 0.7, 0.7], cluster=[0, 0, 1, 1], bins=2, seed=0)
