"""The figures of Sun et al. 2025: a column per setting, with error bars from the number of data sets."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from trueness.plot._canvas import GREY, axes_for, style_of
from trueness_papers.record import Row
from trueness_papers.sun.intervals import CORRECTED, IMPROVED, OF_THE_PAPER
from trueness_papers.sun.simulation import LEVEL, SETTINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ZERO",
    "Limits",
    "Point",
    "PowerPoint",
    "draw_bins",
    "draw_coverage",
    "draw_length",
    "draw_models",
    "draw_power",
    "draw_t_cal",
]


class Point(NamedTuple):
    """The results of one method at one β."""

    setting: int
    beta: float
    error: float
    """The true l2 error."""
    method: str
    runs: int
    coverage: float
    power: float
    length: float
    """Mean length."""
    shortest: float
    """5th percentile of the lengths."""
    longest: float
    """95th percentile of the lengths."""
    spread: float
    """Standard error of the mean length."""
    above_zero: float
    """Mean length of the non-negative part."""


class PowerPoint(NamedTuple):
    """The power of one test at one β, with 95 % limits."""

    n: int
    setting: int
    beta: float
    error: float
    """The true l2 error of the larger score."""
    method: str
    power: float
    low: float
    high: float


Limits: TypeAlias = Callable[[Point, str], tuple[float, float, float]]

_NAMES = (*OF_THE_PAPER, *IMPROVED, *CORRECTED)
_SHOWN = {"subsampling": "subsampling (code)", "Politis-Romano": "subsampling (text)"}
_OURS = (*IMPROVED, *CORRECTED)
ZERO = "includes zero"


def draw_coverage(points: Sequence[Point], limits: Limits, n: int) -> "Figure":
    """The paper's methods above, ours and corrected ones below."""
    axes, figure = _grid(2, n)
    for column, setting in enumerate(SETTINGS):
        for row, methods in enumerate((OF_THE_PAPER, _OURS)):
            panel = axes[row][column]
            panel.axhline(LEVEL, color=GREY, linewidth=1)
            _lines(
                panel,
                [p for p in points if p.setting == setting and p.method in methods],
                "coverage",
                limits,
            )
            panel.set_ylim(-0.03, 1.03)
    _finish(figure, axes, ("coverage, the paper's", "coverage, others"))
    return figure


def draw_power(points: Sequence[Point], limits: Limits, n: int) -> "Figure":
    """The paper's methods above, ours and corrected ones below; a grey line marks the level."""
    axes, figure = _grid(2, n)
    for column, setting in enumerate(SETTINGS):
        for row, methods in enumerate((OF_THE_PAPER, (*_OURS, "analytic"))):
            panel = axes[row][column]
            panel.axhline(1 - LEVEL, color=GREY, linewidth=1)
            _lines(
                panel,
                [p for p in points if p.setting == setting and p.method in methods],
                "power",
                limits,
            )
            panel.set_ylim(-0.03, 1.03)
    _finish(figure, axes, ("without zero, the paper's", "without zero, others"))
    return figure


def draw_length(points: Sequence[Point], n: int) -> "Figure":
    """Mean lengths with bars from the 5th to the 95th percentile above; ratios of means to the interval below."""
    axes, figure = _grid(2, n)
    for column, setting in enumerate(SETTINGS):
        own = [p for p in points if p.setting == setting and p.method != "analytic, reachable"]
        uncorrected = [
            p for p in own if p.method not in CORRECTED
        ]  # more bars would hide each other
        _lines(
            axes[0][column],
            uncorrected,
            "length",
            lambda point, _: (point.length, point.shortest, point.longest),
        )
        _plain_log(axes[0][column])
        published = {p.beta: p.length for p in own if p.method == "analytic"}

        def ratio(
            point: Point, _: str, by: dict[float, float] = published
        ) -> tuple[float, float, float]:
            return (point.length / by[point.beta],) * 3

        _lines(axes[1][column], own, "length", ratio)
        axes[1][column].axhline(1, color=GREY, linewidth=1)
        axes[1][column].set_yscale("log", base=2)
        axes[1][column].yaxis.set_major_formatter("{x:g}")
    _finish(figure, axes, ("length", "mean length / that of analytic"))
    return figure


