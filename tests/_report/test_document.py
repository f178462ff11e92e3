"""The report as Markdown and as text."""

import re

import pytest
from _report.conftest import HOSTILE
from grids import slow

import trueness as tn


def test_markdown_has_the_sections_in_order(binary):
    heads = re.findall(r"^#+ .*$", binary.to_markdown(), re.MULTILINE)
    assert heads[:3] == [
        "# Calibration report",
        "## Calibration errors",
        "## The numbers a clinical or credit validation asks for",
    ]
    assert heads[-1] == "## How it was computed"


def test_markdown_has_the_numbers(binary, edges):
    text = binary.to_markdown()
    assert f"| ECE | {tn.ece(*edges):.4f} |" in text
    assert f"| TCE | {tn.tce(*edges):.1f} % |" in text
    assert binary.verdict.split(":")[0] in text


@pytest.mark.parametrize("which", ["binary", "binned", *slow("hostile", "multiclass", "sketch")])
def test_tables_have_as_many_cells_in_every_row(request, which):
    text = request.getfixturevalue(which).to_markdown()
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) >= 2
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


@pytest.mark.slow
def test_hostile_names_stay_text_in_markdown(hostile):
    text = hostile.to_markdown()
    assert "<script>" not in re.sub(r"\\[<>]", "", text)
    assert r"\<script\>window.hacked = 1\</script\>" in text
    assert "\u202e" not in text
    assert "x" * 300 in text


def test_text_has_no_control_characters_and_no_long_names(hostile):
    text = str(hostile)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert HOSTILE["script"] in text
    assert "x" * 120 not in text
    assert "\\u202e" in text


@pytest.mark.slow
def test_the_worst_of_several_models_is_named(two):
    assert re.search(r"\n\nThe worst of the 2 models: “\w+”\.\n\n", two.to_markdown())


@pytest.mark.slow
def test_one_score_for_all_rows_is_told_once():
    """No share of an ECE of 0, and a page neither returns nan nor sets a slope."""
    text = tn.report([0, 0, 1, 0, 1] * 12, [0.4] * 60).to_markdown()
    assert "Most of the ECE comes from" not in text
    assert "returning nan" not in text
    assert "set to 1" not in text
    assert "All scores are equal: a map only shifts them." in text


def test_columns_of_text_line_up(binary):
    lines = binary.to_text().splitlines()
    head = next(i for i, line in enumerate(lines) if line.lstrip().startswith("Bin "))
    ends = {lines[i].rindex("%") for i in range(head + 1, head + 5)}
    assert len(ends) == 1


def test_files_are_written(binary, tmp_path):
    for write, name in (
        (binary.to_markdown, "a.md"),
        (binary.to_text, "a.txt"),
        (binary.to_json, "a.json"),
    ):
        text = write(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == text
    assert binary.to_html(str(tmp_path / "a.html")).read_text(encoding="utf-8") == binary.page()


def test_a_failed_write_leaves_nothing(binary, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        binary.to_html(tmp_path / "nowhere" / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_dropped_rows_are_counted():
    d = tn.simulate.demo(100)
    p = d.y_prob.copy()
    p[0] = float("nan")
    found = tn.report(d.y_true, p, missing="drop", sample_weight=[1, 0] + [2] * 98, intervals=False)
    text = " ".join(str(found).split())
    assert (
        "98 rows used of 100; 1 row with missing values dropped; 1 row with weight 0 left out"
        in text
    )


def test_the_flag_of_a_row_is_beside_its_name(two, off):
    assert "| Bin | Flag | Rows |" in off.to_markdown()
    assert "| Column | Value | Flag |" in off.to_markdown()
    text = two.to_markdown()
    assert "| Model | Verdict |" in text
    assert "| First | Second | Result |" in text
    assert "| fine | off |" in text
