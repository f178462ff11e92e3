import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness import simulate
from trueness.errors import InputError


def test_the_first_example_of_gupta_and_ramdas():
    d = simulate.binned(10, [0.2, 0.8], [0.3, 0.6], weights=[90, 10])
    assert d.true_ece("l1") == pytest.approx(0.11)
    assert d.true_ece("l2") == pytest.approx(np.sqrt(0.013))
    assert d.true_ece("max") == pytest.approx(0.2)
    assert d.true_squared_ece() == pytest.approx(0.013)


def test_bins_with_equal_scores_are_one():
    d = simulate.binned(1000, [0.5, 0.5], [0.2, 0.8], seed=0)
    assert d.true_ece() == pytest.approx(0, abs=1e-15)
    assert set(d.truth) == {0.5}


def test_a_bin_without_weight_is_never_drawn():
    d = simulate.binned(1000, [0.1, 0.9], [0.1, 0.0], weights=[1, 0], seed=0)
    assert set(d.y_prob) == {0.1}
    assert d.true_ece("max") == 0


def test_every_kind_of_error_by_hand():
    scores = [[0.6, 0.4, 0.0], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.5, 0.5, 0.0]]
    rates = [[0.8, 0.2, 0.0], [0.6, 0.4, 0.0], [0.2, 0.4, 0.4], [0.1, 0.9, 0.0]]
    d = simulate.binned(5, scores, rates)
    # The largest score is 0.6 in three bins with truths 0.8, 0.6, 0.4: right on average. 0.5 (class 0, the first of
    # two) has 0.1.
    assert d.true_ece(kind="confidence") == pytest.approx(0.1)
    # Class 0: 0.6 has 0.7 on average (two bins), 0.5 has 0.1; class 2: 0.6 has 0.4.
    assert d.true_ece(kind="top-label") == pytest.approx((2 * 0.1 + 0.4 + 0.2) / 4)
    # Columns: (2 · 0.1 + 0 + 0.4) / 4, (0.2 + 0.1 + 0.2 + 0.4) / 4, (0 + 0.1 + 0.2) / 4.
    assert d.true_ece() == pytest.approx((0.6 + 0.9 + 0.3) / 4 / 3)
    assert d.true_squared_ece(1) == pytest.approx(0.4**2 / 4)
    # (0.6, 0.4): (0.2, -0.2); (0.6, 0.3): (0, 0.1); (0.6, 0.2): (-0.2, 0); (0.5, 0.5): (-0.4, 0.4).
    assert d.true_squared_ece(2) == pytest.approx((0.08 + 0.01 + 0.04 + 0.32) / 4)
    assert d.true_squared_ece(3) == pytest.approx((0.08 + 0.02 + 0.08 + 0.32) / 4)


def test_labels_come_as_often_as_their_rates():
    d = simulate.binned(40_000, [0.3, 0.6, 0.9], [0.0, 0.5, 1.0], weights=[1, 2, 1], seed=3)
    assert d.y_true[d.y_prob == 0.3].max() == 0
    assert d.y_true[d.y_prob == 0.9].min() == 1
    assert d.y_true[d.y_prob == 0.6].mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(20_000))
    assert (d.y_prob == 0.6).mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(40_000))


def test_given_scores_are_kept_in_their_order():
    p = np.random.default_rng(0).random(100)
    d = simulate.outcomes(p, seed=0)
    assert d.y_prob.tobytes() == p.tobytes()
    assert d.truth.tobytes() == p.tobytes()
    assert d.truth is not d.y_prob
    assert d.true_ece() == 0


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.25, 0.5]), st.floats(0, 1)), min_size=1, max_size=30
    ),
    st.floats(1, 9),
)
def test_rows_may_come_in_any_order_and_any_number_of_times(rows, norm):
    p, t = map(np.array, zip(*rows, strict=True))
    once = simulate.outcomes(p, t).true_ece(norm)
    assert simulate.outcomes(np.tile(p[::-1], 3), np.tile(t[::-1], 3)).true_ece(
        norm
    ) == pytest.approx(once, abs=1e-12)
    assert simulate.outcomes(1 - p, 1 - t).true_ece(norm) == pytest.approx(once, abs=1e-12)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30), st.floats(1, 20)
)
def test_norms_grow_with_their_exponent(rows, norm):
    p, t = map(np.array, zip(*rows, strict=True))
    d = simulate.outcomes(p, t)
    assert d.true_ece("l1") - 1e-12 <= d.true_ece(norm) <= d.true_ece("max") + 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: simulate.binned(5, [0.1, 1.2], [0.1, 0.2]),
            r"`scores` must lie in \[0, 1\]; 1 of 2 values does not, the first is 1.2 at row 1",
        ),
        (
            lambda: simulate.binned(5, [0.1, 0.2], [0.1, float("nan")]),
            r"`rates` must lie in \[0, 1\]; .* nan at row 1",
        ),
        (
            lambda: simulate.binned(5, [0.1, 0.2], [0.1]),
            r"`rates` must have the shape of `scores`, \(2,\); got \(1,\)",
        ),
        (
            lambda: simulate.binned(5, [0.1, 0.2], [0.1, 0.2], weights=[1]),
            r"`weights` must have 2 entries; got shape \(1,\)",
        ),
        (
            lambda: simulate.binned(5, [0.1, 0.2], [0.1, 0.2], weights=[1, -1]),
            "`weights` must be finite and non-negative",
        ),
        (
            lambda: simulate.binned(5, [0.1], [0.1], weights=["a"]),
            "`weights` must hold numbers only; got list",
        ),
        (lambda: simulate.binned(5, ["a"], [0.1]), "`scores` must hold numbers only; got list"),
        (
            lambda: simulate.binned(5, [], []),
            r"`scores` must be a vector or a matrix with at least one entry; got shape \(0,\)",
        ),
        (
            lambda: simulate.binned(5, [[0.5, 0.4]], [[0.5, 0.5]]),
            "Rows of `scores` must sum to 1; 1 of 1 does not, the first sums to 0.9 at row 0",
        ),
        (lambda: simulate.outcomes([[1.0]]), "`y_prob` must have at least 2 columns"),
        (lambda: simulate.outcomes([0.5], [0.5, 0.5]), "`truth` must have the shape of `y_prob`"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
