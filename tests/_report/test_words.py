"""Numbers and names as the report writes them."""

import math

import pytest

from trueness._report.words import number, p_value, percent, quoted, shortened, signed, visible


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
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (None, "–"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_other_forms():
    assert signed(0.1, 2) == "+0.10"
    assert signed(-0.1, 2) == "−0.10"
    assert percent(1 - 0.95) == "5 %"
    assert percent(math.nan) == "–"
    assert p_value(1e-9) == "p < 0.0001"
    assert p_value(0.5) == "p = 0.50"
    assert p_value(None) == "–"


def test_names_are_made_visible_and_short():
    assert visible("a\nb\u202e") == "a\\nb\\u202e"
    assert shortened("x" * 100, 10) == "x" * 9 + "…"
    assert quoted("a\x00") == "“a\\x00”"
