"""Platt scaling by hand, by its symmetry, and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.calibration import _sigmoid_calibration
from sklearn.linear_model import LogisticRegression

from trueness import calibration_intercept, calibration_slope
from trueness.errors import OneClassWarning, SeparableWarning
from trueness.recalibrate import PlattScaling


def drawn(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.3, 1.5, n)
    return expit(1.7 * x - 0.4), (rng.logistic(size=n) < x).astype(int)


def test_by_hand():
    # Odds of 1:3 and 3:1 were predicted where 1:1 and 4:1 came true: two points, one line.
    p, y = [0.25] * 4 + [0.75] * 5, [0, 0, 1, 1, 0, 1, 1, 1, 1]
    fitted = PlattScaling().fit(p, y)
    np.testing.assert_allclose(fitted.predict([0.25, 0.75]), [0.5, 0.8], rtol=1e-9)
    assert fitted.slope_ == pytest.approx(np.log(4) / (2 * np.log(3)), rel=1e-9)


def test_the_line_is_the_calibration_line():
    p, y = drawn()
    fitted = PlattScaling(eps=1e-12).fit(p, y)
    assert fitted.slope_ == pytest.approx(calibration_slope(y, p), rel=1e-12)
    after = fitted.predict(p[:-1])
    assert abs(calibration_intercept(y[:-1], after)) < 0.02


def test_scikit_learn_finds_the_same():
    p, y = drawn()
    w = np.random.default_rng(1).exponential(size=y.size)
    theirs = LogisticRegression(C=1e10, tol=1e-12, max_iter=1000).fit(
        logit(p)[:, None], y, w
    )  # compared with 1.9.1
    ours = PlattScaling(eps=1e-12).fit(p, y, sample_weight=w)
    assert ours.slope_ == pytest.approx(theirs.coef_[0, 0], rel=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], rel=1e-5, abs=1e-6)


def test_platts_targets_are_scikit_learns():
    p, y = drawn(40)
    x = logit(p)
    ours = PlattScaling(from_logits=True, targets="platt").fit(x, y)
    a, b = _sigmoid_calibration(x, y)  # compared with 1.9.1; its line is −a x − b
    assert (ours.slope_, ours.intercept_) == pytest.approx((-a, -b), abs=1e-4)


@given(seed=st.integers(0, 10**6))
def test_swapping_the_labels_mirrors_the_map(seed):
    p, y = drawn(40, seed)
    p = np.round(p * 1024) / 1024  # so that 1 − p is exact
    inside = (p > 0) & (p < 1)
    p, y = p[inside], y[inside]
    for targets in "labels", "platt":
        one, other = (
            PlattScaling(targets=targets).fit(p, y),
            PlattScaling(targets=targets).fit(1 - p, 1 - y),
        )
        np.testing.assert_allclose(one.predict(p[:9]), 1 - other.predict(1 - p[:9]), atol=1e-9)


def test_limits_at_zero_and_one_follow_the_slope():
    p, y = drawn()
    assert PlattScaling(limits=True).fit(p, 1 - y).predict([0.0, 1.0]).tolist() == [1.0, 0.0]
    flat = PlattScaling(limits=True).fit([0.2, 0.2, 0.8, 0.8], [0, 1, 0, 1])
    flat.slope_ = 0.0
    np.testing.assert_allclose(flat.predict([0.0, 0.3, 1.0]), 0.5, atol=1e-9)


def test_separated_labels_get_platts_targets():
    p, y = np.array([0.1, 0.2, 0.3, 0.6, 0.7]), np.array([0, 0, 0, 1, 1])
    with pytest.warns(
        SeparableWarning, match="The scores separate the labels.*Platt's smoothed targets replaced"
    ):
        fitted = PlattScaling().fit(p, y)
    smooth = PlattScaling(targets="platt", eps=1e-12).fit(p, y)
    assert (fitted.slope_, fitted.intercept_) == (smooth.slope_, smooth.intercept_)
    assert 0 < fitted.slope_ < 10


@pytest.mark.parametrize("factor", [2.0**900, 2.0**-100])
def test_the_scale_of_logits_does_not_matter(factor):
    p, y = drawn()
    x = logit(p)
    fitted = PlattScaling(from_logits=True).fit(x * factor, y)
    np.testing.assert_allclose(
        fitted.predict(x[:9] * factor), PlattScaling(eps=1e-12).fit(p, y).predict(p[:9]), rtol=1e-9
    )


@pytest.mark.parametrize("score", [1e-5, -1e-30, 3.0])
def test_equal_logits_of_any_size_leave_the_slope_at_one(score):
    with pytest.warns(SeparableWarning, match="All scores are equal"):
        fitted = PlattScaling(from_logits=True).fit([score] * 3, [0, 0, 1])
    assert fitted.slope_ == 1
    assert fitted.intercept_ == pytest.approx(logit(1 / 3) - score, rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-5])
def test_the_ridge_pulls_towards_the_identity(scale):
    """The loss, summed over rows, plus half the ridge times the squared distance of (intercept, slope) from (0, 1)."""
    p, y = drawn(80)
    x, w = logit(p) * scale, np.full(80, 3 / scale**2)
    fitted = PlattScaling(from_logits=True, ridge=50.0).fit(x, y, w)

    def objective(theta):  # times scale²; the slope is theta[1] / scale
        line = theta[0] + theta[1] * logit(p)
        away = scale**2 * theta[0] ** 2 + (theta[1] - scale) ** 2
        return 3 * np.sum(np.logaddexp(0, line) - y * line) + 25 * away

    best = minimize(objective, [0.0, 1.0], tol=1e-12).x
    assert (fitted.intercept_, fitted.slope_ * scale) == pytest.approx(tuple(best), rel=1e-4)


def test_one_class_at_one_score_gets_platts_target():
    with (
        pytest.warns(SeparableWarning, match="All scores are equal"),
        pytest.warns(OneClassWarning),
    ):
        fitted = PlattScaling().fit([0.3] * 6, [0] * 6)
    assert fitted.slope_ == 1
    assert fitted.predict([0.3]) == pytest.approx([1 / (6 + 2)])


@pytest.mark.parametrize("factor", [1.0, 1e-5])
def test_the_slope_of_smoothed_targets_is_named(factor):
    x, y = np.array([-2.0, -1.5, -1, 0.5, 1]) * factor, [0, 0, 0, 1, 1]
    with pytest.warns(SeparableWarning) as given:
        fitted = PlattScaling(from_logits=True).fit(x, y)
    assert f"the slope is {fitted.slope_:.4g}." in str(given[0].message)
    assert PlattScaling(from_logits=True, targets="platt").fit(x, y).slope_ == pytest.approx(
        fitted.slope_
    )
