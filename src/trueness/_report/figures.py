"""Pictures of errors side by side, models, segments, and a map before and after, as inline SVG."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from trueness._assess.page_pictures import joint_axes
from trueness._report.charts import courses_chart
from trueness._report.part_tables import shown_segments
from trueness._report.svg import (
    horizontal,
    mark,
    path,
    round_step,
    svg,
    tag,
    text_at,
    title,
    vertical,
)
from trueness._text.numbers import count, points, ratio, signed_with_limits, span
from trueness._text.strings import shorten, visible
from trueness.results._page import Model
from trueness.results._remedies import Course

_LINE = 21.0
_TOP = 4.0
# Width of one of the names and right-hand texts on a narrow screen, which enlarges them.
_LETTER = 7.2
_EMPTY = 0.15  # share of an axis that may be left empty so that it ends in a tick
_TICK = 46.0  # room for one
_REACH = 3.0
_METER_REACH = 20.0  # a bound on an error that was not shown is far from every estimate
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
    reach: float = _REACH
    """Limits farther out than this multiple of the farthest estimate are cut off."""

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
_RATIO = Scale("observed / expected", 1.0, ratios=True)
_METER, _HALF, _WHOLE = 460, 520, 1080  # widths on the page


def meter(numbers: Mapping[str, Any]) -> str:
    """The error with its limits, the ECE, and the ECE that chance alone gives.

    Of rare events, observed/expected.
    """
    if "ratio" in numbers:
        lines = [error_line(numbers, "all rows", "tone")]
        scale = _RATIO._replace(beside=True, reach=_METER_REACH)
    else:
        lines = [
            _gap_line("ECE", "", numbers["ece"]),
            _gap_line("ECE by chance", "chance", numbers["chance"], 0.0, numbers["chance_high"]),
        ]
        if math.isfinite(numbers["l2"]):
            lines.insert(0, error_line(numbers, "typical error", "tone"))
        scale = Scale(_POINTS, times=100, beside=True, reach=_METER_REACH)
    label = "; ".join(f"{line.name}: {line.text}" for line in lines)
    bare = [line._replace(text="") for line in lines]
    return _forest_chart(bare, scale, f"{label} ({scale.title})", _METER)


def error_line(numbers: Mapping[str, Any], name: str, kind: str = "") -> Line:
    """What the page says first of a model: its typical error, of rare events observed/expected.

    Or else the ECE.
    """
    if "ratio" in numbers:
        return _ratio_line(
            name, kind, numbers["ratio"], numbers["ratio_low"], numbers["ratio_high"]
        )
    if math.isfinite(numbers["l2"]):
        return _gap_line(name, kind, numbers["l2"], numbers["low"], numbers["high"])
    return _gap_line(name, kind, numbers["ece"])


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
    texts = points(*values)
    if sign:
        texts = tuple(map(_with_sign, texts))
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
    kinds = []
    courses = []
    lines = []
    for i, (model, name) in enumerate(zip(models, names, strict=True)):
        kind = f"hue-{i % _HUES}"
        if i // _HUES % 2:
            kind += " dashed"
        kinds.append(kind)
        picture = model.picture
        course = Course.of(
            picture.bins, picture.interval_low, picture.interval_high, least=_FEW_ROWS
        )
        courses.append((name, course))
        numbers = model.answers["how_far"].numbers
        sizes = {key: numbers[key] for key in (*_ERRORS, "ece")}
        line = error_line(sizes, name, kind)
        if not model.verdict.is_of_parts:  # the line is of all rows
            line = line._replace(text=_short_size(model))
        lines.append(line)
    axes = joint_axes([view.near for view in views])
    label = f"{count(len(models), 'model')} in one diagram"
    error = "typical error" if any(math.isfinite(line.high) for line in lines) else "ECE"
    scale = Scale(f"{error}, {_POINTS}", times=100)
    charts = [
        courses_chart(courses, kinds, axes, views[0], label),
        _forest_chart(lines, scale, f"{error} of each", _HALF),
    ]
    for key, scale in (("slope", Scale("slope", 1.0)), ("observed_expected", _RATIO)):
        lines = []
        for model, name, kind in zip(models, names, kinds, strict=True):
            estimate = model.summary.estimates.get(key)
            if estimate is not None:
                lines.append(_ratio_line(name, kind, estimate.value, estimate.low, estimate.high))
        if lines:
            charts.append(_forest_chart(lines, scale, f"{scale.title} of each", _HALF))
    return charts


def _flag_kind(flagged: bool, differs: bool) -> str:
    """The class of a segment: full if its error differs from that of all rows."""
    if not flagged:
        return ""
    return "flagged" if differs else "flagged hollow"


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
    if model.verdict.rare:
        scale = _RATIO._replace(overall=s.observed_expected)
    else:
        scale = _gap_scale(s.rate - s.mean_score)
    lines = []
    for row in shown_segments(segments):
        name = shorten(visible(f"{row['column']} = {row['value']}"), _LONGEST)
        kind = _flag_kind(row["flagged"], row["differs"])
        if model.verdict.rare:
            line = _ratio_line(name, kind, row["ratio"], row["ratio_low"], row["ratio_high"])
        else:
            line = _gap_line(name, kind, row["gap"], row["gap_low"], row["gap_high"], sign=True)
        lines.append(line)
    label = f"{count(len(lines), 'segment')}, {sum(line.kind != '' for line in lines)} flagged"
    return _forest_chart(lines, scale, label, _WHOLE)


def _gap_scale(overall: float) -> Scale:
    return Scale(f"gap: rate − mean score, {_POINTS}", times=100, overall=overall)


def slices_chart(model: Model) -> str:
    """The gap of each slice of the table with its limits; empty without slices."""
    slices = model.slices
    if slices is None:
        return ""
    lines = []
    for i in slices.shown:
        name = shorten(visible(slices.rule[i]), 2 * _LONGEST)
        kind = _flag_kind(slices.flagged[i], slices.differs[i])
        ends = float(slices.gap[i]), float(slices.gap_low[i]), float(slices.gap_high[i])
        lines.append(_gap_line(name, kind, *ends, sign=True))
    label = f"{count(len(lines), 'slice')}, {slices.distinct.sum()} flagged"
    return _forest_chart(lines, _gap_scale(slices.overall_gap), label, _WHOLE)


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
    for remedy in fixes.after:
        gain, low, high = signed_with_limits(remedy.gain, remedy.gain_low, remedy.gain_high)
        text = f"{gain} ({low} to {high})"
        kind = "best" if remedy is best else ""
        gains.append(Line(remedy.name, remedy.gain, remedy.gain_low, remedy.gain_high, text, kind))
    scale = Scale("reduction of the Brier score")
    return {
        "courses": courses_chart(
            courses, ("before", "after"), view.near, view, "Before and after the map"
        ),
        "gains": _forest_chart(gains, scale, "Gain of each map", _HALF),
        "name": best.name,
    }


def _forest_chart(lines: Sequence[Line], scale: Scale, label: str, wide: float) -> str:
    """A point and a bar for each line; bars that the axis cuts off end in an arrow."""
    names = [line.name for line in lines]
    if scale.beside:
        names.append(scale.title)
    left = 14 + _LETTER * max(map(len, names))
    right = wide - 10 - _LETTER * max(len(line.text) for line in lines)
    low, high = _ends(lines, scale)
    most_ticks = int((right - left) / _TICK)
    if scale.beside and not scale.ratios:
        high = _up_to_a_tick(low, high, most_ticks)
    base = _TOP + _LINE * len(lines)

    def x(value: float) -> float:
        return left + (right - left) * (scale.along(value) - low) / (high - low)

    inside = []
    for tick, text in _ticks(low, high, scale, most_ticks):
        place = left + (right - left) * (tick - low) / (high - low)
        inside.append(vertical(place, _TOP, base, "grid"))
        inside.append(text_at(text, place, base + 15, "tick", "middle"))
    title_at: dict[str, Any] = {"x": (left + right) / 2, "y": base + 33}
    anchor = "middle"
    room = 40
    if scale.beside:
        title_at = {"x": left - 10, "y": base + 15}
        anchor = "end"
        room = 22
    inside.append(tag("text", escape(scale.title), **title_at, class_="axis", text_anchor=anchor))
    for value, kind in ((scale.reference, "reference"), (scale.overall, "diagonal")):
        if math.isfinite(value):
            inside.append(vertical(x(value), _TOP, base, kind))
    for i, line in enumerate(lines):
        y = _TOP + _LINE * (i + 0.5)
        inside.append(_line(line, y, x, left, right))
        if line.text:
            inside.append(text_at(escape(line.text), wide, y + 4, "tick", "end"))
    return svg(inside, base + room, "forest", "img", label, wide)


def _ends(lines: Iterable[Line], scale: Scale) -> tuple[float, float]:
    """The ends of the axis: all estimates, and limits unless they are far from all estimates."""
    zero = scale.along(scale.reference)
    estimates = [scale.overall]
    limits = []
    for line in lines:
        estimates.append(line.value)
        limits += [line.low, line.high]
    estimates = [scale.along(value) - zero for value in estimates if math.isfinite(value)]
    limits = [scale.along(value) - zero for value in limits if math.isfinite(value)]
    far = scale.reach * max(map(abs, estimates), default=0.0) or math.inf
    low = max(min([0.0, *estimates, *limits]), -far)
    high = min(max([0.0, *estimates, *limits]), far)
    room = 0.04 * (high - low) or 1.0
    start = low - room if low < 0 else 0.0
    end = high + room if high > 0 else room
    return zero + start, zero + end


def _ticks(low: float, high: float, scale: Scale, most: int) -> list[tuple[float, str]]:
    """Ticks between the ends, at most `most`, with their places on the axis."""
    if not scale.ratios:
        multiples = _multiples(low, high, _most_multiples(most))
        return [(value, f"{round(value, 9):g}".replace("-", "−")) for value in multiples]
    ratios = [value for value in _RATIO_TICKS if low <= math.log(value) <= high]
    distance = (high - low) / max(2, most)
    ratios = _apart(ratios, distance)
    if len(ratios) < _FEWEST_TICKS:
        multiples = _multiples(math.exp(low), math.exp(high), min(5, max(2, most)))
        ratios = _apart([value for value in multiples if value > 0], distance)
    return [(math.log(value), f"{round(value, 9):g}") for value in ratios]


def _most_multiples(most: int) -> int:
    return min(8, max(2, most))


def _up_to_a_tick(low: float, high: float, most: int) -> float:
    """The upper end of an axis, moved to the next tick unless that leaves much of it empty."""
    step = round_step(high - low, _most_multiples(most))
    tick = math.ceil(high / step) * step
    return tick if tick - high <= _EMPTY * (high - low) else high


def _multiples(low: float, high: float, most: int) -> list[float]:
    """The multiples of a round number between two."""
    step = round_step(high - low, most)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _apart(ratios: Sequence[float], distance: float) -> list[float]:
    """The ratios whose logarithms are at least `distance` apart; that nearest to 1 is kept."""
    if not ratios:
        return []
    kept = [min(ratios, key=lambda value: abs(math.log(value)))]
    for value in sorted(ratios):
        if math.log(value / kept[-1]) >= distance:
            kept.append(value)
    for value in sorted(ratios, reverse=True):
        if math.log(kept[0] / value) >= distance:
            kept.insert(0, value)
    return kept


def _line(line: Line, y: float, x: Callable[[float], float], left: float, right: float) -> str:
    """One line of a figure: a name, the interval and a mark for the value, as SVG.

    `x` turns values into places between `left` and `right`; ends beyond them are arrows. An
    interval or a value that is not finite is left out.
    """
    parts = [text_at(escape(line.name), left - 10, y + 4, "name", "end")]
    if math.isfinite(line.low) and math.isfinite(line.high):
        low = x(line.low)
        high = x(line.high)
        first = min(max(low, left), right)
        last = min(max(high, left), right)
        parts.append(horizontal(first, last, y, "error"))
        if low < left:
            parts.append(_arrow(left, left - 6, y))
        if high > right:
            parts.append(_arrow(right, right + 6, y))
    if math.isfinite(line.value):
        parts.append(mark(x(line.value), y, 4.5, line.kind))
    parts.append(title(f"{line.name} {line.text}".rstrip()))
    return tag("g", "".join(parts), class_=f"bin {line.kind}".rstrip())


def _arrow(end: float, tip: float, y: float) -> str:
    corners = [(end, y - 4), (tip, y), (end, y + 4)]
    return tag("polygon", points=path(corners), class_="arrow")
