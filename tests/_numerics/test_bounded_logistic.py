"""Logistic regression with bounds: against every face of the feasible set, and a general search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize

from trueness._numerics import bounded_logistic as home
from trueness._numerics.bounded_logistic import bounded_logistic

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
    assert check_grad(lambda t: home._loss(t, X, w, w * y)[0], lambda t: home._loss(t, X, w, w * y)[1], theta) < 1e-6
    _, _, hessian = home._loss(theta, X, w, w * y)
    for column, e in zip(hessian.T, 1e-6 * np.eye(3), strict=True):
        change = (home._loss(theta + e, X, w, w * y)[1] - home._loss(theta - e, X, w, w * y)[1]) / 2e-6
        np.testing.assert_allclose(column, change, atol=1e-7)


@pytest.mark.parametrize("slopes", [(1.0, 1.0), (0.4, -0.8), (-0.8, 0.4), (-0.5, -0.5), (2.0, 0.0)])
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_a_general_search(seed, slopes):
    X, w, y = problem(seed, slopes)
    found = bounded_logistic(X, w, w * y, START, BOUNDED)
    other = minimize(
        loss,
        np.random.default_rng(seed).random(3),
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
    found = bounded_logistic(X, np.full(2, 3.0), np.array([2.0, 1.0]), np.array([1.0, 0.0]), np.array([False, False]))
    np.testing.assert_allclose(found.sum(), np.log(2), atol=1e-12)
    np.testing.assert_allclose(found[0] - found[1], 1.0, atol=1e-12)
