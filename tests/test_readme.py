"""What the README shows is what one gets; its Python examples run as doctests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_demo_prints_what_the_readme_shows():
    shown = blocks("text")[0].splitlines()
    assert shown[0] == "$ trueness measure --demo"
    done = subprocess.run(
        [sys.executable, "-m", "trueness", "measure", "--demo"], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.stdout.splitlines() == shown[1:]


@pytest.mark.parametrize("position", [0, 1])
def test_the_two_commands_are_single_lines(position):
    assert len(blocks("sh")) == 2
    assert len(blocks("sh")[position].splitlines()) == 1
