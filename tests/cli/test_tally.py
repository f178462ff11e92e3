"""Sums of files are the files: in any pieces, added in any order, and after a kill."""

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn


def measured(result):
    """The values by group, which is empty for all rows, and key."""
    assert result.exit_code == 0, result.stderr
    lines = list(csv.DictReader(io.StringIO(result.stdout)))
    if "measure" in lines[0]:
        return {("", line.pop("measure")): next(iter(line.values())) for line in lines}
    return {(line["group"], key): value for line in lines for key, value in line.items()}


def test_buckets_without_clusters_are_refused(call, tmp_path):
    write_columns(tmp_path / "x.csv", {"y": np.array([0, 1]), "p": np.array([0.2, 0.7])})
    result = call(
        "tally", "x.csv", "--label", "y", "--prob", "p", "--buckets", "32", "-o", "x.tally"
    )
    assert result.exit_code == 2
    assert "--buckets is for clusters" in result.stderr


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz"])
@pytest.mark.parametrize("bins", ["sketch", "distinct", "10", "0,0.25,1"])
def test_the_sums_are_those_of_the_rows(call, grouped, tmp_path, kind, bins):
    write_columns(tmp_path / f"x.{kind}", grouped)
    given = [
        "tally",
        f"x.{kind}",
        "--prob",
        "p",
        "--weight",
        "w",
        "--by",
        "region",
        "--bins",
        bins,
        "-o",
        "x.tally",
    ]
    result = call(*given)
    assert result.exit_code == 0, result.stderr
    found = tn.Accumulator.load(tmp_path / "x.tally")
    kept = {"sketch": "sketch", "distinct": "distinct", "10": 10}.get(bins, [0, 0.25, 1])
    assert found.about == {"label": "y", "prob": "p", "weight": "w"}
    rule = kept if isinstance(kept, list) else 10
    for name, sums in found.groups.items():
        y, p, w = (grouped[key][grouped["region"] == name] for key in ("y", "p", "w"))
        assert sums.n == y.size
        assert tn.ece(sums, bins=rule) == pytest.approx(
            tn.ece(y, p, bins=rule, sample_weight=w), abs=1e-12
        )


def test_files_of_days_add_up_to_the_week(call, grouped, tmp_path):
    columns = {name: grouped[name] for name in ("y", "p", "region")}
    write_columns(tmp_path / "week.csv", columns)
    for day, rows in (("mon", slice(0, 250)), ("tue", slice(250, 600))):
        write_columns(
            tmp_path / f"{day}.csv", {name: values[rows] for name, values in columns.items()}
        )
        assert call("tally", f"{day}.csv", "--by", "region", "-o", f"{day}.tally").exit_code == 0
    assert call("tally", "mon.csv", "tue.csv", "--by", "region", "-o", "both.tally").exit_code == 0
    assert call("tally", "week.csv", "--by", "region", "-o", "week.tally").exit_code == 0
    assert (tmp_path / "both.tally").read_bytes() == (tmp_path / "week.tally").read_bytes()
    added = call("measure", "--no-intervals", "tue.tally", "mon.tally", "--format", "csv").stdout
    assert added == call("measure", "--no-intervals", "week.tally", "--format", "csv").stdout


