"""Calibration errors of a binned reliability curve."""

from collections.abc import Hashable, Sequence

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._numerics.averages import exponent as exponent
from trueness._numerics.averages import power_mean
from trueness._tally.bins import Bins
from trueness._tally.rows_or_sums import as_binned, row_options
from trueness._tally.rules import BinsLike, EqualMass
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError
from trueness.typing import ArrayLike, Kind, Missing, Norm, WeightType


@suggests_keywords
def ece(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike = 10,
    norm: Norm = "l1",
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
    r"""Expected calibration error.

    Group the scores into bins, and average over bins the distance between the mean
    score and the event rate.

    Parameters
    ----------
    y_true : array-like of shape (n,), Tally or Binned
        The labels: 0/1, bool, or classes. A :class:`Tally` or :class:`trueness.sources.Binned`
        replaces `y_true` and `y_prob`; so does a :class:`trueness.sources.Sketch`, with an
        approximate value.
    y_prob : array-like of shape (n,) or (n, K)
        The predicted probabilities: P(positive), or one column per class. Lists, NumPy
        arrays, Series and frames of pandas, Polars and PyArrow, and torch tensors.
    bins : int, sequence of edges or bin rule, default 10
        An int means that many bins of equal width on [0, 1].
    norm : {'l1', 'l2', 'max'} or float, default 'l1'
        How distances are averaged over bins: weighted mean, root mean square,
        maximum, or the power mean with any exponent ≥ 1.
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
        Between 0 and 1, in units of probability. Zero means that every bin is
        right on average, not that every prediction is.

    See Also
    --------
    ace : with bins of equal mass.
    mce : the worst bin.
    squared_ece : without the bias.
    bin_table : the bins themselves.

    Notes
    -----
    For bins :math:`b` with weight :math:`w_b`, mean score :math:`p_b` and event
    rate :math:`r_b`,

    .. math:: \mathrm{ECE}_q = \Big( \sum_b \frac{w_b}{\sum_c w_c} \, |r_b - p_b|^q \Big)^{1/q} .

    Bins are closed on the left, the last on both sides; edges are the floats
    ``b / B``. So swapping the classes (p → 1 − p) can change the value
    if a score lies on an edge. Empty bins have no weight.

    Without weights the value is the same to the last bit for any order of the rows.
    Scores are used with an absolute error below 2⁻⁵³.

    The estimate is biased upwards: even a perfectly calibrated model shows some error
    on a finite sample (see :func:`noise_floor`).

    References
    ----------
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015. Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    The lower bin predicts 0.15 and has no event; the upper predicts 0.85 and has only events.

    >>> import trueness as tn
    >>> round(tn.ece([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2), 6)
    0.15

    A matrix has one column per class. Both rows give 0.75 to their class:

    >>> P = [[0.75, 0.25], [0.25, 0.75]]
    >>> tn.ece([0, 1], P, bins=2, kind="confidence")
    0.25
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
    p = exponent(norm)
    return as_binned(y_true, y_prob, bins, rows).average(lambda part: norm_of_gaps(part, p))


@suggests_keywords
def ace(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    bins: int | EqualMass = 10,
    norm: Norm = "l1",
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
    """Adaptive calibration error: the calibration error over bins of equal mass.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    bins : int or EqualMass, default 10
        The number of bins; see :class:`EqualMass` for where the cuts lie and how ties are kept.
        Whole-number weights count rows, and a cut lies after a whole row: in another unit of
        weights it may lie one score further.
    norm : {'l1', 'l2', 'max'} or float, default 'l1'
        How distances are averaged over bins: the weighted mean, the root mean square, the maximum,
        or the power mean with any exponent ≥ 1.
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
        Between 0 and 1, in units of probability.

    References
    ----------
    Nixon, Dusenberry, Zhang, Jerfel, Tran, "Measuring calibration in deep learning", CVPR
    Workshops 2019.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.ace([0, 0, 1, 1], [0.0, 0.5, 0.5, 0.5], bins=2)
    0.125
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
    rule = bins if isinstance(bins, EqualMass) else _equal_mass(bins)
    return ece(y_true, y_prob, bins=rule, norm=norm, **rows)


def _equal_mass(bins: int) -> EqualMass:
    if isinstance(bins, bool | np.bool_) or not isinstance(bins, int | np.integer) or bins < 1:
        raise InputError("bins", "must be a whole number ≥ 1 or an EqualMass rule", f"got {bins!r}")
    return EqualMass(int(bins))


@suggests_keywords
def mce(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike = 10,
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
    """Maximum calibration error: the largest distance between mean score and event rate over bins.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    bins : int, sequence of edges or bin rule, default 10
        An int means that many bins of equal width on [0, 1]. ``EqualMass(10)`` gives bins that all
        have enough rows.
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
        Between 0 and 1, in units of probability. For a matrix, the mean over classes of
        the maximum of each. It can depend on a single bin with few rows.

    References
    ----------
    Naeini, Cooper, Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.mce([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], bins=2)
    0.25
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
    return ece(y_true, y_prob, bins=bins, norm="max", **rows)


def norm_of_gaps(bins: Bins, p: float) -> float:
    """The weighted power mean of |rate − mean score| over bins; empty bins have no weight."""
    if p == 1.0:  # |Σwy − Σwp| needs no division, so empty bins need no special case
        return float(np.add.reduce(np.abs(bins.excess))) / bins.totals.weight
    return power_mean(bins.gap, bins.weight, p)
