"""CSV: Polars and the strict parser agree, and what neither can read is located."""

import json

import numpy as np
import pytest

from trueness.errors import InputError
from trueness.sources import _compression
from trueness.sources._csv import CsvFile


@pytest.fixture(params=["polars", "strictly"])
def read(request, tmp_path, monkeypatch):
    """Read a text with Polars where it can, or with the strict parser alone."""

    def strictly(self, block, names):
        return self._parse_strictly(block, names, [self.names.index(name) for name in names])

    if request.param == "strictly":
        monkeypatch.setattr(CsvFile, "_parse", strictly)

    def run(content: str | bytes, separator=",", label="y", numbers=("p",)):
        path = tmp_path / "x.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return CsvFile(path, "x.csv", separator).read([label], numbers)

    return run


def test_scores_are_read_to_the_last_bit(read):
    p = np.random.default_rng(0).random(2_000) ** 5
    found = read("y,p\n" + "".join(f"1,{v!r}\n" for v in p.tolist()))
    assert np.array_equal(found.numbers["p"], p)


@pytest.mark.parametrize(
    ("cells", "labels", "kind"),
    [
        (["0", "1", "1"], [0, 1, 1], "i"),
        (["0.0", "1.0", "1"], [0.0, 1.0, 1.0], "f"),
        (["True", "False", "true"], [True, False, True], "b"),
        (["yes", "no", "1"], ["yes", "no", "1"], "O"),
        ([" 1", "0 ", "1"], [1, 0, 1], "i"),
        (["-1", "+1", "1"], [-1, 1, 1], "i"),
        (["1_0", "2", "3"], ["1_0", "2", "3"], "O"),
        (["0", "", "1"], [0, np.nan, 1], "f"),
        (["a", "NA", "b"], ["a", None, "b"], "O"),
        (["true", "null", "false"], [True, None, False], "O"),
    ],
)
def test_labels_have_the_simplest_type_that_holds_them_all(read, cells, labels, kind):
    found = read("y,p\n" + "".join(f"{c},0.5\n" for c in cells)).labels["y"]
    assert found.dtype.kind == kind
    np.testing.assert_array_equal(found, np.array(labels, dtype=found.dtype))


def test_scores_that_become_fractions_late_are_read(read):
    cells = ["0"] * 3_000 + ["0.25"]
    assert read("y,p\n" + "".join(f"0,{c}\n" for c in cells)).numbers["p"][-1] == 0.25


def test_missing_cells_and_blank_lines_are_told_apart(read):
    found = read("y,p\n0,0.1\n\n1,NaN\n1,\n0,0.3\n\n")
    np.testing.assert_array_equal(found.numbers["p"], [0.1, np.nan, np.nan, 0.3])
    assert found.labels["y"].tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfy,p\n0,0.1\n1,0.2\n",
        b"y,p\r\n0,0.1\r\n1,0.2\r\n",
        b"y,p\r0,0.1\r1,0.2\r",
        b"\n\ny,p\r0,0.1\r1,0.2\r",
        b"\n\ny,p\n0,0.1\n \n1,0.2\n".replace(b" ", b""),
        b"y,p\n0,0.1\n1,0.2",
        b"y , p\n0, 0.1\n 1,0.2\n",
        b'"y","p"\n"0","0.1"\n"1","0.2"\n',
        b'y,text,p\n0,"a,\n""b",0.1\n1,c,0.2\n',
        b"y,text,p\n0,caf\xe9,0.1\n1,c,0.2\n",
        b"y,p,\n0,0.1,\n1,0.2,\n",
        b"text,text,y,p\na,b,0,0.1\nc,d,1,0.2\n",
    ],
    ids=[
        "bom",
        "crlf",
        "cr",
        "cr below blank lines",
        "blank lines",
        "no end",
        "spaces",
        "quotes",
        "text",
        "latin-1 elsewhere",
        "trailing",
        "double elsewhere",
    ],
)
def test_ways_to_write_the_same_table(read, content):
    found = read(content)
    assert found.labels["y"].tolist() == [0, 1]
    assert found.numbers["p"].tolist() == [0.1, 0.2]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators(read, separator):
    found = read(f"y{separator}p\n0{separator}0.5\n", separator)
    assert found.numbers["p"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("y,p\n0,0.1\n1,x\n", r"x\.csv: column 'p' must hold numbers; line 3 has 'x'\.$"),
        ("y,p\n0,50%\n", "say `--percent`"),
        ('y,p\n0,"0,5"\n', "`--decimal ,` reads decimal commas"),
        ("y,p\n0,1_0\n", "line 2 has '1_0'"),
        ("y,p\n0,0.1\n1\n", "line 3, has 1 cells where the header has 2"),
        ("y,p\n0,0.1\n1,0.2,7\n", "line 3, has 3 cells where the header has 2"),
        ("y,p\n0,0.1,8\n1,0.2,7\n", "line 2, has 3 cells"),
        ("y,p\r0,0.1\r0\r0,0.1\r", "line 3, has 1 cells"),
        ("y,p,\n0,0.1,\n1,0.2\n", "line 3, has 2 cells where the header has 3"),
        ("y,p,p\n0,0.1,0.2\n", "has 2 columns named 'p'"),
        (b"y,p\n\xe9,0.1\n", "line 2: column 'y' is not UTF-8; convert"),
    ],
)
def test_what_cannot_be_read_is_located(read, content, message):
    with pytest.raises(ValueError, match=message):
        read(content)


