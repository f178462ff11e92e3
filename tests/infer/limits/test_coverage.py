"""Coverage of intervals and quantiles with limits."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

import trueness as tn


def interval(y, half, **options):
    return tn.events.interval(y, np.full(len(y), -half), np.full(len(y), half), **options)


def test_limits_of_a_constant_coverage_are_exact():
    y = np.arange(-50, 50)
    found = tn.assess(interval(y, 42.5, coverage=0.9)).coverage
    exact = binomtest(85, 100).proportion_ci(0.95)
    assert found.value.tolist() == [0.85]
    assert (found.low[0], found.high[0]) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert found.method == "exact binomial"


def test_limits_of_quantiles_hold_together_by_bonferroni():
    rng = np.random.default_rng(0)
    levels = np.array([0.1, 0.5, 0.9])
    y = rng.normal(size=200)
    events = tn.events.quantiles(y, np.tile(norm.ppf(levels), (200, 1)), levels=levels)
    found = tn.assess(events, level=0.9).coverage
    for place, inside in enumerate((y[:, None] <= norm.ppf(levels)).sum(axis=0)):
        exact = binomtest(int(inside), 200).proportion_ci(1 - 0.1 / 3)
        assert found.low[place] == pytest.approx(exact.low, abs=1e-10)
        assert found.high[place] == pytest.approx(exact.high, abs=1e-10)


def test_a_coverage_by_row_is_compared_with_its_mean():
    y = np.tile([0.0, 0.0, 0.0, 2.0], 15)
    found = tn.assess(interval(y, 1, coverage=np.tile([0.8, 0.9], 30))).coverage
    assert found.stated == pytest.approx([0.85])
    assert found.value.tolist() == [0.75]
    assert np.isnan(found.spread)


def test_the_spread_of_normal_outcomes_is_found_from_intervals_and_quantiles():
    rng = np.random.default_rng(1)
    y = 1.3 * rng.normal(size=20_000) + 0.2
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    q = np.tile(norm.ppf(levels), (y.size, 1))
    found = tn.assess(tn.events.quantiles(y, q, levels=levels)).coverage
    assert found.spread == pytest.approx(1.3, abs=0.04)
    assert found.shift == pytest.approx(0.2, abs=0.04)
    assert found.spread_low < 1.3 < found.spread_high
    narrow = tn.assess(interval(y - 0.2, norm.ppf(0.95))).coverage
    assert narrow.spread == pytest.approx(1.3, abs=0.04)


def test_other_events_have_no_coverage():
    events = tn.events.counts([1, 2] * 15, [3, 3] * 15, [0.3, 0.6] * 15)
    assert tn.assess(events).coverage is None
    assert tn.assess([0, 1] * 30, [0.3, 0.6] * 30).coverage is None


def test_the_record_converts_to_a_table():
    y = np.arange(-50, 50)
    found = tn.assess(interval(y, 42.5)).coverage
    assert found.rows()[0]["value"] == 0.85
    assert found.to_dict()["below"] == 0.08
    assert "observed 85 %" in str(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:All 50 labels are equal")
@pytest.mark.parametrize("n", [50, 500])
def test_exact_limits_cover_and_the_test_keeps_its_level(n):
    runs = 400
    rng = np.random.default_rng(n)
    covered = rejected = 0
    for seed in range(runs):
        scale = np.exp(0.5 * rng.normal(size=n))
        half = norm.ppf(0.95) * scale
        events = tn.events.interval(scale * rng.normal(size=n), -half, half)
        found = tn.assess(events).coverage
        covered += found.low[0] <= 0.9 <= found.high[0]
        rejected += tn.calibration_test(events, resamples=199, seed=seed).pvalue <= 0.05
    assert covered >= binom.ppf(0.001, runs, 0.95)
    assert rejected <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.slow
def test_limits_of_clusters_cover():
    runs = 300
    rng = np.random.default_rng(9)
    covered = rejected = 0
    cluster = np.repeat(np.arange(60), 6)
    for seed in range(runs):
        y = 0.6 * rng.normal(size=60)[cluster] + 0.8 * rng.normal(size=360)
        events = interval(y, norm.ppf(0.95), cluster=cluster)
        found = tn.assess(events).coverage
        covered += found.low[0] <= 0.9 <= found.high[0]
        rejected += tn.calibration_test(events, resamples=199, seed=seed).pvalue <= 0.05
    assert covered >= binom.ppf(0.001, runs, 0.94)
    assert rejected <= binom.ppf(0.999, runs, 0.065)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_spread_and_shift_are_those_of_a_line_through_the_normal_quantiles(level):
    rng = np.random.default_rng(3)
    y = 1.2 * rng.normal(size=150) + 0.3
    levels = np.array([0.1, 0.3, 0.75, 0.9])
    events = tn.events.quantiles(y, np.tile(norm.ppf(levels), (150, 1)), levels=levels)
    found = tn.assess(events, level=level).coverage
    z = norm.ppf(levels)
    share = np.array([(y <= quantile).mean() for quantile in z])
    cov = np.array([[min(a, b) - a * b for a in levels] for b in levels]) / 150
    cov /= np.outer(norm.pdf(z), norm.pdf(z))
    design = np.column_stack([np.ones(4), z])
    root = np.linalg.inv(np.linalg.cholesky(cov))
    line, *_ = np.linalg.lstsq(root @ design, root @ norm.ppf(share), rcond=None)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ np.linalg.inv(cov) @ design)))
    reach = norm.isf((1 - level) / 2) * errors
    assert (found.spread, found.spread_low, found.spread_high) == pytest.approx(
        (1 / line[1], 1 / (line[1] + reach[1]), 1 / (line[1] - reach[1]))
    )
    shift = -line[0] / line[1]
    assert (found.shift, found.shift_low, found.shift_high) == pytest.approx(
        (shift, shift - reach[0] / line[1], shift + reach[0] / line[1])
    )


def test_shares_of_none_and_all_are_half_an_outcome_away_from_the_ends():
    y = np.linspace(-0.5, 0.4, 40)
    levels = np.array([0.1, 0.5, 0.9])
    events = tn.events.quantiles(y, np.tile(norm.ppf(levels), (40, 1)), levels=levels)
    found = tn.assess(events).coverage
    z, share = norm.ppf(levels), np.array([0.5 / 40, (y <= 0).mean(), 1 - 0.5 / 40])
    cov = np.array([[min(a, b) - a * b for a in levels] for b in levels])
    inverse = np.linalg.inv(cov / np.outer(norm.pdf(z), norm.pdf(z)))
    design = np.column_stack([np.ones(3), z])
    line = np.linalg.solve(design.T @ inverse @ design, design.T @ inverse @ norm.ppf(share))
    assert (found.spread, found.shift) == pytest.approx((1 / line[1], -line[0] / line[1]))


def test_outcomes_in_clusters_have_the_limits_of_observed_divided_by_expected():
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(30), 4)
    y = (rng.normal(size=30)[cluster] + rng.normal(size=120)) / np.sqrt(2)
    found = tn.assess(interval(y, norm.ppf(0.9), coverage=0.8, cluster=cluster)).coverage
    inside = (np.abs(y) <= norm.ppf(0.9)).astype(int)
    ratio = tn.estimate("observed_expected", inside, np.full(120, 0.8), cluster=cluster)
    assert found.method != "exact binomial"
    assert (found.low[0], found.high[0]) == pytest.approx(
        (0.8 * ratio.low, min(0.8 * ratio.high, 1))
    )
    own = tn.assess(interval(y, norm.ppf(0.9), coverage=0.8, cluster=np.arange(120))).coverage
    assert own.method == "exact binomial"


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_counts_between_quantiles_have_binomial_limits_that_hold_together(level):
    from trueness.plot import LevelHistogramDisplay

    rng = np.random.default_rng(5)
    y = rng.normal(size=80)
    levels = np.array([0.1, 0.35, 0.8])
    events = tn.events.quantiles(y, np.tile(norm.ppf(levels), (80, 1)), levels=levels)
    found = LevelHistogramDisplay.from_events(events, level=level).histogram
    edges = np.r_[-np.inf, norm.ppf(levels), np.inf]
    stated = np.diff(np.r_[0, levels, 1])
    counts = np.array([((y > a) & (y <= b)).sum() for a, b in pairwise(edges)])
    tail = (1 - level) / 8
    assert found.density == pytest.approx(counts / 80 / stated)
    assert found.low == pytest.approx(binom.ppf(tail, 80, stated) / 80 / stated)
    assert found.high == pytest.approx(binom.ppf(1 - tail, 80, stated) / 80 / stated)
    assert (found.low_level.tolist(), found.high_level.tolist()) == (
        [0, 0.1, 0.35, 0.8],
        [0.1, 0.35, 0.8, 1],
    )
