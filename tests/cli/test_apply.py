"""``trueness apply`` writes the rows with one more column, in the format that they came in."""

import json
import zipfile

import numpy as np
import polars as pl
import pytest
from tables_on_disk import FORMATS, write_columns

import trueness as tn
from trueness import recalibrate


@pytest.fixture
def fitted(grouped, tmp_path):
    """A map in a file, and what it makes of the scores."""
    d = tn.simulate.demo(300, seed=3)
    made = recalibrate.PlattScaling().fit(d.y_prob, d.y_true)
    folder = tmp_path / "maps"
    folder.mkdir()
    made.save(folder / "map.json")
    return str(folder / "map.json"), made.predict(grouped["p"])


def read(path):
    """The columns of a file, by name."""
    if path.suffix in (".csv", ".tsv"):
        frame = pl.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".parquet":
        frame = pl.read_parquet(path)
    elif path.suffix == ".arrow":
        frame = pl.read_ipc(path)
    elif path.suffix == ".jsonl":
        frame = pl.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    elif path.suffix == ".npz":
        with np.load(path) as archive:
            return {name: archive[name] for name in archive.files}
    else:
        table = np.load(path)
        return {name: table[name] for name in table.dtype.names}
    return {name: frame[name].to_numpy() for name in frame.columns}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_column_stays_and_one_is_added(call, grouped, fitted, tmp_path, kind):
    path, expected = fitted
    write_columns(tmp_path / f"x.{kind}", grouped)
    result = call("apply", f"x.{kind}", "--prob", "p", "--calibrator", path, "-o", f"out.{kind}")
    assert result.exit_code == 0, result.stderr
    found = read(tmp_path / f"out.{kind}")
    assert list(found) == [*grouped, "p_calibrated"]
    np.testing.assert_array_equal(found["p_calibrated"], expected)
    for name, values in grouped.items():
        np.testing.assert_array_equal(found[name], values)
    if kind == "parquet":  # as other libraries read it
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
        np.testing.assert_array_equal(table["p_calibrated"].to_numpy(), expected)


def test_text_cells_are_not_touched(call, fitted, tmp_path):
    (tmp_path / "x.csv").write_text(
        'id,p,"the ""note"""\n007,0.50,"a, ""b"""\n1e3, 0.5 ,\n', encoding="utf-8"
    )
    result = call("apply", "x.csv", "--calibrator", fitted[0])
    head, first, second = result.stdout.splitlines()
    assert head == 'id,p,"the ""note""",p_calibrated'
    assert first.startswith('007,0.50,"a, ""b""",0.')
    assert second.startswith("1e3, 0.5 ,,0.")


def test_text_of_another_encoding_is_refused_with_the_way_out(call, fitted, tmp_path):
    (tmp_path / "x.csv").write_bytes("p,note\n0.5,é\n".encode("latin-1"))
    result = call("apply", "x.csv", "--calibrator", fitted[0], "-o", "y.csv")
    assert result.exit_code == 2
    assert "Convert it, as `iconv -f latin1 -t utf-8` does." in result.stderr
    assert not (tmp_path / "y.csv").exists()


def test_an_array_called_like_an_argument_of_numpy_is_kept(call, fitted, tmp_path):
    np.save(tmp_path / "a.npy", [1, 2])
    np.savez(tmp_path / "x.npz", p=[0.2, 0.7])
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.write(tmp_path / "a.npy", "file.npy")
    assert call("apply", "x.npz", "--calibrator", fitted[0], "-o", "out.npz").exit_code == 0
    assert list(read(tmp_path / "out.npz")) == ["p", "file", "p_calibrated"]


