"""Beta calibration by hand, by its symmetry, and against betacal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit

from trueness.errors import InputError, SeparableWarning
from trueness.recalibrate import (
    BetaCalibration,
    DirichletCalibration,
    MatrixScaling,
    PlattScaling,
    VectorScaling,
)

KINDS = ["abm", "am", "ab"]


def drawn(n=300, seed=0, a=0.5, b=1.2, c=0.2):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return p, (rng.random(n) < expit(a * np.log(p) - b * np.log1p(-p) + c)).astype(int)


def test_three_scores_are_met_exactly():
    p = np.repeat([0.2, 0.5, 0.8], 10)
    y = np.repeat([0, 1, 0, 1, 0, 1], [8, 2, 4, 6, 1, 9])
    np.testing.assert_allclose(
        BetaCalibration().fit(p, y).predict([0.2, 0.5, 0.8]), [0.2, 0.6, 0.9], rtol=1e-9
    )


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
    p, y = drawn(
        2000, 0, 0.8, 1.3, -0.5 * np.log(2)
    )  # no parameter comes out negative, which its 'ab' would allow
    theirs = betacal.BetaCalibration(parameters=parameters).fit(p[:, None], y)
    new = np.linspace(0.01, 0.99, 21)
    # betacal's logistic regression has a small penalty, and stops early.
    np.testing.assert_allclose(
        BetaCalibration(parameters=parameters).fit(p, y).predict(new),
        theirs.predict(new),
        atol=2e-3,
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
    np.testing.assert_allclose(
        matrix.predict(np.column_stack([1 - new, new]))[:, 1], beta.predict(new), atol=1e-6
    )


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
    with pytest.warns(
        SeparableWarning, match="The scores separate the labels, so the likelihood has no finite"
    ):
        fitted = BetaCalibration(parameters=parameters).fit(p, y)
    assert max(fitted.a_, fitted.b_, abs(fitted.c_)) < 50
    assert (np.diff(fitted.predict([0.1, 0.3, 0.65])) > 0).all()


def test_labels_separated_the_wrong_way_round_give_the_share():
    fitted = BetaCalibration().fit([0.1, 0.2, 0.3, 0.6, 0.7], [1, 1, 1, 0, 0])
    assert (fitted.a_, fitted.b_) == (0, 0)
    np.testing.assert_allclose(fitted.predict([0.0, 0.5, 1.0]), 0.6, rtol=1e-9)


def test_two_scores_do_not_determine_three_parameters():
    p, y = [0.25] * 4 + [0.75] * 4, [0, 0, 0, 1, 0, 1, 1, 1]
    with pytest.warns(
        SeparableWarning, match="The scores' 2 distinct values do not determine 3 parameters"
    ):
        fitted = BetaCalibration().fit(p, y)
    # These scores are calibrated, and the identity is among the answers.
    assert (fitted.a_, fitted.b_, fitted.c_) == pytest.approx((1, 1, 0), abs=1e-9)
    assert fitted.predict([0.5]) == pytest.approx(0.5)


@pytest.mark.parametrize("parameters", ["abc", None, 3])
def test_unknown_parameters_are_refused(parameters):
    with pytest.raises(InputError, match="`parameters` must be 'abm', 'am' or 'ab'; got"):
        BetaCalibration(parameters=parameters).fit(*drawn())


def as_abc(parameters, theta):
    """Coefficients of log p, −log(1 − p) and 1 from the free parameters."""
    if parameters == "abm":
        return theta
    if parameters == "am":
        return theta[0], theta[0], theta[1]
    return theta[0], theta[1], (theta[0] - theta[1]) * np.log(2)  # 1/2 stays 1/2


@pytest.mark.parametrize("parameters", KINDS)
def test_a_ridge_is_half_the_squared_distance_from_the_identity(parameters):
    p, y = drawn(80)
    w, ridge = np.arange(80) % 3 + 1.0, 2.5
    identity = {"abm": [1, 1, 0], "am": [1, 0], "ab": [1, 1]}[parameters]

    def objective(theta):
        a, b, c = as_abc(parameters, theta)
        z = a * np.log(p) - b * np.log1p(-p) + c
        return w @ np.logaddexp(0, (1 - 2 * y) * z) + ridge / 2 * np.sum(
            (theta - np.array(identity)) ** 2
        )

    best = minimize(objective, np.array(identity, float), method="BFGS", options={"gtol": 1e-9})
    assert best.x[0] > 0.1
    fitted = BetaCalibration(parameters=parameters, ridge=ridge).fit(p, y, w)
    assert (fitted.a_, fitted.b_, fitted.c_) == pytest.approx(as_abc(parameters, best.x), abs=1e-5)


def test_a_single_score_gets_its_rate_from_the_nearest_map_to_the_identity():
    p, y = np.full(8, 0.8), np.array([0, 1] * 3 + [1, 1])
    z, wanted = logit(0.8), logit(5 / 8)
    with pytest.warns(
        SeparableWarning,
        match=r"The scores' 1 distinct value does not determine 2 parameters; the fit n",
    ):
        fitted = BetaCalibration(parameters="am").fit(p, y)
    # The point of the line c + a z = wanted that is nearest to a = 1, c = 0.
    off = (wanted - z) / (z**2 + 1)
    assert (fitted.a_, fitted.c_) == pytest.approx((1 + off * z, off), rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "p", "y"),
    [
        ("abm", [0.3, 0.5, 0.5, 0.8], [0, 0, 1, 1]),  # a tie at the threshold
        ("am", [0.3, 0.5, 0.5, 0.8], [0, 0, 1, 1]),
        ("ab", [0.3, 0.5, 0.5, 0.8], [0, 0, 1, 1]),
        ("ab", [0.5, 0.5, 0.8], [0, 1, 1]),
        ("abm", [0.3, 0.5, 0.8], [1, 1, 1]),
    ],
)
@pytest.mark.filterwarnings("ignore::trueness.errors.OneClassWarning")
def test_labels_are_separated_even_if_a_tie_is_at_the_threshold(parameters, p, y):
    with pytest.warns(SeparableWarning, match="The scores separate the labels"):
        BetaCalibration(parameters=parameters).fit(p, y)


def test_scores_that_are_all_one_half_say_nothing_about_a_map_through_one_half():
    with pytest.warns(SeparableWarning, match="1 distinct value does not determine 2 parameters"):
        fitted = BetaCalibration(parameters="ab").fit([0.5, 0.5, 0.5], [0, 1, 1])
    assert (fitted.a_, fitted.b_, fitted.c_) == (1, 1, 0)
