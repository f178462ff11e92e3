"""Temperature scaling by hand, against other implementations, and at full size."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn import __version__ as sklearn_version

from trueness.errors import MovedScoresWarning, SeparableWarning
from trueness.recalibrate import TemperatureScaling


def drawn(n=400, k=5, seed=0):
    rng = np.random.default_rng(seed)
    Z = 2 * rng.standard_normal((n, k))
    return Z, (0.6 * Z + rng.gumbel(size=Z.shape)).argmax(axis=1)


def test_by_hand():
    # Odds of 3:1 were predicted, and 2:1 came true.
    fitted = TemperatureScaling().fit([0.75] * 3 + [0.25] * 3, [1, 1, 0, 0, 0, 1])
    assert fitted.temperature_ == pytest.approx(np.log(3) / np.log(2), rel=1e-9)
    np.testing.assert_allclose(
        fitted.predict([0.75, 0.9]), [2 / 3, 1 / (1 + 9 ** (-1 / fitted.temperature_))]
    )


def test_zero_and_one_stay_what_they_are_if_limits_are_wanted():
    fitted = TemperatureScaling(limits=True).fit([0.75] * 3, [1, 1, 0])
    assert fitted.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
    matrix = TemperatureScaling(limits=True).fit([[0.25, 0.75]] * 3, [1, 1, 0])
    assert matrix.predict([[0.0, 1.0], [1.0, 0.0]]).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_a_vector_is_a_matrix_of_two_columns():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 50)
    y = (rng.random(50) < p).astype(int)
    vector, matrix = (
        TemperatureScaling().fit(scores, y) for scores in (p, np.column_stack([1 - p, p]))
    )
    assert vector.temperature_ == pytest.approx(matrix.temperature_, rel=1e-8)
    np.testing.assert_allclose(
        vector.predict(p[:9]), matrix.predict(np.column_stack([1 - p, p])[:9])[:, 1], rtol=1e-9
    )


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-12, 1.0, 50.0]))
def test_the_largest_class_and_its_ties_stay(seed, scale):
    rng = np.random.default_rng(seed)
    Z = rng.integers(-2, 3, (30, 4)) * scale
    y = np.append(Z[:-4].argmax(axis=1), [0, 1, 2, 3])
    with (
        pytest.warns(SeparableWarning)
        if (Z[range(30), y] == Z.max(axis=1)).all()
        else nullcontext()
    ):
        P = TemperatureScaling(from_logits=True).fit(Z, y).predict(Z[:-1])
    assert np.array_equal(
        P.max(axis=1, keepdims=True) == P, Z[:-1].max(axis=1, keepdims=True) == Z[:-1]
    )


def test_a_label_of_probability_zero_is_moved():
    P = np.array([[0.5, 0.5, 0.0]] + [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]] * 200)
    with pytest.warns(MovedScoresWarning, match="1 score is exactly 0 and was moved to 0.000829"):
        fitted = TemperatureScaling().fit(P, [2] + [2, 0] * 200)
    assert np.isfinite(fitted.temperature_)


@pytest.mark.parametrize(
    ("Z", "y", "message"),
    [
        (
            [[0, 2], [2, 0]],
            [1, 0],
            "Every label has the largest score of its row.*Platt's rule; T = ",
        ),
        ([[0, 2], [2, 0]], [0, 1], "Labels are not likelier where scores are higher.*T = 1e\\+06"),
        (
            [[1, 1], [2, 2]],
            [0, 1],
            "The logits of every row are equal: the temperature is not determined; T = 1",
        ),
    ],
)
def test_data_without_an_optimum_are_a_warning(Z, y, message):
    with pytest.warns(SeparableWarning, match=message):
        fitted = TemperatureScaling(from_logits=True).fit(Z, y)
    assert 0 < fitted.temperature_ < np.inf


def test_scikit_learn_finds_the_same():
    scikit = pytest.importorskip("sklearn.calibration", reason="needs scikit-learn")
    if not hasattr(scikit, "_TemperatureScaling"):
        pytest.skip(
            f"scikit-learn {sklearn_version} has no temperature scaling (1.8 and later have)"
        )
    Z, y = drawn()
    w = np.random.default_rng(1).exponential(size=y.size)
    ours = TemperatureScaling(from_logits=True).fit(Z, y, sample_weight=w)
    theirs = scikit._TemperatureScaling().fit(Z, y, sample_weight=w)  # compared with 1.9.1
    assert 1 / ours.temperature_ == pytest.approx(float(theirs.beta_), rel=1e-6)
    np.testing.assert_allclose(ours.predict(Z[:9]), theirs.predict(Z[:9]), atol=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 40.0])
def test_the_ridge_pulls_the_inverse_temperature_towards_one(ridge):
    """The loss summed over rows, plus half the ridge times the squared distance of 1/T from 1."""
    Z, y = drawn(80, 3)
    w = np.random.default_rng(0).integers(1, 4, 80)
    fitted = TemperatureScaling(from_logits=True, ridge=ridge).fit(Z, y, w)

    def objective(b):
        return w @ (logsumexp(b * Z, axis=1) - b * Z[np.arange(80), y]) + ridge / 2 * (b - 1) ** 2

    best = minimize_scalar(
        objective, bounds=(0.01, 5), method="bounded", options={"xatol": 1e-10}
    ).x
    assert 1 / fitted.temperature_ == pytest.approx(best, rel=1e-5)
