"""Errors without bins: the smooth ECE.

And ICI, E50, E90 and Emax, distances of a spline or loess from the diagonal.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from trueness._input.arguments import checked_word
from trueness._keywords import suggests_keywords
from trueness._numerics.averages import weighted_quantiles
from trueness._numerics.loess import Loess, loess
from trueness._numerics.logistic import logits
from trueness._numerics.smooth import Residuals, smooth_errors
from trueness._numerics.splines import PERCENTILES, SplineFit, fit_spline
from trueness._tally.cells import Cells, pool_cells
from trueness._tally.row_sums import UnsortedRows
from trueness._tally.rows_or_sums import as_rows_or_cells, as_tally, row_options
from trueness._tally.tally import Parts, Tally
from trueness.errors import CertainScoresWarning, InputError, NoEstimateWarning, warn
from trueness.measure._slope import inside_cells, left_out
from trueness.typing import ArrayLike, Floats, Kind, Missing, Numbers, RowOptions, WeightType

FlexibleMethod: TypeAlias = Literal["spline", "loess"]
METHODS = ("spline", "loess")

# More distinct scores than this are pooled to about 4,096 cells; the outermost at either end stay
# cells of their own.
_MANY = 2**15
_POOLS = 4096
_ENDS = 256
_PLACES = 512


@suggests_keywords
def ici(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    curve: FlexibleMethod = "spline",
    knots: int = 5,
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
) -> float:
    r"""Integrated calibration index: mean distance of a flexible curve from the diagonal.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    curve : {'spline', 'loess'}, default 'spline'
        'spline': logistic regression on a restricted cubic spline of the log-odds. 'loess': local
        quadratic regression.
    knots : int, default 5
        Knots of a spline, 3 to 7.
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
    float
        Between 0 and 1, in units of probability. nan, with a warning, if the curve has no finite
        estimate.

    Notes
    -----
    With :math:`c` the curve, over the rows,

    .. math:: \mathrm{ICI} = \frac1n \sum_i |c(p_i) - p_i| ;

    :func:`trueness.measure.e50`, :func:`trueness.measure.e90` and :func:`trueness.measure.emax` are
    the median, the 0.9 quantile and the maximum of the same distances. All are biased upwards: a
    calibrated model scores above zero (see :func:`trueness.noise_floor`).

    Splines leave out scores of exactly 0 and 1, with a warning; loess uses all rows, and its curve
    may leave [0, 1] a little. Both agree with R (``rms::lrm`` on ``rcs(logit(p), 5)``; ``loess``
    with its defaults). The ``Eavg``, ``E90`` and ``Emax`` of R's ``rms::val.prob`` belong to
    another curve, ``lowess`` without robustness steps, and differ: on one data set its Emax is
    0.187 where that of loess is 0.319.

    With more than 32,768 distinct scores, neighbours are pooled to about 4,096 cells; the outermost
    are not.

    References
    ----------
    Austin, Steyerberg, "The Integrated Calibration Index (ICI) and related metrics for quantifying
    the calibration of logistic regression models", Statistics in Medicine, 2019. Harrell,
    "Regression modeling strategies", 2015.

    Examples
    --------
    Scores of 0.2 and 0.6; one of four and three of four events.

    >>> import trueness as tn
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.2] * 4 + [0.6] * 4
    >>> round(tn.ici(y, p), 6), round(tn.measure.emax(y, p), 6)
    (0.1, 0.15)
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
    return _error(y_true, y_prob, curve, knots, rows, 0)


@suggests_keywords
def e50(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    curve: FlexibleMethod = "spline",
    knots: int = 5,
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
) -> float:
    """Median distance between a flexible calibration curve and the diagonal.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    curve : {'spline', 'loess'}, default 'spline'
        'spline': logistic regression on a restricted cubic spline of the log-odds. 'loess': local
        quadratic regression.
    knots : int, default 5
        Knots of the spline, 3 to 7.
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
    float
        Between 0 and 1, in units of probability. nan, with a warning, if the curve has no finite
        estimate.

    References
    ----------
    Austin, Steyerberg, "The Integrated Calibration Index (ICI) and related metrics for quantifying
    the calibration of logistic regression models", Statistics in Medicine, 2019. Harrell,
    "Regression modeling strategies", 2015.

    Examples
    --------
    >>> import trueness as tn
    >>> round(tn.measure.e50([0, 0, 0, 1, 0, 1, 1, 1], [0.2] * 4 + [0.6] * 4), 6)
    0.1
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
    return _error(y_true, y_prob, curve, knots, rows, 1)


@suggests_keywords
def e90(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    curve: FlexibleMethod = "spline",
    knots: int = 5,
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
) -> float:
    """90 % quantile of the distance between a flexible calibration curve and the diagonal.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    curve : {'spline', 'loess'}, default 'spline'
        'spline': logistic regression on a restricted cubic spline of the log-odds. 'loess': local
        quadratic regression.
    knots : int, default 5
        Knots of the spline, 3 to 7.
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
    float
        Between 0 and 1, in units of probability. nan, with a warning, if the curve has no finite
        estimate.

    References
    ----------
    Austin, Steyerberg, "The Integrated Calibration Index (ICI) and related metrics for quantifying
    the calibration of logistic regression models", Statistics in Medicine, 2019. Harrell,
    "Regression modeling strategies", 2015.

    Examples
    --------
    >>> import trueness as tn
    >>> round(tn.measure.e90([0, 0, 0, 1, 0, 1, 1, 1], [0.2] * 4 + [0.6] * 4), 6)
    0.15
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
    return _error(y_true, y_prob, curve, knots, rows, 2)


