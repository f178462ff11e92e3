"""Pictures as SVG: where things stand and what they say."""

import math
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import trueness as tn
from trueness._report.charts import blocks_chart, reliability_chart, series_chart


def chart_of(y, p):
    (model,) = tn.report(y, p, intervals=False)._contents.models
    return ElementTree.fromstring(reliability_chart(model.picture, model.explorers[0])), model


def texts(svg, look):
    return [node.text for node in svg.iter("text") if look in node.get("class", "").split()]


def days_of(n, marked=(), **fields):
    usual = {"ece": 0.012, "floor": 0.01, "floor_high": 0.018, "low": 0.005, "high": 0.02} | fields
    return [SimpleNamespace(name=f"day-{i + 1}.tally", flagged=i + 1 in marked, **usual) for i in range(n)]


def test_the_worst_range_is_told_in_percent_and_no_other():
    d = tn.simulate.demo(10_000)
    svg, _ = chart_of(d.y_true, d.y_prob)
    assert texts(svg, "remark") == ["says 65 %,", "happens 41 %"]
    assert texts(svg, "tick")[:4] == ["0 %", "0 %", "20 %", "20 %"]
    assert texts(svg, "axis") == ["predicted probability", "how often it happened"]


def test_calibrated_scores_have_no_annotation():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    svg, _ = chart_of((rng.random(2_000) < p).astype(int), p)
    assert texts(svg, "remark") == []


def test_an_annotation_stays_within_the_frame():
    rng = np.random.default_rng(0)
    p = 1 - rng.beta(1, 20, 5_000) * 0.9
    svg, _ = chart_of((rng.random(5_000) < p - 0.03).astype(int), p)
    for node in svg.iter("text"):
        if node.get("class") == "remark":
            assert 68 <= float(node.get("x")) <= 68 + 380 - 8.4 * len(node.text)


@pytest.mark.slow
def test_rare_events_are_told_apart_in_the_annotation():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 700, 20_000)
    svg, model = chart_of((rng.random(p.size) < 2.5 * p).astype(int), p)
    assert len(model.picture.bins) == 10
    says, happens = (float(re.search(r"[\d.]+", text)[0]) for text in texts(svg, "remark"))
    assert says < happens < 5
    assert texts(svg, "tick")[-2].endswith("%")


def test_a_top_label_is_right_or_not(multiclass):
    (model,) = multiclass._contents.models
    svg = ElementTree.fromstring(reliability_chart(model.picture, model.explorers[0]))
    assert texts(svg, "axis") == ["confidence", "how often it was right"]
    blocks = ElementTree.fromstring(blocks_chart(model.blocks, model.explorers[0]))
    assert texts(blocks, "axis") == ["scores of the block", "how often it was right"]


def test_a_series_marks_and_names_the_days():
    svg = ElementTree.fromstring(series_chart(days_of(30, marked={10}), "ECE"))
    assert texts(svg, "marked") == ["day-10.tally"]
    assert len([g for g in svg.iter("g") if g.get("class") == "bin flagged"]) == 1
    assert len([g for g in svg.iter("g") if g.get("class") == "bin"]) == 29
    assert svg.get("aria-label") == "ECE of 30 data sets, 1 marked"
    assert len([line for line in svg.iter("line") if line.get("class") == "error"]) == 30


@pytest.mark.parametrize("missing", ["low", "floor", "floor_high", "ece"])
def test_a_series_leaves_out_what_is_not_known(missing):
    svg = ElementTree.fromstring(series_chart(days_of(3, **{missing: math.nan})))
    marks = [g for g in svg.iter("g") if g.get("class") == "bin"]
    assert len(marks) == (0 if missing == "ece" else 3)
    assert "nan" not in ElementTree.tostring(svg, encoding="unicode")


@pytest.mark.parametrize("n", [1, 200])
def test_a_series_of_any_length_has_readable_names(n):
    svg = ElementTree.fromstring(series_chart(days_of(n)))
    assert 1 <= len(texts(svg, "tick")) <= 25


def test_names_of_days_are_text():
    day = SimpleNamespace(name="<b>&", flagged=True, ece=0.1, floor=0.01, floor_high=0.02, low=math.nan, high=math.nan)
    assert "&lt;b&gt;&amp;" in series_chart([day])


def test_a_line_joins_only_neighbouring_bins_with_some_rows():
    p = np.repeat([0.05, 0.15, 0.25, 0.35, 0.75, 0.85], [20, 20, 1, 20, 20, 20])
    svg, _ = chart_of(np.arange(p.size) % 2, p)
    lines = [node.get("points").split() for node in svg.iter("polyline")]
    assert [len(line) for line in lines] == [2, 2]  # neither to the bin of one row nor over the empty ones
    assert len([node for node in svg.iter("g") if "bin" in node.get("class", "").split()]) == 6
