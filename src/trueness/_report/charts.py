"""The smooth curve, courses before and after a map, blocks and stated levels, as pictures.

Readers without JavaScript see them; the script draws the same.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from trueness._report.plane import (
    BARS_TOP,
    HIGH,
    LABEL,
    LEFT,
    RADIUS,
    SIZE,
    Plane,
    frame,
    histogram_bars,
    lines_between,
)
from trueness._report.svg import Place, area, horizontal, mark, path, svg, tag, title, vertical
from trueness._text.numbers import (
    count,
    linear_ticks,
    number,
    percent,
    percent_tick,
    span,
    zoomed_ends,
)
from trueness.results import Coverage, LevelHistogram
from trueness.results._page import Axes, Blocks, Explorer, FlexibleCurve
from trueness.results._remedies import Course


def curve_chart(curve: FlexibleCurve, view: Explorer) -> str:
    """A calibration curve without bins, its bands, and a histogram of the scores."""
    plane = Plane(view.near)

    def line(rates: Sequence[float]) -> list[Place]:
        return [(plane.x(x), plane.y(y)) for x, y in zip(curve.score, rates, strict=True)]

    inside = [
        area(line(curve.all_low), line(curve.all_high), "confidence"),
        area(line(curve.low), line(curve.high), "confidence"),
        *frame(plane, view.x_name, view.y_name),
        tag("polyline", points=path(line(curve.rate)), class_="curve flexible"),
        *histogram_bars(view.near.histogram),
    ]
    return svg(inside, HIGH, "smooth", "img", "Smooth calibration curve with its confidence bands")


def courses_chart(
    courses: Sequence[tuple[str, Course]],
    kinds: Sequence[str],
    axes: Axes,
    view: Explorer,
    label: str,
) -> str:
    """Several courses with their names in one diagram, told apart by colour and shape."""
    plane = Plane(axes)
    inside = [*frame(plane, view.x_name, view.y_name)]
    for (name, course), kind in zip(courses, kinds, strict=True):
        points = enumerate(zip(course.score, course.rate, strict=True))
        marks = [lines_between(dict(points), plane)]
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
    return svg(inside, LABEL + 8, "courses", "img", label)


def blocks_chart(blocks: Blocks, view: Explorer) -> str:
    """Each block as a box over its scores at its rate, shaded by the share that is rejected."""
    plane = Plane(view.near)
    inside = [*frame(plane, "scores of the block", view.y_name)]
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
    return svg(inside, LABEL + 8, "blocks", "group", label)


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
    plane = Plane(axes)
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
        marks.append(tag("g", bar + mark(x[i], y[i], RADIUS, "") + title(words), class_="bin"))
    if found.stated.size > 1:
        names = ("stated level", "share of outcomes at most the quantile")
    else:
        names = ("stated coverage", "share of outcomes inside")
    inside = [*frame(plane, *names), tag("g", "".join(marks), class_="marks")]
    tall = LABEL + 8.0
    if histogram is not None:
        inside += _levels_histogram(histogram, plane)
        tall = BARS_TOP + _LEVELS_HIGH + 4
    label = f"Observed against stated shares at {count(found.stated.size, 'level')}"
    return svg(inside, tall, "coverage", "img", label)


def _levels_histogram(found: LevelHistogram, plane: Plane) -> Iterable[str]:
    """Shares of outcomes between quantiles, over those stated, and the band of chance."""
    base = BARS_TOP + _LEVELS_HIGH
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
        yield tag("line", x1=LEFT, x2=LEFT + SIZE, y1=at, y2=at, class_=kind)
        yield tag("text", text, x=LEFT - 7, y=at + 4, class_="tick", text_anchor="end")
