"""Reports of several labels per row, and of images."""

import numpy as np
import pytest

import trueness as tn

RNG = np.random.default_rng(2)
P = RNG.random((19, 2))  # too few to try calibrators, which takes long
Y = (RNG.random((19, 2)) < P ** [1, 9]).astype(int)


@pytest.mark.slow
def test_every_label_is_reported_as_its_column_would_be():
    found = tn.report(Y, P, kind="multilabel", labels=["cat", "dog"], intervals=False)
    alone = tn.report(Y[:, 1], P[:, 1], intervals=False)
    assert list(found.verdicts) == ["label cat", "label dog"]
    assert found.verdicts["label dog"] == alone.verdicts["scores"]
    ours, theirs = found.to_dict()["models"][1]["summary"], alone.to_dict()["models"][0]["summary"]
    assert ours == theirs
    text = found.to_text()
    assert "19 rows · 2 labels" in text
    assert "Adjusted p" in text
    assert found.to_dict()["comparison"] is None


@pytest.mark.slow
def test_the_headline_goes_by_the_adjusted_p_values():
    rng = np.random.default_rng(0)
    p = rng.random((19, 3))
    y = (rng.random((19, 3)) < p).astype(int)
    found = tn.report(y, p, kind="multilabel", intervals=False)
    assert found.verdicts["label 2"] == "miscalibrated"  # p = 0.03 by itself
    assert "miscalibrated" not in found.verdict
    assert "“label 2” differs no more than chance allows the worst of 3 labels (adjusted p = 0.09)." in found.verdict
    assert found.to_dict()["verdict"]["code"] == "too-few-rows"
    assert "The worst of the 3 labels: “label 2”." in found.to_text()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_sums_of_labels_and_very_many_labels_are_reported():
    many = np.tile(Y, 13), np.tile(P, 13)
    found = tn.report(tn.tally(*many, kind="multilabel"), intervals=False)
    assert list(found.verdicts)[:3] == ["label 0", "label 1", "label 2"]
    assert len(found.verdicts) == 24
    assert "The 24 labels with the largest ECE are shown, of 26." in found.to_text()


def test_other_kinds_are_refused():
    with pytest.raises(tn.InputError, match="`kind` must be 'multilabel' or be left out"):
        tn.report(Y[:, 0], P[:, 0], kind="confidence")


def test_a_report_of_images_takes_each_as_a_cluster():
    p = RNG.random((9, 1, 2, 1))
    y = (RNG.random((9, 1, 2, 1)) < p).astype(int)
    text = tn.report(y, p, intervals=False).to_text()
    assert "18 rows in 9 clusters" in text
    assert "Each of 9 images is a cluster of 2 pixels." in text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_segments_of_several_labels_share_the_level():
    found = tn.report(Y, P, by={"side": np.arange(19) % 2}, kind="multilabel", intervals=False)
    assert [model["segments"]["alpha"] for model in found.to_dict()["models"]] == [0.025, 0.025]
    assert "at most 5 % divided by the number of labels" in found.to_text()
