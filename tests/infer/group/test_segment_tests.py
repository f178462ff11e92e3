"""The joint test of segments: tails from three moments, proven bounds, random signs, step-down."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit, xlogy
from scipy.stats import binom, norm

import trueness as tn


def wilson_hilferty(excess, variance, third):
    """The two-sided tail of a gamma law with these moments, by the cube root."""
    g = third / variance**1.5
    w = (np.cbrt(max(0, 1 + excess / math.sqrt(variance) * g / 2)) - 1 + g * g / 36) * 6 / g
    return 2 * norm.sf(abs(w))


def gap_tail(y, p, w):
    v = p * (1 - p)
    return wilson_hilferty((w * (y - p)).sum(), (w**2 * v).sum(), (w**3 * v * (1 - 2 * p)).sum())


def slope_tail(y, p, w):
    some = (p > 0) & (p < 1)
    y, p, w = y[some], p[some], w[some]
    x, v = logit(p), p * (1 - p)
    x = x - np.average(x, weights=w**2 * v)
    score = (w * (y - p) * x).sum()
    return score, wilson_hilferty(
        score, (w**2 * v * x**2).sum(), (w**3 * v * (1 - 2 * p) * x**3).sum()
    )


def some_rows(n=240, seed=0, slope=0.6):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n).round(3)
    p[:6] = [0, 0, 1, 1, 0, 1]
    y = (
        rng.random(n) < np.where((p > 0) & (p < 1), expit(slope * logit(p.clip(0.001, 0.999))), p)
    ).astype(int)
    return y, p, np.array(list("abc"))[rng.integers(0, 3, n)], rng.choice([0.3, 1.0, 2.5], n)


@pytest.mark.parametrize("weighted", [False, True])
def test_tails_of_slopes_and_of_weighted_gaps_have_three_moments(weighted):
    y, p, by, w = some_rows()
    w = w if weighted else np.ones(y.size)
    found = tn.segments(y, p, by, sample_weight=w if weighted else None, resamples=19, seed=0)
    for i, value in enumerate(found.value):
        at = by == value
        assert found.slope_pvalue[i] == pytest.approx(
            slope_tail(y[at], p[at], w[at])[1], rel=1e-7, abs=0
        )
        if weighted:
            assert found.pvalue[i] == pytest.approx(gap_tail(y[at], p[at], w[at]), rel=1e-7, abs=0)


def test_a_symmetric_weighted_gap_has_a_normal_tail():
    y, p, w = np.array([0] * 20 + [1] * 30), np.full(50, 0.5), np.full(50, 1.5)
    found = tn.segments(y, p, np.repeat("a", 50), sample_weight=w, resamples=19, seed=0)
    z = 5 / math.sqrt(50 / 4)
    assert found.pvalue[0] == pytest.approx(2 * norm.sf(z), rel=1e-5, abs=0)


@pytest.mark.parametrize(("rows", "tested"), [(24, False), (28, True)])
@pytest.mark.parametrize("weight", [1, 0.5])
def test_slopes_are_tested_from_a_variance_of_five_events(rows, weight, tested):
    p = np.tile(
        [0.3, 0.7], rows // 2
    )  # each row has a variance of 0.21: 5.04 of 24 rows, less the scores of 1
    p[:4] = [1, 1, 0.3, 0.7]
    y = np.tile([0, 1], rows // 2)
    y[:2] = 1
    found = tn.segments(
        y, p, np.repeat("a", rows), sample_weight=np.full(rows, weight), resamples=19, seed=0
    )
    assert np.isfinite(found.slope_pvalue[0]) == tested


def test_equal_scores_have_no_slope():
    found = tn.segments(
        np.tile([0, 1], 30), np.full(60, 0.5), np.repeat("a", 60), resamples=19, seed=0
    )
    assert np.isnan(found.slope_pvalue[0])


@pytest.mark.parametrize(
    ("slope", "shift", "words"),
    [
        (0.3, 0, "too extreme"),
        (3, 0, "too moderate"),
        (1, 1.2, "under-predicted"),
        (1, -1.2, "over-predicted"),
    ],
)
def test_findings_say_how_a_segment_is_wrong(slope, shift, words):
    p = np.tile(expit(np.linspace(-2, 2, 100)), 8)
    # As many events at each score as the wrong law has, up to rounding.
    rate = expit(slope * logit(p) + shift)
    y = (np.floor(np.cumsum(rate)) > np.floor(np.cumsum(rate) - rate)).astype(int)
    found = tn.segments(y, p, np.repeat("a", p.size), seed=0)
    assert found.finding == (words,)
    assert found.flagged.tolist() == [True]


def test_a_calibrated_segment_has_no_finding():
    found = tn.segments(np.tile([0, 1], 40), np.full(80, 0.5), np.repeat("a", 80), seed=0)
    assert (found.finding, found.flagged.tolist(), found.joint_pvalue) == (("",), [False], 1.0)


@pytest.mark.parametrize("events", [290, 300, 350])
def test_beyond_rounding_error_the_p_value_is_hoeffdings_bound(events):
    p = np.full(400, 0.3)
    found = tn.segments(np.arange(400) < events, p, np.repeat("a", 400), seed=0)
    rate = events / 400
    divergence = 400 * (rate * math.log(rate / 0.3) + (1 - rate) * math.log((1 - rate) / 0.7))
    assert (
        2 * binom.sf(events - 1, 400, 0.3)
        < found.pvalue[0]
        == pytest.approx(2 * math.exp(-divergence), rel=1e-9, abs=0)
    )
    assert found.adjusted_pvalue[0] == pytest.approx(
        found.pvalue[0], rel=1e-9, abs=0
    )  # one segment, and scores have no slope


def test_the_bound_is_that_of_the_mean_score():
    p = np.tile([0.05, 0.25, 0.5, 0.8], 150)
    y = np.arange(600) >= 80
    found = tn.segments(y, p, np.repeat("a", 600), seed=0)
    k, expected = 520, p.sum()
    divergence = xlogy(k, k / expected) + xlogy(600 - k, (600 - k) / (600 - expected))
    assert found.pvalue[0] == pytest.approx(2 * math.exp(-divergence), rel=1e-9, abs=0)


def test_tails_above_rounding_error_are_exact_in_large_segments_and_all_tails_in_small_ones():
    by = np.repeat(["large", "small"], [400, 60])
    y = np.concatenate([np.arange(400) < 160, np.arange(60) < 58])
    found = tn.segments(y, np.full(460, 0.3), by, seed=0)
    at = found.value.index("large")
    assert found.pvalue[at] == pytest.approx(2 * binom.sf(159, 400, 0.3), rel=1e-6, abs=0)
    assert found.pvalue[1 - at] == pytest.approx(2 * binom.sf(57, 60, 0.3), rel=1e-6, abs=0)


def test_proven_tails_are_adjusted_by_holm_and_for_two_statistics():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.4, 300)
    y, by = np.where(np.arange(300) < 100, 1, rng.random(300) < p), np.repeat(["a", "b", "c"], 100)
    found = tn.segments(y, p, by, resamples=39, seed=0)
    at = found.value.index("a")
    assert found.pvalue[at] < 1e-20
    assert found.adjusted_pvalue[at] == pytest.approx(2 * 3 * found.pvalue[at], abs=0)
    assert (np.delete(found.adjusted_pvalue, at) >= 1 / 40).all()


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_p_values_of_signs_are_those_of_all_signs():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(8), 12)
    p = rng.uniform(0.1, 0.9, 96)
    y = np.repeat(rng.random(8) < 0.7, 12).astype(int)  # all labels of a cluster are equal
    by = np.tile(["a", "b"], 48)
    found = tn.segments(y, p, by, cluster=cluster, resamples=3_999, seed=0)
    signs = np.array(list(product([-1, 1], repeat=8)))
    for i, value in enumerate(found.value):
        at = by == value
        x = logit(p[at]) - np.average(logit(p[at]), weights=p[at] * (1 - p[at]))
        alone = tn.segments(y[at], p[at], by[at], resamples=19, seed=0)
        for name, weight in (("pvalue", 1.0), ("slope_pvalue", x)):
            sums = np.bincount(cluster[at], (y - p)[at] * weight)
            share = (np.abs(signs @ sums) >= abs(sums.sum()) - 1e-12).mean()
            expected = max(share, getattr(alone, name)[0])
            assert getattr(found, name)[i] == pytest.approx(
                expected, abs=4 * math.sqrt(share * (1 - share) / 4_000)
            )


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_overall_p_values_of_clusters_are_those_of_all_signs(weighted):
    rng = np.random.default_rng(5)
    cluster, by = np.repeat(np.arange(8), 12), np.tile(["a", "a", "b"], 32)
    p, w = rng.uniform(0.1, 0.9, 96), rng.choice([0.5, 1.5], 96) if weighted else np.ones(96)
    y = np.where(by == "a", np.repeat(rng.random(8) < 0.7, 12), rng.random(96) < p).astype(int)
    options = {"sample_weight": w} if weighted else {}
    found = tn.segments(y, p, by, cluster=cluster, resamples=1_999, seed=0, **options)
    slope = tn.calibration_slope(y, p, **options)
    start = brentq(lambda a: (w * (y - expit(a + slope * logit(p)))).sum(), -9, 9)
    x = start + slope * logit(p)
    v, design = expit(x) * expit(-x), np.stack([np.ones(96), x])
    inverse, rows = np.linalg.inv((design * w * v) @ design.T), []
    for value in "ab":
        at = (by == value).astype(float)
        for k in (at, at * (x - np.average(x, weights=at * w**2 * v))):
            share = (design * w * v) @ k @ inverse
            sums = np.bincount(cluster, w * (y - expit(x)) * (k - share @ design))
            rows.append(sums / np.sqrt((sums**2).sum()))
    z, signs = np.abs(np.sum(rows, axis=1)), np.array(list(product([-1, 1], repeat=8)))
    share = (np.abs(signs @ np.array(rows).T).max(axis=1) >= z.max() - 1e-9).mean()
    assert 0.05 < share < 0.95
    assert found.overall_pvalue.min() == pytest.approx(
        share, abs=4 * math.sqrt(share * (1 - share) / 2_000)
    )


def test_a_cluster_of_every_row_has_p_values_of_rows_at_least():
    y, p, by, _ = some_rows(300)
    alone, aware = (
        tn.segments(y, p, by, cluster=c, resamples=199, seed=0) for c in (None, np.arange(300))
    )
    assert (aware.pvalue >= alone.pvalue).all()
    assert (aware.adjusted_pvalue >= alone.adjusted_pvalue - 1e-12).all()
    assert aware.gap.tolist() == alone.gap.tolist()


def test_near_ties_that_are_drawn_together_have_nearly_the_p_values_of_rows(monkeypatch):
    y, p, by, w = some_rows(300, slope=0.3)
    for weight in (None, w):
        plain = tn.segments(y, p, by, sample_weight=weight, resamples=499, seed=0)
        with monkeypatch.context() as patch:
            patch.setattr("trueness.infer.group._segment_tests._MOST_LABELS", 100)
            joined = tn.segments(y, p, by, sample_weight=weight, resamples=499, seed=0)
        assert joined.value == plain.value
        # Monte-Carlo error of two p-values, four standard errors of each.
        assert joined.adjusted_pvalue == pytest.approx(
            plain.adjusted_pvalue, abs=8 * math.sqrt(0.25 / 499)
        )
        assert joined.slope_pvalue == pytest.approx(plain.slope_pvalue, rel=0.05)
        assert joined.pvalue == pytest.approx(plain.pvalue, rel=0.05)


def test_a_weighted_label_that_its_score_rules_out_has_p_zero():
    y, p, w = np.array([0, 1, 1, 1]), np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.5, 2, 2, 2])
    found = tn.segments(y, p, ["a", "a", "b", "b"], sample_weight=w, resamples=19, seed=0)
    at = found.value.index("a")
    assert (found.pvalue[at], found.pvalue[1 - at]) == (0, pytest.approx(1, abs=1e-6))
    assert found.adjusted_pvalue[at] <= 1 / 20
