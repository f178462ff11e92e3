import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import BAD_LABEL, BAD_SCORE, OUTSIDE_EDGES

TINY = np.nextafter(0, 1)
rows = st.lists(st.tuples(st.floats(0, 1, allow_subnormal=True), st.booleans()))


def width(n_bins):
    return np.arange(n_bins + 1) / n_bins


def sums(kernels, p, y, edges, *, uniform=False, moments=True):
    table = np.zeros((edges.size - 1, 2, 5), np.int64)
    assert kernels.bin_sums(p, y, edges, table, uniform=uniform, moments=moments) == 0
    return table


def by_hand(p, y, edges):
    """Bin by bin and row by row, in fractions."""
    table = np.zeros((len(edges) - 1, 2, 5), np.int64)
    for score, label in zip(p.tolist(), y.tolist(), strict=True):
        b = max(b for b in range(len(edges) - 1) if edges[b] <= score)
        q, s = Fraction(score) * 2**53 // 1, Fraction(score * score) * 2**53 // 1
        table[b, int(label)] += [1, q >> 27, q & (2**27 - 1), s >> 27, s & (2**27 - 1)]
    return table


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(np.int64)


@given(rows=rows, n_bins=st.integers(1, 30))
def test_a_row_is_counted_once_in_its_bin(kernels, rows, n_bins):
    p, y = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows], bool)
    expected = by_hand(p, y, width(n_bins))
    for uniform in True, False:
        assert np.array_equal(sums(kernels, p, y, width(n_bins), uniform=uniform), expected)


@given(rows=rows, inner=st.sets(st.floats(0, 1, exclude_min=True, exclude_max=True), max_size=20))
def test_edges_may_be_anywhere(kernels, rows, inner):
    edges = np.array([0.0, *sorted(inner), 1.0])
    p, y = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows], bool)
    assert np.array_equal(sums(kernels, p, y, edges), by_hand(p, y, edges))


@pytest.mark.parametrize("n", [20, 6000])
def test_all_scores_may_be_the_same_and_extreme(kernels, n):
    y = np.arange(n) % 3 == 0
    for score in 0.0, -0.0, 1.0, 0.5, 0.1, 0.3, TINY, 2.0**-1022, 2.0**-53, 2.0**-54, 1 - 2.0**-53:
        one_row = [by_hand(np.array([score]), np.array([label]), width(10)) for label in (0, 1)]
        expected = one_row[0] * np.sum(~y) + one_row[1] * np.sum(y)
        for uniform in True, False:
            assert np.array_equal(
                sums(kernels, np.full(n, score), y, width(10), uniform=uniform), expected
            )


def test_the_sums_are_added_to_the_table(kernels):
    p, y = data(3000)
    table = sums(kernels, p, y, width(10), uniform=True)
    kernels.bin_sums(p, y, width(10), table, uniform=True, moments=True)
    assert np.array_equal(table, 2 * sums(kernels, p, y, width(10), uniform=True))


def test_sums_do_not_overflow_where_all_rows_share_a_bin(kernels):
    n = 300_000
    table = sums(kernels, np.ones(n), np.ones(n, bool), width(3), uniform=True)
    assert table[2, 1].tolist() == [n, n * 2**26, 0, n * 2**26, 0]


