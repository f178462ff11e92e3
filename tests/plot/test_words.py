"""Numbers in few signs."""

import pytest

from trueness.plot._words import bin_in_words, number, probability


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0, "0"), (1e-5, "1e-05"), (0.25, "0.25"), (0.9, "0.9"), (0.99, "0.99"), (0.9999, "0.9999"), (1.0, "1")),
        *((1 - 1e-5, "1−1e-5"), (1 - 2e-5, "1−2e-5"), (1 - 1e-12, "1−1e-12"), (0.9983, "0.998")),
    ],
)
def test_probabilities_near_one_differ_from_one(value, text):
    assert probability(value) == text


def test_bins_have_digits_enough_to_tell_their_edges_apart():
    assert bin_in_words(0.25, 0.5, last=False) == "[0.25, 0.5)"
    assert bin_in_words(0.99991, 0.99993, last=False) == "[0.99991, 0.99993)"
    assert bin_in_words(0.99999, 1.0, last=True) == "[0.99999, 1]"
    assert bin_in_words(1.0, 1.0, last=True) == "[1, 1]"


def test_less_than_rounding_is_nothing():
    assert [number(value) for value in (4.7e-17, -4.7e-17, 2e-12)] == ["0", "0", "2e-12"]
