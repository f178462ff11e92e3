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


def some_labels(seed):
    """Three calibrated labels of a few rows."""
    rng = np.random.default_rng(seed)
    p = rng.random((19, 3))
    return (rng.random((19, 3)) < p).astype(int), p


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "worst", "rejected"), [(0, 2, False), (1, 0, False), (16, 0, True)]
)
def test_the_verdicts_and_the_headline_go_by_the_adjusted_p_values(seed, worst, rejected):
    y, p = some_labels(seed)
    assert tn.verdict(y[:, worst], p[:, worst]).code == "miscalibrated"  # by itself
    found = tn.report(y, p, kind="multilabel", intervals=False)
    alone = found.to_dict()["models"][worst]["summary"]["test"]["pvalue"]
    assert alone < 0.05
    assert (3 * alone < 0.05) == rejected
    code = "miscalibrated" if rejected else "too-few-rows"
    assert found.verdicts[f"label {worst}"] == found.to_dict()["verdict"]["code"] == code
    assert ("miscalibrated" in found.verdict) == rejected
    assert tn.verdict(y, p, kind="multilabel").code == code
    assert "The worst of the 3 labels" in found.to_text()


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
