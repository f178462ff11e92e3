from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueness._kernels import BAD_LABEL, BAD_SCORE, OUTSIDE_EDGES, reference

rows = st.lists(st.tuples(st.floats(0, 1, allow_subnormal=True), st.booleans()))
tables = st.integers(0, 12).flatmap(lambda n: arrays(np.int64, (n, 2, 5), elements=st.integers(0, 2**61)))


def width(n_bins):
    return np.arange(n_bins + 1) / n_bins


def same(found, expected):
    """Equal to the last bit; what follows a fault means nothing."""
    assert found[:1] == expected[:1]
    if not expected[0]:
        assert found[1] == expected[1]
        assert [one.tobytes() for one in found[2:]] == [one.tobytes() for one in expected[2:]]


@given(table=tables)
def test_sums_as_floats_have_the_bits_of_the_reference(kernels, table):
    assert kernels.float_sums(table).tobytes() == reference.float_sums(table).tobytes()


@given(table=arrays(np.int64, (3, 2, 5), elements=st.integers(0, 2**51)))
def test_a_sum_of_scores_is_the_float_nearest_to_it(kernels, table):
    columns = kernels.float_sums(table)
    weight, events = table[:, :, 0].sum(axis=1), table[:, 1, 0]
    assert (columns[:, :3] == np.column_stack([weight, weight, events])).all()
    both = table.sum(axis=1)
    for column, (hi, lo) in {3: both[:, 1:3].T, 4: both[:, 3:].T, 5: table[:, 1, 1:3].T}.items():
        exact = [Fraction(int(a) * 2**27 + int(b), 2**53) for a, b in zip(hi, lo, strict=True)]
        assert columns[:, column].tolist() == [float(one) for one in exact]


@given(rows=rows, n_bins=st.integers(1, 30), moments=st.booleans())
def test_few_rows_have_the_sums_of_the_kernel_for_many(kernels, rows, n_bins, moments):
    p, y = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows], bool)
    table = np.zeros((n_bins, 2, 5), np.int64)
    status = kernels.bin_sums(p, y, width(n_bins), table, uniform=True, moments=moments)
    expected = status, int(y.sum()), table, kernels.float_sums(table)
    for uniform in True, False:
        same(kernels.few_rows(p, y, width(n_bins), uniform=uniform, moments=moments), expected)


@pytest.mark.parametrize(
    ("p", "y", "edges", "status"),
    [
        ([0.5, 1.5], [0, 1], [0, 1], BAD_SCORE),
        ([0.5, np.nan], [0, 1], [0, 1], BAD_SCORE),
        ([-5e-324, 0.5], [0, 1], [0, 1], BAD_SCORE),
        ([0.5, 0.5], [0, 2], [0, 1], BAD_LABEL),
        ([0.5, 2], [0, -1], [0, 1], BAD_SCORE | BAD_LABEL),
        ([0.5, 0.9], [0, 1], [0, 0.8], OUTSIDE_EDGES),
    ],
)
def test_every_fault_is_found(kernels, p, y, edges, status):
    arrays = np.array(p), np.array(y), np.array(edges, dtype=float)
    assert kernels.few_rows(*arrays, uniform=False, moments=True)[0] == status
