"""Every kind of file in, the same numbers out; and what is said of files that cannot be read."""

import io
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tables_on_disk import write_columns

from trueness.sources import _parquet
from trueness.sources._files import open_table


def csv_measures(result):
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture
def expected(call, binary, tmp_path):
    y, p, w = binary
    np.savez(tmp_path / "x.npz", y=y, p=p, w=w)
    return csv_measures(call("measure", "--no-intervals", "x.npz", "--weight", "w", "--format", "csv"))


@pytest.mark.parametrize(
    "name", ["x.csv", "x.tsv", "x.txt", "X.CSV", "x.parquet", "x.pq", "x.arrow", "x", "a [1]*.parquet"]
)
def test_every_format_gives_the_same_numbers(call, binary, expected, tmp_path, name):
    y, p, w = binary
    frame = pl.DataFrame({"id": [f"row {i}" for i in range(400)], "y": y, "p": p, "w": w})
    if name.endswith(("parquet", "pq")):
        frame.write_parquet(tmp_path / name)
    elif name.endswith("arrow"):
        frame.write_ipc(tmp_path / name)
    else:
        frame.write_csv(tmp_path / name, separator="\t" if name.endswith("tsv") else ",")
    assert csv_measures(call("measure", "--no-intervals", name, "--weight", "w", "--format", "csv")) == expected


def test_a_npy_matrix_has_columns_named_by_number(call, binary, expected, tmp_path):
    y, p, w = binary
    np.save(tmp_path / "x.npy", np.column_stack([y, p, w]))
    given = "--label", "0", "--prob", "1", "--weight", "2"
    found = csv_measures(call("measure", "--no-intervals", "x.npy", *given, "--format", "csv"))
    assert found == expected.replace("measure,p", "measure,1")


def test_a_structured_array_has_named_columns(call, binary, expected, tmp_path):
    y, p, w = binary
    table = np.rec.fromarrays([y, p, w], names="y,p,w").view(np.ndarray)
    np.save(tmp_path / "x.npy", table.view([("y", "<i8"), ("p", "<f8"), ("w", "<i8")]))
    assert csv_measures(call("measure", "--no-intervals", "x.npy", "--weight", "w", "--format", "csv")) == expected


def test_standard_input_may_be_any_format(call, binary, expected):
    y, p, w = binary
    packed = io.BytesIO()
    pl.DataFrame({"y": y, "p": p, "w": w}).write_parquet(packed)
    assert (
        csv_measures(
            call("measure", "--no-intervals", "-", "--weight", "w", "--format", "csv", stdin=packed.getvalue())
        )
        == expected
    )


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.jsonl"])
def test_files_without_polars_name_the_cure(fails, tmp_path, without, name):
    write_columns(tmp_path / name, {"y": np.array([0, 1]), "p": np.array([0.5, 0.5])})
    without("polars")
    assert fails("measure", name) == f"Reading {name} needs Polars: `pip install 'trueness[cli]'`."


def test_parquet_is_read_in_batches_and_without_pyarrow(call, binary, expected, tmp_path, without, monkeypatch):
    y, p, w = binary
    pl.DataFrame({"y": y, "p": p, "w": w}).write_parquet(tmp_path / "x.parquet")
    without("pyarrow")
    monkeypatch.setattr(_parquet, "BATCH_ROWS", 64)
    with open_table(str(tmp_path / "x.parquet")) as table:
        assert [len(columns.labels["y"]) for columns, _ in table.batches(["y"], ["p"])] == [64] * 6 + [16]
    found = call("measure", "--no-intervals", "x.parquet", "--weight", "w", "--format", "csv", "--stream")
    assert csv_measures(found) == expected


def test_only_the_columns_asked_for_are_read(call, tmp_path, monkeypatch):
    pl.DataFrame({"y": [0, 1], "p": [0.5, 0.6], "other": [[1], [2]]}).write_parquet(tmp_path / "x.parquet")
    asked = []
    frames = _parquet.ParquetFile.frames
    monkeypatch.setattr(_parquet.ParquetFile, "frames", lambda t, *n: asked.append(n) or frames(t, *n))
    assert call("measure", "--no-intervals", "x.parquet").exit_code == 0
    assert [list(dict.fromkeys(chain(*names))) for names in asked] == [["y", "p"]]


