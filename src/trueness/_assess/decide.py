"""`decide`: what decisions at the threshold of two costs cost, and what a map would save."""

from collections.abc import Hashable, Sequence

from trueness._assess.asked import Asked
from trueness._assess.held_out import deal, held_out, is_splittable
from trueness._assess.makers import MAKERS
from trueness._assess.rows import ModelRows
from trueness._input.arguments import Seed, checked_fraction, checked_number, whole_seed
from trueness._keywords import suggests_keywords
from trueness._tally.reading import read_rows
from trueness._tally.rows_or_sums import row_options
from trueness.errors import InputError, quietly
from trueness.infer.decision._decide import Mended, decision_of, mended_costs
from trueness.results import Decision
from trueness.typing import ArrayLike, Kind, Missing, WeightType

_LARGEST = 1e60  # third powers of costs are summed


@suggests_keywords
def decide(
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    cost_fp: float,
    cost_fn: float,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    seed: Seed = 0,
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
) -> Decision:
    r"""The threshold that two costs imply, and what decisions by these scores cost.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. One score per row. Sums are refused: cross-fitting needs the rows.
    cost_fp, cost_fn : float
        What it costs to act on a row without the event, and not to act on one with it; both above
        0, in any unit.
    seed : int or numpy.random.Generator, default 0
        Seed of the folds.
    level : float, default 0.95
        Confidence level of all limits.
    cluster : array-like of shape (n,), optional
        A cluster name for each row; rows of one cluster may depend on each other.
    kind : {'classwise', 'confidence', 'top-label', 'multilabel'}, optional
        How a matrix is compared with the labels. 'classwise': each column against the rest,
        averaged over classes. 'confidence': the largest probability of each row (the first, if
        tied) against whether that class is the label. 'top-label': the same for each predicted
        class, weighted by how often it is predicted. 'multilabel': each column is a binary problem
        of its own, averaged over labels; never guessed. By default 'confidence'.
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
    Decision
        The threshold :math:`c_{FP} / (c_{FP} + c_{FN})`; the mean cost per row of acting from it
        on, at the best threshold (found on other rows than it is judged by), after automatic
        calibration (likewise), and of acting always or never; what miscalibration costs at the
        threshold; and the most that any increasing map could save, at any costs of the same sum.

    Notes
    -----
    For calibrated scores no other threshold is cheaper. What miscalibration costs is the cost by
    these scores less that by the scores of :class:`AutoCalibration`, the map of the report, on rows
    that it was not fitted on, compared row by row; it may be negative. Costs of acting always or
    never are a rate times a cost, and have exact binomial limits; other costs have Student's,
    corrected for skewness. Folds are dealt by content: neither the order of rows nor the names of
    clusters count.

    References
    ----------
    Elkan, "The foundations of cost-sensitive learning", IJCAI 2001.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 4, 3_000)
    >>> found = tn.decide(rng.uniform(size=3_000) < p, p, cost_fp=1, cost_fn=5)
    >>> round(found.threshold, 4), round(found.cost.value, 4)
    (0.1667, 0.527)
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
    fp = checked_number(cost_fp, "cost_fp", "a number above 0", low=0)
    fn = checked_number(cost_fn, "cost_fn", "a number above 0", low=0)
    if not (min(fp, fn) >= 1 / _LARGEST and max(fp, fn) <= _LARGEST):
        demand = f"must be, as `cost_fn`, a number from {1 / _LARGEST:g} to {_LARGEST:g}"
        raise InputError("cost_fp", demand, f"got {cost_fp!r} and {cost_fn!r}")
    level = checked_fraction(level, "level")
    evidence = read_rows(y_true, y_prob, rows, kind="confidence", cluster=cluster)
    evidence.require_one("a decision", counted=True)
    evidence.need_rows("A decision needs the rows")
    evidence.warn_about_rows()
    a = Asked(ModelRows(evidence), MAKERS, level, whole_seed(seed), None)
    mended = _mended(a, fp, fn)
    return decision_of(evidence, fp, fn, mended=mended, level=level, seed=a.seed)


def _mended(a: Asked, fp: float, fn: float) -> Mended:
    """What the automatic map would save on held-out rows, at these costs.

    `fp` and `fn` are the costs of a false positive and a false negative. Savings are unknown if the
    rows cannot be split, or all labels are equal.
    """
    from trueness.recalibrate import AutoCalibration  # loads scikit-learn

    evidence = a.view("confidence")
    labels = evidence.need_rows("").y
    if not is_splittable(evidence) or bool((labels == labels.flat[0]).all()):
        return mended_costs(evidence, None, fp, fn, a.level)
    (after, *_) = quietly(held_out, a, AutoCalibration())
    return mended_costs(deal(a).rows, after, fp, fn, a.level)
