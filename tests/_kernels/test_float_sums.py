from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trueness._kernels import reference

tables = st.integers(0, 12).flatmap(
    lambda n: arrays(np.int64, (n, 2, 5), elements=st.integers(0, 2**61))
)


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
