"""`Sample`: the rows that everything else is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import Column, column
from trueness._input.labels import (
    binary_labels,
    class_labels,
    explain_labels,
    labels_missing,
    refuse_missing_labels,
    refuse_swapped,
)
from trueness._input.scores import (
    clipped,
    explain_scores,
    numeric,
    probabilities_of_logits,
    row_sum_tolerance,
)
from trueness._input.weights import explain_weights, row_weights
from trueness.errors import InputError
from trueness.typing import ArrayLike, Bools, Floats, Missing

__all__ = ["Sample", "accept"]


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of the right shape and type.

    The range of the values is checked in the pass that sums them, because a pass
    of its own would cost as much as the sums; when that pass finds a bad value it
    calls :meth:`explain`, which looks again and says what is wrong and where.
    """

    y: NDArray[Any]
    """0/1 for a vector of scores, column indices (int64) for a matrix."""
    p: NDArray[Any]
    """(n,) or (n, K), float or integer, any memory order."""
    w: Floats | None = None
    classes: tuple[Any, ...] | None = None
    """Names of the columns; None for a vector of scores."""
    tolerance: float = 0.0
    """How far from one a row of a matrix may sum."""
    dropped: int = 0
    """Rows left out because a value was missing."""

    def explain(self) -> NoReturn:
        """Raise the error that says which value is bad."""
        if self.p.ndim == 1:
            refuse_swapped(self.y, self.p)
        explain_scores(self.p, "y_prob", self.tolerance)
        if self.p.ndim == 1:
            explain_labels(self.y, self.p)
        if self.w is not None:
            explain_weights(self.w)
        raise AssertionError("a pass refused rows in which no bad value can be found")


def accept(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    missing: Missing = "raise",
    clip_tolerance: float = 0.0,
    sum_tolerance: float | None = None,
    from_logits: bool = False,
    allow_empty: bool = False,
) -> Sample:
    """Turn what a user passed into a Sample; `allow_empty` is for sums, whose zero is no rows at all."""
    if missing not in ("raise", "drop"):
        raise InputError(f"`missing` must be 'raise' or 'drop'; got {missing!r}.")
    if not isinstance(from_logits, bool | np.bool_):
        raise InputError(f"`from_logits` must be True or False; got {from_logits!r}.")
    _refuse_shuffled_index(y_true, y_prob)
    given_y, given_p = column(y_true, "y_true"), column(y_prob, "y_prob")
    _check_shapes(given_y.values, given_p.values)
    if given_y.values.shape[0] == 0 and not allow_empty:
        raise InputError("`y_true` and `y_prob` must have at least one row; both are empty.")
    given_p = _as_scores(given_p, from_logits)
    given_w = None if sample_weight is None else row_weights(sample_weight, given_p.values.shape[0])
    given_y, given_p, given_w, dropped = _without_missing(given_y, given_p, given_w, missing)

    tolerance = row_sum_tolerance(given_p.values.dtype, sum_tolerance)
    if from_logits:
        if clip_tolerance:
            raise InputError("`clip_tolerance` is for probabilities; logits (`from_logits=True`) need none.")
        p: NDArray[Any] = probabilities_of_logits(given_p.values, "y_prob")
    else:
        p = clipped(given_p.values, clip_tolerance)
    w = None if given_w is None else given_w.values
    if p.ndim == 1:
        return Sample(binary_labels(given_y.values, labels, pos_label), p, w, None, 0.0, dropped)
    if pos_label is not None:
        raise InputError("`pos_label` is for a vector of scores; `y_prob` is a matrix, so use `labels=`.")
    codes, classes = class_labels(given_y.values, p.shape[1], labels, given_p.names)
    return Sample(codes, p, w, classes, tolerance, dropped)


def _as_scores(given: Column, from_logits: bool) -> Column:
    if given.values.dtype.kind == "f" and given.values.dtype.itemsize > 8 and from_logits:
        return given._replace(values=given.values.astype(np.float64))
    return numeric(given, "y_prob")


