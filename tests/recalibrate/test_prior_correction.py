"""Correction for a prior shift, with weights that are known or estimated: by hand, laws, limits, messages."""

import json
import math
import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

import trueness as tn
from trueness import PriorCorrection


def test_odds_are_divided_by_the_weight_by_hand():
    # 1:1, 9:1 and 3:1 become 1:3, 3:1 and 1:1.
    assert tn.recalibrate.prior_correction([0.5, 0.9, 0.75], weight=3) == pytest.approx(
        [0.25, 0.75, 0.5]
    )


@pytest.mark.parametrize("weight", [20, 1 / 20, 2.5, 1e-3])
def test_a_weight_is_undone_by_its_inverse(weight):
    p = np.r_[0, 1, 1e-300, np.random.default_rng(0).random(1000)]
    found = tn.recalibrate.prior_correction(
        tn.recalibrate.prior_correction(p, weight=weight), weight=1 / weight
    )
    assert np.abs(found - p).max() < 1e-12
    P = np.random.default_rng(1).dirichlet([1, 1, 0.2], 500)
    once = tn.recalibrate.prior_correction(P, weight=[1, weight, 3])
    assert (
        np.abs(tn.recalibrate.prior_correction(once, weight=[1, 1 / weight, 1 / 3]) - P).max()
        < 1e-12
    )


def test_zero_one_and_weight_one_change_nothing():
    p = np.r_[0, 1, 5e-324, 1 - 2**-53, np.random.default_rng(0).random(1000)]
    assert tn.recalibrate.prior_correction(p, weight=1).tolist() == p.tolist()
    for weight in (1e-300, 0.1, 7, 1e300):
        assert tn.recalibrate.prior_correction([0.0, 1.0], weight=weight).tolist() == [0.0, 1.0]
        assert np.isfinite(tn.recalibrate.prior_correction(p, weight=weight)).all()


def test_rates_are_the_weight_of_their_odds():
    p = np.linspace(0, 1, 11)
    by_rates = tn.recalibrate.prior_correction(p, rate_train=0.5, rate_deploy=0.02)
    assert by_rates == pytest.approx(tn.recalibrate.prior_correction(p, weight=49))
    # A model that knows nothing predicts the rate: of training, then of deployment.
    assert tn.recalibrate.prior_correction(
        [0.3], rate_train=0.3, rate_deploy=0.01
    ) == pytest.approx([0.01])
    shares = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
    found = tn.recalibrate.prior_correction(
        [shares[0]], rate_train=shares[0], rate_deploy=shares[1]
    )
    assert found == pytest.approx(np.array([shares[1]]))