def around_every_edge(n_bins, dtype):
    edges = width(n_bins).astype(dtype)
    zero, one = dtype(0), dtype(1)
    return np.concatenate((edges, np.nextafter(edges[1:], zero), np.nextafter(edges[:-1], one)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("uniform", [True, False])
def test_scores_at_and_beside_every_edge_are_placed_as_by_binary_search(kernels, dtype, uniform):
    # Many bins: one table per number of bins shows a misplaced score by its count and by its sums.
    for n_bins in (*range(1, 100), 128, 255, 256, 300, 999, 1000):
        edges, p = width(n_bins), around_every_edge(n_bins, dtype)
        if n_bins % 3 == 0 or n_bins < 30:
            p = np.tile(p, 1 + max(4096, 8 * n_bins) // p.size)  # enough rows for the fast paths
        index = np.minimum(np.searchsorted(edges, p, "right") - 1, n_bins - 1)
        q = np.floor(p.astype(np.float64) * 2.0**53).astype(np.int64)
        table = sums(kernels, p, np.zeros(p.size, np.uint8), edges, uniform=uniform, moments=False)
        expected = np.zeros((3, n_bins), np.int64)
        for column, values in zip(
            expected, (np.ones_like(q), q >> 27, q & (2**27 - 1)), strict=True
        ):
            column[:] = np.bincount(index, values, minlength=n_bins)
        assert np.array_equal(table[:, 0, :3].T, expected), n_bins


ANYWHERE = [(1, 0), (5000, 0), (5000, 700), (5000, -1)]


@pytest.mark.parametrize(("n", "place"), ANYWHERE)
def test_a_bad_score_is_found_anywhere(kernels, n, place):
    p, y = data(n)
    table = np.zeros((10, 2, 5), np.int64)
    for score in np.nan, np.inf, -np.inf, np.nextafter(1, 2), -TINY, 1e300, -1.0:
        p[place] = score
        with np.errstate(over="ignore"):
            narrow = p.astype(np.float32)
        for uniform in True, False:
            assert (
                kernels.bin_sums(p, y, width(10), table, uniform=uniform, moments=False)
                == BAD_SCORE
            )
            if not 0 <= narrow[place] <= 1:
                assert (
                    kernels.bin_sums(narrow, y, width(10), table, uniform=uniform, moments=True)
                    == BAD_SCORE
                )


BAD_LABELS = {
    "uint8": [2, 255],
    "int8": [2, -1],
    "int32": [2, -1, 2**30],
    "int64": [2, -1, 2**32, -(2**63)],
    "float32": [0.5, 2, -1, np.nan, np.inf],
    "float64": [0.5, 2, -1, np.nan, np.inf, TINY],
}


@pytest.mark.parametrize(("n", "place"), ANYWHERE)
def test_a_bad_label_is_found_anywhere(kernels, n, place):
    p, y = data(n)
    table = np.zeros((10, 2, 5), np.int64)
    for label_type, labels in BAD_LABELS.items():
        typed = y.astype(label_type)
        for label in labels:
            typed[place] = label
            status = kernels.bin_sums(p, typed, width(10), table, uniform=True, moments=False)
            assert status == BAD_LABEL, (label_type, label)


@pytest.mark.parametrize(("n", "place"), ANYWHERE)
def test_a_score_outside_the_edges_is_found_anywhere(kernels, n, place):
    p, y = data(n)
    p = 0.25 + p / 2
    edges, table = np.array([0.25, 0.5, 0.75]), np.zeros((2, 2, 5), np.int64)
    for score in 0.1, 0.9, 0.0, -0.0, 1.0, np.nextafter(0.25, 0), np.nextafter(0.75, 1):
        p[place] = score
        assert kernels.bin_sums(p, y, edges, table, uniform=False, moments=False) == OUTSIDE_EDGES


@pytest.mark.parametrize("n", [3, 5000])
def test_faults_of_every_kind_are_all_named(kernels, n):
    p, y = data(n)
    p[0], p[1], y[2] = np.nan, 0.9, 2
    p[2:] = p[2:] / 2 + 0.25
    edges, table = np.array([0.25, 0.5, 0.75]), np.zeros((2, 2, 5), np.int64)
    status = kernels.bin_sums(p, y, edges, table, uniform=False, moments=False)
    assert status == BAD_SCORE | BAD_LABEL | OUTSIDE_EDGES


def test_minus_zero_as_a_label_is_zero(kernels):
    table = sums(kernels, np.array([0.5]), np.array([-0.0]), width(1), uniform=True)
    assert table[0, :, 0].tolist() == [1, 0]


def test_the_rows_are_never_copied(kernels):
    p, y = data(500_000)
    table = np.zeros((15, 2, 5), np.int64)
    tracemalloc.start()
    try:
        kernels.bin_sums(p, y, width(15), table, uniform=True, moments=True)
        assert tracemalloc.get_traced_memory()[1] < 2 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("edges", [width(10), np.array([0, 0.1, 0.7, 1])], ids=["width", "edges"])
def test_sums_of_groups_are_the_sums_of_each_group(kernels, edges):
    p, y = data(5_000)
    group = np.random.default_rng(1).integers(0, 7, p.size).astype(np.uint32)
    uniform = edges.size == 11
    table = np.zeros((8, edges.size - 1, 2, 5), np.int64)
    assert kernels.grouped_bin_sums(p, y, group, edges, table, uniform=uniform) == 0
    for g in range(8):
        assert (
            table[g] == sums(kernels, p[group == g], y[group == g], edges, uniform=uniform)
        ).all()


def test_sums_of_groups_refuse_what_sums_refuse(kernels):
    edges, group = np.array([0.25, 0.5, 0.75]), np.zeros(1, np.uint32)
    for p, y, status in ((0.3, 2.0, BAD_LABEL), (1.5, 1.0, BAD_SCORE), (0.1, 1.0, OUTSIDE_EDGES)):
        table = np.zeros((1, 2, 2, 5), np.int64)
        found = kernels.grouped_bin_sums(
            np.array([p]), np.array([y]), group, edges, table, uniform=False
        )
        assert found & status
        assert not table.any()
