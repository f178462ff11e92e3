"""Restricted cubic splines and logistic regression on them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from trueness._numerics.splines import fit_spline, fitted_probabilities, spline_basis

KNOTS = np.array([-2.0, -0.5, 0.4, 1.5])


def test_splines_are_straight_beyond_the_knots_and_smooth_at_them():
    beyond = spline_basis(np.array([-5.0, -4, -3, 2, 3, 4]), KNOTS)
    for tail in (beyond[:3], beyond[3:]):
        assert np.diff(tail, 2, axis=0) == pytest.approx(np.zeros((1, 4)), abs=1e-12)
    for knot in KNOTS:  # the second derivative is continuous
        h = 1e-3
        left, right = (
            np.diff(spline_basis(knot + h * np.arange(3) * s, KNOTS), 2, axis=0) for s in (-1, 1)
        )
        assert left / h**2 == pytest.approx(right / h**2, abs=0.05)


def test_the_fit_maximises_the_likelihood():
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=150))
    n = rng.integers(1, 4, 150)
    e = rng.binomial(n, 1 / (1 + np.exp(-np.sin(2 * x))))
    fit = fit_spline(x, n, e, [KNOTS])
    columns = spline_basis(x, KNOTS)

    def loss(b):
        return n @ np.logaddexp(0, columns @ b) - e @ (columns @ b)

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    assert fit.coefficients == pytest.approx(best.x, abs=1e-4)
    q = fit.probability(x)
    assert columns.T @ (e - n * q) == pytest.approx(np.zeros(4), abs=1e-8)
    information = columns.T @ (columns * (n * q * (1 - q))[:, None])
    assert fit.root @ fit.root.T @ information == pytest.approx(np.eye(4), abs=1e-7)
    assert fit.root.T @ information @ fit.root == pytest.approx(np.eye(4), abs=1e-9)
    many = fitted_probabilities(x, n, np.stack([e, np.zeros(150), e]), [KNOTS])
    assert many[0] == pytest.approx(q, abs=1e-10)
    assert many[2] == pytest.approx(q, abs=1e-10)
    assert np.isnan(many[1]).all()


def test_without_a_finite_estimate_there_are_fewer_knots():
    x = np.linspace(-4, 4, 60)
    y = np.r_[np.zeros(30), np.tile([0, 1], 15)]
    assert fit_spline(x, np.ones(60), y, [np.array([-3.5, -2.0, -1.0, 3.0])]).knots.size == 0
    assert fit_spline(x, np.ones(60), (x > 0).astype(float), [KNOTS]) is None
    assert fit_spline(x, np.ones(60), np.ones(60), [KNOTS]) is None
    assert fit_spline(x[:3], np.ones(3), np.array([1.0, 0, 1]), [KNOTS]).knots.size == 0
