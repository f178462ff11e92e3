"""One calibrator per class: columns one by one, then rows that sum to one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import matrices
from toy_calibrators import Shares

from trueness import (
    HistogramBinning,
    InputError,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    TopLabel,
)
from trueness.errors import OneClassWarning
from trueness.recalibrate import VectorScaling

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.OneClassWarning", "ignore::trueness.errors.OwnRowsWarning"
)

P = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6]])
Y = np.array([0, 1, 1, 2])


def test_labels_of_many_classes_by_hand():
    # Two bins. Column 0: (0.7, 0.6) hold one event of two, (0.1, 0.2) none. Column 1: 0.7 an event, the others one of
    # three. Column 2: 0.6 an event, the others none.
    fitted = OneVsRest(Shares(2), normalize=False).fit(P, Y)
    assert fitted.predict([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]).tolist() == [
        [0.5, 1 / 3, 0],
        [0, 1 / 3, 1],
    ]
    normal = OneVsRest(Shares(2)).fit(P, Y)
    assert normal.predict([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]) == pytest.approx(
        np.array([[0.6, 0.4, 0], [0, 0.25, 0.75]])
    )


@given(data=matrices())
def test_each_column_is_that_of_its_calibrator_and_normalized_rows_are_proportional(data):
    y, P = data
    free, normal = OneVsRest(Shares(3), normalize=False).fit(P, y), OneVsRest(Shares(3)).fit(P, y)
    found = free.predict(P)
    for k in range(P.shape[1]):
        assert found[:, k].tolist() == Shares(3).fit(P[:, k], y == k).predict(P[:, k]).tolist()
    total = found.sum(axis=1, keepdims=True)
    wanted = np.where(total > 0, found / np.where(total > 0, total, 1), 1 / P.shape[1])
    assert normal.predict(P) == pytest.approx(wanted, abs=1e-15)
    assert normal.predict(P).sum(axis=1) == pytest.approx(1, abs=1e-12)


@given(data=matrices(), weights=st.data())
def test_weight_is_repetition(data, weights):
    y, P = data
    w = np.array(weights.draw(st.lists(st.integers(0, 3), min_size=y.size, max_size=y.size)))
    w[0] += not w.any()
    weighted = OneVsRest(Shares(3)).fit(P, y, w).predict(P)
    assert weighted == pytest.approx(
        OneVsRest(Shares(3)).fit(P.repeat(w, 0), y.repeat(w), labels=range(P.shape[1])).predict(P),
        abs=1e-12,
    )


def test_a_row_left_without_any_probability_is_shared_evenly():
    zero = IsotonicCalibration(y_max=0.0)
    assert OneVsRest(zero).fit(P, Y).predict(P).tolist() == [[1 / 3] * 3] * 4
    assert OneVsRest(zero, normalize=False).fit(P, Y).predict(P).tolist() == [[0.0] * 3] * 4


def test_logits_pass_to_a_calibrator_of_logits():
    rng = np.random.default_rng(0)
    logits, y = rng.normal(0, 3, (200, 3)), rng.integers(0, 3, 200)
    fitted = OneVsRest(PlattScaling(from_logits=True), normalize=False).fit(logits, y)
    column = PlattScaling(from_logits=True).fit(logits[:, 1], y == 1).predict(logits[:50, 1])
    assert fitted.predict(logits[:50])[:, 1].tolist() == column.tolist()


@pytest.mark.filterwarnings("error")
def test_classes_without_rows_are_named_in_one_warning():
    P = np.array([[0.2, 0.2, 0.2, 0.2, 0.2], [0.6, 0.1, 0.1, 0.1, 0.1]])
    with pytest.warns(
        OneClassWarning, match="Classes 'c', 'd', 'e'; the first says: All 2 labels are equal"
    ) as told:
        OneVsRest(Shares(2)).fit(P, ["a", "b"], labels=list("abcde"))
    assert len(told) == 1


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_map_is_stored_with_all_its_parts():
    fitted = OneVsRest(HistogramBinning(2), normalize=False).fit(P, list("abbc"))
    again = OneVsRest.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert again.predict(P[::-1]).tolist() == fitted.predict(P[::-1]).tolist()
    assert again.classes_ == ("a", "b", "c")
    assert again.get_params()["calibrator__n_bins"] == 2


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (
            OneVsRest(3),
            r"`calibrator` must be a calibrator such as `PlattScaling\(\)`, or None; got 3",
        ),
        (OneVsRest(Shares), "got the class Shares"),
        (
            OneVsRest(VectorScaling()),
            "must take a single score, such as `PlattScaling\\(\\)`; VectorScaling takes a",
        ),
        (OneVsRest(OneVsRest(Shares())), "OneVsRest takes a matrix"),
        (OneVsRest(Shares(), normalize=1), "`normalize` must be True or False; got 1"),
        (TopLabel(VectorScaling()), "VectorScaling takes a matrix"),
    ],
)
def test_bad_parameters_are_refused_when_fitting(wrapper, message):
    with pytest.raises(InputError, match=message):
        wrapper.fit(P, Y)


def test_each_label_has_the_map_of_its_own_column_and_nothing_is_normalized():
    rng = np.random.default_rng(5)
    p = rng.random((300, 3))
    y = (rng.random((300, 3)) < p**2).astype(int)
    fitted = OneVsRest(kind="multilabel").fit(p[:200], y[:200], labels=["cat", "dog", "red"])
    new = fitted.predict(p[200:])
    for k in range(3):
        assert np.array_equal(
            new[:, k], PlattScaling().fit(p[:200, k], y[:200, k]).predict(p[200:, k])
        )
    assert fitted.classes_ == ("cat", "dog", "red")
    assert np.array_equal(OneVsRest.from_dict(fitted.to_dict()).predict(p[200:]), new)
    with pytest.raises(InputError, match="must be 0 or 1"):
        OneVsRest(kind="multilabel").fit(p, y / 2)
    with pytest.raises(InputError, match="takes a column per label"):
        OneVsRest().fit(p, y)
    with pytest.raises(InputError, match="has a row per pixel"):
        OneVsRest().fit(np.full((2, 2, 3, 3), 0.5), np.zeros((2, 3, 3)))
