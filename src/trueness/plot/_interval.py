"""Intervals of many models, classes or groups."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from trueness._input.columns import column, is_missing
from trueness._input.sample import refuse_shuffled_index
from trueness._tally.rows_or_sums import sample_and_kind, takes_rows
from trueness._tally.tally import Tally
from trueness._text.numbers import short_number
from trueness.errors import InputError, TruenessWarning
from trueness.plot._canvas import GREY, axes_for, short, style_of
from trueness.plot._models import problems, scores_of, tallies

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection

    from trueness.results import Interval
    from trueness.typing import ArrayLike, Bools, Ints, RowOptions

__all__ = ["IntervalDisplay"]


class IntervalDisplay:
    """Forest plot: the l2 calibration error of many models, classes or groups, with its confidence set.

    A line is the continuous part of the set; a hollow marker at zero says that zero belongs to it.

    Parameters
    ----------
    intervals : mapping of names to Interval
        One line each, from the top, all of one level. Sets for the squared error among others are drawn as their
        roots.

    Attributes
    ----------
    line_ : matplotlib LineCollection
        The intervals.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> from trueness import simulate
    >>> from trueness.plot import IntervalDisplay
    >>> d = simulate.binary(500, distortion=simulate.Logit(slope=0.5), seed=1)
    >>> display = IntervalDisplay.from_predictions(d.y_true, {"a": d.y_prob, "b": d.y_prob / 2})
    >>> {name: found.includes_zero for name, found in display.intervals.items()}
    {'a': False, 'b': False}
    """

    line_: LineCollection
    ax_: Axes
    figure_: Any

    def __init__(self, intervals: Mapping[str, Interval]) -> None:
        if not intervals:
            raise InputError("intervals", "must hold at least one interval", "got none")
        self.intervals = _alike(intervals)

    @classmethod
    @takes_rows
    def from_predictions(
        cls,
        y_true: ArrayLike | Tally,
        y_prob: ArrayLike | None = None,
        *,
        by: ArrayLike | None = None,
        level: float = 0.9,
        seed: int | np.random.Generator | None = 0,
        classes: Any = None,
        name: str | None = None,
        **rows: Unpack[RowOptions],
    ) -> Self:
        """An interval per model, class and group.

        Parameters
        ----------
        y_true, y_prob
            As for :meth:`ReliabilityDisplay.from_predictions`; several models may be given. A matrix gives an interval
            per class (``kind="confidence"``: one).
        by : array-like of shape (n,), optional
            A group for each row; rows of each get an interval of their own.
        level, seed
            As for :func:`trueness.ece_interval`, with the method 'score'.
        classes : optional
            Which classes of a matrix to show.
        name : str, optional
            The model.
        **rows
            As for :func:`trueness.ece`.

        Returns
        -------
        IntervalDisplay
        """
        from trueness.infer import ece_interval

        parts = {"": (y_true, y_prob, rows)} if by is None else _groups(y_true, y_prob, by, rows)
        found: dict[str, Interval] = {}
        for group, (y, p, options) in parts.items():
            every = problems(tallies(y, p, name, options), classes)
            for problem in every:
                if not problem.cells.exact:
                    raise InputError(
                        "sample_weight",
                        "must be whole numbers that sum to less than 2³⁵ for `IntervalDisplay.from_predictions`, "
                        "which counts rows",
                        "others need `ece_interval(…, weight_type='importance')`, drawn by `IntervalDisplay({name: "
                        "interval})`",
                    )
                words = [problem.name, "" if problem.label is None else f"class {problem.label}", group]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", TruenessWarning)
                    found[" · ".join(filter(None, words)) or "all rows"] = ece_interval(
                        problem.tally, level=level, seed=seed
                    )
        return cls(found)

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike, **options: Any) -> Self:
        """The intervals of a fitted scikit-learn classifier; options as for :meth:`from_predictions`."""
        y_prob, options = scores_of(estimator, X, options)
        return cls.from_predictions(y, y_prob, **({"name": type(estimator).__name__} | options))

    def plot(self, ax: Any = None, *, numbers: bool = True) -> Self:
        """Draw the intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; without it a new figure is made, as high as there are lines.
        numbers : bool, default True
            Whether to write estimates and sets on the right.

        Returns
        -------
        IntervalDisplay
            The display itself.
        """
        names, found = list(self.intervals), list(self.intervals.values())
        (panel,), _ = axes_for(type(self).__name__, ax, size=(7.2, 1.1 + 0.34 * len(names)))
        self.ax_, self.figure_ = panel, panel.figure
        at = np.arange(len(names))
        estimate, low, high = (np.array([getattr(f, c) for f in found]) for c in ("estimate", "low", "high"))
        style = style_of(0)
        self.line_ = panel.hlines(at, low, high, color=style.colour, linewidth=2.2, zorder=3)
        panel.scatter(estimate, at, s=34, color=style.colour, zorder=4)
        zero = np.array([f.includes_zero for f in found])
        panel.scatter(
            np.zeros(zero.sum()), at[zero], s=34, facecolors="none", edgecolors=style.colour, zorder=4, clip_on=False
        )
        panel.axvline(0, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        panel.set_yticks(at, [short(name, 36, 2) for name in names], fontsize=9, parse_math=False)
        least = min(0.0, float(low.min()), float(estimate.min()))
        most = max(float(high.max()), float(estimate.max()), 1e-6)
        panel.set(ylim=(len(names) - 0.5, -0.5), xlim=(least - 0.02 * (most - least), most + 0.04 * (most - least)))
        panel.grid(axis="x", color=GREY, alpha=0.2, linewidth=0.6)
        panel.set_xlabel(self._axis())
        if numbers:
            self._numbers(panel, found)
        for side in ("top", "right", "left"):
            panel.spines[side].set_visible(False)
        panel.tick_params(axis="y", length=0)
        return self

    def _axis(self) -> str:
        first = next(iter(self.intervals.values()))
        what = "squared l2 calibration error" if first.squared else "l2 calibration error"
        return f"{what}, {100 * first.level:g} % confidence set"

    def _numbers(self, ax: Axes, found: list[Interval]) -> None:
        for i, interval in enumerate(found):
            ends = f"{'[' if interval.low_closed else '('}{short_number(interval.low)}, {short_number(interval.high)}]"
            said = "{0}" if interval.high == 0 else ends if interval.is_interval else f"{{0}} ∪ {ends}"
            ax.annotate(
                f"{short_number(interval.estimate)}  {said}",
                (1.02, i),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8,
                annotation_clip=False,
            )


def _alike(intervals: Mapping[str, Interval]) -> dict[str, Interval]:
    """Intervals that one axis can show."""
    levels = sorted({found.level for found in intervals.values()})
    if len(levels) > 1:
        raise InputError("intervals", "must have one level", f"got {', '.join(f'{level:g}' for level in levels)}")
    if len({found.squared for found in intervals.values()}) > 1:
        return {name: found.root() for name, found in intervals.items()}
    return dict(intervals)


def _groups(y_true: Any, y_prob: Any, by: Any, rows: RowOptions) -> dict[str, tuple[Any, Any, RowOptions]]:
    """The rows of each group, in the order of the sorted names."""
    if isinstance(y_true, Tally | Mapping):
        raise InputError(
            "by", "needs rows", "a Tally has none", remedy="Pass a mapping of group names to tallies instead."
        )
    refuse_shuffled_index(y_true, {"by": by})
    n = column(y_true, "y_true").values.shape[0]
    names, code = _named_groups(by, n)
    several = isinstance(y_prob, Mapping)
    models = y_prob if several else {"": y_prob}
    options: RowOptions = {**rows}
    for scores in models.values():
        sample, _ = sample_and_kind(y_true, scores, rows)  # what is wrong with the rows is said of all of them
        if sample.classes is not None:  # a group may lack a class
            options["labels"] = list(sample.classes)
    found = {}
    for i, name in enumerate(names):
        own = code == i
        p = {key: _rows_of(scores, "y_prob", own) for key, scores in models.items()}
        if rows.get("sample_weight") is not None:
            options["sample_weight"] = _rows_of(rows["sample_weight"], "sample_weight", own)
        found[name] = (_rows_of(y_true, "y_true", own), p if several else p[""], options.copy())
    return found


def _named_groups(by: Any, n: int) -> tuple[list[str], Ints]:
    """Names of the groups, sorted, and the group of each row."""
    given = column(by, "by")
    if given.values.shape != (n,):
        raise InputError("by", "must have one entry per row", f"got shape {given.values.shape} for {n:,} rows")
    missing = given.missing
    if missing is None and given.values.dtype.kind in "fOmM":
        missing = np.array([is_missing(entry) for entry in given.values.tolist()], dtype=bool)
    if missing is not None and missing.any():
        count = int(missing.sum())
        raise InputError(
            "by",
            "must name a group for every row",
            f"{count:,} of {n:,} rows have none, the first is row {int(missing.argmax())}",
        )
    try:
        names, code = np.unique(given.values, return_inverse=True)
    except TypeError:  # names of several types have no order
        names, code = np.unique(given.values.astype(str), return_inverse=True)
    return [str(name) for name in names.tolist()], code.reshape(-1)


def _rows_of(given: Any, name: str, own: Bools) -> Any:
    found = column(given, name)
    values = found.values[own]
    if found.missing is None:
        return values
    gone = found.missing[own]
    return np.ma.array(values, mask=gone if values.ndim == 1 else np.repeat(gone[:, None], values.shape[1], axis=1))
