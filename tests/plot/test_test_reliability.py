"""Test-based reliability diagrams, by the data of their artists."""

import numpy as np
import pytest
from awkward_rows import AWKWARD, matrix, rare, usual

import trueness as tn
from trueness.plot import TestReliabilityDisplay


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


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("case", AWKWARD.values(), ids=AWKWARD)
def test_every_picture_can_be_drawn(case):
    TestReliabilityDisplay.from_predictions(*case).plot().figure_.canvas.draw()


def test_many_bins_have_few_names():
    y, p = usual(2000)
    drawn = TestReliabilityDisplay.from_predictions(y, p, bins=100).plot()
    assert len(drawn.sizes_ax_.get_xticks()) <= 24


def test_rare_events_get_a_logarithmic_axis():
    assert TestReliabilityDisplay.from_predictions(*rare()).plot().ax_.get_yscale() == "log"
    assert TestReliabilityDisplay.from_predictions(*rare(), scale="linear").plot().ax_.get_yscale() == "linear"


def test_pytest_does_not_collect_the_display():
    assert TestReliabilityDisplay.__test__ is False


def test_one_class_of_a_matrix_can_be_chosen():
    y, P = matrix()
    found = TestReliabilityDisplay.from_predictions(y, P, classes=[1])
    assert found.record.tce == tn.tce((y == 1).astype(int), P[:, 1])
    with pytest.raises(
        tn.InputError, match=r"must be one class for TestReliabilityDisplay. Choose it with `classes=\[…\]`"
    ):
        TestReliabilityDisplay.from_predictions(y, P)


def test_estimators_and_axes_are_accepted():
    import matplotlib.pyplot as plt
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    figure = plt.figure()
    ax = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    drawn = TestReliabilityDisplay.from_estimator(LogisticRegression().fit(X, y), X, y).plot(ax=ax)
    assert drawn.figure_ is figure
    assert drawn.name == "LogisticRegression"


def test_bad_arguments_are_named():
    y, p = usual()
    with pytest.raises(tn.InputError, match="`y_prob` must be one model"):
        TestReliabilityDisplay.from_predictions(y, {"a": p})
    with pytest.raises(tn.InputError, match="whole numbers that sum to less than 2³⁵ for the binomial test"):
        TestReliabilityDisplay.from_predictions(y, p, bins=5, sample_weight=np.full(600, 0.5))
