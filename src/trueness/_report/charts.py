"""The pictures of a report as inline SVG, for readers without JavaScript.

The script draws the same.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trueness._text.numbers import (
    bin_name,
    count,
    level_percent,
    linear_ticks,
    number,
    percent,
    percent_tick,
    percents,
    signed,
    span,
    zoomed_ends,
)
from trueness.results import Coverage, LevelHistogram, Series
from trueness.results._first_screen import Picture
from trueness.results._page import Axes, Blocks, Explorer, FlexibleCurve
from trueness.results._remedies import Course
from trueness.typing import Floats

# The plot is a square; the histogram hangs below its axis label.
_LEFT = 68
_TOP = 12
_SIZE = 380
_LABEL = _TOP + _SIZE + 38
_BARS_TOP = _LABEL + 12
_BARS = 46
_WIDE = _LEFT + _SIZE + 24
_HIGH = _BARS_TOP + _BARS + 4
# Least radius of a point, and what the bin with the most rows has more.
_RADIUS = 3.5
_GROWTH = 3.0
_FEW_ROWS = 5
# Letters of the annotation: width of one, and height of a line.
_LETTER = 8.4
_LINE = 16.0


def tag(name: str, text: str = "", **attributes: object) -> str:
    """An element, with attributes whose underscores stand for hyphens."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_digits(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{written}>{text}</{name}>"


def _digits(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def horizontal(start: float, end: float, y: float, kind: str) -> str:
    return tag("line", x1=start, x2=end, y1=y, y2=y, class_=kind)


def vertical(x: float, start: float, end: float, kind: str) -> str:
    return tag("line", x1=x, x2=x, y1=start, y2=end, class_=kind)


def text_at(text: str, x: float, y: float, kind: str, anchor: str) -> str:
    """Text that begins, ends or has its middle at a place."""
    return tag("text", text, x=x, y=y, class_=kind, text_anchor=anchor)


def side_title(text: str, middle: float) -> str:
    """The name of a vertical axis, turned."""
    turned = f"rotate(-90 12 {_digits(middle)})"
    return tag("text", text, x=12, y=middle, class_="axis", text_anchor="middle", transform=turned)


# From the worst point to its text: right and down, steeply too.
_DIRECTIONS = [
    *itertools.product((1, -1), (1, 0, -1)),
    *itertools.product((0.3, -0.3), (1, -1)),
]

_Place: TypeAlias = tuple[float, float]
# The corners of a circle, a square, a triangle and a diamond that look equally large.
_SQUARE = ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9))
_TRIANGLE = ((0, -1.2), (1.15, 0.9), (-1.15, 0.9))
_DIAMOND = ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0))
_SHAPES: tuple[tuple[_Place, ...], ...] = ((), _SQUARE, _TRIANGLE, _DIAMOND)


class _Plane(NamedTuple):
    """Places on the page of points between the axes."""

    axes: Axes

    def x(self, value: float) -> float:
        return _LEFT + _SIZE * self._share(value)

    def y(self, value: float) -> float:
        return _TOP + _SIZE * (1 - self._share(value))

    def beyond(self, value: float) -> bool:
        """Whether the axes end before a value, which is then drawn at their end."""
        return not self.axes.low <= value <= self.axes.high

    def _share(self, value: float) -> float:
        within = min(max(float(value), self.axes.low), self.axes.high)
        low = self._along(self.axes.low)
        high = self._along(self.axes.high)
        return (self._along(within) - low) / (high - low)

    def _along(self, value: float) -> float:
        if self.axes.scale == "log":
            return math.log(value)
        if self.axes.scale == "logit":
            return math.log(value / (1 - value))
        return value


def title(text: str) -> str:
    """What a pointer over an element shows and a screen reader says."""
    return tag("title", escape(text))


def _frame(plane: _Plane, x_name: str, y_name: str) -> Iterable[str]:
    """Grid, tick labels, axis labels and the diagonal."""
    for value, text in zip(plane.axes.ticks, plane.axes.labels, strict=True):
        x = plane.x(value)
        y = plane.y(value)
        yield horizontal(_LEFT, _LEFT + _SIZE, y, "grid")
        yield vertical(x, _TOP, _TOP + _SIZE, "grid")
        yield text_at(text, _LEFT - 7, y + 4, "tick", "end")
        yield text_at(text, x, _TOP + _SIZE + 17, "tick", "middle")
    middle = _TOP + _SIZE / 2
    yield text_at(escape(x_name), _LEFT + _SIZE / 2, _LABEL, "axis", "middle")
    yield side_title(escape(y_name), middle)
    yield tag("line", x1=_LEFT, y1=_TOP + _SIZE, x2=_LEFT + _SIZE, y2=_TOP, class_="diagonal")


