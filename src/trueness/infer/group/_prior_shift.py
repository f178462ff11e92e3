"""Prior shift: whether one factor on the odds explains the miscalibration, and how large it is."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._level import checked_level
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import row_options
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.infer.limits._limits import Limits
from trueness.infer.limits._slope import shift_limits, slope_limits
from trueness.measure._slope import InsideCells, inside_cells
from trueness.results import Estimate, PriorShift
from trueness.typing import ArrayLike, Kind, Missing, WeightType


@suggests_keywords
def prior_shift(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
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
) -> PriorShift:
    r"""Whether one class seems to have been weighted or re-sampled, and by what factor.

    Weighting positives w-fold, or keeping one in w negatives, multiplies the odds of a model by w
    and leaves their ratios alone. Such a shift can be distinguished from other errors;
    :func:`trueness.recalibrate.prior_correction` undoes it.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or a :class:`trueness.Tally` in place of both. A matrix must have two columns, of
        which the second is the score.
    level : float, default 0.95
        Confidence level of all limits.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
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
    PriorShift
        The weight and the calibration slope with their limits; whether a shift is `suspected`, and
        whether it is `shown`; the finding as a sentence.

    Notes
    -----
    With :math:`a` the maximum-likelihood intercept in :math:`\mathrm{logit}\,P(Y = 1) = a +
    \mathrm{logit}\,p`,

    .. math:: w = e^{-a} ,

    without units. A shift is suspected if the limits of :math:`w` exclude 1 and those of the slope
    (:func:`trueness.calibration_slope`) include it. It is shown if the limits of the slope also lie
    between 0.8 and 1.25: with few rows the slope is too uncertain to tell a shift from scores that
    are too extreme as well, and doubled odds are suspected in nearly all samples of 300 rows, but
    shown in none. The limits are those of the likelihood ratio; for weights that are not whole
    numbers, and for clusters, Wald limits with the sandwich variance. Scores of exactly 0 and 1 are
    left out.

    References
    ----------
    C. Elkan, The foundations of cost-sensitive learning, IJCAI 2001.
    M. Saerens, P. Latinne, C. Decaestecker, Adjusting the outputs of a classifier to new a priori
    probabilities, Neural Computation 14 (2002).

    Examples
    --------
    Positives were weighted 20-fold in training:

    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 10, 20_000)
    >>> y = rng.random(p.size) < p
    >>> weighted = 20 * p / (20 * p + 1 - p)
    >>> shift = tn.prior_shift(y, weighted)
    >>> shift.shown, shift.low < 20 < shift.high
    (True, True)
    >>> print(shift.sentence.partition(";")[0])
    Looks like training with events weighted about 20-fold (95 %: 18 to 21)
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
    level = checked_level(level)
    evidence = read_rows(y_true, y_prob, rows, cluster=cluster)
    if not evidence.is_binary:
        demand = "must be the probability of one class, or have two columns"
        got = "a matrix has a weight per class"
        remedy = "`PriorCorrection().fit(y_prob, y_true).weight_` estimates them."
        raise InputError("y_prob", demand, got, remedy=remedy)
    grouped = evidence.in_clusters
    cells = evidence.cells
    intercept = shift_limits(cells, level, grouped)
    slope = slope_limits(cells, level, grouped)
    shift = shift_of_limits(intercept, slope, inside_cells(cells), level)
    return replace(shift, note=evidence.note)


def shift_of_limits(
    intercept: Limits | Estimate, slope: Limits | Estimate, inside: InsideCells, level: float
) -> PriorShift:
    """The factor by which odds were multiplied in training, with limits, and the slope beside it.

    `intercept` is the shift of log-odds that fits the labels at slope 1, and the weight is
    exp(−intercept). If the intercept is nan, since all labels are equal, one of its limits is
    finite, and the weight is 0 or infinite. `inside` are the rows with scores strictly between 0
    and 1; `level` is the confidence of the limits.
    """
    weight = _weight(intercept.value)
    if math.isnan(weight):
        if intercept.high < math.inf:
            weight = math.inf
        elif intercept.low > -math.inf:
            weight = 0.0
    return PriorShift(
        weight=weight,
        low=_weight(intercept.high),
        high=_weight(intercept.low),
        level=level,
        slope=slope.value,
        slope_low=slope.low,
        slope_high=slope.high,
        n=int(inside.cells.row_counts.sum()),
        n_certain=inside.certain,
    )


def _weight(intercept: float) -> float:
    """The factor by which odds were multiplied; infinite where it is too large for a float."""
    with np.errstate(over="ignore"):
        return float(np.exp(-intercept))
