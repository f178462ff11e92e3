"""Which records of a report its pictures show: errors side by side, models, segments, before and after a map."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trueness._report.charts import courses_chart
from trueness._report.forest import Line, Scale, forest_chart
from trueness._report.pictures import joint_axes
from trueness._report.records import Course, Model
from trueness._report.tables import shown_segments
from trueness._text.numbers import count, points, ratio, signed, span
from trueness._text.strings import shorten, visible

_LONGEST, _HUES, _FEW_ROWS = 28, 8, 5
_ERRORS, _POINTS = ("l2", "low", "high"), "percentage points"
_RATIOS, _RATIO = ("ratio", "ratio_low", "ratio_high"), Scale("observed / expected", 1.0, ratios=True)
_METER, _HALF, _WHOLE = 460, 520, 1080  # widths on the page


def meter(numbers: Mapping[str, Any]) -> str:
    """The error with its limits, the ECE, and the ECE that chance alone gives; of rare events, observed/expected."""
    lines, scale = [error_line(numbers, "typical error", "tone")], Scale(_POINTS, times=100, beside=True)
    if not math.isfinite(numbers["l2"]):
        lines = []
    ece, chance = numbers["ece"], numbers["chance"]
    lines += [_gap_line("ECE", "", ece), _gap_line("ECE by chance", "chance", chance, 0.0, numbers["chance_high"])]
    if "ratio" in numbers:
        lines, scale = [error_line(numbers, "all rows", "tone")], _RATIO._replace(beside=True)
    label = "; ".join(f"{one.name}: {one.text}" for one in lines)
    return forest_chart([one._replace(text="") for one in lines], scale, f"{label} ({scale.title})", _METER)


def error_line(numbers: Mapping[str, Any], name: str, kind: str = "") -> Line:
    """What the page says first of a model: its typical error, of rare events observed/expected; or else the ECE."""
    if "ratio" in numbers:
        return _ratio_line(name, kind, *(numbers[key] for key in _RATIOS))
    known = math.isfinite(numbers["l2"])
    return _gap_line(name, kind, *(numbers[key] for key in (_ERRORS if known else ("ece",))))


def _gap_line(
    name: str, kind: str, value: float, low: float = math.nan, high: float = math.nan, *, sign: bool = False
) -> Line:
    """A difference of probabilities, with limits if these are known, in percentage points."""
    values = (value, low, high) if math.isfinite(high) else (value,)
    texts = [f"+{text}" if sign and not text.startswith("−") else text for text in points(*values)]
    limits = f" ({texts[1]} to {texts[2]})" if len(texts) > 1 else ""
    return Line(name, value, low, high, f"{texts[0]}{limits}", kind)


def _ratio_line(name: str, kind: str, value: float, low: float, high: float) -> Line:
    return Line(name, value, low, high, f"{ratio(value)} ({span(low, high, ratio)})", kind)


def models_charts(models: Sequence[Model]) -> list[str]:
    """All models in one diagram; then error, slope and observed/expected side by side in the same colours."""
    names = [shorten(visible(model.name), _LONGEST) for model in models]
    views = [model.explorers[0] for model in models]
    kinds = [f"hue-{i % _HUES}{' dashed' * (i // _HUES % 2)}" for i in range(len(models))]
    shown = [(model.picture.bins, model.picture.interval_low, model.picture.interval_high) for model in models]
    courses = [(name, Course.of(*one, least=_FEW_ROWS)) for name, one in zip(names, shown, strict=True)]
    axes, label = joint_axes([view.near for view in views]), f"{count(len(models), 'model')} in one diagram"
    charts = [courses_chart(courses, kinds, axes, views[0], label)]
    lines = []
    for model, name, kind in zip(models, names, kinds, strict=True):
        numbers = {key: model.answers["how_far"].numbers[key] for key in (*_ERRORS, "ece")}
        lines.append(error_line(numbers, name, kind))
    error = "typical error" if any(math.isfinite(line.high) for line in lines) else "ECE"
    charts.append(forest_chart(lines, Scale(f"{error}, {_POINTS}", times=100), f"{error} of each", _HALF))
    for key, scale in (("slope", Scale("slope", 1.0)), ("observed_expected", _RATIO)):
        lines = []
        for model, name, kind in zip(models, names, kinds, strict=True):
            one = model.summary.estimates.get(key)
            lines += [] if one is None else [_ratio_line(name, kind, one.value, one.low, one.high)]
        charts += [forest_chart(lines, scale, f"{scale.title} of each", _HALF)] if lines else []
    return charts


def segments_chart(model: Model) -> str:
    """The gap of each segment with its limits, or, for rare events, observed/expected; empty without segments."""
    s, segments = model.summary, model.segments
    if segments is None or not segments.rows:
        return ""
    scale = Scale(f"gap: rate − mean score, {_POINTS}", times=100, overall=s.rate - s.mean_score)
    scale = _RATIO._replace(overall=s.observed_expected) if model.verdict.rare else scale
    lines = []
    for one in shown_segments(segments):
        name = shorten(visible(f"{one['column']} = {one['value']}"), _LONGEST)
        kind = ("flagged" if one["differs"] else "flagged hollow") if one["flagged"] else ""
        if model.verdict.rare:
            lines.append(_ratio_line(name, kind, *(one[key] for key in _RATIOS)))
        else:
            lines.append(_gap_line(name, kind, one["gap"], one["gap_low"], one["gap_high"], sign=True))
    label = f"{count(len(lines), 'segment')}, {sum(line.kind != '' for line in lines)} flagged"
    return forest_chart(lines, scale, label, _WHOLE)


def remedy_charts(model: Model) -> dict[str, str]:
    """The rows before and after the recommended map and the gain of each map, on held-out rows; empty without a map."""
    fixes, advised = model.remedies, model.answers["action"].numbers.get("calibrator")
    best = next((one for one in fixes.after if one.calibrator == advised), None) if fixes else None
    if fixes is None or best is None or fixes.before.course is None or best.course is None:
        return {}
    view, courses = model.explorers[0], [("before", fixes.before.course), (f"after {best.name}", best.course)]
    gains = []
    for one in fixes.after:
        text = f"{signed(one.gain)} ({span(one.gain_low, one.gain_high, signed)})"
        gains.append(Line(one.name, one.gain, one.gain_low, one.gain_high, text, "best" if one is best else ""))
    return {
        "courses": courses_chart(courses, ("before", "after"), view.near, view, "Before and after the map"),
        "gains": forest_chart(gains, Scale("reduction of the Brier score"), "Gain of each map", _HALF),
        "name": best.name,
    }