def draw_t_cal(points: Sequence[PowerPoint]) -> "Figure":
    """Power against the true error: a row of panels per number of rows, a column per setting."""
    sizes, settings = (sorted({getattr(p, name) for p in points}) for name in ("n", "setting"))
    flat, _ = axes_for(
        "CoverageDisplay", None, len(sizes) * len(settings), size=(4.6, 3.0), columns=len(settings)
    )
    axes = [flat[i * len(settings) : (i + 1) * len(settings)] for i in range(len(sizes))]
    methods = list(dict.fromkeys(p.method for p in points))
    for row, n in zip(axes, sizes, strict=True):
        for panel, setting in zip(row, settings, strict=True):
            panel.axhline(1 - LEVEL, color=GREY, linewidth=1)
            panel.set_title(f"setting {setting}: {SETTINGS[setting].law}, n = {n:,}", fontsize=9)
            panel.set_ylim(-0.03, 1.03)
            for i, method in enumerate(methods):
                own = sorted(
                    (p for p in points if (p.n, p.setting, p.method) == (n, setting, method)),
                    key=_by_error,
                )
                limits = [(p.power, p.low, p.high) for p in own]
                _bars(panel, [p.error for p in own], limits, i, method, width=2 if i == 0 else 1)
    _finish(_figure_of(flat[0]), axes, ("share rejected",) * len(sizes))
    return _figure_of(flat[0])


def _by_error(point: "Point | PowerPoint") -> float:
    return point.error


def _figure_of(panel: "Axes") -> "Figure":
    return cast("Figure", panel.figure)


