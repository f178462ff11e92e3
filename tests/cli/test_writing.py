"""The output of a command in four forms; names in it are text."""

import csv
import io
import json
import math

import pytest

from trueness._text.table import Column, Table
from trueness.cli._writing import Output, render

HOSTILE = ["[bold]x[/bold]", "\x1b[31mred", "a|b", "<script>", "line\nbreak", "\u202eback", "=1+1", "x" * 300]


def output(names=("p",)):
    columns = [Column("model", "model", "name"), Column("value", "value", "fraction"), Column("p", "p", "p")]
    rows = [{"model": name, "value": 0.25, "p": 0.04} for name in names]
    return Output(Table(columns, rows, [f"About {names[0]}."]), {"rows": rows})


def test_a_table_is_aligned_and_followed_by_its_notes():
    assert render(output(["p", "longer"]), "table").splitlines() == [
        "model    value     p",
        "p       0.2500  0.04",
        "longer  0.2500  0.04",
        "",
        "About p.",
    ]


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json"])
def test_no_control_character_is_printed(form):
    assert not [c for c in render(output(HOSTILE), form) if c != "\n" and not c.isprintable()]


def test_names_are_text_in_markdown_and_whole_in_json():
    text = render(output(HOSTILE), "markdown")
    assert r"\<script\>" in text
    assert r"a\|b" in text
    assert [row["model"] for row in json.loads(render(output(HOSTILE), "json"))["rows"]] == HOSTILE


def test_a_long_name_is_cut_in_a_table_only():
    assert "x" * 33 not in render(output(HOSTILE), "table").split("\n\n")[0]
    assert "x" * 300 in render(output(HOSTILE), "csv")


def test_columns_without_values_are_left_out_of_a_table_and_empty_in_csv():
    one = Output(Table([Column("a", "a", "count"), Column("b", "b", "p")], [{"a": 1234, "b": None}]), {})
    assert render(one, "table") == "    a\n1,234\n"
    assert list(csv.reader(io.StringIO(render(one, "csv")))) == [["a", "b"], ["1234", ""]]


def test_what_is_not_a_number_is_null_and_a_dash():
    columns = [Column("a", "a", "fraction"), Column("p", "p", "p")]
    one = Output(Table(columns, [{"a": math.nan, "p": math.nan}]), {"a": math.nan})
    assert render(one, "table") == "a  p\n-  -\n"
    assert json.loads(render(one, "json"))["a"] is None
    assert render(one, "csv") == "a,p\n,\n"


def test_details_stand_between_the_table_and_its_notes():
    one = output()
    more = Output(one.table, {}, details=[("More [of] it", Table([Column("b", "b")], [{"b": "x"}]))])
    assert render(more, "table").splitlines()[3:] == ["More [of] it", "", "b", "x", "", "About p."]
    assert r"More \[of\] it:" in render(more, "markdown")
