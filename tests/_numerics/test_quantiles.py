"""Quantiles of weighted values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._numerics.quantiles import weighted_quantiles

SHARES = [0.0, 0.05, 0.275, 0.5, 0.9, 1.0]


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 4)), min_size=1, max_size=12))
def test_whole_weights_repeat_the_values(pairs):
    values, weight = np.array(sorted(pairs)).T
    weight = weight.astype(np.int64)
    expected = np.quantile(np.repeat(values, weight), SHARES)
    assert weighted_quantiles(values, weight, SHARES) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(1e-6, 1e6)), min_size=1, max_size=12), st.floats(1e-3, 1e3))
def test_other_weights(pairs, scale):
    values, weight = np.array(sorted(pairs)).T
    found = weighted_quantiles(values, weight, SHARES)
    assert (found[0], found[-1]) == (values[0], values[-1])
    assert (np.diff(found) >= -1e-9).all()
    assert found == pytest.approx(weighted_quantiles(values, scale * weight, SHARES), abs=1e-6)
    equal = weighted_quantiles(values, np.full(values.size, scale), SHARES)
    assert equal == pytest.approx(np.quantile(values, SHARES), abs=1e-6)


def test_quantiles_of_a_function_of_the_values():
    values, weight = np.array([0.1, 0.2, 0.7]), np.array([1, 1, 1])
    found = weighted_quantiles(values, weight, SHARES, np.log)
    assert found == pytest.approx(np.quantile(np.log(values), SHARES))
