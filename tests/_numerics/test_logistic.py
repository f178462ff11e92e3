import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.special import expit, logit

from trueness._numerics import logistic as home
from trueness._numerics.logistic import (
    bounded_logistic,
    line_of_scores,
    recalibration_line,
    recalibration_shift,
)


def simulated(seed, m=300, slope=0.7, intercept=-0.4, spread=2.0):
    rng = np.random.default_rng(seed)
    x = spread * rng.normal(size=m)
    w = rng.integers(1, 6, m).astype(float)
    return x, w, rng.binomial(w.astype(int), expit(intercept + slope * x)).astype(float)


def gradient(x, w, e, slope, intercept):
    excess = w * expit(intercept + slope * x) - e
    return np.array([excess.sum(), (excess * x).sum()]) / w.sum()


@pytest.mark.parametrize("seed", range(2))
def test_equal_to_a_generic_optimiser(seed):
    x, w, e = simulated(seed)

    def loss(theta):
        eta = theta[0] + theta[1] * x
        return np.sum(w * np.logaddexp(0, eta) - e * eta) / w.sum()

    reference = minimize(loss, [0, 1], method="BFGS", options={"gtol": 1e-7}).x
    assert recalibration_line(x, w, e) == pytest.approx((reference[1], reference[0]), abs=1e-5)


@pytest.mark.parametrize("spread", [1e-6, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_the_gradient_vanishes_at_any_scale(spread, offset):
    x, w, e = simulated(9, slope=0.5 / spread, spread=spread)
    slope, intercept = recalibration_line(x + offset * spread, w, e)
    residual = gradient(x, w, e, slope, intercept + slope * offset * spread)
    np.testing.assert_allclose(residual / [1, spread], 0, atol=1e-11)


def test_two_cells_are_fitted_exactly():
    slope, intercept = recalibration_line([-1.0, 3.0], [10, 20], [2, 15])
    assert intercept - slope == pytest.approx(logit(0.2), abs=1e-12)
    assert intercept + 3 * slope == pytest.approx(logit(0.75), abs=1e-12)


def test_perfect_log_odds_have_slope_one_and_intercept_zero():
    p = np.array([0.1, 0.25, 0.5, 0.8])
    assert recalibration_line(logit(p), [40] * 4, 40 * p) == pytest.approx((1, 0), abs=1e-12)
    assert recalibration_shift(logit(p), [40] * 4, 40 * p) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "weight", "events"),
    [
        ([-1.0, 1.0], [5, 5], [0, 5]),
        ([-1.0, 1.0], [5, 5], [5, 0]),
        ([-1.0, 0.0, 1.0], [5, 5, 5], [0, 2, 5]),
        ([-1.0, 0.0], [5, 5], [0, 2]),
        ([0.5, 0.5], [5, 5], [1, 4]),
        ([0.5], [5], [2]),
        ([-1.0, 1.0], [5, 5], [0, 0]),
        ([-1.0, 1.0], [5, 5], [5, 5]),
        ([], [], []),
    ],
)
def test_no_finite_estimate_gives_nan(x, weight, events):
    assert all(map(math.isnan, recalibration_line(x, weight, events)))


def test_nearly_separated_labels_converge():
    x = np.array([-50.0, -1e-3, 1e-3, 50.0])
    w, e = np.array([1e6, 1, 1, 1e6]), np.array([0, 1, 0, 1e6])
    slope, intercept = recalibration_line(x, w, e)
    assert slope > 0
    np.testing.assert_allclose(gradient(x, w, e, slope, intercept), 0, atol=1e-13)


def test_a_rounding_remainder_is_no_event():
    w = np.array([0.3, 0.3])
    assert math.isnan(recalibration_line([0.0, 1.0], w, [0.1 + 0.2 - 0.3, 0.3])[0])
    assert math.isnan(recalibration_shift([0.0, 1.0], w, [0.0, 1e-17]))


counts = st.lists(
    st.tuples(st.integers(-800, 800).map(lambda c: c / 100), st.integers(0, 5), st.integers(0, 5)),
    min_size=1,
    max_size=15,
    unique_by=lambda c: c[0],
)


