"""What every display draws on: figures, axes, colours that survive print and dark pages, and scales."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from trueness.errors import InputError, MissingLibraryError
from trueness.plot._words import probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trueness.typing import Floats

__all__ = [
    "GREY",
    "SECOND",
    "Margins",
    "Scale",
    "Style",
    "axes_for",
    "below",
    "compact",
    "figure_of",
    "legend_height",
    "legend_of",
    "need_matplotlib",
    "quartered",
    "scaled",
    "short",
    "style_of",
    "write_in_corner",
]

Scale: TypeAlias = Literal["linear", "log", "logit"]

# Seen on white and on black alike; the other colours are the text's own.
GREY = "#808080"
# For the part of a whole that deserves the eye.
SECOND = "#D55E00"
# Okabe and Ito's colours without black and yellow, which vanish on one of the two grounds, and a lighter blue.
_COLOURS = ("#0A82C4", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (9, 2)),
)
_OFF_DIAGONAL = ((0.03, 0.97), (0.97, 0.03))
# What a text in a corner may take of the axes, across and up, and its smallest letters in points.
_MOST_COVERED, _LEAST_LETTERS = (0.75, 0.5), 6.5
_TICKS = np.array([0.5, *(10.0**-k for k in range(1, 16))])


class Style(NamedTuple):
    """How the i-th of several things looks: no two alike in colour, marker and dashes."""

    colour: str
    marker: str
    dashes: Any


def style_of(i: int) -> Style:
    """The i-th style; after six colours they come again with other markers and dashes."""
    turn = i + i // 6
    return Style(_COLOURS[i % 6], _MARKERS[turn % 6], _DASHES[turn % 6])


def need_matplotlib(display: str) -> None:
    """Raise if there is nothing to draw with."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as reason:
        raise MissingLibraryError(
            f"`trueness.plot.{display}` needs matplotlib to draw: `pip install 'trueness[plot]'`."
        ) from reason


class Margins(NamedTuple):
    """Inches around panels whose room is known beforehand: left, right, bottom, top, and between columns and rows."""

    left: float
    right: float
    bottom: float
    top: float
    across: float
    up: float

    def grid(self, width: float, height: float, columns: int, rows: int) -> dict[str, float]:
        """The same as matplotlib's options of a grid."""
        panel = (width - self.left - self.right - (columns - 1) * self.across) / columns
        high = (height - self.bottom - self.top - (rows - 1) * self.up) / rows
        sides = {"left": self.left / width, "right": 1 - self.right / width}
        ends = {"bottom": self.bottom / height, "top": 1 - self.top / height}
        return sides | ends | {"wspace": self.across / panel, "hspace": self.up / high}


