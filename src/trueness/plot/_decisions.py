"""Decisions: net benefit against the threshold, and the risk of the answers that are accepted against their share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness._text.numbers import level_percent, short_number
from trueness.plot._canvas import GREY, draw_grid, draw_legend, legend_height, style_of, wrap_name
from trueness.plot._problems import FromEstimator
from trueness.results._decisions import by_model

if TYPE_CHECKING:
    from trueness.results import NetBenefit, RiskCoverage


class _CurvesDisplay(FromEstimator):
    """Curves of one or several models on one panel, with a legend."""

    _takes_name = False
    _ask: str

    def __init__(self, found: Any) -> None:
        self.found = found

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """The curves, with the arguments of :func:`trueness.net_benefit` or :func:`trueness.risk_coverage`."""
        from trueness import infer

        return cls(getattr(infer, cls._ask)(y_true, y_prob, **options))._drawn(ax)

    def _draw(
        self, ax: Any, texts: list[str], curves: list[tuple[Any, Any]], rules: tuple[Any, ...] = ()
    ) -> None:
        """The curves of models, then those of other rules in grey, with these dashes."""
        own = self._take_axes(ax, size=(5.8, 4.2 + legend_height(texts)))
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
        draw_legend(self.ax_, self.lines_, texts, outside=own, framealpha=0.6)


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

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax` or on a new figure, and return the display."""
        b = self.found
        t = self.found.threshold
        treat_all = self.found.treat_all
        value, *ends = map(by_model, (b.value, b.low, b.high, b.band_low, b.band_high))
        texts = [wrap_name(name, 40) if name else "decisions by the score" for name in value]
        curves = [(t, y) for y in (*value.values(), treat_all, np.zeros(t.size))]
        self._draw(ax, [*texts, "treat all", "treat none"], curves, ((0, (4, 2)), "-"))
        for name, line in zip(value, self.lines_, strict=False):
            low, high, lower, upper = (one[name] for one in ends)
            bands = [
                (lower, low, 0.17),
                (high, upper, 0.17),
                (low, high, 0.31),
            ]  # none on another: a colour for each
            for a, b, alpha in bands if len(value) == 1 else [(lower, upper, 0.17)]:
                self.ax_.fill_between(t, a, b, color=line.get_color(), alpha=alpha, linewidth=0)
        top = max(*(one.max() for one in value.values()), float(treat_all[0]))
        unit = top if top > 0 else -5 * min(one.min() for one in value.values())
        # Beyond the last treated row there is nothing to see.
        last = max(
            int(np.flatnonzero(one).max(initial=0)) for one in (*value.values(), treat_all > 0)
        )
        end = min(last + 1 + last // 10, t.size - 1)
        self.ax_.set(
            xlim=(t[0], t[end]) if end else None,
            ylim=(-0.25 * unit, 1.2 * top if top > 0 else unit / 8),
        )
        self.ax_.set(xlabel="threshold", ylabel="net benefit per row")
        return self


class RiskCoverageDisplay(_CurvesDisplay):
    """Risk against coverage: the share of errors among the most confident rows, against their share of all rows.

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

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax` or on a new figure, and return the display."""
        coverage, risk, aurc = map(
            by_model, (self.found.coverage, self.found.risk, self.found.aurc)
        )
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
