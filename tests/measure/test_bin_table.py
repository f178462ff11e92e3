"""Tables of bins, against scikit-learn and with weights."""

import numpy as np
import pytest

import trueness as tn


def test_calibration_curve_of_scikit_learn_has_the_same_bins():
    calibration = pytest.importorskip("sklearn.calibration")
    rng = np.random.default_rng(4)
    p = rng.random(300)
    y = (rng.random(300) < p**1.5).astype(int)
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


def test_real_weights_have_the_intervals_of_their_effective_rows():
    """Clopper and Pearson's by the beta law, of (Σw)²/Σw² rows; an empty bin has none."""
    beta = pytest.importorskip("scipy.stats").beta
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.uniform(0, 0.25, 40), rng.uniform(0.5, 1, 40)])
    y, w = (rng.random(80) < p).astype(int), rng.uniform(0.1, 2, 80)
    table = tn.bin_table(y, p, bins=4, level=0.9, sample_weight=w)
    assert table.interval == "exact, of effective counts"
    for b in range(4):
        here = (p >= b / 4) & (p < (b + 1) / 4)
        if not here.any():
            assert (table.n[b], table.weight[b]) == (0, 0)
            assert np.isnan([table.low[b], table.high[b], table.rate[b]]).all()
            continue
        n = w[here].sum() ** 2 / (w[here] ** 2).sum()
        k = n * np.average(y[here], weights=w[here])
        assert table.low[b] == pytest.approx(beta.ppf(0.05, k, n - k + 1), rel=1e-9)
        assert table.high[b] == pytest.approx(beta.ppf(0.95, k + 1, n - k), rel=1e-9)
    assert (table.n == 0).any()


def test_defaults_are_ten_bins_at_95_percent():
    rng = np.random.default_rng(1)
    y, p = rng.integers(0, 2, 50), rng.random(50)
    table = tn.bin_table(y, p)
    assert (len(table), table.level, table.interval) == (10, 0.95, "exact")
    assert tn.measure.estimation_error(y, p) == tn.measure.estimation_error(y, p, bins=10)


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_bins_of_a_matrix_name_their_class(kind):
    rng = np.random.default_rng(2)
    P = rng.dirichlet([1, 1, 1], 40)
    table = tn.bin_table(np.array(["a", "b", "c"])[rng.integers(0, 3, 40)], P, bins=2, kind=kind)
    assert table.kind == kind
    assert table.label == (None if kind == "confidence" else ("a", "a", "b", "b", "c", "c"))
    assert len(table) == (2 if kind == "confidence" else 6)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_variance_of_labels_within_bins_over_rows_and_over_bins():
    """Two events in four rows, one in three, none in one, and an empty bin; weights repeat rows."""
    y, p = np.array([0, 1, 0, 1, 0, 0, 1, 0]), np.array([0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.9])
    found = tn.measure.estimation_error(y, p, bins=4)
    assert found.total == pytest.approx((4 / 4 + 3 * 2 / 9) / 8, rel=1e-14)
    assert found.average == pytest.approx((1 / 4 + 2 / 9 + 0) / 3, rel=1e-14)
    assert found.n_bins == 3
    w = np.array([1, 2, 1, 0, 3, 1, 1, 2])
    assert tn.measure.estimation_error(y, p, bins=4, sample_weight=w).total == pytest.approx(
        (4 / 4 + 5 * 4 / 25) / 11, rel=1e-14
    )
    P = np.column_stack([1 - p, p])
    both = tn.measure.estimation_error(y, P, bins=4)
    assert both.n_bins == 3 + tn.measure.estimation_error(1 - y, 1 - p, bins=4).n_bins
    assert both.total == pytest.approx(
        (found.total + tn.measure.estimation_error(1 - y, 1 - p, bins=4).total) / 2, rel=1e-14
    )