def _plain_log(panel: "Axes") -> None:
    """A logarithmic axis with ticks at 1, 2 and 5, written as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter(NullFormatter())


def _grid(rows: int, n: int) -> tuple[list[list["Axes"]], "Figure"]:
    flat, _ = axes_for(
        "CoverageDisplay", None, rows * len(SETTINGS), size=(3.9, 2.9), columns=len(SETTINGS)
    )
    axes = [flat[i * len(SETTINGS) : (i + 1) * len(SETTINGS)] for i in range(rows)]
    for panel, law in zip(axes[0], SETTINGS.values(), strict=True):
        panel.set_title(
            f"setting {law.number}: {law.law}\nn = {n:,}, {law.cells[n]} cells per axis", fontsize=9
        )
    return axes, _figure_of(flat[0])


def _lines(panel: "Axes", points: Sequence[Point], what: str, limits: Limits) -> None:
    for number, name in enumerate(_NAMES):
        own = sorted((p for p in points if p.method == name), key=_by_error)
        if own:
            width = 2 if name in ("analytic", "score") else 1
            _bars(
                panel,
                [p.error for p in own],
                [limits(p, what) for p in own],
                number,
                _SHOWN.get(name, name),
                width=width,
            )


def _bars(
    panel: "Axes",
    x: Sequence[float],
    limits: Sequence[tuple[float, float, float]],
    number: int,
    name: str,
    width: float,
) -> None:
    """A line of values with bars from low to high."""
    style = style_of(number)
    value, low, high = zip(*limits, strict=True)
    panel.errorbar(
        x,
        value,
        # A mean may lie outside the percentiles.
        yerr=[
            [max(0.0, v - a) for v, a in zip(value, low, strict=True)],
            [max(0.0, b - v) for v, b in zip(value, high, strict=True)],
        ],
        color=style.colour,
        marker=style.marker,
        linestyle=style.dashes,
        markersize=3,
        linewidth=width,
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
            seen |= {
                name: handle
                for handle, name in zip(*panel.get_legend_handles_labels(), strict=True)
            }
    for panel in axes[-1]:
        panel.set_xlabel("l2 calibration error")
    figure.legend(
        list(seen.values()),
        list(seen),
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=9,
    )


def draw_bins(rows: Sequence[Row]) -> "Figure":
    """A row of panels per kind of error, a line per number of rows; a ring marks the number of bins of the rule."""
    found: dict[str, dict[str, dict[int, Row]]] = {}
    of_rule = set()
    for row in rows:
        error, n, bins, what = row.labels
        number = int(bins.split()[0])
        if "rule" in bins:
            of_rule.add((n, number))
        found.setdefault(error, {}).setdefault(f"{what}|{n}", {})[number] = row
    shown = ("rms error / true", "coverage", "share without zero")
    flat, _ = axes_for(
        "CoverageDisplay", None, len(found) * len(shown), size=(3.9, 2.8), columns=len(shown)
    )
    sizes = list(dict.fromkeys(row.labels[1] for row in rows))
    for i, (error, of) in enumerate(found.items()):
        for j, what in enumerate(shown):
            panel = flat[i * len(shown) + j]
            for number, n in enumerate(sizes):
                _bins_line(
                    panel, of[f"{what}|{n}"], f"{n} rows", number, [b for m, b in of_rule if m == n]
                )
            panel.set_title(error, fontsize=9)
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter("{x:g}")
            panel.set_xlabel("bins")
            panel.set_ylabel(what)
            panel.grid(color=GREY, alpha=0.2, linewidth=0.6)
            if what == "coverage":
                panel.axhline(LEVEL, color=GREY, linewidth=1)
            elif what == shown[0]:
                _plain_log(panel)
    handles, names = flat[0].get_legend_handles_labels()
    figure = _figure_of(flat[0])
    figure.legend(handles, names, frameon=False, fontsize=9, loc="outside lower center", ncols=4)
    return figure


def _bins_line(
    panel: "Axes", points: dict[int, Row], label: str, number: int, of_rule: Sequence[int]
) -> None:
    style = style_of(number)
    bins = sorted(points)
    values = [points[b].ours for b in bins]
    low, high = (
        [abs((getattr(points[b], end) or points[b].ours) - points[b].ours) for b in bins]
        for end in ("low", "high")
    )
    panel.errorbar(
        bins,
        values,
        yerr=[low, high],
        color=style.colour,
        marker=style.marker,
        linestyle=style.dashes,
        markersize=4,
        linewidth=1.2,
        elinewidth=0.8,
        label=label,
    )
    at = [b for b in bins if b in of_rule]
    panel.plot(
        at,
        [points[b].ours for b in at],
        "o",
        markersize=10,
        markerfacecolor="none",
        color=style.colour,
    )


def draw_models(rows: Sequence[Row]) -> "Figure":
    """Intervals of each scaling, a panel per k; a ring at zero marks sets that include it."""
    sets: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in rows:
        k, scaling, method, end = row.labels
        sets.setdefault((k, scaling, method), {})[end] = row.ours
    zero = {row.labels[:3] for row in rows if row.note == ZERO}
    tops, scalings, methods = (list(dict.fromkeys(key[part] for key in sets)) for part in range(3))
    flat, _ = axes_for("CoverageDisplay", None, len(tops), size=(4.2, 2.8), columns=len(tops))
    for panel, k in zip(flat, tops, strict=True):
        for j, method in enumerate(methods):
            style = style_of(j)
            for i, scaling in enumerate(scalings):
                own = sets[k, scaling, method]
                y = i + 0.15 * (2 * j - 1)
                panel.plot(
                    [own["low"], own["high"]], [y, y], color=style.colour, linewidth=3, alpha=0.5
                )
                panel.plot(
                    own["estimate"],
                    y,
                    style.marker,
                    color=style.colour,
                    label=method if i == 0 else None,
                )
                if (k, scaling, method) in zero:
                    panel.plot(0, y, "o", markerfacecolor="none", color=style.colour)
        panel.set_yticks(range(len(scalings)), scalings if k == tops[0] else [""] * len(scalings))
        panel.invert_yaxis()
        panel.set_xlim(left=min(0.0, *panel.get_xlim()))
        panel.locator_params(axis="x", nbins=5)
        panel.set_title(f"k = {k}", fontsize=10)
        panel.set_xlabel("l2 calibration error")
        panel.grid(color=GREY, alpha=0.2, linewidth=0.6)
    handles, names = flat[0].get_legend_handles_labels()
    figure = _figure_of(flat[0])
    figure.legend(handles, names, frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    return figure
