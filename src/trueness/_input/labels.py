"""What labels may be: 0/1 for a vector of scores, class codes for a matrix."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueness._input.columns import Column, is_missing
from trueness._input.scores import shown
from trueness.errors import InputError
from trueness.typing import Bools, Ints

__all__ = ["binary_labels", "class_labels", "explain_labels", "labels_missing"]

NAME = "y_true"


def labels_missing(given: Column) -> Bools | None:
    """Which labels are missing: masked, null, None or nan."""
    values, missing = given.values, given.missing
    found = None
    if values.dtype.kind == "f":
        found = np.isnan(values)
    elif values.dtype.kind == "O":
        found = np.fromiter((is_missing(v) for v in values), dtype=bool, count=values.size)
    if found is None or not found.any():
        return missing
    return found if missing is None else np.asarray(found | missing)


def binary_labels(values: NDArray[Any], labels: Sequence[Any] | None, pos_label: Any) -> NDArray[Any]:
    """Labels as 0/1. Numbers pass unread when nothing was said about them: the pass over the rows checks them."""
    values = _plain(values)
    if labels is not None:
        negative, positive = _two(labels, pos_label)
        return _encoded(values, [negative, positive]).astype(np.uint8)
    if pos_label is not None:
        return _against(values, pos_label)
    if values.dtype.kind in "biuf":
        return values
    found = _distinct(values)
    raise InputError(
        f"`{NAME}` holds {_kind_of(values)} ({_listed(found)}); with a vector of scores, say which of them "
        f"the scores are about: `pos_label={found[-1]!r}`."
    )


def _two(labels: Sequence[Any], pos_label: Any) -> tuple[Any, Any]:
    order = _checked_order(labels)
    if len(order) != 2:
        raise InputError(
            f"`labels` must name two classes for a vector of scores, the positive one last; got {len(order)}."
        )
    if pos_label is not None and pos_label != order[1]:
        raise InputError(f"`labels` puts {order[1]!r} last, as the positive class, but `pos_label` is {pos_label!r}.")
    return order[0], order[1]


def _against(values: NDArray[Any], pos_label: Any) -> NDArray[np.uint8]:
    if isinstance(pos_label, str) != (values.dtype.kind not in "biuf") and values.dtype.kind != "O":
        raise InputError(f"`pos_label` is {pos_label!r}, but `{NAME}` holds {_kind_of(values)}.")
    found = _distinct(values)
    others = [v for v in found if v != pos_label]
    if len(others) > 1:
        hint = "" if len(others) < len(found) else f" `pos_label={pos_label!r}` is none of them."
        raise InputError(
            f"`{NAME}` must hold two values when the scores are a vector; got {len(found):,} ({_listed(found)}).{hint}"
        )
    return np.asarray(values == pos_label).astype(np.uint8)


def class_labels(
    values: NDArray[Any], n_classes: int, labels: Sequence[Any] | None, names: tuple[Any, ...] | None
) -> tuple[Ints, tuple[Any, ...]]:
    """Labels as column indices, and the classes in column order."""
    values = _plain(values)
    if labels is not None:
        order = _checked_order(labels)
        if len(order) != n_classes:
            raise InputError(
                f"`labels` must name the {n_classes} columns of `y_prob` in order; got {len(order)} names."
            )
        return _encoded(values, order), tuple(order)
    if values.dtype.kind in "biuf":
        return _codes(values, n_classes), tuple(range(n_classes))
    found = _distinct(values)
    if names is not None and set(found) <= set(names):
        return _encoded(values, list(names)), names
    if len(found) != n_classes:
        raise InputError(
            f"`{NAME}` must have one distinct value per column of `y_prob`; got {len(found):,} "
            f"({_listed(found)}) for {n_classes} columns. `labels=` names the columns in order."
        )
    return _encoded(values, found), tuple(found)


def _codes(values: NDArray[Any], n_classes: int) -> Ints:
    if values.dtype.kind == "f":
        whole = values == np.floor(values)
        if not whole.all():
            at = int(np.argmin(whole))
            raise InputError(
                f"`{NAME}` must hold class codes 0 to {n_classes - 1}; got {shown(values[at])} at row {at}."
            )
    outside = (values < 0) | (values >= n_classes)
    if outside.any():
        at = int(np.argmax(outside))
        found = _distinct(values)
        hint = f"`labels=[{_listed(found)}]` says so" if len(found) == n_classes else "`labels=` names the columns"
        raise InputError(
            f"`{NAME}` must hold class codes 0 to {n_classes - 1}, one per column of `y_prob`; {int(outside.sum()):,} "
            f"of {values.size:,} labels do not, the first is {values[at]} at row {at}. If they mean the columns in "
            f"order, {hint}."
        )
    return values.astype(np.int64)


def explain_labels(y: NDArray[Any], p: NDArray[Any]) -> None:
    """Raise the error that fits labels that are not 0/1; return if they are."""
    if y.dtype.kind == "f" and np.isnan(y).any():
        bad = np.isnan(y)
        _refuse_missing(int(bad.sum()), y.size, int(np.argmax(bad)))
    bad = (y != 0) & (y != 1)
    if not bad.any():
        return
    refuse_swapped(y, p)
    at = int(np.argmax(bad))
    found = _distinct(y)
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        hint = "Labels say what happened, not how likely it was."
    elif len(found) == 2:
        hint = f"Say which value is the event: `pos_label={found[1]}`."
    elif len(found) == 1:
        hint = f"Say what it means: `pos_label={found[0]}`, or `labels=[…]` with the event last."
    else:
        hint = "Several classes need a matrix of scores, one column per class."
    raise InputError(
        f"`{NAME}` must be 0 or 1; {int(bad.sum()):,} of {y.size:,} labels are not, "
        f"the first is {shown(y[at]) if y.dtype.kind == 'f' else y[at]} at row {at}. {hint}"
    )


def refuse_swapped(y: NDArray[Any], p: NDArray[Any]) -> None:
    """Labels that look like scores beside scores that look like labels."""
    if y.dtype.kind != "f" or p.dtype.kind not in "biuf" or p.size == 0:
        return
    y_is_scores = bool(((y >= 0) & (y <= 1)).all() and (y != np.floor(y)).any())
    if y_is_scores and bool((p == np.floor(p)).all()):
        raise InputError(
            f"`{NAME}` looks like scores and `y_prob` like labels: the arguments seem swapped. Labels come first."
        )


def refuse_missing_labels(missing: Bools) -> NoReturn:
    """Raise for labels that are known to be missing."""
    _refuse_missing(int(missing.sum()), missing.size, int(np.argmax(missing)))


def _refuse_missing(count: int, size: int, first: int) -> NoReturn:
    raise InputError(
        f"`{NAME}` must not have missing values; {count:,} of {size:,} are missing, the first at row {first}. "
        '`missing="drop"` leaves such rows out.'
    )


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as the simplest dtype that holds them."""
    kind = values.dtype.kind
    if kind == "O":
        if all(isinstance(v, bool | np.bool_) for v in values):
            return values.astype(bool)
        if all(isinstance(v, int | float | np.number) for v in values):
            return np.asarray(values.tolist())
        return values
    if kind in "biufUST":
        return values
    raise InputError(f"`{NAME}` must hold 0/1, bool, integers or strings; got dtype {values.dtype}.")


