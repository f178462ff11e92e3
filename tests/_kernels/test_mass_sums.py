import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import BAD_LABEL, BAD_SCORE

LARGE = 40_000  # enough rows for the grid
TINY = np.nextafter(0, 1)


@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.booleans()
        ),
        min_size=2,
    ),
    picks=st.sets(st.integers(1, 10**6)),
)
def test_bins_are_what_sorting_says(kernels, rows, picks):
    p, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    ranks = np.array(sorted({1 + k % (p.size - 1) for k in picks}), np.int64)
    status, cuts, low, high, table = kernels.mass_sums(p, y, ranks, moments=False)
    assert status == 0
    assert np.array_equal(cuts, np.sort(p)[ranks - 1])
    above = [-1.0, *cuts]
    for j, upper in enumerate([*cuts, 2.0]):
        inside = (p > above[j]) & (p <= upper)
        assert table[j, :, 0].tolist() == [np.sum(inside & ~y), np.sum(inside & y)]
        if inside.any():
            assert (low[j], high[j]) == (p[inside].min(), p[inside].max())
        else:
            assert np.isnan([low[j], high[j]]).all()


def test_no_rows_make_one_empty_bin(kernels):
    status, cuts, low, high, table = kernels.mass_sums(
        np.empty(0), np.empty(0, bool), np.empty(0, np.int64), moments=True
    )
    assert (status, cuts.size, table.shape, table.any()) == (0, 0, (1, 2, 5), False)
    assert np.isnan([*low, *high]).all()


@pytest.mark.parametrize("n", [3, LARGE])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_faults_are_found_anywhere(kernels, n, place):
    rng = np.random.default_rng(3)
    p, y, ranks = rng.random(n), rng.integers(0, 2, n), np.array([1])
    bad_y = y.copy()
    bad_y[place] = 2
    assert kernels.mass_sums(p, bad_y, ranks, moments=False)[0] == BAD_LABEL
    for score in np.nan, np.nextafter(1, 2), -TINY, np.inf:
        p[place] = score
        assert kernels.mass_sums(p, y, ranks, moments=False)[0] == BAD_SCORE
        assert kernels.mass_sums(p, bad_y, ranks, moments=False)[0] == BAD_SCORE | BAD_LABEL
