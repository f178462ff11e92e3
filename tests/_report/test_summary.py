"""Limits and noise floors, the panel and the calibration curve are those of the library; the tables show them."""

import re

import numpy as np
import pytest
from _report.conftest import charts, entry, measures

import trueness as tn


@pytest.fixture(scope="module")
def rows():
    d = tn.simulate.demo(500)
    return d.y_true, d.y_prob


@pytest.fixture(scope="module")
def found(rows):
    return tn.report(*rows)


def test_limits_are_those_of_the_library(rows, found):
    summary = entry(found)["summary"]
    for name in (
        "slope",
        "intercept",
        "free_intercept",
        "observed_expected",
        "brier",
        "auc",
        "ici",
    ):
        alone = tn.estimate(name, *rows, floor=False)
        values = [summary[name], summary[f"{name}_low"], summary[f"{name}_high"]]
        np.testing.assert_allclose(
            np.array(values, float), [alone.value, alone.low, alone.high], rtol=1e-9
        )


@pytest.mark.slow
def test_without_intervals_the_verdict_stays_and_the_rest_is_left_out(rows, found):
    bare = tn.report(*rows, intervals=False)
    assert bare.verdict == found.verdict
    model, whole = entry(bare), entry(found)
    assert (model["panel"], model["curve"], model["summary"]["brier_low"]) == (None, None, None)
    assert model["summary"]["slope_low"] == whole["summary"]["slope_low"]
    assert model["summary"]["noise_floor"] == whole["summary"]["noise_floor"]
    assert not bare.to_dict()["settings"]["intervals"]
    assert "TCE" not in measures(bare)  # without its floor it would mislead
    with pytest.raises(tn.InputError, match="`intervals` must be True or False; got 1"):
        tn.report([0, 1], [0.2, 0.7], intervals=1)


def test_the_curve_and_its_bands_are_those_of_the_library_and_on_the_page(rows, found):
    curve = entry(found)["curve"]
    for band, prefix in (("pointwise", ""), ("simultaneous", "all_")):
        alone = tn.curve_band(*rows, band=band, at=curve["score"])
        np.testing.assert_allclose(curve["rate"], alone.y, rtol=1e-4)
        np.testing.assert_allclose(curve[f"{prefix}low"], alone.low, rtol=1e-3)
        np.testing.assert_allclose(curve[f"{prefix}high"], alone.high, rtol=1e-3)
    page, text = found.page(), entry(found)["panel"]["text"]
    assert "The numbers a clinical or credit validation asks for</h2>" in page
    (smooth,) = charts(found, "smooth")
    looks = [one.get("class") for one in smooth.iter()]
    assert (looks.count("curve flexible"), looks.count("confidence")) == (1, 2)
    assert "(TRIPOD+AI)</summary>" in page
    assert text.startswith("Methods. Calibration was assessed in 500 rows")
    assert text.partition("\n")[0] in page


@pytest.mark.slow
def test_the_bands_of_skewed_scores_do_not_depend_on_the_unit_of_weights():
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 15, 400)
    y, w = (rng.random(400) < p).astype(int), rng.lognormal(0, 1, 400)
    first, other = (entry(tn.report(y, p, sample_weight=unit * w))["curve"] for unit in (1, 1 / 7))
    for column, values in first.items():
        np.testing.assert_allclose(other[column], values, rtol=2e-5)


def test_a_matrix_has_intervals_no_panel_and_names_its_views(multiclass, classes):
    model = entry(multiclass)
    assert (model["panel"], model["curve"]) == (None, None)
    alone = tn.estimate(tn.log_loss, *classes)
    assert model["summary"]["log_loss_low"] == pytest.approx(alone.low)
    assert model["summary"]["ece_classwise_floor"] > 0
    lines = measures(multiclass)
    assert {
        "ECE (confidence)",
        "ECE (class-wise)",
        "TCE (confidence)",
        "Brier score (all classes)",
    } <= lines.keys()
    assert ", up to " in lines["ECE (class-wise)"]["If calibrated"]
    assert not {"ECE", "TCE", "ACE", "MCE", "Brier score", "Slope", "Class-wise ECE"} & lines.keys()
    assert (
        "| ECE (confidence) | Typical error | 95 % interval | Brier score (all classes) |"
        in multiclass.to_markdown()
    )


