"""Files of sums of which one number was changed are refused, or every measure of them lies in its range."""

import sys

import forged
import numpy as np
import pytest

import trueness as tn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs alarms")


def assert_possible(found):
    found = list(found)
    faults = [f"{where}\n    {outcome.faults[0]}" for where, outcome in found if outcome.faults]
    assert not faults, "\n".join(faults)
    return found


def test_the_sums_that_are_forged_are_right_before():
    for name, sums in forged.originals():
        back = forged.read(type(sums), forged.store.pack(forged.header_of(sums)))
        assert back is not None, name
        assert back.to_bytes() == sums.to_bytes(), name


def test_a_wrong_answer_is_noticed():
    sums = tn.binned([0, 1, 1], [0.2, 0.7, 0.8], bins=2)
    assert not list(forged.wrong_answers(sums))
    sums.parts[0].table[1, 1, 3] = 2**40
    assert "brier is" in str(list(forged.wrong_answers(sums)))


@pytest.mark.parametrize("fields", [1, 2])
def test_no_forged_number_gives_an_answer_that_no_rows_give(fields):
    found = assert_possible(forged.outcomes(step=400, values=1, seed=fields, fields=fields))
    assert len(found) > 20


@pytest.mark.slow
@pytest.mark.parametrize("fields", [1, 2, 3])
def test_many_forged_numbers_give_no_answer_that_no_rows_give(fields):
    found = assert_possible(forged.outcomes(step=20, values=4, seed=10 + fields, fields=fields))
    accepted = np.mean([outcome.accepted for _, outcome in found])
    assert 0.01 < accepted < 0.5
