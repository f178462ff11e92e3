"""Shares below an edge lie within what moments allow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness.measure._below import Moments, share_below


def moments(x, error=1e-14):
    one = np.ones(1)
    return Moments(one * x.mean(), one * error, one * (x**2).mean(), one * error, one * x.min(), one * x.max())


@given(x=st.lists(st.floats(0.25, 0.75), min_size=2, max_size=30), edge=st.floats(0.26, 0.74))
def test_a_share_lies_within_its_limits(x, edge):
    x = np.array(x)
    if x.min() < edge <= x.max():
        low, high = share_below(moments(x), np.array([edge]))
        assert low[0] - 1e-9 <= (x < edge).mean() <= high[0] + 1e-9


def test_at_the_middle_of_even_scores_a_sixth_lies_surely_on_either_side():
    """Two thirds at the middle and a sixth at each end have the same mean and variance."""
    low, high = share_below(moments(np.linspace(0.25, 0.75, 100_001)), np.array([0.5]))
    assert low[0] == pytest.approx(1 / 6, abs=1e-4)
    assert high[0] == pytest.approx(5 / 6, abs=1e-4)


def test_two_scores_are_told_apart():
    low, high = share_below(moments(np.array([0.25, 0.25, 0.25, 0.75])), np.array([0.5]))
    assert low[0] == pytest.approx(0.75)
    assert high[0] == pytest.approx(0.75)


def test_the_squares_of_the_smallest_scores_say_nothing():
    """Of 1e-300, 2e-300 and 9e-300 two lie below 5e-300; the mean alone allows one or more."""
    one = np.ones(1)
    x = np.array([1e-300, 2e-300, 9e-300])
    known = Moments(one * x.mean(), one * 0, one * (x**2).mean(), one * 0, one * x[0], one * x[-1])
    low, high = share_below(known, np.array([5e-300]))
    assert low[0] <= 2 / 3 <= high[0]
