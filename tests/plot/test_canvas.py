"""What all displays share: names as they are written, awkward rows, axes, estimators, messages and notebooks."""

import base64
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from awkward_rows import AWKWARD, matrix, usual
from grids import fast
from sklearn.dummy import DummyClassifier

import trueness as tn
from trueness.plot import (
    BinsDisplay,
    CumulativeDisplay,
    IntervalDisplay,
    ReliabilityDisplay,
    TestReliabilityDisplay,
    ValidityDisplay,
)
from trueness.results import Interval

# Mathematics that cannot be parsed.
DOLLARS = "a $\\frac$ b"
CURVE = SimpleNamespace(jumps=np.array([0.01, 0.03, 0.2]), share=np.array([0.5, 0.9, 1.0]))


def classes():
    y, P = matrix()
    names = np.array([DOLLARS, "b", "c"])
    return ReliabilityDisplay.from_predictions(names[y], P, labels=names.tolist(), numbers=False)


Y, P = usual()
SEVERAL = {
    "reliability": lambda names: ReliabilityDisplay.from_predictions(
        Y, dict.fromkeys(names, P), numbers=False
    ),
    "cumulative": lambda names: CumulativeDisplay.from_predictions(Y, dict.fromkeys(names, P)),
    "validity": lambda names: ValidityDisplay(dict.fromkeys(names, CURVE)),
}
ONE = {
    "reliability": lambda: ReliabilityDisplay.from_predictions(Y, P, name=DOLLARS, numbers=False),
    "classes": classes,
    "cumulative": lambda: CumulativeDisplay.from_predictions(Y, P, name=DOLLARS),
    "validity": lambda: ValidityDisplay({DOLLARS: CURVE}),
    "bins": lambda: BinsDisplay.from_predictions(Y, P, bins={DOLLARS: 3}),
    "tested": lambda: TestReliabilityDisplay.from_predictions(Y, P, name=DOLLARS),
    "interval": lambda: IntervalDisplay.from_predictions(Y, P, name=DOLLARS),
}


def legend_texts(drawn):
    legend = drawn.figure_.legends[0] if drawn.figure_.legends else drawn.ax_.get_legend()
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("make", fast(ONE, "reliability", "classes", "validity", "interval"))
def test_dollars_are_drawn_as_dollars(make):
    drawn = make().plot()
    drawn.figure_.canvas.draw()
    from matplotlib.text import Text

    said = [text for text in drawn.figure_.findobj(Text) if DOLLARS in text.get_text()]
    assert said
    assert not any(text.get_parse_math() for text in said)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("make", fast(SEVERAL, "validity"))
def test_legends_show_every_name_as_it_is_written(make, given):
    import matplotlib.pyplot as plt

    drawn = make(["_hidden", DOLLARS, "c"]).plot(ax=plt.subplots()[1] if given else None)
    drawn.figure_.canvas.draw()
    assert [text.split(":")[0] for text in legend_texts(drawn)] == ["_hidden", DOLLARS, "c"]


@pytest.mark.parametrize("make", fast(SEVERAL, "validity"))
def test_a_new_figure_grows_with_its_legend(make):
    import matplotlib.pyplot as plt

    one, many = (make([f"model {i}" for i in range(count)]).plot() for count in (1, 12))
    for drawn in (one, many):
        drawn.figure_.canvas.draw()
    assert many.ax_.get_window_extent().height > 0.9 * one.ax_.get_window_extent().height
    figure, ax = plt.subplots(figsize=(5, 4))
    make([f"model {i}" for i in range(12)]).plot(ax=ax)
    assert figure.get_size_inches().tolist() == [5, 4]


@pytest.mark.parametrize("width", [2.5, 5.4])
def test_ticks_near_one_differ_and_do_not_overlap(width):
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(5)
    p = 1 - rng.beta(0.3, 300, 20_000)
    y = (rng.random(p.size) < p).astype(int)
    ax = plt.subplots(figsize=(width, 4), layout="constrained")[1]
    drawn = ReliabilityDisplay.from_predictions(y, p, numbers=False).plot(ax=ax, histogram=False)
    drawn.figure_.canvas.draw()
    labels = drawn.ax_.get_xticklabels()
    texts = [label.get_text() for label in labels]
    assert len(texts) == len(set(texts)) >= 2
    assert "1" not in texts
    boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_numbers_stand_behind_the_points_and_where_fewest_are():
    over, under = (
        ReliabilityDisplay.from_predictions(Y, scores, numbers=False).plot()
        for scores in (P**3, 1 - (1 - P) ** 3)
    )
    for drawn, corner in ((over, (0.97, 0.03)), (under, (0.03, 0.97))):
        (text,) = drawn.ax_.texts
        assert text.get_position() == corner
        assert text.get_zorder() < min(
            drawn.line_.get_zorder(), *(c.get_zorder() for c in drawn.ax_.collections)
        )
        assert text.get_bbox_patch().get_alpha() < 1


@pytest.mark.parametrize(
    "make", [ONE["reliability"], ONE["interval"]], ids=["reliability", "interval"]
)
def test_a_notebook_shows_the_picture_and_what_it_shows(make):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    display = make()
    page = display._repr_html_()
    assert page.startswith('<figure><img width="')
    assert base64.b64decode(page.partition("base64,")[2].partition('"')[0]).startswith(b"\x89PNG")
    assert display.figure_.number not in before
    assert display.plot().figure_.number in plt.get_fignums()
    assert len(plt.get_fignums()) == len(before) + 1  # the second takes the place of the first


