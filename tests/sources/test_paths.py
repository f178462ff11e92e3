"""Files: which ones a path names, and files that do not agree."""

import bz2
import gzip
import lzma

import engine_cases
import numpy as np
import polars as pl
import pytest
from tables_on_disk import write_columns

import trueness as tn

engines = pytest.mark.parametrize("engine", ["polars", "duckdb"])
both = pytest.mark.parametrize("bins", [10, None])


def write(folder, **files):
    """Text files from strings, Parquet files from frames; the pattern that names them."""
    suffix = "csv" if isinstance(next(iter(files.values())), str | bytes) else "parquet"
    for name, content in files.items():
        path = folder / f"{name}.{suffix}"
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            pl.DataFrame(content).write_parquet(path)
    return str(folder / f"*.{suffix}")


def ask(source, engine, **options):
    return engine_cases.ask(source, **options, engine=engine)


@engines
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["we[1]rd", "a*b", "a?b", "[!a]", "{x}", "%20", "a b"])
def test_a_file_of_that_very_name_comes_before_a_pattern(tmp_path, engine, suffix, name):
    for other in ("we1rd", "axb", "b", "x"):
        write(tmp_path, **{other: "p,y\n0.7,1\n0.7,1\n" if suffix == "csv" else {"p": [0.7, 0.7], "y": [1, 1]}})
    write(tmp_path, **{name: "p,y\n0.1,0\n" if suffix == "csv" else {"p": [0.1], "y": [0]}})
    assert ask(tmp_path / f"{name}.{suffix}", engine) == tn.binned([0], [0.1])


F32 = pl.Series([0.25], dtype=pl.Float32)
AGREE = {
    "another order": ({"p": [0.25], "y": [0]}, {"y": [1], "p": [0.75]}),
    "one column more": ({"p": [0.25], "y": [0]}, {"p": [0.75], "y": [1], "z": [1]}),
    "one column less": ({"p": [0.25], "y": [0], "z": ["a"]}, {"p": [0.75], "y": [1]}),
    "float32 before float64": ({"p": F32, "y": [0]}, {"p": [0.75], "y": [1]}),
    "float64 before float32": ({"p": [0.75], "y": [1]}, {"p": F32, "y": [0]}),
    "integers before booleans": ({"p": [0.25], "y": [0]}, {"p": [0.75], "y": [True]}),
    "booleans before integers": ({"p": [0.25], "y": [False]}, {"p": [0.75], "y": [1]}),
    "short integers": ({"p": [0.25], "y": pl.Series([0], dtype=pl.Int8)}, {"p": [0.75], "y": [1]}),
    "nothing but NULL where nobody looks": ({"p": [0.25], "y": [0], "z": [None]}, {"p": [0.75], "y": [1], "z": [1]}),
    "text where nobody looks": ({"p": [0.25], "y": [0], "z": ["a"]}, {"p": [0.75], "y": [1], "z": [1]}),
}


@engines
@both
@pytest.mark.parametrize("files", AGREE.values(), ids=AGREE)
def test_parquet_files_of_other_schemas_are_read_together(tmp_path, engine, bins, files):
    source = write(tmp_path, a=files[0], b=files[1])
    found = ask(source, engine, bins=bins)
    assert found == (tn.tally([0, 1], [0.25, 0.75]) if bins is None else tn.binned([0, 1], [0.25, 0.75]))
    twice = ask([tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "a.parquet"], engine, bins=bins)
    assert twice.n == 3


@engines
@both
def test_a_file_that_lacks_a_column_is_named(tmp_path, engine, bins):
    source = write(tmp_path, a={"p": [0.25], "y": [0], "g": [1]}, b={"p": [0.75], "y": [1]})
    with pytest.raises(tn.InputError, match=r"`by` names no column 'g' in '.*b\.parquet'; the columns are 'p', 'y'"):
        ask(source, engine, bins=bins, by="g")
    source = write(tmp_path, a="p,y\n0.25,0\n", b="p,Y\n0.75,1\n")
    with pytest.raises(tn.InputError, match=r"`label` names no column 'y' in '.*b\.csv'; the columns are 'p', 'Y'"):
        ask(source, engine, bins=bins)