def test_a_matrix_becomes_as_many_columns_or_a_matrix(call, fails, multiclass, tmp_path):
    y, P = multiclass
    made = recalibrate.TemperatureScaling().fit(P, y)
    made.save(tmp_path / "map.json")
    new = made.predict(P[:9])
    columns = {"a": P[:9, 0], "b": P[:9, 1], "c": P[:9, 2]}
    write_columns(tmp_path / "x.csv", columns)
    write_columns(tmp_path / "x.parquet", columns)
    np.savez(tmp_path / "x.npz", P=P[:9])
    for name, given in {
        "x.csv": ["--prob-columns", "a,b,c"],
        "x.parquet": ["--prob-columns", "a,b,c"],
    }.items():
        assert (
            call(
                "apply", name, *given, "--calibrator", "map.json", "-o", f"out{name[1:]}"
            ).exit_code
            == 0
        )
        found = read(tmp_path / f"out{name[1:]}")
        assert list(found) == [*"abc", "a_calibrated", "b_calibrated", "c_calibrated"]
        np.testing.assert_array_equal(np.column_stack(list(found.values()))[:, 3:], new)
    assert (
        call("apply", "x.npz", "--prob", "P", "--calibrator", "map.json", "-o", "out.npz").exit_code
        == 0
    )
    np.testing.assert_array_equal(read(tmp_path / "out.npz")["P_calibrated"], new)
    rows = [{"P": row} for row in P[:3].tolist()] + [{"P": [None, None, None]}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = call(
        "apply", "x.jsonl", "--prob", "P", "--calibrator", "map.json", "--missing", "keep"
    )
    assert [json.loads(line)["P_calibrated"] for line in result.stdout.splitlines()] == [
        *new[:3].tolist(),
        None,
    ]
    table = np.full(9, 1 / 3, dtype=[("P", float, (3,))])
    np.save(tmp_path / "x.npy", table)
    message = fails("apply", "x.npy", "--prob", "P", "--calibrator", "map.json", "-o", "out.npy")
    assert "cannot become a field of a structured array" in message


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "npz"])
def test_rows_without_a_score_are_refused_or_kept(call, fails, fitted, tmp_path, kind):
    p = np.array([0.3, np.nan, 0.6])
    write_columns(tmp_path / f"x.{kind}", {"id": np.arange(3), "p": p})
    if kind == "jsonl":
        (tmp_path / "x.jsonl").write_text('{"id": 0, "p": 0.3}\n{"id": 1}\n{"id": 2, "p": 0.6}\n')
    given = ["apply", f"x.{kind}", "--prob", "p", "--calibrator", fitted[0], "-o", f"out.{kind}"]
    assert "1 of 3 are. `--missing keep` leaves" in fails(*given)
    assert not (tmp_path / f"out.{kind}").exists()
    assert call(*given, "--missing", "keep").exit_code == 0
    found = read(tmp_path / f"out.{kind}")["p_calibrated"].astype(float)
    assert np.isnan(found).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--calibrator", "none.json"], "`--calibrator` 'none.json' cannot be read: No such file"),
        (
            ["--calibrator", "x.csv"],
            "`--calibrator` 'x.csv' cannot be used: it must be a JSON file",
        ),
        (["--calibrator", "{map}", "--name", "p"], "x.csv has a column 'p' already"),
        (
            ["--calibrator", "{map}", "--prob", "p", "--prob", "q"],
            "`--prob` must name one model; got p, q.",
        ),
        (["--calibrator", "{map}", "--prob-columns", "p,q"], "x.csv: "),
        (["--calibrator", "{map}", "--prob", "z"], "x.csv has no column 'z'"),
        (["--calibrator", "{map}", "--prob", "big"], "Scores 'big' must lie in [0, 1]"),
    ],
)
def test_what_cannot_be_applied_is_refused(fails, fitted, tmp_path, words, message):
    (tmp_path / "x.csv").write_text("p,q,big\n0.5,0.5,7\n0.2,0.8,8\n")
    assert message in fails(
        "apply", "x.csv", *(w.format(map=fitted[0]) for w in words), "-o", "out.csv"
    )
    assert not (tmp_path / "out.csv").exists()


def test_a_file_and_a_map_are_asked_for(call, fitted):
    assert "Give a FILE" in call("apply", "--calibrator", fitted[0]).stderr
    assert "--calibrator" in call("apply", "x.csv").stderr


def test_a_plain_matrix_gets_one_more_column(call, fitted, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, 0.2], [2, 0.7]]))
    assert (
        call("apply", "x.npy", "--prob", "1", "--calibrator", fitted[0], "-o", "out.npy").exit_code
        == 0
    )
    found = np.load(tmp_path / "out.npy")
    assert found.shape == (2, 3)
    assert found[:, :2].tolist() == [[1, 0.2], [2, 0.7]]