@pytest.mark.parametrize("name", ["centres", "route", "stability", "coverage", "levels"])
def test_displays_of_other_data_are_drawn_when_they_are_made_too(name):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 4, 600)
    y = (rng.random(600) < p).astype(int)
    quantiles = tn.events.quantiles(
        rng.normal(size=300), np.tile([-1.0, 0.0, 1.0], (300, 1)), levels=[0.16, 0.5, 0.84]
    )
    made = {
        "centres": lambda ax: tn.plot.CentresDisplay.from_predictions(
            y, p, by=np.arange(600) % 9, ax=ax
        ),
        "route": lambda ax: tn.plot.RouteDisplay.from_predictions(y, p, np.ones(600, int), ax=ax),
        "stability": lambda ax: tn.plot.StabilityDisplay.from_scores(p, p**1.1, ax=ax),
        "coverage": lambda ax: tn.plot.CoverageDisplay.from_events(quantiles, ax=ax),
        "levels": lambda ax: tn.plot.LevelHistogramDisplay.from_events(quantiles, ax=ax),
    }[name]
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    display = made(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.has_data()


def test_a_display_is_drawn_when_it_is_made_on_the_axes_that_are_passed():
    import matplotlib.pyplot as plt

    ax = plt.figure().subplots()
    known = plt.get_fignums()
    display = IntervalDisplay.from_predictions(Y, P, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.lines
    assert plt.get_fignums() == known


def test_a_notebook_that_is_about_to_show_the_picture_gets_the_words(monkeypatch):
    import matplotlib

    drawn = CumulativeDisplay.from_predictions(Y, P).plot()
    assert "<img" in drawn._repr_html_()
    monkeypatch.setattr(
        matplotlib, "get_backend", lambda: "module://matplotlib_inline.backend_inline"
    )
    assert drawn._repr_html_().startswith("<p>cumulative walk from")


DISPLAYS = (
    BinsDisplay,
    CumulativeDisplay,
    TestReliabilityDisplay,
    IntervalDisplay,
    ReliabilityDisplay,
)


@pytest.mark.filterwarnings("ignore::trueness.TruenessWarning")
@pytest.mark.parametrize("case", fast(AWKWARD, "one row"))
@pytest.mark.parametrize("display", DISPLAYS[:3])
def test_every_picture_can_be_drawn(display, case):
    drawn = display.from_predictions(*case).plot()
    drawn.figure_.canvas.draw()
    if display is CumulativeDisplay:
        low, high = drawn.ax_.get_ylim()
        assert low < drawn.line_.get_ydata().min() <= drawn.line_.get_ydata().max() < high


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimators_and_axes_can_be_given(display):
    import matplotlib.pyplot as plt

    X, y = np.zeros((40, 1)), np.arange(40) % 2
    figure, axes = plt.subplots(1, 3)
    drawn = display.from_estimator(DummyClassifier().fit(X, y), X, y).plot(
        ax=axes if display is BinsDisplay else axes[0]
    )
    assert drawn.figure_ is figure
    assert drawn.ax_ is axes[0]
    assert display is BinsDisplay or "DummyClassifier" in str(vars(drawn))


TWO = {
    str(level): Interval(0.03, 0.02, 0.05, level, "analytic", 500, True, False)
    for level in (0.9, 0.95)
}
TALLY = tn.tally(Y, P)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: BinsDisplay.from_predictions(Y, P, bins=5),
            "`bins` must map names to bin rules; got 5",
        ),
        (
            lambda: BinsDisplay.from_predictions(*matrix()),
            "`classes` must be one class for BinsDisplay",
        ),
        (
            lambda: BinsDisplay.from_predictions(Y, {"a": P}),
            "`y_prob` must be one model for BinsDisplay",
        ),
        (
            lambda: BinsDisplay.from_predictions({"a": TALLY}),
            "`y_true` must be one model for BinsDisplay",
        ),
        (lambda: BinsDisplay({}), "`tables` must hold at least one table"),
        (
            lambda: TestReliabilityDisplay.from_predictions(Y, {"a": P}),
            "`y_prob` must be one model",
        ),
        (
            lambda: CumulativeDisplay.from_predictions(*matrix()),
            "`classes` must be one class for CumulativeDisplay",
        ),
        (lambda: CumulativeDisplay({}), "`walks` must hold at least one walk"),
        (
            lambda: CumulativeDisplay.from_predictions(Y, P, level=2),
            "`level` must lie strictly between 0 and 1",
        ),
        (
            lambda: IntervalDisplay.from_predictions(Y, P, by=["a"]),
            "`by` must have one entry per row",
        ),
        (
            lambda: IntervalDisplay.from_predictions(Y, P, by={"a": Y, "b": Y}),
            "`by` must be one column; got 2",
        ),
        (
            lambda: IntervalDisplay.from_predictions(TALLY, by=Y),
            "`by` needs rows; a Tally has none",
        ),
        (lambda: IntervalDisplay(TWO), r"`intervals` must have one level; got 0\.9, 0\.95"),
        (lambda: IntervalDisplay({}), "`intervals` must hold at least one interval"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(tn.InputError, match=message):
        call()
