from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import BAD_LABEL, BAD_SCORE, BAD_WEIGHT, OUTSIDE_EDGES

rows = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.booleans(),
        st.one_of(st.just(0.0), st.just(-0.0), st.floats(1e-60, 1e60)),
    )
)


def width(n_bins):
    return np.arange(n_bins + 1) / n_bins


def sums(kernels, p, y, w, edges, *, uniform=True):
    table = np.zeros((edges.size - 1, 7, 2))
    assert kernels.weighted_bin_sums(p, y, w, edges, table, uniform=uniform) == 0
    return table.sum(axis=-1)


def by_hand(p, y, w, edges):
    table = [[Fraction(0)] * 7 for _ in edges[1:]]
    for row in zip(p.tolist(), y.tolist(), w.tolist(), strict=True):
        if row[2] > 0:
            b = max(b for b in range(len(edges) - 1) if edges[b] <= row[0])
            p_, y_, w_ = map(Fraction, row)
            terms = 1, w_, w_ * w_, w_ * y_, w_ * p_, w_ * p_ * p_, w_ * y_ * p_
            table[b] = [a + t for a, t in zip(table[b], terms, strict=True)]
    return np.array([[float(x) for x in row] for row in table])


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    w = rng.exponential(size=n) * (rng.random(n) < 0.9)
    return p, (rng.random(n) < p).astype(np.int64), w


@given(rows=rows, n_bins=st.integers(1, 10))
def test_sums_are_those_of_exact_arithmetic(kernels, rows, n_bins):
    p, y, w = (np.array([r[k] for r in rows], t) for k, t in enumerate((float, bool, float)))
    expected = by_hand(p, y, w, width(n_bins))
    for uniform in True, False:
        found = sums(kernels, p, y, w, width(n_bins), uniform=uniform)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("n_bins", [2, 1000])
def test_many_small_weights_beside_a_large_one_are_not_lost(kernels, n_bins):
    n = 200_000
    w = np.full(n, 1e-8)
    w[0] = 1e8
    p = np.full(n, 0.1)
    found = sums(kernels, p, np.ones(n, bool), w, width(n_bins))
    np.testing.assert_allclose(found.sum(axis=0)[1], 1e8 + (n - 1) * 1e-8, rtol=1e-12)


def test_weight_one_gives_the_counts(kernels):
    p, y, _ = data(5000)
    counts = np.zeros((10, 2, 5), np.int64)
    kernels.bin_sums(p, y, width(10), counts, uniform=True, moments=False)
    found = sums(kernels, p, y, np.ones(p.size), width(10))
    assert np.array_equal(
        found[:, [0, 1, 3]].T, [counts[:, :, 0].sum(1), counts[:, :, 0].sum(1), counts[:, 1, 0]]
    )


def test_rows_of_weight_zero_count_nowhere(kernels):
    p, y, w = data(3000)
    kept = w > 0
    expected = sums(kernels, p[kept], y[kept], w[kept], width(10))
    np.testing.assert_allclose(sums(kernels, p, y, w, width(10)), expected, rtol=1e-13)
    assert sums(kernels, p, y, w, width(10))[:, 0].sum() == kept.sum()


def test_the_sums_are_added_to_the_table(kernels):
    p, y, w = data(3000)
    table = np.zeros((10, 7, 2))
    for _ in range(2):
        kernels.weighted_bin_sums(p, y, w, width(10), table, uniform=True)
    np.testing.assert_allclose(
        table.sum(axis=-1), 2 * sums(kernels, p, y, w, width(10)), rtol=1e-14
    )


@pytest.mark.parametrize(("n", "place"), [(1, 0), (5000, 0), (5000, 700), (5000, -1)])
def test_a_bad_weight_is_found_anywhere(kernels, n, place):
    p, y, w = data(n)
    for weight in -1.0, np.nan, np.inf, -np.inf, -np.nextafter(0, 1):
        w[place] = weight
        assert (
            kernels.weighted_bin_sums(p, y, w, width(10), np.zeros((10, 7, 2)), uniform=True)
            == BAD_WEIGHT
        )


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_rows_of_weight_zero_are_checked_too(kernels, weight):
    def status(p, y, edges, uniform):
        w = np.array([1.0, weight])
        return kernels.weighted_bin_sums(
            p, y, w, edges, np.zeros((edges.size - 1, 7, 2)), uniform=uniform
        )

    good, labels = np.array([0.4, 0.5]), np.array([0, 1])
    assert status(good, labels, width(2), True) == 0
    assert status(np.array([0.4, np.nan]), labels, width(2), True) == BAD_SCORE
    assert status(good, np.array([0, 2]), width(2), True) == BAD_LABEL
    assert status(good, labels, np.array([0, 0.2, 0.45]), False) == OUTSIDE_EDGES
