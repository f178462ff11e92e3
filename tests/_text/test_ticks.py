"""Axes of probabilities end at round numbers and have readable ticks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._text.ticks import linear_ticks, percent_tick, round_up, zoomed_ends


@given(st.floats(0, 1), st.floats(0, 1))
def test_everything_lies_between_the_ends_and_the_ticks_fill_them(a, b):
    least, most = sorted([a, b])
    low, high = zoomed_ends(least, most)
    assert low <= least + 1e-9
    assert high >= most * (1 - 1e-6)
    ticks = linear_ticks(low, high)
    assert (ticks[0], ticks[-1]) == (pytest.approx(low), pytest.approx(high))
    assert 5 <= len(ticks) <= 7


@given(st.floats(1e-10, 0.9))
def test_a_number_is_rounded_up_by_at_most_a_half(value):
    assert value * (1 - 1e-6) <= round_up(value) <= 1.5 * value * (1 + 1e-6)


def test_ticks_are_told_in_percent():
    assert [percent_tick(v) for v in (0, 1e-6, 0.015, 0.5, 0.99999, 1)] == [
        *("0 %", "0.0001 %", "1.5 %", "50 %", "99.999 %", "100 %")
    ]
