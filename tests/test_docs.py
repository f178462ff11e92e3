"""Pages name commands that exist, hold tables that can be read, figures that are there and examples that run."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]
NEEDED = {"torch.md": "torch"}  # a library that the test extra does not bring
TOLD = [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")]


def commands(page):
    return re.findall(r"^ {4}python (benchmarks/[^#\n]*)", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_pages_have_commands_and_examples():
    assert sum(len(commands(page)) for page in PAGES) > 5
    assert len(TOLD) > 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_names_a_script_and_options_that_it_has(page):
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


@pytest.mark.parametrize("page", TOLD, ids=lambda page: page.name)
def test_every_example_gives_what_is_printed(page):
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name], reason=f"{NEEDED[page.name]} is not installed")
    failed, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert tried
    assert not failed
