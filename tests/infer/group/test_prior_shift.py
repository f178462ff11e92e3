"""Prior shift: suspected, shown, named with its limits, told apart from other errors."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness as tn

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def weighted_rows(n=10_000, weight=20.0, seed=0, slope=1.0):
    """Labels, calibrated scores, and those of a model that weighted positives."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 10, n)
    y = (rng.random(n) < p).astype(int)
    return y, p, expit(logit(p) / slope + math.log(weight))


def test_a_weight_of_twenty_is_named_and_undone():
    y, p, weighted = weighted_rows()
    found = tn.prior_shift(y, weighted)
    assert found.shown
    assert found.low < 20 < found.high
    assert found.sentence.startswith("Looks like training with events weighted about ")
    assert tn.recalibrate.prior_correction(weighted, weight=20) == pytest.approx(p, abs=1e-12)
    corrected = tn.recalibrate.prior_correction(weighted, weight=found.weight)
    assert not tn.prior_shift(y, corrected).suspected
    assert tn.calibration_test(y, corrected, seed=0).pvalue > 0.05


def test_the_sentence_has_the_rounded_numbers():
    shift = tn.results.PriorShift(20.1, 17.2, 23.4, 0.95, 1.02, 0.93, 1.11, 5000)
    assert shift.sentence == (
        "Looks like training with events weighted about 20-fold (95 %: 17 to 23); the slope, 1.02 (0.93 to "
        "1.11), agrees. "
        "`prior_correction(y_prob, weight=20.1)` undoes it."
    )
    assert str(shift) == shift.to_dict()["sentence"]


def test_the_weight_is_that_of_the_calibration_intercept_and_the_slope_its_own():
    y, _, weighted = weighted_rows(500, 3)
    found = tn.prior_shift(y, weighted)
    assert found.weight == pytest.approx(math.exp(-tn.calibration_intercept(y, weighted)))
    assert found.slope == pytest.approx(tn.calibration_slope(y, weighted))


def test_swapping_the_classes_inverts_the_weight():
    y, _, weighted = weighted_rows(6000, 5)
    found, other = tn.prior_shift(y, weighted), tn.prior_shift(1 - y, 1 - weighted)
    assert (1 / other.weight, 1 / other.high, 1 / other.low) == pytest.approx(
        (found.weight, found.low, found.high)
    )
    assert "non-events weighted" in other.sentence
    assert other.shown


def test_a_multiple_of_the_odds_multiplies_weight_and_limits():
    y, p, _ = weighted_rows(3000)
    one = tn.prior_shift(y, p)
    for factor in (1e-3, 7.0):
        found = tn.prior_shift(y, tn.recalibrate.prior_correction(p, weight=1 / factor))
        assert (found.weight, found.low, found.high) == pytest.approx(
            (factor * one.weight, factor * one.low, factor * one.high), rel=1e-6
        )
        assert found.slope == pytest.approx(one.slope, rel=1e-6)


def test_calibrated_scores_and_extreme_scores_are_no_shift():
    y, p, _ = weighted_rows()
    assert not tn.prior_shift(y, p).suspected
    assert tn.prior_shift(y, p).sentence.startswith("No prior shift")
    y, _, extreme = weighted_rows(20_000, 5, slope=0.5)
    found = tn.prior_shift(y, extreme)
    assert not found.suspected
    assert found.sentence.startswith(
        "Not a prior shift alone: the odds are too low by a factor of 1.6"
    )


def test_limits_of_the_slope_that_exclude_one_are_not_rounded_to_it():
    found = replace(tn.prior_shift(*weighted_rows()[::2]), slope_low=0.92, slope_high=0.9981)
    assert "(0.9200 to 0.9981), is not 1" in found.sentence


def test_clusters_of_copies_widen_the_limits_as_the_rows_they_are_worth():
    y, _, weighted = weighted_rows(2000)
    found = tn.prior_shift(y, weighted)
    copies = tn.prior_shift(
        np.tile(y, 4), np.tile(weighted, 4), cluster=np.tile(np.arange(y.size), 4)
    )
    assert copies.weight == pytest.approx(found.weight, rel=1e-9)
    assert math.log(copies.high / copies.low) == pytest.approx(
        math.log(found.high / found.low), rel=0.05
    )


def test_scores_of_zero_and_one_are_left_out_and_counted():
    y, _, weighted = weighted_rows(2000)
    found = tn.prior_shift(np.r_[y, 0, 1], np.r_[weighted, 0.0, 1.0])
    plain = tn.prior_shift(y, weighted)
    assert (found.weight, found.n, found.n_certain) == (pytest.approx(plain.weight), 2000, 2)


def test_rows_of_one_class_have_one_finite_limit_and_are_no_finding():
    found = tn.prior_shift([0] * 50, np.linspace(0.2, 0.8, 50))
    assert (found.weight, found.high, found.suspected) == (math.inf, math.inf, False)
    assert found.low > 1
    assert found.sentence.startswith("These rows determine no weight")
    assert not tn.prior_shift([0, 1] * 50, [0.9] * 100).suspected
    assert math.isnan(tn.prior_shift([0, 1], [0.0, 1.0]).weight)


