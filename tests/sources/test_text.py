"""CSV and JSON lines: what cells mean, and which lines are refused. The tally of a file shows every row of it."""

import json

import numpy as np
import pytest

import trueness as tn


@pytest.fixture
def tallied(call, tmp_path):
    """The sums of each distinct score in a file, for each group with ``--by``."""

    def run(content, *more, name="x.csv"):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        result = call(
            "tally",
            name,
            "--label",
            "y",
            "--prob",
            "p",
            "--bins",
            "distinct",
            "-o",
            "x.tally",
            *more,
        )
        assert result.exit_code == 0, result.stderr
        found = tn.Accumulator.load(tmp_path / "x.tally")
        return found.groups if "--by" in more else found.total

    return run


@pytest.fixture
def refused(fails, tmp_path):
    def run(content, *more, name="x.csv"):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return fails("tally", name, "--label", "y", "--prob", "p", "-o", "x.tally", *more)

    return run


def lines(*rows, key="y"):
    """JSON lines of values, each with a score."""
    return "".join(json.dumps({key: row, "p": 0.5}) + "\n" for row in rows)


def test_scores_are_read_to_the_last_bit(tallied):
    p = np.random.default_rng(0).random(2_000) ** 5
    wanted = tn.tally(np.ones(2_000), p)
    assert tallied("y,p\n" + "".join(f"1,{v!r}\n" for v in p.tolist())) == wanted
    assert tallied("".join(f'{{"y":1,"p":{v!r}}}\n' for v in p.tolist()), name="x.jsonl") == wanted


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["1", "0", "1"], []),
        (["1.0", "0.0", "1"], []),
        (["True", "false", "TRUE"], []),
        (["yes", "no", "yes"], ["--pos-label", "yes"]),
        ([" 1", "0 ", "1"], []),
        (["+1", "-1", "1"], ["--pos-label", "1"]),
        (["1_0", "2", "1_0"], ["--pos-label", "1_0"]),
        (["1", "no", "1"], ["--pos-label", "1"]),
        (["1", "0", "1", ""], ["--missing", "drop"]),
        (["a", "b", "a", "NA"], ["--missing", "drop", "--pos-label", "a"]),
        (["true", "false", "true", "null"], ["--missing", "drop"]),
    ],
)
def test_labels_have_the_simplest_type_that_holds_them_all(tallied, cells, options):
    assert tallied("y,p\n" + "".join(f"{c},0.5\n" for c in cells), *options) == tn.tally(
        [1, 0, 1], [0.5] * 3
    )


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfy,p\n0,0.1\n1,0.2\n",
        b"y,p\r\n0,0.1\r\n1,0.2\r\n",
        b"\n\ny,p\n\n0,0.1\n\n1,0.2\n,\n",
        b"y,p\n0,0.1\n1,0.2",
        b"y , p\n0, 0.1\n 1,0.2\n",
        b'"y","p"\n"0","0.1"\n"1","0.2"\n',
        b'y,text,p\n0,"a,\n""b",0.1\n1,c,0.2\n',
        b"y,text,p\n0,caf\xe9,0.1\n1,c,0.2\n",
        b"y,p,\n0,0.1,\n1,0.2,\n",
        b"text,text,y,p\na,b,0,0.1\nc,d,1,0.2\n",
        b'{"y": 0, "p": 0.1}\n\n{"p": 0.2, "y": 1, "more": {"p": 0.9}}\n',
        b'{"y": false, "p": 0.1}\n{"p": 0.2, "y": true}\n',
    ],
)
def test_ways_to_write_the_same_table(tallied, content):
    assert tallied(content) == tn.tally([0, 1], [0.1, 0.2])


