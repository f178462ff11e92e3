"""Reliability diagrams, by the data of their artists."""

import json
import subprocess
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
import pytest
from awkward_rows import AWKWARD, matrix, rare, usual
from grids import fast, slow
from matplotlib.collections import LineCollection

import trueness as tn
from trueness.measure import reliability_curve
from trueness.plot import ReliabilityDisplay

every_curve = pytest.mark.parametrize(
    "curve",
    ["binned", "isotonic", "smooth", "spline", pytest.param("loess", marks=pytest.mark.slow)],
)
quiet = pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")


def display(*rows, **options):
    return ReliabilityDisplay.from_predictions(*rows, **({"numbers": False} | options))


def test_the_line_goes_through_the_bins():
    y, p = usual()
    drawn = display(y, p, bins=5).plot()
    table = tn.bin_table(y, p, bins=5)
    assert np.array_equal(drawn.line_.get_xdata(), table.score)
    assert np.array_equal(drawn.line_.get_ydata(), table.rate)
    assert drawn.ax_.figure is drawn.figure_
    assert drawn.ax_.get_xlabel() == ""
    assert drawn.ax_.get_ylabel() == "event rate"
    assert drawn.histogram_axes_[0].get_xlabel() == "predicted probability"


def test_an_empty_bin_is_blank():
    drawn = display([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9], bins=3).plot()
    assert np.isnan(drawn.line_.get_ydata()[1])
    (points,) = (
        c for c in drawn.ax_.collections if hasattr(c, "get_sizes") and len(c.get_offsets()) == 3
    )
    assert np.ma.getmaskarray(np.ma.masked_invalid(points.get_offsets())).any(axis=1).tolist() == [
        False,
        True,
        False,
    ]


def test_markers_grow_with_the_rows():
    y, p = [0, 1] * 10 + [1], [0.1] * 20 + [0.9]
    drawn = display(y, p, bins=2, band=None).plot()
    sizes = drawn.ax_.collections[0].get_sizes()
    assert sizes[0] > 5 * sizes[1]


def test_an_isotonic_line_is_flat_within_blocks_and_states_the_decomposition():
    y, p = usual()
    drawn = ReliabilityDisplay.from_predictions(y, p, curve="isotonic", resamples=9).plot()
    curve = reliability_curve(y, p, method="isotonic")
    assert np.array_equal(drawn.line_.get_xdata()[::2], curve.low_edge)
    assert np.array_equal(drawn.line_.get_xdata()[1::2], curve.high_edge)
    assert np.array_equal(drawn.line_.get_ydata(), np.repeat(curve.y, 2))
    assert drawn.series[0].decomposition == tn.corp(y, p)
    assert drawn.series[0].value == tn.corp(y, p).miscalibration
    text = drawn.ax_.texts[0].get_text()
    assert "MCB" in text
    assert "DSC" in text
    assert "UNC" in text


def test_a_smooth_line_is_the_smooth_curve():
    y, p = usual()
    drawn = display(y, p, curve="smooth", band=None).plot()
    curve = reliability_curve(y, p, method="smooth")
    assert np.array_equal(drawn.line_.get_ydata(), curve.y, equal_nan=True)
    assert drawn.series[0].value == pytest.approx(tn.smooth_ece(y, p), rel=1e-12)


@pytest.mark.parametrize(
    "band", ["pointwise", "simultaneous", "consistency", "simultaneous-consistency"]
)
def test_bands_are_those_of_curve_band(band):
    y, p = usual()
    drawn = display(y, p, band=band, bins=5).plot()
    found = tn.curve_band(y, p, band=band, bins=5, method="bins")
    if band.endswith("consistency"):
        boxes = [(b.get_y(), b.get_y() + b.get_height()) for b in drawn.ax_.patches]
        np.testing.assert_allclose(boxes, np.column_stack([found.low, found.high]))
    else:
        ends = [segment[:, 1] for segment in drawn.ax_.collections[0].get_segments()]
        np.testing.assert_allclose(ends, np.column_stack([found.low, found.high]))


