"""Local quadratic regression."""

import numpy as np
import pytest

from trueness._numerics.loess import loess


def curve(x, y, at):
    smoother = loess(x, np.ones(x.size, dtype=np.int64))
    return smoother.design(at) @ (smoother.operator @ y)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_polynomials_up_to_degree_two_are_kept(power):
    x = np.sort(np.random.default_rng(0).random(50))
    at = np.linspace(x[0], x[-1], 9)
    assert curve(x, x**power, at) == pytest.approx(at**power, abs=1e-9)


def test_it_does_not_depend_on_place_and_scale():
    rng = np.random.default_rng(1)
    x, y = np.sort(rng.random(60)), rng.integers(0, 2, 60)
    at = np.linspace(x[0], x[-1], 7)
    assert curve(3 * x, y, 3 * at) == pytest.approx(curve(x, y, at), abs=1e-9)
    assert curve(-x[::-1], y[::-1], -at) == pytest.approx(
        curve(x, y, at), abs=0.02
    )  # medians are taken from below


def test_the_curve_is_smooth_at_its_vertices():
    rng = np.random.default_rng(2)
    x, y = np.sort(rng.random(80)), rng.integers(0, 2, 80)
    smoother = loess(x, np.ones(80, dtype=np.int64))
    assert smoother.vertices.size == 9
    h = 1e-6
    for v in smoother.vertices[1:-1]:
        left, middle, right = curve(x, y, v + h * np.array([-1, 0, 1]))
        assert (right - middle) / h == pytest.approx((middle - left) / h, abs=1e-3)


def test_beyond_the_ends_there_is_no_curve():
    x = np.linspace(0.2, 0.8, 30)
    assert np.isnan(curve(x, x, np.array([0.1, 0.5, 0.9]))).tolist() == [True, False, True]
