"""The pictures of a report as inline SVG, for readers without JavaScript; the script draws the same."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from trueness._report.records import Blocks, Explorer, Picture
from trueness._text.bins import bin_name
from trueness._text.numbers import count, level_percent, number, percent, signed, span

# The plot is a square; the histogram hangs below it.
_LEFT, _TOP, _SIZE = 68, 12, 380
_BARS_TOP, _BARS = _TOP + _SIZE + 34, 70
_WIDE, _HIGH = _LEFT + _SIZE + 14, _BARS_TOP + _BARS + 34


def _tag(name: str, text: str = "", **attributes: object) -> str:
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_digits(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{text}</{name}>"


def _digits(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _x(value: float, top: float) -> float:
    return _LEFT + _SIZE * float(value) / top


def _y(value: float, top: float) -> float:
    return _TOP + _SIZE * (1 - float(value) / top)


def _title(text: str) -> str:
    return _tag("title", escape(text))


def _frame(top: float, x_name: str, y_name: str, y_base: float) -> Iterable[str]:
    """Grid, tick labels, axis labels and the diagonal."""
    for i in range(6):
        v = top * i / 5
        text = f"{v:.6g}"
        yield _tag("line", x1=_LEFT, x2=_LEFT + _SIZE, y1=_y(v, top), y2=_y(v, top), class_="grid")
        yield _tag("line", x1=_x(v, top), x2=_x(v, top), y1=_TOP, y2=_TOP + _SIZE, class_="grid")
        yield _tag("text", text, x=_LEFT - 7, y=_y(v, top) + 4, class_="tick", text_anchor="end")
        yield _tag("text", text, x=_x(v, top), y=_TOP + _SIZE + 17, class_="tick", text_anchor="middle")
    middle = _TOP + _SIZE / 2
    yield _tag("text", escape(x_name), x=_LEFT + _SIZE / 2, y=y_base, class_="axis", text_anchor="middle")
    turned = f"rotate(-90 14 {_digits(middle)})"
    yield _tag("text", escape(y_name), x=14, y=middle, class_="axis", text_anchor="middle", transform=turned)
    yield _tag("line", x1=_LEFT, y1=_TOP + _SIZE, x2=_LEFT + _SIZE, y2=_TOP, class_="diagonal")


def _clip(name: str) -> str:
    area = _tag("rect", x=_LEFT - 6, y=_TOP - 6, width=_SIZE + 12, height=_SIZE + 12)
    return _tag("defs", _tag("clipPath", area, id=name))


def _histogram(heights: Sequence[float]) -> Iterable[str]:
    most, step = max(max(heights), 1e-300), _SIZE / len(heights)
    for i, value in enumerate(heights):
        if value > 0:
            tall = max(1.0, _BARS * value / most)
            yield _tag(
                "rect", x=_LEFT + i * step, y=_BARS_TOP + _BARS - tall, width=step * 0.88, height=tall, class_="bar"
            )
    base = _BARS_TOP + _BARS
    yield _tag("line", x1=_LEFT, x2=_LEFT + _SIZE, y1=base, y2=base, class_="grid")
    yield _tag("text", "rows", x=_LEFT - 7, y=_BARS_TOP + 10, class_="tick", text_anchor="end")


def reliability_chart(picture: Picture, found: Explorer, name: str) -> str:
    """Rates against mean scores with intervals, a band around the diagonal, and a histogram of the scores."""
    top, b = found.zoom, picture.bins
    filled = [int(i) for i in np.flatnonzero(b.n > 0)]
    marks = [_band(picture, filled, top), _joined(picture, filled, top)]
    for i in filled:
        x, flagged = _x(b.score[i], top), bool(b.outside[i])
        words = (
            f"{bin_name(b.low_edge[i], b.high_edge[i], last=i == len(b) - 1)}: {count(int(b.n[i]), 'row')}, "
            f"mean score {number(b.score[i])}, rate {number(b.rate[i])} "
            f"({level_percent(b.level)} interval {span(picture.interval_low[i], picture.interval_high[i])}), "
            f"gap {signed(b.gap[i])}{', flagged' if flagged else ''}"
        )
        low, high = _y(picture.interval_low[i], top), _y(picture.interval_high[i], top)
        bar = _tag("line", x1=x, x2=x, y1=low, y2=high, class_="error")
        mark = bar + _point(x, _y(b.rate[i], top), flagged) + _title(words)
        marks.append(_tag("g", mark, class_="bin flagged" if flagged else "bin"))
    heights = found.near_histogram if top < 1 else found.histogram
    inside = [
        _clip(f"{name}-clip"),
        *_frame(top, "Score (bins: mean score)", "Event rate", _HIGH - 6),
        _tag("g", "".join(marks), class_="marks", clip_path=f"url(#{name}-clip)"),
        *_histogram(heights),
    ]
    return _svg(inside, _HIGH, "reliability", "img", f"Reliability diagram of {len(filled)} bins")


def _svg(inside: Iterable[str], high: int, kind: str, role: str, label: str) -> str:
    box = f"0 0 {_WIDE} {high}"
    return _tag("svg", "".join(inside), viewBox=box, class_=f"chart {kind}", role=role, aria_label=label)


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_digits(x)},{_digits(y)}" for x, y in points)


def _point(x: float, y: float, flagged: bool) -> str:
    if not flagged:
        return _tag("circle", cx=x, cy=y, r=5, class_="point")
    return _tag("polygon", points=_path([(x, y - 7), (x + 7, y), (x, y + 7), (x - 7, y)]), class_="point")


def _band(picture: Picture, filled: list[int], top: float) -> str:
    b = picture.bins
    if not filled or not b.band:
        return ""
    # A single bin has no neighbour to draw a band to: it gets one of some width.
    sides = (-0.02 * top, 0.02 * top) if len(filled) == 1 else (0.0,)
    ends = [(_x(b.score[i] + side, top), _y(b.low[i], top), _y(b.high[i], top)) for i in filled for side in sides]
    outline = [(x, low) for x, low, _ in ends] + [(x, high) for x, _, high in reversed(ends)]
    return _tag("polygon", points=_path(outline), class_="band")


def _joined(picture: Picture, filled: list[int], top: float) -> str:
    b = picture.bins
    return _tag("polyline", points=_path((_x(b.score[i], top), _y(b.rate[i], top)) for i in filled), class_="curve")


def blocks_chart(found: Blocks, top: float, name: str) -> str:
    """Each block as a box over its scores at the height of its rate, shaded by the share that the test rejects."""
    inside = [_clip(f"{name}-clip"), *_frame(top, "Scores of the block", "Event rate", _TOP + _SIZE + 40)]
    boxes = []
    for i, n in enumerate(found.n):
        y = _y(found.rate[i], top)
        a, q1, mid, q3, z = (
            _x(column[i], top)
            for column in (found.score_min, found.score_q1, found.score_median, found.score_q3, found.score_max)
        )
        share = found.refuted[i]
        words = (
            f"{count(n, 'row')} with scores {number(found.score_min[i])} to {number(found.score_max[i])}, rate "
            f"{number(found.rate[i])}: {percent(share)} of the scores rejected"
        )
        wide = max(8.0, q3 - q1)  # equal scores still get a box
        q1 = (q1 + q3 - wide) / 2
        parts = [
            _tag("line", x1=a, x2=z, y1=y, y2=y, class_="whisker"),
            _tag("rect", x=q1, y=y - 6, width=wide, height=12, class_="box"),
            _tag("rect", x=q1, y=y - 6, width=wide, height=12, class_="refuted", fill_opacity=round(share, 3)),
            _tag("line", x1=mid, x2=mid, y1=y - 6, y2=y + 6, class_="median"),
            _title(words),
        ]
        boxes.append(_tag("g", "".join(parts), class_="block", tabindex=-1 if i else 0, role="img", aria_label=words))
    inside.append(_tag("g", "".join(boxes), class_="boxes", clip_path=f"url(#{name}-clip)"))
    return _svg(
        inside, _TOP + _SIZE + 48, "blocks", "group", f"Test-based reliability diagram of {len(found.n)} blocks"
    )
