"""The first arguments of a measure: labels and scores, or sums in place of both."""

import inspect
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeGuard, TypeVar

import numpy as np

from trueness._input.arguments import checked_word
from trueness._input.sample import Sample, plain_sample, read_sample
from trueness._input.weights import WEIGHT_TYPES
from trueness._keywords import suggests_keywords
from trueness._tally.buckets import RowClusters, read_clusters, refuse_unused
from trueness._tally.events import Events, clusters_of
from trueness._tally.grid import grid_of_rows
from trueness._tally.multiclass import (
    EACH_ROW,
    View,
    binary_of_two_columns,
    check_kind,
    class_bins,
    parts_of,
    with_probabilities,
)
from trueness._tally.row_sums import UnsortedRows, bins_of_rows, cells_of_rows, unsorted_rows
from trueness._tally.rules import BinRule, BinsLike, BySize, EqualWidth, as_rule, check_class_bins
from trueness._tally.sketch import Sketch
from trueness._tally.tally import (
    Binned,
    Parts,
    Tally,
    binary_of_two_classes,
    checked_rule,
    need_moments,
    tally_of_sums,
)
from trueness.errors import (
    DroppedRowsWarning,
    FewRowsWarning,
    InputError,
    OneClassWarning,
    Remedy,
    dropped_rows,
    warn,
)
from trueness.typing import ArrayLike, Kind, Missing, RowOptions, WeightType

Sums = TypeVar("Sums", bound=Parts[Any])
Part = TypeVar("Part")

_PIXELS = 1 << 14  # of images that are summed together, so that nothing is kept of each pixel
_SUMS = (Tally, Binned, Sketch)  # `Tally | Binned | Sketch` would be made anew at every call
_READ = inspect.signature(read_sample).parameters
_DEFAULTS = {
    name: _READ[name].default if name in _READ else None for name in RowOptions.__annotations__
}
ROW_OPTIONS = {
    name: _READ[name].default if name in _READ else "classwise"
    for name in RowOptions.__annotations__
}


_RAISE = "raise"
_AUTO = "auto"


def row_options(
    kind: Kind | None,
    labels: Sequence[Hashable] | None,
    pos_label: Hashable | None,
    sample_weight: ArrayLike | None,
    weight_type: WeightType,
    missing: Missing,
    clip_tolerance: float,
    sum_tolerance: float | None,
    from_logits: bool,
    percent: bool,
    ignore_index: int | None,
) -> RowOptions:
    """The options of rows that are not their defaults: none of most calls."""
    if (
        labels is None
        and pos_label is None
        and sample_weight is None
        and weight_type is _AUTO
        and missing is _RAISE
        and sum_tolerance is None
        and from_logits is False
        and percent is False
        and ignore_index is None
        and kind is None
        and type(clip_tolerance) is float
        and clip_tolerance == 0.0
    ):
        return {}
    options: RowOptions = {
        "kind": kind,  # type: ignore[typeddict-item]  # None is dropped below
        "labels": labels,
        "pos_label": pos_label,
        "sample_weight": sample_weight,
        "weight_type": weight_type,
        "missing": missing,
        "clip_tolerance": clip_tolerance,
        "sum_tolerance": sum_tolerance,
        "from_logits": from_logits,
        "percent": percent,
        "ignore_index": ignore_index,
    }
    for name, default in _DEFAULTS.items():
        value = options[name]  # type: ignore[literal-required]
        if value is default or (type(value) is type(default) and value == default):
            del options[name]  # type: ignore[misc]
    return options


