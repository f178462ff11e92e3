"""What a calibrator may be given: scores with labels to learn from, or scores alone to change."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import column, is_or_are, refuse_missing
from trueness._input.sample import Sample, read_sample, refuse_shuffled_index
from trueness._input.scores import explain_scores, explain_sums, numeric, refuse_nan, row_sum_tolerance
from trueness._tally.cells import Cells
from trueness._tally.row_sums import cells_of_rows, events_of_rows
from trueness.errors import InputError, OneClassWarning, warn
from trueness.typing import ArrayLike, Floats, Ints

__all__ = ["Rows", "Scale", "Shape", "accepted_rows", "accepted_scores", "cells_of", "check_order", "names_of", "parts"]


Scale: TypeAlias = Literal["probabilities", "logits"]
"""Which numbers the scores are; never guessed from them."""

Shape: TypeAlias = Literal["vector", "matrix", "any"]
"""What a calibrator works on: P(positive), a column per class, or either."""

NAME = "y_prob"
_LARGEST = 1e300  # temperatures, a million times as large at most, must be numbers too


class Rows(NamedTuple):
    """Checked rows to learn from; none has weight 0."""

    p: NDArray[Any]
    """Scores, (n,) or (n, K): float64, or the float32 or float16 they came in."""
    y: Ints
    """0/1, or column indices."""
    w: Floats | None
    """Weights above 0, or None."""
    classes: tuple[Any, ...] | None
    """Names of the columns of a matrix."""

    @property
    def weights(self) -> Floats:
        """Weights, 1 where none were given."""
        return np.ones(self.y.size) if self.w is None else self.w


def accepted_rows(
    y_prob: ArrayLike,
    y_true: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    scale: Scale = "probabilities",
    shape: Shape = "vector",
) -> Rows:
    """Check scores and labels, and leave out rows of weight 0."""
    sample_y, p = y_true, y_prob
    if scale == "logits":
        # Labels and weights are judged beside probabilities of the same shape; the logits themselves pass unchanged.
        logits = _logits(y_prob)
        refuse_shuffled_index(y_true, {NAME: y_prob, "sample_weight": sample_weight})
        p = np.broadcast_to(1 / max(1, logits.shape[-1]) if logits.ndim == 2 else 0.5, logits.shape)
    sample = read_sample(sample_y, p, labels=labels, pos_label=pos_label, sample_weight=sample_weight)
    events = None
    if sample.p.ndim == 1:
        events = events_of_rows(sample)
    elif scale == "probabilities":  # codes of classes were checked beside the number of columns
        _check_probabilities(sample.p, sample.tolerance)
    found = _floats(sample.p) if scale == "probabilities" else logits
    _check_shape(found, shape)
    y, w = np.asarray(sample.y).astype(np.int64, copy=False), sample.w
    if w is not None and not w.all():
        kept = w > 0
        found, y, w = found[kept], y[kept], w[kept]
    counted = events is not None and w is None
    if events in (0, y.size) if counted else (y == y[0]).all():
        warn(f"All {y.size:,} labels are equal: the calibrator sees one class only.", OneClassWarning)
    return Rows(found, y, w, sample.classes)


def accepted_scores(y_prob: ArrayLike, *, scale: Scale = "probabilities", classes: int | None = None) -> NDArray[Any]:
    """Check scores alone; `classes` is how many columns they must have, None for a vector."""
    if scale == "logits":
        found = _logits(y_prob)
    else:
        given = numeric(column(y_prob, NAME), NAME)
        if given.missing is not None:
            refuse_missing(NAME, given.missing)
        found = _floats(given.values)
        if found.ndim in (1, 2):
            _check_probabilities(found, row_sum_tolerance(found.dtype, None))
    _check_columns(found, classes)
    return found


def names_of(y_prob: ArrayLike) -> tuple[str | int, ...] | None:
    """The names of a frame's columns; None for arrays, and for names that nobody gave (0, 1, 2, …)."""
    if not hasattr(y_prob, "columns") and not hasattr(y_prob, "column_names"):  # the latter is Arrow's word
        return None
    names = column(y_prob, NAME).names
    if names is None or names == tuple(range(len(names))) or not all(type(name) in (str, int) for name in names):
        return None
    return names