@suggests_keywords
def emax(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    curve: FlexibleMethod = "spline",
    knots: int = 5,
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
) -> float:
    """Largest distance between a flexible calibration curve and the diagonal, at any score.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    curve : {'spline', 'loess'}, default 'spline'
        'spline': logistic regression on a restricted cubic spline of the log-odds. 'loess': local
        quadratic regression.
    knots : int, default 5
        Knots of the spline, 3 to 7.
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
    float
        Between 0 and 1, in units of probability. nan, with a warning, if the curve has no finite
        estimate.

    References
    ----------
    Austin, Steyerberg, "The Integrated Calibration Index (ICI) and related metrics for quantifying
    the calibration of logistic regression models", Statistics in Medicine, 2019. Harrell,
    "Regression modeling strategies", 2015.

    Examples
    --------
    >>> import trueness as tn
    >>> round(tn.measure.emax([0, 0, 0, 1, 0, 1, 1, 1], [0.2] * 4 + [0.6] * 4), 6)
    0.15
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
    return _error(y_true, y_prob, curve, knots, rows, 3)


def _error(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None,
    curve: FlexibleMethod,
    knots: int,
    rows: RowOptions,
    which: int,
) -> float:
    """One of the distances between scores and a flexible curve, averaged over the parts.

    A part is one binary problem, and `curve` is "spline" or "loess". `which` is the place of the
    distance in the result of `distances`. Where there is no curve, nan and a warning.
    """
    checked_word(curve, "curve", METHODS)
    checked_knots(knots)
    tally = as_tally(y_true, y_prob, rows)
    if curve == "spline":
        warn_certain_scores(tally)
    value = float(
        tally.average(lambda cells: float(distances(fit_curve(cells, curve, knots))[which]))
    )
    if math.isnan(value):
        warn_no_curve()
    return value


def checked_knots(knots: int) -> int:
    """The number of knots, or an error."""
    if (
        isinstance(knots, bool)
        or not isinstance(knots, int | np.integer)
        or knots not in PERCENTILES
    ):
        raise InputError("knots", "must be a whole number from 3 to 7", f"got {knots!r}")
    return int(knots)


def warn_certain_scores(tally: Tally) -> None:
    """Count the scores of exactly 0 and 1, which splines leave out."""
    parts = [inside_cells(part) for part in tally.parts]
    certain = sum(part.certain_weight for part in parts)
    if certain:
        total = sum(float(part.totals.weight) for part in tally.parts)
        wrong = sum(part.wrong for part in parts)
        counted = all(part.whole for part in tally.parts)
        rest = "`'loess'` uses all rows."
        sentence = left_out(total, certain, wrong, "The spline leaves", rest, counted=counted)
        warn(sentence, CertainScoresWarning)


def warn_no_curve() -> None:
    """Say that there is no curve."""
    warn("The curve has no finite estimate on these rows; returning nan.", NoEstimateWarning)


@dataclass(frozen=True)
class SplineCurve:
    """A calibration curve by splines of the log-odds."""

    cells: Cells
    """The rows it was fitted to, perhaps pooled: those with scores strictly between 0 and 1."""
    fit: SplineFit | None
    """None if there is no finite estimate."""

    def at(self, score: Floats) -> Floats:
        """The curve; nan at scores of 0 and 1, and everywhere if there is no fit."""
        rate = np.full(score.size, np.nan)
        if self.fit is not None:
            inside = (score > 0) & (score < 1)
            rate[inside] = self.fit.probability(logits(score[inside]))
        return rate


@dataclass(frozen=True)
class LoessCurve:
    """A calibration curve by loess."""

    cells: Cells
    """The rows it was fitted to, perhaps pooled."""
    smoother: Loess | None
    """None if there are no rows."""

    def at(self, score: Floats) -> Floats:
        """The curve; nan beyond the scores."""
        if self.smoother is None:
            return np.full(score.size, np.nan)
        return np.asarray(
            self.smoother.design(score) @ (self.smoother.operator @ self.cells.events)
        )


def usable_cells(cells: Cells, curve: FlexibleMethod) -> Cells:
    """The rows that a curve is fitted to: all, but splines leave out scores of 0 and 1."""
    if curve == "loess":
        return cells
    return inside_cells(cells).cells


def fit_curve(cells: Cells, curve: FlexibleMethod, knots: int = 5) -> SplineCurve | LoessCurve:
    """The spline or loess curve of one binary problem, fitted to its labels.

    Cells that the method cannot use are left out, and many cells are pooled to fewer. `knots` is
    the number of knots of a spline. If no cell is left, the result has no fit.
    """
    used = usable_cells(cells, curve)
    pooled = few_cells(used)
    if curve == "loess":
        return LoessCurve(pooled, loess(pooled.score, pooled.weight) if pooled.size else None)
    if not pooled.size:
        return SplineCurve(pooled, None)
    return SplineCurve(
        pooled,
        fit_spline(
            logits(pooled.score), pooled.weight, pooled.events, knot_candidates(used, knots)
        ),
    )


def knot_candidates(cells: Cells, number: int) -> Iterator[Floats]:
    """Harrell's percentiles of the log-odds, then fewer of them; equal ones are one knot."""
    for fewer in range(number, 2, -1):
        yield np.unique(weighted_quantiles(cells.score, cells.weight, PERCENTILES[fewer], logits))