def test_a_separator_that_hides_the_columns_is_noticed(call, fails, tmp_path):
    (tmp_path / "x.csv").write_text("y;p\n0;0.1\n1;0.4\n")
    assert "say `--separator ';'`" in fails("measure", "x.csv")
    assert call("measure", "--no-intervals", "x.csv", "--separator", ";").exit_code == 0
    assert "must be one character" in fails("measure", "x.csv", "--separator", ";;")


def test_tab_can_be_written_as_a_word(call):
    for word in ("tab", r"\t", "\t"):
        assert (
            call("measure", "--no-intervals", "-", "--separator", word, stdin="y\tp\n0\t0.2\n1\t0.7\n").exit_code == 0
        )


def test_a_file_without_a_header_is_noticed(fails):
    assert "first line must name the columns" in fails("measure", "-", stdin="0,0.1\n1,0.4\n")


@pytest.mark.parametrize("name", ["", "^p$", "^p.*$", "*"])
def test_names_are_taken_literally(call, tmp_path, name):
    rows = "".join(f"{i % 2},{i / 100},{'ab'[i % 2]}\n" for i in range(100))
    (tmp_path / "x.csv").write_text(f"y,{name},g\n{rows}")
    (tmp_path / "plain.csv").write_text(f"y,p,g\n{rows}")
    found = call("measure", "--no-intervals", "x.csv", "--label", "y", "--prob", name, "--format", "json")
    assert found.exit_code == 0, found.stderr
    expected = json.loads(call("measure", "--no-intervals", "plain.csv", "--prob", "p", "--format", "json").stdout)
    assert json.loads(found.stdout)["models"][0]["measures"] == expected["models"][0]["measures"]
    assert call("tally", "x.csv", "--label", "y", "--prob", name, "-o", "x.tally").exit_code == 0


@pytest.mark.parametrize("name", ["", "^g$", "^p.*$"])
@pytest.mark.parametrize("verb", [["measure"], ["tally", "-o", "x.tally"]])
def test_names_of_groups_are_taken_literally(call, tmp_path, name, verb):
    rows = "".join(f"{i % 2},{i / 100},{'ab'[i // 2 % 2]}\n" for i in range(100))
    (tmp_path / "x.csv").write_text(f"y,p,{name}\n{rows}")
    found = call(verb[0], "x.csv", "--label", "y", "--prob", "p", "--by", name, *verb[1:])
    assert found.exit_code == 0, found.stderr


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("block", [1 << 23, 64])
@pytest.mark.parametrize("column", [0, 1])
def test_a_quote_left_open_is_refused_where_it_opens(tmp_path, monkeypatch, end, block, column):
    monkeypatch.setattr(_compression, "BLOCK_BYTES", block)
    rows = [["0.5", "a"] for _ in range(60)]
    rows[0][1] = '"two\nlines"'
    rows[3][column] = '"' + rows[3][column]
    (tmp_path / "x.csv").write_text("y,p,g\n" + "\n".join(f"1,{p},{g}" for p, g in rows) + end)
    with pytest.raises(InputError, match=r"^x\.csv, line 6, opens a quote that is not closed"):
        CsvFile(tmp_path / "x.csv", "x.csv", ",").read(["y"], ["p"])


def test_a_quote_left_open_in_the_header_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text('y,"p\n1,0.5\n0,0.5\n')
    with pytest.raises(InputError, match="line 1, opens a quote that is not closed"):
        CsvFile(tmp_path / "x.csv", "x.csv", ",")


@pytest.mark.parametrize("inches", [1, 2])
@pytest.mark.parametrize("block", [1 << 23, 64])
def test_inches_inside_a_cell_are_no_quotes(read, monkeypatch, inches, block):
    monkeypatch.setattr(_compression, "BLOCK_BYTES", block)
    lines = ["1,0.5,a\n"] * 40
    for at in (10, 20)[:inches]:
        lines[at] = '0,0.25,5" pipe\n'
    found = read("y,p,g\n" + "".join(lines)).numbers["p"]
    assert len(found) == 40
    assert (found == 0.25).sum() == inches


@pytest.mark.slow
def test_a_quote_left_open_late_in_a_large_file_is_found_in_bounded_time(fails, tmp_path):
    with (tmp_path / "x.csv").open("w") as file:
        file.write("y,p,g\n")
        file.write("1,0.25,abcdefgh\n" * 2_500_000)
        file.write('1,0.25,"abcdefgh\n')
        file.write("0,0.25,abcdefgh\n" * 500_000)
    message = fails("tally", "x.csv", "--prob", "p", "-o", "x.tally")
    assert message.startswith("x.csv, line 2500002, opens a quote that is not closed.")
