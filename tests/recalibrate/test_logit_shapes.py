"""Shapes of maps: what their coefficients mean, by formulas, slopes and integrals."""

import numpy as np
import pytest
from scipy.special import expit

from trueness.recalibrate._logit_shapes import Bend, Line, LogScores, Spline, spline_knots

Z = np.array([-9.0, -4.0, -2.5, -2.0, -1.1, -0.3, 0.0, 0.4, 1.0, 2.0, 2.6, 5.0, 12.0])
KNOTS = np.array([-2.5, -1.0, 0.2, 2.0])
SHAPES = [Line(), LogScores(), Bend(2.0, signed=False), Bend(2.0, signed=True), Spline(KNOTS)]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_the_coefficients_of_the_identity_change_nothing(shape):
    assert (shape.basis(Z) @ shape.identity).tolist() == pytest.approx(Z.tolist(), abs=1e-12)
    assert shape.identity.shape == shape.bounded.shape == shape.ridge.shape[:1] == shape.ridge.shape[1:]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_a_map_rises_if_its_bounded_coefficients_are_not_negative_and_only_then(shape):
    rng, fine = np.random.default_rng(0), np.linspace(-15, 15, 3001)
    for _ in range(20):
        theta = np.where(shape.bounded, rng.uniform(0, 2, shape.bounded.size), rng.normal(size=shape.bounded.size))
        assert (np.diff(shape.basis(fine) @ theta) >= -1e-12).all()
        for at in np.flatnonzero(shape.bounded):
            worse = theta.copy()
            worse[at] = -0.1
            assert (np.diff(shape.basis(fine) @ worse) < 0).any()


def test_a_line_and_the_beta_map_are_their_formulas():
    p = expit(Z)
    assert (Line().basis(Z) @ [0.3, 1.7]).tolist() == pytest.approx((0.3 + 1.7 * Z).tolist())
    wanted = 0.3 + 1.7 * np.log(p) - 0.4 * np.log1p(-p)
    assert (LogScores().basis(Z) @ [0.3, 1.7, 0.4]).tolist() == pytest.approx(wanted.tolist())
    assert (Line().ridge == np.eye(2)).all()
    assert (LogScores().ridge == np.eye(3)).all()


def bent(z, a, b, c, reach, signed):
    """a + bz + cz², or cz|z|, up to `reach`; from there on the tangent."""
    end = min(max(z, -reach), reach)
    value = a + b * end + c * end * (abs(end) if signed else end)
    slope = b + 2 * c * (abs(end) if signed else end)
    return value + slope * (z - end)


@pytest.mark.parametrize("signed", [False, True])
def test_a_bend_has_its_slopes_and_is_straight_beyond(signed):
    reach, (a, first, second) = 2.0, (0.3, 0.5, 2.1)
    shape = Bend(reach, signed=signed)
    # The slope is linear from `first` at −reach (signed: at 0) to `second` at reach.
    b, c = (first, (second - first) / (2 * reach)) if signed else ((first + second) / 2, (second - first) / (4 * reach))
    wanted = [bent(z, a, b, c, reach, signed) for z in Z]
    assert (shape.basis(Z) @ [a, first, second]).tolist() == pytest.approx(wanted)
    assert (shape.natural @ [a, first, second]).tolist() == pytest.approx([a, b, c])


@pytest.mark.parametrize("signed", [False, True])
def test_the_penalty_of_a_bend_is_on_its_natural_coefficients(signed):
    shape = Bend(3.0, signed=signed)
    theta = np.array([0.3, 0.5, 2.1]) - shape.identity
    natural = shape.natural @ theta
    assert theta @ shape.ridge @ theta == pytest.approx(natural @ natural)


@pytest.mark.parametrize("knots", [KNOTS, np.array([0.7]), np.array([1.0, 3.0]), np.array([-3.0, -0.5])])
def test_a_spline_is_the_integral_of_slopes_that_are_linear_between_knots(knots):
    slopes = np.linspace(0.2, 1.9, knots.size) ** 2
    points = np.unique(np.concatenate([Z, knots, [0.0]]))
    slope = np.interp(points, knots, slopes)
    # The trapezoidal rule is exact for lines between points.
    area = np.concatenate([[0.0], np.cumsum(np.diff(points) * (slope[1:] + slope[:-1]) / 2)])
    wanted = 0.3 + area - area[np.searchsorted(points, 0.0)]
    found = Spline(knots).basis(Z) @ [0.3, *slopes]
    assert found.tolist() == pytest.approx(wanted[np.searchsorted(points, Z)].tolist())
    assert (Spline(knots).ridge == np.eye(1 + knots.size)).all()


@pytest.mark.parametrize("number", [3, 5])
def test_knots_are_quantiles(number):
    z = np.sort(np.random.default_rng(1).normal(size=83))
    wanted = np.quantile(z, np.linspace(0.05, 0.95, number), method="hazen")
    assert spline_knots(z, np.ones(83), number).tolist() == pytest.approx(wanted.tolist())


def test_knots_of_weighted_scores_by_hand():
    # Half of their own weight lies below: 1/8 of all at 0, 5/8 at 1.
    assert spline_knots(np.array([0.0, 1.0]), np.array([1.0, 3.0]), 3).tolist() == pytest.approx([0.0, 0.75, 1.0])


@pytest.mark.parametrize(("apart", "number"), [(0.0, 1), (1e-6, 1), (1e-5, 5)])
def test_knots_that_hardly_differ_are_one(apart, number):
    z = 0.5 + apart * np.linspace(0, 1, 50)
    assert spline_knots(z, np.ones(50), 5).size == number
