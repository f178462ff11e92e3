"""Files as sources: which ones a path names, what their cells mean, and files that do not agree."""

import bz2
import gzip
import json
import lzma

import engine_cases
import numpy as np
import polars as pl
import pytest
from grids import fast, slow
from tables_on_disk import write_columns

import trueness as tn

engines = pytest.mark.parametrize("engine", ["polars", "duckdb"])
TWO = tn.binned([0, 1], [0.25, 0.75])


def write(folder, **files):
    """Text files from strings, Parquet files from frames; the pattern that names them."""
    suffix = "csv" if isinstance(next(iter(files.values())), str | bytes) else "parquet"
    for name, content in files.items():
        path = folder / f"{name}.{suffix}"
        if isinstance(content, str | bytes):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        else:
            pl.DataFrame(content).write_parquet(path)
    return str(folder / f"*.{suffix}")


def ask(source, engine="polars", **options):
    return engine_cases.ask(source, **options, engine=engine)


ROWS = {"p": [0.1, 0.6, 0.7, 0.9], "y": [0, 1, 0, 1], "g": ["a", "b", "a", "b"]}


@pytest.mark.parametrize("suffix", ["parquet", *slow("csv", "tsv")])
@engines
def test_files_give_what_memory_gives(tmp_path, engine, suffix):
    for name, rows in (("one", slice(0, 1)), ("two", slice(1, 4))):
        write_columns(
            tmp_path / f"{name}.{suffix}",
            {key: np.array(values)[rows] for key, values in ROWS.items()},
        )
    source = [tmp_path / f"one.{suffix}", str(tmp_path / f"two.{suffix}")]
    wanted = tn.binned(ROWS["y"], ROWS["p"], bins=7)
    assert ask(tmp_path / f"*.{suffix}", engine, bins=7) == wanted
    assert ask(source, engine, bins=None) == tn.tally(ROWS["y"], ROWS["p"])
    assert sum(ask(source, engine, bins=7, by="g").values()) == wanted


@engines
@pytest.mark.parametrize("suffix", ["csv", *slow("parquet")])
@pytest.mark.parametrize("name", ["we[1]rd", "a*b", "%20", *slow("a?b", "[!a]", "{x}", "a b")])
def test_a_file_of_that_very_name_comes_before_a_pattern(tmp_path, engine, suffix, name):
    for other in ("we1rd", "axb", "b", "x"):
        write(
            tmp_path,
            **{other: "p,y\n0.7,1\n0.7,1\n" if suffix == "csv" else {"p": [0.7, 0.7], "y": [1, 1]}},
        )
    write(tmp_path, **{name: "p,y\n0.1,0\n" if suffix == "csv" else {"p": [0.1], "y": [0]}})
    assert ask(tmp_path / f"{name}.{suffix}", engine) == tn.binned([0], [0.1])


def test_json_lines_of_that_very_name_come_before_a_pattern(tmp_path):
    (tmp_path / "[a].jsonl").write_text('{"p": 0.1, "y": 0}\n')
    (tmp_path / "a.jsonl").write_text('{"p": 0.7, "y": 1}\n')
    assert ask(tmp_path / "[a].jsonl") == tn.binned([0], [0.1])


F32 = pl.Series([0.25], dtype=pl.Float32)
AGREE = {
    "another order": ({"p": [0.25], "y": [0]}, {"y": [1], "p": [0.75]}),
    "one column more": ({"p": [0.25], "y": [0]}, {"p": [0.75], "y": [1], "z": [1]}),
    "float32 before float64": ({"p": F32, "y": [0]}, {"p": [0.75], "y": [1]}),
    "integers before booleans": ({"p": [0.25], "y": [0]}, {"p": [0.75], "y": [True]}),
    "short integers": ({"p": [0.25], "y": pl.Series([0], dtype=pl.Int8)}, {"p": [0.75], "y": [1]}),
    "nothing but NULL where nobody looks": (
        {"p": [0.25], "y": [0], "z": [None]},
        {"p": [0.75], "y": [1], "z": [1]},
    ),
    "text, another order": ("p,q,y\n0.25,0.9,0\n", "q,y,p,z\n0.9,1,0.75,a\n"),
    "text, labels that turn to floats": ("p,y\n0.25,0\n", "p,y\n0.75,1.0\n"),
}


