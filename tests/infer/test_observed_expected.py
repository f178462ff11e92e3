"""Confidence limits of observed divided by expected events: by hand, laws, extremes, simulated coverage."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binomtest

import trueness as tn
from trueness._input.sample import Sample
from trueness.infer._clustered_rows import ClusteredRows
from trueness.infer._observed_expected import observed_expected_interval

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
