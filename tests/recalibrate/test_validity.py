"""Validity curves: the area is one minus the calibration error, and steps are where they belong."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.naive_bayes import GaussianNB
from strategies import arrays, matrices, rows, weighted_rows
from toy_calibrators import Shares

import trueness as tn
from trueness import FewRowsWarning, InputError, simulate
from trueness.recalibrate import OneVsRest, PlattScaling, mean_validity, validity_band, validity_curve, validity_runs

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
def test_weights_are_repetitions_and_order_does_not_matter(data, order):
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
def test_a_tally_gives_the_same_curve(pairs):
    y, p = arrays(pairs)
    assert validity_curve(tn.tally(y, p)).to_dict() == validity_curve(y, p).to_dict()


def test_binned_sums_are_accepted_with_the_same_bins_only():
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


@pytest.mark.all_cases
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
        (lambda: validity_band(Y, P, bins=tn.Isotonic()), "`bins` must not depend on the labels"),
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
def test_the_band_covers_the_true_curve_at_its_level():
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


DATA = simulate.binary(3000, scores=simulate.Beta(2, 3), distortion=simulate.Logit(shift=0.8), seed=3)


def runs(calibrator, **options):
    given = {"n_fit": 1000, "runs": 6, "seed": 1, "progress": False} | options
    return validity_runs(calibrator, DATA.y_true, DATA.y_prob, **given)


def test_the_mean_is_that_of_the_curves_at_every_point():
    rng = np.random.default_rng(0)
    curves = [validity_curve(rng.integers(0, 2, 60), np.repeat([0.2, 0.5, 0.9], 20)) for _ in range(7)]
    found = mean_validity(curves)
    for epsilon in [0, 0.05, *found.jumps, 1]:
        values = np.array([curve(epsilon) for curve in curves])
        assert found(epsilon) == pytest.approx(values.mean(), abs=1e-12)
        assert found.error_at(epsilon) == pytest.approx(values.std(ddof=1) / np.sqrt(7), abs=1e-12)
        every = np.array([curve.conditional(epsilon) for curve in curves])
        assert found.conditional(epsilon) == pytest.approx(every.mean(), abs=1e-12)
    areas = np.array([curve.area for curve in curves])
    assert found.area == pytest.approx(areas.mean(), abs=1e-12)
    assert found.area_error == pytest.approx(areas.std(ddof=1) / np.sqrt(7), abs=1e-12)
    assert found.conditional.area == pytest.approx(1 - np.mean([curve.largest for curve in curves]), abs=1e-12)


def test_the_mean_area_is_the_integral_of_the_mean():
    found = runs(Shares(5))
    ends = np.concatenate([found.jumps, [1.0]])
    assert found.area == pytest.approx(np.diff(ends) @ found.mean, abs=1e-12)


def test_one_run_has_no_error():
    found = mean_validity([validity_curve([0, 1] * 5, [0.5] * 10)])
    assert np.isnan(found.error).all()
    assert np.isnan(found.area_error)
    assert found.runs == 1


def test_calibrators_are_compared_on_the_same_splits():
    seen = {}

    class Spy(Shares):
        def _fit(self, rows):
            seen.setdefault(self.n_bins, []).append(rows.p)
            super()._fit(rows)

    for n_bins in (3, 4):
        runs(Spy(n_bins))
    assert all(np.array_equal(a, b) for a, b in zip(seen[3], seen[4], strict=True))
    assert not np.array_equal(seen[3][0], seen[3][1])
    assert seen[3][0].shape == (1000,)


def test_each_copy_has_a_seed_of_its_own_and_the_calibrator_is_left_alone():
    seeds = []

    class Spy(Shares):
        def _fit(self, rows):
            seeds.append(self.seed)
            super()._fit(rows)

    calibrator = Spy(seed=8)
    runs(calibrator)
    assert len(set(seeds)) == 6
    assert calibrator.seed == 8
    assert not hasattr(calibrator, "shares_")
    assert runs(Shares(5)).to_dict() == runs(Shares(5)).to_dict()


def test_calibration_makes_scores_valid():
    before, after = runs(None, bins=tn.EqualMass(5)), runs(Shares(5))
    assert after(0.08) > 0.8 > 0.2 > before(0.08)
    assert after.area > before.area
    assert after.conditional(0.08) <= after(0.08)


def test_weights_reach_the_calibrator_and_the_curve():
    w = np.where(DATA.y_true == 1, 2.0, 1.0)
    weighted = runs(Shares(5), sample_weight=w, n_test=500)
    assert weighted(1) == 1
    assert weighted.area > 0.9
    assert weighted.to_dict() != runs(Shares(5), n_test=500).to_dict()


def test_the_record_is_ready_for_json():
    found = runs(Shares(3))
    again = json.loads(json.dumps(found.to_dict()))
    assert again["mean"] == found.mean.tolist()
    assert again["conditional"]["conditional"] is None
    assert str(found) == f"validity over 6 runs: area {found.area:.4f} ± {found.area_error:.4f}"


def test_progress_is_reported():
    told = []
    runs(Shares(3), runs=3, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_run_without_a_terminal_is_quiet(capsys):
    runs(Shares(3), progress=True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_fit": 3000}, "`n_fit` must leave rows for the test; it is 3,000 and there are 3,000 rows"),
        ({"n_fit": 0}, "`n_fit` must be a whole number ≥ 1; got 0"),
        ({"n_test": 2500}, "`n_test` must be at most 2,000, the rows that `n_fit` leaves; got 2,500"),
        ({"runs": True}, "`runs` must be a whole number ≥ 1; got True"),
        ({"seed": -1}, "`seed` must be a whole number ≥ 0, a numpy Generator or None; got -1"),
        ({"progress": 3}, "`progress` must be True, False or a function"),
    ],
)
def test_bad_arguments_of_runs_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        runs(None, **options)


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (3, r"`calibrator` must be a calibrator of a vector of probabilities such as `PlattScaling\(\)`, .*; got 3"),
        (PlattScaling, r"got the class PlattScaling\. `PlattScaling\(\)` makes an instance"),
        (GaussianNB(), "GaussianNB is a classifier, which takes rows of features"),
        (OneVsRest(PlattScaling()), "OneVsRest takes a matrix"),
        (PlattScaling(from_logits=True), "this PlattScaling takes logits. `from_logits=False` changes it"),
    ],
)
def test_only_calibrators_of_a_vector_are_accepted(calibrator, message):
    with pytest.raises(InputError, match=message):
        runs(calibrator)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        (["n", "y"], [0.1, 0.2], "Pass `y_true == 'y'` if that value is the event"),
        ([1, 2], [0.1, 0.2], "Pass `y_true == 2` if that value is the event"),
        ([0, np.nan], [0.1, 0.2], "`y_true` must not have missing values; .* Leave such rows out first"),
        ([0.5, 0.1], [0, 1], "the arguments seem swapped. Labels come first"),
        ([0, 1], [0.1, 2.2], "`y_prob` must lie in .*`percent=True`"),
        ([0, 1], [[0.9, 0.1], [0.2, 0.8]], r"`y_prob` must be a vector of P\(positive\).* Evaluate one column"),
    ],
)
def test_bad_rows_are_refused_with_a_remedy_that_works(y, p, message):
    with pytest.raises(InputError, match=message):
        validity_runs(None, np.array(y), np.array(p), n_fit=1)


@pytest.mark.parametrize("curves", [[], [1]])
def test_only_curves_have_a_mean(curves):
    with pytest.raises(InputError, match="`curves` must be validity curves, at least one"):
        mean_validity(curves)


@pytest.mark.filterwarnings("error::trueness.FewRowsWarning")
def test_five_rows_per_value_are_enough():
    p = np.repeat([0.25, 0.5, 0.75], [3, 5, 7])
    validity_curve(np.arange(15) % 2, p)
    with pytest.warns(FewRowsWarning, match=r"3 distinct values, each seen 4\.7 times on average"):
        validity_curve(np.arange(14) % 2, p[:14])


def test_the_rows_of_a_split_may_be_used_up():
    y, p = np.arange(30) % 2, np.full(30, 0.5)
    for n_fit, n_test in ((29, None), (29, 1), (10, 20)):
        found = validity_runs(None, y, p, n_fit=n_fit, n_test=n_test, runs=2, seed=0, progress=False)
        assert found.runs == 2
    with pytest.raises(InputError, match="`n_test` must be at most 20"):
        validity_runs(None, y, p, n_fit=10, n_test=21, runs=2)


def test_a_hundred_runs_are_the_default():
    assert validity_runs(None, np.arange(20) % 2, np.full(20, 0.5), n_fit=10, seed=0, progress=False).runs == 100


def test_the_band_of_several_classes_shares_its_level_among_all_their_values():
    """Clopper and Pearson's limits of 0 events of 10 and of 10 of 10, at 1 − 0.1 / 4."""
    P = np.repeat([[0.75, 0.25], [0.25, 0.75]], 10, axis=0)
    band = validity_band(np.repeat([0, 1], 10), P, level=0.9)
    missed = (0.1 / 4 / 2) ** (1 / 10)
    assert band.low.largest == pytest.approx(max(0.25, 0.75 - missed))
    assert band.high.largest == pytest.approx(max(0.0, 0.25 - (1 - missed)), abs=1e-12)
    assert band.low.jumps == pytest.approx([max(0.25, 0.75 - missed)])


def test_empty_bins_take_no_part_of_the_level():
    plain, binned = validity_band(Y, P), validity_band(Y, P, bins=20)
    assert binned.low.jumps.tolist() == plain.low.jumps.tolist()
    assert binned.high.share.tolist() == plain.high.share.tolist()