def _histogram(heights: Sequence[float]) -> Iterable[str]:
    highest = max(max(heights), 1e-300)
    step = _SIZE / len(heights)
    base = _BARS_TOP + _BARS
    for i, value in enumerate(heights):
        if value > 0:
            tall = max(1.0, _BARS * value / highest)
            left = _LEFT + i * step
            top = base - tall
            yield tag("rect", x=left, y=top, width=step * 0.88, height=tall, class_="bar")
    yield horizontal(_LEFT, _LEFT + _SIZE, base, "grid")
    yield text_at("rows", _LEFT - 7, _BARS_TOP + 10, "tick", "end")


def reliability_chart(picture: Picture, view: Explorer) -> str:
    """Rates against mean scores with intervals, the band of calibrated scores, and a histogram.

    An annotation gives both numbers of the worst bin.
    """
    plane = _Plane(view.near)
    b = picture.bins
    filled = [int(i) for i in np.flatnonzero(b.n > 0)]
    # Over a gap, or to a bin of few rows, a line would suggest a known course.
    joined = {i: (b.score[i], b.rate[i]) for i in filled if b.n[i] >= _FEW_ROWS}
    marks = [_band(picture, filled, plane), _lines(joined, plane)]
    marks += [_bin_mark(picture, i, plane) for i in filled]
    inside = [
        *_frame(plane, view.x_name, view.y_name),
        tag("g", "".join(marks), class_="marks"),
        _annotation(picture, filled, plane, view.happens),
        *_histogram(view.near.histogram),
    ]
    return svg(inside, _HIGH, "reliability", "img", f"Reliability diagram of {len(filled)} bins")


def svg(
    inside: Iterable[str], high: float, kind: str, role: str, label: str, wide: float = _WIDE
) -> str:
    """A picture of a kind, with its text alternative."""
    box = f"0 0 {_digits(wide)} {_digits(high)}"
    return tag(
        "svg", "".join(inside), viewBox=box, class_=f"chart {kind}", role=role, aria_label=label
    )


def path(points: Iterable[_Place]) -> str:
    """Places as the attribute of a line or a polygon."""
    return " ".join(f"{_digits(float(x))},{_digits(float(y))}" for x, y in points)


def _bin_mark(picture: Picture, i: int, plane: _Plane) -> str:
    """A point, the interval of its rate, and what both are in words."""
    b = picture.bins
    score = b.score[i]
    rate = b.rate[i]
    low = picture.interval_low[i]
    high = picture.interval_high[i]
    words = (
        f"{bin_name(b.low_edge[i], b.high_edge[i], last=i == len(b) - 1)}: "
        f"{count(int(b.n[i]), 'row')}, mean score {number(score)}, rate {number(rate)} "
        f"({level_percent(b.level)} interval {span(low, high)}), gap {signed(b.gap[i])}"
    )
    kind = "bin"
    if b.outside[i]:
        words += ", flagged"
        kind += " flagged"
    if plane.beyond(rate) or plane.beyond(score):
        words += ", beyond the axes"
        kind += " beyond"
    x = plane.x(score)
    y = plane.y(rate)
    bar = vertical(x, plane.y(low), plane.y(high), "error")
    radius = _RADIUS + _GROWTH * math.sqrt(float(b.weight[i] / b.weight.max()))
    return tag("g", bar + mark(x, y, radius, kind) + title(words), class_=kind)


def mark(x: float, y: float, radius: float, kind: str) -> str:
    """A point of a class of the style sheet: a diamond if flagged.

    Models differ in shape as well as in colour.
    """
    hue = re.search(r"hue-(\d)", kind)
    if "flagged" in kind:
        shape = _SHAPES[3]
    elif hue:
        shape = _SHAPES[int(hue[1]) % len(_SHAPES)]
    else:
        shape = ()
    if not shape:
        return tag("circle", cx=x, cy=y, r=radius, class_="point")
    corners = [(x + radius * across, y + radius * down) for across, down in shape]
    return tag("polygon", points=path(corners), class_="point")


