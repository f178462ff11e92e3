"""Numbers as text."""

import math
from types import SimpleNamespace

import pytest

from trueness._text.numbers import (
    common_decimals,
    confidence_set,
    level_percent,
    number,
    p_value,
    percent,
    percentage,
    short_number,
    signed,
    span,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5000"),
        (-0.25, "−0.2500"),
        (0.03125, "0.0312"),  # a tie goes to the even digit, as everywhere in Python
        (0.000321, "0.00032"),
        (0.0006, "0.00060"),
        (0.001, "0.0010"),
        (1e-17, "0.0000"),
        (-1e-17, "0.0000"),
        (1234.5, "1,234.5000"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_a_number_has_four_decimals_or_two_digits(value, text):
    assert number(value) == text


def test_a_sign_is_shown_on_both_sides_of_zero():
    assert [signed(value, 2) for value in (0.1, -0.1, 0.0, None)] == ["+0.10", "−0.10", "0.00", "–"]


def test_percentages_have_no_digit_too_many():
    assert percent(1 - 0.95) == "5 %"
    assert percent(math.nan) == "–"
    assert percent(0.999973) == "99.9973 %"
    assert percentage(12.34) == "12.3 %"


def test_a_level_keeps_its_digits():
    assert [level_percent(level) for level in (0.9, 0.975, 0.9999, 1 - 0.99)] == ["90 %", "97.5 %", "99.99 %", "1 %"]


def test_a_p_value_is_never_zero():
    assert [p_value(p) for p in (1e-9, 0.0, 0.5, 0.04, None)] == [
        *("p < 0.0001", "p < 0.0001", "p = 0.50", "p = 0.04", "–")
    ]


def test_less_than_rounding_is_nothing_in_a_picture():
    assert [short_number(value) for value in (4.7e-17, -4.7e-17, 2e-12)] == ["0", "0", "2e-12"]


def test_compared_numbers_share_their_decimals():
    assert [common_decimals(values) for values in ([0.5], [0.5, 0.00123], [1e-9], [math.nan])] == [4, 5, 6, 4]


@pytest.mark.parametrize(
    ("low", "high", "low_closed", "is_interval", "text"),
    [
        (0.01, 0.04, True, False, "{0} ∪ [0.0100, 0.0400]"),
        (0.01, 0.04, False, True, "(0.0100, 0.0400]"),
        (0.0, 0.04, True, True, "[0.0000, 0.0400]"),
        (0.0, 0.0, True, True, "{0}"),
    ],
)
def test_a_confidence_set_shows_its_brackets(low, high, low_closed, is_interval, text):
    found = SimpleNamespace(low=low, high=high, low_closed=low_closed, is_interval=is_interval)
    assert confidence_set(found) == text


def test_a_range_is_written_with_its_ends():
    assert span(0.1, 0.2) == "0.1000 to 0.2000"
    assert confidence_set(None) == "–"
