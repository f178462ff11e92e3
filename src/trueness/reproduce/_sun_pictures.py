"""The figures of Sun et al. 2025: a column for each setting, error bars from the number of data sets."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from trueness.plot._canvas import GREY, axes_for, legend_of, style_of
from trueness.reproduce._sun_methods import PUBLISHED, RIGHTED
from trueness.reproduce._sun_settings import LEVEL, SETTINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Limits", "Point", "draw_coverage", "draw_length", "draw_power"]


class Point(NamedTuple):
    """What one method did at one β."""

    setting: int
    beta: float
    error: float
    """The true l2 error."""
    method: str
    runs: int
    coverage: float | None
    power: float
    length: float | None
    spread: float | None
    """Standard error of the mean length."""
    above_zero: float | None
    """Mean length of the part that is not negative."""


Limits: TypeAlias = Callable[[Point, str], tuple[float, float, float]]

_NAMES = (*PUBLISHED, *RIGHTED)
_TITLES = {"coverage": "coverage", "length": "mean length", "power": "share without zero"}


def draw_coverage(points: Sequence[Point], limits: Limits, n: int) -> "Figure":
    """Published methods above, ours and those put right below."""
    axes, figure = _grid(2, n)
    for column, setting in enumerate(SETTINGS):
        for row, methods in enumerate((PUBLISHED, RIGHTED)):
            panel = axes[row][column]
            panel.axhline(LEVEL, color=GREY, linewidth=1)
            _lines(panel, [p for p in points if p.setting == setting and p.method in methods], "coverage", limits)
            panel.set_ylim(-0.03, 1.03)
    _finish(figure, axes, ("coverage, as published", "coverage, ours and put right"))
    return figure


def draw_power(points: Sequence[Point], limits: Limits, n: int) -> "Figure":
    """Published methods above, ours and those put right below; the level is a grey line."""
    axes, figure = _grid(2, n)
    for column, setting in enumerate(SETTINGS):
        for row, methods in enumerate((PUBLISHED, (*RIGHTED, "analytic"))):
            panel = axes[row][column]
            panel.axhline(1 - LEVEL, color=GREY, linewidth=1)
            _lines(panel, [p for p in points if p.setting == setting and p.method in methods], "power", limits)
            panel.set_ylim(-0.03, 1.03)
    _finish(figure, axes, ("without zero, as published", "without zero, ours and put right"))
    return figure


def draw_length(points: Sequence[Point], limits: Limits, n: int) -> "Figure":
    """Lengths above, their ratio to the published interval below."""
    axes, figure = _grid(2, n)
    for column, setting in enumerate(SETTINGS):
        own = [p for p in points if p.setting == setting and p.method != "analytic, reachable"]
        _lines(axes[0][column], own, "length", limits)
        axes[0][column].set_yscale("log")
        published = {p.beta: p.length for p in own if p.method == "analytic"}

        def ratio(point: Point, what: str, by: dict[float, Any] = published) -> tuple[float, float, float]:
            value, low, high = (one / by[point.beta] for one in limits(point, what))
            return value, low, high

        _lines(axes[1][column], own, "length", ratio)
        axes[1][column].axhline(1, color=GREY, linewidth=1)
        axes[1][column].set_yscale("log", base=2)
        axes[1][column].yaxis.set_major_formatter("{x:g}")
    _finish(figure, axes, ("mean length", "length / length of analytic"))
    return figure


def _grid(rows: int, n: int) -> tuple[list[list["Axes"]], "Figure"]:
    flat, _ = axes_for("CoverageDisplay", None, rows * len(SETTINGS), size=(3.9, 2.9), columns=len(SETTINGS))
    axes = [flat[i * len(SETTINGS) : (i + 1) * len(SETTINGS)] for i in range(rows)]
    for panel, law in zip(axes[0], SETTINGS.values(), strict=True):
        panel.set_title(f"setting {law.number}: {law.law}\nn = {n:,}, {law.cells[n]} cells per axis", fontsize=9)
    figure: Any = flat[0].figure
    return axes, figure


def _lines(panel: "Axes", points: Sequence[Point], what: str, limits: Limits) -> None:
    for name in _NAMES:
        own = sorted((p for p in points if p.method == name and getattr(p, what) is not None), key=lambda p: p.error)
        if not own:
            continue
        style = style_of(_NAMES.index(name))
        value, low, high = zip(*(limits(p, what) for p in own), strict=True)
        bars = [[v - a for v, a in zip(value, low, strict=True)], [b - v for v, b in zip(value, high, strict=True)]]
        panel.errorbar(
            [p.error for p in own],
            value,
            yerr=bars,
            color=style.colour,
            marker=style.marker,
            linestyle=style.dashes,
            markersize=3,
            linewidth=1,
            elinewidth=0.7,
            label=name,
        )


def _finish(figure: "Figure", axes: list[list["Axes"]], labels: tuple[str, ...]) -> None:
    seen: dict[str, Any] = {}
    for row, label in zip(axes, labels, strict=True):
        row[0].set_ylabel(label)
        for panel in row:
            panel.grid(color=GREY, alpha=0.2, linewidth=0.6)
            panel.set_axisbelow(True)
            seen |= {name: handle for handle, name in zip(*panel.get_legend_handles_labels(), strict=True)}
    for panel in axes[-1]:
        panel.set_xlabel("l2 calibration error")
    place = {"loc": "outside lower center", "ncols": 5}
    legend_of(figure, list(seen.values()), list(seen), frameon=False, fontsize=9, **place)
