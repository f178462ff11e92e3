"""Maps of log-odds with a shape: what they minimise, how they go on beyond the fitted scores, and pooled cells."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import trueness as tn
from trueness.recalibrate import QuadraticScaling, SplineCalibration
from trueness.recalibrate._shaped_map import MOST_CELLS, logit_cells, with_limits

RNG = np.random.default_rng(3)
P = np.round(RNG.uniform(0.05, 0.95, 150), 2)
Y = (RNG.random(150) < P**1.5).astype(int)
W = RNG.integers(1, 4, 150).astype(float)


def squared(z, signed):
    return z * np.abs(z) if signed else z * z


@pytest.mark.parametrize("signed", [False, True])
def test_quadratic_scaling_is_its_formula_up_to_its_reach_and_the_tangent_beyond(signed):
    fitted = QuadraticScaling(signed=signed, eps=1e-6).fit(P, Y)
    a, b, c, reach = fitted.a_, fitted.b_, fitted.c_, fitted.reach_
    assert reach == pytest.approx(np.abs(logit(P)).max())
    z = np.linspace(-reach, reach, 9)
    assert logit(fitted.predict(expit(z))) == pytest.approx(a + b * z + c * squared(z, signed), abs=1e-9)
    for end, sign in ((-reach, 1 if signed else -1), (reach, 1)):
        height, slope = a + b * end + c * squared(end, signed), b + 2 * c * reach * sign
        beyond = np.array([0.5, 3.0]) * math.copysign(1, end)
        assert logit(fitted.predict(expit(end + beyond))) == pytest.approx(height + slope * beyond, abs=1e-6)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("options", [{}, {"ridge": 20.0}])
def test_quadratic_scaling_minimises_the_loss_plus_half_the_ridge(signed, options):
    fitted = QuadraticScaling(signed=signed, monotone=False, **options).fit(P, Y, W)
    z = logit(P)

    def objective(theta):
        a, b, c = theta
        line = a + b * z + c * squared(z, signed)
        away = np.array([a, b - 1, c])
        return W @ (np.logaddexp(0, line) - Y * line) + options.get("ridge", 1.0) / 2 * away @ away

    best = minimize(objective, [0, 1, 0], tol=1e-10).x
    assert (fitted.a_, fitted.b_, fitted.c_) == pytest.approx(best, abs=1e-4)


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


def test_a_spline_has_slopes_at_its_knots_that_are_linear_between_them():
    fitted = SplineCalibration(n_knots=4).fit(P, Y)
    value, slopes = fitted.coefficients_[0], fitted.coefficients_[1:]
    fine = np.linspace(0, 4, 4_001)
    for z in (-4.0, -1.3, 0.0, 0.7, 4.0):
        slope = np.interp(z * fine / 4, fitted.knots_, slopes)
        area = z / 4 * (slope[1:] + slope[:-1]).sum() / 2 * fine[1]
        assert logit(fitted.predict([expit(z)]))[0] == pytest.approx(value + area, abs=1e-5)


def test_the_most_knots_of_a_spline():
    p, y = np.full(20, 0.4), np.tile([0, 1], 10)
    assert SplineCalibration(n_knots=1_000).fit(p, y).knots_.size == 1  # quantiles coincide
    with pytest.raises(tn.InputError, match="`n_knots` must be at most 1,000; got 1001"):
        SplineCalibration(n_knots=1_001).fit(p, y)


def test_a_stored_spline_needs_ascending_knots_and_a_slope_for_each():
    stored = SplineCalibration().fit(P, Y).to_dict()
    for knots in ([0.0, 0.0, 1.0], [1.0, 0.0], []):
        damaged = {**stored, "learnt": {**stored["learnt"], "knots": {**stored["learnt"]["knots"], "value": knots}}}
        with pytest.raises(tn.InputError, match="knots"):
            SplineCalibration.from_dict(damaged)


def test_infinite_log_odds_go_where_the_ends_of_a_curve_lead():
    ends = np.array([-np.inf, 0.5, np.inf])
    inf = math.inf
    for curve, limits in (
        (lambda z: 2 * z + 1, (-inf, 2, inf)),
        (lambda z: -0.1 * z, (inf, -0.05, -inf)),
        (lambda z: 0.1 * z + 1e3, (-inf, 1000.05, inf)),
        (lambda z: 0.1 * z - 1e3, (-inf, -999.95, inf)),
        (lambda z: np.clip(z, -5, 7), (-5, 0.5, 7)),
        (lambda z: np.maximum(z, -3), (-3, 0.5, inf)),
        (lambda z: np.minimum(z, 4), (-inf, 0.5, 4)),
        (lambda z: 1e-6 * z, (-inf, 5e-7, inf)),
        (lambda z: 2 + 1e-14 * z, (2, 2, 2)),  # a slope of 0, but for rounding
    ):
        assert with_limits(curve, ends) == pytest.approx(np.array(limits), abs=1e-10)
        assert with_limits(curve, ends[1:2]).tolist() == curve(ends[1:2]).tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_more_scores_than_cells_are_pooled_with_their_neighbours(weighted):
    n = 2 * MOST_CELLS
    z = RNG.permutation(np.linspace(-3, 3, n))
    y, w = RNG.integers(0, 2, n), RNG.uniform(0.5, 1.5, n) if weighted else None
    cells = logit_cells(z, y, w)
    weights = np.ones(n) if w is None else w
    assert MOST_CELLS / 2 < cells.z.size <= MOST_CELLS
    assert cells.weight == pytest.approx(np.bincount(cells.cell, weights))
    assert cells.z == pytest.approx(np.bincount(cells.cell, weights * z) / cells.weight)
    assert cells.events == pytest.approx(np.bincount(cells.cell, weights * y))
    assert cells.weight.max() < 2 * weights.sum() / MOST_CELLS + weights.max()
    order = np.argsort(z)
    assert (np.diff(cells.cell[order]) >= 0).all()
    assert (np.diff(cells.z) > 0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_as_many_scores_as_cells_are_kept_as_they_are(weighted):
    z = np.repeat(np.linspace(-3, 3, MOST_CELLS), 2)[::-1]
    y, w = np.tile([1, 0], MOST_CELLS), np.full(2 * MOST_CELLS, 1.5) if weighted else None
    cells = logit_cells(z, y, w)
    each = 1.5 if weighted else 1
    assert cells.z.tolist() == np.unique(z).tolist()
    assert set(cells.weight) == {2 * each}
    assert set(cells.events) == {each}
    assert cells.cell.tolist() == np.repeat(np.arange(MOST_CELLS), 2)[::-1].tolist()


@pytest.mark.parametrize("kind", [QuadraticScaling, SplineCalibration])
def test_a_ridge_of_zero_is_refused(kind):
    with pytest.raises(tn.InputError, match="`ridge` must be a finite number above 0"):
        kind(ridge=0).fit(P, Y)
