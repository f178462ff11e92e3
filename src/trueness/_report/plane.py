"""The square of a diagram: axes, grid, the diagonal, and the histogram that hangs below."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from trueness._report.svg import Place, horizontal, path, side_title, tag, text_at, vertical
from trueness.results._page import Axes

# The plot is a square; the histogram hangs below its axis label.
LEFT = 68
TOP = 12
SIZE = 380
LABEL = TOP + SIZE + 38
BARS_TOP = LABEL + 12
BARS = 46
HIGH = BARS_TOP + BARS + 4
RADIUS = 3.5
"""The least radius of a point."""


class Plane(NamedTuple):
    """Places on the page of points between the axes."""

    axes: Axes

    def x(self, value: float) -> float:
        return LEFT + SIZE * self._share(value)

    def y(self, value: float) -> float:
        return TOP + SIZE * (1 - self._share(value))

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


def frame(plane: Plane, x_name: str, y_name: str) -> Iterable[str]:
    """Grid, tick labels, axis labels and the diagonal."""
    for value, text in zip(plane.axes.ticks, plane.axes.labels, strict=True):
        x = plane.x(value)
        y = plane.y(value)
        yield horizontal(LEFT, LEFT + SIZE, y, "grid")
        yield vertical(x, TOP, TOP + SIZE, "grid")
        yield text_at(text, LEFT - 7, y + 4, "tick", "end")
        yield text_at(text, x, TOP + SIZE + 17, "tick", "middle")
    middle = TOP + SIZE / 2
    yield text_at(escape(x_name), LEFT + SIZE / 2, LABEL, "axis", "middle")
    yield side_title(escape(y_name), middle)
    yield tag("line", x1=LEFT, y1=TOP + SIZE, x2=LEFT + SIZE, y2=TOP, class_="diagonal")


def histogram_bars(heights: Sequence[float]) -> Iterable[str]:
    """The bars of a histogram below the plane, as SVG; empty bins have none.

    A bar is at least one pixel high, so that few rows can be seen.
    """
    highest = max(max(heights), 1e-300)
    step = SIZE / len(heights)
    base = BARS_TOP + BARS
    for i, value in enumerate(heights):
        if value > 0:
            tall = max(1.0, BARS * value / highest)
            left = LEFT + i * step
            top = base - tall
            yield tag("rect", x=left, y=top, width=step * 0.88, height=tall, class_="bar")
    yield horizontal(LEFT, LEFT + SIZE, base, "grid")
    yield text_at("rows", LEFT - 7, BARS_TOP + 10, "tick", "end")


def lines_between(points: Mapping[int, tuple[float, float]], plane: Plane) -> str:
    """Lines between scores and rates with consecutive numbers that lie on the axes."""
    runs = list[list[Place]]()
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
