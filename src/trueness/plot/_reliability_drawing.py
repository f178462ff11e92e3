"""Drawing of reliability diagrams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from trueness._text.numbers import short_number
from trueness.plot import _canvas as canvas
from trueness.plot._canvas import GREY, Style, style_of, wrap_name
from trueness.results import CurveBand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    from trueness.plot._canvas import Panels, Scale
    from trueness.results import Bands, Curve, Reliability
    from trueness.typing import Bools, Floats, Numbers

    _Models: TypeAlias = dict[str, Reliability]

# Isotonic blocks of one score with more than this share of the rows, and shorter curve segments,
# get a marker.
_HEAVY = 0.05
_SHORT = 0.01
# Inches below which an axis has no room for ticks at quarters.
_NARROW = 1.5
# Inches of the axes of a caller from which on they have room for a sentence.
_WIDE = 3.0


class _Frame(NamedTuple):
    """The scale and the ends of both axes of a panel."""

    scale: Scale
    low: float
    high: float

    def inside(self, values: Floats) -> Floats:
        """Values clipped to the axes."""
        return np.clip(values, self.low, self.high)

    def beyond(self, values: Floats) -> Bools:
        """Whether the axes cannot show each value, such as 0 on a logarithmic one."""
        return np.asarray((values < self.low) | (values > self.high))


def draw_series(
    series: Sequence[Reliability],
    scale: Scale,
    ax: Panels | None,
    *,
    bars: bool,
    histogram: bool,
    numbers: bool,
    legend: bool,
) -> tuple[list[Line2D], list[Axes], list[Axes]]:
    """Draw every record; return the curves, the panels and the histograms."""
    models: _Models = {}
    for record in series:
        models.setdefault(record.name, record)
    names = list(models)
    labels = list(dict.fromkeys(record.label for record in series))
    has_classes = len(labels) > 1
    # Room for a legend below.
    banded = None
    if legend:
        banded = next((record for record in series if record.band is not None), None)
    named = len(names) > 1 or names[0]
    if has_classes:
        lines_below = int(banded is not None)
        if named:
            lines_below += -(-len(names) // 3)
        size = (2.6, 2.9)
        bottom = 0.5 + 0.22 * lines_below
    else:
        size = (5.4, 5.8 + 0.2 * (len(names) > 1) * len(names) + 0.3 * (banded is not None))
        bottom = 0.0
    axes, is_new = canvas.axes_for("ReliabilityDisplay", ax, len(labels), size=size, bottom=bottom)
    spreads = [canvas.axes_below(panel, 0.2) for panel in axes] if histogram else []
    lines: dict[int, Line2D] = {}
    free_corner = "best"
    for i, (label, panel) in enumerate(zip(labels, axes, strict=True)):
        shown = {j: record for j, record in enumerate(series) if record.label == label}
        first, *_ = shown.values()
        styles = [style_of(names.index(record.name)) for record in shown.values()]
        frame = _draw_frame(panel, first, scale)
        for (j, record), style in zip(shown.items(), styles, strict=True):
            lines[j] = _draw_curve(
                panel, record, frame, style, bars=bars, alone=len(names) == 1, small=has_classes
            )
        if histogram:
            _draw_histogram(spreads[i], list(shown.values()), styles)
        outer = _outer(panel, i, len(labels)) if is_new and has_classes else (True, True)
        _write_titles(
            panel, spreads[i] if histogram else None, first, outer=outer, small=has_classes
        )
        if numbers and len(names) == 1:
            text = _write_numbers(panel, first, frame, small=has_classes, bars=bars)
            if i == 0 and text is not None:  # a legend inside the axes goes to the other corner
                is_left = text.get_horizontalalignment() == "left"
                free_corner = "lower right" if is_left else "upper left"
    if not is_new and _inches(axes[0]) < _WIDE:
        banded = None  # no room for a sentence
    if legend and (named or banded is not None):
        _write_legend(
            axes[0],
            models,
            banded,
            is_new=is_new,
            numbers=numbers,
            has_classes=has_classes,
            loc=free_corner,
        )
    return [lines[j] for j in range(len(series))], axes, spreads


def _inches(ax: Axes) -> float:
    return ax.get_window_extent().width / canvas.figure_of(ax).dpi


def _draw_frame(ax: Axes, record: Reliability, scale: Scale) -> _Frame:
    """Draw the axes, the grid and the diagonal; the result says where values are inside."""
    edges = record.histogram.edges
    low = float(edges[0])
    high = float(edges[-1])
    for axis in (ax.xaxis, ax.yaxis):
        canvas.set_scale(axis, scale, low, high)
        if scale == "linear" and high - low == 1:
            ticks = [0, 0.25, 0.5, 0.75, 1] if _inches(ax) > _NARROW else [0, 0.5, 1]
            axis.set_ticks(ticks, [f"{value:g}" for value in ticks])
    canvas.draw_grid(ax)
    ax.set_axisbelow(True)
    ax.plot(
        edges,
        edges,
        color=GREY,
        linewidth=1,
        linestyle=(0, (4, 3)),
        zorder=1.5,
        label="_calibrated",
    )
    return _Frame(scale, low, high)


def _draw_curve(
    ax: Axes,
    record: Reliability,
    frame: _Frame,
    style: Style,
    *,
    bars: bool,
    alone: bool,
    small: bool,
) -> Line2D:
    """Draw the band, if any, and then the bins or the curve; return its line."""
    if record.band is not None:
        _draw_band(ax, record.band, frame, style)
    if record.curve.method == "binned":
        return _draw_binned(ax, record, frame, style, bars=bars, small=small)
    return _draw_unbinned(ax, record, frame, style, alone=alone)


def _draw_binned(
    ax: Axes, record: Reliability, frame: _Frame, style: Style, *, bars: bool, small: bool
) -> Line2D:
    """Draw a point for each bin, larger for more rows, joined by a line or standing on bars.

    Points beyond the frame are hollow, on the frame, and not joined.
    """
    curve = record.curve
    x = frame.inside(curve.x)
    y = frame.inside(curve.y)
    if bars:
        left = frame.inside(curve.low_edge)
        right = frame.inside(curve.high_edge)
        ax.bar(
            left,
            np.nan_to_num(y - frame.low),
            width=right - left,
            bottom=frame.low,
            align="edge",
            facecolor=style.colour,
            edgecolor=style.colour,
            alpha=0.3,
            linewidth=0.8,
        )
    beyond = frame.beyond(curve.y) | frame.beyond(curve.x)
    (line,) = ax.plot(
        x,
        np.where(beyond, np.nan, y),  # a line to the frame would suggest a value
        linewidth=0 if bars else 1.3,
        color=style.colour,
        linestyle=style.dashes,
        label=record.name,
        zorder=3,
    )
    share = curve.weight / max(float(np.max(curve.weight, initial=0)), 1e-300)
    area = 7 + 45 * share if small else 14 + 110 * share
    ax.scatter(
        x,
        y,
        s=area,
        marker=style.marker,
        linewidths=1,
        zorder=4,
        clip_on=False,
        facecolors=["none" if out else style.colour for out in beyond],
        edgecolors=style.colour,
    )
    return line


def _draw_unbinned(
    ax: Axes, record: Reliability, frame: _Frame, style: Style, *, alone: bool
) -> Line2D:
    """Draw a curve, with points where a line would not show: at heavy or isolated scores."""
    curve = record.curve
    if curve.method == "isotonic":
        x = np.column_stack([curve.low_edge, curve.high_edge]).ravel()
        y = np.repeat(curve.y, 2)
        spots = (curve.low_edge == curve.high_edge) & (curve.weight > _HEAVY * curve.weight.sum())
        dots = curve.low_edge[spots], curve.y[spots]
        beyond = frame.beyond(y)
    else:
        x = curve.x
        y = curve.y
        dots = _short_runs(x, y)
        beyond = frame.beyond(y) | frame.beyond(x)
    x = frame.inside(x)
    y = np.where(beyond, np.nan, frame.inside(y))
    (line,) = ax.plot(
        x, y, color=style.colour, linewidth=1.6, linestyle=style.dashes, label=record.name, zorder=3
    )
    if curve.method in ("isotonic", "smooth"):
        _at_the_frame(ax, curve, frame, style)
    look: dict[str, Any] = {
        "marker": style.marker,
        "color": style.colour,
        "zorder": 4,
        "clip_on": False,
    }
    ax.scatter(frame.inside(dots[0]), frame.inside(dots[1]), s=30, **look)
    if curve.method == "smooth" and alone:
        _draw_thickness(ax, x, y, curve.weight, style)
    return line


def _at_the_frame(ax: Axes, curve: Curve, frame: _Frame, style: Style) -> None:
    """Blocks whose rate the axes cannot show: a thick line along the frame, hollow ends."""
    out = frame.beyond(curve.y)
    if not out.any():
        return
    left, right, height = (
        frame.inside(column[out]) for column in (curve.low_edge, curve.high_edge, curve.y)
    )
    ax.hlines(
        height, left, right, color=style.colour, alpha=0.45, linewidth=4, zorder=3, clip_on=False
    )
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": style.colour, "linewidths": 1.2}
    ends = np.concatenate([left, right]), np.concatenate([height, height])
    ax.scatter(*ends, s=26, marker=style.marker, zorder=4, clip_on=False, **look)


def _short_runs(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The middle of each unbroken segment of a curve that is too short to be visible as a line."""
    there = np.flatnonzero(np.isfinite(x))
    breaks = np.flatnonzero(np.diff(there) > 1) + 1
    middles = []
    for run in np.split(there, breaks):
        if run.size and x[run[-1]] - x[run[0]] < _SHORT:
            middles.append((x[run].mean(), y[run].mean()))
    places = np.array(middles).reshape(-1, 2)
    return places[:, 0], places[:, 1]