def test_more_that_cannot_be_applied_is_refused(fails, fitted, tmp_path):
    (tmp_path / "x.csv").write_text("p,q\n0.5,0.5\n")
    (tmp_path / "none.csv").write_text("p,q\n")
    (tmp_path / "map.json").write_bytes(b"\xff\xfe")
    matrix = ["--prob-columns", "p,q", "--name", "r"]
    recalibrate.TemperatureScaling().fit([[0.2, 0.8], [0.7, 0.3], [0.4, 0.6]], [1, 0, 0]).save(
        tmp_path / "two.json"
    )
    assert "must be a JSON file of a calibrator" in fails(
        "apply", "x.csv", "--prob", "p", "--calibrator", "map.json"
    )
    assert (
        fails("apply", "none.csv", "--prob", "p", "--calibrator", fitted[0])
        == "none.csv has no rows."
    )
    assert "`--name` is only for one column" in fails(
        "apply", "x.csv", *matrix, "--calibrator", "two.json"
    )


def test_a_map_remembers_its_column_of_scores(call, fails, grouped, tmp_path):
    write_columns(
        tmp_path / "x.csv", {**grouped, "score": grouped["q"]}
    )  # a name that would be guessed, and another
    assert call("fit", "x.csv", "--prob", "q", "--method", "platt", "-o", "map.json").exit_code == 0
    result = call("apply", "x.csv", "--calibrator", "map.json", "-o", "out.csv")
    assert result.exit_code == 0, result.stderr
    assert "rows that the calibrator was fitted on" in result.stderr
    assert "note:" not in result.stderr
    assert "fitted on column" not in result.stderr
    found = read(tmp_path / "out.csv")
    assert list(found)[-1] == "q_calibrated"
    fitted = recalibrate.load_calibrator(tmp_path / "map.json")
    with pytest.warns(tn.errors.OwnRowsWarning):
        expected = fitted.predict(grouped["q"])
    np.testing.assert_array_equal(found["q_calibrated"], expected)
    result = call("apply", "x.csv", "--prob", "p", "--calibrator", "map.json")
    assert result.exit_code == 0
    assert (
        "warning: the map was fitted on column 'q', and is applied to column 'p'." in result.stderr
    )
    write_columns(tmp_path / "y.csv", {"p": grouped["p"]})
    assert fails("apply", "y.csv", "--calibrator", "map.json") == (
        "y.csv has no column 'q', which the map was fitted on. `--prob` names the column of the scores; "
        "`--prob-columns`, several."
    )


def test_a_map_remembers_the_columns_of_a_matrix_and_their_order(call, fails, multiclass, tmp_path):
    y, P = multiclass
    write_columns(tmp_path / "x.csv", {"y": y, "p_0": P[:, 0], "p_1": P[:, 1], "p_2": P[:, 2]})
    given = ["--prob-columns", "p_*", "--calibrator", "temperature-scaling", "-o", "map.json"]
    assert call("fit", "x.csv", *given).exit_code == 0
    assert call("apply", "x.csv", "--calibrator", "map.json", "-o", "out.csv").exit_code == 0
    assert list(read(tmp_path / "out.csv"))[-3:] == [
        "p_0_calibrated",
        "p_1_calibrated",
        "p_2_calibrated",
    ]
    message = fails("apply", "x.csv", "--prob-columns", "p_2,p_1,p_0", "--calibrator", "map.json")
    assert (
        message
        == "`--prob-columns` must name the columns in the order of `fit`: p_0, p_1, p_2; got p_2, p_1, p_0."
    )


def test_an_error_far_down_a_parquet_file_names_the_row_and_keeps_the_old_file(
    fails, fitted, tmp_path
):
    p = np.full(300_000, 0.5)
    p[[250_000, 250_001]] = 7
    pl.DataFrame({"p": p}).write_parquet(tmp_path / "x.parquet")
    (tmp_path / "out.parquet").write_text("old")
    message = fails(
        "apply", "x.parquet", "--prob", "p", "--calibrator", fitted[0], "-o", "out.parquet"
    )
    assert (
        "Scores 'p' must lie in [0, 1]; 2 of 300,000 values do not, the first is 7 at row 250,000"
        in message
    )
    assert (tmp_path / "out.parquet").read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["maps", "out.parquet", "x.parquet"]


def test_a_damaged_parquet_file_is_said_to_be_damaged(fails, fitted, tmp_path):
    pl.DataFrame({"p": np.random.default_rng(0).random(50_000)}).write_parquet(
        tmp_path / "x.parquet"
    )
    data = bytearray((tmp_path / "x.parquet").read_bytes())
    data[1_000:200_000] = bytes(199_000)
    (tmp_path / "x.parquet").write_bytes(data)
    message = fails(
        "apply", "x.parquet", "--prob", "p", "--calibrator", fitted[0], "-o", "out.parquet"
    )
    assert "x.parquet cannot be read as Parquet" in message
