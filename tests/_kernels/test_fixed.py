from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import fixed

scores = st.floats(0, 1, allow_subnormal=True)


@given(st.lists(scores, min_size=1))
def test_the_two_parts_are_the_score_in_units_of_a_53rd_power_of_two(p):
    hi, lo = fixed.parts(np.array(p))
    assert [int(h) * 2**27 + int(low) for h, low in zip(hi, lo, strict=True)] == [
        Fraction(x) * 2**53 // 1 for x in p
    ]


@given(st.lists(scores, min_size=1))
def test_both_parts_are_small_enough_to_be_summed_over_many_rows(p):
    hi, lo = fixed.parts(np.array(p))
    assert hi.max() <= 2**26
    assert lo.max() < 2**27
    assert min(hi.min(), lo.min()) >= 0


@given(st.lists(scores, min_size=1))
def test_square_parts_are_the_parts_of_the_float_product(p):
    assert np.array_equal(
        fixed.square_parts(np.array(p)), fixed.parts(np.array([x * x for x in p]))
    )


@pytest.mark.parametrize("split", [fixed.parts, fixed.square_parts])
def test_a_float32_score_is_the_float64_number_it_denotes(split):
    p = np.random.default_rng(1).random(1000, dtype=np.float32)
    assert np.array_equal(split(p), split(p.astype(np.float64)))


def test_one_is_the_unit_and_minus_zero_is_zero():
    hi, lo = fixed.parts(np.array([1.0, -0.0]))
    assert [int(h) * 2**27 + int(low) for h, low in zip(hi, lo, strict=True)] == [2**53, 0]