def _draw_thickness(ax: Axes, x: Floats, y: Floats, weight: Numbers, style: Style) -> None:
    """Line width by the number of rows."""
    from matplotlib.collections import LineCollection

    there = np.isfinite(x) & np.isfinite(y)
    points = np.column_stack([x[there], y[there]])
    dense = np.asarray(weight, dtype=float)[there]
    if len(points) >= 17:
        dense = np.convolve(dense, np.ones(17) / 17, mode="same")
    segments = np.stack([points[:-1], points[1:]], axis=1)
    width = 7 * np.sqrt(dense / max(dense.max(initial=0), 1e-300))
    look: dict[str, Any] = {
        "colors": style.colour,
        "alpha": 0.45,
        "capstyle": "round",
        "zorder": 2.5,
    }
    ax.add_collection(
        LineCollection(list(segments), linewidths=list(width[1:]), **look), autolim=False
    )


def _draw_band(ax: Axes, band: Bands | CurveBand, frame: _Frame, style: Style) -> None:
    """An area around a curve, a box per bin around the diagonal, or a bar per bin."""
    if isinstance(band, CurveBand):
        shown = ~frame.beyond(band.x) if band.y is not None else slice(None)
        x, low, high = (frame.inside(column[shown]) for column in (band.x, band.low, band.high))
        colour = GREY if band.band.endswith("consistency") else style.colour
        if band.x.size == 1 or band.x[-1] - band.x[0] < 1e-6:
            ax.vlines(x[:1], low[:1], high[:1], color=colour, alpha=0.35, linewidth=6, zorder=1)
        else:
            ax.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0, zorder=1)
        return
    there = np.isfinite(band.low) & (band.n > 0)
    columns = (band.low_edge, band.high_edge, band.score, band.low, band.high)
    left, right, x, low, high = (frame.inside(column[there]) for column in columns)
    if band.band.endswith("consistency"):
        thin = 0.003 * (frame.high - frame.low) if frame.scale == "linear" else 0.0
        ax.bar(
            left,
            np.maximum(high - low, thin),
            width=right - left,
            bottom=low,
            align="edge",
            color=GREY,
            alpha=0.25,
            linewidth=0,
            zorder=1,
        )
    else:
        ax.vlines(x, low, high, color=style.colour, alpha=0.6, linewidth=1.4, zorder=2.6)


