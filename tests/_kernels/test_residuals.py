from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import reference
from trueness._kernels.library import BAD_LABEL, BAD_SCORE


def moments(kernels, p, y, n, bits=40):
    table = np.zeros((n + 1, 4), np.int64)
    assert kernels.residual_moments(np.asarray(p), np.asarray(y), table, bits) == 0
    return table


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans())), st.integers(1, 20), st.integers(0, 50))
def test_moments_are_sums_of_powers_of_the_place_in_a_cell(kernels, rows, n, bits):
    p, y = np.array([row[0] for row in rows], float), np.array([row[1] for row in rows], bool)
    expected = [[Fraction(0)] * 4 for _ in range(n + 1)]
    for score, label in zip(p, y, strict=True):
        position = score * n + 0.5
        place = Fraction(position) - int(position)
        for power in range(4):
            expected[int(position)][power] += (int(label) - Fraction(score)) * place**power * 2**bits
    found = moments(kernels, p, y, n, bits)
    off = [
        [abs(Fraction(int(a)) - b) for a, b in zip(*pair, strict=True)] for pair in zip(found, expected, strict=True)
    ]
    assert max(map(max, off)) <= len(rows) * (Fraction(1, 2) + Fraction(2**bits, 2**51))


def rows(n):
    rng = np.random.default_rng(n)
    p = np.concatenate([rng.random(n), np.round(rng.random(n), 1), [0.0, 0.5, 1.0]])
    return p, rng.random(p.size) < 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 255, 20_000])
@pytest.mark.parametrize("cells", [1, 16, 2**14])
def test_it_equals_the_reference_to_the_bit(kernels, dtype, n, cells):
    p, y = rows(n)
    p = p.astype(dtype)
    assert np.array_equal(moments(kernels, p, y, cells), moments(reference, p, y, cells))


@pytest.mark.parametrize("n", [0, 1, 255, 2000])
def test_cells_are_their_rows_in_any_order(kernels, n):
    p, _ = rows(n)
    rng = np.random.default_rng(n)
    weight = rng.integers(1, 5, p.size)
    events = rng.integers(0, weight + 1)
    found, same = np.zeros((2, 65, 4), np.int64)
    kernels.cell_residual_moments(p, weight, events, found, 40)
    reference.cell_residual_moments(p, weight, events, same, 40)
    assert np.array_equal(found, same)
    long_p = np.repeat(p, weight)
    long_y = np.concatenate([np.arange(w) < e for w, e in zip(weight, events, strict=True)])
    order = rng.permutation(long_p.size)
    assert np.array_equal(found, moments(kernels, long_p[order], long_y[order], 64))


def test_threads_share_the_rows(three_threads):
    p, y = rows(1000)
    assert np.array_equal(moments(three_threads, p, y, 64), moments(reference, p, y, 64))


@pytest.mark.parametrize("n", [1, 600])
def test_bad_scores_and_labels_are_reported(kernels, n):
    p, y, table = np.full(n, 0.5), np.ones(n, np.int64), np.zeros((9, 4), np.int64)
    assert kernels.residual_moments(np.append(p, np.nan), np.append(y, 1), table, 40) == BAD_SCORE
    assert kernels.residual_moments(np.append(p, 1.5), np.append(y, 2), table, 40) == BAD_SCORE | BAD_LABEL


def test_scores_outside_the_unit_interval_write_nothing_outside_the_table():
    compiled = pytest.importorskip("trueness._kernels.compiled")
    if compiled._cell_residual_moments is None:
        pytest.skip("the compiled kernels were not built")
    one = np.ones(1, np.int64)
    for p in -1.0, 2.0, np.nan, np.inf:
        with pytest.raises(TypeError, match="other types, sizes or layouts"):
            compiled.cell_residual_moments(np.array([p]), one, one, np.zeros((9, 4), np.int64), 40)
