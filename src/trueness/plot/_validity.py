"""Validity: the share of predictions within a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.rules import BinsLike
from trueness._text.numbers import short_number
from trueness.errors import InputError
from trueness.plot._canvas import GREY, axes_for, draw_grid, draw_legend, legend_height, style_of, wrap_name
from trueness.plot._problems import FromEstimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from trueness.typing import ArrayLike, Floats, RowOptions

_NAMES = {"marginal": "share of predictions within ε", "conditional": "share of runs with every value within ε"}
_PROMISED = "promised by theorem"


class ValidityDisplay(FromEstimator):
    """Validity: the share of predictions that are off by at most ε, against ε.

    Parameters
    ----------
    curves : mapping of names to ValidityCurve or ValidityRuns
        One line per method. Means over runs have a band of two standard errors.
    level : float, default 0.9
        The share at which ε is marked.
    bands : mapping of names to ValidityBand, optional
        Bands for the true curve, for methods without runs.
    theory : tuple of two arrays, or mapping of 'marginal' and 'conditional' to such, optional
        Tolerances, and the validity guaranteed there by a theorem.
    conditional : bool, default False
        Whether to draw a second panel: the share of runs with every predicted value within ε.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        Panel by panel, method by method.
    ax_, axes_ : matplotlib Axes, list of them
        The panels.
    figure_ : matplotlib Figure
        The figure.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting", ICML,
    2021, Figures 1 and 3 to 6.
    """

    line_: Line2D
    lines_: list[Line2D]
    ax_: Axes
    axes_: list[Axes]
    figure_: Any

    def __init__(
        self,
        curves: Mapping[str, Any],
        *,
        level: float = 0.9,
        bands: Mapping[str, Any] | None = None,
        theory: Any = None,
        conditional: bool = False,
    ) -> None:
        if not curves:
            raise InputError("curves", "must hold at least one curve", "got none")
        if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0 < level <= 1:
            raise InputError("level", "must lie above 0 and be at most 1", f"got {level!r}")
        self.curves = dict(curves)
        self.level = float(level)
        self.bands = dict(bands or {})
        self.theory = dict(theory) if isinstance(theory, Mapping) else {} if theory is None else {"marginal": theory}
        self.conditional = conditional

    @classmethod
    @takes_rows
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike | None = None,
        *,
        bins: BinsLike | None = None,
        level: float = 0.9,
        band: float | None = 0.95,
        promise: tuple[int, int] | None = None,
        name: str | None = None,
        **rows: Unpack[RowOptions],
    ) -> Self:
        """Compute the validity curve of predictions on rows that no method was fitted on.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels of rows that were used neither for the classifier nor for the calibrator.
        y_prob : array-like of shape (n,) or (n, K), or mapping of names to such
            Predictions with few distinct values, as after binning; a mapping draws one curve per method.
        bins : int, sequence of edges or bin rule, optional
            By default every distinct value is judged separately. Predictions that are nearly all distinct need bins.
        level : float, default 0.9
            The share at which ε is marked.
        band : float or None, default 0.95
            Level of the band for the true curve, drawn for one method.
        promise : tuple of int, optional
            The rows and bins that histogram binning was fitted with, to draw its guarantee.
        name : str, optional
            The method.
        **rows
            As for :func:`trueness.ece`.
        """
        from trueness import recalibrate

        lower: Any = recalibrate
        models = y_prob if isinstance(y_prob, Mapping) else {"" if name is None else name: y_prob}
        curves = {str(key): lower.validity_curve(y_true, p, bins=bins, **rows) for key, p in models.items()}
        bands = {}
        if band is not None and len(models) == 1:
            bands = {
                str(key): lower.validity_band(y_true, p, bins=bins, level=band, **rows) for key, p in models.items()
            }
        theory = None if promise is None else from_theorem(*promise)
        return cls(curves, level=level, bands=bands, theory=theory)

    @classmethod
    def from_runs(
        cls,
        runs: Mapping[str, Any],
        *,
        level: float = 0.9,
        promise: tuple[int, int] | None = None,
        conditional: bool = True,
    ) -> Self:
        """The mean validity of several methods over runs.

        Parameters
        ----------
        runs : mapping of names to ValidityRuns
            Results of :func:`trueness.validity_runs`.
        level : float, default 0.9
            The share at which ε is marked.
        promise : tuple of int, optional
            The rows and bins that histogram binning was fitted with, to draw its guarantee.
        conditional : bool, default True
            Whether to draw also the share of runs with every predicted value within ε.
        """
        theory = None if promise is None else from_theorem(*promise)
        return cls(runs, level=level, theory=theory, conditional=conditional)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax` (two with conditional validity) or on a new figure, and return the display."""
        kinds = ["marginal", "conditional"] if self.conditional else ["marginal"]
        size = (4.6 if self.conditional else 5.8, 4.4 + legend_height(self._texts()))
        self.axes_, own = axes_for(type(self).__name__, ax, len(kinds), size=size)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.lines_ = []
        for panel, kind in zip(self.axes_, kinds, strict=True):
            self._draw_panel(panel, kind)
        self.line_ = self.lines_[0]
        self._draw_legend(own=own)
        return self

    def _draw_legend(self, *, own: bool) -> None:
        named = [(line, text) for line, text in zip(self.lines_, self._texts(), strict=False) if text]
        named += [(line, str(line.get_label())) for line in self.ax_.lines if line.get_label() == _PROMISED]
        if not named:
            return
        handles, texts = zip(*named, strict=True)
        outside = own and len(self.curves) > 1
        draw_legend(self.ax_, handles, texts, outside=outside, framealpha=0.6, loc="lower right")

    def _texts(self) -> list[str]:
        """The legend text of each method."""
        if len(self.curves) == 1:
            return [wrap_name(name, 44) for name in self.curves]
        at = f" at {100 * self.level:g} %"
        return [
            f"{wrap_name(name, 44)}: ε = {short_number(_tolerance(curve.jumps, _values(curve), self.level))}{at}"
            for name, curve in self.curves.items()
        ]

    def _draw_panel(self, ax: Axes, kind: str) -> None:
        right = self._right(kind)
        read = {}
        for i, (name, curve) in enumerate(self.curves.items()):
            shown = curve if kind == "marginal" else curve.conditional
            read[name] = self._draw_curve(ax, name, shown, i, right, kind)
        if kind in self.theory:
            e, share = (np.asarray(column) for column in self.theory[kind])
            ax.plot(e, share, color=GREY, linewidth=1.6, linestyle=(0, (1, 1)), label=_PROMISED)
        ax.axhline(self.level, color=GREY, linewidth=0.8)
        ax.set(xlim=(0, right), ylim=(-0.02, 1.03), xlabel="tolerance ε", ylabel=_NAMES[kind])
        ax.locator_params(axis="x", nbins=5)
        draw_grid(ax)
        if len(read) == 1 and kind == "marginal":
            self._annotate(ax, next(iter(read.values())))

    def _draw_curve(self, ax: Axes, name: str, curve: Any, i: int, right: float, kind: str) -> float:
        style = style_of(i)
        share = _values(curve)
        x, y = (
            np.concatenate([[0.0], curve.jumps, [max(right, float(curve.jumps[-1]))]]),
            np.concatenate([[0.0], share, share[-1:]]),
        )
        read = _tolerance(curve.jumps, share, self.level)
        (line,) = ax.step(
            x, y, where="post", color=style.colour, linestyle=style.dashes, linewidth=1.6, label=name or "_", zorder=3
        )
        self.lines_.append(line)
        error = getattr(curve, "error", None)
        if error is not None and np.isfinite(error).all():
            reach = 2 * np.concatenate([[0.0], error, error[-1:]])
            ax.fill_between(
                x,
                np.clip(y - reach, 0, 1),
                np.clip(y + reach, 0, 1),
                step="post",
                color=style.colour,
                alpha=0.2,
                linewidth=0,
            )
        if name in self.bands and kind == "marginal":
            self._draw_band(ax, self.bands[name], right, style.colour)
        if np.isfinite(read):
            ax.plot([read, read], [0, self.level], color=style.colour, linewidth=0.8, linestyle=(0, (2, 2)))
            ax.plot(read, self.level, marker=style.marker, color=style.colour, markersize=6, zorder=4)
        return read

    def _draw_band(self, ax: Axes, band: Any, right: float, colour: str) -> None:
        grid = np.unique(np.concatenate([[0.0], band.low.jumps, band.high.jumps, [right]]))
        low, high = (_along(curve.jumps, curve.share, grid) for curve in (band.low, band.high))
        ax.fill_between(grid, low, high, step="post", color=colour, alpha=0.2, linewidth=0)

    def _right(self, kind: str) -> float:
        curves = [curve if kind == "marginal" else curve.conditional for curve in self.curves.values()]
        ends = [_tolerance(curve.jumps, _values(curve), 0.995) for curve in curves]
        if kind in self.theory:
            e, share = (np.asarray(column) for column in self.theory[kind])
            ends.append(float(e[np.searchsorted(share, 0.95).clip(0, e.size - 1)]))
        return min(1.0, 1.15 * max([*(e for e in ends if np.isfinite(e)), 0.02]))

    def _annotate(self, ax: Axes, read: float) -> None:
        if not np.isfinite(read):
            return
        text = f"for {100 * self.level:g} % of predictions\nthe miscalibration is at most {short_number(read)}"
        low, high = ax.get_xlim()
        right = read > (low + high) / 2
        ax.annotate(
            text,
            (read, self.level),
            xytext=(-10 if right else 10, -14),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top",
            fontsize=9,
            bbox={"facecolor": ax.get_facecolor(), "alpha": 0.7, "edgecolor": "none", "pad": 2},
            zorder=5,
        )


def from_theorem(n: int, n_bins: int) -> dict[str, tuple[Floats, Floats]]:
    """Tolerances and the validity that histogram binning guarantees there, marginal and conditional."""
    from trueness import recalibrate

    lower: Any = recalibrate
    share = np.linspace(0.01, 0.995, 100)
    return {
        kind: (np.array([lower.epsilon(n, n_bins, alpha=float(1 - s), kind=kind) for s in share]), share)
        for kind in ("marginal", "conditional")
    }


def _values(curve: Any) -> Floats:
    return np.asarray(curve.share if hasattr(curve, "share") else curve.mean, dtype=np.float64)


def _tolerance(jumps: Floats, share: Floats, level: float) -> float:
    """The smallest tolerance whose share is at least `level`; nan if there is none."""
    meets = np.flatnonzero(share >= level - 1e-12)
    return float(jumps[meets[0]]) if meets.size else float("nan")


def _along(jumps: Floats, share: Floats, grid: Floats) -> Floats:
    return np.concatenate([[0.0], share])[np.searchsorted(jumps, grid, side="right")]
