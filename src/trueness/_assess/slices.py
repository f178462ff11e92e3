"""`worst_slices`: where among many columns the scores are wrong."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from trueness._assess.asked import SLICES
from trueness._assess.reading import asked_of
from trueness._input.arguments import Seed, checked_resamples, checked_whole, whole_seed
from trueness._input.segment_columns import GROUPS
from trueness._keywords import suggests_keywords
from trueness._level import check_drawn_level, checked_level
from trueness._tally.accumulator import Accumulator
from trueness._tally.rows_or_sums import row_options
from trueness._tally.sketch import Sketch
from trueness._tally.tally import Binned, Tally
from trueness.errors import InputError, OneClassWarning, collected_warnings
from trueness.infer.group._segments import sums_by_group
from trueness.infer.group._slices import SlicePlan, slices_of_groups
from trueness.results import Slices
from trueness.typing import ArrayLike, Columns, Kind, Missing, WeightType

Sums: TypeAlias = Tally | Sketch | Binned


@suggests_keywords
def worst_slices(
    y_true: ArrayLike | Accumulator | Mapping[Any, Sums],
    y_prob: ArrayLike | None = None,
    columns: Columns | None = None,
    *,
    depth: int = 2,
    min_rows: int | None = None,
    level: float = 0.95,
    most: int = 100,
    cluster: ArrayLike | None = None,
    resamples: int | None = None,
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
) -> Slices:
    r"""Find the slices where scores are wrong, among all values of many columns and their pairs.

    A slice is a set of rows that share the values of one or more columns, such as "age < 25 and
    region = north". All are tested jointly: if the scores are calibrated, the probability that any
    slice is flagged is at most 1 − level. The limits of the gap hold for all slices together, and
    so for the one that is looked at because it is the worst.

    Parameters
    ----------
    y_true : array-like of shape (n,), (n, L) or (B, …)
        Labels: 0/1, bool, or classes; 0/1 in a column per label; or a class for each pixel of B
        images.
    y_prob : array-like of shape (n,), (n, K), (n, L) or (B, K, …)
        Predicted probabilities: P(positive), one column per class or label, or dense, with classes
        second. For a matrix, the largest score of each row is examined; a matrix of two columns is
        the binary problem of its second column. Or pass sums by group in place of both, as
        :func:`trueness.scan_groups` returns them for a list of columns: one group-by on any engine.
    columns : dict of array-like of shape (n,), or frame
        The columns, one or many. Missing values are a value of their own. Numeric columns with many
        values are cut into five groups of about equal size. The score itself, cut in the same way,
        is a further column. With sums, the names of the columns.
    depth : int, default 2
        The most columns in a slice. Up to 2, every slice is tested. From 3 on, slices are searched
        for in one half of the rows, and the 100 worst are tested and measured on the other half.
    min_rows : int, optional
        The least number of rows in a slice, or in each half of it where halves are taken; by
        default a thousandth of all rows, but at least 50.
    level : float, default 0.95
        Level of the joint test, and of all limits together.
    most : int, default 100
        The most slices in the result.
    resamples : int, optional
        Number of sets of labels, and of random signs, drawn: by default 499, or 199 for large
        tables.
    seed : int or numpy.random.Generator, default 0
        For redrawn labels, random signs and halves of the rows; the command's default is 0.
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
    Slices
        Arrays of equal length, one entry per slice, the most reliable finding first.

    See Also
    --------
    segments : The same for a few columns, with slopes, shrunk gaps and costs of every segment.

    Notes
    -----
    **Test.** The gap of each slice, in standard deviations and corrected for skewness, is compared
    with the largest of all slices for labels redrawn from the scores, as in :func:`segments`
    (step-down max-T). Where labels cannot be redrawn (above about :math:`10^8` rows times
    combinations of columns), tails of a binomial distribution are adjusted by Holm's method;
    `method` says which.

    **Limits** are those of :func:`segments`, at a common level found by random signs of the
    residuals. As p-values have another source, limits may exclude 0 where p is just above 1 −
    level; `flagged` follows p.

    **Overlap.** If "region = north" is off, so is most of what it contains. `distinct` marks the
    slices that remain: going down the list, one whose rows outside the slices before it are off by
    at least three standard errors.

    **Audit.** With probability `level`, no slice of at least `min_rows` rows has a gap beyond
    `worst_gap_high`: the scores are multicalibrated (Hébert-Johnson, Kim, Reingold, Rothblum 2018)
    on all these slices within that number.

    **Clusters.** Random signs of clusters give a second p-value; the larger one counts. Slices that
    are worth fewer than 20 clusters of equal size are left out. ``docs/methods/worst-slices.md``
    has formulas and proofs.

    References
    ----------
    Ú. Hébert-Johnson, M. Kim, O. Reingold, G. Rothblum, Multicalibration: calibration for the
    (computationally- identifiable) masses, ICML 2018.

    Examples
    --------
    Ten columns; where the first is 1 and the second 2, the odds are twice those that were
    predicted:

    >>> import numpy as np
    >>> import trueness as tn
    >>> rng = np.random.default_rng(0)
    >>> columns = {f"x{j}": rng.integers(0, 4, 8_000) for j in range(10)}
    >>> p = rng.uniform(0.1, 0.6, 8_000)
    >>> odds = p / (1 - p) * np.where((columns["x0"] == 1) & (columns["x1"] == 2), 2.2, 1)
    >>> y = rng.random(8_000) < odds / (1 + odds)
    >>> found = tn.worst_slices(y, p, columns, seed=0)
    >>> found.rule[0], found.finding[0]
    ('x0 = 1 and x1 = 2', 'under-predicted')
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
    depth = checked_whole(depth, "depth")
    most = checked_whole(most, "most")
    minimum = None if min_rows is None else checked_whole(min_rows, "min_rows")
    draws = None if resamples is None else checked_resamples(resamples)
    if draws is None:
        check_drawn_level(level, "`worst_slices`", "Or say how many `resamples` to draw.")
    options: dict[str, Any] = {"most": most, "depth": depth, "least": minimum, "resamples": draws}
    try:
        if isinstance(y_true, Accumulator | Mapping):
            sums = sums_by_group(
                y_true, columns, 1, alone=y_prob is None and cluster is None and not rows
            )
            if depth > 2:
                raise InputError("y_true", "must be labels for depth 3", "sums cannot be halved")
            return slices_of_groups(sums, SlicePlan(whole_seed(seed), level, **options))
        if columns is None:
            raise InputError("columns", "must be a dict of columns or a frame", "got None")
        # A slice of one class has limits of its own.
        with collected_warnings(OneClassWarning):
            a = asked_of(
                y_true,
                y_prob,
                rows,
                by=columns,
                slice_groups=GROUPS,
                slices_from=1,
                cluster=cluster,
                level=level,
                seed=seed,
            )
    except InputError as error:
        renamed = error.argument == "by" or error.argument.startswith("by[")
        raise (error.but(argument=f"columns{error.argument[2:]}") if renamed else error) from None
    slices = a.ask(SLICES, **options)
    assert slices is not None
    return slices
