"""The calibrator for a prior shift: its estimate, its limits, what is stored. test_conventions has what all share."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

import trueness as tn
from trueness.recalibrate import PriorCorrection

RNG = np.random.default_rng(4)
P = RNG.dirichlet([1.0, 2.0, 0.5], 2000)
Y = (P.cumsum(axis=1) < RNG.random(2000)[:, None]).sum(axis=1)
WEIGHTS = np.array([1.0, 4.0, 0.5])


def test_the_weight_of_a_vector_is_that_of_prior_shift():
    p = RNG.random(500)
    y = (RNG.random(500) < p).astype(int)
    shifted = expit(logit(p) + math.log(20))
    fitted, shift = PriorCorrection(level=0.9).fit(shifted, y), tn.prior_shift(y, shifted, level=0.9)
    assert (fitted.weight_, fitted.weight_low_, fitted.weight_high_) == pytest.approx(
        (shift.weight, shift.low, shift.high)
    )
    new = RNG.random(9)
    assert fitted.predict(new).tolist() == tn.prior_correction(new, weight=fitted.weight_).tolist()
    # The likelihood equation: expected and observed events agree.
    assert fitted.predict(shifted[::-1]).sum() == pytest.approx(y.sum())


def test_the_weights_of_a_matrix_maximise_the_likelihood():
    weighted = tn.prior_correction(P, weight=1 / WEIGHTS)
    fitted = PriorCorrection().fit(weighted, Y)
    assert fitted.weight_[0] == 1
    assert ((fitted.weight_low_ <= WEIGHTS) & (fitted.weight_high_ >= WEIGHTS)).all()

    def loss(b):
        z = np.log(weighted) + np.r_[0, b]
        return (logsumexp(z, axis=1) - z[np.arange(Y.size), Y]).mean()

    best = minimize(loss, np.zeros(2), tol=1e-12).x
    assert -np.log(fitted.weight_[1:]) == pytest.approx(best, abs=1e-4)
    assert fitted.predict(weighted[::-1]).sum(axis=0) == pytest.approx(np.bincount(Y), abs=1e-3)


def test_two_columns_have_the_weight_and_nearly_the_limits_of_a_vector():
    p = P[:, 1]
    y = (Y == 1).astype(int)
    vector = PriorCorrection().fit(p, y)
    matrix = PriorCorrection().fit(np.column_stack([1 - p, p]), y)
    assert matrix.weight_[1] == pytest.approx(vector.weight_, rel=1e-6)
    assert (matrix.weight_low_[1], matrix.weight_high_[1]) == pytest.approx(
        (vector.weight_low_, vector.weight_high_), rel=0.01
    )


@pytest.mark.parametrize(("how", "weight"), [({"weight": 20}, 20), ({"rate_train": 0.5, "rate_deploy": 0.2}, 4)])
def test_a_known_weight_is_kept(how, weight):
    fitted = PriorCorrection(**how).fit([0.1, 0.2, 0.9], [0, 1, 1])
    assert fitted.weight_ == pytest.approx(weight)
    assert fitted.weight_low_ is None
    assert fitted.predict([0.5]).tolist() == pytest.approx([1 / (1 + weight)])
    again = PriorCorrection.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert again.predict([0.3]).tolist() == fitted.predict([0.3]).tolist()


def test_known_weights_of_classes_are_kept_and_stored():
    fitted = PriorCorrection(weight=[2, 8, 1]).fit(P, Y)
    assert fitted.weight_ == pytest.approx(WEIGHTS)
    again = PriorCorrection.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert again.predict(P[:5]).tolist() == fitted.predict(P[:5]).tolist()


def test_scores_of_zero_and_one_are_left_out():
    p = RNG.random(200)
    y = (RNG.random(200) < p).astype(int)
    fitted = PriorCorrection().fit(np.r_[p, 0, 1, 1], np.r_[y, 1, 0, 1])
    assert fitted.weight_ == pytest.approx(PriorCorrection().fit(p, y).weight_)
    assert fitted.predict([0.0, 1.0]).tolist() == [0, 1]


def test_one_class_is_smoothed_with_a_warning_and_stored_with_its_infinite_limit():
    with pytest.warns(tn.SeparableWarning, match="Platt's smoothed targets"), pytest.warns(tn.OneClassWarning):
        fitted = PriorCorrection().fit([0.5] * 8, [0] * 8)
    assert fitted.predict([0.5]) == pytest.approx([0.1])
    assert fitted.weight_high_ == math.inf
    again = PriorCorrection.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert again.weight_low_ == fitted.weight_low_
    with pytest.warns(tn.SeparableWarning, match="1 class has no rows"):
        matrix = PriorCorrection().fit(np.full((8, 3), 1 / 3), [0, 1] * 4)
    # Four rows of each of two classes: (N + 1) / (N + K) and 1 / (N + K) on average.
    assert matrix.predict([[1 / 3] * 3]) == pytest.approx(np.array([[3 / 7, 3 / 7, 1 / 7]]), abs=1e-6)


def test_scores_that_cannot_move_have_weight_one():
    with pytest.warns(tn.SeparableWarning, match="the weight is set to 1"):
        fitted = PriorCorrection().fit([0.0, 1.0, 1.0], [0, 1, 0])
    assert fitted.weight_ == 1


def test_tiny_scores_meet_the_event_rate():
    fitted = PriorCorrection().fit([5e-324] * 20, [0, 1] * 10)
    assert fitted.predict([5e-324]) == pytest.approx([0.5])


def test_a_damaged_map_is_refused():
    stored = PriorCorrection().fit([0.2, 0.7, 0.6], [0, 1, 0]).to_dict()
    stored["learnt"]["log_weight"]["value"] = "20"
    with pytest.raises(tn.InputError, match="'log_weight' must be a finite number"):
        PriorCorrection.from_dict(stored)


def test_smoothed_targets_of_classes_by_hand():
    """A row of a class with N rows counts (N + 1) / (N + K) for it, and 1 / (N + K) for each other class."""
    with pytest.warns(tn.SeparableWarning, match="1 class has no rows that its scores allow"):
        fitted = PriorCorrection().fit(np.full((5, 3), 1 / 3), [0, 0, 0, 0, 1])
    totals = [4 * 5 / 7 + 1 / 4, 2 / 4 + 4 / 7, 1 / 4 + 4 / 7]
    assert fitted.predict([[1 / 3] * 3])[0] == pytest.approx(np.array(totals) / 5, abs=1e-6)
    with pytest.warns(tn.SeparableWarning, match="2 classes have no rows"), pytest.warns(tn.OneClassWarning):
        fitted = PriorCorrection().fit(np.full((2, 3), 1 / 3), [1, 1])
    assert fitted.predict([[1 / 3] * 3])[0] == pytest.approx([1 / 5, 3 / 5, 1 / 5], abs=1e-6)


def test_the_limits_of_weights_of_a_matrix_are_walds():
    """At equal scores the weights are ratios of counts, whose logarithms have variance 1/n₀ + 1/n₁."""
    y = np.repeat([0, 1, 2], [20, 50, 30])
    for level, z in ((0.95, 1.959964), (0.5, 0.674490)):
        fitted = PriorCorrection(level=level).fit(np.full((100, 3), 1 / 3), y)
        assert fitted.weight_ == pytest.approx([1, 20 / 50, 20 / 30], rel=1e-6)
        half = z * np.sqrt([0, 1 / 20 + 1 / 50, 1 / 20 + 1 / 30])
        assert fitted.log_weight_low_ == pytest.approx(fitted.log_weight_ - half, abs=1e-5)
        assert fitted.log_weight_high_ == pytest.approx(fitted.log_weight_ + half, abs=1e-5)
    weighted = PriorCorrection().fit(np.full((3, 3), 1 / 3), [0, 1, 2], [20, 50, 30])
    assert weighted.log_weight_high_ == pytest.approx(
        PriorCorrection().fit(np.full((100, 3), 1 / 3), y).log_weight_high_
    )


@pytest.mark.parametrize("tiny", [1e-3, 1e-9, 1e-15])
def test_weights_are_found_however_far_away(tiny):
    """A step of Newton's method from 0 goes much too far."""
    p = np.tile([tiny, tiny**0.5, 1 - tiny - tiny**0.5], (60, 1))
    y = np.repeat([0, 1, 2], [30, 20, 10])
    fitted = PriorCorrection().fit(p, y)
    assert fitted.predict(p[:1])[0] == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=1e-5)


