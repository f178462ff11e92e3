"""The area under the ROC curve, by counting pairs."""

import math

import numpy as np
import pytest

import trueness as tn
from trueness.measure._auc import placements


def rows(weights, n=60):
    rng = np.random.default_rng(5)
    p = rng.random(n).round(1)
    w = {"none": None, "whole": rng.integers(0, 4, n), "any": rng.uniform(0.1, 2, n)}[weights]
    return (rng.random(n) < p).astype(int), p, w


def share_below(scores, weights, at):
    return (weights * ((scores < at) + 0.5 * (scores == at))).sum() / weights.sum()


@pytest.mark.parametrize("weights", ["none", "whole", "any"])
def test_the_area_is_the_share_of_pairs_in_order_with_ties_as_half(weights):
    y, p, given = rows(weights)
    w = np.ones(p.size) if given is None else given
    others, events = (p[y == 0], w[y == 0]), (p[y == 1], w[y == 1])
    expected = np.average([share_below(*others, at) for at in events[0]], weights=events[1])
    assert tn.auc(y, p, sample_weight=given) == pytest.approx(expected, rel=1e-12)
    assert tn.auc(1 - y, p, sample_weight=given) == pytest.approx(1 - expected, rel=1e-12)
    assert tn.auc(y, 1 - p, sample_weight=given) == pytest.approx(1 - expected, rel=1e-12)


@pytest.mark.all_cases
@pytest.mark.parametrize("weights", ["none", "whole", "any"])
@pytest.mark.parametrize("block", [1, 3, 4, 11, 100])
def test_placements_are_shares_of_the_other_class_below_and_above(weights, block):
    y, p, given = rows(weights)
    w = np.ones(p.size) if given is None else given
    cells = tn.tally(y, p, sample_weight=given).parts[0]
    seen = 0
    for some, found in placements(cells, block):
        for i, at in enumerate(cells.score[some]):
            assert found.events[i] == pytest.approx(w[(p == at) & (y == 1)].sum(), abs=1e-12)
            assert found.others[i] == pytest.approx(w[(p == at) & (y == 0)].sum(), abs=1e-12)
            assert found.below[i] == pytest.approx(share_below(p[y == 0], w[y == 0], at), abs=1e-12)
            assert found.above[i] == pytest.approx(1 - share_below(p[y == 1], w[y == 1], at), abs=1e-12)
        assert some.start == seen
        seen = some.stop
    assert seen == cells.size


def test_one_class_has_no_placements_and_no_area():
    for y in ([0, 0, 0], [1, 1, 1]):
        with pytest.warns(tn.TruenessWarning) as said:
            assert math.isnan(tn.auc(y, [0.2, 0.5, 0.5]))
        assert tn.NoEstimateWarning in {one.category for one in said}
        assert list(placements(tn.tally(y, [0.2, 0.5, 0.5]).parts[0])) == []


def test_scores_in_order_have_an_area_of_one_and_never_more():
    assert tn.auc(np.arange(30) >= 17, np.arange(30) / 30) == 1
    assert tn.auc(np.arange(30) < 17, np.arange(30) / 30) == 0
    for seed in range(20):
        w = np.random.default_rng(seed).uniform(0.1, 2, 30)
        assert 1 - 1e-14 < tn.auc(np.arange(30) >= 17, np.arange(30) / 30, sample_weight=w) <= 1
