"""The output of a command in four forms; names in it are text."""

import csv
import io
import json

import numpy as np
import pytest
from tables_on_disk import write_columns

HOSTILE = [
    "[bold]x[/bold]",
    "\x1b[31mred",
    "a|b",
    "<script>",
    "line\nbreak",
    "\u202eback",
    "=1+1",
    "x" * 300,
]
FORMS = ["table", "markdown", "csv", "json"]


@pytest.fixture
def written(call, tmp_path):
    """A measure of models of hostile names, in any form."""
    columns = {"y": np.arange(40) % 2} | {name: np.linspace(0.1, 0.9, 40) for name in HOSTILE}
    write_columns(tmp_path / "x.parquet", columns)
    named = [word for name in HOSTILE for word in ("--prob", name)]
    return lambda form: (
        call("measure", "--no-intervals", "x.parquet", *named, "--format", form).stdout
    )


@pytest.mark.parametrize("form", FORMS)
def test_no_control_character_is_printed(written, form):
    assert not [c for c in written(form) if c != "\n" and not c.isprintable()]


def test_names_are_text_in_markdown_and_whole_in_json_and_csv(written):
    text = written("markdown")
    assert r"\<script\>" in text
    assert r"a\|b" in text
    assert [model["name"] for model in json.loads(written("json"))["models"]] == HOSTILE
    assert "x" * 300 in written("csv")
    assert "x" * 33 not in written("table").split("\n\n")[0]


def test_a_table_is_aligned_and_followed_by_its_notes(call):
    rows = "y,p,longer\n" + "0,0.2,0.3\n1,0.7,0.6\n" * 10
    given = ["-", "--prob", "p", "--prob", "longer", "--label", "y"]
    head, first, *rest = call("measure", "--no-intervals", *given, stdin=rows).stdout.splitlines()
    assert head.split() == ["measure", "p", "longer", "meaning"]
    assert first.split() == ["rows", "20", "20"]
    assert first.index("20") + 1 == head.index(" p ") + 1
    assert "Data: standard input, labels 'y'." in "\n".join(rest)


def test_what_is_not_a_number_is_null_empty_or_a_dash(call):
    rows = "y,p\n" + "1,0.7\n" * 30  # all labels are equal: no slope
    given = ["measure", "--no-intervals", "-"]
    data = json.loads(call(*given, "--format", "json", stdin=rows).stdout)["models"][0]["measures"]
    assert data["slope"] is None
    lines = {
        line[0]: line[1]
        for line in csv.reader(io.StringIO(call(*given, "--format", "csv", stdin=rows).stdout))
    }
    assert lines["slope"] == ""
    table = call(*given, stdin=rows).stdout
    assert next(line for line in table.splitlines() if line.startswith("slope")).split()[1] == "-"


@pytest.mark.parametrize(
    ("name", "form"),
    [("m.md", "markdown"), ("m.csv", "csv"), ("m.json", "json"), ("m.txt", "table")],
)
def test_the_name_of_the_output_tells_its_form(call, tmp_path, name, form):
    rows = "y,p\n" + "0,0.2\n1,0.7\n" * 10
    given = ["measure", "--no-intervals", "-"]
    assert call(*given, "-o", name, stdin=rows).exit_code == 0
    assert (tmp_path / name).read_text() == call(*given, "--format", form, stdin=rows).stdout


def test_outputs_that_cannot_be_written_are_refused_before_the_work(fails, tmp_path):
    rows = "y,p\n0,0.2\n1,0.7\n"
    (tmp_path / "x.csv").write_text(rows)
    for path, message in (
        ("x.csv", "`--output` 'x.csv' is the file that is read, and would be lost; name another."),
        (
            "nowhere/m.csv",
            "`--output` 'nowhere/m.csv' cannot be written: there is no folder 'nowhere'.",
        ),
        (str(tmp_path), f"`--output` must be a file; {str(tmp_path)!r} is a folder."),
        (
            "m.bin",
            "`--output` must end in .json, .md, .markdown, .csv or .txt, or `--format` must be given; got 'm.bin'.",
        ),
    ):
        assert fails("measure", "x.csv", "-o", path) == message


@pytest.fixture
def inputs(call, tmp_path):
    """Rows, a policy and the state of a watch, and their bytes."""
    (tmp_path / "x.csv").write_text("y,p\n" + "0,0.2\n1,0.7\n" * 50)
    (tmp_path / "policy.toml").write_text("max_ece = 0.9\n")
    call("watch", "state.json", "x.csv", "--label", "y", "--prob", "p")
    (tmp_path / "new.csv").write_text("y,p\n" + "0,0.3\n1,0.6\n" * 50)
    return {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        ("gate x.csv --max-ece 0.9", "--receipt", "x.csv"),
        ("gate x.csv --policy policy.toml", "--receipt", "policy.toml"),
        ("gate x.csv --policy policy.toml --format json", "-o", "policy.toml"),
        ("measure x*.csv", "-o", "x.csv"),
        ("watch state.json new.csv", "--page", "new.csv"),
        ("watch state.json new.csv", "--page", "state.json"),
        ("watch state.json", "--page", "state.json"),
        ("watch other.json new.csv --label y --prob p", "--page", "other.json"),
    ],
)
def test_no_output_replaces_a_file_that_is_read(fails, inputs, command, option, name):
    named = option.replace("-o", "--output")
    assert fails(*command.split(), option, name) == (
        f"`{named}` {name!r} is the file that is read, and would be lost; name another."
    )
    for path, content in inputs.items():
        assert path.read_bytes() == content


def test_the_receipt_does_not_replace_the_output(fails, inputs):
    words = ["gate", "x.csv", "--max-ece", "0.9", "--receipt", "r.json", "-o", "./r.json"]
    assert fails(*words) == "`--receipt` must not be the file of `--output`; got 'r.json'."


@pytest.mark.parametrize(
    ("command", "option"),
    [("gate x.csv --max-ece 0.9", "--receipt"), ("watch state.json new.csv", "--page")],
)
def test_the_option_that_named_the_file_is_the_one_that_is_blamed(fails, inputs, command, option):
    assert fails(*command.split(), option, "no/a.html") == (
        f"`{option}` 'no/a.html' cannot be written: there is no folder 'no'."
    )
