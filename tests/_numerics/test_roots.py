"""Zeros of functions of one number, against SciPy's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from trueness._numerics.roots import bracketed_root

FUNCTIONS = {
    "straight": (lambda x: x - 0.3, -1, 5),
    "cubic": (lambda x: x**3 - 2 * x - 5, 2, 3),
    "steep": (lambda x: math.tanh(1e4 * (x - 0.1234)), -7, 11),
    "exponential": (lambda x: math.exp(-x) - 1e-8, 0, 400),
    "falling": (lambda x: math.cos(x) - x, 0, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_zero_is_scipys_in_about_as_many_calls(name):
    f, low, high = FUNCTIONS[name]
    calls = []

    def counted(x):
        calls.append(x)
        return f(x)

    found = bracketed_root(counted, low, high, xtol=1e-12)
    ours = len(calls)
    expected = brentq(counted, low, high, xtol=1e-12)
    assert found == pytest.approx(expected, rel=1e-11, abs=2e-12)
    assert all(low <= x <= high for x in calls)
    assert ours <= 2 * (len(calls) - ours) + 5


signs = st.sampled_from([1, -1])


@given(
    zero=st.floats(-1e3, 1e3),
    power=st.sampled_from([1, 3, 5]),
    width=st.floats(1e-3, 1e3),
    sign=signs,
)
def test_the_zero_is_within_the_tolerance(zero, power, width, sign):
    def f(x):
        return sign * math.copysign(abs(x - zero) ** (1 / power), x - zero)

    found = bracketed_root(f, zero - width, zero + 2 * width)
    assert abs(found - zero) <= 2e-12 + 1e-12 * abs(zero)


def test_an_end_may_be_the_zero():
    assert bracketed_root(lambda x: x, 0, 1) == 0
    assert bracketed_root(lambda x: x - 1, 0, 1) == 1


@pytest.mark.parametrize("f", [lambda x: x * x + 1, lambda x: -1.0, lambda x: math.nan])
def test_ends_of_one_sign_are_refused(f):
    with pytest.raises(ValueError, match="must have different signs"):
        bracketed_root(f, -1, 2)
