"""Confidences, class by class."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import matrices
from toy_calibrators import Shares

from trueness import HistogramBinning, InputError, PlattScaling, TopLabel
from trueness.errors import FewRowsWarning, OneClassWarning

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.OneClassWarning",
    "ignore::trueness.errors.OwnRowsWarning",
    "ignore::trueness.errors.FewRowsWarning",
)

# Class 0 is predicted three times and right twice; class 1 twice and right once; class 2 never.
P = np.array([[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.1, 0.6, 0.3]])
Y = np.array([0, 0, 1, 1, 2])


def test_by_hand():
    fitted = TopLabel(Shares(1), min_rows=1).fit(P, Y)
    assert [None if c is None else c.shares_.tolist() for c in fitted.calibrators_] == [
        [2 / 3],
        [0.5],
        None,
    ]
    assert fitted.pooled_.shares_.tolist() == [0.6]
    assert fitted.pooled_classes_ == (2,)
    new = [[0.6, 0.3, 0.1], [0, 1, 0], [0.2, 0.2, 0.6]]
    assert fitted.predict_confidence(new) == pytest.approx([2 / 3, 0.5, 0.6])
    assert fitted.predict_label(new).tolist() == [0, 1, 2]
    # The rest goes to the others as they stand to each other; evenly where they had nothing.
    wanted = [[2 / 3, 0.25, 1 / 12], [0.25, 0.5, 0.25], [0.2, 0.2, 0.6]]
    assert fitted.predict(new) == pytest.approx(np.array(wanted))


@pytest.mark.filterwarnings("error", "ignore::trueness.errors.OwnRowsWarning")
def test_one_calibrator_for_all_classes_needs_no_rows_of_each():
    fitted = TopLabel(Shares(1), kind="confidence").fit(P, Y)
    assert fitted.pooled_.shares_.tolist() == [0.6]
    assert fitted.calibrators_ == [None] * 3
    assert fitted.predict_confidence(P[:2]).tolist() == [0.6, 0.6]


def test_the_label_stays_when_the_confidence_falls_below_another_entry():
    y = np.ones(60, dtype=int)
    fitted = TopLabel(Shares(1)).fit(np.tile([0.5, 0.4, 0.1], (60, 1)), y, labels=range(3))
    row = [[0.5, 0.4, 0.1]]
    assert fitted.predict_confidence(row).tolist() == [0]
    assert fitted.predict_label(row).tolist() == [0]
    assert fitted.predict(row) == pytest.approx(np.array([[0, 0.8, 0.2]]))


@given(data=matrices())
def test_confidences_are_those_of_each_class_by_itself(data):
    y, P = data
    fitted = TopLabel(Shares(2), min_rows=1).fit(P, y)
    top = P.argmax(axis=1)
    for k in np.unique(top):
        rows = top == k
        own = Shares(2).fit(P[rows, k], y[rows] == k).predict(P[rows, k])
        assert fitted.predict_confidence(P)[rows].tolist() == own.tolist()
    found = fitted.predict(P)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert ((found >= 0) & (found <= 1)).all()


@given(data=matrices(), drawn=st.data())
def test_weight_is_repetition_for_the_least_number_of_rows_too(data, drawn):
    y, P = data
    w = np.array(drawn.draw(st.lists(st.integers(0, 3), min_size=y.size, max_size=y.size)))
    w[0] += not w.any()
    weighted = TopLabel(Shares(2), min_rows=4).fit(P, y, w)
    repeated = TopLabel(Shares(2), min_rows=4).fit(
        P.repeat(w, 0), y.repeat(w), labels=range(P.shape[1])
    )
    assert weighted.pooled_classes_ == repeated.pooled_classes_
    assert weighted.predict(P) == pytest.approx(repeated.predict(P), abs=1e-12)


def test_a_rest_too_small_to_divide_by_gives_no_infinity():
    fitted = TopLabel(Shares(1), min_rows=1).fit(P, Y)
    found = fitted.predict([[1.0, 5e-324, 0.0]])
    assert found == pytest.approx(np.array([[2 / 3, 1 / 3, 0]]))


@pytest.mark.filterwarnings("error")
def test_classes_with_few_rows_are_named_and_use_the_pooled_calibrator():
    with pytest.warns(
        FewRowsWarning, match="Fewer than `min_rows=3` rows are predicted as 'b', 'c': these"
    ):
        fitted = TopLabel(Shares(1), min_rows=3).fit(P, list("aabbc"))
    assert fitted.pooled_classes_ == ("b", "c")
    assert fitted.predict_confidence(P[3:]).tolist() == [0.6, 0.6]
    assert fitted.predict_label(P[3:]).tolist() == ["b", "b"]


@pytest.mark.filterwarnings("error")
def test_a_class_that_is_always_right_is_named():
    P = np.repeat([[0.8, 0.2], [0.3, 0.7]], 2, axis=0)
    with pytest.warns(OneClassWarning, match="Predicted class 0: All 2 labels are equal"):
        TopLabel(Shares(1), min_rows=1).fit(P, [0, 0, 0, 1])


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_map_is_stored_with_all_its_parts():
    fitted = TopLabel(HistogramBinning(2), min_rows=3).fit(P, Y)
    again = TopLabel.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert again.predict(P[::-1]).tolist() == fitted.predict(P[::-1]).tolist()
    assert again.pooled_classes_ == fitted.pooled_classes_ == (1, 2)


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (
            TopLabel(3),
            r"`calibrator` must be a calibrator such as `HistogramBinning\(\)`, or None; got 3",
        ),
        (
            TopLabel(PlattScaling(from_logits=True)),
            "`calibrator` must take probabilities, as confidences are; it is set",
        ),
        (
            TopLabel(Shares(), kind="classwise"),
            "`kind` must be 'top-label' or 'confidence'; got 'classwise'",
        ),
        (TopLabel(Shares(), min_rows=0), "`min_rows` must be a whole number ≥ 1; got 0"),
    ],
)
def test_bad_parameters_are_refused_when_fitting(wrapper, message):
    with pytest.raises(InputError, match=message):
        wrapper.fit(P, Y)


@pytest.mark.filterwarnings("error")
def test_as_many_rows_as_demanded_are_enough():
    fitted = TopLabel(Shares(1), min_rows=2).fit(
        P[:, :2] / P[:, :2].sum(axis=1, keepdims=True), [0, 0, 1, 1, 0]
    )
    assert fitted.pooled_classes_ == ()
    assert fitted.pooled_ is None
    with pytest.warns(FewRowsWarning, match="rows are predicted as 1: these"):
        fitted = TopLabel(Shares(1), min_rows=3).fit(
            P[:, :2] / P[:, :2].sum(axis=1, keepdims=True), [0, 0, 1, 1, 0]
        )
    assert fitted.pooled_classes_ == (1,)