def _draw_histogram(ax: Axes, records: list[Reliability], styles: list[Style]) -> None:
    """Draw the scores of each model as steps, filled if there is only one."""
    look: dict[str, Any] = {"fill": False, "alpha": 1, "linewidth": 1.1}
    if len(records) == 1:
        look = {"fill": True, "alpha": 0.7, "linewidth": 0}
    for record, style in zip(records, styles, strict=True):
        ax.stairs(
            record.histogram.weight,
            record.histogram.edges,
            color=style.colour,
            linestyle="-",
            **look,
        )
    highest = max(float(np.max(record.histogram.weight, initial=0)) for record in records)
    ax.set_ylim(0, 1.08 * highest or 1)
    canvas.set_count_ticks(ax.yaxis, 2)
    ax.spines[["top", "right"]].set_visible(False)


def _outer(ax: Axes, i: int, panels: int) -> tuple[bool, bool]:
    """Whether the i-th panel is in the first column, and in the last row.

    Only there axes have labels.
    """
    spec: Any = ax.get_subplotspec()
    place = spec.get_topmost_subplotspec()
    return place.is_first_col(), i + place.get_gridspec().ncols >= panels


def _write_titles(
    ax: Axes, spread: Axes | None, record: Reliability, *, outer: tuple[bool, bool], small: bool
) -> None:
    """Name the panel and its axes; inner panels, by `outer`, have no names on that side."""
    size = 8 if small else None
    x_name, y_name = canvas.AXIS_NAMES[record.kind]
    left, bottom = outer
    lowest = ax if spread is None else spread
    if small:
        ax.set_title(wrap_name(canvas.panel_title(record), 24, 2), fontsize=9, parse_math=False)
        ax.tick_params(labelsize=7)
        lowest.tick_params(labelsize=7)
    ax.tick_params(labelleft=left, labelbottom=spread is None and bottom)
    lowest.tick_params(labelbottom=bottom)
    if left:
        ax.set_ylabel(y_name, fontsize=size)
        if spread is not None:
            whole = np.issubdtype(record.histogram.weight.dtype, np.integer)
            spread.set_ylabel("rows" if whole else "weight", fontsize=size)
    if bottom:
        lowest.set_xlabel(x_name if not small else "score", fontsize=size)


