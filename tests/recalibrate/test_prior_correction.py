"""Correction for a prior shift: by hand, laws, what it undoes, messages."""

import sys

import numpy as np
import pytest

import trueness as tn


def test_odds_are_divided_by_the_weight_by_hand():
    # 1:1, 9:1 and 3:1 become 1:3, 3:1 and 1:1.
    assert tn.prior_correction([0.5, 0.9, 0.75], weight=3) == pytest.approx([0.25, 0.75, 0.5])


@pytest.mark.parametrize("weight", [20, 1 / 20, 2.5, 1e-3])
def test_a_weight_is_undone_by_its_inverse(weight):
    p = np.r_[0, 1, 1e-300, np.random.default_rng(0).random(1000)]
    found = tn.prior_correction(tn.prior_correction(p, weight=weight), weight=1 / weight)
    assert np.abs(found - p).max() < 1e-12
    P = np.random.default_rng(1).dirichlet([1, 1, 0.2], 500)
    once = tn.prior_correction(P, weight=[1, weight, 3])
    assert np.abs(tn.prior_correction(once, weight=[1, 1 / weight, 1 / 3]) - P).max() < 1e-12


def test_zero_one_and_weight_one_change_nothing():
    p = np.r_[0, 1, 5e-324, 1 - 2**-53, np.random.default_rng(0).random(1000)]
    assert tn.prior_correction(p, weight=1).tolist() == p.tolist()
    for weight in (1e-300, 0.1, 7, 1e300):
        assert tn.prior_correction([0.0, 1.0], weight=weight).tolist() == [0.0, 1.0]
        assert np.isfinite(tn.prior_correction(p, weight=weight)).all()


def test_rates_are_the_weight_of_their_odds():
    p = np.linspace(0, 1, 11)
    by_rates = tn.prior_correction(p, rate_train=0.5, rate_deploy=0.02)
    assert by_rates == pytest.approx(tn.prior_correction(p, weight=49))
    # A model that knows nothing predicts the rate: of training, then of deployment.
    assert tn.prior_correction([0.3], rate_train=0.3, rate_deploy=0.01) == pytest.approx([0.01])
    shares = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
    found = tn.prior_correction([shares[0]], rate_train=shares[0], rate_deploy=shares[1])
    assert found == pytest.approx(np.array([shares[1]]))


def test_a_matrix_of_two_columns_is_the_vector_of_the_second():
    p = np.random.default_rng(0).random(50)
    found = tn.prior_correction(np.column_stack([1 - p, p]), weight=[1, 20])
    assert found[:, 1] == pytest.approx(tn.prior_correction(p, weight=20), abs=1e-14)
    assert found.sum(axis=1) == pytest.approx(1)
    scaled = tn.prior_correction(np.column_stack([1 - p, p]), weight=[5, 100])
    assert scaled == pytest.approx(found)


