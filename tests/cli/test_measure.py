"""What is printed: four forms, and names that try to be more than text."""

import csv
import io
import json
import re

import numpy as np
import pytest

import trueness as tn
from trueness.cli._columns import Group
from trueness.cli._measure import _models_output
from trueness.cli._measurements import Measurements, ModelMeasures, Quantity
from trueness.cli._writing import Target, _draw, render

HOSTILE = ["[bold]x[/bold]", "\x1b[31mred", "a|b", "<script>", "line\nbreak", "\u202eback", "宽", "=1+1"]


def output(names=("p",), values=(0.25,), key="ece", form="fraction", source="x.csv"):
    models = tuple(ModelMeasures(n, (n,), None, {key: v, "n": 4}, {}) for n, v in zip(names, values, strict=True))
    quantities = (Quantity("n", "rows", "", "count"), Quantity(key, "ECE", "mean gap", form))
    bins = {"ece": "10 bins of equal width", "mce": "10 bins of equal width"}
    return _models_output([(Group(), Measurements(quantities, models, "y", None, bins))], source)


def hostile(form):
    return render(output(HOSTILE, [0.5] * len(HOSTILE), source="\x1b]0;title\x07"), form)


def test_a_table_says_what_was_measured_and_with_which_bins():
    assert render(output(), "table").splitlines() == [
        "measure       p  meaning",
        "rows          4",
        "ECE      0.2500  mean gap",
        "",
        "Data: x.csv, labels 'y'.",
        "Bins: ECE, MCE: 10 bins of equal width.",
    ]


def test_meanings_are_left_out_where_they_do_not_fit():
    assert "mean gap" not in render(output(), "table", width=15)


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json"])
def test_no_control_character_is_printed(form):
    text = hostile(form)
    assert not [c for c in text if c != "\n" and not c.isprintable()]


def test_hostile_names_are_text_in_a_table():
    head = hostile("table").splitlines()[0]
    assert "[bold]x[/bold]" in head
    assert r"\x1b[31mred" in head
    assert r"line\nbreak" in head
    assert r"\u202eback" in head


def test_wide_letters_keep_the_columns_straight():
    lines = render(output(["宽", "b"], [0.5, 0.25]), "table").splitlines()
    assert lines[0] == "measure      宽       b  meaning"
    assert lines[2].startswith("ECE      0.5000  0.2500")


def test_hostile_names_are_text_in_markdown():
    head = hostile("markdown").splitlines()[0]
    assert r"\[bold\]x\[/bold\]" in head
    assert r"a\|b" in head
    assert r"\<script\>" in head
    bars = re.findall(r"(?<!\\)\|", head)
    assert len(bars) == len(HOSTILE) + 3


def test_json_keeps_the_names_as_they_are():
    assert [model["name"] for model in json.loads(hostile("json"))["models"]] == HOSTILE


def test_rich_draws_hostile_names_as_text():
    console = pytest.importorskip("rich.console").Console(file=io.StringIO(), force_terminal=True, width=200)
    assert _draw(output(HOSTILE, [0.5] * len(HOSTILE), source="\x1b]0;title\x07"), 200, console)
    text = console.file.getvalue()
    assert "[bold]x[/bold]" in text
    assert "\x1b[31m" not in text
    assert "\x1b]0" not in text


def test_rich_shows_the_bin_tables_too(call, monkeypatch):
    console = pytest.importorskip("rich.console").Console(file=io.StringIO(), width=100)
    monkeypatch.setattr(Target, "deliver", lambda _, output: drawn.append(_draw(output, 100, console)))
    drawn = []
    call("measure", "--demo", "--rows", "200", "--table")
    assert drawn == [True]
    assert "95 % interval" in console.file.getvalue()
    assert "[0.1, 0.2)" in console.file.getvalue()


