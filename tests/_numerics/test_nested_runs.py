"""Sums over nested runs, against sums over slices."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trueness._numerics.nested_runs import NestedRuns


@st.composite
def nested(draw):
    """Entries, and partitions of them of which each refines the one before."""
    size = draw(st.integers(1, 40))
    cuts, partitions = set(), []
    for _ in range(draw(st.integers(1, 4))):
        cuts |= set(draw(st.lists(st.integers(0, size - 1), max_size=12)))
        partitions.append(np.array(sorted(cuts | {0})))
    return size, partitions


@given(nested())
def test_every_run_of_every_partition_has_its_sum(case):
    size, partitions = case
    values = np.random.default_rng(0).integers(0, 50, (size, 3))
    runs = NestedRuns(size, partitions)
    sums = runs.sums(values, np.uint16)
    assert sums.dtype == np.uint16
    for first, rows in zip(partitions, runs.rows, strict=True):
        expected = [part.sum(axis=0) for part in np.split(values, first[1:])]
        np.testing.assert_array_equal(sums[rows], expected)


@given(nested())
def test_no_sum_is_made_twice(case):
    size, partitions = case
    runs = NestedRuns(size, partitions)
    assert runs.nodes == size + sum(left.size for _, left, _ in runs.steps) == size + (size - partitions[0].size)
