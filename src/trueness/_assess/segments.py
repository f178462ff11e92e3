"""`segments`: every value of every column, tested jointly."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from trueness._assess.asked import SEGMENTS
from trueness._assess.reading import asked_of
from trueness._input.arguments import Seed, checked_fraction, checked_resamples, whole_seed
from trueness._keywords import suggests_keywords
from trueness._level import checked_level
from trueness._tally.accumulator import Accumulator
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, OneClassWarning, collected_warnings
from trueness.infer.group._segments import describe_segments, sums_by_group
from trueness.results import Segments
from trueness.typing import ArrayLike, Columns, Kind, Missing, WeightType

Sums: TypeAlias = Tally | Sketch | Binned


@suggests_keywords
def segments(
    y_true: ArrayLike | Accumulator | Mapping[Any, Sums],
    y_prob: ArrayLike | None = None,
    by: Columns | None = None,
    *,
    crossed: int = 1,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    resamples: int | None = None,
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
) -> Segments:
    r"""Find the segments of the rows that are miscalibrated, and what each costs.

    Every value of every column is a segment. All are tested jointly: if the scores are calibrated,
    the probability that any segment is flagged is at most 1 − level, for any number of rows and
    segments, overlapping ones included.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. For a matrix, the largest score of each row is examined; a matrix of two columns is
        the binary problem of its second column. Or pass sums by group in place of both: an
        :class:`trueness.Accumulator` with groups, or a dict as returned by
        :func:`trueness.scan_groups`, whose keys are the groups (tuples for several columns).
    by : array-like of shape (n,), dict of such, or frame
        The columns. Missing values are a segment of their own. Numeric columns with more than 12
        distinct values are cut into five groups of about equal size; convert them to text to keep
        every value. With a dict of sums, the name of the groups, or the names of the columns.
    crossed : int, default 1
        The most columns to cross: with 2, every pair of values of two columns is a segment, too.
    level : float, default 0.95
        Level of the joint test, and of all limits together.
    resamples : int, optional
        Number of sets of labels redrawn from the scores, by default 999, or more for a level above
        0.98.
    seed : int or numpy.random.Generator, default 0
        For redrawn labels and random signs, from which p-values are estimated; the command's
        default is 0.
    rounded_to : float, optional
        The unit to which the scores were rounded, as for :func:`trueness.calibration_test`: scores
        of exactly 0 and 1 that labels contradict are moved by up to half of it for the test.
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
    Segments
        Arrays of equal length, the costliest segment first.

    Notes
    -----
    **Test.** Two statistics per segment: the gap :math:`\sum (y - p)`, by the exact two-sided tail
    of the number of events (Poisson-binomial), which is `pvalue`; and the score of the slope,
    :math:`\sum (y - p)(x - \bar x)` with :math:`x = \mathrm{logit}\,p`, which sees scores that are
    too extreme or too moderate though right on average. The adjusted p-value compares the tail of a
    segment with the smallest of all segments for R sets of labels redrawn from the scores
    (step-down max-T of Westfall and Young); it stops at 1/(R + 1), unless a proven bound is
    smaller. An error that changes neither the mean nor the slope of a segment is not detected: test
    such a segment alone by :func:`trueness.calibration_test`.

    **The whole.** `overall_pvalue` is that of the same test after the shift and slope of all rows
    are undone: whether a segment differs from the error of all rows. Its level is approximate.

    **Limits** of the gap and of observed/expected are Clopper-Pearson limits of the event rate,
    minus or divided by the mean score, each at the level :math:`\mathrm{level}^{1/m}` for :math:`m`
    segments (Šidák 1967). In segments whose events have a variance of 5 or more, the number of
    labels is multiplied by how much the scores reduce the variance of a label, the smaller of two
    estimates: from the scores and from the labels.

    **Shrinkage.** `shrunk_gap` assumes that the log-odds of each segment of a column are shifted by
    :math:`\mu + \tau t_s`, with :math:`t_s` from Student's t distribution with 4 degrees of
    freedom; all segments of the column give :math:`\mu` and :math:`\tau`. Its limits cover about as
    often as stated on average over segments, not for each one. `cost` is
    :math:`w_s\,\mathrm{shrunk\_gap}_s^2` with the share :math:`w_s` of the rows, in units of the
    Brier score.

    **Weights** that are whole numbers count rows. With others, each row has one label; the tail
    comes from the first three moments of :math:`\sum w (y - p)`, the joint test stays exact, and
    limits use the effective number of rows.

    **Clusters.** The cluster sums of the residuals get random signs, as in
    :func:`trueness.calibration_test`; the larger of both p-values counts. This needs many clusters:
    segments with fewer than 20 effective ones are named in `notes`, and if all rows have fewer,
    there is a :class:`trueness.errors.FewClustersWarning`. **Sums** with mean scores of cells or
    bins have slightly too large tails (Hoeffding 1956).

    References
    ----------
    Z. Šidák, Rectangular confidence regions for the means of multivariate normal distributions,
    Journal of the American Statistical Association 62 (1967), 626-633.

    Examples
    --------
    Among sixty regions one has twice the events that were predicted:

    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(1)
    >>> p, region = rng.uniform(0.1, 0.4, 12_000), np.repeat(np.arange(60), 200).astype(str)
    >>> y = rng.random(p.size) < np.where(region == "54", 2 * p, p)
    >>> found = tn.segments(y, p, {"region": region}, seed=0)
    >>> found.value[0], found.finding[0], int(found.flagged.sum())
    ('54', 'under-predicted', 1)
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
    draws = None if resamples is None else checked_resamples(resamples)
    if isinstance(y_true, Accumulator | Mapping):
        level = checked_level(level)
        seed = whole_seed(seed)
        read = sums_by_group(
            y_true, by, crossed, alone=y_prob is None and cluster is None and not rows
        )
        unit = None if rounded_to is None else checked_fraction(rounded_to, "rounded_to")
        return describe_segments(read, level, draws, seed, unit)
    if by is None:
        raise InputError("by", "must be a column, a dict of columns or a frame", "got None")
    # A segment of one class has limits of its own.
    with collected_warnings(OneClassWarning):
        a = asked_of(
            y_true,
            y_prob,
            rows,
            by=by,
            crossed=crossed,
            cluster=cluster,
            level=level,
            seed=seed,
            rounded_to=rounded_to,
        )
    tested = a.ask(SEGMENTS, resamples=draws)
    assert tested is not None
    return tested