def test_without_rich_or_without_room_the_plain_table_serves(without):
    pytest.importorskip("rich")
    assert not _draw(output(), 5)
    without("rich")
    assert not _draw(output(), 100)


def test_a_model_may_be_called_like_a_column_of_the_table():
    text = render(output(["measure", "meaning"], [0.5, 0.25]), "csv")
    assert text == "measure_,measure,meaning\nn,4,4\nece,0.5,0.25\n"


def test_long_names_lose_their_middle():
    head = render(output(["model/with/a/very/long/path/a", "model/with/a/very/long/path/b"], [0, 0]), "table")
    assert "ong/path/a" in head
    assert "ong/path/b" in head
    assert "…" in head


@pytest.mark.parametrize(
    ("values", "form", "cells"),
    [
        ([0.25, 0.5], "fraction", ["0.2500", "0.5000"]),
        ([0.00123, 0.5], "fraction", ["0.00123", "0.50000"]),
        ([0.0, 0.5], "fraction", ["0.0000", "0.5000"]),
        ([-2e-5, 0.5], "fraction", ["-0.000020", "0.500000"]),
        ([1e-9, 0.5], "fraction", ["0.0000000010", "0.500000"]),
        ([12.345, 100.0], "percent", ["12.3 %", "100.0 %"]),
        ([float("nan"), float("inf")], "fraction", ["-", "inf"]),
        ([1234567, 2], "count", ["1,234,567", "2"]),
        ([0.000251, -0.5], "number", ["0.00025", "-0.5000"]),
    ],
)
def test_numbers_are_written_so_that_models_compare(values, form, cells):
    line = render(output(["a", "b"], values, form=form), "table").splitlines()[2]
    assert re.split(r"\s{2,}", line)[1:3] == cells


COUNTS = ("n", "n_certain", "n_certain_wrong")


def test_json_is_strict_and_has_its_keys(call, tmp_path):
    np.savez(tmp_path / "x.npz", y=[1, 0, 1], p=[0.0, 0.4, 0.9])
    result = call("measure", "x.npz", "--format", "json")

    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(result.stdout, parse_constant=refuse)
    assert list(data) == ["schema", "version", "data", "bins", "level", "models"]
    assert data["data"] == {"source": "x.npz", "label": "y", "weight": None}
    assert list(data["bins"]) == ["ece", "mce", "ace", "tce", "squared_ece"]
    (model,) = data["models"]
    assert list(model) == ["name", "columns", "classes", "measures", "infinite", "methods", "notes"]
    assert model["measures"]["log_loss"] is None
    assert "log_loss" in model["infinite"]
    assert (model["measures"]["n_certain"], model["measures"]["n_certain_wrong"]) == (1, 1)
    ends = ("_low", "_high", "_floor")
    measures = [key for key in model["measures"] if not key.endswith(ends)]
    assert list(model["measures"]) == [key + end for key in measures for end in ("", *(() if key in COUNTS else ends))]
    assert measures == [
        "n",
        "prevalence",
        "ece",
        "ece_l2",
        "ace",
        "mce",
        "tce",
        "smooth_ece",
        "squared_ece",
        "brier",
        "brier_miscalibration",
        "brier_discrimination",
        "brier_uncertainty",
        "log_loss",
        "slope",
        "intercept",
        "n_certain",
        "n_certain_wrong",
        "observed_expected",
    ]


