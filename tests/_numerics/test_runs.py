"""Pieces of long columns that split no run."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trueness._numerics.runs import NestedRuns, whole_runs


@given(st.lists(st.integers(1, 12), min_size=1, max_size=30), st.integers(1, 40))
def test_the_pieces_are_whole_runs_in_order_and_small_unless_one_run_is_large(sizes, step):
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    values = np.random.default_rng(0).random(sum(sizes))
    pieces = whole_runs(first, values.size, step)
    assert np.concatenate([first[runs] for _, runs, _ in pieces]).tolist() == first.tolist()
    assert np.concatenate([values[entries] for entries, _, _ in pieces]).tolist() == values.tolist()
    assert all(
        (at + entries.start).tolist() == first[runs].tolist() for entries, runs, at in pieces
    )
    assert all(at.size == 1 or entries.stop - entries.start < 2 * step for entries, _, at in pieces)
    sums = np.concatenate([np.add.reduceat(values[entries], at) for entries, _, at in pieces])
    assert sums.tolist() == np.add.reduceat(values, first).tolist()


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