def test_text_beside_numbers_is_refused(tmp_path):
    source = write(tmp_path, a={"p": [0.25], "y": [0], "g": [1]}, b={"p": [0.75], "y": [1], "g": ["1"]})
    message = (
        r"`by` column 'g' must have one type in all files; it is Int64 in '.*a\.parquet' and String in '.*b\.parquet'"
    )
    with pytest.raises(tn.InputError, match=message):
        ask(source, "polars", by="g")


@engines
@both
def test_text_files_are_read_by_name(tmp_path, engine, bins):
    source = write(tmp_path, a="p,q,y\n0.25,0.9,0\n", b="q,y,p,z\n0.9,1,0.75,a\n")
    found = ask(source, engine, bins=bins)
    assert found == (tn.tally([0, 1], [0.25, 0.75]) if bins is None else tn.binned([0, 1], [0.25, 0.75]))


SAME = {
    "byte order mark": "\ufeffp,y\n0.25,0\n0.75,1\n",
    "quoted numbers": 'p,y\n"0.25","0"\n"0.75","1"\n',
    "quoted header": '"p","y"\n0.25,0\n0.75,1\n',
    "CRLF": "p,y\r\n0.25,0\r\n0.75,1\r\n",
    "no last line end": "p,y\n0.25,0\n0.75,1",
    "exponents": "p,y\n25e-2,0\n7.5E-1,1\n",
    "booleans": "p,y\n0.25,False\n0.75,True\n",
    "compressed": gzip.compress(b"p,y\n0.25,0\n0.75,1\n"),
}


@engines
@both
@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_ways_to_write_the_same_rows(tmp_path, engine, bins, text):
    path = tmp_path / ("rows.csv.gz" if isinstance(text, bytes) else "rows.csv")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = ask(path, engine, bins=bins)
    assert found == (tn.tally([0, 1], [0.25, 0.75]) if bins is None else tn.binned([0, 1], [0.25, 0.75]))


REFUSED = {
    "a name twice": ("p,y,y\n0.25,0,1\n", r"`label` must name one column; '.*rows\.csv' has 2 columns named 'y'"),
    "no header": ("0.25,0\n0.75,1\n", "`label` names no column 'y'"),
    "nothing": ("", r"'.*rows\.csv' must have a header in its first line; there is none|rows\.csv is empty\.$"),
    "empty lines": ("\n\n", r"must have a header in its first line|names no column|rows\.csv is empty\.$"),
    "NA": (
        "p,y\n0.25,0\nNA,1\n",
        {
            "duckdb": r"rows\.csv' cannot be read: .*NA",
            "polars": "`prob` column 'p' must not have missing values; 1 of 2",
        },
    ),
    "an empty score": ("p,y\n0.25,0\n,1\n", "`prob` column 'p' must not have missing values; 1 of 2"),
    "nan": ("p,y\n0.25,0\nnan,1\n", "`prob` column 'p' must not have missing values; 1 of 2"),
    "an empty label": ("p,y\n0.25,0\n0.75,\n", "`label` column 'y' must not have missing values; 1 of 2"),
    "thousands": (
        'p,y\n"1,000",0\n',
        {
            "duckdb": r"rows\.csv' cannot be read: .*1,000",
            "polars": r"rows\.csv: column 'p' must hold numbers; line 2 has '1,000'",
        },
    ),
    "semicolons": ("p;y\n0.25;0\n", "`label` names no column 'y'.*p;y"),
    "late text in scores": (
        "p,y\n" + "0.5,1\n" * 150_000 + "oops,1\n",
        {
            "duckdb": r"rows\.csv' cannot be read: .*oops",
            "polars": r"rows\.csv: column 'p' must hold numbers; line 150002 has 'oops'",
        },
    ),
    "late text in labels": (
        "p,y\n" + "0.5,1\n" * 150_000 + "0.5,oops\n",
        {"duckdb": r"rows\.csv' cannot be read: .*oops", "polars": r"must be 0 or 1; it holds strings \('1', 'oops'\)"},
    ),
    "bytes of another encoding": (
        b"p,y\n0.25,0\n0.75\xe9,1\n",
        {"duckdb": r"rows\.csv' cannot be read: ", "polars": r"rows\.csv, line 3: column 'p' is not UTF-8"},
    ),
}