def test_measures_of_a_sketch_are_near_those_of_the_rows(call, grouped, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    write_columns(tmp_path / "x.csv", {"y": (rng.random(3000) < p).astype(int), "p": p})
    assert call("tally", "x.csv", "-o", "x.tally").exit_code == 0
    found = measured(call("measure", "--no-intervals", "x.tally", "--format", "csv"))
    rows = {
        line["measure"]: line
        for line in csv.DictReader(
            io.StringIO(call("measure", "--no-intervals", "x.csv", "--format", "csv").stdout)
        )
    }
    assert [key for _, key in found if key not in ("ks", "kuiper")] == list(rows)
    for key in (
        "ece",
        "ace",
        "mce",
        "brier",
        "log_loss",
        "brier_miscalibration",
        "observed_expected",
    ):
        assert float(found["", key]) == pytest.approx(float(rows[key]["p"]), abs=5e-3)
    assert (
        "From a sketch: rows count at the mean score"
        in call("measure", "--no-intervals", "x.tally").stdout
    )


@pytest.mark.parametrize("more", [[], ["--by", "region"]])
def test_measures_of_distinct_scores_are_those_of_the_rows(call, grouped, tmp_path, more):
    write_columns(tmp_path / "x.csv", {name: grouped[name] for name in ("y", "p", "region")})
    assert call("tally", "x.csv", *more, "--bins", "distinct", "-o", "x.tally").exit_code == 0
    asked = ("--no-intervals", "--format", "csv")
    rows, sums = (
        measured(call("measure", *which, *asked)) for which in (["x.csv", *more], ["x.tally"])
    )
    assert {key: sums[key] for key in rows} == rows


def test_bins_say_what_they_cannot(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"]})
    call("tally", "x.csv", "--bins", "10", "-o", "x.tally")
    found = json.loads(call("measure", "--no-intervals", "x.tally", "--format", "json").stdout)[
        "models"
    ][0]
    assert "ece" not in found["notes"]
    assert found["measures"]["log_loss"] is None
    for key in (
        "log_loss",
        "ace",
        "tce",
    ):  # not that bins of equal mass are no coarsening: nobody named any
        assert (
            found["notes"][key] == "This measure needs every distinct score; bins do not keep them."
        )
    lost = "log loss, intercept, slope: This measure needs every distinct score; bins do not keep them."
    assert lost in " ".join(call("measure", "--no-intervals", "x.tally").stdout.split())


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_several_classes(call, multiclass, tmp_path, kind):
    y, P = multiclass
    names = np.array(["a", "b", "c"])
    write_columns(tmp_path / "x.csv", {"y": names[y], **{n: P[:, i] for i, n in enumerate(names)}})
    result = call("tally", "x.csv", "--prob-columns", "a,b,c", "--kind", kind, "-o", "x.tally")
    assert result.exit_code == 0, result.stderr
    found = tn.Accumulator.load(tmp_path / "x.tally").total
    assert found == tn.sketch(names[y].tolist(), P, kind=kind, labels=["a", "b", "c"])
    assert (
        measured(call("measure", "--no-intervals", "x.tally", "--format", "csv"))["", "n"] == "300"
    )


@pytest.mark.parametrize(
    "form",
    [
        "json",
        *(pytest.param(form, marks=pytest.mark.slow) for form in ("html", "markdown", "text")),
    ],
)
def test_the_report_has_values_and_bins(call, grouped, tmp_path, form):
    write_columns(
        tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"], "<b>": grouped["region"]}
    )
    call("tally", "x.csv", "--by", "<b>", "-o", "x.tally")
    result = call("report", "x.tally", "--format", form, "--title", "A <week>", "-o", "-")
    assert result.exit_code == 0, result.stderr
    text = result.stdout
    if form == "json":
        data = json.loads(text)
        assert data["source"] == "sketch"
        (model,) = data["models"]
        assert sum(model["bins"]["n"]) == 600
        assert {one["value"] for one in model["segments"]["rows"]} == set(grouped["region"])
    else:
        assert "Brier score" in text
        assert "Mean score" in text
        assert "from a sketch" in " ".join(text.split())
    if form == "html":
        assert "A &lt;week&gt;" in text
        assert "<b>" not in text


@pytest.mark.slow
def test_the_report_has_the_verdict_of_the_confidence_set(call, tmp_path):
    data = tn.simulate.demo(4_000, seed=3)
    for name, p, code in (
        ("p", data.y_prob, "miscalibrated"),
        ("recalibrated", data.columns["recalibrated"], "no-evidence"),
    ):
        write_columns(tmp_path / "x.csv", {"y": data.y_true, "p": p})
        call("tally", "x.csv", "--bins", "distinct", "-o", f"{name}.tally")
        found = json.loads(call("report", f"{name}.tally", "--format", "json", "-o", "-").stdout)
        assert found["verdict"]["code"] == code
        expected = tn.ece_interval(data.y_true, p, seed=0, level=0.95)
        interval = found["models"][0]["summary"]["ece_interval"]
        assert interval["high"] == pytest.approx(expected.high, rel=1e-9)
        assert interval["includes_zero"] is expected.includes_zero


def test_bins_have_a_diagram_and_no_verdict(call, tmp_path):
    write_columns(
        tmp_path / "x.csv", {"y": np.array([0, 1, 1, 0]), "p": np.array([0.1, 0.9, 0.8, 0.8])}
    )
    call("tally", "x.csv", "--bins", "10", "-o", "x.tally")
    text = call("report", "x.tally", "--format", "html", "-o", "-").stdout
    assert "4 rows are too few to tell" in text
    assert text.count("<circle") >= 3  # one for each bin
    assert "2 rows, mean score 0.8000, rate 0.5000" in text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_several_classes_have_a_report(call, multiclass, tmp_path, kind):
    y, P = multiclass
    write_columns(tmp_path / "x.csv", {"y": y, **{f"p{i}": P[:, i] for i in range(3)}})
    call("tally", "x.csv", "--prob-columns", "p0,p1,p2", "--kind", kind, "-o", "x.tally")
    result = call("report", "x.tally", "--format", "html", "-o", "-")
    assert result.exit_code == 0, result.stderr
    assert "verdict" in result.stdout


def test_text_labels_and_missing_values(call, grouped, tmp_path):
    y = np.where(grouped["y"] == 1, "yes", "no")
    p = np.array([f"{v}" for v in grouped["p"]], dtype=object)
    p[[3, 500]] = ""
    write_columns(tmp_path / "x.csv", {"y": y, "p": p})
    result = call("tally", "x.csv", "--pos-label", "yes", "--missing", "drop", "-o", "x.tally")
    assert "warning: 2 of 600 rows have a missing value and were dropped." in result.stderr
    kept = np.delete(np.arange(600), [3, 500])
    assert tn.Accumulator.load(tmp_path / "x.tally").total == tn.sketch(
        grouped["y"][kept], grouped["p"][kept]
    )


def test_messages(fails, call, grouped, tmp_path):
    write_columns(
        tmp_path / "x.csv",
        {"y": grouped["y"], "p": grouped["p"], "q": grouped["q"], "region": grouped["region"]},
    )
    assert "`--output` must name the file to write" in fails("tally", "x.csv", "--prob", "p")
    assert "must end in .tally" in fails("tally", "x.csv", "--prob", "p", "-o", "x.bin")
    assert "must end in .tally" in fails("tally", "x.csv", "--prob", "p", "-o", "x")
    assert "`--prob` must name one model" in fails(
        "tally", "x.csv", "--prob", "p", "--prob", "q", "-o", "x.tally"
    )
    assert "has none. Use 'sketch' instead" in fails(
        "tally", "x.csv", "--prob", "p", "--bins", "mass:5", "-o", "x.tally"
    )
    assert "There is no file 'y.tally'" in fails("measure", "y.tally")
    (tmp_path / "bad.tally").write_bytes(b"not sums")
    assert "'bad.tally': The sums cannot be read" in fails("measure", "bad.tally")
    call("tally", "x.csv", "--prob", "p", "-o", "p.tally")
    call("tally", "x.csv", "--prob", "q", "-o", "q.tally")
    call("tally", "x.csv", "--prob", "p", "--bins", "5", "-o", "p5.tally")
    assert "q.tally is about other columns" in fails("measure", "p.tally", "q.tally")
    assert "p5.tally does not add to p.tally" in fails("measure", "p.tally", "p5.tally")
    assert "'x.csv' is not a .tally file" in fails("measure", "p.tally", "x.csv")


@pytest.fixture
def stopped(fails, grouped, tmp_path):
    """A run that has saved the rows of x.csv, and has met a bad one in y.csv."""
    columns = {"y": grouped["y"], "p": grouped["p"], "q": 1 - grouped["p"]}
    write_columns(tmp_path / "x.csv", columns)
    write_columns(tmp_path / "y.csv", columns | {"p": columns["p"] + (np.arange(600) == 500)})
    asked = ("tally", "x.csv", "y.csv", "-o", "x.tally", "--save-every", "0")
    assert "y.csv: Column 'p' must lie in [0, 1]" in fails(*asked, "--prob", "p")
    return (*asked, "--resume")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--prob", "q"], "probs"),
        (["--prob", "p", "--bins", "10"], "bins"),
        (["--prob", "p", "--weight", "q"], "weight"),
    ],
)
def test_a_run_goes_on_with_the_same_options_only(call, fails, stopped, options, named):
    assert f"was made with other options ({named})" in fails(*stopped, *options)
    assert "note: continuing after row 600 of x.csv." in call(*stopped, "--prob", "p").stderr