@pytest.mark.slow
def test_the_level_of_a_band_without_bins_is_kept():
    # 40 places of 100 calibrated data sets; the deviation of the share is below 0.02, since places go together.
    held = []
    for seed in range(100):
        d = tn.simulate.binary(300, seed=seed)
        drawn = display(
            d.y_true, d.y_prob, curve="isotonic", band="consistency", level=0.8, resamples=99
        )
        plt.close(drawn.figure_)
        record = drawn.series[0]
        places = np.linspace(0.05, 0.95, 40)
        curve = record.curve
        x, y = np.column_stack([curve.low_edge, curve.high_edge]).ravel(), np.repeat(curve.y, 2)
        low, high = (
            np.interp(places, record.band.x, end) for end in (record.band.low, record.band.high)
        )
        value = np.interp(places, x, y)
        held.append(np.mean((low <= value) & (value <= high)))
    assert 0.72 < np.mean(held) < 0.9


def test_the_number_its_floor_and_its_interval_stand_in_the_corner():
    y, p = usual()
    drawn = ReliabilityDisplay.from_predictions(y, p, seed=2).plot()
    record = drawn.series[0]
    assert record.value == tn.ece(y, p)
    assert record.interval == tn.ece_interval(y, p, seed=2)
    assert record.floor.mean < record.value
    text = drawn.ax_.texts[0].get_text()
    own = tn.estimate("ece", y, p, seed=2)
    assert (record.estimate.low, record.estimate.high) == (own.low, own.high)
    assert text.startswith(
        f"ECE {record.value:.3f}, 95 % [{own.low:.4f}, {own.high:.3f}]\n(10 bins of equal width)\n"
        f"noise floor {record.floor.mean:.4f}, p ≤ 0.01"
    )
    assert text.endswith("n = 600")
    assert not display(y, p).plot(numbers=False).ax_.texts


def test_the_histogram_counts_every_row():
    y, p = usual()
    drawn = display(y, p).plot()
    (bars,) = drawn.histogram_axes_[0].patches
    assert bars.get_data().values.sum() == 600
    assert not display(y, p).plot(histogram=False).histogram_axes_


def test_several_models_share_an_axes_and_a_legend():
    y, p = usual()
    models = {f"m{i}": p ** (1 + i / 4) for i in range(8)}
    drawn = ReliabilityDisplay.from_predictions(y, models, resamples=9).plot()
    assert len(drawn.lines_) == 8
    assert len(drawn.axes_) == 1
    assert len({line.get_color() for line in drawn.lines_}) == 6
    assert len({(line.get_color(), str(line._dash_pattern)) for line in drawn.lines_}) == 8
    names = [text.get_text() for text in drawn.figure_.legends[0].get_texts()]
    assert names[0].startswith(f"m0: ECE {tn.ece(y, p):.3f} (floor ")


@pytest.mark.parametrize(
    ("kind", "panels"), [("classwise", 3), ("confidence", 1), ("top-label", 3)]
)
def test_a_matrix_has_a_panel_per_class(kind, panels):
    y, P = matrix()
    drawn = display(y, P, kind=kind).plot()
    assert len(drawn.axes_) == panels
    table = tn.bin_table(y, P, kind=kind)
    assert np.array_equal(
        np.concatenate([line.get_ydata() for line in drawn.lines_]), table.rate, equal_nan=True
    )
    titles = {"classwise": "class 1", "confidence": "", "top-label": "predicted: 1"}
    assert drawn.axes_[min(1, panels - 1)].get_title() == titles[kind]


def test_classes_can_be_chosen():
    y, P = matrix(k=12)
    drawn = display(y, P, classes=[3, 7]).plot()
    assert [ax.get_title() for ax in drawn.axes_] == ["class 3", "class 7"]


