"""Spiegelhalter's, Cox's, and Hosmer and Lemeshow's tests: by hand, weights, certain scores, degrees of freedom."""

import math
from functools import partial

import numpy as np
import pytest
from grids import slow
from scipy import stats

import trueness as tn
from trueness import calibration_test

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def some_rows(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.1, 0.25, 0.4, 0.5, 0.65, 0.9], n)
    return (rng.random(n) < p**1.2).astype(int), p, rng.uniform(0.5, 2, n)


def quadratic_form(y, p, w):
    X = np.stack([np.ones(p.size), np.log(p / (1 - p))])
    score, information = X @ (w * (y - p)), (X * (w**2 * p * (1 - p))) @ X.T
    return score @ np.linalg.solve(information, score)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("many", [False, *slow(True)])
def test_the_statistics_are_sums_over_rows(weighted, flipped, many):
    """z: Σ w (y − p)(1 − 2p) over its deviation. Cox: the quadratic form of the score, also for rare events."""
    y, p, w = some_rows()
    if many:  # more than 2¹⁴ distinct scores, which are summed in pieces
        y, p, w = (np.tile(column, 9) for column in (y, p, w))
        p = p * (1 - 1e-3 * np.arange(p.size) / p.size)
    y, w = 1 - y if flipped else y, w if weighted else np.ones(y.size)
    ask = partial(calibration_test, sample_weight=w if weighted else None)
    found = ask(y, p, method="spiegelhalter")
    z = (w * (y - p) * (1 - 2 * p)).sum() / math.sqrt((w**2 * (1 - 2 * p) ** 2 * p * (1 - p)).sum())
    assert (found.statistic, found.pvalue) == (
        pytest.approx(z),
        pytest.approx(2 * stats.norm.sf(abs(z))),
    )
    for shrunk in (1.0, 0.01):
        found = ask(y, shrunk * p, method="cox")
        expected = quadratic_form(y, shrunk * p, w)
        assert found.statistic == pytest.approx(expected, rel=1e-9)
        assert "Chi-squared with 2 degrees of freedom" in found.assumptions
        if "drawn" not in found.assumptions:
            assert found.pvalue == pytest.approx(stats.chi2.sf(expected, 2))


@pytest.mark.parametrize("weight", [None, 0.5])
@pytest.mark.parametrize(
    ("y", "p", "z"), [(0, 1, math.inf), (1, 0, math.inf), (1, 1, 0), (0, 0, 0), (1, 0.5, 0)]
)
def test_certain_scores_and_halves_leave_z_no_variance(y, p, z, weight):
    """A contradicted certain score makes the Brier score impossible; the others have no influence on it."""
    w = None if weight is None else [weight] * 3
    found = calibration_test([y, 0, 1], [p, 0.0, 1.0], method="spiegelhalter", sample_weight=w)
    assert (found.statistic, found.pvalue) == (z, 1 if z == 0 else 0)


def test_certain_scores_among_others():
    """A contradicted one raises z by one over the deviation and makes Cox's score infinite; right ones do nothing."""
    y, p, _ = some_rows()
    for method in ("spiegelhalter", "cox"):
        one = calibration_test(y, p, method=method)
        more = calibration_test([*y, 0, 1, 1], [*p, 0.0, 1.0, 1.0], method=method)
        assert (more.statistic, more.pvalue) == pytest.approx(
            (one.statistic, one.pvalue), rel=1e-12
        )
        assert more.n == one.n + 3
    wrong = calibration_test([*y, 1], [*p, 0.0], method="spiegelhalter").statistic
    before = calibration_test(y, p, method="spiegelhalter").statistic
    assert wrong - before == pytest.approx(1 / math.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum()))
    for n in (10, 2_000):
        for label, score in ((1, 0.0), (0, 1.0)):
            rows = [*y[:n], label], [*p[:n], score]
            wrong = calibration_test(*rows, method="cox")
            assert (wrong.statistic, wrong.pvalue) == (math.inf, 0)
            assert "drawn" not in wrong.assumptions
            assert "may be too small" not in wrong.assumptions
            drawn = calibration_test(*rows, method="cox", resamples=99, seed=0)
            assert (drawn.statistic, drawn.pvalue) == (math.inf, 0.01)


