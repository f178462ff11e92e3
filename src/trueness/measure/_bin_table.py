"""Tables of bins: event rates with intervals, and the variance of labels within bins."""

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import checked_fraction, checked_word
from trueness._keywords import suggests_keywords
from trueness._numerics import proportions
from trueness._tally.bins import Bins
from trueness._tally.rows_or_sums import as_binned, row_options
from trueness._tally.rules import BinsLike
from trueness._tally.tally import Binned, Tally, class_of_lines
from trueness.results import BinTable, EstimationError
from trueness.typing import ArrayLike, Floats, IntervalMethod, Kind, Missing, WeightType

_INTERVALS = {
    "exact": proportions.clopper_pearson,
    "wilson": proportions.wilson,
    "jeffreys": proportions.jeffreys,
}


@suggests_keywords
def bin_table(
    y_true: ArrayLike | Tally | Binned,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike = 10,
    level: float = 0.95,
    interval: IntervalMethod = "exact",
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
) -> BinTable:
    r"""The bins of a calibration error: edges, counts, mean scores, event rates, gaps and O/E.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    bins : int, sequence of edges or bin rule, default 10
        An int means that many bins of equal width on [0, 1].
    level : float, default 0.95
        Confidence level of the interval of each bin; the intervals are not simultaneous.
    interval : {'exact', 'wilson', 'jeffreys'}, default 'exact'
        'exact' (Clopper and Pearson) has at least the nominal coverage; 'wilson' and
        'jeffreys' are shorter and have it on average.
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
    BinTable
        One row per bin, including empty ones (n = 0, rate nan). For a matrix, the bins of
        each class follow those of the class before.

    Notes
    -----
    The intervals treat the labels of a bin as draws with a common probability. With weights
    that are not whole numbers they use the effective number of rows, (Σw)²/Σw², and the
    field `interval` says so.

    Observed divided by expected events, `ratio`, is the event rate over the mean score :math:`p_b`;
    its limits are those of the rate over the mean score, :math:`[l_b/p_b, h_b/p_b]`, and have the
    same coverage. Where no event is expected, all three are infinite if there are events, else nan.
    For rare events read the ratio rather than the gap.

    Examples
    --------
    >>> import trueness as tn
    >>> print(tn.bin_table([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2))
    bin       n   score    rate     95 % interval      gap   O/E  95 % interval
    [0, 0.5)  2  0.1500  0.0000  0.0000 to 0.8419  -0.1500  0.00   0.00 to 5.61
    [0.5, 1]  2  0.8500  1.0000  0.1581 to 1.0000  +0.1500  1.18   0.19 to 1.18
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
    level = checked_fraction(level, "level")
    checked_word(interval, "interval", tuple(_INTERVALS))
    binned = as_binned(y_true, y_prob, bins, rows)
    exact = all(part.whole for part in binned.parts)
    ends = [_INTERVALS[interval](*effective_counts(part), level) for part in binned.parts]
    description = interval if exact else f"{interval}, of effective counts"
    return BinTable(**bin_columns(binned, ends), level=level, interval=description)


def bin_columns(binned: Binned, ends: Sequence[tuple[Floats, Floats]]) -> dict[str, Any]:
    """The columns of any table of bins, one part after the other.

    `ends` are the interval ends of each part.
    """

    def column(values: Callable[[Bins], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([values(part) for part in binned.parts])

    low, high = np.concatenate(ends, axis=1)
    return {
        "low_edge": column(lambda bins: bins.edges[:-1]),
        "high_edge": column(lambda bins: bins.edges[1:]),
        "n": column(lambda bins: bins.count),
        **{name: column(attrgetter(name)) for name in ("weight", "score", "rate", "gap")},
        "low": low,
        "high": high,
        "label": class_of_lines(binned, (part.size for part in binned.parts)),
        "kind": binned.kind,
    }


def effective_counts(bins: Bins) -> tuple[Floats, Floats]:
    """Events and rows of each bin, for intervals of its rate.

    With fractional weights the rows are their effective number, (Σw)²/Σw², and events are that
    number times the rate. Bins without rows then have 0 of both.
    """
    n: Floats = np.asarray(bins.weight, dtype=np.float64)
    if bins.whole:
        return np.asarray(bins.events, dtype=np.float64), n
    # n · (n / Σw²), not n² / Σw²: the square of a tiny weight is 0.
    with np.errstate(invalid="ignore", divide="ignore"):
        n = np.where(bins.count > 0, n * (n / bins.squares), 0.0)
    return np.where(bins.count > 0, n * bins.rate, 0.0), n


@suggests_keywords
def estimation_error(
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
) -> EstimationError:
    r"""Variance of the labels within bins, over rows and over bins (Matsubara et al. 2023).

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second.
    bins : int, sequence of edges or bin rule, default 10
        An int means that many bins of equal width on [0, 1].
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
    EstimationError
        `total`, the variance of the labels within bins averaged over rows, and `average`, the same
        averaged over bins. The total is the smallest mean squared error of any prediction that is
        constant within bins. For a matrix, the means over classes.

    Notes
    -----
    With :math:`N_b` rows and event rate :math:`r_b` in bin :math:`b` of :math:`B`,

    .. math:: \sum_b \frac{N_b}{N} r_b (1 - r_b) \quad\text{and}\quad
        \frac{1}{B} \sum_b r_b (1 - r_b) .

    References
    ----------
    Matsubara, Tax, Mudd, Guy, "TCE: a test-based approach to measuring calibration error",
    UAI 2023.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.measure.estimation_error([0, 1, 0, 1], [0.1, 0.2, 0.9, 0.9], bins=2)
    EstimationError(total=0.25, average=0.25, n_bins=2)
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
    binned = as_binned(y_true, y_prob, bins, rows)
    return EstimationError(
        total=binned.average(lambda b: float(np.nansum(_variance(b) * b.weight) / b.weight.sum())),
        average=binned.average(lambda b: float(np.nanmean(_variance(b)))),
        n_bins=sum(int((part.count > 0).sum()) for part in binned.parts),
    )


def _variance(bins: Bins) -> Floats:
    return np.asarray(bins.rate * (1 - bins.rate))
