from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

cells = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any), min_size=1, max_size=25
)


def corners(cells, scale=1):
    """W and E of cells that are given as (not happened, happened)."""
    not_happened, happened = np.array(cells, np.int64).T * scale
    E = np.concatenate([[0], np.cumsum(happened)])
    return E + np.concatenate([[0], np.cumsum(not_happened)]), E


def bridges(kernels, W, E, unit):
    """a and b for every cell."""
    (first, left, right), _ = kernels.venn_abers(W, E, unit)
    runs = np.diff([*first, len(W)])
    return left.repeat(runs), right.repeat(runs)


def with_one_more_event(W, E, unit, j):
    """The isotonic fit at cell j by its definition: the largest over starts of the least mean over ends."""
    return max(
        min(Fraction(int(E[b] - E[a]) + unit, int(W[b] - W[a]) + unit) for b in range(j, len(W)))
        for a in range(j)
    )


@given(cells=cells, unit=st.sampled_from([1, 1, 2, 7]))
def test_it_is_the_isotonic_fit_with_one_more_event(kernels, cells, unit):
    W, E = corners(cells)
    left, right = bridges(kernels, W, E, unit)
    for j, (a, b) in enumerate(zip(left, right, strict=True), start=1):
        found = Fraction(int(E[b] - E[a]) + unit, int(W[b] - W[a]) + unit)
        assert found == with_one_more_event(W, E, unit, j)


@given(cells=cells, unit=st.sampled_from([1, 7]))
def test_a_mirror_turns_cells_and_labels_around(kernels, cells, unit):
    turned = [(happened, not_happened) for not_happened, happened in reversed(cells)]
    with_event, without = kernels.venn_abers(*corners(cells), unit)
    turned_with, turned_without = kernels.venn_abers(*corners(turned), unit)
    assert np.array_equal(with_event, turned_without)
    assert np.array_equal(without, turned_with)


def test_sums_near_the_limit_are_compared_exactly(kernels):
    big = 2**61
    # One event in a hair's breadth more than half: the first cell is below the second only as an exact fraction.
    W, E = np.array([0, big, 2 * big - 1]), np.array([0, big // 2 - 1, big - 2])
    left, right = bridges(kernels, W, E, 1)
    for j in (1, 2):
        a, b = left[j - 1], right[j - 1]
        assert Fraction(int(E[b] - E[a]) + 1, int(W[b] - W[a]) + 1) == with_one_more_event(
            W, E, 1, j
        )


def test_no_cells_have_no_fit(kernels):
    none = np.zeros(1, np.int64)
    assert [x.shape for x in kernels.venn_abers(none, none, 1)] == [(3, 0), (3, 0)]