@quiet
def test_a_class_that_is_never_predicted_says_so():
    drawn = display([0, 1], [[0.8, 0.2], [0.7, 0.3]], kind="top-label").plot()
    assert drawn.axes_[1].texts[0].get_text() == "no rows"


def test_rare_events_get_logarithmic_axes_and_bins_of_equal_mass():
    y, p = rare()
    found = display(y, p)
    assert found.scale == "log"
    assert found.series[0].curve.bins == "EqualMass(n=10)"
    drawn = found.plot()
    assert drawn.ax_.get_xscale() == drawn.ax_.get_yscale() == "log"
    low, high = drawn.ax_.get_xlim()
    assert low <= np.nanmin(drawn.line_.get_xdata())
    assert high >= np.nanmax(drawn.line_.get_xdata())
    assert np.nanmin(drawn.line_.get_ydata()) >= low


def very_rare(n=20_000):
    rng = np.random.default_rng(5)
    p = rng.beta(0.3, 300, n)
    return (rng.random(n) < p).astype(int), p


def test_the_smallest_score_does_not_set_the_axes():
    y, p = very_rare()
    drawn = display(y, p).plot()
    low, _ = drawn.ax_.get_xlim()
    assert p.min() < 1e-9
    assert 0.99e-7 <= low <= np.quantile(p, 0.1)
    upper = display(1 - y, 1 - p).plot().ax_.get_xlim()[1]
    assert 1 - upper == pytest.approx(low)
    tiny = display([0] * 99 + [1], np.linspace(1e-7, 2e-7, 100)).plot()
    assert tiny.ax_.get_xlim()[0] == pytest.approx(1e-7)


def test_bins_without_events_are_marked_at_the_frame_and_not_joined():
    drawn = display(*very_rare(), band=None).plot()
    rate = drawn.series[0].curve.y
    assert (rate == 0).any()
    assert np.isnan(drawn.line_.get_ydata()[rate == 0]).all()
    marks = drawn.ax_.collections[0].get_offsets()[rate == 0]
    np.testing.assert_allclose(marks[:, 1], drawn.ax_.get_ylim()[0])


def test_the_scale_follows_the_events():
    y, p = rare()
    assert display(1 - y, 1 - p).scale == "logit"
    sure = np.where(np.arange(p.size) % 100 == 0, 0.9, p)
    assert display(y, sure).scale == "logit"
    assert display(*usual()).scale == "linear"
    assert display(y, p, scale="linear").scale == "linear"
    with pytest.warns(tn.errors.OneClassWarning):
        assert display(np.zeros(9, int), np.zeros(9)).scale == "linear"


@quiet
@pytest.mark.parametrize("case", fast(AWKWARD, "one row"))
@every_curve
def test_every_picture_can_be_drawn(case, curve):
    drawn = ReliabilityDisplay.from_predictions(*case, curve=curve, resamples=9).plot()
    drawn.figure_.canvas.draw()
    low, high = drawn.ax_.get_ylim()
    values = np.asarray(drawn.line_.get_ydata(), dtype=float)
    assert ((values[np.isfinite(values)] >= low) & (values[np.isfinite(values)] <= high)).all()
    assert drawn.to_text().count("\n") > 18


@quiet
@pytest.mark.parametrize("case", ["ten rows", *slow("rare", "constant")])
def test_no_text_leaves_the_figure(case):
    drawn = ReliabilityDisplay.from_predictions(*AWKWARD[case], resamples=9).plot()
    drawn.figure_.canvas.draw()
    page = drawn.figure_.bbox
    for ax in (drawn.ax_, *drawn.histogram_axes_):
        for text in (*ax.texts, ax.xaxis.label, ax.yaxis.label, ax.title):
            box = text.get_window_extent()
            assert not text.get_text() or (
                page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 <= page.y1
            )


