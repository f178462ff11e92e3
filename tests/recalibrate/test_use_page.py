"""The page on using calibrators: its examples print what it shows, and its commands exist."""

import doctest
import re
from pathlib import Path

import pytest

from trueness import recalibrate

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "recalibration-use.md"


@pytest.mark.skipif(not {"HistogramBinning", "PlattScaling"} <= set(recalibrate.__all__), reason="not all are there")
@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
def test_the_examples_print_what_the_page_shows():
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert found.attempted > 20
    assert not found.failed


def test_every_command_is_there():
    commands = re.findall(r"^ {4}python (\S+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands
    assert all((ROOT / command).is_file() for command in commands)