def test_a_matrix_of_two_columns_is_the_vector_of_the_second():
    p = np.random.default_rng(0).random(50)
    found = tn.recalibrate.prior_correction(np.column_stack([1 - p, p]), weight=[1, 20])
    assert found[:, 1] == pytest.approx(tn.recalibrate.prior_correction(p, weight=20), abs=1e-14)
    assert found.sum(axis=1) == pytest.approx(1)
    scaled = tn.recalibrate.prior_correction(np.column_stack([1 - p, p]), weight=[5, 100])
    assert scaled == pytest.approx(found)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "`weight` must be given, or both `rate_train` and `rate_deploy`; got neither"),
        (
            {"weight": 2, "rate_train": 0.1},
            "`weight` must be given without `rate_train` and `rate_deploy`",
        ),
        ({"weight": 2, "rate_train": 0.1, "rate_deploy": 0.2}, "`weight` must be given without"),
        ({"rate_train": 0.1}, "`rate_deploy` must be given with `rate_train`"),
        ({"rate_deploy": 0.1}, "`rate_train` must be given with `rate_deploy`"),
        ({"weight": 0}, "`weight` must be one finite number above 0 for a vector of scores; got 0"),
        ({"weight": -1.0}, "`weight` must be one finite number above 0"),
        ({"weight": float("nan")}, "`weight` must be one finite number above 0"),
        ({"weight": float("inf")}, "`weight` must be one finite number above 0"),
        ({"weight": [1, 2]}, "`weight` must be one finite number above 0"),
        (
            {"rate_train": 0, "rate_deploy": 0.5},
            "`rate_train` must lie strictly between 0 and 1; got 0",
        ),
        (
            {"rate_train": 0.5, "rate_deploy": 1.0},
            "`rate_deploy` must lie strictly between 0 and 1; got 1.0",
        ),
    ],
)
def test_bad_weights_and_rates_are_refused(how, message):
    with pytest.raises(tn.InputError, match=message):
        tn.recalibrate.prior_correction([0.2, 0.8], **how)
    if how:
        with pytest.raises(tn.InputError, match=message):
            tn.PriorCorrection(**how).fit([0.2, 0.8], [0, 1])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"weight": 2},
            "`weight` must have one finite number above 0 for each of the 3 columns; got 2",
        ),
        ({"weight": [1, 2]}, "for each of the 3 columns"),
        ({"weight": [1, 2, 0]}, "for each of the 3 columns"),
        (
            {"rate_train": [0.2, 0.2, 0.2], "rate_deploy": [0.2, 0.3, 0.5]},
            "`rate_train` must sum to 1; got .* 0.6",
        ),
    ],
)
def test_a_matrix_needs_one_number_per_class(how, message):
    with pytest.raises(tn.InputError, match=message):
        tn.recalibrate.prior_correction([[0.2, 0.3, 0.5]], **how)


@pytest.mark.parametrize(
    ("p", "message"),
    [([0.2, 1.3], "must lie in"), ([[[0.2]]], "must be a vector, or"), ([[0.2, 0.2]], "sum to")],
)
def test_bad_scores_are_refused(p, message):
    with pytest.raises(tn.InputError, match=f"`y_prob` .*{message}|{message}"):
        tn.recalibrate.prior_correction(p, weight=2)


def test_shares_may_miss_one_by_a_millionth():
    for error, good in ((9e-7, True), (-9e-7, True), (1.1e-6, False), (-1.1e-6, False)):
        how = {"rate_train": [0.5, 0.5 + error], "rate_deploy": [0.1, 0.9]}
        if good:
            assert tn.recalibrate.prior_correction([[0.5, 0.5]], **how) == pytest.approx(
                np.array([[0.1, 0.9]]), abs=1e-6
            )
        else:
            with pytest.raises(tn.InputError, match="`rate_train` must sum to 1"):
                tn.recalibrate.prior_correction([[0.5, 0.5]], **how)


def test_the_largest_and_smallest_weights_divide_the_odds():
    largest, least = sys.float_info.max, sys.float_info.min
    assert tn.recalibrate.prior_correction([0.5, 1 - 2**-53], weight=largest) == pytest.approx(
        [1 / largest, 2**53 / largest]
    )
    assert 1 - tn.recalibrate.prior_correction([1e-200], weight=1e-280)[0] == pytest.approx(
        0, abs=1e-15
    )
    assert tn.recalibrate.prior_correction([1e-200], weight=1e-200) == pytest.approx([0.5])
    assert tn.recalibrate.prior_correction([least], weight=least) == pytest.approx([0.5])
    assert tn.recalibrate.prior_correction([1 - 2**-53], weight=1e140) == pytest.approx(
        [2**53 / 1e140]
    )
    for bad in (True, np.True_):
        with pytest.raises(tn.InputError, match="`weight` must be one finite number above 0"):
            tn.recalibrate.prior_correction([0.5], weight=bad)


def test_a_matrix_of_one_column_is_refused_and_two_are_enough():
    with pytest.raises(tn.InputError, match=r"`y_prob`"):
        tn.recalibrate.prior_correction([[1.0], [1.0]], weight=[1.0])
    assert tn.recalibrate.prior_correction([[0.5, 0.5]], weight=[3, 1]) == pytest.approx(
        np.array([[0.25, 0.75]])
    )
    for bad in ([1.0, np.inf], [1.0, np.nan], [True, True], [1, -2], [[1, 2]]):
        with pytest.raises(
            tn.InputError, match="one finite number above 0 for each of the 2 columns"
        ):
            tn.recalibrate.prior_correction([[0.5, 0.5]], weight=bad)


