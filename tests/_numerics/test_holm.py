"""Holm's adjustment of p-values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trueness._numerics.holm import holm, holm_adjusted

pvalues = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_the_smallest_of_three_is_tripled_the_next_doubled_and_none_is_below_the_one_before():
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == [0.06, 0.03, 0.06]
    assert holm(np.array([0.9, 0.6])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).size == 0


@given(p=pvalues, alpha=st.floats(0.001, 0.5))
def test_what_is_at_most_alpha_is_what_the_steps_reject(p, alpha):
    rejected = set()
    for place in sorted(range(len(p)), key=p.__getitem__):
        if p[place] * (len(p) - len(rejected)) > alpha:
            break
        rejected.add(place)
    assert {*np.flatnonzero(holm(np.array(p)) <= alpha).tolist()} == rejected


@given(p=pvalues)
def test_p_values_that_do_not_exist_are_not_counted(p):
    known = holm(np.array(p)).tolist()
    assert holm_adjusted([None, *p, None]) == [None, *known, None]
