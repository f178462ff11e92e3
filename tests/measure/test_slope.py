"""Calibration slope, intercept and observed over expected events."""

import math

import numpy as np
import pytest

import trueness as tn


@pytest.mark.parametrize("measure", [tn.calibration_slope, tn.calibration_intercept])
def test_scores_of_0_and_1_are_left_out_counted_and_said_to_be_wrong(measure):
    y, p = [1, 0, 1, 0, 1, 0], [0.3, 0.7, 0.6, 0.4, 0.8, 0.2]
    inside = measure(y, p)
    message = (
        "4 of 10 scores are exactly 0 or 1. Slope and intercept leave them out, .* 1 of them contradicts its label"
    )
    with pytest.warns(tn.CertainScoresWarning, match=message):
        assert measure([*y, 0, 1, 1, 0], [*p, 0.0, 1.0, 1.0, 1.0]) == pytest.approx(inside, rel=1e-12)
    with pytest.warns(tn.CertainScoresWarning, match="0.5 of 6.5 scores are exactly 0 or 1. .* 0.5 of them contradict"):
        assert measure([*y, 1], [*p, 0.0], sample_weight=[1] * 6 + [0.5]) == pytest.approx(inside, rel=1e-9)


def test_a_slope_of_certain_scores_only_is_nan():
    with pytest.warns(tn.CertainScoresWarning), pytest.warns(tn.NoEstimateWarning, match="no finite estimate"):
        assert math.isnan(tn.calibration_slope([0, 1, 1], [0.0, 1.0, 1.0]))


def test_confidences_with_many_ones_keep_the_slope_of_the_others():
    """LLM confidences: 28 % exactly 1.0, a quarter of those wrong; a hidden eps made of this a slope near 0."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.3, 0.99, 2_000)
    y = (rng.random(2_000) < 1 / (1 + ((1 - p) / p) ** 0.4)).astype(int)
    certain = rng.random(780) < 0.75
    with pytest.warns(tn.CertainScoresWarning, match="780 of 2,780 scores"):
        found = tn.calibration_slope([*y, *certain], [*p, *np.ones(780)])
    assert found == pytest.approx(tn.calibration_slope(y, p), rel=1e-9)
    assert found == pytest.approx(0.4, abs=0.1)


def test_slope_without_a_finite_estimate_is_nan_with_a_warning():
    with pytest.warns(tn.NoEstimateWarning, match="slope has no finite estimate"):
        assert math.isnan(tn.calibration_slope([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]))
    with pytest.warns(tn.NoEstimateWarning, match="slope has no finite"):
        assert math.isnan(tn.calibration_slope([0, 1], [0.5, 0.5]))
    with pytest.warns(tn.TruenessWarning) as said:
        assert math.isnan(tn.calibration_intercept([1, 1], [0.3, 0.5]))
    assert {w.category for w in said} == {tn.OneClassWarning, tn.NoEstimateWarning}


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


@pytest.mark.parametrize("measure", [tn.calibration_slope, tn.calibration_intercept])
def test_many_rows_with_certain_scores_in_any_order_give_the_bits_of_their_tally(measure):
    rng = np.random.default_rng(2)
    p = np.concatenate([rng.beta(0.5, 0.7, 50_000), np.zeros(30), np.ones(20)])
    y = (rng.random(p.size) < p**1.1).astype(int)
    y[-1] = 0
    order = rng.permutation(p.size)
    message = "50 of 50,050 scores are exactly 0 or 1.* 1 of them contradicts"
    with pytest.warns(tn.CertainScoresWarning, match=message):
        found = measure(y[order], p[order])
    with pytest.warns(tn.CertainScoresWarning, match=message):
        assert found == measure(tn.tally(y, p))
    assert found == measure(y[:50_000], p[:50_000])
