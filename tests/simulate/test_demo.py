import numpy as np
import pytest

from trueness import simulate


def test_it_is_the_same_every_time():
    one, other = simulate.demo(), simulate.demo()
    assert len(one) == 10_000
    assert one.y_true.tobytes() == other.y_true.tobytes()
    assert one.y_prob.tobytes() == other.y_prob.tobytes()


def test_one_row_in_five_is_an_event():
    d = simulate.demo(100_000, seed=3)
    assert d.population.mean_truth() == pytest.approx(0.2, rel=1e-9)
    assert d.y_true.mean() == pytest.approx(0.2, abs=5 * 0.4 / np.sqrt(100_000))


def test_it_is_over_confident_and_recalibration_helps():
    d = simulate.demo()
    p, better = d.y_prob, d.columns["recalibrated"]
    assert d.true_ece() == pytest.approx(0.0508, abs=1e-4)
    assert (d.truth - p)[p > 0.5].max() < 0
    assert (d.truth - p)[p < 0.01].min() > 0
    assert np.abs(d.truth - better).mean() < d.sample_ece() / 10
    assert (np.argsort(p) == np.argsort(better)).all()
