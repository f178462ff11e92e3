"""The days of a series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness._text.strings import visible
from trueness.plot._canvas import GREY, SECOND, Display, axes_for, draw_grid, style_of

if TYPE_CHECKING:
    from trueness.results import Series


class SeriesDisplay(Display):
    """The calibration error of each day, with its limits and its noise floor; flagged days and the change stand out.

    Parameters
    ----------
    series : Series
        What :func:`trueness.calibration_series` found.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The noise floor of the days.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    """

    def __init__(self, series: Series) -> None:
        self.series = series

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any = None, **options: Any) -> Self:
        """Test the days: the sums of each, or rows with ``by=``, and options of :func:`trueness.calibration_series`."""
        from trueness.infer import calibration_series

        return cls(calibration_series(y_true, y_prob, **options))

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax` or on a new figure, and return the display."""
        found = self.series
        self.axes_, _ = axes_for(type(self).__name__, ax, 1, size=(7.0, 3.6))
        (self.ax_,) = self.axes_
        self.figure_ = self.ax_.figure
        x = np.arange(len(found.name))
        for some, colour in ((~found.flagged, style_of(0).colour), (found.flagged, SECOND)):
            at = np.flatnonzero(some & np.isfinite(found.ece))
            ends = np.nan_to_num([found.ece[at] - found.ece_low[at], found.ece_high[at] - found.ece[at]])
            if at.size:
                label = "flagged" if colour == SECOND else "not flagged"
                options: dict[str, Any] = {"fmt": "o", "color": colour, "markersize": 4, "linewidth": 1, "label": label}
                self.ax_.errorbar(x[at], found.ece[at], np.clip(ends, 0, None), **options)
        (self.line_,) = self.ax_.step(x, found.floor, where="mid", color=GREY, linewidth=1.2, label="noise floor")
        self.lines_ = [self.line_]
        if found.change is not None:
            first = found.change.start
            self.ax_.axvspan(first - 0.5, first + found.change.days - 0.5, color=GREY, alpha=0.15, label="change")
        ticks = np.unique(np.linspace(0, x.size - 1, min(6, x.size)).round().astype(int))
        self.ax_.set_xticks(ticks, [visible(found.name[i]) for i in ticks])
        self.ax_.set(ylabel="ECE", ylim=(0, None))
        draw_grid(self.ax_, "y")
        self.ax_.legend(frameon=False, fontsize=9)
        return self