@engines
@pytest.mark.parametrize("files", AGREE.values(), ids=AGREE)
def test_files_of_other_schemas_are_read_together(tmp_path, engine, files):
    assert ask(write(tmp_path, a=files[0], b=files[1]), engine) == TWO


@engines
def test_a_file_that_lacks_a_column_is_named(tmp_path, engine):
    source = write(tmp_path, a={"p": [0.25], "y": [0], "g": [1]}, b={"p": [0.75], "y": [1]})
    with pytest.raises(
        tn.InputError, match=r"`by` names no column 'g' in '.*b\.parquet'; the columns are 'p', 'y'"
    ):
        ask(source, engine, by="g")
    source = write(tmp_path, a="p,y\n0.25,0\n", b="p,Y\n0.75,1\n")
    with pytest.raises(
        tn.InputError, match=r"`label` names no column 'y' in '.*b\.csv'; the columns are 'p', 'Y'"
    ):
        ask(source, engine)


def test_types_that_do_not_agree_are_refused_but_identifiers_become_text(tmp_path):
    source = write(
        tmp_path, a={"p": [0.25], "y": [0], "g": [1]}, b={"p": [0.75], "y": [1], "g": ["x"]}
    )
    assert {key: sums.n for key, sums in ask(source, by="g").items()} == {"1": 1, "x": 1}
    source = write(tmp_path, a="p,y\n0.25,0\n", b="p,y\n0.25,yes\n")
    with pytest.raises(
        tn.InputError,
        match=r"column 'y' must have one type in all files; it is Int64 in '.*a\.csv' and",
    ):
        ask(source)


SAME = {
    "byte order mark": "\ufeffp,y\n0.25,0\n0.75,1\n",
    "quoted numbers": 'p,y\n"0.25","0"\n"0.75","1"\n',
    "CRLF": "p,y\r\n0.25,0\r\n0.75,1\r\n",
    "exponents": "p,y\n25e-2,0\n7.5E-1,1\n",
    "booleans": "p,y\n0.25,False\n0.75,True\n",
    "compressed": gzip.compress(b"p,y\n0.25,0\n0.75,1\n"),
}


@engines
@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_ways_to_write_the_same_rows(tmp_path, engine, text):
    path = tmp_path / ("rows.csv.gz" if isinstance(text, bytes) else "rows.csv")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert ask(path, engine) == TWO


MISSING = "`prob` column 'p' must not have missing values; 1 of 2"
REFUSED = {
    "a name twice": ("p,y,y\n0.25,0,1\n", r"rows\.csv'? has 2 columns named 'y'"),
    "empty lines": ("\n\n", r"names no column|rows\.csv is empty\.$"),
    "NA": (
        "p,y\n0.25,0\nNA,1\n",
        {"duckdb": r"rows\.csv' cannot be read: .*NA", "polars": MISSING},
    ),
    "an empty score": ("p,y\n0.25,0\n,1\n", MISSING),
    "nan": ("p,y\n0.25,0\nnan,1\n", MISSING),
    "an empty label": (
        "p,y\n0.25,0\n0.75,\n",
        "`label` column 'y' must not have missing values; 1 of 2",
    ),
    "late fractions": ("p,y\n" + "0,0\n" * 120_000 + "0.5,2\n", "1 of 120,001 labels is not"),
    "thousands": ('p,y\n"1,000",0\n', r"rows\.csv.* '?\"?1,000"),
    "semicolons": ("p;y\n0.25;0\n", "`label` names no column 'y'.*p;y"),
    "late text in scores": ("p,y\n" + "0.5,1\n" * 150_000 + "oops,1\n", r"rows\.csv.*oops"),
    "late text in labels": (
        "p,y\n" + "0.5,1\n" * 150_000 + "0.5,oops\n",
        {
            "duckdb": r"rows\.csv' cannot be read: .*oops",
            "polars": r"must be 0 or 1; it holds strings \('1', 'oops'\)",
        },
    ),
    "bytes of another encoding": (b"p,y\n0.25,0\n0.75\xe9,1\n", r"rows\.csv"),
    "a short line": ("g,p,y\na,0.25,0\n0.75,1\n", r"rows\.csv"),
    "a long line": ("g,p,y\na,0.25,0\na,b,0.75,1\n", r"rows\.csv"),
}
SHORT = [name for name in REFUSED if not name.startswith("late ")]