def axes_for(
    display: str,
    ax: Any,
    count: int = 1,
    *,
    size: tuple[float, float],
    columns: int | None = None,
    margins: Margins | None = None,
) -> tuple[list[Axes], bool]:
    """As many axes as there are panels: those that were given, or those of a new figure; and whether it is new.

    A figure without `margins` measures its texts to lay them out, which takes a tenth of a second per panel.
    """
    need_matplotlib(display)
    if ax is not None:
        given = [a for a in np.ravel(np.asarray(ax, dtype=object)) if a is not None]
        if len(given) < count or not all(hasattr(a, "get_xlim") for a in given):
            what = f"{count} axes, one per panel" if count > 1 else "an axes"
            raise InputError(
                "ax", f"must be {what}, or None for a new figure", f"got {len(given)} of {type(ax).__name__}"
            )
        return given[:count], False
    import matplotlib.pyplot as plt

    columns = columns or _columns(count)
    rows = -(-count // columns)
    wide, high = size[0] * columns, size[1] * rows
    figure = plt.figure(figsize=(wide, high), layout="constrained" if margins is None else None)
    sides = {} if margins is None else margins.grid(wide, high, columns, rows)
    grid = figure.subplots(rows, columns, squeeze=False, gridspec_kw=sides)
    axes = list(grid.ravel())
    for spare in axes[count:]:
        spare.remove()
    return axes[:count], True


def _columns(count: int) -> int:
    return count if count <= 3 else -(-count // -(-count // 5))


def figure_of(ax: Axes) -> Figure | SubFigure:
    """The figure that holds an axes."""
    figure = ax.figure
    assert figure is not None
    return figure


def legend_of(where: Axes | Figure | SubFigure, handles: Sequence[Any], names: Sequence[str], **options: Any) -> None:
    """A legend that shows every name as it is written: one that begins with ``_``, and dollars, too."""
    # matplotlib leaves out names that begin with an underscore, so they come after the legend is made.
    legend = where.legend(list(handles), [f"{i}" for i in range(len(handles))], **options)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
        text.set_parse_math(False)


def legend_height(names: Sequence[str]) -> float:
    """Inches that a legend of so many names takes under the axes; one model needs none."""
    return 0.0 if len(names) < 2 else sum(0.07 + 0.15 * len(name.splitlines()) for name in names)


def below(ax: Axes, share: float) -> Axes:
    """New axes under another, with the same scores, out of its lower `share`."""
    figure, spec = figure_of(ax), ax.get_subplotspec()
    if spec is not None:
        grid = spec.subgridspec(2, 1, height_ratios=(1 - share, share), hspace=0.06)
        ax.set_subplotspec(grid[0])
        under: Axes = figure.add_subplot(grid[1], sharex=ax)
        return under
    box = ax.get_position()
    ax.set_position((box.x0, box.y0 + share * box.height, box.width, 0.96 * (1 - share) * box.height))
    return figure.add_axes((box.x0, box.y0, box.width, share * box.height), sharex=ax)


def quartered(ax: Axes, right: float, bottom: float) -> tuple[Axes, Axes]:
    """New axes to the right of another and under it, out of its right and its lower share."""
    figure, spec = figure_of(ax), ax.get_subplotspec()
    if spec is not None:
        ratios = {"width_ratios": (1 - right, right), "height_ratios": (1 - bottom, bottom)}
        grid = spec.subgridspec(2, 2, hspace=0.06, wspace=0.04, **ratios)
        ax.set_subplotspec(grid[0, 0])
        return figure.add_subplot(grid[0, 1], sharey=ax), figure.add_subplot(grid[1, 0], sharex=ax)
    box = ax.get_position()
    wide, high = (1 - right) * box.width, (1 - bottom) * box.height
    ax.set_position((box.x0, box.y0 + bottom * box.height, 0.96 * wide, 0.96 * high))
    above = figure.add_axes((box.x0 + wide, box.y0 + bottom * box.height, right * box.width, 0.96 * high), sharey=ax)
    return above, figure.add_axes((box.x0, box.y0, 0.96 * wide, 0.9 * bottom * box.height), sharex=ax)


def scaled(axis: Any, scale: Scale, low: float, high: float) -> None:
    """Give an axis its scale, limits and ticks that read as probabilities."""
    if scale == "linear":
        axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})
        return
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    getattr(axis.axes, f"set_{axis.axis_name}scale")(scale)
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})
    ticks = np.concatenate([_TICKS, 1 - _TICKS[1:13]]) if scale == "logit" else np.append(_TICKS[1:], 1)
    # Near 1 it is the distance from 1 that counts.
    below_top = (1 - ticks >= 0.999 * (1 - high)) if high < 1 else ticks <= high * 1.001
    inside = np.unique(ticks[(ticks >= low * 0.999) & below_top])
    step = max(1, -(-inside.size // _most_ticks(axis)))
    axis.set_major_locator(FixedLocator(list(inside[::step])))
    axis.set_major_formatter(FuncFormatter(lambda value, _: probability(value)))
    axis.set_minor_locator(NullLocator())


def _most_ticks(axis: Any) -> int:
    """How many labels such as 0.9999 an axis holds side by side."""
    box, dots = axis.axes.get_window_extent(), figure_of(axis.axes).dpi
    return int(max(2, min(8, box.width / dots / 0.6 if axis.axis_name == "x" else box.height / dots / 0.3)))


def compact(value: float, _: object = None) -> str:
    """A count in few signs: 950, 12k, 3.4M."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def short(name: str, width: int = 44, lines: int = 3) -> str:
    """A name in lines that fit; what does not fit ends in an ellipsis."""
    return "\n".join(textwrap.wrap(str(name), width, max_lines=lines, placeholder=" …", break_long_words=True)) or str(
        name
    )


def _covered(
    ax: Axes,
    points: Sequence[tuple[Floats, Floats]],
    corners: Sequence[tuple[float, float]],
    text: tuple[float, float],
) -> dict[tuple[float, float], float]:
    """How many of the points, in shares of each set, lie where a text so wide and high would stand in a corner.

    Corners and sizes are in shares of the axes.
    """
    near = dict.fromkeys(corners, 0.0)
    for x, y in points:
        there = np.isfinite(x) & np.isfinite(y)
        if not there.any():
            continue
        place = ax.transAxes.inverted().transform(ax.transData.transform(np.column_stack([x[there], y[there]])))
        for across, up in corners:
            wide = place[:, 0] < text[0] if across < 0.5 else place[:, 0] > 1 - text[0]
            high = place[:, 1] < text[1] if up < 0.5 else place[:, 1] > 1 - text[1]
            near[across, up] += float(np.mean(wide & high))
    return near


def write_in_corner(
    ax: Axes,
    texts: Sequence[str],
    points: Sequence[tuple[Floats, Floats]],
    size: float,
    corners: Sequence[tuple[float, float]] = _OFF_DIAGONAL,
) -> Any:
    """Text in the corner of the axes where it covers fewest points, behind lines and markers.

    If the axes are too small for the first of the texts, the next, in letters that may shrink, that covers
    no point; None, and nothing is written, if there is none.
    """
    found = _fitting(ax, texts, points, size, corners)
    if found is None:
        return None
    text, size, corner = found
    right, top = corner[0] > 0.5, corner[1] > 0.5
    return ax.text(
        *corner,
        text,
        transform=ax.transAxes,
        ha="right" if right else "left",
        va="top" if top else "bottom",
        fontsize=size,
        linespacing=1.35,
        parse_math=False,
        bbox={"facecolor": ax.get_facecolor(), "alpha": 0.7, "edgecolor": "none", "pad": 2},
        zorder=2.2,
        in_layout=False,  # it lies inside the axes, and measuring it takes time
    )


def _fitting(
    ax: Axes,
    texts: Sequence[str],
    points: Sequence[tuple[Floats, Floats]],
    size: float,
    corners: Sequence[tuple[float, float]],
) -> tuple[str, float, tuple[float, float]] | None:
    for i, text in enumerate(texts):
        for letters in (size, max(_LEAST_LETTERS, 0.8 * size)):
            share = _share_of(ax, text, letters)
            covered = _covered(ax, points, corners, share)
            corner = min(corners, key=covered.__getitem__)
            free = i == 0 or covered[corner] == 0
            if free and share[0] <= _MOST_COVERED[0] and share[1] <= _MOST_COVERED[1]:
                return text, letters, corner
    return None


def _share_of(ax: Axes, text: str, size: float) -> tuple[float, float]:
    """About how much of the axes a text takes, across and up."""
    box, dots, lines = ax.get_window_extent(), figure_of(ax).dpi / 72, text.splitlines()
    wide, high = 0.53 * size * max(map(len, lines), default=0), 1.5 * size * len(lines)
    return min(1.0, 0.03 + dots * wide / max(box.width, 1)), min(1.0, 0.03 + dots * high / max(box.height, 1))
