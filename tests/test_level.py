"""The confidence level and the probabilities of error that follow from it."""

import re

import numpy as np
import pytest

import trueness as tn
from trueness._level import Level, check_drawn_level, checked_level


def test_alpha_is_the_number_that_one_writes_by_hand():
    for percent in range(51, 100):
        assert Level(percent / 100).alpha == (100 - percent) / 100
    assert (Level(0.999).alpha, Level(0.9999).alpha) == (0.001, 0.0001)


def test_a_level_and_its_alpha_say_the_same():
    for percent in range(51, 100):
        assert Level.of_alpha((100 - percent) / 100).confidence == percent / 100


def test_each_limit_has_half_of_alpha_beyond_it():
    assert Level(0.9).tail == pytest.approx(0.05, rel=1e-15)


def test_a_level_is_a_float_above_one_half():
    level = checked_level(np.float32(0.75))
    assert type(level) is float
    assert level == 0.75


def test_other_levels_are_refused():
    for bad in (0.5, 1, 1.0, 95, True, "0.9", None, float("nan"), np.array(0.9)):
        with pytest.raises(
            tn.errors.InputError, match=re.escape("must lie strictly between 0.5 and 1")
        ):
            checked_level(bad)
    with pytest.raises(tn.errors.InputError, match="must be at most 1 - 1e-09"):
        checked_level(1 - 1e-10)


def test_a_level_that_needs_too_many_draws_is_refused_with_the_way_out():
    check_drawn_level(0.9999, "a verdict")
    message = "`level` must be at most 0.9999 for a verdict, which draws 20 / (1 - level) sets of labels; got 0.99999"
    with pytest.raises(tn.errors.InputError, match=f"{re.escape(message)}. Say less."):
        check_drawn_level(0.99999, "a verdict", "Say less.")
