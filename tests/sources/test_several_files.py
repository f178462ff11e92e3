"""Several files are one data set: the same numbers as one file of all their rows, or an error that says why not."""

import itertools
import json

import pytest
from tables_on_disk import FORMATS, write_columns

from trueness.sources import _compression

VERBS = {
    "report": ["--prob", "p", "--format", "text"],
    "measure": ["--prob", "p", "--by", "region", "--no-intervals"],
    "test": ["--prob", "p", "--cluster", "who"],
    "compare": ["--prob", "p", "--prob", "q"],
    "gate": ["--prob", "p", "--max-ece", "0.9"],
    "plot": ["--prob", "p"],
    "fit": ["--prob", "p"],
}


def parts(columns, *cuts):
    ends = [0, *cuts, len(columns["y"])]
    return [{name: v[a:b] for name, v in columns.items()} for a, b in itertools.pairwise(ends)]


def written(folder, kind, pieces):
    names = [f"{i}.{kind}" for i in range(len(pieces))]
    for name, piece in zip(names, pieces, strict=True):
        write_columns(folder / name, piece)
    return names


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("verb", VERBS)
def test_files_give_what_one_file_of_all_rows_gives(call, grouped, tmp_path, verb, kind):
    names = written(tmp_path, kind, parts(grouped, 100, 350))
    write_columns(tmp_path / f"all.{kind}", grouped)
    one = call(verb, f"all.{kind}", *VERBS[verb])
    several = call(verb, *names, *VERBS[verb])
    assert several.exit_code == 0, several.stderr
    shown = f"0.{kind}, 1.{kind} and 2.{kind}"
    fitted = f"trueness fit 0.{kind} 1.{kind} 2.{kind} "  # the command that a report recommends
    said = " ".join(several.stdout.split()).replace(shown, f"all.{kind}").replace(fitted, f"trueness fit all.{kind} ")
    assert said == " ".join(one.stdout.split())
    counts = f"0.{kind} 100, 1.{kind} 250, 2.{kind} 250"
    assert f"note: 3 files, 600 rows in all: {counts}.\n" in several.stderr
    assert "files" not in one.stderr


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_are_streamed_one_after_the_other(call, grouped, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(_compression, "BLOCK_BYTES", 1_000)
    names = written(tmp_path, kind, parts(grouped, 100, 350))
    given = ["measure", *names, "--prob", "p", "--format", "csv", "--no-intervals"]
    found = call(*given, "--stream")
    assert found.stdout == call(*given).stdout
    assert "note: 3 files, 600 rows in all" in found.stderr


def test_formats_may_differ_and_columns_come_in_any_order(call, grouped, tmp_path):
    first, second, third = parts(grouped, 100, 350)
    write_columns(tmp_path / "a.csv", first)
    write_columns(tmp_path / "b.parquet", dict(reversed(second.items())))
    write_columns(tmp_path / "c.jsonl", third)
    write_columns(tmp_path / "all.csv", grouped)
    given = ["--prob", "p", "--by", "region", "--format", "csv"]
    assert (
        call("measure", "--no-intervals", "a.csv", "b.parquet", "c.jsonl", *given).stdout
        == call("measure", "--no-intervals", "all.csv", *given).stdout
    )


def test_a_pattern_that_the_shell_left_alone_is_expanded(call, fails, grouped, tmp_path):
    written(tmp_path, "csv", parts(grouped, 100))
    assert "note: 2 files, 600 rows" in call("measure", "--no-intervals", "[01].csv", "--prob", "p").stderr
    assert "note: 2 files, 600 rows" in call("measure", "--no-intervals", str(tmp_path / "*.csv"), "--prob", "p").stderr
    assert fails("measure", "*.tsv") == "No file fits the pattern '*.tsv'."


def test_a_file_with_magic_letters_in_its_name_is_that_file(call, grouped, tmp_path):
    write_columns(tmp_path / "[01].csv", grouped)
    assert call("measure", "--no-intervals", "[01].csv", "--prob", "p").exit_code == 0


def test_a_column_that_one_file_lacks_is_named_with_the_file(fails, tmp_path):
    (tmp_path / "a.csv").write_text("y,p,q\n0,0.5,0.5\n")
    (tmp_path / "b.csv").write_text("y,p\n0,0.5\n")
    lacking = "Files must have the same columns to be one data set; b.csv has no column 'q', which a.csv has."
    assert fails("measure", "a.csv", "b.csv") == lacking
    assert fails("measure", "b.csv", "a.csv") == lacking


def test_a_file_given_twice_is_refused(fails, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n")
    assert fails("measure", "a.csv", "a.csv") == "'a.csv' is given twice: its rows would count twice."
    assert (
        fails("measure", "a.csv", "./a.csv") == "'./a.csv' is given twice, also as 'a.csv': its rows would count twice."
    )


def test_one_bad_file_is_named(fails, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n")
    (tmp_path / "b.csv").write_text("")
    assert fails("measure", "a.csv", "b.csv") == "b.csv is empty."
    (tmp_path / "b.csv").write_text("y,p\n0,x\n")
    assert fails("measure", "a.csv", "b.csv").startswith("b.csv: column 'p' must hold numbers; line 2 has 'x'.")
    assert fails("measure", "a.csv", "c.csv") == "There is no file 'c.csv'."


@pytest.mark.parametrize("way", [[], ["--stream"]])
def test_a_bad_row_is_located_in_its_file(fails, tmp_path, way):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n1,0.5\n")
    (tmp_path / "b.csv").write_text("y,p\n0,0.5\n1,NA\n0,55\n")
    message = fails("measure", "a.csv", "b.csv", "--missing", "drop", *way)
    assert message.startswith("a.csv and b.csv: Column 'p' must lie in [0, 1];")
    assert "the first is 55 at line 4 of b.csv." in message


@pytest.mark.parametrize("way", [[], ["--stream"]])
def test_labels_of_two_kinds_are_refused(fails, tmp_path, way):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n1,0.5\n")
    (tmp_path / "b.csv").write_text("y,p\nno,0.5\nyes,0.5\n")
    message = "Column 'y' must hold one kind of values; a.csv has numbers and b.csv has text."
    assert fails("measure", "a.csv", "b.csv", *way) == message


def test_ids_that_are_numbers_in_one_file_alone_are_text_in_all(call, tmp_path):
    def lines(ids):
        return "y,p,who\n" + "".join(f"{i % 2},{0.1 + i / 50:.2f},{who}\n" for i, who in enumerate(ids))

    ids = [str(i // 2) for i in range(20)]
    more = [*ids[:10], *(f"x{i}" for i in range(10))]
    (tmp_path / "a.csv").write_text(lines(ids))
    (tmp_path / "b.csv").write_text(lines(more))
    (tmp_path / "all.csv").write_text(lines(ids) + lines(more).partition("\n")[2])
    given = ["--cluster", "who", "--max-ece", "0.9", "--format", "csv"]
    assert call("gate", "a.csv", "b.csv", *given).stdout == call("gate", "all.csv", *given).stdout


def test_a_file_whose_labels_are_all_missing_says_nothing_of_their_kind(call, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\nno,0.5\nyes,0.5\n")
    (tmp_path / "b.csv").write_text("y,p\nNA,0.5\n")
    (tmp_path / "c.csv").write_text("y,p\n")
    found = call(
        "measure",
        "--no-intervals",
        "a.csv",
        "b.csv",
        "c.csv",
        "--pos-label",
        "yes",
        "--missing",
        "drop",
        "--format",
        "csv",
    )
    assert "\nn,2\n" in found.stdout
    assert "1 of 3 rows have a missing value and were dropped" in found.stderr


def test_matrices_must_be_as_wide(fails, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"y": 0, "p": [0.5, 0.5]}\n')
    (tmp_path / "b.jsonl").write_text('{"y": 0, "p": [0.5, 0.2, 0.3]}\n')
    assert "Column 'p' must have the same shape in all files" in fails("measure", "a.jsonl", "b.jsonl")


def test_standard_input_may_be_one_of_them(call, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n")
    found = call("measure", "--no-intervals", "a.csv", "-", "--format", "json", stdin="y,p\n1,0.7\n")
    assert json.loads(found.stdout)["data"]["source"] == "a.csv and standard input"
    assert json.loads(found.stdout)["models"][0]["measures"]["n"] == 2


def test_no_file_is_written_over(fails, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n0,0.5\n")
    (tmp_path / "b.csv").write_text("y,p\n1,0.5\n")
    assert "is the file that is read" in fails("measure", "a.csv", "b.csv", "-o", "b.csv")


def test_apply_takes_one_file(call, tmp_path):
    found = call("apply", "a.csv", "b.csv", "--calibrator", "map.json")
    assert found.exit_code == 2
    assert "apply takes one FILE; got 2. Run it once for each." in " ".join(found.stderr.split())


def test_many_files_have_a_short_name(call, grouped, tmp_path):
    names = written(tmp_path, "csv", parts(grouped, *range(50, 600, 50)))
    found = call("measure", "--no-intervals", *names, "--prob", "p")
    assert "Data: 0.csv, 1.csv and 10 more files, labels 'y'." in found.stdout


def test_a_column_that_is_taken_for_a_file_is_called_that(fails, tmp_path):
    (tmp_path / "a.csv").write_text("y,p,q\n0,0.5,0.5\n")
    message = "There is no file 'q'. If it is a column: `--prob` and `--by` take one name, and are repeated for more."
    assert fails("compare", "a.csv", "--prob", "p", "q") == message


def test_a_folder_is_refused_with_a_pattern_of_its_files(fails, tmp_path):
    (tmp_path / "days").mkdir()
    assert fails("measure", "days") == "'days' is a folder; name files in it, as 'days/*.csv' does."
