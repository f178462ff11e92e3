import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness._kernels import BAD_LABEL, BAD_SCORE, reference

LARGE = 40_000  # enough rows for the grid
TINY = np.nextafter(0, 1)


def scores(kind, n, rng):
    p = rng.random(n)
    return {
        "uniform": p,
        "float32": p.astype(np.float32),
        "rare": rng.beta(0.3, 60, n),
        "near one": 1 - rng.beta(0.3, 60, n),
        "tiny": p * 1e-12,
        "denormal": rng.integers(0, 50, n) * TINY,
        "two decimals": np.round(p, 2),
        "two values": np.where(p < 0.3, 0.3, 0.6),
        "one value": np.full(n, 0.7),
        "zeros": np.where(p < 0.5, 0.0, -0.0),
        "many zeros and ones": np.clip(2 * p - 0.5, 0, 1),
        "halves": np.where(p < 0.5, 0.5, np.nextafter(0.5, 0)),
        "one cell": 0.3 + p * 1e-6,
    }[kind]


KINDS = [
    "uniform", "float32", "rare", "near one", "tiny", "denormal", "two decimals", "two values", "one value",
    "zeros", "many zeros and ones", "halves", "one cell",
]  # fmt: skip


def equal(found, expected):
    assert found[0] == expected[0] == 0
    for a, b in zip(found[1:], expected[1:], strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        assert not np.any(np.signbit(a))


@pytest.mark.parametrize("kind", KINDS)
def test_it_equals_the_reference(kernels, kind):
    rng = np.random.default_rng(3)
    for n in 2, 50, LARGE:
        p = scores(kind, n, rng)
        y = rng.random(n) < 0.3
        deciles = sorted({max(1, n * j // 10) for j in range(1, 10)})
        for wanted in [], [1], [n - 1], [n // 2], deciles, range(1, min(n, 40)):
            ranks = np.array(wanted, np.int64)
            expected = reference.mass_sums(p, y, ranks, moments=True)
            equal(kernels.mass_sums(p, y, ranks, moments=True), expected)
            expected[-1][..., 3:] = 0
            equal(kernels.mass_sums(p, y, ranks, moments=False), expected)


def test_many_ranks_are_cut_too(kernels):
    rng = np.random.default_rng(3)
    p, y = rng.random(LARGE), rng.integers(0, 2, LARGE)
    for step in 1, 79, 81:
        ranks = np.arange(1, LARGE, step)
        equal(kernels.mass_sums(p, y, ranks, moments=True), reference.mass_sums(p, y, ranks, moments=True))


@given(
    rows=st.lists(
        st.tuples(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.booleans()), min_size=2
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


def test_the_order_of_rows_does_not_matter(kernels):
    rng = np.random.default_rng(3)
    p, y = rng.beta(0.3, 60, LARGE), rng.integers(0, 2, LARGE)
    order, ranks = rng.permutation(LARGE), np.array([100, 10_000, 39_000])
    equal(kernels.mass_sums(p[order], y[order], ranks, moments=True), kernels.mass_sums(p, y, ranks, moments=True))


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


@pytest.mark.parametrize("kind", KINDS)
def test_threads_give_the_same_bins(three_threads, kind):
    rng = np.random.default_rng(3)
    p = scores(kind, LARGE, rng)
    y, ranks = rng.integers(0, 2, LARGE), np.array([LARGE * j // 10 for j in range(1, 10)])
    equal(three_threads.mass_sums(p, y, ranks, moments=True), reference.mass_sums(p, y, ranks, moments=True))
