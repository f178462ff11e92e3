"""Validity curves: the area is one minus the calibration error, and steps are where they belong."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import arrays, matrices, rows, weighted_rows

import trueness as tn
from trueness import FewRowsWarning, InputError
from trueness.recalibrate import validity_band, validity_curve

pytestmark = pytest.mark.filterwarnings("ignore::trueness.FewRowsWarning", "ignore::trueness.OneClassWarning")

# 0.25 has one event of four, 0.75 two of four.
Y, P = [0, 0, 0, 1, 0, 0, 1, 1], [0.25] * 4 + [0.75] * 4


@given(data=weighted_rows())
def test_the_area_is_one_minus_the_calibration_error_of_distinct_scores(data):
    y, p, w = data
    error = tn.ece(y, p, bins=tn.Distinct(), sample_weight=w)
    assert validity_curve(y, p, sample_weight=w).area == pytest.approx(1 - error, abs=1e-12)


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
@given(data=matrices())
def test_the_area_of_a_matrix_is_one_minus_its_calibration_error(kind, data):
    y, P = data
    error = tn.ece(y, P, bins=tn.Distinct(), kind=kind)
    assert validity_curve(y, P, kind=kind).area == pytest.approx(1 - error, abs=1e-12)


@given(pairs=rows, n_bins=st.integers(1, 6))
def test_the_area_with_bins_is_one_minus_the_calibration_error_of_these_bins(pairs, n_bins):
    y, p = arrays(pairs)
    error = tn.ece(y, p, bins=tn.EqualMass(n_bins))
    assert validity_curve(y, p, bins=tn.EqualMass(n_bins)).area == pytest.approx(1 - error, abs=1e-12)


@given(pairs=rows, epsilon=st.floats(0, 1))
def test_the_curve_is_the_share_of_rows_within_the_tolerance(pairs, epsilon):
    y, p = arrays(pairs)
    within = [abs(y[p == value].mean() - value) <= epsilon + 1e-12 for value in p]
    assert validity_curve(y, p)(epsilon) == pytest.approx(np.mean(within), abs=1e-12)


@given(data=weighted_rows(), order=st.randoms(use_true_random=False))
def test_weight_is_repetition_and_order_is_nothing(data, order):
    y, p, w = data
    again = np.repeat(np.arange(y.size), w.astype(int))
    order.shuffle(again)
    weighted, repeated = validity_curve(y, p, sample_weight=w), validity_curve(y[again], p[again])
    assert weighted.jumps.tolist() == repeated.jumps.tolist()
    assert weighted.share.tolist() == repeated.share.tolist()
    assert weighted.expected_area == pytest.approx(repeated.expected_area, abs=1e-12)


@given(pairs=rows)
def test_swapping_the_classes_changes_nothing(pairs):
    y, p = arrays(pairs)
    p = np.round(p * 64) / 64  # so that 1 - p has no rounding
    assert validity_curve(y, p).share.tolist() == validity_curve(1 - y, 1 - p).share.tolist()


@given(pairs=rows)
def test_a_tally_serves_as_well(pairs):
    y, p = arrays(pairs)
    assert validity_curve(tn.tally(y, p)).to_dict() == validity_curve(y, p).to_dict()


def test_sums_per_bin_serve_with_the_same_bins_and_no_others():
    sums = tn.binned(Y, P, bins=4)
    assert validity_curve(sums, bins=4).to_dict() == validity_curve(Y, P, bins=4).to_dict()
    with pytest.raises(InputError, match="must be a coarsening of the 4 bins at hand"):
        validity_curve(sums)


@given(pairs=rows)
def test_the_curve_rises_to_one_and_conditional_is_the_worst_value(pairs):
    y, p = arrays(pairs)
    curve = validity_curve(y, p)
    assert (np.diff(curve.jumps) > 0).all()
    assert (np.diff(curve.share) > 0).all()
    assert curve.share[-1] == curve(1) == 1
    assert curve.conditional.area == pytest.approx(1 - tn.mce(y, p, bins=tn.Distinct()), abs=1e-12)
    assert curve.epsilon(1) == curve.largest == curve.conditional.jumps[0]


def test_by_hand():
    curve = validity_curve(Y, P)
    assert curve.jumps.tolist() == [0, 0.25]
    assert curve.share.tolist() == [0.5, 1]
    assert curve.at([-0.1, 0, 0.1, 0.25, 1]).tolist() == [0, 0.5, 0.5, 1, 1]
    assert (curve.epsilon(0.4), curve.epsilon(0.5), curve.epsilon(0.51)) == (0, 0, 0.25)
    assert (curve.area, curve.largest, curve.n, curve.values, curve.kind) == (0.875, 0.25, 8, 2, "binary")
    assert curve.conditional(0.2) == 0
    assert curve.conditional(0.25) == 1
    assert json.loads(json.dumps(curve.to_dict()))["share"] == [0.5, 1]
    assert str(curve) == (
        "validity of 2 predicted values (8 rows): 50 % within 0.0000, 90 % within 0.2500, 100 % within 0.2500; "
        "area 0.8750"
    )


def test_a_distance_that_equals_the_tolerance_but_for_rounding_is_within():
    assert 1 - 0.95 > 0.05
    assert validity_curve([1] * 9, [0.95] * 9)(0.05) == 1


@pytest.mark.parametrize(("n", "p"), list(product([1, 2, 7, 40], [0.0, 1e-9, 0.125, 0.5, 0.9, 1.0])))
def test_the_expected_area_is_that_of_labels_drawn_from_the_scores(n, p):
    k = np.arange(n + 1)
    mean = binom.pmf(k, n, p) @ np.abs(k / n - p)
    assert validity_curve([0] * n, [p] * n).expected_area == pytest.approx(1 - mean, abs=1e-12)


def test_what_would_be_expected_is_not_told_of_bins_and_fractions():
    assert validity_curve(Y, P, bins=1).expected_area is None
    assert validity_curve(Y, P, sample_weight=[0.5] * 8).expected_area is None


def test_every_set_of_labels_together_gives_the_expected_area():
    p = np.array([0.25, 0.25, 0.5, 0.5, 0.5])
    found = 0.0
    for labels in product([0, 1], repeat=5):
        y = np.array(labels)
        found += validity_curve(y, p).area * np.prod(np.where(y == 1, p, 1 - p))
    assert validity_curve([0, 1, 0, 1, 1], p).expected_area == pytest.approx(found, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_values_seen_once_are_a_warning():
    p = np.arange(40) / 40
    with pytest.warns(FewRowsWarning, match=r"40 distinct values, each seen 1\.0 times on average.*`bins=`"):
        validity_curve(p > 0.5, p)
    validity_curve(p > 0.5, p, bins=4)
    validity_curve([0, 1, 0, 1, 1] * 2, [0.5] * 5 + [0.6] * 5)


def test_the_band_holds_the_curve():
    curve, band = validity_curve(Y, P), validity_band(Y, P, level=0.8)
    grid = np.linspace(0, 1, 101)
    assert (band.low(grid) <= curve(grid)).all()
    assert (curve(grid) <= band.high(grid)).all()
    assert band.low.area < curve.area < band.high.area
    assert json.loads(json.dumps(band.to_dict()))["level"] == 0.8
    assert str(band) == f"validity, 80 % band: area {band.low.area:.4f} to {band.high.area:.4f}"


def test_the_band_by_hand():
    # Nothing in n rows: the interval is [0, 1 - (a/2)^(1/n)].
    band = validity_band([0] * 20, [0.5] * 20, level=0.9)
    high = 1 - 0.05 ** (1 / 20)
    assert band.low.jumps == pytest.approx([0.5])
    assert band.high.jumps == pytest.approx([0.5 - high])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: validity_band(Y, P, level=1), "`level` must lie strictly between 0 and 1; got 1"),
        (
            lambda: validity_band(Y, P, sample_weight=[0.5] * 8),
            "`sample_weight` must be whole numbers that sum to less than 2³⁵ for a band",
        ),
        (lambda: validity_band(Y, P, bins=tn.Isotonic()), "`bins` must not look at the labels"),
        (lambda: validity_curve(Y, P).epsilon(0), "`level` must lie above 0 and be at most 1; got 0"),
        (lambda: validity_curve(Y, P).epsilon(True), "`level` must lie above 0 and be at most 1; got True"),
        (lambda: validity_curve(Y, P)("x"), "`epsilon` must be a number or an array of numbers; got 'x'"),
        (lambda: validity_curve(Y, P)(float("nan")), "`epsilon` must not be nan"),
        (lambda: validity_curve(Y, [2.0] * 8), r"`y_prob` must lie in \[0, 1\]"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.slow
def test_the_band_holds_the_true_curve_as_often_as_it_says():
    values, truth = np.array([0.1, 0.3, 0.6, 0.9]), np.array([0.12, 0.25, 0.6, 0.8])
    rng, runs, missed = np.random.default_rng(5), 400, 0
    grid = np.linspace(0, 0.2, 41)
    for _ in range(runs):
        at = rng.integers(0, 4, 200)
        y = rng.random(200) < truth[at]
        band = validity_band(y, values[at], level=0.8)
        true = (np.abs(truth - values)[at][None, :] <= grid[:, None] + 1e-12).mean(axis=1)
        missed += bool((band.low(grid) > true + 1e-9).any() or (band.high(grid) < true - 1e-9).any())
    assert missed / runs <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / runs)
