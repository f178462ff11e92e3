"""Vector, matrix and Dirichlet scaling: limits, penalties, and scikit-learn's multinomial regression."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression

from trueness.errors import InputError, NotConvergedWarning, SeparableWarning
from trueness.recalibrate import DirichletCalibration, MatrixScaling, VectorScaling

KINDS = [VectorScaling, MatrixScaling, DirichletCalibration]


def drawn(n=300, k=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = 1.5 * rng.standard_normal((n, k))
    return log_softmax(1.6 * Z + 0.3 * (np.arange(k) == 0), axis=1), (
        Z + rng.gumbel(size=Z.shape)
    ).argmax(axis=1)


def test_scikit_learn_finds_the_same_matrix():
    Z, y = drawn()
    w = np.random.default_rng(1).exponential(size=y.size)
    theirs = LogisticRegression(C=1e8, tol=1e-10, max_iter=5000).fit(Z, y, w)  # compared with 1.9.1
    ours = MatrixScaling(from_logits=True, l2=1e-9).fit(Z, y, sample_weight=w)
    np.testing.assert_allclose(ours.predict(Z[:20]), theirs.predict_proba(Z[:20]), atol=1e-5)


def test_the_dirichlet_objective_is_the_published_one():
    Z, y = drawn(80)
    odir, mu, l2, k = 0.3, 0.7, 1e-3, 3

    def objective(flat):
        theta = flat.reshape(k, k + 1)
        W, b = theta[:, :-1], theta[:, -1]
        eta = Z @ W.T + b
        loss = np.mean(logsumexp(eta, axis=1) - eta[np.arange(y.size), y])
        off = W - np.diag(np.diag(W))
        ridge = np.sum((W - np.eye(k)) ** 2) + np.sum(b**2)
        return loss + odir * np.sum(off**2) / (k * (k - 1)) + mu * np.mean(b**2) + l2 / 2 * ridge

    plain = minimize(
        objective, np.random.default_rng(0).standard_normal(k * (k + 1)), method="BFGS", tol=1e-9
    )
    fitted = DirichletCalibration(odir=odir, odir_intercept=mu, l2=l2, eps=1e-12).fit(np.exp(Z), y)
    found = np.column_stack([fitted.matrix_, fitted.intercept_])
    assert objective(found.ravel()) <= plain.fun + 1e-12
    np.testing.assert_allclose(found.ravel(), plain.x, atol=1e-4)
    same = DirichletCalibration(odir=odir, odir_intercept=odir, l2=l2).fit(np.exp(Z), y)
    assert np.array_equal(
        same.matrix_, DirichletCalibration(odir=odir, l2=l2).fit(np.exp(Z), y).matrix_
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_heavy_ridge_leaves_the_scores_as_they_are(kind):
    Z, y = drawn()
    np.testing.assert_allclose(
        kind(l2=1e9).fit(np.exp(Z), y).predict(np.exp(Z[:9])), np.exp(Z[:9]), atol=1e-6
    )


def test_odir_holds_back_mixing_alone():
    Z, y = drawn()
    mixed = DirichletCalibration(odir=1e9, odir_intercept=0).fit(np.exp(Z), y)
    assert np.abs(mixed.matrix_ - np.diag(np.diag(mixed.matrix_))).max() < 1e-6
    plain = VectorScaling().fit(np.exp(Z), y)
    np.testing.assert_allclose(np.diag(mixed.matrix_), plain.scale_, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_shifts_that_nobody_sees_stay_at_zero(kind):
    Z, y = drawn()
    assert abs(kind().fit(np.exp(Z), y).intercept_.mean()) < 1e-9


def test_a_class_of_probability_zero_gets_the_limit_under_vector_scaling():
    Z, y = drawn()
    fitted = VectorScaling(limits=True).fit(np.exp(Z), y)
    assert (fitted.scale_ > 0).all()
    found = fitted.predict([[0.0, 0.4, 0.6], [1e-300, 0.4, 0.6], [0.0, 0.0, 1.0]])
    assert found[0, 0] == 0
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    assert found[2].tolist() == [0, 0, 1]
    fitted.scale_ = np.array([-1.0, 1.0, 1.0])
    assert fitted.predict([[0.0, 0.4, 0.6]]).tolist() == [[1, 0, 0]]
    fitted.scale_ = np.array([0.0, 1.0, 1.0])
    np.testing.assert_allclose(
        fitted.predict([[0.0, 0.4, 0.6]]), fitted.predict([[1e-9, 0.4, 0.6]]), atol=1e-12
    )


@pytest.mark.parametrize("kind", [MatrixScaling, DirichletCalibration])
def test_zeros_are_replaced_in_predict_too_where_the_limit_is_not_one(kind):
    Z, y = drawn()
    fitted = kind().fit(np.exp(Z), y)
    eps = fitted.eps_
    found = fitted.predict([[0.0, 0.0, 1.0]])
    np.testing.assert_allclose(found, fitted.predict([[eps, eps, 1.0 - 2 * eps]]), atol=eps)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_without_rows_is_a_warning(kind):
    Z, y = drawn()
    with pytest.warns(
        SeparableWarning, match="Class 2 has no rows: its parameters depend on the penalty alone"
    ):
        fitted = kind().fit(np.exp(Z), y % 2)
    assert fitted.predict(np.exp(Z[:9]))[:, 2].max() < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_of_scores_is_refused(kind):
    with pytest.raises(
        InputError, match="must be a matrix, one column per class, for this calibrator"
    ):
        kind().fit([0.1, 0.9], [0, 1])


@pytest.mark.parametrize("kind", [VectorScaling, MatrixScaling])
def test_logits_beyond_a_million_are_refused(kind):
    fitted = kind(from_logits=True).fit(np.log(np.exp(drawn()[0])), drawn()[1])
    assert np.isfinite(fitted.predict([[1e6, -1e6, 0.0]])).all()
    with pytest.raises(
        InputError, match=r"must lie within ±1e\+06 .* 2 of 3 do not, the first is 1e\+06"
    ):
        fitted.predict([[1e6 + 0.5, -1e6 - 0.5, 0.0]])


@pytest.mark.parametrize("kind", [VectorScaling, MatrixScaling])
def test_one_logit_beyond_a_million_is_one(kind):
    Z, y = drawn(60)
    Z[3, 1] = -1e6 - 1
    with pytest.raises(InputError, match=r"1 of 180 does not, the first is -1e\+06"):
        kind(from_logits=True).fit(Z, y)


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_that_stops_early_is_a_warning(kind):
    Z, y = drawn()
    with pytest.warns(
        NotConvergedWarning, match="stopped after 1 steps without converging. Increase `max_iter`"
    ):
        fitted = kind(max_iter=1, l2=1e-3).fit(np.exp(Z), y)
    assert fitted.n_iter_ == 1


def test_vector_scaling_minimises_the_mean_loss_plus_half_the_ridge():
    Z, y = drawn(150)
    w = np.random.default_rng(0).integers(1, 4, y.size).astype(float)
    fitted = VectorScaling(from_logits=True, l2=0.05).fit(Z, y, w)

    def objective(theta):
        scale, shift = theta.reshape(2, 3)
        logits = Z * scale + shift
        loss = logsumexp(logits, axis=1) - logits[np.arange(y.size), y]
        return w @ loss / w.sum() + 0.05 / 2 * (np.sum((scale - 1) ** 2) + np.sum(shift**2))

    best = minimize(objective, [1.0] * 3 + [0.0] * 3, tol=1e-12).x
    assert np.concatenate([fitted.scale_, fitted.intercept_]) == pytest.approx(best, abs=1e-5)


def test_logits_of_any_size_are_fitted():
    """Thirty thousand times too large logits have a scale that is as much smaller."""
    Z, y = drawn(100)
    small = VectorScaling(from_logits=True, l2=1e-9).fit(Z, y)
    large = VectorScaling(from_logits=True, l2=1e-12).fit(Z * 3e4, y)
    assert large.predict(Z[:9] * 3e4) == pytest.approx(small.predict(Z[:9]), abs=1e-3)


@pytest.mark.parametrize("kind", [MatrixScaling, DirichletCalibration])
def test_the_documented_objective_has_no_slope_at_the_map(kind):
    Z, y = drawn(120)
    w = np.random.default_rng(0).integers(1, 4, y.size).astype(float)
    shifts = {"odir_intercept": 0.3} if kind is DirichletCalibration else {}
    fitted = kind(odir=0.7, l2=0.05, eps=1e-12, **shifts).fit(np.exp(Z), y, w)

    def objective(flat):
        W, b = flat[:9].reshape(3, 3), flat[9:]
        eta = Z @ W.T + b
        loss = w @ (logsumexp(eta, axis=1) - eta[np.arange(y.size), y]) / w.sum()
        off = W[~np.eye(3, dtype=bool)]
        odir = 0.7 * np.mean(off**2) + shifts.get("odir_intercept", 0.7) * np.mean(b**2)
        return loss + odir + 0.05 / 2 * (np.sum((W - np.eye(3)) ** 2) + np.sum(b**2))

    at = np.concatenate([fitted.matrix_.ravel(), fitted.intercept_])
    assert approx_fprime(at, objective, 1e-6) == pytest.approx(0, abs=1e-5)


def test_limits_of_rows_do_not_depend_on_other_rows():
    Z, y = drawn(60)
    fitted = VectorScaling(limits=True).fit(np.exp(Z), y)
    rows = np.array([[0.0, 0.4, 0.6], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0], [0.2, 0.3, 0.5]])
    assert fitted.predict(rows).tolist() == [fitted.predict([row])[0].tolist() for row in rows]