def as_binned(
    y_true: ArrayLike | Tally | Binned | Sketch,
    y_prob: ArrayLike | None,
    bins: BinsLike | BySize,
    options: RowOptions,
    *,
    moments: bool = False,
    kind: Kind = "classwise",
    two_columns: bool = False,
) -> Binned:
    """The sums per bin of rows or of other sums, with the warnings that every measure gives.

    With `two_columns` a matrix of two columns is the binary problem of its second.
    """
    if isinstance(y_true, _SUMS):
        refuse_row_arguments(y_true, y_prob, options)
        if two_columns:
            y_true = binary_of_two_classes(y_true)
        rule = rule_for(bins, y_true.weight)
        binned_sums = y_true.coarsen(rule)
        if moments:
            need_moments(binned_sums)
    else:
        sample, kind = sample_and_kind(y_true, y_prob, options, kind=kind, keep_logits=True)
        if two_columns:
            sample = binary_of_two_columns(sample)
        rule = rule_for(bins, sample.n if sample.w is None else float(sample.w.sum()))
        binned_sums = binned_of(sample, kind, rule, moments=moments, piece=False)
    _give_warnings(binned_sums, rule)
    return binned_sums


def are_sums(value: object) -> TypeGuard[Tally | Binned | Sketch]:
    """Whether sums of rows were passed in place of labels and scores."""
    return isinstance(value, _SUMS)


def rule_for(bins: BinsLike | BySize, weight: float) -> BinRule:
    """The bin rule, which may depend on the number of rows."""
    if isinstance(bins, BySize):
        return bins.rule(weight)
    return as_rule(bins)


def as_tally(
    y_true: ArrayLike | Tally | Sketch,
    y_prob: ArrayLike | None,
    options: RowOptions,
    *,
    rule: BinRule | None = None,
    kind: Kind = "classwise",
    two_columns: bool = False,
) -> Tally:
    """The sums per distinct score of rows or of other sums, with the warnings of every measure.

    With `two_columns` a matrix of two columns is the binary problem of its second.
    """
    if isinstance(y_true, _SUMS):
        tally = tally_of_sums(y_true)
        if two_columns:
            tally = binary_of_two_classes(tally)
        refuse_row_arguments(y_true, y_prob, options)
        if rule is not None:
            checked_rule(rule, y_true)
    else:
        sample, kind = sample_and_kind(y_true, y_prob, options, kind=kind, keep_logits=True)
        if two_columns:
            sample = binary_of_two_columns(sample)
        tally = tally_of(sample, kind, rule)
    _give_warnings(tally, rule)
    return tally


def as_rows_or_cells(
    y_true: ArrayLike | Tally | Sketch, y_prob: ArrayLike | None, options: RowOptions
) -> Parts[UnsortedRows] | Tally:
    """Unsorted rows for a measure that needs no order.

    Sums per distinct score where rows are weighted or summed.
    """
    if isinstance(y_true, _SUMS):
        return as_tally(y_true, y_prob, options)
    sample, kind = sample_and_kind(y_true, y_prob, options, keep_logits=True)
    unsorted = sample.w is None
    parts: Parts[Any] = (
        Parts(*_parts(sample, kind, unsorted_rows, False)) if unsorted else tally_of(sample, kind)
    )
    _give_warnings(parts)
    return parts


def as_sample(
    y_true: ArrayLike, y_prob: ArrayLike | None, options: RowOptions, *, kind: Kind = "classwise"
) -> Sample:
    """The rows themselves, where sums per score do not suffice; `kind` is the only view allowed."""
    if isinstance(y_true, _SUMS):
        got = f"a {type(y_true).__name__} has none"
        raise InputError(
            "", "This needs whole rows of scores", got, remedy="Pass labels and scores."
        )
    sample, stated_kind = sample_and_kind(y_true, y_prob, options, kind=kind)
    if stated_kind != kind:
        raise InputError("kind", f"must be {kind!r} here, or be left out", f"got {stated_kind!r}")
    check_one_class(sample)
    return sample


