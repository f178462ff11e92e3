"""Figures, axes, colours, scales, legends and labels of all displays."""

from __future__ import annotations

import importlib.util
import itertools
import math
import textwrap
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from trueness._text.numbers import (
    confidence_set,
    level_percent,
    linear_ticks,
    percent_tick,
    rule_in_words,
)
from trueness._text.numbers import short_number as short
from trueness._text.strings import visible
from trueness.errors import InputError, MissingLibraryError
from trueness.results import CurveBand
from trueness.results._record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.text import Text

    from trueness.results import Bands, Reliability
    from trueness.typing import Floats, Option

    _Points: TypeAlias = Sequence[tuple[Floats, Floats]]
    _Place: TypeAlias = tuple[float, float]

    Panels: TypeAlias = Axes | Sequence[Axes]
    """Where to draw: axes, or one for each panel."""

Scale: TypeAlias = Literal["linear", "log", "logit"]
Dashes: TypeAlias = Any
"""A style of lines as matplotlib takes it: a name, or an offset with lengths."""

# Visible on white and on black.
GREY = "#808080"
# For the part of a whole that needs attention.
SECOND = "#D55E00"
# Okabe and Ito's colours without black and yellow, which vanish on black or white, and a lighter
# blue.
_COLOURS = ("#0A82C4", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES: tuple[Dashes, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (9, 2)),
)
_OFF_DIAGONAL = ((0.03, 0.97), (0.97, 0.03))
# The share of the axes that a text in a corner may take, across and up, and its smallest letters in
# points.
_MOST_COVERED = (0.75, 0.5)
_LEAST_LETTERS = 6.5
_TICKS = np.array([0.5, *(10.0**-k for k in range(1, 16))])
AXIS_NAMES = {
    "binary": ("predicted probability", "event rate"),
    "classwise": ("predicted probability of the class", "share of the class"),
    "confidence": ("confidence", "accuracy"),
    "top-label": ("confidence", "accuracy"),
    "multilabel": ("predicted probability of the label", "share with the label"),
}


class Style(NamedTuple):
    """Colour, marker and dashes of one of several things."""

    colour: str
    marker: str
    dashes: Dashes


def style_of(i: int) -> Style:
    """The i-th style; after six, colours are repeated with other markers and dashes."""
    turn = i + i // 6
    return Style(_COLOURS[i % 6], _MARKERS[turn % 6], _DASHES[turn % 6])


class Display(ABC):
    """What every display shares: what it has drawn, and its picture in a notebook."""

    line_: Any
    lines_: list[Any]
    ax_: Axes
    axes_: list[Axes]
    figure_: Any
    _replaced: Any = None
    """The figure of `from_predictions`, which another one replaces."""

    @abstractmethod
    def plot(self, ax: Panels | None = None) -> Self:
        """Draw."""

    def _drawn(self, ax: Panels | None) -> Self:
        """Draw at once, as scikit-learn's displays do; without matplotlib only if asked to.

        `plot` then draws once more, with options of its own, in place of this figure.
        """
        if ax is None and importlib.util.find_spec("matplotlib") is None:
            return self
        self.plot(ax)
        self._replaced = self.figure_ if ax is None else None
        return self

    def _close_replaced(self) -> None:
        """Close the figure that `from_predictions` drew, which another one replaces."""
        if self._replaced is None:
            return
        import matplotlib.pyplot as plt

        plt.close(self._replaced)
        self._replaced = None

    def _take_axes(self, ax: Panels | None, count: int = 1, **figure: Option) -> bool:
        """Take the panels of the caller, or of a new figure; return whether it is new."""
        self._close_replaced()
        self.axes_, is_new = axes_for(type(self).__name__, ax, count, **figure)
        self.ax_ = self.axes_[0]
        self.figure_ = self.axes_[0].figure
        self.lines_ = []
        return is_new

    def _repr_html_(self) -> str:
        """The picture and, in words, what it shows.

        The words alone if a notebook is about to show the picture.
        """
        words = escape(
            "; ".join(str(record) for value in vars(self).values() for record in _records(value))
        )
        try:
            picture = self._png()
        except MissingLibraryError:
            picture = None
        if picture is None:
            return f"<p>{words}</p>"
        data, width = picture
        source = f"data:image/png;base64,{b64encode(data).decode('ascii')}"
        return (
            f'<figure><img width="{width}" alt="{words}" '
            f'src="{source}"><figcaption>{words}</figcaption></figure>'
        )

    def _png(self) -> tuple[bytes, int] | None:
        """The picture as PNG, and its width in pixels of a page.

        None if pyplot will show it at the end of the cell.
        """
        require_matplotlib(type(self).__name__)
        import matplotlib
        import matplotlib.pyplot as plt
        from matplotlib._pylab_helpers import Gcf

        drawn = hasattr(self, "figure_")
        figure = (self if drawn else copy(self).plot()).figure_.figure
        is_open = any(manager.canvas.figure is figure for manager in Gcf.get_all_fig_managers())
        if drawn and is_open and "inline" in matplotlib.get_backend():
            return None
        file = BytesIO()
        figure.savefig(file, format="png", dpi=144)
        if not drawn:
            plt.close(figure)
        return file.getvalue(), round(96 * figure.get_size_inches()[0])


