"""Validity curves: the area is one minus the calibration error, and steps are where they belong."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, matrices, rows, weighted_rows

import trueness as tn
from trueness import InputError, validity_curve
from trueness.errors import FewRowsWarning
from trueness.recalibrate import mean_validity

pytestmark = pytest.mark.filterwarnings(
    "ignore::trueness.errors.FewRowsWarning", "ignore::trueness.errors.OneClassWarning"
)

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
    assert validity_curve(y, p, bins=tn.EqualMass(n_bins)).area == pytest.approx(
        1 - error, abs=1e-12
    )


@given(pairs=rows, epsilon=st.floats(0, 1))
def test_the_curve_is_the_share_of_rows_within_the_tolerance(pairs, epsilon):
    y, p = arrays(pairs)
    within = [abs(y[p == value].mean() - value) <= epsilon + 1e-12 for value in p]
    curve = validity_curve(y, p)
    assert curve(epsilon) == pytest.approx(np.mean(within), abs=1e-12)
    assert curve.share[-1] == curve(1) == 1
    assert curve.epsilon(1) == pytest.approx(tn.mce(y, p, bins=tn.Distinct()), abs=1e-12)
    assert validity_curve(tn.tally(y, p)).to_dict() == curve.to_dict()


def test_gaps_that_differ_by_rounding_are_one_jump():
    curve = validity_curve([0, 1, 0, 1], [0.3, 0.7, 0.1, 0.9])  # 1 - 0.7 is 0.30000000000000004
    assert curve.jumps.tolist() == [0.1, 0.3]
    assert curve.share.tolist() == [0.5, 1.0]
    assert curve(0.3) == 1


@given(data=weighted_rows(), order=st.randoms(use_true_random=False))
def test_weights_are_repetitions_and_order_does_not_matter(data, order):
    y, p, w = data
    again = np.repeat(np.arange(y.size), w.astype(int))
    order.shuffle(again)
    weighted, repeated = validity_curve(y, p, sample_weight=w), validity_curve(y[again], p[again])
    assert weighted.jumps.tolist() == repeated.jumps.tolist()
    assert weighted.share.tolist() == repeated.share.tolist()


def test_binned_sums_are_accepted_with_the_same_bins_only():
    sums = tn.binned(Y, P, bins=4)
    assert validity_curve(sums, bins=4).to_dict() == validity_curve(Y, P, bins=4).to_dict()
    with pytest.raises(InputError, match="must be a coarsening of the 4 bins at hand"):
        validity_curve(sums)


def test_by_hand():
    curve = validity_curve(Y, P)
    assert curve.jumps.tolist() == [0, 0.25]
    assert curve.share.tolist() == [0.5, 1]
    assert curve.at([-0.1, 0, 0.1, 0.25, 1]).tolist() == [0, 0.5, 0.5, 1, 1]
    assert (curve.epsilon(0.4), curve.epsilon(0.5), curve.epsilon(0.51)) == (0, 0, 0.25)
    assert (curve.area, curve.n, curve.values, curve.kind) == (0.875, 8, 2, "binary")
    assert json.loads(json.dumps(curve.to_dict()))["share"] == [0.5, 1]
    assert str(curve) == (
        "validity of 2 predicted values (8 rows): 50 % within 0.0000, 90 % within 0.2500, 100 % within 0.2500; "
        "area 0.8750"
    )


def test_a_distance_that_equals_the_tolerance_but_for_rounding_is_within():
    assert 1 - 0.95 > 0.05
    assert validity_curve([1] * 9, [0.95] * 9)(0.05) == 1


@pytest.mark.filterwarnings("error")
def test_values_with_fewer_than_five_rows_are_a_warning():
    p = np.repeat([0.25, 0.5, 0.75], [3, 5, 7])
    validity_curve(np.arange(15) % 2, p)
    with pytest.warns(
        FewRowsWarning, match=r"3 distinct values, each seen 4\.7 times on average.*`bins=`"
    ):
        validity_curve(np.arange(14) % 2, p[:14])
    validity_curve(np.arange(14) % 2, p[:14], bins=4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: validity_curve(Y, P).epsilon(0),
            "`level` must lie above 0 and be at most 1; got 0",
        ),
        (
            lambda: validity_curve(Y, P).epsilon(True),
            "`level` must lie above 0 and be at most 1; got True",
        ),
        (
            lambda: validity_curve(Y, P)("x"),
            "`epsilon` must be a number or an array of numbers; got 'x'",
        ),
        (lambda: validity_curve(Y, P)(float("nan")), "`epsilon` must not be nan"),
        (lambda: validity_curve(Y, [2.0] * 8), r"`y_prob` must lie in \[0, 1\]"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def runs():
    rng = np.random.default_rng(0)
    return [
        validity_curve(rng.integers(0, 2, 60), np.repeat([0.2, 0.5, 0.9], 20)) for _ in range(7)
    ]


def test_the_mean_over_runs_is_that_of_the_curves_at_every_point():
    every = runs()
    found = mean_validity(every)
    for epsilon in [0, 0.05, *found.jumps, 1]:
        values = np.array([curve(epsilon) for curve in every])
        assert found(epsilon) == pytest.approx(values.mean(), abs=1e-12)
        assert found.error_at(epsilon) == pytest.approx(values.std(ddof=1) / np.sqrt(7), abs=1e-12)
        worst = np.array([curve.epsilon(1) <= epsilon + 1e-12 for curve in every])
        assert found.conditional(epsilon) == pytest.approx(worst.mean(), abs=1e-12)
    for level in (0.3, 0.9, 1):
        tolerance = found.epsilon(level)
        assert found(tolerance) >= level - 1e-12
        assert found(np.nextafter(tolerance, 0) - 1e-11) < level


def test_conditional_validity_is_about_the_worst_value_and_never_above_marginal():
    every = runs()
    found = mean_validity(iter(every))
    assert found.conditional.jumps.tolist() == sorted({curve.jumps[-1] for curve in every})
    assert found.conditional.conditional is None
    grid = np.linspace(0, 1, 201)
    assert (found.conditional(grid) <= found(grid) + 1e-12).all()
    assert str(found).startswith("validity, mean of 7 runs: 50 % within ")
    assert str(found).endswith(f"; {found.conditional}")
    assert f"within {found.conditional.epsilon(0.9):.4f} in 90 %" in str(found.conditional)


def test_one_run_has_no_standard_error():
    alone = runs()[:1]
    found = mean_validity(alone)
    assert (found.share == alone[0].share).all()
    assert np.isnan(found.error).all()
    assert found.to_dict()["conditional"]["share"] == [1.0]
    for curves, got in (([], "got none"), ([0.5], "got float")):
        with pytest.raises(InputError, match=f"`curves` must .*; {got}"):
            mean_validity(curves)
