"""`verdict`: whether one model is calibrated, in a record and in words."""

from collections.abc import Hashable, Mapping, Sequence

from trueness._assess.asked import VERDICT
from trueness._assess.assessment import checked_assessment_level
from trueness._assess.reading import asked_of
from trueness._input.arguments import Seed, labels_and_scores
from trueness._keywords import suggests_keywords
from trueness._tally.accumulator import Accumulator
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import FewClustersWarning, InputError, OneClassWarning, collected_warnings
from trueness.results import Verdict
from trueness.typing import ArrayLike, Columns, Kind, Missing, WeightType


@labels_and_scores
@suggests_keywords
def verdict(
    y_true: ArrayLike | Tally | Sketch | Binned | Accumulator,
    y_prob: ArrayLike | None = None,
    *,
    by: Columns | None = None,
    crossed: int = 1,
    cluster: ArrayLike | None = None,
    level: float = 0.95,
    seed: Seed = 0,
    rounded_to: float | None = None,
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
) -> Verdict:
    """Decide whether scores are calibrated, and say how certain that is.

    This is the verdict of :func:`trueness.report`, without the page.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or sums in place of both; the groups of an Accumulator are segments. For a matrix,
        the largest score of each row is judged and every class beside it; a matrix of two columns
        is the binary problem of its second column.
    by : array-like, mapping of columns or frame, optional
        Columns that divide the rows into segments, which are judged jointly.
    crossed : int, default 1
        The most columns to cross: with 2, every pair of values of two columns is a segment, too.
    level : float, default 0.95
        One minus the probability of a false answer to each question: whether all rows are
        calibrated, whether all segments are (jointly), and whether all classes are. Labels that
        agree too well with the scores are called so in at most 0.1 % of calibrated data sets.
    seed : int or numpy.random.Generator, default 0
        For redrawn labels.
    rounded_to : float, optional
        The unit to which the scores were rounded, as for :func:`trueness.calibration_test`: labels
        that contradict a score of exactly 0 or 1 are then possible.
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
    Verdict
        `code`: 'miscalibrated', 'nearly-calibrated' (an error is shown, but small: typically at
        most 0.01, and certainly below 0.04), 'no-evidence', 'too-few-rows' (a miscalibration that
        matters would be noticed with probability below 0.8), 'too-good' (the labels agree with the
        scores better than chance allows) or 'undetermined'. `sentence` says it in words; the other
        fields are the grounds.

    Examples
    --------
    >>> import trueness as tn
    >>> data = tn.simulate.demo()
    >>> found = tn.verdict(data.y_true, data.y_prob)
    >>> found.code
    'miscalibrated'
    >>> print(found.headline)
    Not calibrated: the predictions are overconfident (too extreme) and too high on average.
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
    if isinstance(y_prob, Mapping):
        loop = "{name: tn.verdict(y_true, one) for name, one in y_prob.items()}"
        remedy = f"Judge each, {loop}, or pass the dict to `tn.report`."
        raise InputError(
            "y_prob",
            "must be the scores of one model",
            f"got a dict of {len(y_prob)}",
            remedy=remedy,
        )
    # The verdict says so itself.
    with collected_warnings(OneClassWarning, FewClustersWarning):
        asked = asked_of(
            y_true,
            y_prob,
            rows,
            by=by,
            crossed=crossed,
            cluster=cluster,
            level=checked_assessment_level(level),
            seed=seed,
            rounded_to=rounded_to,
        )
    return asked.ask(VERDICT)
