"""Spiegelhalter's and Cox's tests: by hand, weights, certain scores, degrees of freedom, exact draws."""

import math

import numpy as np
import pytest
from scipy import stats

import trueness as tn
from trueness.infer.test import _classical_tests as _spiegelhalter_cox

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def some_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.1, 0.25, 0.4, 0.5, 0.65, 0.9], n)
    return (rng.random(n) < p**1.2).astype(int), p, rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("labels", [0, 1])
@pytest.mark.parametrize("block", [1, 2, 100])
def test_spiegelhalters_z_of_weighted_rows_is_the_sum_over_rows(monkeypatch, block, labels):
    """Σ w (y − p)(1 − 2p) over the root of Σ w² (1 − 2p)² p (1 − p), whatever the blocks in which it is summed."""
    monkeypatch.setattr(_spiegelhalter_cox, "_BLOCK", block)
    y, p, w = some_rows()
    y = y if labels else 1 - y
    found = tn.calibration_test(y, p, method="spiegelhalter", sample_weight=w)
    z = (w * (y - p) * (1 - 2 * p)).sum() / math.sqrt((w**2 * (1 - 2 * p) ** 2 * p * (1 - p)).sum())
    assert found.statistic == pytest.approx(z)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(z)))


@pytest.mark.parametrize("weight", [None, 0.5])
@pytest.mark.parametrize(("y", "p", "z"), [(0, 1, math.inf), (1, 0, math.inf), (1, 1, 0), (0, 0, 0), (1, 0.5, 0)])
@pytest.mark.all_cases
def test_certain_scores_and_halves_leave_no_variance(y, p, z, weight):
    """A contradicted certain score makes the Brier score impossible; the others have no influence on it."""
    w = None if weight is None else [weight] * 3
    found = tn.calibration_test([y, 0, 1], [p, 0.0, 1.0], method="spiegelhalter", sample_weight=w)
    assert found.statistic == z
    assert found.pvalue == (1 if z == 0 else 0)


def test_a_contradicted_certain_score_raises_z_by_one_over_the_deviation():
    y, p = [1, 0, 1, 0, 1] * 40, [0.2, 0.2, 0.4, 0.4, 0.8] * 40
    before = tn.calibration_test(y, p, method="spiegelhalter").statistic
    after = tn.calibration_test([*y, 1], [*p, 0.0], method="spiegelhalter").statistic
    variance = sum((1 - 2 * q) ** 2 * q * (1 - q) for q in p)
    assert after - before == pytest.approx(1 / math.sqrt(variance))


@pytest.mark.parametrize("y", [[1] * 4 + [0] * 8, [0] * 12, [1] * 12])
def test_drawn_pvalues_of_spiegelhalter_count_both_sides(y):
    """Twelve rows of score 0.2: z grows with the events k, and |k − 2.4| is what is compared."""
    found = tn.calibration_test(y, [0.2] * 12, method="spiegelhalter", resamples=4_000, seed=0)
    k, chance = np.arange(13), stats.binom.pmf(np.arange(13), 12, 0.2)
    exact = chance[np.abs(k - 2.4) >= abs(sum(y) - 2.4) - 1e-9].sum()
    assert found.pvalue == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4_000) + 1 / 4_001)
    assert found.statistic == pytest.approx((sum(y) - 2.4) / math.sqrt(12 * 0.2 * 0.8))
    assert "two-sided" in found.assumptions
    assert "4,000 sets of labels" in found.assumptions


def quadratic_form(y, p, w):
    X = np.stack([np.ones(p.size), np.log(p / (1 - p))])
    score, information = X @ (w * (y - p)), (X * (w**2 * p * (1 - p))) @ X.T
    return score @ np.linalg.solve(information, score)


@pytest.mark.parametrize("shrunk", [1.0, 0.01])
def test_coxs_statistic_of_weighted_rows_is_the_quadratic_form_of_their_scores(shrunk):
    """Also for rare events, whose log-odds are far from 0."""
    y, p, w = some_rows(2_000)
    p = shrunk * p
    found = tn.calibration_test(y, p, method="cox", sample_weight=w)
    assert found.statistic == pytest.approx(quadratic_form(y, p, w), rel=1e-9)
    assert found.pvalue == pytest.approx(stats.chi2.sf(found.statistic, 2))
    assert "Chi-squared with 2 degrees of freedom" in found.assumptions


def test_certain_scores_that_are_right_do_not_change_coxs_statistic():
    y, p, _ = some_rows()
    one = tn.calibration_test(y, p, method="cox")
    more = tn.calibration_test([*y, 0, 1, 1], [*p, 0.0, 1.0, 1.0], method="cox")
    assert more.statistic == pytest.approx(one.statistic, rel=1e-12)
    assert more.pvalue == pytest.approx(one.pvalue, rel=1e-12)
    assert more.n == one.n + 3
    for label, score in ((1, 0.0), (0, 1.0)):
        wrong = tn.calibration_test([*y, label], [*p, score], method="cox")
        assert (wrong.statistic, wrong.pvalue) == (math.inf, 0)
        drawn = tn.calibration_test([*y, label], [*p, score], method="cox", resamples=99, seed=0)
        assert (drawn.statistic, drawn.pvalue) == (math.inf, 0.01)