def test_a_run_does_not_go_on_with_a_file_that_has_changed(call, fails, stopped, tmp_path):
    (tmp_path / "y.csv").write_bytes((tmp_path / "x.csv").read_bytes())
    assert "was made from other files, or files that have changed since" in fails(
        *stopped, "--prob", "p"
    )
    assert call(*stopped[:-1], "--prob", "p").exit_code == 0
    assert not (tmp_path / "x.tally.partial").exists()
    assert "starting from the first row" in call(*stopped, "--prob", "p").stderr
    assert tn.Accumulator.load(tmp_path / "x.tally").n == 1200


def test_groups_are_the_cells_of_the_file(call, tmp_path):
    ids = np.array(
        [str(i) for i in range(200)] + ["007", "7", "1.0", "1", "a", "12345678901234567890"],
        dtype=object,
    )
    write_columns(
        tmp_path / "x.csv",
        {"y": np.ones(ids.size, dtype=int), "p": np.full(ids.size, 0.5), "id": ids},
    )
    assert call("tally", "x.csv", "--by", "id", "-o", "x.tally").exit_code == 0
    found = tn.Accumulator.load(tmp_path / "x.tally").groups
    assert {name: sums.n for name, sums in found.items()} == {
        i: 2 if i in ("1", "7") else 1 for i in ids
    }


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "npz"])
def test_whole_numbers_are_one_group_in_all_formats(call, tmp_path, kind):
    columns = {
        "y": np.array([0, 1, 1]),
        "p": np.array([0.5, 0.5, 0.7]),
        "shop": np.array([10, 2, 10]),
    }
    for name in ("x.csv", f"y.{kind}"):
        write_columns(tmp_path / name, columns)
        assert call("tally", name, "--by", "shop", "-o", f"{name[0]}.tally").exit_code == 0
    result = call("measure", "--no-intervals", "x.tally", "y.tally", "--format", "csv")
    assert "hold exactly the same sums" in result.stderr
    assert [g for g, key in measured(result) if key == "n"] == ["", "2", "10"]
    assert measured(result)["10", "n"] == "4"


