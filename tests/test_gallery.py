"""The gallery shows every display, and its script draws them all for awkward data."""

import importlib.util
from pathlib import Path

import pytest

import trueness.plot

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("gallery_make", GALLERY / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_draws_every_display():
    page = (GALLERY / "index.md").read_text(encoding="utf-8")
    displays = {name for name in trueness.plot.__all__ if name.endswith("Display")}
    assert {name for name in displays if f"\n{name}.from_" in page} == displays


def test_the_picture_of_the_readme_is_small():
    assert {picture.name for picture in GALLERY.glob("*.png")} == {"reliability-light.png", "reliability-dark.png"}
    assert sum(picture.stat().st_size for picture in GALLERY.glob("*.png")) < 200_000


@pytest.mark.slow
def test_every_awkward_case_can_be_drawn_by_every_display(make, tmp_path):
    import matplotlib.pyplot as plt

    make.draw_every(tmp_path, only="ten rows")
    assert len(list(tmp_path.rglob("*.png"))) == 2 * len(make.DISPLAYS)
    plt.close("all")
