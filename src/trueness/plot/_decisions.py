"""Decisions: net benefit against the threshold, and the risk of the answers that are accepted against their share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness._text.numbers import level_percent, short_number
from trueness.plot._canvas import GREY, axes_for, draw_grid, draw_legend, legend_height, style_of, wrap_name
from trueness.plot._problems import FromEstimator

if TYPE_CHECKING:
    from trueness.results import NetBenefit, RiskCoverage

_FEW = 0.05  # the risk of smaller shares of the rows does not decide how high the axis is


class _CurvesDisplay(FromEstimator):
    """Curves of one or several models on one panel, with a legend."""

    _takes_name = False

    def _start(self, ax: Any, texts: list[str]) -> None:
        height = 4.2 + legend_height(texts)
        self.axes_, self._own = axes_for(type(self).__name__, ax, 1, size=(5.8, height))
        (self.ax_,) = self.axes_
        self.figure_, self.lines_ = self.ax_.figure, []

    def _finish(self, texts: list[str]) -> Self:
        self.line_ = self.lines_[0]
        draw_grid(self.ax_)
        draw_legend(self.ax_, self.lines_, texts, outside=self._own, framealpha=0.6)
        return self

    def _draw(self, x: Any, y: Any, i: int) -> str:
        style = style_of(i)
        self.lines_ += self.ax_.plot(x, y, color=style.colour, linestyle=style.dashes, linewidth=1.6, zorder=3)
        return style.colour


class NetBenefitDisplay(_CurvesDisplay):
    """The decision curve: net benefit against the threshold, beside treating all and treating none.

    Parameters
    ----------
    found : NetBenefit
        What :func:`trueness.net_benefit` returns. The light band holds for all thresholds together, and ends where too
        few rows are accepted; the dark band, drawn for one model, at one threshold.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        One per model, then treating all and treating none.
    ax_, axes_ : matplotlib Axes, list of them
        The panel.
    figure_ : matplotlib Figure
        The figure.
    """

    def __init__(self, found: NetBenefit) -> None:
        self.found = found

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any = None, **options: Any) -> Self:
        """The decision curve of scores, with the arguments of :func:`trueness.net_benefit`."""
        from trueness.infer import net_benefit

        return cls(net_benefit(y_true, y_prob, **options))

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax` or on a new figure, and return the display."""
        f = self.found
        value, low, high, band_low, band_high = (
            one if isinstance(one, dict) else {"": one} for one in (f.value, f.low, f.high, f.band_low, f.band_high)
        )
        texts = [wrap_name(name, 40) if name else "decisions by the score" for name in value]
        texts += ["treat all", "treat none"]
        self._start(ax, texts)
        for i, name in enumerate(value):
            colour = self._draw(f.threshold, value[name], i)
            self.ax_.fill_between(f.threshold, band_low[name], band_high[name], color=colour, alpha=0.15, linewidth=0)
            if len(value) == 1:
                self.ax_.fill_between(f.threshold, low[name], high[name], color=colour, alpha=0.2, linewidth=0)
        for y, dashes in ((f.treat_all, (0, (4, 2))), (np.zeros(f.threshold.size), "-")):
            self.lines_ += self.ax_.plot(f.threshold, y, color=GREY, linestyle=dashes, linewidth=1.2, zorder=2)
        top = max(*(one.max() for one in value.values()), float(f.treat_all[0]))
        unit = top if top > 0 else -5 * min(one.min() for one in value.values())
        # Beyond the last treated row there is nothing to see.
        last = max(int(np.flatnonzero(one).max(initial=0)) for one in (*value.values(), f.treat_all > 0))
        end = min(last + 1 + last // 10, f.threshold.size - 1)
        self.ax_.set(xlim=(f.threshold[0], f.threshold[end]) if end else None)
        self.ax_.set(ylim=(-0.25 * unit, 1.2 * top if top > 0 else unit / 8))
        self.ax_.set(xlabel="threshold", ylabel="net benefit per row")
        return self._finish(texts)


class RiskCoverageDisplay(_CurvesDisplay):
    """Risk against coverage: the share of errors among the most confident rows, against their share of all rows.

    Parameters
    ----------
    found : RiskCoverage
        What :func:`trueness.risk_coverage` returns.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        One per model.
    ax_, axes_ : matplotlib Axes, list of them
        The panel.
    figure_ : matplotlib Figure
        The figure.
    """

    def __init__(self, found: RiskCoverage) -> None:
        self.found = found

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any = None, **options: Any) -> Self:
        """The curve of scores, with the arguments of :func:`trueness.risk_coverage`."""
        from trueness.infer import risk_coverage

        return cls(risk_coverage(y_true, y_prob, **options))

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax` or on a new figure, and return the display."""
        f = self.found
        coverage, risk, aurc = (one if isinstance(one, dict) else {"": one} for one in (f.coverage, f.risk, f.aurc))
        texts = [
            f"{wrap_name(name, 40)}{': ' if name else ''}AURC {short_number(area.value)} "
            f"({short_number(area.low)} to {short_number(area.high)}, {level_percent(area.level)})"
            for name, area in aurc.items()
        ]
        self._start(ax, texts)
        top = 0.0
        for i, name in enumerate(coverage):
            # One value of the confidence accepts all rows: a flat line.
            x, y = (np.concatenate([one[:1] * start, one]) for one, start in ((coverage[name], 0), (risk[name], 1)))
            self._draw(x, y, i)
            top = max(top, float(y[x >= min(_FEW, x[-1])].max()))
        self.ax_.set(xlim=(0, 1), ylim=(0, min(1.0, 1.15 * max(top, 1e-6))))
        self.ax_.set(xlabel="coverage: share of the rows accepted", ylabel="risk: share of errors among them")
        return self._finish(texts)