def _write_numbers(
    ax: Axes, record: Reliability, frame: _Frame, *, small: bool, bars: bool
) -> Text | None:
    """Write the measure where it covers no point, curve, bar or band; None if nowhere."""
    x = frame.inside(record.curve.x)
    y = frame.inside(record.curve.y)
    band = record.band
    points = [(x, y)]
    if bars:  # they fill what lies under the points
        points.append((x, np.full(x.size, frame.low)))
    elif isinstance(band, CurveBand):
        if not band.band.endswith("consistency"):
            points += [(frame.inside(band.x), frame.inside(end)) for end in (band.low, band.high)]
    elif band is not None:
        points += [(x, frame.inside(band.low)), (x, frame.inside(band.high))]
    brief = canvas.number_lines(record, brief=True)
    texts = ["\n".join(brief), brief[0]]
    if not small:
        texts.insert(0, "\n".join(canvas.number_lines(record)))
    return canvas.write_in_corner(ax, texts, points, 7 if small else 9)


def _write_legend(
    ax: Axes,
    models: _Models,
    banded: Reliability | None,
    *,
    is_new: bool,
    numbers: bool,
    has_classes: bool,
    loc: str,
) -> None:
    """Name the models and say what the band is."""
    from matplotlib.lines import Line2D

    handles: list[Artist] = []
    texts = []
    width = 60 if is_new else 34
    named = models if any(models) or len(models) > 1 else {}
    for i, (name, record) in enumerate(named.items()):
        style = style_of(i)
        text = wrap_name(name, width)
        if numbers and not has_classes and len(models) > 1:
            text += "\n" if len(text) > 28 else ": "
            text += f"{record.measure} {short_number(record.value)}"
            if record.floor is not None:
                text += f" (floor {short_number(record.floor.mean)})"
        marker = style.marker if record.curve.method == "binned" else ""
        handles.append(
            Line2D([], [], color=style.colour, linestyle=style.dashes, marker=marker, markersize=5)
        )
        texts.append(text)
    columns = min(len(handles), 3) if has_classes else 1
    if banded is not None and banded.band is not None:
        handles.append(_band_handle(banded.band, style_of(list(models).index(banded.name))))
        texts.append(wrap_name(canvas.band_sentence(banded.band), width))
        columns = 1
    canvas.draw_legend(ax, handles, texts, outside=is_new, columns=columns, loc=loc)


def _band_handle(band: Bands | CurveBand, style: Style) -> Artist:
    """What the band looks like in a legend: a grey area, an area in colour, or a bar."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if band.band.endswith("consistency"):
        return Patch(facecolor=GREY, alpha=0.3, linewidth=0)
    if isinstance(band, CurveBand):
        return Patch(facecolor=style.colour, alpha=0.25, linewidth=0)
    return Line2D(
        [],
        [],
        color=style.colour,
        alpha=0.6,
        linewidth=0,
        marker="|",
        markersize=11,
        markeredgewidth=1.4,
    )
