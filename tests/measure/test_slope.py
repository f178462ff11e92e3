"""Calibration slope, intercept and observed over expected events."""

import math

import pytest

import trueness as tn


def test_slope_moves_scores_of_0_and_1_with_a_warning():
    y, p = [0, 1, 1, 0, 1, 0], [0.0, 1.0, 0.3, 0.7, 0.6, 0.4]
    with pytest.warns(tn.MovedScoresWarning, match="2 scores are exactly 0 or 1 and were moved inwards by 1e-12"):
        found = tn.calibration_slope(y, p)
    with pytest.warns(tn.MovedScoresWarning, match="by 0.001"):
        assert tn.calibration_slope(y, p, eps=1e-3) != found
    assert 0 < found < 1


def test_slope_without_a_finite_estimate_is_nan_with_a_warning():
    with pytest.warns(tn.NoEstimateWarning, match="slope has no finite estimate"):
        assert math.isnan(tn.calibration_slope([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]))
    with pytest.warns(tn.NoEstimateWarning, match="slope has no finite"):
        assert math.isnan(tn.calibration_slope([0, 1], [0.5, 0.5]))
    with pytest.warns(tn.TruenessWarning) as said:
        assert math.isnan(tn.calibration_intercept([1, 1], [0.3, 0.5]))
    assert {w.category for w in said} == {tn.OneClassWarning, tn.NoEstimateWarning}


def test_an_eps_below_the_last_bit_of_one():
    with pytest.warns(tn.MovedScoresWarning):
        found = tn.calibration_slope([0, 1, 1, 0], [0.0, 1.0, 0.0, 1.0], eps=1e-30)
    assert found == pytest.approx(0, abs=1e-9)


def test_intercept_of_odds_that_are_off_by_a_factor():
    # Scores of 1/4 (odds 1:3), events at 1/2 (odds 1:1): the odds are three times too small.
    assert tn.calibration_intercept([0, 1] * 10, [0.25] * 20) == pytest.approx(math.log(3))


def test_observed_over_expected_without_predictions():
    assert tn.observed_expected([0, 1], [0.0, 0.0]) == math.inf
    with pytest.warns(tn.TruenessWarning) as said:
        assert math.isnan(tn.observed_expected([0, 0], [0.0, 0.0]))
    assert {w.category for w in said} == {tn.OneClassWarning, tn.NoEstimateWarning}


def test_observed_over_expected_of_the_smallest_scores():
    assert tn.observed_expected([0, 1], [1e-20, 1e-20]) == pytest.approx(0.5e20)
    assert tn.observed_expected(tn.binned([0, 1, 1], [0.5, 0.25, 0.25])) == 2