RNG = np.random.default_rng(4)
P = RNG.dirichlet([1.0, 2.0, 0.5], 2000)
Y = (P.cumsum(axis=1) < RNG.random(2000)[:, None]).sum(axis=1)
WEIGHTS = np.array([1.0, 4.0, 0.5])


def test_the_weight_of_a_vector_is_that_of_prior_shift():
    p = RNG.random(500)
    y = (RNG.random(500) < p).astype(int)
    shifted = expit(logit(p) + math.log(20))
    fitted, shift = (
        PriorCorrection(level=0.9).fit(shifted, y),
        tn.prior_shift(y, shifted, level=0.9),
    )
    assert (fitted.weight_, fitted.weight_low_, fitted.weight_high_) == pytest.approx(
        (shift.weight, shift.low, shift.high)
    )
    new = RNG.random(9)
    assert (
        fitted.predict(new).tolist()
        == tn.recalibrate.prior_correction(new, weight=fitted.weight_).tolist()
    )
    # The likelihood equation: expected and observed events agree.
    assert fitted.predict(shifted[::-1]).sum() == pytest.approx(y.sum())


def test_the_weights_of_a_matrix_maximise_the_likelihood():
    weighted = tn.recalibrate.prior_correction(P, weight=1 / WEIGHTS)
    fitted = PriorCorrection().fit(weighted, Y)
    assert fitted.weight_[0] == 1
    assert ((fitted.weight_low_ <= WEIGHTS) & (fitted.weight_high_ >= WEIGHTS)).all()

    def loss(b):
        z = np.log(weighted) + np.r_[0, b]
        return (logsumexp(z, axis=1) - z[np.arange(Y.size), Y]).mean()

    best = minimize(loss, np.zeros(2), tol=1e-12).x
    assert -np.log(fitted.weight_[1:]) == pytest.approx(best, abs=1e-4)
    assert fitted.predict(weighted[::-1]).sum(axis=0) == pytest.approx(np.bincount(Y), abs=1e-3)


@pytest.mark.parametrize(
    ("how", "weight"), [({"weight": 20}, 20), ({"rate_train": 0.5, "rate_deploy": 0.2}, 4)]
)
def test_a_known_weight_is_kept(how, weight):
    fitted = PriorCorrection(**how).fit([0.1, 0.2, 0.9], [0, 1, 1])
    assert fitted.weight_ == pytest.approx(weight)
    assert fitted.weight_low_ is None
    assert fitted.predict([0.5]).tolist() == pytest.approx([1 / (1 + weight)])
    again = PriorCorrection.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert again.predict([0.3]).tolist() == fitted.predict([0.3]).tolist()


def test_one_class_is_smoothed_with_a_warning_and_stored_with_its_infinite_limit():
    with (
        pytest.warns(tn.errors.SeparableWarning, match="Platt's smoothed targets"),
        pytest.warns(tn.errors.OneClassWarning),
    ):
        fitted = PriorCorrection().fit([0.5] * 8, [0] * 8)
    assert fitted.predict([0.5]) == pytest.approx([0.1])
    assert fitted.weight_high_ == math.inf
    again = PriorCorrection.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert again.weight_low_ == fitted.weight_low_
    with pytest.warns(tn.errors.SeparableWarning, match="1 class has no rows"):
        matrix = PriorCorrection().fit(np.full((8, 3), 1 / 3), [0, 1] * 4)
    # Four rows of each of two classes: (N + 1) / (N + K) and 1 / (N + K) on average.
    assert matrix.predict([[1 / 3] * 3]) == pytest.approx(
        np.array([[3 / 7, 3 / 7, 1 / 7]]), abs=1e-6
    )