def test_frames_and_float32_are_accepted():
    pandas = pytest.importorskip("pandas")
    found = tn.prior_correction(pandas.Series([0.5, 0.25]), weight=3)
    assert found.tolist() == tn.prior_correction([0.5, 0.25], weight=3).tolist()
    assert tn.prior_correction([0.5, 0.25], weight=np.float32(3)).tolist() == found.tolist()
    single = tn.prior_correction(np.array([0.5, 0.25], np.float32), weight=3)
    assert single.dtype == np.float64
    assert single.tolist() == found.tolist()


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "`weight` must be given, or both `rate_train` and `rate_deploy`; got neither"),
        ({"weight": 2, "rate_train": 0.1}, "`weight` must be given without `rate_train` and `rate_deploy`"),
        ({"weight": 2, "rate_train": 0.1, "rate_deploy": 0.2}, "`weight` must be given without"),
        ({"rate_train": 0.1}, "`rate_deploy` must be given with `rate_train`"),
        ({"rate_deploy": 0.1}, "`rate_train` must be given with `rate_deploy`"),
        ({"weight": 0}, "`weight` must be one finite number above 0 for a vector of scores; got 0"),
        ({"weight": -1.0}, "`weight` must be one finite number above 0"),
        ({"weight": float("nan")}, "`weight` must be one finite number above 0"),
        ({"weight": float("inf")}, "`weight` must be one finite number above 0"),
        ({"weight": [1, 2]}, "`weight` must be one finite number above 0"),
        ({"rate_train": 0, "rate_deploy": 0.5}, "`rate_train` must lie strictly between 0 and 1; got 0"),
        ({"rate_train": 0.5, "rate_deploy": 1.0}, "`rate_deploy` must lie strictly between 0 and 1; got 1.0"),
    ],
)
def test_bad_weights_and_rates_are_refused(how, message):
    with pytest.raises(tn.InputError, match=message):
        tn.prior_correction([0.2, 0.8], **how)
    if how:
        with pytest.raises(tn.InputError, match=message):
            tn.PriorCorrection(**how).fit([0.2, 0.8], [0, 1])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"weight": 2}, "`weight` must have one finite number above 0 for each of the 3 columns; got 2"),
        ({"weight": [1, 2]}, "for each of the 3 columns"),
        ({"weight": [1, 2, 0]}, "for each of the 3 columns"),
        ({"rate_train": [0.2, 0.2, 0.2], "rate_deploy": [0.2, 0.3, 0.5]}, "`rate_train` must sum to 1; got .* 0.6"),
    ],
)
def test_a_matrix_needs_one_number_per_class(how, message):
    with pytest.raises(tn.InputError, match=message):
        tn.prior_correction([[0.2, 0.3, 0.5]], **how)


@pytest.mark.parametrize(
    ("p", "message"), [([0.2, 1.3], "must lie in"), ([[[0.2]]], "one or two dimensions"), ([[0.2, 0.2]], "sum to")]
)
def test_bad_scores_are_refused(p, message):
    with pytest.raises(tn.InputError, match=f"`y_prob` .*{message}|{message}"):
        tn.prior_correction(p, weight=2)


def test_shares_may_miss_one_by_a_millionth():
    for error, good in ((9e-7, True), (-9e-7, True), (1.1e-6, False), (-1.1e-6, False)):
        how = {"rate_train": [0.5, 0.5 + error], "rate_deploy": [0.1, 0.9]}
        if good:
            assert tn.prior_correction([[0.5, 0.5]], **how) == pytest.approx(np.array([[0.1, 0.9]]), abs=1e-6)
        else:
            with pytest.raises(tn.InputError, match="`rate_train` must sum to 1"):
                tn.prior_correction([[0.5, 0.5]], **how)


def test_the_largest_and_smallest_weights_divide_the_odds():
    largest, least = sys.float_info.max, sys.float_info.min
    assert tn.prior_correction([0.5, 1 - 2**-53], weight=largest) == pytest.approx([1 / largest, 2**53 / largest])
    assert 1 - tn.prior_correction([1e-200], weight=1e-280)[0] == pytest.approx(0, abs=1e-15)
    assert tn.prior_correction([1e-200], weight=1e-200) == pytest.approx([0.5])
    assert tn.prior_correction([least], weight=least) == pytest.approx([0.5])
    assert tn.prior_correction([1 - 2**-53], weight=1e140) == pytest.approx([2**53 / 1e140])
    for bad in (True, np.True_):
        with pytest.raises(tn.InputError, match="`weight` must be one finite number above 0"):
            tn.prior_correction([0.5], weight=bad)


def test_a_matrix_of_one_column_is_refused_and_two_are_enough():
    with pytest.raises(tn.InputError, match=r"`y_prob`"):
        tn.prior_correction([[1.0], [1.0]], weight=[1.0])
    assert tn.prior_correction([[0.5, 0.5]], weight=[3, 1]) == pytest.approx(np.array([[0.25, 0.75]]))
    for bad in ([1.0, np.inf], [1.0, np.nan], [True, True], [1, -2], [[1, 2]]):
        with pytest.raises(tn.InputError, match="one finite number above 0 for each of the 2 columns"):
            tn.prior_correction([[0.5, 0.5]], weight=bad)