def test_csv_of_bins_has_a_line_per_bin_and_model(call, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P)
    result = call("measure", "x.npz", "--prob", "P", "--no-intervals", "--table", "--bins", "3", "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [line["kind"] for line in lines] == ["classwise"] * 9 + ["confidence"] * 3
    assert [line["label"] for line in lines] == [*"000111222", "", "", ""]
    assert sum(int(line["n"]) for line in lines) == 4 * 300


def test_markdown_of_bins_is_a_table(call):
    result = call("measure", "--demo", "--prob", "overconfident", "--no-intervals", "--table", "--format", "markdown")
    assert "Bins of overconfident:" in result.stdout
    assert "| bin | rows | score | rate | 95 % interval | gap | O/E | 95 % interval |" in result.stdout


def test_class_names_are_text_in_bin_tables(call, tmp_path):
    np.savez(tmp_path / "x.npz", y=["a\x1b[0m", "b|[red]"] * 5, P=[[0.3, 0.7], [0.6, 0.4]] * 5)
    for form in ("table", "markdown", "csv"):
        text = call(
            "measure", "x.npz", "--prob", "P", "--no-intervals", "--table", "--bins", "2", "--format", form
        ).stdout
        assert "\x1b" not in text
        assert r"\x1b" in text


FLOORED = ("ECE", "ACE", "MCE", "TCE", "smooth ECE", "– miscalibration")


def cells(text, name):
    """The cells of the row that begins with a name."""
    (line,) = (line for line in text.splitlines() if re.split(r"\s{2,}", line)[0] == name)
    return re.split(r"\s{2,}", line)


def test_the_tce_never_appears_without_its_floor(call, tmp_path):
    d = tn.simulate.demo(600)
    np.savez(tmp_path / "x.npz", y=d.y_true, p=d.y_prob, q=d.y_prob**2, g=np.arange(600) % 2)
    text = call("measure", "x.npz", "--prob", "p").stdout
    assert re.split(r"\s{2,}", text.splitlines()[0]) == ["measure", "p", "95 % interval", "if calibrated", "meaning"]
    assert all(re.fullmatch(r"[\d.]+( %)?", cells(text, name)[3]) for name in FLOORED)
    lines = call("measure", "x.npz", "--prob", "p", "--prob", "q").stdout.splitlines()
    for name in FLOORED:
        (at,) = (i for i, line in enumerate(lines) if line.startswith(f"{name} "))
        assert lines[at + 1].startswith("– if calibrated ")
    by = ["measure", "x.npz", "--prob", "p", "--by", "g"]
    head = call(*by).stdout.splitlines()[0]
    assert "ECE floor" in head
    assert ("TCE" in head) == ("TCE floor" in head)
    assert "| TCE | TCE floor |" in call(*by, "--format", "markdown").stdout
    assert call("tally", "x.npz", "--prob", "p", "-o", "x.tally").exit_code == 0
    text = call("measure", "x.tally").stdout
    assert all(float(cells(text, name)[-1]) > 0 for name in ("ECE", "TCE, %", "TCE, %, 10 bins", "– miscalibration"))


def test_every_number_stands_beside_its_interval_or_its_floor(call):
    text = call("measure", "--demo", "--rows", "500", "--prob", "overconfident").stdout
    assert max(map(len, text.splitlines())) <= 80
    table, notes = text.split("\n\n")
    for line in table.splitlines()[2:]:
        name, _, interval, floor, *_ = [*re.split(r"\s{2,}", line), "", ""]
        has_floor = re.fullmatch(r"0\.\d*[1-9]\d*|[\d.]+ %", floor) is not None
        assert " to " in interval or (interval == "-" and has_floor != (name == "– discrimination")), line
    assert "MCE, TCE, smooth ECE, miscalibration: no valid interval is known; compare" in " ".join(notes.split())


def test_the_intervals_of_three_models_stand_below_their_values(call):
    asked = [
        "measure",
        "--demo",
        "--rows",
        "300",
        "--prob",
        "overconfident",
        "--prob",
        "recalibrated",
        "--prob",
        "truth",
    ]
    lines = call(*asked).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    (at,) = (i for i, line in enumerate(lines) if line.startswith("slope "))
    assert len(re.findall(r"[\d.]+ to [\d.]+", lines[at + 1])) == 3
    assert lines[at + 1].startswith("– 95 % interval ")


def test_the_numbers_alone_are_the_same_numbers(call):
    asked = ["measure", "--demo", "--rows", "500", "--prob", "overconfident", "--format", "json"]
    alone, whole = (json.loads(call(*asked, *more).stdout) for more in (["--no-intervals"], []))
    assert "level" not in alone
    (model,) = alone["models"]
    assert not [key for key in model["measures"] if key.endswith(("_low", "_high", "_floor"))]
    assert model["measures"].items() <= whole["models"][0]["measures"].items()
    text = call(*asked[:-2], "--no-intervals").stdout
    assert "interval" not in text
    assert "calibrated" not in text


def test_one_level_rules_all_intervals(call):
    asked = ["measure", "--demo", "--rows", "500", "--prob", "overconfident", "--format", "json"]
    found = {
        level: json.loads(call(*asked, "--level", level).stdout)["models"][0]["measures"] for level in ("0.8", "0.99")
    }
    for key in ("prevalence", "ece", "brier", "log_loss", "slope", "intercept", "observed_expected"):
        low, high = f"{key}_low", f"{key}_high"
        assert found["0.99"][low] <= found["0.8"][low] < found["0.8"][key] < found["0.8"][high] < found["0.99"][high]
    assert "80 % interval" in call(*asked[:-2], "--level", "0.8").stdout


def test_rows_of_a_matrix_name_their_view(call, multiclass, tmp_path):
    y, P = multiclass
    np.savez(tmp_path / "x.npz", y=y, P=P)
    text = call("measure", "x.npz", "--prob", "P", "--no-intervals").stdout
    for name in ("ECE (class-wise)", "ECE (confidence)", "TCE (confidence)", "Brier score (all classes)"):
        assert f"\n{name} " in text
    for name in ("classwise", "confidence"):
        assert call("tally", "x.npz", "--prob", "P", "--kind", name, "-o", f"{name}.tally").exit_code == 0
        view = "class-wise" if name == "classwise" else name
        assert f"\nECE ({view}) " in call("measure", f"{name}.tally", "--no-intervals").stdout


def test_scores_of_0_and_1_are_counted(call, tmp_path):
    np.savez(tmp_path / "x.npz", y=[1, 0, 1, 0, 1, 0], p=[0.0, 0.4, 0.9, 0.7, 0.6, 0.0])
    result = call("measure", "x.npz")
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("scores of 0 or 1"))
    assert line.split()[5] == "2"
    assert "2 of 6 scores are exactly 0 or 1. Slope and intercept leave them out" in result.stderr
    assert "1 of them contradicts its label" in result.stderr
    assert "scores of 0 or 1" not in call("measure", "--demo", "--rows", "200", "--no-intervals").stdout


