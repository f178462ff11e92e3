"""Confidence limits of observed divided by expected events: by hand, laws, extremes, simulated coverage."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, binomtest, norm, t

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def limits(y, p=None, level=0.95, w=None, cluster=None):
    """Value, limits and standard error."""
    more = {} if w is None else {"sample_weight": w}
    found = tn.estimate("observed_expected", y, p, level=level, cluster=cluster, **more)
    return found.value, found.low, found.high, found.standard_error


def some_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p


@pytest.mark.parametrize(
    ("events", "n", "score"), [(0, 60, 0.1), (25, 25, 1.0), (3, 40, 0.1), (0, 60, 1e-4)]
)
def test_one_score_has_the_exact_binomial_limits(events, n, score):
    low, high = binomtest(events, n).proportion_ci(0.95, "exact")
    found = limits([1] * events + [0] * (n - events), [score] * n)
    assert found[:3] == pytest.approx((events / n / score, low / score, high / score))


def test_certain_scores_that_hold_leave_less_to_chance():
    _, low, high, _ = limits([0] * 50 + [1] * 50, [0.01] * 50 + [0.99] * 50)
    binomial = binomtest(50, 100).proportion_ci(0.95, "exact")
    assert binomial.low < 0.5 * low < 0.5 < 0.5 * high < binomial.high
    assert high - low > 0.05


def test_weights_of_one_half_clusters_of_one_row_and_fine_bins_are_like_rows():
    y, p = some_rows(2_000)
    half, plain = np.full(y.size, 0.5), limits(y, p)[:3]
    for found in (
        limits(y, p, w=half),
        limits(y, p, cluster=np.arange(y.size)),
        limits(tn.binned(y, p, bins=50)),
        limits(tn.binned(y, p, bins=50, sample_weight=half)),
    ):
        assert found[:3] == pytest.approx(plain, abs=0.05 * (plain[2] - plain[1]))


def test_scores_of_zero_only_have_no_ratio():
    assert limits([0, 1], [0.0, 0.0]) == pytest.approx((math.inf,) * 3 + (math.nan,), nan_ok=True)
    assert all(map(math.isnan, limits([0, 0], [0.0, 0.0])))


LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(1, 60, n),
    "bimodal": lambda rng, n: rng.beta(0.05, 0.05, n).clip(1e-12, 1 - 1e-12),
    "confident": lambda rng, n: rng.beta(20, 1, n).clip(1e-12, 1 - 1e-12),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "slope", "shift", "clustered"),
    [
        *((n, *line, False) for n in (50, 400) for line in ((1, 0), (0.3, 0), (1, 0.7), (2, -0.5))),
        (400, 0.7, 0.3, True),
    ],
)
@pytest.mark.parametrize("law", LAWS)
def test_each_limit_misses_as_often_as_it_may(law, n, slope, shift, clustered):
    """Shares of limits above and below the true ratio, given the scores."""
    rng, runs, cluster = np.random.default_rng(0), 1_000, np.arange(n) // 4
    above = below = 0
    for _ in range(runs):
        p = LAWS[law](rng, n)
        q = expit(slope * logit(p) + shift)
        shared = clustered & (rng.random(n) < 0.6)
        y = (np.where(shared, rng.random(n)[cluster], rng.random(n)) < q).astype(int)
        _, low, high, _ = limits(y, p, cluster=cluster if clustered else None)
        above += low > q.sum() / p.sum()
        below += high < q.sum() / p.sum()
    assert max(above, below) / runs < 0.03 + 4 * math.sqrt(0.025 / runs)


def strata_of_rows(p, w, rows):
    """The stratum of each row: five expected events and non-events in each, ten strata at most, ties undivided."""
    expected, total = w @ p, w.sum()
    size = max(1, min(10, math.floor(min(expected, total - expected) * rows / 5 + 1e-9)))
    middle = [w[p < score].sum() + w[p == score].sum() / 2 for score in p]
    return np.array([min(math.floor(m / total * size), size - 1) for m in middle])


def by_rows(y, p, level, w=None, cluster=None):
    """O/E, its limits and its standard error by the definition, with loops over strata and clusters."""
    unweighted = w is None
    w = np.ones(y.size) if unweighted else w
    equal = w.sum() ** 2 / (w @ w)
    stratum = strata_of_rows(p, w, equal / w.sum())
    rate, mean_score, variance = w @ y / w.sum(), w @ p / w.sum(), 0.0
    residual = np.empty(y.size)
    for s in set(stratum):
        at = stratum == s
        residual[at] = w[at] * (y[at] - w[at] @ y[at] / w[at].sum())
        variance += rate * (1 - rate) * np.mean(w[at] ** 2)  # a pseudo-row
        if cluster is None and at.sum() > 1:
            variance += (residual[at] ** 2).sum() * at.sum() / (at.sum() - 1)
    size, freedom = equal, equal - 1
    if cluster is not None:
        groups = [cluster == g for g in set(cluster)]
        variance += sum(residual[at].sum() ** 2 for at in groups) * len(groups) / (len(groups) - 1)
        size = w.sum() ** 2 / sum(w[at].sum() ** 2 for at in groups)
        freedom = size - 1
    if 0 < rate < 1:
        size = w.sum() ** 2 * rate * (1 - rate) / variance
        size = max(size, equal) if unweighted and cluster is None else size
    spread = math.sqrt(rate * (1 - rate) / size) if 0 < rate < 1 else math.nan
    tail = (1 - level) / 2
    if 0 < rate < 1 and not (unweighted and cluster is None):
        size *= (norm.ppf(tail) / t.ppf(tail, freedom)) ** 2
    k = rate * size
    low = beta.ppf(tail, k, size - k + 1) if rate > 0 else 0
    high = beta.isf(tail, k + 1, size - k) if rate < 1 else 1
    return tuple(np.array([rate, low, high, spread]) / mean_score)


LAWS_OF_SCORES = {
    "even": lambda rng: rng.random(90),
    "rare": lambda rng: rng.beta(0.5, 8, 90),
    "sure": lambda rng: rng.beta(8, 0.5, 90).round(2),
    "lumpy": lambda rng: rng.choice([0.05, 0.3, 0.31, 0.8], 90, p=[0.6, 0.1, 0.1, 0.2]),
    "few": lambda rng: rng.random(7),
}


@pytest.mark.parametrize("law", LAWS_OF_SCORES)
@pytest.mark.parametrize("groups", [3, 2])
def test_limits_and_standard_error_are_those_of_a_loop_over_the_rows(law, groups):
    """Also of clusters that are not equal, and of two clusters, which have one degree of freedom."""
    rng = np.random.default_rng(len(law))
    p = LAWS_OF_SCORES[law](rng)
    y = (rng.random(p.size) < 0.8 * p + 0.1).astype(int)
    y[:2] = 0, 1
    w, cluster = (
        rng.choice([0.3, 1.25, 4.1], p.size),
        np.arange(p.size) // 3 if groups == 3 else np.arange(p.size) % 2,
    )
    for weight in (None, w):
        for group in (None, cluster):
            assert limits(y, p, 0.9, weight, group) == pytest.approx(
                by_rows(y, p, 0.9, weight, group)
            )


@pytest.mark.parametrize("unit", [1e-6, 1e-2, 1e5])
def test_the_unit_of_sampling_weights_does_not_matter(unit):
    rng = np.random.default_rng(3)
    p = rng.random(90)
    y = (rng.random(90) < p).astype(int)
    w, cluster = rng.uniform(0.3, 3, 90), np.arange(90) // 3
    for group in (None, cluster):
        assert limits(y, p, 0.9, unit * w, group) == pytest.approx(limits(y, p, 0.9, w, group))


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_equal_count_the_rows_or_clusters_they_are_worth(label):
    rng = np.random.default_rng(5)
    p, y, w, cluster = (
        rng.random(60),
        np.full(60, label),
        rng.choice([0.5, 1.5], 60),
        np.arange(60) % 11,
    )
    for weight in (None, w):
        for group in (None, cluster):
            expected = by_rows(y, p, 0.9, weight, group)
            assert limits(y, p, 0.9, weight, group) == pytest.approx(expected, nan_ok=True)


def test_bins_of_one_score_each_have_the_limits_of_the_rows():
    rng = np.random.default_rng(6)
    p = rng.choice([0.05, 0.15, 0.25, 0.55, 0.95], 120)
    y, w = (rng.random(120) < p).astype(int), np.where(p < 0.2, 0.5, 1.75)
    for weight in (None, w):
        assert limits(tn.binned(y, p, bins=10, sample_weight=weight)) == pytest.approx(
            by_rows(y, p, 0.95, weight)
        )


def test_very_many_scores_have_the_limits_of_the_rows():
    """40,000 scores are pooled, which moves a few of them to the next of ten strata."""
    y, p = some_rows(40_000)
    edges = np.sort(p)[3999::4000]
    stratum = np.searchsorted(edges, p)
    r = np.bincount(stratum, y) / np.bincount(stratum)
    variance = (4000 / 3999 * 4000 * r * (1 - r)).sum() + 10 * y.mean() * (1 - y.mean())
    size = y.size**2 * y.mean() * (1 - y.mean()) / variance
    low = beta.ppf(0.025, size * y.mean(), size * (1 - y.mean()) + 1) / p.mean()
    assert limits(y, p)[:2] == pytest.approx((y.mean() / p.mean(), low), rel=1e-5)


def test_one_cluster_that_outweighs_all_others_leaves_the_rate_unknown():
    y, p, w, cluster = (
        np.array([0, 1, 1]),
        np.array([0.2, 0.4, 0.5]),
        np.array([1e20, 1e20, 1.5]),
        [0, 0, 1],
    )
    assert limits(y, p, w=w, cluster=cluster)[:3] == pytest.approx((0.5 / 0.3, 0, 1 / 0.3))


@pytest.mark.parametrize("clustered", [False, True])
def test_events_only_have_the_same_limits_in_any_unit_of_the_weights(clustered):
    rng = np.random.default_rng(5)
    n = 150
    p = rng.beta(0.4, 0.6, n)
    w = rng.uniform(0.5, 2, n)
    cluster = np.arange(n) // 3 if clustered else None
    options = {"weight_type": "importance", "cluster": cluster}
    expected = tn.estimate("observed_expected", np.ones(n), p, sample_weight=w, **options)
    assert math.isnan(expected.standard_error)
    for unit in (1 / 3, 0.7, 1.1, 37.5, 1e-9, 1e9, math.pi):
        found = tn.estimate("observed_expected", np.ones(n), p, sample_weight=unit * w, **options)
        assert found.low == pytest.approx(expected.low, rel=1e-9)
        assert math.isnan(found.standard_error)
