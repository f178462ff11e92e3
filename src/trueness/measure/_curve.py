"""Reliability curves: binned, isotonic, smooth, by splines or loess."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from trueness._input.arguments import checked_word
from trueness._keywords import suggests_keywords
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, score_sums, segment_sums
from trueness._tally.rows_or_sums import as_binned, as_tally, row_options
from trueness._tally.rules import BinsLike, Isotonic, as_rule
from trueness._tally.tally import Binned, Tally, class_of_lines
from trueness.errors import InputError
from trueness.results import Curve
from trueness.results._curves import CURVE_COLUMNS
from trueness.typing import ArrayLike, Bools, Floats, Ints, Kind, Missing, WeightType

if TYPE_CHECKING:
    from trueness.measure._flexible_curve import LoessCurve, SplineCurve

CurveMethod: TypeAlias = Literal["binned", "isotonic", "smooth", "spline", "loess"]
CURVE_METHODS = ("binned", "isotonic", "smooth", "spline", "loess")
PLACES = 512
"""Points of a smooth or flexible curve."""

_Columns: TypeAlias = dict[str, Any]


@suggests_keywords
def reliability_curve(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike | None = None,
    method: CurveMethod = "binned",
    knots: int | None = None,
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
) -> Curve:
    r"""Reliability curve: event rate against predicted probability.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. A :class:`trueness.sources.Binned` suffices for a binned curve only.
    bins : int, sequence of edges or bin rule, optional
        An int means that many bins of equal width on [0, 1]. By default 10; for a binned curve
        only.
    method : {'binned', 'isotonic', 'smooth', 'spline', 'loess'}, default 'binned'
        - 'binned': a point per bin, at its mean score and event rate.
        - 'isotonic': a point per block of the isotonic regression of labels on scores. The curve is
          flat between the smallest and the largest score of a block, and straight between blocks.
        - 'smooth': 512 points, kernel means of scores and labels with the kernel of
          :func:`smooth_ece`.
        - 'spline': logistic regression of the labels on a restricted cubic spline of the log-odds,
          the flexible curve of clinical validation reports.
        - 'loess': local quadratic regression of the labels on the scores (span 0.75), as R computes
          it by default.
    knots : int, optional
        Knots of a spline, 3 to 7; by default 5.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'classwise'.
    labels : sequence, optional
        The classes in column order, if they are not 0 to K−1; for a vector of scores, two classes
        with the positive one last. By default, columns whose names are the classes are matched by
        name. Otherwise the columns are in the order of the categories (of a pandas Categorical,
        Polars Enum or ordered Arrow dictionary, unused categories included) or, without categories,
        in the order of the sorted labels.
    pos_label : optional
        The label that a vector of scores predicts, if labels are not 0/1.
    sample_weight : array-like of shape (n,), optional
        Frequencies or sampling weights (`weight_type`); a weight of 0 leaves the row out.
    weight_type : {'auto', 'frequency', 'importance'}, default 'auto'
        What the weights mean. 'frequency': whole numbers that count rows (a weight of 2 is two
        rows). 'importance': sampling weights in any unit; each row counts once. 'auto' takes whole
        numbers as frequencies, with a warning in functions that infer, and other weights as
        importance.
    missing : {'raise', 'drop'}, default 'raise'
        What to do with rows that have a missing value: raise an error, or drop them with a warning.
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

    Returns
    -------
    Curve
        One row per point, including empty bins (nan). For a matrix, the points of each class follow
        those of the class before.

    Notes
    -----
    The smooth curve is, for :math:`t` in [0, 1] and the kernel :math:`K_\sigma` of
    :func:`smooth_ece`,

    .. math:: x(t) = \frac{\sum_i K_\sigma(t, p_i) \, p_i}{\sum_i K_\sigma(t, p_i)}, \qquad
              y(t) = \frac{\sum_i K_\sigma(t, p_i) \, y_i}{\sum_i K_\sigma(t, p_i)} ,

    so that its distance from the diagonal, averaged over the smoothed scores, is the smooth
    calibration error. It is drawn wherever rows are, and blank at places :math:`t` without a score
    within :math:`\sigma`. Kernels narrower than 0.001 are widened to that.

    The knots of a spline lie at Harrell's percentiles of the log-odds (5 knots: 0.05, 0.275, 0.5,
    0.725, 0.95), equal ones being one knot; beyond them the curve is a straight line in log-odds. A
    spline that separates the labels has no finite estimate: then it has fewer knots, or none (see
    `knots` of the result), and if even a straight line separates them the curve is nan, with a
    warning. Scores of exactly 0 and 1 are left out, with a warning. A loess curve uses all rows and
    may leave [0, 1] a little. Both have up to 512 points from the smallest to the largest score,
    half of them evenly spaced in scores and half in log-odds. For bands around them see
    :func:`trueness.curve_band`; for their distance from the diagonal :func:`ici`.

    References
    ----------
    Dimitriadis, Gneiting, Jordan, "Stable reliability diagrams for probabilistic classifiers",
    Proceedings of the National Academy of Sciences, 2021. Błasiok, Nakkiran, "Smooth ECE:
    principled reliability diagrams via kernel smoothing", 2023. Harrell, "Regression modeling
    strategies", 2015. Cleveland, Devlin, "Locally weighted regression", Journal of the American
    Statistical Association, 1988.

    Examples
    --------
    >>> from trueness.measure import reliability_curve
    >>> curve = reliability_curve([0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.8, 0.9], method="isotonic")
    >>> curve.low_edge.tolist(), curve.high_edge.tolist(), curve.y.tolist()
    ([0.1, 0.2, 0.8], [0.1, 0.3, 0.9], [0.0, 0.5, 1.0])
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
    chosen: Any = checked_word(method, "method", CURVE_METHODS)
    if knots is not None and chosen != "spline":
        raise InputError(
            "knots",
            "is only for `method='spline'`",
            f"the method is {chosen!r}",
            remedy="Leave it out.",
        )
    if chosen != "binned":
        if bins is not None:
            got = f"the method is {chosen!r}"
            raise InputError("bins", "is only for `method='binned'`", got, remedy="Leave it out.")
        tally = as_tally(y_true, y_prob, rows)
        if chosen == "spline" or chosen == "loess":
            return _flexible_curves(tally, chosen, 5 if knots is None else knots)
        return _concatenate([curve_of_cells(part, chosen) for part in tally.parts], tally)
    rule = as_rule(10 if bins is None else bins)
    binned = as_binned(y_true, y_prob, rule, rows)
    return _concatenate([curve_of_bins(part, repr(rule)) for part in binned.parts], binned)


