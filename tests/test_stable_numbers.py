"""The tool that notices numbers that have moved."""

import pytest
from stable_calls import CALLS
from stable_numbers import differences, stored, text_of


@pytest.mark.parametrize("package", CALLS)
def test_every_stored_number_belongs_to_a_call(package):
    assert stored(package).keys() == {text_of(*call) for call in CALLS[package]}


def test_a_number_that_moved_by_more_than_rounding_is_named():
    assert differences({"a": [1.0, "nan"]}, {"a": [1.0 + 1e-7, "nan"]}) == []
    assert differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.0001]}) == [".a[1]: 2.0001 became 2.0"]
    assert differences({"a": []}, {"b": []}) == [": {'b': []} became {'a': []}"]