@engines
@pytest.mark.parametrize(("text", "message"), fast(REFUSED, *SHORT, several=True))
def test_text_that_cannot_be_read_says_so(tmp_path, engine, text, message):
    path = tmp_path / "rows.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(
        tn.InputError, match=message if isinstance(message, str) else message[engine]
    ):
        ask(path, engine, bins=None)


COMPRESSED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "jsonl", "arrow", *(f"csv.{name}" for name in COMPRESSED)]
)
def test_every_format_of_the_command_is_scanned(tmp_path, suffix):
    kind, _, compression = suffix.partition(".")
    columns = {"p": np.array([0.25, 0.75]), "y": np.array([0, 1]), "g": np.array(["a", "b"])}
    path = write_columns(tmp_path / f"x.{kind}", columns)
    if compression:
        path = tmp_path / f"x.{suffix}"
        path.write_bytes(COMPRESSED[compression]((tmp_path / "x.csv").read_bytes()))
    assert ask(path, "auto", bins=None) == tn.tally([0, 1], [0.25, 0.75])
    assert {key: sums.n for key, sums in ask(path, by="g").items()} == {"a": 1, "b": 1}


def test_duckdb_says_what_it_does_not_read(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"p": 0.5, "y": 1}\n')
    with pytest.raises(
        tn.InputError, match="`engine` must be 'polars' for such files; DuckDB reads Parquet or CSV"
    ):
        ask(tmp_path / "x.jsonl", "duckdb")


@engines
def test_a_header_alone_is_no_rows(tmp_path, engine):
    assert ask(write(tmp_path, a="p,y\n", b="y,p\n"), engine).n == 0
    assert ask(write(tmp_path, a="p,y\n", b="p,y\n0.25,0\n0.75,1\n"), engine) == TWO


@engines
def test_groups_of_a_text_file_are_what_stands_there(tmp_path, engine):
    source = write(tmp_path, a="p,y,g\n" + "0.25,0,7\n" * 50_000 + "0.75,1,007\n0.75,1,x\n")
    assert {key: sums.n for key, sums in ask(source, engine, by="g").items()} == {
        "7": 50_000,
        "007": 1,
        "x": 1,
    }


def test_groups_of_json_lines_are_integers_where_the_file_has_them(tmp_path):
    rows = [{"g": g, "k": k, "y": 0, "p": 0.5} for g, k in [("007", 10), ("007", 2), ("8", 0)]]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = ask(tmp_path / "a.jsonl", by=["g", "k"])
    assert list(found) == [("007", 2), ("007", 10), ("8", 0)]
    assert [type(k) for _, k in found] == [int] * 3


@engines
def test_words_are_no_booleans_and_are_compared_as_text(tmp_path, engine):
    source = write(tmp_path, a="p,y\n0.25,no\n0.75,yes\n")
    with pytest.raises(tn.InputError, match=r"it holds strings \('no', 'yes'\)"):
        ask(source, engine)
    assert ask(source, engine, pos_label="yes") == TWO
    assert ask(write(tmp_path, a="p,y\n0.25,0\n0.75,1\n"), engine, labels=["0", "1"]) == TWO


def test_paths_that_lead_nowhere_say_so(tmp_path):
    for path, message in (
        ("*.parquet", "No file fits the pattern"),
        ("x.csv", "There is no file"),
        ("", "holds no file that can be read"),
    ):
        with pytest.raises(tn.InputError, match=message):
            ask(tmp_path / path)
    np.savez(tmp_path / "x.npz", y=[0, 1], p=[0.1, 0.2])
    with pytest.raises(
        tn.InputError, match=r"must name Parquet, Arrow IPC, CSV, TSV or JSON lines.*x\.npz' is npz"
    ):
        ask(tmp_path / "x.npz")
    write(tmp_path, a="p,y\n0.5,1\n")
    with pytest.raises(tn.InputError, match=r"a\.csv' is given twice.*its rows would count twice"):
        ask([tmp_path / "*.csv", tmp_path / "a.csv"])
