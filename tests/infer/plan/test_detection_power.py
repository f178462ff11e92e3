"""The power to detect a miscalibration that matters."""

import math
import warnings

import numpy as np
import pytest
from scipy import special, stats

import trueness as tn
from trueness.infer.plan._detection_power import RATIO, DetectionPower, _Scores, detection_power
from trueness.infer.test._omnibus import omnibus_power


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
    assert found[1_000].rows_needed is None
    assert 0.7 <= power_of(rng.random(found[200].rows_needed)).error <= 0.95


def test_rows_that_are_worth_less_have_less_power():
    p = np.random.default_rng(1).random(1_000)
    assert power_of(p, effective=100).error == pytest.approx(power_of(p[:100]).error, abs=0.1)


def test_the_tolerance_is_half_of_a_rare_rate():
    assert power_of(np.full(1_000, 0.01)).tolerance == pytest.approx(0.005)
    assert power_of(np.full(1_000, 0.99)).tolerance == pytest.approx(0.005)
    assert power_of(np.full(1_000, 0.4)).tolerance == 0.05


def test_certain_scores_are_contradicted_by_one_label():
    found = detection_power(cells_of(np.ones(25), np.ones(25, int)), 0.05, 25, np.random.default_rng(0))
    assert found.error == pytest.approx(1 - 0.95**25)
    assert found.rows_needed == 32


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
        needed.append(detection_power(cells, 0.05, 400, np.random.default_rng(0)).rows_needed)
    assert needed[0] == needed[1] == needed[2] > 400


def test_clusters_cost_rows_by_the_squared_ratio_of_normal_and_student_quantiles():
    p = np.random.default_rng(0).uniform(0.1, 0.9, 300)
    worth = 300 * (stats.norm.ppf(0.025) / stats.t.ppf(0.025, 9)) ** 2
    ten = detection_power(cells_of(p), 0.05, 300, np.random.default_rng(1), clusters=10)
    assert ten == detection_power(cells_of(p), 0.05, worth, np.random.default_rng(1))


def test_signs_of_five_clusters_cannot_reject_at_5_percent_and_those_of_six_can():
    p = np.full(100_000, 0.3)
    five, six = (detection_power(cells_of(p), 0.05, p.size, np.random.default_rng(0), clusters=g) for g in (5, 6))
    assert (five.ratio, five.error, five.rows_needed) == (0, 0, None)
    assert six.ratio > 0.9


def test_a_power_of_exactly_four_fifths_is_enough():
    assert DetectionPower(0.8, 0.8, 0.05, None).enough
    assert not DetectionPower(0.79, 1.0, 0.05, 100).enough
    assert not DetectionPower(1.0, 0.79, 0.05, 100).enough


def two_digits_of(rows):
    """A number to two digits, in words of decimal notation."""
    return math.ceil(float(f"{rows:.1e}"))


@pytest.mark.parametrize("score", [0.4, 0.6])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_constant_scores_have_the_power_of_the_omnibus_test_at_alternatives_by_hand(score, alpha):
    """The rarer label, at 0.4, goes to 0.5 and 0.32, and for an error of 0.05 to 0.45."""
    cells, rng = cells_of(np.full(120, score)), np.random.default_rng(3)
    ratios = [rare if score < 0.5 else 1 - rare for rare in (0.5, 0.32, 0.45)]
    powers = [omnibus_power(cells, np.array([other]), alpha, rng=rng) for other in ratios]
    found = detection_power(cells, alpha, 120, np.random.default_rng(3))
    assert (found.ratio, found.error, found.tolerance) == (min(powers[:2]), powers[2], 0.05)
    quantiles = stats.norm.isf(alpha / 2) + stats.norm.ppf(0.8)
    assert found.rows_needed == two_digits_of(1.5 * quantiles**2 * 0.24 / 0.05**2)


def test_the_strength_is_the_noncentrality_of_the_score_test_of_shift_and_slope():
    p = np.concatenate([np.random.default_rng(0).beta(1, 3, 300).round(2), [0.0] * 10, [1.0] * 20])
    scores = _Scores(cells_of(p), p.size)
    for other in (scores.shifted_to(1, 1.25), scores.off_by(0.05, 1), scores.moved(0.7, 0.3)):
        assert other[[0, -1]].tolist() == [0, 1]
        inside = (scores.p > 0) & (scores.p < 1)
        q, w = scores.p[inside], scores.w[inside]
        design = np.stack([np.ones(q.size), np.log(q / (1 - q))], axis=1)
        information = design.T @ ((w * q * (1 - q))[:, np.newaxis] * design)
        gradient = design.T @ (w * (other[inside] - q))
        assert scores.strength(other) == pytest.approx(np.sqrt(gradient @ np.linalg.solve(information, gradient)))