def sample_and_kind(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    options: RowOptions,
    *,
    kind: Kind = "classwise",
    allow_empty: bool = False,
    allow_none_left: bool = False,
    is_part: bool = False,
    keep_logits: bool = False,
) -> tuple[Sample, Kind]:
    """The rows, and the view of a matrix: the one in `options`, else `kind`.

    A matrix of logits becomes one of probabilities, unless `keep_logits`: only the functions of
    this file read logits.
    """
    if isinstance(y_true, Events):
        y_true, y_prob, options = y_true.as_rows(y_prob, options, ROW_OPTIONS)
    if y_prob is None:
        raise InputError(
            "y_prob", "is missing: pass labels and scores, or a Tally in place of both"
        )
    if not options:
        return plain_sample(y_true, y_prob) or read_sample(
            y_true, y_prob, allow_empty=allow_empty, is_part=is_part
        ), kind
    rest: dict[str, Any] = dict(options)
    stated_kind = check_kind(rest.pop("kind")) if "kind" in rest else None
    kind = stated_kind or kind
    rest["multilabel"] = kind == "multilabel"
    sample = read_sample(
        y_true,
        y_prob,
        allow_empty=allow_empty,
        allow_none_left=allow_none_left,
        is_part=is_part,
        **rest,
    )
    if stated_kind not in (None, "classwise") and sample.p.ndim == 1:
        demand = f"`kind={kind!r}` needs a matrix of scores, one column per class"
        why = "It is P(positive) of one binary problem, where there is no top label to choose;"
        remedy = Remedy(
            "column-stack", f"{why} `np.column_stack([1 - y_prob, y_prob])` makes a matrix."
        )
        raise InputError("", demand, "`y_prob` is a vector", remedy=remedy)
    if sample.logits and not keep_logits:
        sample = with_probabilities(sample)
    gone = sample.dropped - sample.ignored
    if gone > 0:
        warn(dropped_rows(gone, sample.dropped + sample.n), DroppedRowsWarning)
    return sample, kind


def refuse_row_arguments(
    sums: Tally | Binned | Sketch, y_prob: ArrayLike | None, options: RowOptions
) -> None:
    """Raise for arguments that describe rows, and for sums of no rows."""
    what = type(sums).__name__
    if y_prob is not None:
        raise InputError(
            "y_prob", f"must be left out when a {what} is passed: it holds labels and scores"
        )
    kind = check_kind(options["kind"]) if "kind" in options else sums.kind
    if kind != sums.kind and (sums.kind, kind) != ("binary", "classwise"):
        raise InputError("kind", f"is {kind!r}, but this {what} was made with kind={sums.kind!r}")
    check_sums_of(sums, options.get("weight_type", "auto"))
    for name, value in options.items():
        if name == "weight_type":
            continue
        default = value is None or (
            isinstance(value, str | bool | float | int) and value == ROW_OPTIONS.get(name)
        )
        if name != "kind" and not default:
            raise InputError(name, "describes rows", f"this {what} already holds their sums")
    if sums.n == 0:
        raise InputError(
            "", f"An empty {what} has no calibration error", remedy="Add rows to it first."
        )


def check_sums_of(sums: Tally | Binned | Sketch, weight_type: WeightType) -> None:
    """Raise unless these sums are of weights of this type."""
    checked_word(weight_type, "weight_type", WEIGHT_TYPES)
    if weight_type == "auto" or sums.weight == sums.n:
        return
    counted = all(part.whole for part in sums.parts)
    what = type(sums).__name__
    remedy = f"Pass `weight_type={weight_type!r}` where the {what} is made."
    if weight_type == "importance" and counted:
        got = f"the weights of this {what} count rows: {sums.n:,} stand for {sums.weight:,.0f}"
        raise InputError("weight_type", "must be 'frequency' or 'auto'", got, remedy=remedy)
    if weight_type == "frequency" and not counted:
        got = f"this {what} holds sampling weights"
        raise InputError("weight_type", "must be 'importance' or 'auto'", got, remedy=remedy)


def _give_warnings(sums: Parts[Any], rule: BinRule | None = None) -> None:
    if sums.one_class:
        warn_one_class(sums.n)
    if rule is not None:
        warn_few_rows(sums.n, rule)


def check_one_class(sample: Sample) -> None:
    if sample.y.size and bool((sample.y == sample.y[0]).all()):
        warn_one_class(sample.y.size)


def warn_few_rows(n: int, rule: BinRule) -> None:
    if rule.n_requested > n:
        warn(f"There are fewer rows ({n:,}) than bins ({rule.n_requested:,}).", FewRowsWarning)


