import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._numerics.brownian import largest_distance_sf, range_sf

TAILS = [largest_distance_sf, range_sf]


@pytest.mark.parametrize(
    ("tail", "x", "expected", "digits"),
    [
        (largest_distance_sf, 2.2049236860640984, 0.054918900, 1e-8),
        (range_sf, 2.2585549672545224, 0.095594176, 1e-8),
        (largest_distance_sf, 9.347180056695407, 1.80031e-20, 5e-6),
        (range_sf, 9.604586718869454, 3.05856e-21, 5e-6),
    ],
)
def test_published_values_come_out(tail, x, expected, digits):
    assert tail(x) == pytest.approx(expected, rel=digits)


@pytest.mark.parametrize(("tail", "change"), [(largest_distance_sf, 1.0), (range_sf, 1.5)])
def test_the_two_series_are_the_same_function(tail, change):
    assert tail(np.nextafter(change, 0)) == pytest.approx(tail(change), rel=2e-14)


@pytest.mark.parametrize("tail", TAILS)
def test_a_tail_falls_from_one_to_zero(tail):
    x = np.concatenate([[0, 5e-324, 1e-200, 0.01], np.linspace(0.02, 38, 4_000), [60, np.inf]])
    value = tail(x)
    assert value[0] == 1
    assert value[-1] == 0
    assert (np.diff(value) <= 1e-15).all()
    assert (value[x < 37] > 0).all()


@given(st.floats(0, 30))
def test_the_range_lies_between_the_largest_distance_and_twice_it(x):
    distance, twice, whole = largest_distance_sf(x), largest_distance_sf(x / 2), range_sf(x)
    assert distance - 1e-15 <= whole <= twice + 1e-15