def test_one_score_has_no_slope():
    scores = _Scores(cells_of(np.full(100, 0.2)), 100)
    assert scores.strength(np.array([0.3])) == pytest.approx(0.1 * 100 / np.sqrt(100 * 0.16))


@pytest.mark.parametrize("side", [1, -1])
def test_scores_that_vary_too_little_to_be_flattened_are_shifted(side):
    p = 0.5 + side * np.linspace(-0.3, -0.24, 50)
    scores = _Scores(cells_of(p), p.size)
    other = scores.off_by(0.05, side)
    assert scores.error(other) == pytest.approx(0.05, rel=1e-6)
    assert (side * (other - scores.p) > 0.04).all()
    assert np.ptp(special.logit(other) - special.logit(scores.p)) < 1e-9


@pytest.mark.parametrize("side", [1, -1])
def test_a_ratio_out_of_reach_moves_all_scores_inside_to_the_end(side):
    """Scores of 0 and 1 stay: nine of them and one of a half have between 4 and 5 events."""
    p = np.array([0.0] * 5 + [0.5] + [1.0] * 4)
    scores = _Scores(cells_of(p if side > 0 else 1 - p), 10)
    assert scores.shifted_to(side, 1.25)[1] == pytest.approx(1 if side > 0 else 0, abs=1e-12)
    assert scores.shifted_to(side, 1 / 1.25)[1] == pytest.approx(0 if side > 0 else 1, abs=1e-12)


def test_rows_that_are_worth_fewer_are_at_quantiles_of_the_scores():
    cells = tn.tally([0, 1, 0], [0.1, 0.2, 0.3], sample_weight=[0.5, 1.5, 2.0]).parts[0]
    four = _Scores(cells, 4.2)  # rows at 0.5, 1.5, 2.5 and 3.5 of a weight of 4
    assert (four.p.tolist(), four.w.tolist(), four.n) == ([0.1, 0.2, 0.3], [1, 1, 2], 4)
    many = cells_of(np.arange(96) / 128)
    assert _Scores(many, 8).p.tolist() == [(12 * i + 5) / 128 for i in range(8)]
    assert _Scores(many, 95).n == 95
    assert _Scores(many, 0.3).n == 1


def test_from_4097_distinct_scores_on_neighbours_are_taken_at_their_mean():
    rng = np.random.default_rng(0)
    for distinct, pooled in ((4096, False), (4097, True), (9_000, True)):
        p, weight = np.sort(rng.random(distinct)), 1 + np.arange(distinct) % 3
        cells = tn.tally(np.arange(distinct) % 2, p, sample_weight=weight).parts[0]
        scores = _Scores(cells, float(weight.sum()))
        assert (scores.p.size < distinct) == pooled
        assert scores.p.size <= 4096
        assert scores.n == weight.sum()
        assert scores.w @ scores.p == pytest.approx(weight @ p)
        assert scores.w.max() <= 2 * weight.sum() / 4096 + 3
        pool = np.searchsorted(np.cumsum(scores.w), np.cumsum(weight))
        assert np.bincount(pool, weight).tolist() == scores.w.tolist()
        assert scores.p == pytest.approx(np.bincount(pool, weight * p) / np.bincount(pool, weight))


def test_certain_scores_have_the_tolerance_of_their_rarer_label():
    p = np.repeat([0.0, 1.0], [98, 2])
    found = detection_power(cells_of(p, p.astype(int)), 0.05, 100, np.random.default_rng(0))
    assert found.tolerance == pytest.approx(0.01)
    assert found.ratio == found.error == pytest.approx(1 - 0.99**100)
    assert found.rows_needed == 161  # 0.99^160 is above 0.2, and 0.99^161 below
    more = detection_power(cells_of(np.ones(40), np.ones(40, int)), 0.05, 40, np.random.default_rng(0))
    assert (more.rows_needed, more.tolerance) == (None, 0.05)


def test_signs_of_five_clusters_can_reject_at_one_in_sixteen():
    cells = cells_of(np.full(100_000, 0.3))
    assert detection_power(cells, 1 / 16, 100_000, np.random.default_rng(0), clusters=5).ratio > 0.9


def test_rows_that_nearly_suffice_need_at_least_a_tenth_more():
    scores = _Scores(cells_of(np.full(1_000, 0.5)), 1_000)
    assert scores.rows([np.array([0.9])], 0.05, 1_000) == 1_100
    assert scores.rows([np.array([0.9])], 0.05, 5) == 6
