import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueness._numerics.proportions import clopper_pearson, jeffreys, mid_p, t_rejections, wilson

INTERVALS = [clopper_pearson, jeffreys, wilson]
LEVELS = [0.5, 0.95]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("interval", "method"), [(clopper_pearson, "exact"), (wilson, "wilson")])
def test_equal_to_scipy(interval, method, level):
    counts = [(k, n) for n in (1, 2, 7, 50, 1000) for k in sorted({0, 1, n // 3, n // 2, n - 1, n})]
    k, n = np.array(counts).T
    reference = np.array([stats.binomtest(a, b).proportion_ci(level, method) for a, b in counts])
    np.testing.assert_allclose(
        np.column_stack(interval(k, n, level)), reference, rtol=1e-9, atol=1e-11
    )


def test_the_exact_interval_of_zero_events_is_known():
    low, high = clopper_pearson(0, 10, 0.95)
    assert low == 0
    assert high == pytest.approx(1 - 0.025**0.1, rel=1e-14)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (1, 50)])
def test_the_ends_of_mid_p_are_the_rates_with_these_tails(k, n):
    low, high = map(float, mid_p(k, n, 0.9))
    if k > 0:
        tail = stats.binom.sf(k, n, low) + stats.binom.pmf(k, n, low) / 2
        assert tail == pytest.approx(0.05, rel=1e-9)
    if k < n:
        tail = stats.binom.cdf(k - 1, n, high) + stats.binom.pmf(k, n, high) / 2
        assert tail == pytest.approx(0.05, rel=1e-9)
    assert k > 0 or low == 0
    assert k < n or high == 1


def test_without_trials_mid_p_excludes_nothing():
    assert [*map(float, mid_p(0, 0, 0.95))] == [0, 1]


@pytest.mark.parametrize("level", LEVELS)
def test_the_ends_of_jeffreys_are_beta_quantiles(level):
    low, high = jeffreys([3, 20], [10, 21], level)
    ends = stats.beta([3.5, 20.5], [7.5, 1.5])
    np.testing.assert_allclose(low, ends.ppf((1 - level) / 2), rtol=1e-12)
    np.testing.assert_allclose(high, ends.ppf((1 + level) / 2), rtol=1e-12)


@pytest.mark.parametrize("k", [1e-12, 1e-6, 1.0])
def test_wilsons_low_end_keeps_its_digits_for_few_events(k):
    n, z = 1000.0, stats.norm.ppf(0.975)
    low = float(wilson(k, n, 0.95)[0])
    assert n * (k / n - low) ** 2 == pytest.approx(z**2 * low * (1 - low), rel=1e-9)


@pytest.mark.parametrize(("n", "level"), [(1, 0.8), (5, 0.95), (13, 0.8), (30, 0.95)])
def test_the_exact_interval_covers_every_rate(n, level):
    k = np.arange(n + 1)
    low, high = clopper_pearson(k, n, level)
    ends = np.concatenate([low, high])
    rates = np.unique(
        np.clip(np.concatenate([np.linspace(0, 1, 501), ends - 1e-12, ends + 1e-12]), 0, 1)
    )
    covers = (low <= rates[:, None]) & (rates[:, None] <= high)
    coverage = (stats.binom.pmf(k, n, rates[:, None]) * covers).sum(axis=1)
    assert coverage.min() >= level - 1e-12


@pytest.mark.parametrize("interval", [clopper_pearson, wilson])
@given(n=st.floats(0.01, 1e7), share=st.floats(1e-6, 1 - 1e-6), level=st.floats(0.01, 0.999))
def test_the_ends_enclose_the_rate(interval, n, share, level):
    low, high = interval(n * share, n, level)
    assert 0 <= low <= share * (1 + 1e-9)
    assert share * (1 - 1e-9) <= high <= 1


@pytest.mark.parametrize("interval", INTERVALS)
@given(n=st.integers(1, 10**6), k=st.integers(0, 10**6), level=st.floats(0.01, 0.999))
def test_swapping_the_classes_mirrors_the_interval(interval, n, k, level):
    k %= n + 1
    low, high = interval(k, n, level)
    mirrored_low, mirrored_high = interval(n - k, n, level)
    np.testing.assert_allclose(
        [1 - high, 1 - low], [mirrored_low, mirrored_high], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("n", [0.3, 1, 2, 1e7])
def test_no_event_and_only_events_are_exact(interval, n):
    assert interval(0, n, 0.95)[0] == 0
    assert interval(n, n, 0.95)[1] == 1


@pytest.mark.parametrize("interval", INTERVALS)
def test_no_trial_gives_nan(interval):
    low, high = interval([0, 1], [0, 2], 0.95)
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, False]


def labels(k, n):
    return np.repeat([1.0, 0.0], [k, n - k])


@pytest.mark.parametrize("alpha", [0.001, 0.4])
@pytest.mark.parametrize(("k", "n"), [(1, 2), (3, 10), (700, 2000)])
def test_decisions_are_scipys(k, n, alpha):
    scores = np.linspace(0, 1, 57)
    pvalues = np.array([stats.ttest_1samp(labels(k, n), p).pvalue for p in scores])
    assert np.abs(pvalues / alpha - 1).min() > 1e-9
    np.testing.assert_array_equal(t_rejections([k], [n], [0], scores, alpha), pvalues <= alpha)


def test_each_bin_is_tested_with_its_own_labels():
    k, n, starts = [3, 1, 8], [10, 4, 9], [0, 5, 5]
    scores = np.array([0.0, 0.1, 0.3, 0.6, 0.9, 0.2, 0.6, 0.88])
    rows = np.array([0, 0, 0, 0, 0, 2, 2, 2])
    pvalues = [
        stats.ttest_1samp(labels(k[b], n[b]), p).pvalue for b, p in zip(rows, scores, strict=True)
    ]
    np.testing.assert_array_equal(
        t_rejections(k, n, starts, scores, 0.05), np.array(pvalues) <= 0.05
    )


@pytest.mark.parametrize(("k", "n"), [(0, 2), (0, 50), (2, 2), (50, 50)])
def test_equal_labels_reject_every_score_but_their_rate(k, n):
    scores = [0.0, 1e-300, 0.5, 1 - 2**-53, 1.0]
    assert t_rejections([k], [n], [0], scores, 0.05).tolist() == [p != k / n for p in scores]


@pytest.mark.parametrize("k", [0, 1])
def test_one_row_rejects_nothing(k):
    assert not t_rejections([k], [1], [0], [0.0, 0.5, 1.0], 0.999).any()


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 7), (7, 7)])
def test_the_published_code_rejects_everything_where_labels_are_equal(k, n):
    assert t_rejections([k], [n], [0], [0.0, 0.5, 1.0], 0.05, published=True).all()


def test_the_variance_in_place_of_the_deviation_rejects_more():
    k, n, scores = 30, 100, np.linspace(0, 1, 401)
    variance = 0.3 * 0.7
    pvalues = 2 * stats.t.sf(np.abs(0.3 - scores) * 10 / variance, 99)
    slip = t_rejections([k], [n], [0], scores, 0.05, published=True)
    np.testing.assert_array_equal(slip, pvalues <= 0.05)
    assert slip.sum() > t_rejections([k], [n], [0], scores, 0.05).sum()
