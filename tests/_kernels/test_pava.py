from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

cells = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 9)).map(lambda c: (c[0], min(c))), min_size=1
)
labels = st.lists(st.integers(0, 1), min_size=2, max_size=60)


def columns(cells, dtype=np.int64):
    return np.array([c[0] for c in cells], dtype), np.array([c[1] for c in cells], dtype)


def sums(x, starts):
    return np.add.reduceat(x, starts)


@given(cells)
def test_it_is_the_isotonic_regression(kernels, cells):
    for dtype in np.int64, np.float64:
        weight, events = columns(cells, dtype)
        starts = kernels.pava(weight, events)
        means = sums(events, starts) / sums(weight, starts)
        fit = isotonic_regression(events / weight, weights=weight.astype(float)).x
        np.testing.assert_allclose(
            np.repeat(means, np.diff([*starts, weight.size])), fit, atol=1e-12
        )


@given(cells)
def test_means_increase_strictly(kernels, cells):
    weight, events = columns(cells)
    starts = kernels.pava(weight, events)
    means = [
        Fraction(int(e), int(w))
        for e, w in zip(sums(events, starts), sums(weight, starts), strict=True)
    ]
    assert all(a < b for a, b in pairwise(means))


def test_whole_numbers_are_compared_exactly(kernels):
    big = 2**62
    weight = np.array([big, big - 1])
    assert kernels.pava(weight, np.array([big - 2, big - 3])).tolist() == [0]
    assert kernels.pava(weight, np.array([big - 3, big - 3])).tolist() == [0, 1]


def test_huge_weights_do_not_overflow(kernels):
    weight = np.array([1e200, 1e200])
    assert kernels.pava(weight, np.array([1e199, 2e199])).tolist() == [0, 1]
    assert kernels.pava(weight, np.array([2e199, 1e199])).tolist() == [0]


def row_by_row(y, n_min, n_max):
    """Algorithm 2 of Matsubara et al. (2023), to the letter; every row is a group of its own."""
    blocks = []  # (sum, size)
    for label in y[: len(y) - n_min]:
        blocks.append((label, 1))
        while len(blocks) > 1:
            (left, n_left), (right, n_right) = blocks[-2:]
            small = n_left + n_right <= n_min
            violates = n_left + n_right <= n_max and Fraction(left, n_left) >= Fraction(
                right, n_right
            )
            if not (small or violates):
                break
            blocks[-2:] = [(left + right, n_left + n_right)]
    tail = (sum(y[len(y) - n_min :]), n_min)
    if blocks and blocks[-1][1] + n_min <= n_max:
        last = blocks.pop()
        tail = (last[0] + tail[0], last[1] + n_min)
    blocks.append(tail)
    return np.cumsum([0] + [size for _, size in blocks[:-1]]).tolist()


@given(y=labels, data=st.data())
def test_without_ties_it_is_the_published_algorithm(kernels, y, data):
    n_min = data.draw(st.integers(0, len(y)))
    n_max = data.draw(st.integers(max(n_min, 1), len(y)))
    starts = kernels.block_pava(np.ones(len(y), np.int64), np.array(y), n_min, n_max)
    assert starts.tolist() == row_by_row(y, n_min, n_max)


@given(y=labels, data=st.data())
def test_without_ties_the_limits_hold(kernels, y, data):
    n_min = data.draw(st.integers(1, len(y) - 1))
    n_max = data.draw(st.integers(2 * n_min - 1, 3 * len(y)))
    starts = kernels.block_pava(np.ones(len(y), np.int64), np.array(y), n_min, n_max)
    sizes = np.diff([*starts, len(y)])
    assert sizes.min() >= n_min
    assert sizes.max() <= max(n_max, n_min)


@given(y=labels, data=st.data())
def test_below_twice_the_least_size_only_the_last_block_but_one_may_be_smaller(kernels, y, data):
    n_min = data.draw(st.integers(2, len(y)))
    n_max = data.draw(st.integers(n_min, 2 * n_min - 2))
    starts = kernels.block_pava(np.ones(len(y), np.int64), np.array(y), n_min, n_max)
    sizes = np.diff([*starts, len(y)])
    assert sizes.max() <= n_max
    assert np.delete(sizes, -2 if sizes.size > 1 else []).min() >= n_min


@given(cells=cells, data=st.data())
def test_with_ties_the_limits_hold_up_to_one_group(kernels, cells, data):
    count, events = columns(cells)
    n = int(count.sum())
    n_min = data.draw(st.integers(1, n))
    n_max = data.draw(st.integers(2 * n_min - 1, 3 * n))
    starts = kernels.block_pava(count, events, n_min, n_max)
    assert starts[0] == 0
    assert np.all(np.diff(starts) > 0)
    sizes = sums(count, starts)
    assert sizes.min() >= n_min
    assert sizes.max() < n_max + n_min + count.max()


def test_a_group_above_the_limit_is_its_own_block(kernels):
    count, events = np.array([1, 1, 1, 50, 1, 1, 1]), np.array([0, 0, 0, 25, 1, 1, 1])
    assert kernels.block_pava(count, events, 3, 6).tolist() == [0, 3, 4]


def test_a_small_block_joins_the_side_that_has_room(kernels):
    # Two rows are left between a block of three and a group of fifty: the left block can take them.
    count, events = np.array([3, 2, 50, 3]), np.array([0, 1, 25, 3])
    assert kernels.block_pava(count, events, 3, 6).tolist() == [0, 2, 3]


def test_fewer_rows_than_the_least_size_make_one_block(kernels):
    assert kernels.block_pava(np.array([1, 2]), np.array([0, 1]), 9, 20).tolist() == [0]
