"""The calibration set: scores with labels to learn from; and scores alone, to be mapped."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from trueness._input.arguments import whole_seed
from trueness._input.columns import column, refuse_bad, refuse_missing
from trueness._input.labels import labels_missing
from trueness._input.sample import Sample, read_sample, refuse_shuffled_index
from trueness._input.scores import (
    explain_scores,
    explain_sums,
    numeric,
    refuse_nan,
    row_sum_tolerance,
)
from trueness._input.weights import row_weights
from trueness._numerics.streams import stream
from trueness._tally.cells import Cells
from trueness._tally.events import Events
from trueness._tally.row_sums import cells_of_rows, events_of_rows
from trueness.errors import InputError, OneClassWarning, Remedy, remedies, warn
from trueness.typing import ArrayLike, Bools, Floats, Ints

Scale: TypeAlias = Literal[
    "probabilities", "logits"
]  # what the scores are; never guessed from their values

Shape: TypeAlias = Literal["vector", "matrix", "any", "labels"]
"""What a calibrator works on: P(positive), one column per class, or either; or one column per
label."""

NAME = "y_prob"

# Ways out for calibrators, which have no options for missing values, tolerances and logits.
REMEDIES = {
    "drop-missing": Remedy("drop-missing", "Leave such rows out first."),
    "clip": Remedy(
        "clip", "They are outside by at most {value}: `np.clip(y_prob, 0, 1)` moves them back."
    ),
    "sum-tolerance": Remedy(
        "sum-tolerance", "They differ by at most {value}. Divide each row by its sum."
    ),
    "multilabel": Remedy(
        "multilabel",
        "`OneVsRest(kind='multilabel')` takes a column per label; divide each row by its sum if "
        "these are shares.",
    ),
    "rescale-weights": Remedy(
        "", ""
    ),  # weights are repetitions here: another factor gives another map
    "from-logits": Remedy(
        "temperature",
        "These look like logits: use `TemperatureScaling(from_logits=True)` if they are.",
    ),
}
_LARGEST = np.float64(1e300)  # temperatures, up to a million times as large, must be finite too


class CalibrationSet(NamedTuple):
    """Checked rows to learn from; none has weight 0."""

    p: NDArray[Any]  # scores, (n,) or (n, K): float64, or the float32 or float16 that was passed
    # 0/1, or column indices; for several labels, a column of 0/1 each, which its own calibrator
    # checks.
    y: Ints
    w: Floats | None  # weights above 0, or None
    classes: tuple[Any, ...] | None  # names of the columns of a matrix

    @property
    def weights(self) -> Floats:
        if self.w is None:
            return np.ones(self.y.size)
        return self.w

    def cells(self) -> Cells:
        """One cell per distinct score, ascending, so that ties cannot be split."""
        return cells_of_rows(Sample(self.y, self.p, self.w))

    def take(self, rows: Ints | Bools) -> "CalibrationSet":
        w = None if self.w is None else self.w[rows]
        return CalibrationSet(self.p[rows], self.y[rows], w, self.classes)

    def split(self, n: int, seed: int | np.random.Generator | None) -> list["CalibrationSet"]:
        """`n` random stratified parts: sizes and numbers of events differ by at most one."""
        order = stream(whole_seed(seed), "folds").permutation(self.y.size)
        order = order[np.argsort(self.y[order], kind="stable")]
        return [self.take(np.sort(order[i::n])) for i in range(n)]


def rows_of_events(
    y_prob: object, y_true: object, sample_weight: object
) -> tuple[ArrayLike, ArrayLike, ArrayLike | None]:
    """Scores, labels and weights, where Events may stand in place of all of them."""
    if not isinstance(y_prob, Events):
        if y_true is None:
            raise InputError("y_true", "is missing: pass scores and labels, or Events for both")
        return y_prob, y_true, sample_weight
    for name, value in (("y_true", y_true), ("sample_weight", sample_weight)):
        if value is not None:
            raise InputError(name, "must be left out when Events are passed, which hold it")
    if y_prob.kind == "interval":
        remedy = "`IntervalCalibration` moves the ends instead."
        demand = "must not be intervals: a map of their coverage leaves their ends as they are"
        raise InputError(NAME, demand, remedy=remedy)
    return y_prob.p, y_prob.event, y_prob.weight


def accept_rows(
    y_prob: ArrayLike,
    y_true: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    scale: Scale,
    shape: Shape,
    labels: Sequence[Hashable] | None = None,
    pos_label: Hashable | None = None,
) -> CalibrationSet:
    """Check scores, labels and weights; rows of weight 0 are left out.

    `scale` says whether scores are probabilities or logits, and `shape` whether the calibrator
    takes a vector, a matrix with one column per class, or one with one column per label
    (multilabel). `labels` lists the classes in order, `pos_label` names the event. If all labels
    are equal, a warning says so.
    """
    if getattr(y_prob, "ndim", 0) > 2:
        remedy = (
            "`np.moveaxis(y_prob, 1, -1).reshape(-1, K)` has a row per pixel, and "
            "`np.ravel(y_true)` its label."
        )
        raise InputError(
            NAME, "must have one or two dimensions", f"got shape {y_prob.shape}", remedy=remedy
        )
    stand_in = y_prob
    several = shape == "labels"
    if scale == "logits":
        # Labels and weights are checked beside probabilities of the same shape; the logits
        # themselves stay unchanged.
        logits = _numbers(y_prob)
        _check_logits(logits)
        refuse_shuffled_index(y_true, {NAME: y_prob, "sample_weight": sample_weight})
        stand_in = np.broadcast_to(0.5, logits.shape)
    sample = read_sample(
        y_true,
        stand_in,
        sample_weight=sample_weight,
        multilabel=several,
        labels=labels,
        pos_label=pos_label,
    )
    events = None
    if sample.p.ndim == 1:
        events = events_of_rows(sample)
    elif scale == "probabilities":
        # The labels of a matrix were checked beside its number of columns.
        tolerance = np.inf if several else sample.tolerance
        _check_probabilities(sample.p, tolerance)
    p = _as_floats(sample.p) if scale == "probabilities" else logits
    _check_shape(p, shape)
    y = np.asarray(sample.y) if several else np.asarray(sample.y).astype(np.int64, copy=False)
    w = sample.w
    if w is not None and not w.all():
        p = p[w > 0]
        y = y[w > 0]
        w = w[w > 0]
    one_class = events in (0, y.size) if events is not None and w is None else (y == y[0]).all()
    if one_class and not several:  # a calibrator of each label looks for itself
        warn(
            f"All {y.size:,} labels are equal: the calibrator sees one class only.", OneClassWarning
        )
    return CalibrationSet(p, y, w, sample.classes)


def accept_scores(
    y_prob: ArrayLike, *, scale: Scale, classes: int | None, shape: Shape
) -> NDArray[Any]:
    """Check scores alone, for a calibrator that is fitted.

    `scale` says whether they are probabilities or logits. `classes` is the number of columns they
    must have, or None for a vector. Rows of probabilities must sum to one, unless `shape` is
    "labels": then columns are separate labels.
    """
    p = _numbers(y_prob)
    if classes is None and p.ndim != 1:
        raise InputError(NAME, "must be a vector, as in `fit`", f"got shape {p.shape}")
    if classes is not None and (p.ndim != 2 or p.shape[1] != classes):
        raise InputError(
            NAME, f"must be a matrix of {classes} columns, as in `fit`", f"got shape {p.shape}"
        )
    if scale == "logits":
        _check_logits(p)
    else:
        tolerance = np.inf if shape == "labels" else row_sum_tolerance(p.dtype, None)
        _check_probabilities(p, tolerance)
    return p


def accept_probabilities(y_prob: ArrayLike) -> NDArray[Any]:
    """Check a vector, or a matrix, of probabilities."""
    p = _numbers(y_prob)
    if p.ndim not in (1, 2) or (p.ndim == 2 and p.shape[1] < 2):
        raise InputError(
            NAME, "must be a vector, or a matrix of at least two columns", f"got shape {p.shape}"
        )
    _check_probabilities(p, row_sum_tolerance(p.dtype, None))
    return p


def column_names(y_prob: ArrayLike) -> tuple[str | int, ...] | None:
    """The column names of a frame; None for arrays, and for default names (0, 1, 2, …)."""
    # The latter is Arrow's word.
    if not hasattr(y_prob, "columns") and not hasattr(y_prob, "column_names"):
        return None
    names = column(y_prob, NAME).names
    if (
        names is None
        or names == tuple(range(len(names)))
        or not all(type(name) in (str, int) for name in names)
    ):
        return None
    return names


def single_column(y_prob: ArrayLike) -> ArrayLike:
    """The column of a frame or matrix that has only one; anything else unchanged."""
    shape = getattr(y_prob, "shape", ())
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[1] != 1:
        return y_prob
    if isinstance(y_prob, np.ndarray) or not hasattr(y_prob, "columns"):
        return y_prob[:, 0]
    frame = nw.from_native(y_prob, eager_only=True)
    return frame.get_column(frame.columns[0]).to_native()


def score_names(y_prob: ArrayLike) -> tuple[str, ...] | None:
    """The names of the columns of scores; None if they have none, or other names than text."""
    names = column_names(y_prob) or (getattr(y_prob, "name", None),)
    if all(isinstance(name, str) for name in names):
        return names  # type: ignore[return-value]
    return None


def used_rows(y_true: ArrayLike, sample_weight: ArrayLike | None) -> Bools:
    """Which rows have a weight above 0."""
    values = column(y_true, "y_true").values
    if not values.ndim:
        raise InputError("y_true", "must have one dimension", "got a single number")
    n = values.shape[0]
    if sample_weight is None:
        return np.ones(n, np.bool_)
    return row_weights(sample_weight, n).values > 0


def group_codes(groups: ArrayLike, name: str, n: int) -> Ints:
    """Groups of rows, such as clusters, as numbers from 0 on.

    `name` is the argument they came in.
    """
    group_column = column(groups, name)
    if group_column.values.shape != (n,):
        raise InputError(
            name, f"must have one entry per row ({n:,})", f"got shape {group_column.values.shape}"
        )
    missing = labels_missing(group_column)
    if missing is not None:
        with remedies(REMEDIES):
            refuse_missing(name, missing)
    return np.asarray(np.unique(group_column.values, return_inverse=True)[1], np.int64)


def check_column_order(
    names: tuple[str | int, ...] | None,
    fitted: tuple[str | int, ...] | None,
    classes: tuple[Any, ...],
) -> None:
    """Raise if columns or classes have other names than in `fit`, or another order.

    `names` are those of the scores now, and `fitted` those in `fit`, or None if there were none.
    Names are then compared with the classes, and only another order of these is an error. Scores
    without names are not checked.
    """
    if names is None or names == fitted:
        return
    wanted: tuple[Any, ...] = classes if fitted is None else fitted
    order = ", ".join(map(repr, wanted[:8])) + (", …" if len(wanted) > 8 else "")
    if set(names) == set(wanted) and names != wanted:
        raise InputError(
            NAME, "has the columns of `fit` in another order", f"the order must be {order}"
        )
    if fitted is not None:
        got = f"got {', '.join(map(repr, names[:8]))}"
        remedy = "Pass its `.to_numpy()` to match columns by position."
        raise InputError(NAME, f"must have the columns of `fit`, {order}", got, remedy=remedy)


def _numbers(y_prob: ArrayLike) -> NDArray[Any]:
    scores = numeric(column(y_prob, NAME), NAME)
    if scores.missing is not None:
        refuse_missing(NAME, scores.missing)
    return _as_floats(scores.values)


def _as_floats(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "f":
        return values
    return values.astype(np.float64)


def _check_logits(values: NDArray[Any]) -> None:
    """Raise unless logits are a vector or matrix of finite numbers that are not too large.

    The error names the first bad value: nan, infinite or too large.
    """
    if values.ndim not in (1, 2):
        raise InputError(
            NAME, "must have one or two dimensions", f"got {values.ndim} (shape {values.shape})"
        )
    # False for nan too.
    if values.size and not (values.min() >= -_LARGEST and values.max() <= _LARGEST):
        if np.isnan(values).any():
            refuse_nan(values, NAME)
        bad = ~(np.abs(values) <= _LARGEST)
        demand = "finite" if np.isinf(values).any() else f"within ±{_LARGEST:g}"
        refuse_bad(
            NAME, f"as logits must be {demand}", bad, f"are not, the first is {values[bad][0]:g}"
        )


def _check_probabilities(p: NDArray[Any], tolerance: float) -> None:
    if p.size == 0:
        return
    if not (p.min() >= 0 and p.max() <= 1):  # false for nan too
        explain_scores(p, NAME)
    if p.ndim == 2 and (np.abs(p.sum(axis=1, dtype=np.float64) - 1) > tolerance).any():
        explain_sums(p, NAME, tolerance)


def _check_shape(p: NDArray[Any], shape: Shape) -> None:
    """Raise unless the scores are a vector or a matrix, whichever the calibrator takes.

    The error says how the other shape can be calibrated.
    """
    if shape == "vector" and p.ndim == 2:
        way_out = Remedy(
            "one-vs-rest", "`OneVsRest(calibrator)` and `TopLabel(calibrator)` take a matrix."
        )
        demand = "must be a vector of P(positive) for this calibrator"
        raise InputError(NAME, demand, f"got shape {p.shape}", remedy=way_out)
    if shape in ("matrix", "labels") and p.ndim == 1:
        way_out = Remedy("column-stack", "`np.column_stack([1 - y_prob, y_prob])` makes one.")
        demand = "must be a matrix, one column per class, for this calibrator"
        raise InputError(NAME, demand, "it is a vector", remedy=way_out)
