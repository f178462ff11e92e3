"""Estimates with their limits, one per line above a common axis, as inline SVG."""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

from trueness._report.charts import mark, path, round_step, svg, tag, title

_LINE, _TOP = 21.0, 4.0
_LETTER = 7.2  # width of one of the names and right-hand texts on a narrow screen, which enlarges them
_TICK = 46.0  # room for one
_REACH = 3.0  # limits farther out than this multiple of the farthest estimate are cut off
_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


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
        return math.log(max(value, 1e-9)) if self.ratios else self.times * value


def forest_chart(lines: Sequence[Line], scale: Scale, label: str, wide: float) -> str:
    """A point and a bar for each line; bars that the axis cuts off end in an arrow."""
    left = 14 + _LETTER * max(len(name) for name in [*(line.name for line in lines), scale.title * scale.beside])
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
    place, under, end = (left - 10, 15, "end") if scale.beside else ((left + right) / 2, 33, "middle")
    inside.append(tag("text", escape(scale.title), x=place, y=base + under, class_="axis", text_anchor=end))
    for value, kind in ((scale.reference, "reference"), (scale.overall, "diagonal")):
        if math.isfinite(value):
            inside.append(tag("line", x1=x(value), x2=x(value), y1=_TOP, y2=base, class_=kind))
    for i, line in enumerate(lines):
        y = _TOP + _LINE * (i + 0.5)
        inside.append(_line(line, y, x, left, right))
        if line.text:
            inside.append(tag("text", escape(line.text), x=wide, y=y + 4, class_="tick", text_anchor="end"))
    return svg(inside, base + (22 if scale.beside else 40), "forest", "img", label, wide)


def _ends(lines: Iterable[Line], scale: Scale) -> tuple[float, float]:
    """The ends of the axis: all estimates, and limits unless they are far from all estimates."""
    zero = scale.along(scale.reference)
    known = [scale.along(v) - zero for line in lines for v in (line.value, scale.overall) if math.isfinite(v)]
    limits = [scale.along(v) - zero for line in lines for v in (line.low, line.high) if math.isfinite(v)]
    far = _REACH * max(map(abs, known), default=0.0) or math.inf
    low, high = min([0.0, *known, *limits]), max([0.0, *known, *limits])
    low, high = max(low, -far), min(high, far)
    room = 0.04 * (high - low) or 1.0
    return zero + (low - room if low < 0 else 0.0), zero + (high + room if high > 0 else room)


def _ticks(low: float, high: float, scale: Scale, most: int) -> list[tuple[float, str]]:
    if scale.ratios:
        places = [(math.log(ratio), f"{ratio:g}") for ratio in _RATIOS]
        return [(at, text) for at, text in places if low <= at <= high]
    step = round_step(high - low, min(8, max(2, most)))
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    return [(i * step, f"{round(i * step, 9):g}".replace("-", "−")) for i in numbers]


def _line(line: Line, y: float, x: Callable[[float], float], left: float, right: float) -> str:
    parts = [tag("text", escape(line.name), x=left - 10, y=y + 4, class_="name", text_anchor="end")]
    if math.isfinite(line.low) and math.isfinite(line.high):
        first, last = (min(max(x(limit), left), right) for limit in (line.low, line.high))
        parts.append(tag("line", x1=first, x2=last, y1=y, y2=y, class_="error"))
        if x(line.low) < left:
            parts.append(tag("polygon", points=path([(left, y - 4), (left - 6, y), (left, y + 4)]), class_="arrow"))
        if x(line.high) > right:
            parts.append(tag("polygon", points=path([(right, y - 4), (right + 6, y), (right, y + 4)]), class_="arrow"))
    if math.isfinite(line.value):
        parts.append(mark(x(line.value), y, 4.5, line.kind))
    return tag("g", "".join(parts) + title(f"{line.name} {line.text}".rstrip()), class_=f"bin {line.kind}".rstrip())