def _band(picture: Picture, filled: list[int], plane: _Plane) -> str:
    b = picture.bins
    if not filled or not b.band:
        return ""
    x = [plane.x(score) for score in b.score[filled]]
    low = [plane.y(end) for end in b.low[filled]]
    high = [plane.y(end) for end in b.high[filled]]
    if len(x) == 1:  # no neighbour to draw a band to: some width
        x = [x[0] - 0.02 * _SIZE, x[0] + 0.02 * _SIZE]
        low = 2 * low
        high = 2 * high
    return area(zip(x, low, strict=True), zip(x, high, strict=True), "band")


def area(lower: Iterable[_Place], upper: Iterable[_Place], kind: str) -> str:
    """What lies between two lines."""
    return tag("polygon", points=path([*lower, *reversed(list(upper))]), class_=kind)


def _lines(points: Mapping[int, tuple[float, float]], plane: _Plane) -> str:
    """Lines between scores and rates with consecutive numbers that lie on the axes."""
    runs = list[list[_Place]]()
    last = -2
    for i, (score, rate) in points.items():
        if plane.beyond(score) or plane.beyond(rate):
            continue
        if i != last + 1:
            runs.append([])
        runs[-1].append((plane.x(score), plane.y(rate)))
        last = i
    lines = (tag("polyline", points=path(run), class_="curve") for run in runs if len(run) > 1)
    return "".join(lines)


def _annotation(picture: Picture, filled: list[int], plane: _Plane, happens: str) -> str:
    """The worst bin in words, where they cover the least, with a line to its point."""
    worst = picture.worst
    if worst is None:
        return ""
    b = picture.bins
    # With the decimals of the sentence beside the picture.
    says, rate, *_ = percents(
        b.score[worst], b.rate[worst], picture.interval_low[worst], picture.interval_high[worst]
    )
    lines = [f"says {says} %,", f"{happens} {rate} %"]
    wide = _LETTER * max(map(len, lines))
    high = _LINE * len(lines)
    x = plane.x(b.score[worst])
    y = plane.y(b.rate[worst])
    left, top = _free_place(x, y, wide, high, _inked_places(picture, filled, plane))
    to_x = min(max(x, left - 3), left + wide)
    to_y = min(max(y, top), top + high)
    start = min(1.0, 11 / (math.hypot(to_x - x, to_y - y) or 1.0))  # beside the mark
    line = tag(
        "line",
        x1=x + start * (to_x - x),
        y1=y + start * (to_y - y),
        x2=to_x,
        y2=to_y,
        class_="pointer",
    )
    texts = [
        tag("text", escape(line), x=left, y=top + 12 + _LINE * i, class_="remark")
        for i, line in enumerate(lines)
    ]
    return tag("g", line + "".join(texts), class_="annotation")


def _inked_places(picture: Picture, filled: list[int], plane: _Plane) -> Floats:
    """Places along the intervals and the curve, of shape (m, 2)."""
    x = [plane.x(score) for score in picture.bins.score[filled]]
    y = [plane.y(rate) for rate in picture.bins.rate[filled]]
    bars = []
    for i, across in zip(filled, x, strict=True):
        low = plane.y(picture.interval_low[i])
        high = plane.y(picture.interval_high[i])
        bars += [(across, low + (high - low) * j / 8) for j in range(9)]
    steps = np.linspace(0, len(x) - 1, 8 * len(x))
    places = range(len(x))
    curve = np.column_stack([np.interp(steps, places, x), np.interp(steps, places, y)])
    return np.concatenate([np.array(bars), curve])


