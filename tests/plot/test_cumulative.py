"""Walks, by the data of their artists."""

import numpy as np
import pytest
from awkward_rows import usual

import trueness as tn
from trueness.infer import cumulative_walk
from trueness.plot import CumulativeDisplay


def test_the_line_is_the_walk_and_the_band_its_null():
    y, p = usual()
    drawn = CumulativeDisplay.from_predictions(y, p).plot()
    walk = cumulative_walk(y, p)
    np.testing.assert_array_equal(drawn.line_.get_ydata(), walk.height)
    band = drawn.ax_.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(walk.half.max())
    dashed = [line.get_ydata()[0] for line in drawn.ax_.lines if line.get_color() == "#808080"]
    assert walk.reach in dashed
    assert -walk.reach in dashed
    text = drawn.ax_.texts[-1].get_text()
    assert text.splitlines()[0] == f"KS {walk.ks.statistic:.4f}, p < 0.0001"
    assert text.endswith("n = 600")


def test_several_models_have_a_legend():
    y, p = usual()
    drawn = CumulativeDisplay.from_predictions(y, {"a": p, "b": p / 2}).plot()
    assert len(drawn.lines_) == 2
    assert drawn.figure_.legends[0].get_texts()[1].get_text().startswith("b: KS ")


def test_a_class_without_rows_has_no_walk():
    P = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    with pytest.raises(tn.InputError, match="A walk needs rows; there are none"):
        CumulativeDisplay.from_predictions(np.array([0, 1, 2]), P, kind="top-label", classes=[2])
