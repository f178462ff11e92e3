import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import BAD_LABEL, BAD_SCORE, reference


def moments(kernels, p, columns, n):
    table = np.zeros((len(columns), n + 1, 4))
    kernels.grid_moments(np.asarray(p, float), np.asarray(columns, float), table)
    return table


def residual_moments(kernels, p, y, n):
    table = np.zeros((n + 1, 4))
    return kernels.residual_moments(p, y, table), table


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1))), st.integers(1, 20))
def test_moments_are_sums_of_powers_of_the_place_in_a_cell(kernels, rows, n):
    p, r = np.array([row[0] for row in rows], float), np.array([[row[1] for row in rows]], float)
    expected = np.zeros((1, n + 1, 4))
    for score, value in zip(p, r[0], strict=True):
        place = score * n + 0.5
        expected[0, int(place)] += value * (place - int(place)) ** np.arange(4)
    np.testing.assert_allclose(moments(kernels, p, r, n), expected, rtol=1e-12, atol=1e-13)


def test_the_sums_are_added_to_the_table(kernels):
    p, columns = np.linspace(0, 1, 100), np.ones((2, 100))
    table = np.zeros((2, 9, 4))
    for _ in range(2):
        kernels.grid_moments(p, columns, table)
    assert table[:, :, 0].sum(axis=1).tolist() == [200, 200]
    assert table == pytest.approx(2 * moments(kernels, p, columns, 8), rel=1e-15)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("label", [np.bool_, np.int64, np.float32])
def test_the_moments_of_rows_are_those_of_their_residuals(kernels, kind, label):
    rng = np.random.default_rng(0)
    p = np.append(rng.random(700), [0, 1, 0, 1]).astype(kind)
    y = (rng.random(p.size) < 0.4).astype(label)
    status, found = residual_moments(kernels, p, y, 64)
    assert status == 0
    expected = moments(reference, p, [y - p.astype(float)], 64)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_bad_rows_are_reported(kernels):
    p, y = np.array([0.5, 0.25]), np.array([0, 1])
    assert residual_moments(kernels, np.append(p, np.nan), np.append(y, 1), 8)[0] == BAD_SCORE
    assert (
        residual_moments(kernels, np.append(p, 1.5), np.append(y, 2), 8)[0] == BAD_SCORE | BAD_LABEL
    )
