"""Proper scores, Brier score and log loss, and their CORP decomposition.

And the area under the ROC curve.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_word
from trueness._keywords import suggests_keywords
from trueness._tally.bins import Bins
from trueness._tally.cells import Cells, segment_sums
from trueness._tally.rows_or_sums import (
    as_binned,
    as_rows_or_cells,
    as_tally,
    row_options,
)
from trueness._tally.rules import Isotonic
from trueness._tally.tally import Binned, Tally
from trueness.errors import NoEstimateWarning, warn
from trueness.results import Decomposition
from trueness.typing import ArrayLike, Floats, Kind, Missing, Numbers, WeightType

# Rows whose temporaries stay in the processor's cache, and whose products are not worth a second
# thread to BLAS.
_BLOCK = 2**13
# The smallest number above 0, and the largest below 1.
_ABOVE_0 = 5e-324
_BELOW_1 = 1 - 2.0**-53


@suggests_keywords
def brier(
    y_true: ArrayLike | Tally | Binned,
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
    r"""Brier score: the mean squared difference between predicted probabilities and labels.

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
        of its own, averaged over labels; never guessed. By default 'classwise'. With 'classwise'
        and three or more classes the squares are summed over the classes, as in Brier's definition;
        two columns give the binary score, as in scikit-learn.
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
        Between 0 and 1 for two classes, 0 and 2 for more. Accurate to 1e-15 for two classes, and to
        1e-15 plus 2⁻⁵³ per class for more.

    Notes
    -----
    .. math:: \frac1n \sum_i (p_i - y_i)^2, \qquad \frac1n \sum_i \sum_k (p_{ik} - 1\{y_i = k\})^2 .

    :func:`corp`, :func:`compare`, reports and the command line use the same definition.

    References
    ----------
    Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather
    Review, 1950.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.brier([0, 1], [0.5, 0.75]), tn.brier([0, 1], [[0.5, 0.5], [0.25, 0.75]])
    (0.15625, 0.15625)
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
    binned = as_binned(y_true, y_prob, 1, rows, moments=True)
    return binned.average(_mean_square) * binned.class_factor


def _mean_square(bins: Bins) -> float:
    squares = bins.events - 2 * bins.sum_event_score + bins.sum_square
    return max(0.0, float(np.add.reduce(squares)) / bins.totals.weight)  # rounding can leave −1e-16


