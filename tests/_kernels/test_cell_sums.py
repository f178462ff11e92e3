import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import reference

rows = st.lists(st.tuples(st.floats(0, 1, allow_subnormal=True), st.booleans()), min_size=1)


def sums(kernels, score, weight, events, start):
    table = np.zeros((start.size - 1, 2, 5), np.int64)
    kernels.cell_sums(score, weight, events, start, table)
    return table


def of_rows(p, y, edges):
    table = np.zeros((edges.size - 1, 2, 5), np.int64)
    assert reference.bin_sums(p, y, edges, table, uniform=False, moments=True) == 0
    return table


def starts(score, edges):
    found = np.searchsorted(score, edges)
    found[-1] = score.size
    return found


@given(rows=rows, n_bins=st.integers(1, 30))
def test_the_sums_of_cells_are_those_of_their_rows(kernels, rows, n_bins):
    p, y = (np.array(column) for column in zip(*rows, strict=True))
    edges = np.arange(n_bins + 1) / n_bins
    _, score, count, events = reference.cells(p, y)
    assert np.array_equal(
        sums(kernels, score, count, events, starts(score, edges)), of_rows(p, y, edges)
    )


@pytest.mark.parametrize("n", [1, 8191, 8192, 8193, 30_000])
def test_any_number_of_cells_will_do(kernels, n):
    rng = np.random.default_rng(n)
    p = rng.random(n).round(6)
    y = rng.random(n) < p
    edges = np.array([0, 0.2, 0.2000001, 0.2000002, 0.9, 1])
    _, score, count, events = reference.cells(p, y)
    assert np.array_equal(
        sums(kernels, score, count, events, starts(score, edges)), of_rows(p, y, edges)
    )


def test_a_weight_of_three_is_the_row_three_times(kernels):
    score, start = np.array([0.25, 0.7]), np.array([0, 1, 2])
    thrice = sums(kernels, score, np.array([3, 6]), np.array([3, 0]), start)
    once = sums(kernels, score, np.array([1, 2]), np.array([1, 0]), start)
    assert np.array_equal(thrice, 3 * once)


def test_the_sums_are_added_to_the_table(kernels):
    score, one, start = np.array([0.5]), np.array([1]), np.array([0, 0, 1])
    table = np.ones((2, 2, 5), np.int64)
    kernels.cell_sums(score, one, one, start, table)
    assert (table - 1).tolist() == [[[0] * 5] * 2, [[0] * 5, [1, 2**25, 0, 2**24, 0]]]


@pytest.mark.parametrize("n_bins", [0, 3])
def test_no_cells_have_no_sums(kernels, n_bins):
    none = np.zeros(0, np.int64)
    assert not sums(kernels, np.zeros(0), none, none, np.zeros(n_bins + 1, np.int64)).any()


@pytest.mark.parametrize("n", [1, 255, 256, 257, 3_000])
def test_residuals_are_summed_bin_by_bin(kernels, n):
    rng = np.random.default_rng(n)
    p, count = np.sort(rng.random(n)), rng.integers(1, 9, n)
    events = rng.binomial(count, p)
    first = np.unique(np.concatenate([[0], rng.integers(0, n, 4)]))
    found = kernels.residual_sums(p, count, events, first)
    assert np.array_equal(found, reference.residual_sums(p, count, events, first))
    u0, u1, others = -p, 1 - p, count - events
    terms = (
        count,
        events,
        count * p,
        others * u0 + events * u1,
        others * u0**2 + events * u1**2,
        count * p * (1 - p),
        count * (p * (1 - p)) ** 2,
    )
    np.testing.assert_allclose(
        found, [np.add.reduceat(term, first) for term in terms], rtol=1e-12, atol=1e-12
    )