def _distinct(values: NDArray[Any]) -> list[Any]:
    try:
        return list(np.unique(values).tolist())
    except TypeError:
        types = sorted({type(v).__name__ for v in values})
        raise InputError(f"`{NAME}` must hold labels of one type; got {', '.join(types)}.") from None


def _checked_order(labels: Sequence[Any]) -> list[Any]:
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise InputError(f"`labels` must be a sequence of class names in column order; got {labels!r}.")
    order = list(getattr(labels, "tolist", lambda: labels)())
    if len(set(order)) != len(order):
        raise InputError(f"`labels` must name each class once; got {_listed(order)}.")
    return order


def _encoded(values: NDArray[Any], order: list[Any]) -> Ints:
    position = {name: i for i, name in enumerate(order)}
    try:
        found, inverse = np.unique(values, return_inverse=True)
    except TypeError:
        _distinct(values)
        raise
    lookup = np.array([position.get(v, -1) for v in found.tolist()], dtype=np.int64)
    codes = lookup[inverse.ravel()]
    if (codes < 0).any():
        at = int(np.argmin(codes >= 0))
        raise InputError(
            f"`{NAME}` must hold values named in `labels` ({_listed(order)}); got {values[at]!r} at row {at}."
        )
    return np.asarray(codes)


def _kind_of(values: NDArray[Any]) -> str:
    return "numbers" if values.dtype.kind in "biuf" else "strings" if values.dtype.kind in "UST" else "objects"


def _listed(found: Sequence[Any]) -> str:
    head = ", ".join(repr(v) for v in list(found)[:4])
    return head + (", …" if len(found) > 4 else "")