def test_a_group_that_is_missing_is_refused_or_dropped(call, fails, tmp_path):
    rows = {
        "y": np.array([0, 1, 1]),
        "p": np.array([0.5, 0.5, 0.7]),
        "shop": np.array(["a", "", "b"]),
    }
    write_columns(tmp_path / "x.csv", rows)
    asked = ("tally", "x.csv", "--by", "shop", "-o", "x.tally")
    assert "column 'shop' must not have missing values; 1 of 3 are" in fails(*asked)
    result = call(*asked, "--missing", "drop")
    assert "warning: 1 of 3 rows has a missing value and was dropped." in result.stderr
    assert list(tn.Accumulator.load(tmp_path / "x.tally").groups) == ["a", "b"]
    hiding = fails(*asked, "--missing", "drop", "--min-rows", "9")
    assert "`--min-rows` must leave at least one group; it hides all 2 rows" in hiding


def test_a_third_label_is_refused_in_a_later_piece_and_after_a_kill(call, fails, tmp_path):
    y = np.array(["yes", "no"] * 65_536 + ["yes", "maybe"], dtype=object)  # in the second piece
    write_columns(tmp_path / "x.csv", {"y": y, "p": np.full(y.size, 0.5)})
    asked = ("tally", "x.csv", "--pos-label", "yes", "-o", "x.tally", "--save-every", "0")
    said = "earlier batches have 'yes' (`--pos-label`) and 'no', this batch has 'maybe'"
    assert said in fails(*asked)
    assert (tmp_path / "x.tally.partial").exists()
    result = call(*asked, "--resume")
    assert (result.exit_code, said in result.stderr) == (2, True)
    for day, label in (("mon", "no"), ("tue", "never")):
        write_columns(
            tmp_path / f"{day}.csv", {"y": np.array(["yes", label]), "p": np.array([0.5, 0.5])}
        )
        assert (
            call("tally", f"{day}.csv", "--pos-label", "yes", "-o", f"{day}.tally").exit_code == 0
        )
    assert "and 'no', the other one has 'never'" in fails("measure", "mon.tally", "tue.tally")


def test_rows_that_are_all_dropped_at_first_do_not_decide_what_labels_are(call, tmp_path):
    y = np.array([""] * 140_000 + ["1", "2"] * 200, dtype=object)  # all of the first piece
    write_columns(tmp_path / "x.csv", {"y": y, "p": np.full(y.size, 0.5)})
    result = call("tally", "x.csv", "--pos-label", "2", "--missing", "drop", "-o", "x.tally")
    assert (
        "warning: 140,000 of 140,400 rows have a missing value and were dropped." in result.stderr
    )
    assert tn.Accumulator.load(tmp_path / "x.tally").total == tn.sketch([0, 1] * 200, [0.5] * 400)


@pytest.fixture
def days(call, grouped, tmp_path):
    """Three days of sums by region, and the rows of each."""
    rows = {}
    for day, some in (("mon", slice(0, 250)), ("tue", slice(250, 400)), ("wed", slice(400, 600))):
        rows[day] = {name: grouped[name][some] for name in ("y", "p", "region")}
        write_columns(tmp_path / f"{day}.csv", rows[day])
        assert call("tally", f"{day}.csv", "--by", "region", "-o", f"{day}.tally").exit_code == 0
    return rows


