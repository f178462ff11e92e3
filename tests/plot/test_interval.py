"""Forest plots, by the data of their artists."""

import numpy as np
import pytest
from awkward_rows import matrix, usual

import trueness as tn
from trueness.plot import IntervalDisplay
from trueness.results import Interval


def test_every_model_has_a_line():
    y, p = usual()
    drawn = IntervalDisplay.from_predictions(y, {"a": p, "b": p / 2}).plot()
    found = [tn.ece_interval(y, scores, seed=0) for scores in (p, p / 2)]
    assert list(drawn.intervals.values()) == found
    for segment, interval in zip(drawn.line_.get_segments(), found, strict=True):
        assert segment[:, 0].tolist() == [interval.low, interval.high]
    assert [label.get_text() for label in drawn.ax_.get_yticklabels()] == ["a", "b"]
    assert drawn.ax_.get_xlabel() == "typical error, 95 % confidence set"


def test_zero_has_a_mark_of_its_own():
    away = Interval(0.03, 0.02, 0.05, 0.9, "analytic", 500, True, True)
    without = Interval(0.03, 0.02, 0.05, 0.9, "analytic", 500, True, False)
    drawn = IntervalDisplay({"away": away, "without": without}).plot()
    zeros = drawn.ax_.collections[-1].get_offsets()
    assert zeros.tolist() == [[0.0, 0.0]]
    assert drawn.ax_.texts[0].get_text() == "0.0300  {0} ∪ [0.0200, 0.0500]"
    assert drawn.ax_.texts[1].get_text() == "0.0300  [0.0200, 0.0500]"
    assert not IntervalDisplay({"away": away}).plot(numbers=False).ax_.texts


def test_squared_errors_among_others_are_drawn_as_roots():
    squared = Interval(0.04, 0.01, 0.09, 0.9, "analytic", 500, True, False, squared=True)
    plain = Interval(0.03, 0.02, 0.05, 0.9, "analytic", 500, True, False)
    drawn = IntervalDisplay({"squared": squared, "plain": plain}).plot()
    np.testing.assert_allclose(
        [s[:, 0] for s in drawn.line_.get_segments()], [[0.1, 0.3], [0.02, 0.05]]
    )
    assert drawn.ax_.get_xlabel().startswith("typical error")
    assert IntervalDisplay({"squared": squared}).intervals["squared"] is squared


def test_groups_and_classes_have_lines_of_their_own():
    y, p = usual()
    groups = np.where(np.arange(600) < 200, "x", "y")
    found = IntervalDisplay.from_predictions(y, p, by=groups, sample_weight=np.ones(600)).intervals
    assert found["x"] == tn.ece_interval(y[:200], p[:200], seed=0)
    assert list(found) == ["x", "y"]
    some = IntervalDisplay.from_predictions(y, p, by=[None] * 200 + ["y"] * 400).intervals
    assert some == {"y": found["y"], "(missing)": found["x"]}
    y, P = matrix()
    assert list(IntervalDisplay.from_predictions(y, P).intervals) == [
        "class 0",
        "class 1",
        "class 2",
    ]
    assert list(IntervalDisplay.from_predictions(y, P, kind="confidence", name="m").intervals) == [
        "m"
    ]
    assert list(
        IntervalDisplay.from_predictions(
            y, {"a": P, "b": P}, by=np.arange(300) % 2, classes=[0]
        ).intervals
    ) == ["a · class 0 · 0", "b · class 0 · 0", "a · class 0 · 1", "b · class 0 · 1"]


def test_rows_that_miss_a_value_are_dropped_from_their_group():
    pl = pytest.importorskip("polars")
    y, p = usual()
    scores = pl.Series([None if i == 3 else float(v) for i, v in enumerate(p)])
    by = np.arange(600) < 200
    with pytest.warns(tn.errors.DroppedRowsWarning):
        found = IntervalDisplay.from_predictions(y, scores, by=by, missing="drop").intervals
    kept = np.arange(600) != 3
    assert found == IntervalDisplay.from_predictions(y[kept], p[kept], by=by[kept]).intervals


def test_a_group_may_lack_a_class():
    y, P = matrix()
    words = np.array(["ant", "bee", "cat"])[y]
    by = np.where(y == 2, "all", np.where(np.arange(y.size) % 2, "all", "no cats"))
    found = IntervalDisplay.from_predictions(words, P, by=by, classes=["ant"]).intervals
    assert list(found) == ["class ant · all", "class ant · no cats"]
