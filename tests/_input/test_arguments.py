"""Options that many functions take."""

import sys

import numpy as np
import pytest

from trueness._input.arguments import is_number


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(
            (value, True)
            for value in (
                0,
                -3,
                1.5,
                np.int8(4),
                np.float32(2),
                sys.float_info.max,
                -sys.float_info.max,
            )
        ),
        *(
            (value, False)
            for value in (True, np.True_, np.nan, np.inf, -np.inf, "1", None, 1j, [1.0], 10**400)
        ),
    ],
)
def test_numbers_are_finite_and_real(value, expected):
    assert is_number(value) is expected
