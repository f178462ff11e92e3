"""The calibration error of each day, or each file, as a picture."""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from types import SimpleNamespace

from trueness._report.svg import (
    digits,
    horizontal,
    mark,
    path,
    round_step,
    side_title,
    svg,
    tag,
    text_at,
    title,
    vertical,
)
from trueness._text.numbers import count, number, span
from trueness.results import Series

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


def _chance(
    days: Sequence[SimpleNamespace], x: Callable[[float], float], y: Callable[[float], float]
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


def _day_names(
    days: Sequence[SimpleNamespace], x: Callable[[float], float], base: float
) -> Iterable[str]:
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
        turned = f"rotate(-35 {digits(right)} {digits(base + 15)})"
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


def _day_mark(day: SimpleNamespace, x: float, y: Callable[[float], float]) -> str:
    """The mark of one day at `x`, with its interval if there is one, as SVG.

    `y` turns values into places; the title says the numbers in words.
    """
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
