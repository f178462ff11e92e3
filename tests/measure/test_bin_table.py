"""Tables of bins, against scikit-learn and with weights."""

import numpy as np
import pytest

import trueness as tn


def test_calibration_curve_of_scikit_learn_has_the_same_bins():
    calibration = pytest.importorskip("sklearn.calibration")
    rng = np.random.default_rng(4)
    p = rng.random(2_000)
    y = (rng.random(2_000) < p**1.5).astype(int)
    rate, score = calibration.calibration_curve(y, p, n_bins=15)
    table = tn.bin_table(y, p, bins=15)
    assert table.rate == pytest.approx(rate)
    assert table.score == pytest.approx(score)


@pytest.mark.parametrize("times", [[1, 2, 3, 0, 5], [3, 3, 3, 3, 3]])
def test_intervals_of_whole_weights_are_those_of_repeated_rows(times):
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.2, 0.6, 0.7, 0.8])
    weighted = tn.bin_table(y, p, bins=2, sample_weight=times)
    repeated = tn.bin_table(np.repeat(y, times), np.repeat(p, times), bins=2)
    of_tally = tn.bin_table(tn.tally(y, p, sample_weight=times), bins=2)
    assert weighted.interval == repeated.interval == of_tally.interval == "exact"
    for column in ("weight", "rate", "low", "high"):
        assert getattr(weighted, column) == pytest.approx(getattr(repeated, column))
        assert getattr(of_tally, column) == pytest.approx(getattr(repeated, column))
