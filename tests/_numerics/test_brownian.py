import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._numerics import brownian
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


@pytest.mark.parametrize(
    ("low", "high", "change"),
    [
        (brownian._distance_low, brownian._distance_high, 1.0),
        (brownian._range_low, brownian._range_high, 1.5),
    ],
)
def test_the_two_series_are_the_same_function(low, high, change):
    x = np.linspace(0.8, 1.25, 19) * change
    np.testing.assert_allclose(low(x), high(x), rtol=2e-14)


@pytest.mark.parametrize("tail", TAILS)
def test_a_tail_falls_from_one_to_zero(tail):
    x = np.concatenate([[0, 5e-324, 1e-200, 0.01], np.linspace(0.02, 38, 4_000), [60, np.inf]])
    value = tail(x)
    assert value[0] == 1
    assert value[-1] == 0
    assert (np.diff(value) <= 1e-15).all()
    assert (value[x < 37] > 0).all()


@pytest.mark.parametrize("tail", TAILS)
def test_the_shape_of_the_argument_is_kept(tail):
    assert tail(2.0).shape == ()
    assert tail(np.full((2, 3), 0.5)).shape == (2, 3)
    assert tail([]).shape == (0,)
    assert np.isnan(tail(np.nan))


@given(st.floats(0, 30))
def test_the_range_lies_between_the_largest_distance_and_twice_it(x):
    distance, twice, whole = largest_distance_sf(x), largest_distance_sf(x / 2), range_sf(x)
    assert distance - 1e-15 <= whole <= twice + 1e-15


@pytest.mark.slow
def test_random_walks_agree():
    rng = np.random.default_rng(0)
    walks, steps = 20_000, 4_000
    high, low, place = np.zeros(walks), np.zeros(walks), np.zeros(walks)
    for _ in range(steps):
        place += rng.standard_normal(walks) / np.sqrt(steps)
        np.maximum(high, place, out=high)
        np.minimum(low, place, out=low)
    # A walk misses the peaks between its steps, by about 0.58 of a step each.
    missed = 0.5826 / np.sqrt(steps)
    for x in (1.0, 1.7, 2.5):
        expected = largest_distance_sf(x)
        assert np.mean(np.maximum(high, -low) + missed > x) == pytest.approx(expected, abs=5 * np.sqrt(0.25 / walks))
        assert np.mean(high - low + 2 * missed > x) == pytest.approx(range_sf(x), abs=5 * np.sqrt(0.25 / walks))
