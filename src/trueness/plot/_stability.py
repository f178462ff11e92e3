"""The score distributions of two samples, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from trueness._text.numbers import bin_name, level_percent, number, percent_tick
from trueness.plot._canvas import Display, draw_grid, draw_legend, style_of, wrap_name

if TYPE_CHECKING:
    from trueness.plot._canvas import Panels
    from trueness.results import Stability
    from trueness.typing import ArrayLike, Ints, Option

_MOST_NAMED = 24  # bins whose names are written; of more, the first and the last
_BAR = 0.4


class StabilityDisplay(Display):
    """The share of the rows of two samples in each bin of the scores.

    Parameters
    ----------
    stability : Stability
        What :func:`trueness.psi` found.

    Attributes
    ----------
    line_ : matplotlib BarContainer
        The bars of the first sample; `lines_` has those of both.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    Examples
    --------
    >>> from trueness.plot import StabilityDisplay
    >>> display = StabilityDisplay.from_scores([0.1, 0.2, 0.6], [0.1, 0.7, 0.8, 0.9], bins=2)
    >>> display.stability.first.tolist(), display.stability.second.tolist()
    ([2, 1], [1, 3])
    """

    def __init__(self, stability: Stability) -> None:
        self.stability = stability

    @classmethod
    def from_scores(
        cls, first: ArrayLike, second: ArrayLike, *, ax: Panels | None = None, **options: Option
    ) -> Self:
        """Compute the index.

        Parameters
        ----------
        first, second : array-like of shape (n,), Tally or Sketch
            Scores of the two samples.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Any other argument of :func:`trueness.psi`.
        """
        from trueness.infer import psi

        return cls(psi(first, second, **options))._drawn(ax)

    def plot(
        self, ax: Panels | None = None, *, names: tuple[str, str] = ("first", "second")
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure is made.
        names : pair of str, default ('first', 'second')
            The names of the two samples.
        """
        stability = self.stability
        own_figure = self._take_axes(ax, size=(7.2, 4.0))
        place = np.arange(len(stability))
        samples = (
            (stability.first / stability.n_first, -_BAR / 2),
            (stability.second / stability.n_second, _BAR / 2),
        )
        for i, (share, shift) in enumerate(samples):
            bars = self.ax_.bar(place + shift, share, _BAR, color=style_of(i).colour)
            self.lines_.append(bars)
        self.line_ = self.lines_[0]
        labels = [wrap_name(str(name), 28, 2) for name in names]
        draw_legend(self.ax_, self.lines_, labels, outside=own_figure, columns=2)
        self._name_bins(place)
        self.ax_.yaxis.set_major_formatter(lambda share, _place: percent_tick(share))
        self.ax_.set(ylabel="share of the sample", xlabel="score")
        floor = f"{level_percent(stability.level)} noise limit {number(stability.floor_high)}"
        self.ax_.set_title(f"PSI {number(stability.value)}, {floor}", fontsize=10)
        draw_grid(self.ax_, "y")
        return self

    def _name_bins(self, place: Ints) -> None:
        """Name each bin below its bar, or only the first and the last if there are many."""
        stability = self.stability
        last = len(stability) - 1
        named = place if len(stability) <= _MOST_NAMED else place[[0, -1]]
        texts = [
            bin_name(float(stability.low_edge[i]), float(stability.high_edge[i]), last=i == last)
            for i in named
        ]
        self.ax_.set_xticks(named, texts, rotation=30, ha="right", fontsize=8)
