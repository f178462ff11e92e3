"""Displays of bins: rules side by side, and the predictions that a test rejects."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike, BlockIsotonic, EqualMass, Isotonic, as_rule
from trueness._tally.tally import Tally
from trueness._text.numbers import bin_name, count, rule_in_words
from trueness.errors import InputError
from trueness.plot import _canvas as canvas
from trueness.plot._canvas import AXIS_NAMES, GREY, SECOND, set_count_ticks, set_scale, style_of
from trueness.plot._problems import (
    FromEstimator,
    edges_of,
    histogram_of,
    must_count,
    only_problem,
    scale_of,
)
from trueness.typing import Kind, Missing, WeightType

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trueness.plot._canvas import Panels, Scale
    from trueness.results import BinTable, Histogram, TestedBins
    from trueness.typing import ArrayLike, Floats

_MOST_LABELS = 24
_DRAWS = 39


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
    size_axes_, figure_ : list of matplotlib Axes, matplotlib Figure
        Sizes of bins, below the panels; and the figure.

    References
    ----------
    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration error",
    Uncertainty in Artificial Intelligence, 2023, Figures 2 to 4.

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

    size_axes_: list[Axes]

    def __init__(
        self,
        tables: Mapping[str, BinTable],
        *,
        limits: tuple[float, float] = (0.0, 1.0),
        scale: Scale = "linear",
        kind: str = "binary",
    ) -> None:
        """Keep the tables by name, at least one, and the limits and scale of the axes."""
        if not tables:
            raise InputError("tables", "must hold at least one table", "got none")
        self.tables = dict(tables)
        self.limits = limits
        self.scale = scale
        self.kind = kind

    @classmethod
    @suggests_keywords
    def from_predictions(
        cls,
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        bins: Mapping[str, BinsLike] | None = None,
        scale: Scale | Literal["auto"] = "auto",
        classes: Sequence[Any] | None = None,
        ax: Panels | None = None,
        kind: Kind | None = None,
        labels: Sequence[Hashable] | None = None,
        pos_label: Hashable | None = None,
        sample_weight: ArrayLike | None = None,
        weight_type: WeightType = "auto",
        missing: Missing = "raise",
        clip_tolerance: float = 0.0,
        sum_tolerance: float | None = None,
        from_logits: bool = False,
        percent: bool = False,
        ignore_index: int | None = None,
    ) -> Self:
        """Bin the same rows by every rule.

        Parameters
        ----------
        y_true : array-like of shape (n,), (n, L) or (B, …)
            Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
            images.
        y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
            Predicted probabilities: P(positive), one column per class or label, or dense, with
            classes second.
        bins : mapping of names to bin rules, optional
            By default PAVA (:class:`trueness.Isotonic`), PAVA-BC (:class:`trueness.BlockIsotonic`)
            and quantiles (:class:`trueness.EqualMass` with 10 bins).
        scale : {'auto', 'linear', 'log', 'logit'}, default 'auto'
            Scale of the axes. 'auto' is linear unless events, or non-events, are rare.
        classes : sequence, optional
            The class of a matrix to show: exactly one.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
            How a matrix is compared with the labels. 'classwise': each column against the rest,
            averaged over classes. 'confidence': the largest probability of each row (the first, if
            tied) against whether that class is the label. 'top-label': the same for each predicted
            class, weighted by how often it is predicted. 'multilabel': each column is a binary
            problem of its own, averaged over labels; never guessed. By default 'classwise'.
        labels : sequence, optional
            The classes in column order, if they are not 0 to K−1; for a vector of scores, two
            classes with the positive one last. By default, columns whose names are the classes are
            matched by name. Otherwise the columns are in the order of the categories (of a pandas
            Categorical, Polars Enum or ordered Arrow dictionary, unused categories included) or,
            without categories, in the order of the sorted labels.
        pos_label : optional
            The label that a vector of scores predicts, if labels are not 0/1.
        sample_weight : array-like of shape (n,), optional
            Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
        weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
            What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
            rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes
            whole numbers as frequencies, with a warning in functions that infer, and other weights
            as importance.
        missing : {'raise', 'drop'}, default 'raise'
            What to do with rows that have a missing value: raise an error, or drop them with a
            warning.
        clip_tolerance : float, default 0
            Scores outside [0, 1] by at most this much are set to 0 or 1.
        sum_tolerance : float, optional
            How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
        from_logits : bool, default False
            Whether the scores are logits; the logistic function (softmax for a matrix) is applied
            first.
        percent : bool, default False
            Whether the scores are percentages, from 0 to 100.
        ignore_index : int, optional
            The label of rows that are left out, such as 255 for pixels without a class.
        """
        rows = row_options(
            kind,
            labels,
            pos_label,
            sample_weight,
            weight_type,
            missing,
            clip_tolerance,
            sum_tolerance,
            from_logits,
            percent,
            ignore_index,
        )
        from trueness.measure import bin_table

        if bins is not None and not isinstance(bins, Mapping):
            raise InputError("bins", "must map names to bin rules", f"got {bins!r}")
        rules = bins or {"PAVA": Isotonic(), "PAVA-BC": BlockIsotonic(), "quantiles": EqualMass(10)}
        problem = only_problem(cls.__name__, y_true, y_prob, None, rows, classes)
        tables = {str(name): bin_table(problem.tally, bins=rule) for name, rule in rules.items()}
        chosen = scale_of([problem], scale)
        edges = edges_of([problem], chosen, [table.rate for table in tables.values()])
        limits = (float(edges[0]), float(edges[-1]))
        return cls(tables, limits=limits, scale=chosen, kind=problem.kind)._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw a panel per rule on `ax`, one Axes each, or on a new figure; return the display."""
        panels = len(self.tables)
        self._take_axes(ax, panels, size=(3.4, 4.4), columns=min(panels, 4))
        self.size_axes_ = [canvas.axes_below(panel, 0.28) for panel in self.axes_]
        for i, (name, table) in enumerate(self.tables.items()):
            edges: Floats = np.clip(np.append(table.low_edge, table.high_edge[-1]), *self.limits)
            self._draw_rates(self.axes_[i], name, table, edges)
            self._draw_sizes(self.size_axes_[i], table, edges)
        self.ax_.set_ylabel(AXIS_NAMES[self.kind][1])
        self.size_axes_[0].set_ylabel("rows")
        self.line_ = self.lines_[0]
        return self

    def _draw_rates(self, ax: Axes, name: str, table: BinTable, edges: Floats) -> None:
        """Draw the rate of each bin as a step beside the diagonal; write how many bins and rows.

        Rates beyond the frame are drawn on it, apart from the others.
        """
        ax.plot(self.limits, self.limits, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        beyond = (table.rate < self.limits[0]) | (table.rate > self.limits[1])
        look: dict[str, Any] = {"color": style_of(0).colour, "linewidth": 1.6, "zorder": 3}
        steps = ax.stairs(np.where(beyond, np.nan, table.rate), edges, baseline=None, **look)
        # At the frame and not joined with the others, since their distance from it is not shown.
        ax.hlines(
            np.clip(table.rate[beyond], *self.limits), edges[:-1][beyond], edges[1:][beyond], **look
        )
        self.lines_.append(steps)
        filled = table.n[table.n > 0]
        ax.set_title(canvas.wrap_name(name, 28, 2), fontsize=10, parse_math=False)
        fewest = canvas.compact_count(int(filled.min()))
        largest = canvas.compact_count(int(filled.max()))
        size = f"{fewest} rows" if fewest == largest else f"{fewest} to {largest} rows"
        text = f"{count(filled.size, 'bin')}\n{size}"
        ax.text(0.04, 0.96, text, transform=ax.transAxes, va="top", fontsize=8, linespacing=1.35)
        for axis in (ax.xaxis, ax.yaxis):
            set_scale(axis, self.scale, *self.limits)
        if self.scale == "linear":
            ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        canvas.draw_grid(ax)
        ax.tick_params(labelbottom=False, labelleft=ax is self.ax_)

    def _draw_sizes(self, ax: Axes, table: BinTable, edges: Floats) -> None:
        """Draw the number of rows in each bin as filled steps below the rates."""
        ax.stairs(table.n, edges, fill=True, color=style_of(0).colour, alpha=0.35)
        ax.stairs(table.n, edges, color=style_of(0).colour, linewidth=0.6)
        # Steps draw no line between neighbouring bins of equal size.
        ax.vlines(
            edges[1:-1],
            0,
            np.minimum(table.n[:-1], table.n[1:]),
            color=style_of(0).colour,
            linewidth=0.6,
        )
        ax.set_ylim(0, 1.1 * float(table.n.max()))
        set_count_ticks(ax.yaxis, 3)
        ax.set_xlabel(AXIS_NAMES[self.kind][0], fontsize=9)


class TestReliabilityDisplay(FromEstimator):
    """Test-based reliability diagram: the predictions that a test on their bin rejects.

    Each bin has a violin of its predictions and a line at its event rate; below is the size of the
    bin, with the rejected predictions in a second colour; on the right, all predictions.

    Parameters
    ----------
    record : TestedBins
        The bins.
    histogram : Histogram
        The distribution of all scores; its ends are those of the axis.
    floor : float, optional
        The TCE that a calibrated model would show, for the title.
    scale : {'linear', 'log', 'logit'}, default 'linear'
        The axis of the predictions.
    name : str, default ''
        The model.
    kind : str, default 'binary'
        The view: 'binary', 'classwise', 'confidence' or 'top-label'.

    Attributes
    ----------
    line_ : matplotlib LineCollection
        The event rates, one line per bin.
    violins_ : list of matplotlib artists
        One per bin.
    ax_, sizes_ax_, histogram_ax_, figure_ : matplotlib Axes, matplotlib Figure
        Violins, sizes of bins, and all predictions; and the figure.

    References
    ----------
    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration error",
    Uncertainty in Artificial Intelligence, 2023, Figure 1.

    Examples
    --------
    >>> from trueness.plot import TestReliabilityDisplay
    >>> y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    >>> display = TestReliabilityDisplay.from_predictions(y + y, [0.3] * 10 + [0.9] * 10, bins=2)
    >>> display.record.tce, display.record.rejected.tolist()
    (50.0, [0, 10])
    """

    __test__ = False

    violins_: list[Any]
    sizes_ax_: Axes
    histogram_ax_: Axes

    def __init__(
        self,
        record: TestedBins,
        histogram: Histogram,
        *,
        floor: float | None = None,
        scale: Scale = "linear",
        name: str = "",
        kind: str = "binary",
    ) -> None:
        """Keep the tested bins, the histogram of scores and how to draw them."""
        self.record = record
        self.histogram = histogram
        self.floor = floor
        self.scale = scale
        self.name = name
        self.kind = kind

    @classmethod
    @suggests_keywords
    def from_predictions(
        cls,
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        bins: BinsLike | None = None,
        alpha: float = 0.05,
        test: Literal["binomial", "t", "t-variance-for-deviation"] = "binomial",
        scale: Scale | Literal["auto"] = "auto",
        classes: Sequence[Any] | None = None,
        name: str | None = None,
        ax: Panels | None = None,
        kind: Kind | None = None,
        labels: Sequence[Hashable] | None = None,
        pos_label: Hashable | None = None,
        sample_weight: ArrayLike | None = None,
        weight_type: WeightType = "auto",
        missing: Missing = "raise",
        clip_tolerance: float = 0.0,
        sum_tolerance: float | None = None,
        from_logits: bool = False,
        percent: bool = False,
        ignore_index: int | None = None,
    ) -> Self:
        """Test the predictions of every bin.

        Parameters
        ----------
        y_true : array-like of shape (n,), (n, L) or (B, …)
            Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
            images.
        y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
            Predicted probabilities: P(positive), one column per class or label, or dense, with
            classes second.
        bins : int, sequence of edges or bin rule, optional
            By default :class:`trueness.BlockIsotonic`.
        alpha : float, default 0.05
            Level of each test: a score is rejected if its p-value is at most `alpha`.
        test : {'binomial', 't', 't-variance-for-deviation'}, default 'binomial'
            The exact binomial test, which needs whole-number weights; the t test; or the t test of
            the published code.
        scale : {'auto', 'linear', 'log', 'logit'}, default 'auto'
            Scale of the axes. 'auto' is linear unless events, or non-events, are rare.
        classes : sequence, optional
            The class of a matrix to show: exactly one.
        name : str, optional
            Name of the model.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
            How a matrix is compared with the labels. 'classwise': each column against the rest,
            averaged over classes. 'confidence': the largest probability of each row (the first, if
            tied) against whether that class is the label. 'top-label': the same for each predicted
            class, weighted by how often it is predicted. 'multilabel': each column is a binary
            problem of its own, averaged over labels; never guessed. By default 'classwise'.
        labels : sequence, optional
            The classes in column order, if they are not 0 to K−1; for a vector of scores, two
            classes with the positive one last. By default, columns whose names are the classes are
            matched by name. Otherwise the columns are in the order of the categories (of a pandas
            Categorical, Polars Enum or ordered Arrow dictionary, unused categories included) or,
            without categories, in the order of the sorted labels.
        pos_label : optional
            The label that a vector of scores predicts, if labels are not 0/1.
        sample_weight : array-like of shape (n,), optional
            Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
        weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
            What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
            rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes
            whole numbers as frequencies, with a warning in functions that infer, and other weights
            as importance.
        missing : {'raise', 'drop'}, default 'raise'
            What to do with rows that have a missing value: raise an error, or drop them with a
            warning.
        clip_tolerance : float, default 0
            Scores outside [0, 1] by at most this much are set to 0 or 1.
        sum_tolerance : float, optional
            How far the scores of a matrix row may sum from 1. Default: 1e-6, or 2e-3 for float16.
        from_logits : bool, default False
            Whether the scores are logits; the logistic function (softmax for a matrix) is applied
            first.
        percent : bool, default False
            Whether the scores are percentages, from 0 to 100.
        ignore_index : int, optional
            The label of rows that are left out, such as 255 for pixels without a class.
        """
        rows = row_options(
            kind,
            labels,
            pos_label,
            sample_weight,
            weight_type,
            missing,
            clip_tolerance,
            sum_tolerance,
            from_logits,
            percent,
            ignore_index,
        )
        from trueness._assess.noise_floor import noise_floor
        from trueness.measure._tce import bins_with_rejections, tce

        rule = BlockIsotonic() if bins is None else as_rule(bins)
        problem = only_problem(cls.__name__, y_true, y_prob, name, rows, classes, rule)
        if test == "binomial" and not problem.cells.whole:
            also = (
                " and bins that do not count them, such as `EqualMass(10)`" if bins is None else ""
            )
            raise must_count("the binomial test", f"`test='t'`{also}")
        record = bins_with_rejections(problem.cells, rule, alpha, test)
        chosen = scale_of([problem], scale)
        edges = edges_of([problem], chosen, [record.rate, record.score], zoom=scale == "auto")
        spread = histogram_of(problem.cells, edges)
        floor = None
        if problem.cells.whole and not rule.splits_ties:
            measure: Any = partial(tce, bins=rule, alpha=alpha, test=test)
            sums = Tally("binary", (problem.cells,))
            floor = noise_floor(measure, sums, resamples=_DRAWS, seed=0, progress=False).mean
        known: Any = {"floor": floor, "scale": chosen, "name": problem.name, "kind": problem.kind}
        return cls(record, spread, **known)._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw, split into the three parts; by default a new figure.
        """
        self._take_axes(ax, size=(7.2, 5.6))
        self.histogram_ax_, self.sizes_ax_ = canvas.axes_right_and_below(self.ax_, 0.2, 0.24)
        self._draw_violins(self.ax_)
        self._draw_sizes(self.sizes_ax_)
        self._draw_histogram(self.histogram_ax_)
        handles = [
            *self.ax_.get_legend_handles_labels()[0],
            *self.sizes_ax_.get_legend_handles_labels()[0],
        ]
        self.ax_.legend(handles=handles, loc="upper left", fontsize=8, framealpha=0.6)
        return self

    def _draw_violins(self, ax: Axes) -> None:
        """Draw the scores of each bin as a violin, and the event rates across them.

        A bin with one score is a line.
        """
        record = self.record
        style = style_of(0)
        low = float(self.histogram.edges[0])
        high = float(self.histogram.edges[-1])
        centres = np.arange(len(record))
        self.violins_ = []
        look: dict[str, Any] = {"color": style.colour, "alpha": 0.7}
        for i, places, density in zip(centres, record.places, record.density, strict=True):
            half = 0.4 * density
            if places[-1] == places[0]:  # one score: a violin without height
                self.violins_.append(ax.hlines(places[0], i - 0.4, i + 0.4, linewidth=4, **look))
            else:
                self.violins_.append(
                    ax.fill_betweenx(places, i - half, i + half, linewidth=0.5, **look)
                )
        self.violins_[0].set_label("predictions")
        look = {"color": SECOND, "linewidth": 2, "label": "event rate", "zorder": 3}
        self.line_ = ax.hlines(
            np.clip(record.rate, low, high), centres - 0.45, centres + 0.45, **look
        )
        set_scale(ax.yaxis, self.scale, low, high)
        ax.set(xlim=(-0.7, len(record) - 0.3), ylabel=AXIS_NAMES[self.kind][0])
        ax.tick_params(labelbottom=False)
        canvas.draw_grid(ax, "y")
        details = f"{rule_in_words(record.bins)}, {record.test} test at {record.alpha:g}"
        head = f"{canvas.wrap_name(self.name, 60, 2)}\n" if self.name else ""
        floor = "" if self.floor is None else f", if calibrated {self.floor:.1f} %"
        ax.set_title(
            f"{head}TCE {record.tce:.1f} %{floor}\n{details}",
            fontsize=10,
            loc="left",
            parse_math=False,
        )

    def _draw_sizes(self, ax: Axes) -> None:
        """Draw the rows of each bin as a bar, with the rejected ones on top; name some bins."""
        record = self.record
        last = len(self.record) - 1
        centres = np.arange(last + 1)
        kept = record.weight - record.rejected
        ax.bar(centres, kept, width=0.8, color=GREY, alpha=0.6, label="rows")
        look: dict[str, Any] = {"color": SECOND, "hatch": "//", "edgecolor": GREY, "linewidth": 0}
        ax.bar(centres, record.rejected, width=0.8, bottom=kept, label="rejected rows", **look)
        named = centres[:: -(-len(record) // _MOST_LABELS)]
        names = [
            bin_name(float(record.low_edge[i]), float(record.high_edge[i]), last=i == last)
            for i in named
        ]
        ax.set_xticks(named, names)
        if len(record) > 5:
            ax.tick_params(axis="x", rotation=90, labelsize=7)
        else:
            ax.tick_params(axis="x", rotation=0, labelsize=8)
        ax.set_ylim(0, 1.08 * float(record.weight.max()))
        set_count_ticks(ax.yaxis, 3)
        ax.set(
            xlabel="bins",
            ylabel="rows" if np.issubdtype(record.weight.dtype, np.integer) else "weight",
        )

    def _draw_histogram(self, ax: Axes) -> None:
        """Draw the histogram of all scores on its side, with its axis on top."""
        weight = self.histogram.weight
        edges = self.histogram.edges
        ax.stairs(
            weight, edges, orientation="horizontal", fill=True, color=style_of(0).colour, alpha=0.7
        )
        ax.tick_params(labelleft=False)
        # Labels below would push the bin sizes away from their violins.
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        set_count_ticks(ax.xaxis, 2)
        ax.set(xlim=(0, 1.05 * float(weight.max())), xlabel="rows")
        for side in ("bottom", "right"):
            ax.spines[side].set_visible(False)
