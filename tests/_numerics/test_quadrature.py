import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueness._numerics.quadrature import (
    beta_breaks,
    beta_density,
    expit,
    integral,
    log_gammas,
    supremum,
)

shapes = st.floats(-3, 4).map(lambda e: 10.0**e)


@given(st.floats(0, 1), st.floats(-2, 2))
def test_a_jump_is_integrated_wherever_it_lies(where, height):
    value, error = integral(lambda x: np.where(x < where, 1.0, height), np.array([0.0, 1.0]))
    assert value == pytest.approx(where + height * (1 - where), abs=1e-11)
    assert error < 1e-11


@given(st.floats(0, 1), st.floats(-2, 2))
def test_a_kink_is_integrated_wherever_it_lies(where, slope):
    value, _ = integral(lambda x: slope * np.abs(x - where), np.array([0.0, 1.0]))
    assert value == pytest.approx(slope * (where**2 + (1 - where) ** 2) / 2, abs=1e-11)


def test_an_infinite_slope_at_an_end_is_integrated():
    value, _ = integral(np.sqrt, np.array([0.0, 1.0]))
    assert value == pytest.approx(2 / 3, abs=1e-12)


def test_small_integrals_are_as_precise_as_large_ones():
    def kink(x):
        return np.abs(x - 1 / 3)

    large, small = (
        integral(kink, np.array([0.0, 1.0]))[0],
        integral(lambda x: 1e-30 * kink(x), np.array([0.0, 1.0]))[0],
    )
    assert small == pytest.approx(1e-30 * large, rel=1e-12)
    assert large == pytest.approx(5 / 18, rel=1e-12)


@settings(deadline=None)
@given(shapes, shapes)
def test_every_beta_density_has_mass_one_and_its_mean(a, b):
    breaks = beta_breaks(a, b)
    assert integral(lambda s: beta_density(s, a, b), breaks)[0] == pytest.approx(1, abs=1e-10)
    assert integral(lambda s: expit(s) * beta_density(s, a, b), breaks)[0] == pytest.approx(
        a / (a + b), rel=1e-10
    )


def test_quasi_random_gammas_have_their_means_and_stay_finite():
    alpha = np.array([1e-4, 0.3, 1.0, 40.0])
    logs = log_gammas(alpha, 4096, np.random.default_rng(1))
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs).mean(axis=0)[1:], alpha[1:], rtol=2e-3)
    # log G has the mean digamma(alpha); for a tiny alpha that is close to -1 / alpha.
    assert logs[:, 0].mean() == pytest.approx(-1e4, rel=1e-2)


def test_the_highest_of_many_hills_is_found():
    def hills(x):
        return np.sin(40 * x) ** 2 * x

    fine = np.linspace(0, 3, 2_000_001)
    assert supremum(hills, np.linspace(0, 3, 300)) == pytest.approx(hills(fine).max(), abs=1e-9)
