import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import reference


def moments(kernels, p, columns, n):
    table = np.zeros((len(columns), 4, n + 1))
    kernels.grid_moments(np.asarray(p, float), np.asarray(columns, float), table)
    return table


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1))), st.integers(1, 20))
def test_moments_are_sums_of_powers_of_the_place_in_a_cell(kernels, rows, n):
    p, r = np.array([row[0] for row in rows], float), np.array([[row[1] for row in rows]], float)
    expected = np.zeros((1, 4, n + 1))
    for score, value in zip(p, r[0], strict=True):
        place = score * n + 0.5
        expected[0, :, int(place)] += value * (place - int(place)) ** np.arange(4)
    np.testing.assert_allclose(moments(kernels, p, r, n), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4])
@pytest.mark.parametrize("ascending", [True, False])
def test_it_equals_the_reference_to_the_bit(kernels, n_columns, ascending):
    rng = np.random.default_rng(n_columns)
    for m in 0, 1, 2, 1000, 40_000:
        for p in rng.random(m), np.round(rng.random(m), 1), np.ones(m), np.zeros(m):
            p = np.sort(p) if ascending else p
            columns = rng.standard_normal((n_columns, m))
            for n in 1, 16, 16384:
                expected = moments(reference, p, columns, n)
                assert np.array_equal(moments(kernels, p, columns, n), expected)


def test_the_sums_are_added_to_the_table(kernels):
    p, columns = np.linspace(0, 1, 100), np.ones((2, 100))
    table = np.zeros((2, 4, 9))
    for _ in range(2):
        kernels.grid_moments(p, columns, table)
    assert table[:, 0].sum(axis=1).tolist() == [200, 200]
    assert table == pytest.approx(2 * moments(kernels, p, columns, 8), rel=1e-15)


def test_scores_outside_the_unit_interval_write_nothing_outside_the_table():
    compiled = pytest.importorskip("trueness._kernels.compiled")
    if compiled._grid_moments is None:
        pytest.skip("the compiled kernels were not built")
    for p in [-1.0], [2.0], [np.nan], [np.inf]:
        with pytest.raises(TypeError, match="other types, sizes or layouts"):
            moments(compiled, p, [[1.0]], 8)
