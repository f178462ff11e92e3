"""The tables of measures: every line has its interval, or its value for a calibrated model."""

import re
from dataclasses import replace

import trueness as tn
from trueness._report.measure_tables import held_out_gain
from trueness._report.tables import model_tables
from trueness._text.table import Cell


def summary_rows(report):
    (model,) = report._contents.models
    tables = model_tables(model, report._contents)
    return {str(row["measure"]): row for name in ("summary", "panel") for row in map(dict, tables[name].rows)}


def test_rows_of_a_matrix_name_their_view(multiclass):
    rows = summary_rows(multiclass)
    assert {"ECE (confidence)", "ECE (class-wise)", "TCE (confidence)", "Brier score (all classes)"} <= rows.keys()
    assert ", up to " in rows["ECE (class-wise)"]["calibrated"].text
    assert not {"ECE", "TCE", "ACE", "MCE", "Brier score", "Slope", "Class-wise ECE"} & rows.keys()
    tables = model_tables(multiclass._contents.models[0], multiclass._contents)
    titles = {column.title for column in tables["remedies"].columns}
    assert {"ECE (confidence)", "Brier score (all classes)"} <= titles


def test_the_tce_never_appears_without_its_floor(binary):
    assert ", up to " in summary_rows(binary)["TCE"]["calibrated"].text
    (model,) = binary._contents.models
    others = {key: one for key, one in model.summary.estimates.items() if key != "tce"}
    without = replace(model, summary=replace(model.summary, estimates=others))
    table = model_tables(without, binary._contents)["summary"]
    assert "TCE" not in {str(row["measure"]) for row in map(dict, table.rows)}


def test_miscalibration_has_its_floor_and_the_gain_is_that_of_held_out_rows():
    """200 calibrated rows: a miscalibration of 0.012 means nothing, and recalibration gains nothing."""
    d = tn.simulate.binary(200, seed=1)
    report = tn.report(d.y_true, d.y_prob)
    rows = summary_rows(report)
    summary = report._contents.models[0].summary
    assert 0.005 < summary.miscalibration < summary.estimates["miscalibration"].floor_high
    assert rows["– miscalibration (MCB)"]["calibrated"].text.startswith("0.01")
    gain = rows["– gain on held-out rows"]
    assert gain["value"].text.startswith("+0.00")
    low, high = gain["interval"].text.split(" to ")
    assert low.startswith("−0.00")
    assert high.startswith("+0.0")
    assert gain["meaning"] == "cross-fitted automatic calibration"
    automatic = report._contents.models[0].remedies.after[0]
    assert held_out_gain(report._contents.models[0].remedies) is automatic


def test_limits_and_certain_scores_stand_beside_slope_and_ratio():
    d = tn.simulate.demo(400)
    report = tn.report([*d.y_true, 0, 1, 0], [*d.y_prob, 0.0, 1.0, 1.0])
    rows = summary_rows(report)
    for name in ("Slope", "Observed/expected"):
        assert rows[name]["calibrated"].text == "1"
        assert re.fullmatch(r"\d\.\d{3} to \d\.\d{3}", rows[name]["interval"].text)
    certain = rows["Scores of exactly 0 or 1"]
    assert certain["value"].text == "3"
    assert certain["meaning"].endswith("1 of them contradicts its label")


def test_every_measure_has_an_interval_or_its_value_if_calibrated(binary):
    rows = summary_rows(binary)
    tests = {"Test of calibration", "Spiegelhalter's test", "Cox's test"}
    plain = {"Rows", "Mean score", "Scores of exactly 0 or 1"} | tests
    assert rows["Log loss"]["value"].text == "∞"
    for name in rows.keys() - plain - {"Log loss"}:
        assert (rows[name]["interval"] or Cell(None)).text not in (None, "–") or rows[name]["calibrated"], name
    (model,) = binary._contents.models
    for table in ("summary", "panel"):
        titles = [column.title for column in model_tables(model, binary._contents)[table].columns]
        assert titles == ["Measure", "Value", "95 % interval", "If calibrated", "Meaning"]


def test_a_measure_without_a_value_has_no_floor_beside_it():
    rows = summary_rows(tn.report([0] * 40, [0.1] * 20 + [0.2] * 20))
    assert rows["ICI"]["value"].text == rows["Slope"]["value"].text == "–"
    assert rows["ICI"]["calibrated"] is None
