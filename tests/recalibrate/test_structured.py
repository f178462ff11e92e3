"""Structured scaling and the ensemble of temperatures."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import trueness as tn
from trueness.errors import InputError, NotConvergedWarning
from trueness.recalibrate import (
    EnsembleTemperatureScaling,
    StructuredScaling,
    TemperatureScaling,
    VectorScaling,
)


def drawn(n=120, k=3, seed=0):
    d = tn.simulate.multiclass(n, k, alpha=0.5, distortion=tn.simulate.Temperature(1.7), seed=seed)
    return d.y_prob, d.y_true


@pytest.mark.parametrize("structure", ["vector", "matrix"])
def test_the_objective_is_the_documented_one(structure):
    P, y = drawn()
    fitted = StructuredScaling(structure=structure, eps=1e-12).fit(P, y)
    z = np.log(P) - np.log(P).mean(axis=1, keepdims=True)
    n, k = z.shape
    factor = 5 if structure == "matrix" else 1

    def objective(flat):
        W, b = flat[: k * k].reshape(k, k), flat[k * k :]
        W = W if structure == "matrix" else np.diag(np.diag(W))
        eta = z @ W.T + b
        off = W - np.diag(np.diag(W))
        penalty = (
            factor * np.sum((np.diag(W) - 1 / fitted.temperature_) ** 2)
            + 20 * np.sum(off**2)
            + np.sum(b**2)
        )
        return np.sum(logsumexp(eta, axis=1) - eta[np.arange(n), y]) + penalty / 2

    found = np.concatenate([fitted.matrix_.ravel(), fitted.intercept_])
    plain = minimize(
        objective, np.concatenate([np.eye(k).ravel(), np.zeros(k)]), method="BFGS", tol=1e-8
    )
    assert objective(found) <= plain.fun + 1e-6
    np.testing.assert_allclose(
        fitted.predict(P[:9]), softmax(z[:9] @ fitted.matrix_.T + fitted.intercept_, axis=1)
    )


def test_the_ridge_leads_from_vector_scaling_to_a_temperature():
    P, y = drawn(2000)
    new = drawn(30, seed=3)[0]
    heavy = StructuredScaling(ridge=1e9, eps=1e-12).fit(P, y)
    np.testing.assert_allclose(np.diag(heavy.matrix_), 1 / heavy.temperature_, rtol=1e-5)
    free = StructuredScaling(structure="vector", ridge=1e-6, eps=1e-12).fit(P, y)
    assert free.temperature_ == pytest.approx(
        TemperatureScaling(eps=1e-12).fit(P, y).temperature_, rel=1e-4
    )
    z = np.log(P) - np.log(P).mean(axis=1, keepdims=True)
    plain = VectorScaling(from_logits=True, l2=1e-9).fit(z, y)
    centred = np.log(new) - np.log(new).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(free.predict(new), plain.predict(centred), atol=1e-4)
    for ridge in (0, -1, np.nan):
        with pytest.raises(InputError, match="`ridge` must be a finite number above 0"):
            StructuredScaling(ridge=ridge).fit(P, y)
    with pytest.raises(InputError, match="`structure` must be 'matrix' or 'vector'; got 'full'"):
        StructuredScaling(structure="full").fit(P, y)


def test_the_weights_of_the_ensemble_minimise_the_log_loss():
    rng = np.random.default_rng(0)
    P, y = drawn(800)
    y = np.where(rng.uniform(size=y.size) < 0.3, rng.integers(0, 3, y.size), y)
    fitted = EnsembleTemperatureScaling(eps=1e-12).fit(P, y)
    parts = np.stack([softmax(np.log(P) / fitted.temperature_, axis=1), P, np.full(P.shape, 1 / 3)])
    own = parts[:, np.arange(y.size), y]

    def loss(weights):
        return -np.mean(np.log(weights @ own))

    assert fitted.weights_.sum() == pytest.approx(1)
    for direction in np.eye(3):
        assert loss(fitted.weights_) <= loss(0.999 * fitted.weights_ + 0.001 * direction) + 1e-9
    found = fitted.predict(P[:50])
    assert np.array_equal(found.argmax(axis=1), P[:50].argmax(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("structure", ["vector", "matrix"])
def test_a_search_that_stops_early_is_a_warning(structure):
    P, y = drawn()
    with pytest.warns(
        NotConvergedWarning, match="stopped after 1 steps without converging. Increase `max_iter`"
    ):
        fitted = StructuredScaling(structure=structure, max_iter=1).fit(P, y)
    assert fitted.n_iter_ == 1


@pytest.mark.parametrize("structure", ["vector", "matrix"])
def test_weights_are_repetitions_and_the_ridge_scales_all_penalties(structure):
    P, y = drawn(60)
    w = np.random.default_rng(1).integers(1, 4, 60)
    weighted = StructuredScaling(structure=structure, ridge=3.0).fit(P, y, w)
    repeated = StructuredScaling(structure=structure, ridge=3.0, eps=weighted.eps_).fit(
        P.repeat(w, axis=0), y.repeat(w)
    )
    np.testing.assert_allclose(weighted.matrix_, repeated.matrix_, rtol=1e-7)
    # Three times the rows and three times the penalty: the same map.
    single = StructuredScaling(structure=structure, ridge=1.0, eps=weighted.eps_).fit(P, y, w / 3)
    np.testing.assert_allclose(single.matrix_, weighted.matrix_, rtol=1e-6)
    np.testing.assert_allclose(single.intercept_, weighted.intercept_, rtol=1e-6, atol=1e-9)


def test_the_ensemble_weighs_rows():
    P, y = drawn(60)
    w = np.random.default_rng(1).integers(1, 4, 60)
    weighted = EnsembleTemperatureScaling(eps=1e-9).fit(P, y, w)
    repeated = EnsembleTemperatureScaling(eps=1e-9).fit(P.repeat(w, axis=0), y.repeat(w))
    assert weighted.weights_ == pytest.approx(repeated.weights_, abs=1e-6)
    assert weighted.temperature_ == pytest.approx(
        TemperatureScaling(eps=1e-9).fit(P, y, w).temperature_
    )
