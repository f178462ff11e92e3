"""Options that many functions take."""

import sys

import numpy as np
import pytest

import trueness as tn
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


def test_a_third_argument_without_a_name_is_answered_with_the_call_that_was_meant():
    class Model:
        def predict_proba(self, X):
            return X

    y, p = [0, 1, 1], [0.2, 0.4, 0.7]
    for call, arguments, meant in (
        (tn.compare, (y, p, p), "Pass several models as a dict: `tn.compare(y_true, {'a': a, "),
        (tn.verdict, ({}, "y", "p"), "Pass the columns: `tn.verdict(frame['y'], frame['p'])`."),
        (tn.report, (Model(), p, y), "`tn.report(y, model.predict_proba(X)[:, 1])`."),
        (tn.assess, (y, p, p), "For several models: `tn.report(y_true, {'a': a, 'b': b})`."),
    ):
        with pytest.raises(tn.InputError) as found:
            call(*arguments)
        assert meant in str(found.value)
