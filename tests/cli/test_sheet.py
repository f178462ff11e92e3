"""A sheet in four forms; names in it are text."""

import csv
import io
import json
import math

import pytest

from trueness.cli._sheet import Column, Sheet, rendered, stamped

HOSTILE = ["[bold]x[/bold]", "\x1b[31mred", "a|b", "<script>", "line\nbreak", "\u202eback", "=1+1", "x" * 300]


def sheet(names=("p",), shown=None):
    columns = [Column("model", "model", "name"), Column("value", "value", "fraction"), Column("p", "p", "pvalue")]
    rows = [{"model": name, "value": 0.25, "p": 0.04} for name in names]
    return Sheet(columns, rows, stamped(rows=rows), [f"About {names[0]}."], shown)


def test_a_table_is_aligned_and_followed_by_its_notes():
    assert rendered(sheet(["p", "longer"]), "table").splitlines() == [
        "model    value     p",
        "p       0.2500  0.04",
        "longer  0.2500  0.04",
        "",
        "About p.",
    ]


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json"])
def test_no_control_character_is_printed(form):
    assert not [c for c in rendered(sheet(HOSTILE), form) if c != "\n" and not c.isprintable()]


def test_names_are_text_in_markdown_and_whole_in_json():
    text = rendered(sheet(HOSTILE), "markdown")
    assert r"\<script\>" in text
    assert r"a\|b" in text
    assert [row["model"] for row in json.loads(rendered(sheet(HOSTILE), "json"))["rows"]] == HOSTILE


def test_a_long_name_is_cut_in_a_table_only():
    assert "x" * 33 not in rendered(sheet(HOSTILE), "table").split("\n\n")[0]
    assert "x" * 300 in rendered(sheet(HOSTILE), "csv")


def test_columns_without_values_are_left_out_of_a_table_and_empty_in_csv():
    one = Sheet([Column("a", "a", "count"), Column("b", "b", "pvalue")], [{"a": 1234, "b": None}], {})
    assert rendered(one, "table") == "    a\n1,234\n"
    assert list(csv.reader(io.StringIO(rendered(one, "csv")))) == [["a", "b"], ["1234", ""]]


def test_what_is_not_a_number_is_null_and_a_dash():
    one = Sheet(
        [Column("a", "a", "fraction"), Column("p", "p", "pvalue")], [{"a": math.nan, "p": math.nan}], {"a": math.nan}
    )
    assert rendered(one, "table") == "a  p\n-  -\n"
    assert json.loads(rendered(one, "json")) == {"a": None}
    assert rendered(one, "csv") == "a,p\n,\n"