def _records(value: object) -> list[Record]:
    """The records in a value: itself, or those in its dicts, lists and tuples at any depth."""
    if isinstance(value, Record):
        return [value]
    if isinstance(value, dict):
        several: Iterable[Any] = value.values()
    elif isinstance(value, list | tuple):
        several = value
    else:
        several = ()
    return [record for entry in several for record in _records(entry)]


def require_matplotlib(display: str) -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as reason:
        raise MissingLibraryError(
            f"`trueness.plot.{display}` needs matplotlib to draw: `pip install 'trueness[plot]'`."
        ) from reason


def _margins(
    width: float, height: float, columns: int, rows: int, bottom: float
) -> dict[str, float]:
    """Room for names and numbers around many panels, in inches, as options of a grid."""
    left = 0.8
    right = 0.15
    top = 0.4
    across = 0.38
    up = 0.42
    panel = (width - left - right - (columns - 1) * across) / columns
    high = (height - bottom - top - (rows - 1) * up) / rows
    sides = {
        "left": left / width,
        "right": 1 - right / width,
        "bottom": bottom / height,
        "top": 1 - top / height,
    }
    return sides | {"wspace": across / panel, "hspace": up / high}


def axes_for(
    display: str,
    ax: Panels | None,
    count: int = 1,
    *,
    size: tuple[float, float],
    columns: int | None = None,
    bottom: float = 0.0,
) -> tuple[list[Axes], bool]:
    """One axes per panel, from the caller or of a new figure, and whether the figure is new.

    A figure measures its texts for the layout, which takes a tenth of a second per panel, unless
    `bottom` is given: the inches below the panels.
    """
    require_matplotlib(display)
    if ax is not None:
        axes = [a for a in np.ravel(np.asarray(ax, dtype=object)) if a is not None]
        if len(axes) < count or not all(hasattr(a, "get_xlim") for a in axes):
            what = f"{count} axes, one per panel" if count > 1 else "an axes"
            got = f"got {len(axes)} of {type(ax).__name__}"
            raise InputError("ax", f"must be {what}, or None for a new figure", got)
        return axes[:count], False
    import matplotlib.pyplot as plt

    columns = columns or (count if count <= 3 else -(-count // -(-count // 5)))
    rows = -(-count // columns)
    wide = size[0] * columns
    high = size[1] * rows
    figure = plt.figure(figsize=(wide, high), layout=None if bottom else "constrained")
    sides = _margins(wide, high, columns, rows, bottom) if bottom else {}
    axes = list(figure.subplots(rows, columns, squeeze=False, gridspec_kw=sides).ravel())
    for spare in axes[count:]:
        spare.remove()
    return axes[:count], True


def figure_of(ax: Axes) -> Figure | SubFigure:
    figure = ax.figure
    assert figure is not None
    return figure


def draw_legend(
    ax: Axes,
    handles: Sequence[Any],
    names: Sequence[str],
    *,
    outside: bool,
    columns: int = 1,
    **inside: Option,
) -> None:
    """A legend with every name literally, below the axes or inside them."""
    below: dict[str, Any] = {
        "loc": "outside lower center",
        "ncols": columns,
        "fontsize": 9,
        "frameon": False,
    }
    where: Any = ax
    look = {"fontsize": 8, **inside}
    if outside:
        where = figure_of(ax)
        look = below
    # matplotlib leaves out names with a leading underscore, so names are set after the legend is
    # made.
    legend = where.legend(
        list(handles), [f"{i}" for i in range(len(handles))], handlelength=3, **look
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
        text.set_parse_math(False)


def draw_grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    ax.grid(axis=axis, color=GREY, alpha=0.2, linewidth=0.6)


def legend_height(names: Sequence[str]) -> float:
    """Height in inches of a legend below the axes; one model needs none."""
    if len(names) < 2:
        return 0.0
    return sum(0.07 + 0.15 * len(name.splitlines()) for name in names)


def axes_below(ax: Axes, share: float) -> Axes:
    """New axes in the lower `share` of another, with the same x axis."""
    figure = figure_of(ax)
    spec = ax.get_subplotspec()
    if spec is not None:
        grid = spec.subgridspec(2, 1, height_ratios=(1 - share, share), hspace=0.06)
        ax.set_subplotspec(grid[0])
        under: Axes = figure.add_subplot(grid[1], sharex=ax)
        return under
    box = ax.get_position()
    ax.set_position(
        (box.x0, box.y0 + share * box.height, box.width, 0.96 * (1 - share) * box.height)
    )
    return figure.add_axes((box.x0, box.y0, box.width, share * box.height), sharex=ax)


def axes_right_and_below(ax: Axes, right: float, bottom: float) -> tuple[Axes, Axes]:
    """New axes in the right and in the lower share of another."""
    figure = figure_of(ax)
    spec = ax.get_subplotspec()
    if spec is not None:
        ratios = {"width_ratios": (1 - right, right), "height_ratios": (1 - bottom, bottom)}
        grid = spec.subgridspec(2, 2, hspace=0.06, wspace=0.04, **ratios)
        ax.set_subplotspec(grid[0, 0])
        return figure.add_subplot(grid[0, 1], sharey=ax), figure.add_subplot(grid[1, 0], sharex=ax)
    box = ax.get_position()
    wide = (1 - right) * box.width
    high = (1 - bottom) * box.height
    ax.set_position((box.x0, box.y0 + bottom * box.height, 0.96 * wide, 0.96 * high))
    above = figure.add_axes(
        (box.x0 + wide, box.y0 + bottom * box.height, right * box.width, 0.96 * high), sharey=ax
    )
    return above, figure.add_axes(
        (box.x0, box.y0, 0.96 * wide, 0.9 * bottom * box.height), sharex=ax
    )


def set_scale(axis: XAxis | YAxis, scale: Scale, low: float, high: float) -> None:
    """Set the scale, limits and probability ticks of an axis; a linear one has a margin."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if scale == "linear":
        margin = 0.02 * (high - low)
        axis.axes.set(**{f"{axis.axis_name}lim": (low - margin, high + margin)})
        if high - low < 1:
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
            axis.set_major_locator(
                FixedLocator(_with_room(axis, linear_ticks(low, high), "{:.6g}".format))
            )
        return
    getattr(axis.axes, f"set_{axis.axis_name}scale")(scale)
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})
    if scale == "logit":
        ticks = np.concatenate([_TICKS, 1 - _TICKS[1:13]])
    else:
        ticks = np.append(_TICKS[1:], 1)
    below_top = ticks <= high * 1.001
    if high < 1:  # near 1 the distance from 1 decides
        below_top = 1 - ticks >= 0.999 * (1 - high)
    inside = np.unique(ticks[(ticks >= low * 0.999) & below_top])
    axis.set_major_locator(FixedLocator(_with_room(axis, list(inside), percent_tick)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: percent_tick(value)))
    axis.set_minor_locator(NullLocator())


def _with_room(
    axis: XAxis | YAxis, ticks: list[float], label: Callable[[float], str]
) -> list[float]:
    """Every tick, or every second, third, …, so that the labels do not touch."""
    box = axis.axes.get_window_extent()
    dots = figure_of(axis.axes).dpi
    # Inches of the axis, and those that a label needs.
    if axis.axis_name == "x":
        length = box.width / dots
        room = 0.08 * max(map(len, map(label, ticks)), default=1) + 0.1
    else:
        length = box.height / dots
        room = 0.3
    tick_limit = max(2, min(8, int(length / room)))
    return ticks[:: max(1, -(-len(ticks) // tick_limit))]


def set_count_ticks(axis: XAxis | YAxis, most: int) -> None:
    """At most about `most` ticks at whole numbers, with short labels."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=True))
    axis.set_major_formatter(FuncFormatter(compact_count))


def compact_count(value: float, _: object = None) -> str:
    """A short count: 950, 12k, 3.4M."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def wrap_name(name: str, width: int = 44, lines: int = 3) -> str:
    """A name wrapped to a few lines; the rest is an ellipsis."""
    shown = visible(str(name))
    wrapped = textwrap.wrap(shown, width, max_lines=lines, placeholder=" …", break_long_words=True)
    return "\n".join(wrapped) or shown


def _covered(
    ax: Axes, points: _Points, corners: Sequence[_Place], text: _Place
) -> dict[_Place, float]:
    """The share of each set of points that a text in each corner would cover, added over sets.

    Corners and the size of the text are in shares of the axes.
    """
    near = dict.fromkeys(corners, 0.0)
    for x, y in points:
        there = np.isfinite(x) & np.isfinite(y)
        if not there.any():
            continue
        place = ax.transAxes.inverted().transform(
            ax.transData.transform(np.column_stack([x[there], y[there]]))
        )
        for across, up in corners:
            wide = place[:, 0] < text[0] if across < 0.5 else place[:, 0] > 1 - text[0]
            high = place[:, 1] < text[1] if up < 0.5 else place[:, 1] > 1 - text[1]
            near[across, up] += float(np.mean(wide & high))
    return near


def write_in_corner(
    ax: Axes,
    texts: Sequence[str],
    points: _Points,
    size: float,
    corners: Sequence[_Place] = _OFF_DIAGONAL,
) -> Text | None:
    """Text in the corner of the axes where it covers the fewest points, behind lines and markers.

    If the axes are too small for the first text, the next one that covers no point is written,
    perhaps in smaller letters; if none fits, nothing is written and None returned.
    """
    for text, letters in itertools.product(texts, (size, max(_LEAST_LETTERS, 0.8 * size))):
        share = _share_of(ax, text, letters)
        covered = _covered(ax, points, corners, share)
        corner = min(corners, key=covered.__getitem__)
        free = text == texts[0] or covered[corner] == 0
        if free and share[0] <= _MOST_COVERED[0] and share[1] <= _MOST_COVERED[1]:
            # Measuring a text inside the axes for the layout takes time.
            return ax.text(
                corner[0],
                corner[1],
                text,
                transform=ax.transAxes,
                zorder=2.2,
                in_layout=False,
                ha="right" if corner[0] > 0.5 else "left",
                va="top" if corner[1] > 0.5 else "bottom",
                fontsize=letters,
                linespacing=1.35,
                parse_math=False,
                bbox=ground_of(ax),
            )
    return None


def ground_of(ax: Axes) -> dict[str, Any]:
    """The box behind a text, in the colour of the axes."""
    return {"facecolor": ax.get_facecolor(), "alpha": 0.7, "edgecolor": "none", "pad": 2}


def _share_of(ax: Axes, text: str, size: float) -> _Place:
    """The approximate share of the axes that a text takes, across and up."""
    box = ax.get_window_extent()
    dots = figure_of(ax).dpi / 72
    lines = text.splitlines()
    wide = 0.53 * size * max(map(len, lines), default=0)
    high = 1.5 * size * len(lines)
    return min(1.0, 0.03 + dots * wide / max(box.width, 1)), min(
        1.0, 0.03 + dots * high / max(box.height, 1)
    )


def probability(value: float) -> str:
    """A probability as a short tick label, near 1 by its distance from 1.

    >>> values = (0.0, 1e-5, 0.25, 0.9, 0.9999, 0.9983, 1 - 2e-5, 1 - 1e-12, 1.0)
    >>> [probability(value) for value in values]
    ['0', '1e-05', '0.25', '0.9', '0.9999', '0.998', '1−2e-5', '1−1e-12', '1']
    """
    rest = 1 - value
    if 0 < rest < 0.95e-4:
        digit, _, power = f"{rest:.0e}".partition("e-")
        return f"1−{digit}e-{int(power)}"
    if 0 < rest < 0.095:
        return f"{value:.{math.ceil(-math.log10(rest) - 0.02)}f}"
    return f"{value:.2g}"


def band_sentence(band: Bands | CurveBand) -> str:
    """What a band means, in words, by its kind and by whether it surrounds a curve or points."""
    level = level_percent(band.level)
    if isinstance(band, CurveBand):
        point = "each point of the curve"
        whole = "the whole curve"
        sentences = {
            "monotone": f"{level} confidence band, if the event probability rises with the score",
            "pointwise": f"{level} confidence band, pointwise",
            "simultaneous": f"{level} confidence band for {whole}",
        }
    else:
        point = "each point"
        whole = "all points"
        sentences = {
            "pointwise": f"{level} interval of each rate",
            "simultaneous": f"{level} intervals of all rates jointly",
        }
    if band.band in sentences:
        return sentences[band.band]
    if band.band == "consistency":
        inside = f"{point} would lie inside {level} of the time"
        return f"pointwise: if the scores were calibrated, {inside}"
    return f"if the scores were calibrated, {whole} would lie inside {level} of the time"


def panel_title(record: Reliability) -> str:
    """The title of the panel of a class."""
    if record.label is None:
        return ""
    what = {"top-label": "predicted:", "multilabel": "label"}.get(record.kind, "class")
    return f"{what} {record.label}"


def number_lines(record: Reliability, *, brief: bool = False) -> list[str]:
    """The measure, its noise floor, the interval and the number of rows, if known."""
    if record.n == 0:
        return ["no rows"]
    floor = record.floor
    if brief:
        value = f"{record.measure} {short(record.value)}"
        if floor:
            return [value, f"floor {short(floor.mean)}"]
        return [value]
    lines = _measure_lines(record)
    measure = "" if record.decomposition is None else f" of {record.measure}"
    if floor is not None:
        assert floor.pvalue is not None
        smallest = 1 / (floor.resamples + 1)
        p = f"p ≤ {smallest:.2g}" if floor.pvalue <= smallest * 1.001 else f"p = {floor.pvalue:.2g}"
        lines.append(f"noise floor{measure} {short(floor.mean)}, {p}")
    if record.interval is not None:
        level = level_percent(record.interval.level)
        ends = confidence_set(record.interval, short)
        lines.append(f"typical error {short(record.interval.estimate)}, {level} {ends}")
    lines.append(f"n = {record.n:,}")
    left_out = record.n - int(record.curve.n.sum())
    if record.curve.method == "spline" and left_out:
        lines.append(f"without {left_out:,} scores of 0 or 1")
    return lines


def _measure_lines(record: Reliability) -> list[str]:
    """The measure of a diagram in one line or two, with its limits, bins or decomposition."""
    d = record.decomposition
    estimate = record.estimate
    limits = ""
    if estimate is not None and estimate.bounded:
        limits = (
            f", {level_percent(estimate.level)} [{short(estimate.low)}, {short(estimate.high)}]"
        )
    if d is not None:
        mcb, dsc, unc = (short(x) for x in (d.miscalibration, d.discrimination, d.uncertainty))
        return [f"Brier score {short(d.score)}{limits} =", f"MCB {mcb} − DSC {dsc} + UNC {unc}"]
    if record.curve.method == "spline" and math.isnan(record.value):
        return ["no curve: the spline has no finite estimate"]
    line = f"{record.measure} {short(record.value)}"
    rule = record.curve.bins and f"({rule_in_words(record.curve.bins)})"
    if limits and rule:
        return [line + limits, rule]
    return [f"{line}  {rule or ''}".rstrip() + limits]