def warn_one_class(n: int) -> None:
    what = f"All {n:,} labels are equal" if n > 1 else "There is one label"
    warn(f"{what}: the measure sees one class only.", OneClassWarning)


@suggests_keywords
def tally(
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    cluster: ArrayLike | None = None,
    buckets: int = 64,
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
) -> Tally:
    """Sum the rows of each distinct score.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels. Without any rows, the result is an empty tally, which can be added to others.
    y_prob : array-like of shape (n,) or (n, K)
        Scores. For a matrix, the tally holds one part per class (`kind` 'classwise' or 'top-label')
        or a single one ('confidence').
    cluster : array-like of shape (n,), optional
        A cluster name for each row, as text or whole numbers; rows of one cluster may depend on
        each other. The sums are then kept for each bucket of clusters, and every interval and test
        from them allows for the dependence. A matrix needs `kind='confidence'`.
    buckets : 32, 64, 128 or 256, default 64
        Number of buckets. A cluster has the same bucket everywhere; sums add if they have the same
        number.
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
    Tally
        Takes the place of labels and scores in every measure; tallies add.

    Examples
    --------
    >>> import trueness as tn
    >>> days = [tn.tally([0, 1], [0.25, 0.5]), tn.tally([1], [0.5])]
    >>> sum(days)
    Tally(binary, 3 rows, 2 distinct scores)
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
    cluster = clusters_of(y_true, cluster)
    return _by_bucket(
        partial(tally_of, piece=cluster is not None), y_true, y_prob, rows, cluster, buckets
    )


@suggests_keywords
def sketch(
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    cluster: ArrayLike | None = None,
    buckets: int = 64,
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
) -> Sketch:
    """Sum the rows of each cell of a fixed grid, in one pass and bounded memory, for any measure.

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
    cluster : array-like of shape (n,), optional
        A cluster name for each row, as text or whole numbers, for sums of each bucket of clusters
        (see `tally`).
    buckets : 32, 64, 128 or 256, default 64
        Number of buckets. A cluster has the same bucket everywhere; sums add if they have the same
        number.

    Returns
    -------
    Sketch
        Takes the place of labels and scores in every measure, whose value is then an approximation.
        Sketches add.

    Examples
    --------
    >>> import trueness as tn
    >>> days = [tn.sketch([0, 1], [0.25, 0.5]), tn.sketch([1], [0.5])]
    >>> sum(days)
    Sketch(binary, 3 rows, 2 cells)
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
    cluster = clusters_of(y_true, cluster)
    return _by_bucket(
        partial(sketch_of, piece=cluster is not None), y_true, y_prob, rows, cluster, buckets
    )


