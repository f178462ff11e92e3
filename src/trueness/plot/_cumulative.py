"""Observed minus expected events, cumulated over the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.tally import Tally
from trueness._text.numbers import p_value, short_number
from trueness.errors import InputError, collected_warnings
from trueness.plot import _canvas as canvas
from trueness.plot._canvas import GREY, style_of
from trueness.plot._problems import FromEstimator, one_problem, tallies

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trueness.results import Significance, Walk
    from trueness.typing import ArrayLike, RowOptions

_CORNERS = ((0.03, 0.97), (0.03, 0.03), (0.93, 0.97), (0.93, 0.03))


class CumulativeDisplay(FromEstimator):
    """Observed minus expected events, cumulated over the rows in order of their scores.

    Where the line climbs, events are more frequent than predicted; its slope is the miscalibration
    there. If the scores were calibrated, each point would lie in the grey cone, and the whole line
    between the dashed lines, with the level of the band.

    Parameters
    ----------
    walks : mapping of names to Walk
        One line per model.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        The first walk, and all of them.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    Examples
    --------
    >>> from trueness.plot import CumulativeDisplay
    >>> display = CumulativeDisplay.from_predictions([0, 1, 1, 1], [0.25, 0.5, 0.5, 1.0], name="a")
    >>> display.walks["a"].height.tolist(), display.walks["a"].ks.statistic
    ([0.0, -0.0625, 0.1875, 0.1875], 0.1875)
    """

    def __init__(self, walks: Mapping[str, Walk]) -> None:
        if not walks:
            raise InputError("walks", "must hold at least one walk", "got none")
        self.walks = dict(walks)

    @classmethod
    @takes_rows
    def from_predictions(
        cls,
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        level: float = 0.95,
        classes: Any = None,
        name: str | None = None,
        ax: Any = None,
        **rows: Unpack[RowOptions],
    ) -> Self:
        """Cumulate the differences between labels and scores.

        Parameters
        ----------
        y_true, y_prob
            As for :func:`trueness.ece`. A mapping of names to scores holds one set of scores per
            model.
        level : float, default 0.95
            Level of the bands.
        classes : sequence, optional
            The class of a matrix to show: exactly one.
        name : str, optional
            Name of the model.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **rows
            As for :func:`trueness.ece`.
        """
        from trueness._input.arguments import checked_fraction
        from trueness.infer.test._cumulative import walk_of_cells

        level = checked_fraction(level, "level")
        data = one_problem(tallies(y_true, y_prob, name, rows), classes, cls.__name__)
        with collected_warnings():
            walks = {problem.name: walk_of_cells(problem.cells, level) for problem in data}
        return cls(walks)._drawn(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the walks on `ax` or on a new figure, and return the display."""
        texts = [
            f"{canvas.wrap_name(name, 60)}: KS {_test_text(walk.ks)}"
            for name, walk in self.walks.items()
        ]
        own = self._take_axes(ax, size=(6.4, 4.6 + canvas.legend_height(texts)))
        panel = self.ax_
        alone = len(self.walks) == 1
        walks = list(self.walks.values())
        reach = walks[0].reach if alone else 0.0
        if alone:
            self._draw_band(panel, walks[0])
        for i, (name, walk) in enumerate(self.walks.items()):
            look: dict[str, Any] = {
                "color": style_of(i).colour,
                "linestyle": style_of(i).dashes,
                "label": name,
            }
            self.lines_ += panel.plot(walk.share, walk.height, linewidth=1.5, zorder=3, **look)
        self.line_ = self.lines_[0]
        panel.axhline(0, color=GREY, linewidth=0.8)
        panel.set(
            xlabel="share of rows, by increasing score", ylabel="cumulated (label − score) / n"
        )
        canvas.draw_grid(panel)
        high = max(reach, *(float(walk.height.max()) for walk in walks))
        low = min(-reach, *(float(walk.height.min()) for walk in walks))
        room = 0.08 * (high - low) or 1e-3
        panel.set(xlim=(0, 1.06 if alone else 1), ylim=(low - room, high + room))
        if alone:
            self._write_numbers(panel, name, walk)
        else:
            canvas.draw_legend(panel, self.lines_, texts, outside=own)
        return self

    def _draw_band(self, ax: Axes, walk: Walk) -> None:
        ax.fill_between(
            walk.share, -walk.half, walk.half, color=GREY, alpha=0.25, linewidth=0, zorder=1
        )
        for end in (-walk.reach, walk.reach):
            ax.axhline(end, color=GREY, linewidth=1, linestyle=(0, (4, 3)))

    def _write_numbers(self, ax: Axes, name: str, walk: Walk) -> None:
        """The range of the walk, the scores at the shares of rows on a second axis, and the tests."""
        low = float(walk.height.min())
        high = float(walk.height.max())
        look = {
            "arrowstyle": "<->",
            "color": style_of(0).colour,
            "linewidth": 1,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate("", xy=(1.025, low), xytext=(1.025, high), arrowprops=look)
        far = int(np.abs(walk.height).argmax())
        ax.plot(
            walk.share[far],
            walk.height[far],
            marker="o",
            color=style_of(0).colour,
            markersize=5,
            zorder=4,
        )
        top = ax.secondary_xaxis("top")
        at = np.linspace(0, 1, 6)
        place = np.clip(np.searchsorted(walk.share, at), 0, walk.share.size - 1)
        top.set_xticks(list(at), [canvas.probability(float(score)) for score in walk.score[place]])
        top.tick_params(labelsize=8)
        top.set_xlabel("score", fontsize=9)
        tests = [
            f"KS {_test_text(walk.ks)}",
            f"Kuiper {_test_text(walk.kuiper)}",
            f"n = {walk.n:,}",
        ]
        lines = [*([canvas.wrap_name(name, 40, 2)] if name else []), *tests]
        points = [(walk.share, h) for h in (walk.height, walk.half, -walk.half)]
        canvas.write_in_corner(ax, ["\n".join(lines), tests[0]], points, 9, _CORNERS)


def _test_text(test: Significance) -> str:
    return f"{short_number(test.statistic)}, {p_value(test.pvalue)}"