@engines
@both
@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_text_that_cannot_be_read_says_so(tmp_path, engine, bins, text, message):
    path = tmp_path / "rows.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(tn.InputError, match=message if isinstance(message, str) else message[engine]):
        ask(path, engine, bins=bins)


COMPRESSED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@both
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "arrow", *(f"csv.{name}" for name in COMPRESSED)])
def test_every_format_of_the_command_is_scanned(tmp_path, bins, suffix):
    kind, _, compression = suffix.partition(".")
    columns = {"p": np.array([0.25, 0.75]), "y": np.array([0, 1]), "g": np.array(["a", "b"])}
    path = write_columns(tmp_path / f"x.{kind}", columns)
    if compression:
        path = tmp_path / f"x.{suffix}"
        path.write_bytes(COMPRESSED[compression]((tmp_path / "x.csv").read_bytes()))
    assert ask(path, "auto", bins=bins) == ask(pl.DataFrame(columns), "auto", bins=bins)
    assert {key: sums.n for key, sums in ask(path, "polars", by="g").items()} == {"a": 1, "b": 1}


def test_text_is_scanned_as_the_command_reads_it(tmp_path):
    assert ask(write(tmp_path, a="p , y\n\n0.25,0\n\n 0.75,1\n"), "polars") == tn.binned([0, 1], [0.25, 0.75])
    with pytest.raises(tn.InputError, match=r"b\.csv, line 3, has 1 cells where the header has 2"):
        ask(write(tmp_path, b="p,y\n0.25,0\n0.75\n"), "polars", missing="drop")


def test_labels_of_one_kind_are_demanded_of_all_files(tmp_path):
    write(tmp_path, a="p,y\n0.25,0\n", b="p,y\n0.25,yes\n")
    with pytest.raises(tn.InputError, match=r"b\.csv: column 'y' must hold labels of one type"):
        ask([tmp_path / "a.csv", tmp_path / "b.csv"], "polars")


def test_duckdb_says_what_it_does_not_read(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"p": 0.5, "y": 1}\n')
    with pytest.raises(tn.InputError, match="`engine` must be 'polars' for such files; DuckDB reads Parquet and CSV"):
        ask(tmp_path / "x.jsonl", "duckdb")


@engines
def test_a_header_alone_is_no_rows(tmp_path, engine):
    assert ask(write(tmp_path, a="p,y\n"), engine).n == 0


@engines
def test_groups_of_a_text_file_are_what_stands_there(tmp_path, engine):
    source = write(tmp_path, a="p,y,g\n" + "0.25,0,7\n" * 200_000 + "0.75,1,007\n0.75,1,x\n")
    assert {key: sums.n for key, sums in ask(source, engine, by="g").items()} == {"7": 200_000, "007": 1, "x": 1}


@engines
def test_labels_said_as_text_are_compared_as_text(tmp_path, engine):
    source = write(tmp_path, a="p,y\n0.25,no\n0.75,yes\n")
    assert ask(source, engine, pos_label="yes") == tn.binned([0, 1], [0.25, 0.75])
    source = write(tmp_path, a="p,y\n0.25,0\n0.75,1\n")
    assert ask(source, engine, labels=["0", "1"]) == tn.binned([0, 1], [0.25, 0.75])