@settings(deadline=None)
@given(counts)
def test_weight_is_repetition(counts):
    x, yes, no = np.array(counts).T
    line = recalibration_line(x, yes + no, yes)
    assume(not math.isnan(line[0]) and abs(line[0]) < 1e3)
    rows = np.concatenate([np.repeat(x, yes.astype(int)), np.repeat(x, no.astype(int))])
    labels = np.repeat([1.0, 0.0], [int(yes.sum()), int(no.sum())])
    assert recalibration_line(rows, np.ones(rows.size), labels) == pytest.approx(
        line, rel=1e-8, abs=1e-8
    )
    shift = recalibration_shift(x, yes + no, yes)
    assert recalibration_shift(rows, np.ones(rows.size), labels) == pytest.approx(
        shift, rel=1e-9, abs=1e-9
    )


@settings(deadline=None)
@given(counts)
def test_swapping_the_classes_keeps_the_slope_and_turns_the_intercept(counts):
    x, yes, no = np.array(counts).T
    slope, intercept = recalibration_line(x, yes + no, yes)
    assume(not math.isnan(slope) and abs(slope) < 1e3)
    assert recalibration_line(-x, yes + no, no) == pytest.approx(
        (slope, -intercept), rel=1e-8, abs=1e-8
    )
    shift = recalibration_shift(x, yes + no, yes)
    assert recalibration_shift(-x, yes + no, no) == pytest.approx(-shift, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(counts)
def test_the_line_explains_the_events(counts):
    x, yes, no = np.array(counts).T
    slope, intercept = recalibration_line(x, yes + no, yes)
    assume(not math.isnan(slope))
    np.testing.assert_allclose(gradient(x, yes + no, yes, slope, intercept), 0, atol=1e-9)


@settings(deadline=None)
@given(counts, st.floats(0.1, 100))
def test_the_shift_makes_the_expected_events_the_observed_ones(counts, scale):
    x, yes, no = np.array(counts).T
    shift = recalibration_shift(scale * x, yes + no, yes)
    if yes.sum() == 0 or no.sum() == 0:
        assert math.isnan(shift)
        return
    expected = np.sum((yes + no) * expit(scale * x + shift))
    assert expected == pytest.approx(yes.sum(), rel=1e-9)


def test_cells_without_weight_are_ignored():
    x, w, e = simulated(3)
    line, shift = recalibration_line(x, w, e), recalibration_shift(x, w, e)
    x, w, e = np.append(x, np.nan), np.append(w, 0), np.append(e, 0)
    assert recalibration_line(x, w, e) == line
    assert recalibration_shift(x, w, e) == shift


# Roots of Σw(y − σ(a + x)) by mpmath 1.3, bisected with 700 digits.
FAR_SHIFTS = [
    ([1, 0], [0.3, 0.6], [1e17, 1], 39.99124444128598),
    ([1, 1, 0], [0.3, 0.301, 0.3005], [1e6, 1e6, 1e-6], 29.169090294508404),
    ([1, 0, 1], [1e-25, 0.3, 0.3001], [1, 1, 1], 29.552417160784444),
    ([1, 1, 0], [1e-300, 1e-299, 1 - 2**-53], [0.1, 0.2, 0.3], 651.9104956226873),
    ([1, 0, 0], [1e-300, 1e-299, 1 - 2**-53], [0.3, 0.2, 0.1], 689.3569978175807),
]


@pytest.mark.parametrize(("y", "p", "w", "root"), FAR_SHIFTS)
@pytest.mark.parametrize("swapped", [False, True])
def test_shifts_keep_their_digits_where_expected_events_are_whole_to_the_last_one(
    y, p, w, root, swapped
):
    x, w, y = np.log(p) - np.log1p(np.negative(p)), np.asarray(w, float), np.asarray(y, float)
    found = (
        -recalibration_shift(-x, w, w * (1 - y)) if swapped else recalibration_shift(x, w, w * y)
    )
    assert found == pytest.approx(root, rel=1e-12)


def test_weights_near_the_ends_of_floats_have_a_shift():
    for unit in (5e-324, 1e-300, 1e300):
        assert recalibration_shift([0.0, 1.0], [unit, unit], [unit, 0.0]) == pytest.approx(
            -0.5, abs=1e-12
        )


START = np.array([1.0, 1.0, 0.0])
BOUNDED = np.array([True, True, False])


def problem(seed, slopes, n=80):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    X = np.column_stack([np.log(p), -np.log1p(-p), np.ones(n)])
    y = (X @ [*slopes, 0.3] + rng.logistic(size=n) > 0).astype(float)
    return X, rng.exponential(size=n), y


def loss(theta, X, w, e):
    eta = X @ theta
    return float(np.sum(w * np.logaddexp(0, eta) - e * eta) / w.sum())


def test_gradient_and_curvature_are_those_of_finite_differences():
    X, w, y = problem(0, (1.0, 0.5))
    w = w / w.sum()
    theta = np.array([0.7, 0.2, -0.1])
    assert (
        check_grad(
            lambda t: home._loss(t, X, w, w * y)[0], lambda t: home._loss(t, X, w, w * y)[1], theta
        )
        < 1e-6
    )
    _, _, hessian = home._loss(theta, X, w, w * y)
    for column, e in zip(hessian.T, 1e-6 * np.eye(3), strict=True):
        change = (
            home._loss(theta + e, X, w, w * y)[1] - home._loss(theta - e, X, w, w * y)[1]
        ) / 2e-6
        np.testing.assert_allclose(column, change, atol=1e-7)


@pytest.mark.parametrize("slopes", [(0.4, -0.8), (-0.8, 0.4), (-0.5, -0.5), (2.0, 0.0)])
def test_the_optimum_is_that_of_a_general_search(slopes):
    X, w, y = problem(1, slopes)
    found = bounded_logistic(X, w, w * y, START, BOUNDED)
    other = minimize(
        loss,
        np.random.default_rng(1).random(3),
        args=(X, w, w * y),
        bounds=[(0, None), (0, None), (None, None)],
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    assert (found[:2] >= 0).all()
    assert loss(found, X, w, w * y) <= other.fun + 1e-12
    np.testing.assert_allclose(found, other.x, atol=1e-3)


@given(seed=st.integers(0, 10**6), a=st.floats(-1, 1), b=st.floats(-1, 1))
def test_the_conditions_of_an_optimum_hold(seed, a, b):
    X, w, y = problem(seed, (a, b), n=30)
    e = w * (0.9 * y + 0.05)
    found = bounded_logistic(X, w, e, START, BOUNDED)
    gradient = home._loss(found, X, w / w.sum(), e / w.sum())[1]
    on_bound = BOUNDED & (found == 0)
    assert np.abs(gradient[~on_bound]).max(initial=0) < 1e-9
    assert (gradient[on_bound] > -1e-9).all()
    assert (found[:2] >= 0).all()


def test_of_equally_likely_coefficients_the_nearest_is_returned():
    # Two equal columns: only their sum is determined.
    X = np.array([[1.0, 1.0], [-1.0, -1.0]])
    found = bounded_logistic(
        X, np.full(2, 3.0), np.array([2.0, 1.0]), np.array([1.0, 0.0]), np.array([False, False])
    )
    np.testing.assert_allclose(found.sum(), np.log(2), atol=1e-12)
    np.testing.assert_allclose(found[0] - found[1], 1.0, atol=1e-12)


@pytest.mark.parametrize(
    "scores", ["uniform", "rare", "confident", "tied", "in no order", "separated", "fractions"]
)
def test_many_cells_are_fitted_from_pools_to_the_same_numbers(scores, monkeypatch):
    rng = np.random.default_rng(5)
    x = np.sort(rng.logistic(size=4000)) * (4 if scores == "confident" else 1) - (
        5 if scores == "rare" else 0
    )
    x = np.round(x) if scores == "tied" else rng.permutation(x) if scores == "in no order" else x
    w = rng.random(x.size) if scores == "fractions" else rng.integers(1, 4, x.size)
    e = w * (x > 0.5) if scores == "separated" else w * (rng.random(x.size) < expit(0.3 + 0.8 * x))
    found = []
    for pools in (10**9, 64):
        monkeypatch.setattr(home, "_POOLS", pools)
        found.append((*recalibration_line(x, w, e), recalibration_shift(x, w, e)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-11, atol=1e-11)


def test_the_sums_of_a_line_are_those_of_the_definition():
    x, w, e = simulated(3, m=50)
    q = expit(0.2 + 0.9 * (x - 0.5))
    X = np.stack([np.ones(x.size), x - 0.5], axis=1)
    residual, information = home.line_sums(x, w.astype(int), e, 0.9, 0.2, 0.5)
    np.testing.assert_allclose(residual, X.T @ (e - w * q), rtol=1e-12)
    np.testing.assert_allclose(information, X.T @ (X * (w * q * (1 - q))[:, None]), rtol=1e-12)


def test_the_sums_of_a_line_far_out_are_finite():
    (residual, turn), information = home.line_sums(
        np.array([-900.0, 900.0]), None, np.array([1, 0]), 1.0, 0.0
    )
    assert (residual, turn) == (0, -1800)
    assert (information[[0, 0, 1], [0, 1, 1]] >= 0).all()
    assert np.isfinite(information).all()


def test_log_odds_keep_their_digits_near_0_half_and_1():
    p = np.array([5e-324, 1e-300, 2.0**-60, 0.3, 0.5 - 2.0**-40, 0.75, 1 - 2.0**-53])
    expected = [math.log(q) - math.log1p(-q) for q in p]
    np.testing.assert_allclose(home.logits(p), expected, rtol=4e-16, atol=3e-16)
    assert home.logits(np.tile([0.0, 1.0], 5_000)).tolist() == [-math.inf, math.inf] * 5_000
    single = p[3:6].astype(np.float32)
    assert home.logits(single).tolist() == home.logits(single.astype(np.float64)).tolist()


def many_rows(kind, n=40_000):
    rng = np.random.default_rng(0)
    p = {
        "continuous": rng.beta(0.4, 0.6, n),
        "tied": np.round(rng.random(n), 2),
        "float32": rng.random(n).astype(np.float32),
        "tails": np.where(rng.random(n) < 0.5, np.exp(-300 * rng.random(n)), rng.random(n)),
    }[kind]
    p = np.clip(p, 1e-300, 1 - 2.0**-24)
    return p, rng.random(n) < p.astype(float) ** 1.2


def sums_of(p, y):
    score, cell, w = np.unique(p.astype(float), return_inverse=True, return_counts=True)
    return score, w, np.bincount(cell, y).astype(np.int64)


@pytest.mark.parametrize("fixed_slope", [False, True])
@pytest.mark.parametrize("kind", ["continuous", "tied", "float32", "tails"])
def test_many_rows_in_any_order_and_their_sums_have_the_same_line(kind, fixed_slope):
    p, y = many_rows(kind)
    expected = pytest.approx(
        line_of_scores(p, None, y, fixed_slope=fixed_slope), rel=1e-12, abs=1e-12
    )
    order = np.random.default_rng(1).permutation(p.size)
    assert line_of_scores(p[order], None, y[order], fixed_slope=fixed_slope) == expected
    score, w, e = sums_of(p, y)
    assert line_of_scores(score, w, e, fixed_slope=fixed_slope) == expected
    assert (
        line_of_scores(score, w.astype(float), e.astype(float), fixed_slope=fixed_slope) == expected
    )


@pytest.mark.parametrize("fixed_slope", [False, True])
def test_many_rows_without_an_estimate_have_none(fixed_slope):
    p = np.linspace(0.01, 0.99, 40_000)
    assert all(np.isnan(line_of_scores(p, None, p > 0.5)))
    assert np.isnan(line_of_scores(p, None, np.zeros(p.size), fixed_slope=fixed_slope)[1])


def test_nearly_separated_rows_are_fitted_as_their_sums():
    p = np.linspace(0.01, 0.99, 40_000)
    y = p > 0.5
    y[19_999] = True
    y[20_003] = False
    assert line_of_scores(p, None, y) == line_of_scores(*sums_of(p, y))
    assert line_of_scores(p, None, y)[0] > 100
