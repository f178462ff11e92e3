"""Bin rules side by side."""

import numpy as np
import pytest
from awkward_rows import AWKWARD, matrix, rare, usual

import trueness as tn
from trueness.plot import BinsDisplay


def test_three_rules_by_default():
    y, p = usual()
    drawn = BinsDisplay.from_predictions(y, p).plot()
    assert [ax.get_title() for ax in drawn.axes_] == ["PAVA", "PAVA-BC", "quantiles"]
    for steps, sizes, rule in zip(
        drawn.lines_, drawn.size_axes_, (tn.Isotonic(), tn.BlockIsotonic(), tn.EqualMass(10)), strict=True
    ):
        table = tn.bin_table(y, p, bins=rule)
        np.testing.assert_array_equal(steps.get_data().values, table.rate)
        np.testing.assert_array_equal(steps.get_data().edges[:-1], table.low_edge)
        np.testing.assert_array_equal(sizes.patches[0].get_data().values, table.n)
    assert (
        drawn.ax_.texts[0].get_text()
        == f"{len(drawn.tables['PAVA'])} bins\n" + drawn.ax_.texts[0].get_text().split("\n")[1]
    )


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("case", AWKWARD.values(), ids=AWKWARD)
def test_every_picture_can_be_drawn(case):
    BinsDisplay.from_predictions(*case).plot().figure_.canvas.draw()


def test_rare_events_get_logarithmic_axes():
    drawn = BinsDisplay.from_predictions(*rare()).plot()
    assert drawn.ax_.get_xscale() == drawn.ax_.get_yscale() == "log"
    none = drawn.tables["PAVA"].rate == 0
    assert none.any()
    assert np.isnan(drawn.line_.get_data().values[none]).all()
    (at_frame,) = drawn.ax_.collections
    assert {end for segment in at_frame.get_segments() for end in segment[:, 1]} == {drawn.limits[0]}


def test_axes_can_be_given():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3)
    drawn = BinsDisplay.from_predictions(*usual()).plot(ax=axes)
    assert drawn.axes_ == list(axes)
    assert drawn.figure_ is figure


def test_an_estimator_gives_its_scores():
    from sklearn.dummy import DummyClassifier

    X, y = np.zeros((20, 1)), np.arange(20) % 2
    found = BinsDisplay.from_estimator(DummyClassifier().fit(X, y), X, y, bins={"one": 1})
    assert found.tables["one"].n.tolist() == [20]


def test_bad_arguments_are_named():
    with pytest.raises(tn.InputError, match="`bins` must map names to bin rules; got 5"):
        BinsDisplay.from_predictions(*usual(), bins=5)
    with pytest.raises(tn.InputError, match="`classes` must be one class for BinsDisplay"):
        BinsDisplay.from_predictions(*matrix())
    y, p = usual()
    with pytest.raises(tn.InputError, match="`y_prob` must be one model for BinsDisplay; got a mapping"):
        BinsDisplay.from_predictions(y, {"a": p, "b": p})
    with pytest.raises(tn.InputError, match="`y_true` must be one model for BinsDisplay; got a mapping"):
        BinsDisplay.from_predictions({"a": tn.tally(y, p), "b": tn.tally(y, p)})
    with pytest.raises(tn.InputError, match="`tables` must hold at least one table"):
        BinsDisplay({})
