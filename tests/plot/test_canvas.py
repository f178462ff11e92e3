"""What all displays share: names as they are written."""

import base64
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from awkward_rows import matrix, usual

from trueness.plot import (
    BinsDisplay,
    CumulativeDisplay,
    IntervalDisplay,
    ReliabilityDisplay,
    TestReliabilityDisplay,
    ValidityDisplay,
)
from trueness.plot._canvas import probability

# Mathematics that cannot be parsed.
DOLLARS = "a $\\frac$ b"
CURVE = SimpleNamespace(jumps=np.array([0.01, 0.03, 0.2]), share=np.array([0.5, 0.9, 1.0]))


def classes():
    y, P = matrix()
    names = np.array([DOLLARS, "b", "c"])
    return ReliabilityDisplay.from_predictions(names[y], P, labels=names.tolist(), numbers=False)


Y, P = usual()
SEVERAL = {
    "reliability": lambda names: ReliabilityDisplay.from_predictions(Y, dict.fromkeys(names, P), numbers=False),
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


@pytest.mark.parametrize("make", ONE.values(), ids=ONE)
def test_dollars_are_drawn_as_dollars(make):
    drawn = make().plot()
    drawn.figure_.canvas.draw()
    from matplotlib.text import Text

    said = [text for text in drawn.figure_.findobj(Text) if DOLLARS in text.get_text()]
    assert said
    assert not any(text.get_parse_math() for text in said)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("make", SEVERAL.values(), ids=SEVERAL)
def test_legends_show_every_name_as_it_is_written(make, given):
    import matplotlib.pyplot as plt

    drawn = make(["_hidden", DOLLARS, "c"]).plot(ax=plt.subplots()[1] if given else None)
    drawn.figure_.canvas.draw()
    assert [text.split(":")[0] for text in legend_texts(drawn)] == ["_hidden", DOLLARS, "c"]


@pytest.mark.parametrize("make", SEVERAL.values(), ids=SEVERAL)
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
        ReliabilityDisplay.from_predictions(Y, scores, numbers=False).plot() for scores in (P**3, 1 - (1 - P) ** 3)
    )
    for drawn, corner in ((over, (0.97, 0.03)), (under, (0.03, 0.97))):
        (text,) = drawn.ax_.texts
        assert text.get_position() == corner
        assert text.get_zorder() < min(drawn.line_.get_zorder(), *(c.get_zorder() for c in drawn.ax_.collections))
        assert text.get_bbox_patch().get_alpha() < 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0, "0"), (1e-5, "1e-05"), (0.25, "0.25"), (0.9, "0.9"), (0.99, "0.99"), (0.9999, "0.9999"), (1.0, "1")),
        *((1 - 1e-5, "1−1e-5"), (1 - 2e-5, "1−2e-5"), (1 - 1e-12, "1−1e-12"), (0.9983, "0.998")),
    ],
)
def test_probabilities_near_one_differ_from_one(value, text):
    assert probability(value) == text


@pytest.mark.parametrize("make", [ONE["reliability"], ONE["interval"]], ids=["reliability", "interval"])
def test_a_notebook_shows_the_picture_and_what_it_shows(make):
    import matplotlib.pyplot as plt

    display, before = make(), plt.get_fignums()
    page = display._repr_html_()
    assert page.startswith('<figure><img width="')
    assert base64.b64decode(page.partition("base64,")[2].partition('"')[0]).startswith(b"\x89PNG")
    assert not hasattr(display, "figure_")
    assert plt.get_fignums() == before


def test_a_notebook_that_is_about_to_show_the_picture_gets_the_words(monkeypatch):
    import matplotlib

    drawn = CumulativeDisplay.from_predictions(Y, P).plot()
    assert "<img" in drawn._repr_html_()
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    assert drawn._repr_html_().startswith("<p>cumulative walk from")


def test_every_display_is_drawn_in_a_notebook():
    import trueness.plot as home

    displays = [getattr(home, name) for name in home.__all__ if name.endswith("Display")]
    assert len(displays) >= 7
    assert all(hasattr(display, "_repr_html_") for display in displays)
