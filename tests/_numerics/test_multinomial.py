"""Multinomial regression with a ridge: derivatives, optimum, and how the search ends."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from trueness._numerics import multinomial as home
from trueness._numerics.multinomial import DiagonalMap, FullMap, multinomial_regression


def problem(kind, n=60, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = 2 * rng.standard_normal((n, k))
    y = (0.5 * X + rng.gumbel(size=X.shape)).argmax(axis=1)
    w = rng.exponential(size=n)
    start = np.eye(k, k + 1) if kind is FullMap else np.tile([1.0, 0.0], (k, 1))
    ridge = 0.001 + 0.01 * rng.random(start.shape)
    return X, y, w, start, ridge


@pytest.mark.parametrize("kind", [FullMap, DiagonalMap])
def test_gradients_and_curvatures_are_those_of_finite_differences(kind):
    X, y, w, start, ridge = problem(kind)
    w = w / w.sum()
    at = home._objective(kind(X), y, w, start, ridge)
    theta = start + 0.3 * np.random.default_rng(1).standard_normal(start.shape)

    def value(flat):
        return at(flat.reshape(start.shape)).loss

    def gradient(flat):
        return at(flat.reshape(start.shape)).gradient.ravel()

    assert check_grad(value, gradient, theta.ravel()) < 1e-6
    # With the exact curvature, a tight step of Newton's method solves the finite-difference system.
    state = at(theta)
    hessian = np.array(
        [
            (gradient(theta.ravel() + e) - gradient(theta.ravel() - e)) / 2e-5
            for e in 1e-5 * np.eye(theta.size)
        ]
    )
    step = home._newton_step(kind(X), w, ridge, state).ravel()
    residual = hessian @ step + state.gradient.ravel()
    assert np.abs(residual).max() < 0.02 * np.abs(state.gradient).max()


@pytest.mark.parametrize("kind", [FullMap, DiagonalMap])
def test_the_optimum_is_that_of_another_search_from_elsewhere(kind):
    X, y, w, start, ridge = problem(kind)
    found = multinomial_regression(kind(X), y, w, start, ridge)
    at = home._objective(kind(X), y, w / w.sum(), start, ridge)
    other = minimize(
        lambda t: at(t.reshape(start.shape)).loss,
        np.random.default_rng(2).standard_normal(start.size),
        jac=lambda t: at(t.reshape(start.shape)).gradient.ravel(),
        method="BFGS",
        options={"gtol": 1e-10},
    )
    assert found.converged
    assert found.loss == pytest.approx(other.fun, abs=1e-12)
    np.testing.assert_allclose(found.theta.ravel(), other.x, atol=1e-6)
    assert np.abs(at(found.theta).gradient).max() < 1e-10


@pytest.mark.parametrize(("exact", "blocks"), [(0, 100), (0, 0)])
def test_every_preconditioner_leads_to_the_same_optimum(monkeypatch, exact, blocks):
    X, y, w, start, ridge = problem(FullMap)
    expected = multinomial_regression(FullMap(X), y, w, start, ridge).theta
    monkeypatch.setattr(home, "_MOST_EXACT", exact)
    monkeypatch.setattr(home, "_MOST_BLOCKS", blocks)
    found = multinomial_regression(FullMap(X), y, w, start, ridge)
    assert found.converged
    np.testing.assert_allclose(found.theta, expected, atol=1e-8)


def test_rows_are_summed_in_blocks(monkeypatch):
    X, y, w, start, ridge = problem(FullMap)
    expected = multinomial_regression(FullMap(X), y, w, start, ridge).theta
    monkeypatch.setattr(home, "_ROWS", 7)
    np.testing.assert_allclose(
        multinomial_regression(FullMap(X), y, w, start, ridge).theta, expected, atol=1e-10
    )


@pytest.mark.parametrize("kind", [FullMap, DiagonalMap])
def test_separable_labels_end_at_a_finite_map(kind):
    X, _, w, start, _ = problem(kind)
    found = multinomial_regression(kind(X), X.argmax(axis=1), w, start, np.full(start.shape, 1e-6))
    assert found.converged
    assert found.separable
    assert np.isfinite(found.theta).all()


def test_a_search_that_is_cut_short_says_so():
    X, y, w, start, ridge = problem(FullMap)
    found = multinomial_regression(FullMap(X), y, w, start, ridge, max_steps=1)
    assert (found.n_steps, found.converged) == (1, False)