def test_arrays_of_objects_that_nobody_asks_for_do_no_harm(call, tmp_path):
    np.savez(tmp_path / "x.npz", y=[0, 1], p=[0.5, 0.6], other=np.array([{}, None], dtype=object))
    assert call("measure", "--no-intervals", "x.npz").exit_code == 0


@pytest.mark.parametrize(
    ("labels", "option"),
    [
        (pl.Series([True, False, True, None]), ()),
        (pl.Series([1, 0, 1, None], dtype=pl.Int8), ()),
        (pl.Series(["a", "b", "a", None]), ("--pos-label", "a")),
        (pl.Series(["a", "b", "a", None], dtype=pl.Categorical), ("--pos-label", "a")),
        (pl.Series([2, 1, 2, None]), ("--pos-label", "2")),
        (pl.Series([True, False, True, None]), ("--pos-label", "true")),
    ],
)
def test_labels_of_every_type_are_read_from_parquet(call, tmp_path, labels, option):
    scores = pl.Series([0.8, 0.3, 0.9, 0.5], dtype=pl.Float32)
    pl.DataFrame({"y": labels, "p": scores}).write_parquet(tmp_path / "x.parquet")
    pl.DataFrame({"y": labels, "p": scores}).head(3).write_parquet(tmp_path / "full.parquet")
    dropped = call("measure", "--no-intervals", "x.parquet", "--missing", "drop", "--format", "csv", *option)
    assert "1 of 4 rows have a missing value and were dropped" in dropped.stderr
    full = call("measure", "--no-intervals", "full.parquet", "--format", "csv", *option)
    assert full.exit_code == 0, full.stderr
    assert dropped.stdout == full.stdout


def test_scores_that_miss_values_are_located_and_can_be_dropped(call, fails, tmp_path):
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.1, None, 0.7, 0.2]})
    frame.write_parquet(tmp_path / "x.parquet")
    message = fails("measure", "x.parquet")
    assert "Column 'p' must not have missing values" in message
    assert "row 1" in message
    assert "`--missing drop`" in message
    assert "\nn,3\n" in call("measure", "--no-intervals", "x.parquet", "--missing", "drop", "--format", "csv").stdout


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pl.Series(["0.5", "0.6"]), "column 'p' must hold numbers; it holds String"),
        (pl.Series([[0.5], [0.6]]), "column 'p' must hold numbers; it holds List"),
        (pl.Series([None, None]), "missing"),
    ],
)
def test_scores_of_another_type_are_refused(fails, tmp_path, column, words):
    pl.DataFrame({"y": [0, 1], "p": column}).write_parquet(tmp_path / "x.parquet")
    assert words in fails("measure", "x.parquet")


def test_labels_of_another_type_are_refused(fails, tmp_path):
    pl.DataFrame({"y": [[0], [1]], "p": [0.5, 0.6]}).write_parquet(tmp_path / "x.parquet")
    assert "column 'y' must hold labels" in fails("measure", "x.parquet")


def damaged(tmp_path: Path, name: str) -> None:
    if name.endswith("parquet"):
        pl.DataFrame({"y": [0, 1], "p": [0.5, 0.6]}).write_parquet(tmp_path / name)
    else:
        np.savez(tmp_path / name, y=[0, 1], p=[0.5, 0.6])
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[:-30])


@pytest.mark.parametrize("name", ["x.parquet", "x.npz"])
def test_a_truncated_file_is_refused(fails, tmp_path, name):
    damaged(tmp_path, name)
    assert (
        f"{name} cannot be read as {name[2:].capitalize() if name == 'x.parquet' else 'npz'}; it may be truncated."
        in fails("measure", name)
    )


