"""A matrix of scores: every class against the rest, the worst first, and the largest scores together."""

import numpy as np
import pytest
from _report.conftest import entry

import trueness as tn


@pytest.fixture(scope="module")
def model(multiclass):
    return entry(multiclass)


def test_the_summary_is_of_the_top_label(model, classes):
    y, P = classes
    summary = model["summary"]
    assert summary["rate"] == pytest.approx((P.argmax(axis=1) == y).mean())
    assert summary["ece"] == tn.ece(y, P, kind="confidence")
    assert summary["ece_confidence"] == summary["ece"]
    assert summary["ece_classwise"] == pytest.approx(tn.ece(y, P), abs=1e-15)
    assert summary["brier"] == pytest.approx(tn.brier(y, P))
    assert summary["log_loss"] == pytest.approx(tn.log_loss(y, P))
    assert summary["miscalibration"] == pytest.approx(tn.corp(y, P).miscalibration)
    assert summary["ece_interval"] == tn.ece_interval(y, P, level=0.95, seed=0).to_dict()


def test_classes_are_sorted_by_the_damage_they_do(model, classes):
    y, P = classes
    rows = model["classes"]
    assert [one["ece"] for one in rows] == sorted((one["ece"] for one in rows), reverse=True)
    assert sum(one["damage"] for one in rows) == pytest.approx(1)
    assert rows[0]["label"] == "3"
    for one in rows:
        k = int(one["label"])
        assert one["ece"] == pytest.approx(tn.ece(y == k, P[:, k]), abs=1e-15)
        assert one["share"] == pytest.approx((y == k).mean())
        assert one["gap"] == pytest.approx((y == k).mean() - P[:, k].mean())


def test_flags_of_classes_are_corrected(model):
    pvalues = sorted(one["pvalue"] for one in model["classes"])
    adjusted = np.minimum(1, np.maximum.accumulate(pvalues * np.arange(10, 0, -1)))  # by Holm's method
    np.testing.assert_allclose(sorted(one["adjusted_pvalue"] for one in model["classes"]), adjusted)
    assert model["classes"][0]["flagged"]


def test_the_largest_scores_together_are_the_librarys(model, classes):
    y, P = classes
    assert [one["k"] for one in model["top_k"]] == [1, 2, 3, 4, 5]
    for one in model["top_k"][:2]:
        wanted = tn.ece_interval(y, P, k=one["k"], level=0.95, seed=0, sum_tolerance=1e-6)
        assert one["interval"] == wanted.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("k", [60, 200])
def test_very_many_classes_still_make_a_small_page(k):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(k), 400)
    found = tn.report(rng.integers(0, k, 400), P, labels=list(range(k)))
    assert len(found.page().encode()) < 400_000 + 8_000 * k
    assert len(found.to_dict()["models"][0]["classes"]) == k


def test_every_class_has_its_ratio_with_limits(multiclass, classes):
    y, P = classes
    for one in entry(multiclass)["classes"][:3]:
        k = int(one["label"])
        alone = tn.estimate(tn.observed_expected, y == k, P[:, k])
        assert (one["ratio"], one["ratio_low"], one["ratio_high"]) == pytest.approx(
            (alone.value, alone.low, alone.high)
        )
