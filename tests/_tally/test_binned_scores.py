"""The largest scores of a row, and the cells they fall into."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import matrices

import trueness as tn
from trueness._input.sample import read_sample
from trueness._tally.binned_scores import default_cells, near_ties, of_cells, of_matrix

pytestmark = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def matrix(rows):
    return np.array(rows, dtype=float)


def cells_of(found):
    """Sets of the score vectors that share a bin."""
    parts = np.split(found.z, found.first[1:])
    return sorted(sorted(map(tuple, part.tolist())) for part in parts)


def test_the_largest_scores_come_first_and_ties_go_to_the_smallest_class():
    found = of_matrix(read_sample([2, 0, 1], matrix([[0.3, 0.3, 0.4], [0.4, 0.2, 0.4], [0.2, 0.4, 0.4]])), 2, 1)
    assert found.z.tolist() == [[0.4, 0.3], [0.4, 0.4], [0.4, 0.4]]
    # Row 1 takes class 2, then 0 (not 1); row 2 takes 0, then 2; row 3 takes 1, then 2.
    assert found.hits.tolist() == [[1, 0], [1, 0], [1, 0]]
    second = of_matrix(read_sample([0, 2, 2], matrix([[0.3, 0.3, 0.4], [0.4, 0.2, 0.4], [0.2, 0.4, 0.4]])), 2, 1)
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
        of_matrix(read_sample(np.zeros(50, dtype=int), P, labels=list(range(20)), sum_tolerance=1e-6), k, 1)
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


def test_a_score_of_one_is_in_the_last_cell():
    found = of_matrix(read_sample([0, 0], matrix([[1, 0, 0], [0.95, 0.03, 0.02]])), 2, 10)
    assert found.first.tolist() == [0]


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
    n = 60_000
    P = np.random.default_rng(1).dirichlet(np.ones(K), n)
    found = of_matrix(read_sample(np.zeros(n, dtype=int), P, labels=list(range(K))), K, m)
    size = np.diff(np.append(found.first, n))
    cells = m ** (K - 1)
    assert size.size == cells
    spread = math.sqrt(n / cells * (1 - 1 / cells))
    assert abs(size - n / cells).max() < 5 * spread


def test_cells_are_never_more_than_rows():
    P = np.random.default_rng(2).dirichlet(np.ones(40), 200)
    found = of_matrix(read_sample(np.zeros(200, dtype=int), P, labels=list(range(40))), 30, 1000)
    assert found.first.size == 200
    whole = of_matrix(read_sample(np.zeros(200, dtype=int), P, labels=list(range(40))), 40, 50)
    assert whole.first.size == 200


@given(matrices(), st.data())
def test_a_weight_is_so_many_rows(data, more):
    y, P = data
    w = np.array(more.draw(st.lists(st.integers(1, 3), min_size=y.size, max_size=y.size)))
    weighted = tn.squared_ece(y, P, k=P.shape[1], bins=2, sample_weight=w, labels=list(range(P.shape[1])))
    repeated = tn.squared_ece(
        np.repeat(y, w), np.repeat(P, w, axis=0), k=P.shape[1], bins=2, labels=list(range(P.shape[1]))
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


@given(matrices())
def test_one_score_is_the_confidence(data):
    y, P = data
    labels = list(range(P.shape[1]))
    assert tn.squared_ece(y, P, k=1, bins=4, labels=labels) == pytest.approx(
        tn.squared_ece(y, P, bins=4, kind="confidence", labels=labels), abs=1e-13
    )


def test_two_classes_whole_is_twice_one_column():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    both = tn.squared_ece(y, np.column_stack([1 - p, p]), k=2, bins=7)
    # One column, bins mirrored: [0, 1] cut in parts of 1 − p.
    assert both == pytest.approx(2 * tn.squared_ece(1 - y, 1 - p, bins=7), abs=1e-12)


def test_default_cells():
    assert default_cells(1000, 1, None) == 16  # 1000^0.4
    assert default_cells(1000, 2, 10) == 10  # 1000^(1/3)
    assert default_cells(1000, 3, 3) == 10  # two free scores
    assert default_cells(2, 5, 10) == 2


@pytest.mark.parametrize("rule", [tn.EqualMass(20), tn.EqualWidth(20)])
def test_near_ties_keep_sums_and_change_the_law_of_labels_by_less_than_a_thousandth(rule):
    rng = np.random.default_rng(4)
    p = rng.random(50_000)
    scores = of_cells(tn.tally((rng.random(p.size) < p).astype(int), p).parts[0], rule, None)
    joined = near_ties(scores, 1 / 1024)
    assert joined.first.size == scores.first.size
    for name in ("count", "hits"):
        a, b = (np.add.reduceat(getattr(x, name), x.first) for x in (scores, joined))
        assert a.tolist() == b.tolist()
    a, b = (np.add.reduceat(x.count * x.z[:, 0], x.first) for x in (scores, joined))
    assert a == pytest.approx(b, rel=1e-12)
    assert joined.z.size < 1700
    # Ehm's bound on the total variation between Poisson-binomial and binomial, added over all that is joined.
    entry = np.repeat(np.arange(joined.z.size), joined.count)
    off = np.bincount(entry, (scores.z[:, 0] - joined.z[entry, 0]) ** 2)
    q = joined.z[:, 0]
    assert (off / ((joined.count + 1) * q * (1 - q))).sum() < 1e-3


def test_near_ties_found_by_bisection_are_those_of_every_score_looked_at():
    rng = np.random.default_rng(5)
    p = np.concatenate([rng.random(30_000), rng.random(2000) ** 40, [0, 1], np.round(rng.random(5000), 2)])
    scores = of_cells(tn.tally(rng.integers(0, 2, p.size), p).parts[0], tn.EqualMass(9), None)
    joined = near_ties(scores, 1 / 1024)
    # The last two of a bin swapped: no longer ascending, so that every score is looked at.
    swapped = np.arange(len(scores.z))
    swapped[-2:] = swapped[:-3:-1]
    columns = {name: getattr(scores, name)[swapped] for name in ("z", "count", "hits")}
    expected = near_ties(replace(scores, **columns), 1 / 1024)
    assert joined.z[:-3] == pytest.approx(expected.z[:-3], rel=1e-14, abs=0)
    for name in ("count", "hits", "first"):
        assert getattr(joined, name).tolist() == getattr(expected, name).tolist()


def test_messages():
    y, P = [0, 1, 2], np.eye(3)
    with pytest.raises(tn.InputError, match="`k` must be at most 3, the number of classes; got 4"):
        tn.squared_ece(y, P, k=4)
    with pytest.raises(tn.InputError, match="cells per axis, when k > 1"):
        tn.squared_ece(y, P, k=2, bins=tn.EqualMass(3))
    with pytest.raises(tn.InputError, match="whole numbers when k > 1"):
        tn.squared_ece(y, P, k=2, sample_weight=[0.5, 1, 1])
    with pytest.raises(tn.InputError, match="`weight_type` must be 'frequency' when k > 1"):
        tn.squared_ece(y, P, k=2, weight_type="importance")
    with pytest.raises(tn.InputError, match="`k` must be a whole number ≥ 1"):
        tn.squared_ece(y, P, k=0)
    with pytest.raises(tn.InputError, match="`kind` must be 'confidence' here"):
        tn.squared_ece(y, P, k=2, kind="classwise")
    with pytest.raises(tn.InputError, match="a Tally has none"):
        tn.squared_ece(tn.tally(y, P, kind="confidence"), k=2)
    with pytest.raises(tn.InputError, match=r"must lie in \[0, 1\]"):
        tn.squared_ece(y, [[1.2, -0.2, 0], [0, 1, 0], [0, 0, 1]], k=2)
