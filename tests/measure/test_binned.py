"""Binned calibration errors on data small enough to check by hand."""

import numpy as np
import pytest

import trueness as tn


def test_float32_sums_do_not_drift():
    """A million scores of float32(0.1): sums in float32 would be off by far more than a millionth of the gap."""
    p = np.full(1_000_000, 0.1, dtype=np.float32)
    y = np.zeros(p.size, dtype=np.uint8)
    y[:100_000] = 1
    assert tn.ece(y, p) == pytest.approx(float(np.float32(0.1)) - 0.1, rel=1e-6)


def test_top_label_of_classes_that_are_never_predicted():
    y, P = (
        [0, 1, 2, 0],
        [[0.75, 0.25, 0.0], [0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.25, 0.75, 0.0]],
    )
    # Predicted 0: confidence 0.75, right once in two; predicted 1: 0.75, never right; 2: never predicted.
    assert tn.ece(y, P, bins=2, kind="top-label") == pytest.approx((0.25 + 0.75) / 2)
    assert tn.ece(y, P, bins=2, kind="confidence") == pytest.approx(0.5)


def test_confidence_gives_a_tie_to_the_first_class():
    P = [[0.5, 0.5], [0.5, 0.5]]
    with pytest.warns(tn.errors.OneClassWarning):
        assert tn.ece([0, 0], P, bins=2, kind="confidence") == 0.5
    with pytest.warns(tn.errors.OneClassWarning):
        assert tn.ece([1, 1], P, bins=2, kind="confidence", labels=[0, 1]) == 0.5
    assert tn.tally([0, 1], P, kind="confidence").parts[0].events.tolist() == [1]


def test_weights_too_large_for_exact_sums_are_still_right():
    y, p = np.array([0, 1, 1]), np.array([0.25, 0.5, 0.75])
    huge = tn.ece(y, p, bins=2, sample_weight=np.array([1, 2, 1]) * 2.0**60)
    assert huge == pytest.approx(tn.ece(y, p, bins=2, sample_weight=[1, 2, 1]))
    tally = tn.tally(y, p, sample_weight=np.array([1, 2, 1]) * 2.0**60)
    assert tn.ece(tally, bins=2) == pytest.approx(huge)


def test_one_bin_of_equal_mass_holds_all_rows():
    assert tn.ace([0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4], bins=1) == pytest.approx(0.5)