def _free_place(x: float, y: float, wide: float, high: float, marks: Floats) -> _Place:
    """The upper left corner of a text near a point that covers few marks and little diagonal."""
    places = []
    for reach, (across, down) in itertools.product((24.0, 40.0, 60.0, 80.0, 110.0), _DIRECTIONS):
        left = x + across * reach
        if across < 0:
            left -= wide
        top = y + down * reach
        if down < 0:
            top -= high
        elif down == 0:
            top -= high / 2
        # Within the frame.
        left = min(max(left, _LEFT + 4), _LEFT + _SIZE - wide - 4)
        top = min(max(top, _TOP + 4), _TOP + _SIZE - high - 4)
        middle = left + wide / 2, top + high / 2
        covered = (np.abs(marks - middle) < (wide / 2 + 8, high / 2 + 8)).all(axis=1)
        diagonal = _TOP + _SIZE + _LEFT - left - wide * np.arange(9) / 8 - top
        on_diagonal = int(((diagonal > -4) & (diagonal < high + 4)).sum()) / 9
        distance = math.hypot(middle[0] - x, middle[1] - y)
        cost = int(covered.sum()) + 3 * on_diagonal + distance / 100
        places.append((cost, left, top))
    return min(places)[1:]


def curve_chart(curve: FlexibleCurve, view: Explorer) -> str:
    """A calibration curve without bins, its bands, and a histogram of the scores."""
    plane = _Plane(view.near)

    def line(rates: Sequence[float]) -> list[_Place]:
        return [(plane.x(x), plane.y(y)) for x, y in zip(curve.score, rates, strict=True)]

    inside = [
        area(line(curve.all_low), line(curve.all_high), "confidence"),
        area(line(curve.low), line(curve.high), "confidence"),
        *_frame(plane, view.x_name, view.y_name),
        tag("polyline", points=path(line(curve.rate)), class_="curve flexible"),
        *_histogram(view.near.histogram),
    ]
    return svg(inside, _HIGH, "smooth", "img", "Smooth calibration curve with its confidence bands")


def courses_chart(
    courses: Sequence[tuple[str, Course]],
    kinds: Sequence[str],
    axes: Axes,
    view: Explorer,
    label: str,
) -> str:
    """Several courses with their names in one diagram, told apart by colour and shape."""
    plane = _Plane(axes)
    inside = [*_frame(plane, view.x_name, view.y_name)]
    for (name, course), kind in zip(courses, kinds, strict=True):
        points = enumerate(zip(course.score, course.rate, strict=True))
        marks = [_lines(dict(points), plane)]
        columns = zip(course.score, course.rate, course.low, course.high, strict=True)
        for score, rate, low, high in columns:
            x = plane.x(score)
            bar = vertical(x, plane.y(low), plane.y(high), "error")
            words = title(
                f"{name}: mean score {number(score)}, rate {number(rate)} ({span(low, high)})"
            )
            beyond = " beyond" if plane.beyond(score) or plane.beyond(rate) else ""
            marks.append(
                tag("g", bar + mark(x, plane.y(rate), 4.0, kind) + words, class_=f"bin{beyond}")
            )
        inside.append(tag("g", "".join(marks), class_=f"course {kind}"))
    return svg(inside, _LABEL + 8, "courses", "img", label)


def blocks_chart(blocks: Blocks, view: Explorer) -> str:
    """Each block as a box over its scores at its rate, shaded by the share that is rejected."""
    plane = _Plane(view.near)
    inside = [*_frame(plane, "scores of the block", view.y_name)]
    boxes = []
    for i, n in enumerate(blocks.n):
        y = plane.y(blocks.rate[i])
        q1 = plane.x(blocks.score_q1[i])
        median = plane.x(blocks.score_median[i])
        q3 = plane.x(blocks.score_q3[i])
        share = blocks.refuted[i]
        words = (
            f"{count(n, 'row')} with scores {number(blocks.score_min[i])} to "
            f"{number(blocks.score_max[i])}, rate {number(blocks.rate[i])}: {percent(share)} "
            "of the scores rejected"
        )
        wide = max(8.0, q3 - q1)  # equal scores still get a box
        box: dict[str, Any] = {"x": (q1 + q3 - wide) / 2, "y": y - 6, "width": wide, "height": 12}
        parts = [
            horizontal(plane.x(blocks.score_min[i]), plane.x(blocks.score_max[i]), y, "whisker"),
            tag("rect", **box, class_="box"),
            tag("rect", **box, class_="refuted", fill_opacity=round(share, 3)),
            vertical(median, y - 6, y + 6, "median"),
            title(words),
        ]
        boxes.append(
            tag(
                "g",
                "".join(parts),
                class_="block",
                tabindex=-1 if i else 0,
                role="img",
                aria_label=words,
            )
        )
    inside.append(tag("g", "".join(boxes), class_="boxes"))
    label = f"Test-based reliability diagram of {len(blocks.n)} blocks"
    return svg(inside, _LABEL + 8, "blocks", "group", label)


