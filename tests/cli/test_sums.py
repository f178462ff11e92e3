"""Reading in pieces changes nothing, until there are too many distinct scores, and then it says so."""

import csv
import io
import math
import sys

import numpy as np
import polars as pl
import pytest
from tables_on_disk import write_columns
from trueness.cli._gate_limits import Data

import trueness as tn
from trueness.cli import _rows, _sums
from trueness.sources import _compression, _parquet


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(_compression, "BLOCK_BYTES", 1_000)
    monkeypatch.setattr(_parquet, "BATCH_ROWS", 64)


def measures(result):
    assert result.exit_code == 0, result.stderr
    head, *lines = csv.reader(io.StringIO(result.stdout))
    return {name: {line[0]: float(line[i] or "nan") for line in lines} for i, name in enumerate(head) if i}


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "npz"])
@pytest.mark.parametrize(
    "verb",
    [["measure", "--no-intervals"], ["measure", "--weight", "w", "--no-intervals"], ["gate", "--max-ece", "0.9"]],
)
def test_pieces_give_the_same_numbers_to_the_bit(call, small_pieces, grouped, tmp_path, kind, verb):
    write_columns(tmp_path / f"x.{kind}", grouped)
    given = [*verb, f"x.{kind}", "--prob", "p", "--prob", "q", "--format", "csv"]
    given += ["--no-intervals"] * (verb[0] == "measure" and kind != "csv")  # the limits come from the same sums
    whole, streamed = call(*given, "--no-stream"), call(*given, "--stream")
    assert whole.exit_code == streamed.exit_code == 0, streamed.stderr
    assert streamed.stdout == whole.stdout


