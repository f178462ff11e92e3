"""Entries of rows and their segments: members, log-odds around their centre, and pools."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logit

import trueness as tn
from trueness._input.sample import read_sample
from trueness._input.segment_columns import SegmentColumn
from trueness.infer.group._segment_rows import SegmentRows, of_groups, of_sample


def some_rows(n=60, seed=0, *, weighted=False, whole=False):
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 11, n) / 10
    y = rng.integers(0, 2, n)
    w = rng.choice([0.5, 1.5, 0.0], n) if weighted else rng.integers(0, 4, n).astype(float) if whole else None
    columns = (
        SegmentColumn("a", rng.integers(0, 3, n), ("u", "v", "w")),
        SegmentColumn("b", rng.integers(0, 2, n), ("x", "y")),
    )
    return of_sample(read_sample(y, p, sample_weight=w), columns), y, p, np.ones(n) if w is None else w, columns


def test_members_are_the_rows_of_each_value():
    rows, _, _, _, columns = some_rows()
    expected = [one.code == i for one in columns for i in range(len(one.values))]
    assert rows.members.toarray().astype(bool).tolist() == np.array(expected).tolist()


def test_log_odds_are_centred_by_variance_and_certain_scores_left_out():
    rows, _, p, _, columns = some_rows()
    away, mean = rows.away
    inside = (p > 0) & (p < 1)
    masks = [one.code == i for one in columns for i in range(len(one.values))]
    for i, mask in enumerate(masks):
        at = mask & inside
        centre = np.average(logit(p[at]), weights=p[at] * (1 - p[at]))
        assert mean[i] == pytest.approx(centre)
        expected = np.where(at, logit(np.where(at, p, 0.5)) - centre, 0)
        np.testing.assert_allclose(away.toarray()[i], expected, atol=1e-12)


def test_a_segment_of_certain_scores_has_no_log_odds():
    ones = np.ones(4)
    column = SegmentColumn("a", np.array([0, 0, 1, 1]), ("u", "v"))
    rows = of_sample(read_sample([0, 1, 0, 1], [0.0, 1.0, 0.3, 0.3]), (column,))
    away, mean = rows.away
    assert mean == pytest.approx([0, logit(0.3)])
    assert np.abs(away.toarray()).max() < 1e-12
    assert (rows.whole, rows.weight.tolist(), rows.size) == (True, ones.tolist(), 4)


@pytest.mark.all_cases
@pytest.mark.parametrize("kind", ["rows", "weighted", "whole"])
def test_rows_of_weight_zero_are_left_out_and_whole_weights_count_labels(kind):
    rows, y, p, w, columns = some_rows(weighted=kind == "weighted", whole=kind == "whole")
    kept = w > 0
    assert rows.score.tolist() == p[kept].tolist()
    assert rows.weight.tolist() == w[kept].tolist()
    assert rows.events.tolist() == (w * y)[kept].tolist()
    assert rows.rows.tolist() == [1] * kept.sum()
    assert rows.whole == (kind != "weighted")
    assert (rows.count * rows.scale).tolist() == w[kept].tolist()
    assert rows.residual == pytest.approx((w * (y - p))[kept])
    assert rows.variance == pytest.approx(((w if rows.whole else w**2) * p * (1 - p))[kept])
    assert rows.columns[0].code.tolist() == columns[0].code[kept].tolist()


@pytest.mark.all_cases
@pytest.mark.parametrize("kind", ["rows", "weighted", "whole"])
@pytest.mark.parametrize("angle", [None, 0.3])
def test_pools_have_the_sums_of_rows_that_share_score_weight_and_segments(kind, angle):
    rows, _, _, _, columns = some_rows(300, weighted=kind == "weighted", whole=kind == "whole")
    step = rows.score if angle is None else np.floor(np.arcsin(np.sqrt(rows.score)) / angle)
    groups = {}
    for i in range(rows.size):
        key = (step[i], rows.scale[i] if angle is None else 0, *(one.code[i] for one in rows.columns))
        groups.setdefault(key, []).append(i)
    expected = []
    for at in groups.values():
        count = rows.count[at].sum()
        score, square = (rows.count[at] @ values[at] / count for values in (rows.score, rows.scale**2))
        sums = (rows.rows[at].sum(), rows.weight[at].sum(), rows.events[at].sum())
        expected.append((*(one.code[at[0]] for one in rows.columns), score, count, np.sqrt(square), *sums))
    found = rows.pooled(angle)
    columns = (found.score, found.count, found.scale, found.rows, found.weight, found.events)
    table = np.column_stack([*(one.code for one in found.columns), *columns])
    assert sorted(map(tuple, table.round(9))) == sorted(map(tuple, np.round(expected, 9)))
    # Entries of the same segments are neighbours.
    patterns = list(zip(*(one.code.tolist() for one in found.columns), strict=True))
    starts = sum(a != b for a, b in pairwise(patterns)) + 1
    assert starts == len(set(patterns))


def test_clusters_are_numbered_by_what_they_hold():
    rng = np.random.default_rng(0)
    p, y, cluster = rng.integers(1, 10, 40) / 10, rng.integers(0, 2, 40), np.repeat(np.arange(10), 4)
    code = rng.integers(0, 2, 40)

    def numbered(order, names, flip=0):
        column = SegmentColumn("a", code[order] ^ flip, ("u", "v"))
        return of_sample(read_sample(y[order], p[order]), (column,), names[cluster[order]]).cluster_by_content

    plain, order, names = np.arange(40), rng.permutation(40), rng.permutation(10)
    found = numbered(plain, np.arange(10))
    assert sorted(set(found)) == list(range(10))
    assert all(len(set(found[cluster == g])) == 1 for g in range(10))
    assert numbered(order, names).tolist() == found[order].tolist()


@pytest.mark.all_cases
@pytest.mark.parametrize(("wrong", "zero", "one"), [(0, 0, 1), (1, 0.01, 1), (30, 0.05, 1), (-1, 0, 0.99)])
def test_contradicted_scores_are_moved_to_the_share_of_their_labels_by_half_a_unit_at_most(wrong, zero, one):
    # A hundred rows at 0 and at 1 each, among scores that are multiples of 0.1.
    score = np.array([1.0, 0.0, 0.3, 0.5, 0.9])
    count = np.array([100, 100, 10, 10, 10])
    events = np.array([100 - (wrong < 0), max(wrong, 0), 3, 5, 9])
    rows = SegmentRows(score, count, np.full(5, 0.5), count, count / 2, events / 2, ())
    assert rows.moved_inside(0.1).score == pytest.approx([one, zero, 0.3, 0.5, 0.9])


def test_scores_that_are_not_rounded_are_not_moved():
    score, ones = np.array([0.0, 1 / np.pi, 1 / np.e, 0.77777]), np.ones(4, dtype=np.int64)
    rows = SegmentRows(score, ones, np.ones(4), ones, np.ones(4), np.ones(4), ())
    assert rows.moved_inside(None) is rows


def test_sums_of_groups_keep_rows_weights_and_names():
    rng = np.random.default_rng(1)
    p, y, w = rng.integers(1, 5, 30) / 5, rng.integers(0, 2, 30), rng.uniform(0.5, 2, 30)
    for weight in (None, w):
        options = [{} if weight is None else {"sample_weight": w[i::3]} for i in range(3)]
        groups = {(name, i % 2): tn.tally(y[i::3], p[i::3], **options[i]) for i, name in enumerate(["u", None, "v"])}
        rows = of_groups(["shop", "day"], groups)
        assert [(one.name, one.values) for one in rows.columns] == [
            ("shop", ("u", "(missing)", "v")),
            ("day", ("0", "1")),
        ]
        sums = rows.members @ np.column_stack([rows.rows, rows.weight, rows.events, rows.count * rows.scale**2])
        each = np.ones(30) if weight is None else w
        for i in range(3):
            at = slice(i, None, 3)
            squares = each[at].sum() if weight is None else (w[at] ** 2).sum()
            assert sums[i] == pytest.approx([10, each[at].sum(), (each * y)[at].sum(), squares])
        assert sums[3] == pytest.approx(sums[0] + sums[2])


def test_clusters_without_weight_are_left_out():
    column = SegmentColumn("a", np.array([0, 0, 1, 1, 1]), ("u", "v"))
    sample = read_sample([0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5], sample_weight=[1, 0, 0, 2, 1])
    rows = of_sample(sample, (column,), np.array([0, 1, 2, 3, 0]))
    assert rows.cluster.tolist() == [0, 1, 0]
    assert rows.score.tolist() == [0.1, 0.4, 0.5]
    assert rows.columns[0].code.tolist() == [0, 1, 1]


def test_the_sign_of_a_zero_does_not_matter():
    rng = np.random.default_rng(0)
    p, y, cluster = rng.integers(0, 3, 60) / 4, rng.integers(0, 2, 60), np.repeat(np.arange(20), 3)
    column = SegmentColumn("a", rng.integers(0, 2, 60), ("u", "v"))
    one, other = (
        SegmentRows(
            score, np.ones(60, int), np.ones(60), np.ones(60, int), np.ones(60), y.astype(float), (column,), cluster
        )
        for score in (p, np.where(p == 0, -0.0, p))
    )
    assert one.cluster_by_content.tolist() == other.cluster_by_content.tolist()
    assert one.pooled().events.tolist() == other.pooled().events.tolist()
