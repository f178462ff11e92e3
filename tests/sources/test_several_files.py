"""Several files are one data set: the same numbers as one file of all their rows, or an error that says why not."""

import itertools
import json

import numpy as np
import pytest
from tables_on_disk import FORMATS, write_columns

VERBS = {
    "report": ["--prob", "p", "--format", "text", "--no-intervals"],
    "measure": ["--prob", "p", "--by", "region", "--no-intervals"],
    "test": ["--prob", "p", "--cluster", "who"],
    "compare": ["--prob", "p", "--prob", "q"],
    "gate": ["--prob", "p", "--max-ece", "0.9"],
    "plot": ["--prob", "p"],
    "fit": ["--prob", "p"],
}
# Each verb and each format once in the fast run.
ONCE = [
    ("measure", "csv"),
    ("test", "tsv"),
    ("compare", "parquet"),
    ("gate", "arrow"),
    ("plot", "jsonl"),
    ("fit", "npz"),
]
ONCE += [("gate", "npy")]
OTHERS = sorted({*itertools.product(VERBS, FORMATS)} - {*ONCE})
PAIRS = [*ONCE, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in OTHERS)]


def parts(columns, *cuts):
    ends = [0, *cuts, len(columns["y"])]
    return [{name: v[a:b] for name, v in columns.items()} for a, b in itertools.pairwise(ends)]


def written(folder, kind, pieces):
    names = [f"{i}.{kind}" for i in range(len(pieces))]
    for name, piece in zip(names, pieces, strict=True):
        write_columns(folder / name, piece)
    return names


@pytest.mark.parametrize(("verb", "kind"), PAIRS)
def test_files_give_what_one_file_of_all_rows_gives(call, grouped, tmp_path, verb, kind):
    names = written(tmp_path, kind, parts(grouped, 100, 350))
    write_columns(tmp_path / f"all.{kind}", grouped)
    one = call(verb, f"all.{kind}", *VERBS[verb])
    several = call(verb, *names, *VERBS[verb])
    assert several.exit_code == 0, several.stderr
    shown = f"0.{kind}, 1.{kind} and 2.{kind}"
    fitted = f"trueness fit 0.{kind} 1.{kind} 2.{kind} "  # the command that a report recommends
    said = (
        " ".join(several.stdout.split())
        .replace(shown, f"all.{kind}")
        .replace(fitted, f"trueness fit all.{kind} ")
    )
    assert said == " ".join(one.stdout.split())
    counts = f"0.{kind} 100, 1.{kind} 250, 2.{kind} 250"
    assert f"note: 3 files, 600 rows in all: {counts}.\n" in several.stderr
    assert "files" not in one.stderr


def test_formats_may_differ_and_columns_come_in_any_order(call, grouped, tmp_path):
    first, second, third, fourth = parts(grouped, 100, 350, 500)
    write_columns(tmp_path / "a.csv", first)
    write_columns(tmp_path / "b.parquet", dict(reversed(second.items())))
    write_columns(tmp_path / "c.jsonl", third)
    write_columns(tmp_path / "d.npz", fourth)
    write_columns(tmp_path / "all.csv", grouped)
    for more in (["--by", "region"], ["--stream"]):
        given = ["measure", "--no-intervals", "--prob", "p", "--format", "csv", *more]
        found = call(*given, "a.csv", "b.parquet", "c.jsonl", "d.npz")
        assert found.stdout == call(*given, "all.csv").stdout, found.stderr


def test_a_pattern_that_the_shell_left_alone_is_expanded(call, fails, grouped, tmp_path):
    written(tmp_path, "csv", parts(grouped, 100))
    for pattern in ("[01].csv", str(tmp_path / "*.csv")):
        assert (
            "note: 2 files, 600 rows"
            in call("measure", "--no-intervals", pattern, "--prob", "p").stderr
        )
    assert fails("measure", "*.tsv") == "No file fits the pattern '*.tsv'."
    write_columns(tmp_path / "[01].csv", grouped)
    assert "files" not in call("measure", "--no-intervals", "[01].csv", "--prob", "p").stderr


