"""Brier score and log loss by hand and against scikit-learn."""

import math
from fractions import Fraction

import numpy as np
import pytest

import trueness as tn


def test_log_loss_of_certain_and_correct_scores_is_zero():
    assert tn.log_loss([0, 1], [0.0, 1.0]) == 0
    assert str(tn.log_loss([0, 1], [0.0, 1.0])) == "0.0"
    assert tn.log_loss([0, 1], [0.0, 0.5]) == tn.log_loss([0, 1], [0.5, 1.0]) == math.log(2) / 2


def test_log_loss_keeps_digits_near_the_ends():
    p = np.array([1e-300, 1e-17])
    assert tn.log_loss([0, 1], [p[0], 0.5]) == pytest.approx(math.log(2) / 2, rel=1e-15)
    with pytest.warns(tn.errors.OneClassWarning):
        assert tn.log_loss([0, 0], p) == pytest.approx(p.sum() / 2, rel=1e-15, abs=0)
    assert tn.log_loss([1, 1, 0], [1 - 2.0**-53, 1.0, 0.0]) == 2.0**-53 / 3


def test_brier_of_a_matrix_is_summed_over_classes():
    y, P = [0, 2], [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]
    assert tn.brier(y, P) == (0.25 + 0.0625 + 0.0625 + 0.25 + 0.25) / 2
    assert tn.log_loss(y, P) == pytest.approx(math.log(2))


@pytest.mark.parametrize("k", [2, 3])
def test_one_brier_score_everywhere(k):
    """`brier`, `corp`, `compare` and sketches have one definition; two columns are the binary score."""
    rng = np.random.default_rng(k)
    P, other = rng.dirichlet(np.ones(k), size=(2, 200))
    y = np.array([rng.choice(k, p=row) for row in P])
    squares = ((P - np.eye(k)[y]) ** 2).sum(axis=1).mean()
    expected = squares / 2 if k == 2 else squares
    assert tn.brier(y, P) == pytest.approx(expected, abs=1e-14)
    parts = tn.corp(y, P)
    assert parts.score == pytest.approx(expected, abs=1e-14)
    assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(
        expected, abs=1e-12
    )
    assert tn.brier(tn.sketch(y, P)) == pytest.approx(expected, abs=1e-9)
    compared = tn.compare(y, {"a": P, "b": other}, measure="brier").estimates["a"]
    assert compared == pytest.approx(expected, abs=1e-12)
    if k == 2:
        assert tn.brier(y, P) == pytest.approx(tn.brier(y, P[:, 1]), abs=1e-14)
        assert parts.discrimination == pytest.approx(tn.corp(y, P[:, 1]).discrimination, abs=1e-12)


def test_the_brier_score_is_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics", minversion="1.7")
    rng = np.random.default_rng(3)
    for k in (2, 4):
        P, y = rng.dirichlet(np.ones(k), size=300), rng.integers(0, k, 300)
        assert tn.brier(y, P) == pytest.approx(metrics.brier_score_loss(y, P, labels=range(k)))


def test_scores_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    P = rng.dirichlet([1, 2, 3], size=500)
    y = rng.integers(0, 3, 500)
    w = rng.random(500)
    assert tn.log_loss(y, P, sample_weight=w) == pytest.approx(
        metrics.log_loss(y, P, sample_weight=w)
    )
    assert tn.brier(y == 2, P[:, 2], sample_weight=w) == pytest.approx(
        metrics.brier_score_loss(y == 2, P[:, 2], sample_weight=w)
    )


def test_the_log_loss_of_many_rows_is_that_of_their_tally_and_of_the_formula():
    rng = np.random.default_rng(0)
    p = np.concatenate(
        [rng.random(30_000), rng.beta(0.02, 0.02, 30_000), np.round(rng.random(30_000), 2)]
    )
    p = np.clip(p, 1e-300, 1 - 2.0**-53)
    y = rng.random(p.size) < p
    order = rng.permutation(p.size)
    expected = pytest.approx(math.fsum(np.where(y, -np.log(p), -np.log1p(-p))) / p.size, rel=1e-12)
    assert tn.log_loss(y, p) == expected
    assert tn.log_loss(y[order], p[order]) == expected
    assert tn.log_loss(tn.tally(y, p)) == expected
    assert tn.log_loss(tn.tally(y[:7], p[:7]) + tn.tally(y[7:], p[7:])) == expected
    assert tn.log_loss(y, p, sample_weight=np.full(p.size, 0.1)) == expected


def test_small_losses_keep_their_digits():
    rng = np.random.default_rng(1)
    p = 1e-9 * rng.random(5000)
    y = np.zeros(p.size, int)
    y[0], p[0] = 1, 1 - 1e-9
    expected = (math.fsum(-np.log1p(-p[1:])) - math.log(p[0])) / p.size
    assert tn.log_loss(y, p) == pytest.approx(expected, rel=1e-13, abs=0)
    assert tn.log_loss(tn.tally(y, p)) == pytest.approx(expected, rel=1e-13, abs=0)


def test_the_log_loss_of_certain_scores_is_infinite_only_where_they_are_wrong():
    rng = np.random.default_rng(4)
    p = np.append(rng.integers(0, 5, 20_000) / 4, [0.0, 1.0])
    y = np.where(p == 0.5, rng.integers(0, 2, p.size), p > 0.5)
    expected = pytest.approx(
        ((p == 0.25) | (p == 0.75)).mean() * -math.log(0.75) + (p == 0.5).mean() * math.log(2)
    )
    assert tn.log_loss(y, p) == expected
    assert tn.log_loss(tn.tally(y, p)) == expected
    for row in -1, -2:
        wrong = y.copy()
        wrong[row] = 1 - y[row]
        assert tn.log_loss(wrong, p) == tn.log_loss(tn.tally(wrong, p)) == math.inf


def test_the_brier_score_of_many_classes_is_off_by_less_than_a_unit_per_class():
    rng = np.random.default_rng(0)
    n, n_classes = 20, 300
    p, y = rng.dirichlet(np.full(n_classes, 0.3), n), rng.integers(0, n_classes, n)
    labels = np.arange(n_classes)
    exact = (
        sum((Fraction(float(p[i, k])) - int(k == y[i])) ** 2 for i in range(n) for k in labels) / n
    )
    error = abs(Fraction(tn.brier(y, p, labels=labels.tolist())) - exact)
    assert error <= Fraction(n_classes, 2**53) + Fraction(1, 10**15)
