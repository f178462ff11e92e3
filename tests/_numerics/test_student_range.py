import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueness._numerics.student import rejected_t
from trueness._numerics.student_range import RateBox, surely_decided_t

DEVIATIONS = ["standard", "variance"]


def decided(rate, n, p, alpha, deviation):
    box = RateBox(*(tuple(np.array([end], dtype=float) for end in ends) for ends in (rate, n, p)))
    (rejects,), (accepts,) = surely_decided_t(box, alpha, deviation=deviation)
    return rejects, accepts


@pytest.mark.parametrize("deviation", DEVIATIONS)
@settings(max_examples=150, deadline=None)
@given(
    rate=st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)),
    wide=st.sampled_from([0.0, 1e-12, 0.01, 0.1, 1.0]),
    n=st.one_of(st.sampled_from([1.0, 2.0]), st.floats(1, 60)),
    more=st.sampled_from([0.0, 0.5, 10.0]),
    p=st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)),
    reach=st.sampled_from([0.0, 0.001, 0.1]),
    alpha=st.sampled_from([0.01, 0.05, 0.3]),
)
def test_what_is_surely_decided_is_decided_so_everywhere_within_the_limits(
    deviation, rate, wide, n, more, p, reach, alpha
):
    top, q = min(rate + wide, 1.0), min(p + reach, 1.0)
    rejects, accepts = decided((rate, top), (n, n + more), (p, q), alpha, deviation)
    assert not (rejects and accepts)
    for rows in np.linspace(n, n + more, 4):
        for r in np.linspace(rate, top, 9):
            found = rejected_t([r * rows], [rows], [0], np.linspace(p, q, 7), alpha, deviation=deviation)
            assert not rejects or found.all()
            assert not accepts or not found.any()


@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_known_rates_and_scores_are_nearly_all_decided(deviation):
    rng = np.random.default_rng(0)
    n, p = rng.integers(50, 5000, 400).astype(float), rng.random(400)
    k = rng.binomial(n.astype(int), rng.random(400)).astype(float)
    rejects, accepts = surely_decided_t(RateBox((k / n,) * 2, (n, n), (p, p)), 0.05, deviation=deviation)
    exact = np.array(
        [rejected_t([a], [b], [0], [c], 0.05, deviation=deviation)[0] for a, b, c in zip(k, n, p, strict=True)]
    )
    assert (rejects == exact).all()
    assert (accepts == ~exact).all()


def test_equal_labels_refute_every_score_but_their_rate():
    assert decided((0, 0), (9, 9), (1e-300, 1e-17), 0.05, "standard") == (True, False)
    assert decided((0, 0), (9, 9), (0, 0), 0.05, "standard") == (False, True)
    assert decided((0, 0), (9, 9), (0, 0), 0.05, "variance") == (True, False)
    assert decided((1, 1), (9, 9), (0.5, np.nextafter(1, 0)), 0.05, "standard") == (True, False)


def test_a_rate_below_the_last_digit_of_1_keeps_its_spread():
    assert decided((1e-17, 1.1e-17), (11, 11), (1e-10, 1.1e-10), 0.05, "standard") == (False, True)
    assert decided((1e-9, 1.1e-9), (11, 11), (1e-5, 1.1e-5), 0.05, "standard") == (False, True)
    assert decided((1e-17, 1.1e-17), (11, 11), (1e-7, 1.1e-7), 0.05, "standard") == (True, False)


def test_one_row_refutes_nothing_and_none_is_no_test():
    assert decided((0, 0), (1, 1), (0.5, 0.5), 0.05, "standard") == (False, True)
    assert decided((0, 1), (0, 9), (0.5, 0.5), 0.05, "standard") == (False, False)