@pytest.mark.parametrize(
    ("separator", "word"), [(";", ";"), ("\t", "tab"), ("\t", r"\t"), ("|", "|")]
)
def test_other_separators(tallied, separator, word):
    content = f"y{separator}p\n0{separator}0.5\n"
    assert tallied(content, "--separator", word, name="x.txt") == tn.tally([0], [0.5])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("y,p\n0,0.1\n1,x\n", "x.csv: column 'p' must hold numbers; it holds 'x'."),
        ('y,p\n0,"0,5"\n', "it holds '0,5'. `--decimal ,` reads decimal commas."),
        ("y,p\n0,1_0\n", "it holds '1_0'"),
        (
            "y,p\n0,0.1\n1\n",
            "x.csv, line 3, has 1 cells where the header has 2. Cells that hold the separator need",
        ),
        ("y,p,g\n0,0.1,\n1,0.2\n", "line 3, has 2 cells where the header has 3"),
        ("y,p\n0,0.1\n1,0.2,7\n", "x.csv cannot be read as text; found more fields"),
        ("y,p,g\n0,0.1,\n1,0.2,a\rb\n", "x.csv cannot be read as text; new-line character seen"),
        ('y,p,g\n0,0.1,a\n1,0.2,"b\n1,0.2,c\n', "x.csv cannot be read as text"),
        ('y,p,g\n0,0.1,a\n1,0.2,5" pipe\n1,0.2,5" pipe\n1,0.2,c\n', "x.csv cannot be read as text"),
        ("y,p,p\n0,0.1,0.2\n", "x.csv has 2 columns named 'p'."),
        (b"y,p\n\xe9,0.1\n", "x.csv is not UTF-8; convert it"),
        ("y,p\r0,0.1\r1,0.2\r", "x.csv has no column 'p'"),
        ("y,p\n", "x.csv has no rows"),
    ],
)
def test_lines_that_would_be_read_wrongly_are_refused(refused, content, message):
    assert message in refused(content)


def test_quotes_in_a_name_are_those_of_other_readers(call, tmp_path):
    (tmp_path / "x.csv").write_text('y,p,"the ""best"" g"\n' + "0,0.2,a\n1,0.7,b\n" * 40)
    assert call("segments", "x.csv", "--by", 'the "best" g').exit_code == 0


@pytest.mark.parametrize("name", ["", "^p$", "^p.*$", "*"])
def test_names_are_taken_literally(call, tmp_path, name):
    rows = "".join(f"{i % 2},{i / 100},{'ab'[i // 2 % 2]}\n" for i in range(100))
    (tmp_path / "x.csv").write_text(f"y,{name},g\n{rows}")
    (tmp_path / "g.csv").write_text(f"y,p,{name}\n{rows}")
    wanted = tn.sketch(np.arange(100) % 2, np.arange(100) / 100)
    for given in (["x.csv", "--prob", name, "--by", "g"], ["g.csv", "--prob", "p", "--by", name]):
        assert call("tally", *given, "--label", "y", "-o", "x.tally").exit_code == 0
        found = tn.Accumulator.load(tmp_path / "x.tally")
        assert (found.total, list(found.groups)) == (wanted, ["a", "b"])


def test_what_hides_the_columns_is_noticed(fails, tmp_path):
    (tmp_path / "x.csv").write_text("y;p\n0;0.1\n1;0.4\n")
    assert "say `--separator ';'`" in fails("measure", "x.csv")
    assert "must be one character" in fails("measure", "x.csv", "--separator", ";;")
    assert "first line must name the columns" in fails("measure", "-", stdin="0,0.1\n1,0.4\n")


def test_keys_that_come_late_or_are_left_out_are_missing_values(tallied):
    content = '{"y": 1}\n\n{"p": 0.5, "y": 0}\n{"y": 1, "p": null}\n'
    assert tallied(content, "--missing", "drop") == tn.tally([0], [0.5])