def _flexible_curves(tally: Tally, method: Literal["spline", "loess"], knots: int) -> Curve:
    """The spline or loess curve of each part, joined; where there is none, nan and a warning.

    A part is one binary problem, and `knots` the number of knots of a spline.
    """
    # Loads SciPy, which binned and isotonic curves do not need.
    from trueness.measure._flexible_curve import (
        checked_knots,
        fit_curve,
        warn_certain_scores,
        warn_no_curve,
    )

    knots = checked_knots(knots)
    if method == "spline":
        warn_certain_scores(tally)
    curve = _concatenate(
        [flexible_curve(part, fit_curve(part, method, knots)) for part in tally.parts], tally
    )
    if np.isnan(curve.y).any():
        warn_no_curve()
    return curve


def flexible_curve(cells: Cells, fit: SplineCurve | LoessCurve) -> Curve:
    """The spline or loess curve of one binary problem, at places where `fit` is evaluated.

    A point stands for the rows whose scores are nearer to its place than to others, of those that
    the method can use. Without rows there are no points. A spline that was not fitted has no knots.
    """
    from trueness.measure._flexible_curve import SplineCurve, curve_places, usable_cells

    method: Literal["spline", "loess"] = "spline" if isinstance(fit, SplineCurve) else "loess"
    used = usable_cells(cells, method)
    if isinstance(fit, SplineCurve):
        fitted_knots = (() if fit.fit is None else tuple(fit.fit.knots.tolist()),)
    else:
        fitted_knots = None
    if not cells.size:
        return Curve(**_no_points(cells), method=method, knots=fitted_knots)
    x = curve_places(used if used.size else cells)
    start = np.concatenate([[0], np.searchsorted(used.score, (x[1:] + x[:-1]) / 2), [used.size]])
    return Curve(**_points(x, fit.at(x), x, used, start), method=method, knots=fitted_knots)