@pytest.mark.parametrize(("p", "freedom"), [([0.3], 1), ([0.3, 0.3 + 1e-9], 1), ([0.3, 0.3001], 2), ([0.0, 1.0], 0)])
def test_coxs_test_has_a_degree_of_freedom_for_the_shift_and_one_for_scores_that_differ(p, freedom):
    scores = np.repeat(p, 600 // len(p))
    y = (np.arange(600) % 4 == 0).astype(int) if freedom else (scores == 1).astype(int)
    found = tn.calibration_test(y, scores, method="cox")
    assert f"Chi-squared with {freedom} degrees of freedom" in found.assumptions
    expected = {0: 0.0, 1: 600 * 0.05**2 / 0.21, 2: None}[freedom]
    if expected is not None:
        assert found.statistic == pytest.approx(expected, rel=1e-6)
        assert found.pvalue == pytest.approx(stats.chi2.sf(expected, 1) if freedom else 1, rel=1e-6)
    else:
        assert found.statistic == pytest.approx(quadratic_form(y, scores, np.ones(600)), rel=1e-6)


def test_spiegelhalters_drawn_statistics_are_those_of_drawn_labels():
    """Two rows of 0.2 and one of 0.6: all eight label vectors, each with its chance and its sum."""
    p = np.array([0.2, 0.2, 0.6])
    every = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
    chance = np.where(every == 1, p, 1 - p).prod(axis=1)
    sums = np.abs(((every - p) * (1 - 2 * p)).sum(axis=1))
    for i, y in enumerate(every):
        found = tn.calibration_test(y, p, method="spiegelhalter", resamples=4_000, seed=1)
        exact = min(1.0, chance[sums >= sums[i] - 1e-9].sum())
        assert found.pvalue == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4_000) + 1 / 4_001)


def test_coxs_drawn_statistics_are_those_of_drawn_labels():
    """Two rows of 0.2 and one of 0.9: all eight label vectors, each with its chance and its quadratic form."""
    p = np.array([0.2, 0.2, 0.9])
    every = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
    chance = np.where(every == 1, p, 1 - p).prod(axis=1)
    forms = np.array([quadratic_form(y, p, np.ones(3)) for y in every])
    for i, y in enumerate(every):
        found = tn.calibration_test(y, p, method="cox", resamples=4_000, seed=1)
        exact = min(1.0, chance[forms >= forms[i] - 1e-9].sum())
        assert found.statistic == pytest.approx(forms[i])
        assert found.pvalue == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4_000) + 1 / 4_001)


@pytest.mark.parametrize("method", ["spiegelhalter", "cox"])
def test_rows_are_redrawn_below_25_expected_events(method):
    """For rows of a small score p, the third moment over the variance to the power 1.5 is about 1/√(np)."""
    for n, drawn in ((2_400, True), (2_700, False)):
        y = (np.arange(n) % 100 == 0).astype(int)
        found = tn.calibration_test(y, np.full(n, 0.01), method=method, seed=0)
        assert ("sets of labels were drawn" in found.assumptions) == drawn
        weighted = tn.calibration_test(y, np.full(n, 0.01), method=method, sample_weight=np.full(n, 0.5))
        assert ("may be too small" in weighted.assumptions) == drawn


@pytest.mark.parametrize("method", ["spiegelhalter", "cox"])
def test_rare_scores_that_decide_the_statistic_keep_a_test_from_its_limit(method):
    """A thousand rows of 1/2 and ten of 0.01: only these tilt the line or change the expected Brier score."""
    p, y = np.repeat([0.01, 0.5], [10, 1_000]), np.arange(1_010) % 2
    assert "sets of labels were drawn" in tn.calibration_test(y, p, method=method, seed=0).assumptions
    p[:10] = 0.3
    spread = tn.calibration_test(np.tile(y, 10), np.tile(p, 10), method=method, seed=0)
    assert "sets of labels were drawn" not in spread.assumptions


def test_many_scores_have_the_same_quadratic_form(monkeypatch):
    monkeypatch.setattr(_spiegelhalter_cox, "_BLOCK", 3)
    y, p, _ = some_rows(2_000)
    for scores in (p, 0.8 * p):
        found = tn.calibration_test(y, scores, method="cox")
        assert found.statistic == pytest.approx(quadratic_form(y, scores, np.ones(y.size)), rel=1e-9)
        assert found.pvalue == pytest.approx(stats.chi2.sf(found.statistic, 2))
        assert "Chi-squared with 2 degrees of freedom" in found.assumptions
    wrong = tn.calibration_test([*y, 0], [*p, 1.0], method="cox")
    assert (wrong.statistic, wrong.pvalue) == (math.inf, 0)
    assert "Chi-squared with 2 degrees of freedom" in wrong.assumptions


@pytest.mark.parametrize(("apart", "freedom"), [(1e-6, 1), (1e-4, 2)])
def test_rare_scores_that_differ_in_the_last_digits_of_their_log_odds_are_equal(apart, freedom):
    """Log-odds of −11.5 ± 1e-6 differ by less than a millionth of themselves."""
    y, p, w = [0, 1, 0, 1], 1e-5 * np.repeat([1 - apart, 1 + apart], 2), [10**7, 100, 10**7, 130]
    found = tn.calibration_test(y, p, method="cox", sample_weight=w)
    assert f"Chi-squared with {freedom} degrees of freedom" in found.assumptions


def test_an_impossible_label_needs_no_draws():
    found = tn.calibration_test([1, 0, 1], [0.0, 0.3, 0.4], method="cox")
    assert (found.statistic, found.pvalue) == (math.inf, 0)
    assert "drawn" not in found.assumptions
    assert "may be too small" not in found.assumptions
