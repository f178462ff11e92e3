import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import scores as any_score

from trueness._kernels import BAD_LABEL, BAD_SCORE, reference
from trueness._kernels.grid import GRID_CELLS, cell_of, grid_edges

LARGE = 300_000  # enough rows to empty the slots once on the way


def blank():
    return np.zeros((GRID_CELLS, 2, 5), np.int64), np.tile([np.inf, -np.inf], (GRID_CELLS, 1))


def same(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def scores(kind, n, rng):
    p = rng.random(n)
    return {
        "uniform": p,
        "float32": p.astype(np.float32),
        "rare": rng.beta(0.3, 60, n),
        "near one": 1 - rng.beta(0.3, 60, n),
        "tiny": p * 1e-12,
        "one value": np.full(n, 0.7),
        "ones": np.ones(n),
        "zeros": np.where(p < 0.5, 0.0, -0.0),
        "edges": rng.choice(grid_edges(), n),
        "below edges": np.maximum(np.nextafter(rng.choice(grid_edges(), n), -1), 0),
    }[kind]


KINDS = [
    "uniform", "float32", "rare", "near one", "tiny", "one value", "ones", "zeros", "edges", "below edges",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [np.bool_, np.uint8, np.int64, np.float32])
def test_it_equals_the_reference(kernels, kind, labels):
    rng = np.random.default_rng(3)
    for n in (0, 1, 700, LARGE) if labels is np.bool_ else (700,):
        p = scores(kind, n, rng)
        y = (rng.random(n) < 0.3).astype(labels)
        found, expected = blank(), blank()
        assert kernels.sketch_sums(p, y, *found) == reference.sketch_sums(p, y, *expected) == 0
        assert same(found, expected)


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


def test_threads_give_the_same_sums(three_threads):
    rng = np.random.default_rng(3)
    p, y = rng.random(50_000), rng.integers(0, 2, 50_000)
    found, expected = blank(), blank()
    assert three_threads.sketch_sums(p, y, *found) == reference.sketch_sums(p, y, *expected) == 0
    assert same(found, expected)
