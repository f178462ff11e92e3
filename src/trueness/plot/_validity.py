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

    from trueness.typing import ArrayLike, Floats, RowOptions

_PROMISED = "promised by theorem"


class ValidityDisplay(FromEstimator):
    """Validity: the share of predictions that are off by at most ε, against ε.

    Parameters
    ----------
    curves : mapping of names to ValidityCurve
        One line per method.
    level : float, default 0.9
        The share at which ε is marked.
    theory : tuple of two arrays, optional
        Tolerances, and the validity guaranteed there by a theorem.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        One per method.
    ax_, axes_ : matplotlib Axes, list of them
        The panel.
    figure_ : matplotlib Figure
        The figure.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting", ICML,
    2021, Figures 1 and 3 to 6.
    """

    def __init__(self, curves: Mapping[str, Any], *, level: float = 0.9, theory: Any = None) -> None:
        if not curves:
            raise InputError("curves", "must hold at least one curve", "got none")
        if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0 < level <= 1:
            raise InputError("level", "must lie above 0 and be at most 1", f"got {level!r}")
        self.curves = dict(curves)
        self.level = float(level)
        self.theory = None if theory is None else tuple(np.asarray(column, np.float64) for column in theory)

    @classmethod
    @takes_rows
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike | None = None,
        *,
        bins: BinsLike | None = None,
        level: float = 0.9,
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
        promise : tuple of int, optional
            The rows and bins that histogram binning was fitted with, to draw its guarantee.
        name : str, optional
            The method.
        **rows
            As for :func:`trueness.ece`.
        """
        from trueness.recalibrate import validity_curve

        models = y_prob if isinstance(y_prob, Mapping) else {"" if name is None else name: y_prob}
        curves = {str(key): validity_curve(y_true, p, bins=bins, **rows) for key, p in models.items()}
        return cls(curves, level=level, theory=None if promise is None else from_theorem(*promise))

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax` or on a new figure, and return the display."""
        self.axes_, own = axes_for(type(self).__name__, ax, 1, size=(5.8, 4.4 + legend_height(self._texts())))
        (self.ax_,) = self.axes_
        self.figure_, self.lines_ = self.ax_.figure, []
        right = self._right()
        read = [self._draw_curve(name, curve, i, right) for i, (name, curve) in enumerate(self.curves.items())]
        self.line_ = self.lines_[0]
        if self.theory is not None:
            self.ax_.plot(*self.theory, color=GREY, linewidth=1.6, linestyle=(0, (1, 1)), label=_PROMISED)
        self.ax_.axhline(self.level, color=GREY, linewidth=0.8)
        self.ax_.set(xlim=(0, right), ylim=(-0.02, 1.03), xlabel="tolerance ε", ylabel="share of predictions within ε")
        self.ax_.locator_params(axis="x", nbins=5)
        draw_grid(self.ax_)
        if len(read) == 1:
            self._annotate(self.ax_, read[0])
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
            f"{wrap_name(name, 44)}: ε = {short_number(_tolerance(curve, self.level))}{at}"
            for name, curve in self.curves.items()
        ]

    def _draw_curve(self, name: str, curve: Any, i: int, right: float) -> float:
        style, share = style_of(i), curve.share
        x = np.concatenate([[0.0], curve.jumps, [max(right, float(curve.jumps[-1]))]])
        y = np.concatenate([[0.0], share, share[-1:]])
        look: dict[str, Any] = {"color": style.colour, "linestyle": style.dashes, "linewidth": 1.6, "zorder": 3}
        self.lines_ += self.ax_.step(x, y, where="post", label=name or "_", **look)
        read = _tolerance(curve, self.level)
        if np.isfinite(read):
            self.ax_.plot([read, read], [0, self.level], color=style.colour, linewidth=0.8, linestyle=(0, (2, 2)))
            self.ax_.plot(read, self.level, marker=style.marker, color=style.colour, markersize=6, zorder=4)
        return read

    def _right(self) -> float:
        ends = [_tolerance(curve, 0.995) for curve in self.curves.values()]
        if self.theory is not None:
            e, share = self.theory
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


def from_theorem(n: int, n_bins: int) -> tuple[Floats, Floats]:
    """Tolerances and the marginal validity that histogram binning guarantees there."""
    from trueness.recalibrate import epsilon

    share = np.linspace(0.01, 0.995, 100)
    return np.array([epsilon(n, n_bins, alpha=float(1 - s), kind="marginal") for s in share]), share


def _tolerance(curve: Any, level: float) -> float:
    """The smallest tolerance whose share is at least `level`; nan if there is none."""
    meets = np.flatnonzero(curve.share >= level - 1e-12)
    return float(curve.jumps[meets[0]]) if meets.size else float("nan")
