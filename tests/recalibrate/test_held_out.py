"""Real confidences: fitted on every other row, judged on the rest."""

import numpy as np
import pytest
from sklearn.base import clone

from trueness import EqualMass, ece
from trueness.recalibrate import IsotonicCalibration, ScalingBinning, VennAbers

MAPS = {
    "isotonic": IsotonicCalibration(),
    "isotonic steps": IsotonicCalibration(interpolation="step"),
    "Venn-Abers": VennAbers(),
    "Venn-Abers for the Brier score": VennAbers(merge="brier"),
    "cross Venn-Abers": VennAbers(folds=5, seed=0),
    "scaling-binning": ScalingBinning(seed=0),
    "scaling-binning of isotonic": ScalingBinning(scaler=IsotonicCalibration(), split="none"),
}


@pytest.mark.filterwarnings(
    "ignore::trueness.errors.MovedScoresWarning"
)  # some confidences are exactly 1
@pytest.mark.parametrize("model", ["cifar10_resnet50", "imagenet_resnet152"])
@pytest.mark.parametrize("name", MAPS)
def test_the_held_out_error_falls(data_folder, model, name):
    with np.load(data_folder / "top1_confidence.npz") as data:
        confidence, correct = data[f"{model}_confidence"], data[f"{model}_correct"]
    # Ranges of equal mass: a map of ten values has one beside an edge of fifteen equal widths, 14/15, where its error
    # may cancel that of the next value, or not, as its seed decides.
    before = ece(correct[1::2], confidence[1::2], bins=EqualMass(10))
    after = []
    for calibrator in drawn_anew(MAPS[name]):
        fitted = calibrator.fit(confidence[::2], correct[::2])
        after.append(ece(correct[1::2], fitted.predict(confidence[1::2]), bins=EqualMass(10)))
    assert np.median(after) < 2 / 3 * before


def drawn_anew(calibrator):
    """The calibrator with five seeds, if it draws."""
    if "seed" not in calibrator.get_params():
        return [clone(calibrator)]
    return [clone(calibrator).set_params(seed=seed) for seed in range(5)]
