"""Clusters: what allows for them equals the library's, what cannot says so, and the verdict does not cry wolf."""

import numpy as np
import pytest
from _report.conftest import entry, measures, plain

import trueness as tn
from trueness.errors import InputError

COPIES = 5


def copied(clusters, seed, distortion=0.0):
    """Every row of a model five times, each set of copies a cluster; calibrated unless distorted."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, clusters)
    y = (rng.random(clusters) < p + distortion * (0.5 - p)).astype(int)
    return np.repeat(y, COPIES), np.repeat(p, COPIES), np.repeat(np.arange(clusters), COPIES)


@pytest.fixture(scope="module")
def rows():
    return copied(300, 0)


@pytest.fixture(scope="module")
def clustered(rows):
    y, p, c = rows
    by = np.where(np.arange(y.size) // COPIES % 3 == 0, "south", "north")
    return tn.report(y, {"a": p, "b": p**1.3}, cluster=c, by=by, level=0.9, seed=3)


@pytest.mark.slow
def test_sets_and_tests_are_those_of_the_library_with_clusters(rows, clustered):
    y, p, c = rows
    for i, scores in enumerate((p, p**1.3)):
        found = entry(clustered, i)["summary"]
        assert found["ece_interval"] == plain(
            tn.ece_interval(y, scores, cluster=c, level=0.9, seed=3)
        )
        assert found["test"] == plain(
            tn.calibration_test(y, scores, cluster=c, resamples=999, level=0.9, seed=3)
        )


@pytest.mark.slow
def test_the_comparison_is_that_of_the_library_with_clusters(rows, clustered):
    y, p, c = rows
    expected = tn.compare(y, {"a": p, "b": p**1.3}, cluster=c, level=0.9)
    assert clustered.to_dict()["comparison"] == expected.to_dict()


@pytest.mark.slow
def test_no_calibrator_is_measured_on_a_cluster_that_it_was_fitted_on():
    """Labels that the scores do not predict, but that a map learns from the other copies of a row.

    The scores are so near 0.5 that no map has anything to gain but what it learns from copies.
    """
    y, p, c = (
        np.random.default_rng(1).integers(0, 2, 40),
        np.linspace(0.49, 0.51, 40),
        np.arange(40),
    )
    y, p, c = (np.repeat(one, 10) for one in (y, p, c))
    alone, aware = (
        entry(tn.report(y, p, intervals=False, **o))["remedies"] for o in ({}, {"cluster": c})
    )
    alone_, aware_ = ({one["name"]: one for one in part["after"]} for part in (alone, aware))
    assert alone_["isotonic regression"]["gain_low"] > 0
    for name in ("Platt scaling", "isotonic regression", "histogram binning"):
        found, other = alone_[name], aware_[name]
        assert other["gain"] < min(0, found["gain"])
        assert other["gain_high"] - other["gain_low"] > 2 * (found["gain_high"] - found["gain_low"])
    assert aware["best"] is None


@pytest.mark.slow
def test_segments_are_tested_with_their_clusters(rows, clustered):
    y, p, c = rows
    found = entry(clustered)["segments"]
    north = np.arange(y.size) // COPIES % 3 != 0
    expected = tn.segments(y, p, np.where(north, "north", "south"), cluster=c, seed=3)
    values = [one["value"] for one in found["rows"]]
    assert [one["pvalue"] for one in found["rows"]] == [
        expected.pvalue[expected.value.index(v)] for v in values
    ]
    assert "random signs of the 300 clusters" in found["test"]


@pytest.mark.slow
def test_a_calibrated_model_of_copied_rows_is_not_called_miscalibrated():
    alone = aware = 0
    for seed in range(6):
        y, p, c = copied(200, seed)
        alone += "miscalibrated" in tn.report(y, p, intervals=False).verdicts["scores"]
        aware += "miscalibrated" in tn.report(y, p, cluster=c, intervals=False).verdicts["scores"]
    assert aware == 0
    assert alone >= 3  # five copies of each row look like proof


@pytest.mark.slow
def test_a_miscalibrated_model_is_still_found():
    y, p, c = copied(1_500, 0, distortion=0.7)
    assert tn.report(y, p, cluster=c, intervals=False).verdicts == {"scores": "miscalibrated"}


def test_every_number_says_whether_clusters_are_taken_into_account(clustered):
    found = clustered.to_dict()["clusters"]
    assert (found["number"], found["effective"]) == (300, 300.0)
    assert {"verdict", "test", "confidence sets", "comparison"} <= set(found["considered"])
    assert {"noise floors", "TCE", "flagged bins"} <= set(found["ignored"])
    text = " ".join(str(clustered).split())
    for sentence in (
        ", omnibus test of all rows, clusters taken into account)",
        "Verdict, typical error and p take clusters into account; the noise floor does not.",
        "Intervals and flags are computed as if rows were independent: clusters are not taken into account",
        "Rejected: as if rows were independent",
        "Sets and gains take clusters into account, and no cluster is in two folds.",
        "Intervals and p-values take clusters into account.",
        "There is no guarantee for histogram binning: it requires independent rows.",
        "1,500 rows used of 1,500, in 300 clusters",
        "labels resampled 999 times, as if rows were independent",
    ):
        assert sentence in text, sentence
    page = clustered.page()
    assert page.count("Computed as if rows were independent") == 6  # three figures of two models
    assert entry(clustered)["remedies"]["guarantee"] is None


def test_every_line_of_the_summary_has_a_word_about_clusters(clustered):
    cells = {name: line["Clusters"] for name, line in measures(clustered).items()}
    assert all(cells.values())
    assert {"ECE", "Slope", "Calibration in the large", "Log loss"} <= cells.keys()
    assert cells["Typical error"] == cells["Test of calibration"] == "yes"
    assert cells["TCE"].startswith("no,")
    assert cells["ECE"] == "not the noise floor"


@pytest.mark.slow
def test_without_clusters_nothing_is_said_of_them(binary):
    assert binary.to_dict()["clusters"] is None
    assert "cluster" not in binary.page().lower()
    assert "cluster" not in str(binary).lower()


@pytest.mark.slow
def test_classes_and_the_largest_scores(classes):
    y, P = classes
    c = np.arange(y.size) // 3
    one = entry(tn.report(y, P, cluster=c))
    assert one["summary"]["ece_interval"] == plain(
        tn.ece_interval(y, P, cluster=c, level=0.95, seed=0)
    )
    assert [row["k"] for row in one["top_k"]] == [1]
    assert (
        "No confidence set of several scores jointly takes clusters into account: k = 1 only."
        in one["notes"]
    )
    worst = one["classes"][0]
    k = int(worst["label"])
    expected = tn.calibration_test(y == k, P[:, k], cluster=c, resamples=999, seed=0)
    assert worst["pvalue"] == expected.pvalue


@pytest.mark.slow
def test_fractional_weights_and_clusters_go_together(rows):
    y, p, c = rows
    w = np.random.default_rng(1).uniform(0.5, 2, y.size)
    found = entry(tn.report(y, p, cluster=c, sample_weight=w, intervals=False))
    expected = tn.ece_interval(y, p, cluster=c, sample_weight=w, level=0.95, seed=0)
    assert found["summary"]["ece_interval"] == plain(expected)
    assert found["summary"]["test"] is None
    assert any("The test could not be computed" in note for note in found["notes"])


@pytest.mark.slow
def test_missing_clusters_are_an_error_or_dropped(rows):
    y, p, c = rows
    gone = c.astype(float)
    gone[[3, 700]] = np.nan
    with pytest.raises(
        InputError, match=r"`cluster` must not have missing values; 2 of 1,500 .* row 3\."
    ):
        tn.report(y, p, cluster=gone)
    found = tn.report(y, p, cluster=gone, missing="drop", intervals=False).to_dict()
    assert (found["rows"]["dropped"], found["clusters"]["number"]) == (2, 300)
    left = ~np.isnan(gone)
    expected = tn.ece_interval(y[left], p[left], cluster=c[left], level=0.95, seed=0)
    assert found["models"][0]["summary"]["ece_interval"] == plain(expected)


@pytest.mark.slow
def test_rows_of_weight_zero_leave_with_their_clusters(rows):
    y, p, c = rows
    found = tn.report(y[:300], p[:300], cluster=c[:300], sample_weight=c[:300] % 2, intervals=False)
    assert found.to_dict()["clusters"]["number"] == 30


@pytest.mark.parametrize(
    ("cluster", "words"),
    [([1, 2], r"one entry per row \(1,500\)"), (np.zeros(1_500), "must name at least 2 clusters")],
    ids=["short", "one"],
)
def test_clusters_of_the_wrong_shape_are_refused(rows, cluster, words):
    with pytest.raises(InputError, match=words):
        tn.report(rows[0], rows[1], cluster=cluster)


@pytest.mark.slow
def test_few_clusters_are_noted(rows):
    y, p, _ = rows
    found = entry(tn.report(y, p, cluster=np.arange(y.size) % 4))
    assert found["remedies"] is None
    assert any("worth 4.0 of equal size" in note for note in found["notes"])
    assert any(
        "fewer clusters than the five folds of held-out rows" in note for note in found["notes"]
    )
    by = np.where(np.arange(y.size) < 25, "small", "large")
    segments = entry(tn.report(y, p, cluster=np.arange(y.size) // 5, by=by))["segments"]
    assert segments["notes"][-1].endswith("so flags are less reliable: by = small.")
