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

import numpy as np
import pytest
from tables_on_disk import write_columns

import trueness as tn
from trueness.cli import _files, _json_lines, _text


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(_text, "_BLOCK", 1_000)
    monkeypatch.setattr(_json_lines, "_PIECE", 50)
    monkeypatch.setattr(_files, "_BATCH", 64)


def measured(result):
    assert result.exit_code == 0, result.stderr
    return {(line.get("group", ""), line["key"]): line for line in csv.DictReader(io.StringIO(result.stdout))}


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "npz"])
@pytest.mark.parametrize("bins", ["sketch", "distinct", "10", "0,0.25,1"])
def test_the_sums_are_those_of_the_rows(call, small_pieces, grouped, tmp_path, kind, bins):
    write_columns(tmp_path / f"x.{kind}", grouped)
    given = ["tally", f"x.{kind}", "--prob", "p", "--weight", "w", "--by", "region", "--bins", bins, "-o", "x.tally"]
    result = call(*given)
    assert result.exit_code == 0, result.stderr
    found = tn.Accumulator.load(tmp_path / "x.tally")
    kept = {"sketch": "sketch", "distinct": "distinct", "10": 10}.get(bins, [0, 0.25, 1])
    whole = tn.Accumulator(kept, by="region", about={"label": "y", "score": "p", "weight": "w"})
    whole.update(grouped["y"], grouped["p"], sample_weight=grouped["w"], group=grouped["region"])
    for name, sums in whole.groups.items():
        mine, theirs = found.groups[name], sums
        assert tn.ece(mine, bins=kept if isinstance(kept, list) else 10) == pytest.approx(
            tn.ece(theirs, bins=kept if isinstance(kept, list) else 10), abs=1e-12
        )
        assert mine.n == theirs.n


def test_files_of_days_add_up_to_the_week(call, small_pieces, grouped, tmp_path):
    columns = {name: grouped[name] for name in ("y", "p", "region")}
    write_columns(tmp_path / "week.csv", columns)
    for day, rows in (("mon", slice(0, 250)), ("tue", slice(250, 600))):
        write_columns(tmp_path / f"{day}.csv", {name: values[rows] for name, values in columns.items()})
        assert call("tally", f"{day}.csv", "--by", "region", "-o", f"{day}.tally").exit_code == 0
    assert call("tally", "mon.csv", "tue.csv", "--by", "region", "-o", "both.tally").exit_code == 0
    assert call("tally", "week.csv", "--by", "region", "-o", "week.tally").exit_code == 0
    assert (tmp_path / "both.tally").read_bytes() == (tmp_path / "week.tally").read_bytes()
    added = call("measure", "tue.tally", "mon.tally", "--format", "csv").stdout
    assert added == call("measure", "week.tally", "--format", "csv").stdout


SHARED = np.array([0.1, *(0.3 + 2**-12 * np.array([0, 1, 2, 2.1, 3, 4])), 0.9])


