"""`Sample`: the checked rows (labels, scores, weights), which everything else is computed from.

Dense ones, too.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from trueness._input import scores
from trueness._input.arguments import check_flag, check_ignore_index, checked_word
from trueness._input.columns import (
    Column,
    by_row,
    categories_of,
    column,
    first_place,
    refuse_bad,
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
from trueness.errors import InputError, Remedy, in_context
from trueness.typing import ArrayLike, Bools, Floats, Ints, Missing, WeightType

_ENTRIES = 1 << 20  # looked at in one step
WEIGHT_TYPES = get_args(WeightType)
# Of weights, and of their ratios: their squares are summed, and must neither overflow nor vanish.
_LARGEST = 1e100
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
        self.ignored = 0
        self.pixels = 0
        self.note = ""

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.y.shape[0])

    def at(self, chosen: NDArray[Any], w: Floats | None) -> "Sample":
        """Some of the rows, perhaps repeated, with other weights; they keep their row numbers."""
        rows = np.arange(self.n) if self.rows is None else self.rows
        p = take(self.p, chosen)
        rows = rows[chosen]
        sample = Sample(
            self.y[chosen],
            p,
            w,
            self.classes,
            self.tolerance,
            rows,
            logits=self.logits,
            importance=self.importance,
        )
        sample.pixels = self.pixels
        sample.note = self.note
        return sample

    def copied(self) -> "Sample":
        """The same in arrays of its own, except images, which are not read at once."""
        copy = Sample(
            np.array(self.y),
            np.array(self.p) if isinstance(self.p, np.ndarray) else self.p,
            None if self.w is None else np.array(self.w),
            self.classes,
            self.tolerance,
            self.rows,
            self.dropped,
            self.logits,
            importance=self.importance,
        )
        copy.ignored = self.ignored
        copy.pixels = self.pixels
        copy.note = self.note
        return copy

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
    if multilabel and not (pos_label is None and ignore_index is None):
        name = "ignore_index" if pos_label is None else "pos_label"
        raise InputError(
            name, "does not go with `kind='multilabel'`", "labels are 0 or 1 in a column each"
        )
    refuse_shuffled_index(y_true, {"y_prob": y_prob, "sample_weight": sample_weight})
    shaped = _shaped(column(y_true, "y_true"), column(y_prob, "y_prob"), multilabel)
    y = shaped.y
    p = shaped.p
    pixels = shaped.pixels
    described = labels is not None or pos_label is not None
    if described or y.values.ndim == 2 or p.values.dtype.kind not in "biuf":
        refuse_swapped(y.values, p.values)
    if not multilabel:
        _check_shapes(y.values, p.values)
    if y.values.shape[0] == 0 and not (allow_empty or allow_none_left):
        raise InputError("", "`y_true` and `y_prob` must have at least one row", "both are empty")
    p = scores.numeric(p, "y_prob")
    n = p.values.shape[0]
    read = described or p.values.ndim == 2  # labels that are read before the pass over the rows
    w = None if sample_weight is None else row_weights(sample_weight, n, pixels)
    skip = None if ignore_index is None else np.asarray(y.values == ignore_index)
    y, p, w, rows = _without_missing(y, p, w, missing, read, allow_none_left, skip)
    if w is not None:
        check_weights(w.values, rows, allow_zeros=allow_none_left)
        if weight_type == "frequency":
            require_whole(w.values)
    tolerance = scores.row_sum_tolerance(p.values.dtype, sum_tolerance)
    values = _scores(p.values, clip_tolerance, from_logits, percent, rows, multilabel)
    if multilabel:
        codes = y.values
        classes = multilabel_names(values.shape[1], labels, p.names, y.names)
    elif values.ndim == 1:
        codes = binary_labels(y.values, labels, pos_label, rows, categories_of(y_true))
        classes = None
    elif pos_label is not None:
        raise InputError(
            "pos_label", "is only for a vector of scores", "`y_prob` is a matrix, so use `labels=`"
        )
    else:
        codes, classes = class_labels(
            y.values, values.shape[1], labels, p.names, rows, categories_of(y_true)
        )
        if labels is None and y.values.dtype.kind in "iuf" and not is_part:
            refuse_shifted(codes, values.shape[1])
    is_matrix = values.ndim == 2 and not multilabel
    weights = None if w is None else w.values
    sample = Sample(
        codes,
        values,
        weights,
        classes,
        tolerance=tolerance if is_matrix else 0.0,
        rows=rows,
        dropped=0 if rows is None else n - rows.size,
        logits=bool(from_logits and is_matrix),
        importance=weight_type == "importance" and weights is not None,
    )
    sample.ignored = 0 if skip is None else int(skip.sum())
    sample.pixels = pixels
    sample.note = shaped.note
    return sample


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


class _Shaped(NamedTuple):
    """Labels and scores as vectors or matrices."""

    y: Column
    p: Column
    pixels: int = 0
    """The pixels of an image; 0 if scores are not dense."""
    note: str = ""
    """How a single column was read."""


def _shaped(y: Column, p: Column, multilabel: bool) -> _Shaped:
    """Labels and scores in their final shape: images flat, and a single column as a vector."""
    if multilabel:
        return _Shaped(_label_matrix(y, p), p)
    if p.values.ndim > 2:
        flat_labels, flat_scores = flatten(y, p)
        pixels = p.values[0, 0].size if p.values.size else 1
        return _Shaped(flat_labels, flat_scores, pixels)
    if p.values.ndim < 2 or p.values.shape[1] != 1 or y.values.ndim not in (1, 2):
        return _Shaped(y, p)
    if y.values.shape[1:] == (1,):
        y = y._replace(values=y.values[:, 0])
    note = "The only column of scores is P(positive) of a binary problem."
    return _Shaped(y, Column(p.values[:, 0], p.missing), note=note)


def _label_matrix(y: Column, p: Column) -> Column:
    """Labels with a column for each label, as numbers; a row is missing if any entry is.

    They must have the shape of the scores.
    """
    if y.values.ndim != 2 or y.values.shape != p.values.shape:
        demand = (
            "`y_true` and `y_prob` must have a column per label and one shape if "
            "`kind='multilabel'`"
        )
        remedy = "Class labels, one per row, need no `kind`." if y.values.ndim == 1 else ""
        raise InputError("", demand, f"got {y.values.shape} and {p.values.shape}", remedy=remedy)
    if p.values.shape[1] == 0:
        raise InputError(
            "y_prob", "must have a column per label, at least 1", f"got shape {p.values.shape}"
        )
    labels = scores.numeric(y, "y_true")
    if labels.values.dtype.kind != "f":
        return labels
    gone = by_row(np.isnan(labels.values))
    if not gone.any():
        return labels
    if labels.missing is not None:
        gone = gone | labels.missing
    return labels._replace(missing=gone)


def row_weights(given: object, n_rows: int, pixels: int = 0) -> Column:
    """Weights as float64, one per row; :func:`check_weights` checks their values."""
    weights = column(given, "sample_weight")
    weights = weights._replace(values=by_pixel(weights.values, n_rows, pixels))
    if weights.values.shape != (n_rows,):
        demand = f"must have one entry per row ({n_rows:,})"
        raise InputError("sample_weight", demand, f"got shape {weights.values.shape}")
    weights = scores.numeric(weights, "sample_weight")
    return weights._replace(
        values=np.require(weights.values, dtype=np.float64, requirements=["C", "A"])
    )


def check_weights(w: Floats, rows: Ints | None = None, *, allow_zeros: bool = False) -> None:
    """Raise unless every weight is finite and at least 0, and some are above 0.

    `rows` are the user's row numbers.
    """
    if w.size == 0:
        return
    high = w.max()
    lowest = w.min()
    if lowest == 0:
        lowest = w.min(where=w > 0, initial=np.inf)
    if lowest >= high / _LARGEST and 1 / _LARGEST <= high <= _LARGEST:
        return
    if np.isnan(w).any():
        scores.refuse_nan(w, "sample_weight", rows)
    bad = ~((w >= 0) & (w < np.inf))
    if bad.any():
        words = f"weights are not, the first is {scores.format_value(w[np.argmax(bad)])}"
        refuse_bad("sample_weight", "must be finite and at least 0", bad, words, rows)
    if high == 0 and allow_zeros:
        return
    if high == 0:
        raise InputError(
            "sample_weight", "must have a weight above zero", f"all {w.size:,} are zero"
        )
    if 1 / _LARGEST <= high <= _LARGEST:
        demand = f"must be 0 or at least {1 / _LARGEST:g} of the largest weight"
        got = f"they reach from {scores.format_value(lowest)} to {scores.format_value(high)}"
        remedy = "Set the smallest weights to 0: beside the largest they count for nothing."
        raise InputError(
            "sample_weight", demand, got, place=first_place(w == lowest, rows), remedy=remedy
        )
    demand = f"must have its largest weight between {1 / _LARGEST:g} and {_LARGEST:g}"
    got = f"it is {scores.format_value(high)}"
    scale = Remedy(
        "rescale-weights", "Multiply all weights by one number: calibration errors do not change."
    )
    raise InputError("sample_weight", demand, got, place=first_place(w == high, rows), remedy=scale)


def require_whole(w: Floats) -> None:
    """Raise unless weights can count rows."""
    if bool((w == np.floor(w)).all()):
        return
    raise InputError(
        "sample_weight",
        "must be whole numbers that sum to less than 2³⁵, which count rows",
        remedy="For other weights use `weight_type='importance'`.",
    )


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


def _check_shapes(y: NDArray[Any], p: NDArray[Any]) -> None:
    """Raise unless labels are a vector and scores have a row for each, of two columns at least."""
    if y.ndim != 1:
        got = f"got {y.ndim} (shape {y.shape})"
        remedy = _vector_remedy(y, p)
        raise InputError("y_true", "must have one dimension", got, remedy=remedy)
    if p.ndim == 0:
        raise InputError(
            "y_prob",
            "must have one or two dimensions, or dense ones (B, C, …)",
            "got a single number",
        )
    if y.shape[0] != p.shape[0]:
        what = "scores" if p.ndim == 1 else "rows of scores"
        remedy = ""
        if p.shape[0] < p.shape[-1] == y.shape[0]:
            remedy = "Transpose `y_prob` if it has a row per class."
        demand = "`y_true` and `y_prob` must have one entry per row"
        got = f"got {y.shape[0]:,} labels and {p.shape[0]:,} {what}"
        raise InputError("", demand, got, remedy=remedy)
    if p.ndim == 2 and p.shape[1] < 2:
        raise InputError(
            "y_prob", "must have a column per class, at least 2", f"got shape {p.shape}"
        )


def _vector_remedy(y: NDArray[Any], p: NDArray[Any]) -> Remedy | str:
    """How to pass labels that have more than one dimension; empty if nothing is known."""
    if y.ndim != 2:
        return ""
    if 1 in y.shape:
        return "`np.ravel(y_true)` makes a vector of it."
    hints = []
    if y.dtype.kind in "biuf" and bool((y.sum(axis=1) == 1).all()):
        hints.append("`np.argmax(y_true, axis=1)` turns one-hot rows into labels.")
    if y.shape == p.shape:
        hints.append("`kind='multilabel'` reads each column as a label of its own.")
    return Remedy("multilabel", " ".join(hints))


def _without_missing(
    y: Column,
    p: Column,
    w: Column | None,
    missing: Missing,
    read: bool,
    allow_none: bool,
    skip: Bools | None,
) -> tuple[Column, Column, Column | None, Ints | None]:
    """The rows without missing values and without those to `skip`.

    Also their row numbers if some were dropped.
    """
    may_be_missing = read or missing == "drop" or y.values.dtype.kind == "O"
    if y.values.ndim == 1 and (may_be_missing or y.missing is not None):
        y = y._replace(missing=labels_missing(y))
    parts = {"y_true": y, "y_prob": p}
    if w is not None:
        parts["sample_weight"] = w
    masks = {name: part.missing for name, part in parts.items() if part.missing is not None}
    if missing == "raise" and masks:  # a nan among numbers is noticed in the pass over the rows
        refuse_missing(*next(iter(masks.items())))
    bad = [] if skip is None else [skip]
    if missing == "drop":
        bad += masks.values()
        for name, part in parts.items():
            if name != "y_true" and part.values.dtype.kind == "f":
                bad.append(_nan_rows(part.values))
    gone = np.logical_or.reduce(bad) if bad else None
    if gone is None or not gone.any():
        return y, p, w, None
    if gone.all() and not allow_none:
        demand = "`y_true` and `y_prob` must have at least one complete row"
        or_ignored = "" if skip is None else " or are ignored"
        raise InputError("", demand, f"all {gone.size:,} have a missing value{or_ignored}")
    keep = np.flatnonzero(~gone)
    kept_w = None if w is None else Column(w.values[keep])
    return (
        Column(y.values[keep], None, y.names),
        Column(take(p.values, keep), None, p.names),
        kept_w,
        keep,
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


class Pixels:
    """The scores of images as a matrix.

    It has a row per pixel that counts, image by image, and a column per class. Only the rows or
    columns that are asked for are copied; an array is made of all of them where one is needed.
    """

    ndim = 2

    def __init__(self, images: NDArray[Any], kept: Ints | None = None) -> None:
        self.images = images
        self.kept = kept
        n = images.shape[0] * images.shape[2] if kept is None else kept.size
        self.shape = (n, images.shape[1])
        self.size = n * images.shape[1]
        self.dtype = images.dtype

    def __getitem__(self, key: object) -> NDArray[Any]:
        """The scores of some pixels, one row each, as indexing a matrix would give them.

        A pair of rows and columns reads one class, or some, of all pixels first.
        """
        if isinstance(key, tuple):
            rows, columns = key
            block = self.images[:, columns]
            if block.ndim == 2:
                flat: NDArray[Any] = block.reshape(-1)
            else:
                flat = np.moveaxis(block, 1, -1).reshape(-1, block.shape[1])
            if self.kept is not None:
                flat = flat[self.kept]
            return flat[rows]
        if isinstance(key, slice):
            place = np.arange(*key.indices(self.shape[0]))
        else:
            place = np.asarray(key)
        if place.dtype == bool:
            place = np.flatnonzero(place)
        if self.kept is not None:
            place = self.kept[place]
        image, pixel = np.divmod(place, self.images.shape[2])
        return np.asarray(self.images[image, :, pixel])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:, :], dtype=dtype)


def take(scores: ArrayLike, chosen: NDArray[Any]) -> ArrayLike:
    """Some rows of scores; those of pixels without a copy."""
    if not isinstance(scores, Pixels):
        return scores[chosen]
    if chosen.dtype == bool:
        chosen = np.flatnonzero(chosen)
    if scores.kept is not None:
        chosen = scores.kept[chosen]
    return Pixels(scores.images, chosen)


def flatten(y: Column, p: Column) -> tuple[Column, Column]:
    """Labels and scores with a row per pixel; the scores of one channel are a vector."""
    labels = y.values
    scores = p.values
    if scores.shape[1] == 0:
        raise InputError(
            "y_prob",
            "must have at least one class on its class axis, the second",
            f"got {scores.shape}",
        )
    pixels = scores.shape[:1] + scores.shape[2:]
    if labels.shape == scores.shape and scores.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != pixels:
        demand = f"must have the shape of `y_prob` without its class axis, the second: {pixels}"
        remedy = ""
        if labels.shape == scores.shape[:-1]:
            remedy = "If classes stand last, `np.moveaxis(y_prob, -1, 1)` puts them second."
        elif labels.shape == scores.shape:
            remedy = "For P(positive) of each pixel, `y_prob[:, None]` adds the class axis."
        raise InputError(
            "y_true",
            demand,
            f"got {labels.shape} for scores of shape {scores.shape}",
            remedy=remedy,
        )
    if y.missing is not None or p.missing is not None:
        name = "y_true" if p.missing is None else "y_prob"
        remedy = "Give pixels without a label a code of their own, `ignore_index`."
        raise InputError(
            name, "must not be masked where it has more than two dimensions", remedy=remedy
        )
    images = scores.reshape(*scores.shape[:2], -1)
    flat: Any = images.reshape(-1) if images.shape[1] == 1 else Pixels(images)
    return Column(labels.reshape(-1)), Column(flat)


def by_pixel(values: NDArray[Any], n: int, pixels: int) -> NDArray[Any]:
    """A column with an entry per image, or in the shape of the labels, as one per pixel.

    Any other as it is.
    """
    if pixels and values.ndim > 1 and values.size == n:
        return values.reshape(-1)
    if pixels and values.shape == (n // pixels,):
        return np.repeat(values, pixels)
    return values
