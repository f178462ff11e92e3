"""Decisions: net benefit against the threshold, and risk against coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness._text.numbers import level_percent, short_number
from trueness.plot._canvas import GREY, draw_grid, draw_legend, legend_height, style_of, wrap_name
from trueness.plot._problems import FromEstimator
from trueness.results._decisions import by_model

if TYPE_CHECKING:
    from trueness.plot._canvas import Panels
    from trueness.results import NetBenefit, RiskCoverage
    from trueness.typing import ArrayLike, Floats, Option


class _CurvesDisplay(FromEstimator):
    """Curves of one or several models on one panel, with a legend."""

    _takes_name = False
    _ask: str

    def __init__(self, found: Option) -> None:
        self.found = found

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike = None,
        *,
        ax: Panels | None = None,
        **options: Option,
    ) -> Self:
        """The curves of :func:`trueness.net_benefit` or :func:`trueness.risk_coverage`."""
        from trueness import infer

        return cls(getattr(infer, cls._ask)(y_true, y_prob, **options))._drawn(ax)

    def _draw(
        self,
        ax: Panels | None,
        texts: list[str],
        curves: list[tuple[Any, Any]],
        rules: tuple[Any, ...] = (),
    ) -> None:
        """The curves of models, then those of other rules in grey, with these dashes."""
        is_new = self._take_axes(ax, size=(5.8, 4.2 + legend_height(texts)))
        for i, (x, y) in enumerate(curves):
            rule = i - len(curves) + len(rules)
            colour, dashes = (
                (style_of(i).colour, style_of(i).dashes) if rule < 0 else (GREY, rules[rule])
            )
            self.lines_ += self.ax_.plot(
                x, y, color=colour, linestyle=dashes, linewidth=1.6, zorder=3
            )
        self.line_ = self.lines_[0]
        draw_grid(self.ax_)
        draw_legend(self.ax_, self.lines_, texts, outside=is_new, framealpha=0.6)


class NetBenefitDisplay(_CurvesDisplay):
    """The decision curve: net benefit against the threshold, beside treating all and treating none.

    Parameters
    ----------
    found : NetBenefit
        What :func:`trueness.net_benefit` returns. The light band holds for all thresholds together,
        and ends where too few rows are accepted; the dark band, drawn for one model, at one
        threshold.

    Attributes
    ----------
    line_, lines_, ax_, axes_, figure_
        Lines of the models, of treating all and of treating none; the panel; the figure.
    """

    found: NetBenefit
    _ask = "net_benefit"

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the curves on `ax` or on a new figure, and return the display."""
        benefit = self.found
        t = benefit.threshold
        value = by_model(benefit.value)
        texts = [wrap_name(name, 40) if name else "decisions by the score" for name in value]
        curves = [(t, y) for y in (*value.values(), benefit.treat_all, np.zeros(t.size))]
        self._draw(ax, [*texts, "treat all", "treat none"], curves, ((0, (4, 2)), "-"))
        for name, line in zip(value, self.lines_, strict=False):
            self._draw_limits(name, line.get_color(), alone=len(value) == 1)
        self._set_limits(list(value.values()))
        self.ax_.set(xlabel="threshold", ylabel="net benefit per row")
        return self

    def _draw_limits(self, name: str, colour: str, *, alone: bool) -> None:
        """Draw the band for all thresholds; of a model `alone`, also the limits at each of them."""
        benefit = self.found
        lower = by_model(benefit.band_low)[name]
        upper = by_model(benefit.band_high)[name]
        areas = [(lower, upper, 0.17)]
        if alone:  # no area lies on another: each has a colour of its own
            low = by_model(benefit.low)[name]
            high = by_model(benefit.high)[name]
            areas = [(lower, low, 0.17), (high, upper, 0.17), (low, high, 0.31)]
        for bottom, top, alpha in areas:
            self.ax_.fill_between(
                benefit.threshold, bottom, top, color=colour, alpha=alpha, linewidth=0
            )

    def _set_limits(self, values: list[Floats]) -> None:
        """Show benefits somewhat below zero, and thresholds to just beyond the last treated row."""
        t = self.found.threshold
        treat_all = self.found.treat_all
        highest = max(*(y.max() for y in values), float(treat_all[0]))
        if highest > 0:
            self.ax_.set_ylim(-0.25 * highest, 1.2 * highest)
        else:
            unit = -5 * min(y.min() for y in values)
            self.ax_.set_ylim(-0.25 * unit, unit / 8)
        last = max(int(np.flatnonzero(y).max(initial=0)) for y in (*values, treat_all > 0))
        end = min(last + 1 + last // 10, t.size - 1)
        if end:
            self.ax_.set_xlim(t[0], t[end])


class RiskCoverageDisplay(_CurvesDisplay):
    """Risk against coverage: the share of errors among the most confident rows.

    Parameters
    ----------
    found : RiskCoverage
        What :func:`trueness.risk_coverage` returns.

    Attributes
    ----------
    line_, lines_, ax_, axes_, figure_
        Lines of the models, the panel, the figure.
    """

    found: RiskCoverage
    _ask = "risk_coverage"

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the curves on `ax` or on a new figure, and return the display."""
        coverage = by_model(self.found.coverage)
        risk = by_model(self.found.risk)
        aurc = by_model(self.found.aurc)
        texts = [
            f"{wrap_name(name, 40)}{': ' if name else ''}AURC {short_number(area.value)} "
            f"({short_number(area.low)} to {short_number(area.high)}, {level_percent(area.level)})"
            for name, area in aurc.items()
        ]
        curves = [(np.append(0.0, coverage[name]), np.append(y[0], y)) for name, y in risk.items()]
        self._draw(ax, texts, curves)
        top = max(
            float(y[x >= min(0.05, x[-1])].max()) for x, y in curves
        )  # smaller shares would decide the height
        self.ax_.set(xlim=(0, 1), ylim=(0, min(1.0, 1.15 * max(top, 1e-6))))
        self.ax_.set(
            xlabel="coverage: share of the rows accepted", ylabel="risk: share of errors among them"
        )
        return self
