"""The reliability diagram of the first screen, with its worst bin in words."""

import itertools
import math
from collections.abc import Iterable
from html import escape

import numpy as np

from trueness._report.plane import (
    HIGH,
    LEFT,
    RADIUS,
    SIZE,
    TOP,
    Plane,
    frame,
    histogram_bars,
    lines_between,
)
from trueness._report.svg import Place, area, mark, svg, tag, title, vertical
from trueness._text.numbers import bin_name, count, level_percent, number, percents, signed, span
from trueness.results._first_screen import Picture
from trueness.results._page import Explorer
from trueness.typing import Floats

# What the radius of the bin with the most rows has more than the least.
_GROWTH = 3.0
_FEW_ROWS = 5
# Letters of the annotation: width of one, and height of a line.
_LETTER = 8.4
_LINE = 16.0
# From the worst point to its text: how far; and right and down, steeply too.
_REACHES = (24.0, 40.0, 60.0, 80.0, 110.0)
_DIRECTIONS = [
    *itertools.product((1, -1), (1, 0, -1)),
    *itertools.product((0.3, -0.3), (1, -1)),
]


def reliability_chart(picture: Picture, view: Explorer) -> str:
    """Rates against mean scores with intervals, the band of calibrated scores, and a histogram.

    An annotation gives both numbers of the worst bin.
    """
    plane = Plane(view.near)
    b = picture.bins
    filled = [int(i) for i in np.flatnonzero(b.n > 0)]
    # Over a gap, or to a bin of few rows, a line would suggest a known course.
    joined = {i: (b.score[i], b.rate[i]) for i in filled if b.n[i] >= _FEW_ROWS}
    marks = [_band(picture, filled, plane), lines_between(joined, plane)]
    marks += [_bin_mark(picture, i, plane) for i in filled]
    inside = [
        *frame(plane, view.x_name, view.y_name),
        tag("g", "".join(marks), class_="marks"),
        _annotation(picture, filled, plane, view.happens),
        *histogram_bars(view.near.histogram),
    ]
    return svg(inside, HIGH, "reliability", "img", f"Reliability diagram of {len(filled)} bins")


def _bin_mark(picture: Picture, i: int, plane: Plane) -> str:
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
    radius = RADIUS + _GROWTH * math.sqrt(float(b.weight[i] / b.weight.max()))
    return tag("g", bar + mark(x, y, radius, kind) + title(words), class_=kind)


def _band(picture: Picture, filled: list[int], plane: Plane) -> str:
    """The band of calibrated rates over the `filled` bins, as SVG; empty without a band.

    Over a single bin it has some width.
    """
    b = picture.bins
    if not filled or not b.band:
        return ""
    x = [plane.x(score) for score in b.score[filled]]
    low = [plane.y(end) for end in b.low[filled]]
    high = [plane.y(end) for end in b.high[filled]]
    if len(x) == 1:  # no neighbour to draw a band to: some width
        x = [x[0] - 0.02 * SIZE, x[0] + 0.02 * SIZE]
        low = 2 * low
        high = 2 * high
    return area(zip(x, low, strict=True), zip(x, high, strict=True), "band")


def _annotation(picture: Picture, filled: list[int], plane: Plane, happens: str) -> str:
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


def _inked_places(picture: Picture, filled: list[int], plane: Plane) -> Floats:
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


def _free_place(x: float, y: float, wide: float, high: float, marks: Floats) -> Place:
    """The upper left corner of a text near a point that covers few marks and little diagonal."""
    places = []
    for left, top in _corners(x, y, wide, high):
        middle = left + wide / 2, top + high / 2
        distance = math.hypot(middle[0] - x, middle[1] - y)
        covered = (np.abs(marks - middle) < (wide / 2 + 8, high / 2 + 8)).all(axis=1)
        cost = int(covered.sum()) + 3 * _share_on_diagonal(left, top, wide, high) + distance / 100
        places.append((cost, left, top))
    return min(places)[1:]


def _corners(x: float, y: float, wide: float, high: float) -> Iterable[Place]:
    """Upper left corners of a text in all directions from a point, near and far, in the frame."""
    for reach, (across, down) in itertools.product(_REACHES, _DIRECTIONS):
        left = x + across * reach
        top = y + down * reach
        if across < 0:  # the text ends there
            left -= wide
        if down < 0:
            top -= high
        elif down == 0:
            top -= high / 2
        within_x = min(max(left, LEFT + 4), LEFT + SIZE - wide - 4)
        within_y = min(max(top, TOP + 4), TOP + SIZE - high - 4)
        yield within_x, within_y


def _share_on_diagonal(left: float, top: float, wide: float, high: float) -> float:
    """The share of nine places along a text that the diagonal passes behind."""
    along = left + wide * np.arange(9) / 8
    below_top = TOP + SIZE + LEFT - along - top
    return int(((below_top > -4) & (below_top < high + 4)).sum()) / 9
