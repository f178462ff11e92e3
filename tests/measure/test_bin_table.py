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


def test_observed_over_expected_has_the_exact_limits_of_the_rate_over_the_mean_score():
    binomtest = pytest.importorskip("scipy.stats").binomtest
    p = np.repeat([0.01, 0.02, 0.5], [300, 100, 40])
    y = np.isin(np.arange(440), [3, 7, 310, 405, 410])
    table = tn.bin_table(y, p, bins=[0, 0.1, 1], level=0.9)
    for i, (k, n, expected) in enumerate([(3, 400, 5.0), (2, 40, 20.0)]):
        exact = binomtest(k, n).proportion_ci(0.9)
        assert table.ratio[i] == pytest.approx(k / expected)
        assert table.ratio_low[i] == pytest.approx(n * exact.low / expected)
        assert table.ratio_high[i] == pytest.approx(n * exact.high / expected)


def test_without_expected_events_the_ratio_is_infinite_or_undefined():
    table = tn.bin_table([0, 0, 0, 1, 1], [0.0, 0.0, 0.0, 0.6, 0.7], bins=2)
    assert np.isnan([table.ratio[0], table.ratio_low[0], table.ratio_high[0]]).all()
    table = tn.bin_table([0, 1, 0, 1, 1], [0.0, 0.0, 0.0, 0.6, 0.7], bins=2)
    assert (table.ratio[0], table.ratio_low[0], table.ratio_high[0]) == (np.inf,) * 3
    assert "inf" not in str(table)
