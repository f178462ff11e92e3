"""``--by``: each group by itself, with the classes of all."""

import csv
import io
import json
import os
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from grids import slow
from tables_on_disk import write_columns

import trueness as tn


def lines(result):
    assert result.exit_code == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_groups_are_measured_apart(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    found = lines(
        call(
            "measure",
            "--no-intervals",
            "x.csv",
            "--prob",
            "p",
            "--prob",
            "q",
            "--by",
            "region",
            "--format",
            "csv",
        )
    )
    assert [(line["by"], line["group"], line["model"]) for line in found] == [
        ("region", "north", "p"),
        ("region", "north", "q"),
        ("region", "south", "p"),
        ("region", "south", "q"),
    ]
    rows = grouped["region"] == "south"
    assert float(found[3]["ece"]) == tn.ece(grouped["y"][rows], grouped["q"][rows])
    assert int(found[3]["n"]) == rows.sum()


def test_json_and_tables_name_the_groups(call, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    given = ["measure", "x.csv", "--prob", "p", "--by", "region", "--no-intervals"]
    found = json.loads(call(*given, "--format", "json").stdout)
    assert [group["group"] for group in found["groups"]] == ["north", "south"]
    assert found["groups"][0]["models"][0]["measures"]["n"] == 400
    head, *rest = call(*given).stdout.splitlines()
    assert head.split()[:2] == ["region", "rows"]
    assert rest[1].split()[:2] == ["south", "200"]
    assert "Data: x.csv, labels 'y', scores 'p'." in rest
    given += ["--by", "w", "--prob", "q"]
    assert call(*given, "--format", "markdown").stdout.startswith("| by | group | model | rows |")


@pytest.mark.parametrize(
    "more", [["measure"], ["test"], ["gate", "--max-ece", "0.1", "--oe-within", "0.2", "--require"]]
)
def test_tables_of_groups_fit_80_columns(call, grouped, tmp_path, more):
    write_columns(tmp_path / "x.csv", grouped)
    shown = call(*more, "x.csv", "--prob", "p", "--by", "region").stdout
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("said", [["--pos-label", "yes"], ["--labels", "no,yes"]])
def test_a_group_may_lack_a_label(call, tmp_path, said):
    y = np.array(["no"] * 20 + ["no", "yes"] * 20)
    group = np.array(["a"] * 20 + ["b"] * 40)
    write_columns(tmp_path / "x.csv", {"y": y, "p": np.linspace(0.1, 0.9, 60), "g": group})
    first, second = lines(
        call("measure", "--no-intervals", "x.csv", "--by", "g", *said, "--format", "csv")
    )
    assert (first["prevalence"], second["prevalence"]) == ("0.0", "0.5")


def test_a_group_may_lack_a_class(call, multiclass, tmp_path):
    y, P = multiclass
    group = np.where(y == 2, "with", np.where(np.arange(y.size) % 2, "with", "without"))
    np.savez(tmp_path / "x.npz", y=np.array(["a", "b", "c"])[y], P=P, g=group)
    found = lines(
        call("measure", "--no-intervals", "x.npz", "--prob", "P", "--by", "g", "--format", "csv")
    )
    assert [line["classes"] for line in found] == ["3", "3"]


def test_warnings_name_their_group(call, tmp_path):
    y = [0] * 20 + [0, 1] * 10
    rows = "".join(f"{label},{0.02 * i + 0.1:.2f},{'ab'[i >= 20]}\n" for i, label in enumerate(y))
    (tmp_path / "x.csv").write_text("y,p,g\n" + rows)
    said = call("measure", "--no-intervals", "x.csv", "--by", "g").stderr
    assert "warning: p, g = a: " in said
    assert "warning: p, g = b: All" not in said


def test_an_error_names_its_group(fails, grouped, tmp_path):
    columns = {name: values[:31] for name, values in grouped.items()}
    columns["g"] = np.array(["one", *["many"] * 30])
    write_columns(tmp_path / "x.csv", columns)
    assert fails("gate", "x.csv", "--prob", "p", "--by", "g", "--max-ece", "1").startswith(
        "x.csv, g = one: Column"
    )


def test_unknown_groups_and_clusters_are_refused(fails, grouped, tmp_path):
    write_columns(tmp_path / "x.csv", grouped)
    assert "`--by`: x.csv has no column 'regions'. Did you mean 'region'?" in fails(
        "measure", "x.csv", "--prob", "p", "--by", "regions"
    )
    assert "`--by` must not name the column of labels; got 'y'" in fails(
        "measure", "x.csv", "--prob", "p", "--by", "y"
    )
    assert "`--over`: x.csv has no column 'day'" in fails(
        "report", "x.csv", "--prob", "p", "--over", "day"
    )
    assert "`--cluster`: x.csv has no column 'whom'. Did you mean 'who'?" in fails(
        "test", "x.csv", "--prob", "p", "--cluster", "whom"
    )


def test_bin_tables_are_for_all_rows_together(call):
    assert (
        "--table is for all rows together"
        in call("measure", "--no-intervals", "x.csv", "--by", "g", "--table").stderr
    )


IDS = [1_500_000_000_000_000_000 + i % 3 for i in range(60)]


def with_ids(path, ids):
    y, p = np.arange(60) % 2, np.linspace(0.1, 0.9, 60).round(4)
    if path.suffix == ".csv":
        rows = (f"{a},{b},{'' if c is None else c}\n" for a, b, c in zip(y, p, ids, strict=True))
        path.write_text("y,p,id\n" + "".join(rows))
    elif path.suffix == ".jsonl":
        rows = ({"y": int(a), "p": float(b), "id": c} for a, b, c in zip(y, p, ids, strict=True))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pytest.importorskip("polars").DataFrame({"y": y, "p": p, "id": ids}).write_parquet(path)
    else:
        np.savez(path, y=y, p=p, id=ids)
    return path.name


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "npz"])
def test_long_numbers_that_differ_in_the_last_digit_are_groups_apart(call, tmp_path, suffix):
    name = with_ids(tmp_path / f"x.{suffix}", IDS)
    found = lines(call("measure", "--no-intervals", name, "--by", "id", "--format", "csv"))
    assert [(line["group"], line["n"]) for line in found] == [
        (str(IDS[0] + i), "20") for i in range(3)
    ]
    if suffix == "npz":
        return
    name = with_ids(tmp_path / f"x.{suffix}", [None, *IDS[1:]])
    found = lines(
        call(
            "measure", "--no-intervals", name, "--by", "id", "--missing", "drop", "--format", "csv"
        )
    )
    assert [(line["group"], line["n"]) for line in found] == [
        (str(IDS[0] + i), str(19 + (i > 0))) for i in range(3)
    ]


