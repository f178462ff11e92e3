"""The power to detect a miscalibration that matters."""

import warnings

import numpy as np
import pytest
from scipy import stats

import trueness as tn
from trueness.infer._detection_power import RATIO, _Scores, detection_power


def cells_of(p, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tn.tally((np.arange(p.size) % 2 if y is None else y), p).parts[0]


def power_of(p, alpha=0.05, effective=None, seed=0):
    return detection_power(cells_of(p), alpha, effective or p.size, np.random.default_rng(seed))


@pytest.mark.parametrize("high", [False, True])
def test_shifts_have_the_ratio_that_they_are_named_for(high):
    p = np.random.default_rng(0).beta(1, 9, 500)
    p = 1 - p if high else p
    scores, side = _Scores(cells_of(p), p.size), -1 if high else 1
    for factor in (RATIO, 1 / RATIO):
        other = scores.shifted_to(side, factor)
        rare, expected = (scores.w @ (1 - q if high else q) for q in (other, scores.p))
        assert rare / expected == pytest.approx(factor, rel=1e-6)


def test_the_flattened_scores_have_the_error_and_the_mean():
    p = np.random.default_rng(0).random(500)
    scores = _Scores(cells_of(p), p.size)
    other = scores.off_by(0.05, 1)
    assert scores.error(other) == pytest.approx(0.05, rel=1e-6)
    assert scores.w @ other == pytest.approx(scores.w @ scores.p, rel=1e-6)
    assert np.polyfit(scores.p, other, 1)[0] < 1


def test_constant_scores_are_shifted():
    scores = _Scores(cells_of(np.full(100, 0.3)), 100)
    assert scores.off_by(0.05, 1).tolist() == pytest.approx([0.35])


def test_power_grows_with_rows_and_their_number_is_about_right():
    rng = np.random.default_rng(1)
    found = {n: power_of(rng.random(n)) for n in (40, 200, 1_000)}
    assert found[40].error < found[200].error < found[1_000].error
    assert not found[200].enough
    assert found[1_000].enough
    assert found[1_000].rows is None
    assert 0.7 <= power_of(rng.random(found[200].rows)).error <= 0.95


def test_rows_that_are_worth_less_have_less_power():
    p = np.random.default_rng(1).random(1_000)
    assert power_of(p, effective=100).error == pytest.approx(power_of(p[:100]).error, abs=0.1)


def test_the_tolerance_is_half_of_a_rare_rate():
    assert power_of(np.full(1_000, 0.01)).tolerance == pytest.approx(0.005)
    assert power_of(np.full(1_000, 0.4)).tolerance == 0.05


def test_certain_scores_are_contradicted_by_one_label():
    found = detection_power(cells_of(np.ones(25), np.ones(25, int)), 0.05, 25, np.random.default_rng(0))
    assert found.error == pytest.approx(1 - 0.95**25)
    assert found.rows == 32


def test_a_million_distinct_scores_take_no_time():
    p = np.random.default_rng(1).random(1_000_000)
    found = power_of(p)
    assert (found.ratio, found.error) == (1, 1)


def test_few_clusters_have_little_power_and_very_few_none():
    cells = cells_of(np.random.default_rng(1).random(600))
    powers = [detection_power(cells, 0.05, 600, np.random.default_rng(0), n).error for n in (4, 7, None)]
    assert powers[0] == 0
    assert powers[1] < powers[2] - 0.1


def test_the_rows_needed_do_not_depend_on_the_unit_of_the_weights():
    p = np.random.default_rng(5).random(400)
    needed = []
    for weight in (1, 0.5, 2.5):
        cells = tn.tally(np.arange(400) % 2, p, sample_weight=np.full(400, weight)).parts[0]
        needed.append(detection_power(cells, 0.05, 400, np.random.default_rng(0)).rows)
    assert needed[0] == needed[1] == needed[2] > 400


def test_clusters_cost_rows_by_the_squared_ratio_of_normal_and_student_quantiles():
    p = np.random.default_rng(0).uniform(0.1, 0.9, 300)
    worth = 300 * (stats.norm.ppf(0.025) / stats.t.ppf(0.025, 9)) ** 2
    ten = detection_power(cells_of(p), 0.05, 300, np.random.default_rng(1), clusters=10)
    assert ten == detection_power(cells_of(p), 0.05, worth, np.random.default_rng(1))


def test_signs_of_five_clusters_cannot_reject_at_5_percent_and_those_of_six_can():
    p = np.full(100_000, 0.3)
    five, six = (detection_power(cells_of(p), 0.05, p.size, np.random.default_rng(0), clusters=g) for g in (5, 6))
    assert (five.ratio, five.error, five.rows) == (0, 0, None)
    assert six.ratio > 0.9
