"""``trueness grades``: a column or cut-offs, several models, groups, sums, formats, errors."""

import csv
import io
import json

import numpy as np
import pytest

import trueness as tn

COMMAND = ("grades", "loans.csv", "--label", "default", "--prob", "pd")
CUTS = {"A": 0.01, "B": 0.05, "C": 1.0}
TYPED = "A=0.01,B=0.05,C=1"


@pytest.fixture
def loans(tmp_path):
    """Labels and scores, which are also in loans.csv with their grade and region."""
    rng = np.random.default_rng(3)
    p = rng.beta(1, 40, 300).round(4)
    y = (rng.random(300) < p).astype(int)
    grade = np.array(list(CUTS))[np.digitize(p, [0.01, 0.05])]
    region = np.where(np.arange(300) % 3, "north", "south")
    lines = [f"{a},{b},{c},{d}" for a, b, c, d in zip(y, p, grade, region, strict=True)]
    (tmp_path / "loans.csv").write_text("\n".join(["default,pd,rating,region", *lines]) + "\n")
    return y, p


def test_the_table_is_the_librarys_in_every_format(call, loans):
    table = tn.grade_table(*loans, bins=CUTS)
    (found,) = json.loads(call(*COMMAND, "--bins", TYPED, "--format", "json").stdout)["tables"]
    assert found.pop("model") == "pd"
    assert found == json.loads(json.dumps(table.to_dict()).replace("NaN", "null"))
    lines = list(
        csv.DictReader(io.StringIO(call(*COMMAND, "--bins", TYPED, "--format", "csv").stdout))
    )
    assert [line["grade"] for line in lines] == ["A", "B", "C", "total"]
    assert [float(line["pvalue"]) for line in lines] == [
        one.pvalue for one in (*table, table.total)
    ]
    text = call(*COMMAND, "--bins", TYPED).stdout
    assert text.splitlines()[0].split()[:3] == ["grade", "n", "PD"]
    assert "red above the 99.9 % limit" in " ".join(text.split())
    assert "| grade | n | PD % |" in call(*COMMAND, "--bins", TYPED, "--format", "markdown").stdout


def test_a_column_of_grades_and_cut_offs_agree_and_groups_are_apart(call, loans):
    by_name = call(*COMMAND, "--grades", "rating", "--format", "csv").stdout
    assert by_name == call(*COMMAND, "--bins", TYPED, "--format", "csv").stdout
    groups = call(
        *COMMAND, "--grades", "rating", "--by", "region", "--correlation", "0.1", "--format", "json"
    ).stdout
    tables = json.loads(groups)["tables"]
    assert [one["group"] for one in tables] == ["north", "south"]
    assert sum(one["total"]["n"] for one in tables) == len(loans[0])
    assert {one["correlation"] for one in tables} == {0.1}


def test_options_reach_the_library(call, loans):
    options = [
        "--correlation",
        "0.2",
        "--portfolio",
        "finite",
        "--amber",
        "0.9",
        "--red",
        "0.99",
        "--level",
        "0.8",
    ]
    (found,) = json.loads(call(*COMMAND, "--bins", TYPED, *options, "--format", "json").stdout)[
        "tables"
    ]
    table = tn.grade_table(
        *loans, bins=CUTS, correlation=0.2, portfolio="finite", lights=(0.9, 0.99), level=0.8
    )
    assert found == json.loads(json.dumps(table.to_dict()).replace("NaN", "null")) | {"model": "pd"}


def test_a_note_names_the_option_in_the_words_of_the_command_line(call, tmp_path):
    (tmp_path / "few.csv").write_text("y,p\n" + "1,0.01\n" * 2 + "0,0.01\n" * 48)
    text = " ".join(call("grades", "few.csv", "--correlation", "0.12").stdout.split())
    assert "0.01 would be green (`--portfolio finite`)." in text


def test_a_file_of_sums_takes_the_place_of_rows(call, loans):
    for more in ((), ("--by", "region")):
        arguments = (
            "--label",
            "default",
            "--prob",
            "pd",
            "--bins",
            "distinct",
            *more,
            "-o",
            "x.tally",
        )
        assert call("tally", "loans.csv", *arguments).exit_code == 0
        tables = json.loads(call("grades", "x.tally", "--bins", TYPED, "--format", "json").stdout)[
            "tables"
        ]
        assert tables[0]["pvalue"] == tn.grade_table(*loans, bins=CUTS).to_dict()["pvalue"]
        assert [one.get("group") for one in tables] == (
            [None, "north", "south"] if more else [None]
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bins", "A=0.1,B=0.05,C=1"], "'B' has 0.05 after 'A' with 0.1."),
        (
            ["--bins", "A=0.1,A=1"],
            "`--bins` must have a different name for each grade; got 'A' twice.",
        ),
        (["--bins", "A=x"], "such as A=0.01,B=0.05,C=1; got 'A=x'."),
        (["--bins", "A=0.0001"], "Give the last grade the cut-off 1."),
        (["--bins", "=1"], "`--bins` must have a different name for each grade; got '=1'."),
        (
            ["--grades", "ratings"],
            "`--grades`: loans.csv has no column 'ratings'. Did you mean 'rating'?",
        ),
        (
            ["--grades", "A=0.1"],
            "`--grades` must name a column; got 'A=0.1'. Pass cut-offs with `--bins`.",
        ),
        ([], "`--grades` names a column of grades, `--bins A=0.01,B=0.1,C=1` cut-offs."),
    ],
)
def test_grades_that_make_no_sense(fails, loans, options, message):
    assert fails(*COMMAND, *options).endswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--bins", "3", "--amber", "0.999", "--red", "0.95"],
            "--amber must lie above 0 and below --red",
        ),
        (["--bins", "3", "--grades", "rating"], "Give --grades or --bins, not both."),
        (["--bins", "3", "--correlation", "1"], "1.0 is not in the range"),
    ],
)
def test_options_that_do_not_go_together(call, loans, options, message):
    result = call(*COMMAND, *options)
    assert result.exit_code == 2
    assert message in result.stderr
