"""Reading in pieces changes nothing, until there are too many distinct scores, and then it says so."""

import csv
import io
import json
import math
import sys

import numpy as np
import polars as pl
import pytest
from tables_on_disk import write_columns

import trueness as tn

N = 150_000  # more than a piece, which has 131,072 rows
RNG = np.random.default_rng(0)
P = RNG.integers(1, 1000, N) / 1000
ROWS = pl.DataFrame(
    {"y": (RNG.random(N) < P).astype(np.int8), "p": P, "q": 1 - P, "w": RNG.integers(1, 4, N)}
)


def measures(result):
    assert result.exit_code == 0, result.stderr
    head, *lines = csv.reader(io.StringIO(result.stdout))
    return {
        name: {line[0]: float(line[i] or "nan") for line in lines}
        for i, name in enumerate(head)
        if i
    }


@pytest.mark.parametrize("kind", ["parquet", "csv", pytest.param("ndjson", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "verb",
    [
        ["measure", "--no-intervals"],
        pytest.param(["measure", "--weight", "w", "--no-intervals"], marks=pytest.mark.slow),
        pytest.param(["measure", "--weight", "w"], marks=pytest.mark.slow),
        pytest.param(["gate", "--max-ece", "0.9", "--prob", "q"], marks=pytest.mark.slow),
    ],
)
def test_pieces_give_the_same_numbers_to_the_bit(call, tmp_path, kind, verb):
    getattr(ROWS, f"write_{kind}")(tmp_path / f"x.{kind}")
    given = [*verb, f"x.{kind}", "--prob", "p", "--format", "csv"]
    whole, streamed = call(*given, "--no-stream"), call(*given, "--stream")
    assert whole.exit_code == streamed.exit_code, streamed.stderr
    assert streamed.stdout == whole.stdout


@pytest.mark.slow
def test_several_classes_are_added_up_too(call, multiclass, tmp_path):
    y, P = (np.concatenate([part] * 500) for part in multiclass)
    write_columns(
        tmp_path / "x.csv",
        {"y": np.array(["a", "b", "c"])[y], "a": P[:, 0], "b": P[:, 1], "c": P[:, 2]},
    )
    given = [
        "measure",
        "x.csv",
        "--prob-columns",
        "a,b,c",
        "--kind",
        "classwise",
        "--format",
        "csv",
    ]
    (streamed,), (whole,) = (measures(call(*given, *more)).values() for more in (["--stream"], []))
    # Sums of classes do not keep the scores of a row together, and so do not know how much its Brier score varies.
    assert math.isnan(streamed.pop("brier_low") + streamed.pop("brier_high"))
    assert whole.pop("brier_low") < whole["brier"] < whole.pop("brier_high")
    # Nor do they know which class of a row was the largest, where none is above one half.
    for limit in ("log_loss_low", "log_loss_high"):
        assert streamed.pop(limit) == pytest.approx(whole.pop(limit), rel=1e-5)
    # A floor is the mean of 999 draws, of one class for each row or of each class by itself, whose spread is less
    # than 0.28 of the mean: four standard errors of the difference.
    for floor in [name for name in whole if name.endswith("_floor")]:
        assert streamed.pop(floor) == pytest.approx(
            whole.pop(floor), rel=4 * 0.28 * math.sqrt(2 / 999), nan_ok=True
        )
    assert streamed == pytest.approx(whole, rel=0, abs=0, nan_ok=True)


def test_what_is_wrong_is_located_in_the_file_and_not_in_the_piece(call, fails, tmp_path):
    at = pl.int_range(pl.len())
    ROWS.with_columns(p=pl.when(at == 140_000).then(7.0).otherwise("p")).write_parquet(
        tmp_path / "x.parquet"
    )
    assert "the first is 7 at row 140,000." in fails(
        "measure", "x.parquet", "--prob", "p", "--stream"
    )
    ROWS.with_columns(p=pl.when(at % 1000 == 0).then(None).otherwise("p")).write_parquet(
        tmp_path / "x.parquet"
    )
    assert "must not have missing values" in fails(
        "measure", "x.parquet", "--prob", "p", "--stream"
    )
    result = call(
        "measure",
        "--no-intervals",
        "x.parquet",
        "--prob",
        "p",
        "--stream",
        "--missing",
        "drop",
        "--format",
        "csv",
    )
    assert result.stderr.count("150 of 150,000 rows have a missing value and were dropped.") == 1
    assert measures(result)["p"]["n"] == 149_850


def test_a_piece_need_not_have_both_labels(call, fails, tmp_path):
    y = np.where(np.arange(N) < N / 2, "no", "yes")
    write_columns(tmp_path / "x.parquet", {"y": y, "p": np.sort(P)})
    given = ["measure", "x.parquet", "--pos-label", "yes", "--format", "csv", "--no-intervals"]
    streamed = call(*given, "--stream")
    assert streamed.stdout == call(*given).stdout
    assert "All" not in streamed.stderr
    write_columns(
        tmp_path / "x.parquet", {"y": np.where(np.arange(N) == 145_000, "perhaps", y), "p": P}
    )
    assert "must have two labels" in fails(*given, "--stream")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """More distinct scores than are kept apart."""
    rng = np.random.default_rng(1)
    p = rng.random(2_100_000)
    path = tmp_path_factory.mktemp("many") / "x.parquet"
    pl.DataFrame({"y": (rng.random(p.size) < p).astype(np.int8), "p": p}).write_parquet(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("bins", ["10", "0,0.2,1"])
def test_too_many_distinct_scores_leave_what_bins_can_tell(call, fails, many, bins):
    given = ["measure", many, "--bins", bins, "--format", "csv", "--no-intervals"]
    result = call(*given, "--stream")
    assert "note: there are more than 2,000,000 distinct scores." in result.stderr
    found, whole = measures(result)["p"], measures(call(*given))["p"]
    for name in ("n", "prevalence", "ece", "mce", "brier", "observed_expected"):
        assert found[name] == whole[name], name
    left_out = {name for name, value in found.items() if np.isnan(value)}
    assert left_out >= {"ace", "tce", "smooth_ece", "slope", "log_loss"}
    message = fails("measure", many, "--stream", "--bins", "mass:10")
    assert "has more than 2,000,000 distinct scores, too many to keep apart by stream" in message


@pytest.mark.slow
def test_a_gate_of_too_many_distinct_scores_takes_near_ones_together(call, many):
    asked = [
        "gate",
        many,
        "--max-ece",
        "0.9",
        "--max-l2",
        "0.9",
        "--oe-within",
        "0.9",
        "--require",
        "--format",
        "csv",
    ]
    result = call(*asked, "--stream")
    assert (
        "note: there are more than 2,000,000 distinct scores. Rows within 1/4096 of each other"
        in result.stderr
    )
    texts = (result.stdout, call(*asked).stdout)
    for found, expected in zip(*(csv.DictReader(io.StringIO(text)) for text in texts), strict=True):
        for key in ("estimate", "low", "high"):
            near = 1e-2 if found["quantity"] == "l2" else 1e-6
            assert float(found[key]) == pytest.approx(float(expected[key]), abs=near)


@pytest.mark.slow
def test_large_files_are_read_by_stream_and_it_is_said(call, tmp_path):
    long = pl.DataFrame({"y": [0, 1] * 500, "p": [0.5] * 1000, "text": ["x" * 9000] * 1000})
    pl.concat([long] * 30).write_csv(tmp_path / "x.csv")  # 270 MB
    said = "note: x.csv is large and is read by stream; `--no-stream` reads it whole."
    for verb in (["measure", "--no-intervals"], ["gate", "--max-ece", "0.9"]):
        given = [*verb, "x.csv", "--label", "y", "--prob", "p"]
        assert said in call(*given).stderr
        assert said not in call(*given, "--no-stream").stderr


@pytest.mark.parametrize(
    "words",
    [
        ["measure", "--by", "g"],
        ["gate", "--max-ece", "1", "--by", "g"],
        ["gate", "--max-ece", "1", "--cluster", "g"],
    ],
)
def test_what_needs_all_rows_at_once_is_not_streamed(call, tmp_path, words):
    (tmp_path / "x.csv").write_text("y,p,g\n0,0.2,a\n1,0.7,b\n")
    result = call(*words, "x.csv", "--stream")
    assert result.exit_code == 2
    assert "needs all rows at once; leave `--stream` out." in result.stderr


def test_the_typical_error_of_sums_is_said_to_be_in_the_bins_of_the_sums(call, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(300).round(3)
    pl.DataFrame({"y": (rng.random(300) < p).astype(int), "p": p}).write_csv(tmp_path / "x.csv")
    words = ["x.csv", "--label", "y", "--prob", "p", "--bins", "20"]
    assert call("tally", *words, "-o", "x.tally").exit_code == 0
    words = ["measure", "x.tally", "--no-intervals", "--format", "json"]
    own = json.loads(call(*words).stdout)
    coarse = json.loads(call(*words, "--bins", "10").stdout)
    assert own["models"][0]["measures"]["l2"] == coarse["models"][0]["measures"]["l2"]
    assert coarse["bins"]["l2"] == own["bins"]["l2"] == "20 bins of equal width"
    assert coarse["bins"]["ece"] == "10 bins of equal width"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs the peak of memory that Linux tells")
def test_ten_million_rows_are_read_in_bounded_memory(peak_of, tmp_path):
    n = 10_000_000
    rng = np.random.default_rng(0)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(np.int8)
    pl.DataFrame({"y": y, "p": p}).write_csv(tmp_path / "x.csv")
    done, of_measure = peak_of("measure", "x.csv", "--stream", "--format", "csv")
    assert done.returncode == 0, done.stderr
    found = dict(line.split(",") for line in done.stdout.splitlines()[1:])
    assert (int(found["n"]), float(found["ece"]), float(found["brier"])) == (
        n,
        tn.ece(y, p),
        tn.brier(y, p),
    )
    done, of_gate = peak_of("gate", "x.csv", "--stream", "--max-ece", "0.01", "--require")
    assert done.returncode == 0, done.stderr
    # Read whole, the same command takes more than a gigabyte, and more with every row.
    assert max(of_measure, of_gate) < 800_000
