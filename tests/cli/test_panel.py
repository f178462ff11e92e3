"""``trueness measure --panel`` has the library's panel, ``--tripod`` its text."""

import csv
import io
import json

import numpy as np
import pytest

import trueness as tn


@pytest.fixture
def rows(binary, tmp_path):
    y, p, _ = binary
    np.savez(tmp_path / "x.npz", y=y, p=p, q=p**2, g=np.arange(400) // 4)
    return y, p, np.arange(400) // 4


def test_the_panel_is_the_librarys(call, rows):
    y, p, cluster = rows
    asked = ["measure", "x.npz", "--prob", "p", "--panel", "--cluster", "g", "--level", "0.9"]
    expected = tn.panel(y, p, cluster=cluster, level=0.9, seed=0)
    (found,) = json.loads(call(*asked, "--format", "json").stdout)["panels"]
    assert found["model"] == "p"
    assert found["estimates"]["slope"]["low"] == expected["slope"].low
    lines = {
        line["key"]: line
        for line in csv.DictReader(io.StringIO(call(*asked, "--format", "csv").stdout))
    }
    assert list(lines) == list(expected)
    assert float(lines["auc"]["high"]) == expected["auc"].high
    assert float(lines["spiegelhalter"]["pvalue"]) == expected["spiegelhalter"].pvalue
    table = call(*asked).stdout
    assert max(map(len, table.splitlines())) <= 80
    assert table == f"{expected}\n\n\nData: x.npz, labels 'y', clusters 'g'.\n"
    assert call(*asked, "--format", "markdown").stdout.startswith(
        "| model | key | value | low | high |"
    )


def test_a_number_that_is_missing_has_its_reason(call, rows, tmp_path):
    np.savez(tmp_path / "x.npz", y=np.zeros(9, int), p=np.full(9, 0.1))
    text = " ".join(call("measure", "x.npz", "--prob", "p", "--panel").stdout.split())
    assert "ICI, E50, E90 and Emax: no calibration curve can be fitted to these rows." in text
    assert "scaled Brier score: there is only one class" in text


def test_the_text_for_a_paper_is_the_librarys(call, rows):
    y, p, _ = rows
    text = call("measure", "x.npz", "--prob", "p", "--tripod").stdout
    assert text.rstrip() == tn.panel(y, p, seed=0).text(style="tripod")
    both = call("measure", "x.npz", "--prob", "p", "--prob", "q", "--tripod", "-o", "paper.md")
    assert both.exit_code == 0


def test_sums_have_a_panel_too(call, rows):
    y, p, _ = rows
    assert (
        call("tally", "x.npz", "--prob", "p", "--bins", "distinct", "-o", "x.tally").exit_code == 0
    )
    (found,) = json.loads(call("measure", "x.tally", "--panel", "--format", "json").stdout)[
        "panels"
    ]
    assert found["estimates"]["slope"]["high"] == pytest.approx(tn.estimate("slope", y, p).high)


@pytest.mark.parametrize("option", [["--bins", "5"], ["--no-intervals"], ["--table"], ["--stream"]])
def test_options_that_a_panel_would_ignore_are_refused(fails, rows, option):
    assert f"{option[0]} does not go with --panel" in fails(
        "measure", "x.npz", "--prob", "p", "--panel", *option
    )


def test_text_is_neither_json_nor_csv(fails, rows):
    message = fails("measure", "x.npz", "--prob", "p", "--tripod", "--format", "json")
    assert "--tripod prints text; use --panel for json" in message