def test_rows_that_give_their_label_no_probability_are_left_out():
    p = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]])
    y = [2, 0, 1, 2, 1]
    fitted, without = PriorCorrection().fit(p, y), PriorCorrection().fit(p[1:], y[1:])
    assert fitted.weight_.tolist() == without.weight_.tolist()


def test_a_weight_that_nothing_determines_may_be_anything():
    with pytest.warns(tn.SeparableWarning, match="No score lies strictly between 0 and 1"):
        fitted = PriorCorrection().fit([0.0, 1.0, 1.0], [0, 1, 0])
    assert (fitted.weight_low_, fitted.weight_, fitted.weight_high_) == (0, 1, math.inf)
    again = PriorCorrection.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert (again.weight_low_, again.weight_high_) == (0, math.inf)


def test_the_weight_of_smoothed_targets_is_named():
    with (
        pytest.warns(tn.SeparableWarning, match=r"the weight is 9\.$"),
        pytest.warns(tn.OneClassWarning),
    ):
        fitted = PriorCorrection().fit([0.5] * 8, [0] * 8)  # 1 / (8 + 2): odds of 1:9
    assert fitted.weight_ == pytest.approx(9)
    with pytest.warns(tn.SeparableWarning, match=r"the weight is 0\.1111\.$"), pytest.warns(tn.OneClassWarning):
        fitted = PriorCorrection().fit([0.5] * 8 + [1.0], [1] * 9)
    assert fitted.weight_ == pytest.approx(1 / 9)
    assert fitted.weight_low_ == 0


def test_damaged_limits_are_refused():
    vector = PriorCorrection().fit([0.2, 0.7, 0.6, 0.3], [0, 1, 0, 1])
    matrix = PriorCorrection().fit(P[:50], Y[:50])
    for fitted, name, value in (
        (vector, "log_weight_low", {"float": "nan"}),
        (vector, "log_weight_high", "inf"),
        (matrix, "log_weight_low", {"float": "-inf"}),
        (matrix, "log_weight_high", 0.5),
    ):
        stored = fitted.to_dict()
        stored["learnt"][name]["value"] = value
        with pytest.raises(tn.InputError, match=f"'{name}' must be"):
            PriorCorrection.from_dict(stored)
