"""Diagrams in letters."""

import numpy as np
import pytest
from awkward_rows import AWKWARD, rare, usual
from grids import slow

import trueness as tn
from trueness.plot import ReliabilityDisplay, unicode_diagram


def record(*rows, **options):
    return ReliabilityDisplay.from_predictions(*rows, **({"numbers": False} | options)).series[0]


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("case", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.parametrize("curve", ["binned", *slow("isotonic", "smooth")])
def test_every_line_fits(case, curve):
    text = unicode_diagram(record(*case, curve=curve), width=40, height=10)
    assert max(map(len, text.splitlines()[:15])) <= 48
    assert ("●" if curve == "binned" else "━") in text


def test_points_stand_where_they_belong():
    lines = unicode_diagram(
        record([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], bins=2, band=None), width=20, height=6
    ).splitlines()
    canvas = [line[8:] for line in lines[1:7]]
    assert canvas[0].rstrip()[19] == "●"
    assert canvas[5][0] == "●"


def test_a_band_is_drawn_from_end_to_end():
    found = record([0, 1] * 5, [0.5] * 10, bins=1)
    lines = unicode_diagram(found, width=20, height=10).splitlines()[1:11]
    rows = [i for i, line in enumerate(lines) if len(line) > 18 and line[18] in "│●"]
    low, high = found.band.low[0], found.band.high[0]
    assert rows == list(range(int((1 - high) * 10), int((1 - low) * 10) + 1))


def test_the_bars_are_as_high_as_the_rows_are_many():
    found = record([0, 1, 1, 0, 1, 1, 1, 1, 1], [0.05] + [0.95] * 8, band=None)
    bars = unicode_diagram(found, width=50, height=6).splitlines()[8]
    assert bars[8:].strip()[0] in "▁▂"
    assert bars[-1] != " "
    assert "█" in bars


def test_logarithmic_diagrams_have_logarithmic_ticks():
    text = unicode_diagram(record(*rare()), width=60, height=12)
    assert "1e-05" in text or "0.0001" in text


def test_rounding_is_no_miscalibration():
    found = record([1] * 3 + [0] * 7, [0.3] * 10)
    assert 0 < found.value < 1e-15
    assert "ECE 0  (" in unicode_diagram(found)


def test_the_name_and_the_class_stand_on_top():
    P = np.array([[0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    text = ReliabilityDisplay.from_predictions(
        [0, 1, 1], P, name="model", numbers=False, bins=2
    ).to_text()
    assert text.splitlines()[0] == "model · class 0"
    assert "model · class 1" in text


@pytest.mark.parametrize(("name", "value"), [("width", 5), ("height", 2.5), ("width", True)])
def test_bad_arguments_are_named(name, value):
    with pytest.raises(tn.InputError, match=f"`{name}` must be a whole number ≥"):
        unicode_diagram(record(*usual()), **{name: value})
