"""Routing between two models: accuracy against the share that the cheap one answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from trueness._text.numbers import level_percent, percentage
from trueness.plot._canvas import (
    GREY,
    SECOND,
    Dashes,
    Display,
    draw_grid,
    draw_legend,
    legend_height,
    style_of,
)
from trueness.results._route import in_points

if TYPE_CHECKING:
    from trueness.plot._canvas import Panels
    from trueness.results import Route
    from trueness.typing import ArrayLike, Floats, Option


class RouteDisplay(Display):
    """Accuracy of a mix of two models, against the share that the cheap one answers.

    Parameters
    ----------
    found : Route
        What :func:`trueness.route` returns. The band holds at one threshold; the line below zero is
        what the mix may lose.

    Attributes
    ----------
    line_, lines_, ax_, axes_, figure_
        The mix by confidence, then routing at random and the loss allowed; the panel; the figure.
    """

    def __init__(self, found: Route) -> None:
        self.found = found

    @classmethod
    def from_predictions(
        cls,
        cheap_correct: ArrayLike,
        confidence: ArrayLike,
        strong_correct: ArrayLike,
        *,
        ax: Panels | None = None,
        **options: Option,
    ) -> Self:
        """The route of these rows, with the options of :func:`trueness.route`."""
        from trueness.infer import route

        return cls(route(cheap_correct, confidence, strong_correct, **options))._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the curve on `ax` or on a new figure, and return the display."""
        route = self.found
        curve = route.curve
        names = [
            f"routed by confidence ({level_percent(route.level)} limits at one threshold)",
            "routed at random",
            f"may lose {in_points(route.loss)}",
        ]
        if route.certified:
            names.append(f"certified: {percentage(100 * route.share.value)} of rows")
        outside = self._take_axes(ax, size=(5.8, 4.2 + legend_height(names)))
        style = style_of(0)
        share = _from_zero(curve.share)
        self.ax_.fill_between(
            share,
            100 * _from_zero(curve.low),
            100 * _from_zero(curve.high),
            color=style.colour,
            alpha=0.2,
            linewidth=0,
        )
        self._line(share, _from_zero(curve.difference), style.colour, "-")
        self._line(share, _from_zero(curve.random), GREY, (0, (4, 2)))
        self._line(np.array([0.0, 1.0]), np.full(2, -route.loss), SECOND, (0, (1.2, 1.2)))
        if route.certified:
            self.lines_ += self.ax_.plot(
                [route.share.value],
                [100 * route.difference.value],
                linestyle="none",
                marker="o",
                markersize=7,
                color=style.colour,
                zorder=4,
            )
        self.line_ = self.lines_[0]
        draw_grid(self.ax_)
        draw_legend(self.ax_, self.lines_, names, outside=outside, framealpha=0.6)
        self.ax_.set(
            xlim=(0, 1),
            xlabel="share of rows that the cheap model answers",
            ylabel="accuracy less that of the strong model, points",
        )
        return self

    def _line(self, share: Floats, difference: Floats, colour: str, dashes: Dashes) -> None:
        self.lines_ += self.ax_.plot(
            share, 100 * difference, color=colour, linestyle=dashes, linewidth=1.6, zorder=3
        )


def _from_zero(values: Floats) -> Floats:
    """The values, beginning where nothing is routed."""
    return np.append(0.0, values)
