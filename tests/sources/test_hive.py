"""Folders whose names hold values, as Hive, Spark and dbt write them."""

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


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(tn.InputError, match="holds no file that can be read"):
        tn.scan(str(tmp_path), label="y", prob="p")
