"""The guarantee of histogram binning by the number of bins, and validity curves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._tally.rows_or_sums import row_options
from trueness._tally.rules import BinsLike
from trueness._text.numbers import level_percent, short_number
from trueness.errors import InputError
from trueness.plot._canvas import (
    GREY,
    Display,
    draw_grid,
    draw_legend,
    ground_of,
    legend_height,
    style_of,
    wrap_name,
)
from trueness.plot._problems import FromEstimator
from trueness.results import GuaranteePlan
from trueness.typing import Kind, Missing, WeightType

if TYPE_CHECKING:
    from trueness.plot._canvas import Panels, Style
    from trueness.results import ValidityCurve, ValidityRuns
    from trueness.typing import ArrayLike, Floats, Ints


_AXES = {
    "conditional": "ε: every bin is this near its rate",
    "marginal": "ε: the bin of a new row is this near its rate",
    "expected-ece": "bound on the expected calibration error",
}

_MOST_POINTS = 10_000


class GuaranteeDisplay(Display):
    """ε of histogram binning against the number of bins, one line per number of rows.

    Parameters
    ----------
    plan : GuaranteePlan
        The numbers.

    Attributes
    ----------
    line_, lines_ : matplotlib Line2D, list of them
        A line per number of rows.
    marks_ : list of matplotlib Line2D
        The chosen bins, of the numbers of rows that have some.
    ax_, figure_ : matplotlib Axes, matplotlib Figure
        The axes, and their figure.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
    splitting", ICML, 2021, Figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> from trueness.plot import GuaranteeDisplay
    >>> from trueness.results import GuaranteePlan
    >>> n, bins, epsilon = np.array([2900]), np.array([5, 10]), np.array([[0.0632, 0.0957]])
    >>> plan = GuaranteePlan(n, bins, epsilon, np.array([10]), 0.1, "conditional", "umd",
    ...     "hoeffding")
    >>> GuaranteeDisplay(plan).plan.chosen_epsilon(0)
    0.0957
    """

    def __init__(self, plan: GuaranteePlan) -> None:
        self.plan = plan

    @classmethod
    def from_sizes(
        cls,
        n: int | Iterable[int],
        n_bins: Iterable[int] = range(2, 51),
        *,
        chosen: int | Mapping[int, int] | None = None,
        wanted: float | None = None,
        alpha: float = 0.1,
        kind: Literal["conditional", "marginal", "expected-ece"] = "conditional",
        scheme: str = "umd",
        bound: str = "hoeffding",
        ax: Panels | None = None,
    ) -> Self:
        """Compute the guarantees for the given numbers of rows.

        Parameters
        ----------
        n : int or sequence of int
            Rows to fit on.
        n_bins : sequence of int, default 2 to 50
            Bins.
        chosen : int, or mapping of rows to bins, optional
            The bins to mark.
        wanted : float, optional
            Instead of `chosen`: mark the largest number of bins with ε at most this.
        alpha : float, default 0.1
            Probability with which the guarantee may fail.
        kind : {'conditional', 'marginal', 'expected-ece'}, default 'conditional'
            What is bounded: the error of every bin at once, that of the bin of a new row, or the
            expected calibration error.
        scheme : str, default 'umd'
            How histogram binning chooses and fills its bins: 'umd', 'randomized', 'original',
            'split' or 'fixed-width'.
        bound : {'hoeffding', 'exact'}, default 'hoeffding'
            Hoeffding's inequality, as published, or the binomial distribution: smaller and equally
            valid.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        from trueness import recalibrate

        lower: Any = recalibrate
        options = {"alpha": alpha, "kind": kind, "scheme": scheme, "bound": bound}
        rows = _checked_sizes(n, "n", 4)
        bins = _checked_sizes(n_bins, "n_bins", 1)
        if rows.size * bins.size > _MOST_POINTS:
            demand = (
                f"must have at most {_MOST_POINTS // rows.size:,} values for {rows.size:,} "
                "numbers of rows"
            )
            raise InputError("n_bins", demand, f"got {bins.size:,}")
        if chosen is not None and wanted is not None:
            raise InputError(
                "", "`chosen` and `wanted` both choose the bins to mark", remedy="Leave one out."
            )
        epsilon = np.full((rows.size, bins.size), np.nan)
        for i, n_rows in enumerate(rows.tolist()):
            for j, size in enumerate(bins.tolist()):
                if n_rows >= 2 * size:
                    epsilon[i, j] = lower.epsilon(n_rows, size, **options)
        marked = _marked_bins(rows, bins, epsilon, chosen, wanted)
        plan = GuaranteePlan(rows, bins, epsilon, marked, alpha, kind, scheme, bound)
        return cls(plan)._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the lines on `ax` or on a new figure, and return the display."""
        self._take_axes(ax, size=(6.2, 4.4))
        plan = self.plan
        self.marks_ = list[Any]()
        for i, n in enumerate(plan.n):
            style = style_of(i)
            mark = plan.chosen_epsilon(i)
            chosen = ""
            if np.isfinite(mark):
                chosen = f": B = {plan.chosen[i]}, ε = {short_number(mark)}"
                self.marks_ += self.ax_.plot(
                    plan.chosen[i],
                    mark,
                    clip_on=False,
                    marker=style.marker,
                    color=style.colour,
                    markersize=8,
                    zorder=4,
                )
            self.lines_ += self.ax_.plot(
                plan.n_bins,
                plan.epsilon[i],
                color=style.colour,
                linestyle=style.dashes,
                label=f"n = {n:,}{chosen}",
            )
        self.line_ = self.lines_[0]
        highest = float(np.nanmax(np.minimum(plan.epsilon, 1.0), initial=0.0)) or 1.0
        self.ax_.set(xlabel="bins B", ylabel=_AXES[plan.kind], ylim=(0, 1.05 * highest))
        draw_grid(self.ax_)
        if plan.kind == "expected-ece":
            confidence = ""
        else:
            confidence = f", with probability {level_percent(1 - plan.alpha)}"
        title = f"scheme {plan.scheme}, bound {plan.bound}{confidence}"
        self.ax_.set_title(title, fontsize=10, loc="left", parse_math=False)
        self.ax_.legend(fontsize=9, handlelength=3, framealpha=0.6)
        return self


def _checked_sizes(values: ArrayLike, name: str, least: int) -> Ints:
    """Whole numbers in ascending order, each once; too small or too many are an error."""
    if isinstance(values, Iterable):
        values = list(islice(values, _MOST_POINTS + 1))
        if len(values) > _MOST_POINTS:
            raise InputError(name, f"must have at most {_MOST_POINTS:,} values", "got more")
    sizes = np.atleast_1d(np.asarray(values))
    if sizes.size == 0 or sizes.dtype.kind not in "iu" or sizes.min() < least:
        raise InputError(name, f"must be whole numbers ≥ {least}", f"got {values!r}")
    return np.unique(sizes.astype(np.int64))


def _marked_bins(
    rows: Ints, bins: Ints, epsilon: Floats, chosen: object, wanted: float | None
) -> Ints:
    """The number of bins to mark for each number of rows; 0 for none.

    With `wanted`, the most bins whose ε is at most that; else those that were `chosen`, for all
    rows or by row, which must be among the computed ones.
    """
    if wanted is not None:
        meets = [bins[np.flatnonzero(line <= wanted)] for line in epsilon]
        return np.array([count[-1] if count.size else 0 for count in meets])
    if chosen is None:
        return np.zeros(rows.size, dtype=np.int64)
    of_rows = {int(n): chosen for n in rows} if not isinstance(chosen, Mapping) else dict(chosen)
    for n, b in of_rows.items():
        if n not in rows or b not in bins:
            raise InputError(
                "chosen",
                "must be among `n_bins`, for rows among `n`",
                f"got {b!r} bins for {n!r} rows",
            )
    return np.array([of_rows.get(int(n), 0) for n in rows], dtype=np.int64)


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
    ax_, axes_, figure_ : matplotlib Axes, list of them, matplotlib Figure
        The panel, and its figure.

    References
    ----------
    Gupta, Ramdas, "Distribution-free calibration guarantees for histogram binning without sample
    splitting", ICML, 2021, Figures 1 and 3 to 6.
    """

    def __init__(
        self,
        curves: Mapping[str, Any],
        *,
        level: float = 0.9,
        theory: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        """Keep the curves by name, at least one, the level to read off, and the theory if any."""
        if not curves:
            raise InputError("curves", "must hold at least one curve", "got none")
        if (
            isinstance(level, bool)
            or not isinstance(level, int | float | np.floating)
            or not 0 < level <= 1
        ):
            raise InputError("level", "must lie above 0 and be at most 1", f"got {level!r}")
        self.curves = dict(curves)
        self.level = float(level)
        self.theory = (
            None if theory is None else tuple(np.asarray(column, np.float64) for column in theory)
        )

    @classmethod
    @suggests_keywords
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike | None = None,
        *,
        bins: BinsLike | None = None,
        level: float = 0.9,
        promise: tuple[int, int] | None = None,
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
        """Compute the validity curve of predictions on rows that no method was fitted on.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels of rows that were used neither for the classifier nor for the calibrator.
        y_prob : array-like of shape (n,) or (n, K), or mapping of names to such
            Predictions with few distinct values, as after binning; a mapping draws one curve per
            method.
        bins : int, sequence of edges or bin rule, optional
            By default every distinct value is judged separately. Predictions that are nearly all
            distinct need bins.
        level : float, default 0.9
            The share at which ε is marked.
        promise : tuple of int, optional
            The rows and bins that histogram binning was fitted with, to draw its guarantee.
        name : str, optional
            The method.
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
        from trueness.recalibrate import epsilon, validity_curve

        models = y_prob if isinstance(y_prob, Mapping) else {"" if name is None else name: y_prob}
        curves = {
            str(key): validity_curve(y_true, p, bins=bins, **rows) for key, p in models.items()
        }
        share = np.linspace(0.01, 0.995, 100)
        theory = None
        if promise is not None:
            theory = [epsilon(*promise, alpha=float(1 - s), kind="marginal") for s in share], share
        return cls(curves, level=level, theory=theory)._drawn(ax)

    def plot(self, ax: Panels | None = None) -> Self:
        """Draw the curves on `ax` or on a new figure, and return the display."""
        alone = len(self.curves) == 1
        texts = [wrap_name(name, 44) for name in self.curves]
        read = [_tolerance(curve, self.level) for curve in self.curves.values()]
        at_level = f" at {level_percent(self.level)}"
        if not alone:
            texts = [
                f"{text}: ε = {short_number(e)}{at_level}"
                for text, e in zip(texts, read, strict=True)
            ]
        is_new = self._take_axes(ax, size=(5.8, 4.4 + legend_height(texts)))
        right = self._right()
        for i, (name, e) in enumerate(zip(self.curves, read, strict=True)):
            self._draw_curve(name, style_of(i), right, e)
        self.line_ = self.lines_[0]
        named = [(line, text) for line, text in zip(self.lines_, texts, strict=True) if text]
        if self.theory is not None:
            promise = "promised by theorem"
            (line,) = self.ax_.plot(
                *self.theory, color=GREY, linewidth=1.6, linestyle=(0, (1, 1)), label=promise
            )
            named.append((line, promise))
        self.ax_.axhline(self.level, color=GREY, linewidth=0.8)
        self.ax_.set(
            xlim=(0, right),
            ylim=(-0.02, 1.03),
            xlabel="tolerance ε",
            ylabel="share of predictions within ε",
        )
        self.ax_.locator_params(axis="x", nbins=5)
        draw_grid(self.ax_)
        if alone and np.isfinite(read[0]):
            self._annotate(read[0], right=read[0] > right / 2)
        if named:
            handles, names = zip(*named, strict=True)
            outside = is_new and not alone
            draw_legend(
                self.ax_, handles, names, outside=outside, framealpha=0.6, loc="lower right"
            )
        return self

    def _draw_curve(self, name: str, style: Style, right: float, read: float) -> None:
        """Draw a curve as steps, and lines to where it reaches the level, if it does."""
        jumps = self.curves[name].jumps
        share = self.curves[name].share
        x = [0.0, *jumps, max(right, float(jumps[-1]))]
        y = [0.0, *share, share[-1]]
        look: dict[str, Any] = {
            "color": style.colour,
            "linestyle": style.dashes,
            "linewidth": 1.6,
            "zorder": 3,
        }
        self.lines_ += self.ax_.step(x, y, where="post", label=name or "_", **look)
        if np.isfinite(read):
            self.ax_.plot(
                [read, read],
                [0, self.level],
                color=style.colour,
                linewidth=0.8,
                linestyle=(0, (2, 2)),
            )
            self.ax_.plot(
                read, self.level, marker=style.marker, color=style.colour, markersize=6, zorder=4
            )

    def _right(self) -> float:
        """The right end of the axis, just beyond where the curves and the theory end, nearly."""
        ends = [_tolerance(curve, 0.995) for curve in self.curves.values()]
        if self.theory is not None:
            tolerance, share = self.theory
            place = np.searchsorted(share, 0.95).clip(0, tolerance.size - 1)
            ends.append(float(tolerance[place]))
        farthest = max([0.02, *filter(np.isfinite, ends)])
        return min(1.0, 1.15 * farthest)

    def _annotate(self, read: float, *, right: bool) -> None:
        """Write what the marked point means beside it, on its right or left."""
        text = (
            f"for {level_percent(self.level)} of predictions\nthe miscalibration is at most "
            f"{short_number(read)}"
        )
        self.ax_.annotate(
            text,
            (read, self.level),
            xytext=(-10 if right else 10, -14),
            textcoords="offset points",
            va="top",
            ha="right" if right else "left",
            fontsize=9,
            bbox=ground_of(self.ax_),
            zorder=5,
        )


def _tolerance(curve: ValidityCurve | ValidityRuns, level: float) -> float:
    """The smallest tolerance whose share is at least `level`; nan if there is none."""
    meets = np.flatnonzero(curve.share >= level - 1e-12)
    if meets.size:
        return float(curve.jumps[meets[0]])
    return float("nan")
