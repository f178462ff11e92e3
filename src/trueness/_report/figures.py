"""Which records of a report its pictures show: errors side by side, models, segments, before and after a map."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueness._report.charts import courses_chart
from trueness._report.forest import Line, Scale, forest_chart
from trueness._report.pictures import RARE_EVENTS, joint_axes
from trueness._report.records import Course, Model, Picture
from trueness._report.tables import shown_segments
from trueness._text.numbers import count, level_percent, points, ratio, signed, span
from trueness._text.strings import shorten, visible

_LONGEST, _HUES, _FEW_ROWS = 28, 8, 5
_POINTS = "percentage points"
_METER, _HALF, _WHOLE = 460, 520, 1080  # widths on the page


def meter(numbers: Mapping[str, Any]) -> str:
    """The typical error with its limits, the average gap, and the average gap that chance alone gives."""
    n = {
        key: float(numbers.get(key, math.nan)) for key in ("l2", "low", "high", "level", "ece", "chance", "chance_high")
    }
    lines = [
        Line("average gap", n["ece"], math.nan, math.nan, f"{points(n['ece'])[0]} points"),
        Line(
            "by chance", n["chance"], 0.0, n["chance_high"], f"up to {points(n['chance_high'])[0]} points", "", "chance"
        ),
    ]
    if math.isfinite(n["l2"]):
        lines.insert(0, error_line(numbers, "typical error", "tone")._replace(text=""))
    return forest_chart(
        lines, Scale(_POINTS, times=100), "; ".join(f"{one.name}: {one.words}" for one in lines), _METER
    )


def error_line(numbers: Mapping[str, Any], name: str, kind: str = "") -> Line:
    """The error of a model with its limits; without limits the average gap."""
    value, low, high = (float(numbers.get(key, math.nan)) for key in ("l2", "low", "high"))
    if not math.isfinite(value):
        value = float(numbers["ece"])
        return Line(name, value, math.nan, math.nan, f"{points(value)[0]} points", points(value)[0], kind)
    estimate, *limits = points(value, low, high)
    text = f"{estimate} ({limits[0]} to {limits[1]})"
    words = f"{text} points, {level_percent(float(numbers['level']))} confidence"
    return Line(name, value, low, high, words, text, kind)


def models_charts(models: Sequence[Model]) -> list[str]:
    """All models in one diagram; then error, slope and observed/expected side by side in the same colours."""
    kinds = [f"hue-{i % _HUES}" for i in range(len(models))]
    names = [shorten(visible(model.name), _LONGEST) for model in models]
    views = [model.explorers[0] for model in models]
    courses = [(name, _course(model.picture)) for name, model in zip(names, models, strict=True)]
    diagram = courses_chart(
        courses, kinds, joint_axes([view.near for view in views]), views[0], f"Curves of {count(len(models), 'model')}"
    )
    lines = [
        error_line(model.answers["how_far"].numbers, name, kind)
        for model, name, kind in zip(models, names, kinds, strict=True)
    ]
    error = "typical error" if any(math.isfinite(line.high) for line in lines) else "average gap"
    charts = [forest_chart(lines, Scale(f"{error}, {_POINTS}", times=100), f"{error} of each", _HALF)]
    for key, scale in (("slope", Scale("slope", 1.0)), ("observed_expected", Scale("observed / expected", 1.0, True))):
        found = [model.summary.estimates.get(key) for model in models]
        lines = [
            _ratio_line(name, one.value, one.low, one.high, kind)
            for one, name, kind in zip(found, names, kinds, strict=True)
            if one is not None and math.isfinite(one.value)
        ]
        charts += [forest_chart(lines, scale, f"{scale.title} of each", _HALF)] if lines else []
    return [diagram, *charts]


def _ratio_line(name: str, value: float, low: float, high: float, kind: str) -> Line:
    text = f"{ratio(value)} ({span(low, high, ratio)})"
    return Line(name, value, low, high, text, text, kind)


def _course(picture: Picture) -> Course:
    """The bins of a picture with some rows."""
    b, filled = picture.bins, picture.bins.n >= _FEW_ROWS
    ends = (np.array(limits) for limits in (picture.interval_low, picture.interval_high))
    return Course(*(tuple(column[filled].tolist()) for column in (b.score, b.rate, *ends)))


def segments_chart(model: Model) -> str:
    """The gap of each segment with its limits, or, for rare events, observed/expected; empty without segments."""
    s, segments = model.summary, model.segments
    if segments is None or not segments.rows:
        return ""
    rare = s.rate < RARE_EVENTS
    scale = Scale(f"gap: rate − mean score, {_POINTS}", times=100, overall=s.rate - s.mean_score)
    if rare:
        scale = Scale("observed / expected", 1.0, True, overall=s.observed_expected)
    lines = [_segment_line(one, rare) for one in shown_segments(segments)]
    label = f"{count(len(lines), 'segment')}, {sum(line.kind != '' for line in lines)} flagged"
    return forest_chart(lines, scale, label, _WHOLE)


def _segment_line(one: Mapping[str, Any], rare: bool) -> Line:
    name = shorten(visible(f"{one['column']} = {one['value']}"), _LONGEST)
    kind = ("flagged" if one["differs"] else "flagged hollow") if one["flagged"] else ""
    if rare:
        return _ratio_line(name, one["ratio"], one["ratio_low"], one["ratio_high"], kind)
    low, high = one["gap_low"], one["gap_high"]
    gap, *limits = (text if text.startswith("−") else f"+{text}" for text in points(one["gap"], low, high))
    text = f"{gap} ({limits[0]} to {limits[1]})"
    return Line(name, one["gap"], low, high, f"gap {text} points", text, kind)


def remedy_charts(model: Model) -> dict[str, str]:
    """The rows before and after the recommended map and the gain of each map, on held-out rows; empty without a map."""
    fixes = model.remedies
    advised = model.answers["action"].numbers.get("calibrator")
    best = next((one for one in fixes.after if one.calibrator == advised), None) if fixes else None
    if fixes is None or best is None or fixes.before.course is None or best.course is None:
        return {}
    view = model.explorers[0]
    courses = [("before", fixes.before.course), (f"after {best.name}", best.course)]
    gains = [
        Line(one.name, one.gain, one.gain_low, one.gain_high, text, text, "best" if one is best else "")
        for one in fixes.after
        for text in [f"{signed(one.gain)} ({span(one.gain_low, one.gain_high, signed)})"]
    ]
    return {
        "courses": courses_chart(courses, ("before", "after"), view.near, view, "Before and after the map"),
        "gains": forest_chart(gains, Scale("reduction of the Brier score"), "Gain of each map", _HALF),
        "name": best.name,
    }
