"""Numbers in few signs."""

import pytest

from trueness.plot._words import probability


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0, "0"), (1e-5, "1e-05"), (0.25, "0.25"), (0.9, "0.9"), (0.99, "0.99"), (0.9999, "0.9999"), (1.0, "1")),
        *((1 - 1e-5, "1−1e-5"), (1 - 2e-5, "1−2e-5"), (1 - 1e-12, "1−1e-12"), (0.9983, "0.998")),
    ],
)
def test_probabilities_near_one_differ_from_one(value, text):
    assert probability(value) == text
