"""Elements of a picture as inline SVG: lines, texts, areas and marks."""

import math
import re
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

WIDE = 472
"""The usual width of a picture."""
Place: TypeAlias = tuple[float, float]
# The corners of a circle, a square, a triangle and a diamond that look equally large.
_SQUARE = ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9))
_TRIANGLE = ((0, -1.2), (1.15, 0.9), (-1.15, 0.9))
_DIAMOND = ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0))
_SHAPES: tuple[tuple[Place, ...], ...] = ((), _SQUARE, _TRIANGLE, _DIAMOND)


def tag(name: str, text: str = "", **attributes: object) -> str:
    """An element, with attributes whose underscores stand for hyphens."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(digits(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{written}>{text}</{name}>"


def digits(value: object) -> str:
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
    turned = f"rotate(-90 12 {digits(middle)})"
    return tag("text", text, x=12, y=middle, class_="axis", text_anchor="middle", transform=turned)


def title(text: str) -> str:
    """What a pointer over an element shows and a screen reader says."""
    return tag("title", escape(text))


def svg(
    inside: Iterable[str], high: float, kind: str, role: str, label: str, wide: float = WIDE
) -> str:
    """A picture of a kind, with its text alternative."""
    box = f"0 0 {digits(wide)} {digits(high)}"
    return tag(
        "svg", "".join(inside), viewBox=box, class_=f"chart {kind}", role=role, aria_label=label
    )


def path(points: Iterable[Place]) -> str:
    """Places as the attribute of a line or a polygon."""
    return " ".join(f"{digits(float(x))},{digits(float(y))}" for x, y in points)


def area(lower: Iterable[Place], upper: Iterable[Place], kind: str) -> str:
    """What lies between two lines."""
    return tag("polygon", points=path([*lower, *reversed(list(upper))]), class_=kind)


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


def round_step(length: float, ticks: int = 6) -> float:
    """A round distance between ticks, of which there are at most `ticks`."""
    power = 10.0 ** math.floor(math.log10(length))
    return next(
        share * power
        for share in (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
        if length / (share * power) <= ticks
    )
