"""The largest scores of a row, and the cells they fall into."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import matrices

import trueness as tn
from trueness._input.sample import read_sample
from trueness._tally.binned_scores import (
    BinnedScores,
    default_cells,
    near_ties,
    of_cells,
    of_matrix,
)

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def matrix(rows):
    return np.array(rows, dtype=float)


def test_the_largest_scores_come_first_and_ties_go_to_the_smallest_class():
    found = of_matrix(
        read_sample([2, 0, 1], matrix([[0.3, 0.3, 0.4], [0.4, 0.2, 0.4], [0.2, 0.4, 0.4]])), 2, 1
    )
    assert found.z.tolist() == [[0.4, 0.3], [0.4, 0.4], [0.4, 0.4]]
    # Row 1 takes class 2, then 0 (not 1); row 2 takes 0, then 2; row 3 takes 1, then 2.
    assert found.hits.tolist() == [[1, 0], [1, 0], [1, 0]]
    second = of_matrix(
        read_sample([0, 2, 2], matrix([[0.3, 0.3, 0.4], [0.4, 0.2, 0.4], [0.2, 0.4, 0.4]])), 2, 1
    )
    assert second.hits.tolist() == [[0, 1]] * 3


@given(matrices(), st.data())
def test_ranks_agree_with_a_stable_sort(data, more):
    y, P = data
    k = more.draw(st.integers(1, P.shape[1] - 1))
    found = of_matrix(read_sample(y, P), k, 1)
    order = np.array([sorted(range(P.shape[1]), key=lambda j: (-row[j], j))[:k] for row in P])
    assert found.z.tolist() == np.take_along_axis(P, order, axis=1).tolist()
    assert found.hits.tolist() == (order == y[:, None]).astype(int).tolist()


def test_many_largest_scores_agree_with_few():
    rng = np.random.default_rng(0)
    P = rng.multinomial(30, np.ones(20) / 20, size=50) / 30
    few, many = (
        of_matrix(
            read_sample(np.zeros(50, dtype=int), P, labels=list(range(20)), sum_tolerance=1e-6),
            k,
            1,
        )
        for k in (8, 12)
    )
    assert many.z[:, :8].tolist() == few.z.tolist()
    assert many.hits[:, :8].tolist() == few.hits.tolist()


@given(matrices(), st.integers(1, 7), st.data())
def test_cubes_are_the_bins_of_each_axis_together(data, m, more):
    y, P = data
    k = more.draw(st.integers(1, P.shape[1] - 1))
    found = of_matrix(read_sample(y, P), k, m)

    def cell(row):
        return tuple(max(b for b in range(m) if b / m <= value) for value in row)

    cells = [{cell(row) for row in part} for part in np.split(found.z, found.first[1:])]
    assert all(len(seen) == 1 for seen in cells)
    assert len(set().union(*cells)) == len(cells)


@given(matrices(), st.integers(1, 5))
def test_simplices_are_told_by_parts_and_by_the_order_of_what_is_left(data, m):
    y, P = data
    found = of_matrix(read_sample(y, P), P.shape[1], m)

    def cell(row):
        a, f, x = [], [], 0.0
        for value in row[:-1]:
            x += value
            a.append(min(math.floor(m * x), m - 1))
            f.append(m * x - a[-1])
        return tuple(a), tuple(sorted(range(len(f)), key=lambda j: (f[j], j)))

    cells = [{cell(row) for row in part.tolist()} for part in np.split(found.z, found.first[1:])]
    assert all(len(seen) == 1 for seen in cells)
    assert len(set().union(*cells)) == len(cells)
    assert sorted(map(tuple, found.z.tolist())) == sorted(map(tuple, P.tolist()))


@pytest.mark.parametrize(("K", "m"), [(2, 5), (3, 4), (4, 3)])
def test_simplices_have_equal_volumes(K, m):
    n = 20_000
    P = np.random.default_rng(1).dirichlet(np.ones(K), n)
    found = of_matrix(read_sample(np.zeros(n, dtype=int), P, labels=list(range(K))), K, m)
    size = np.diff(np.append(found.first, n))
    cells = m ** (K - 1)
    assert size.size == cells
    spread = math.sqrt(n / cells * (1 - 1 / cells))
    assert abs(size - n / cells).max() < 5 * spread


@given(matrices(), st.data())
def test_a_weight_is_so_many_rows(data, more):
    y, P = data
    w = np.array(more.draw(st.lists(st.integers(1, 3), min_size=y.size, max_size=y.size)))
    weighted = tn.squared_ece(
        y, P, k=P.shape[1], bins=2, sample_weight=w, labels=list(range(P.shape[1]))
    )
    repeated = tn.squared_ece(
        np.repeat(y, w),
        np.repeat(P, w, axis=0),
        k=P.shape[1],
        bins=2,
        labels=list(range(P.shape[1])),
    )
    assert weighted == pytest.approx(repeated, abs=1e-12)


@given(matrices(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_no_more_than_rounding(data, random):
    y, P = data
    order = list(range(y.size))
    random.shuffle(order)
    for k in range(1, P.shape[1] + 1):
        a = tn.squared_ece(y, P, k=k, bins=3, labels=list(range(P.shape[1])))
        b = tn.squared_ece(y[order], P[order], k=k, bins=3, labels=list(range(P.shape[1])))
        assert a == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "k", "classes", "s", "cells"),
    [
        (1000, 2, 10, 1.0, 10),  # 1000^(1/3)
        (2, 5, 10, 1.0, 2),
        (10_000, 1, None, 0.5, 464),  # 10⁴ ^ (2/3)
        (10_000, 2, 2, 0.5, 464),  # two scores that sum to 1: one free
        (10_000, 2, 3, 0.5, 100),  # 10⁴ ^ (2/4)
        (10_000, 3, 9, 0.25, 100),
        (10_000, 1, None, 1.0, 40),  # 10⁴ ^ (2/5)
        (2**20, 1, None, 0.25, 2**20),  # the limit itself
        (1e16, 1, None, 1.0, 2**20),  # 2,511,886 without the limit
    ],
)
def test_rougher_errors_have_more_cells_by_default_up_to_a_limit(n, k, classes, s, cells):
    assert default_cells(n, k, classes, s) == cells


def test_a_smoothness_that_asks_for_more_bins_than_there_can_be_is_refused():
    with pytest.raises(
        tn.InputError, match=r"it makes 1,048,577 bins, and 1,048,576 are the limit; got 0\.25"
    ):
        default_cells(2**20 + 1, 1, None, 0.25)


@pytest.mark.parametrize("smoothness", [0, 1.001, True, "rough", math.nan])
def test_a_smoothness_beyond_its_limits_is_refused(smoothness):
    with pytest.raises(tn.InputError, match=r"`smoothness` must lie in \(0, 1\]"):
        tn.squared_ece([0, 1, 1], [0.2, 0.4, 0.9], smoothness=smoothness)


def test_the_smoothness_sets_the_bins():
    rng = np.random.default_rng(6)
    p = rng.random(400)
    y = (rng.random(400) < p**2).astype(int)
    for smoothness, bins in {1: 11, 0.5: 54, np.float32(0.25): 400}.items():
        assert tn.squared_ece(y, p, smoothness=smoothness) == tn.squared_ece(y, p, bins=bins)
    P = np.column_stack([1 - p, p / 2, p / 2])
    for smoothness, bins in {None: 7, 0.5: 20}.items():
        for k in (2, 3):
            found = tn.squared_ece(y, P, k=k, smoothness=smoothness, labels=[0, 1, 2])
            assert found == tn.squared_ece(y, P, k=k, bins=bins, labels=[0, 1, 2])
    with pytest.raises(
        tn.InputError, match="`smoothness` sets the default number of bins; `bins` is 5"
    ):
        tn.squared_ece(y, p, smoothness=0.5, bins=5)


@pytest.mark.parametrize("k", [True, 0, 1.0])
def test_a_number_of_scores_that_is_none_is_refused(k):
    with pytest.raises(tn.InputError, match="`k` must be a whole number ≥ 1; got"):
        tn.squared_ece([0, 1, 2], np.eye(3), k=k)


def test_scores_on_an_edge_of_a_cube_and_next_to_it_lie_where_bins_put_them():
    """0.29 · 100 is 28.999999999999996: the product may round across an edge, which is the float b/m."""
    for m in (1, 2, 7, 10, 49, 100, 117):
        edges = np.arange(m + 1) / m
        z = np.unique(
            np.concatenate([edges, np.nextafter(edges, 2), np.nextafter(edges, -1)]).clip(0.34, 1)
        )
        P = np.column_stack([z, (1 - z) / 2, (1 - z) / 2])
        found = of_matrix(read_sample(np.zeros(z.size, int), P, labels=[0, 1, 2]), 1, m)
        expected = np.minimum(np.searchsorted(edges, z, side="right") - 1, m - 1)
        assert found.z[:, 0].tolist() == z.tolist()
        assert found.first.tolist() == np.flatnonzero(np.diff(expected, prepend=-1)).tolist()


def test_bins_are_told_apart_when_their_numbers_pass_16_bits():
    for m in (65_536, 65_537, 131_073):
        found = of_matrix(read_sample([0, 1], matrix([[1, 0], [0, 1]])), 2, m)
        assert found.first.tolist() == [0, 1]
        assert found.z.tolist() == [[0, 1], [1, 0]]


def test_numbers_of_cubes_that_pass_64_bits_still_tell_them_apart():
    """9²⁵ cells: rows that differ in one axis only, the first or the last, are never joined."""
    rng = np.random.default_rng(7)
    P = np.sort(rng.dirichlet(np.full(30, 0.3), 300))[:, ::-1]
    P = np.concatenate([P, P[:40]])
    found = of_matrix(read_sample(np.zeros(340, int), P, labels=list(range(30))), 25, 60)
    cells = {tuple(np.floor(row[:25] * 60).tolist()) for row in P}
    assert found.first.size == len(cells)


@pytest.mark.parametrize("k", [2, 3])
def test_rows_of_no_weight_are_left_out_and_others_count_as_often_as_they_weigh(k):
    P = matrix([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    found = of_matrix(read_sample([0, 1, 0], P, labels=[0, 1, 2], sample_weight=[1, 0, 3]), k, 1)
    order = np.argsort(found.count)
    assert (found.n, found.count[order].tolist()) == (4, [1, 3])
    assert found.hits[order].tolist() == ([[1, 0], [0, 3]] if k == 2 else [[1, 0, 0], [3, 0, 0]])
    with pytest.raises(tn.InputError, match="sample_weight"):
        of_matrix(read_sample([0, 1, 0], P, labels=[0, 1, 2], sample_weight=[0, 0, 0]), k, 1)


def test_bins_are_named_with_how_many_have_rows():
    three = read_sample([0, 1, 2], matrix([[0.9, 0.1, 0], [0.1, 0.5, 0.4], [0, 0.2, 0.8]]))
    assert of_matrix(three, 2, 4).bins == "cubes, 4 cells per axis: 2 bins with rows"
    assert of_matrix(three, 3, 5).bins == "simplices of equal volume, 5 per edge: 3 bins with rows"
    cells = tn.tally([0, 1, 1], [0.1, 0.2, 0.9]).parts[0]
    for rule, words in {
        tn.EqualWidth(1): "EqualWidth(n=1): 1 bin",
        tn.EqualWidth(2): "EqualWidth(n=2): 2 bins",
        tn.EqualWidth(3): "EqualWidth(n=3): 2 bins with rows",
        tn.Edges([0, 0.95, 1]): "1 bin with rows",
    }.items():
        assert of_cells(cells, rule, None).bins.endswith(words)


def test_some_bins_alone_keep_their_rows():
    p = np.array([0.05, 0.1, 0.3, 0.55, 0.6, 0.65, 0.9])
    scores = of_cells(
        tn.tally([0, 1, 1, 0, 1, 1, 1], p, sample_weight=[1, 2, 1, 3, 1, 1, 2]).parts[0],
        tn.EqualWidth(4),
        None,
    )
    some = scores.of_bins(np.array([True, False, True, True]))
    assert some.z[:, 0].tolist() == [0.05, 0.1, 0.55, 0.6, 0.65, 0.9]
    assert some.count.tolist() == [1, 2, 3, 1, 1, 2]
    assert some.hits[:, 0].tolist() == [0, 2, 0, 1, 1, 2]
    assert some.first.tolist() == [0, 2, 5]


def joined_by_hand(scores, angle):
    """The entries of each bin by the steps of their scores: their count, mean scores and hits."""
    found, at = [], np.append(scores.first, len(scores.z))
    for a, b in pairwise(at):
        groups = {}
        for z, n, hits in zip(scores.z[a:b], scores.count[a:b], scores.hits[a:b], strict=True):
            steps = tuple(math.floor(math.asin(math.sqrt(one)) / angle) for one in z)
            total = groups.setdefault(steps, [0, np.zeros(z.size), np.zeros(z.size)])
            total[0] += n
            total[1] += n * z
            total[2] += hits
        found.append(
            [(n, *(sums / n).round(12), *hits) for _, (n, sums, hits) in sorted(groups.items())]
        )
    return found


@pytest.mark.parametrize("angle", [0.05, 0.3, np.pi / 2, 2.0])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("ascending", [True, False])
def test_near_ties_join_the_entries_of_a_bin_whose_angles_fall_into_the_same_steps(
    angle, k, ascending
):
    rng = np.random.default_rng(8)
    z = np.concatenate([rng.random((60, k)), rng.choice([0.0, 1.0, 0.0026, 0.02], (60, k))])
    z = np.sort(z, axis=0) if ascending else z
    count = rng.integers(1, 5, 120)
    for first in ([0], [0, 1, 3, 50], [0, 119]):
        scores = BinnedScores(
            z, count, rng.integers(0, count[:, None] + 1, (120, k)), np.array(first), None, ""
        )
        joined = near_ties(scores, angle)
        ends = np.append(joined.first, len(joined.z))
        entries = np.column_stack([joined.count, joined.z.round(12), joined.hits])
        found = [sorted(map(tuple, entries[a:b].tolist())) for a, b in pairwise(ends)]
        assert found == [sorted(group) for group in joined_by_hand(scores, angle)]


def test_near_ties_of_one_entry_are_that_entry():
    for z in (0.0, 0.5, 1.0):
        scores = BinnedScores(
            np.array([[z]]), np.array([3]), np.array([[1]]), np.array([0]), None, ""
        )
        joined = near_ties(scores, 0.1)
        assert (joined.z.tolist(), joined.count.tolist(), joined.first.tolist()) == (
            [[z]],
            [3],
            [0],
        )


def test_near_ties_need_not_be_neighbours():
    z = np.array([[0.1], [0.5], [0.3], [0.51]])
    joined = near_ties(
        BinnedScores(
            z, np.array([1, 1, 1, 3]), np.array([[0], [1], [0], [2]]), np.array([0]), None, ""
        ),
        0.1,
    )
    assert joined.z[:, 0].tolist() == pytest.approx([0.1, 0.3, 0.5075])
    assert joined.count.tolist() == [1, 1, 4]
    assert joined.hits[:, 0].tolist() == [0, 0, 3]


def test_messages():
    y, P = [0, 1, 2], np.eye(3)
    with pytest.raises(tn.InputError, match="`k` must be at most 3, the number of classes; got 4"):
        tn.squared_ece(y, P, k=4)
    with pytest.raises(tn.InputError, match="cells per axis, when k > 1"):
        tn.squared_ece(y, P, k=2, bins=tn.EqualMass(3))
    with pytest.raises(tn.InputError, match="whole numbers that count rows when k > 1"):
        tn.squared_ece(y, P, k=2, sample_weight=[0.5, 1, 1])
    with pytest.raises(tn.InputError, match="whole numbers that count rows when k > 1"):
        tn.squared_ece(y, P, k=2, sample_weight=[1, 2, 1], weight_type="importance")
    with pytest.raises(tn.InputError, match="`kind` must be 'confidence' here"):
        tn.squared_ece(y, P, k=2, kind="classwise")
    with pytest.raises(tn.InputError, match="a Tally has none"):
        tn.squared_ece(tn.tally(y, P, kind="confidence"), k=2)
