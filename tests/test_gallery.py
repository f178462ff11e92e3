"""The gallery's page shows the pictures that its script draws."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("gallery_make", DOCS / "gallery" / "make.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_page_shows_every_picture_that_the_script_draws(make):
    shown = set(re.findall(r"!\[[^\]]+\]\(([^)]*)\)", PAGE))
    drawn = {f"{name}-light.png" for name in make.PAGE} | {f"{name}-dark.png" for name in make.ALSO_DARK}
    assert shown == drawn
    assert {path.name for path in (DOCS / "gallery").glob("*.png")} == drawn


def test_the_pictures_are_small():
    assert sum(path.stat().st_size for path in (DOCS / "gallery").glob("*.png")) < 2_000_000


def test_the_diagram_in_letters_is_what_one_gets(make):
    (shown,) = re.findall(r"^```text\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)
    assert make.diagram() == shown


@pytest.mark.slow
def test_every_awkward_case_can_be_drawn_by_every_display(make, tmp_path):
    import matplotlib.pyplot as plt

    make.draw_every(tmp_path, only="ten rows")
    assert len(list(tmp_path.rglob("*.png"))) == 2 * len(make.DISPLAYS)
    plt.close("all")
