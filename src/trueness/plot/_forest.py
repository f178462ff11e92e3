"""Forest plots: intervals of models, classes or groups, and gaps of segments and slices."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueness._input.arguments import checked_whole
from trueness._input.columns import column
from trueness._input.segment_columns import read_by
from trueness._keywords import suggests_keywords
from trueness._tally.rows_or_sums import row_options, sample_and_kind, tally_of
from trueness._tally.tally import Tally
from trueness._text.numbers import confidence_set, level_percent, short_number
from trueness._text.strings import visible
from trueness.errors import InputError, collected_warnings
from trueness.plot._canvas import GREY, SECOND, Display, draw_grid, style_of, wrap_name
from trueness.plot._problems import FromEstimator, must_count, problems, tallies
from trueness.typing import Kind, Missing, WeightType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection

    from trueness.plot._canvas import Panels
    from trueness.results import Centres, Interval, Segments, Slices
    from trueness.typing import ArrayLike, Floats, Option, RowOptions


class IntervalDisplay(FromEstimator):
    """Forest plot: the l2 calibration error of models, classes or groups, with confidence sets.

    A line is the continuous part of the set; a hollow marker at zero means that the set includes
    zero.

    Parameters
    ----------
    intervals : mapping of names to Interval
        One line each, from the top, all of one level. Squared and unsquared sets together are drawn
        as roots.

    Attributes
    ----------
    line_ : matplotlib LineCollection
        The intervals.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    Examples
    --------
    >>> from trueness import simulate
    >>> from trueness.plot import IntervalDisplay
    >>> d = simulate.binary(500, distortion=simulate.Logit(slope=0.5), seed=1)
    >>> display = IntervalDisplay.from_predictions(d.y_true, {"a": d.y_prob, "b": d.y_prob / 2})
    >>> {name: interval.includes_zero for name, interval in display.intervals.items()}
    {'a': False, 'b': False}
    """

    def __init__(self, intervals: Mapping[str, Interval]) -> None:
        """Keep the intervals by name, all of one level; squared ones beside others become roots."""
        if not intervals:
            raise InputError("intervals", "must hold at least one interval", "got none")
        levels = sorted({interval.level for interval in intervals.values()})
        if len(levels) > 1:
            raise InputError(
                "intervals",
                "must have one level",
                f"got {', '.join(f'{level:g}' for level in levels)}",
            )
        mixed = len({interval.squared for interval in intervals.values()}) > 1
        self.intervals = {
            name: interval.root() if mixed else interval for name, interval in intervals.items()
        }

    @classmethod
    @suggests_keywords
    def from_predictions(
        cls,
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        by: ArrayLike | None = None,
        level: float = 0.95,
        seed: int | np.random.Generator | None = 0,
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
        """Compute an interval per model, class and group.

        Parameters
        ----------
        y_true : array-like of shape (n,), (n, L) or (B, …)
            Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
            images.
        y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
            Predicted probabilities: P(positive), one column per class or label, or dense, with
            classes second. A mapping of names to scores holds one set of scores per model. A matrix
            gives an interval per class, or a single one with ``kind="confidence"``.
        by : array-like of shape (n,), optional
            A group for each row, as for :func:`trueness.segments`; each group gets its own
            interval.
        level : float, default 0.95
            Confidence level of the intervals, more than 1/2.
        seed : int or numpy.random.Generator, default 0
            For random draws.
        classes : sequence, optional
            The classes of a matrix to show.
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
        from trueness._assess.interval import ece_interval

        if by is None:
            groups = {"": tallies(y_true, y_prob, name, rows)}
        else:
            sums = _group_tallies(y_true, y_prob, by, rows)
            groups = {group: tallies(of_group, None, name, {}) for group, of_group in sums.items()}
        intervals: dict[str, Interval] = {}
        for group, models in groups.items():
            for problem in problems(models, classes):
                if not problem.cells.whole:
                    other = (
                        "`ece_interval(…, weight_type='importance')`, drawn by "
                        "`IntervalDisplay({name: interval})`"
                    )
                    raise must_count("`IntervalDisplay.from_predictions`", other)
                words = [
                    problem.name,
                    "" if problem.label is None else f"class {problem.label}",
                    group,
                ]
                line = " · ".join(map(visible, filter(None, words))) or "all rows"
                with collected_warnings():
                    intervals[line] = ece_interval(problem.tally, level=level, seed=seed)
        return cls(intervals)._drawn(ax)

    def plot(self, ax: Panels | None = None, *, numbers: bool = True) -> Self:
        """Draw the intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure is made, as high as there are lines.
        numbers : bool, default True
            Whether to write estimates and sets on the right.
        """
        names = list(self.intervals)
        sets = list(self.intervals.values())
        self._take_axes(ax, size=(7.2, 1.1 + 0.34 * len(names)))
        estimate, low, high = np.array([(s.estimate, s.low, s.high) for s in sets]).T
        colour = style_of(0).colour
        texts = []
        if numbers:
            for interval in sets:
                limits = confidence_set(interval, short_number)
                texts.append(f"{short_number(interval.estimate)}  {limits}")
        colours = [colour] * len(names)
        self.line_ = _draw_forest(self.ax_, names, estimate, low, high, colours, texts)
        zero = np.flatnonzero([interval.includes_zero for interval in sets])
        self.ax_.scatter(
            np.zeros(zero.size),
            zero,
            s=34,
            facecolors="none",
            edgecolors=colour,
            zorder=4,
            clip_on=False,
        )
        start = min(0.0, float(low.min()), float(estimate.min()))
        end = max(float(high.max()), float(estimate.max()), 1e-6)
        error = "squared typical error" if sets[0].squared else "typical error"
        self.ax_.set_xlim(start - 0.02 * (end - start), end + 0.04 * (end - start))
        self.ax_.set_xlabel(f"{error}, {level_percent(sets[0].level)} confidence set")
        return self


