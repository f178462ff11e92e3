"""Means of validity curves over splits."""

import json

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from toy_calibrators import Shares

import trueness as tn
from trueness import InputError, simulate
from trueness.recalibrate import OneVsRest, PlattScaling, mean_validity, validity_curve, validity_runs

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


def test_progress_is_told():
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
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        runs(None, **options)


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (3, r"`calibrator` must be a calibrator of a vector of probabilities such as `PlattScaling\(\)`, .*; got 3"),
        (PlattScaling, r"got the class PlattScaling\. `PlattScaling\(\)` makes one"),
        (GaussianNB(), "GaussianNB is a classifier, which takes rows of features"),
        (OneVsRest(PlattScaling()), "OneVsRest takes a matrix"),
        (PlattScaling(input="logits"), "this PlattScaling takes logits. `input='probabilities'` changes it"),
    ],
)
def test_what_is_no_calibrator_of_a_vector_is_refused(calibrator, message):
    with pytest.raises(InputError, match=message):
        runs(calibrator)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        (["n", "y"], [0.1, 0.2], "say which of them the scores are about: `y_true == 'y'`"),
        ([1, 2], [0.1, 0.2], "Say which value is the event: `y_true == 2`"),
        ([0, np.nan], [0.1, 0.2], "`y_true` must not have missing values; .* Leave such rows out first"),
        ([0.5, 0.1], [0, 1], "the arguments seem swapped. Labels come first"),
        ([0, 1], [0.1, 2.2], "`y_prob` must lie in .*divide them by 100"),
        ([0, 1], [[0.9, 0.1], [0.2, 0.8]], r"`y_prob` must be a vector of P\(positive\).* Judge one column at a time"),
    ],
)
def test_bad_rows_are_refused_with_advice_that_can_be_followed(y, p, message):
    with pytest.raises(InputError, match=message):
        validity_runs(None, np.array(y), np.array(p), n_fit=1)


@pytest.mark.parametrize("curves", [[], [1]])
def test_only_curves_have_a_mean(curves):
    with pytest.raises(InputError, match="`curves` must be validity curves, at least one"):
        mean_validity(curves)
