import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import scores

from trueness._numerics.steps import interpolate, ranks, steps

points = st.lists(scores, min_size=1, max_size=12, unique=True).map(
    lambda x: np.sort(np.array(x) + 0.0)
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ">f8"])
def test_scores_of_any_float_type_are_the_numbers_they_denote(dtype):
    edges = np.array([0.1, 0.5, 0.9])
    p = np.array([0, 0.1, 0.3, 0.5, 0.9, 1], dtype)
    assert np.array_equal(ranks(edges, p), np.searchsorted(edges, p.astype(np.float64), "right"))
    assert np.array_equal(
        ranks(edges, p[::2]), np.searchsorted(edges, p[::2].astype(np.float64), "right")
    )


def test_a_step_is_taken_at_its_edge():
    values = np.array([1.0, 2.0, 3.0])
    assert steps(np.array([0.25, 0.5]), values, np.array([0, 0.25, 0.4, 0.5, 1])).tolist() == [
        1,
        2,
        2,
        3,
        3,
    ]
    assert steps(np.empty(0), np.array([7.0]), np.array([0.0, 1.0])).tolist() == [7, 7]


@given(x=points, data=st.data())
def test_a_line_meets_its_points_stays_between_them_and_never_falls(x, data):
    y = np.sort(data.draw(st.lists(scores, min_size=x.size, max_size=x.size).map(np.array)))
    assert np.array_equal(interpolate(x, y, x), y)
    p = np.sort(
        np.concatenate(
            [x, np.nextafter(x[x < 1], 1), np.nextafter(x[x > 0], 0), np.linspace(0, 1, 57)]
        )
    )
    found = interpolate(x, y, p)
    assert (np.diff(found) >= 0).all()
    assert found.min() >= y[0]
    assert found.max() <= y[-1]


def test_a_line_is_numpys():
    rng = np.random.default_rng(0)
    x, y, p = np.sort(rng.random(40)), np.sort(rng.random(40)), rng.random(1000)
    np.testing.assert_allclose(interpolate(x, y, p), np.interp(p, x, y), atol=1e-12)


def test_neighbours_too_close_for_a_slope():
    x, y = np.array([0.0, 5e-324]), np.array([0.0, 1.0])
    assert interpolate(x, y, np.array([0.0, 5e-324, 0.5])).tolist() == [0, 1, 1]
