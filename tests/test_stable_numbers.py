"""Numbers change only if they were wrong (see `tests/stable_numbers.py`), and the tool that notices them."""

import pytest
from stable_numbers import differences, group_of, moved, named_calls, stored

GROUPS = sorted({group_of(*call) for call in named_calls().values()})


@pytest.mark.parametrize("group", GROUPS)
def test_numbers_are_those_last_reviewed(group):
    assert moved(group) == []


def test_every_stored_number_belongs_to_a_call():
    assert stored().keys() <= named_calls().keys()
    assert len(stored()) > 0.9 * len(named_calls())


def test_a_number_that_moved_by_more_than_rounding_is_named():
    assert differences({"a": [1.0, "nan"], "luck": 3.0}, {"a": [1.0 + 1e-7, "nan"]}) == []
    assert differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.0001]}) == [".a[1]: 2.0001 became 2.0"]
    assert differences({"a": []}, {"b": []}) == [".b: [] became None"]
    assert differences([0.5, 0.5], [{"from": 0.4, "to": 0.5}, 0.5]) == []
    assert differences(0.6, {"from": 0.4, "to": 0.5}, "p") == ["p: 0.6 lies outside 0.4 to 0.5"]