# Of quantiles at up to this number of levels, each has a point and a bar; with more, a band is
# easier to read.
_FEW_LEVELS = 12
_LEVELS_HIGH = 110.0  # height of the histogram of levels


def coverage_chart(found: Coverage, histogram: LevelHistogram | None) -> str:
    """Observed shares against stated ones with their limits, and the histogram of levels, if any.

    On the diagonal, both shares are equal.
    """
    low, high = 0.0, 1.0
    if found.stated.size == 1:  # intervals state high levels: the rest of the square would be empty
        low, high = zoomed_ends(min(found.low[0], found.stated[0]), 1.0)
    ticks = linear_ticks(low, high)
    axes = Axes("linear", low, high, tuple(ticks), tuple(map(percent_tick, ticks)), ())
    plane = _Plane(axes)
    x = [plane.x(value) for value in found.stated]
    y, lower, upper = (
        [plane.y(value) for value in column] for column in (found.value, found.low, found.high)
    )
    marks = []
    if found.stated.size > _FEW_LEVELS:
        marks.append(area(zip(x, lower, strict=True), zip(x, upper, strict=True), "confidence"))
    if found.stated.size > 1:
        marks.append(tag("polyline", points=path(zip(x, y, strict=True)), class_="curve"))
    for i in range(found.stated.size):
        words = (
            f"stated {percent(float(found.stated[i]))}, observed {percent(float(found.value[i]))} "
            f"({span(float(found.low[i]), float(found.high[i]), percent)})"
        )
        bar = ""
        if found.stated.size <= _FEW_LEVELS:
            bar = tag("line", x1=x[i], x2=x[i], y1=lower[i], y2=upper[i], class_="error")
        marks.append(tag("g", bar + mark(x[i], y[i], _RADIUS, "") + title(words), class_="bin"))
    if found.stated.size > 1:
        names = ("stated level", "share of outcomes at most the quantile")
    else:
        names = ("stated coverage", "share of outcomes inside")
    inside = [*_frame(plane, *names), tag("g", "".join(marks), class_="marks")]
    tall = _LABEL + 8.0
    if histogram is not None:
        inside += _levels_histogram(histogram, plane)
        tall = _BARS_TOP + _LEVELS_HIGH + 4
    label = f"Observed against stated shares at {count(found.stated.size, 'level')}"
    return svg(inside, tall, "coverage", "img", label)


def _levels_histogram(found: LevelHistogram, plane: _Plane) -> Iterable[str]:
    """Shares of outcomes between quantiles, over those stated, and the band of chance."""
    base = _BARS_TOP + _LEVELS_HIGH
    known = bool(np.isfinite(found.high).all())
    most = max(1.2, float(found.density.max()), float(found.high.max()) if known else 0.0)

    def y(density: float) -> float:
        return base - _LEVELS_HIGH * float(density) / most

    for i in range(found.density.size):
        left, right = plane.x(found.low_level[i]), plane.x(found.high_level[i])
        words = (
            f"between levels {percent(float(found.low_level[i]))} and "
            f"{percent(float(found.high_level[i]))}: {found.density[i]:.2f} times the stated share"
        )
        if known:
            words += f" (by chance {found.low[i]:.2f} to {found.high[i]:.2f})"
        top = y(found.density[i])
        wide = max(0.5, right - left - 0.8)
        shown = title(words)
        yield tag("rect", shown, x=left, y=top, width=wide, height=base - top, class_="bar")
        if known:
            top, tall = y(found.high[i]), y(found.low[i]) - y(found.high[i])
            yield tag("rect", x=left, y=top, width=right - left, height=tall, class_="band")
    for density, text in ((0.0, ""), (1.0, "as stated")):
        at = y(density)
        kind = "diagonal" if density else "grid"
        yield tag("line", x1=_LEFT, x2=_LEFT + _SIZE, y1=at, y2=at, class_=kind)
        yield tag("text", text, x=_LEFT - 7, y=at + 4, class_="tick", text_anchor="end")


_NAMES = 12  # on the axis of a series


