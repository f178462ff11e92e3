"""Temperatures: the optimum, whatever the size and scale of the logits, and what happens when there is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from trueness._numerics import softmax as home
from trueness._numerics.softmax import inverse_temperature, softmax


def drawn(n, n_classes, beta=0.6, scale=2.0, seed=0):
    rng = np.random.default_rng(seed)
    Z = scale * rng.standard_normal((n, n_classes))
    return Z, (beta * Z + rng.gumbel(size=Z.shape)).argmax(axis=1)


def loss(beta, Z, y, w):
    return float(np.sum(w * (logsumexp(beta * Z, axis=1) - beta * Z[np.arange(y.size), y])))


def slope(beta, Z, y, w):
    p = np.exp(beta * Z - logsumexp(beta * Z, axis=1, keepdims=True))
    return float(np.sum(w * (np.sum(p * Z, axis=1) - Z[np.arange(y.size), y])))


@pytest.mark.parametrize("shape", [(40, 2), (300, 5), (200, 100)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_a_plain_search(shape, weighted):
    Z, y = drawn(*shape)
    w = np.random.default_rng(1).exponential(size=y.size) if weighted else np.ones(y.size)
    found = inverse_temperature(Z, y, w if weighted else None)
    plain = minimize_scalar(loss, bounds=(1e-3, 50), args=(Z, y, w), options={"xatol": 1e-10})
    assert found.verdict == "optimum"
    assert found.value == pytest.approx(plain.x, rel=1e-6)
    assert abs(slope(found.value, Z, y, w)) < 1e-8 * w.sum()


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 60),
    k=st.integers(2, 6),
    scale=st.sampled_from([1e-3, 1.0, 300.0]),
)
def test_every_answer_is_positive_finite_and_what_it_says(seed, n, k, scale):
    rng = np.random.default_rng(seed)
    Z = np.round(scale * rng.standard_normal((n, k)), 2)
    y = rng.integers(0, k, n)
    found = inverse_temperature(Z, y)
    w = np.ones(n)
    assert np.isfinite(found.value)
    assert found.value > 0
    at = slope(found.value, Z, y, w)
    size = float(np.abs(Z).max()) * n
    if found.verdict == "optimum":
        assert abs(at) <= 1e-7 * size
    elif found.verdict == "reversed":
        assert slope(0.0, Z, y, w) >= -1e-12 * size
    elif found.verdict == "constant":
        assert np.ptp(Z, axis=1).max() == 0
    else:
        assert (Z[np.arange(n), y] == Z.max(axis=1)).all()


@pytest.mark.parametrize(
    "factor", [2.0**-900, 2.0**-340, 2.0**-316, 2.0**-230, 2.0**300, 2.0**340, 2.0**1015]
)
def test_the_scale_of_the_logits_does_not_matter(factor):
    Z, y = drawn(60, 3)
    found = inverse_temperature(Z * factor, y)
    assert found.verdict == "optimum"
    assert found.value * factor == pytest.approx(inverse_temperature(Z, y).value, rel=1e-9)


def test_logits_that_all_but_vanish_count_as_equal():
    Z, y = drawn(60, 3)
    assert inverse_temperature(Z * 1e-310, y) == (1.0, "constant")


@pytest.mark.parametrize("ridge", [0.0, 50.0])
def test_a_large_matrix_starts_from_some_of_its_rows(monkeypatch, ridge):
    Z, y = drawn(900, 20)
    exact = inverse_temperature(Z, y, ridge=ridge).value
    seen = []
    derivatives = home.softmax_derivatives
    monkeypatch.setattr(home, "_WORTH_SAMPLING", 1_000)
    monkeypatch.setattr(
        home, "softmax_derivatives", lambda Z, *rest: seen.append(len(Z)) or derivatives(Z, *rest)
    )
    assert inverse_temperature(Z, y, ridge=ridge).value == pytest.approx(exact, rel=1e-9)
    assert min(seen) < 10
    assert seen.count(900) <= 3
    # If the sample says what all rows say, these are read once.
    seen.clear()
    again = inverse_temperature(np.repeat(Z, 16, axis=0), np.repeat(y, 16), ridge=16 * ridge).value
    assert again == pytest.approx(exact, rel=1e-9)
    assert seen.count(16 * 900) == 1


def test_a_sample_that_misleads_does_no_harm(monkeypatch):
    Z, y = drawn(640, 3)
    y[::16] = Z[::16].argmin(axis=1)  # every row of the sample is as wrong as can be
    expected = inverse_temperature(Z, y).value
    monkeypatch.setattr(home, "_WORTH_SAMPLING", 1_000)
    assert inverse_temperature(Z, y).value == pytest.approx(expected, rel=1e-9)


def test_labels_on_top_are_smoothed_by_platts_rule():
    # Three rows of class 1 and one of class 0: targets 4/5 and 2/3, margins 2.
    Z = np.array([[0.0, 2], [0, 2], [0, 2], [2, 0]])
    found = inverse_temperature(Z, np.array([1, 1, 1, 0]))
    targets = np.array([0.8, 0.8, 0.8, 2 / 3])
    assert found.verdict == "separable"
    # p = expit(2β) is the mean target when all margins are equal.
    mean = targets.mean()
    assert found.value == pytest.approx(np.log(mean / (1 - mean)) / 2, rel=1e-9)


def test_a_tie_for_the_largest_logit_counts_as_on_top():
    assert (
        inverse_temperature(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([0, 1])).verdict
        == "separable"
    )


def test_logits_that_say_less_than_nothing_are_nearly_ignored():
    Z = np.array([[0.0, 2], [2, 0], [0, 2]])
    found = inverse_temperature(Z, np.array([0, 1, 0]))
    assert found == (1e-6, "reversed")  # the deviations from the row's mean are ±1


def test_equal_logits_leave_the_temperature_at_one():
    assert inverse_temperature(np.full((3, 4), 1e200), np.array([0, 1, 2])) == (1.0, "constant")


@given(seed=st.integers(0, 10**6), temperature=st.sampled_from([1e-300, 0.3, 1.0, 7.0, 1e6, 1e300]))
def test_softmax_keeps_the_largest_and_its_ties(seed, temperature):
    rng = np.random.default_rng(seed)
    Z = rng.integers(-2, 3, (20, 4)) * rng.choice([1.0, 1e-17, 1e-3])
    P = softmax(Z, temperature)
    assert np.array_equal(P.max(axis=1, keepdims=True) == P, Z.max(axis=1, keepdims=True) == Z)
    assert np.abs(P.sum(axis=1) - 1).max() < 1e-14


def test_softmax_of_a_logit_that_is_minus_infinity_is_zero():
    assert softmax(np.array([[0.0, -np.inf, 0.0]]), 3.0).tolist() == [[0.5, 0.0, 0.5]]


def test_softmax_works_in_blocks(monkeypatch):
    Z, _ = drawn(50, 7)
    whole = softmax(Z, 2.0)
    monkeypatch.setattr(home, "_BLOCK", 20)
    assert np.array_equal(softmax(Z, 2.0), whole)
