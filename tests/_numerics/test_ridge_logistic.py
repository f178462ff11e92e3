"""Logistic regressions with a ridge, several at once."""

import numpy as np
import pytest
from scipy.optimize import minimize

from trueness._numerics.ridge_logistic import ridge_logistic


def drawn(m=60, k=3, r=4, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(m), rng.normal(size=(m, k - 1))])
    weight = rng.integers(0, 4, (r, m)).astype(float)
    return X, weight, rng.binomial(weight.astype(int), 0.3).astype(float)


@pytest.mark.parametrize("bounded", [None, np.array([False, True, True])])
def test_each_regression_is_the_minimum_that_a_plain_search_finds(bounded):
    X, weight, events = drawn()
    centre, ridge = np.array([0.0, 1.0, 0.5]), np.array([[1.0, 0.2, 0], [0.2, 2, 0], [0, 0, 0.5]])
    found = ridge_logistic(X, weight, events, centre, ridge, bounded)
    for w, e, theta in zip(weight, events, found, strict=True):

        def objective(t, w=w, e=e):
            eta = X @ t
            return (
                np.sum(w * np.logaddexp(0, eta) - e * eta) + (t - centre) @ ridge @ (t - centre) / 2
            )

        limits = None if bounded is None else [(0 if b else None, None) for b in bounded]
        plain = minimize(
            objective,
            centre,
            bounds=limits,
            method="L-BFGS-B",
            options={"ftol": 1e-14, "gtol": 1e-9},
        )
        assert objective(theta) <= plain.fun + 1e-10
        np.testing.assert_allclose(theta, plain.x, atol=1e-4)


def test_no_rows_leave_the_centre_and_separable_labels_a_finite_fit():
    X, weight, _ = drawn()
    centre = np.array([0.0, 1.0, 1.0])
    np.testing.assert_array_equal(
        ridge_logistic(X, 0 * weight, 0 * weight, centre, np.eye(3)), np.tile(centre, (4, 1))
    )
    events = weight * (X[:, 1] > 0)
    assert np.abs(ridge_logistic(X, weight, events, centre, np.eye(3))).max() < 100


def test_a_huge_ridge_holds_the_centre():
    centre = np.array([0.0, 1.0, 1.0])
    np.testing.assert_allclose(
        ridge_logistic(*drawn(), centre, 1e12 * np.eye(3)), np.tile(centre, (4, 1)), atol=1e-9
    )