@suggests_keywords
def scaled_brier(
    y_true: ArrayLike | Tally | Binned,
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
    r"""Scaled Brier score, or Brier skill: the improvement over predicting the event rate.

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
        of its own, averaged over labels; never guessed. By default 'classwise'. With 'classwise'
        and three or more classes, squares are summed over the classes.
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
        1 for perfect predictions, 0 for those as good as the event rate, below 0 for worse ones.
        nan, with a warning, if there is only one class.

    Notes
    -----
    With Brier score :math:`B` and event rate :math:`r`,

    .. math:: 1 - \frac{B}{r (1 - r)} ,

    where, for several classes, the denominator is summed over the classes like the score.

    References
    ----------
    E. W. Steyerberg et al., Assessing the performance of prediction models: a framework for
    traditional and novel measures, Epidemiology 21 (2010), 128-138.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.scaled_brier([0, 1], [0.25, 0.75]), tn.scaled_brier([0, 1], [0.5, 0.5])
    (0.75, 0.0)
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
    binned = as_binned(y_true, y_prob, 1, rows, moments=True)
    if binned.kind == "multilabel":
        return binned.average(lambda part: scaled_brier(Binned("binary", (part,))))
    base = binned.average(_base_rate_score)
    if base == 0:
        warn(
            "There is only one class, so the scaled Brier score is 0/0; returning nan.",
            NoEstimateWarning,
        )
        return math.nan
    return 1 - binned.average(_mean_square) / base


def _base_rate_score(bins: Bins) -> float:
    rate = float(bins.events.sum() / bins.weight.sum())
    return rate * (1 - rate)


@suggests_keywords
def log_loss(
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
    r"""Logarithmic score: the mean of −log(predicted probability of the label), in nats.

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
        of its own, averaged over labels; never guessed. By default 'classwise'. With 'classwise',
        the probability of the label counts; the other kinds score the largest probability of each
        row as a binary prediction.
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
        At least 0; inf if the label of a row had probability 0. Nothing is clipped. Accurate to
        1e-13 of the value, in any order and partition of the rows.

    References
    ----------
    Good, "Rational decisions", Journal of the Royal Statistical Society B, 1952.

    Examples
    --------
    >>> import trueness as tn
    >>> round(tn.log_loss([0, 1], [0.5, 0.25]), 6)
    1.039721
    >>> tn.log_loss([1, 0], [0.0, 0.5])
    inf
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
    sums = as_rows_or_cells(y_true, y_prob, rows)
    if sums.kind == "classwise":
        kept = [(part.score[part.events > 0], part.events[part.events > 0]) for part in sums.parts]
        return sum(_losses(score, events, events) for score, events in kept) / sums.weight
    return sums.average(
        lambda part: _losses(part.score, part.weight, part.events) / part.totals.weight
    )


def _losses(score: NDArray[Any], weight: NDArray[Any] | None, events: NDArray[Any]) -> float:
    """The sum of the log loss over cells: Σ −(e log p + (w − e) log(1 − p)).

    p is the score, w the weight of its rows and e that of its events; a weight of None is 1 for
    each row. It is infinite if a score of 0 has events or a score of 1 has other rows.
    """
    total = 0.0
    for i in range(0, score.size, _BLOCK):
        block = slice(i, i + _BLOCK)
        p = score[block].astype(np.float64, copy=False)
        e = events[block].astype(np.float64, copy=False)
        non_events = (1.0 if weight is None else weight[block]) - e
        low = p
        high = p
        if p.min() == 0 or p.max() == 1:
            if e[p == 0].any() or non_events[p == 1].any():
                return math.inf
            # Their logarithms are multiplied by 0.
            low = np.maximum(p, _ABOVE_0)
            high = np.minimum(p, _BELOW_1)
        total -= float(e @ np.log(low) + non_events @ np.log1p(-high))
    return total


@suggests_keywords
def auc(
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
    r"""Area under the ROC curve (c-statistic): discrimination, not calibration.

    The probability that a random event has a higher score than a random non-event. Any increasing
    map of the scores leaves it unchanged, so a high value says nothing about calibration.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. A matrix is averaged over its classes, each against the rest.
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
        Between 0 and 1, without units; 0.5 for scores that do not rank. nan, with a warning, if
        there is only one class.

    Notes
    -----
    .. math:: \mathrm{AUC} = \frac1{m n} \sum_{i: y_i = 1} \sum_{j: y_j = 0} \left(1\{p_i > p_j\} +
        \tfrac12 1\{p_i = p_j\}\right)

    for :math:`m` events and :math:`n` non-events; weights multiply. All rows count, scores of 0 and
    1 included. R's ``rms::val.prob`` leaves those out and truncates the others to multiples of
    0.0002 first.

    References
    ----------
    J. A. Hanley and B. J. McNeil, The meaning and use of the area under a receiver operating
    characteristic (ROC) curve, Radiology 143 (1982), 29-36.

    Examples
    --------
    Of the four pairs, three are in order and one is tied:

    >>> import trueness as tn
    >>> tn.auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
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
    value = as_tally(y_true, y_prob, rows).average(area)
    if math.isnan(value):
        warn("The AUC needs events and non-events; returning nan.", NoEstimateWarning)
    return value


class Placements(NamedTuple):
    """Where the scores of cells stand among those of the other class."""

    events: Floats
    """Weight of the events of each cell."""
    others: Floats
    """Weight of its non-events."""
    below: Floats
    """Share of non-events with a lower score, ties counting half: the placement of the events of
    the cell."""
    above: Floats
    """Share of events with a higher score, ties counting half: the placement of its non-events."""


def placements(cells: Cells) -> Placements | None:
    """For each cell, the shares of non-events below it and of events above it; ties count half.

    The sums run over the ascending scores. None if all labels are equal.
    """
    events = cells.events.astype(np.float64)
    non_events = cells.weight - events
    total = cells.totals.events
    # Not weight - total, which loses the digits of non-events that weigh far less than the events.
    rest = float(non_events.sum())
    if total <= 0 or rest <= 0:
        return None
    below = (np.cumsum(non_events) - non_events / 2) / rest
    above = 1 - (np.cumsum(events) - events / 2) / total
    return Placements(events, non_events, below, above)


def area(cells: Cells) -> float:
    """The mean placement of events, which is that of non-events; nan if a class is absent."""
    ranks = placements(cells)
    # Not `@`: the threads of a linear algebra library cost more than this sum.
    if ranks is None:
        return math.nan
    return min(float((ranks.events * ranks.below).sum() / cells.totals.events), 1.0)


@suggests_keywords
def corp(
    y_true: ArrayLike | Tally,
    y_prob: ArrayLike | None = None,
    *,
    score: Literal["brier", "log"] = "brier",
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
) -> Decomposition:
    r"""Miscalibration, discrimination and uncertainty of a proper score.

    The scores are compared with their isotonic recalibration, and that with the base rate. There
    are no bins to choose.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    score : {'brier', 'log'}, default 'brier'
        Brier score or logarithmic score.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'classwise'. With 'classwise',
        the components of the Brier score are summed over the classes, so that `score` equals
        :func:`brier`; those of the log score are averaged over the classes.
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
    Decomposition
        score = miscalibration − discrimination + uncertainty. With the log score,
        score and miscalibration are inf if the label of a row had probability 0.

    Notes
    -----
    With :math:`\hat p` the isotonic regression of labels on scores (ties pooled first),
    :math:`\bar y` the base rate and :math:`\bar S` the mean score,

    .. math:: \mathrm{MCB} = \bar S(p) - \bar S(\hat p), \quad
              \mathrm{DSC} = \bar S(\bar y) - \bar S(\hat p), \quad
              \mathrm{UNC} = \bar S(\bar y) .

    Both differences are at least zero; a negative rounding error is returned as zero. The
    miscalibration is therefore above zero for every calibrated model (about 0.015 for 200 rows,
    where recalibrating would make new scores worse): compare it with ``noise_floor(lambda t:
    tn.corp(t).miscalibration, y_prob)``. The gain of a calibrator on rows that it was not fitted on
    is in :func:`report`.

    References
    ----------
    Dimitriadis, Gneiting, Jordan, "Stable reliability diagrams for probabilistic classifiers",
    Proceedings of the National Academy of Sciences, 2021.

    Examples
    --------
    >>> import trueness as tn
    >>> d = tn.corp([0, 0, 0, 1, 1, 1], [0.4, 0.3, 0.2, 0.1, 0.5, 0.9])
    >>> print(d)
    brier score 0.2267 = miscalibration 0.1017 − discrimination 0.1250 + uncertainty 0.2500 (n = 6)
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
    checked_word(score, "score", ("brier", "log"))
    tally = as_tally(y_true, y_prob, rows)
    loss, factor = (_squares, tally.class_factor) if score == "brier" else (_losses, 1)

    def parts(cells: Cells) -> list[float]:
        """The mean loss of one part, and its miscalibration, discrimination and uncertainty."""
        blocks = Isotonic().group(cells).start[:-1], np.zeros(1, np.int64)
        total = cells.weight.sum()
        scores = float(loss(cells.score, cells.weight, cells.events) / total)
        pooled = []
        for starts in blocks:
            weight = segment_sums(cells.weight, starts)
            events = segment_sums(cells.events, starts)
            pooled.append(float(loss(events / weight, weight, events) / total))
        isotonic, base = pooled
        return [scores, max(0.0, scores - isotonic), max(0.0, base - isotonic), base]

    total, miscalibration, discrimination, uncertainty = (
        factor * value for value in tally.average(parts)
    )
    return Decomposition(total, miscalibration, discrimination, uncertainty, score, tally.n)


def _squares(score: Floats, weight: Numbers, events: Numbers) -> float:
    return float(np.sum(events * (1 - score) ** 2 + (weight - events) * score**2))
