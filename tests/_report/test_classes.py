"""A matrix of scores: every class against the rest, the worst first, and the largest scores together."""

import subprocess
import sys

import numpy as np
import pytest
from _report.conftest import entry
from scipy.stats import binom

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
    adjusted = np.minimum(
        1, np.maximum.accumulate(pvalues * np.arange(10, 0, -1))
    )  # by Holm's method
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


@pytest.mark.slow
def test_of_very_many_rare_classes_the_number_of_events_is_tested():
    """Draws that survive the correction for 400 classes would cost too much; one class occurs in half of the rows."""
    rng = np.random.default_rng(6)
    P, y = rng.dirichlet(np.ones(400), 40), np.where(np.arange(40) % 2, 7, rng.integers(0, 400, 40))
    rows = entry(tn.report(y, P, labels=range(400), intervals=False))["classes"]
    for one in rows:
        k = int(one["label"])
        events, expected = (y == k).sum(), P[:, k].sum()
        tail = (
            binom.cdf(events, 40, P[:, k].mean())
            if events < expected
            else binom.sf(events - 1, 40, P[:, k].mean())
        )
        assert one["pvalue"] == pytest.approx(
            min(1, 2 * tail) if abs(events - expected) >= 1 else 1
        )
    assert [one["label"] for one in rows if one["flagged"]] == ["7"]


MEMORY = """
import resource
import numpy as np
import trueness as tn
rng = np.random.default_rng(0)
P = rng.random((100_000, 300), dtype=np.float32)
P /= P.sum(axis=1, keepdims=True)
y = rng.integers(0, 300, 100_000)
tn.report(y[:60], P[:60], labels=range(300), intervals=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tn.report(y, P)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / P.nbytes)
"""


@pytest.mark.slow
def test_a_report_takes_at_most_three_times_the_memory_of_its_matrix():
    """The sums of all classes and of each calibrator, kept at once, took 22 times as much."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEMORY], capture_output=True, text=True, check=True
    )
    assert float(found.stdout) < 3


@pytest.mark.slow
def test_a_class_that_is_right_on_average_is_said_to_be_and_errors_are_in_points():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.2, (1_500, 4))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((1_500, 1))).sum(axis=1)
    extreme = np.exp(1.8 * logits) / np.exp(1.8 * logits).sum(axis=1, keepdims=True)
    page = tn.report(y, extreme, progress=False)
    where = page.to_dict()["models"][0]["answers"]["where"]["detail"]
    assert "is off, though right on average: predicted " in where
    text = page.to_markdown()
    joint = text.partition("The largest scores jointly")[2]
    assert "Errors are in percentage points." in joint
    assert "MassAndWidth" not in joint.partition("Errors are")[0]