@suggests_keywords
def binned(
    y_true: ArrayLike,
    y_prob: ArrayLike | None = None,
    *,
    bins: BinsLike = 10,
    cluster: ArrayLike | None = None,
    buckets: int = 64,
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
) -> Binned:
    """Sum the rows of each bin, in one pass without sorting if the edges are fixed.

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
    cluster : array-like of shape (n,), optional
        A cluster name for each row, as text or whole numbers, for sums of each bucket of clusters
        (see `tally`).
    buckets : 32, 64, 128 or 256, default 64
        Number of buckets. A cluster has the same bucket everywhere; sums add if they have the same
        number.
    bins : int, sequence of edges or bin rule, default 10
        An int means that many bins of equal width on [0, 1].

    Returns
    -------
    Binned
        Takes the place of labels and scores in measures of those bins; sums over the same edges
        add.

    Examples
    --------
    >>> import trueness as tn
    >>> tn.binned([0, 1, 1], [0.25, 0.5, 1.0], bins=4)
    Binned(binary, 3 rows, 4 bins)
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
    rule = as_rule(bins)
    cluster = clusters_of(y_true, cluster)
    fixed = rule.fixed_edges is not None
    if cluster is not None and not fixed:
        make = partial(tally_of, piece=True)
        return _by_bucket(make, y_true, y_prob, rows, cluster, buckets, allow_empty=False).coarsen(
            rule
        )
    return _by_bucket(
        partial(binned_of, rule=rule), y_true, y_prob, rows, cluster, buckets, allow_empty=fixed
    )


def _by_bucket(
    make: Callable[..., Sums],
    y_true: ArrayLike,
    y_prob: ArrayLike,
    rows: RowOptions,
    cluster: ArrayLike | None,
    buckets: int,
    *,
    allow_empty: bool = True,
) -> Sums:
    """The sums that `make` makes of checked rows, with a bucket for each part of the clusters."""
    sample, kind = sample_and_kind(
        y_true, y_prob, rows, allow_empty=allow_empty, is_part=True, keep_logits=True
    )
    if cluster is None:
        refuse_unused(buckets)
        return make(sample, kind)
    return by_bucket(make, sample, kind, read_clusters(y_true, cluster, sample, buckets, kind))


def by_bucket(
    make: Callable[..., Sums], sample: Sample, kind: Kind, clusters: RowClusters | None
) -> Sums:
    """The sums of the rows, kept for each bucket of clusters if there are clusters."""
    if clusters is None:
        return make(sample, kind)
    pieces = clusters.rows()
    if sample.w is not None:
        # A bucket of weight 0 has no rows.
        pieces = [members[sample.w[members] > 0] for members in pieces]
    try:
        none = make(sample.at(pieces[0][:0], None), kind)
        made = []
        for members in pieces:
            if not members.size:
                made.append(none)
                continue
            w = None if sample.w is None else sample.w[members]
            made.append(make(sample.at(members, w), kind))
    except InputError:
        make(sample, kind)  # raises the same, of all rows
        raise
    return made[0].of_buckets(made, clusters.largest(sample.w))


def tally_of(
    sample: Sample, kind: Kind, rule: BinRule | None = None, *, piece: bool = False
) -> Tally:
    """Sum the rows of each distinct score.

    A `piece` of more rows may hold one class without a warning.
    """
    split = rule is not None and rule.splits_ties
    return Tally(*_parts(sample, kind, lambda part: cells_of_rows(part, split_ties=split), piece))


def sketch_of(sample: Sample, kind: Kind, *, piece: bool = False) -> Sketch:
    """Sum the rows of each cell of the grid; `piece` as for :func:`tally_of`."""
    return Sketch(*_parts(sample, kind, grid_of_rows, piece))


def binned_of(
    sample: Sample, kind: Kind, rule: BinRule, *, moments: bool = True, piece: bool = True
) -> Binned:
    """Sum the rows of each bin; `piece` as for :func:`tally_of`."""
    if sample.p.ndim == 1:
        return Binned("binary", (bins_of_rows(sample, rule, moments=moments),))
    if sample.n > _PIXELS and sample.pixels and sample.w is None and rule.fixed_edges is not None:
        if kind != "classwise" and not piece:
            check_one_class(sample)
        blocks = (np.arange(i, min(i + _PIXELS, sample.n)) for i in range(0, sample.n, _PIXELS))
        return sum(
            binned_of(sample.at(block, None), kind, rule, moments=moments) for block in blocks
        )  # type: ignore[return-value]  # whole numbers add exactly
    if kind != "confidence":
        check_class_bins(rule.n_requested, sample.p.shape[1])
    if kind == "classwise" and sample.w is None and isinstance(rule, EqualWidth) and not moments:
        return Binned(kind, class_bins(sample, rule), sample.classes)
    return Binned(
        *_parts(sample, kind, lambda part: bins_of_rows(part, rule, moments=moments), piece)
    )


def _parts(
    sample: Sample, kind: Kind, make: Callable[[Sample], Part], piece: bool
) -> tuple[View, tuple[Part, ...], tuple[Any, ...] | None]:
    """Kind, parts and classes of sums."""
    if sample.p.ndim == 1:
        return "binary", (make(sample),), None
    if kind not in EACH_ROW and not piece:
        check_one_class(sample)
    return kind, parts_of(sample, kind, make), sample.classes
