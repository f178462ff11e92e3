"""Beta calibration by hand, by its symmetry, and against betacal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from trueness.errors import InputError, SeparableWarning
from trueness.recalibrate import BetaCalibration, DirichletCalibration, MatrixScaling, PlattScaling, VectorScaling

KINDS = ["abm", "am", "ab"]


def drawn(n=300, seed=0, a=0.5, b=1.2, c=0.2):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return p, (rng.random(n) < expit(a * np.log(p) - b * np.log1p(-p) + c)).astype(int)


def test_three_scores_are_met_exactly():
    p = np.repeat([0.2, 0.5, 0.8], 10)
    y = np.repeat([0, 1, 0, 1, 0, 1], [8, 2, 4, 6, 1, 9])
    np.testing.assert_allclose(BetaCalibration().fit(p, y).predict([0.2, 0.5, 0.8]), [0.2, 0.6, 0.9], rtol=1e-9)


def test_am_is_platts_line():
    p, y = drawn()
    beta, platt = BetaCalibration(parameters="am").fit(p, y), PlattScaling().fit(p, y)
    assert beta.a_ == beta.b_ == pytest.approx(platt.slope_, rel=1e-9)
    assert beta.c_ == pytest.approx(platt.intercept_, rel=1e-9)


def test_ab_passes_through_the_middle():
    fitted = BetaCalibration(parameters="ab").fit(*drawn())
    np.testing.assert_allclose(fitted.predict([0.5]), [0.5], rtol=1e-12)


@pytest.mark.parametrize("parameters", KINDS)
def test_betacal_finds_the_same(parameters):
    betacal = pytest.importorskip("betacal", reason="needs betacal (compared with 1.1.0)")
    p, y = drawn(2000, 0, 0.8, 1.3, -0.5 * np.log(2))  # no parameter comes out negative, which its 'ab' would allow
    theirs = betacal.BetaCalibration(parameters=parameters).fit(p[:, None], y)
    new = np.linspace(0.01, 0.99, 21)
    # betacal's logistic regression has a small penalty, and stops early.
    np.testing.assert_allclose(
        BetaCalibration(parameters=parameters).fit(p, y).predict(new), theirs.predict(new), atol=2e-3
    )


@pytest.mark.parametrize("slopes", [(-0.7, 1.0), (1.0, -0.7), (-0.5, -0.5)])
def test_a_negative_parameter_is_held_at_zero(slopes):
    p, y = drawn(2000, 1, *slopes)
    fitted = BetaCalibration().fit(p, y)
    assert min(fitted.a_, fitted.b_) == 0
    assert (np.diff(fitted.predict(np.linspace(0, 1, 101))) >= -1e-15).all()
    u, v = np.log(p), -np.log1p(-p)

    def loss(a, b, c):
        return np.mean(np.logaddexp(0, (1 - 2 * y) * (a * u + b * v + c)))

    # No map of the family with one parameter left out is likelier, which is where the published procedure ends.
    for feature, place in (u, 0), (v, 1):
        line = PlattScaling(from_logits=True).fit(feature, y)
        if line.slope_ >= 0:
            left = [0.0, 0.0, line.intercept_]
            left[place] = line.slope_
            assert loss(fitted.a_, fitted.b_, fitted.c_) <= loss(*left) + 1e-12


@given(seed=st.integers(0, 10**6), parameters=st.sampled_from(KINDS))
def test_swapping_the_labels_mirrors_the_map(seed, parameters):
    p, y = drawn(60, seed)
    p = np.round(p * 1024) / 1024  # so that 1 − p is exact
    one = BetaCalibration(parameters=parameters).fit(p, y)
    other = BetaCalibration(parameters=parameters).fit(1 - p, 1 - y)
    np.testing.assert_allclose(one.predict(p[:9]), 1 - other.predict(1 - p[:9]), atol=1e-8)


@pytest.mark.parametrize("kind", [VectorScaling, MatrixScaling, DirichletCalibration])
def test_the_maps_of_two_classes_are_beta_maps(kind):
    p, y = drawn(400)
    options = {"odir": 0} if kind is DirichletCalibration else {}
    matrix = kind(l2=1e-10, **options).fit(np.column_stack([1 - p, p]), y)
    new = np.linspace(0.05, 0.95, 11)
    beta = BetaCalibration().fit(p, y)
    assert min(beta.a_, beta.b_) > 0
    np.testing.assert_allclose(matrix.predict(np.column_stack([1 - new, new]))[:, 1], beta.predict(new), atol=1e-6)


def test_limits_at_zero_and_one():
    fitted = BetaCalibration(limits=True).fit(*drawn())
    assert fitted.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
    fitted.a_ = 0.0
    assert fitted.predict([0.0, 1.0]).tolist() == [expit(fitted.c_), 1.0]
    fitted.b_ = 0.0
    assert fitted.predict([0.0, 1.0]).tolist() == [expit(fitted.c_)] * 2


@pytest.mark.parametrize("parameters", KINDS)
def test_separated_labels_get_platts_targets(parameters):
    p, y = [0.1, 0.2, 0.4, 0.6, 0.7], [0, 0, 0, 1, 1]
    with pytest.warns(SeparableWarning, match="The scores separate the labels, so the likelihood has no finite"):
        fitted = BetaCalibration(parameters=parameters).fit(p, y)
    assert max(fitted.a_, fitted.b_, abs(fitted.c_)) < 50
    assert (np.diff(fitted.predict([0.1, 0.3, 0.65])) > 0).all()


def test_labels_separated_the_wrong_way_round_give_the_share():
    fitted = BetaCalibration().fit([0.1, 0.2, 0.3, 0.6, 0.7], [1, 1, 1, 0, 0])
    assert (fitted.a_, fitted.b_) == (0, 0)
    np.testing.assert_allclose(fitted.predict([0.0, 0.5, 1.0]), 0.6, rtol=1e-9)


def test_two_scores_do_not_determine_three_parameters():
    p, y = [0.25] * 4 + [0.75] * 4, [0, 0, 0, 1, 0, 1, 1, 1]
    with pytest.warns(SeparableWarning, match="The scores' 2 distinct values do not determine 3 parameters"):
        fitted = BetaCalibration().fit(p, y)
    # These scores are calibrated, and the identity is among the answers.
    assert (fitted.a_, fitted.b_, fitted.c_) == pytest.approx((1, 1, 0), abs=1e-9)
    assert fitted.predict([0.5]) == pytest.approx(0.5)


def test_the_score_that_becomes_one_half_is_m():
    fitted = BetaCalibration().fit(*drawn())
    low, high = 0.0, 1.0
    for _ in range(60):
        m = (low + high) / 2
        low, high = (m, high) if fitted.predict([m])[0] < 0.5 else (low, m)
    assert fitted.c_ == pytest.approx(fitted.b_ * np.log1p(-m) - fitted.a_ * np.log(m), rel=1e-9)
    assert abs(logit(fitted.predict([m])[0])) < 1e-9


@pytest.mark.parametrize("parameters", ["abc", None, 3])
def test_unknown_parameters_are_refused(parameters):
    with pytest.raises(InputError, match="`parameters` must be 'abm', 'am' or 'ab'; got"):
        BetaCalibration(parameters=parameters).fit(*drawn())