def test_lists_are_rows_of_a_matrix(call, multiclass, tmp_path):
    y, P = multiclass
    rows = zip(y.tolist(), P.tolist(), strict=True)
    (tmp_path / "x.ndjson").write_text(
        "".join(json.dumps({"y": a, "P": b}) + "\n" for a, b in rows)
    )
    found = json.loads(
        call("measure", "--no-intervals", "x.ndjson", "--prob", "P", "--format", "json").stdout
    )
    assert found["models"][0]["measures"]["ece_confidence"] == tn.ece(y, P, kind="confidence")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"y": 1, "p": 0.5}\n{"y": 1,', "x.jsonl cannot be read as JSON lines"),
        ('{"y": 1, "p": 0.5}\n[1, 2]\n', "x.jsonl must have one object per line"),
        (
            '[{"y": 1, "p": 0.5}]\n',
            "without brackets around them. `jq -c '.[]'` writes an array so.",
        ),
        ('{"y": 1, "p": "a"}\n', "column 'p' must hold numbers; it holds 'a'."),
        ('{"y": 1, "p": true}\n', "column 'p' must hold numbers; it holds 'true'."),
        ('{"y": 1, "p": {"a": 1}}\n', "column 'p' must hold numbers"),
        ('{"y": 1, "p": [1]}\n{"y": 1, "p": [1, 2]}\n', "lists of one length; they are mixed"),
        ('{"y": 1, "p": [0.5, 0.5]}\n{"y": 1, "p": 0.5}\n', "lists of one length; they are mixed"),
        (lines("a", 1), "must be 0 or 1; it holds strings"),
        (lines(True, 1), "must be 0 or 1; it holds strings"),
        ("{}\n", "x.jsonl has no columns"),
        (
            '{"y": "é", "p": 0.5}\n'.encode("latin-1"),
            "x.jsonl cannot be read as JSON lines; invalid utf8",
        ),
        ('{"y": 1, "p": NaN}\n', "JSON has no NaN: null is a missing value."),
        (
            b'\xef\xbb\xbf{"y": 1, "p": 0.5}\n',
            r"Leave out the byte order mark, as `sed '1s/^\xEF\xBB\xBF//'` does.",
        ),
        ('{"y": 1, "p": 1e400}\n', "x.jsonl cannot be read as JSON lines"),
    ],
)
def test_json_lines_that_would_be_read_wrongly_are_refused(refused, content, message):
    assert message in refused(content, name="x.jsonl")


@pytest.mark.parametrize(
    "line",
    [
        '{"y": 1, "p": 0.1, "p": 0.9}',
        '{"y": 1, "p": null, "p": 0.9}',
        '{"y": 1, "p" : 0.1, "p"\t: 0.1}',
    ],
)
def test_a_repeated_key_is_refused(refused, line):
    message = "x.jsonl has a line with the key 'p' more than once."
    assert refused('{"y": 0, "p": 0.5}\n' * 1200 + line + "\n", name="x.jsonl") == message


def test_apply_loses_no_repeated_key(call, fails, tmp_path):
    rows = "".join(json.dumps({"y": int(i % 5 < i / 40), "p": i / 200}) + "\n" for i in range(200))
    (tmp_path / "x.jsonl").write_text(rows + '{"y": 1, "p": 0.5, "q": 1, "q": 2}\n')
    assert call("fit", "x.jsonl", "-o", "map.json").exit_code == 0
    message = fails(
        "apply", "x.jsonl", "--prob", "p", "--calibrator", "map.json", "-o", "new.jsonl"
    )
    assert message == "x.jsonl has a line with the key 'q' more than once."
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.parametrize(
    ("cells", "groups"),
    [
        (
            ["9007199254740993", "9007199254740992", "1.5"],
            ["1.5", "9007199254740992", "9007199254740993"],
        ),
        (["1000000000000000000000000000001", "1000000000000000000000000000000"], None),
        (["1", "10", "2"], ["1", "10", "2"]),
        (['"1"', '"01"'], ["01", "1"]),
        (["true", "false"], ["false", "true"]),
        ([r'"\ud83d\ude00"', '"b"'], ["b", "\U0001f600"]),
    ],
)
def test_groups_of_json_lines_are_their_cells(tallied, call, cells, groups):
    content = "".join(f'{{"y": {y}, "p": 0.5, "g": {cell}}}\n' for cell in cells for y in (0, 1))
    found = tallied(content, "--by", "g", name="x.jsonl")
    assert sorted(found) == (groups or sorted(cells))
    assert all(sums.n == 2 for sums in found.values())
    shown = call("measure", "--no-intervals", "x.jsonl", "--by", "g", "--format", "csv").stdout
    assert all(f",{group}," in shown for group in found)
