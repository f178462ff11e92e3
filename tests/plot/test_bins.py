"""Bin rules side by side, and test-based reliability diagrams, by the data of their artists."""

import numpy as np
import pytest
from awkward_rows import matrix, rare, usual

import trueness as tn
from trueness.plot import BinsDisplay, TestReliabilityDisplay


def test_three_rules_by_default():
    y, p = usual()
    drawn = BinsDisplay.from_predictions(y, p).plot()
    assert [ax.get_title() for ax in drawn.axes_] == ["PAVA", "PAVA-BC", "quantiles"]
    for steps, sizes, rule in zip(
        drawn.lines_,
        drawn.size_axes_,
        (tn.Isotonic(), tn.BlockIsotonic(), tn.EqualMass(10)),
        strict=True,
    ):
        table = tn.bin_table(y, p, bins=rule)
        np.testing.assert_array_equal(steps.get_data().values, table.rate)
        np.testing.assert_array_equal(steps.get_data().edges[:-1], table.low_edge)
        np.testing.assert_array_equal(sizes.patches[0].get_data().values, table.n)
    assert (
        drawn.ax_.texts[0].get_text()
        == f"{len(drawn.tables['PAVA'])} bins\n" + drawn.ax_.texts[0].get_text().split("\n")[1]
    )


def test_rare_events_get_logarithmic_axes():
    drawn = BinsDisplay.from_predictions(*rare()).plot()
    assert drawn.ax_.get_xscale() == drawn.ax_.get_yscale() == "log"
    none = drawn.tables["PAVA"].rate == 0
    assert none.any()
    assert np.isnan(drawn.line_.get_data().values[none]).all()
    (at_frame,) = drawn.ax_.collections
    assert {end for segment in at_frame.get_segments() for end in segment[:, 1]} == {
        drawn.limits[0]
    }


def test_the_pieces_show_the_bins():
    y, p = usual(2000)
    drawn = TestReliabilityDisplay.from_predictions(y, p, name="model").plot()
    record, table = drawn.record, tn.bin_table(y, p, bins=tn.BlockIsotonic())
    rates = [segment[0, 1] for segment in drawn.line_.get_segments()]
    np.testing.assert_allclose(rates, table.rate)
    heights = np.array([bar.get_height() for bar in drawn.sizes_ax_.patches]).reshape(2, -1)
    np.testing.assert_array_equal(heights.sum(axis=0), table.n)
    np.testing.assert_array_equal(heights[1], record.rejected)
    assert len(drawn.violins_) == len(table)
    assert drawn.ax_.get_title(loc="left").startswith(
        f"model\nTCE {tn.tce(y, p):.1f} %, if calibrated {drawn.floor:.1f} %\nisotonic blocks (PAVA-BC), binomial test"
    )
    assert drawn.floor == tn.noise_floor(tn.tce, p, resamples=39, seed=0).mean
    (bars,) = drawn.histogram_ax_.patches
    assert bars.get_data().values.sum() == 2000
    labels = [text.get_text() for text in drawn.sizes_ax_.get_xticklabels()]
    assert labels[0].startswith("[0, ")
    assert labels[-1].endswith(", 1]")


def test_violins_span_the_predictions_of_their_bin():
    y, p = usual(2000)
    drawn = TestReliabilityDisplay.from_predictions(y, p, bins=4).plot()
    for b, violin in enumerate(drawn.violins_):
        inside = p[(p >= b / 4) & (p < (b + 1) / 4)]
        places = violin.get_paths()[0].vertices[:, 1]
        assert places.min() == pytest.approx(inside.min(), abs=0.01)
        assert places.max() == pytest.approx(inside.max(), abs=0.01)


def test_many_bins_have_few_names():
    y, p = usual(2000)
    drawn = TestReliabilityDisplay.from_predictions(y, p, bins=100).plot()
    assert len(drawn.sizes_ax_.get_xticks()) <= 24


def test_rare_events_get_a_logarithmic_axis_of_violins():
    assert TestReliabilityDisplay.from_predictions(*rare()).plot().ax_.get_yscale() == "log"
    assert (
        TestReliabilityDisplay.from_predictions(*rare(), scale="linear").plot().ax_.get_yscale()
        == "linear"
    )


def test_one_class_of_a_matrix_can_be_chosen():
    y, P = matrix()
    found = TestReliabilityDisplay.from_predictions(y, P, classes=[1])
    assert found.record.tce == tn.tce((y == 1).astype(int), P[:, 1])
    with pytest.raises(
        tn.InputError,
        match=r"must be one class for TestReliabilityDisplay. Choose it with `classes=\[…\]`",
    ):
        TestReliabilityDisplay.from_predictions(y, P)
