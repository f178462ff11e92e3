"""Brier score and log loss by hand and against scikit-learn."""

import math

import numpy as np
import pytest

import trueness as tn


def test_log_loss_of_certain_and_correct_scores_is_zero():
    assert tn.log_loss([0, 1], [0.0, 1.0]) == 0
    assert str(tn.log_loss([0, 1], [0.0, 1.0])) == "0.0"


def test_log_loss_keeps_digits_near_the_ends():
    p = np.array([1e-300, 1e-17])
    assert tn.log_loss([0, 1], [p[0], 0.5]) == pytest.approx(math.log(2) / 2, rel=1e-15)
    with pytest.warns(tn.OneClassWarning):
        assert tn.log_loss([0, 0], p) == pytest.approx(p.sum() / 2, rel=1e-12)


def test_brier_of_a_matrix_is_summed_over_classes():
    y, P = [0, 2], [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]
    assert tn.brier(y, P) == (0.25 + 0.0625 + 0.0625 + 0.25 + 0.25) / 2
    assert tn.log_loss(y, P) == pytest.approx(math.log(2))


def test_scores_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    P = rng.dirichlet([1, 2, 3], size=500)
    y = rng.integers(0, 3, 500)
    w = rng.random(500)
    assert tn.log_loss(y, P, sample_weight=w) == pytest.approx(metrics.log_loss(y, P, sample_weight=w))
    assert tn.brier(y == 2, P[:, 2], sample_weight=w) == pytest.approx(
        metrics.brier_score_loss(y == 2, P[:, 2], sample_weight=w)
    )