@pytest.mark.parametrize(
    ("p", "freedom"),
    [
        ([0.3], 1),
        ([0.3, 0.3 + 1e-9], 1),
        ([0.3, 0.3001], 2),
        ([0.0, 1.0], 0),
        ([1e-5, 1.000002e-5], 1),
        ([1e-5, 1.0002e-5], 2),
    ],
)
def test_coxs_test_has_a_degree_of_freedom_for_the_shift_and_one_for_scores_that_differ(p, freedom):
    scores, w = np.repeat(p, 600 // len(p)), np.full(600, 10**5)
    y = (np.arange(600) % 4 == 0).astype(int) if freedom else (scores == 1).astype(int)
    found = calibration_test(y, scores, method="cox", sample_weight=w)
    assert (
        f"Chi-squared with {freedom} degree{'' if freedom == 1 else 's'} of freedom"
        in found.assumptions
    )
    if freedom == 2:
        expected = quadratic_form(y, scores, np.ones(600)) * 1e5
    else:
        expected = (
            6e7 * (y.mean() - scores.mean()) ** 2 / (scores.mean() * (1 - scores.mean()))
            if freedom
            else 0.0
        )
    assert found.statistic == pytest.approx(expected, rel=1e-5)
    few = calibration_test([1] * 60 + [0] * 40, [0.5] * 100, method="cox")
    assert (few.statistic, few.pvalue) == pytest.approx((4, stats.chi2.sf(4, 1)))


@pytest.mark.parametrize("method", ["spiegelhalter", "cox"])
def test_rows_are_redrawn_below_25_expected_events(method):
    """For rows of a small score p, the third moment over the variance to the power 1.5 is about 1/√(np)."""
    for n, drawn in ((2_400, True), (2_700, False)):
        y = (np.arange(n) % 100 == 0).astype(int)
        found = calibration_test(y, np.full(n, 0.01), method=method, seed=0)
        assert ("sets of labels were drawn" in found.assumptions) == drawn
        weighted = calibration_test(
            y, np.full(n, 0.01), method=method, sample_weight=np.full(n, 0.5), seed=0
        )
        assert ("sets of labels were drawn" in weighted.assumptions) == drawn
    # A thousand rows of 1/2 and ten of 0.01: only these tilt the line or change the expected Brier score.
    p, y = np.repeat([0.01, 0.5], [10, 1_000]), np.arange(1_010) % 2
    assert "sets of labels were drawn" in calibration_test(y, p, method=method, seed=0).assumptions
    p[:10] = 0.3
    spread = calibration_test(np.tile(y, 10), np.tile(p, 10), method=method, seed=0)
    assert "sets of labels were drawn" not in spread.assumptions


@pytest.mark.parametrize(("fitted", "freedom"), [(False, 4), (True, 2)])
def test_hosmer_lemeshow_is_the_sum_over_groups(fitted, freedom):
    y, p = (
        np.tile([0, 1, 1, 1, 0, 1, 1, 0], 100),
        np.tile([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9], 100),
    )
    groups = [(1, 0.3), (2, 0.7), (1, 1.3), (1, 1.7)]
    expected = 100 * sum((o - e) ** 2 / (e * (1 - e / 2)) for o, e in groups)
    found = calibration_test(y, p, method="hosmer-lemeshow", bins=tn.EqualMass(4), fitted=fitted)
    assert found.statistic == pytest.approx(expected)
    assert found.pvalue == pytest.approx(stats.chi2.sf(expected, freedom))
    assert f"{freedom} degrees of freedom" in found.assumptions
    three = calibration_test(y, p, method="hosmer-lemeshow", bins=[0, 0.35, 0.65, 1], fitted=True)
    assert three.pvalue == pytest.approx(stats.chi2.sf(three.statistic, 1))


@pytest.mark.parametrize("scale", [1, 0.5, 3.5])
def test_groups_whose_events_have_a_variance_of_5_are_judged_by_chi_square(scale):
    """20 rows of score 1/2; with 19 labels are redrawn, and always if weights do not count rows."""
    for n, enough in ((20, True), (19, False)):
        y, p = np.arange(n + 40) % 2, np.repeat([0.5, 0.25], [n, 40])
        w = np.full(n + 40, scale)
        found = calibration_test(
            y, p, method="hosmer-lemeshow", bins=tn.Distinct(), sample_weight=w, seed=0
        )
        groups = [
            (w * (y - p))[p == s].sum() ** 2 / (w**2 * p * (1 - p))[p == s].sum()
            for s in (0.5, 0.25)
        ]
        assert found.statistic == pytest.approx(sum(groups))
        assert ("sets of labels were drawn" in found.assumptions) == (not enough or scale != 1)
        assert (
            "2 degrees of freedom. Every group that counts has several" in found.assumptions
        ) == (enough and scale == 1)
        if enough and scale == 1:
            assert found.pvalue == pytest.approx(stats.chi2.sf(found.statistic, 2))


def test_a_group_of_certain_scores_adds_nothing_unless_a_label_contradicts_it():
    y, p = (
        np.concatenate([np.zeros(30, int), np.arange(80) % 2]),
        np.repeat([0.0, 0.4, 0.6], [30, 40, 40]),
    )
    test = partial(calibration_test, method="hosmer-lemeshow", bins=tn.Distinct())
    found, alone = test(y, p), test(y[30:], p[30:])
    assert (found.statistic, found.pvalue) == pytest.approx((alone.statistic, alone.pvalue))
    assert "2 degrees of freedom. Every group that counts has several" in found.assumptions
    assert (
        "3 of them. 1 with scores of only 0 or only 1 leave nothing to chance and do not count."
        in found.assumptions
    )
    y[0] = 1
    assert (test(y, p).statistic, test(y, p).pvalue) == (math.inf, 0)


@pytest.mark.slow
def test_hosmer_lemeshow_keeps_its_level_if_weights_are_not_counts():
    """With the chi-squared distribution 0.057 were rejected at 0.01."""
    rng, runs, found = np.random.default_rng(3), 500, []
    for _ in range(runs):
        p, w = rng.random(300), rng.lognormal(0, 1.5, 300)
        y = (rng.random(300) < p).astype(int)
        found.append(
            calibration_test(y, p, method="hosmer-lemeshow", sample_weight=w, seed=rng).pvalue
        )
    for level in (0.01, 0.05, 0.1):
        assert abs(np.mean(np.array(found) <= level) - level) <= 3.5 * math.sqrt(
            level * (1 - level) / runs
        )


@pytest.mark.slow
@pytest.mark.parametrize(("fitted", "freedom"), [(False, 10), (True, 8)])
def test_degrees_of_freedom_are_g_on_new_rows_and_g_minus_2_on_fitted_ones(fitted, freedom):
    """The mean of a chi-squared number is its degrees of freedom."""
    rng = np.random.default_rng(7)
    n, runs, values = 500, 1_000, []
    for _ in range(runs):
        x = rng.normal(size=n)
        p = 1 / (1 + np.exp(-0.3 - x))
        y = (rng.random(n) < p).astype(int)
        score = fit(x, y) if fitted else p
        values.append(calibration_test(y, score, method="hosmer-lemeshow", fitted=fitted).statistic)
    assert np.mean(values) == pytest.approx(freedom, abs=5 * math.sqrt(2 * freedom / runs) + 0.15)


def fit(x, y):
    """Logistic regression by Newton's method."""
    design, line = np.column_stack([np.ones_like(x), x]), np.zeros(2)
    for _ in range(12):
        p = 1 / (1 + np.exp(-design @ line))
        line += np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (y - p))
    return 1 / (1 + np.exp(-design @ line))
