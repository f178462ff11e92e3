import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import scores as any_score

from trueness._kernels import BAD_LABEL, BAD_SCORE
from trueness._kernels.grid import GRID_CELLS, cell_of, grid_edges


def blank():
    return np.zeros((GRID_CELLS, 2, 5), np.int64), np.tile([np.inf, -np.inf], (GRID_CELLS, 1))


def same(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@given(st.lists(any_score, min_size=1, max_size=30))
def test_a_cell_is_closed_on_the_left_and_open_on_the_right(kernels, values):
    p = np.array(values)
    table, ends = blank()
    kernels.sketch_sums(p, np.zeros(p.size, np.uint8), table, ends)
    expected = np.searchsorted(grid_edges(), p, "right") - 1
    expected[p == 1] = GRID_CELLS - 1
    assert np.array_equal(table[:, 0, 0], np.bincount(expected, minlength=GRID_CELLS))
    assert np.array_equal(cell_of(p), expected)
    for cell in set(expected.tolist()):
        inside = p[expected == cell]
        assert ends[cell].tolist() == [inside.min(), inside.max()]


def test_the_grid_is_its_own_mirror_image():
    edges = grid_edges()
    assert edges.size == GRID_CELLS + 1
    assert np.array_equal(1 - edges[2:-2], edges[2:-2][::-1])
    inner = edges[2:-2]
    widths, nearer = np.diff(inner), np.minimum(inner[1:], 1 - inner[:-1])
    assert (widths * 128 <= np.maximum(nearer, inner[:-1].clip(max=0.5))).all()


def test_zero_and_one_have_cells_of_their_own():
    p = np.array([0.0, 5e-324, 2.0**-31, 1 - 2.0**-31, np.nextafter(1, 0), 1.0])
    assert cell_of(p).tolist() == [0, 1, 2, GRID_CELLS - 2, GRID_CELLS - 2, GRID_CELLS - 1]


def test_sums_are_added_to_what_is_there(kernels):
    rng = np.random.default_rng(3)
    p, y = rng.random(20_000), rng.integers(0, 2, 20_000)
    whole, pieces = blank(), blank()
    kernels.sketch_sums(p, y, *whole)
    for rows in slice(0, 3), slice(3, 12_000), slice(12_000, None):
        kernels.sketch_sums(p[rows], y[rows], *pieces)
    assert same(whole, pieces)


@pytest.mark.parametrize("n", [3, 20_000])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_faults_are_found_anywhere(kernels, n, place):
    rng = np.random.default_rng(3)
    p, y = rng.random(n), rng.integers(0, 2, n)
    bad_y = y.copy()
    bad_y[place] = 2
    assert kernels.sketch_sums(p, bad_y, *blank()) == BAD_LABEL
    for score in np.nan, np.nextafter(1, 2), -5e-324, np.inf:
        p[place] = score
        assert kernels.sketch_sums(p, y, *blank()) == BAD_SCORE
        assert kernels.sketch_sums(p, bad_y, *blank()) == BAD_SCORE | BAD_LABEL
