"""Rows are dealt into folds of equal size, with classes spread evenly and clusters kept together."""

import numpy as np
import pytest

from trueness.recalibrate import _cross_fit
from trueness.recalibrate._cross_fit import deal_folds, deal_rows, number_of_deals
from trueness.recalibrate._shaped_map import logit_cells

RNG = np.random.default_rng(8)
Z, Y = RNG.integers(-3, 4, 57).astype(float), RNG.integers(0, 2, 57)


def spread(counts):
    return int(np.max(counts) - np.min(counts))


def dealt(w=None, cluster=None, number=5, deals=3):
    return deal_folds(logit_cells(Z, Y, w), Y, w, cluster, number, deals)


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_dealt_evenly_and_none_is_lost(weighted):
    w = RNG.integers(1, 4, Y.size).astype(float) if weighted else np.ones(Y.size)
    folds = dealt(w if weighted else None)
    assert (folds.deals, folds.number) == (3, 5)
    value = np.unique(Z)
    events = [w[(z == Z) & (Y == 1)].sum() for z in value]
    others = [w[(z == Z) & (Y == 0)].sum() for z in value]
    for deal in range(3):
        assert folds.events[deal].sum(axis=0).tolist() == events
        assert folds.others[deal].sum(axis=0).tolist() == others
        assert spread(folds.events[deal].sum(axis=1)) <= 1
        assert spread(folds.others[deal].sum(axis=1)) <= 1
        assert spread((folds.events + folds.others)[deal].sum(axis=1)) <= 1
    assert (folds.events[0] != folds.events[1]).any()


def test_more_rows_than_can_be_dealt_one_by_one_are_dealt_by_chance(monkeypatch):
    monkeypatch.setattr(_cross_fit, "_MOST_DEALT", 1000)
    w = np.full(Y.size, 2000.0)
    folds = dealt(w, deals=1)
    value = np.unique(Z)
    events = np.array([w[(z == Z) & (Y == 1)].sum() for z in value])
    assert folds.events[0].sum(axis=0).tolist() == events.tolist()
    assert folds.events.shape == (1, 5, value.size)
    # Six standard errors of a binomial number.
    assert (np.abs(folds.events[0] - events / 5) <= 6 * np.sqrt(events * 0.16)).all()
    assert spread(folds.events[0].sum(axis=1)) > 1


@pytest.mark.parametrize(("limit", "even"), [(29, False), (30, True)])
def test_the_limit_of_dealing_one_by_one_is_included(monkeypatch, limit, even):
    monkeypatch.setattr(_cross_fit, "_MOST_DEALT", limit)
    z, y = np.arange(60.0), np.arange(60) % 2
    events = deal_folds(logit_cells(z, y, None), y, None, None, 5, 4).events.sum(axis=2)
    assert (events == 6).all() == even


@pytest.mark.parametrize("kind", ["fractions", "clusters", "both"])
def test_weights_of_dealt_rows_are_summed_where_they_fall(kind):
    w = RNG.uniform(0.5, 2, Y.size) if kind != "clusters" else None
    cluster = RNG.integers(0, 9, Y.size) if kind != "fractions" else None
    folds = dealt(w, cluster)
    assert folds.of_row.shape == (3, Y.size)
    for deal, fold in enumerate(folds.of_row):
        for f in range(5):
            for at, z in enumerate(np.unique(Z)):
                here = (fold == f) & (z == Z)
                own = np.ones(Y.size) if w is None else w
                assert folds.events[deal, f, at] == pytest.approx(own[here & (Y == 1)].sum())
                assert folds.others[deal, f, at] == pytest.approx(own[here & (Y == 0)].sum())


def test_rows_outside_a_fold_train_its_map_and_all_rows_the_last():
    folds = dealt()
    weight, events = folds.training()
    assert weight.shape == events.shape == (3 * 5 + 1, np.unique(Z).size)
    for deal in range(3):
        for f in range(5):
            rest = [other for other in range(5) if other != f]
            assert events[deal * 5 + f].tolist() == folds.events[deal, rest].sum(axis=0).tolist()
            both = folds.events + folds.others
            assert weight[deal * 5 + f].tolist() == both[deal, rest].sum(axis=0).tolist()
    assert weight[-1].tolist() == [(z == Z).sum() for z in np.unique(Z)]
    assert events[-1].tolist() == [((z == Z) & (Y == 1)).sum() for z in np.unique(Z)]


@pytest.mark.parametrize("columns", [0, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_dealt_evenly_in_whatever_order_they_come(columns, weighted):
    z = RNG.normal(size=(58, columns) if columns else 58)
    y, w = RNG.integers(0, 3, 58), RNG.uniform(0.5, 2, 58) if weighted else None
    fold = deal_rows(z, y, w, None, 4, 3)
    assert fold.shape == (3, 58)
    for deal in fold:
        assert spread(np.bincount(deal, minlength=4)) <= 1
        assert all(spread(np.bincount(deal[y == k], minlength=4)) <= 1 for k in range(3))
    assert (fold[0] != fold[1]).any()
    order = RNG.permutation(58)
    again = deal_rows(z[order], y[order], None if w is None else w[order], None, 4, 3)
    assert (again == fold[:, order]).all()


def test_folds_are_of_equal_size_if_the_rows_allow_it():
    y = np.repeat([0, 1], [7, 8])
    for fold in deal_rows(np.arange(15.0), y, None, None, 5, 3):
        assert np.bincount(fold).tolist() == [3] * 5
    folds = deal_folds(logit_cells(np.arange(15.0), y, None), y, None, None, 5, 3)
    assert (folds.events + folds.others).sum(axis=2).tolist() == [[3.0] * 5] * 3


def test_rows_of_equal_scores_are_ordered_by_their_weights():
    w, order = np.arange(1.0, 21.0), RNG.permutation(20)
    z, y = np.zeros(20), np.zeros(20, int)
    assert (deal_rows(z, y, w[order], None, 4, 2) == deal_rows(z, y, w, None, 4, 2)[:, order]).all()


def largest_first(sizes, number):
    rows = [0] * number
    for size in sorted(sizes, reverse=True):
        rows[rows.index(min(rows))] += size
    return sorted(rows)


@pytest.mark.parametrize(("sizes", "number"), [([5, 4, 3, 3, 3], 2), ([9, 1, 1, 1, 6, 2, 2], 3), ([4, 4, 2], 5)])
def test_clusters_stay_together_in_folds_filled_from_the_largest_on(sizes, number):
    cluster = RNG.permutation(np.repeat(np.arange(len(sizes)) * 10, sizes))
    y = np.zeros(cluster.size, int)
    for fold in deal_rows(y.astype(float), y, None, cluster, number, 4):
        assert all(np.unique(fold[cluster == one]).size == 1 for one in np.unique(cluster))
        assert sorted(np.bincount(fold, minlength=number).tolist()) == largest_first(sizes, number)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("rows", "deals"), [(1, 5), (400, 5), (401, 4), (667, 2), (1000, 2), (1000.25, 1), (2000, 1), (1e9, 1)]
)
def test_few_rows_are_dealt_several_times_up_to_two_thousand_in_all(rows, deals):
    assert number_of_deals(rows) == deals
