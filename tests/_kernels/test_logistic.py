"""Sums of a logistic regression and of placements: NumPy's and every compiled kind against their definition."""

import numpy as np
import pytest
from scipy.special import expit

from trueness._kernels import compiled, library


def cells(n, kind, seed=0):
    rng = np.random.default_rng(seed)
    w = rng.integers(1, 5, n) if kind == "counts" else rng.exponential(size=n)
    return np.sort(rng.logistic(size=n)), w, rng.binomial(1, 0.4, n) * w


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 500, 8192, 8200])
@pytest.mark.parametrize("kind", ["counts", "weights"])
@pytest.mark.parametrize("line", [(1.0, 0.0, 0.0), (-0.7, 2.0, 0.5), (90.0, -3.0, 0.0)])
def test_the_sums_of_a_line_are_their_definition(kernels, n, kind, line):
    x, w, e = cells(n, kind)
    slope, intercept, centre = line
    z = x - centre
    q = expit(intercept + slope * z)
    spread = w * q * expit(-intercept - slope * z)
    expected = [(e - w * q).sum(), ((e - w * q) * z).sum(), spread.sum(), (spread * z).sum(), (spread * z * z).sum()]
    np.testing.assert_allclose(kernels.line_sums(x, w, e, *line), expected, rtol=1e-11, atol=1e-9)


def test_far_log_odds_are_certain(kernels):
    x = np.array([-1e300, -800.0, 800.0, 1e300])
    ones = np.ones(4)
    sums = kernels.line_sums(x, ones, np.array([0.0, 0, 1, 1]), 1.0, 0.0, 0.0)
    np.testing.assert_allclose(sums[[0, 2]], 0, atol=1e-300)


@pytest.mark.parametrize("n", [2, 3, 500, 8200])
@pytest.mark.parametrize("kind", ["counts", "weights"])
def test_placements_are_their_definition(kernels, n, kind):
    _, w, e = cells(n, kind, seed=3)
    e[0], e[-1] = 0, w[-1]
    o = w - e
    below, above = (np.cumsum(o) - o / 2) / o.sum(), 1 - (np.cumsum(e) - e / 2) / e.sum()
    expected = [e @ below, e @ (below - 0.6) ** 2, o @ (above - 0.6) ** 2]
    np.testing.assert_allclose(kernels.placement_sums(w, e, e.sum(), o.sum(), 0.6), expected, rtol=1e-12)


def test_arrays_of_other_types_are_refused():
    if not library.available():
        pytest.skip("the compiled kernels were not built")
    x = np.zeros(3)
    with pytest.raises(TypeError, match="a kernel got arrays of other types"):
        compiled.line_sums(x, np.zeros(3), np.zeros(3, np.int64), 1.0, 0.0, 0.0)
    with pytest.raises(TypeError, match="a kernel got arrays of other types"):
        compiled.placement_sums(np.zeros(3), np.zeros(2), 1.0, 1.0, 0.5)
