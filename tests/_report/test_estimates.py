"""Limits and noise floors of a report are those of the library, within its budget of draws."""

import numpy as np
import pytest

import trueness as tn


@pytest.fixture(scope="module")
def rows():
    d = tn.simulate.demo(500)
    return d.y_true, d.y_prob


@pytest.fixture(scope="module")
def found(rows):
    return tn.report(*rows)


@pytest.fixture(scope="module")
def bare(rows):
    return tn.report(*rows, intervals=False)


@pytest.mark.parametrize("name", ["slope", "intercept", "free_intercept", "observed_expected", "brier", "auc", "ici"])
def test_limits_are_those_of_the_library(rows, found, name):
    summary, alone = found.to_dict()["models"][0]["summary"], tn.estimate(name, *rows, floor=False)
    values = [summary[name], summary[f"{name}_low"], summary[f"{name}_high"]]
    np.testing.assert_allclose(np.array(values, float), [alone.value, alone.low, alone.high], rtol=1e-9)


def test_without_intervals_the_verdict_stays_and_the_rest_is_left_out(found, bare):
    assert bare.verdict == found.verdict
    model, whole = bare.to_dict()["models"][0], found.to_dict()["models"][0]
    assert (model["panel"], model["curve"], model["summary"]["brier_low"]) == (None, None, None)
    assert model["summary"]["slope_low"] == whole["summary"]["slope_low"]
    assert model["summary"]["noise_floor"] == whole["summary"]["noise_floor"]
    assert not bare.to_dict()["settings"]["intervals"]
    with pytest.raises(tn.InputError, match="`intervals` must be True or False; got 1"):
        tn.report([0, 1], [0.2, 0.7], intervals=1)


def test_a_matrix_has_intervals_and_no_panel(multiclass, classes):
    model = multiclass.to_dict()["models"][0]
    assert (model["panel"], model["curve"]) == (None, None)
    alone = tn.estimate(tn.log_loss, *classes)
    assert model["summary"]["log_loss_low"] == pytest.approx(alone.low)
    assert model["summary"]["ece_classwise_floor"] > 0


def test_a_calibrated_model_is_shown_to_be_right_within_a_distance():
    rng = np.random.default_rng(2)
    p = rng.random(3_000).round(1)
    y = (rng.random(p.size) < p).astype(int)
    report = tn.report(y, p)
    within = report.to_dict()["models"][0]["summary"]["within"]
    band = tn.monotone_band(y, p)
    assert band.within(within)
    assert not band.within(within - 1e-6)
    assert f"| Shown to be right within | ± {within:.4f} |" in report.to_markdown()