def _draw_forest(
    ax: Axes,
    names: list[str],
    estimate: Floats,
    low: Floats,
    high: Floats,
    colours: Sequence[str],
    texts: Sequence[str],
    faces: Sequence[str] | None = None,
    ideal: float = 0,
) -> LineCollection:
    """Draw a line and a mark for each name, from the top, with a text on the right.

    Return the lines.
    """
    places = np.arange(len(names))
    lines = ax.hlines(places, low, high, color=colours, linewidth=2.2, zorder=3)
    ax.scatter(
        estimate,
        places,
        s=34,
        facecolors=colours if faces is None else faces,
        edgecolors=colours,
        zorder=4,
    )
    ax.axvline(ideal, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    ax.set_yticks(places, [wrap_name(name, 36, 2) for name in names], fontsize=9, parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    draw_grid(ax, "x")
    for i, text in enumerate(texts):
        ax.annotate(
            text,
            (1.02, i),
            xycoords=("axes fraction", "data"),
            va="center",
            annotation_clip=False,
            fontsize=8,
        )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return lines


def _group_tallies(
    y_true: ArrayLike, y_prob: ArrayLike, by: ArrayLike, rows: RowOptions
) -> dict[str, Any]:
    """The sums of each group, or of each model in it, in the order of the sorted names."""
    if isinstance(y_true, Tally | Mapping):
        remedy = "Pass a mapping of group names to tallies instead."
        raise InputError("by", "needs rows", "a Tally has none", remedy=remedy)
    groups_of_rows, *rest = read_by(
        by, y_true, np.ones(column(y_true, "y_true").values.shape[0], dtype=bool)
    )
    if rest:
        raise InputError("by", "must be one column", f"got {1 + len(rest)}")
    scores_of = y_prob if isinstance(y_prob, Mapping) else {"": y_prob}
    groups: dict[str, dict[str, Tally]] = {name: {} for name in groups_of_rows.values}
    for model, scores in scores_of.items():
        sample, kind = sample_and_kind(y_true, scores, rows)
        column_of_rows = groups_of_rows
        if sample.rows is not None:
            column_of_rows = groups_of_rows.at(sample.rows)
        for i, name in enumerate(column_of_rows.values):
            inside = np.flatnonzero(column_of_rows.code == i)
            weights = None if sample.w is None else sample.w[inside]
            groups[name][model] = tally_of(sample.at(inside, weights), kind)
    filled = {name: models for name, models in groups.items() if models}
    if isinstance(y_prob, Mapping):
        return filled
    return {name: models[""] for name, models in filled.items()}


class SegmentsDisplay(Display):
    """Forest plot: the gap of each segment or slice, with limits that hold for all together.

    Flagged ones are orange, with a filled mark if they differ from the error of all rows (the
    dotted line).

    Parameters
    ----------
    segments : Segments or Slices
        What :func:`trueness.segments` or :func:`trueness.worst_slices` found. Of slices that share
        their rows with one above them, only that one is drawn.

    Attributes
    ----------
    line_ : matplotlib LineCollection
        The limits.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> d = tn.simulate.demo(1_000)
    >>> display = tn.plot.SegmentsDisplay.from_predictions(d.y_true, d.y_prob,
    ...     by=np.arange(1_000) % 4, seed=0)
    >>> len(display.segments)
    4
    """

    def __init__(self, segments: Segments | Slices) -> None:
        self.segments = segments

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike = None,
        *,
        ax: Panels | None = None,
        **options: Option,
    ) -> Self:
        """Test the segments.

        Parameters
        ----------
        y_true, y_prob : array-like of shape (n,)
            Labels, and their scores; or sums by segment in place of both.
        **options
            `by`, and any other argument of :func:`trueness.segments`.
        """
        from trueness._assess.segments import segments

        return cls(segments(y_true, y_prob, **options))._drawn(ax)

    @classmethod
    def from_slices(
        cls, y_true: ArrayLike, y_prob: ArrayLike, *, ax: Panels | None = None, **options: Option
    ) -> Self:
        """Find the worst slices.

        Parameters
        ----------
        y_true, y_prob : array-like of shape (n,)
            Labels, and their scores.
        **options
            `columns`, and any other argument of :func:`trueness.worst_slices`.
        """
        from trueness._assess.slices import worst_slices

        return cls(worst_slices(y_true, y_prob, **options))._drawn(ax)

    def plot(self, ax: Panels | None = None, *, most: int = 30, numbers: bool = True) -> Self:
        """Draw the segments, the costliest first, or the slices, the most reliable first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure is made, as high as there are lines.
        most : int, default 30
            The most lines to draw.
        numbers : bool, default True
            Whether to write gaps and limits on the right.
        """
        segments = self.segments
        shown = segments.shown[: checked_whole(most, "most")]
        names = [visible(segments.names[i]) for i in shown]
        self._take_axes(ax, size=(7.2, 1.1 + 0.34 * len(names)))
        gap = segments.gap[shown]
        low = segments.gap_low[shown]
        high = segments.gap_high[shown]
        colours = np.where(segments.flagged[shown], SECOND, style_of(0).colour)
        texts = []
        if numbers:
            limits = zip(gap, low, high, strict=True)
            texts = [f"{value:+.3f}  [{a:+.3f}, {b:+.3f}]" for value, a, b in limits]
        is_filled = segments.differs[shown] | ~segments.flagged[shown]
        faces = np.where(is_filled, colours, "none").tolist()
        self.line_ = _draw_forest(self.ax_, names, gap, low, high, colours.tolist(), texts, faces)
        self.ax_.axvline(segments.overall_gap, color=GREY, linewidth=1, linestyle=":")
        self.ax_.set_xlabel(
            f"event rate − mean score, {level_percent(segments.level)} limits for all together"
        )
        return self


# O/E is not drawn beyond this many times the largest ratio that a centre has.
_BEYOND = 2.0
_NEW_CENTRE = "a new centre, at least"


class CentresDisplay(Display):
    """Forest plot: observed/expected events of each centre, of all, and of a new centre.

    Limits are those of each centre by itself. The lines below the centres are orange: the mean over
    centres, and the range in which the true ratio of a new centre lies.

    Parameters
    ----------
    centres : Centres
        What :func:`trueness.centres` found.

    Attributes
    ----------
    line_ : matplotlib LineCollection
        The limits.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> d = tn.simulate.demo(1_000)
    >>> display = tn.plot.CentresDisplay.from_predictions(d.y_true, d.y_prob,
    ...     by=np.arange(1_000) % 4)
    >>> len(display.centres)
    4
    """

    def __init__(self, centres: Centres) -> None:
        self.centres = centres

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_prob: ArrayLike, *, ax: Panels | None = None, **options: Option
    ) -> Self:
        """Compute the table of centres.

        Parameters
        ----------
        y_true, y_prob : array-like of shape (n,)
            Labels, and their scores.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            `by`, and any other argument of :func:`trueness.centres`.
        """
        from trueness.infer import centres

        return cls(centres(y_true, y_prob, **options))._drawn(ax)

    def plot(self, ax: Panels | None = None, *, most: int = 60, numbers: bool = True) -> Self:
        """Draw the centres in the order of the table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure is made, as high as there are lines.
        most : int, default 60
            The most centres to draw: those with the most rows.
        numbers : bool, default True
            Whether to write ratios and limits on the right.
        """
        most = checked_whole(most, "most")
        by_size = sorted(self.centres, key=lambda centre: -centre.n)[:most]
        shown = [centre for centre in self.centres if centre in by_size]
        lines = [
            (centre.centre, centre.ratio, centre.ratio_low, centre.ratio_high) for centre in shown
        ]
        spread = self.centres.heterogeneity.get("observed_expected")
        if spread is not None:
            lines.append(("mean of the centres", spread.mean, spread.low, spread.high))
            ends = (spread.prediction_low, spread.prediction_high)
            lines.append((_NEW_CENTRE, float("nan"), *ends))
        names = [visible(line[0]) for line in lines]
        estimate, low, high = np.array([line[1:] for line in lines]).T
        colours = [style_of(0).colour] * len(shown) + [SECOND] * (len(lines) - len(shown))
        texts = []
        if numbers:
            for value, a, b in zip(estimate, low, high, strict=True):
                limits = f"[{_ratio_text(a)}, {_ratio_text(b)}]"
                texts.append(f"{_ratio_text(value)}  {limits}".strip())
        self._take_axes(ax, size=(7.2, 1.1 + 0.34 * len(names)))
        self.line_ = _draw_forest(self.ax_, names, estimate, low, high, colours, texts, ideal=1)
        finite = estimate[np.isfinite(estimate)]
        largest = max(1.0, float(finite.max(initial=1.0)))
        reached = float(high[np.isfinite(high)].max(initial=1.0))
        self.ax_.set_xlim(0, 1.04 * min(reached, _BEYOND * largest))
        level = level_percent(self.centres.level)
        self.ax_.set_xlabel(f"observed/expected events, {level} limits of each centre by itself")
        return self


def _ratio_text(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.2f}"
