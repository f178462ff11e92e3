"""The area under the ROC curve, by counting pairs."""

import math

import numpy as np
import pytest

import trueness as tn


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


def test_one_class_has_no_area():
    for y in ([0, 0, 0], [1, 1, 1]):
        with pytest.warns(tn.TruenessWarning) as said:
            assert math.isnan(tn.auc(y, [0.2, 0.5, 0.5]))
        assert tn.errors.NoEstimateWarning in {one.category for one in said}


def test_scores_in_order_have_an_area_of_one_and_never_more():
    assert tn.auc(np.arange(30) >= 17, np.arange(30) / 30) == 1
    assert tn.auc(np.arange(30) < 17, np.arange(30) / 30) == 0
    for seed in range(20):
        w = np.random.default_rng(seed).uniform(0.1, 2, 30)
        assert 1 - 1e-14 < tn.auc(np.arange(30) >= 17, np.arange(30) / 30, sample_weight=w) <= 1


@pytest.mark.parametrize("light", [1e-3, 1e-6])
def test_non_events_of_little_weight_are_ranked_as_exactly_as_others(light):
    w = [light, light, 8e8]
    options = {"sample_weight": w, "weight_type": "importance"}
    assert tn.auc([0, 0, 1], [0.1, 0.2, 0.9], **options) == 1
    assert tn.auc([0, 0, 1], [0.1, 0.9, 0.8], **options) == 0.5