def test_bars_have_the_width_of_the_bins():
    y, p = usual()
    drawn = display(y, p, bins=4, band=None).plot(style="bars")
    assert [b.get_width() for b in drawn.ax_.patches] == [0.25] * 4
    assert [b.get_height() for b in drawn.ax_.patches] == tn.bin_table(y, p, bins=4).rate.tolist()


def test_axes_can_be_given():
    import matplotlib.pyplot as plt

    y, p = usual()
    figure, (left, right) = plt.subplots(1, 2)
    drawn = display(y, p, name="model").plot(ax=left)
    assert drawn.ax_ is left
    assert drawn.figure_ is figure
    assert left.get_legend().get_texts()[0].get_text() == "model"
    assert not list(right.lines)
    free = figure.add_axes((0.1, 0.1, 0.3, 0.3))
    assert display(y, p).plot(ax=free).histogram_axes_[0].get_position().y0 == pytest.approx(0.1)


def test_a_tally_draws_the_same_as_its_rows():
    y, p = usual()
    from_rows, from_sums = (
        ReliabilityDisplay.from_predictions(*given, resamples=9)
        for given in ((y, p), (tn.tally(y, p),))
    )
    # As text, in which a missing number equals another.
    assert json.dumps(from_rows.series[0].to_dict()) == json.dumps(from_sums.series[0].to_dict())
    two = display({"a": tn.tally(y, p), "b": tn.tally(y, p / 2)})
    assert [record.name for record in two.series] == ["a", "b"]


def test_an_estimator_gives_its_scores():
    from sklearn.linear_model import LinearRegression, LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    found = ReliabilityDisplay.from_estimator(model, X, y, numbers=False)
    assert found.series[0].name == "LogisticRegression"
    assert found.series[0].value == tn.ece(y, model.predict_proba(X)[:, 1], pos_label="yes")
    first = ReliabilityDisplay.from_estimator(model, X, y, numbers=False, pos_label="no")
    assert first.series[0].value == tn.ece(y == "no", model.predict_proba(X)[:, 0])
    with pytest.raises(
        tn.InputError,
        match="`pos_label` must be a class of the estimator, 'no' and 'yes'; got 'maybe'",
    ):
        ReliabilityDisplay.from_estimator(model, X, y, pos_label="maybe")
    three = rng.integers(0, 3, 200)
    many = ReliabilityDisplay.from_estimator(
        LogisticRegression().fit(X, three), X, three, numbers=False, name="m"
    )
    assert [record.label for record in many.series] == [0, 1, 2]
    with pytest.raises(
        tn.InputError, match="`estimator` must have `predict_proba`; LinearRegression does not"
    ):
        ReliabilityDisplay.from_estimator(LinearRegression(), X, y)


def test_drawing_computes_nothing(monkeypatch):
    found = ReliabilityDisplay.from_predictions(*usual(), resamples=9)
    import trueness.infer
    import trueness.measure

    def refuse(*args, **options):
        raise AssertionError("computed while drawing")

    for module, name in (
        (trueness.measure, "ece"),
        (trueness.infer, "curve_band"),
        (trueness, "noise_floor"),
    ):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(tn.Tally, "coarsen", refuse)
    assert found.plot().plot().ax_ is not None