def test_sums_become_one_file(call, fails, days, tmp_path):
    result = call("tally", "wed.tally", "mon.tally", "tue.tally", "-o", "week.tally")
    assert "note: the sums of 600 rows, of 3 files, are in week.tally." in result.stderr
    assert (
        call(
            "tally", "mon.csv", "tue.csv", "wed.csv", "--by", "region", "-o", "rows.tally"
        ).exit_code
        == 0
    )
    assert (tmp_path / "week.tally").read_bytes() == (tmp_path / "rows.tally").read_bytes()
    assert "'mon.csv' is not a .tally file" in fails(
        "tally", "tue.tally", "mon.csv", "-o", "x.tally"
    )
    assert "is the file that is read" in fails("tally", "tue.tally", "mon.tally", "-o", "mon.tally")
    result = call("tally", "tue.tally", "--by", "region", "-o", "x.tally")
    assert (
        result.exit_code,
        "--by is for rows; .tally files are sums already" in result.stderr,
    ) == (2, True)
    assert not (tmp_path / "x.tally").exists()
    week, monday, tuesday = (
        tn.Accumulator.load(tmp_path / f"{name}.tally") for name in ("week", "mon", "tue")
    )
    week.subtract(monday)
    week.subtract(tn.Accumulator.load(tmp_path / "wed.tally"))
    assert (week.n, week.compute_by(tn.log_loss)) == (150, tuesday.compute_by(tn.log_loss))
    with pytest.raises(
        tn.InputError, match="Group 'north': Only rows that the sums hold can be subtracted"
    ):
        tuesday.subtract(monday)


@pytest.mark.slow
def test_groups_of_several_columns_and_small_ones(call, days, grouped, tmp_path):
    day = np.repeat(["mon", "tue", "wed"], [250, 150, 200])
    write_columns(
        tmp_path / "x.csv", {**{name: grouped[name] for name in ("y", "p", "region")}, "day": day}
    )
    asked = ("tally", "x.csv", "--by", "region", "--by", "day")
    assert call(*asked, "-o", "x.tally").exit_code == 0
    found = tn.Accumulator.load(tmp_path / "x.tally")
    kept = {key: sums for key, sums in found.groups.items() if sums.n >= 60}
    for (region, one), sums in found.groups.items():
        assert sums == tn.Accumulator.load(tmp_path / f"{one}.tally").groups[region]
    hidden = "1 group of fewer than 60 rows left out: 50 rows are hidden."
    for before in (asked, ("tally", "x.tally")):
        assert hidden in call(*before, "--min-rows", "60", "-o", "y.tally").stderr
        assert tn.Accumulator.load(tmp_path / "y.tally").groups == kept
    assert (
        "--min-rows is for groups"
        in call("tally", "x.csv", "--min-rows", "9", "-o", "z.tally").stderr
    )
    shown = json.loads(call("measure", "x.tally", "--no-intervals", "--format", "json").stdout)[
        "groups"
    ]
    assert [(one["by"], one["group"]) for one in shown[1:3]] == [
        ("region × day", f"north × {d}") for d in ("mon", "tue")
    ]
    segments = tn.report(found).to_dict()["models"][0]["segments"]["rows"]
    assert {(one["column"], one["value"]) for one in segments} >= {
        ("region", "north"),
        ("day", "wed"),
    }
    assert call("gate", "x.tally", "--groups", "--max-ece", "0.9").exit_code in (0, 1)


@pytest.mark.parametrize("verb", ["measure", "report", "tally"])
@pytest.mark.parametrize("kind", ["tally", "csv"])
def test_no_file_counts_twice(fails, days, tmp_path, verb, kind):
    (tmp_path / f"link.{kind}").symlink_to(tmp_path / f"mon.{kind}")
    os.link(tmp_path / f"mon.{kind}", tmp_path / f"hard.{kind}")
    output = {"measure": "x.json", "report": "x.html", "tally": "x.tally"}[verb]
    for again in ("mon", "./mon", "link", "hard", "[l-n]*", "../" + tmp_path.name + "/mon"):
        said = fails(verb, f"mon.{kind}", f"tue.{kind}", f"{again}.{kind}", "-o", output)
        assert "is given twice" in said
        assert f".{kind}" in said
    assert not (tmp_path / output).exists()


def test_copies_and_the_sum_of_all_others_are_mentioned(call, days, tmp_path):
    (tmp_path / "copy.tally").write_bytes((tmp_path / "mon.tally").read_bytes())
    assert (
        "mon.tally and copy.tally hold exactly the same sums"
        in call("measure", "--no-intervals", "mon.tally", "copy.tally").stderr
    )
    (tmp_path / "copy.tally").unlink()
    call("tally", "mon.tally", "tue.tally", "wed.tally", "-o", "week.tally")
    said = "warning: week.tally holds exactly the sums of all the others together"
    assert said in call("measure", "--no-intervals", "*.tally", "--format", "csv").stderr
    assert (
        said
        not in call(
            "measure", "--no-intervals", "mon.tally", "tue.tally", "week.tally", "--format", "csv"
        ).stderr
    )


