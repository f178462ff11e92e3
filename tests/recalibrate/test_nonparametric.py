"""What the maps without a formula have in common."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from trueness import OneClassWarning, simulate
from trueness.recalibrate import BayesianBinning, IsotonicCalibration, ScalingBinning, VennAbers

MAPS = [
    IsotonicCalibration(),
    IsotonicCalibration(interpolation="step"),
    VennAbers(),
    VennAbers(folds=2, merge="brier", seed=0),
    ScalingBinning(3, scaler=IsotonicCalibration(), split="none"),
    ScalingBinning(3, scaler=IsotonicCalibration(), seed=0),
    BayesianBinning(),
]
GRID = np.linspace(0, 1, 101)


@pytest.fixture(params=MAPS, ids=str)
def empty(request):
    return clone(request.param)


def test_a_pickle_and_a_second_fit_give_the_same_bits(empty):
    d = simulate.binary(300, seed=0)
    fitted = empty.fit(d.y_prob, d.y_true)
    expected = fitted.predict(GRID)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(GRID), expected)
    assert np.array_equal(clone(fitted).fit(list(d.y_prob), d.y_true.astype(bool)).predict(GRID), expected)


def test_an_unfitted_calibrator_refuses_to_predict(empty):
    with pytest.raises(NotFittedError):
        empty.predict([0.5])
    if isinstance(empty, VennAbers):
        with pytest.raises(NotFittedError):
            empty.predict_interval([0.5])


@pytest.mark.all_cases
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_is_a_warning_and_a_probability(empty, label):
    with pytest.warns(OneClassWarning):
        found = empty.fit([0.0, 0.2, 0.2, 1.0, 0.7, 0.4], [label] * 6).predict(GRID)
    assert ((found >= 0) & (found <= 1)).all()
    assert abs(found.mean() - label) < 0.45


def test_constant_scores_get_a_constant(empty):
    found = empty.fit([0.25] * 12, [0, 1] * 6).predict([0.0, 0.25, 1.0])
    assert abs(found[1] - 0.5) < 0.01
    if not isinstance(empty, VennAbers):  # whose new row is in the cell, below it or above it
        assert len(set(found)) == 1


def test_no_rows_are_changed_into_no_rows(empty):
    assert empty.fit([0.1, 0.4, 0.8, 0.9], [0, 1, 0, 1]).predict(np.empty(0)).shape == (0,)