def _check_shapes(y: NDArray[Any], p: NDArray[Any]) -> None:
    if p.ndim == 1 and y.ndim == 2 and y.shape[0] == p.shape[0] and y.dtype.kind == "f" and p.dtype.kind in "iub":
        raise InputError(
            "`y_true` looks like scores and `y_prob` like labels: the arguments seem swapped. Labels come first."
        )
    if y.ndim != 1:
        hint = ""
        if y.ndim == 2:
            hint = " Use `.ravel()`." if 1 in y.shape else " One-hot rows become labels by `.argmax(axis=1)`."
        raise InputError(f"`y_true` must have one dimension; got {y.ndim} (shape {y.shape}).{hint}")
    if p.ndim not in (1, 2):
        raise InputError(f"`y_prob` must have one or two dimensions; got {p.ndim} (shape {p.shape}).")
    if p.ndim == 2 and p.shape[1] < 2:
        raise InputError(
            f"`y_prob` must have a column per class, at least 2; got shape {p.shape}. A single column of P(positive) "
            "is a vector: use `.ravel()`."
        )
    if y.shape[0] != p.shape[0]:
        raise InputError(
            f"`y_true` and `y_prob` must have one entry per row; got {y.shape[0]:,} labels and {p.shape[0]:,} scores."
        )


def _without_missing(
    y: Column, p: Column, w: Column | None, missing: Missing
) -> tuple[Column, Column, Column | None, int]:
    gone = _missing_rows(y, p, w, missing)
    if gone is None:
        return y, p, w, 0
    if gone.all():
        raise InputError(f"`y_true` and `y_prob` must have at least one complete row; all {gone.size:,} miss a value.")
    keep = ~gone
    kept_w = None if w is None else Column(w.values[keep])
    return Column(y.values[keep]), Column(p.values[keep], None, p.names), kept_w, int(gone.sum())


def _missing_rows(y: Column, p: Column, w: Column | None, missing: Missing) -> Bools | None:
    """Rows to drop, or None; with ``missing="raise"`` the masks that are known already are refused here."""
    y_gone = labels_missing(y) if missing == "drop" or y.values.dtype.kind == "O" or y.missing is not None else None
    if missing == "raise":
        if y_gone is not None and y_gone.any():
            refuse_missing_labels(y_gone)
        for name, part in (("y_prob", p), ("sample_weight", w)):
            if part is not None and part.missing is not None:
                mask = _by_row(part.missing)
                raise InputError(
                    f"`{name}` must not have missing values; {int(mask.sum()):,} of {mask.size:,} rows have one, "
                    f'the first at row {int(np.argmax(mask))}. `missing="drop"` leaves such rows out.'
                )
        return None
    masks = [_by_row(m) for m in (y_gone, p.missing, w.missing if w is not None else None) if m is not None]
    masks += [_by_row(np.isnan(c.values)) for c in (p, w) if c is not None and c.values.dtype.kind == "f"]
    gone = np.logical_or.reduce(masks) if masks else None
    return gone if gone is not None and bool(gone.any()) else None


def _by_row(mask: Bools) -> Bools:
    return np.asarray(mask if mask.ndim == 1 else mask.any(axis=1))


def _refuse_shuffled_index(y_true: Any, y_prob: Any) -> None:
    """Two pandas objects with the same row names in another order would be paired wrongly by position."""
    a, b = getattr(y_true, "index", None), getattr(y_prob, "index", None)
    if a is None or b is None or not hasattr(a, "equals") or not hasattr(b, "equals"):
        return
    if len(a) == len(b) and not a.equals(b) and a.is_unique and b.is_unique and a.isin(b).all():
        raise InputError(
            "`y_true` and `y_prob` have the same index in a different order; rows are paired by position. "
            "Align them (`y_prob.loc[y_true.index]`) or pass `.to_numpy()`."
        )