def test_files_that_do_not_fit_together_are_named(call, fails, tmp_path):
    files = {
        "a.csv": "y,p,q\n0,0.5,0.5\n",
        "b.csv": "y,p\n0,0.5\n",
        "c.csv": "y,p\n0,x\n",
        "d.csv": "",
        "e.csv": "y,p\nno,0.5\nyes,0.5\n",
        "f.jsonl": '{"y": 0, "p": [0.5, 0.5]}\n',
        "g.jsonl": '{"y": 0, "p": [0.5, 0.2, 0.3]}\n',
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    lacking = "Files must have the same columns to be one data set; b.csv has no column 'q', which a.csv has."
    for names, message in (
        (["a.csv", "b.csv"], lacking),
        (["b.csv", "a.csv"], lacking),
        (["b.csv", "c.csv"], "c.csv: column 'p' must hold numbers; it holds 'x'."),
        (["b.csv", "d.csv"], "d.csv is empty."),
        (["b.csv", "nowhere.csv"], "There is no file 'nowhere.csv'."),
        (
            ["b.csv", "e.csv"],
            "column 'y' must have one type in all files; it is Int64 in 'b.csv' and String in 'e.csv'.",
        ),
        (
            ["f.jsonl", "g.jsonl"],
            "f.jsonl and g.jsonl: column 'p' must hold numbers, or lists of one length; they are mixed.",
        ),
        (["b.csv", "b.csv"], "'b.csv' is given twice: its rows would count twice."),
        (
            ["b.csv", "./b.csv"],
            "'./b.csv' is given twice, also as 'b.csv': its rows would count twice.",
        ),
    ):
        assert fails("measure", *names) == message
    assert "is the file that is read" in fails("measure", "b.csv", "e.csv", "-o", "e.csv")
    assert (
        "apply takes one FILE; got 2"
        in call("apply", "a.csv", "b.csv", "--calibrator", "map.json").stderr
    )


@pytest.mark.parametrize("way", [[], ["--stream"]])
def test_a_bad_row_is_located_in_its_file(fails, tmp_path, way):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n1,0.5\n")
    (tmp_path / "b.csv").write_text("y,p\n0,0.5\n1,NA\n0,55\n")
    message = fails("measure", "a.csv", "b.csv", "--missing", "drop", *way)
    assert message.startswith("a.csv and b.csv: Column 'p' must lie in [0, 1];")
    assert "the first is 55 at row 2 of b.csv." in message


def test_ids_that_are_numbers_in_one_file_alone_are_text_in_all(call, tmp_path):
    def lines(ids):
        return "y,p,who\n" + "".join(
            f"{i % 2},{0.1 + i / 50:.2f},{who}\n" for i, who in enumerate(ids)
        )

    ids = [str(i // 2) for i in range(20)]
    more = [*ids[:10], *(f"x{i}" for i in range(10))]
    (tmp_path / "a.csv").write_text(lines(ids))
    (tmp_path / "b.csv").write_text(lines(more))
    (tmp_path / "all.csv").write_text(lines(ids) + lines(more).partition("\n")[2])
    columns = {
        "y": np.arange(20) % 2,
        "p": (0.1 + np.arange(20) / 50).round(2),
        "who": np.arange(20) // 2,
    }
    write_columns(tmp_path / "a.parquet", columns)
    given = ["--cluster", "who", "--max-ece", "0.9", "--format", "csv"]
    wanted = call("gate", "all.csv", *given).stdout
    assert call("gate", "a.csv", "b.csv", *given).stdout == wanted
    assert call("gate", "a.parquet", "b.csv", *given).stdout == wanted


def test_a_file_whose_labels_are_all_missing_says_nothing_of_their_kind(call, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\nno,0.5\nyes,0.5\n")
    (tmp_path / "b.csv").write_text("y,p\nNA,0.5\n")
    (tmp_path / "c.csv").write_text("y,p\n")
    given = ["--pos-label", "yes", "--missing", "drop", "--format", "csv"]
    found = call("measure", "--no-intervals", "a.csv", "b.csv", "c.csv", *given)
    assert "\nn,2\n" in found.stdout
    assert "1 of 3 rows has a missing value and was dropped" in found.stderr


def test_standard_input_may_be_one_of_them(call, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n")
    found = call(
        "measure", "--no-intervals", "a.csv", "-", "--format", "json", stdin="y,p\n1,0.7\n"
    )
    assert json.loads(found.stdout)["data"]["source"] == "a.csv and standard input"
    assert json.loads(found.stdout)["models"][0]["measures"]["n"] == 2
