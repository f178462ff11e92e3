"""Over time: the days of a series, and the looks of a watch."""

from __future__ import annotations

import math
from io import StringIO
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from trueness._text.strings import visible
from trueness.errors import InputError
from trueness.plot._canvas import (
    GREY,
    SECOND,
    Display,
    draw_grid,
    require_matplotlib,
    style_of,
    wrap_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from trueness.plot._canvas import Panels
    from trueness.results import Series, Shift, WatchedSegment, WatchHistory
    from trueness.typing import ArrayLike, Bools, Floats, Ints, Json, Numbers, Option


class SeriesDisplay(Display):
    """The calibration error of each day, with its limits and its noise floor.

    Flagged days and the change stand out.

    Parameters
    ----------
    series : Series
        What :func:`trueness.calibration_series` found.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The noise floor of the days.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.
    """

    def __init__(self, series: Series) -> None:
        self.series = series

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike = None,
        *,
        ax: Panels | None = None,
        **options: Option,
    ) -> Self:
        """Test the days, with the arguments of :func:`trueness.calibration_series`."""
        from trueness.infer import calibration_series

        return cls(calibration_series(y_true, y_prob, **options))._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw on `ax` or on a new figure, and return the display."""
        series = self.series
        self._take_axes(ax, size=(7.0, 3.6))
        x = np.arange(len(series.name))
        ends = series.ece_low, series.ece_high
        _draw_points(self.ax_, x, series.ece, *ends, series.flagged, ("not flagged", "flagged"))
        self.lines_ += self.ax_.step(
            x, series.floor, where="mid", color=GREY, linewidth=1.2, label="noise floor"
        )
        self.line_ = self.lines_[0]
        if series.change is not None:
            first = series.change.start
            self.ax_.axvspan(
                first - 0.5,
                first + series.change.days - 0.5,
                color=GREY,
                alpha=0.15,
                label="change",
            )
        ticks = np.unique(np.linspace(0, x.size - 1, min(6, x.size)).round().astype(int))
        self.ax_.set_xticks(ticks, [visible(series.name[i]) for i in ticks])
        self.ax_.set(ylabel="ECE", ylim=(0, None))
        draw_grid(self.ax_, "y")
        self.ax_.legend(frameon=False, fontsize=9)
        return self


def _draw_points(
    ax: Axes,
    x: Numbers,
    value: Floats,
    low: Floats,
    high: Floats,
    off: Bools,
    labels: tuple[str | None, str | None] = (None, None),
) -> None:
    """Points with their limits, those that are off in the second colour.

    A legend may have labels for both.
    """
    for chosen, colour, label in ((~off, style_of(0).colour, labels[0]), (off, SECOND, labels[1])):
        places = np.flatnonzero(chosen & np.isfinite(value))
        ends = np.clip(
            np.nan_to_num([value[places] - low[places], high[places] - value[places]]), 0, None
        )
        if places.size:
            look: dict[str, Any] = {"fmt": "o", "color": colour, "markersize": 4, "linewidth": 1}
            ax.errorbar(x[places], value[places], ends, label=label, **look)


_PERIODS = 24  # with more looks, neighbours are drawn as one period


class Watched(Protocol):
    """What pictures and the page show of a :class:`trueness.Watch`."""

    @property
    def name(self) -> str: ...
    @property
    def history(self) -> dict[str, WatchHistory]: ...
    @property
    def watched(self) -> Sequence[WatchedSegment]: ...
    @property
    def alpha(self) -> float: ...
    @property
    def alarm(self) -> bool: ...
    @property
    def alarms(self) -> Sequence[WatchedSegment]: ...
    @property
    def alarm_at(self) -> float: ...
    @property
    def direction(self) -> str: ...
    @property
    def since(self) -> Json: ...
    @property
    def shift(self) -> Shift | None: ...


class WatchDisplay(Display):
    """The evidence of a watch over its looks, and how far each period was off.

    Parameters
    ----------
    history : dict of WatchHistory
        The looks of all rows ('') and of segments.
    watched : sequence of WatchedSegment
        All rows, then the segments with a panel of their own.
    alarm_at : float
        The weighted evidence at which the alarm rings.
    shift : Shift, optional
        The shift of all rows, a band beside observed/expected.

    Attributes
    ----------
    ax_, axes_, figure_ : matplotlib Axes, list of them, matplotlib Figure
        Evidence, observed/expected and slope of all rows; then the evidence of segments; and the
        figure.
    """

    def __init__(
        self,
        history: dict[str, WatchHistory],
        watched: Sequence[WatchedSegment],
        *,
        alarm_at: float,
        shift: Shift | None = None,
    ) -> None:
        """Keep the history of all rows and segments, what to draw of it, and the alarm."""
        self.history = history
        self.watched = list(watched)
        self.alarm_at = alarm_at
        self.shift = shift

    @classmethod
    def from_watch(cls, watch: Watched, *, segments: int = 6, ax: Panels | None = None) -> Self:
        """Draw a :class:`trueness.Watch`, with the segments that have the largest evidence.

        Parameters
        ----------
        watch : Watch
            A watch that has seen a look.
        segments : int, default 6
            How many segments have a panel, if there are as many.
        ax : sequence of matplotlib Axes, optional
            Where to draw, as many as there are panels; by default a new figure.
        """
        history, watched = _parts_of(watch, segments)
        display = cls(history, watched, alarm_at=watch.alarm_at, shift=watch.shift)
        return display._drawn(ax)

    @property
    def panels(self) -> int:
        """The number of axes: three, and one for each segment."""
        return 2 + len(self.watched)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw on axes, as many as there are panels, or on a new figure, and return the display."""
        self._take_axes(ax, self.panels, size=(4.2, 2.9), columns=3)
        whole = self.history[""]
        places = {place: i for i, place in enumerate(whole.position)}
        for panel, segment in zip([self.ax_, *self.axes_[3:]], self.watched, strict=True):
            self._draw_evidence(panel, segment, places)
        self.line_ = self.lines_[0]
        periods = np.array_split(np.arange(len(places)), min(_PERIODS, len(places)))
        middle = np.array([np.mean(period) for period in periods])
        ratio, slope = self.axes_[1:3]
        for panel, name, find in (
            (ratio, "observed / expected", _ratios),
            (slope, "slope of the log-odds", _slopes),
        ):
            value, low, high = find(whole, periods)
            _draw_points(panel, middle, value, low, high, (low > 1) | (high < 1))
            panel.axhline(1, color=GREY, linewidth=0.8)
            panel.set(ylabel=name)
        if self.shift is not None and math.isfinite(self.shift.low + self.shift.high):
            mean = whole.expected.sum() / whole.n.sum()
            low = 1 / (mean + (1 - mean) * math.exp(-self.shift.low))
            high = 1 / (mean + (1 - mean) * math.exp(-self.shift.high))
            ratio.axhspan(low, high, color=GREY, alpha=0.25, linewidth=0)
        ticks = np.unique(np.linspace(0, len(places) - 1, 4).round().astype(int))
        for panel in self.axes_:
            panel.set_xticks(ticks, [str(whole.position[i]) for i in ticks], fontsize=8)
            panel.set_xlim(-0.5, len(places) - 0.5)
            draw_grid(panel)
        return self

    def pictures(self, ink: str) -> list[str]:
        """Every panel as an SVG without background, with text and frames in one colour."""
        require_matplotlib(type(self).__name__)
        import matplotlib.pyplot as plt

        names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
        settings: Any = {"svg.fonttype": "none", **dict.fromkeys(names, ink)}
        pictures = []
        with plt.rc_context(settings):
            figures = [
                plt.figure(figsize=(4.2, 2.9), layout="constrained") for _ in range(self.panels)
            ]
            self.plot([figure.add_subplot() for figure in figures])
            for figure in figures:
                file = StringIO()
                figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
                plt.close(figure)
                pictures.append(file.getvalue()[file.getvalue().index("<svg") :])
        return pictures

    def _draw_evidence(self, ax: Axes, segment: WatchedSegment, places: dict[Any, int]) -> None:
        """Draw the evidence of a segment over time, the line of its alarm, and its onset if any."""
        history = self.history[segment.segment]
        line = self.alarm_at / segment.weight
        x = [places[place] for place in history.position]
        colour = SECOND if segment.listed or history.evidence.max() >= line else style_of(0).colour
        top = np.minimum(history.evidence, 1e30)
        self.lines_ += ax.plot(
            x, top, color=colour, linewidth=1.6, marker="o" if len(x) < 2 else ""
        )
        ax.axhline(line, color=GREY, linewidth=1.0)
        ax.set(
            yscale="log",
            ylabel="evidence",
            ylim=(min(0.1, top.min() / 2), 3 * max(line, top.max())),
        )
        ax.text(
            0.02,
            line,
            "alarm",
            transform=ax.get_yaxis_transform(),
            va="bottom",
            fontsize=8,
            color=GREY,
        )
        ax.set_title(wrap_name(segment.segment, 30) or "all rows", fontsize=10)
        if segment.since is not None:
            ax.axvline(places[segment.since], color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))


