"""What the README shows is what one gets; its Python examples run as doctests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def blocks(language):
    return re.findall(
        rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows(tmp_path):
    command, *shown = blocks("text")[0].splitlines()
    assert command == "$ trueness report --demo"
    done = subprocess.run(
        [sys.executable, "-m", "trueness", "report", "--demo"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=tmp_path,
    )
    assert done.stdout.splitlines() == shown
    assert (tmp_path / "trueness-report.html").exists()


def test_two_minutes_are_enough_to_read_it():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 110


def test_the_two_commands_are_single_lines():
    assert [len(block.splitlines()) for block in blocks("sh")] == [1, 1]


def test_its_links_lead_somewhere():
    links = re.findall(
        r"\]\(([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", README.read_text(encoding="utf-8")
    )
    targets = [one or other for one, other in links]
    assert len(targets) >= 10
    assert [target for target in targets if not (README.parent / target).exists()] == []
