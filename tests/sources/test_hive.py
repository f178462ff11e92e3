"""Folders whose names hold values, as Hive, Spark and dbt write them."""

import json

import polars as pl
import pytest

import trueness as tn


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_folders_name_values_of_their_rows(tmp_path, engine):
    rows = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.2, 0.7, 0.9, 0.4]})
    for i, folder in enumerate(["day=01/app=a%2Fb", "day=02/app=c"]):
        path = tmp_path / folder
        path.mkdir(parents=True)
        rows[2 * i : 2 * i + 2].write_parquet(path / "part-0.parquet")
    (tmp_path / "_SUCCESS.parquet").write_text("")
    groups = tn.scan_groups(
        str(tmp_path), by=["day", "app"], label="y", prob="p", bins="sketch", engine=engine
    )
    assert {key: sums.n for key, sums in groups.items()} == {("01", "a/b"): 2, ("02", "c"): 2}
    assert sum(groups.values()) == tn.sketch(rows["y"], rows["p"])


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_group_is_the_text_of_its_folder_and_a_label_may_be_an_integer(tmp_path, engine):
    for y in (0, 1):
        for day in ("7", "07", "it's"):
            path = tmp_path / "rows" / f"y={y}" / f"day={day}"
            path.mkdir(parents=True)
            pl.DataFrame({"p": [0.2, 0.7]}).write_parquet(path / "0.parquet")
    source = str(tmp_path / "rows")
    groups = tn.scan_groups(source, by="day", label="y", prob="p", engine=engine)
    p = [0.2, 0.7, 0.2, 0.7]
    assert groups == dict.fromkeys(("7", "07", "it's"), tn.binned([0, 0, 1, 1], p))


def test_commands_and_scans_read_the_same_groups_of_the_same_files(tmp_path, call):
    for day in ("07", "8"):
        for name in (f"day={day}", "_temporary"):
            path = tmp_path / "rows" / name
            path.mkdir(parents=True, exist_ok=True)
            pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]}).write_parquet(path / "0.parquet")
    columns = ("--label", "y", "--prob", "p", "--by", "day")
    shown = call("segments", str(tmp_path / "rows"), *columns, "--format", "json")
    (model,) = json.loads(shown.stdout)["models"]
    groups = tn.scan_groups(str(tmp_path / "rows"), by="day", label="y", prob="p")
    assert dict(zip(model["value"], model["n"], strict=True)) == {"07": 2, "8": 2}
    assert {key: sums.n for key, sums in groups.items()} == {"07": 2, "8": 2}


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(tn.InputError, match="holds no file that can be read"):
        tn.scan(str(tmp_path), label="y", prob="p")