def test_missing_rows_are_counted_once():
    y, p = usual()
    p = p.copy()
    p[:5] = np.nan
    with pytest.warns(tn.errors.DroppedRowsWarning, match="5 of 600") as seen:
        assert display(y, p, missing="drop").series[0].n == 595
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"curve": "line"}, "`curve` must be 'binned'"),
        ({"band": "wide"}, "`band` must be 'auto', 'pointwise'"),
        (
            {"curve": "smooth", "band": "pointwise"},
            "`band` must be 'simultaneous-consistency', 'consistency', 'monotone' or None for `curve='smooth'`",
        ),
        (
            {"curve": "loess", "band": "consistency"},
            "`band` must be 'pointwise', 'simultaneous', 'monotone' or None",
        ),
        ({"curve": "smooth", "bins": 4}, "`bins` is only for `curve='binned'`; 'smooth' has none"),
        ({"scale": "sqrt"}, "`scale` must be 'auto', 'linear', 'log' or 'logit'; got 'sqrt'"),
        ({"bins": tn.Isotonic(), "band": "pointwise"}, "must not depend on the labels"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(tn.InputError, match=message):
        ReliabilityDisplay.from_predictions(*usual(), **options)


def test_bad_models_are_named():
    y, p = usual()
    with pytest.raises(tn.InputError, match="`y_prob` must name at least one model"):
        display(y, {})
    with pytest.raises(tn.InputError, match="`name` is only for one model"):
        display(y, {"a": p}, name="b")
    with pytest.raises(tn.InputError, match="`y_prob` must be left out when `y_true` maps names"):
        display({"a": tn.tally(y, p)}, p)
    with pytest.raises(tn.InputError, match="'b' differs from the first"):
        display(y, {"a": p, "b": np.column_stack([1 - p, p])})
    with pytest.raises(tn.InputError, match="`classes` must be among 0, 1, 2; got 9"):
        display(*matrix(), classes=[9])
    with pytest.raises(tn.InputError, match="`classes` must choose at most 50 of the 60 classes"):
        display(*matrix(k=60))
    with pytest.raises(tn.InputError, match="`series` must hold at least one record"):
        ReliabilityDisplay([])


def test_bad_drawing_options_are_named():
    found = display(*matrix())
    with pytest.raises(tn.InputError, match="`ax` must be 3 axes, one per panel"):
        found.plot(ax=display(*usual()).plot().ax_)
    with pytest.raises(tn.InputError, match="`ax` must be an axes, or None"):
        display(*usual()).plot(ax="here")
    with pytest.raises(tn.InputError, match="`style` must be 'markers' or 'bars'; got 'lines'"):
        found.plot(style="lines")
    y, p = usual()
    with pytest.raises(tn.InputError, match="`style` must be 'markers' for several models"):
        display(y, {"a": p, "b": p}).plot(style="bars")


@pytest.mark.slow
def test_without_matplotlib_there_is_text_and_a_message_for_the_rest():
    code = """
import sys
sys.modules["matplotlib"] = None
from trueness.errors import MissingLibraryError
from trueness.plot import ReliabilityDisplay
display = ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3], bins=2, numbers=False)
assert "●" in display.to_text()
try:
    display.plot()
except MissingLibraryError as found:
    print(found)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout.strip()
        == "`trueness.plot.ReliabilityDisplay` needs matplotlib to draw: `pip install 'trueness[plot]'`."
    )


@pytest.mark.slow
@every_curve
def test_ten_million_rows_take_little_more_than_their_tally(curve):
    rng = np.random.default_rng(0)
    p = rng.random(10_000_000)
    y = (rng.random(p.size) < p).astype(np.int8)
    ReliabilityDisplay.from_predictions(
        y[:1000], p[:1000], curve=curve
    ).plot()  # imports are not what is measured
    start = time.process_time()
    tally = tn.tally(y, p)
    tallied = time.process_time() - start
    start = time.process_time()
    ReliabilityDisplay.from_predictions(tally, curve=curve).plot().figure_.canvas.draw()
    # A second or two on a quiet machine. On a busy one the same work takes several times as long, tallying too.
    assert time.process_time() - start < 4 * tallied + 8


def test_a_block_without_events_is_not_joined_with_the_others_on_logarithmic_axes():
    y, p = rare()
    drawn = display(y, p, curve="isotonic", scale="log").plot()
    curve = drawn.series[0].curve
    assert curve.y[0] == 0
    shown = drawn.line_.get_ydata()
    assert np.isnan(shown[:2]).all()
    assert np.array_equal(shown[2:], np.repeat(curve.y[1:], 2))
    low = drawn.ax_.get_ylim()[0]
    (floor,) = [found for found in drawn.ax_.collections if isinstance(found, LineCollection)]
    assert floor.get_segments()[0][:, 1].tolist() == [low, low]
    assert floor.get_segments()[0][1, 0] == curve.high_edge[0]


def _corner_text(ax):
    return [text for text in ax.texts if "ECE" in text.get_text()]


def test_a_text_that_does_not_fit_is_shortened_and_then_left_out():
    y, p = usual()
    made = ReliabilityDisplay.from_predictions(y, p, resamples=19)
    lines = []
    for inches in (6, 2.6, 0.7):
        figure = plt.figure(figsize=(inches, inches))
        found = _corner_text(made.plot(figure.add_axes((0.1, 0.1, 0.8, 0.8))).ax_)
        lines.append(len(found[0].get_text().splitlines()) if found else 0)
        for text in found:
            inside = made.ax_.get_window_extent().padded(2)
            box = text.get_window_extent()
            assert inside.x0 <= box.x0
            assert box.x1 <= inside.x1
    assert lines == [5, 2, 0]


def test_many_panels_lie_in_a_grid_whose_room_is_known():
    y, P = matrix()
    drawn = display(y, P).plot()
    assert drawn.figure_.get_layout_engine() is None
    first, second, *_ = drawn.axes_
    drawn.figure_.canvas.draw()
    assert [label.get_text() for label in first.get_yticklabels() if label.get_visible()]
    assert not [
        label for label in second.get_yticklabels() if label.get_visible() and label.get_text()
    ]
    boxes = [ax.get_tightbbox() for ax in (*drawn.axes_, *drawn.histogram_axes_)]
    frame = drawn.figure_.bbox
    assert all(
        frame.x0 <= b.x0 and b.x1 <= frame.x1 and frame.y0 <= b.y0 and b.y1 <= frame.y1
        for b in boxes
    )
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize("curve", ["isotonic", *slow("smooth")])
def test_the_band_of_a_curve_is_simultaneous_unless_asked_otherwise_and_says_so(curve):
    y, p = usual()
    drawn = display(y, p, curve=curve).plot()
    assert drawn.series[0].band.band == "simultaneous-consistency"
    said = " ".join(drawn.figure_.legends[0].get_texts()[0].get_text().split())
    assert (
        said == "if the scores were calibrated, the whole curve would lie inside 95 % of the time"
    )
    assert " ".join(drawn.to_text().split()).endswith(f"░ {said}")
    pointwise = display(y, p, curve=curve, band="consistency").plot()
    assert (
        pointwise.figure_.legends[0]
        .get_texts()[0]
        .get_text()
        .startswith("pointwise: if the scores were")
    )
    assert not display(y, p, curve=curve).plot(legend=False).figure_.legends


@pytest.mark.parametrize("curve", ["spline", "loess"])
def test_flexible_curves_have_confidence_bands_around_them(curve):
    y, p = usual()
    drawn = display(y, p, curve=curve).plot()
    record = drawn.series[0]
    assert record.value == tn.ici(y, p, curve=curve)
    assert np.array_equal(record.band.low, tn.curve_band(y, p, method=curve).low)
    assert drawn.figure_.legends[0].get_texts()[0].get_text() == "95 % confidence band, pointwise"
    shown = np.isfinite(drawn.line_.get_ydata())
    assert np.array_equal(drawn.line_.get_ydata()[shown], record.curve.y[shown])
    whole = display(y, p, curve=curve, band="simultaneous", level=0.9).plot()
    assert (
        whole.figure_.legends[0].get_texts()[0].get_text()
        == "90 % confidence band for the whole curve"
    )
    assert (whole.series[0].band.high >= tn.curve_band(y, p, method=curve, level=0.9).high).all()


@pytest.mark.parametrize(
    ("curve", "scale"),
    [("binned", "log"), ("isotonic", "linear"), ("spline", "logit"), ("loess", "log")],
)
def test_every_curve_takes_the_monotone_band_on_all_axes(curve, scale):
    y, p = usual()
    drawn = display(y, p, curve=curve, band="monotone", scale=scale).plot()
    band, own = drawn.series[0].band, tn.curve_band(y, p, method="monotone")
    assert (band.band, drawn.scale) == ("monotone", scale)
    # Between two scores: the lower end of the left one, the upper end of the right one.
    middle = (own.score[1:] + own.score[:-1]) / 2
    apart = np.diff(own.score) > 1e-9
    assert np.interp(middle, band.x, band.low)[apart] == pytest.approx(own.low[:-1][apart])
    assert np.interp(middle, band.x, band.high)[apart] == pytest.approx(own.high[1:][apart])
    assert "if the event probability rises with the score" in " ".join(drawn.to_text().split())


def test_a_spline_says_which_scores_it_leaves_out():
    y, p = usual()
    with pytest.warns(tn.errors.CertainScoresWarning, match="3 of 603 scores are exactly 0 or 1"):
        drawn = ReliabilityDisplay.from_predictions(
            [*y, 0, 1, 1], [*p, 0.0, 1.0, 1.0], curve="spline", resamples=9
        )
    assert "n = 603\n        without 3 scores of 0 or 1" in drawn.to_text()


def test_a_curve_that_does_not_exist_is_said_and_drawn_without_failing():
    y, p = [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]
    drawn = ReliabilityDisplay.from_predictions(y, p, curve="spline").plot()
    assert np.isnan(drawn.series[0].value)
    assert drawn.series[0].band is None
    assert "no curve: the spline has no finite estimate" in drawn.to_text()


def test_the_bars_of_bins_say_what_they_are():
    y, p = usual()
    assert (
        display(y, p).plot().figure_.legends[0].get_texts()[0].get_text()
        == "95 % interval of each rate"
    )
    jointly = display(y, p, band="simultaneous-consistency", level=0.9).plot()
    said = " ".join(jointly.figure_.legends[0].get_texts()[0].get_text().split())
    assert said == "if the scores were calibrated, all points would lie inside 90 % of the time"


@pytest.mark.parametrize("side", ["small", "large"])
@pytest.mark.parametrize("curve", ["binned", *slow("smooth")])
def test_linear_axes_zoom_in_where_the_scores_are(side, curve):
    rng = np.random.default_rng(0)
    p = rng.random(4_000) * 0.1
    y = (rng.random(4_000) < p).astype(int)
    if side == "large":
        p, y = 1 - p, 1 - y
    drawn = display(y, p, curve=curve).plot()
    low, high = (0, 0.15) if side == "small" else (0.85, 1)
    assert drawn.scale == "linear"
    assert drawn.ax_.get_xlim() == pytest.approx((low - 0.003, high + 0.003))
    assert drawn.ax_.get_ylim() == drawn.ax_.get_xlim()
    drawn.figure_.canvas.draw()
    labels = [text.get_text() for text in drawn.histogram_axes_[0].get_xticklabels()]
    assert labels == [f"{low + 0.03 * i:.6g}" for i in range(6)]
    assert drawn.series[0].histogram.weight.sum() == 4_000
    if curve == "binned":
        assert drawn.series[0].curve.n.tolist() == [400] * 10
    assert display(y, p, curve=curve, scale="linear").plot().ax_.get_xlim() == pytest.approx(
        (-0.02, 1.02)
    )


def test_logarithmic_ticks_are_percentages():
    drawn = display(*rare(), curve="binned").plot()
    drawn.figure_.canvas.draw()
    labels = [text.get_text() for text in drawn.ax_.get_yticklabels()]
    assert "0.1 %" in labels
    assert "1 %" in labels
