"""Walks, by the data of their artists."""

import numpy as np
import pytest
from awkward_rows import AWKWARD, matrix, usual

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


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("case", AWKWARD.values(), ids=AWKWARD)
def test_every_picture_can_be_drawn(case):
    drawn = CumulativeDisplay.from_predictions(*case).plot()
    drawn.figure_.canvas.draw()
    low, high = drawn.ax_.get_ylim()
    assert low < drawn.line_.get_ydata().min() <= drawn.line_.get_ydata().max() < high


def test_axes_and_estimators_can_be_given():
    import matplotlib.pyplot as plt
    from sklearn.dummy import DummyClassifier

    X, y = np.zeros((20, 1)), np.arange(20) % 2
    _, ax = plt.subplots()
    drawn = CumulativeDisplay.from_estimator(DummyClassifier().fit(X, y), X, y).plot(ax=ax)
    assert drawn.ax_ is ax
    assert list(drawn.walks) == ["DummyClassifier"]


def test_bad_arguments_are_named():
    with pytest.raises(tn.InputError, match="`classes` must be one class for CumulativeDisplay"):
        CumulativeDisplay.from_predictions(*matrix())
    with pytest.raises(tn.InputError, match="`walks` must hold at least one walk"):
        CumulativeDisplay({})
    with pytest.raises(tn.InputError, match="`level` must lie strictly between 0 and 1"):
        CumulativeDisplay.from_predictions(*usual(), level=2)


def test_a_class_without_rows_has_no_walk():
    P = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    with pytest.raises(tn.InputError, match="A walk needs rows; there are none"):
        CumulativeDisplay.from_predictions(np.array([0, 1, 2]), P, kind="top-label", classes=[2])
