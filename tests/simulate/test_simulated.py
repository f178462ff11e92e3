import json
import pickle

import numpy as np
import pytest

from trueness import simulate
from trueness.errors import InputError


def test_repr_is_one_line():
    assert repr(simulate.binary(10, seed=0)) == "Simulated('Beta(1, 1), calibrated', n=10)"
    assert repr(simulate.multiclass(10, 4, seed=0)) == "Simulated('Dirichlet(1), calibrated', n=10, K=4)"
    assert len(simulate.binary(10)) == 10


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        simulate.binary(3).y_true = np.zeros(3)


@pytest.mark.parametrize(
    "d",
    [
        simulate.binary(5, distortion=simulate.Bump(), prevalence=0.1, seed=0),
        simulate.binned(5, [0.1], [0.3], seed=0),
        simulate.multiclass(5, distortion=simulate.LabelNoise(0.3), seed=0),
    ],
    ids=lambda d: d.name,
)
def test_it_survives_pickling(d):
    copy = pickle.loads(pickle.dumps(d))
    assert copy.true_ece() == d.true_ece()
    assert copy.y_prob.tobytes() == d.y_prob.tobytes()


def test_the_columns_of_the_table_are_named():
    assert list(simulate.binary(3).table()) == ["y", "p", "truth"]
    assert list(simulate.multiclass(3, 2).table()) == ["y", "p0", "p1", "truth0", "truth1"]
    assert list(simulate.demo(3).table()) == ["y", "overconfident", "truth", "recalibrated"]
    assert all(column.shape == (3,) for column in simulate.multiclass(3).table().values())


def test_a_true_error_names_its_method():
    exact = simulate.binned(1, [0.25], [0.5]).true_error()
    assert json.loads(json.dumps(exact.to_dict())) == {"value": 0.25, "uncertainty": 0.0, "method": "sum"}
    assert str(exact) == "0.25 (sum)"
    rough = simulate.TrueError(0.123456789, 2.34e-5, "quasi-Monte Carlo")
    assert str(rough) == "0.123457 ± 2e-05 (quasi-Monte Carlo)"


def test_the_error_of_the_rows_is_taken_over_equal_scores_together():
    d = simulate.outcomes([0.5, 0.5, 0.2], truth=[0.1, 0.9, 0.5])
    assert d.sample_ece() == pytest.approx(0.1)
    assert d.sample_ece("max") == pytest.approx(0.3)


@pytest.mark.parametrize("norm", ["rms", 0.5, None, float("nan")])
def test_a_bad_norm_is_named(norm):
    with pytest.raises(InputError, match="`norm` must be 'l1', 'l2', 'max' or a number ≥ 1; got"):
        simulate.binary(3).true_ece(norm)


def test_a_bad_kind_is_named():
    with pytest.raises(InputError, match="`kind` must be 'classwise', 'confidence' or 'top-label'; got 'top'"):
        simulate.multiclass(3).true_ece(kind="top")


@pytest.mark.parametrize(
    ("d", "k", "message"),
    [
        (simulate.binary(3), 2, "`k` must be at most 1, the number of scores in a row; got 2"),
        (simulate.multiclass(3, 4), 5, "`k` must be at most 4"),
        (simulate.multiclass(3, 4), 0, "`k` must be a whole number ≥ 1; got 0"),
        (
            simulate.multiclass(3, 4),
            2,
            "`k` must be 1 or 4, for which the true error of this population is known; got 2",
        ),
    ],
)
def test_a_bad_k_is_named(d, k, message):
    with pytest.raises(InputError, match=message):
        d.true_squared_ece(k)


def test_the_error_of_the_rows_needs_vector_scores():
    with pytest.raises(InputError, match="`sample_ece` needs vector scores"):
        simulate.multiclass(3).sample_ece()
