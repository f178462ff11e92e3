"""Coverage against the stated level, and the histogram of the levels of outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness._tally.events import Events
from trueness._tally.reading import read_rows
from trueness._text.numbers import level_percent
from trueness.errors import InputError
from trueness.plot import _canvas as canvas
from trueness.plot._canvas import GREY, style_of

if TYPE_CHECKING:
    from trueness.plot._canvas import Panels
    from trueness.results import Coverage, LevelHistogram
    from trueness.typing import ArrayLike

_FEW = 12
"""Up to this number of stated levels, each has a marker and a bar; with more, a band is easier to
read."""


class CoverageDisplay(canvas.Display):
    """The share of outcomes inside intervals, or at most at quantiles, against what is stated.

    On the diagonal both are equal. The limits of one model hold for all its levels together. A
    curve of quantiles that is flatter than the diagonal means quantiles that are too narrow.

    Parameters
    ----------
    coverages : mapping of names to Coverage
        One curve, or point, per model.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        The first model's line, and all of them.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    Examples
    --------
    >>> import trueness as tn
    >>> events = tn.events.interval([1, 2, 9, 3], [0] * 4, [4] * 4, coverage=0.9)
    >>> display = tn.plot.CoverageDisplay.from_events(events)
    >>> display.coverages["90 % intervals"].value.tolist()
    [0.75]
    """

    def __init__(self, coverages: Mapping[str, Coverage]) -> None:
        if not coverages:
            raise InputError("coverages", "must hold at least one coverage", "got none")
        self.coverages = dict(coverages)

    @classmethod
    def from_events(
        cls,
        events: Events | Mapping[str, Events],
        *,
        cluster: ArrayLike | None = None,
        level: float = 0.95,
        ax: Panels | None = None,
    ) -> Self:
        """The coverage of intervals or quantiles.

        Parameters
        ----------
        events : Events, or mapping of names to Events
            Intervals or quantiles.
        cluster : array-like of shape (n,), optional
            A cluster name for each row; rows of one cluster may depend on each other.
        level : float, default 0.95
            Confidence level of the limits.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        from trueness._assess.assessment import assess

        models = {events.words: events} if isinstance(events, Events) else dict(events)
        coverages = {}
        for name, stated in models.items():
            covered = assess(stated, cluster=cluster, level=level).coverage
            if covered is None:
                demand = "must be intervals or quantiles"
                raise InputError("events", demand, f"got {stated!r}")
            coverages[name] = covered
        return cls(coverages)._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the coverage on `ax` or on a new figure, and return the display."""
        texts = [canvas.wrap_name(name, 60) for name in self.coverages]
        is_new = self._take_axes(ax, size=(5.2, 4.9 + canvas.legend_height(texts)))
        panel = self.ax_
        panel.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        for i, covered in enumerate(self.coverages.values()):
            self._draw(i, covered)
        self.line_ = self.lines_[0]
        first = next(iter(self.coverages.values()))
        ends = np.concatenate(
            [[covered.low.min(), covered.stated.min()] for covered in self.coverages.values()]
        )
        # Intervals state high levels only: the rest of the square would be empty.
        start = 0.0 if first.stated.size > 1 else max(0.0, np.floor(10 * ends.min() - 1) / 10)
        level = level_percent(first.level)
        together = " together" if first.stated.size > 1 else ""
        panel.set(
            xlim=(start, 1.0),
            ylim=(start, 1.0),
            xlabel="stated",
            ylabel=f"observed ({level} limits{together})",
        )
        panel.set_aspect("equal")
        canvas.draw_grid(panel)
        if len(texts) > 1:
            canvas.draw_legend(panel, self.lines_, texts, outside=is_new)
        else:
            panel.set_title(texts[0], fontsize=10)
            text = f"n = {first.n:,}"
            canvas.write_in_corner(panel, [text, text], [(first.stated, first.value)], 9)
        return self

    def _draw(self, i: int, covered: Coverage) -> None:
        """Draw the coverage of the i-th model: a line in a band, or a few points with bars."""
        style = style_of(i)
        look: dict[str, Any] = {"color": style.colour, "linestyle": style.dashes}
        if covered.stated.size > _FEW:
            self.ax_.fill_between(
                covered.stated,
                covered.low,
                covered.high,
                color=style.colour,
                alpha=0.2,
                linewidth=0,
            )
            self.lines_ += self.ax_.plot(covered.stated, covered.value, linewidth=1.6, **look)
            return
        bars = np.stack([covered.value - covered.low, covered.high - covered.value])
        self.ax_.errorbar(
            covered.stated,
            covered.value,
            yerr=bars,
            fmt="none",
            ecolor=style.colour,
            elinewidth=1.2,
            capsize=2.5,
            zorder=2,
        )
        self.lines_ += self.ax_.plot(
            covered.stated,
            covered.value,
            marker=style.marker,
            markersize=5,
            linewidth=1.2,
            zorder=3,
            **look,
        )


class LevelHistogramDisplay(canvas.Display):
    """The histogram of the levels of outcomes among their quantiles (PIT).

    If what is stated holds, all bars end inside the grey band with the probability of its level. A
    valley in the middle means quantiles that are too narrow, a hill too wide, a slope that they lie
    too low or too high.

    Parameters
    ----------
    histogram : LevelHistogram
        The densities with their limits.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The bars.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    Examples
    --------
    >>> import trueness as tn
    >>> events = tn.events.quantiles([0.5, 1.5, 3.0, 9.0], [[1, 2]] * 4, levels=[0.25, 0.75])
    >>> tn.plot.LevelHistogramDisplay.from_events(events).histogram.density.tolist()
    [1.0, 0.5, 2.0]
    """

    def __init__(self, histogram: LevelHistogram) -> None:
        self.histogram = histogram

    @classmethod
    def from_events(
        cls,
        events: Events,
        *,
        cluster: ArrayLike | None = None,
        level: float = 0.95,
        ax: Panels | None = None,
    ) -> Self:
        """The histogram of quantile forecasts.

        Parameters
        ----------
        events : Events
            Quantiles.
        cluster : array-like of shape (n,), optional
            A cluster name for each row; there are no limits for dependent rows.
        level : float, default 0.95
            Confidence level of the limits, for all bars together.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        from trueness._level import checked_level
        from trueness.infer.limits._coverage import level_histogram_of

        evidence = read_rows(events, None, {}, cluster=cluster)
        return cls(level_histogram_of(evidence, checked_level(level)))._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the histogram on `ax` or on a new figure, and return the display."""
        self._take_axes(ax, size=(5.8, 4.0))
        panel = self.ax_
        histogram = self.histogram
        width = histogram.high_level - histogram.low_level
        self.bars_ = panel.bar(
            histogram.low_level,
            histogram.density,
            width=width,
            align="edge",
            color=style_of(0).colour,
            alpha=0.75,
            edgecolor="white",
            linewidth=0.8,
            zorder=2,
        )
        edges = np.append(histogram.low_level, 1.0)
        if not np.isnan(histogram.low).all():
            low, high = (np.append(end, end[-1]) for end in (histogram.low, histogram.high))
            panel.fill_between(
                edges, low, high, step="post", color=GREY, alpha=0.3, linewidth=0, zorder=3
            )
        self.lines_ = [panel.axhline(1, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=4)]
        self.line_ = self.lines_[0]
        top = max(
            1.2,
            float(
                np.nanmax([histogram.density.max(), *histogram.high[np.isfinite(histogram.high)]])
            ),
        )
        level = level_percent(histogram.level)
        panel.set(
            xlim=(0, 1),
            ylim=(0, 1.12 * top),
            xlabel="level of the outcome among the quantiles",
            ylabel="share / stated share",
        )
        if np.isnan(histogram.low).all():
            band = "no limits: rows may depend on each other"
        else:
            band = f"grey: all bars end here in {level} of data sets, if what is stated holds"
        panel.set_title(f"{histogram.words}, n = {histogram.n:,}\n{band}", fontsize=9)
        canvas.draw_grid(panel, "y")
        return self
