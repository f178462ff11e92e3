"""Every kind of file in, the same numbers out; and what is said of files that cannot be read."""

import io
import zipfile

import numpy as np
import polars as pl
import pytest
from grids import slow
from tables_on_disk import write_columns

import trueness as tn

MEASURE = ("measure", "--no-intervals", "--format", "csv")


def csv_measures(result):
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture
def expected(call, binary, tmp_path):
    y, p, w = binary
    np.savez(tmp_path / "x.npz", y=y, p=p, w=w)
    return csv_measures(call(*MEASURE, "x.npz", "--weight", "w"))


@pytest.mark.parametrize(
    "name",
    [
        "x.csv",
        "x.tsv",
        "x.txt",
        "X.CSV",
        "x.parquet",
        "x.pq",
        "x.arrow",
        "x",
        "a [1]*.parquet",
        "a [1]*.jsonl",
    ],
)
def test_every_format_gives_the_same_numbers(call, binary, expected, tmp_path, name):
    y, p, w = binary
    frame = pl.DataFrame({"id": [f"row {i}" for i in range(400)], "y": y, "p": p, "w": w})
    writers = {"parquet": frame.write_parquet, "pq": frame.write_parquet, "arrow": frame.write_ipc}
    writers |= {
        "jsonl": frame.write_ndjson,
        "tsv": lambda path: frame.write_csv(path, separator="\t"),
    }
    writers.get(name.rpartition(".")[2], frame.write_csv)(tmp_path / name)
    assert csv_measures(call(*MEASURE, name, "--weight", "w")) == expected


def test_arrays_have_columns_by_number_or_by_name(call, binary, expected, tmp_path):
    y, p, w = binary
    np.save(tmp_path / "x.npy", np.column_stack([y, p, w]))
    found = csv_measures(call(*MEASURE, "x.npy", "--label", "0", "--prob", "1", "--weight", "2"))
    assert found == expected.replace("measure,p", "measure,1")
    write_columns(tmp_path / "x.npy", {"y": y, "p": p, "w": w})
    assert csv_measures(call(*MEASURE, "x.npy", "--weight", "w")) == expected
    np.savez(
        tmp_path / "column.npz",
        y=y[:, None],
        p=p[:, None],
        w=w,
        other=np.array([{}, None], dtype=object),
    )
    assert csv_measures(call(*MEASURE, "column.npz", "--weight", "w")) == expected
    np.savez(tmp_path / "bytes.npz", y=np.where(y == 1, b"yes", b"no"), p=p, w=w)
    assert (
        csv_measures(call(*MEASURE, "bytes.npz", "--weight", "w", "--pos-label", "yes")) == expected
    )


def test_standard_input_may_be_any_format(call, binary, expected):
    y, p, w = binary
    packed = io.BytesIO()
    pl.DataFrame({"y": y, "p": p, "w": w}).write_parquet(packed)
    assert csv_measures(call(*MEASURE, "-", "--weight", "w", stdin=packed.getvalue())) == expected


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.jsonl"])
def test_files_without_polars_name_the_cure(fails, tmp_path, without, name):
    write_columns(tmp_path / name, {"y": np.array([0, 1]), "p": np.array([0.5, 0.5])})
    without("polars")
    assert fails("measure", name) == f"Reading {name} needs Polars: `pip install 'trueness[cli]'`."


def test_parquet_is_read_without_pyarrow_and_columns_that_nobody_asks_for_are_not(
    call, binary, tmp_path, without
):
    y, p, w = binary
    frame = pl.DataFrame({"y": y, "p": p, "w": w, "other": [[1, {"a": 2}]] * 400}, strict=False)
    frame.write_parquet(tmp_path / "x.parquet")
    without("pyarrow")
    assert call(*MEASURE, "x.parquet", "--weight", "w", "--stream").exit_code == 0


@pytest.mark.parametrize("kind", ["parquet", *slow("csv", "jsonl")])
def test_a_file_of_several_batches_has_every_row_once(call, tmp_path, kind):
    rng = np.random.default_rng(3)
    p = rng.integers(0, 1000, 300_000) / 1000  # two batches and a half
    y = (rng.random(p.size) < p).astype(np.int64)
    frame = pl.DataFrame({"y": y, "p": p})
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind](
        tmp_path / f"x.{kind}"
    )
    assert (
        call(
            "tally",
            f"x.{kind}",
            "--label",
            "y",
            "--prob",
            "p",
            "--bins",
            "distinct",
            "-o",
            "x.tally",
        ).exit_code
        == 0
    )
    assert tn.Accumulator.load(tmp_path / "x.tally").total == tn.tally(y, p)


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
    dropped = call(*MEASURE, "x.parquet", "--missing", "drop", *option)
    assert "1 of 4 rows has a missing value and was dropped" in dropped.stderr
    assert dropped.stdout == csv_measures(call(*MEASURE, "full.parquet", *option))