def _parts_of(
    watch: Watched, segments: int
) -> tuple[dict[str, WatchHistory], Sequence[WatchedSegment]]:
    """The looks of a watch, and all rows and the segments with the largest evidence."""
    history = watch.history
    if not history[""].position:
        raise InputError("watch", "must have seen a look", "it has seen none")
    watched = [segment for segment in watch.watched if segment.segment in history]
    return history, watched[: 1 + segments]


def watch_pictures(watch: Watched, ink: str, segments: int = 6) -> list[str]:
    """The pictures of :class:`WatchDisplay` for a page, without a figure that holds all of them."""
    history, watched = _parts_of(watch, segments)
    display = WatchDisplay(history, watched, alarm_at=watch.alarm_at, shift=watch.shift)
    return display.pictures(ink)


def _ratios(history: WatchHistory, periods: Sequence[Ints]) -> tuple[Any, ...]:
    """Observed over expected events of each period, with limits of 95 %."""
    n = np.array([history.n[period].sum() for period in periods])
    observed = np.array([history.observed[period].sum() for period in periods])
    expected = np.array([history.expected[period].sum() for period in periods])
    rate = (observed + 2) / (n + 4)  # Agresti and Coull
    half = 1.96 * np.sqrt(rate * (1 - rate) / (n + 4))
    low = np.clip((rate - half) * n / expected, 0, None)
    high = np.clip((rate + half) * n / expected, 0, None)
    value = observed / expected
    return value, np.minimum(low, value), np.maximum(high, value)


def _slopes(history: WatchHistory, periods: Sequence[Ints]) -> tuple[Any, ...]:
    """The mean slope of each period, by precision, with limits of 95 %."""
    slopes = []
    for period in periods:
        period = period[np.isfinite(history.slope[period])]
        precision = (3.92 / (history.slope_high[period] - history.slope_low[period])) ** 2
        if not period.size or not precision.sum() > 0:
            slopes.append((math.nan,) * 3)
            continue
        value = float(precision @ history.slope[period] / precision.sum())
        half = 1.96 / math.sqrt(precision.sum())
        slopes.append((value, value - half, value + half))
    return tuple(np.array(slopes).T)
