"""Gaps of segments and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness._input.arguments import checked_whole
from trueness._text.numbers import level_percent
from trueness._text.strings import visible
from trueness.plot._canvas import GREY, SECOND, Display, axes_for, style_of
from trueness.plot._interval import draw_forest

if TYPE_CHECKING:
    from trueness.results import Segments, Slices


class SegmentsDisplay(Display):
    """Forest plot: the gap of each segment or slice, with limits that hold for all together.

    Flagged ones are orange, with a filled mark if they differ from the error of all rows (the dotted line).

    Parameters
    ----------
    segments : Segments or Slices
        What :func:`trueness.segments` or :func:`trueness.worst_slices` found. Of slices that share their rows with one
        above them, only that one is drawn.

    Attributes
    ----------
    line_ : matplotlib LineCollection
        The limits.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> d = tn.simulate.demo(1_000)
    >>> display = tn.plot.SegmentsDisplay.from_predictions(d.y_true, d.y_prob, by=np.arange(1_000) % 4, seed=0)
    >>> len(display.segments)
    4
    """

    def __init__(self, segments: Segments | Slices) -> None:
        self.segments = segments

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any = None, **options: Any) -> Self:
        """Test the segments.

        Parameters
        ----------
        y_true, y_prob : array-like of shape (n,)
            Labels, and their scores; or sums by segment in place of both.
        **options
            `by`, and any other argument of :func:`trueness.segments`.
        """
        from trueness.infer import segments

        return cls(segments(y_true, y_prob, **options))

    @classmethod
    def from_slices(cls, y_true: Any, y_prob: Any, **options: Any) -> Self:
        """Find the worst slices.

        Parameters
        ----------
        y_true, y_prob : array-like of shape (n,)
            Labels, and their scores.
        **options
            `columns`, and any other argument of :func:`trueness.worst_slices`.
        """
        from trueness.infer import worst_slices

        return cls(worst_slices(y_true, y_prob, **options))

    def plot(self, ax: Any = None, *, most: int = 30, numbers: bool = True) -> Self:
        """Draw the segments, the costliest first, or the slices, the most reliable first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure is made, as high as there are lines.
        most : int, default 30
            The most lines to draw.
        numbers : bool, default True
            Whether to write gaps and limits on the right.
        """
        found = self.segments
        shown = found.shown[: checked_whole(most, "most")]
        names = [visible(found.names[i]) for i in shown]
        (panel,), _ = axes_for(type(self).__name__, ax, size=(7.2, 1.1 + 0.34 * len(names)))
        self.ax_, self.figure_ = panel, panel.figure
        gap, low, high = (one[shown] for one in (found.gap, found.gap_low, found.gap_high))
        colours = np.where(found.flagged[shown], SECOND, style_of(0).colour)
        ends = zip(gap, low, high, strict=True)
        texts = [f"{a:+.3f}  [{b:+.3f}, {c:+.3f}]" for a, b, c in ends] if numbers else []
        faces = np.where(found.differs[shown] | ~found.flagged[shown], colours, "none")
        self.line_ = draw_forest(panel, names, gap, low, high, colours.tolist(), texts, faces.tolist())
        panel.axvline(found.overall_gap, color=GREY, linewidth=1, linestyle=":")
        panel.set_xlabel(f"event rate − mean score, {level_percent(found.level)} limits for all together")
        return self
