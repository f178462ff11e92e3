"""The panel of a report: the numbers of a clinical or credit validation, a calibration curve, and text for a paper."""

import numpy as np
import pytest

import trueness as tn
from trueness._report.tables import model_tables


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


def test_the_curve_and_its_bands_are_those_of_the_library(rows, found):
    curve = found.to_dict()["models"][0]["curve"]
    for band, prefix in (("pointwise", ""), ("simultaneous", "all_")):
        alone = tn.curve_band(*rows, band=band, at=curve["score"])
        np.testing.assert_allclose(curve["rate"], alone.y, rtol=1e-4)
        np.testing.assert_allclose(curve[f"{prefix}low"], alone.low, rtol=1e-3)
        np.testing.assert_allclose(curve[f"{prefix}high"], alone.high, rtol=1e-3)


def test_the_page_has_the_curve_and_the_text_for_a_paper(found):
    page, text = found.page(), found.to_dict()["models"][0]["panel"]["text"]
    assert "The numbers a clinical or credit validation asks for</h2>" in page
    assert page.count('class="curve flexible"') == 1
    assert page.count('class="confidence"') == 2
    assert "(TRIPOD+AI)</summary>" in page
    assert text.startswith("Methods. Calibration was assessed in 500 rows")
    assert text.partition("\n")[0] in page


def test_no_measure_is_in_both_tables(found):
    (model,) = found._contents.models
    tables = model_tables(model, found._contents)
    names = [str(row["measure"]) for table in ("summary", "panel") for row in map(dict, tables[table].rows)]
    assert len(names) == len(set(names))
    assert {"Calibration in the large", "Intercept (free slope)", "ICI", "AUC", "Spiegelhalter's test"} <= set(names)


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