def test_several_classes_and_bad_levels_are_refused():
    P = np.full((6, 3), 1 / 3)
    for more in ({}, {"cluster": [0, 0, 1, 1, 2, 2]}):
        with pytest.raises(
            tn.InputError, match="or have two columns; a matrix has a weight per class"
        ):
            tn.prior_shift([0, 1, 2] * 2, P, **more)
    with pytest.raises(tn.InputError, match="`level` must"):
        tn.prior_shift([0, 1], [0.2, 0.8], level=1.5)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [False, True])
def test_limits_cover_the_weight_and_a_calibrated_model_is_rarely_named(clusters):
    rng, runs, missed, named = np.random.default_rng(3), 400, 0, 0
    for _ in range(runs):
        group = np.repeat(np.arange(100), 5)
        x = np.repeat(rng.normal(-1, 1, 100), 5) if clusters else rng.normal(-1, 1, 500)
        u = rng.random(100)[group] if clusters else rng.random(500)
        y = (np.where(rng.random(500) < 0.5, u, rng.random(500)) < expit(x)).astype(int)
        how = {"cluster": group} if clusters else {}
        found = tn.prior_shift(y, expit(x + math.log(20)), **how)
        missed += not found.low <= 20 <= found.high
        named += tn.prior_shift(y, expit(x), **how).suspected
    allowed = 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / runs)
    assert missed / runs < allowed
    assert named / runs < allowed


def test_labels_that_are_all_one_have_weight_zero():
    found = tn.prior_shift([1] * 50, np.linspace(0.2, 0.8, 50))
    assert (found.weight, found.low) == (0, 0)
    assert found.high < 1
    assert found.level == 0.95


def test_fractional_weights_of_rows_count_as_their_sum():
    y, _, weighted = weighted_rows(300, 3)
    w = np.tile([0.5, 1.5, 2.5], 100)
    assert tn.prior_shift(y, weighted, sample_weight=w).weight == pytest.approx(
        math.exp(-tn.calibration_intercept(y, weighted, sample_weight=w))
    )


def test_three_columns_with_clusters_are_refused_and_two_are_not():
    y = [0, 1] * 10
    p = np.linspace(0.1, 0.9, 20)
    cluster = np.arange(20) // 2
    tn.prior_shift(y, np.column_stack([1 - p, p]), cluster=cluster)
    with pytest.raises(tn.InputError, match="a matrix has a weight per class"):
        tn.prior_shift(y, np.column_stack([1 - p, p / 2, p / 2]), cluster=cluster)


def test_a_slope_that_may_be_seven_tenths_leaves_a_shift_suspected_but_not_shown():
    wide = tn.results.PriorShift(2.1, 1.5, 2.9, 0.95, 0.93, 0.72, 1.16, 400)
    assert (wide.suspected, wide.shown) == (True, False)
    assert wide.sentence == (
        "Looks like training with events weighted about 2.10-fold (95 %: 1.50 to 2.90), or like another "
        "error: the slope, 0.93 (0.72 to 1.16), agrees with 1, but not only with 1. "
        "`prior_correction(y_prob, weight=2.1)` undoes the factor."
    )
    for low, high, suspected, shown in (
        (0.8, 1.1, True, False),
        (0.81, 1.24, True, True),
        (0.9, 1.25, True, False),
        (1.01, 1.2, False, False),
    ):
        found = replace(wide, slope_low=low, slope_high=high)
        assert (found.suspected, found.shown) == (suspected, shown)


@pytest.mark.slow
def test_doubled_odds_are_suspected_in_300_rows():
    """200 samples; of each, limits of the slope miss 1 with probability 0.05."""
    rng, found = np.random.default_rng(7), []
    for _ in range(200):
        p = rng.beta(2, 3, 300)
        y = (rng.random(300) < p).astype(int)
        found.append(tn.prior_shift(y, expit(logit(p) + math.log(2))))
    suspected = np.mean([shift.suspected for shift in found])
    assert suspected == pytest.approx(0.95, abs=3 * math.sqrt(0.05 * 0.95 / 200))
    assert all(
        shift.sentence.startswith("Looks like training with events")
        for shift in found
        if shift.suspected
    )
    assert not any(shift.shown for shift in found)


@pytest.mark.slow
@pytest.mark.parametrize("law", [(0.5, 10), (1, 3)])
def test_a_slope_of_seven_tenths_is_rarely_shown_to_be_a_shift(law):
    rng, named = np.random.default_rng(0), 0
    for _ in range(200):
        p = rng.beta(*law, 400)
        y = (rng.random(400) < expit(0.7 * logit(p) - math.log(2))).astype(int)
        named += tn.prior_shift(y, p).shown
    assert named <= 10
