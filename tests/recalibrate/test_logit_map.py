"""Maps on the logit scale: how near to 0 and 1 scores may be, shapes of curves, and what they minimise."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from trueness import (
    BetaCalibration,
    InputError,
    PlattScaling,
    SplineCalibration,
    TemperatureScaling,
)
from trueness.errors import MovedScoresWarning
from trueness.recalibrate import QuadraticScaling, VectorScaling

Y = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0])
DELTA = 1 / 20
RNG = np.random.default_rng(3)
SCORES = np.round(RNG.uniform(0.05, 0.95, 150), 2)
LABELS = (RNG.random(150) < SCORES**1.5).astype(int)
WEIGHTS = RNG.integers(1, 4, 150).astype(float)
moves = pytest.mark.filterwarnings("ignore::trueness.errors.MovedScoresWarning")


@moves
@pytest.mark.parametrize(
    ("ends", "eps"),
    [
        ([0.0, 1.0], DELTA),
        ([0.01, 1.0], 0.01),
        ([0.0, 1 - 1 / 128], 1 / 128),
        ([1e-9, 0.5], DELTA**2),
    ],
    ids=["grid", "low", "high", "far"],
)
def test_eps_follows_from_the_rows_and_the_least_distance(ends, eps):
    p = np.concatenate([ends, [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]])
    for kind in PlattScaling, BetaCalibration, TemperatureScaling:
        assert kind().fit(p, Y).eps_ == pytest.approx(eps, rel=1e-12)
        assert kind(eps=1e-7).fit(p, Y).eps_ == 1e-7
    twice = PlattScaling().fit(np.repeat(p, 2), np.repeat(Y, 2)).eps_
    assert PlattScaling().fit(p, Y, np.full(9, 2.0)).eps_ == twice


def test_the_values_of_logits_say_nothing_about_eps():
    logits = np.array([-3.0, 2.0, 1e-9, -0.5, 3.0, -1.0, 0.5, 1.0, 0.0])
    for kind in PlattScaling, TemperatureScaling:
        assert kind(from_logits=True).fit(logits, Y).eps_ == DELTA


@moves
@pytest.mark.parametrize(
    ("row", "eps"),
    [
        ([0.6, 0.4, 0.0], 1 / 15),
        ([0.6, 0.38, 0.02], 0.02),
        ([0.6, 0.399999, 0.000001], 1 / 15**2),
        ([0.98, 0.02, 0.0], 0.02),
    ],
)
def test_the_rule_of_a_matrix_counts_its_classes(row, eps):
    rest = [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.1, 0.8, 0.1]]
    assert VectorScaling(l2=1.0).fit([row, *rest], [2, 1, 0, 1]).eps_ == pytest.approx(eps)


@pytest.mark.parametrize("kind", [PlattScaling, BetaCalibration, TemperatureScaling])
def test_no_score_overtakes_another_near_the_ends(kind):
    p = np.array([0.0, 0.02, 0.05, 0.1, 0.3, 0.6, 0.9, 0.97, 1.0])
    message = r"2 scores are exactly 0 or 1 and were moved into \[0\.02, 1 − 0\.02\]"
    with pytest.warns(MovedScoresWarning, match=message):
        fitted = kind().fit(p, [0, 0, 1, 0, 0, 1, 1, 0, 1])
    found = fitted.predict([0.0, 1e-300, 1e-5, 0.019, 0.02, 0.5, 0.98, 1 - 1e-9, 1.0])
    assert (np.diff(found) >= 0).all()
    assert 0 < found[0] == found[3]
    assert found[-1] < 1
    limits = kind(limits=True).fit(p[1:-1], [0, 1, 0, 0, 1, 0, 1])
    assert limits.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match="`limits` must be True or False; got 1"):
        kind(limits=1).fit(p, Y)


@pytest.mark.parametrize("kind", [PlattScaling, BetaCalibration, TemperatureScaling])
def test_a_ridge_pulls_towards_the_identity(kind):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 60)
    y = rng.binomial(1, p**3)
    new = np.linspace(0.06, 0.94, 9)
    off = [
        np.abs(kind(ridge=ridge).fit(p, y).predict(new) - new).max() for ridge in (0, 1, 100, 1e9)
    ]
    assert off[0] > off[1] > off[2] > off[3]
    assert off[3] < 1e-6
    with pytest.raises(InputError, match="`ridge` must be a finite number ≥ 0; got -1"):
        kind(ridge=-1).fit(p, y)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.0, 0.3, 0.5], r"1 score is exactly 0 or 1 and was moved into \[0\.1, 1 − 0\.1\]\."),
        ([0.0, 1.0, 0.5], r"2 scores are exactly 0 or 1 and were moved into \[0\.1, 1 − 0\.1\]\."),
        (
            [1.0, 0.95, 0.1],
            r"1 score is exactly 0 or 1 \(1 more is nearly so\) and were moved into \[",
        ),
        (
            [1.0, 0.95, 0.05],
            r"1 score is exactly 0 or 1 \(2 more are nearly so\) and were moved into \[",
        ),
        (
            [[0.0, 0.95, 0.05], [0.0, 1.0, 0.0]],
            r"3 scores are exactly 0 \(1 more is nearly so\) and .* to 0\.1",
        ),
    ],
)
def test_moved_scores_are_counted(p, message):
    with pytest.warns(MovedScoresWarning, match=f"^{message}"):
        TemperatureScaling(eps=0.1, ridge=1.0).fit(p, np.arange(len(p)) % 2)


def test_scores_that_are_near_the_ends_but_not_there_are_moved_in_silence():
    TemperatureScaling(eps=0.1, ridge=1.0).fit([0.01, 0.99, 0.5], [0, 1, 1])


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        *(
            (PlattScaling(eps=eps), "`eps` must be None or lie strictly between 0 and 0.5; got")
            for eps in (0, 0.5, "x")
        ),
        (QuadraticScaling(ridge=0), "`ridge` must be a finite number above 0; got 0"),
        (SplineCalibration(ridge=0), "`ridge` must be a finite number above 0; got 0"),
        (PlattScaling(ridge=np.inf), "`ridge` must be a finite number ≥ 0; got inf"),
        (SplineCalibration(n_knots=1_001), "`n_knots` must be at most 1,000; got 1,001"),
        (QuadraticScaling(monotone=1), "`monotone` must be True or False; got 1"),
        (PlattScaling(targets="smooth"), "`targets` must be 'labels' or 'platt'; got 'smooth'"),
    ],
)
def test_bad_parameters_are_refused(calibrator, message):
    with pytest.raises(InputError, match=message):
        calibrator.fit(np.linspace(0.1, 0.9, 9), Y)


def squared(z, signed):
    return z * np.abs(z) if signed else z * z


@pytest.mark.parametrize("from_logits", [False, True])
@pytest.mark.parametrize("signed", [False, True])
def test_quadratic_scaling_is_its_formula_up_to_its_reach_and_the_tangent_beyond(
    signed, from_logits
):
    fitted = QuadraticScaling(signed=signed, eps=1e-6, from_logits=from_logits)
    fitted.fit(logit(SCORES) if from_logits else SCORES, LABELS)
    a, b, c, reach = fitted.a_, fitted.b_, fitted.c_, fitted.reach_
    assert reach == pytest.approx(np.abs(logit(SCORES)).max())

    def predicted(z):
        return logit(fitted.predict(z if from_logits else expit(z)))

    z = np.linspace(-reach, reach, 9)
    assert predicted(z) == pytest.approx(a + b * z + c * squared(z, signed), abs=1e-9)
    for end, sign in ((-reach, 1 if signed else -1), (reach, 1)):
        height, slope = a + b * end + c * squared(end, signed), b + 2 * c * reach * sign
        beyond = np.array([0.5, 3.0]) * math.copysign(1, end)
        assert predicted(end + beyond) == pytest.approx(height + slope * beyond, abs=1e-6)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("ridge", [1.0, 20.0])
def test_quadratic_scaling_minimises_the_loss_plus_half_the_ridge(signed, ridge):
    fitted = QuadraticScaling(signed=signed, monotone=False, ridge=ridge).fit(
        SCORES, LABELS, WEIGHTS
    )
    z = logit(SCORES)

    def objective(theta):
        a, b, c = theta
        line = a + b * z + c * squared(z, signed)
        away = np.array([a, b - 1, c])
        return WEIGHTS @ (np.logaddexp(0, line) - LABELS * line) + ridge / 2 * away @ away

    best = minimize(objective, [0, 1, 0], tol=1e-10).x
    assert (fitted.a_, fitted.b_, fitted.c_) == pytest.approx(best, abs=1e-4)


def spline(z, fitted):
    """The value at 0 plus the integral of a slope that is linear between knots, by the trapezoidal rule."""
    points = np.unique(np.concatenate([z, fitted.knots_, [0.0]]))
    slope = np.interp(points, fitted.knots_, fitted.coefficients_[1:])
    area = np.concatenate([[0.0], np.cumsum(np.diff(points) * (slope[1:] + slope[:-1]) / 2)])
    return (fitted.coefficients_[0] + area - area[np.searchsorted(points, 0.0)])[
        np.searchsorted(points, z)
    ]


@pytest.mark.parametrize("n_knots", [1, 2, 4])
def test_a_spline_is_the_integral_of_slopes_and_minimises_the_loss_plus_half_the_ridge(n_knots):
    fitted = SplineCalibration(n_knots=n_knots, monotone=False).fit(SCORES, LABELS, WEIGHTS)
    z = np.array([-4.0, -1.3, 0.0, 0.7, 2.0, 4.0])
    assert logit(fitted.predict(expit(z))) == pytest.approx(spline(z, fitted), abs=1e-9)

    def objective(theta):
        fitted.coefficients_ = theta
        line, away = spline(logit(SCORES), fitted), theta - [0, *[1] * fitted.knots_.size]
        return WEIGHTS @ (np.logaddexp(0, line) - LABELS * line) + away @ away / 2

    best, found = objective(fitted.coefficients_), fitted.coefficients_
    for step in np.vstack([1e-3 * np.eye(found.size), -1e-3 * np.eye(found.size)]):
        assert objective(found + step) > best


def test_modest_scores_bend_up_to_log_odds_of_one():
    fitted = QuadraticScaling().fit([0.4, 0.45, 0.5, 0.55, 0.6, 0.6], [0, 1, 0, 1, 0, 1])
    assert fitted.reach_ == 1
    again = QuadraticScaling.from_dict(fitted.to_dict())
    assert (again.a_, again.b_, again.c_, again.reach_) == (fitted.a_, fitted.b_, fitted.c_, 1)


def test_a_map_that_must_not_fall_does_not():
    """More events at middling scores than at both ends: the free parabola falls, the default map does not."""
    p, y = np.repeat([0.1, 0.5, 0.9], 40), np.tile([0, 0, 1, 1, 1, 1, 0, 0], 15)
    y[40:80] = 1
    grid = np.linspace(0.02, 0.98, 50)
    for free, kept in ((QuadraticScaling, {}), (SplineCalibration, {"n_knots": 3})):
        assert (np.diff(free(monotone=False, **kept).fit(p, y).predict(grid)) < -1e-3).any()
        assert (np.diff(free(**kept).fit(p, y).predict(grid)) >= -1e-12).all()


def test_knots_are_quantiles_and_those_that_hardly_differ_are_one():
    z = np.sort(np.random.default_rng(1).normal(size=83))
    wanted = np.quantile(z, np.linspace(0.05, 0.95, 5), method="hazen")
    found = SplineCalibration(from_logits=True).fit(z, np.arange(83) % 2).knots_
    assert found == pytest.approx(wanted)
    for apart, number in ((0.0, 1), (1e-6, 1), (1e-5, 5)):
        z = 0.5 + apart * np.linspace(0, 1, 50)
        assert SplineCalibration(from_logits=True).fit(z, np.arange(50) % 2).knots_.size == number
    # Half of their own weight lies below: 1/8 of all at 0, 5/8 at 1.
    weighted = SplineCalibration(n_knots=3, from_logits=True)
    assert weighted.fit([0.0, 1.0], [0, 1], [1.0, 3.0]).knots_ == pytest.approx([0.0, 0.75, 1.0])


@pytest.mark.parametrize("signed", [False, True])
def test_a_slope_of_zero_stays_zero_however_far_the_logits_are(signed):
    fitted = QuadraticScaling(signed=signed, from_logits=True).fit(logit(SCORES), LABELS)
    fitted.coefficients_ = np.array([0.3, 0.7 if signed else 0.0, 0.0])
    found = fitted.predict([-1e300, -1e4, -fitted.reach_, fitted.reach_, 1e4, 1e300])
    assert found[:3] == pytest.approx(found[2], abs=1e-12)
    assert not signed or found[3:] == pytest.approx(found[3], abs=1e-12)


@pytest.mark.parametrize("signed", [False, True])
def test_limits_of_a_curve_follow_its_ends(signed):
    """A slope of 0 leads to no limit of 0 or 1; logits beyond all bounds follow the slopes alike."""
    fitted = QuadraticScaling(signed=signed, limits=True).fit(SCORES, LABELS)
    for low, high in ((0.0, 2.0), (1.0, 0.5), (0.0, 0.0)):
        fitted.coefficients_ = np.array([0.3, low, high])
        first = high if signed else low
        found = fitted.predict([0.0, 5e-324, 1 - 2**-53, 1.0])
        assert (found[0] == 0) == (first > 0)
        assert (found[3] == 1) == (high > 0)
        assert found[0] == pytest.approx(found[1], abs=1e-12)
        assert found[3] == pytest.approx(found[2], abs=1e-6)


def test_many_scores_are_pooled_with_their_neighbours():
    """Above 4,096 distinct log-odds a fit hardly changes, and weights are still repetitions."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 4_096 + 1_000)
    y, w = rng.binomial(1, p**2), rng.integers(1, 3, p.size)
    new = np.linspace(0.05, 0.95, 19)
    for kind in QuadraticScaling, SplineCalibration:
        few, pooled = (kind().fit(p.round(digits), y, w).predict(new) for digits in (3, 9))
        np.testing.assert_allclose(pooled, few, atol=2e-3)
        repeated = kind().fit(np.repeat(p, w), np.repeat(y, w)).predict(new)
        np.testing.assert_allclose(kind().fit(p, y, w).predict(new), repeated, rtol=1e-9)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "calibrator",
    [
        PlattScaling(limits=True),
        BetaCalibration(limits=True),
        BetaCalibration(limits=True, parameters="am"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_limits_of_a_map_without_slope_are_its_value(calibrator, label, seed):
    p = np.random.default_rng(seed).random(30)
    ends = calibrator.fit(p, np.full(30, label)).predict([0.0, 0.5, 1.0])
    assert ends == pytest.approx(np.full(3, 31 / 32 if label else 1 / 32), abs=1e-9)
