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


# From the worst point to its text: right and down, steeply too.
_DIRECTIONS = [(a, d) for a in (1, -1) for d in (1, 0, -1)] + [
    (a, d) for a in (0.3, -0.3) for d in (1, -1)
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
        low = self.axes.low
        high = self.axes.high
        value = min(max(float(value), low), high)
        if self.axes.scale != "linear":
            low, value, high = (
                math.log(v / (1 - v) if self.axes.scale == "logit" else v)
                for v in (low, value, high)
            )
        return (value - low) / (high - low)


def title(text: str) -> str:
    """What a pointer over an element shows and a screen reader says."""
    return tag("title", escape(text))


def _frame(plane: _Plane, x_name: str, y_name: str) -> Iterable[str]:
    """Grid, tick labels, axis labels and the diagonal."""
    for value, text in zip(plane.axes.ticks, plane.axes.labels, strict=True):
        x = plane.x(value)
        y = plane.y(value)
        yield tag("line", x1=_LEFT, x2=_LEFT + _SIZE, y1=y, y2=y, class_="grid")
        yield tag("line", x1=x, x2=x, y1=_TOP, y2=_TOP + _SIZE, class_="grid")
        yield tag("text", text, x=_LEFT - 7, y=y + 4, class_="tick", text_anchor="end")
        yield tag("text", text, x=x, y=_TOP + _SIZE + 17, class_="tick", text_anchor="middle")
    middle = _TOP + _SIZE / 2
    yield tag(
        "text", escape(x_name), x=_LEFT + _SIZE / 2, y=_LABEL, class_="axis", text_anchor="middle"
    )
    turned = f"rotate(-90 12 {_digits(middle)})"
    yield tag(
        "text",
        escape(y_name),
        x=12,
        y=middle,
        class_="axis",
        text_anchor="middle",
        transform=turned,
    )
    yield tag("line", x1=_LEFT, y1=_TOP + _SIZE, x2=_LEFT + _SIZE, y2=_TOP, class_="diagonal")


def _histogram(heights: Sequence[float]) -> Iterable[str]:
    most = max(max(heights), 1e-300)
    step = _SIZE / len(heights)
    base = _BARS_TOP + _BARS
    for i, value in enumerate(heights):
        if value > 0:
            tall = max(1.0, _BARS * value / most)
            yield tag(
                "rect",
                x=_LEFT + i * step,
                y=base - tall,
                width=step * 0.88,
                height=tall,
                class_="bar",
            )
    yield tag("line", x1=_LEFT, x2=_LEFT + _SIZE, y1=base, y2=base, class_="grid")
    yield tag("text", "rows", x=_LEFT - 7, y=_BARS_TOP + 10, class_="tick", text_anchor="end")


def reliability_chart(picture: Picture, found: Explorer) -> str:
    """Rates against mean scores with intervals, a band around the diagonal, and a histogram of the scores.

    An annotation gives both numbers of the worst bin.
    """
    plane = _Plane(found.near)
    b = picture.bins
    filled = [int(i) for i in np.flatnonzero(b.n > 0)]
    # Over a gap, or to a bin of few rows, a line would suggest a known course.
    joined = {i: (b.score[i], b.rate[i]) for i in filled if b.n[i] >= _FEW_ROWS}
    marks = [_band(picture, filled, plane), _lines(joined, plane)]
    marks += [_bin_mark(picture, i, plane) for i in filled]
    inside = [
        *_frame(plane, found.x_name, found.y_name),
        tag("g", "".join(marks), class_="marks"),
        _annotation(picture, filled, plane, found.happens),
        *_histogram(found.near.histogram),
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
    flagged = bool(b.outside[i])
    beyond = plane.beyond(b.rate[i]) or plane.beyond(b.score[i])
    words = (
        f"{bin_name(b.low_edge[i], b.high_edge[i], last=i == len(b) - 1)}: {count(int(b.n[i]), 'row')}, "
        f"mean score {number(b.score[i])}, rate {number(b.rate[i])} "
        f"({level_percent(b.level)} interval {span(picture.interval_low[i], picture.interval_high[i])}), "
        f"gap {signed(b.gap[i])}{', flagged' if flagged else ''}{', beyond the axes' if beyond else ''}"
    )
    x = plane.x(b.score[i])
    y = plane.y(b.rate[i])
    low = plane.y(picture.interval_low[i])
    high = plane.y(picture.interval_high[i])
    bar = tag("line", x1=x, x2=x, y1=low, y2=high, class_="error")
    kind = f"bin{' flagged' if flagged else ''}{' beyond' if beyond else ''}"
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
    x = [plane.x(b.score[i]) for i in filled]
    low, high = ([plane.y(end[i]) for i in filled] for end in (b.low, b.high))
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
        runs += [] if i == last + 1 else [[]]
        runs[-1].append((plane.x(score), plane.y(rate)))
        last = i
    return "".join(
        tag("polyline", points=path(run), class_="curve") for run in runs if len(run) > 1
    )


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
    x = [plane.x(picture.bins.score[i]) for i in filled]
    y = [plane.y(picture.bins.rate[i]) for i in filled]
    ends = [(plane.y(picture.interval_low[i]), plane.y(picture.interval_high[i])) for i in filled]
    bars = [
        (at, low + (high - low) * j / 8)
        for at, (low, high) in zip(x, ends, strict=True)
        for j in range(9)
    ]
    steps = np.linspace(0, len(x) - 1, 8 * len(x))
    curve = np.column_stack([np.interp(steps, range(len(x)), column) for column in (x, y)])
    return np.concatenate([np.array(bars), curve])


def _free_place(x: float, y: float, wide: float, high: float, marks: Floats) -> _Place:
    """The upper left corner of a text near a point, within the frame, that covers few marks and little diagonal."""
    found = []
    for reach, (across, down) in itertools.product((24.0, 40.0, 60.0, 80.0, 110.0), _DIRECTIONS):
        left = x + across * reach - (wide if across < 0 else 0)
        top = y + down * reach - (high if down < 0 else high / 2 if down == 0 else 0)
        left = min(max(left, _LEFT + 4), _LEFT + _SIZE - wide - 4)
        top = min(max(top, _TOP + 4), _TOP + _SIZE - high - 4)
        middle = left + wide / 2, top + high / 2
        inside = int((np.abs(marks - middle) < (wide / 2 + 8, high / 2 + 8)).all(axis=1).sum())
        diagonal = (
            sum(-4 < _TOP + _SIZE + _LEFT - left - wide * i / 8 - top < high + 4 for i in range(9))
            / 9
        )
        found.append(
            (inside + 3 * diagonal + math.hypot(middle[0] - x, middle[1] - y) / 100, left, top)
        )
    return min(found)[1:]


def curve_chart(found: FlexibleCurve, view: Explorer) -> str:
    """A calibration curve without bins: its bands at each score and at all scores, and a histogram of the scores."""
    plane = _Plane(view.near)
    columns = (found.all_low, found.all_high, found.low, found.high, found.rate)
    lines = [
        [(plane.x(x), plane.y(y)) for x, y in zip(found.score, column, strict=True)]
        for column in columns
    ]
    inside = [
        area(lines[0], lines[1], "confidence"),
        area(lines[2], lines[3], "confidence"),
        *_frame(plane, view.x_name, view.y_name),
        tag("polyline", points=path(lines[4]), class_="curve flexible"),
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
    for (name, one), kind in zip(courses, kinds, strict=True):
        marks = [_lines(dict(enumerate(zip(one.score, one.rate, strict=True))), plane)]
        for score, rate, low, high in zip(one.score, one.rate, one.low, one.high, strict=True):
            x = plane.x(score)
            bar = tag("line", x1=x, x2=x, y1=plane.y(low), y2=plane.y(high), class_="error")
            words = title(
                f"{name}: mean score {number(score)}, rate {number(rate)} ({span(low, high)})"
            )
            beyond = " beyond" if plane.beyond(score) or plane.beyond(rate) else ""
            marks.append(
                tag("g", bar + mark(x, plane.y(rate), 4.0, kind) + words, class_=f"bin{beyond}")
            )
        inside.append(tag("g", "".join(marks), class_=f"course {kind}"))
    return svg(inside, _LABEL + 8, "courses", "img", label)


def blocks_chart(found: Blocks, view: Explorer) -> str:
    """Each block as a box over its scores at the height of its rate, shaded by the share that the test rejects."""
    plane = _Plane(view.near)
    inside = [*_frame(plane, "scores of the block", view.y_name)]
    boxes = []
    for i, n in enumerate(found.n):
        y = plane.y(found.rate[i])
        columns = (
            found.score_min,
            found.score_q1,
            found.score_median,
            found.score_q3,
            found.score_max,
        )
        a, q1, mid, q3, z = (plane.x(column[i]) for column in columns)
        share = found.refuted[i]
        words = (
            f"{count(n, 'row')} with scores {number(found.score_min[i])} to {number(found.score_max[i])}, rate "
            f"{number(found.rate[i])}: {percent(share)} of the scores rejected"
        )
        wide = max(8.0, q3 - q1)  # equal scores still get a box
        q1 = (q1 + q3 - wide) / 2
        parts = [
            tag("line", x1=a, x2=z, y1=y, y2=y, class_="whisker"),
            tag("rect", x=q1, y=y - 6, width=wide, height=12, class_="box"),
            tag(
                "rect",
                x=q1,
                y=y - 6,
                width=wide,
                height=12,
                class_="refuted",
                fill_opacity=round(share, 3),
            ),
            tag("line", x1=mid, x2=mid, y1=y - 6, y2=y + 6, class_="median"),
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
    return svg(
        inside,
        _LABEL + 8,
        "blocks",
        "group",
        f"Test-based reliability diagram of {len(found.n)} blocks",
    )


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
    """Shares of outcomes between quantiles, as multiples of what is stated, and the band of chance."""
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
    most = max(
        (v for day in days for v in (day.ece, day.ece_high, day.floor_high) if math.isfinite(v)),
        default=0.0,
    )
    step = round_step(most or 1.0)
    ceiling = step * math.ceil(1.02 * (most or 1.0) / step)

    def x(i: float) -> float:
        return left + wide * (i + 0.5) / len(days)

    def y(value: float) -> float:
        return top + high * (1 - min(max(value, 0.0), ceiling) / ceiling)

    inside = []
    for i in range(round(ceiling / step) + 1):
        at = y(i * step)
        inside.append(tag("line", x1=left, x2=left + wide, y1=at, y2=at, class_="grid"))
        text = f"{round(100 * i * step, 9):g} %"
        inside.append(tag("text", text, x=left - 7, y=at + 4, class_="tick", text_anchor="end"))
    middle = top + high / 2
    turned = f"rotate(-90 12 {_digits(middle)})"
    inside.append(
        tag("text", "ECE", x=12, y=middle, class_="axis", text_anchor="middle", transform=turned)
    )
    inside += [*_chance(days, x, y), *_day_names(days, x, top + high)]
    known = [(x(i), y(day.ece)) for i, day in enumerate(days) if math.isfinite(day.ece)]
    inside.append(tag("polyline", points=path(known), class_="curve"))
    inside += [_day_mark(day, x(i), y) for i, day in enumerate(days) if math.isfinite(day.ece)]
    label = f"ECE of {count(len(days), 'data set')}, {sum(day.flagged for day in days)} marked"
    return svg(inside, top + high + 74, "series", "img", label, left + wide + 16)


def round_step(most: float, ticks: int = 6) -> float:
    """A round distance between ticks, of which there are at most `ticks`."""
    power = 10.0 ** math.floor(math.log10(most))
    return next(
        share * power
        for share in (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
        if most / (share * power) <= ticks
    )


def _chance(
    days: Sequence[Any], x: Callable[[float], float], y: Callable[[float], float]
) -> Iterable[str]:
    """A grey column per day from 0 to the end of the chance range, and a line at its mean."""
    for i, day in enumerate(days):
        if math.isfinite(day.floor_high):
            at = x(i - 0.5)
            end = x(i + 0.5)
            top = y(day.floor_high)
            yield tag("rect", x=at, y=top, width=end - at + 0.3, height=y(0) - top, class_="band")
        if math.isfinite(day.floor):
            yield tag(
                "line",
                x1=x(i - 0.5),
                x2=x(i + 0.5),
                y1=y(day.floor),
                y2=y(day.floor),
                class_="floor",
            )


def _day_names(days: Sequence[Any], x: Callable[[float], float], base: float) -> Iterable[str]:
    """The names of marked days and of some others, slanted."""
    gap = -(-len(days) // _NAMES)
    named: list[int] = []
    for i in [*(i for i, day in enumerate(days) if day.flagged), *range(0, len(days), gap)]:
        if all(abs(i - other) >= gap for other in named):
            named.append(i)
    for i in sorted(named):
        text = days[i].name
        at = x(i) + 4
        text = text if len(text) <= 18 else f"…{text[-17:]}"
        turned = f"rotate(-35 {_digits(at)} {_digits(base + 15)})"
        look = "tick marked" if days[i].flagged else "tick"
        yield tag(
            "text",
            escape(text),
            x=at,
            y=base + 15,
            class_=look,
            text_anchor="end",
            transform=turned,
        )


def _day_mark(day: Any, x: float, y: Callable[[float], float]) -> str:
    words = f"{day.name}: {number(day.ece)}"
    bar = ""
    if math.isfinite(day.ece_low) and math.isfinite(day.ece_high):
        bar = tag("line", x1=x, x2=x, y1=y(day.ece_low), y2=y(day.ece_high), class_="error")
        words += f", interval {span(day.ece_low, day.ece_high)}"
    if math.isfinite(day.floor):
        words += f", by chance {number(day.floor)}"
        words += f" and up to {number(day.floor_high)}" if math.isfinite(day.floor_high) else ""
    words += ", marked" if day.flagged else ""
    kind = "bin flagged" if day.flagged else "bin"
    return tag("g", bar + mark(x, y(day.ece), 4.5, kind) + title(words), class_=kind)