def test_each_file_by_itself_and_all(call, days, tmp_path):
    names = ["wed.tally", "mon.tally", "tue.tally"]
    lines = list(
        csv.DictReader(
            io.StringIO(
                call("measure", "--no-intervals", *names, "--each", "--format", "csv").stdout
            )
        )
    )
    assert [(line["file"], line["group"]) for line in lines] == [
        (name, group) for name in (*names, "all") for group in ("", "north", "south")
    ]
    for line in lines:
        day = line["file"].removesuffix(".tally")
        rows = (
            days[day]
            if day in days
            else {k: np.concatenate([d[k] for d in days.values()]) for k in ("y", "p", "region")}
        )
        some = (
            np.ones(rows["y"].size, bool)
            if line["group"] == ""
            else rows["region"] == line["group"]
        )
        y, p = rows["y"][some], rows["p"][some]
        assert int(line["n"]) == y.size
        assert float(line["prevalence"]) == pytest.approx(y.mean(), abs=1e-12)
        for key, exact in (
            ("ece", tn.ece(y, p)),
            ("ace", tn.ace(y, p)),
            ("log_loss", tn.log_loss(y, p)),
        ):
            assert float(line[key]) == pytest.approx(exact, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--no-intervals",), ()])
def test_each_file_in_every_form(call, days, tmp_path, more):
    asked = ("measure", *more, "mon.tally", "tue.tally", "--each", "--bins", "8")
    table = call(*asked).stdout
    assert [line.split()[:2] for line in table.splitlines()[:2]] == [
        ["file", "region"],
        ["mon.tally", "250"],
    ]
    assert "From a sketch: rows count at the mean score of their cell." in " ".join(table.split())
    assert call(*asked, "--format", "markdown").stdout.startswith("| file | region | rows |")
    assert call(*asked, "-o", "x.csv").exit_code == 0
    limits = "" if more else "prevalence_low,prevalence_high,"
    assert (tmp_path / "x.csv").read_text().startswith(f"file,group,n,prevalence,{limits}")
    data = json.loads(call(*asked, "--format", "json").stdout)
    alone = json.loads(
        call("measure", *more, "mon.tally", "--bins", "8", "--format", "json").stdout
    )
    assert [one["file"] for one in data["files"]] == ["mon.tally", "tue.tally"]
    assert alone["kept"] == "sketch"
    for one, two in zip(data["files"][0]["groups"], alone["groups"], strict=True):
        values = {
            key: value
            for key, value in two["models"][0]["measures"].items()
            if not key.endswith("_floor")
        }
        assert {key: one["models"][0]["measures"][key] for key in values} == values
    both = json.loads(
        call("measure", *more, "mon.tally", "tue.tally", "--bins", "8", "--format", "json").stdout
    )
    assert data["groups"] == both["groups"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "html", "markdown", "text"])
def test_the_report_has_files_side_by_side(call, days, form):
    asked = ("report", "mon.tally", "tue.tally", "--format", form, "-o", "-")
    text, without = call(*asked, "--each").stdout, call(*asked).stdout
    if form == "json":
        both = json.loads(text)
        files = [one["file"] for one in both.pop("files")]
        assert files == [name for name in ("mon.tally", "tue.tally", "all") for _ in range(3)]
        assert both.pop("series")["name"] == ["mon.tally", "tue.tally"]
        assert both == {
            key: value
            for key, value in json.loads(without).items()
            if key not in ("files", "series")
        }
        return
    headline = json.loads(call(*asked[:4], "json", "-o", "-", "--each").stdout)["series"][
        "headline"
    ]
    elsewhere = headline.count("tue.tally") * (2 if form == "html" else 1)
    elsewhere += 2 if form == "html" else 0  # a name and a tooltip in the chart
    assert (
        text.count("tue.tally") == without.count("tue.tally") + 3 + elsewhere
    )  # all rows and two groups
    assert text.index("Obs./exp.") < text.index("Log loss")


def test_a_day_without_rows_is_a_line_and_days_without_any_are_refused(call, fails, days, tmp_path):
    empty = tn.Accumulator(
        by="region", about={"label": "y", "prob": "p", "weight": None}, missing="raise"
    )
    empty.save(tmp_path / "sun.tally")
    assert "sun.tally has no rows" in fails("measure", "sun.tally")
    assert "sun.tally has no rows" in fails("report", "sun.tally")
    lines = call(
        "measure", "--no-intervals", "mon.tally", "sun.tally", "--each"
    ).stdout.splitlines()
    assert next(line for line in lines if line.startswith("sun")).split() == ["sun.tally", "0"]


