"""One table in every form; names in it are text."""

import csv
import io
import json
import math
from html.parser import HTMLParser

import pytest

from trueness._text.table import Cell, Column, Table

HOSTILE = ["[bold]x[/bold]", "\x1b[31mred", "a|b", "<script>", "line\nbreak", "\u202eback", "=1+1", "x" * 300]


def table(names=("p",), **fields):
    columns = [Column("model", "model", "name"), Column("value", "value", "fraction"), Column("p", "p", "p")]
    return Table.from_lines(columns, [(name, 0.25, 0.04) for name in names], notes=[f"About {names[0]}."], **fields)


def forms(one):
    return {
        "text": one.to_text(),
        "markdown": one.to_markdown(),
        "csv": one.to_csv(),
        "html": one.to_html(),
        "json": json.dumps(one.to_dict(), allow_nan=False),
    }


def test_a_terminal_table_is_aligned_and_followed_by_its_notes():
    assert table(["p", "longer"]).to_text().splitlines() == [
        "model    value     p",
        "p       0.2500  0.04",
        "longer  0.2500  0.04",
        "",
        "About p.",
    ]


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "html", "json"])
def test_no_control_character_is_written(form):
    assert not [c for c in forms(table(HOSTILE))[form] if c != "\n" and not c.isprintable()]


def test_names_are_text_in_markdown_and_whole_in_json():
    text = table(HOSTILE).to_markdown()
    assert r"\<script\>" in text
    assert r"a\|b" in text
    assert [row["model"] for row in table(HOSTILE).to_dict()] == HOSTILE


def test_names_are_text_in_html():
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(table(HOSTILE, caption='"><img src=x>').to_html())
    assert set(tags) == {"div", "table", "caption", "thead", "tr", "th", "tbody", "td", "bdi", "p"}


def test_rich_draws_names_as_text():
    rich = pytest.importorskip("rich.console")
    out = io.StringIO()
    rich.Console(file=out, width=200).print(table(HOSTILE).to_rich(200))
    assert "[bold]x[/bold]" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_rich_declines_a_table_that_is_too_wide():
    assert table(HOSTILE).to_rich(20) is None


def test_a_long_name_is_cut_in_a_terminal_only():
    assert "x" * 33 not in table(HOSTILE).to_text().split("\n\n")[0]
    assert "x" * 300 in table(HOSTILE).to_csv()
    assert "x" * 300 in table(HOSTILE).to_markdown()


def test_columns_without_values_are_left_out_of_a_table_and_empty_in_csv():
    one = Table([Column("a", "a", "count"), Column("b", "b", "p")], [{"a": 1234}])
    assert one.to_text() == "    a\n1,234\n"
    assert list(csv.reader(io.StringIO(one.to_csv()))) == [["a", "b"], ["1234", ""]]


def test_nan_is_a_dash_and_null_and_nothing():
    one = Table([Column("a", "a", "fraction"), Column("p", "p", "p")], [{"a": math.nan, "p": math.nan}])
    assert one.to_text() == "a  p\n-  -\n"
    assert one.to_dict() == [{"a": None, "p": None}]
    assert one.to_csv() == "a,p\n,\n"


def test_optional_columns_go_first_where_there_is_no_room():
    columns = [Column("a", "a"), Column("b", "b", optional=True)]
    one = Table(columns, [{"a": "x" * 10, "b": "y" * 20}])
    assert "y" in one.to_text(40)
    assert "y" not in one.to_text(20)


def test_columns_may_belong_to_tables_or_to_data():
    columns = [Column("a", "A", "text", "table"), Column("b", "B", "number", "data")]
    one = Table(columns, [{"a": "x", "b": 1 / 3}])
    assert one.to_text() == "A\nx\n"
    assert one.to_csv() == f"b\n{1 / 3!r}\n"


def test_numbers_are_plain_in_a_terminal_and_typeset_in_markdown():
    one = Table([Column("a", "a", "signed")], [{"a": -0.25}, {"a": math.inf}])
    assert one.to_text() == "      a\n-0.2500\n   +inf\n"
    assert "−0.2500" in one.to_markdown()


def test_a_cell_may_have_its_own_text_and_a_mark():
    one = Table([Column("a", "a", "number")], [{"a": Cell(0.5, "about half", "flag")}])
    assert "| **about half** |" in one.to_markdown()
    assert 'class="num flag" data-sort="0.5"' in one.to_html()
    assert one.to_csv() == "a\n0.5\n"