def test_a_truncated_npy_is_refused(fails, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((10, 2)))
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-30])
    assert "may be truncated" in fails("measure", "x.npy")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", b"", "x.csv is empty."),
        ("x.csv", b"\n \n", "x.csv is empty."),
        ("x.csv", b"y,p\n", "x.csv has no rows."),
        ("x.parquet", b"y,p\n0,0.1\n", "does not begin as a file of type Parquet does"),
        ("x.npz", b"y,p\n0,0.1\n", "does not begin as a file of type npz does"),
        ("x.csv", "y,p\n0,0.1\n".encode("utf-16"), "UTF-16 must become UTF-8"),
    ],
)
def test_what_a_file_is_not_is_said(fails, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert words in fails("measure", name)


def test_empty_tables_of_other_formats_are_refused(fails, tmp_path):
    pl.DataFrame({"y": [], "p": []}, schema={"y": pl.Int64, "p": pl.Float64}).write_parquet(tmp_path / "x.parquet")
    np.savez(tmp_path / "x.npz", y=np.zeros(0), p=np.zeros(0))
    np.savez(tmp_path / "two.npz", y=np.zeros(0), p=np.zeros((0, 3)))
    for name in ("x.parquet", "x.npz", "two.npz"):
        assert fails("measure", name) == f"{name} has no rows."


def test_a_zip_of_something_else_is_refused(fails, tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as file:
        file.writestr("xl/workbook.xml", "<a/>")
    assert "not one of NumPy arrays" in fails("measure", "x.xlsx")


def test_a_folder_and_a_file_that_is_not_there_are_refused(fails, tmp_path):
    (tmp_path / "Data.csv").write_text("y,p\n0,0.1\n")
    assert fails("measure", str(tmp_path)).startswith(f"{str(tmp_path)!r} is a folder; name files in it")
    if not (tmp_path / "data.csv").exists():  # some file systems do not tell the two apart
        assert fails("measure", "data.csv") == "There is no file 'data.csv'. There is 'Data.csv' in that folder."


def test_a_file_that_may_not_be_read_is_refused(fails, tmp_path, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "x.csv").write_text("y,p\n0,0.1\n")
    monkeypatch.setattr(Path, "open", denied)
    assert fails("measure", "x.csv") == "'x.csv' cannot be read: Permission denied."


def test_objects_in_an_array_are_not_loaded(fails, tmp_path):
    np.savez(tmp_path / "x.npz", y=[0, 1], p=np.array([0.5, None], dtype=object))
    np.save(tmp_path / "x.npy", np.array([{}, 1], dtype=object))
    for name in ("x.npz", "x.npy"):
        assert "loading can run code" in fails("measure", name)


def test_arrays_of_the_wrong_shape_or_type_are_refused(fails, tmp_path):
    np.savez(tmp_path / "long.npz", y=[0, 1, 1], p=[0.5, 0.6])
    np.savez(tmp_path / "text.npz", y=[0, 1], p=["a", "b"])
    np.save(tmp_path / "flat.npy", np.ones(4))
    assert "got 3 labels and 2 scores" in fails("measure", "long.npz")
    assert "got 3 labels and 2 scores" in fails("measure", "long.npz", "--missing", "drop")
    assert "'p' must hold numbers" in fails("measure", "text.npz")
    assert "np.savez(path, y=…, p=…)" in fails("measure", "flat.npy")


def test_a_matrix_of_one_column_is_that_column(call, binary, expected, tmp_path):
    y, p, w = binary
    np.savez(tmp_path / "column.npz", y=y[:, None], p=p[:, None], w=w)
    assert csv_measures(call("measure", "--no-intervals", "column.npz", "--weight", "w", "--format", "csv")) == expected


def test_labels_of_bytes_are_text(call, tmp_path):
    np.savez(tmp_path / "x.npz", y=np.array([b"no", b"yes"]), p=[0.3, 0.8])
    assert call("measure", "--no-intervals", "x.npz", "--pos-label", "yes").exit_code == 0


@pytest.mark.parametrize("name", ["x.arrow", "x.arrows", "x"])
def test_an_arrow_stream_is_called_that(fails, tmp_path, name):
    pl.DataFrame({"y": [0, 1], "p": [0.5, 0.6]}).write_ipc_stream(tmp_path / name)
    assert fails("measure", name).startswith(f"{name} is an Arrow IPC stream; only Arrow IPC files")