def test_pieces_give_the_same_limits_to_the_bit(call, small_pieces, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    given = ["measure", "--weight", "w", "x.csv", "--prob", "p", "--format", "csv"]
    assert call(*given, "--stream").stdout == call(*given, "--no-stream").stdout


@pytest.mark.slow
def test_several_classes_are_added_up_too(call, small_pieces, multiclass, tmp_path):
    y, P = multiclass
    write_columns(tmp_path / "x.csv", {"y": np.array(["a", "b", "c"])[y], "a": P[:, 0], "b": P[:, 1], "c": P[:, 2]})
    given = ["measure", "x.csv", "--prob-columns", "a,b,c", "--kind", "classwise", "--format", "csv"]
    (streamed,), (whole,) = (measures(call(*given, *more)).values() for more in (["--stream"], []))
    # Sums of classes do not keep the scores of a row together, and so do not know how much its Brier score varies.
    assert math.isnan(streamed.pop("brier_low") + streamed.pop("brier_high"))
    assert whole.pop("brier_low") < whole["brier"] < whole.pop("brier_high")
    assert streamed == pytest.approx(whole, rel=0, abs=0, nan_ok=True)


def test_quoted_line_breaks_and_blank_lines_are_not_cut(call, small_pieces, tmp_path):
    lines = [f'{i % 2},"text, {i}\nsecond ""line""",{i / 600:.4f}\n' + "\n" * (i % 7 == 0) for i in range(600)]
    (tmp_path / "x.csv").write_text("y,text,p\n" + "".join(lines))
    given = ["measure", "x.csv", "--format", "csv", "--no-intervals"]
    streamed = call(*given, "--stream")
    assert streamed.stdout == call(*given).stdout
    assert "\nn,600\n" in streamed.stdout


def test_what_is_wrong_is_located_in_the_file_and_not_in_the_piece(fails, small_pieces, tmp_path):
    rows = [f"{i % 2},0.5\n" for i in range(900)]
    for line, words in (
        ("1,x\n", "line 802 has 'x'"),
        ("1,7\n", "the first is 7 at line 802."),
        ("1\n", "line 802, has 1"),
    ):
        (tmp_path / "x.csv").write_text("y,p\n" + "".join([*rows[:800], line, *rows[801:]]))
        assert words in fails("measure", "x.csv", "--stream")
    for kind, place in (("jsonl", "line 801"), ("parquet", "row 800")):
        p = np.full(900, 0.5)
        p[800] = 7
        write_columns(tmp_path / f"x.{kind}", {"y": np.arange(900) % 2, "p": p})
        assert f"the first is 7 at {place}." in fails("measure", f"x.{kind}", "--stream")


def test_rows_that_miss_a_value_are_counted_over_all_pieces(call, fails, small_pieces, tmp_path):
    rows = "".join(f"{i % 2},{'' if i % 100 == 0 else 0.25}\n" for i in range(900))
    (tmp_path / "x.csv").write_text("y,p\n" + rows)
    assert "must not have missing values" in fails("measure", "x.csv", "--stream")
    result = call("measure", "--no-intervals", "x.csv", "--stream", "--missing", "drop", "--format", "csv")
    assert result.stderr.count("9 of 900 rows have a missing value and were dropped.") == 1
    assert measures(result)["p"]["n"] == 891


def test_a_piece_need_not_have_both_labels(call, fails, small_pieces, tmp_path):
    y = np.repeat(["no", "yes"], 450)
    p = np.linspace(0.01, 0.99, 900).round(3)
    write_columns(tmp_path / "x.csv", {"y": y, "p": p})
    given = ["measure", "x.csv", "--pos-label", "yes", "--format", "csv", "--no-intervals"]
    streamed = call(*given, "--stream")
    assert streamed.stdout == call(*given).stdout
    assert "All" not in streamed.stderr
    write_columns(tmp_path / "x.csv", {"y": np.where(np.arange(900) == 800, "perhaps", y), "p": p})
    assert "must have two labels" in fails(*given, "--stream")


@pytest.mark.parametrize("bins", ["10", "7", "0,0.2,1"])
def test_too_many_distinct_scores_leave_what_bins_can_tell(call, monkeypatch, small_pieces, grouped, tmp_path, bins):
    monkeypatch.setattr(_sums, "MOST_CELLS", 100)
    write_columns(tmp_path / "x.csv", grouped)
    given = ["measure", "x.csv", "--prob", "p", "--bins", bins, "--format", "csv"]
    result = call(*given, "--stream")
    assert "note: there are more than 100 distinct scores." in result.stderr
    found, whole = measures(result)["p"], measures(call(*given))["p"]
    for name in ("n", "prevalence", "ece", "ece_l2", "mce", "brier", "observed_expected"):
        assert found[name] == whole[name], name
    rule = [float(edge) for edge in bins.split(",")] if "," in bins else int(bins)
    assert found["squared_ece"] == tn.squared_ece(grouped["y"], grouped["p"], bins=rule)
    left_out = {name for name, value in found.items() if np.isnan(value)}
    assert left_out >= {"ace", "tce", "smooth_ece", "slope", "log_loss"}


def test_too_many_distinct_scores_for_bins_that_need_them_are_refused(fails, monkeypatch, grouped, tmp_path):
    monkeypatch.setattr(_sums, "MOST_CELLS", 100)
    write_columns(tmp_path / "x.csv", grouped)
    message = fails("measure", "x.csv", "--prob", "p", "--stream", "--bins", "mass:10")
    assert "x.csv has more than 100 distinct scores, too many to keep apart by stream" in message


@pytest.mark.parametrize("bins", [None, 7])
def test_a_gate_of_too_many_distinct_scores_takes_near_ones_together(call, monkeypatch, grouped, tmp_path, bins):
    write_columns(tmp_path / "x.csv", grouped)
    asked = ["gate", "x.csv", "--prob", "q", "--max-ece", "0.9", "--max-l2", "0.9", "--oe-within", "0.9", "--require"]
    asked += [] if bins is None else ["--bins", str(bins)]
    whole = call(*asked, "--format", "csv").stdout
    monkeypatch.setattr(_sums, "MOST_CELLS", 100)
    result = call(*asked, "--stream", "--format", "csv")
    for found, expected in zip(*(csv.DictReader(io.StringIO(text)) for text in (result.stdout, whole)), strict=True):
        for key in ("estimate", "low", "high"):
            assert float(found[key]) == pytest.approx(
                float(expected[key]), abs=1e-2 if found["quantity"] == "l2" else 1e-6
            )
    edges = np.union1d(np.arange(4097) / 4096, np.arange((bins or 10) + 1) / (bins or 10))
    near = tn.tally(grouped["y"], grouped["q"]).coarsen(tn.Edges(edges.tolist()))
    l2 = next(line for line in csv.DictReader(io.StringIO(result.stdout)) if line["quantity"] == "l2")
    assert tuple(float(l2[key]) for key in ("estimate", "low", "high")) == Data(near).l2(0.95)[:3]
    assert "note: there are more than 100 distinct scores. Rows within 1/4096 of each other" in result.stderr


@pytest.mark.parametrize("verb", [["measure"], ["gate", "--max-ece", "0.9"]])
def test_large_files_are_read_by_stream_and_it_is_said(call, monkeypatch, grouped, tmp_path, verb):
    write_columns(tmp_path / "x.csv", grouped)
    monkeypatch.setattr(_rows, "_LARGE", 1_000)
    given = [*verb, "x.csv", "--label", "y", "--prob", "p"]
    said = "note: x.csv is large and is read by stream; `--no-stream` reads it whole."
    assert said in call(*given).stderr
    assert said not in call(*given, "--no-stream").stderr
    assert said not in call(*given, "--by", "region").stderr


@pytest.mark.parametrize(
    "words",
    [["measure", "--by", "g"], ["gate", "--max-ece", "1", "--by", "g"], ["gate", "--max-ece", "1", "--cluster", "g"]],
)
def test_what_needs_all_rows_at_once_is_not_streamed(call, words):
    result = call(*words, "x.csv", "--stream")
    assert result.exit_code == 2
    assert "needs all rows at once; leave --stream out." in result.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs the peak of memory that Linux tells")
def test_ten_million_rows_are_read_in_bounded_memory(peak_of, tmp_path):
    n = 10_000_000
    rng = np.random.default_rng(0)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(np.int8)
    pl.DataFrame({"y": y, "p": p}).write_csv(tmp_path / "x.csv")
    ece, brier = tn.ece(y, p), tn.brier(y, p)
    done, of_measure = peak_of("measure", "x.csv", "--stream", "--format", "csv")
    assert done.returncode == 0, done.stderr
    found = dict(line.split(",") for line in done.stdout.splitlines()[1:])
    assert (int(found["n"]), float(found["ece"]), float(found["brier"])) == (n, ece, brier)
    assert "more than 2,000,000 distinct scores" in done.stderr
    done, of_gate = peak_of("gate", "x.csv", "--stream", "--max-ece", "0.01", "--require")
    assert done.returncode == 0, done.stderr
    # Read whole, the same command takes more than a gigabyte, and more with every row.
    assert max(of_measure, of_gate) < 800_000