def check_order(
    names: tuple[str | int, ...] | None, fitted: tuple[str | int, ...] | None, classes: tuple[Any, ...]
) -> None:
    """Raise if columns are named otherwise than in `fit`, or after the classes in another order."""
    if names is None or names == fitted:
        return
    wanted: tuple[Any, ...] = classes if fitted is None else fitted
    order = ", ".join(map(repr, wanted[:8])) + (", …" if len(wanted) > 8 else "")
    if set(names) == set(wanted) and names != wanted:
        raise InputError(NAME, "has the columns of `fit` in another order", f"the order must be {order}")
    if fitted is not None:
        raise InputError(
            NAME,
            f"must have the columns of `fit`, {order}",
            f"got {', '.join(map(repr, names[:8]))}",
            remedy="Its `.to_numpy()` goes by place.",
        )


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _logits(given: ArrayLike) -> NDArray[Any]:
    found = numeric(column(given, NAME), NAME)
    if found.missing is not None:
        refuse_missing(NAME, found.missing)
    values = _floats(found.values)
    if values.ndim not in (1, 2):
        raise InputError(NAME, "must have one or two dimensions", f"got {values.ndim} (shape {values.shape})")
    if values.itemsize == 8:
        if values.size and not (values.min() >= -_LARGEST and values.max() <= _LARGEST):  # false for nan too
            _refuse_large(values)
        return values
    # Their sum is finite only if each of them is, and needs no array of its own. If it overflows, we look closer.
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float32)
    if not np.isfinite(total):
        _refuse_large(values)
    return values


def _refuse_large(values: NDArray[Any]) -> None:
    if np.isnan(values).any():
        refuse_nan(values, NAME)
    bad = ~np.isfinite(values)
    if values.itemsize == 8:
        bad |= np.abs(values) > _LARGEST
    count = int(bad.sum())
    if count:
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        where = f"row {at[0]}" + (f", column {at[1]}" if len(at) == 2 else "")
        demand = "finite" if np.isinf(values).any() else f"within ±{_LARGEST:g}"
        raise InputError(
            f"`{NAME}` as logits must be {demand}; {count:,} of {values.size:,} {is_or_are(count)} not, the first is "
            f"{values[at]:g} at {where}."
        )


def _check_probabilities(p: NDArray[Any], tolerance: float) -> None:
    if p.size == 0:
        return
    if not (p.min() >= 0 and p.max() <= 1):  # false for nan too
        explain_scores(p, NAME)
    if p.ndim == 2 and (np.abs(p.sum(axis=1, dtype=np.float64) - 1) > tolerance).any():
        explain_sums(p, NAME, tolerance)


def _check_shape(values: NDArray[Any], shape: Shape) -> None:
    if shape == "vector" and values.ndim == 2:
        raise InputError(
            NAME,
            "must be a vector of P(positive) for this calibrator",
            f"got shape {values.shape}",
            remedy="`OneVsRest(calibrator)` and `TopLabel(calibrator)` take a matrix.",
        )
    if shape == "matrix" and values.ndim == 1:
        raise InputError(
            NAME,
            "must be a matrix, one column per class, for this calibrator",
            "it is a vector",
            remedy="`np.column_stack([1 - y_prob, y_prob])` makes one.",
        )


def _check_columns(values: NDArray[Any], classes: int | None) -> None:
    if classes is None and values.ndim != 1:
        raise InputError(NAME, "must be a vector, as in `fit`", f"got shape {values.shape}")
    if classes is not None and (values.ndim != 2 or values.shape[1] != classes):
        raise InputError(NAME, f"must be a matrix of {classes} columns, as in `fit`", f"got shape {values.shape}")


def cells_of(rows: Rows) -> Cells:
    """The sums of the rows that share a score, in ascending order of score."""
    return cells_of_rows(Sample(rows.y, rows.p, rows.w))


def parts(rows: Rows, n: int, seed: int | np.random.Generator | None) -> list[Rows]:
    """Rows dealt out at random, class after class: sizes, and events per part, differ by at most one."""
    order = np.random.default_rng(seed).permutation(rows.y.size)
    order = order[np.argsort(rows.y[order], kind="stable")]
    return [_taken(rows, np.sort(order[i::n])) for i in range(n)]


def _taken(rows: Rows, which: Ints) -> Rows:
    """Some of the rows."""
    return Rows(rows.p[which], rows.y[which], None if rows.w is None else rows.w[which], rows.classes)