def series_chart(series: Series) -> str:
    """The ECE of each day with its interval, above the grey area of chance.

    Marked days are red diamonds with names.

    Numbers that are nan are left out: a day without a value has only a name.
    """
    days = [SimpleNamespace(**row) for row in series.rows()]
    left = 64.0
    top = 14.0
    wide = 800.0
    high = 220.0
    values = [value for day in days for value in (day.ece, day.ece_high, day.floor_high)]
    highest = max(filter(math.isfinite, values), default=0.0) or 1.0
    step = round_step(highest)
    ceiling = step * math.ceil(1.02 * highest / step)

    def x(i: float) -> float:
        return left + wide * (i + 0.5) / len(days)

    def y(value: float) -> float:
        return top + high * (1 - min(max(value, 0.0), ceiling) / ceiling)

    inside = []
    for i in range(round(ceiling / step) + 1):
        height = y(i * step)
        inside.append(horizontal(left, left + wide, height, "grid"))
        text = f"{round(100 * i * step, 9):g} %"
        inside.append(text_at(text, left - 7, height + 4, "tick", "end"))
    middle = top + high / 2
    inside.append(side_title("ECE", middle))
    inside += [*_chance(days, x, y), *_day_names(days, x, top + high)]
    with_value = [(i, day) for i, day in enumerate(days) if math.isfinite(day.ece)]
    points = path((x(i), y(day.ece)) for i, day in with_value)
    inside.append(tag("polyline", points=points, class_="curve"))
    inside += [_day_mark(day, x(i), y) for i, day in with_value]
    label = f"ECE of {count(len(days), 'data set')}, {sum(day.flagged for day in days)} marked"
    return svg(inside, top + high + 74, "series", "img", label, left + wide + 16)


def round_step(length: float, ticks: int = 6) -> float:
    """A round distance between ticks, of which there are at most `ticks`."""
    power = 10.0 ** math.floor(math.log10(length))
    return next(
        share * power
        for share in (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
        if length / (share * power) <= ticks
    )


def _chance(
    days: Sequence[Any], x: Callable[[float], float], y: Callable[[float], float]
) -> Iterable[str]:
    """A grey column per day from 0 to the end of the chance range, and a line at its mean."""
    for i, day in enumerate(days):
        start = x(i - 0.5)
        end = x(i + 0.5)
        if math.isfinite(day.floor_high):
            top = y(day.floor_high)
            wide = end - start + 0.3
            yield tag("rect", x=start, y=top, width=wide, height=y(0) - top, class_="band")
        if math.isfinite(day.floor):
            height = y(day.floor)
            yield horizontal(start, end, height, "floor")


def _day_names(days: Sequence[Any], x: Callable[[float], float], base: float) -> Iterable[str]:
    """The names of marked days and of some others, slanted."""
    gap = -(-len(days) // _NAMES)
    named: list[int] = []
    for i in [*(i for i, day in enumerate(days) if day.flagged), *range(0, len(days), gap)]:
        if all(abs(i - other) >= gap for other in named):
            named.append(i)
    for i in sorted(named):
        text = days[i].name
        right = x(i) + 4
        if len(text) > 18:
            text = f"…{text[-17:]}"
        turned = f"rotate(-35 {_digits(right)} {_digits(base + 15)})"
        look = "tick marked" if days[i].flagged else "tick"
        yield tag(
            "text",
            escape(text),
            x=right,
            y=base + 15,
            class_=look,
            text_anchor="end",
            transform=turned,
        )


def _day_mark(day: Any, x: float, y: Callable[[float], float]) -> str:
    words = f"{day.name}: {number(day.ece)}"
    kind = "bin"
    bar = ""
    if math.isfinite(day.ece_low) and math.isfinite(day.ece_high):
        bar = vertical(x, y(day.ece_low), y(day.ece_high), "error")
        words += f", interval {span(day.ece_low, day.ece_high)}"
    if math.isfinite(day.floor):
        words += f", by chance {number(day.floor)}"
        if math.isfinite(day.floor_high):
            words += f" and up to {number(day.floor_high)}"
    if day.flagged:
        words += ", marked"
        kind = "bin flagged"
    return tag("g", bar + mark(x, y(day.ece), 4.5, kind) + title(words), class_=kind)