def test_each_is_for_sums(call, days):
    result = call("measure", "mon.csv", "tue.csv", "--each")
    assert (result.exit_code, "--each is for .tally files" in result.stderr) == (2, True)


@pytest.mark.parametrize("verb", ["test", "compare", "plot"])
def test_what_needs_rows_says_so(fails, days, verb):
    assert "mon.tally holds sums, and this needs rows" in fails(verb, "mon.tally")


def test_a_folder_and_a_name_for_the_output_only(fails, days, tmp_path):
    (tmp_path / "x.tally").mkdir()
    assert "'x.tally' is a folder" in fails("measure", "x.tally")
    assert "`--output` must be a file; 'x.tally' is a folder" in fails(
        "tally", "mon.csv", "-o", "x.tally"
    )
    assert "`--output` must end in .json" in fails("measure", "mon.csv", "-o", "y.tally")


@pytest.mark.slow
def test_a_tally_killed_at_any_moment_counts_every_row_once(tmp_path):
    rng = np.random.default_rng(5)
    names = ["a.csv", "b.csv"]
    for name in names:
        p = rng.integers(0, 1000, 700_000) / 1000
        columns = {
            "y": (rng.random(p.size) < p).astype(int),
            "p": p,
            "g": rng.integers(0, 3, p.size),
        }
        write_columns(tmp_path / name, columns)  # six pieces
    given = [
        sys.executable,
        "-m",
        "trueness",
        "tally",
        *names,
        "--by",
        "g",
        "--save-every",
        "0",
        "--resume",
        "-o",
    ]
    quiet = {"cwd": tmp_path, "stderr": subprocess.DEVNULL}
    subprocess.run([*given, "whole.tally"], check=True, **quiet)
    delays, kills = random.Random(5), 0
    for _ in range(40):
        with subprocess.Popen([*given, "killed.tally"], **quiet) as process:
            deadline = time.monotonic() + 20
            partial = tmp_path / "killed.tally.partial"
            before = partial.stat().st_mtime_ns if partial.exists() else 0
            while kills < 4 and process.poll() is None and time.monotonic() < deadline:
                if partial.exists() and partial.stat().st_mtime_ns > before:
                    time.sleep(delays.uniform(0, 0.05))
                    os.kill(process.pid, signal.SIGKILL)
                    kills += 1
                    break
                time.sleep(0.002)
            process.wait()
        if process.returncode == 0:
            break
    assert kills >= 2
    assert (tmp_path / "killed.tally").read_bytes() == (tmp_path / "whole.tally").read_bytes()


