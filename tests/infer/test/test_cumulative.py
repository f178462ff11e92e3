"""Walks of cumulated differences, and their tests."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom, norm
from strategies import arrays, rows

import trueness as tn
from trueness import calibration_test
from trueness.infer import cumulative_walk

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
# By hand: u = 0.8, −0.3 and, for two rows of score 0.4, +0.6 − 0.4 = 0.2. Path 0.8, 0.5 at scores 0.2 and 0.3,
# then 0.7.
BY_HAND = ([1, 0, 1, 0], [0.2, 0.3, 0.4, 0.4])


@given(pairs=rows)
def test_the_extremes_of_a_walk_are_the_statistics(pairs):
    y, p = arrays(pairs)
    walk = cumulative_walk(y, p)
    ks, kuiper = (calibration_test(y, p, method=m, resamples=9).statistic for m in ("ks", "kuiper"))
    assert (np.abs(walk.height).max(), np.ptp(walk.height)) == pytest.approx(
        (ks, kuiper), abs=1e-12
    )
    assert walk.height[-1] == pytest.approx(np.mean(y - p), abs=1e-12)
    assert (walk.share[0], walk.share[-1]) == (0, 1)
    assert abs(np.mean(y - p)) - 1e-14 <= ks <= kuiper + 1e-14
    assert kuiper <= 2 * ks + 1e-14


@pytest.mark.parametrize("n", [1_999, 2_400, 50_000])
def test_a_long_walk_keeps_its_ends_and_the_extremes_of_each_stretch(n):
    d = tn.simulate.binary(n, distortion=tn.simulate.Logit(slope=0.7), seed=1)
    walk = cumulative_walk(d.y_true, d.y_prob)
    order = np.argsort(d.y_prob)
    path = np.append(0, np.cumsum(d.y_true[order] - d.y_prob[order]) / n)
    if n < 2_000:
        assert walk.height == pytest.approx(path, abs=1e-12)
        return
    assert walk.share.size <= 2_002
    assert (np.diff(walk.share) > 0).all()
    step = np.rint(walk.share * n).astype(int)
    np.testing.assert_allclose(walk.height, path[step], atol=1e-12)
    ends = np.linspace(0, n + 1, 1_001).astype(int)
    for a, b in zip(ends[:-1:37], ends[1::37], strict=True):
        kept = path[step[(step >= a) & (step < b)]]
        assert (kept.min(), kept.max()) == (path[a:b].min(), path[a:b].max())


def brownian_motion_stays(x):
    """The probability that Brownian motion on [0, 1] stays within ± x: the classical series."""
    k = np.arange(200)
    return (
        4
        / math.pi
        * np.sum((-1.0) ** k / (2 * k + 1) * np.exp(-(((2 * k + 1) * math.pi / x) ** 2) / 8))
    )


@pytest.mark.parametrize("level", [0.05, 0.5, 0.95, 0.999])
def test_the_bands_of_a_walk_by_hand(level):
    walk = cumulative_walk(*BY_HAND, level=level)
    spread = np.sqrt(np.cumsum([0, 0.16, 0.21, 0.48])) / 4
    assert walk.height == pytest.approx(np.array([0, 0.8, 0.5, 0.7]) / 4)
    assert walk.share == pytest.approx([0, 0.25, 0.5, 1])
    assert walk.score == pytest.approx([0.2, 0.2, 0.3, 0.4])
    assert walk.half == pytest.approx(norm.ppf((1 + level) / 2) * spread)
    assert brownian_motion_stays(walk.reach / spread[-1]) == pytest.approx(level)
    assert walk.n == 4


def test_fractional_weights_of_a_walk():
    y, p, w = np.array([1, 0, 1]), np.array([0.2, 0.3, 0.6]), np.array([0.5, 2.5, 1.0])
    walk = cumulative_walk(y, p, sample_weight=w, level=0.9)
    assert walk.height[1:] == pytest.approx(np.cumsum(w * (y - p)) / 4)
    assert walk.half[1:] == pytest.approx(
        norm.ppf(0.95) * np.sqrt(np.cumsum(w**2 * p * (1 - p))) / 4
    )
    assert walk.share[1:] == pytest.approx(np.cumsum(w) / 4)
    assert walk.n == 3


@pytest.mark.parametrize("weights", [None, "fractional"])
def test_its_tests_are_those_of_calibration_test(weights):
    rng = np.random.default_rng(1)
    p = rng.random(5000).round(4)
    y = rng.random(5000) < p**1.1
    w = None if weights is None else rng.random(5000)
    walk = cumulative_walk(y, p, sample_weight=w)
    for one in (walk.ks, walk.kuiper):
        found = calibration_test(y, p, method=one.method, sample_weight=w)
        assert found.assumptions.startswith(one.assumptions)
        assert replace(found, assumptions=one.assumptions) == one
    assert json.loads(json.dumps(walk.to_dict()))["ks"]["method"] == "ks"


@pytest.mark.parametrize("method", ["ks", "kuiper"])
def test_the_path_is_scaled_by_its_null_deviation(method):
    y, p = (np.tile(column, 100) for column in BY_HAND)
    found = getattr(cumulative_walk(y, p), method)
    scaled = 80 / math.sqrt(100 * (0.16 + 0.21 + 0.24 + 0.24))
    assert found.statistic == pytest.approx(0.8 / 4)
    assert f"Statistic / null deviation: {scaled:.4g}." in found.assumptions
    if method == "ks":
        assert found.pvalue == pytest.approx(1 - brownian_motion_stays(scaled), abs=1e-12)


def test_the_path_starts_at_zero_and_ties_are_pooled():
    for walk in (cumulative_walk([0, 0], [0.9, 0.95]), cumulative_walk([1, 1], [0.05, 0.1])):
        assert walk.ks.statistic == walk.kuiper.statistic == pytest.approx(1.85 / 2)
    both = cumulative_walk([1, 0, 0], [0.5, 0.6, 0.7])
    assert (both.ks.statistic, both.kuiper.statistic) == pytest.approx((0.8 / 3, 1.3 / 3))
    # In row order the path of three ties would be 0.5, 1, 0.5.
    assert calibration_test([1, 1, 0], [0.5] * 3, method="ks").statistic == pytest.approx(0.5 / 3)
    # Swapping the classes starts it at the other end.
    assert calibration_test([1, 0, 0], [0.2, 0.5, 0.6], method="ks").statistic == pytest.approx(
        0.8 / 3
    )
    assert calibration_test([0, 1, 1], [0.8, 0.5, 0.4], method="ks").statistic == pytest.approx(
        1.1 / 3
    )


def test_scores_of_0_and_1_are_certain():
    agrees, wrong = (
        cumulative_walk([0, 1, 1], [0.0, 1.0, 1.0]),
        cumulative_walk([0, 1, 0], [0.0, 1.0, 1.0]),
    )
    assert (agrees.ks.statistic, agrees.ks.pvalue, agrees.kuiper.pvalue) == (0, 1, 1)
    assert (agrees.reach, agrees.half.tolist()) == (0, [0, 0, 0])
    assert (wrong.ks.pvalue, wrong.kuiper.pvalue, wrong.ks.statistic) == (
        0,
        0,
        pytest.approx(1 / 3),
    )
    assert "Statistic / null deviation: inf." in wrong.ks.assumptions


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 5, 11])
def test_few_distinct_scores_are_rejected_as_often_as_others(values):
    """Paths of few steps reach less far than Brownian motion: 0.02 to 0.03 were rejected at 0.05."""
    rng, runs = np.random.default_rng(5), 600
    score, found = (np.arange(values) + 0.5) / values, {"ks": 0, "kuiper": 0}
    for _ in range(runs):
        p = rng.choice(score, 400)
        y = (rng.random(400) < p).astype(int)
        for method in found:
            found[method] += calibration_test(y, p, method=method, seed=rng).pvalue <= 0.05
    assert min(found.values()) >= binom.ppf(1e-3, runs, 0.045)
    assert max(found.values()) <= binom.isf(1e-3, runs, 0.05)


def test_the_top_label_of_a_matrix_is_walked():
    P = np.array([[0.8, 0.2, 0.0], [0.3, 0.7, 0.0]])
    assert cumulative_walk([0, 0], P).height[-1] == pytest.approx(0.5 - 0.75)
    with pytest.raises(tn.InputError, match="`kind` must be 'confidence' for the walk"):
        cumulative_walk([0, 0], P, kind="classwise")
    with pytest.raises(tn.InputError, match="`level` must lie strictly between 0 and 1"):
        cumulative_walk([0, 1], [0.2, 0.3], level=1)


@pytest.mark.slow
def test_a_calibrated_walk_stays_within_its_bands_as_often_as_the_level_says():
    runs, level = 600, 0.8
    inside, ends = 0, 0
    for seed in range(runs):
        d = tn.simulate.binary(500, seed=seed)
        walk = cumulative_walk(d.y_true, d.y_prob, level=level)
        inside += np.abs(walk.height).max() <= walk.reach
        ends += abs(walk.height[-1]) <= walk.half[-1]
    # Four deviations of a share of 600 runs, and 0.02 for the steps of a walk of 500 rows, which keep it inside.
    slack = 4 * np.sqrt(level * (1 - level) / runs)
    assert level - slack < inside / runs < level + slack + 0.02
    assert abs(ends / runs - level) < slack
