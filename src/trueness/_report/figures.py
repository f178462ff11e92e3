"""Errors side by side, models, segments, before and after a map: which records these pictures show, as inline SVG."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from trueness._assess.page_pictures import joint_axes
from trueness._report.charts import courses_chart, mark, path, round_step, svg, tag, title
from trueness._report.tables import shown_segments
from trueness._text.numbers import count, points, ratio, signed_with_limits, span
from trueness._text.strings import shorten, visible
from trueness.results._page import Model
from trueness.results._remedies import Course

_LINE = 21.0
_TOP = 4.0
# Width of one of the names and right-hand texts on a narrow screen, which enlarges them.
_LETTER = 7.2
_TICK = 46.0  # room for one
_REACH = 3.0  # limits farther out than this multiple of the farthest estimate are cut off
_LEAST_RATIO = 0.005  # where smaller ones, and zero, are drawn
_RATIO_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class Line(NamedTuple):
    """One estimate."""

    name: str
    value: float
    low: float
    high: float
    text: str
    """The numbers, at the right end."""
    kind: str
    """A class of the style sheet; 'flagged' is a red diamond."""


class Scale(NamedTuple):
    """The axis."""

    title: str
    reference: float = 0.0
    """Where a full line stands, as of a calibrated model."""
    ratios: bool = False
    """Whether equal ratios are equally far apart, not equal differences."""
    times: float = 1.0
    """What values are multiplied by on the axis."""
    overall: float = math.nan
    """Where a dashed line stands, as of all rows."""
    beside: bool = False
    """Whether the title stands beside the ticks, below the names."""

    def along(self, value: float) -> float:
        if self.ratios:
            return math.log(max(value, _LEAST_RATIO))
        return self.times * value


_LONGEST = 28
_HUES = 8
_FEW_ROWS = 5
_FEWEST_TICKS = 3
_ERRORS = ("l2", "low", "high")
_POINTS = "percentage points"
_RATIOS = ("ratio", "ratio_low", "ratio_high")
_RATIO = Scale("observed / expected", 1.0, ratios=True)
_METER, _HALF, _WHOLE = 460, 520, 1080  # widths on the page


def meter(numbers: Mapping[str, Any]) -> str:
    """The error with its limits, the ECE, and the ECE that chance alone gives.

    Of rare events, observed/expected.
    """
    lines = list[Line]()
    scale = Scale(_POINTS, times=100, beside=True)
    lines += [error_line(numbers, "typical error", "tone")] if math.isfinite(numbers["l2"]) else []
    ece = numbers["ece"]
    chance = numbers["chance"]
    lines += [
        _gap_line("ECE", "", ece),
        _gap_line("ECE by chance", "chance", chance, 0.0, numbers["chance_high"]),
    ]
    if "ratio" in numbers:
        lines = [error_line(numbers, "all rows", "tone")]
        scale = _RATIO._replace(beside=True)
    label = "; ".join(f"{one.name}: {one.text}" for one in lines)
    return _forest_chart(
        [one._replace(text="") for one in lines], scale, f"{label} ({scale.title})", _METER
    )


def error_line(numbers: Mapping[str, Any], name: str, kind: str = "") -> Line:
    """What the page says first of a model: its typical error, of rare events observed/expected.

    Or else the ECE.
    """
    if "ratio" in numbers:
        return _ratio_line(name, kind, *(numbers[key] for key in _RATIOS))
    known = math.isfinite(numbers["l2"])
    return _gap_line(name, kind, *(numbers[key] for key in (_ERRORS if known else ("ece",))))


def _gap_line(
    name: str,
    kind: str,
    value: float,
    low: float = math.nan,
    high: float = math.nan,
    *,
    sign: bool = False,
) -> Line:
    """A difference of probabilities, with limits if these are known, in percentage points."""
    values = (value, low, high) if math.isfinite(high) else (value,)
    texts = [_with_sign(text) if sign else text for text in points(*values)]
    limits = f" ({texts[1]} to {texts[2]})" if len(texts) > 1 else ""
    return Line(name, value, low, high, f"{texts[0]}{limits}", kind)


def _with_sign(text: str) -> str:
    if text.startswith("−") or not text.strip("0."):
        return text
    return f"+{text}"


def _ratio_line(name: str, kind: str, value: float, low: float, high: float) -> Line:
    return Line(name, value, low, high, f"{ratio(value)} ({span(low, high, ratio)})", kind)


def models_charts(models: Sequence[Model]) -> list[str]:
    """All models in one diagram.

    Then error, slope and observed/expected side by side in the same colours.
    """
    names = [shorten(visible(model.name), _LONGEST) for model in models]
    views = [model.explorers[0] for model in models]
    kinds = [f"hue-{i % _HUES}{' dashed' * (i // _HUES % 2)}" for i in range(len(models))]
    shown = [
        (model.picture.bins, model.picture.interval_low, model.picture.interval_high)
        for model in models
    ]
    courses = [
        (name, Course.of(*one, least=_FEW_ROWS)) for name, one in zip(names, shown, strict=True)
    ]
    axes = joint_axes([view.near for view in views])
    label = f"{count(len(models), 'model')} in one diagram"
    charts = [courses_chart(courses, kinds, axes, views[0], label)]
    each = list(zip(models, names, kinds, strict=True))
    lines = []
    for model, name, kind in each:
        numbers = {key: model.answers["how_far"].numbers[key] for key in (*_ERRORS, "ece")}
        line = error_line(numbers, name, kind)
        lines.append(line._replace(text=_short_size(model)))
    error = "typical error" if any(math.isfinite(line.high) for line in lines) else "ECE"
    charts.append(
        _forest_chart(lines, Scale(f"{error}, {_POINTS}", times=100), f"{error} of each", _HALF)
    )
    for key, scale in (("slope", Scale("slope", 1.0)), ("observed_expected", _RATIO)):
        lines = []
        for model, name, kind in each:
            one = model.summary.estimates.get(key)
            lines += [] if one is None else [_ratio_line(name, kind, one.value, one.low, one.high)]
        charts += [_forest_chart(lines, scale, f"{scale.title} of each", _HALF)] if lines else []
    return charts


def _short_size(model: Model) -> str:
    """The size of the error as the strip says it, without its words."""
    words = model.verdict.error_in_short
    return words.removeprefix("typically ").replace(" points", "").partition(" times as many")[0]


def segments_chart(model: Model) -> str:
    """The gap of each segment with its limits, or, for rare events, observed/expected.

    Empty without segments.
    """
    s = model.summary
    segments = model.segments
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
            lines.append(
                _gap_line(name, kind, one["gap"], one["gap_low"], one["gap_high"], sign=True)
            )
    label = f"{count(len(lines), 'segment')}, {sum(line.kind != '' for line in lines)} flagged"
    return _forest_chart(lines, scale, label, _WHOLE)


def slices_chart(model: Model) -> str:
    """The gap of each slice of the table with its limits; empty without slices."""
    found = model.slices
    if found is None:
        return ""
    lines = []
    for i in found.shown:
        kind = ("flagged" if found.differs[i] else "flagged hollow") if found.flagged[i] else ""
        ends = float(found.gap[i]), float(found.gap_low[i]), float(found.gap_high[i])
        lines.append(
            _gap_line(shorten(visible(found.rule[i]), 2 * _LONGEST), kind, *ends, sign=True)
        )
    scale = Scale(f"gap: rate − mean score, {_POINTS}", times=100, overall=found.overall_gap)
    return _forest_chart(
        lines, scale, f"{count(len(lines), 'slice')}, {found.distinct.sum()} flagged", _WHOLE
    )


def remedy_charts(model: Model) -> dict[str, str]:
    """The rows before and after the recommended map and the gain of each map, on held-out rows.

    Empty without a map.
    """
    fixes = model.remedies
    best = model.advised
    if fixes is None or best is None or fixes.before.course is None or best.course is None:
        return {}
    view = model.explorers[0]
    courses = [("before", fixes.before.course), (f"after {best.name}", best.course)]
    gains = []
    for one in fixes.after:
        gain, low, high = signed_with_limits(one.gain, one.gain_low, one.gain_high)
        text = f"{gain} ({low} to {high})"
        gains.append(
            Line(
                one.name, one.gain, one.gain_low, one.gain_high, text, "best" if one is best else ""
            )
        )
    return {
        "courses": courses_chart(
            courses, ("before", "after"), view.near, view, "Before and after the map"
        ),
        "gains": _forest_chart(
            gains, Scale("reduction of the Brier score"), "Gain of each map", _HALF
        ),
        "name": best.name,
    }


def _forest_chart(lines: Sequence[Line], scale: Scale, label: str, wide: float) -> str:
    """A point and a bar for each line; bars that the axis cuts off end in an arrow."""
    left = 14 + _LETTER * max(
        len(name) for name in [*(line.name for line in lines), scale.title * scale.beside]
    )
    right = wide - 10 - _LETTER * max(len(line.text) for line in lines)
    low, high = _ends(lines, scale)
    base = _TOP + _LINE * len(lines)

    def x(value: float) -> float:
        return left + (right - left) * (scale.along(value) - low) / (high - low)

    inside = []
    for at, text in _ticks(low, high, scale, int((right - left) / _TICK)):
        place = left + (right - left) * (at - low) / (high - low)
        inside.append(tag("line", x1=place, x2=place, y1=_TOP, y2=base, class_="grid"))
        inside.append(tag("text", text, x=place, y=base + 15, class_="tick", text_anchor="middle"))
    place, under, end = (
        (left - 10, 15, "end") if scale.beside else ((left + right) / 2, 33, "middle")
    )
    inside.append(
        tag("text", escape(scale.title), x=place, y=base + under, class_="axis", text_anchor=end)
    )
    for value, kind in ((scale.reference, "reference"), (scale.overall, "diagonal")):
        if math.isfinite(value):
            inside.append(tag("line", x1=x(value), x2=x(value), y1=_TOP, y2=base, class_=kind))
    for i, line in enumerate(lines):
        y = _TOP + _LINE * (i + 0.5)
        inside.append(_line(line, y, x, left, right))
        if line.text:
            inside.append(
                tag("text", escape(line.text), x=wide, y=y + 4, class_="tick", text_anchor="end")
            )
    return svg(inside, base + (22 if scale.beside else 40), "forest", "img", label, wide)


def _ends(lines: Iterable[Line], scale: Scale) -> tuple[float, float]:
    """The ends of the axis: all estimates, and limits unless they are far from all estimates."""
    zero = scale.along(scale.reference)
    known = [
        scale.along(v) - zero
        for line in lines
        for v in (line.value, scale.overall)
        if math.isfinite(v)
    ]
    limits = [
        scale.along(v) - zero for line in lines for v in (line.low, line.high) if math.isfinite(v)
    ]
    far = _REACH * max(map(abs, known), default=0.0) or math.inf
    low = min([0.0, *known, *limits])
    high = max([0.0, *known, *limits])
    low = max(low, -far)
    high = min(high, far)
    room = 0.04 * (high - low) or 1.0
    return zero + (low - room if low < 0 else 0.0), zero + (high + room if high > 0 else room)


def _ticks(low: float, high: float, scale: Scale, most: int) -> list[tuple[float, str]]:
    if scale.ratios:
        ticks = [value for value in _RATIO_TICKS if low <= math.log(value) <= high]
        if len(ticks) < _FEWEST_TICKS:
            least, most_ratio = math.exp(low), math.exp(high)
            step = round_step(most_ratio - least, min(5, max(2, most)))
            whole = range(math.ceil(least / step), math.floor(most_ratio / step) + 1)
            ticks = [i * step for i in whole if i > 0]
        ticks = _apart(ticks, (high - low) / max(2, most))
        return [(math.log(value), f"{round(value, 9):g}") for value in ticks]
    step = round_step(high - low, min(8, max(2, most)))
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [(i * step, f"{round(i * step, 9):g}".replace("-", "−")) for i in numbers]


def _apart(ticks: Sequence[float], least: float) -> list[float]:
    """The ticks that are so far from each other in logarithms, of which 1 is one if it is among them."""
    start = min(ticks, key=lambda value: abs(math.log(value)), default=1.0)
    kept = [start]
    for value in sorted(ticks):
        if math.log(value / kept[-1]) >= least:
            kept.append(value)
    for value in sorted(ticks, reverse=True):
        if math.log(kept[0] / value) >= least:
            kept.insert(0, value)
    return kept if ticks else []


def _line(line: Line, y: float, x: Callable[[float], float], left: float, right: float) -> str:
    parts = [tag("text", escape(line.name), x=left - 10, y=y + 4, class_="name", text_anchor="end")]
    if math.isfinite(line.low) and math.isfinite(line.high):
        first, last = (min(max(x(limit), left), right) for limit in (line.low, line.high))
        parts.append(tag("line", x1=first, x2=last, y1=y, y2=y, class_="error"))
        for beyond, end, tip in (
            (x(line.low) < left, left, left - 6),
            (x(line.high) > right, right, right + 6),
        ):
            if beyond:
                parts.append(
                    tag(
                        "polygon",
                        points=path([(end, y - 4), (tip, y), (end, y + 4)]),
                        class_="arrow",
                    )
                )
    if math.isfinite(line.value):
        parts.append(mark(x(line.value), y, 4.5, line.kind))
    return tag(
        "g",
        "".join(parts) + title(f"{line.name} {line.text}".rstrip()),
        class_=f"bin {line.kind}".rstrip(),
    )
