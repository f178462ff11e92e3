"""The panel: the measures of a validation in one table."""

from collections.abc import Hashable, Sequence

import numpy as np

from trueness._assess.asked import PANEL
from trueness._assess.reading import asked_of
from trueness._input.arguments import Seed, checked_word
from trueness._keywords import suggests_keywords
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Tally
from trueness.errors import InputError
from trueness.measure._flexible_curve import METHODS, FlexibleMethod
from trueness.results import Panel
from trueness.typing import ArrayLike, Kind, Missing, WeightType


@suggests_keywords
def panel(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | None = None,
    *,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    curve: FlexibleMethod = "spline",
    floor: bool = True,
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
) -> Panel:
    r"""The measures of a clinical or credit validation, each with limits or a noise floor.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. Or a :class:`trueness.Tally` or :class:`trueness.sources.Sketch` in place of both. A
        matrix must have two columns, of which the second is the score.
    curve : {'spline', 'loess'}, default 'spline'
        The calibration curve of ICI, E50, E90 and Emax: logistic regression on a restricted cubic
        spline of the log-odds, or local quadratic regression.
    floor : bool, default True
        Whether to draw labels for the noise floors, which takes most of the time.
    seed : int or numpy.random.Generator, default 0
        For noise floors.
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
    Panel
        A mapping, with ``str``, ``to_frame()``, ``to_dict()`` and ``text(style="tripod")``. Its
        keys are ``observed_expected``; ``intercept`` with the slope fixed at 1 (calibration in the
        large); ``slope``, and ``free_intercept`` of the same model; the proper scores ``brier``,
        ``scaled_brier`` and ``log_loss``; ``auc``, for orientation; ``ici``, ``e50``, ``e90`` and
        ``emax``, the mean, median, 90th percentile and maximum of the distance between scores and
        calibration curve; ``ece`` in ten bins of equal width; and, as
        :class:`trueness.results.Significance`, the tests ``spiegelhalter`` and ``cox``, with
        clusters only the first.

    Notes
    -----
    Each estimate names its method. Scores of exactly 0 and 1 have infinite log-odds: slope,
    intercepts and splines leave them out, and the panel counts them. Numbers agree with R's
    ``rms::val.prob``, except that its Emax, E90 and Eavg come from ``lowess``, and that its C
    leaves out scores of 0 and 1 and truncates the others to multiples of 0.0002.

    References
    ----------
    E. W. Steyerberg et al., Assessing the performance of prediction models: a framework for
    traditional and novel measures, Epidemiology 21 (2010), 128-138.
    B. Van Calster et al., A calibration hierarchy for risk models was defined: from utopia to
    empirical data, Journal of Clinical Epidemiology 74 (2016), 167-176.

    Examples
    --------
    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 6, 1_000)
    >>> y = rng.random(p.size) < p
    >>> panel = tn.panel(y, p, seed=0)
    >>> panel["slope"].low < 1 < panel["slope"].high
    True
    >>> panel["ici"].value < panel["ici"].floor_high
    True
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
    checked_word(curve, "curve", METHODS)
    if not isinstance(floor, bool | np.bool_):
        raise InputError("floor", "must be True or False", f"got {floor!r}")
    a = asked_of(y_true, y_prob, rows, cluster=cluster, level=level, seed=seed)
    evidence = a.view("classwise")
    evidence.tally_in()  # refuses sums of bins
    if not evidence.is_binary:
        demand = "must be the probability of one class, or have two columns"
        remedy = "Pass one column and `y_true == that_class`."
        raise InputError("y_prob", demand, "a matrix has a panel per class", remedy=remedy)
    table = a.ask(PANEL, curve=curve, floor=floor)
    assert table is not None
    return table
