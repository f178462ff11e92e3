"""The tables of a report."""

import numpy as np
import pytest

import trueness as tn
from trueness._report.report import report_sums
from trueness._report.tables import model_tables, report_tables
from trueness._text.table import Cell


@pytest.mark.slow
def test_the_flag_of_a_row_is_beside_its_name():
    d = tn.simulate.demo(4_000)
    models = {"a": d.y_prob, "b": d.columns["recalibrated"]}
    contents = tn.report(d.y_true, models, by=np.arange(4_000) % 2)._contents
    tables, of_model = report_tables(contents), model_tables(contents.models[0], contents)
    assert tables["models"].columns[1].title == "Verdict"
    assert of_model["bins"].columns[1].title == "Flag"
    assert of_model["segments"].columns[2].title == "Flag"
    compared = tables["comparison"]
    assert compared.columns[2].title == "Result"
    assert compared.rows[0]["result"] == Cell("b is better", None, "good")


def test_files_show_the_range_of_the_exact_value_where_it_is_wider_than_the_digits():
    d = tn.simulate.demo(200)
    files = [
        {"file": "a.tally", "n": 150, "ece": 0.05, "ece_exact_low": 0.04, "ece_exact_high": 0.06},
        {"file": "all", "n": 200, "ece": 0.05, "ece_exact_low": 0.05, "ece_exact_high": 0.05},
    ]
    report = report_sums(tn.sketch(d.y_true, d.y_prob), files=files)
    table = report_tables(report._contents)["files"]
    assert table.texts(next(column for column in table.columns if column.key == "ece")) == [
        "0.0500 [0.0400, 0.0600]",
        "0.0500",
    ]
    assert table.notes == ["Brackets: range of the exact value (not a confidence interval)."]
    assert report.to_dict()["files"] == files