def test_notes_of_sums_fit_into_80_columns(call, tmp_path):
    d = tn.simulate.demo(2_000)
    np.savez(tmp_path / "x.npz", y=d.y_true, p=d.y_prob)
    for bins in ("sketch", "10"):
        assert call("tally", "x.npz", "--bins", bins, "-o", f"{bins}.tally").exit_code == 0
        lines = call("measure", f"{bins}.tally").stdout.splitlines()
        assert max(map(len, lines)) <= 80
    found = json.loads(call("measure", "sketch.tally", "--format", "json").stdout)
    assert {one["note"] for one in found["measures"] if one["key"] == "tce"} == {"from a sketch"}


def test_options_that_would_be_ignored_are_refused(fails, tmp_path):
    pytest.importorskip("polars").DataFrame({"y": [0, 1], "p": [0.2, 0.8]}).write_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text('{"y": 0, "p": 0.2}\n{"y": 1, "p": 0.8}\n')
    assert "--level is for intervals" in fails("measure", "x.parquet", "--level", "0.9", "--no-intervals")
    for name, form in (("x.parquet", "Parquet"), ("x.jsonl", "JSON lines")):
        message = fails("measure", name, "--separator", ";")
        assert f"`--separator` is only for CSV and TSV; {name} is {form}. Leave it out." in message