@pytest.mark.parametrize("missing", [False, True])
def test_leading_zeros_are_part_of_a_name(call, tmp_path, missing):
    name = with_ids(
        tmp_path / "x.csv",
        [None if missing and not i else ("0123", "123", "9")[i % 3] for i in range(60)],
    )
    found = lines(
        call(
            "measure", "--no-intervals", name, "--by", "id", "--missing", "drop", "--format", "csv"
        )
    )
    assert [line["group"] for line in found] == ["9", "0123", "123"]


def test_numbers_kept_as_text_are_in_the_order_of_numbers(call, tmp_path):
    name = with_ids(tmp_path / "x.csv", [("10.5", "9", "-1")[i % 3] for i in range(60)])
    found = lines(call("measure", "--no-intervals", name, "--by", "id", "--format", "csv"))
    assert [line["group"] for line in found] == ["-1", "9", "10.5"]


@pytest.mark.parametrize(
    "ids",
    [[IDS[0] + i // 2 for i in range(60)], [f"{'0' * (i % 2)}{i // 2 + 1}" for i in range(60)]],
)
def test_clusters_are_told_apart_as_groups_are(call, tmp_path, ids):
    with_ids(tmp_path / "x.csv", ids)
    by_name = with_ids(tmp_path / "named.csv", [f"c{i}" for i in ids])
    given = ["--cluster", "id", "--max-ece", "1", "--format", "csv"]
    assert lines(call("gate", "x.csv", *given)) == lines(call("gate", by_name, *given))


@pytest.mark.parametrize("verb", [["test"], *slow(["measure"], ["gate", "--max-ece", "1"])])
def test_dropped_rows_are_counted_once_for_all_groups(call, tmp_path, verb):
    name = with_ids(tmp_path / "x.csv", [None, None, None, *IDS[3:]])
    said = call(*verb, name, "--by", "id", "--missing", "drop").stderr
    assert said.count("dropped") == 1
    assert "warning: 3 of 60 rows have a missing value and were dropped.\n" in said


def test_groups_that_differ_in_nul_are_apart(call, tmp_path):
    frame = pytest.importorskip("polars").DataFrame(
        {"y": [0, 1] * 8, "p": [0.25, 0.75] * 8, "g": ["a"] * 6 + ["a\0"] * 4 + ["\0"] * 6}
    )
    frame.write_parquet(tmp_path / "x.parquet")
    result = call("measure", "x.parquet", "--by", "g", "--no-intervals", "--format", "csv")
    assert [int(one["n"]) for one in csv.DictReader(io.StringIO(result.stdout))] == [6, 6, 4]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_like_a_file(call, tmp_path):
    (tmp_path / "x.csv").write_text("y,p\n" + "0,0.25\n1,0.75\n" * 8)
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", "cat x.csv > pipe"], cwd=tmp_path):
        piped = call("measure", "pipe", "--no-intervals", "--format", "json")
    assert piped.exit_code == 0, piped.stderr
    read = call("measure", "x.csv", "--no-intervals", "--format", "json")
    assert piped.stdout == read.stdout.replace("x.csv", "pipe")


def test_closed_standard_input_is_a_message(fails, monkeypatch):
    monkeypatch.setattr("trueness.sources.tables._files.sys", SimpleNamespace(stdin=None))
    assert fails("measure", "-") == "standard input is closed. Name a file."
