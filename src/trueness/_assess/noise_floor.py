"""The noise floor: what a measure shows for a perfectly calibrated model."""

from collections.abc import Hashable, Sequence
from typing import Any, get_args

import numpy as np

from trueness._assess.asked import FLOOR
from trueness._assess.reading import asked_of
from trueness._input.arguments import (
    MOST_WORKERS,
    Seed,
    checked_number,
    checked_resamples,
    checked_whole,
    checked_word,
)
from trueness._input.columns import column
from trueness._keywords import suggests_keywords
from trueness._progress import Progress, reporter
from trueness._tally.events import Events
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, OneClassWarning, collected_warnings
from trueness.infer._questions import TallyMeasure
from trueness.infer.null._noise_floor import Alternative
from trueness.results import NoiseFloor
from trueness.typing import ArrayLike, Kind, Missing, RowOptions, WeightType


@suggests_keywords
def noise_floor(
    measure: str | TallyMeasure,
    y_prob: ArrayLike | Tally | Sketch | Binned | Events,
    *,
    y_true: ArrayLike | None = None,
    observed: float | None = None,
    resamples: int | None = None,
    level: float = 0.95,
    alternative: Alternative = "greater",
    seed: Seed = 0,
    workers: int = 1,
    progress: Progress = True,
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
) -> NoiseFloor:
    r"""The values of a measure for a perfectly calibrated model with the same scores.

    Labels are drawn from the scores, as if these were the true probabilities, and measured, many
    times. An observed value within the range of the results is no evidence of miscalibration.

    Parameters
    ----------
    measure : callable or str
        A measure (``tn.ece``, ``functools.partial(tn.tce, bins=5)``), its name, or any function of
        your own of a :class:`Tally` that returns one number.
    y_prob : array-like of shape (n,) or (n, K), or sums
        Scores. The labels of a tally give the observed value. A class-wise tally does not keep the
        scores of a row together and is refused.
    y_true : array-like of shape (n,), optional
        Labels, for the observed value.
    observed : float, optional
        The observed value, if labels are not available.
    resamples : int, optional
        Number of sets of labels. The smallest p-value is 1/(resamples + 1). By default 999 for up
        to 4,096 distinct scores, or pools of them, 99 for up to 200,000 and 19 for more.
    level : float, default 0.95
        The probability with which a calibrated model shows at most `high`, the one-sided upper
        value.
    alternative : {'greater', 'less', 'two-sided'}, default 'greater'
        Which values are evidence against calibration: large ones (any calibration error), small
        ones, or both (for example a calibration slope).
    seed : int or numpy.random.Generator, default 0
        The same seed gives the same values with any number of workers.
    workers : int, default 1
        Number of threads; a measure of your own must be thread-safe if there are several.
    progress : bool or callable, default True
        A progress bar on stderr, if that is a terminal and the run takes more than half a second;
        or a function of (done, total).
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
    NoiseFloor
        Mean, standard deviation and quantiles of the simulated values, the observed value and its
        p-value.

    Notes
    -----
    With m* the simulated values and m the observed one, the p-value is

    .. math:: \frac{1 + \#\{m^* \ge m\}}{R + 1} ,

    which under calibration is at most α with probability at most α, for any measure, number of rows
    and R. 'two-sided' is twice the smaller of the two one-sided p-values. An undefined simulated
    value (nan) counts as extreme and is left out of mean and quantiles; a warning gives their
    number.

    The events among rows of one score are a binomial draw, so nothing is sorted again. This
    includes 'confidence' and 'top-label', where the top label is correct with its predicted
    probability. For 'classwise' one class is drawn per row, since the columns of a row are
    dependent; rows that do not sum to exactly 1 are divided by their sum.

    References
    ----------
    Bröcker, Smith, "Increasing the reliability of reliability diagrams", Weather and
    Forecasting, 2007. Vaicenavicius, Widmann, Andersson, Lindsten, Roll, Schön, "Evaluating model
    calibration in classification", AISTATS, 2019.

    Examples
    --------
    Four rows of score 1/2. Zero to four events have errors 1/2, 1/4, 0, 1/4, 1/2, and probabilities
    1/16, 4/16, 6/16, 4/16, 1/16, so a calibrated model shows 3/16 on average.

    >>> from functools import partial
    >>> import trueness as tn
    >>> from trueness import noise_floor
    >>> floor = noise_floor(partial(tn.ece, bins=1), [0.5] * 4, observed=0.5, seed=1)
    >>> abs(floor.mean - 3 / 16) < 0.02, abs(floor.pvalue - 2 / 16) < 0.04
    (True, True)
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
    checked_word(alternative, "alternative", get_args(Alternative))
    draws = None if resamples is None else checked_resamples(resamples)
    workers = checked_whole(workers, "workers", MOST_WORKERS)
    if observed is not None and y_true is not None:
        raise InputError("observed", "must be left out when `y_true` is given, which determines it")
    options: dict[str, Any] = {
        "measure": measure,
        "resamples": draws,
        "alternative": alternative,
        "workers": workers,
        "report": reporter(progress),
    }
    if observed is not None:
        options["observed"] = checked_number(observed, "observed")

    def ask(y: ArrayLike, p: ArrayLike, *, labelled: bool = True) -> NoiseFloor:
        a = asked_of(y, p, rows, level=level, seed=seed, own_bins=True)
        return a.ask(FLOOR, labelled=labelled, **options)

    if isinstance(y_prob, Tally | Sketch | Binned | Events):
        if y_true is not None:
            raise _labels_twice(y_prob)
        return ask(y_prob, None)
    if y_true is not None:
        return ask(y_true, y_prob)
    # No warning about labels that only stand in for missing ones.
    with collected_warnings(OneClassWarning):
        return ask(_placeholder_labels(y_prob, rows), y_prob, labelled=False)


def _labels_twice(holder: Tally | Sketch | Binned | Events) -> InputError:
    """The error for labels beside something that holds labels already."""
    words = f"a {type(holder).__name__}, which holds"
    if isinstance(holder, Events):
        words = "Events, which hold"
    return InputError("y_true", f"must be left out when `y_prob` is {words} labels and scores")


def _placeholder_labels(y_prob: ArrayLike, rows: RowOptions) -> ArrayLike:
    """Labels that pass every check, where there are none."""
    shape = column(y_prob, "y_prob").values.shape
    n = next(iter(shape), 1)
    if rows.get("kind") == "multilabel" or len(shape) > 2:
        return np.zeros(shape if len(shape) == 2 else (n, *shape[2:]), dtype=np.uint8)
    named = rows.get("labels")
    positive = rows.get("pos_label")
    if named is not None:
        return [next(iter(named))] * n
    if positive is not None:
        return [positive] * n
    return np.zeros(n, dtype=np.uint8)