def few_cells(cells: Cells) -> Cells:
    """The cells, pooled if they are many."""
    if cells.size <= _MANY:
        return cells
    return pool_cells(cells, _POOLS - 2 * _ENDS, ends=_ENDS)


def curve_places(cells: Cells) -> Floats:
    """The scores at which a curve is drawn, at most 512, from the lowest score to the highest.

    Half of them are evenly spaced, half are so in log-odds. If all scores are equal there is one.
    """
    low = cells.score[0]
    high = cells.score[-1]
    inside = inside_cells(cells).cells.score
    if low == high:
        return cells.score[:1]
    places = [np.linspace(low, high, _PLACES // 2 + 2)]
    if inside.size:
        first, last = logits(inside[[0, -1]])
        log_odds = np.linspace(first, last, _PLACES // 2)[1:-1]
        places.append(np.exp(-np.logaddexp(0, -log_odds)))
    return np.asarray(np.clip(np.unique(np.concatenate(places)), low, high))


def distances(curve: SplineCurve | LoessCurve) -> Floats:
    """ICI, E50, E90 and Emax; nan if there is no curve."""
    cells = curve.cells
    if not cells.size:
        return np.full(4, np.nan)
    return distance_summary(np.abs(curve.at(cells.score) - cells.score), cells.weight)


def distance_summary(
    distance: Floats, weight: Numbers, shares: Sequence[float] = (0.5, 0.9, 1.0)
) -> Floats:
    """The mean of distances and their quantiles."""
    order = np.argsort(distance)
    mean = float(distance @ weight) / float(weight.sum())
    return np.array([mean, *weighted_quantiles(distance[order], weight[order], shares)])


@suggests_keywords
def smooth_ece(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
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
) -> float:
    r"""Smooth calibration error: the residuals are smoothed by a Gaussian kernel instead of binned.

    The data choose the width of the kernel: it equals the error itself.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
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
    float
        Between 0 and 1, in units of probability; accurate to 1e-6.

    Notes
    -----
    .. math:: \mathrm{smECE}_\sigma = \int_0^1
        \Big| \frac1n \sum_i K_\sigma(t, p_i) (y_i - p_i) \Big| \, dt

    with the Gaussian kernel reflected at 0 and 1, at the :math:`\sigma` for which
    :math:`\mathrm{smECE}_\sigma = \sigma`. It is unique, because the left side falls in
    :math:`\sigma`.

    References
    ----------
    Błasiok, Nakkiran, "Smooth ECE: principled reliability diagrams via kernel smoothing", 2023.

    Examples
    --------
    >>> import trueness as tn
    >>> import warnings; warnings.simplefilter("ignore", tn.errors.OneClassWarning)
    >>> round(tn.smooth_ece([0, 0, 0], [0.95, 0.95, 0.95]), 6)
    0.95
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
    return smooth_ece_of_tallies([as_rows_or_cells(y_true, y_prob, rows)])[0]


def smooth_ece_of_tallies(tallies: Sequence[Parts[UnsortedRows] | Tally]) -> list[float]:
    """:func:`smooth_ece` of each tally, taken together."""
    parts = [part for tally in tallies for part in tally.parts if part.score.size]
    errors = smooth_errors([Residuals(part.score, part.weight, part.events) for part in parts])
    values = {id(part): error for part, (error, _) in zip(parts, errors, strict=True)}
    return [tally.average(lambda part: values[id(part)]) for tally in tallies]
