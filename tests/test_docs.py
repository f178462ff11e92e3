"""Pages that show what benchmarks printed name commands that exist, and are tables that can be read."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "inference.md", ROOT / "benchmarks" / "README.md"]


def commands(page):
    return re.findall(r"^ {4}python (benchmarks/[^#\n]*)", page.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_names_a_script_and_options_that_it_has(page):
    assert commands(page)
    for command in commands(page):
        script, *words = shlex.split(command)
        source = (ROOT / script).read_text(encoding="utf-8")
        for option in (word for word in words if word.startswith("--")):
            assert f'"{option}"' in source, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page):
    text = page.read_text(encoding="utf-8")
    for found in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in found.splitlines()}) == 1, found.splitlines()[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_is_there(page):
    for name in re.findall(r"!\[[^\]]*\]\(([^)]*)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / name).is_file(), name
