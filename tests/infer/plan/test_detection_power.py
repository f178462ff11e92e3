"""The power to detect a miscalibration that matters, as a verdict reports it."""

import warnings

import numpy as np
import pytest
from scipy import optimize, stats

import trueness as tn


def power_of(p, y=None, **options):
    """The power of a verdict that finds nothing: labels are drawn from the scores."""
    y = (np.random.default_rng(5).random(p.size) < p).astype(int) if y is None else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tn.verdict(y, p, **options).power


def test_power_grows_with_rows_and_their_number_is_about_right():
    p = np.random.default_rng(0).uniform(0.1, 0.9, 1_000)
    found = {n: power_of(p[:n]) for n in (40, 200, 1_000)}
    assert found[40].error < found[200].error < found[1_000].error
    assert found[1_000].rows_needed is None
    assert 0.7 <= power_of(np.resize(p, found[200].rows_needed)).error <= 0.95
    assert [one.tolerance for one in found.values()] == [0.05] * 3


def test_the_tolerance_is_half_of_a_rare_rate():
    p, y = np.full(1_000, 0.02), np.repeat([1, 0], [20, 980])
    assert power_of(p, y).tolerance == pytest.approx(0.01)
    assert power_of(1 - p, 1 - y).tolerance == pytest.approx(0.01)


def test_one_score_has_the_power_of_a_binomial_test_by_hand():
    """Events at 0.4 go to 0.5, 0.32 and 0.45; the omnibus test then is about the two-sided binomial one."""
    n = 400
    found = power_of(np.full(n, 0.4), np.repeat([1, 0], [160, 240]))
    k = np.arange(n + 1)
    pvalue = np.array([stats.binomtest(int(i), n, 0.4).pvalue for i in k])

    def power(rate):
        return stats.binom.pmf(k, n, rate)[pvalue <= 0.05].sum()

    powers = [power(rate) for rate in (0.5, 0.32, 0.45)]
    low, high = found.noticed_ratio
    assert power(0.4 * low) == pytest.approx(0.9, abs=0.08)
    assert power(0.4 * high) == pytest.approx(0.9, abs=0.08)
    assert found.noticed_error == pytest.approx(max(0.4 * (1 - low), 0.4 * (high - 1)))
    assert found.ratio == pytest.approx(min(powers[:2]), abs=0.12)
    assert found.error == pytest.approx(powers[2], abs=0.12)


def test_certain_scores_are_contradicted_by_one_label():
    found = power_of(np.ones(25), np.ones(25, int))
    assert found.error == pytest.approx(1 - 0.95**25)
    assert found.rows_needed == 32
    assert (1 - found.noticed_error) ** 25 == pytest.approx(0.1)
    assert power_of(np.ones(40), np.ones(40, int)).rows_needed is None


def test_signs_of_five_clusters_cannot_reject_and_those_of_six_can():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 6_000)
    many, six, five = (power_of(p, cluster=np.arange(p.size) % g) for g in (600, 6, 5))
    assert many.error >= six.error > 0.9
    assert (five.ratio, five.error, five.rows_needed) == (0, 0, None)


def test_rows_in_clusters_are_worth_fewer():
    rng = np.random.default_rng(1)
    p = np.repeat(rng.uniform(0.2, 0.8, 150), 8)
    y = np.repeat((rng.random(150) < p[::8]).astype(int), 8)
    alone, together = power_of(p), power_of(p, y, cluster=np.repeat(np.arange(150), 8))
    assert together.error < alone.error
    assert together.rows_needed > 3 * (alone.rows_needed or 1_200)


def test_the_rows_needed_do_not_depend_on_the_unit_of_fractional_weights():
    rng = np.random.default_rng(2)
    p, w = rng.uniform(0.1, 0.9, 300), rng.uniform(0.5, 1.5, 300)
    one, ten = (power_of(p, sample_weight=w * unit) for unit in (1.0, 10.1))
    assert one.rows_needed == ten.rows_needed > 300


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b", "n"), [(1, 1, 200), (0.5, 5, 1_000), (0.3, 0.3, 600)])
def test_what_is_noticed_with_probability_090_is_noticed_so_often(a, b, n):
    """Tests of 150 sets of labels at each end: within three deviations of 0.9, and 0.06 for the search."""
    rng = np.random.default_rng(n)
    p = rng.beta(a, b, n).clip(1e-4, 1 - 1e-4)
    x = np.log(p / (1 - p))

    def moved(slope, goal):
        line = lambda shift: 1 / (1 + np.exp(-slope * x - shift))  # noqa: E731
        return line(optimize.brentq(lambda shift: line(shift).sum() - goal, -60, 60))

    found = power_of(p, np.sort(rng.random(n)) < p)
    truths = [moved(1, ratio * p.sum()) for ratio in found.noticed_ratio]
    truths += [moved(slope, p.sum()) for slope in found.noticed_slope]
    for truth in truths:
        tests = [
            tn.calibration_test(rng.random(n) < truth, p, seed=i).pvalue <= 0.05 for i in range(150)
        ]
        assert abs(np.mean(tests) - 0.9) <= 3 * np.sqrt(0.09 / 150) + 0.06


def test_a_million_distinct_scores_take_no_time():
    assert power_of(np.random.default_rng(0).random(200_000)).enough


def test_the_power_of_very_many_rows_is_one():
    p, y, weight = (
        [0.25, 0.25, 0.5, 0.5],
        [0, 1, 0, 1],
        [3_000_000, 1_000_000, 2_000_000, 2_000_000],
    )
    found = power_of(np.array(p), np.array(y), sample_weight=weight)
    assert (found.ratio, found.error, found.rows_needed) == (1.0, 1.0, None)