def test_dates_of_parquet_are_groups_as_those_of_csv(call, tmp_path):
    from datetime import date, datetime, timedelta

    import polars as pl

    days = [date(2024, 2, 29) + timedelta(days=i % 3) for i in range(30)]
    times = [datetime(2024, 2, 29, i % 2, 0, 0, 250_000 * (i % 2)) for i in range(30)]
    zoned = [when.replace(tzinfo=UTC) for when in times]
    y, p = [i % 2 for i in range(30)], [(i % 7) / 8 for i in range(30)]
    frame = pl.DataFrame({"y": y, "p": p, "day": days, "at": times, "ns": times, "zoned": zoned})
    frame.with_columns(
        pl.col("ns").cast(pl.Datetime("ns")) + pl.duration(nanoseconds=1)
    ).write_parquet(tmp_path / "x.parquet")
    frame.select("y", "p", pl.col("day").cast(str)).write_csv(tmp_path / "x.csv")
    found = {}
    for file, by in (("x.csv", "day"), *(("x.parquet", by) for by in ("day", "at", "ns", "zoned"))):
        assert call("tally", file, "--by", by, "-o", "x.tally").exit_code == 0
        found[file, by] = tn.Accumulator.load(tmp_path / "x.tally").groups
        lines = csv.DictReader(
            io.StringIO(
                call("measure", "--no-intervals", file, "--by", by, "--format", "csv").stdout
            )
        )
        assert {line["group"]: int(line["n"]) for line in lines} == {
            g: s.n for g, s in found[file, by].items()
        }
    assert found["x.csv", "day"] == found["x.parquet", "day"]
    assert list(found["x.csv", "day"]) == ["2024-02-29", "2024-03-01", "2024-03-02"]
    assert list(found["x.parquet", "at"]) == ["2024-02-29T00:00:00", "2024-02-29T01:00:00.25"]
    assert list(found["x.parquet", "ns"]) == [
        "2024-02-29T00:00:00.000000001",
        "2024-02-29T01:00:00.250000001",
    ]
    assert list(found["x.parquet", "zoned"]) == ["2024-02-29T00:00:00Z", "2024-02-29T01:00:00.25Z"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_groups_of_rows_and_of_sums_have_the_same_names(call, tmp_path, kind):
    ids = np.array([9007199254740992, 9007199254740993, 2**63 - 1, -5, 7] * 40)
    write_columns(
        tmp_path / f"x.{kind}", {"y": np.arange(200) % 2, "p": np.arange(200) % 9 / 10, "id": ids}
    )
    result = call("measure", "--no-intervals", f"x.{kind}", "--by", "id", "--format", "csv")
    rows = {line["group"]: line["n"] for line in csv.DictReader(io.StringIO(result.stdout))}
    assert call("tally", f"x.{kind}", "--by", "id", "-o", "x.tally").exit_code == 0
    sums = measured(call("measure", "--no-intervals", "x.tally", "--format", "csv"))
    assert rows == {str(i): "40" for i in set(ids.tolist())}
    assert rows == {group: value for (group, key), value in sums.items() if key == "n" and group}


def test_files_of_no_weight_add_nothing(call, fails, tmp_path):
    for name, w in (("a", [1, 2]), ("b", [0, 0])):
        write_columns(
            tmp_path / f"{name}.csv",
            {"y": np.array([0, 1]), "p": np.array([0.2, 0.7]), "w": np.array(w)},
        )
    assert call("tally", "a.csv", "b.csv", "--weight", "w", "-o", "x.tally").exit_code == 0
    assert tn.Accumulator.load(tmp_path / "x.tally").total == tn.sketch(
        [0, 1], [0.2, 0.7], sample_weight=[1, 2]
    )
    said = "b.csv must have a weight above zero in column 'w'; all are zero."
    assert said in fails("tally", "b.csv", "--weight", "w", "-o", "y.tally")
    write_columns(tmp_path / "c.csv", {"y": np.array([0, 1]), "p": np.array(["", ""])})
    said = "c.csv must have at least one complete row; all 2 have a missing value."
    assert said in fails("tally", "c.csv", "--missing", "drop", "-o", "y.tally")


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        ("0,0.3,1", "2 bins between the edges 0, 0.3, 1"),
        ("7", "7 bins of equal width"),
        ("20", "20 bins of"),
    ],
)
def test_bins_that_were_kept_are_those_that_are_measured(call, grouped, tmp_path, bins, words):
    write_columns(tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"]})
    assert call("tally", "x.csv", "--bins", bins, "-o", "x.tally").exit_code == 0
    kept = tn.Accumulator.load(tmp_path / "x.tally").bins
    found = measured(call("measure", "--no-intervals", "x.tally", "--format", "csv"))
    assert float(found["", "ece"]) == pytest.approx(tn.ece(grouped["y"], grouped["p"], bins=kept))
    assert words in " ".join(call("measure", "--no-intervals", "x.tally").stdout.split())
    found_bins = json.loads(call("report", "x.tally", "--format", "json").stdout)["settings"][
        "bins_in_words"
    ]
    assert found_bins.startswith(words)
    each = call("measure", "--no-intervals", "x.tally", "--each", "--format", "csv").stdout
    assert [line["ece"] for line in csv.DictReader(io.StringIO(each))] == [found["", "ece"]] * 2
    assert "--bins" in call("measure", "--no-intervals", "x.tally", "--bins", "x").stderr


def test_a_group_without_a_name_is_not_all_of_them(call, tmp_path):
    seen = tn.Accumulator(by="g")
    seen.update([0, 1, 1], [0.2, 0.7, 0.9], group=["", "a", "a"])
    seen.save(tmp_path / "g.tally")
    lines = csv.DictReader(
        io.StringIO(call("measure", "--no-intervals", "g.tally", "--format", "csv").stdout)
    )
    assert [line["group"] for line in lines] == ["", "''", "a"]
    lines = call(
        "measure", "--no-intervals", "g.tally", "--each", "--format", "csv"
    ).stdout.splitlines()
    assert [line.split(",")[:3] for line in lines[1:4]] == [
        ["g.tally", "", "3"],
        ["g.tally", "''", "1"],
        ["g.tally", "a", "2"],
    ]
    found = json.loads(call("measure", "--no-intervals", "g.tally", "--format", "json").stdout)[
        "groups"
    ]
    assert [one.get("group") for one in found] == [None, "", "a"]