def test_lists_of_one_length_are_a_matrix(call, multiclass, tmp_path):
    y, P = multiclass
    pl.DataFrame({"y": y, "P": P.tolist()}).write_parquet(tmp_path / "x.parquet")
    np.savez(tmp_path / "x.npz", y=y, P=P)
    found = csv_measures(call(*MEASURE, "x.parquet", "--prob", "P"))
    assert found == csv_measures(call(*MEASURE, "x.npz", "--prob", "P"))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"p": ["0.5", "0.6"]}, "column 'p' must hold numbers; it holds String"),
        ({"p": [{"a": 1}, {"a": 2}]}, "column 'p' must hold numbers; it holds Struct"),
        ({"p": [[0.5], [0.6, 0.4]]}, "lists of one length; they are mixed"),
        ({"p": [None, None]}, "missing"),
        ({"y": [[0], [1]]}, "column 'y' must hold labels"),
    ],
)
def test_columns_of_another_type_are_refused(fails, tmp_path, columns, words):
    pl.DataFrame({"y": [0, 1], "p": [0.5, 0.6]} | columns).write_parquet(tmp_path / "x.parquet")
    assert words in fails("measure", "x.parquet")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "npz", "npy"])
def test_a_truncated_file_is_refused(fails, tmp_path, kind):
    write_columns(tmp_path / f"x.{kind}", {"y": np.arange(20) % 2, "p": np.arange(20) / 20})
    whole = (tmp_path / f"x.{kind}").read_bytes()
    (tmp_path / f"x.{kind}").write_bytes(whole[:-30])
    message = fails("measure", f"x.{kind}")
    assert message.startswith(f"x.{kind}")
    assert "cannot be read" in message


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", b"", "x.csv is empty."),
        ("x.csv", b"\n \n", "x.csv is empty."),
        ("x.csv", b"y,p\n", "x.csv has no rows."),
        ("x.parquet", b"y,p\n0,0.1\n", "does not begin as a file of type Parquet does"),
        ("x.npz", b"y,p\n0,0.1\n", "does not begin as a file of type npz does"),
        ("x.csv", "y,p\n0,0.1\n".encode("utf-16"), "UTF-16 must become UTF-8"),
        ("x.arrow", b"\xff\xff\xff\xff\x10\x00", "x.arrow is a stream of Arrow, and this needs"),
        (
            "x.sketch",
            tn.sketch([0, 1], [0.2, 0.7]).to_bytes(),
            "x.sketch holds sums, and this needs rows",
        ),
    ],
)
def test_what_a_file_is_not_is_said(fails, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    assert words in fails("measure", name)


def test_files_that_are_none_are_refused(fails, tmp_path):
    pl.DataFrame(schema={"y": pl.Int64, "p": pl.Float64}).write_parquet(tmp_path / "x.parquet")
    assert fails("measure", "x.parquet") == "x.parquet has no rows."
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as file:
        file.writestr("xl/workbook.xml", "<a/>")
    assert "not one of NumPy arrays" in fails("measure", "x.xlsx")
    assert fails("measure", "nowhere.csv") == "There is no file 'nowhere.csv'."
    (tmp_path / "empty").mkdir()
    folder = str(tmp_path / "empty")
    assert (
        fails("measure", folder)
        == f"The folder {folder!r} has no log of lm-eval, inspect, HELM or OpenAI evals."
    )
    (tmp_path / "empty" / "x.csv").write_text("y,p\n0,0.1\n")
    assert "named by a pattern: '" + str(tmp_path / "empty" / "*.csv") in fails("measure", folder)


def test_arrays_of_the_wrong_shape_or_type_are_refused(fails, tmp_path):
    np.savez(tmp_path / "long.npz", y=[0, 1, 1], p=[0.5, 0.6])
    np.savez(tmp_path / "text.npz", y=[0, 1], p=["a", "b"])
    np.save(tmp_path / "flat.npy", np.ones(4))
    np.savez(tmp_path / "objects.npz", y=[0, 1], p=np.array([0.5, None], dtype=object))
    np.save(tmp_path / "objects.npy", np.array([{}, 1], dtype=object))
    for more in ([], ["--missing", "drop"]):
        assert "got 3 labels and 2 scores" in fails("measure", "long.npz", *more)
    assert "'p' must hold numbers" in fails("measure", "text.npz")
    assert "np.savez(path, y=…, p=…)" in fails("measure", "flat.npy")
    for name in ("objects.npz", "objects.npy"):
        assert "loading can run code" in fails("measure", name)


def test_a_format_that_is_stated_must_be_that_of_the_file(call, fails, tmp_path):
    (tmp_path / "x").write_text("y\tp\n0\t0.5\n1\t0.6\n")
    assert call(*MEASURE, "x", "--input-format", "tsv").exit_code == 0
    assert "`--input-format` says parquet, but x does not begin" in fails(
        "measure", "x", "--input-format", "parquet"
    )
    (tmp_path / "x.jsonl").write_text('{"y": 0, "p": 0.5}\n')
    message = fails("measure", "x.jsonl", "--separator", ";")
    assert message == "`--separator` is only for CSV and TSV; x.jsonl is JSON lines. Leave it out."
