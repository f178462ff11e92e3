"""Confidence limits of observed divided by expected events: by hand, laws, extremes, simulated coverage."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, binomtest, norm, t

import trueness as tn
from trueness._input.sample import Sample
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer.limits._observed_expected import EffectiveEvents, observed_expected_interval

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def cells_of(y, p, w=None):
    return tn.tally(y, p, sample_weight=w).parts[0]


def some_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p


@pytest.mark.parametrize(("events", "n", "score"), [(0, 60, 0.1), (25, 25, 1.0), (3, 40, 0.1), (0, 60, 1e-4)])
def test_one_score_has_the_exact_binomial_limits(events, n, score):
    found = observed_expected_interval(cells_of([1] * events + [0] * (n - events), [score] * n), 0.95)
    low, high = binomtest(events, n).proportion_ci(0.95, "exact")
    assert found == pytest.approx((events / n / score, low / score, high / score))


def test_no_event_gives_a_low_limit_of_0_and_a_finite_high_limit():
    for cluster in (None, np.arange(60) // 2):
        rows = None if cluster is None else ClusteredRows(Sample(np.zeros(60), np.full(60, 0.1), None), cluster)
        found = observed_expected_interval(cells_of([0] * 60, [0.1] * 60), 0.95, rows)
        assert (found.value, found.low) == (0, 0)
        assert 0.5 < found.high < 1.3


def test_certain_scores_that_hold_leave_less_to_chance():
    y, p = [0] * 50 + [1] * 50, [0.01] * 50 + [0.99] * 50
    found = observed_expected_interval(cells_of(y, p), 0.95)
    binomial = binomtest(50, 100).proportion_ci(0.95, "exact")
    assert binomial.low < 0.5 * found.low < 0.5 < 0.5 * found.high < binomial.high
    assert found.high - found.low > 0.05


def test_weight_two_is_the_row_twice_and_weight_zero_no_row():
    y, p = some_rows()
    w = np.random.default_rng(1).integers(0, 4, y.size)
    weighted = observed_expected_interval(cells_of(y, p, w), 0.9)
    assert weighted == pytest.approx(observed_expected_interval(cells_of(y.repeat(w), p.repeat(w)), 0.9), rel=1e-9)


def test_weights_of_one_half_clusters_of_one_row_and_fine_bins_are_like_rows():
    y, p = some_rows(2_000)
    plain = observed_expected_interval(cells_of(y, p), 0.95)
    alone = ClusteredRows(Sample(y, p, None), np.arange(y.size))
    for found in (
        observed_expected_interval(cells_of(y, p, np.full(y.size, 0.5)), 0.95),
        observed_expected_interval(cells_of(y, p), 0.95, alone),
        observed_expected_interval(tn.binned(y, p, bins=50).parts[0], 0.95),
        observed_expected_interval(tn.binned(y, p, bins=50, sample_weight=np.full(y.size, 0.5)).parts[0], 0.95),
    ):
        assert found == pytest.approx(plain, abs=0.05 * (plain.high - plain.low))


def test_the_unit_of_the_weights_changes_nothing():
    rng = np.random.default_rng(3)
    p, w = rng.random(60), rng.uniform(0.2, 1.2, 60)
    y = rng.random(60) < p
    tenth, one, many = (
        tn.estimate("observed_expected", y, p, sample_weight=w * unit).to_dict() for unit in (0.1, 1.0, 1e4)
    )
    assert tenth == pytest.approx(one, nan_ok=True)
    assert many == pytest.approx(one, nan_ok=True)


def test_rows_ten_times_over_in_clusters_have_the_limits_of_the_rows():
    y, p = some_rows(300)
    once = observed_expected_interval(cells_of(y, p), 0.95, ClusteredRows(Sample(y, p, None), np.arange(300)))
    yy, pp = np.tile(y, 10), np.tile(p, 10)
    rows = ClusteredRows(Sample(yy, pp, None), np.tile(np.arange(300), 10))
    copies = observed_expected_interval(cells_of(yy, pp), 0.95, rows)
    assert copies == pytest.approx(once, abs=0.1 * (once.high - once.low))


def test_scores_of_zero_only_have_no_ratio():
    assert observed_expected_interval(cells_of([0, 1], [0.0, 0.0]), 0.95) == (math.inf,) * 3
    assert all(map(math.isnan, observed_expected_interval(cells_of([0, 0], [0.0, 0.0]), 0.95)))


LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(1, 60, n),
    "bimodal": lambda rng, n: rng.beta(0.05, 0.05, n).clip(1e-12, 1 - 1e-12),
    "confident": lambda rng, n: rng.beta(20, 1, n).clip(1e-12, 1 - 1e-12),
}


def misses(runs, n, law, slope, shift, *, clusters=False, seed=0):
    """Shares of limits above and below the true ratio, given the scores."""
    rng = np.random.default_rng(seed)
    above = below = 0
    for _ in range(runs):
        p = LAWS[law](rng, n)
        q = expit(slope * logit(p) + shift)
        cluster = np.arange(n) // 4
        shared = clusters & (rng.random(n) < 0.6)
        y = (np.where(shared, rng.random(n)[cluster], rng.random(n)) < q).astype(int)
        rows = ClusteredRows(Sample(y, p, None), cluster) if clusters else None
        found = observed_expected_interval(cells_of(y, p), 0.95, rows)
        above += found.low > q.sum() / p.sum()
        below += found.high < q.sum() / p.sum()
    return above / runs, below / runs


@pytest.mark.parametrize("law", LAWS)
def test_each_limit_misses_roughly_as_often_as_it_may(law):
    assert max(misses(150, 100, law, 0.7, 0.5)) < 0.025 + 4 * math.sqrt(0.025 / 150)


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "shift"), [(1, 0), (0.3, 0), (1, 0.7), (2, -0.5)])
@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("law", LAWS)
def test_each_limit_misses_as_often_as_it_may(law, n, slope, shift):
    runs = 1_000
    assert max(misses(runs, n, law, slope, shift)) < 0.03 + 4 * math.sqrt(0.025 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_each_limit_of_clustered_rows_misses_as_often_as_it_may(law):
    runs = 1_000
    assert max(misses(runs, 400, law, 0.7, 0.3, clusters=True)) < 0.03 + 4 * math.sqrt(0.025 / runs)


def test_clusters_of_one_row_see_the_highest_score_at_its_own_rate():
    y = np.repeat([0, 1, 0, 1], [15, 5, 4, 16])
    p = np.repeat([0.2, 0.9], 20)
    alone = ClusteredRows(Sample(y, p, None), np.arange(40))
    plain, clustered = (observed_expected_interval(cells_of(y, p), 0.95, rows) for rows in (None, alone))
    assert clustered[:2] == pytest.approx(plain[:2], rel=0.03)


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
    spread = math.sqrt(rate * (1 - rate) / size)
    tail = (1 - level) / 2
    if 0 < rate < 1 and not (unweighted and cluster is None):
        size *= (norm.ppf(tail) / t.ppf(tail, freedom)) ** 2
    k = rate * size
    low = beta.ppf(tail, k, size - k + 1) if rate > 0 else 0
    high = beta.isf(tail, k + 1, size - k) if rate < 1 else 1
    return np.array([rate, low, high, spread]) / mean_score


LAWS_OF_SCORES = {
    "even": lambda rng: rng.random(90),
    "rare": lambda rng: rng.beta(0.5, 8, 90),
    "sure": lambda rng: rng.beta(8, 0.5, 90).round(2),
    "lumpy": lambda rng: rng.choice([0.05, 0.3, 0.31, 0.8], 90, p=[0.6, 0.1, 0.1, 0.2]),
    "few": lambda rng: rng.random(7),
}


@pytest.mark.all_cases
@pytest.mark.parametrize("law", LAWS_OF_SCORES)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_limits_and_standard_error_are_those_of_a_loop_over_the_rows(law, level):
    rng = np.random.default_rng(len(law))
    p = LAWS_OF_SCORES[law](rng)
    y = (rng.random(p.size) < 0.8 * p + 0.1).astype(int)
    y[:2] = 0, 1
    w, cluster = rng.choice([0.3, 1.25, 4.1], p.size), np.arange(p.size) // 3
    for weight in (None, w):
        for group in (None, cluster):
            rows = None if group is None else ClusteredRows(Sample(y, p, weight), group)
            found = EffectiveEvents.of(cells_of(y, p, weight), rows)
            expected = by_rows(y, p, level, weight, group)
            assert (*found.interval((1 - level) / 2), found.standard_error) == pytest.approx(tuple(expected))
            assert observed_expected_interval(cells_of(y, p, weight), level, rows) == found.interval((1 - level) / 2)


def test_two_clusters_have_one_degree_of_freedom():
    rng = np.random.default_rng(1)
    p, cluster = rng.uniform(0.2, 0.8, 40), np.arange(40) % 2
    y = (rng.random(40) < p).astype(int)
    found = observed_expected_interval(cells_of(y, p), 0.8, ClusteredRows(Sample(y, p, None), cluster))
    assert found == pytest.approx(tuple(by_rows(y, p, 0.8, None, cluster)[:3]))
    assert found.low > 0


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_equal_count_the_rows_or_clusters_they_are_worth(label):
    rng = np.random.default_rng(5)
    p, y, w, cluster = rng.random(60), np.full(60, label), rng.choice([0.5, 1.5], 60), np.arange(60) % 11
    for weight in (None, w):
        for group in (None, cluster):
            rows = None if group is None else ClusteredRows(Sample(y, p, weight), group)
            found = observed_expected_interval(cells_of(y, p, weight), 0.9, rows)
            assert found == pytest.approx(tuple(by_rows(y, p, 0.9, weight, group)[:3]))
            assert math.isnan(EffectiveEvents.of(cells_of(y, p, weight), rows).standard_error)


def test_bins_of_one_score_each_have_the_limits_of_the_rows():
    rng = np.random.default_rng(6)
    p = rng.choice([0.05, 0.15, 0.25, 0.55, 0.95], 120)
    y, w = (rng.random(120) < p).astype(int), np.where(p < 0.2, 0.5, 1.75)
    for weight in (None, w):
        found = observed_expected_interval(tn.binned(y, p, bins=10, sample_weight=weight).parts[0], 0.95)
        assert found == pytest.approx(tuple(by_rows(y, p, 0.95, weight)[:3]))


def test_very_many_scores_have_the_limits_of_the_rows():
    """40,000 scores are pooled, which moves a few of them to the next of ten strata."""
    y, p = some_rows(40_000)
    edges = np.sort(p)[3999::4000]
    stratum = np.searchsorted(edges, p)
    r = np.bincount(stratum, y) / np.bincount(stratum)
    variance = (4000 / 3999 * 4000 * r * (1 - r)).sum() + 10 * y.mean() * (1 - y.mean())
    size = y.size**2 * y.mean() * (1 - y.mean()) / variance
    low = beta.ppf(0.025, size * y.mean(), size * (1 - y.mean()) + 1) / p.mean()
    assert observed_expected_interval(cells_of(y, p), 0.95)[:2] == pytest.approx((y.mean() / p.mean(), low), rel=1e-5)


def test_one_cluster_that_outweighs_all_others_leaves_the_rate_unknown():
    y, p, w, cluster = np.array([0, 1, 1]), np.array([0.2, 0.4, 0.5]), np.array([1e20, 1e20, 1.5]), [0, 0, 1]
    found = tn.estimate("observed_expected", y, p, sample_weight=w, cluster=cluster)
    assert (found.value, found.low, found.high) == pytest.approx((0.5 / 0.3, 0, 1 / 0.3))


def test_scores_of_zero_have_no_standard_error():
    assert math.isnan(EffectiveEvents.of(cells_of([0, 1], [0.0, 0.0])).standard_error)