def test_limits_hold_what_measure_says_of_the_rows(call, grouped, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    write_columns(tmp_path / "x.csv", {"y": (rng.random(3000) < p).astype(int), "p": p})
    assert call("tally", "x.csv", "-o", "x.tally").exit_code == 0
    found = measured(call("measure", "x.tally", "--format", "csv"))
    rows = {
        line["measure"]: line
        for line in csv.DictReader(io.StringIO(call("measure", "x.csv", "--format", "csv").stdout))
    }
    seen = 0
    for key in ("ece", "ece_l2", "ace", "mce", "smooth_ece", "brier", "log_loss", "brier_miscalibration", "slope"):
        exact = float(rows[key]["p"])
        assert float(found["", key]["low"]) <= exact <= float(found["", key]["high"])
        seen += 1
    assert seen == 9


def test_limits_of_a_slope_without_a_value_are_shown(call, tmp_path):
    """The cell of six scores may separate the classes, or not."""
    write_columns(tmp_path / "x.csv", {"y": np.repeat([0, 1], 4), "p": SHARED})
    assert call("tally", "x.csv", "-o", "x.tally").exit_code == 0
    found = measured(call("measure", "x.tally", "--format", "csv"))["", "slope"]
    assert (found["value"], found["low"], found["high"], found["note"]) == ("", "-inf", "inf", "")


def test_bins_say_what_they_cannot(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"]})
    call("tally", "x.csv", "--bins", "10", "-o", "x.tally")
    found = measured(call("measure", "x.tally", "--format", "csv"))
    assert found["", "ece"]["note"] == "exact"
    assert found["", "log_loss"]["value"] == ""
    assert "bins have lost them" in found["", "log_loss"]["note"]


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_several_classes(call, small_pieces, multiclass, tmp_path, kind):
    y, P = multiclass
    names = np.array(["a", "b", "c"])
    write_columns(tmp_path / "x.csv", {"y": names[y], **{n: P[:, i] for i, n in enumerate(names)}})
    result = call("tally", "x.csv", "--prob-columns", "a,b,c", "--kind", kind, "-o", "x.tally")
    assert result.exit_code == 0, result.stderr
    found = tn.Accumulator.load(tmp_path / "x.tally").total
    assert found == tn.sketch(names[y].tolist(), P, kind=kind, labels=["a", "b", "c"])
    assert measured(call("measure", "x.tally", "--format", "csv"))["", "n"]["value"] == "300"


@pytest.mark.parametrize("form", ["html", "markdown", "json", "text"])
def test_the_report_has_values_limits_and_bins(call, grouped, tmp_path, form):
    write_columns(tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"], "<b>": grouped["region"]})
    call("tally", "x.csv", "--by", "<b>", "-o", "x.tally")
    result = call("report", "x.tally", "--format", form, "--title", "A <week>", "-o", "-")
    assert result.exit_code == 0, result.stderr
    text = result.stdout
    if form == "json":
        data = json.loads(text)
        assert data["kept"] == "sketch"
        assert {m["key"] for m in data["measures"]} > {"ece", "ks", "log_loss"}
        assert sum(data["table"]["n"]) == 600
    else:
        assert "Brier score" in text
        assert "low edge" in text
        assert "of the rows" in text
    if form == "html":
        assert "A &lt;week&gt;" in text
        assert "<b>" not in text


def test_the_report_has_the_verdict_of_the_confidence_set(call, tmp_path):
    data = tn.simulate.demo(4_000, seed=3)
    for name, p, begins in (
        ("p", data.y_prob, "Not calibrated: the l2 calibration error is 0."),
        ("recalibrated", data.columns["recalibrated"], "Nothing speaks against calibration"),
    ):
        write_columns(tmp_path / "x.csv", {"y": data.y_true, "p": p})
        call("tally", "x.csv", "--bins", "distinct", "-o", f"{name}.tally")
        found = json.loads(call("report", f"{name}.tally", "--format", "json", "-o", "-").stdout)
        assert found["verdict"].startswith(begins)
        expected = tn.ece_interval(data.y_true, p, seed=0)
        assert found["interval"]["high"] == pytest.approx(expected.high, rel=1e-9)
        assert found["interval"]["includes_zero"] is expected.includes_zero


def test_bins_have_a_diagram_and_no_verdict(call, tmp_path):
    write_columns(tmp_path / "x.csv", {"y": np.array([0, 1, 1, 0]), "p": np.array([0.1, 0.9, 0.8, 0.8])})
    call("tally", "x.csv", "--bins", "10", "-o", "x.tally")
    text = call("report", "x.tally", "--format", "html", "-o", "-").stdout
    assert "No verdict: " in text
    assert text.count("<circle") == 3
    assert "2 rows: score 0.8000, rate 0.5000" in text


@pytest.mark.parametrize("kind", ["classwise", "confidence", "top-label"])
def test_several_classes_have_a_report(call, multiclass, tmp_path, kind):
    y, P = multiclass
    write_columns(tmp_path / "x.csv", {"y": y, **{f"p{i}": P[:, i] for i in range(3)}})
    call("tally", "x.csv", "--prob-columns", "p0,p1,p2", "--kind", kind, "-o", "x.tally")
    result = call("report", "x.tally", "--format", "html", "-o", "-")
    assert result.exit_code == 0, result.stderr
    assert "verdict" in result.stdout


def test_text_labels_and_missing_values(call, small_pieces, grouped, tmp_path):
    y = np.where(grouped["y"] == 1, "yes", "no")
    p = np.array([f"{v}" for v in grouped["p"]], dtype=object)
    p[[3, 500]] = ""
    write_columns(tmp_path / "x.csv", {"y": y, "p": p})
    result = call("tally", "x.csv", "--pos-label", "yes", "--missing", "drop", "-o", "x.tally")
    assert "warning: 2 of 600 rows miss a value and were dropped." in result.stderr
    kept = np.delete(np.arange(600), [3, 500])
    assert tn.Accumulator.load(tmp_path / "x.tally").total == tn.sketch(grouped["y"][kept], grouped["p"][kept])


def test_messages(fails, call, grouped, tmp_path):
    write_columns(
        tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"], "q": grouped["q"], "region": grouped["region"]}
    )
    assert "`--output` must name the file to write" in fails("tally", "x.csv", "--prob", "p")
    assert "must end in .tally" in fails("tally", "x.csv", "--prob", "p", "-o", "x.bin")
    assert "`--prob` must name one model" in fails("tally", "x.csv", "--prob", "p", "--prob", "q", "-o", "x.tally")
    assert "`--by` must name one column" in fails(
        "tally", "x.csv", "--prob", "p", "--by", "region", "--by", "q", "-o", "x.tally"
    )
    assert "has none. A 'sketch' serves it" in fails(
        "tally", "x.csv", "--prob", "p", "--bins", "mass:5", "-o", "x.tally"
    )
    assert "There is no file 'y.tally'" in fails("measure", "y.tally")
    (tmp_path / "bad.tally").write_bytes(b"not sums")
    assert "bad.tally: The sums cannot be read" in fails("measure", "bad.tally")
    call("tally", "x.csv", "--prob", "p", "-o", "p.tally")
    call("tally", "x.csv", "--prob", "q", "-o", "q.tally")
    call("tally", "x.csv", "--prob", "p", "--bins", "5", "-o", "p5.tally")
    assert "q.tally is about other columns" in fails("measure", "p.tally", "q.tally")
    assert "p5.tally does not add to p.tally" in fails("measure", "p.tally", "p5.tally")
    assert "'x.csv' is no .tally file" in fails("measure", "p.tally", "x.csv")


def test_a_partial_of_other_files_is_not_gone_on_from(call, fails, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"]})
    started = tn.Accumulator(about={"label": "y", "score": "p", "weight": None})
    started.update([0, 1], [0.5, 0.5], position={"inputs": [["w.csv", 3]], "file": 0, "rows": 2, "dropped": 0})
    started.save(tmp_path / "x.tally.partial")
    assert "was made of other files" in fails("tally", "x.csv", "-o", "x.tally", "--resume")
    assert call("tally", "x.csv", "-o", "x.tally").exit_code == 0
    assert not (tmp_path / "x.tally.partial").exists()
    result = call("tally", "x.csv", "-o", "x.tally", "--resume")
    assert "starting from the first row" in result.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--prob", "q"], "probs"),
        (["--prob", "p", "--bins", "10"], "bins"),
        (["--prob", "p", "--weight", "q"], "weight"),
    ],
)
def test_a_run_goes_on_with_the_same_options_only(call, fails, grouped, tmp_path, monkeypatch, options, named):
    write_columns(tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"], "q": 1 - grouped["p"]})
    with monkeypatch.context() as patched:
        patched.setattr("trueness.cli._tally._Work.finish", lambda self: None)  # killed before the end
        call("tally", "x.csv", "--prob", "p", "-o", "x.tally", "--save-every", "0")
    assert f"was made with other options ({named})" in fails("tally", "x.csv", *options, "-o", "x.tally", "--resume")
    assert call("tally", "x.csv", "--prob", "p", "-o", "x.tally", "--resume").exit_code == 0


def test_a_run_does_not_go_on_with_a_file_that_has_changed(call, fails, grouped, tmp_path, monkeypatch):
    write_columns(tmp_path / "x.csv", {"y": grouped["y"], "p": grouped["p"]})
    with monkeypatch.context() as patched:
        patched.setattr("trueness.cli._tally._Work.finish", lambda self: None)
        call("tally", "x.csv", "-o", "x.tally", "--save-every", "0")
    text = (tmp_path / "x.csv").read_text()
    (tmp_path / "x.csv").write_text(text[:-2] + ("1\n" if text[-2] == "0" else "0\n"))
    os.utime(tmp_path / "x.csv", ns=(1, 1))
    assert "files that have changed since" in fails("tally", "x.csv", "-o", "x.tally", "--resume")


# As the command, with pieces so small that a kill finds it in the middle.
SMALL = "from trueness.cli import _text; _text._BLOCK = 4000; from trueness.cli import main; main()"


@pytest.mark.slow
def test_a_tally_killed_at_any_moment_counts_every_row_once(tmp_path):
    rng = np.random.default_rng(5)
    names = ["a.csv", "b.csv"]
    for name in names:
        p = rng.random(6_000)
        write_columns(
            tmp_path / name, {"y": (rng.random(p.size) < p).astype(int), "p": p, "g": rng.integers(0, 3, p.size)}
        )
    given = [sys.executable, "-c", SMALL, "tally", *names, "--by", "g", "--save-every", "0", "--resume", "-o"]
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