def curve_of_cells(cells: Cells, method: Literal["isotonic", "smooth"]) -> Curve:
    """The isotonic or kernel curve of one binary problem; without points if it has no rows.

    An isotonic curve has one point for each block of scores to which isotonic regression gives one
    value: mean score, rate of events, rows, weight, and the smallest and largest score of the block
    as its edges.
    """
    if not cells.size:
        return Curve(
            **_no_points(cells),
            method=method,
            bandwidth=(float("nan"),) if method == "smooth" else None,
        )
    if method == "smooth":
        return _smooth_curve(cells)
    start = Isotonic().group(cells).start
    first = start[:-1]
    weight = segment_sums(cells.weight, first)
    x = score_sums(cells, first) / weight
    y = segment_sums(cells.events, first) / weight
    n = np.asarray(segment_sums(cells.count, first), np.int64)
    return Curve(x, y, n, weight, cells.score[first], cells.score[start[1:] - 1], method="isotonic")


def curve_of_bins(bins: Bins, rule: str) -> Curve:
    """The curve of the bins of one binary problem; `rule` names the bin rule."""
    low = bins.edges[:-1]
    high = bins.edges[1:]
    return Curve(
        bins.score, bins.rate, bins.count, bins.weight, low, high, method="binned", bins=rule
    )


def _smooth_curve(cells: Cells) -> Curve:
    """The kernel curve of one binary problem: mean label against mean score, by Gaussian weights.

    The kernel's width, in `bandwidth`, is the one that smooth ECE chooses. [0, 1] is cut into
    `PLACES` intervals of equal length, with one point for each. `x` and `y` are the kernel means of
    score and label at its middle, which is also its `low_edge` and `high_edge`; `n` and `weight`
    count the rows whose scores lie in the interval. `x` and `y` are nan where no score lies within
    one width of the middle (or half an interval, if that is larger). `KernelMeans` may widen the
    kernel to `_NARROWEST`, which does not change `bandwidth`. There must be at least one cell.
    """
    from trueness._numerics.smooth import (
        KernelMeans,
        smooth_error,
    )  # loads SciPy, which other curves do not need

    _, sigma = smooth_error(cells.score, cells.weight, cells.events)
    means = KernelMeans(cells.score, cells.weight, sigma, PLACES)
    near = rows_near(means.place, cells.score, sigma)
    x, y = (
        np.where(near, values, np.nan) for values in (means.scores(), means.labels(cells.events))
    )
    nearest = np.searchsorted(cells.score, np.arange(PLACES + 1) / PLACES)
    nearest[-1] = cells.size
    return Curve(**_points(x, y, means.place, cells, nearest), method="smooth", bandwidth=(sigma,))


def rows_near(place: Floats, score: Floats, sigma: float) -> Bools:
    """For each place, whether a score lies near enough for the smooth curve to be drawn there.

    `score` ascends. Near means within `sigma`, the width of the kernel, or within half the distance
    between two places, if that is larger.
    """
    after = np.searchsorted(score, place)
    left = score[np.maximum(after - 1, 0)]
    right = score[np.minimum(after, score.size - 1)]
    return np.asarray(
        np.minimum(np.abs(place - left), np.abs(right - place)) <= max(sigma, 0.5 / PLACES)
    )


def _points(x: Floats, y: Floats, place: Floats, cells: Cells, start: Ints) -> _Columns:
    """The columns of a curve with one point per place.

    `x` and `y` are the coordinates, `place` goes into both edges. Point i stands for the cells from
    `start[i]` up to, and without, `start[i + 1]`; their rows and weights are added. If the two are
    equal, both sums are 0.
    """
    filled = start[1:] > start[:-1]
    columns: _Columns = {"x": x, "y": y, "low_edge": place, "high_edge": place}
    for name, values in (("n", cells.count), ("weight", cells.weight)):
        columns[name] = np.zeros(start.size - 1, dtype=values.dtype)
        columns[name][filled] = segment_sums(values, start[:-1][filled])
    return columns


def _no_points(cells: Cells) -> _Columns:
    none = np.zeros(0)
    return _points(none, none, none, cells, np.zeros(1, np.int64))


def _concatenate(parts: list[Curve], sums: Tally | Binned) -> Curve:
    """The curves of all parts, one after the other, with a label for each point."""
    columns: _Columns = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in CURVE_COLUMNS
    }
    widths = tuple(part.bandwidth[0] for part in parts if part.bandwidth is not None)
    knots = tuple(part.knots[0] for part in parts if part.knots is not None)
    label = class_of_lines(sums, map(len, parts))
    return replace(
        parts[0],
        **columns,
        label=label,
        kind=sums.kind,
        bandwidth=widths or None,
        knots=knots or None,
    )
