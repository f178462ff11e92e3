"""Bin rules side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

import numpy as np

from trueness._tally.rows_or_sums import takes_rows
from trueness._tally.rules import BinsLike, BlockIsotonic, EqualMass, Isotonic
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.plot._canvas import (
    GREY,
    axes_below,
    axes_for,
    axis_names,
    compact_count,
    draw_grid,
    set_count_ticks,
    set_scale,
    style_of,
    wrap_name,
)
from trueness.plot._problems import FromEstimator, edges_of, one_model, one_problem, scale_of, tallies

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import StepPatch

    from trueness.plot._canvas import Scale
    from trueness.results import BinTable
    from trueness.typing import ArrayLike, Floats, RowOptions


class BinsDisplay(FromEstimator):
    """Bin rules side by side on the same rows: the event rate of each bin, and its size.

    Parameters
    ----------
    tables : mapping of names to BinTable
        One panel per rule.
    limits : tuple of float, default (0, 1)
        Ends of the axes.
    scale : {'linear', 'log', 'logit'}, default 'linear'
        The axes.
    kind : str, default 'binary'
        The view: 'binary', 'classwise', 'confidence' or 'top-label'.

    Attributes
    ----------
    line_, lines_ : matplotlib StepPatch, list of them
        The event rates of the first rule, and of all.
    ax_, axes_ : matplotlib Axes, list of them
        The panels.
    size_axes_ : list of matplotlib Axes
        Sizes of bins, below the panels.
    figure_ : matplotlib Figure
        The figure.

    References
    ----------
    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration error", Uncertainty in Artificial
    Intelligence, 2023, Figures 2 to 4.

    Examples
    --------
    >>> import trueness as tn
    >>> from trueness.plot import BinsDisplay
    >>> y, p = [0, 1, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    >>> display = BinsDisplay.from_predictions(y, p, bins={"PAVA": tn.Isotonic(), "halves": 2})
    >>> {name: table.n.tolist() for name, table in display.tables.items()}
    {'PAVA': [1, 2, 3], 'halves': [3, 3]}
    """

    _takes_name = False

    line_: StepPatch
    lines_: list[StepPatch]
    ax_: Axes
    axes_: list[Axes]
    size_axes_: list[Axes]
    figure_: Any

    def __init__(
        self,
        tables: Mapping[str, BinTable],
        *,
        limits: tuple[float, float] = (0.0, 1.0),
        scale: Scale = "linear",
        kind: str = "binary",
    ) -> None:
        if not tables:
            raise InputError("tables", "must hold at least one table", "got none")
        self.tables = dict(tables)
        self.limits = limits
        self.scale = scale
        self.kind = kind

    @classmethod
    @takes_rows
    def from_predictions(
        cls,
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        bins: Mapping[str, BinsLike] | None = None,
        scale: Scale | Literal["auto"] = "auto",
        classes: Any = None,
        **rows: Unpack[RowOptions],
    ) -> Self:
        """Bin the same rows by every rule.

        Parameters
        ----------
        y_true, y_prob
            As for :func:`trueness.ece`.
        bins : mapping of names to bin rules, optional
            By default PAVA (:class:`trueness.Isotonic`), PAVA-BC (:class:`trueness.BlockIsotonic`) and quantiles
            (:class:`trueness.EqualMass` with 10 bins).
        scale : {'auto', 'linear', 'log', 'logit'}, default 'auto'
            Scale of the axes. 'auto' is linear unless events, or non-events, are rare.
        classes : sequence, optional
            The class of a matrix to show: exactly one.
        **rows
            As for :func:`trueness.ece`.
        """
        from trueness.measure import bin_table

        if bins is not None and not isinstance(bins, Mapping):
            raise InputError("bins", "must map names to bin rules", f"got {bins!r}")
        rules = bins or {"PAVA": Isotonic(), "PAVA-BC": BlockIsotonic(), "quantiles": EqualMass(10)}
        one_model(y_true, y_prob, cls.__name__)
        (problem,) = one_problem(tallies(y_true, y_prob, None, rows), classes, cls.__name__)
        tables = {str(name): bin_table(problem.tally, bins=rule) for name, rule in rules.items()}
        chosen = scale_of([problem], scale)
        edges = edges_of([problem], chosen, [table.rate for table in tables.values()])
        return cls(tables, limits=(float(edges[0]), float(edges[-1])), scale=chosen, kind=problem.kind)

    def plot(self, ax: Any = None) -> Self:
        """Draw a panel per rule on `ax` (one matplotlib Axes per rule) or on a new figure, and return the display."""
        count = len(self.tables)
        self.axes_, _ = axes_for("BinsDisplay", ax, count, size=(3.4, 4.4), columns=min(count, 4))
        self.size_axes_ = [axes_below(panel, 0.28) for panel in self.axes_]
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.lines_ = []
        for i, (name, table) in enumerate(self.tables.items()):
            self._draw_rates(self.axes_[i], name, table, first=i == 0)
            self._draw_sizes(self.size_axes_[i], table, first=i == 0)
        self.line_ = self.lines_[0]
        return self

    def _draw_rates(self, ax: Axes, name: str, table: BinTable, *, first: bool) -> None:
        edges = self._edges(table)
        ax.plot(self.limits, self.limits, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        beyond = (table.rate < self.limits[0]) | (table.rate > self.limits[1])
        look: Any = {"color": style_of(0).colour, "linewidth": 1.6, "zorder": 3}
        steps = ax.stairs(np.where(beyond, np.nan, table.rate), edges, baseline=None, **look)
        # At the frame and not joined with the others, since their distance from it is not shown.
        ax.hlines(np.clip(table.rate[beyond], *self.limits), edges[:-1][beyond], edges[1:][beyond], **look)
        self.lines_.append(steps)
        filled = table.n[table.n > 0]
        ax.set_title(wrap_name(name, 28, 2), fontsize=10, parse_math=False)
        few, many = compact_count(int(filled.min())), compact_count(int(filled.max()))
        size = f"{few} rows" if few == many else f"{few} to {many} rows"
        ax.text(
            0.04,
            0.96,
            f"{filled.size} bin{'' if filled.size == 1 else 's'}\n{size}",
            transform=ax.transAxes,
            va="top",
            fontsize=8,
            linespacing=1.35,
        )
        for axis in (ax.xaxis, ax.yaxis):
            set_scale(axis, self.scale, *self.limits)
        if self.scale == "linear":
            ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        draw_grid(ax)
        ax.tick_params(labelbottom=False, labelleft=first)
        if first:
            ax.set_ylabel(axis_names(self.kind)[1])

    def _edges(self, table: BinTable) -> Floats:
        inside: Floats = np.clip(np.append(table.low_edge, table.high_edge[-1]), *self.limits)
        return inside

    def _draw_sizes(self, ax: Axes, table: BinTable, *, first: bool) -> None:
        edges = self._edges(table)
        ax.stairs(table.n, edges, fill=True, color=style_of(0).colour, alpha=0.35)
        ax.stairs(table.n, edges, color=style_of(0).colour, linewidth=0.6)
        # Steps draw no line between neighbouring bins of equal size.
        ax.vlines(edges[1:-1], 0, np.minimum(table.n[:-1], table.n[1:]), color=style_of(0).colour, linewidth=0.6)
        ax.set_ylim(0, 1.1 * float(table.n.max()))
        set_count_ticks(ax.yaxis, 3)
        ax.set_xlabel(axis_names(self.kind)[0], fontsize=9)
        if first:
            ax.set_ylabel("rows")