def test_a_calibrated_model_is_shown_to_be_right_within_a_distance(calibrated):
    y, p, report = calibrated
    within = entry(report)["summary"]["within"]
    band = tn.curve_band(y, p, method="monotone")
    assert band.within(within)
    assert not band.within(within - 1e-6)
    assert f"| Shown to be right within | ± {within:.4f} |" in report.to_markdown()


@pytest.mark.slow
def test_miscalibration_has_its_floor_and_the_gain_is_that_of_held_out_rows():
    """200 calibrated rows: a miscalibration of 0.012 means nothing, and recalibration gains nothing."""
    d = tn.simulate.binary(200, seed=1)
    report = tn.report(d.y_true, d.y_prob)
    lines, model = measures(report), entry(report)
    assert (
        0.005 < model["summary"]["miscalibration"] < model["summary"]["miscalibration_floor_high"]
    )
    assert lines["– miscalibration (MCB)"]["If calibrated"].startswith("0.01")
    gain, automatic = lines["– gain on held-out rows"], model["remedies"]["after"][0]
    assert float(gain["Value"].replace("−", "-")) == pytest.approx(automatic["gain"], abs=1e-4)
    low, high = gain["95 % interval"].split(" to ")
    assert (float(low.replace("−", "-")), float(high)) == pytest.approx(
        (automatic["gain_low"], automatic["gain_high"]), abs=1e-4
    )
    assert gain["Meaning"] == "cross-fitted automatic calibration"


@pytest.mark.slow
def test_limits_and_certain_scores_stand_beside_slope_and_ratio():
    d = tn.simulate.demo(400)
    report = tn.report([*d.y_true, 0, 1, 0], [*d.y_prob, 0.0, 1.0, 1.0])
    lines = measures(report)
    for name in ("Slope", "Observed/expected"):
        assert lines[name]["If calibrated"] == "1"
        assert re.fullmatch(r"\d\.\d{3} to \d\.\d{3}", lines[name]["95 % interval"])
    certain = lines["Scores of exactly 0 or 1"]
    assert certain["Value"] == "3"
    assert certain["Meaning"].endswith("1 of them contradicts its label")


def test_every_measure_is_shown_once_with_an_interval_or_its_value_if_calibrated(binary):
    lines, text = measures(binary), binary.to_markdown()
    tests = {"Test of calibration", "Spiegelhalter's test", "Cox's test"}
    plain = {"Rows", "Mean score", "Scores of exactly 0 or 1"} | tests
    assert lines["Log loss"]["Value"] == "∞"
    for name in lines.keys() - plain - {"Log loss"}:
        assert text.count(f"\n| {name} |") == 1
        assert lines[name]["95 % interval"] not in ("", "–") or lines[name]["If calibrated"], name
    assert {
        "Calibration in the large",
        "Intercept (free slope)",
        "ICI",
        "AUC",
        "Spiegelhalter's test",
    } <= lines.keys()
    assert text.count("| Measure | Value | 95 % interval | If calibrated | Meaning |") == 3
    assert ", up to " in lines["TCE"]["If calibrated"]
    assert re.search(r"MCE: the gap of \d+ of \d+ rows, in the bin from 0", text)


@pytest.mark.slow
def test_a_measure_without_a_value_has_no_floor_beside_it():
    lines = measures(tn.report([0] * 40, [0.1] * 20 + [0.2] * 20))
    assert lines["ICI"]["Value"] == lines["Slope"]["Value"] == "–"
    assert lines["ICI"]["If calibrated"] == ""
