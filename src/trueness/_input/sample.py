"""`Sample`: the checked rows (labels, scores, weights), which everything else is computed from."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueness._input import scores
from trueness._input.arguments import check_flag, check_ignore_index, checked_word
from trueness._input.columns import (
    Categories,
    Column,
    by_row,
    categories_of,
    column,
    refuse_missing,
)
from trueness._input.labels import (
    binary_labels,
    class_labels,
    explain_labels,
    labels_missing,
    multilabel_names,
    refuse_shifted,
    refuse_swapped,
)
from trueness._input.pixels import take
from trueness._input.shapes import Rows, check_rows, rows_of_columns
from trueness._input.weights import WEIGHT_TYPES, check_weights, require_whole, row_weights
from trueness.errors import InputError, in_context
from trueness.typing import ArrayLike, Bools, Floats, Ints, Missing, WeightType

_ENTRIES = 1 << 20  # looked at in one step
# Numbers of at most 8 bytes, in the byte order of the machine.
_PLAIN = frozenset(map(np.dtype, "?bBhHiIlLqQefd"))


class Sample:
    """Rows of the right shape and type.

    Labels `y` are 0/1 for a vector of scores, column indices (int64) for a matrix, and 0/1 in a
    column per label if there are several. Scores `p` have shape (n,) or (n, K), float or integer,
    in any memory order; with `logits`, a matrix before softmax. `w` are weights, or None, which are
    sampling weights if `importance`, even where they are whole numbers; `classes` the names of the
    columns, None for a vector; `tolerance` how far from one a row of a matrix may
    sum. `rows` are the user's row numbers, for messages, None if no row was `dropped`, of which
    `ignored` had the label to ignore. `pixels` is the number of rows of an image if predictions are
    dense, else 0; `note` says how an unusual shape was read.

    The range of scores and binary labels is checked in the pass that sums them, because a separate
    pass would cost as much as the sums. When that pass finds a bad value, it calls :meth:`explain`,
    which looks again and raises an error that says what is wrong and where.
    """

    __slots__ = (
        "classes",
        "dropped",
        "ignored",
        "importance",
        "logits",
        "note",
        "p",
        "pixels",
        "rows",
        "tolerance",
        "w",
        "y",
    )

    def __init__(
        self,
        y: NDArray[Any],
        p: NDArray[Any],
        w: Floats | None = None,
        classes: tuple[Any, ...] | None = None,
        tolerance: float = 0.0,
        rows: Ints | None = None,
        dropped: int = 0,
        logits: bool = False,
        *,
        importance: bool = False,
        ignored: int = 0,
        pixels: int = 0,
        note: str = "",
    ) -> None:
        """Keep the rows as they are; nothing is checked or copied here."""
        self.y = y
        self.p = p
        self.w = w
        self.classes = classes
        self.tolerance = tolerance
        self.rows = rows
        self.dropped = dropped
        self.logits = logits
        self.importance = importance
        self.ignored = ignored
        self.pixels = pixels
        self.note = note

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.y.shape[0])

    def at(self, chosen: NDArray[Any], w: Floats | None) -> "Sample":
        """Some of the rows, perhaps repeated, with other weights; they keep their row numbers."""
        rows = np.arange(self.n) if self.rows is None else self.rows
        return Sample(
            self.y[chosen],
            take(self.p, chosen),
            w,
            self.classes,
            self.tolerance,
            rows[chosen],
            logits=self.logits,
            importance=self.importance,
            pixels=self.pixels,
            note=self.note,
        )

    def copied(self) -> "Sample":
        """The same in arrays of its own, except images, which are not read at once."""
        return Sample(
            np.array(self.y),
            np.array(self.p) if isinstance(self.p, np.ndarray) else self.p,
            None if self.w is None else np.array(self.w),
            self.classes,
            self.tolerance,
            self.rows,
            self.dropped,
            self.logits,
            importance=self.importance,
            ignored=self.ignored,
            pixels=self.pixels,
            note=self.note,
        )

    def explain(self) -> NoReturn:
        """Raise the error that says which value is bad."""
        if self.p.ndim == 1:
            refuse_swapped(self.y, self.p)
        if self.pixels and self.p.ndim == 2:
            self._explain_images(self.p)
        if self.logits:
            scores.explain_logits(self.p, "y_prob", self.rows)
        else:
            scores.explain_scores(self.p, "y_prob", self.rows)
        if self.p.ndim == 2 and not self.logits:
            scores.explain_sums(self.p, "y_prob", self.tolerance, self.rows)
        explain_labels(self.y, self.p, self.rows)
        raise AssertionError("a pass refused rows in which no bad value can be found")

    def _explain_images(self, p: ArrayLike) -> None:
        """Raise the error for the first bad value, or for the worst row sum, in its image."""
        rows = np.arange(self.n) if self.rows is None else self.rows
        image, row = np.divmod(rows, p.images.shape[2])
        explain = scores.explain_logits if self.logits else scores.explain_scores
        off = [0.0] * (int(image.max()) + 1)
        for i in np.unique(image):
            inside = image == i
            pixels = np.asarray(p[inside])
            with in_context(f"Image {i}"):
                explain(pixels, "y_prob", row[inside])
            off[i] = float(np.abs(pixels.sum(axis=1, dtype=np.float64) - 1).max())
        worst = int(np.argmax(off))
        inside = image == worst
        with in_context(f"Image {worst}"):
            scores.explain_sums(np.asarray(p[inside]), "y_prob", self.tolerance, row[inside])


def plain_sample(y_true: object, y_prob: object) -> Sample | None:
    """Two NumPy vectors that need no conversion, as a Sample; else None.

    The fast path of most calls.
    """
    if type(y_true) is not np.ndarray or type(y_prob) is not np.ndarray or y_prob.ndim != 1:
        return None
    if y_true.dtype not in _PLAIN or y_prob.dtype not in _PLAIN or y_true.shape != y_prob.shape:
        return None
    if y_prob.size:
        return Sample(y_true, y_prob)
    return None


def read_sample(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    weight_type: WeightType = "auto",
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    percent: bool = False,
    ignore_index: int | None = None,
    multilabel: bool = False,
    allow_empty: bool = False,
    allow_none_left: bool = False,
    is_part: bool = False,
) -> Sample:
    """Read labels, scores and weights into a Sample.

    `allow_empty` is for sums, whose zero is no rows at all; `allow_none_left` is for a piece of a
    stream, all of whose rows, if any, may have a missing value or weight 0; `is_part` is for rows
    whose sums may be added to others, in which the first class may be absent. A matrix of logits is
    kept: its probabilities are computed when needed. Scores of more than two dimensions are dense:
    (B, C, …), with a label per pixel. `multilabel` reads a column of 0/1 for each column of scores.
    """
    checked_word(weight_type, "weight_type", WEIGHT_TYPES)
    _check_options(missing, ignore_index, from_logits, percent, clip_tolerance, sum_tolerance)
    if multilabel:
        _refuse_beside_multilabel(pos_label, ignore_index)
    refuse_shuffled_index(y_true, {"y_prob": y_prob, "sample_weight": sample_weight})
    rows = rows_of_columns(
        column(y_true, "y_true"), column(y_prob, "y_prob"), multilabel=multilabel
    )
    # Labels that are not described are read in the pass over the rows, which also sees a swap.
    are_described = labels is not None or pos_label is not None
    may_be_empty = allow_empty or allow_none_left
    check_rows(rows, are_described=are_described, multilabel=multilabel, may_be_empty=may_be_empty)
    rows = _with_numbers(rows, sample_weight)
    row_count = rows.p.values.shape[0]
    ignored = None if ignore_index is None else np.asarray(rows.y.values == ignore_index)
    labels_are_read = are_described or rows.p.values.ndim == 2
    rows = _complete_rows(
        rows, ignored, missing, labels_are_read=labels_are_read, may_be_empty=allow_none_left
    )
    w = _checked_weights(rows, weight_type, allow_zeros=allow_none_left)
    tolerance = scores.row_sum_tolerance(rows.p.values.dtype, sum_tolerance)
    p = _scores(rows.p.values, clip_tolerance, from_logits, percent, rows.numbers, multilabel)
    is_matrix = p.ndim == 2 and not multilabel
    if multilabel:
        y = rows.y.values
        classes = multilabel_names(p.shape[1], labels, rows.p.names, rows.y.names)
    elif is_matrix:
        y, classes = _class_numbers(rows, p.shape[1], labels, pos_label, categories_of(y_true))
    else:
        y = binary_labels(rows.y.values, labels, pos_label, rows.numbers, categories_of(y_true))
        classes = None
    if is_matrix and labels is None and rows.y.values.dtype.kind in "iuf" and not is_part:
        refuse_shifted(y, p.shape[1])
    return Sample(
        y,
        p,
        w,
        classes,
        tolerance=tolerance if is_matrix else 0.0,
        rows=rows.numbers,
        dropped=0 if rows.numbers is None else row_count - rows.numbers.size,
        logits=bool(from_logits and is_matrix),
        importance=weight_type == "importance" and w is not None,
        ignored=0 if ignored is None else int(ignored.sum()),
        pixels=rows.pixels,
        note=rows.note,
    )


def _class_numbers(
    rows: Rows,
    class_count: int,
    labels: Sequence[Any] | None,
    pos_label: object,
    categories: Categories | None,
) -> tuple[NDArray[Any], tuple[Any, ...]]:
    """The labels of several classes as numbers of their columns, and the names of the columns."""
    if pos_label is not None:
        raise InputError(
            "pos_label", "is only for a vector of scores", "`y_prob` is a matrix, so use `labels=`"
        )
    return class_labels(rows.y.values, class_count, labels, rows.p.names, rows.numbers, categories)


def _refuse_beside_multilabel(pos_label: object, ignore_index: object) -> None:
    """Raise for options that say what labels mean: those of several labels are 0 or 1."""
    if pos_label is None and ignore_index is None:
        return
    name = "ignore_index" if pos_label is None else "pos_label"
    raise InputError(
        name, "does not go with `kind='multilabel'`", "labels are 0 or 1 in a column each"
    )


def _with_numbers(rows: Rows, sample_weight: object) -> Rows:
    """The same with scores as numbers, and with weights if there are any."""
    p = scores.numeric(rows.p, "y_prob")
    if sample_weight is None:
        return rows._replace(p=p)
    return rows._replace(p=p, w=row_weights(sample_weight, p.values.shape[0], rows.pixels))


def _checked_weights(rows: Rows, weight_type: WeightType, *, allow_zeros: bool) -> Floats | None:
    """The weights, once their values are checked; None without weights."""
    if rows.w is None:
        return None
    w: Floats = rows.w.values
    check_weights(w, rows.numbers, allow_zeros=allow_zeros)
    if weight_type == "frequency":
        require_whole(w)
    return w


def _check_options(
    missing: object,
    ignore_index: object,
    from_logits: object,
    percent: object,
    clip_tolerance: object,
    sum_tolerance: object,
) -> None:
    """Raise unless the options of rows are valid; three of them exclude logits."""
    checked_word(missing, "missing", ("raise", "drop"))
    check_flag(from_logits, "from_logits")
    check_flag(percent, "percent")
    check_ignore_index(ignore_index)
    scores.checked_tolerance(clip_tolerance, "clip_tolerance", 0.1)
    if from_logits and (clip_tolerance or percent or sum_tolerance is not None):
        if clip_tolerance:
            name = "clip_tolerance"
        elif percent:
            name = "percent"
        else:
            name = "sum_tolerance"
        raise InputError(name, "is only for probabilities", "logits (`from_logits=True`) need none")


def _scores(
    values: NDArray[Any],
    clip_tolerance: float,
    from_logits: bool,
    percent: bool,
    rows: Ints | None,
    multilabel: bool,
) -> NDArray[Any]:
    """Scores as probabilities: percentages divided, and values just outside [0, 1] clipped.

    Logits go through the logistic function, except those of a matrix of classes, which stay.
    """
    if from_logits:
        if values.ndim == 1 or multilabel:
            return scores.logistic(values, "y_prob", rows)
        return values
    if percent:
        values = scores.fractions(np.asarray(values), "y_prob", rows)
    if clip_tolerance:
        return scores.clip_scores(np.asarray(values), clip_tolerance)
    return values


def _complete_rows(
    rows: Rows,
    ignored: Bools | None,
    missing: Missing,
    *,
    labels_are_read: bool,
    may_be_empty: bool,
) -> Rows:
    """The rows without missing values, and without those to be `ignored`.

    All rows if none has to go. Missing values are refused unless they may be dropped, and so are
    rows of which none would be left, unless they `may_be_empty`.
    """
    y = rows.y
    may_be_missing = labels_are_read or missing == "drop" or y.values.dtype.kind == "O"
    if y.values.ndim == 1 and (may_be_missing or y.missing is not None):
        y = y._replace(missing=labels_missing(y))
    columns = {"y_true": y, "y_prob": rows.p}
    if rows.w is not None:
        columns["sample_weight"] = rows.w
    masks = {name: part.missing for name, part in columns.items() if part.missing is not None}
    if missing == "raise" and masks:  # a nan among numbers is noticed in the pass over the rows
        refuse_missing(*next(iter(masks.items())))
    bad = [] if ignored is None else [ignored]
    if missing == "drop":
        bad += masks.values()
        for name, part in columns.items():
            if name != "y_true" and part.values.dtype.kind == "f":
                bad.append(_nan_rows(part.values))
    gone = np.logical_or.reduce(bad) if bad else None
    if gone is None or not gone.any():
        return rows._replace(y=y)
    if gone.all() and not may_be_empty:
        demand = "`y_true` and `y_prob` must have at least one complete row"
        or_ignored = "" if ignored is None else " or are ignored"
        raise InputError("", demand, f"all {gone.size:,} have a missing value{or_ignored}")
    kept = np.flatnonzero(~gone)
    return rows._replace(
        y=Column(y.values[kept], None, y.names),
        p=Column(take(rows.p.values, kept), None, rows.p.names),
        w=None if rows.w is None else Column(rows.w.values[kept]),
        numbers=kept,
    )


def _nan_rows(values: NDArray[Any]) -> Bools:
    """Which rows have a nan, looked at in blocks."""
    n = values.shape[0]
    step = max(1, _ENTRIES * n // max(1, values.size))
    starts = range(0, max(1, n), step)
    return np.concatenate([by_row(np.isnan(values[start : start + step])) for start in starts])


def refuse_shuffled_index(y_true: object, others: dict[str, Any]) -> None:
    """Raise for pandas objects with the same index in another order.

    Rows are paired by position.
    """
    index: Any = getattr(y_true, "index", None)
    if not hasattr(index, "equals"):
        return
    for name, other in others.items():
        other_index: Any = getattr(other, "index", None)
        if not hasattr(other_index, "equals"):
            continue
        if len(index) != len(other_index) or index.equals(other_index):
            continue
        if index.isin(other_index).all() and other_index.isin(index).all():
            demand = f"`y_true` and `{name}` have the same index in a different order"
            remedy = f"Align them (`{name}.loc[y_true.index]`) or pass `.to_numpy()`."
            raise InputError("", demand, "rows are paired by position", remedy=remedy)