def test_smoothed_targets_of_classes_by_hand():
    """A row of a class with N rows counts (N + 1) / (N + K) for it, and 1 / (N + K) for each other class."""
    with pytest.warns(
        tn.errors.SeparableWarning, match="1 class has no rows that its scores allow"
    ):
        fitted = PriorCorrection().fit(np.full((5, 3), 1 / 3), [0, 0, 0, 0, 1])
    totals = [4 * 5 / 7 + 1 / 4, 2 / 4 + 4 / 7, 1 / 4 + 4 / 7]
    assert fitted.predict([[1 / 3] * 3])[0] == pytest.approx(np.array(totals) / 5, abs=1e-6)
    with (
        pytest.warns(tn.errors.SeparableWarning, match="2 classes have no rows"),
        pytest.warns(tn.errors.OneClassWarning),
    ):
        fitted = PriorCorrection().fit(np.full((2, 3), 1 / 3), [1, 1], labels=range(3))
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
    p = np.array(
        [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]]
    )
    y = [2, 0, 1, 2, 1]
    fitted, without = PriorCorrection().fit(p, y), PriorCorrection().fit(p[1:], y[1:])
    assert fitted.weight_.tolist() == without.weight_.tolist()


def test_a_weight_that_nothing_determines_may_be_anything():
    with pytest.warns(tn.errors.SeparableWarning, match="No score lies strictly between 0 and 1"):
        fitted = PriorCorrection().fit([0.0, 1.0, 1.0], [0, 1, 0])
    assert (fitted.weight_low_, fitted.weight_, fitted.weight_high_) == (0, 1, math.inf)
    again = PriorCorrection.from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert (again.weight_low_, again.weight_high_) == (0, math.inf)


def test_the_weight_of_smoothed_targets_is_named():
    with (
        pytest.warns(tn.errors.SeparableWarning, match=r"the weight is 9\.$"),
        pytest.warns(tn.errors.OneClassWarning),
    ):
        fitted = PriorCorrection().fit([0.5] * 8, [0] * 8)  # 1 / (8 + 2): odds of 1:9
    assert fitted.weight_ == pytest.approx(9)
    with (
        pytest.warns(tn.errors.SeparableWarning, match=r"the weight is 0\.1111\.$"),
        pytest.warns(tn.errors.OneClassWarning),
    ):
        fitted = PriorCorrection().fit([0.5] * 8 + [1.0], [1] * 9)
    assert fitted.weight_ == pytest.approx(1 / 9)
    assert fitted.weight_low_ == 0


def test_damaged_limits_are_refused():
    vector = PriorCorrection().fit([0.2, 0.7, 0.6, 0.3], [0, 1, 0, 1])
    matrix = PriorCorrection().fit(P[:50], Y[:50])
    for fitted, name, value in (
        (vector, "log_weight", "20"),
        (vector, "log_weight_low", {"float": "nan"}),
        (vector, "log_weight_high", "inf"),
        (matrix, "log_weight_low", {"float": "-inf"}),
        (matrix, "log_weight_high", 0.5),
    ):
        stored = fitted.to_dict()
        stored["learnt"][name]["value"] = value
        with pytest.raises(tn.InputError, match=f"'{name}' must be"):
            PriorCorrection.from_dict(stored)


def test_given_weights_of_classes_are_relative_to_the_first():
    weight = [2.0, 1.0, 4.0]
    fitted = PriorCorrection(weight=weight).fit(P[:60], Y[:60])
    assert fitted.weight_.tolist() == pytest.approx([1, 0.5, 2])
    assert fitted.weight_low_ is None
    assert fitted.predict(P[60:70]) == pytest.approx(
        tn.recalibrate.prior_correction(P[60:70], weight=weight)
    )
    rates = {"rate_train": [0.5, 0.25, 0.25], "rate_deploy": [0.2, 0.2, 0.6]}
    by_rates = PriorCorrection(**rates).fit(P[:60], Y[:60])
    assert by_rates.weight_.tolist() == pytest.approx([1, 0.5, 1 / 6])
