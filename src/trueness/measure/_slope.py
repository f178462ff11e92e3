"""Calibration slope and intercept on the logit scale, and observed over expected events."""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from trueness._keywords import suggests_keywords
from trueness._numerics.logistic import line_of_scores
from trueness._tally.cells import Cells
from trueness._tally.row_sums import UnsortedRows
from trueness._tally.rows_or_sums import as_binned, as_rows_or_cells, as_tally, row_options
from trueness._tally.tally import Binned, Parts, Tally
from trueness.errors import CertainScoresWarning, NoEstimateWarning, warn
from trueness.results._inference import amount_in_words, contradicted_in_words
from trueness.typing import ArrayLike, Floats, Kind, Missing, Numbers, RowOptions, WeightType


@suggests_keywords
def calibration_slope(
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
    r"""Slope of the logistic regression of labels on the logits of the scores (Cox 1958).

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
        1 for a calibrated model; below 1 if the scores are too extreme, above 1 if they are not
        extreme enough. nan, with a warning, if the maximum-likelihood estimate is not finite: one
        class only, one score only, or scores that separate the classes.

    Notes
    -----
    The maximum-likelihood :math:`b` in :math:`\mathrm{logit}\,P(Y = 1) = a + b\,\mathrm{logit}\,p`.

    Scores of exactly 0 and 1 have infinite logits. They are left out, as in R's ``rms::val.prob``,
    with a warning that counts them and those among them that were wrong. Moving them inwards would
    make the slope depend on the distance chosen: on one data set with 28 % ones it ranged from 0.05
    to 0.35. :func:`observed_expected`, :func:`brier` and :func:`ece` use all rows.

    References
    ----------
    Cox, "Two further applications of a model for binary regression", Biometrika, 1958.

    Examples
    --------
    >>> import trueness as tn
    >>> y, p = [0, 1, 0, 1, 0, 1, 1, 1], [0.2, 0.2, 0.5, 0.5, 0.8, 0.8, 0.8, 0.8]
    >>> round(tn.calibration_slope(y, p), 4)
    0.421
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
    return _estimate(y_true, y_prob, rows, "slope")


@suggests_keywords
def calibration_intercept(
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
    r"""Calibration intercept: the shift of the logits that makes the scores right on average.

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
        0 for a model that is right on average; above 0 if events are more frequent than predicted.
        nan, with a warning, if there is only one class.

    Notes
    -----
    The maximum-likelihood :math:`a` in :math:`\mathrm{logit}\,P(Y = 1) = a + \mathrm{logit}\,p`,
    with the slope fixed at 1 (calibration in the large). Scores of exactly 0 and 1 are left out,
    because their logits are infinite; :func:`observed_expected` uses all rows.

    References
    ----------
    Cox, "Two further applications of a model for binary regression", Biometrika, 1958.

    Examples
    --------
    >>> import trueness as tn
    >>> abs(round(tn.calibration_intercept([0, 1], [0.5, 0.5]), 6))
    0.0
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
    return _estimate(y_true, y_prob, rows, "intercept")


def _estimate(
    y_true: ArrayLike | Tally, y_prob: ArrayLike | None, rows: RowOptions, name: str
) -> float:
    """The slope or the intercept, by its `name`, of the scores strictly between 0 and 1.

    Other scores are left out with a warning. Without a finite estimate, nan and a warning.
    """
    fixed = name == "intercept"
    sums = as_rows_or_cells(y_true, y_prob, rows)
    parts, certain, wrong = zip(*(_inside(part) for part in sums.parts), strict=True)
    if any(certain):
        total = sum(float(part.totals.weight) for part in sums.parts)
        counted = all(part.whole for part in sums.parts if isinstance(part, Cells))
        rest = "Observed/expected, Brier score and ECE use all rows."
        warn(
            left_out(
                total, sum(certain), sum(wrong), "Slope and intercept leave", rest, counted=counted
            ),
            CertainScoresWarning,
        )
    inside = Parts(sums.kind, parts, sums.classes)
    value = math.nan
    if any(part.size for part in inside.parts):
        value = inside.average(
            lambda c: line_of_scores(c.score, c.weight, c.events, fixed_slope=fixed)[int(fixed)]
        )
    if math.isnan(value):
        warn(f"The {name} has no finite estimate on these rows; returning nan.", NoEstimateWarning)
    return float(value)


def _inside(part: Cells | UnsortedRows) -> tuple[Cells | UnsortedRows, float, float]:
    """The part without scores of 0 and 1, their weight, and the weight of those that were wrong.

    The part itself if there are none.
    """
    if isinstance(part, Cells):
        inside = inside_cells(part)
        return inside.cells, inside.certain_weight, inside.wrong
    p = part.score
    if part.size == 0 or (p.min() > 0 and p.max() < 1):
        return part, 0, 0
    kept = (p > 0) & (p < 1)
    return (
        part.at(kept),
        int(np.count_nonzero(~kept)),
        int(np.count_nonzero(~kept & (p != part.events))),
    )


class InsideCells(NamedTuple):
    """The rows with scores strictly between 0 and 1, and how many others there are."""

    cells: Cells
    certain: int
    """Rows with a score of exactly 0 or 1."""
    wrong: float
    """Those among them whose label contradicts the score; of sampling weights, their weight."""
    certain_weight: float
    """Weight of the rows with a score of exactly 0 or 1."""


def inside_cells(cells: Cells) -> InsideCells:
    """Set the scores of exactly 0 and 1 apart, whose log-odds are infinite.

    The result has the other cells, and of those left out the number of rows, the weight
    contradicted by labels, and the weight. If none is left out, the cells are the same object.
    """
    first = int(np.searchsorted(cells.score, 0.0, "right"))
    last = int(np.searchsorted(cells.score, 1.0, "left"))
    zeros = slice(0, first)
    ones = slice(last, None)
    rows = cells.row_counts
    certain = rows[zeros].sum() + rows[ones].sum()
    certain_weight = cells.weight[zeros].sum() + cells.weight[ones].sum()
    wrong = cells.events[zeros].sum() + (cells.weight[ones] - cells.events[ones]).sum()
    inside = {name: column[first:last] for name, column in cells.columns().items()}
    # The same cells, with what they remember.
    kept = cells if last - first == cells.size else Cells(**inside)
    return InsideCells(kept, certain.item(), wrong.item(), certain_weight.item())


def left_out(
    total: float, certain: float, wrong: float, who: str, rest: str, *, counted: bool
) -> str:
    """The sentence that says that scores of exactly 0 and 1 are left out, and why.

    `total`, `certain` and `wrong` are the rows of all scores, of these, and of those contradicted
    by their labels; they are weights unless `counted`. `who` is the subject with its verb, such as
    "Slope and intercept leave"; `rest` is a closing sentence.
    """
    amounts = f"{amount_in_words(certain)} of {amount_in_words(total)}"
    subject = f"{amounts} scores are exactly 0 or 1"
    if certain == 1 and counted:
        contradiction = "contradicts" if wrong else "does not contradict"
        return (
            f"{amounts} scores is exactly 0 or 1. {who} it out, since its log-odds are infinite; "
            f"it {contradiction} its label. {rest}"
        )
    if not counted:
        subject = f"Scores of exactly 0 or 1 have a weight of {amounts}"
    why = f"since their log-odds are infinite; {contradicted_in_words(wrong, counted=counted)}"
    return f"{subject}. {who} them out, {why}. {rest}"


@suggests_keywords
def observed_expected(
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
    r"""Observed divided by expected events.

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
        :math:`\sum y / \sum p`: 1 for a model that is right on average, 2 if events are twice as
        frequent as predicted. inf if there are events but all scores are 0; nan, with a warning, if
        there are no events either.

    References
    ----------
    Debray and others, "A guide to systematic review and meta-analysis of prediction model
    performance", BMJ, 2017.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.observed_expected([0, 1, 1, 1], [0.5, 0.5, 0.25, 0.25])
    2.0
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
    if isinstance(y_true, Binned):
        value = as_binned(y_true, y_prob, 1, rows).average(lambda b: _ratio(b.events, b.sum_score))
    else:  # from the scores: in units of 2⁻⁵³ tiny ones would be 0, which matters in a ratio
        value = as_tally(y_true, y_prob, rows).average(
            lambda c: _ratio(c.events, c.weight * c.score)
        )
    if math.isnan(value):
        warn(
            "No event was predicted and none was observed: the ratio is 0/0; returning nan.",
            NoEstimateWarning,
        )
    return value


def _ratio(events: Numbers, scores: Floats) -> float:
    """Observed divided by expected events.

    With no expected events it is infinite, or nan if none occurred either.
    """
    observed = float(events.sum())
    expected = float(scores.sum())
    if expected == 0:
        if observed > 0:
            return math.inf
        return math.nan
    return observed / expected
